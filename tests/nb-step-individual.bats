#!/usr/bin/env bats
# nb-step --integrator hermite --levels: each body makes steps of its own, and gets a force only where one of them ends.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	ln -s "$(cd "$NB_BIN/../tests/filters" && pwd)/spring" filter
	for n in 0 1 2 257; do nb-gen plummer -n $n --no-history >n$n.nb; done
	nb-gen plummer -n 20 -s 7 --no-history >cluster.nb
	nb-gen kepler --eccentricity 0.9 --no-history >narrow.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

BLOCKS='nb-step --no-history --integrator hermite --levels 16 --eta 0.02 -d 0.0625'
FORCE='nb-force --jerk'

# field NAME: that column, in the order of the ids, of the last frame on stdin
field() { nb-select --frames last | nb-convert -q --no-comments --to csv | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $(c["id"]), $(c[name]) }' | sort -n; }

# tags FILE: id and tag of each body, in the order of the ids
tags() { mutate show id tag <"$1" | sort -n; }

# levels: how many levels the bodies of the last frame on stdin have
levels() { field level | cut -d' ' -f2 | sort -u | wc -l; }

# apart FILE FILE: how far the bodies of the last frames are from each other at most
apart() {
	for f in x y z; do paste <(field $f <"$1") <(field $f <"$2"); done | awk '
		{ if ($1 != $3) exit 1; d = ($2 - $4) ^ 2; if (d > most) most = d } END { print sqrt(most) }'
}

# of -v: the error of the energy at most, and the forces if all made the shortest step over those that were computed
worst() { sed -n 's/.* in the end, \([-+.0-9e]*\) at most.*/\1/p' "$1"; }
saved() { sed -n 's/.*dt\/[0-9]*; \([-+.0-9e]*\) times as many forces.*/\1/p' "$1"; }

# bats test_tags=once
@test "clusters without softening keep their energy as published, with a small part of the forces" {
	# 1e-6 to 1e-5 in a unit of time with eta 0.02
	nb-gen king -n 500 --w0 9 -s 1 >king.nb
	nb-gen plummer -n 1024 >plummer.nb
	for f in king plummer; do
		nb-step -v --integrator hermite --levels 26 --eta 0.02 -d 0.0625 --until 0.25 --every 0 "$FORCE --potential" \
			<$f.nb 2>$f.txt >out.nb
		echo "$f: error $(worst $f.txt), forces 1 / $(saved $f.txt)"
		at_most 1e-6 "$(worst $f.txt)"
		at_most "$(saved $f.txt)" 30
		[ "$(levels <out.nb)" -ge 6 ]
	done
}

# bats test_tags=once
@test "halving all steps divides the error by sixteen" {
	nb-step --integrator chin -d 0.000244140625 --until 1 --every 0 'nb-force -e 0.05' <cluster.nb >want.nb
	# a quarter of eta halves the steps
	for eta in 0.08 0.02 0.005 0.00125; do
		$BLOCKS --eta $eta --until 1 --every 0 "$FORCE -e 0.05" <cluster.nb >out.nb
		apart want.nb out.nb
	done | awk '{ e[NR] = $1; print } END { exit !(NR == 4 && e[4] > 0 && e[1] / e[4] > 16 ^ 2.5 && e[1] / e[4] < 16 ^ 4) }'
}

@test "a narrow orbit has steps that follow it" {
	nb-step -v --integrator hermite --levels 20 --eta 0.02 -d 0.78539816339744828 -k 8 --every 1 \
		"$FORCE --potential" <narrow.nb 2>said >out.nb
	at_most 1e-4 "$(worst said)"
	at_most "$(saved said)" 3
	nb-stats --levels --format tsv <out.nb | awk -F'\t' '$4 == 2 { seen[$3] = 1 } END { for (l in seen) n++; exit !(n >= 3) }'
}

