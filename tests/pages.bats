#!/usr/bin/env bats
# The manual: every example of every page runs, and every page is found.

load helper

# the .Dl lines below EXAMPLES, of a page without that all, roff escapes undone
examples() {
	local from=DESCRIPTION
	! grep -q '^\.Sh EXAMPLES' "$1" || from=EXAMPLES
	sed -n "/^\.Sh $from/,/^\.Sh SEE ALSO/p" "$1" | awk -f "$NB_TOP/man/examples.awk"
}

as_pasted() { tr '\001' '\n' <<<"$1"; } # an example of several lines

no_empty_picture() { run ! grep 'the picture is .*empty' messages; }

run_examples() {
	cd "$BATS_TEST_TMPDIR" || return 1
	local line count=0 has_view
	has_view=$(nb-view --exit </dev/null 2>&1 | grep -v 'not built in' || true)
	while read -r line; do
		line=$(as_pasted "$line")
		if [[ $line == *ffmpeg* || $line == *'-o '*.mp4* ]] && ! command -v ffmpeg >/dev/null; then
			continue
		fi
		if [[ $line == *nb-view* ]]; then # which waits for people
			[ -n "$has_view" ] || continue
			line=${line/nb-view/nb-view --exit}
		fi
		echo "$line"
		if [[ $line =~ \|[[:space:]]head ]]; then
			bash -c "$line" >out 2>messages </dev/null || { cat messages && return 1; }
		else
			bash -o pipefail -c "$line" >out 2>messages </dev/null || { cat messages && return 1; }
		fi
		no_empty_picture
		count=$((count + 1))
	done < <(examples "$1")
	[ "$count" -gt 0 ]
}

@test "the examples of nb(7) run" { run_examples "$NB_TOP/man/nb.7"; }
@test "the examples of nb-integrators(7) run" { run_examples "$NB_TOP/man/nb-integrators.7"; }
@test "the examples of nb-collisions(7) run" { run_examples "$NB_TOP/man/nb-collisions.7"; }
@test "the examples of nb-cosmology(7) run" { run_examples "$NB_TOP/man/nb-cosmology.7"; }
@test "the examples of nb-planets(7) run" { run_examples "$NB_TOP/man/nb-planets.7"; }
@test "what nb-equivalents(7) says runs" { run_examples "$NB_TOP/man/nb-equivalents.7"; }
@test "the examples of nb-filter(7) run" { run_examples "$NB_TOP/man/nb-filter.7"; }

# the recipes of nb-cookbook(7), one after the other in one directory
unroff() { sed "s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\-/-/g; s/\\\\&//g; s/\\\\e/\\\\/g"; }

cookbook_files() { # those of .\" file: NAME
	local name
	while read -r name; do
		sed -n "/^\.\\\\\" file: $name\$/,/^\.Ed/p" "$NB_TOP/man/nb-cookbook.7" | sed '/^\.\\"/d; /^\.[BE]d/d' | unroff >"$name"
	done < <(sed -n 's/^\.\\" file: //p' "$NB_TOP/man/nb-cookbook.7")
}

# galaxy_littleendian.dat: the file itself, or the galaxies of tests/data/galaxies.csv, which are cut out of it
two_galaxies() {
	local file=${NB_DATA:-none}/formats/galaxy_littleendian.dat
	if [ -r "$file" ]; then
		cp "$file" .
	else
		sed '1i # types=gadget' "$NB_TOP/tests/data/galaxies.csv" | nb-convert --from csv --G 43007.1 |
			nb-calc 'species = mass > 0.01 ? 1 : 2' | nb-convert --to gadget -o galaxy_littleendian.dat
	fi
}

# A line of the cookbook may have one before it, as a comment: "needs: COMMAND", without which it is not run, or "shorter: SED",
# the edits by which a test has less to do.
recipes() {
	awk -v mark='run: ' -f "$NB_TOP/man/examples.awk" "$NB_TOP/man/nb-cookbook.7"
}

