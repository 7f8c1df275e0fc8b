#!/usr/bin/env bats
# nb-force --audit: errors that a frame carries, against those of nb-stats --compare and of NumPy.
# as a filter: nb-force -m direct --precision f32 --audit 20

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 3000 >p.nb
	nb-sort-zorder <p.nb | nb-build-tree >tree.nb
	nb-force -e 0.01 -m direct <tree.nb >exact.nb
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

error() { nb-stats --attributes | sed -n "s/^error_$1=//p"; }

@test "the 99th percentile of the errors grows with the opening angle" {
	for angle in 0.25 0.5 1; do
		nb-force -e 0.01 -t $angle --audit 1024 <tree.nb | error p99
	done >angles
	read -r -d '' small middle large <angles || true
	at_most 2e-3 "$middle"
	at_most "$middle" 5e-5
	at_most "$(awk "BEGIN { print $middle / 2 }")" "$small"
	at_most "$large" "$(awk "BEGIN { print 2 * $middle }")"
}

@test "direct sums in f64 have no errors, in f32 those of f32" {
	at_most 2e-15 "$(nb-force -e 0.01 --audit 500 <p.nb | error max)"
	f32=$(nb-force -e 0.01 --precision f32 --audit 500 <p.nb | error p50)
	at_most 1e-6 "$f32"
	at_most "$f32" 1e-9
}

# bats test_tags=once
@test "all bodies give the errors that a comparison with direct sums gives" {
	nb-force -e 0.01 -t 0.7 --audit 100000 <tree.nb >audit.nb
	[ "$(error bodies <audit.nb)" = 3000 ]
	[ "$(error measure <audit.nb)" = strength ]
	close_to "$(nb-stats --compare exact.nb --format tsv <audit.nb | stat_of rms_ratio)" "$(error rms <audit.nb)" 1e-9
	# |da| / f by NumPy from the columns of both
	for field in acc pos mass; do mutate show $field <audit.nb >"column-$field"; done
	mutate show acc <exact.nb >exact
	for what in p50 p99 p9999 max; do error $what <audit.nb; done >told
	"$(numpy_python)" - <<-'END'
		import numpy as np
		acc, pos, mass, exact = (np.loadtxt(name) for name in ("column-acc", "column-pos", "column-mass", "exact"))
		f = np.empty(len(mass))
		for i in range(len(mass)):
		    r2 = ((pos - pos[i])**2).sum(1) + 0.01**2
		    r2[i] = np.inf
		    f[i] = (mass / r2).sum()
		error = np.sqrt(((acc - exact)**2).sum(1)) / f
		want = np.append(np.percentile(error, [50, 99, 99.99]), error.max())
		assert np.allclose(np.loadtxt("told"), want, rtol=1e-6, atol=0), want
	END
}

@test "the same bodies are chosen on every run and for any number of threads, others in another step" {
	nb-force -j 1 --no-history -t 0.8 --audit 100 <tree.nb >one.nb
	nb-force -j 3 --no-history -t 0.8 --audit 100 <tree.nb >three.nb
	cmp one.nb three.nb
	nb-calc '@step = 7' <tree.nb | nb-force -t 0.8 --audit 100 | error p99 >other
	run ! grep -qx "$(error p99 <one.nb)" other
	cat tree.nb tree.nb | nb-force -t 0.8 --audit 100 | error p99 >frames
	[ "$(sort -u frames | wc -l)" -eq 2 ]
}

@test "a sample tells the errors of all" {
	nb-force -t 0.8 --audit 1000 <tree.nb | error p50 >sample
	nb-force -t 0.8 --audit 3000 <tree.nb | error p50 >all
	at_most 0.1 "$(awk -v a="$(<sample)" -v b="$(<all)" 'BEGIN { d = a / b - 1; print d < 0 ? -d : d }')"
}

@test "the bound on the percentile of all bodies is the largest error of few, and the percentile itself of all" {
	bound() { nb-force -v -t 0.8 --audit "$1" <tree.nb 2>&1 >/dev/null | sed -n "s/.*p99 \([^ ]*\) (of all at most \(.*\)), largest \(.*\)/\1 \2 \3/p"; }
	bound 300 | awk '{ few = $2 == $3 && $1 < $2 } END { exit !few }'
	bound 1024 | awk '{ some = $1 < $2 && $2 < $3 } END { exit !some }'
	bound 3000 | awk '{ all = $1 == $2 } END { exit !all }'
}

