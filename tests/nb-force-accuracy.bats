#!/usr/bin/env bats
# nb-force --accuracy: the error that is asked for, on all kinds of bodies, and in a run.
# as a filter: nb-force --accuracy 1e-3

load helper

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

error() { nb-stats --attributes | sed -n "s/^error_$1=//p"; }
# within MODEL-FRAME A LOW: the 99th percentile is at most A, and at least A / LOW
within() {
	local p99
	p99=$(nb-force -e 0.001 --accuracy "$2" <"$1" | error p99)
	at_most "$2" "$p99"
	at_most "$p99" "$(awk "BEGIN { print $2 / $3 }")"
}

# bats test_tags=once
@test "the 99th percentile of the errors is what was asked for, on spheres, cusps, clusters, disks and mergers" {
	for model in plummer hernquist uniform disk merger clusters; do
		nb-gen $model -n 20000 | nb-sort-zorder | nb-build-tree >tree.nb
		for accuracy in 1e-3 1e-5 1e-6; do within tree.nb $accuracy 8; done
	done
}

# bats test_tags=once
@test "at most one body in a hundred has a larger error, in every model, if all bodies are judged" {
	table() { nb-select --fields "$1" | nb-convert --to csv | grep -v '^#' | tail -n +2; }
	for model in $(nb-gen --help | awk '/^[^ ]/ { on = $0 == "models:" } on && /^  / { print $1 }'); do
		# those that have a number of bodies of their own take no -n
		nb-gen "$model" -n 4000 >model.nb 2>refused || continue
		nb-sort-zorder <model.nb | nb-build-tree >tree.nb
		nb-force -e 0.001 -m direct <tree.nb | table mass,pos,acc >"$model.exact"
		for accuracy in 1e-3 1e-5; do
			nb-force -e 0.001 --accuracy $accuracy <tree.nb | table pos,acc >"$model.$accuracy"
		done
	done
	"$(numpy_python)" - ./*.exact <<-'END'
		import sys
		import numpy as np
		read = lambda name: np.loadtxt(name, delimiter=",")
		assert len(sys.argv) >= 1 + 10, sys.argv
		for name in sys.argv[1:]:
		    mass, pos, exact = np.split(read(name), [1, 4], axis=1)
		    f = np.empty(len(mass))
		    for i in range(len(mass)):
		        r2 = ((pos - pos[i])**2).sum(1) + 0.001**2
		        r2[i] = np.inf
		        f[i] = (mass[:, 0] / r2).sum()
		    for accuracy in "1e-3", "1e-5":
		        error = np.sqrt(((read(name.replace(".exact", "." + accuracy))[:, 3:] - exact)**2).sum(1)) / f
		        assert (error > float(accuracy)).mean() <= 0.01, (name, accuracy, np.percentile(error, 99))
	END
}

@test "an accuracy that the precision cannot hold is a warning, once" {
	nb-gen plummer -n 3000 | nb-sort-zorder | nb-build-tree >tree.nb
	for method in tree direct; do
		cat tree.nb tree.nb | nb-force -m $method -e 0.001 --accuracy 1e-7 --precision f32 2>said | nb-stats --check
		[ "$(wc -l <said)" = 1 ]
		grep -q "frame 0: one body in a hundred may have an error of .*, more than '--accuracy 1e-07' (want '--precision f64')" said
	done
}

# bats test_tags=once
@test "the arithmetic is the fastest that can give the accuracy" {
	nb-gen merger -n 3000 --no-history | nb-sort-zorder | nb-build-tree >tree.nb
	for case in '5e-7 f32' '4.9e-7 mixed' '2e-7 mixed' '1.9e-7 f64'; do
		nb-force -e 0.001 --accuracy "${case% *}" --no-history <tree.nb >chosen.nb
		nb-force -e 0.001 --accuracy "${case% *}" --no-history --precision "${case#* }" <tree.nb | cmp - chosen.nb
	done
	within tree.nb 2e-7 5
	nb-force -e 0.001 -m direct --accuracy 1e-6 --no-history <tree.nb >chosen.nb
	nb-force -e 0.001 -m direct --accuracy 1e-6 --no-history --precision mixed <tree.nb | cmp - chosen.nb
}

# bats test_tags=once
@test "a cold sheet, and two bodies with a far cluster" {
	nb-gen uniform -n 20000 --no-history | nb-calc 'z *= 1e-3' | nb-sort-zorder | nb-build-tree >sheet.nb
	nb-gen plummer -n 20000 --no-history | nb-calc 'x = id < 2 ? 1000 + 0.01 * id : x' |
		nb-sort-zorder | nb-build-tree >pair.nb
	for accuracy in 1e-3 1e-5; do
		within sheet.nb $accuracy 5
		within pair.nb $accuracy 5
	done
}

# bats test_tags=once
@test "1e-2 to 1e-7: errors fall with what is asked for, and f64 comes in by itself" {
	nb-gen plummer -n 10000 | nb-sort-zorder | nb-build-tree >tree.nb
	for accuracy in 1e-2 1e-4 1e-7; do within tree.nb $accuracy 6; done
	nb-force -e 0.001 --accuracy 1e-7 <tree.nb | error p99 >by-itself
	run -0 nb-force -e 0.001 --accuracy 1e-7 --precision f32 --audit 1024 -o f32.nb tree.nb
	at_most "$(error p99 <f32.nb)" "$(cat by-itself)"
}

# bats test_tags=once
@test "in a run the angle follows the errors, and goes with the frames" {
	nb-gen clusters -n 5000 >in.nb
	pipeline='nb-sort-zorder | nb-build-tree | nb-force -b cpu -e 0.001 --accuracy 1e-7'
	nb-step -d 0.001 -k 6 "$pipeline" <in.nb >run.nb
	nb-select --frames 0 run.nb | error p99 >first
	nb-select --frames -1 run.nb | error p99 >last
	at_most "$(awk '{ print $1 / 2 }' last)" "$(cat first)"
	at_most 1e-7 "$(cat last)"
	# resumed, the same bytes: what was learnt is in the frame
	nb-step -d 0.001 -k 3 "$pipeline" <in.nb >half.nb
	nb-step -d 0.001 -k 6 --resume half.nb "$pipeline" >rest.nb
	nb-select --frames -1 run.nb --no-history | nb-convert --to csv >whole
	nb-select --frames -1 rest.nb --no-history | nb-convert --to csv >resumed
	diff <(grep -v '^# history' whole) <(grep -v '^# history' resumed)
	# the same bytes on every run, for any number of threads, folded or not
	nb-step -d 0.001 -k 6 --no-history "${pipeline/nb-force/nb-force -j 1}" <in.nb >one.nb
	NB_FOLD=off nb-step -d 0.001 -k 6 --no-history "${pipeline/nb-force/nb-force -j 1}" <in.nb >again.nb
	cmp one.nb again.nb
}

@test "without a tree one is built; by a direct sum, without bodies, and for one" {
	at_most 1e-4 "$(nb-gen plummer -n 500 | nb-force --accuracy 1e-4 | error p99)"
	at_most 1e-12 "$(nb-gen plummer -n 500 | nb-force -m direct --accuracy 1e-9 | error p99)"
	at_most 1e-4 "$(nb-gen plummer -n 500 | nb-sort-zorder | nb-build-tree --kind boxes | nb-force --accuracy 1e-4 | error p99)"
	for n in 0 1 2; do
		nb-gen plummer -n $((n + 1)) | nb-calc 'mass *= 1' | nb-select --where "id < $n" | nb-sort-zorder | nb-build-tree |
			nb-force --accuracy 1e-4 | nb-stats --check
	done
}

@test "what contradicts --accuracy is refused" {
	nb-gen plummer -n 10 >p.nb
	fails_with 2 "options '--theta' and '--mac' contradict '--accuracy'" 'nb-force --accuracy 1e-4 -t 0.5 <p.nb'
	fails_with 2 "belongs to the methods tree and direct, not near" 'nb-force --accuracy 1e-4 -m near <p.nb'
	fails_with 2 "belongs to the methods tree and direct, not kernel shan-serial" 'nb-force --accuracy 1e-4 --kernel shan-serial <p.nb'
	fails_with 2 "invalid accuracy '0'" 'nb-force --accuracy 0 <p.nb'
	fails_with 2 "option '--accuracy' has no effect with '--at'" 'nb-force --accuracy 1e-4 --at p.nb <p.nb'
}
