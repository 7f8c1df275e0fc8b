#!/usr/bin/env bats
# nb-plot: what is drawn is read back from SVG, in which cairo writes each point as a number, and from plots of text.
# as a filter: nb-plot --rows bodies -x x

load helper
export LC_ALL=C.UTF-8 # of C a plot of text has ASCII alone

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

need_cairo() {
	printf '1\n2\n' | nb-plot --format svg >/dev/null 2>why || skip "$(cat why)"
}

# points FILE: x and y of each point of the lines of the first colour
points() {
	grep -E 'stroke:rgb\(0%,44\.[0-9]*%,69\.[0-9]*%\)' "$1" | grep -oE ' d="[^"]*"' | sed 's/[ML]/\n/g; s/d="//; s/"//' | awk 'NF == 2'
}

# plot TEXT: a plot of a table of blanks and newlines, as text of 40 x 10
plot() {
	# shellcheck disable=SC2059
	printf -- "$1" | nb-plot -W 40 -H 10 "${@:2}"
}

@test "a line goes through its points, to scale" {
	need_cairo
	printf 'x\ty\n0\t0\n1\t1\n2\t4\n3\t9\n4\t16\n' | nb-plot -o a.svg
	points a.svg | head -n 5 >got
	awk '{ x[NR - 1] = $1; y[NR - 1] = $2 } function near(a, b) { return a - b < 2e-3 && b - a < 2e-3 }
		END { for (i = 0; i < 5; i++) if (!near((x[i] - x[0]) / (x[4] - x[0]), i / 4) || !near((y[i] - y[0]) / (y[4] - y[0]), i * i / 16)) exit 1
			exit !(NR == 5 && x[4] - x[0] > 400 && y[0] - y[4] > 200) }' got
}

@test "decades of a logarithmic axis are equally long" {
	need_cairo
	printf '1 1\n10 100\n1000 1e6\n' | nb-plot --log xy -o a.svg
	points a.svg | head -n 3 | awk '{ x[NR] = $1; y[NR] = $2 } END { q = (x[2] - x[1]) / (x[3] - x[1]) - 1 / 3; p = (y[2] - y[1]) / (y[3] - y[1]) - 1 / 3
		exit !(q < 1e-3 && q > -1e-3 && p < 1e-3 && p > -1e-3) }'
}

@test "positions have the same scale in both directions, unless a range is given" {
	need_cairo
	printf 'x,y,z,vx,vy,vz,mass\n0,0,0,0,0,0,1\n1,0,0,0,0,0,1\n1,3,0,0,0,0,1\n' | nb-convert --from csv >p.nb
	legs() { points a.svg | head -n 3 | awk '{ x[NR] = $1; y[NR] = $2 } END { printf "%.2f", (y[2] - y[3]) / (x[2] - x[1]) }'; }
	nb-plot -x x -y y --style line -o a.svg p.nb
	equals "$(legs)" 3.00
	nb-plot -x x -y y --style line --x-range 0:1 -o a.svg p.nb
	[ "$(legs)" != 3.00 ]
}

@test "a plot of text is the same characters everywhere" {
	equals "$(plot 'x y\n0 0\n1 1\n2 4\n3 9\n')" ' y
   │                              ⢀⡠⠔⠁
   │                           ⣀⠔⠊⠁
 5 │                       ⢀⠤⠒⠉
   │                  ⣀⡠⠤⠒⠊⠁
   │            ⢀⣀⠤⠔⠚⠉
 0 │⢀⠤⠤⠤⠤⠔⠒⠒⠒⠒⠉⠉⠁
   └──────────────────────────────────
    0          1          2          3
                     x'
}

@test "ticks are at 1, 2 or 5 times powers of ten, with minus signs and raised exponents" {
	ticks() { plot "$@" -H 8 | tail -n 2 | head -n 1 | xargs; }
	equals "$(ticks '0 0\n10 1\n' -W 60)" '0 2 4 6 8 10'
	equals "$(ticks '-1 0\n1 1\n' -W 60)" '−1.0 −0.5 0.0 0.5 1.0'
	equals "$(ticks '1e-12 1\n1e12 1\n' -W 60 --log x)" '10⁻¹⁰ 10⁻⁵ 1 10⁵ 10¹⁰'
	equals "$(plot '0 0\n1e9 1\n' | tail -n 1 | xargs)" 'c1 / 10⁹'
}

