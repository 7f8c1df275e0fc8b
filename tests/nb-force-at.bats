#!/usr/bin/env bats
# nb-force --at: the field of the bodies of a stream at the positions of another one.
# as a filter: none

# shellcheck disable=SC2094 # a pipeline reads no file that it writes
load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 400 >p.nb
	nb-gen uniform -n 70 --seed 5 | nb-calc '@time = 3' 'label = id + 0.5' >at.nb
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

attribute() { nb-stats --attributes | sed -n "s/^$1=//p"; }

# bats test_tags=once
@test "the field at points is that of NumPy" {
	for law in plummer spline; do
		nb-force -e 0.2 --softening-kernel $law --G 2 --potential --at at.nb <p.nb >out.nb
		nb-stats --check <out.nb
		for field in pos acc pot label; do mutate show $field <out.nb >"out-$field"; done
		mutate show pos <at.nb >at-pos
		for field in pos mass; do mutate show $field <p.nb >"p-$field"; done
		LAW=$law "$(numpy_python)" - <<-'END'
			import os
			import numpy as np
			pos, acc, pot, at, source, mass, label = (np.loadtxt(name) for name in
			    ("out-pos", "out-acc", "out-pot", "at-pos", "p-pos", "p-mass", "out-label"))
			assert (pos == at).all() and (label == np.arange(len(at)) + 0.5).all()
			d = source[None] - at[:, None]
			r = np.sqrt((d**2).sum(2))
			if os.environ["LAW"] == "plummer":
			    w, p = (r**2 + 0.04)**-1.5, (r**2 + 0.04)**-0.5
			else:
			    h = 2.8 * 0.2
			    u = r / h
			    w = np.where(u < 0.5, 32 / 3 + u**2 * (32 * u - 38.4),
			        64 / 3 - 48 * u + 38.4 * u**2 - 32 / 3 * u**3 - 1 / (15 * u**3)) / h**3
			    p = np.where(u < 0.5, 2.8 - u**2 * (16 / 3 + u**2 * (6.4 * u - 9.6)),
			        3.2 - 1 / (15 * u) - u**2 * (32 / 3 + u * (-16 + u * (9.6 - 32 / 15 * u)))) / h
			    w, p = np.where(u < 1, w, r**-3), np.where(u < 1, p, 1 / r)
			want = 2 * (mass[None, :, None] * w[:, :, None] * d).sum(1)
			assert np.abs(acc - want).max() < 1e-12 * np.abs(want).max()
			assert np.abs(pot + 2 * (mass * p).sum(1)).max() < 1e-12 * np.abs(pot).max()
		END
	done
}

@test "points are those of the file, at the time of the sources, with their law" {
	nb-calc '@time = 7' <p.nb | nb-force -e 0.2 --at at.nb >out.nb
	[ "$(attribute time <out.nb)" = 7 ]
	[ "$(attribute softening <out.nb)" = 0.2 ]
	nb-stats --fields <out.nb | grep -q label
	run ! mutate show pot <out.nb
	# of an earlier run nothing stays
	nb-force --potential --audit 5 <at.nb >old.nb
	nb-force --at old.nb <p.nb >out.nb
	run ! mutate show pot <out.nb
	[ -z "$(attribute error_p99 <out.nb)" ]
}

@test "at its own place a body feels no force, and its softened potential" {
	nb-gen plummer -n 1 | nb-calc 'x = 1' 'y = 2' 'z = 3' 'mass = 4' >one.nb
	nb-force -e 0.5 --potential --at one.nb <one.nb >out.nb
	[ "$(mutate show acc <out.nb | tr -s ' ')" = '0.0 0.0 0.0' ]
	close_to -8 "$(mutate show pot <out.nb)" 1e-13
	nb-force --potential --at one.nb <one.nb >out.nb
	[ "$(mutate show pot <out.nb | tr -d -)" = 0.0 ]
}