@test "the recipes of nb-cookbook(7) run, and do what it says" {
	local kind line needs=: shorter='' count=0
	cd "$BATS_TEST_TMPDIR" || return 1
	cookbook_files
	two_galaxies
	mkdir bin
	export PYTHONPATH=$NB_TOP/python
	ln -s "$(command -v "$(numpy_python)")" bin/python3
	PATH=$PWD/bin:$PATH
	while IFS=' ' read -r kind line; do
		case $kind in
		needs:) needs=$line && continue ;;
		shorter:) shorter=$line && continue ;;
		esac
		line=$(as_pasted "$line")
		echo "$line"
		if [ -n "$shorter" ]; then
			[ "$(sed "$shorter" <<<"$line")" != "$line" ]
			line=$(sed "$shorter" <<<"$line")
		fi
		if bash -c "$needs" 2>/dev/null; then
			bash -o pipefail -c "$line" >out 2>messages </dev/null || { cat messages && return 1; }
			no_empty_picture
			[[ $line != *'read("run.nb"'* ]] || cp out frames.out
			[[ $line != *galaxies.mp4 ]] || cp messages galaxies.txt
			count=$((count + 1))
		fi
		needs=: shorter=''
	done < <(recipes)
	[ "$count" -ge 60 ]
	# a run in two pieces is one run
	nb-gen plummer -n 300 | nb-step -d 0.02 -k 40 --every 0 'nb-force -e 0.05' | nb-convert --to csv --no-comments >one.csv
	nb-convert --to csv --no-comments <whole.nb | cmp - one.csv
	# what was saved of a run, and what was done after it, are the run
	nb-stats --format tsv <run.nb | cut -f 2- >all.tsv
	cat saved.nb rest.nb | nb-stats --format tsv | cut -f 2- | cmp - all.tsv
	# pictures, films, tables and runs are there
	for f in run.mp4 run.gif run-magick.gif; do
		[ "$(ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 $f)" -eq 11 ]
	done
	grep -q '<path' radii.svg
	grep -q '<path\|<use' xy.svg
	[ "$(printf '%s\n' frame-*.png | wc -l)" -eq 11 ]
	[ "$(wc -l <frames.out)" -eq 11 ]
	[ "$(ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 galaxies.mp4)" -eq 11 ]
	at_most 1e-3 "$(sed -n 's/.*energy .*error .* in the end, \([^ ]*\) at most.*/\1/p' galaxies.txt)"
	# the snapshots are frames 0, 5 and 10, and ParaView sees their times
	nb-stats --format tsv <units.nb | awk 'NR == 2 || NR == 7 || NR == 12 { printf "%.6f\n", $2 }' >seen
	sed -n 's/.*timestep="\([^"]*\)".*/\1/p' paraview.pvd | xargs printf '%.6f\n' | diff seen -
	for seed in 1 2 3; do [ "$(wc -l <seed-$seed.tsv)" -eq 12 ]; done
	for f in eps-0.02.nb eps-0.2.nb; do nb-stats --check <$f; done
	# the Earth is back after a year
	nb-step -q -d 0.001 -k 1000 --every 0 nb-force <earth.nb | nb-convert --to csv --no-comments >year.csv
	close_to 1 "$(awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "x") at = i } END { print $at }' year.csv)" 1e-3
	# the line of cron under its environment
	env -i HOME="$PWD" PATH="$NB_BIN:/usr/bin:/bin" sh -c "$(cut -d ' ' -f 6- crontab.txt)"
	grep -aq '^step=25$' half.nb
}

@test "what nb-cookbook(7) says of units and of messages is so" {
	local page=$NB_TOP/man/nb-cookbook.7 command text
	cd "$BATS_TEST_TMPDIR" || return 1
	awk '/^\.It .* Ta [0-9.e-]+$/ { sub(/^\.It /, ""); split($0, side, " Ta "); split(side[1], u, ", "); unit(u, side[2]) }
		function unit(u, want,    g) {
			g = 6.6743e-11 * mass(u[2]) / of[u[1]]
			g = u[3] == "km/s" ? g / 1e6 : g / of[u[1]] ^ 2 * of[u[3]] ^ 2
			count++
			if (!(g / want > 1 - 3e-5 && g / want < 1 + 3e-5)) { print $0 ": " g; bad = 1 }
		}
		function mass(text,    n) { n = text ~ /^1e10 / ? 1e10 : 1; sub(/^1e10 /, "", text); return n * of[text] }
		BEGIN { pc = 3.0856775814913673e16; of["pc"] = pc; of["kpc"] = 1e3 * pc; of["Mpc"] = 1e6 * pc; of["m"] = 1; of["cm"] = 0.01
			of["AU"] = 149597870700; of["Msun"] = 1.3271244e20 / 6.6743e-11; of["kg"] = 1; of["g"] = 1e-3
			of["s"] = 1; of["d"] = 86400; of["yr"] = 365.25 * 86400; of["Myr"] = 1e6 * of["yr"] }
		END { exit bad || count != 9 }' "$page"
	awk 'BEGIN { pc = 3.0856775814913673e16; v = sqrt(1.3271244e20 / pc); t = pc / v / (365.25e6 * 86400)
		exit !(sprintf("%.5f", v / 1e3) == "0.06558" && sprintf("%.2f", t) == "14.91") }'
	nb-gen merger -n 60 >start.nb
	[ "$(grep -c '^\.\\" shown by: ' "$page")" -ge 9 ]
	while read -r command && read -r text; do
		echo "$command"
		run bash -c "$command >out"
		[ "$status" -ne 0 ]
		grep -qF -- "$text" <<<"$output"
	done < <(sed -n '/^\.\\" shown by: /{s///p;n;s/^\.It //p}' "$page")
}