@test "a million points are drawn as their least and greatest in each column of pixels" {
	need_cairo
	awk 'BEGIN { srand(2); print "t y"; for (i = 0; i < 200000; i++) print i, rand() + (i == 77777 ? 5 : i == 123456 ? -5 : 0) }' >t
	nb-plot -o a.svg t
	points a.svg >got
	[ "$(wc -l <got)" -le 3000 ]
	sort -g -k 2 got | sed -n '1p; $p' | awk '{ x[NR] = $1; y[NR] = $2 } END { exit !(x[1] < x[2] && y[2] - y[1] > 280) }'
}

@test "the same rows give the same bytes, without dates and versions, for any number of threads" {
	need_cairo
	local format
	nb-gen plummer -n 300 >p.nb
	for format in png svg pdf text; do
		nb-plot -x x -y vx --format $format -j 1 p.nb >a
		nb-plot -x x -y vx --format $format -j 3 p.nb >b
		cmp a b
		run ! grep -aiE '[(> ]cairo [0-9]|20[2-9][0-9]-?[01][0-9]-?[0-3][0-9]' a
	done
	nb-plot -x x -y vx -o c.PNG p.nb
	nb-plot -x x -y vx --format png - <p.nb | cmp - c.PNG
	cmp c.PNG <(NB_FOLD=off nb-gen plummer -n 300 | nb-plot -x x -y vx --format png)
}

@test "frames of a stream are what nb-stats prints, and bodies are columns and expressions" {
	nb-gen plummer -n 50 | nb-step -q -d 0.1 -k 5 --every 1 'nb-force -e 0.1' >run.nb
	nb-stats --format tsv run.nb | nb-plot -x time -y 'ekin,etot-epot' >want
	nb-plot -x time -y 'ekin,etot-epot' run.nb | cmp - want
	cat run.nb | nb-plot -x time -y 'ekin,etot-epot' | cmp - want
	nb-convert --to csv run.nb | awk -F , '/^#/ { next } NR > 1 { print }' >all.csv
	nb-select --frames last run.nb | nb-convert --to csv --no-comments | nb-plot -x x -y vx --style points >want
	nb-plot -x x -y vx run.nb | cmp - want
	nb-plot -x 'x*2/2' -y 'vx' --x-label x run.nb | cmp - want
	# one body after the other
	nb-select --ids 3 run.nb | nb-convert --to csv --no-comments | nb-plot -x time -y x --style line >want
	nb-select --ids 3 run.nb | nb-plot -x time -y x --style line | cmp - want
}

@test "presets draw streams, and the tables of nb-stats that have their columns" {
	nb-gen plummer -n 400 | nb-step -q -d 0.1 -k 3 --every 1 'nb-force -e 0.1' >run.nb
	nb-plot energies run.nb >want
	nb-stats --format tsv run.nb | nb-plot | cmp - want
	nb-plot run.nb | cmp - want
	for p in energy lagrangian; do nb-stats --format tsv run.nb | nb-plot $p | cmp - <(nb-plot $p run.nb); done
	nb-stats --profile --format tsv run.nb | nb-plot | cmp - <(nb-plot density run.nb)
	nb-stats --profile --rings --format tsv run.nb | nb-plot | cmp - <(nb-plot surface-density run.nb)
	nb-stats --profile --rings --format tsv run.nb | nb-plot rotation | cmp - <(nb-plot rotation run.nb)
	nb-gen lpt -n 512 --redshift 4 >box.nb
	nb-power --mesh 16 box.nb --format tsv >power.tsv
	nb-plot power.tsv | cmp - <(nb-plot -x k -y P --by time --log xy power.tsv)
	# of a profile the last frame
	nb-plot density run.nb | cmp - <(nb-select --frames last run.nb | nb-plot density)
	nb-plot phase run.nb | cmp - <(nb-plot -x r -y vr --style map run.nb)
	printf 'theta error_p99 seconds\n0.3 1e-5 9\n0.5 1e-4 4\n0.8 1e-3 2\n' | nb-plot accuracy -H 24 | grep -q '10⁻⁴'
	fails_with 2 "preset 'accuracy' draws a table" 'nb-plot accuracy run.nb'
}