@test "of column eps the larger one of the pair counts" {
	nb-gen plummer -n 1 | nb-calc 'x = 0' 'y = 0' 'z = 0' 'mass = 1' 'eps = 4.0' >source.nb
	nb-gen plummer -n 2 | nb-calc 'x = 3.0' 'y = 0' 'z = 0' >two.nb
	nb-force --potential --at two.nb <source.nb >out.nb
	close_to -0.2 "$(mutate show pot <out.nb | head -n 1)" 1e-13
	nb-calc 'eps = id == 0 ? sqrt(91.0) : 1.0' <two.nb >soft.nb
	nb-force --potential --at soft.nb <source.nb | mutate show pot >pot
	close_to -0.1 "$(head -n 1 pot)" 1e-13
	close_to -0.2 "$(tail -n 1 pot)" 1e-13
	# -e is that of all
	nb-force -e 0 --potential --at soft.nb <source.nb | mutate show pot >pot
	close_to "$(awk 'BEGIN { print -1 / 3 }')" "$(head -n 1 pot)" 1e-5
}

@test "frames pair up, and a single frame of points serves all" {
	cat p.nb p.nb p.nb >three.nb
	nb-force --at at.nb <three.nb >out.nb
	[ "$(mutate show acc <out.nb | wc -l)" -ge 70 ]
	[ "$(nb-stats --format tsv <out.nb | wc -l)" -eq 4 ]
	cat at.nb p.nb at.nb >points.nb
	nb-force --at points.nb <three.nb | nb-stats --format tsv --epot none | cut -f 3 | tr '\n' ' ' >counts
	[ "$(<counts)" = 'n 70 400 70 ' ]
	fails_with 1 "'points.nb' has 3 frames, but the stream has more" 'cat three.nb p.nb | nb-force --at points.nb >written.nb'
	fails_with 1 "'points.nb' has more frames than the 1 of the stream" 'nb-force --at points.nb <p.nb >written.nb'
	run ! ends_well written.nb
}

@test "no points, no sources, and any number of threads" {
	nb-gen plummer -n 0 >none.nb
	nb-force --potential --at none.nb <p.nb | nb-stats --check
	nb-force --potential --at at.nb <none.nb >out.nb
	[ "$(mutate show acc <out.nb | tr -s ' -' '\n' | sort -u | tr -d '\n')" = 0.0 ]
	nb-force -j 1 --no-history --potential --at at.nb <p.nb >one.nb
	nb-force -j 3 --no-history --potential --at at.nb <p.nb >three.nb
	cmp one.nb three.nb
	NB_FOLD=off nb-force --no-history --potential --at at.nb <p.nb | cmp - one.nb
	nb-gen plummer -n 400 | nb-force --no-history --at at.nb | nb-stats --check
	run bash -c 'nb-force --at at.nb <p.nb >/dev/full'
	[ "$status" -eq 1 ]
	nb-force --at at.nb <p.nb | head -c 1000 >/dev/null || true
}

# how far acc of the points in $1 is from that in $2: rms over rms
apart() {
	mutate show acc <"$1" >apart-a
	mutate show acc <"$2" | paste apart-a - | awk '
		{ for (k = 1; k <= 3; k++) { wrong += ($k - $(k + 3)) ^ 2; all += $(k + 3) ^ 2 } n++ }
		END { print (n > 0 ? sqrt(wrong / all) : "none") }'
}

# bats test_tags=once
@test "the tree gives points the field of the direct sum, as well as it gives it to bodies" {
	nb-gen plummer -n 8000 | nb-sort-zorder | nb-build-tree >tree.nb
	nb-select --fields id,pos --sample 1000 --seed 3 <tree.nb >bodies.nb
	nb-gen uniform -n 1000 --seed 7 | nb-calc 'pos *= 3' >around.nb
	nb-calc 'pos *= 1000' <around.nb >far.nb
	for e in 0 0.05; do
		for points in bodies around far; do
			nb-force -e $e --potential --at $points.nb <tree.nb >exact.nb
			for t in 0.5 0.3; do
				nb-force -e $e -t $t --potential --at $points.nb <tree.nb >out.nb
				at_most "$(awk -v t=$t 'BEGIN { print (t > 0.4 ? 4e-4 : 1e-4) }')" "$(apart out.nb exact.nb)"
			done
			# every cell is opened
			nb-force -e $e -t 0 --precision f64 --at $points.nb <tree.nb >out.nb
			at_most 1e-13 "$(apart out.nb exact.nb)"
		done
	done
	# orders, and what they are of
	for p in 1 3 4; do
		nb-force -m tree -p $p -e 0.05 -v --at around.nb <tree.nb 2>told >out.nb
		at_most 4e-4 "$(apart out.nb <(nb-force -e 0.05 --at around.nb <tree.nb))"
		grep -q 'frame 0: tree on cpu, n 8000 at 1000 points, .* body-body [0-9]*, body-cell [0-9]*, cell-cell [0-9]' told
	done
}

