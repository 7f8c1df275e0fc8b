#!/usr/bin/env bats
# make bench-pipes and bench-scaling: every row can be measured, and a folded pipeline writes the bytes of an unfolded
# one.

load helper

@test "every row of bench-pipes can be measured, with the same bytes folded and unfolded" {
	"$NB_TOP/tests/bench/run-pipes" --quick "${NB_BIN%/bin}" >"$BATS_TEST_TMPDIR/table" || { cat "$BATS_TEST_TMPDIR/table"; return 1; }
	cat "$BATS_TEST_TMPDIR/table"
	# a time is the difference of two runs: one round beside other work may even give one below zero
	awk -F '\t' '
		function number(x) { return x ~ /^-?[0-9]+([.][0-9]+)?(e[-+][0-9]+)?$/ && x != 0 }
		/^#/ { next }
		!names { for (i = 1; i <= NF; i++) { column[$i] = i; names = NF } next }
		NF != names || $column["bytes"] != "same" || !number($column["folded"]) || !number($column["unfolded"]) { print "wrong: " $0; bad = 1 }
		{ seen[$1]++ }
		END {
			n = split("step-1000 step-10000 pass-1000 pass-10000 memory-step memory-pass figure8 film loose", want, " ")
			for (i = 1; i <= n; i++) if (seen[want[i]] != 1) { print "missing: " want[i]; bad = 1 }
			exit bad
		}' "$BATS_TEST_TMPDIR/table"
}

# bats test_tags=once,linux
@test "every row of run-memory can be measured" {
	cd "$BATS_TEST_TMPDIR"
	rows() {
		"$NB_TOP/tests/bench/run-memory" "${NB_BIN%/bin}" 20000 >table 2>said || { cat said; return 1; }
		awk -F '\t' 'NR > 1 && !($2 > -500 && $2 < 5000)' table >wrong
		[ ! -s wrong ] && [ "$(wc -l <table)" -eq 37 ]
	}
	in_one_of 5 rows # beside other tests the look at the memory of a short command may come too late
}

# bats test_tags=once
@test "every row of bench-scaling can be measured, and a step has times of its stages" {
	"$NB_TOP/tests/bench/run-scaling" --quick "${NB_BIN%/bin}" >"$BATS_TEST_TMPDIR/table" || { cat "$BATS_TEST_TMPDIR/table"; return 1; }
	cat "$BATS_TEST_TMPDIR/table"
	# times are differences of two short runs, of which no more is asked than that they are there: one may be 0
	awk -F '\t' '
		function number(x) { return x ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ }
		/^#/ { next }
		!names { for (i = 1; i <= NF; i++) column[$i] = i; names = NF; next }
		{ rows[$3]++ }
		$1 ~ /^step, tree/ && $3 == 1 { stages += NF == names && number($column["walk"]) && number($column["sort"]) }
		END { exit !(stages == 1 && rows[1] == 12 && rows[2] == 12 && rows["serial"] == 12) }' "$BATS_TEST_TMPDIR/table"
}

@test "the kernels in one process end where nb-step ends" {
	cd "$BATS_TEST_TMPDIR"
	nb-gen plummer -n 1000 >in.nb
	"${NB_BIN%/bin}/tests/bench/loop" -w 3 -k 4 -r 2 -t 0.6 -e 0.01 -d 0.01 -o loop.nb in.nb
	nb-step -k 11 --every 0 -d 0.01 'nb-sort-zorder -b cpu | nb-build-tree -b cpu | nb-force -b cpu -t 0.6 -e 0.01' <in.nb >step.nb
	equals "$(nb-convert --no-comments --to csv <loop.nb)" "$(nb-convert -q --no-comments --to csv <step.nb | cut -d , -f 1-8)"
}