@test "a histogram counts, and a map counts in two directions" {
	need_cairo
	printf 'x\n0\n1\n1\n1\n2\n9\n10\n' | nb-plot --bins 10 -x x -o h.svg
	points h.svg | awk '{ x[NR] = $1; y[NR] = $2 } END { w = (x[NR] - x[1]) / 10
		for (i = 0; i < 10; i++) for (k = 2; k <= NR; k++) if (x[k - 1] < x[1] + (i + 0.5) * w && x[k] > x[1] + (i + 0.5) * w) h[i] = y[1] - y[k]
		for (i = 0; i < 10; i++) printf "%d ", h[i] / h[0] + 0.5 }' >got
	equals "$(<got)" '1 3 1 0 0 0 0 0 0 2 '
	# full and half filled: 16 bodies above, one below
	printf '%s\n' 'x y' '1 1'{,}{,}{,}{,} '0 0' | nb-plot -W 40 -H 10 -x x -y y --style map --bins 2 >got
	grep -q '⢿⢿\|⣿⣿' got
	[ "$(grep -c '⠁⠁\|⠅⠅' got)" -ge 1 ]
}

@test "panels, columns of texts, and several files" {
	printf 'k t v\nbpt 1 5\nppt 1 2\nbpt 2 6\nppt 2 3\n' >a.txt
	nb-plot -x t -y v --by k a.txt >got
	grep -q 'a bpt' got
	grep -q 'b ppt' got
	nb-plot -x v -y t --by t a.txt | grep -q 'a t 1'
	equals "$(nb-plot -x t -y 'v;v*v' -H 24 a.txt | grep -c '└')" 2
	printf 'k,t,v\n"a, ""b""",1,"5"\nc,2,6\n' >b.csv
	nb-plot -x t -y v --by k b.csv | grep -qF 'a a, "b"'
	nb-plot -x t -y v a.txt b.csv | grep -q 'b b.csv'
	run ! grep b.csv <(nb-plot -x t -y v --style map a.txt b.csv)
	fails_with 1 "a.txt' line 2: 'bpt' in column 'k' is no number" 'nb-plot -x t -y k a.txt'
}

@test "with --by colours tell the values, and dashes the curves; what has no point has no line in the legend" {
	need_cairo
	printf 'k,t,a,b\nu,1,1,2\nu,2,2,3\nw,1,5,\nw,2,6,\n' >t.csv
	nb-plot -x t -y a,b --by k -o t.svg t.csv
	equals "$(grep -c 'stroke-dasharray' t.svg)" 2 # the line and its sample
	grep 'stroke-dasharray' t.svg | grep -qE 'rgb\(0%,44'
	nb-plot -x t -y a,b --by k t.csv >got
	equals "$(grep -oE '[abc] [ab], [uw]' got | xargs)" 'a a, u b a, w c b, u'
}

@test "axes have the units of the frame" {
	nb-gen plummer -n 20 | nb-transform --from-units 1pc,1000Msun --units pc,Msun,km/s >u.nb
	nb-plot -x 'mass*r2' -y 0.5*v2 -W 60 -H 10 u.nb >got
	grep -qF 'mass*r2 (Msun pc²)' got
	grep -qF '0.5*v2 (km²/s²)' got
	nb-plot -x time -y etot -W 60 -H 10 u.nb >got
	grep -qF 'etot (Msun (km/s)²)' got
	grep -qF 'time (pc/(km/s))' got
	nb-plot density -H 10 u.nb | grep -qF 'density (Msun/pc³)'
	nb-gen plummer -n 20 | nb-plot -x x -y vx | tail -n 1 | grep -qx ' *x'
	nb-gen solar | nb-plot -x x -y vx | tail -n 1 | grep -qx ' *x (AU)'
	nb-gen lpt -n 64 | nb-plot -x mass -y x | tail -n 1 | grep -qF 'mass (1e10 Msun/h)'
	nb-gen solar | nb-plot -x x -y vx | grep -qF 'vx (AU/d)'
}

