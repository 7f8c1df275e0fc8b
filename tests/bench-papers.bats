#!/usr/bin/env bats
# make bench-papers: tests/bench/papers.c refuses results that are wrong, and measures as the papers did.  The program
# tests/filters/wrong-papers.c is the same with kernels that are wrong on purpose.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	programs=$(cd "$NB_BIN/.." && pwd)/tests
}

# rows DATA KERNEL THETA...: a file of such rows, on the CPU
rows() {
	printf 'table\tbackend\tdata\tn\tkernel\tthreads\ttheta\tunit\tpaper\tbaseline\tspeedup\twhere\n'
	while [ $# -gt 0 ]; do
		printf 'test-n\tcpu\t%s\t%s\t%s\t-\t%s\tms\t-\t-\t-\t-\n' "${1% *}" "${1#* }" "$2" "$3"
		shift 3
	done
}

# refused WHAT DATA KERNEL THETA: the program says so of the second line, and fails
refused() {
	local what=$1
	shift
	rows "$@" >row.tsv
	run "$programs/filters/wrong-papers" cpu row.tsv out.tsv
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$(grep -c "^papers: row.tsv:2: $2 on ${1% *}: $what wrong: " <<<"$output")" -eq 1 ]
}

accepted() {
	rows "$@" >row.tsv
	run "$programs/filters/wrong-papers" cpu row.tsv out.tsv
	echo "$output"
	[ "$status" -eq 0 ]
	run grep -c wrong: <<<"$output"
	[ "$output" -eq 0 ]
}

@test "a kernel that returns zeros is refused, as one of all pairs and as a tree" {
	refused acceleration 'plummer 300' zeros -
	refused acceleration 'plummer 300' tree-zeros 0.5
	refused acceleration 'plummer 300' tree-zeros 10
	refused acceleration 'clusters 300' tree-zeros 0.1
}

@test "a kernel that writes nothing, or forgets a body outside the sample, is refused" {
	refused acceleration 'plummer 300' silent -
	refused acceleration 'plummer 3000' last-missing -
}

@test "few bodies that are far off, or many that are a little off, are refused" {
	refused acceleration 'plummer 300' double -
	refused acceleration 'plummer 300' slip -
	refused acceleration 'plummer 300' less -
	refused acceleration 'plummer 300' tree-rough 0.5
}

@test "a wrong jerk is refused though the acceleration is right" {
	refused jerk 'uniform 300' 'jerk-zeros --jerk' -
	refused jerk 'clusters 300' 'jerk-sign --jerk' -
	accepted 'uniform 300' jerk-zeros - # which then computes none
}

@test "right results are accepted, and a wrong row does not hide behind them" {
	accepted 'plummer 300' right - 'plummer 300' tree-right 0.5 'uniform 300' 'right --jerk --precision f64' -
	rows 'plummer 300' right - 'plummer 300' zeros - 'plummer 300' right - >row.tsv
	run "$programs/filters/wrong-papers" cpu row.tsv out.tsv
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$(grep -c '^papers: row.tsv:3: zeros on plummer: ' <<<"$output")" -eq 1 ]
	[ "$(grep -c 'wrong: ' <<<"$output")" -eq 1 ]
}

@test "the benchmark itself refuses a tree whose opening angle is too large for its bodies" {
	rows 'plummer 1000' xu-tree 20 >row.tsv
	run "$programs/bench/papers" cpu row.tsv out.tsv
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$(grep -c '^papers: row.tsv:2: xu-tree on plummer: acceleration wrong: ' <<<"$output")" -eq 1 ]
	rows 'plummer 1000' xu-tree 0.5 'clusters 1000' xu-pairs - 'planets.txt 5' gangavarapu-tree-omp 0.5 >row.tsv
	run "$programs/bench/papers" cpu row.tsv out.tsv "$NB_TOP/tests/data"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a mean is one of calls in rounds, each in another order, the same in every run of the program" {
	rows 'plummer 50' a - 'uniform 50' c - 'plummer 50' b - 'plummer 50' c - >row.tsv
	sed -i '1a\mean\t7' row.tsv
	"$programs/filters/wrong-papers" cpu row.tsv out.tsv 2>calls >told
	"$programs/filters/wrong-papers" cpu row.tsv out.tsv 2>again >/dev/null
	cmp calls again
	cat calls
	# a call of each that does not count and seven rounds of plummer, eight calls of c on uniform
	tr -s ' ' '\n' <calls >each
	[ "$(wc -l <each)" -eq 32 ]
	for k in 0 1 2 3 4 5 6 7; do sed -n "$((3 * k + 1)),$((3 * k + 3))p" each | tr -d '\n'; echo; done >rounds
	cat rounds
	[ "$(head -n 1 rounds)" = abc ]
	[ "$(fold -w 1 rounds | sort | uniq -c | tr -s ' ' | tr '\n' ,)" = ' 8 a, 8 b, 8 c,' ]
	[ "$(grep -c -x -E 'abc|acb|bac|bca|cab|cba' rounds)" -eq 8 ]
	[ "$(sort -u rounds | wc -l)" -ge 4 ]
	[ "$(sed -n 25,32p each | sort -u)" = c ]
	grep -q '^Mean of 7 calls; the order on the same bodies is shuffled for each (seed 30002)' told
	[ "$(grep -c -E '^  (plummer|uniform) ' told)" -eq 4 ]
}

@test "the short form runs every row, each with few bodies, and beside the figure of a paper only where nothing has changed" {
	mkdir -p build/tests/bench
	printf '#!/bin/sh\n[ "$1" != cuda ] || exit 77\n[ "$1" = counts ] || cp "$2" "$3"\n' >build/tests/bench/papers
	chmod +x build/tests/bench/papers
	"$NB_TOP/tests/bench/run-papers" --short "$PWD/build" >out
	run -2 "$NB_TOP/tests/bench/run-papers" --shorter "$PWD/build"
	local f short
	for f in gems3 shan lecture8 gangavarapu xu devices; do
		f=$NB_TOP/tests/bench/papers/$f.tsv short=build/papers/short/${f##*/}
		[[ $f == *devices.tsv ]] || cmp "$short" "build/papers/$(basename "$f" .tsv)-cpu.tsv"
		paste "$f" "$short" | awk -F '\t' '/^#/ || NF < 24 || $1 == "table" { next }
			{ rows++; few = $16 <= ($15 ~ /^boxes/ ? 16 : $15 ~ /^cubes/ ? 32 : 2048); same = $3 == $15 && $4 == $16
			if ($5 != $17 || $7 != $19 || !few || (same ? $9 != $21 : $21 != "-")) { print; exit bad = 1 } }
			END { exit bad || !rows }'
	done
}

@test "bodies in place of a paper's are named as such beside its figure" {
	rows 'flat 300' gangavarapu-pairs - 'galaxy30k.txt 30002' gangavarapu-tree-omp 0.9 >row.tsv
	run "$programs/bench/papers" cpu row.tsv out.tsv "$BATS_TEST_TMPDIR"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "^  flat .*(generated bodies, not the paper's)" <<<"$output")" -eq 1 ]
	[ "$(grep -c "^  galaxy30k.txt .*(file absent: generated bodies, not the paper's)" <<<"$output")" -eq 1 ]
}

@test "rows of several devices: as many as are asked for, or none; how many times as fast as one" {
	run -77 "$programs/bench/papers" cuda:0,998,999 "$NB_TOP/tests/bench/papers/devices.tsv" out.tsv
	[[ $output == 'papers: cuda:0,998,999: '* ]]
	[ ! -e out.tsv ]
	run -2 "$programs/bench/papers" counts cuda:0
	# every kernel and n on 1, 2, 4 and 8
	grep -v '^#' "$NB_TOP/tests/bench/papers/devices.tsv" | tail -n +2 | cut -f 3-5 | sort | uniq -c >counts
	[ "$(awk '{ print $1 }' counts | sort -u)" = 4 ]
	row() { printf 'x-devices\tcuda*%s\t%s\t%s\t%s\t-\t-\t%s\t-\t-\t-\t-\t%s\t%s\tnan\t1e-7\t-\n' "$1" "$2" "$3" "$4" "$5" "$1" "$6"; }
	{ row 1 plummer 1000 direct G/s 100; row 1 boxes7 64 near ms 8; row 2 plummer 1000 direct G/s 150; row 4 boxes7 64 near ms 2.5; } >all.tsv
	awk -f "$NB_TOP/tests/bench/scaling.awk" all.tsv | tr -s ' ' >table
	cat table
	grep -q '^ plummer 1000 direct G/s 100 150 1.50 - -$' table
	grep -q '^ boxes7 64 near ms 8 - - 2.5 3.20$' table
	# of one device there is nothing to compare
	grep 'cuda\*1' all.tsv >one.tsv
	[ -z "$(awk -f "$NB_TOP/tests/bench/scaling.awk" one.tsv)" ]
}

@test "every line of every figure has rows in the files of the papers, and a panel has at most six lines" {
	python3 -B - "$NB_TOP" <<-'END'
		import importlib.machinery, importlib.util, sys
		top = sys.argv[1]
		loader = importlib.machinery.SourceFileLoader("plot", top + "/tests/bench/plot-papers")
		plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot", loader))
		sys.modules["plot"] = plot
		loader.exec_module(plot)
		rows = []
		for name in "gems3 shan lecture8 gangavarapu xu".split():
		    for line in open(f"{top}/tests/bench/papers/{name}.tsv"):
		        if line[0] != "#":
		            rows.append(dict(zip(plot.COLUMNS, line.rstrip("\n").split("\t"))))
		wrong = [f"{figure.name}: no rows for '{line.name}'" for figure in plot.FIGURES
		         for panel in figure.panels for line in panel.lines if not plot.matching(line, rows)]
		wrong += [f"{figure.name}: {len(panel.lines)} lines in '{panel.title}'" for figure in plot.FIGURES
		          for panel in figure.panels if len(panel.lines) > plot.MOST_LINES and not panel.dots]
		wrong += [f"{figure.name}: no sentence on what to see" for figure in plot.FIGURES if len(figure.see) < 20]
		print("\n".join(wrong))
		sys.exit(len(wrong) > 0)
	END
}

@test "figures are drawn as PNG and SVG, with a page that shows them; what was not measured is left out" {
	printf '1\n2\n' | nb-plot --format png >/dev/null 2>why || skip "$(cat why)"
	printf 'cpu A processor & more, 2 processors\ndate 2026-01-01\n' >machine.txt
	awk -F '\t' -v OFS='\t' '$2 == "cpu" && $1 == "gangavarapu-theta" {
			print $0, $7, 10 / $7, "nan", $7 / 100, "-"
			if ($7 == 0.5) print $0, $7, 10 / $7, "nan", $7 / 100, "knee"
		}' "$NB_TOP/tests/bench/papers/gangavarapu.tsv" >gangavarapu-cpu.tsv
	run "$NB_TOP/tests/bench/plot-papers" .
	echo "$output"
	[ "$status" -eq 0 ]
	equals "$output" "$(printf './%s\n' gangavarapu-theta-{1,2}.png papers.html)"
	[ "$(head -c 8 gangavarapu-theta-1.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
	# a line is drawn in each
	for f in gangavarapu-theta-{1,2}.svg; do grep -q 'stroke:rgb(0%,44' "$f"; done
	grep -q 'Knees: .* at 0.5' papers.html
	grep -q 'A processor &amp; more' papers.html
	grep -q '<img src="gangavarapu-theta-2.svg"' papers.html
	[ "$(grep -c '<figure' papers.html)" -eq 1 ]
}