# bats test_tags=once
@test "a hard binary keeps its energy in hundreds of orbits, alone and in a cluster, and in any order of the bodies" {
	# with one correction 1e-4, 1e-4, 5e-3 and 8e-5
	for e in 0.5 0.83 0.99; do
		nb-gen kepler --eccentricity $e --no-history >binary.nb
		nb-step -v --integrator hermite --levels max --eta 0.02 -d 62.83 -k 4 --every 0 "$FORCE --potential" \
			<binary.nb 2>$e.txt >$e.nb
		echo "$e: $(worst $e.txt)"
	done | tee errors
	awk '!($2 < ($1 == "0.99:" ? 1e-4 : 2e-6)) { exit 1 } END { exit NR != 3 }' errors
	nb-gen kepler --mass 0.02 --rscale 0.001 --eccentricity 0.7 --no-history | nb-merge --ids offset cluster.nb - >hard.nb
	nb-step -v --integrator hermite --levels max --eta 0.02 -d 0.0625 -k 4 --every 0 "$FORCE --potential" <hard.nb \
		2>said >/dev/null
	at_most 1e-6 "$(worst said)"
	for force in "$FORCE" "nb-sort-zorder | $FORCE"; do
		nb-gen kepler --eccentricity 0.83 --no-history | nb-step --no-history --integrator hermite --levels max \
			--eta 0.02 -d 62.83 -k 1 "$force" | field x
	done | sort | uniq -c | awk '$1 != 2 { exit 1 } END { exit NR != 2 }'
}

@test "a step that all bodies make has the formulas of the page" {
	nb-force --jerk -e 0.1 --no-history <cluster.nb >start.nb
	for dt in 0.015625 -0.015625; do
		nb-step --no-history --integrator hermite --levels 3 --eta 1e9 -d $dt --every 0 "$FORCE -e 0.1" <start.nb >end.nb
		nb-step --no-history --integrator taylor -d $dt <start.nb | nb-force --jerk -e 0.1 --no-history >there.nb
		paste <(for f in pos vel acc jerk; do mutate show $f <start.nb | tr '\n' ' '; done) \
			<(for f in acc jerk; do mutate show $f <there.nb | tr '\n' ' '; done) \
			<(for f in pos vel; do mutate show $f <end.nb | tr '\n' ' '; done) | awk -v dt=$dt '
				function near(got, want) { if (!((got - want) ^ 2 < 1e-28)) { print got, want; bad = 1; exit 1 } }
				{
					for (k = 1; k <= 60; k++) {
						x = $k; v = $(k + 60); a = $(k + 120); j = $(k + 180)
						a1 = $(k + 240); j1 = $(k + 300); x1 = $(k + 360); v1 = $(k + 420)
						near(v1, v + (a + a1) * dt / 2 + (j - j1) * dt ^ 2 / 12)
						near(x1, x + (v + v1) * dt / 2 + (a - a1) * dt ^ 2 / 12)
					}
				}
				END { exit bad || NR != 1 || k != 61 }'
	done
}

@test "frames have the forces of all bodies on all, at exact times" {
	$BLOCKS --until 0.25 --every-time 0.125 "$FORCE --potential -e 0.01" <n257.nb >out.nb
	[ "$(grep -a -o 'time=[-+.0-9e]*' out.nb | tr '\n' ' ')" = 'time=0 time=0.125 time=0.25 ' ]
	nb-force --no-history --jerk --potential -e 0.01 <out.nb >again.nb
	for f in acc jerk pot; do cmp <(mutate show $f <out.nb) <(mutate show $f <again.nb); done
	nb-stats --fields <out.nb >fields
	grep -q timescale fields
	grep -q level fields
	run ! grep -q 'active\|nb_step' fields
}

@test "forces are computed of the bodies whose steps end, and of all at the end" {
	nb-step -v --integrator hermite --levels 12 --eta 0.02 -d 0.0625 -k 1 --every 0 "nb-force -v --jerk -e 0.01" <n257.nb 2>said >out.nb
	sed -n 's/.*body-body \([0-9]*\),.*/\1/p' said | awk -v n=257 -v saved="$(saved said)" -v shortest="$(sed -n 's/.*dt\/\([0-9]*\);.*/\1/p' said)" '
		{ if ($1 < n * (n - 1)) { few++; some += $1 / n } }
		END {
			wanted = shortest * n / saved # of bodies, with those at the end
			print NR, few, some, wanted
			exit !(few > NR / 2 && some > wanted / 4 && some + n < wanted)
		}'
}

# bats test_tags=once
@test "the same bytes for any number of threads, folded or not, and in a run that goes on" {
	for pipe in "$FORCE --potential" "nb-sort-zorder | nb-build-tree | $FORCE -e 0.01"; do
		s="$BLOCKS -k 4"
		$s -j 1 "$pipe" <n257.nb >one.nb
		$s -j 3 "$pipe" <n257.nb >three.nb
		cmp one.nb three.nb
		NB_FOLD=off $s "$pipe" <n257.nb >pipes.nb
		cmp one.nb pipes.nb
		head -c $(($(stat -c %s one.nb) / 2)) one.nb >cut.nb
		for fold in on off; do
			NB_FOLD=${fold/on/} $s --resume cut.nb "$pipe" >rest.nb 2>/dev/null
			cmp <(nb-select --frames last --no-history <one.nb) <(nb-select --frames last --no-history <rest.nb)
		done
	done
	[ "$(levels <one.nb)" -ge 3 ]
}