@test "the commands of nb-papers(7) that need no GPU run" {
	cd "$BATS_TEST_TMPDIR" || return 1
	awk -f "$NB_TOP/man/examples.awk" "$NB_TOP/man/nb-papers.7" | grep '^nb-' | grep -v -e '-b cuda' >commands
	[ "$(wc -l <commands)" -ge 12 ]
	tr '\001' '\n' <commands | bash -e -o pipefail >out
}
# file NAME of nb-filter(7) as a reader of the rendered page copies it, without the indentation that is common to its lines
copied() {
	local source
	source=$(sed -n "/^\.\\\\\" file: $1\$/,/^\.Ed/p" "$NB_TOP/man/nb-filter.7" | unroff | sed '/^\./d')
	mandoc -T utf8 "$NB_TOP/man/nb-filter.7" | col -bx |
		awk -v name="$1" -v first="${source%%$'\n'*}" -v n="$(grep -c '' <<<"$source")" 'index($0, name) { found = 1 }
			found && !left && substr($0, length($0) - length(first) + 1) == first { k = length($0) - length(first); left = n }
			left { print substr($0, k + 1); if (--left == 0) exit }' >"$1"
}

# a filter that doubles masses does what nb-filter(7) asks for
doubles() {
	local f=("$@")
	"${f[@]}" <in.nb >out.nb
	nb-stats --check <out.nb | grep '^ok: 5 frames, 610 bodies'
	nb-stats --fields <want.nb | diff - <(nb-stats --fields <out.nb)
	nb-stats --attributes <want.nb | sort | diff - <(nb-stats --attributes <out.nb | sort)
	nb-diff want.nb out.nb
	nb-step -d 0.01 -k 2 "nb-sort-zorder | $* | nb-force -e 0.1" <one.nb | nb-stats --check
	equals "$({ "${f[@]}" <big.nb; echo $? >status; } | head -c 1000 | wc -c)" 1000
	equals "$(<status)" 141
	run --separate-stderr "${f[@]}" </dev/null
	# shellcheck disable=SC2154
	[[ $status -eq 1 && $output == "" && $stderr == double*': truncated stream'* && ${#stderr_lines[@]} -eq 1 ]]
	run --separate-stderr bash -c "head -c -128 one.nb | $* >cut.nb"
	[[ $status -eq 1 && $stderr == double*': truncated stream'* && ${#stderr_lines[@]} -eq 1 ]]
	run ! nb-stats --check <cut.nb
	run --separate-stderr bash -c "$* <one.nb >/dev/full"
	[[ $status -eq 1 && $stderr == double*': '*'No space left on device' && ${#stderr_lines[@]} -eq 1 ]]
	# the velocities that nb-step keeps
	run --separate-stderr nb-step -d 0.01 -k 2 "nb-force -e 0.1 | ${*//double/damp}" <one.nb
	[[ $status -eq 1 && ${stderr_lines[0]} == *"field 'vel' missing (nb-step keeps it unless --send-velocities is given)" ]]
	nb-step --send-velocities -d 0.01 -k 2 "nb-force -e 0.1 | ${*//double/damp}" <one.nb | nb-stats --check
}

# shellcheck disable=SC2046
@test "the filters in C and in Python, copied from nb-filter(7), do what the page asks for" {
	make_here install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen plummer -n 300 >one.nb
	nb-gen plummer -n 100000 >big.nb
	{ nb-gen solar; nb-gen plummer -n 0; nb-gen plummer -n 1; } >in.nb
	nb-calc --dtype f4 'size_of = mass' '@note = "a\\b"' <one.nb | nb-sort-zorder | nb-build-tree | nb-force -t 0.5 -e 0.1 >tree.nb
	cat tree.nb tree.nb >>in.nb
	nb-calc 'pos = pos' 'mass = 2 * mass' <in.nb >want.nb
	export PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root
	equals "$(pkg-config --modversion nb)" "$(nb --version | sed 's/.* //')"
	copied double.c
	cc -Wall -Wextra -Werror -o double double.c $(pkg-config --cflags --libs nb)
	sed 's/"mass", 1/"vel", 3/; /drop_derived/d' double.c >damp.c
	cc -o damp damp.c $(pkg-config --cflags --libs nb)
	doubles ./double
	# nothing but what the header declares, which C++ reads as well
	nm -g --defined-only root/usr/lib/libnb.a | awk 'NF == 3 { print $3 }' >names
	[ "$(wc -l <names)" -ge 25 ]
	while read -r name; do grep -q "[ *]$name(" root/usr/include/nb.h; done <names
	g++ -fsyntax-only -Wall -x c++ root/usr/include/nb.h

	mkdir bin
	ln -s "$(command -v "$(numpy_python)")" bin/python3
	PATH=$PWD/bin:$PATH
	export PYTHONPATH=$PWD/root/usr/share/nb
	[[ $(pkg-config --variable=python nb) == */usr/share/nb ]]
	for f in double.py two.py myforce.py; do copied $f; done
	sed 's/"mass"\] \*= 2/"vel"] *= 1/; /drop_derived/d' double.py >damp.py
	doubles python3 double.py
	python3 two.py
	nb-stats --attributes <two.nb | diff - <(printf 'time=0\nG=1\nsoftening=0.1\n')
	equals "$(nb-convert --no-comments -q --to csv <two.nb | tail -n 1)" 1,0.5,1,0,0,0,0,0
	# the force as typed on the page: pulled outwards from rest, a body swings as cos(t / 2)
	sed -n '/^chmod /,/^\.Ed/p' "$NB_TOP/man/nb-filter.7" | sed '/^\.Ed/d' | unroff >commands
	bash -e -o pipefail commands >out
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,0,0\n' | nb-convert --from csv |
		nb-step -d 0.01 -k 100 --every 0 'nb-force | ./myforce.py' | nb-convert --to csv --no-comments | tail -n 1 >last
	close_to 0.8775825618903728 "$(cut -d , -f 3 last)" 1e-5
}
@test "the examples of the page of every program run" {
	for t in "${NB_TOOLS[@]}"; do
		echo "# $t"
		run_examples "$NB_TOP/man/$t.1"
	done
}

@test "the figures of README.md and of tests/bench/results/README.md are those of the tables" {
	local results=$NB_TOP/tests/bench/results
	"$NB_TOP/tests/readme-figures" "$NB_TOP/README.md" "$NB_TOP/tests/readme-figures.tsv" "$results"
	compare_figures() { "$NB_TOP/tests/readme-figures" "$1" "$NB_TOP/tests/results-figures.tsv" "$results"; }
	compare_figures "$results/README.md"
	# a figure that is off in its last digit, and a row that nobody measured
	sed 's/3\.18e12/3.19e12/' "$NB_TOP/README.md" >"$BATS_TEST_TMPDIR/off.md"
	run "$NB_TOP/tests/readme-figures" "$BATS_TEST_TMPDIR/off.md" "$NB_TOP/tests/readme-figures.tsv" "$results"
	[ "$status" -eq 1 ]
	[[ $output == *"does not have 3.18e12"* ]]
	sed 's/^| tree, Plummer sphere of 2^16,.*/&\n| magic | 1 ms | | | |/' "$results/README.md" >"$BATS_TEST_TMPDIR/more.md"
	run compare_figures "$BATS_TEST_TMPDIR/more.md"
	[ "$status" -eq 1 ]
	[[ $output == *"of no row: | magic |"* ]]
}

@test "the figures of the findings in nb-papers(7) are those of the tables in tests/bench/results" {
	compare_figures() { "$NB_TOP/tests/readme-figures" "$1" "$NB_TOP/tests/papers-figures.tsv" "$NB_TOP/tests/bench/results"; }
	compare_figures "$NB_TOP/man/nb-papers.7"
	# a figure that is off, and an item that nobody measured
	sed 's/2\.43 times with eight/2.53 times with eight/' "$NB_TOP/man/nb-papers.7" >"$BATS_TEST_TMPDIR/off.7"
	run compare_figures "$BATS_TEST_TMPDIR/off.7"
	[ "$status" -eq 1 ]
	[[ $output == *"does not have 2.43"* ]]
	sed 's/^OpenMP reaches 3\.6 times/Magic reaches 3.6 times/' "$NB_TOP/man/nb-papers.7" >"$BATS_TEST_TMPDIR/more.7"
	run compare_figures "$BATS_TEST_TMPDIR/more.7"
	[ "$status" -eq 1 ]
	[[ $output == *"of no row: Magic reaches 3.6 times"* ]]
}

@test "the commands of README.md run" {
	cd "$BATS_TEST_TMPDIR" || return 1
	# the indented lines of the section 'A first pipeline'
	sed -n '/^## A first pipeline/,/^## /s/^    //p' "$NB_TOP/README.md" >commands
	[ -s commands ]
	bash -e -o pipefail commands >out
}

@test "make install puts programs, pages and completions below DESTDIR, and uninstall takes them away" {
	make_here install uninstall DESTDIR="$BATS_TEST_TMPDIR/none" PREFIX=/usr
	[ -z "$(find "$BATS_TEST_TMPDIR/none" -type f)" ]
	make_here install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr
	cd "$BATS_TEST_TMPDIR/root/usr" || return 1
	equals "$(find bin -type f)" bin/nb
	equals "$(find bin -type l | wc -l)" ${#NB_TOOLS[@]}
	equals "$(find share/man -type f | wc -l)" $((${#NB_TOOLS[@]} + $(find "$NB_TOP"/man -name "*.[57]" | wc -l)))
	equals "$(find include lib -type f | sort | xargs)" 'include/nb.h lib/libnb.a lib/pkgconfig/nb.pc'
	[ "$(stat -c %s bin/nb)" -lt $((48 << 20)) ]
	bin/nb-gen plummer -n 10 | bin/nb-stats --check
	make_here install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr LINKS=hard
	equals "$(stat -c %h bin/nb-gen)" $((${#NB_TOOLS[@]} + 1))
	if [ "$NB_CONFIG" = cpu ]; then # copies of a program with CUDA would take 700 MB
		make_here install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr LINKS=copy
		equals "$(find bin -type f -links 1 | wc -l)" $((${#NB_TOOLS[@]} + 1))
	fi
	bin/nb-gen plummer -n 10 | bin/nb-stats --check
	run make_here install DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr LINKS=both
	[ "$status" -ne 0 ]
	[[ $output == *'LINKS=both is none of soft, hard and copy'* ]]
}

@test "man -k finds the suite by nbody, N-body, galaxy and simulation" {
	local word
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p man/man1 man/man5 man/man7
	for page in "$NB_TOP"/man/*.[157]; do cp "$page" "man/man${page##*.}"; done
	makewhatis man
	for word in nbody N-body galaxy simulation; do
		mapropos -M man "$word" >found
		grep -q '^nb(7)' found
	done
	mapropos -M man simulation | grep -q '^nb-step(1)'
	mapropos -M man csv | grep -q '^nb-convert(1)'
	mapropos -M man softening | grep -q '^nb-force(1)'
	mapropos -M man galaxy | grep -q '^nb-gen(1)'
}

@test "the promises of nb(7) and nb-stream(5) name the tests that there are" {
	cd "$BATS_TEST_TMPDIR" || return 1
	for page in nb.7 nb-stream.5; do
		sed -n '/^\.S[hs] P[Rr][Oo][Mm][Ii][Ss][Ee][Ss]/,/^\.Sh EXAMPLES\|^\.Ss Folding/p' "$NB_TOP/man/$page" >promises
		grep -oE '[a-z/-]+\.(bats|c)\b' promises | sort -u >names
		[ "$(wc -l <names)" -ge 4 ]
		while read -r name; do [ -f "$NB_TOP/tests/$name" ]; done <names
		# and none is without a test
		[ "$(grep -c '^\.It$' promises)" -eq "$(grep -c '^\.Pq Pa .*\.$' promises)" ]
	done
}

@test "the table of memory in nb(7) has the figures of the plans" {
	sed -n '/^\.\\" the rows of: /,/^\.\\" end of the rows/p' "$NB_TOP/man/nb.7" | sed '/^\.\\"/d' >"$BATS_TEST_TMPDIR/page"
	"$NB_BIN/../tests/unit/filter/capacity" table | diff "$BATS_TEST_TMPDIR/page" -
	[ "$(wc -l <"$BATS_TEST_TMPDIR/page")" -ge 16 ]
}
