#!/usr/bin/env bats
# nb-view: what passes, who may look, and that nobody who looks holds a run.
# as a filter: nb-view --exit -q

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 300 -s 4 >one.nb
	nb-gen merger -n 500 | nb-sort-zorder | nb-build-tree | mutate add strange >tree.nb
	nb-gen plummer -n 0 >none.nb
	nb-gen plummer -n 100 | nb-step -d 0.125 -k 3 'nb-force -e 0.1' >run.nb
	cat run.nb tree.nb >both.nb
	head -c -128 run.nb >unended.nb
}

setup() {
	export MARK=view.$BATS_TEST_NUMBER.$$
	cd "$BATS_TEST_TMPDIR" || return 1 # what tests wait for is not there from one before
	ln -s "$BATS_FILE_TMPDIR"/*.nb .
	[ "$(nb-view </dev/null 2>&1 | grep -c 'not built in')" -eq 0 ] || skip 'no libmicrohttpd'
}

teardown() {
	end_marked
	exec 9>&-
}

# opens ARGS...: nb-view reads what is written to descriptor 9, and $URL is that of its page; what passes goes to out
opens() {
	rm -f in said
	mkfifo in
	TEST_MARK=$MARK env --default-signal=INT nb-view "$@" <in >out 2>said 3>&- &
	VIEW=$!
	exec 9>in
	has_url said
}

has_url() {
	wait_until grep -qsE 'http://[^ /]*/[0-9a-f]{32}/' "$1"
	URL=$(sed -n 's/.*\(http.*\)/\1/p' "$1")
}

port() { cut -d / -f 3 <<<"$URL" | cut -d : -f 2; }

# code CURL-ARGS...: the status of an answer
code() { curl -s -m 60 -o /dev/null -w '%{http_code}' "$@"; }

size_is() { [ "$(stat -c %s "$1")" -eq "$2" ]; }

lines_are() { [ "$(wc -l <"$1")" -eq "$2" ]; }

# bytes WANT: what a page sends that wants this
bytes() { python3 "$NB_TOP/tests/view-client.py" "$@"; }

look() { python3 "$NB_TOP/tests/view-client.py" "$@"; }

# shows_the_end: a page that comes now gets the last frame of run.nb, and the end; one that comes when the frame has passed,
# and its end has not been seen, is told of the end later, and one that comes still earlier gets the frame before, too
shows_the_end() {
	look "$URL" '{"number":1}' 5 >got
	[ "$(jq -c 'select(.frame) | [.frame, .ended]' got) $(tail -n 1 got)" = '[3,1] {"end":1}' ]
}

# lingers PID: its output is closed, and it waits
has_closed() { [ -d "/proc/$1" ] && [ ! -L "/proc/$1/fd/1" ]; }
lingers() { has_closed "$1" && grep -q '^State:.S' "/proc/$1/status"; }

# ---- what passes ------------------------------------------------------------------------------------

@test "bytes pass as they are: from a pipe, from files, folded, into a file, and those of a stream that breaks off" {
	local f
	for f in one tree none run both; do
		nb-view --exit -q <$f.nb >copy.nb
		cmp copy.nb $f.nb
		cat $f.nb | nb-view --exit -q | cat >copy.nb
		cmp copy.nb $f.nb
		nb-view --exit -q -o copy.nb $f.nb
		cmp copy.nb $f.nb
	done
	nb-view --exit -q one.nb - none.nb <run.nb >copy.nb
	cat one.nb run.nb none.nb | cmp - copy.nb
	nb-gen merger -n 900 | nb-view --exit -q | nb-view --exit -q | cat >folded.nb
	NB_FOLD=off bash -c 'nb-gen merger -n 900 | cat' | cmp - folded.nb
	folds() { equals "$(nb-gen -n 90 | nb-view -v --exit | nb-stats -v 2>&1 | grep -c 'folded: nb-gen | nb-view | nb-stats')" 1; }
	in_one_of 20 folds # a program that starts late does not fold
	run bash -c 'nb-view --exit -q <unended.nb 2>said | cat >out; exit ${PIPESTATUS[0]}'
	[ "$status" -eq 1 ]
	cmp out unended.nb
	grep -q 'truncated stream: no end marker' said
}