@test "every law of softening, bodies without mass, and the plane of fmm are audited" {
	nb-calc 'eps = id % 2 == 0 ? 0.1 : 0.02' 'mass = id % 3 > 0 ? mass : 0' <p.nb | nb-sort-zorder | nb-build-tree >each.nb
	at_most 2e-15 "$(nb-force -m direct --audit 500 <each.nb | error max)"
	at_most 2e-15 "$(nb-force -m direct --softening-kernel spline --audit 500 <each.nb | error max)"
	at_most 3e-3 "$(nb-force --audit 500 <each.nb | error p99)"
	nb-gen boxes --level 3 --per-box 8 | nb-sort-zorder --dim 2 | nb-build-tree --kind boxes --level 3 >plane.nb
	at_most 1e-2 "$(nb-force -m fmm --precision f64 -e 0.01 --audit 200 <plane.nb | error p99)"
}

@test "no body has no errors, and one body has those that are 0" {
	[ -z "$(nb-gen plummer -n 0 | nb-force --audit 10 | error bodies)" ]
	[ "$(nb-gen plummer -n 1 | nb-force --audit 10 | error max)" = 0 ]
	[ "$(nb-gen plummer -n 50 | nb-force --G 0 --audit 10 | error max)" = 0 ]
	[ -z "$(nb-force --audit 0 <p.nb | error bodies)" ]
	# at one place without softening there is no field
	[ "$(nb-calc 'x = 0' 'y = 0' 'z = 0' <p.nb | nb-force --audit 10 | error max)" = 0 ]
}

@test "errors are dropped with the forces that they belong to" {
	nb-force -t 0.8 --audit 100 <tree.nb >a.nb
	for program in nb-force 'nb-step -d 0.01 -k 1 --every 0 "nb-sort-zorder | nb-build-tree | nb-force"' \
		'nb-calc "x = 2 * x"' 'nb-calc "acc = 0"' 'nb-calc "mass = 2 * mass"' 'nb-select --sample 10' \
		'nb-select --drop acc' 'nb-merge --ids renumber - p.nb' 'nb-transform --scale length=2'; do
		equals "$(bash -c "$program" <a.nb | error p99 | tail -n 1)" ''
	done
	for program in cat nb-sort-zorder 'nb-transform --rotate z:30' 'nb-calc "e = 1"'; do
		equals "$(bash -c "$program" <a.nb | error p99)" "$(error p99 <a.nb)"
	done
	nb-gen plummer -n 300 | nb-step -d 0.01 -k 2 'nb-force -e 0.1 --precision f32 --audit 50' | error p99 >steps
	[ "$(sort -u steps | wc -l)" -eq 3 ]
}

@test "nb-stats and -v tell the errors" {
	nb-force -t 0.8 --audit 100 <tree.nb >a.nb
	equals "$(nb-stats --format tsv <a.nb | stat_of error_p99)" "$(error p99 <a.nb)"
	nb-stats --format json <a.nb | grep -qE '"error_rms":[0-9.e-]+,"error_bodies":100[,}]'
	nb-stats <a.nb | grep -q error_p99
	run ! grep -q error_ <(nb-stats --format tsv <p.nb)
	# a line has the names of the first
	cat a.nb exact.nb | nb-stats --format tsv | tail -n 1 | grep -qE '	NA$'
	nb-force -v -t 0.8 --audit 100 <tree.nb 2>&1 >/dev/null | grep -q 'errors of 100 bodies: p50 [0-9.e-]*, p99'
}

@test "the near field is not audited" {
	nb-sort-zorder <p.nb | nb-build-tree --kind boxes --level 2 >boxes.nb
	fails_with 1 "option '--audit' compares with the field of all bodies, and method near of frame 0" \
		'nb-force --audit 10 <boxes.nb'
	fails_with 2 "invalid audit '-1'" 'nb-force --audit -1 <boxes.nb'
}