@test "a terminal gets what it shows: colours, sixel, PNG for kitty, and no binary" {
	need_cairo
	command -v script >/dev/null || skip 'no script(1)'
	printf '1 1\n2 3\n3 2\n' >t
	shown() { env -u TMUX -u KITTY_WINDOW_ID -u TERM_PROGRAM -u NO_COLOR "${@:2}" timeout 20 script -qec "$1" /dev/null </dev/null | tr -d '\r'; }
	[[ "$(shown 'nb-plot t' TERM=xterm)" == *$'\33[38;5;'* ]]
	[[ "$(shown 'nb-plot t' TERM=xterm NO_COLOR=1)" == *─* ]]
	[[ "$(shown 'nb-plot t' TERM=xterm NO_COLOR=1)" != *$'\33'* ]]
	[[ "$(shown 'nb-plot --format png t; echo $?' TERM=xterm)" == *'is a terminal and the picture is binary'*$'\n'2 ]]
	shown 'nb-plot -W 120 -H 80 t' TERM=xterm-kitty | sed $'s/\33_G[^;]*;//g; s/\33.//g' | base64 -d >a.png
	nb-plot -W 120 -H 80 -o b.png t
	cmp a.png b.png
	shown 'nb-plot -W 120 -H 80 t' TERM=foot >a.sixel
	pngtopnm b.png >b.ppm
	python3 - <<-'END'
	import re
	text = open("a.sixel").read()
	body = text[text.index("q") + 1:text.index("\33\\")]
	got, x, y, color = {}, 0, 0, 0
	for raster, define, pick, repeat, count, one, move in re.findall(
	        r'("[\d;]*)|(#\d+;[\d;]*)|#(\d+)|(!(\d+))?([?-~])|([$-])', body):
	    if pick: color = int(pick)
	    elif move == "$": x = 0
	    elif move == "-": x, y = 0, y + 6
	    elif one:
	        for _ in range(int(count or 1)):
	            for k in range(6):
	                if (ord(one) - 63) >> k & 1: got[x, y + k] = color
	            x += 1
	data = open("b.ppm", "rb").read()
	kind, width, height = data.split()[0], *map(int, data.split()[1:3])
	deep = 3 if kind == b"P6" else 1
	pixels = data[-deep * width * height:]
	level = lambda v: (v * 5 + 127) // 255
	for j in range(height):
	    for i in range(width):
	        p = pixels[deep * (j * width + i):][:deep] * (3 // deep)
	        want = (level(p[0]) * 6 + level(p[1])) * 6 + level(p[2])
	        assert got.get((i, j)) == want, (i, j, got.get((i, j)), want)
	assert (width, height) == (120, 80) and len(set(got.values())) > 5
	END
}

@test "what cannot be drawn is left out, and said" {
	run --separate-stderr plot 'x y\n1 1\n2 nan\n3 inf\n4 NA\n5 2\n' -v
	[[ $status -eq 0 && $stderr == 'nb-plot: 3 of 5 points are left out: not finite' ]]
	run --separate-stderr plot 'x y\n1 1\n2 0\n3 -1\n' --log y
	[[ $status -eq 0 && $stderr == 'nb-plot: 2 of 3 points are left out: not positive, on a logarithmic axis' ]]
	run --separate-stderr plot 'x\ty\n'
	[[ $status -eq 0 && $stderr == 'nb-plot: there is nothing to draw: no rows' ]]
	for n in 0 1; do nb-gen plummer -n $n | nb-plot phase -q >/dev/null; done
	plot '1 1\n1 1\n' | grep -q '1.0'
	plot '1e-300 -1e300\n1e300 1e300\n' | grep -q '10³⁰⁰'
}

@test "bars in text are as high as their counts, and a legend that has no place in a panel stands beside it" {
	equals "$(plot 'x\n0\n1\n1\n1\n2\n' -x x --bins 3)" ' number
   │           ⣶⣶⣶⣶⣶⣶⣶⣶⣶⣶⣶⣶
   │           ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
 2 │           ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
   │           ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
   │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
   │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿
 0 └──────────────────────────────────
   0.0     0.5      1.0     1.5      2.0
                     x'
	awk 'BEGIN { srand(4); print "t a b"; for (i = 0; i < 400; i++) print i, rand(), rand() }' >noise
	[ "$(nb-plot -x t -y a,b -W 60 -H 20 noise | grep -o '─' | wc -l)" -le 46 ]
	[ "$(nb-plot -x t -y a -W 60 -H 20 noise | grep -o '─' | wc -l)" -ge 50 ]
}

@test "a line in many pieces has no gaps" {
	need_cairo
	awk 'BEGIN { srand(6); print "t y"; for (i = 0; i < 60000; i++) print i, rand() }' | nb-plot -W 5000 -H 100 -o a.svg
	grep -E 'stroke:rgb\(0%,44' a.svg | grep -oE ' d="[^"]*"' | sed 's/ d="M *//; s/[ML"]//g' | awk '
		NR > 1 && ($1 - x > 0.01 || x - $1 > 0.01 || $2 - y > 0.01 || y - $2 > 0.01) { print NR ": " x " " y ", then " $1 " " $2; bad = 1 }
		{ x = $(NF - 1); y = $NF }
		END { exit bad || NR < 3 }'
}

@test "limits have a message" {
	many() { awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; i++) printf "c%d%s", i, s; print "" }'; }
	awk 'BEGIN { print "k v"; for (i = 1; i <= 65; i++) print "k" i, i }' >k.txt
	fails_with 1 "'k' has more than 64 different values" 'nb-plot -x v -y v --by k k.txt'
	head -n 65 k.txt | nb-plot -x v -y v --by k -H 80 | grep -q k64
	fails_with 2 'more than 64 expressions' "nb-plot -x v -y v$(printf ',v%.0s' {1..64}) k.txt"
	many 1025 ' ' >wide.txt
	fails_with 1 'has more than 1024 columns' 'nb-plot wide.txt'
	fails_with 1 'no column of numbers to draw' 'cut -d " " -f 1 k.txt | nb-plot'
	fails_with 1 "x-range '100:': there is nothing (the data are from 1 to 65)" 'nb-plot -x v -y v --x-range 100: k.txt'
	nb-gen plummer -n 9 >p.nb
	nb-plot -j 1 p.nb 2>/dev/null | cmp - <(nb-plot p.nb 2>/dev/null)
	mutate set pos 1 0 nan <p.nb >bad.nb
	fails_with 1 'not finite' 'nb-plot energies bad.nb'
}