@test "a reader that has enough ends it by SIGPIPE, and a full disk is an error" {
	run bash -c 'nb-view --exit -q both.nb | head -c 10 | wc -c; echo ${PIPESTATUS[0]}'
	[[ $output == 10* ]]
	run bash -c "yes | head -c 1000 >/dev/null; cat both.nb both.nb both.nb both.nb both.nb both.nb | { nb-view --exit -q; echo \$? >code; } | true; cat code"
	[ "$output" = 141 ]
	fails_with 1 'No space left on device' 'nb-view --exit -q one.nb >/dev/full'
}

@test "a wrong address, port or option ends it before anything passes" {
	fails_with 1 'cannot serve the page: no.such.host.invalid: ' 'nb-view --exit --listen no.such.host.invalid one.nb'
	fails_with 2 "invalid listen ''" "nb-view --exit --listen '' one.nb"
	fails_with 2 "invalid port '70000'" 'nb-view -p 70000 one.nb'
	opens
	fails_with 1 'cannot serve the page: port ' "nb-view --exit -p $(port) one.nb"
}

# ---- what is seen -----------------------------------------------------------------------------------

@test "a page gets every body once, where it is, with what it asked for" {
	opens
	cat one.nb >&9
	look "$URL" '{"number":1,"by":"speed","columns":15,"most":1000}' >got
	exec 9>&-
	wait_until cmp -s out one.nb
	mutate show id pos vel mass <one.nb >want
	python3 - <<-'END'
		import json
		hello, info, points = [json.loads(line) for line in open("got")]
		assert hello["hello"] == ["command", "keep", "maps"], hello
		assert info["n"] == info["sent"] == 300 and info["by"] == "speed" and info["ended"] == 0, info
		p = points["points"]
		bodies = {int(w[0]): list(map(float, w[1:])) for w in map(str.split, open("want"))}
		assert sorted(p["id"]) == sorted(bodies), "not every body once"
		assert p["id"][:20] != sorted(p["id"])[:20]
		x0, edge, (lo, hi) = info["scale"][:3], info["scale"][3], info["range"]
		away = 0
		for i, k in enumerate(p["id"]):
		    b, q = bodies[k], p["pos"][3 * i:3 * i + 3]
		    if q == [65535] * 3:
		        away += 1
		        continue
		    assert all(abs(x0[c] + edge * q[c] / 65535 - b[c]) <= edge / 65535 for c in range(3)), (k, q, b)
		    speed = min(hi, max(lo, sum(x * x for x in b[3:6]) ** 0.5))
		    assert abs(lo + (hi - lo) * p["value"][i] / 65535 - speed) <= (hi - lo) / 65535, (k, speed)
		assert away == info["outside"] <= 15 and set(p["weight"]) == {65535}
	END
}

@test "a text that is no expression is answered with what is wrong, and the next frame comes" {
	opens
	cat run.nb >&9
	look "$URL" '{"number":1,"by":"no_such","columns":1}' >got
	equals "$(jq -r 'select(.by) | .wrong' got)" "no column 'no_such' in frame 0 (there are: id mass x y z vx vy vz acc)" ||
		grep -q "no column 'no_such'" got
	look "$URL" '{"number":2,"by":"x + nope(","columns":1}' | grep -q '"wrong": '
	look "$URL" '{"number":3,"by":"pot + v2/2 * 0 - pot + m","columns":1}' | grep -q '"wrong": '
	look "$URL" '{"number":4,"by":"hypot(x, y)","columns":1}' | grep -q '"value": '
}

@test "a page that has some bodies of a frame, and then wants more, gets them all" {
	opens
	cat one.nb >&9
	TEST_MARK=$MARK look "$URL" '{"number":1,"most":10}' 2 >got 3>&- &
	wait_until grep -qs '"sent": 10' got
	equals "$(code --data-binary @<(bytes '{"number":2,"most":1000}') "${URL}want?client=7")" 204
	wait $!
	equals "$(jq -c 'select(.n) | [.frame, .sent]' got)" $'[0,10]\n[0,300]'
}

@test "a body that is clicked is told with its row and its columns" {
	opens
	cat one.nb >&9
	look "$URL" '{"number":1,"columns":8}' >got
	equals "$(curl -s "${URL}body?client=7&frame=0&index=5" | jq -c '[.columns[] | select(.name == "id").values[0]]')" \
		"$(jq -c 'select(.points) | [.points.id[5]]' got)"
	equals "$(curl -s "${URL}body?client=7&frame=0&index=300" | jq -r .wrong)" 'no such body'
}

