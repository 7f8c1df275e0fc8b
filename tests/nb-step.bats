#!/usr/bin/env bats
# nb-step: both of its forms, its options, and force pipelines that fail in every way.
# The filter tests/filters/spring.c gives the acceleration of a spring, acc = -pos, so x(t) = x0 cos t + v0 sin t.
# How well orbits under gravity are followed is in physics.bats.
# as a filter: nb-step -d 0.01

load helper


setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	ln -s "$(cd "$NB_BIN/../tests/filters" && pwd)/spring" filter
	nb-gen plummer -n 5 --no-history >five.nb
	nb-gen plummer -n 100000 --no-history >many.nb
	for n in 0 1 2 255 257; do nb-gen uniform -n $n --sigma 0.1 --no-history >n$n.nb; done
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# x component of the first body in the first frame on stdin
first_x() { mutate show pos | awk 'NR == 1 { print $1 }'; }

# time of each frame on stdin, one line each
times() { grep -a -o 'time=[-+.0-9e]*' | cut -d= -f2; }

# gone PID: the process ends, or ended before it could tell its number, if that is empty (a zombie that nobody has waited
# for yet has ended); one that sleeps must do so for longer than wait_until waits
gone() { wait_until is_gone "$1"; }
is_gone() {
	local state
	[ -n "$1" ] || return 0
	state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) || return 0
	[[ $state == Z* ]]
}

# last_state N K: the N bodies of the last frame on stdin, of K
last_state() { nb-convert --no-comments --to csv --frame "$(($2 - 1))" 2>/dev/null | tail -n "$1"; }

# A pipeline that leaves the process id of each of its programs in files first and second.
TRACED='sh -c "echo \$\$ >first; exec ./filter spring" | sh -c "echo \$\$ >second; exec cat"'

# ---- steps ------------------------------------------------------------------------------------------

# order_of INTEGRATOR: 1 if nb-integrators(7) says "first order" under its name, 2 for second ...
order_of() {
	sed -n '/^\.Ss Integrators/,/^\.Ss Block/p' "$NB_TOP/man/nb-integrators.7" | awk -v name="$1" '
		BEGIN { split("first second third fourth fifth sixth", word) }
		/^\.It Cm/ { inside = $3 == name }
		inside { for (k in word) if (index($0, word[k] " order")) { print k; exit } }'
}

# bats test_tags=once
@test "a spring is followed with the order that the page gives each integrator" {
	# a unit of time from x = x0, v = v0 in 100, 200 and 400 steps
	read -r x < <(first_x <five.nb)
	read -r v _ < <(mutate show vel <five.nb)
	want=$(awk -v x="$x" -v v="$v" 'BEGIN { printf "%.17g", x * cos(1) + v * sin(1) }')
	[ "$(integrators | wc -l)" -ge 3 ]
	for integrator in $(integrators); do
		order=$(order_of "$integrator")
		[ -n "$order" ] || { echo "nb-integrators(7) does not give the order of $integrator"; return 1; }
		ks='100 200 400'
		[ "$order" -lt 4 ] || ks='8 16 32' # errors above those of rounding
		for k in $ks; do
			nb-step --integrator "$integrator" -d "$(awk "BEGIN { print 1 / $k }")" -k "$k" --every 0 './filter spring' \
				<five.nb | first_x
		done | awk -v want="$want" -v order="$order" -v name="$integrator" '
			{ e = $1 - want; if (e < 0) e = -e; error[NR] = e }
			END {
				for (i = 1; i < 3; i++) {
					measured = log(error[i] / error[i + 1]) / log(2)
					print name, error[i], "order", measured
					if (!(measured > order - 0.1 && measured < order + 0.1)) exit 1
				}
			}'
	done
}

# bats test_tags=once
@test "the integrators of fourth order have it for an orbit and for a cluster" {
	# place: where the bodies of the stream on stdin are
	place() { nb-convert -q --no-comments --to csv | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $(c["x"]), $(c["y"]), $(c["z"]) }'; }
	nb-gen kepler --no-history >orbit.nb
	nb-gen plummer -n 20 -s 7 --no-history >cluster.nb
	place <orbit.nb >orbit.want # after one period
	nb-step --integrator chin -d 0.0009765625 --until 1 --every 0 'nb-force -e 0.2' <cluster.nb | place >cluster.want
	for integrator in $(integrators); do
		[ "$(order_of "$integrator")" = 4 ] || continue
		force="nb-force $(jerk_for "$integrator")"
		for k in 64 128 256; do
			nb-step --integrator "$integrator" -d "$(awk "BEGIN { printf \"%.17g\", 8 * atan2(1, 1) / (4 * $k) }")" \
				-k $((4 * k)) --every 0 "$force" <orbit.nb | place | paste orbit.want - >orbit.$k
			nb-step --integrator "$integrator" -d "$(awk "BEGIN { print 1 / $k }")" -k "$k" --every 0 "$force -e 0.2" \
				<cluster.nb | place | paste cluster.want - >cluster.$k
		done
		for what in orbit cluster; do
			for k in 64 128 256; do
				awk '{ for (j = 1; j < 4; j++) s += ($j - $(j + 3)) ^ 2 } END { print sqrt(s) }' $what.$k
			done | awk -v name="$integrator, $what" '{ e[NR] = $1 } END {
				for (i = 1; i < 3; i++) {
					order = log(e[i] / e[i + 1]) / log(2)
					print name, e[i], "order", order
					if (!(order > 3.8 && order < 4.2)) exit 1
				}
			}'
		done
	done
	[ -s cluster.256 ]
}

@test "integrators with several forces in a step need the pipeline, and points" {
	several() { integrators | grep -vxF "$(one_force)"; }
	[ "$(several | wc -l)" -ge 3 ]
	for i in $(several); do
		fails_with 2 'needs several forces in a step (give the force pipeline as operand)' "nb-step -d 0.1 --integrator $i <five.nb"
		fails_with 2 "'--collide' needs an integrator with one force" "nb-step -d 0.1 --integrator $i --collide merge nb-force <five.nb"
		fails_with 2 "'--send-velocities' needs an integrator with one force" \
			"nb-step -d 0.1 --integrator $i --send-velocities nb-force <five.nb"
	done
}

# bats test_tags=once
@test "one step has the coefficients of the page" {
	nb-force --jerk -e 0.1 <five.nb >start.nb
	dt=0.5
	for integrator in leapfrog euler taylor; do
		nb-step -d $dt --integrator $integrator <start.nb | nb-force -e 0.1 >$integrator.nb
		nb-step -k 0 <$integrator.nb >end.nb
		paste <(for f in pos vel acc jerk; do mutate show $f <start.nb | tr '\n' ' '; done) \
			<(for f in pos vel acc; do mutate show $f <end.nb | tr '\n' ' '; done) |
			awk -v dt=$dt -v i=$integrator '
				function near(got, want) { if (!((got - want) ^ 2 < 1e-28)) { print i, got, want; exit 1 } }
				{
					for (k = 1; k <= 15; k++) {
						x = $k; v = $(k + 15); a = $(k + 30); j = $(k + 45)
						x1 = $(k + 60); v1 = $(k + 75); a1 = $(k + 90)
						if (i == "leapfrog") { near(x1, x + v * dt + a * dt ^ 2 / 2); near(v1, v + (a + a1) * dt / 2) }
						if (i == "euler") { near(x1, x + v * dt); near(v1, v + a * dt) }
						if (i == "taylor") {
							near(x1, x + v * dt + a * dt ^ 2 / 2 + j * dt ^ 3 / 6)
							near(v1, v + a * dt + j * dt ^ 2 / 2)
						}
					}
					checked = 1
				}
				END { if (!checked) exit 1 }'
	done
}

@test "each frame has the acceleration of its own positions" {
	nb-step -d 0.1 -k 2 './filter spring' <five.nb >out.nb
	nb-convert --no-comments --to csv <out.nb | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
		{ rows++; for (k = 1; k <= 3; k++) if ($(c[substr("xyz", k, 1)]) != -$(c["a" substr("xyz", k, 1)])) exit 1 }
		END { if (rows != 15) exit 1 }'
}