@test "tables with CR LF, comments, units and numbers alone are read" {
	plot 'x y\n1 2\n3 4\n' >want
	plot '# a comment\n\nx,y\r\n1,2\r\n3,4\r\n' | cmp - want
	plot '\xef\xbb\xbfx;y\n1;2\n3;4' | cmp - want
	printf 'x [kpc]\ttotal ms [s^2]\n1\t2\n3\t4\n' | nb-plot -W 40 -H 10 -x x -y total_ms >got
	grep -q 'x (kpc)' got
	grep -q 'total_ms (s²)' got
	plot '1\n4\n9\n' | grep -q row
}

@test "a bad table or request is one clear line" {
	fails_with 1 'standard input is empty' 'nb-plot </dev/null'
	fails_with 1 "no column 'etott' (did you mean 'etot'?" "nb-gen -n 5 plummer | nb-plot -x time -y etott"
	fails_with 1 "no column 'foo' in frame 0 (there are: id mass x y z vx vy vz); nb-stats has no column 'foo'" "nb-gen -n 5 plummer | nb-plot -x foo"
	fails_with 1 'line 3: has more cells' "printf 'x y\n1 2\n1 2 3\n' | nb-plot"
	fails_with 1 'NUL byte' "printf 'x\n1\0\n' | nb-plot"
	fails_with 1 'longer than a MiB' "head -c 1100000 /dev/zero | tr '\0' x | nb-plot"
	fails_with 1 'quote is not closed' "printf 'x,y\n\"1,2\n' | nb-plot"
	fails_with 1 'truncated stream' "nb-gen plummer -n 5 | head -c 900 | nb-plot -x x"
	fails_with 2 'has no suffix of a picture' "nb-gen plummer -n 5 | nb-plot -o x.gif"
	fails_with 2 "no file 'enrgy' (did you mean 'energy'?" 'nb-plot enrgy run.nb'
	fails_with 2 "no file 'vx' (columns are drawn by '-x NAME -y NAME')" 'nb-plot vx vy run.nb'
	fails_with 1 "'run.nb': No such file" 'nb-plot energy run.nb'
	fails_with 2 'exclude each other' 'nb-plot energy -x x'
	fails_with 2 "needs --y" "printf 'x\n1\n' | nb-plot -x x --style map"
	fails_with 2 "invalid x-range '5:1'" "printf '1 2\n' | nb-plot --x-range 5:1"
	fails_with 2 "option '--bins' needs a histogram or a map" "printf '1 2\n' | nb-plot --bins 3"
	fails_with 2 "option '--frames' needs bodies" "printf '1 2\n' | nb-plot --frames all"
	fails_with 2 "option '--by' has no effect on a map" "nb-gen plummer -n 9 | nb-plot phase --by mass"
	[ ! -e x.gif ]
	run --separate-stderr bash -c "printf '1 2\n3 4\n' | nb-plot >/dev/full"
	[[ $status -eq 1 && $stderr == *'No space left'* ]]
}