@test "energy error, virial ratio and radii of a frame are those of nb-stats" {
	nb-select --frames 0 run.nb >first.nb
	nb-select --frames 1: run.nb >rest.nb
	opens
	cat first.nb >&9
	look "$URL" '{"number":1}' | grep -q '"energy_error": null'
	cat rest.nb >&9
	exec 9>&-
	wait_until size_is out "$(cat first.nb rest.nb | wc -c)"
	look "$URL" '{"number":1}' 2 | jq -s -r 'map(select(.stats)) | last | .stats | [.etot, .energy_error, .virial, .lagrangian[]] | @tsv' >got
	nb-stats --format tsv run.nb | awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		END { print $at["etot"] "\t" $at["drift"] "\t" $at["virial"] "\t" $at["r10"] "\t" $at["r50"] "\t" $at["r90"] }' >want
	awk 'NR == FNR { for (i = 1; i <= 6; i++) want[i] = $i; next }
		{ for (i = 1; i <= 6; i++) if (!(($i - want[i])^2 <= 1e-20)) exit 1; n = NF } END { exit n != 6 }' want got || { cat want got; return 1; }
}

@test "a picture for a page is that of nb-render-ppm, with what is hidden and what colours say" {
	local by range
	opens
	nb-gen merger -n 20000 >galaxies.nb
	cat galaxies.nb >&9
	exec 9>&- # at the end of the stream pictures take the time that they need
	for by in density speed 'x*x + y*y'; do
		range=0,0
		[ "$by" != density ] || range=0.01,3
		look "$URL" "{\"number\":9,\"range\":[$range],\"by\":\"$by\",\"draw\":1,\"size\":[320,200],\"hidden\":[2,5],\"map\":1,\"camera\":{
			\"centre\":[0.5,0,0],\"right\":[0,1,0],\"up\":[0,0,1],\"scale\":50}}" 2 >got
		equals "$(jq -c 'select(.picture)' got)" '{"picture":9,"format":0}'
		[ "$by" = density ] && set -- --colormap viridis --range $range ||
			set -- --by "$by" --by-range "$(jq -r 'select(.range) | .range | join(",")' got)" --by-scale "$(jq -r 'select(.range) | ["linear", "log"][.log]' got)"
		nb-render-ppm -W 320 -H 200 --center 0.5,0,0 --view yz --size 4 "$@" galaxies.nb >want.ppm
		jpegtopnm picture.jpeg >got.ppm 2>/dev/null
		python3 -c '
a, b = (open(p, "rb").read()[-192000:] for p in ("got.ppm", "want.ppm"))
d = [abs(x - y) for x, y in zip(a, b)]
assert sum(d) / len(d) < 1 and sum(b) / len(b) > 3, (sum(d) / len(d), sum(b) / len(b))'
	done
	# on paper the sky is white, and what is bright else is dark
	look "$URL" '{"number":9,"paper":1,"draw":1,"size":[320,200],"camera":{"right":[0,1,0],"up":[0,0,1],"scale":20}}' 2 >got
	jpegtopnm picture.jpeg 2>/dev/null | tail -c 192000 | python3 -c '
import sys
a = sys.stdin.buffer.read()
assert min(a[:60]) > 250 and min(a) < 100 and sum(a) / len(a) > 200, (min(a[:60]), min(a), sum(a) / len(a))'
}

# ---- who may look -----------------------------------------------------------------------------------