@test "bodies keep what is theirs in whatever order the pipeline returns them" {
	mutate add tag <n257.nb >tagged.nb
	$BLOCKS -k 2 --every 0 "$FORCE -e 0.01" <tagged.nb >straight.nb
	[ "$(mutate show tag <straight.nb)" = "$(mutate show tag <tagged.nb)" ]
	$BLOCKS -k 2 --every 0 "nb-sort-zorder | $FORCE -e 0.01" <tagged.nb >sorted.nb
	run ! cmp <(mutate show id <straight.nb) <(mutate show id <sorted.nb)
	cmp <(tags straight.nb) <(tags sorted.nb)
	cmp <(field level <straight.nb) <(field level <sorted.nb)
	at_most 1e-11 "$(apart straight.nb sorted.nb)"
	$BLOCKS -k 2 --every 0 './filter spring' <tagged.nb >straight.nb
	$BLOCKS -k 2 --every 0 './filter reverse' <tagged.nb >back.nb
	cmp <(tags straight.nb) <(tags back.nb)
	for f in x vy level timescale; do cmp <(field $f <straight.nb) <(field $f <back.nb); done
}

@test "one level is a fixed step, and levels of longer steps are not needed" {
	nb-step --no-history --integrator hermite -d 0.01 -k 3 "$FORCE -e 0.1" <cluster.nb >plain.nb
	nb-step --no-history --integrator hermite -d 0.01 -k 3 --levels 1 --eta 0.02 "$FORCE -e 0.1" <cluster.nb >one.nb
	for f in pos vel acc; do cmp <(mutate show $f <plain.nb) <(mutate show $f <one.nb); done
	# a longer dt with as many more levels makes the same steps until its half
	nb-step --no-history --integrator hermite --levels 18 --eta 0.02 -d 0.25 -k 1 --every 0 "$FORCE -e 0.02" <cluster.nb >long.nb
	nb-step --no-history --integrator hermite --levels 16 --eta 0.02 -d 0.0625 -k 4 --every 0 "$FORCE -e 0.02" <cluster.nb >short.nb
	at_most 1e-5 "$(apart long.nb short.nb)"
}

@test "any bodies: none, one, at rest, without mass, in one place" {
	for n in 0 1 2; do
		$BLOCKS -k 3 --every 0 "$FORCE -e 0.05" <n$n.nb >out.nb
		[ "$(mutate show id <out.nb | grep -c .)" -eq $n ]
		nb-stats --check <out.nb
	done
	nb-calc 'vx = 0' 'vy = 0' 'vz = 0' <cluster.nb >rest.nb
	nb-step -v --integrator hermite --levels 12 --eta 0.02 -d 0.0625 -k 8 --every 0 "$FORCE -e 0.05 --potential" <rest.nb 2>said >out.nb
	at_most 1e-5 "$(worst said)"
	nb-calc 'mass = id % 2 == 1 ? mass : 0' 'x = id < 4 ? 0 : x' 'y = id < 4 ? 0 : y' 'z = id < 4 ? 0 : z' <cluster.nb >odd.nb
	for eps in 0 0.05; do
		$BLOCKS -k 2 --every 0 "$FORCE -e $eps" <odd.nb >out.nb
		nb-stats --check <out.nb
	done
}

@test "a column active of another stream does not leave forces out" {
	nb-calc --no-history 'active = id == 3' <n257.nb >active.nb
	nb-step --no-history -d 0.01 -k 2 --every 0 'nb-force -e 0.1' <n257.nb >want.nb
	nb-step --no-history -d 0.01 -k 2 --every 0 'nb-force -e 0.1' <active.nb >out.nb
	cmp want.nb out.nb
}

@test "what it cannot do is refused" {
	s='nb-step --integrator hermite --levels 4'
	fails_with 2 "'--levels' needs the longest step and how short others are" "$s -d 0.1 '$FORCE' <n2.nb"
	fails_with 2 "'--levels' needs the longest step and how short others are" "$s --eta 0.1 '$FORCE' <n2.nb"
	fails_with 2 "needs several forces in a step (give the force pipeline as operand)" "$s -d 0.1 --eta 0.1 <n2.nb"
	fails_with 2 "'--collide' needs an integrator with one force" "$s -d 0.1 --eta 0.1 --collide merge '$FORCE' <n2.nb"
	fails_with 2 "'--send-velocities' needs an integrator with one force" "$s -d 0.1 --eta 0.1 --send-velocities '$FORCE' <n2.nb"
	fails_with 2 "option '--levels' needs '--integrator leapfrog' or 'hermite'" \
		"nb-step --levels 4 -d 0.1 --eta 0.1 --integrator chin '$FORCE' <n2.nb"
	fails_with 1 "returned no field 'jerk' (want nb-force --jerk, or nb-field --alone --jerk)" "$s -d 0.1 --eta 0.1 nb-force <n2.nb"
}