@test "both forms give the same bytes" {
	for i in $(one_force) leapfrog:--potential; do
		integrator=${i%:*} more=${i#"$integrator"}
		more=${more#:} more=${more:-$(jerk_for "$integrator")}
		f="nb-force --no-history -e 0.1 $more"
		for dt in '-d 0.1' '--eta 0.1'; do
			s="nb-step --no-history --integrator $integrator $dt"
			$s -k 3 --every 0 "$f" <five.nb >one.nb
			$s --send-velocities -k 3 --every 0 "$f" <five.nb >all.nb
			$f <five.nb | $s | $f | $s | $f | $s | $f | nb-step --no-history -k 0 >two.nb
			# the first frame of a stream and the third differ in nothing but their number
			cmp one.nb two.nb
			cmp one.nb all.nb
		done
	done
}

@test "a pending half kick is noted and finished" {
	./filter spring <five.nb | nb-step -d 0.5 >half.nb
	[ "$(grep -a -c '^pending_kick=0.25$' half.nb)" -eq 1 ]
	[ "$(grep -a -c '^time=0.5$' half.nb)" -eq 1 ]
	[ "$(grep -a -c '^step=1$' half.nb)" -eq 1 ]
	# positions have moved, so nothing that follows from them is left
	run mutate show acc <half.nb
	[ "$status" -ne 0 ]
	fails_with 1 "field 'acc' missing in frame 0 (put 'nb-force' before" 'nb-step -k 0 <half.nb'
	./filter spring <half.nb | nb-step -k 0 >whole.nb
	run grep -a -c pending_kick whole.nb
	[ "$status" -eq 1 ]
	[ "$(mutate show pos <whole.nb)" = "$(mutate show pos <half.nb)" ]
	# v + a dt/2 by hand
	./filter spring <half.nb >kick.nb
	paste <(mutate show vel <kick.nb) <(mutate show acc <kick.nb) <(mutate show vel <whole.nb) |
		awk '{ for (k = 1; k <= 3; k++) { d = $k + $(k + 3) * 0.25 - $(k + 6); if (d * d > 1e-30) exit 1 } }'
	# other integrators finish it first, too
	./filter spring <half.nb | nb-step --integrator euler -d 0.1 | mutate show pos >a
	./filter spring <whole.nb | nb-step --integrator euler -d 0.1 | mutate show pos >b
	cmp a b
	./filter spring <half.nb | nb-step --integrator euler -d 0.1 >a.nb
	run grep -a -c pending_kick a.nb
	[ "$status" -eq 1 ]
	# and so does a run with a force pipeline, whether or not the frame has acc already
	nb-step --no-history -d 0.5 -k 2 --every 0 './filter spring' <whole.nb | mutate show vel >a
	nb-step --no-history -d 0.5 -k 2 --every 0 './filter spring' <half.nb | mutate show vel >b
	./filter spring <half.nb | nb-step --no-history -d 0.5 -k 2 --every 0 './filter spring' | mutate show vel >c
	cmp a b
	cmp a c
}

@test "-k 0 changes nothing where no kick is pending" {
	nb-step -k 0 --no-history <five.nb >out.nb
	[ "$(mutate show pos <out.nb)" = "$(mutate show pos <five.nb)" ]
	[ "$(mutate show vel <out.nb)" = "$(mutate show vel <five.nb)" ]
	nb-step -k 0 --no-history './filter spring' <five.nb >out.nb
	[ "$(mutate show vel <out.nb)" = "$(mutate show vel <five.nb)" ]
	[ "$(mutate show acc <out.nb | wc -l)" -eq 5 ]
	[ "$(times <out.nb)" = 0 ]
}

@test "an acceleration that the input has is taken at its word" {
	./filter spring <five.nb | mutate set acc 2 1 1000 >odd.nb
	nb-step -d 0.1 --every 0 './filter spring' <odd.nb >out.nb
	y=$(mutate show pos <odd.nb | awk 'NR == 3 { print $2 }')
	v=$(mutate show vel <odd.nb | awk 'NR == 3 { print $2 }')
	got=$(mutate show pos <out.nb | awk 'NR == 3 { print $2 }')
	close_to "$(awk "BEGIN { printf \"%.15g\", $y + 0.1 * ($v) + 5 }")" "$got" 1e-12
}

@test "time steps back return to the start" {
	nb-step -d 0.1 -k 100 --every 0 './filter spring' <five.nb |
		nb-step -d -0.1 -k 100 --every 0 './filter spring' >back.nb
	for field in pos vel; do
		paste <(mutate show $field <five.nb) <(mutate show $field <back.nb) |
			awk '{ for (k = 1; k <= 3; k++) { d = $k - $(k + 3); if (!(d * d < 1e-26)) exit 1 } }'
	done
	[ "$(times <back.nb)" = 0 ]
	[ "$(grep -a -c '^step=200$' back.nb)" -eq 1 ]
}

# ---- which states are written ---------------------------------------------------------------------------

@test "--every writes frame 0, each so manyth, and the last" {
	run_times() { nb-step -d 0.5 "$@" './filter spring' <five.nb | times | tr '\n' ' '; }
	[ "$(run_times -k 3)" = '0 0.5 1 1.5 ' ]
	[ "$(run_times -k 4 --every 2)" = '0 1 2 ' ]
	[ "$(run_times -k 5 --every 2)" = '0 1 2 2.5 ' ]
	[ "$(run_times -k 3 --every 100)" = '0 1.5 ' ]
	[ "$(run_times -k 3 --every 0)" = '1.5 ' ]
	[ "$(run_times -k 0 --every 7)" = '0 ' ]
	[ "$(run_times -k 0 --every 0)" = '0 ' ]
	[ "$(run_times)" = '0 0.5 ' ]
}

@test "kicks that are made together where nobody looks change no byte" {
	local f='nb-sort-zorder | nb-build-tree | nb-force -t 0.6 -e 0.05'
	nb-gen -n 100 >cluster.nb
	for integrator in leapfrog yoshida; do
		s="nb-step --no-history --integrator $integrator -d 0.01"
		$s -k 7 "$f" <cluster.nb | nb-select --no-history --frames 0,3,6,7 >seen.nb
		$s -k 7 --every 3 "$f" <cluster.nb >rest.nb
		NB_FOLD=off $s -k 7 --every 3 "$f" <cluster.nb >apart.nb
		cmp seen.nb rest.nb
		cmp apart.nb rest.nb
		for every in 0 10; do
			$s -v -k 20 --every $every "$f --potential" <cluster.nb 2>&1 >last.nb | grep 'at most (of 3 states)' >energy.$every
		done
		cmp energy.0 energy.10
	done
}

@test "--until stops at the nearest step, in either direction" {
	last_time() { nb-step --every 0 "$@" './filter spring' <five.nb | times; }
	[ "$(last_time -d 0.25 --until 1)" = 1 ]
	[ "$(last_time -d 0.25 --until 1.1)" = 1 ]
	[ "$(last_time -d 0.25 --until 1.2)" = 1.25 ]
	[ "$(last_time -d -0.25 --until -1)" = -1 ]
	[ "$(last_time -d 0.25 --until -1)" = 0 ]
	nb-step -d 0.25 --until -1 nb-force <five.nb 2>said | nb-stats --check
	grep -F "no step is made, as frame 0 has the time 0, and '--until' -1 is before it (want a negative -d)" said
	[ "$(last_time -d 0.25 --until 1 -k 2)" = 0.5 ]
	[ "$(last_time -d 0.25 --until 1 -k 200)" = 1 ]
	# 0.1 is no binary number: ten steps all the same
	[ "$(nb-step -d 0.1 --until 1 './filter spring' <five.nb | times | wc -l)" -eq 11 ]
	[ "$(nb-step -d 0.1 --until 10 './filter spring' <five.nb | times | tail -n 1)" = 10 ]
}

@test "--eta takes its step from softening and the largest acceleration" {
	largest=$(mutate show pos <five.nb | awk '{ a = sqrt($1 * $1 + $2 * $2 + $3 * $3); if (a > m) m = a } END { printf "%.15g", m }')
	want=$(awk "BEGIN { printf \"%.15g\", 0.1 * sqrt(0.25 / $largest) }") # the filter says softening 0.25
	got=$(nb-step --eta 0.1 --every 0 './filter spring' <five.nb | times)
	close_to "$want" "$got" 1e-14
	[ "$(nb-step --eta 0.1 -d 0.001 --every 0 './filter spring' <five.nb | times)" = 0.001 ]
	[ "$(nb-step --eta 0.1 -d -0.001 --every 0 './filter spring' <five.nb | times)" = -0.001 ]
	[ "$(nb-step --eta 0.1 -d 1 --every 0 './filter spring' <five.nb | times)" = "$got" ]
	[ "$(nb-step --eta 0.1 -d -1 --every 0 './filter spring' <five.nb | times)" = "-$got" ]
	# the last step is shortened to end at the time asked for
	[ "$(nb-step --eta 0.1 --every 0 --until 0.3 './filter spring' <five.nb | times)" = 0.3 ]
	[ "$(nb-step --eta 0.1 -d -1 --every 0 --until -0.3 './filter spring' <five.nb | times)" = -0.3 ]
	[ "$(nb-step --eta 0.1 --every 0 --until 0 './filter spring' <five.nb | times)" = 0 ]
}

@test "--eta needs a softening and an acceleration" {
	./filter spring <five.nb | mutate attribute softening 0 >hard.nb
	fails_with 1 "needs a softening" 'nb-step --eta 0.1 <hard.nb'
	nb-force -e 1e-5 <five.nb >soft.nb
	fails_with 1 "too large for '--eta'" 'nb-step --eta 1e-323 <soft.nb'
	nb-force -e 0.1 <n1.nb >one.nb
	fails_with 1 "no body of frame 0 is accelerated" 'nb-step --eta 0.1 <one.nb'
	[ "$(nb-step --eta 0.1 -d 0.5 <one.nb | times)" = 0.5 ]
	[ "$(nb-step --eta 0.1 --until 0.5 --every 0 'nb-force -e 0.1' <one.nb | times)" = 0.5 ]
}

# bats test_tags=once
@test "a run that is stopped and resumed gives the same bytes" {
	mapfile -t each < <(integrators | sed 's/^/-d 0.1 --integrator /')
	for options in "${each[@]}" '--eta 0.03' '--eta 0.03 -d -0.01'; do
		for force in './filter spring' './filter reverse' './filter label'; do
			s="nb-step --no-history --every 0 $options"
			$s -k 20 "$force" <five.nb >whole.nb
			$s -k 13 "$force" <five.nb | $s -k 7 "$force" >parts.nb
			cmp whole.nb parts.nb
		done
	done
	# by time; and the frames in between are the same, too
	s='nb-step --no-history -d 0.1'
	$s --until 3 './filter spring' <five.nb | nb-convert --no-comments --to csv | cut -d, -f2- | tail -n 80 >whole.csv
	$s --until 1.4 --every 0 './filter spring' <five.nb | $s --until 3 './filter spring' |
		nb-convert --no-comments --to csv | cut -d, -f2- | tail -n 80 >parts.csv
	cmp whole.csv parts.csv
}

@test "several frames are several runs, and none is none" {
	cat five.nb n2.nb five.nb >three.nb
	nb-step -d 0.5 -k 2 './filter spring' <three.nb >out.nb
	[ "$(times <out.nb | tr '\n' ' ')" = '0 0.5 1 0 0.5 1 0 0.5 1 ' ]
	[ "$(./filter spring <three.nb | nb-step -d 0.5 | times | tr '\n' ' ')" = '0.5 0.5 0.5 ' ]
	tail -c 128 five.nb | python3 -c '
import struct, sys, zlib
h = bytearray(sys.stdin.buffer.read()); struct.pack_into("<QI", h, 24, 0, 0); h[20:24] = bytes(4)
struct.pack_into("<I", h, 20, zlib.crc32(bytes(h))); sys.stdout.buffer.write(h)' >end.nb
	nb-step -d 0.5 -k 2 './filter spring' <end.nb >out.nb
	cmp end.nb out.nb
}

@test "any number of bodies" {
	for n in 0 1 2 255 257; do
		for integrator in $(integrators); do
			nb-step -d 0.01 -k 3 --every 0 --integrator "$integrator" './filter spring' <n$n.nb >out.nb
			[ "$(nb-convert --no-comments --to csv <out.nb | wc -l)" -eq $((n + 1)) ]
		done
		for integrator in $(one_force); do
			nb-force --jerk -e 0.1 <n$n.nb | nb-step -d 0.01 --integrator "$integrator" >out.nb
			[ "$(nb-convert --no-comments --to csv <out.nb | wc -l)" -eq $((n + 1)) ]
		done
	done
}

# bats test_tags=once
@test "the same bytes for any number of threads" {
	for integrator in $(integrators); do
		for j in 1 2 3; do
			nb-step --integrator "$integrator" -j $j --no-history -d 0.1 -k 2 --every 0 './filter spring' <many.nb >j$j.nb
		done
		cmp j1.nb j2.nb
		cmp j1.nb j3.nb
	done
	nb-step -j 1 --no-history --eta 0.1 -k 2 --every 0 './filter spring' <many.nb >j1.nb
	nb-step -j 2 --no-history --eta 0.1 -k 2 --every 0 './filter spring' <many.nb >j2.nb
	cmp j1.nb j2.nb
}

# ---- even times -----------------------------------------------------------------------------------------

@test "--every-time writes multiples of a time, exactly, and the last state" {
	run_times() { nb-step --no-history "$@" './filter spring' <five.nb | times | tr '\n' ' '; }
	[ "$(run_times -d 0.1 --until 1 --every-time 0.1)" = '0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 ' ]
	[ "$(run_times -d 0.04 --until 1 --every-time 0.3)" = '0 0.3 0.6 0.9 1 ' ]
	[ "$(run_times -d -0.04 --until -1 --every-time 0.3)" = '0 -0.3 -0.6 -0.9 -1 ' ]
	[ "$(run_times --eta 0.03 --until 1 --every-time 0.3)" = '0 0.3 0.6 0.9 1 ' ]
	[ "$(run_times -d 5 --until 1 --every-time 0.5)" = '0 0.5 1 ' ]
	[ "$(run_times -d 0.1 -k 4 --every-time 0.25)" = '0 0.25 0.3333333333333333 ' ]
	nb-step --no-history -d 0.1 -k 3 --every 0 './filter spring' <five.nb >late.nb # time 0.3 and a rounding error
	[ "$(nb-step -d 0.05 --until 0.5 --every-time 0.1 './filter spring' <late.nb | times | tr '\n' ' ')" = '0.30000000000000004 0.4 0.5 ' ]
}

@test "where a step divides the time, --every-time has the states of --every; else steps are equal and shorter" {
	nb-step --no-history -d 0.01 --until 1 --every 10 './filter spring' <five.nb >every.nb
	nb-step --no-history -d 0.01 --until 1 --every-time 0.1 './filter spring' <five.nb >time.nb
	cmp <(nb-convert --no-comments --to csv <every.nb | cut -d, -f3-) <(nb-convert --no-comments --to csv <time.nb | cut -d, -f3-)
	# 0.04 in 0.1 is three steps of a thirtieth
	nb-step --no-history -d 0.04 -k 2 --every 0 --every-time 0.1 './filter spring' <five.nb >/dev/null 2>&1 && return 1
	step=$(nb-step --no-history -d 0.04 -k 1 --every-time 0.1 './filter spring' <five.nb | times | tail -n 1)
	close_to "$(awk 'BEGIN { printf "%.17g", 0.1 / 3 }')" "$step" 1e-16
	[ "$(nb-step --no-history -d 0.04 -k 3 --every-time 0.1 './filter spring' <five.nb | times | tr '\n' ' ')" = '0 0.1 ' ]
	fails_with 2 'give either --every or --every-time' "nb-step -d 0.1 --every 2 --every-time 1 './filter spring' <five.nb"
	fails_with 2 "option '--every-time' needs the force pipeline" 'nb-step -d 0.1 --every-time 1 <five.nb'
	fails_with 2 "invalid every-time '0'" "nb-step -d 0.1 --every-time 0 './filter spring' <five.nb"
	mutate attribute time 1e9 <five.nb >far.nb
	run bash -c "nb-step -d 0.1 --every-time 1e-9 './filter spring' <far.nb 2>&1 >/dev/null"
	[ "$status" -eq 1 ]
	[[ $output == *"'--every-time' 1e-09 is too small for the time 1e+09 of step 0"* ]]
}

# ---- energy -----------------------------------------------------------------------------------------------

# first_energy FILE: etot of its first frame
first_energy() { nb-stats --format tsv <"$1" | sed -n 1,2p | stat_of etot; }

@test "where the pipeline gives pot, frames have the energy of the first state, and -v tells the error" {
	nb-gen plummer -n 257 --no-history >sphere.nb
	nb-step -v -d 0.02 -k 25 --every 7 'nb-force -e 0.1 --potential' <sphere.nb >out.nb 2>err
	mapfile -t energies < <(grep -a '^etot0=' out.nb | sort -u)
	[ "${#energies[@]}" -eq 1 ]
	[ "$(grep -a -c '^etot0=' out.nb)" -eq 5 ]
	close_to "$(first_energy out.nb)" "${energies[0]#*=}" 1e-6
	drift=$(nb-stats --format tsv <out.nb | stat_of drift)
	told=$(sed -n 's/.* error \([0-9.e+-]*\) in the end, .*/\1/p' err)
	close_to "${drift#-}" "$told" "$(awk -v d="${drift#-}" 'BEGIN { print d / 10 }')"
	# frames 0, 7, 14, 21, 25 and steps 10, 20
	grep -q '(of 7 states)$' err
	# a run that goes on keeps it, and both forms have it
	nb-step -d 0.02 -k 5 --every 0 'nb-force -e 0.1 --potential' <out.nb | grep -a '^etot0=' | sort -u >again
	[ "$(<again)" = "${energies[0]}" ]
	nb-force -e 0.1 --potential <sphere.nb | nb-step -d 0.02 | grep -a '^etot0=' >once
	[ "$(<once)" = "${energies[0]}" ]
	# another softening is another energy
	nb-step -d 0.02 --every 0 'nb-force -e 0.2 --potential' <out.nb >other.nb 2>err
	[ ! -s err ]
	[ "$(grep -a '^etot0=' other.nb | sort -u)" != "${energies[0]}" ]
	# without pot nobody knows
	nb-step -v -d 0.02 'nb-force -e 0.1' <sphere.nb 2>err | grep -a -c '^etot0=' >count || :
	[ "$(<count)" -eq 0 ]
	if grep -q energy err; then return 1; fi
}

@test "an energy error of more than 1 % is a warning, which -q suppresses" {
	run bash -c "nb-gen plummer -n 100 | nb-step -d 0.1 -k 200 'nb-force --potential' 2>&1 >/dev/null"
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ] # and at the end
	[[ ${lines[0]} =~ ^nb-step:\ the\ energy\ is\ off\ by\ [0-9.e+]+\ %\ in\ step\ [0-9]+\ \(want\ a\ smaller\ time\ step ]]
	run bash -c "nb-gen plummer -n 100 | nb-step -q -d 0.1 -k 200 'nb-force --potential' 2>&1 >/dev/null"
	[ -z "$output" ]
	run bash -c "nb-gen plummer -n 100 | nb-step -d 0.005 -k 200 'nb-force -e 0.1 --potential' 2>&1 >/dev/null"
	[ -z "$output" ]
	# energy that mergers and slow bounces lose is no error
	run bash -c "nb-gen uniform -n 100 --sigma 0.1 --radius 0.05 | nb-step -d 0.1 -k 20 --collide merge 'nb-force -e 0.1 --potential' 2>&1 >/dev/null"
	[ -z "$output" ]
}

# ---- signals ----------------------------------------------------------------------------------------------

# A script starts background jobs with SIGINT ignored.
SIGNALLED=(env --default-signal=INT --default-signal=TERM --default-signal=HUP)

until_there() { wait_until test -s "$1"; }

@test "SIGTERM, SIGINT and SIGHUP end a run with a last whole frame and the end marker" {
	for force in './filter spring' 'nb-force -e 0.1'; do
		for signal in TERM INT HUP; do
			rm -f out.nb
			"${SIGNALLED[@]}" nb-step --no-history -d 0.001 -k 100000000 --every 1000 "$force" <five.nb >out.nb 2>err &
			step=$!
			until_there out.nb
			kill -$signal $step
			gone $step
			code=0
			wait $step || code=$?
			[ $code -eq $((128 + $(kill -l $signal))) ]
			ends_well out.nb
			last=$(grep -a '^step=' out.nb | tail -n 1 | cut -d= -f2)
			equals "$(without_waiting err)" "nb-step: the run ends with the whole state of step $last, time $(printf %g "$(times <out.nb | tail -n 1)") (the same command with '--resume FILE', the file of this output, goes on, into another file)"
			nb-stats --check <out.nb >/dev/null
			[ "$(mutate show acc <out.nb | wc -l)" -eq 5 ]
		done
	done
	# the last frame is that of its step
	last=$(grep -a '^step=' out.nb | tail -n 1 | cut -d= -f2)
	[ "$(times <out.nb | wc -l)" -eq $(((last + 999) / 1000 + 1)) ]
	nb-step --no-history -d 0.001 -k "$last" --every 0 'nb-force -e 0.1' <five.nb >want.nb
	cmp <(last_state 5 "$(times <out.nb | wc -l)" <out.nb) <(last_state 5 1 <want.nb)
}

# before_reader WHO SIGNAL: a run into a program of nb, of which a process, or all, get the signal when some frames are out
before_reader() {
	local code=0 pid
	rm -f out.nb pid.* statuses
	"${SIGNALLED[@]}" setsid bash -c 'sh -c "echo \$\$ >pid.step; exec nb-step -d 0.001 -k 100000000 --every 100 \"nb-force -e 0.1\"" <five.nb |
		sh -c "echo \$\$ >pid.reader; exec nb-sort-zorder" >out.nb; echo "${PIPESTATUS[@]}" >statuses' 2>all &
	pid=$!
	until_there out.nb
	case $1 in
	all) kill -"$2" -- -"$(ps -o pgid= "$(<pid.step)" | tr -d ' ')" ;;
	*) kill -"$2" "$(<"pid.$1")" ;;
	esac
	wait $pid || code=$?
	gone "$(<pid.step)"
	gone "$(<pid.reader)"
	without_waiting all | grep ^nb- >err || : # the shell says who was terminated
	if ! ends_well out.nb || ! nb-stats --check <out.nb >/dev/null || [ -s err ]; then
		echo "$1 $2: status $code"
		cat err
		return 1
	fi
}

@test "programs behind a run get its last frame, whichever process is signalled, folded or not" {
	for fold in on off; do
		export NB_FOLD=$fold
		for signal in TERM INT HUP; do
			number=$((128 + $(kill -l $signal)))
			before_reader step $signal
			[ "$(<statuses)" = "$number 0" ]
			before_reader reader $signal
			[ "$(<statuses)" = "$number $number" ]
			before_reader all $signal
		done
	done
}

# bats test_tags=linux
@test "without a run before it, a program ends by the first Ctrl-C: in the work on a frame, and while a file waits for its writer" {
	mkdir alone
	cd alone || return 1
	mkfifo first second
	nb-calc '@step = 0' ../five.nb >small.nb
	nb-gen plummer -n 300000 >large.nb
	nb-calc '@step = 1' large.nb >large-of-run.nb
	has_row() { [ "$(wc -l <got)" -eq 2 ]; }
	# ended COMMAND: it prints a row, and is interrupted in what comes after that
	ended() {
		rm -f got pid
		"${SIGNALLED[@]}" setsid bash -c "echo \$\$ >pid; $1" >got 2>/dev/null &
		wait_until has_row
		sleep 0.5
		kill -INT -- -"$(<pid)"
		wait $! || :
		has_row || { echo "it went on: $1" && return 1; }
	}
	ended 'cat small.nb large.nb | nb-stats -j 1 --epot direct --format tsv'
	ended 'cat small.nb large-of-run.nb | nb-stats -j 1 --epot direct --format tsv'
	ended 'cat small.nb >first & timeout --foreground -s KILL 60 nb-stats --format tsv first second; echo $?'
}

# bats test_tags=linux
@test "a run that is read behind another file is whole after Ctrl-C, too" {
	nb-step -d 0.001 -k 20 --every 10 'nb-force -e 0.1' <five.nb >part.nb
	goes_on() { [ "$(grep -ac '^step=' out.nb)" -gt 6 ]; }
	for fold in on off; do
		for first in '<(cat part.nb)' part.nb; do
			rm -f out.nb pid
			NB_FOLD=$fold "${SIGNALLED[@]}" setsid bash -c "echo \$\$ >pid
				nb-transform --shift 1,0,0 $first <(nb-step -d 0.001 -k 100000000 --every 100 'nb-force -e 0.1' <five.nb) >out.nb" 2>err &
			wait_until goes_on
			kill -INT -- -"$(<pid)"
			wait $! || :
			wait_until ends_well out.nb || { cat err; return 1; }
			nb-stats --check <out.nb >/dev/null
		done
	done
}

@test "a run through tee is saved though Ctrl-C ends what stands behind tee" {
	# saved REST: a run into tee -i and the REST, which says when it has begun, is signalled as by Ctrl-C
	saved() {
		rm -f run.nb pid begun
		"${SIGNALLED[@]}" setsid bash -c "echo \$\$ >pid; nb-step -d 0.001 -k 100000000 --every 100 'nb-force -e 0.1' <five.nb | $1" >got 2>/dev/null &
		until_there run.nb
		until_there begun
		kill -INT -- -"$(<pid)"
		wait $! || :
		wait_until ends_well run.nb && nb-stats --check <run.nb >/dev/null
	}
	saved 'tee -ip run.nb | (echo >begun; exec cat)'
	saved "tee -i run.nb | (trap '' INT; echo >begun; exec nb-stats)"
	has_rows() { [ "$(wc -l <got)" -gt 2 ]; }
	wait_until has_rows
}

@test "timeout, which signals twice, gets a whole frame too, from all programs" {
	local seconds code MARK=$BATS_TEST_NAME.$$
	# again, and later, if the signal came before anything was written
	for seconds in 1 4 16 64 256; do
		code=0
		"${SIGNALLED[@]}" timeout $seconds nb-step -d 0.001 -k 100000000 --every 10000 'nb-force -e 0.1' <five.nb >out.nb || code=$?
		[ "$code" -eq 124 ]
		[ ! -s out.nb ] || break
	done
	ends_well out.nb
	for seconds in 1 4 16 64 256; do
		code=0
		TEST_MARK=$MARK "${SIGNALLED[@]}" timeout $seconds bash -c "nb-step -d 0.001 -k 100000000 --every 10000 'nb-force -e 0.1' <five.nb |
			nb-stats --format tsv >table" || code=$?
		[ "$code" -eq 124 ]
		nothing_stays # timeout waits for bash alone
		[ ! -s table ] || break
	done
	[ "$(wc -l <table)" -ge 3 ] # a head, the first frame and the last one
}

@test "a second signal ends the run at once" {
	mkfifo full
	sleep 1000 <>full & # nobody reads, so the last frame cannot be written
	holder=$!
	nb-gen plummer -n 20000 >large.nb
	"${SIGNALLED[@]}" nb-step -d 0.001 -k 100000000 'nb-force -e 0.1' <large.nb >full 2>err &
	step=$!
	is_writing() { timeout 1 head -c 100 full | grep -q .; }
	wait_until is_writing
	kill -TERM $step
	# two that wait at the same time would be one
	is_taken() { [ "$(grep -cE '^(Sig|Shd)Pnd:.*[4-7c-f]...$' "/proc/$step/status")" -eq 0 ]; }
	wait_until is_taken
	sleep 0.5
	run ! is_gone $step
	kill -TERM $step
	gone $step
	code=0
	wait $step || code=$?
	[ $code -eq 143 ]
	kill $holder
	equals "$(without_waiting err)" ''
}

@test "a force pipeline that stands still does not keep a run from its end for long" {
	rm -f out.nb
	"${SIGNALLED[@]}" nb-step -d 0.001 -k 100000000 --every 1 "exec $NB_BIN/../tests/filters/misbehave hang 3" <five.nb >out.nb 2>err &
	step=$!
	has_three() { [ "$(times <out.nb | wc -l)" -eq 3 ]; }
	wait_until has_three
	kill -TERM $step
	gone $step
	code=0
	wait $step || code=$?
	[ $code -eq 143 ]
	if ends_well out.nb; then return 1; fi
	equals "$(without_waiting err)" ''
}

@test "a run that a signal ends says how it goes on, if it does: into a file, and with --restartable where that is needed" {
	rm -f run.nb
	# said BEGUN COMMAND...: what it says when it is ended, by a signal after a time in which it has begun as that says
	said() {
		local begun=$1 t
		shift
		for t in 0.5 1 2 4 8 16; do
			"${SIGNALLED[@]}" timeout $t "$@" 2>err >out && return 1
			! eval "$begun" || break
		done
		sed 's/step [0-9]*, time [0-9.e+]*/step N, time T/' err
	}
	local go=(nb-step -d 0.001 -k 100000000 --every 1000)
	nb-gen kepler >kepler.nb
	said '[ -s err ]' "${go[@]}" -o run.nb 'nb-force -e 0.1' five.nb >got
	equals "$(<got)" "nb-step: the run ends with the whole state of step N, time T (the same command with '--resume run.nb' goes on, into another file)"
	nb-stats --check run.nb >/dev/null
	said '[ -s err ]' nb-step --integrator ias15 --until 1e9 nb-force kepler.nb >got
	equals "$(<got)" "nb-step: the run ends with the whole state of step N, time T (with '--restartable' it could go on from there)"
	said '[ -s err ]' nb-step --integrator ias15 --restartable --until 1e9 nb-force kepler.nb |
		grep "(the same command with '--resume FILE', the"
	said '[ -s quiet.nb ]' "${go[@]}" -q -o quiet.nb 'nb-force -e 0.1' five.nb >got
	equals "$(<got)" ''
	said '[ -s out ]' bash -c "${go[*]} 'nb-force -e 0.1' five.nb | cat" >got
	equals "$(<got)" ''
	said true "${go[@]}" -o /dev/null 'nb-force -e 0.1' five.nb >got
	equals "$(<got)" ''
}

# ---- going on ---------------------------------------------------------------------------------------------

@test "--resume goes on from the last whole frame of a cut stream to the same end" {
	mapfile -t each < <(integrators | sed 's/^/-d 0.1 -k 20 --every 3 --integrator /')
	local force k=0 forces=('./filter spring' './filter reverse')
	for options in "${each[@]}" '-d 0.1 --until 2 --every 3' '--eta 0.03 -k 20 --every 1' '-d 0.1 --until 2 --every-time 0.33' \
		'--eta 0.05 --until 1 --every-time 0.13'; do
		force=${forces[k++ % 2]}
		s="nb-step --no-history $options"
		$s "$force" <five.nb >whole.nb
		count=$(times <whole.nb | wc -l)
		for part in 40 75 100; do
			head -c $(($(stat -c %s whole.nb) * part / 100 - 1)) whole.nb >cut.nb
			$s --resume cut.nb "$force" >rest.nb 2>err
			grep -q "^nb-step: 'cut.nb': truncated stream: .*; the run goes on from frame [0-9]*, step [0-9]*$" err
			from=$(sed -n 's/.* from frame \([0-9]*\),.*/\1/p' err)
			# no frame twice, and none is missing
			[ "$(times <whole.nb)" = "$(times <whole.nb | head -n $((from + 1)); times <rest.nb)" ]
			[ "$part" -lt 100 ] || [ "$(times <rest.nb | wc -l)" -eq 0 ] || return 1
			[ "$part" -eq 100 ] || cmp <(last_state 5 "$count" <whole.nb) <(last_state 5 $((count - from - 1)) <rest.nb)
		done
	done
}

# bats test_tags=once
@test "a run that was interrupted and goes on ends with the same bytes, wherever it began" {
	for force in './filter spring' 'nb-force -e 0.1 --potential'; do
		nb-step --no-history -d 0.001 -k 13 --every 0 "$force" <n257.nb >start.nb
		go=(nb-step --no-history -d 0.001 -k 20000 --every 0)
		"${go[@]}" "$force" <start.nb >whole.nb
		# later if the signal came before the run had begun, and earlier if it came after its end
		seconds=0.3
		for ((i = 0; i < 60; i++)); do
			"${SIGNALLED[@]}" timeout "$seconds" "${go[@]}" "$force" <start.nb >part.nb || :
			if ends_well part.nb && [ "$(grep -a '^step=' part.nb)" != step=20013 ]; then break; fi
			seconds=$(awk "BEGIN { print $seconds * $([ -s part.nb ] && echo 0.7 || echo 1.5) }")
		done
		[ "$(grep -a '^first_step=' part.nb)" = first_step=13 ]
		"${go[@]}" --resume part.nb "$force" >rest.nb
		cmp whole.nb rest.nb
	done
}

# shellcheck disable=SC2094 # this is what is tested
@test "a resumed run may be appended to its file, but not to one that is cut or that the shell has emptied" {
	nb-step -d 0.1 -k 9 './filter spring' <five.nb >whole.nb
	nb-step -d 0.1 -k 4 './filter spring' <five.nb >run.nb
	cp run.nb saved.nb
	nb-step -d 0.1 -k 9 --resume run.nb './filter spring' >>run.nb
	[ "$(times <whole.nb)" = "$(times <run.nb)" ]
	nb-stats --check <run.nb >/dev/null
	nb-step -d 0.1 -k 9 --resume run.nb './filter spring' >>run.nb 2>said # again
	equals "$(cat said)" "nb-step: nothing is left to do: the run has all its steps in 'run.nb'"
	[ "$(times <whole.nb)" = "$(times <run.nb)" ]
	head -c -200 saved.nb >cut.nb
	cp cut.nb before.nb
	code=0
	nb-step -d 0.1 -k 9 --resume cut.nb './filter spring' 2>err >>cut.nb || code=$?
	[ $code -eq 1 ]
	[ "$(<err)" = "nb-step: standard output is 'cut.nb' itself, whose end is cut: what is appended could not be read (want another file)" ]
	cmp cut.nb before.nb
	code=0
	nb-step -d 0.1 -k 9 --resume saved.nb './filter spring' 2>err >saved.nb || code=$?
	[ $code -eq 1 ]
	[ "$(<err)" = "nb-step: standard output is 'saved.nb' itself, which the shell has emptied (want another file)" ]
}

@test "--resume refuses what has no whole frame" {
	s="nb-step -d 0.1 -k 2"
	fails_with 1 "'none.nb': No such file" "$s --resume none.nb './filter spring'"
	head -c 300 five.nb >stub.nb
	fails_with 1 "'stub.nb' has no whole frame to go on from: truncated stream" "$s --resume stub.nb './filter spring'"
	: >empty.nb
	fails_with 1 "'empty.nb' has no whole frame to go on from: that run had not written any yet (--every," "$s --resume empty.nb './filter spring'"
	echo text >text.nb
	fails_with 1 "'text.nb' has no whole frame to go on from: not a particle stream" "$s --resume text.nb './filter spring'"
	fails_with 2 "option '--resume' needs the force pipeline" 'nb-step -d 0.1 --resume five.nb'
	# a damaged one: what comes before the damage
	nb-step -d 0.1 -k 4 './filter spring' <five.nb >run.nb
	at=$(grep -abo '^step=3$' run.nb | cut -d: -f1)
	(head -c "$at" run.nb; printf 'stop'; tail -c +$((at + 5)) run.nb) >damaged.nb
	[ "$(nb-step -d 0.1 -k 4 --resume damaged.nb './filter spring' 2>err | times | tr '\n' ' ')" = '0.30000000000000004 0.4 ' ]
	grep -q 'corrupt stream.*; the run goes on from frame 2, step 2' err
}

# ---- what a frame carries -----------------------------------------------------------------------------------

@test "unknown columns stay with their bodies, in whatever order the pipeline returns them" {
	mutate add tag <five.nb >tagged.nb
	nb-step -d 0.1 -k 2 --every 0 './filter reverse' <tagged.nb >out.nb # three forces: reversed
	[ "$(mutate show id <out.nb)" = "$(mutate show id <tagged.nb | tac)" ]
	[ "$(mutate show tag <out.nb)" = "$(mutate show tag <tagged.nb | tac)" ]
	# positions and velocities too, for every integrator: the same bodies as without the reversing
	for integrator in $(integrators); do
		s="nb-step -d 0.1 -k 2 --every 0 --integrator $integrator"
		$s './filter spring' <tagged.nb >straight.nb
		$s './filter reverse' <tagged.nb >out.nb
		[ "$(mutate show id pos vel acc tag <out.nb | tac)" = "$(mutate show id pos vel acc tag <straight.nb)" ]
	done
	./filter spring <tagged.nb | nb-step -d 0.1 >out.nb
	[ "$(mutate show tag <out.nb)" = "$(mutate show tag <tagged.nb)" ]
}

@test "columns that the pipeline adds are carried along and given back to it" {
	# the filter label fails if a label that it gets does not belong to the id beside it
	nb-step -d 0.1 -k 5 --every 0 './filter label | ./filter reverse' <five.nb >out.nb
	mutate show id label <out.nb | awk '$2 != 7 * $1 + 1 { exit 1 } END { exit NR != 5 }'
}

@test "a pipeline may change velocities if it is sent them" {
	run bash -c "nb-step -d 0.1 --every 0 './filter no-vel' <five.nb | nb-stats --check"
	[ "$status" -eq 0 ]
	fails_with 1 "returned no field 'vel'" "nb-step --send-velocities -d 0.1 --every 0 './filter no-vel' <five.nb"
	nb-step --send-velocities -d 0.1 -k 3 --every 0 './filter stop' <five.nb >out.nb
	# all that is left is the half kick after it
	mutate show vel acc <out.nb |
		awk '{ for (k = 1; k <= 3; k++) if ($k != $(k + 3) * 0.05) exit 1 }'
	nb-step -d 0.1 -k 3 --every 0 './filter stop' <five.nb >out.nb
	[ "$(mutate show vel <out.nb)" = "$(nb-step -d 0.1 -k 3 --every 0 './filter spring' <five.nb | mutate show vel)" ]
}

@test "keys and trees are not written, and the next sort finds sorted bodies" {
	nb-step -d 0.01 -k 2 'nb-sort-zorder | nb-build-tree | nb-force -t 0.5 -e 0.1' <n257.nb >out.nb
	[ "$(nb-convert --no-comments --to csv <out.nb | head -n 1)" = 'frame,time,id,mass,x,y,z,vx,vy,vz,ax,ay,az' ]
	run grep -a -c -e '^key_cube=' -e '^tree=' -e '^leaf_size=' -e node_ out.nb
	[ "$status" -eq 1 ]
	nb-step -d 0.01 -k 2 --every 0 'nb-sort-zorder | nb-build-tree | nb-force -t 0.5 -e 0.1' <n257.nb >out.nb
	[ "$(mutate show id <out.nb)" = "$(nb-sort-zorder <out.nb | mutate show id)" ]
	# the plain filter drops them, also keys that are not marked as derived from positions
	nb-force -e 0.1 <n257.nb | nb-sort-zorder | mutate flags key 0 >keyed.nb
	nb-stats --fields <keyed.nb | grep -q key
	nb-step -d 0.01 <keyed.nb | nb-stats --fields >fields
	run grep key fields
	[ "$status" -eq 1 ]
	nb-sort-zorder <n257.nb | nb-build-tree | nb-force -t 0.5 -e 0.1 | nb-step -d 0.01 >out.nb
	run ! grep -qE ' (node|key) ' <(nb-stats --fields out.nb)
}

@test "the history has one line more, whatever the pipeline does" {
	nb-gen uniform -n 10 | nb-step -d 0.1 -k 5 './filter spring | ./filter reverse' >out.nb
	[ "$(grep -a -c '^history=' out.nb)" -eq 12 ] # two in each of six frames
	[ "$(grep -a -c '^history=nb-step 0.*nb-step -d 0.1 -k 5 ' out.nb)" -eq 6 ]
	nb-gen uniform -n 10 | nb-step -d 0.1 --no-history './filter spring' >out.nb
	[ "$(grep -a -c '^history=' out.nb)" -eq 2 ]
}

@test "narrow positions and velocities are integrated and written in f64" {
	nb-gen uniform -n 10 --precision f32 --sigma 0.1 >narrow.nb
	nb-step -d 1e-9 -k 3 --every 0 './filter spring' <narrow.nb >out.nb
	# steps far below the spacing of f32
	paste <(mutate show pos <narrow.nb) <(mutate show vel <narrow.nb) <(mutate show pos <out.nb) |
		awk '{ d = $7 - ($1 + $4 * 3e-9); if (d * d > 1e-31 || $7 == $1) exit 1 }'
	./filter spring <narrow.nb | nb-step -d 1e-9 >out.nb
	paste <(mutate show pos <narrow.nb) <(mutate show vel <narrow.nb) <(mutate show pos <out.nb) |
		awk '{ d = $7 - ($1 + $4 * 1e-9); if (d * d > 1e-31 || $7 == $1) exit 1 }'
}

# ---- pipelines that fail ----------------------------------------------------------------------------------------

# The line of nb-step is the last one; programs of the pipeline may have said something before.  Of a program that takes
# seconds to end, as it gets no processor, nb-step does not know how it ends: then once more.
force_fails() { # force_fails PIPELINE MESSAGE [OPTIONS]
	local code i told
	for ((i = 0; i < 10; i++)); do
		code=0
		# shellcheck disable=SC2086
		timeout 300 nb-step -d 0.1 -k 5 --every 0 ${3:-} "$1" <many.nb >out 2>err || code=$?
		told=$(tail -n 1 err)
		[[ $code -ne 1 || $told == "nb-step: force pipeline '$1' $2"* || ! $told =~ \
			\ (closed its output before it answered|stopped reading its input|lost its last program|ended its stream before it answered) ]] || continue
		break
	done
	if [ $code -ne 1 ] || nb-stats --check <out >/dev/null 2>&1 || ! grep -qF -- "nb-step: force pipeline '$1' $2" <<<"$told"; then
		echo "status $code, $(wc -c <out) bytes written:"
		cat err
		return 1
	fi
}

# bats test_tags=once
@test "a pipeline that ends early is told by its status, its signal, and the step" {
	force_fails 'exit 3' 'ended with status 3 in step 0'
	force_fails './filter die 4' 'ended with status 3 in step 4'
	# programs before the one that fails wait for a next frame that never comes, and notice
	force_fails './filter spring | ./filter die 2' 'ended with status 3 in step 2'
	force_fails './filter spring | ./filter die 2 | cat' 'ended with status 0 before it answered in step 2'
	force_fails './filter spring | ./filter spring | ./filter die 0 | ./filter spring' 'ended with status 1 in step 0'
	force_fails true 'ended with status 0 before it answered in step 0'
	force_fails 'kill -9 $$' 'was ended by signal 9 (Killed) in step 0'
	force_fails 'nb-no-such-program' 'ended with status 127 (the shell has not found a program; those of nb are links to one file'
	force_fails 'head -c 100000' 'ended with status 0 before it answered (truncated stream'
	force_fails 'exec >&-; sleep 1000' 'closed its output before it answered in step 0'
	force_fails 'exec <&-; sleep 1000' 'stopped reading its input in step 0'
	force_fails './filter fail-end' 'ended with status 5'
	force_fails './filter no-end' 'ended with status 0 before it answered (truncated stream: no end marker after frame 5)'
}

# bats test_tags=once
@test "a pipeline that answers with something else is found out" {
	force_fails 'echo garbage; cat >/dev/null' 'wrote a bad stream: not a particle stream'
	force_fails 'cat' "returned no field 'acc' in step 0"
	force_fails './filter no-acc' "returned no field 'acc' in step 0"
	force_fails './filter no-id' "returned no field 'id' in step 0"
	force_fails './filter no-mass' "returned no field 'mass' in step 0"
	force_fails './filter no-vel' "returned no field 'vel' in step 0" '--integrator taylor'
	force_fails './filter no-nb_step_row' "returned no field 'nb_step_row' in step 0"
	force_fails './filter same-row' "changed the column 'nb_step_row' in step 0"
	force_fails './filter far-row' "changed the column 'nb_step_row' in step 0"
	force_fails './filter no-jerk' "returned no field 'jerk' (want nb-force --jerk, or nb-field --alone --jerk) in step 0" '--integrator taylor'
	force_fails './filter few' 'returned 99999 bodies instead of 100000 in step 0'
	force_fails './filter many' 'returned 100001 bodies instead of 100000 in step 0'
	force_fails './filter other-id' 'returned other ids than it was given in step 0'
	force_fails './filter twice' 'returned a frame of step 0 in step 1'
	force_fails './filter again' 'returned a frame of step 0 in step 1'
	force_fails './filter extra' 'wrote more frames than it was given'
}

@test "an acceleration that is not finite is refused with the id of its body" {
	id=$(mutate show id <five.nb | sed -n 3p)
	fails_with 1 "field 'acc' of the body with id $id is not finite in step 0" "nb-step -d 0.1 './filter nan' <five.nb"
	./filter nan <five.nb >nan.nb
	fails_with 1 "field 'acc' of the body with id $id is not finite in frame 0" 'nb-step -d 0.1 <nan.nb'
	./filter spring <five.nb | mutate set jerk 2 1 inf >inf.nb
	fails_with 1 "field 'jerk' of the body with id $id is not finite in frame 0" 'nb-step -d 0.1 --integrator taylor <inf.nb'
}

@test "frames that were written before a failure stay, without an end marker" {
	run bash -c "nb-step -d 0.1 -k 9 './filter die 4' <five.nb >out.nb"
	[ "$status" -eq 1 ]
	run nb-convert --no-comments --to csv <out.nb
	[ "$status" -eq 1 ]
	[[ $output == *'no end marker after frame 3'* ]]
}

@test "a pipeline through CSV is refused before it hangs" {
	refused_with() { # refused_with FOLD PIPELINE
		local code=0
		NB_FOLD=$1 timeout 60 nb-step -d 0.1 "$2" <five.nb >out 2>err || code=$?
		equals "$code $(tail -n 1 err)" "1 nb-step: force pipeline '$2' cannot answer: nb-convert waits for the end of its input before it converts a frame (want programs that read and write the stream, see nb-filter(7)) in step 0"
	}
	for fold in on off; do
		for force in 'nb-convert --no-comments --to csv | nb-convert --from csv' 'nb-convert --no-comments --to csv | cat' 'nb-convert --no-comments --to csv | awk 1 | nb-convert --from csv'; do
			# nb-step looks some seconds for such a program, which may start later
			in_one_of 5 refused_with $fold "$force"
		done
	done
}

# bats test_tags=once
@test "no pipeline deadlocks, however it buffers" {
	for force in './filter spring' './filter spring | cat' 'cat | ./filter spring' 'cat | cat | ./filter reverse | cat' \
		'stdbuf -o0 cat | ./filter spring | dd bs=7 status=none' './filter spring | (sleep 0.3; cat)'; do
		input=many.nb
		[[ $force == *bs=7* ]] && input=n257.nb
		timeout 600 nb-step -d 0.25 -k 3 --every 0 --no-history "$force" <$input >out.nb
		[ "$(times <out.nb)" = 0.75 ]
	done
}

# bats test_tags=slow,once
@test "a pipeline that waits for the end of its input is warned of, and an interrupt ends it all" {
	rm -f err sponge # of another test: what begins in the background empties them late
	"${SIGNALLED[@]}" nb-step -d 0.1 -k 3 'sh -c "echo \$\$ >sponge; cat >hold; cat hold"' <five.nb >out.nb 2>err &
	step=$!
	until_there err
	until_there sponge
	kill -INT $step
	gone $step
	code=0
	wait $step || code=$?
	[ $code -eq 130 ]
	cat err
	[[ $(cat err) =~ 'waiting for '[1-9][0-9]' seconds in step 0: force pipeline '.*' does not answer (does a program in it wait for the end of its input?)' ]]
	[ "$(wc -l <err)" -eq 1 ]
	gone "$(cat sponge)"
}

# ---- ends ---------------------------------------------------------------------------------------------------------

@test "a reader that goes away ends everything, silently" {
	run bash -c "nb-step -d 0.001 -k 100000000 '$TRACED' <five.nb 2>err | head -c 1000 >/dev/null; echo \${PIPESTATUS[0]}"
	[ "$output" = 141 ]
	equals "$(without_waiting err)" ''
	gone "$(cat first)"
	gone "$(cat second)"
}

@test "a full disk is an error, and ends everything" {
	run bash -c "nb-step -d 0.001 -k 100000000 '$TRACED' <five.nb 2>&1 >/dev/full"
	[ "$status" -eq 1 ]
	[ "$output" = 'nb-step: write error: No space left on device' ]
	gone "$(cat first)"
	gone "$(cat second)"
	run bash -c "./filter spring <five.nb | nb-step -d 0.1 2>&1 >/dev/full"
	[ "$status" -eq 1 ]
	[ "$output" = 'nb-step: write error: No space left on device' ]
}

@test "a signal ends everything" {
	# INT and QUIT are ignored by what a script starts in the background, and HUP below nohup
	for signal in TERM $([ -n "$(trap -p HUP)" ] || echo HUP); do
		rm -f first second
		nb-step -d 0.001 -k 100000000 --every 0 "$TRACED" <five.nb 2>err >/dev/null &
		step=$!
		until_there first
		until_there second
		kill -"$signal" "$step"
		gone "$step"
		code=0
		wait $step || code=$?
		[ $code -eq $((128 + $(kill -l "$signal"))) ]
		gone "$(cat first)"
		gone "$(cat second)"
		equals "$(without_waiting err)" ''
	done
}

@test "a signal that comes while the pipeline is being started ends it, too" {
	# on one processor the command runs before nb-step knows that it does
	for i in 1 2 3; do
		rm -f first
		code=0
		taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" nb-step -d 0.001 \
			'echo $$ >first; kill -TERM $PPID; exec sleep 1000' <five.nb >/dev/null || code=$?
		[ $code -eq 143 ]
		gone "$(cat first)"
	done
}

@test "a broken input ends everything" {
	rm -f first second # of another test, whose numbers other processes may have got since
	{ head -c -128 five.nb; } >cut.nb
	run bash -c "nb-step -d 0.1 '$TRACED' <cut.nb 2>&1 >out.nb"
	[ "$status" -eq 1 ]
	[ "$output" = 'nb-step: truncated stream: no end marker after frame 0' ]
	gone "$(cat first)"
	gone "$(cat second)"
	fails_with 1 'truncated stream' "false | nb-step -d 0.1 './filter spring'"
	fails_with 1 'truncated stream' 'false | nb-step -d 0.1'
}

@test "the command of the pipeline is ended even if it refuses" {
	run bash -c "nb-step -d 0.1 -k 3 \"trap '' TERM; echo \\\$\\\$ >first; ./filter few; sleep 1000\" <five.nb 2>&1 >/dev/null"
	[ "$status" -eq 1 ]
	[[ $output == *'returned 4 bodies instead of 5'* ]]
	gone "$(cat first)"
}

# ---- options and input --------------------------------------------------------------------------------------------

@test "wrong usage is refused" {
	fails_with 2 'no time step (give -d or --eta)' 'nb-step <five.nb'
	fails_with 2 "invalid dt '0'" 'nb-step -d 0 <five.nb'
	for bad in 0.1x nan inf ''; do
		fails_with 2 "invalid dt '$bad' (want a finite number)" "nb-step -d '$bad' <five.nb"
	done
	fails_with 2 "invalid steps '-1'" 'nb-step -d 0.1 -k -1 nb-force <five.nb'
	fails_with 2 "invalid every '1.5'" 'nb-step -d 0.1 --every 1.5 nb-force <five.nb'
	fails_with 2 "invalid eta '0' (want a number > 0)" 'nb-step --eta 0 nb-force <five.nb'
	fails_with 2 "invalid integrator 'rk4' (want leapfrog|euler|taylor" 'nb-step -d 0.1 --integrator rk4 <five.nb'
	fails_with 2 "option '--steps' needs the force pipeline" 'nb-step -d 0.1 -k 2 <five.nb'
	fails_with 2 "option '--every' needs the force pipeline" 'nb-step -d 0.1 --every 1 <five.nb'
	fails_with 2 "option '--until' needs the force pipeline" 'nb-step -d 0.1 --until 1 <five.nb'
	fails_with 2 "option '--send-velocities' needs the force pipeline" 'nb-step -d 0.1 --send-velocities <five.nb'
	fails_with 2 "unexpected operand '|' (quote the force pipeline: nb-step -d 0.1 'nb-force | nb-force')" "nb-step -d 0.1 nb-force '|' nb-force <five.nb"
	fails_with 2 'unknown' 'nb-step --radius <five.nb'
	fails_with 2 "unknown option '-e' (quote the force pipeline: nb-step -d 0.1 --until 1 'nb-force -e 0.05')" \
		'nb-step -d 0.1 --until 1 nb-force -e 0.05 <five.nb'
	fails_with 2 "unknown option '--potential' (quote the force pipeline: nb-step -d 0.1 'nb-force --potential')" \
		'nb-step -d 0.1 nb-force --potential <five.nb'
	fails_with 2 "unexpected operand 'nb-force' (quote the force pipeline: " 'nb-step -d 0.1 nb-sort-zorder nb-force <five.nb'
	# streams behind the command are operands, and an option before it is none of its own
	fails_with 2 "unknown option '-e' (quote the force pipeline: nb-step -d 0.1 'nb-force -e 0.05' five.nb n2.nb)" \
		'nb-step -d 0.1 nb-force -e 0.05 five.nb n2.nb'
	fails_with 2 "unknown option '-e' (one of the force pipeline stands within its quotes)" 'nb-step -e 0.1 nb-force five.nb'
	fails_with 2 "unknown option '--integrater' (did you mean '--integrator'? one of the force pipeline stands within its quotes)" \
		'nb-step --integrater yoshida -d 0.1 nb-force five.nb'
	fails_with 2 "unknown option '-e' (one of the force pipeline stands within its quotes)" 'nb-step -d 0.1 -e 0.1 nb-force --potential <five.nb'
	fails_with 2 "'five.nb' is a particle stream, and the first operand is the force pipeline (want nb-step ... 'nb-force -e 0.01' five.nb)" \
		'nb-step -d 0.1 five.nb'
	fails_with 2 "'five.nb' is a particle stream, and the first operand" 'nb-step -d 0.1 five.nb n2.nb'
	fails_with 2 "unknown option '-x' (see" "nb-step -d 0.1 -x 'nb-force -e 0.05' <five.nb"
	run bash -c 'nb-step -d 0.1 nb-sort-zorder <five.nb 2>&1 >/dev/null'
	[ "$output" = "nb-step: force pipeline 'nb-sort-zorder' returned no field 'acc' (is the whole pipeline quoted?) in step 0" ]
	fails_with 2 "backend 'abacus'" 'nb-step -d 0.1 -b abacus <five.nb'
}

# bats test_tags=once
@test "a program that takes the place of one that has ended is waited for" {
	nb-gen plummer -n 60000 >many.nb
	nb-step -d 0.001 "sleep 0.05 | NB_FOLD=off nb-force 2>/dev/null; sleep 0.05; nb-force -j 1 -e 0.1" <many.nb >got.nb
	nb-step -d 0.001 'nb-force -j 1 -e 0.1' <many.nb | nb-diff got.nb -
}

@test "what a frame lacks is named" {
	fails_with 1 "field 'acc' missing in frame 0 (put 'nb-force' before" 'nb-step -d 0.1 <five.nb'
	run bash -c "nb-step -d 0.1 'nb-force --jerk' <five.nb 2>&1 >/dev/null"
	[ "$status" -eq 1 ]
	[[ $output == *"field 'vel' missing in frame 0 (nb-step keeps it unless --send-velocities is given)"* ]]
	nb-force <five.nb >acc.nb
	fails_with 1 "field 'jerk' missing in frame 0 (put 'nb-force --jerk' before" 'nb-step -d 0.1 --integrator taylor <acc.nb'
	for field in pos vel; do
		mutate drop $field <five.nb >less.nb
		fails_with 1 "field '$field' missing in frame 0" "nb-step -d 0.1 './filter spring' <less.nb"
	done
	for attribute in time pending_kick step time_rest; do
		mutate attribute $attribute soon <acc.nb >bad.nb
		fails_with 1 "attribute $attribute='soon'" 'nb-step -d 0.1 <bad.nb'
	done
	mutate attribute step 1.5 <acc.nb >bad.nb
	fails_with 1 "attribute step='1.5' of frame 0 (want an integer >= 0)" 'nb-step -d 0.1 <bad.nb'
	id=$(mutate show id <five.nb | sed -n 2p)
	for field in pos vel; do
		mutate set $field 1 0 nan <acc.nb >bad.nb
		fails_with 1 "field '$field' of the body with id $id is not finite in frame 0" 'nb-step -d 0.1 <bad.nb'
	done
}

@test "a force pipeline of another process hears how many frames will come, and nobody else does" {
	NB_FOLD=off nb-step -d 0.1 -k 3 --every 0 'tee sent.nb | nb-force -e 0.1' <five.nb >out.nb
	equals "$(nb-stats --attributes sent.nb | grep -o 'frames_to_come=.*' | paste -s -d ' ')" \
		'frames_to_come=4 frames_to_come=3 frames_to_come=2 frames_to_come=1'
	run ! grep -aq frames_to_come out.nb
}

@test "a body that a step throws out of the range of numbers is an error" {
	fails_with 1 'leaves the range of numbers in step 1 (time step 1e+300 too large?)' \
		"nb-step -d 1e300 --every 0 './filter spring' <five.nb"
	fails_with 1 'leaves the range of numbers' './filter spring <five.nb | nb-step -d 1e300'
	# velocities, after the last kick
	id=$(mutate show id <five.nb | sed -n 2p)
	./filter spring <five.nb | mutate set acc 1 0 1e308 >fast.nb
	fails_with 1 "the velocity of the body with id $id leaves the range of numbers in step 1" 'nb-step --integrator euler -d 10 <fast.nb'
}

# bats test_tags=once
@test "progress is shown on a terminal and nowhere else" {
	nb-step -d 0.1 -k 6 --every 0 './filter slow' <five.nb 2>err >/dev/null
	[ ! -s err ]
	script -qec "nb-step -d 0.1 -k 6 --every 0 './filter slow' <five.nb >/dev/null" /dev/null >shown </dev/null
	# steps of 0.3 s or more, and the time for the rest of them at that pace
	grep -oE 'step [1-5] of 6, t = 0\.[1-5], [0-9.]+ steps/s, [0-9]+:[0-9]+:[0-9]+ left' shown | tr -s ' ,:' '\t' | awk -F '\t' '
		{ left = $10 * 3600 + $11 * 60 + $12 - (6 - $2) / $8 }
		!($7 == $2 / 10 && $8 > 0 && $8 < 1 / 0.3 + 0.1 && left > -1.1 && left < 1.1) { print; bad = 1 }
		END { exit bad || !NR }'
	# the line is wiped in the end
	[ "$(tail -c 1 shown | od -An -c | tr -d ' ')" = '\r' ]
	script -qec "nb-step -q -d 0.1 -k 6 --every 0 './filter slow' <five.nb >/dev/null" /dev/null >shown </dev/null
	[ ! -s shown ]
	# a row of a table behind takes its place, if they are one process, as they are if none starts late
	[[ $NB_BIN != */san/* ]] || return 0
	takes_its_place() {
		TERM=xterm script -qec "nb-step -d 0.1 -k 6 --every 3 './filter slow' <five.nb | nb-stats --epot none" /dev/null >shown </dev/null
		equals "$(sed 's/.*\x1b\[K//' shown | tr -d '\r' | grep -c '^ *[0-9]* .*  5 ')" 3 || return 1
		equals "$(grep -cE 'left *[0-9 ]+ 0\.3 ' shown)" 0
	}
	in_one_of 10 takes_its_place
}

@test "-v tells how long the pipeline took" {
	local start=${EPOCHREALTIME/./}
	run bash -c "nb-step -v -d 0.1 -k 2 --every 0 './filter slow' <five.nb 2>&1 >/dev/null"
	local took=$((${EPOCHREALTIME/./} - start))
	[[ ${lines[-1]} =~ ^nb-step:\ ([0-9.]+)\ s,\ of\ which\ ([0-9.]+)\ s\ in\ the\ force\ pipeline$ ]]
	at_most "$(awk "BEGIN { print $took / 1e6 + 0.01 }")" "${BASH_REMATCH[1]}"
	at_most "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	at_most "${BASH_REMATCH[2]}" 0.9
}

@test "-v tells how long each stage of a step takes on the CPU, and no more than all of them took" {
	unset NB_FOLD # programs that are processes of their own have other stages
	local pipeline='nb-sort-zorder -b cpu | nb-build-tree -b cpu | nb-force -b cpu -t 0.6 -e 0.01' ms='[0-9.e-]+' stage whole
	local want='^nb-step: milliseconds a step: '
	for stage in keys sort permutation tree moments 'preparation of the walk' walk 'of which threads waited'; do
		want+="$stage $ms, "
	done
	has_stages() {
		run bash -c "nb-gen plummer -n 300 | nb-step -v -b cpu -d 0.01 -k 3 --every 0 '$pipeline' 2>&1 >/dev/null"
		[[ ${lines[-1]} =~ ${want}rest\ $ms$ ]]
	}
	in_one_of 20 has_stages # a program that starts too late is a process of its own, too
	[[ ${lines[-2]} =~ ^nb-step:\ ([0-9.]+)\ s,\ of ]]
	whole=${BASH_REMATCH[1]}
	sed 's/.*a step: //; s/of which threads waited [^,]*, //' <<<"${lines[-1]}" | tr ',' '\n' | awk -v whole="$whole" '
		{ sum += $NF } END { print sum, whole; exit !(sum > 0 && 4 * sum <= 1001 * whole) }'
}

@test "memory is used again: more steps have no more page faults" {
	local measure="$NB_BIN/../tests/bench/measure" steps
	[ -x "$measure" ] || make_here "${NB_BIN%/bin}/tests/bench/measure"
	[[ $NB_BIN == */san/* ]] && skip 'sanitizers keep no memory'
	nb-gen plummer -n 30000 >start.nb
	few_faults() {
		rm -f m.txt
		for steps in 5 25; do
			"$measure" m.txt nb-step -k "$steps" -d 0.001 \
				'nb-sort-zorder -b cpu | nb-build-tree -b cpu | nb-force -b cpu -t 0.8 -e 0.01' <start.nb >end.nb || return 1
		done
		# 20 steps; a column of positions alone has 180 pages
		awk '{ print $4; faults[NR] = $4 } END { exit !(NR == 2 && faults[2] - faults[1] < 20 * 180) }' m.txt
	}
	in_one_of 5 few_faults # a program that starts late does not fold
}

@test "auto is the same for a run and the programs of its force pipeline, by the steps to come" {
	export NB_FOLD=on # a force pipeline that is not folded does not know of the steps
	few_steps() {
		run bash -c "nb-gen plummer -n 2000 | nb-step -v -j 1 -d 1e-4 -k 3 'nb-sort-zorder -v -j 1 | nb-build-tree -v -j 1 | nb-force -v -j 1 -t 0.6 -e 0.1' 2>&1 >/dev/null"
		grep -o 'backend .*' <<<"$output" >few || return 1
		equals "$(wc -l <few) $(sort -u few | wc -l) $(grep -c but: few)" '4 1 0'
	}
	many_steps() {
		run bash -c "nb-gen plummer -n 2000 | nb-step -v -j 1 -d 1e-4 --until 100 --every 0 'nb-force -v -j 1 -e 0.1' 2>&1 >/dev/null | head -n 6"
		[[ $output == *'but: '* || $output == *'backend cuda:0: '* ]]
	}
	in_one_of 10 few_steps # a program that starts late does not fold
	in_one_of 10 many_steps
}

@test "frames that were passed on before a failure are whole, also for a slow reader" {
	nb-gen plummer -n 20000 >late.nb
	nb-step -d 1e154 -k 50 'nb-sort-zorder | nb-build-tree | nb-force' <late.nb 2>err | { sleep 0.3; cat; } >cut.nb || :
	grep -q 'leaves the range of numbers' err
	run nb-stats <cut.nb
	[[ $output == *'no end marker after frame'* ]]
}

@test "a saved run is not overwritten by its rest, and another law of force is told" {
	nb-gen plummer -n 50 | nb-step -d 0.02 -k 8 --every 4 'nb-force -e 0.05 --potential' >run.nb
	cp run.nb before.nb
	fails_with 2 "'--output' is the file of '--resume', whose frames would be lost" "nb-step -d 0.02 -k 16 --every 4 --resume run.nb -o run.nb 'nb-force -e 0.05 --potential'"
	ln run.nb link.nb
	fails_with 2 'whose frames would be lost' "nb-step -d 0.02 -k 16 --every 4 --resume run.nb -o link.nb 'nb-force -e 0.05 --potential'"
	cmp run.nb before.nb
	nb-step -d 0.02 -k 16 --every 4 --resume run.nb 'nb-force -e 0.5 --potential' 2>err >rest.nb
	equals "$(cat err)" "nb-step: 'run.nb' was computed with softening 0.05, G 1, and this run with softening 0.5, G 1"
	nb-step -d 0.02 -k 16 --every 4 --resume run.nb 'nb-force -e 0.05 --potential' 2>err >rest.nb
	equals "$(cat err)" ''
	# other steps, too, where they have one length
	nb-step -d 0.01 -k 16 --every 4 --resume run.nb 'nb-force -e 0.05 --potential' 2>err >rest.nb
	equals "$(cat err)" "nb-step: 'run.nb' was computed in steps of 0.02, and this run in steps of 0.01"
	nb-step -d 0.01 --eta 0.1 --until 0.2 --every 4 --resume run.nb 'nb-force -e 0.05 --potential' 2>err >rest.nb
	equals "$(cat err)" ''
	nb-select --frames -1 run.nb >last.nb
	nb-step -d 0.01 -k 16 --every 4 --resume last.nb 'nb-force -e 0.05 --potential' 2>err >rest.nb
	equals "$(cat err)" ''
	# of a time of which a step is a few last digits, such as a Julian date, less is known
	nb-gen kepler | nb-calc '@time = 2451545' | nb-step -d 1e-4 -k 8 nb-force >date.nb
	nb-step -d 1e-4 -k 9 --resume date.nb nb-force 2>err >rest.nb
	equals "$(cat err)" ''
	nb-step -d 2e-4 -k 9 --resume date.nb nb-force 2>err >rest.nb
	grep -q "^nb-step: 'date.nb' was computed in steps of .*, and this run in steps of 0.0002$" err
	# in an expanding universe in the variable of the steps, which may be shorter to meet --until
	nb-gen lpt -n 64 --box 50 --redshift 9 >lpt.nb
	local go=(nb-step --cosmology --every 1 'nb-force -m treepm -e 1 --softening-kernel spline')
	"${go[@]}" -d 0.1 --until 0.125 lpt.nb >run.nb
	"${go[@]}" -d 0.1 --until 0.2 --resume run.nb 2>err >rest.nb
	equals "$(cat err)" ''
	"${go[@]}" -d 0.05 --until 0.2 --resume run.nb 2>err >rest.nb
	grep -q "^nb-step: 'run.nb' was computed in steps of 0.07[0-9]*, and this run in steps of 0.05$" err
	"${go[@]}" -d 0.001 --steps-in a --until 0.13 --resume run.nb 2>err >rest.nb
	grep -q "^nb-step: 'run.nb' was computed in steps of 0.00[0-9]*, and this run in steps of 0.001$" err
}

@test "bodies without softening that come too close are reported once, where no energy is known" {
	nb-gen plummer -n 500 >p.nb
	for force in 'nb-force -e 0.01' 'nb-force --G 0'; do
		nb-step -d 0.02 -k 60 --every 0 "$force" <p.nb 2>err >out.nb
		equals "$(cat err)" ''
	done
	nb-step -d 0.02 -k 60 --every 0 nb-force <p.nb 2>err >out.nb
	grep -Eqx 'nb-step: bodies come closer to each other in step [0-9]+ than steps of 0.02 can follow, without a softening .*' err
	equals "$(wc -l <err)" 1
	nb-step -d 0.02 -k 60 --every 0 'nb-force --potential' <p.nb 2>err >out.nb
	run ! grep -q closer err
	# orbits that the step follows, about bodies of any mass
	for model in kepler 'kepler --eccentricity 0.5' figure8 'ring -n 300' solar; do
		# shellcheck disable=SC2086
		equals "$(nb-gen $model | nb-step -d 0.01 -k 100 --every 10 nb-force 2>&1 >/dev/null)" ''
	done
}

@test "an energy that is lost more and more is told again at the end" {
	nb-gen plummer -n 100 | nb-step -d 0.1 -k 200 --every 0 'nb-force --potential' 2>err >end.nb
	grep -q 'the energy is off by .* % in step' err
	grep -q 'the energy is off by .* % at the end$' err
	equals "$(wc -l <err)" 2
	nb-gen plummer -n 100 | nb-step -d 0.02 -k 20 --every 0 'nb-force -e 0.1 --potential' 2>err >end.nb
	equals "$(cat err)" ''
}

@test "a force pipeline finds the programs of nb without their folder in PATH" {
	nb-gen -n 20 >in.nb
	nb-step -d 0.01 -k 1 'nb-force -e 0.1 | cat' <in.nb >want.nb
	local bin
	bin=$(readlink -f "$NB_BIN")
	env -i PATH=/usr/bin:/bin "$bin/nb-step" -d 0.01 -k 1 'nb-force -e 0.1 | cat' <in.nb | cmp - want.nb
	env -i "$bin/nb-step" -d 0.01 -k 1 'nb-force -e 0.1 | cat' <in.nb | cmp - want.nb
}