@test "without the right secret, host, origin, path and method nothing is told" {
	local port token base at host method want
	opens
	port=$(port)
	token=$(cut -d / -f 4 <<<"$URL")
	base=http://127.0.0.1:$port
	[ ${#token} -eq 32 ]
	equals "$(code "$URL")" 200
	curl -sI -X GET "$URL" | tr -d '\r' >headers
	grep -qx "Content-Security-Policy: default-src 'none'; .*" headers
	grep -qx 'X-Content-Type-Options: nosniff' headers
	grep -qx 'Cache-Control: no-store' headers
	grep -qx 'Referrer-Policy: no-referrer' headers
	for at in / /x/ "/${token:0:31}0/" "/${token}0/" "/$token" "/${token:0:31}/" //etc/passwd; do
		[ "$at" != "/$token/" ] || continue
		equals "$at $(code --path-as-is "$base$at")" "$at 403"
	done
	for at in x ../etc/passwd ..%2f..%2fetc/passwd /etc/passwd page.html; do
		equals "$at $(code --path-as-is "$URL$at")" "$at 404"
	done
	for host in example.com "example.com:$port" 127.0.0.1.example.com localhost.example.com "localhost:$port@x" 10.0.0.1 ''; do
		equals "$host $(code -H "Host: $host" "$URL")" "$host 403" || [ -z "$host" ]
	done
	for host in localhost localhost:9000 "127.0.0.1:$port" '[::1]:9000'; do
		equals "$host $(code -H "Host: $host" "$URL")" "$host 200"
	done
	equals "$(code -H 'Origin: http://example.com' "$URL")" 403
	bytes '{}' >some
	equals "$(code -H 'Origin: null' --data-binary @some "${URL}want?client=1")" 403
	equals "$(code -H "Origin: https://127.0.0.1:$port" --data-binary @some "${URL}want?client=1")" 403
	equals "$(code -H "Origin: $base" --data-binary @some "${URL}want?client=1")" 204
	equals "$(code -H 'Host: localhost:9000' -H 'Origin: http://localhost:9000' --data-binary @some "${URL}want?client=1")" 204
	for method in PUT DELETE OPTIONS PROPFIND; do
		equals "$method $(code -X "$method" "$URL")" "$method 405"
	done
	equals "$(code -I "$URL")" 405
	equals "$(code --data-binary @some "$URL")" 404
	for want in '{"columns":16}' '{"most":2000000000}' '{"size":[0,1]}' '{"size":[9000,1]}' '{"range":[NaN,1]}' '{"by":"\u0001"}' \
		'{"draw":1,"camera":{"scale":0}}' '{"camera":{"centre":[1,Infinity,0]}}'; do
		bytes "$want" >one
		equals "$want $(code --data-binary @one "${URL}want?client=1")" "$want 400"
	done
	head -c 647 some >one
	equals "$(code --data-binary @one "${URL}want?client=1")" 400
	bytes "{\"by\":\"$(printf 'x%.0s' {1..256})\"}" >one # without an end
	equals "$(code --data-binary @one "${URL}want?client=1")" 400
	head -c 5000 /dev/zero >one
	[ "$(code --data-binary @one "${URL}want?client=1")" != 204 ]
	equals "$(code --data-binary @some "${URL}want?client=99999999999")" 400
	# only this machine: another of its addresses is not served
	run ! curl -s -m 5 "http://127.0.0.2:$port/$token/"
	run ! curl -s -m 5 -g "http://[::1]:$port/$token/"
}

@test "another address serves only under its own name" {
	opens --listen 127.0.0.3
	[[ $URL == http://127.0.0.3:* ]]
	equals "$(code "$URL")" 200
	equals "$(code -H 'Host: example.com' "$URL")" 403
	equals "$(code -H "Host: $(hostname)" "$URL")" 403
}

@test "whatever strangers send, a run goes on with the same bytes, and the page stays in bounds" {
	local server
	opens
	cat both.nb >&9
	server=$(pgrep -P "$VIEW")
	python3 - "$URL" <<-'END'
		import os, socket, sys
		from urllib.parse import urlsplit
		at = urlsplit(sys.argv[1])
		def connect():
		    s = socket.create_connection((at.hostname, at.port), timeout=5)
		    return s
		def send(data):
		    with connect() as s:
		        try:
		            s.sendall(data)
		            s.shutdown(socket.SHUT_WR)
		            return s.recv(100)
		        except OSError:
		            return b""
		send(os.urandom(100000))
		send(b"\0" * 100000)
		send(b"GET " + b"/" * 10000000 + b" HTTP/1.1\r\n\r\n")
		get = b"GET %s HTTP/1.1\r\nHost: localhost\r\n" % at.path.encode()
		for line in (b"X: " + b"y" * 200 + b"\r\n", b"X: y\r\n", b" z\r\n"):  # headers without end
		    send(get + line * 400000)
		send(get + b"Content-Length: 99999999999999999999\r\n\r\n")
		send(get + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n")
		send(b"POST %swant?client=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n" % at.path.encode() + b"[" * 20000000)
		slow = []
		for i in range(1000):  # that say half of a request, and nothing more
		    s = socket.socket()
		    s.setblocking(False)
		    s.connect_ex((at.hostname, at.port))
		    slow.append(s)
		for s in slow:
		    try:
		        s.send(get[:20])
		    except OSError:
		        pass
	END
	cat run.nb >&9
	exec 9>&-
	cat both.nb run.nb >want.nb
	wait_until cmp -s out want.nb
	[ -n "$server" ]
	awk '$1 == "VmHWM:" { exit $2 > 60000 }' "/proc/$server/status"
	# those who ask for something find an answer again
	wait_until curl -sf -m 5 -o /dev/null "$URL"
}

# ---- who does not hold a run ------------------------------------------------------------------------

@test "streams that nobody reads hold nothing, and who reads gets the newest frame" {
	local k
	opens
	nb-gen plummer -n 200000 >big.nb
	bytes '{"number":1,"columns":15}' >all
	for k in 1 2 3; do # they take some, and then nothing
		TEST_MARK=$MARK bash -c 'curl -sN --data-binary @all "$1" | { head -c 1000 >/dev/null; sleep 60; }' - "${URL}stream?client=$k" 3>&- &
	done
	for k in 1 2 3 4 5 6; do timeout 60 cat big.nb; done >&9
	wait_until size_is out $((6 * $(stat -c %s big.nb)))
	# what the others got, and then the last, which goes out before the server has it
	gets_the_last() {
		look "$URL" '{"number":1,"columns":1}' 2 | jq -c 'select(.n) | [.frame, .n]' >got
		[ "$(tail -n 1 got)" = '[5,200000]' ]
	}
	wait_until gets_the_last || { cat got; return 1; }
}

@test "the server killed, a run goes on; nb-view killed, nothing stays" {
	opens
	cat run.nb >&9
	kill -KILL "$(pgrep -P "$VIEW")"
	wait_until grep -q 'the server of the page has ended; the stream goes on without it' said
	cat one.nb >&9
	exec 9>&-
	wait "$VIEW"
	cmp out <(cat run.nb one.nb)
	opens
	cat one.nb >&9
	kill -KILL "$VIEW"
	nothing_stays
}

@test "at the end it stays with the last frame, and Ctrl-C then is a success; with --exit it does not stay" {
	opens
	cat run.nb >&9
	exec 9>&-
	wait_until cmp -s out run.nb
	wait_until shows_the_end || { cat got; return 1; }
	wait_until lingers "$VIEW"
	kill -INT "$VIEW"
	wait "$VIEW"
	nothing_stays
	opens --exit
	cat run.nb >&9
	exec 9>&-
	wait "$VIEW"
	nothing_stays
	opens
	cat unended.nb >&9
	exec 9>&-
	run wait "$VIEW"
	wait_until grep -q 'truncated stream' said
	nothing_stays
}

# bats test_tags=once,linux
@test "Ctrl-C between the end of the stream and the wait for those who look ends it, too" {
	local view
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	strace -o trace nb-view --exit one.nb >out 2>said || skip 'no strace'
	rm said
	mkfifo in
	# each change of what a signal does takes long
	TEST_MARK=$MARK env --default-signal=INT strace -o trace -e trace=rt_sigaction -e inject=rt_sigaction:delay_enter=300000 \
		nb-view <in >out 2>said 3>&- &
	exec 9>in
	has_url said
	cat one.nb >&9
	exec 9>&-
	view=$(pgrep -P $!)
	wait_until has_closed "$view"
	kill -INT "$view"
	nothing_stays
}

@test "folded into what comes after, it stays when that is done" {
	local pid
	rm -f in said
	mkfifo in
	TEST_MARK=$MARK env --default-signal=INT bash -c 'nb-sort-zorder | nb-view | nb-stats --format tsv' <in >out 2>said 3>&- &
	exec 9>in
	has_url said
	cat run.nb >&9
	exec 9>&-
	wait_until lines_are out 5
	wait_until shows_the_end || { cat got; return 1; }
	for pid in $(marked); do ! grep -qz '^nb-stats$' "/proc/$pid/cmdline" || kill -INT "$pid"; done
	nothing_stays
}

@test "typed alone in a terminal it shows a file, of which a page gets each frame" {
	command -v script >/dev/null || skip 'no script(1)'
	TEST_MARK=$MARK TERM=dumb script -qec 'nb-view run.nb' /dev/null </dev/null >shown 2>&1 3>&- &
	has_url shown
	URL=${URL//$'\r'/}
	equals "$(look "$URL" '{"number":1}' 9 | jq -c 'select(.frame) | .frame' | paste -sd ' ')" '0 1 2 3'
	run ! grep -naP '[^\x20-\x7e\r\n\t]' shown
}