@test "a closed or full output, or an interrupt, ends it like any filter" {
	run bash -c "$BLOCKS -k 50 '$FORCE -e 0.05' <n257.nb | head -c 1000 | wc -c"
	[ "$output" -eq 1000 ]
	run bash -c "$BLOCKS -k 3 '$FORCE -e 0.05' <n257.nb >/dev/full"
	[ "$status" -eq 1 ]
	rm -f out.nb
	$BLOCKS -k 100000 "$FORCE -e 0.05" <n257.nb >out.nb &
	wait_until test -s out.nb
	kill -TERM $!
	code=0
	wait $! || code=$?
	[ "$code" -eq 143 ]
	nb-stats --check <out.nb
}

# bats test_tags=once
@test "nb-force computes the forces on active bodies alone, if these are at most half" {
	# forces: those of the stream in $1, one body a line: id, acc, pot, jerk
	forces() { mutate show id acc pot jerk <"$1"; }
	for law in '-e 0' '-e 0.05' '-e 0.05 --softening-kernel spline'; do
		for share in 300 4 3 1; do
			nb-calc --no-history "active = id % $share == 0" <n257.nb | bash -c "nb-force --jerk --potential $law" >some.nb
			bash -c "nb-force --jerk --potential $law" <n257.nb >all.nb
			paste <(forces all.nb) <(forces some.nb) | awk -v share=$share '
				{
					for (k = 2; k <= 8; k++) {
						want = $1 % share == 0 ? $k : 0
						if (!(($(k + 8) - want) ^ 2 <= 1e-22 * (1 + want ^ 2))) { print; exit 1 }
					}
				}
				END { exit NR != 257 }'
		done
	done
	# what is not these sums is computed of all
	nb-calc --no-history 'active = id == 3' <n257.nb >some.nb
	while IFS=: read -r how why; do
		bash -c "nb-sort-zorder <some.nb | nb-build-tree | nb-force -v $how" >out.nb 2>said
		grep -q "n 257, forces on all ($why), " said
		[ "$(mutate show acc <out.nb | grep -c '^0.0 0.0 0.0$')" -eq 0 ]
	done <<-'END'
		-m direct --precision f32:precision is not f64
		-m direct --audit 257:option --audit
		-m tree --audit 257:option --audit
		-m tree --jerk:tree with --jerk
		--mac acceleration:option --mac
	END
	nb-force -v <some.nb 2>&1 >/dev/null | grep -q 'n 257, 1 active, .* body-body 257,'
	# any numbers
	nb-calc --no-history --dtype u2 'active = 256 * (id == 3)' <n257.nb | nb-force --no-history | mutate show acc >wide
	nb-force --no-history <some.nb | mutate show acc | cmp - wide
	# a tree gives some bodies what it gives all, as well as the direct sum knows
	for law in '-e 0.05' '-e 0' '-e 0.05 --softening-kernel spline'; do
		nb-gen plummer -n 3000 --no-history | nb-calc --no-history 'active = id % 30 == 0' >many.nb
		bash -c "nb-sort-zorder <many.nb | nb-build-tree | nb-force -m tree -t 0.4 --potential --precision f64 $law" >some.nb
		bash -c "nb-force --potential $law <many.nb" | nb-select --keep-derived --where 'id % 30 == 0' >want.nb
		mutate show id acc pot <some.nb | sort -n |
			awk '$1 % 30 == 0 { print; next } $2 != 0 || $5 != 0 { exit 1 }' >tree.txt
		mutate show id acc pot <want.nb | sort -n | paste tree.txt - |
			awk '{ for (k = 2; k <= 5; k++) { d = ($k - $(k + 5)) ^ 2; if (d > most) most = d } }
				END { print sqrt(most); exit !(NR == 100 && most > 0 && most < (1e-3) ^ 2) }'
	done
	nb-calc --no-history 'active = 0 * id' <n257.nb | nb-force --jerk --potential >none.nb
	[ "$(mutate show acc <none.nb | grep -c '^0.0 0.0 0.0$')" -eq 257 ]
	nb-force <some.nb 2>/dev/null | nb-stats --check
}