# bats test_tags=linux
@test "without cairo a plot of text works, and a picture says what is missing" {
	mkdir lib
	: >lib/libcairo.so.2
	export LD_LIBRARY_PATH=$PWD/lib
	plot '1 2\n3 4\n' | grep -q c1
	fails_with 1 'apt-get install libcairo2' "printf '1 2\n3 4\n' | nb-plot -o x.png"
	ln -sf "$(ldconfig -p | awk '$1 == "libm.so.6" { print $NF; exit }')" lib/libcairo.so.2
	fails_with 1 'older than 1.16' "printf '1 2\n3 4\n' | nb-plot -o x.png"
	[ ! -e x.png ]
}

@test "in a locale without UTF-8 a plot of text has ASCII alone, unless dots are asked for" {
	LC_ALL=C plot 'x |v|\n1e-5 1e-7\n2e-5 3e-7\n1e-4 1e-4\n' --log y --title 'θ − Δ' -W 32 >got
	cmp got - <<-'END'
		                 ? - d
		 _v_
		 10^-4 |                  ..''
		       |             ..:''
		       |        ..:''
		 10^-6 |   ..:''
		       |.:'
		       +----------------------
		                0.5         1.0
		              x  / 10^-4
	END
	local dots plain
	dots=$(plot 'x\n0\n1\n1\n' -x x)
	plain=$(LC_ALL=C plot 'x\n0\n1\n1\n' -x x)
	[ "$dots" != "$plain" ]
	run ! grep -q '[^ -~]' <<<"$plain"
	grep -q '[#+:]' <<<"$plain"
	equals "$(LC_ALL=C plot 'x\n0\n1\n1\n' -x x --format text)" "$dots"
	# the first of three variables that is set; where none is, nothing is known
	equals "$(LC_ALL='' LC_CTYPE=POSIX LANG=C.UTF-8 plot 'x\n0\n1\n1\n' -x x)" "$plain"
	equals "$(LC_ALL='' LC_CTYPE='' LANG=de_DE.ISO-8859-1 plot 'x\n0\n1\n1\n' -x x)" "$plain"
	equals "$(LC_ALL='' LC_CTYPE='' LANG=de_DE.utf8 plot 'x\n0\n1\n1\n' -x x)" "$dots"
	equals "$(LC_ALL='' LC_CTYPE='' LANG='' plot 'x\n0\n1\n1\n' -x x)" "$dots"
}