@test "the tree's field at points does not hang on their order, their number or the number of threads" {
	nb-gen plummer -n 3000 | nb-sort-zorder | nb-build-tree >tree.nb
	nb-gen uniform -n 500 --seed 9 >in.nb
	nb-sort-zorder <in.nb | nb-select --drop key >sorted.nb
	nb-force -m tree -j 1 --potential --at in.nb <tree.nb | nb-sort-zorder | nb-select --fields id,pos,acc,pot | mutate show acc >one
	nb-force -m tree -j 3 --potential --at sorted.nb <tree.nb | nb-select --fields id,pos,acc,pot | mutate show acc >three
	cmp one three
	[ "$(wc -l <one)" -ge 500 ]
	nb-gen plummer -n 0 >none.nb
	nb-force -m tree --potential --at none.nb <tree.nb | nb-stats --check
	nb-sort-zorder <none.nb | nb-build-tree | nb-force -m tree --potential --at at.nb >out.nb
	[ "$(mutate show acc <out.nb | tr -s ' -' '\n' | sort -u | tr -d '\n')" = 0.0 ]
	# one point, in the place of a body, and very far
	nb-gen plummer -n 1 | nb-calc 'x = 1e150' 'y = 0' 'z = 0' >one.nb
	nb-force -m tree --potential --at one.nb <tree.nb >out.nb
	close_to -1e-150 "$(mutate show pot <out.nb)" 1e-155
	nb-select --fields id,pos --ids 0 <tree.nb >self.nb
	nb-force -m tree -t 0 --precision f64 --potential --at self.nb <tree.nb | mutate show pot >got
	nb-force --potential --at self.nb <tree.nb | mutate show pot >want
	close_to "$(<want)" "$(<got)" 1e-10
	run bash -c 'nb-force -m tree --at at.nb <tree.nb >/dev/full'
	[ "$status" -eq 1 ]
	nb-force -m tree --at at.nb <tree.nb | head -c 1000 >/dev/null || true
}

@test "what makes no sense at points is refused" {
	fails_with 2 'method fmm computes no forces at points' 'nb-force -m fmm --at at.nb <p.nb'
	fails_with 2 "option '--mac' has no effect with '--at'" 'nb-force --mac acceleration --at at.nb <p.nb'
	fails_with 2 "option '--accuracy' has no effect with '--at'" 'nb-force -m tree --accuracy 1e-4 --at at.nb <p.nb'
	nb-force -m tree --at at.nb p.nb | nb-stats --check >/dev/null
	nb-force -m tree --no-history --at at.nb p.nb | cmp - <(nb-sort-zorder p.nb | nb-build-tree | nb-force -m tree --no-history --at at.nb)
	fails_with 2 "option '--jerk' has no effect with '--at'" 'nb-force --jerk --at at.nb <p.nb'
	fails_with 2 "option '--audit' has no effect with '--at'" 'nb-force --audit 3 --at at.nb <p.nb'
	fails_with 2 "option '--at' computes direct sums in f64 only" 'nb-force --precision f32 --at at.nb <p.nb'
	fails_with 2 "standard input has the sources" 'nb-force --at - <p.nb'
	fails_with 1 "'no-such.nb'" 'nb-force --at no-such.nb <p.nb'
	head -c 3000 at.nb >cut.nb
	fails_with 1 "'cut.nb': truncated stream" 'nb-force --at cut.nb <p.nb'
	nb-select --drop pos <at.nb >nowhere.nb
	fails_with 1 "field 'pos' missing in frame 0 of 'nowhere.nb'" 'nb-force --at nowhere.nb <p.nb'
}
