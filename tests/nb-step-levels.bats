#!/usr/bin/env bats
# nb-step --levels: block time steps.  What it must give is what a global step gives, with less work.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	ln -s "$(cd "$NB_BIN/../tests/filters" && pwd)/spring" filter
	nb-gen king -n 1000 --w0 12 -s 3 --no-history >king.nb
	for n in 0 1 2; do nb-gen plummer -n $n --no-history >n$n.nb; done
	# of different speeds, by their distances from a centre that holds nearly all the mass
	nb-gen solar --no-history >solar.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

FORCE='nb-force -e 0.002 --potential'
BLOCKS='nb-step --no-history --levels 9 --eta 0.2 -d 0.03125'

# field NAME: that column, in the order of the ids, of the last frame on stdin
field() { nb-select --frames last | nb-convert -q --no-comments --to csv | awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $(c["id"]), $(c[name]) }' | sort -n; }

# sent: bodies through the force pipeline if all made the shortest step, over those that went through it (of -v)
sent() { sed -n 's/.*dt\/[0-9]*; \([-+.0-9e]*\) times as many.*/\1/p' "$1"; }

# the error at most that -v tells
worst() { sed -n 's/.* in the end, \([-+.0-9e]*\) at most.*/\1/p' "$1"; }

@test "one level is the run without levels, to the byte" {
	s='nb-step --no-history -d 0.03 -k 5'
	$s "$FORCE" <king.nb >plain.nb
	$s --levels 1 --eta 0.05 "$FORCE" <king.nb >one.nb
	cmp plain.nb one.nb
	$s --levels 4 --eta 1e9 "$FORCE" <king.nb | nb-select --drop level --no-history >slow.nb # nobody wants less
	cmp plain.nb slow.nb
}

# bats test_tags=once
@test "the energy is kept as by a global step of the smallest size, with a quarter of the work" {
	nb-step -v -d 0.03125 --levels 9 --eta 0.2 --until 0.25 --every 0 "$FORCE" <king.nb 2>blocks.txt >/dev/null
	shortest=$(sed -n 's/.*shortest step dt.\([0-9]*\);.*/\1/p' blocks.txt)
	[ "$shortest" -ge 64 ]
	nb-step -v -d "$(awk "BEGIN { print 0.03125 / $shortest }")" --until 0.25 --every 0 "$FORCE" <king.nb 2>global.txt >/dev/null
	awk -v blocks="$(worst blocks.txt)" -v global="$(worst global.txt)" -v saved="$(sent blocks.txt)" 'BEGIN {
		print "errors", blocks, global, "work 1 /", saved
		exit !(blocks > 0 && blocks <= 2 * global && saved >= 4)
	}'
}

# bats test_tags=once
@test "the momentum stays within rounding if the force keeps it" {
	nb-step -d 0.03125 --levels 9 --eta 0.2 --until 0.25 --every 0 "$FORCE --precision f64" <king.nb >out.nb
	nb-stats --format tsv <king.nb >first.tsv
	nb-stats --format tsv <out.nb >last.tsv
	for p in px py pz; do close_to "$(stat_of $p <first.tsv)" "$(stat_of $p <last.tsv)" 1e-13; done
}

# bats test_tags=once
@test "halving dt and eta divides the error by four" {
	# a binary of eccentricity 0.6, whose steps change all the time, and one that never meets it
	for k in 1 2 4; do
		nb-gen kepler --eccentricity 0.6 | nb-step -v -d "$(awk "BEGIN { print 0.02 / $k }")" --levels 1 --eta 1 --until 3 \
			--every 0 'nb-force --potential' 2>said >/dev/null
		worst said
		nb-step -v -d "$(awk "BEGIN { print 0.0625 / $k }")" --levels 9 --eta "$(awk "BEGIN { print 0.4 / $k }")" --until 0.25 \
			--every 0 "$FORCE" <king.nb 2>said >/dev/null
		worst said
	done >errors.txt
	awk 'NR % 2 { one[++n] = $1 } NR % 2 == 0 { all[++m] = $1 }
		END { print one[1] / one[3], all[1] / all[3]; exit !(one[1] / one[3] > 14 && all[1] / all[3] > 4) }' errors.txt
}

# bats test_tags=once
@test "the same bytes for any number of threads, folded or not" {
	for pipe in "$FORCE" 'nb-sort-zorder | nb-build-tree | nb-force -e 0.002 --potential'; do
		$BLOCKS -j 1 -k 3 "$pipe" <king.nb >one.nb
		$BLOCKS -j 3 -k 3 "$pipe" <king.nb >three.nb
		cmp one.nb three.nb
		NB_FOLD=off $BLOCKS -k 3 "$pipe" <king.nb >pipes.nb
		cmp one.nb pipes.nb
	done
}

@test "bodies keep their columns and, without a sort, their order, whatever order the pipeline returns" {
	mutate add tag <king.nb >tagged.nb
	$BLOCKS -k 2 --every 0 "$FORCE" <tagged.nb >out.nb
	for f in id tag mass; do [ "$(mutate show $f <out.nb)" = "$(mutate show $f <tagged.nb)" ]; done
	[ "$(nb-stats --levels --format tsv <out.nb | awk '$3 > 0 && $4 > 0' | wc -l)" -ge 3 ]
	# the force of a spring needs no others: the same numbers in any order
	s='nb-step --no-history --levels 5 --eta 1.5 -d 0.1 -k 3 --every 0'
	nb-calc 'eps = 0.0001 * (1 + id % 7) ^ 4' <tagged.nb >soft.nb
	$s './filter spring' <soft.nb >straight.nb
	$s './filter reverse' <soft.nb >back.nb
	for f in tag x vy level; do cmp <(field $f <straight.nb) <(field $f <back.nb); done
	[ "$(field level <straight.nb | cut -d' ' -f2 | sort -u | wc -l)" -ge 3 ]
	# those that were sent alone are where they were: the order is that of the other bodies, reversed or not
	mutate show id <back.nb >ids
	[ "$(cat ids)" = "$(mutate show id <soft.nb)" ] || [ "$(cat ids)" = "$(mutate show id <soft.nb | tac)" ]
	$s './filter label' <soft.nb >labelled.nb
	cmp <(field vy <straight.nb) <(field vy <labelled.nb)
}

# bats test_tags=once
@test "frames have the forces of all bodies on all, at exact times" {
	$BLOCKS --until 0.5 --every-time 0.25 "$FORCE" <king.nb >out.nb
	[ "$(grep -a -o 'time=[-+.0-9e]*' out.nb | tr '\n' ' ')" = 'time=0 time=0.25 time=0.5 ' ]
	$FORCE --no-history <out.nb >again.nb
	cmp <(mutate show acc <out.nb) <(mutate show acc <again.nb)
	cmp <(mutate show pot <out.nb) <(mutate show pot <again.nb)
}

@test "--resume ends with the bytes of a whole run" {
	for pipe in "$FORCE" 'nb-sort-zorder | nb-build-tree | nb-force -e 0.002 --potential'; do
		s="$BLOCKS -k 6"
		$s "$pipe" <king.nb >whole.nb
		head -c $(($(stat -c %s whole.nb) / 2)) whole.nb >cut.nb
		$s --resume cut.nb "$pipe" >rest.nb 2>/dev/null
		cmp <(nb-select --frames last --no-history <whole.nb) <(nb-select --frames last --no-history <rest.nb)
	done
}

@test "where all bodies keep their steps, steps back in time return to the start" {
	# Mercury, and the Sun with it, make two steps where the others make one
	nb-step -d 1 --levels 12 --eta 0.05 -k 20 --every 0 'nb-force --potential' <solar.nb >there.nb
	[ "$(field level <there.nb | cut -d' ' -f2 | tr '\n' ' ')" = '1 1 0 0 0 0 0 0 0 ' ]
	nb-step -d -1 --levels 12 --eta 0.05 -k 20 --every 0 'nb-force --potential' <there.nb >back.nb
	for f in x y z; do
		paste <(field $f <solar.nb) <(field $f <back.nb) | awk '
			{ d = ($2 - $4) ^ 2; if (d > worst) worst = d } END { print sqrt(worst); exit !(NR == 9 && worst < 1e-26) }'
	done
}

# bats test_tags=once
@test "a hard binary in a cluster keeps its size, and costs the others nothing" {
	nb-gen plummer -n 300 -s 5 | nb-calc 'mass = id < 2 ? 0.01 : mass' 'eps = id < 2 ? 0.00001 : 0.05' >cluster.nb
	# bodies 0 and 1 on a circle of diameter 0.002 with the velocity that belongs to it
	nb-calc 'x = id == 0 ? 0.001 : id == 1 ? -0.001 : x' 'y = id < 2 ? 0 : y' 'z = id < 2 ? 0 : z' \
		'vx = id < 2 ? 0 : vx' 'vy = id == 0 ? sqrt(0.0025/0.001) : id == 1 ? -sqrt(0.0025/0.001) : vy' \
		'vz = id < 2 ? 0 : vz' <cluster.nb >binary.nb
	nb-step -v -d 0.03125 --levels 14 --eta 0.05 -k 4 'nb-force --potential' <binary.nb 2>said >out.nb
	at_most 1e-3 "$(worst said)"
	awk -v saved="$(sent said)" 'BEGIN { exit !(saved > 40) }'
	[ "$(field level <out.nb | head -n 2 | cut -d' ' -f2 | sort -u | wc -l)" -eq 1 ]
	[ "$(nb-stats --levels --format tsv <out.nb | tail -n 1 | cut -f 4)" -le 8 ] # hardly anybody else
}

@test "a heavy body makes the steps of what orbits it" {
	nb-step -d 64 --levels 12 --eta 0.05 -k 1 --every 0 'nb-force --potential' <solar.nb >out.nb
	# the Sun hardly moves and has the level of Mercury, Neptune has none
	field level <out.nb | awk '{ level[NR] = $2 } END { exit !(level[1] == level[2] && level[1] > 2 && level[9] < level[1]) }'
}

@test "any number of bodies" {
	for n in 0 1 2; do
		$BLOCKS -k 3 --every 0 "$FORCE" <n$n.nb >out.nb
		[ "$(nb-convert --no-comments --to csv <out.nb | wc -l)" -eq $((n + 1)) ]
	done
	# two at the same place, and one without mass
	nb-calc 'pos = id < 2 ? 0 * pos : pos' 'mass = id == 2 ? 0 : mass' <king.nb >odd.nb
	$BLOCKS -k 2 --every 0 "$FORCE" <odd.nb | nb-stats --check
}

@test "levels that run out are reported once, and with --levels max they do not" {
	nb-gen kepler --eccentricity 0.9 >narrow.nb
	for scheme in '--integrator hermite --eta 0.02 -d 0.0625' '--eta 0.02 -d 0.0625' '--eta 0.02 -d 0.0625 --blocks whole'; do
		force='nb-force --potential'
		[[ $scheme != *hermite* ]] || force+=' --jerk'
		for levels in 3 30 max; do
			s="nb-step --no-history $scheme --levels $levels --until 7 --every 0"
			$s "$force" <narrow.nb >$levels.nb 2>$levels.txt
		done
		equals "$(grep 'shorter steps' 3.txt)" 'nb-step: bodies want shorter steps than --levels 3 has, in step 1 (want --levels max)'
		[ ! -s 30.txt ]
		[ ! -s max.txt ]
		cmp 30.nb max.nb
		grep -q 'the energy is off by .* % in step [0-9]* (want --levels max' 3.txt
	done
}

@test "three bodies that pass each other closely, bound or not, keep their energy" {
	# from one distance of 1e-9 of the others at time 6.6; single corrections lose 1.9 % of the energy there
	nb-gen plummer -n 3 -s 1 |
		nb-step -v --integrator hermite --levels max --eta 0.02 -d 1 --until 8 --every 0 'nb-force --jerk --potential' 2>said >out.nb
	at_most 1e-4 "$(worst said)"
}

@test "levels are counted by nb-stats" {
	$BLOCKS -k 2 "$FORCE" <king.nb >out.nb
	nb-stats --levels --format tsv <out.nb >levels.tsv
	awk -F'\t' 'NR == 1 { if ($0 != "frame\ttime\tlevel\tn\tshare") exit 1; next }
		{ n[$1] += $4; share[$1] += $5 }
		END { for (f = 0; f < 3; f++) if (n[f] != 1000 || (share[f] - 1) ^ 2 > 1e-20) exit 1 }' levels.tsv
	[ "$(grep -c '^0' levels.tsv)" -eq 1 ]
	cmp <(field level <out.nb | cut -d' ' -f2 | sort -n | uniq -c | awk '{ print $2, $1 }') \
		<(awk '$1 == 2 && $4 > 0 { print $3, $4 }' levels.tsv)
	[ "$(nb-stats --levels --format tsv <n0.nb 2>&1)" = "nb-stats: field 'level' missing in frame 0 (stream has: id, mass, pos, vel)" ]
	# those of an older run go with a run that has none
	nb-step -d 0.01 nb-force <out.nb >plain.nb
	[ "$(nb-stats --fields <plain.nb | grep -c level)" -eq 0 ]
}

@test "an interrupt leaves a whole state" {
	rm -f out.nb
	$BLOCKS -k 100000 "$FORCE" <king.nb >out.nb &
	wait_until test -s out.nb
	kill -TERM $!
	code=0
	wait $! || code=$?
	[ "$code" -eq 143 ]
	nb-stats --check <out.nb
}

@test "what block steps cannot do is refused" {
	fails_with 2 "'--levels' needs the longest step and how short others are" "nb-step -d 0.1 --levels 4 nb-force <n2.nb"
	fails_with 2 "'--levels' needs the longest step and how short others are" "nb-step --eta 0.1 --levels 4 nb-force <n2.nb"
	fails_with 2 "'--levels' needs the force pipeline" "nb-step -d 0.1 --eta 0.1 --levels 4 <n2.nb"
	for i in $(integrators | grep -vxE 'leapfrog|hermite'); do
		fails_with 2 "'--levels' needs '--integrator leapfrog'" \
			"nb-step -d 0.1 --eta 0.1 --levels 4 --integrator $i nb-force <n2.nb"
	done
	fails_with 2 "give either --levels or --collide" "nb-step -d 0.1 --eta 0.1 --levels 4 --collide merge nb-force <n2.nb"
	fails_with 2 "give either --levels or --send-velocities" \
		"nb-step -d 0.1 --eta 0.1 --levels 4 --send-velocities nb-force <n2.nb"
	fails_with 2 "option '--blocks' needs '--levels' of 2 or more" "nb-step -d 0.1 --blocks whole nb-force <n2.nb"
	fails_with 2 "option '--blocks' needs '--levels' of 2 or more" \
		"nb-step -d 0.1 --eta 0.1 --levels 1 --blocks split nb-force <n2.nb"
	fails_with 2 "'--integrator hermite' makes no split steps" \
		"nb-step -d 0.1 --eta 0.1 --levels 2 --blocks split --integrator hermite 'nb-force --jerk' <n2.nb"
	fails_with 2 "levels" "nb-step -d 0.1 --eta 0.1 --levels 0 nb-force <n2.nb"
	fails_with 2 "levels" "nb-step -d 0.1 --eta 0.1 --levels 54 nb-force <n2.nb"
	fails_with 1 "needs a softening or potentials in step 0 (give nb-force a softening > 0, or --potential)" \
		"nb-step --every 0 -d 0.1 --eta 0.1 --levels 4 nb-force <n2.nb"
	fails_with 1 "needs a softening or potentials in step 0 (give nb-force a softening > 0, or --potential)" \
		"nb-step --every 0 -d 0.1 --eta 0.1 --levels 4 --blocks whole nb-force <n2.nb"
	nb-step --every 0 -d 0.1 --eta 0.1 --levels 4 'nb-force --potential' <n2.nb | nb-stats --check
	nb-step --every 0 -d 0.1 --eta 0.1 --levels 4 --blocks whole 'nb-force --potential' <n2.nb | nb-stats --check
}

# ---- whole frames -----------------------------------------------------------------------------------

WHOLE="$BLOCKS --blocks whole"
TREE='nb-sort-zorder | nb-build-tree | nb-force -e 0.002 --potential'

# forces of -v if all made the shortest step, over those that were computed
saved() { sed -n 's/.*dt\/[0-9]*; \([-+.0-9e]*\) times as many forces.*/\1/p' "$1"; }

# bats test_tags=once
@test "whole frames: one level is the run without levels, and bodies of one step make it alike" {
	for dt in 0.03 -0.03; do
		s="nb-step --no-history -d $dt -k 5 --every 0"
		$s "$FORCE" <king.nb >plain.nb
		$s --levels 4 --eta 1e9 --blocks whole "$FORCE" <king.nb >slow.nb # nobody wants less
		for f in pos vel acc; do
			paste <(mutate show $f <plain.nb) <(mutate show $f <slow.nb) | awk '
				{ for (k = 1; k < 4; k++) if (!(($k - $(k + 3)) ^ 2 <= 1e-20 * (1 + $k ^ 2))) { print; exit 1 } }
				END { exit NR != 1000 }'
		done
	done
}

# bats test_tags=once
@test "whole frames: the energy is kept as by a global step of the smallest size, with a fifth of the forces" {
	nb-step -v -d 0.03125 --levels 9 --eta 0.2 --blocks whole --until 0.25 --every 0 "$FORCE" <king.nb 2>blocks.txt >out.nb
	shortest=$(sed -n 's/.*shortest step dt.\([0-9]*\);.*/\1/p' blocks.txt)
	[ "$shortest" -ge 64 ]
	nb-step -v -d "$(awk "BEGIN { print 0.03125 / $shortest }")" --until 0.25 --every 0 "$FORCE" <king.nb 2>global.txt >/dev/null
	awk -v blocks="$(worst blocks.txt)" -v global="$(worst global.txt)" -v saved="$(saved blocks.txt)" 'BEGIN {
		print "errors", blocks, global, "work 1 /", saved
		exit !(blocks > 0 && blocks <= 4 * global && saved >= 5)
	}'
	[ "$(nb-stats --levels --format tsv <out.nb | awk '$3 > 0 && $4 > 0' | wc -l)" -ge 4 ]
	run ! grep -a -q 'column active\|column nb_step' out.nb
}

@test "whole frames: steps are those of the page" {
	# so short that nobody moves
	$WHOLE -d 1e-5 --eta 3e-4 -k 1 --every 0 "$FORCE" <king.nb >out.nb
	$FORCE <king.nb >start.nb
	paste <(mutate show mass <start.nb) <(mutate show acc <start.nb) <(mutate show pot <start.nb) <(mutate show level <out.nb) |
		awk '
			{ m[NR] = $1; a[NR] = sqrt($2 ^ 2 + $3 ^ 2 + $4 ^ 2); p[NR] = -$5; level[NR] = $6; M += $1; mean += $1 * -$5 }
			END {
				mean /= M
				for (i = 1; i <= NR; i++) {
					f = 2.5 * p[i] ^ 3 / (M * mean)
					deep += f > a[i]
					f = f > a[i] ? f : a[i]
					for (l = 0; 1e-5 / 2 ^ l > 3e-4 * sqrt(0.002 / f); l++);
					wrong += l != level[i]
					seen[l] = 1
				}
				for (l in seen) n++
				print NR, wrong, deep, n
				exit !(NR == 1000 && wrong == 0 && deep > 100 && n >= 4)
			}'
}

@test "whole frames: halving dt and eta divides the error by four" {
	for k in 1 2 4; do
		nb-gen kepler --eccentricity 0.6 | nb-step -v -d "$(awk "BEGIN { print 0.125 / $k }")" --levels 9 --blocks whole \
			--eta "$(awk "BEGIN { print 0.1 / $k }")" --until 3 --every 0 'nb-force --potential' 2>said >/dev/null
		worst said
	done | awk '{ e[NR] = $1; print } END { exit !(NR == 3 && e[3] > 0 && e[1] / e[3] > 9 && e[1] / e[3] < 40) }'
}

# bats test_tags=once
@test "whole frames: the same bytes for any number of threads, folded or not, and in a run that goes on" {
	for pipe in "$FORCE" "$TREE"; do
		s="$WHOLE -k 3"
		$s -j 1 "$pipe" <king.nb >one.nb
		$s -j 3 "$pipe" <king.nb >three.nb
		cmp one.nb three.nb
		NB_FOLD=off $s "$pipe" <king.nb >pipes.nb
		cmp one.nb pipes.nb
		head -c $(($(stat -c %s one.nb) / 2)) one.nb >cut.nb
		$s --resume cut.nb "$pipe" >rest.nb 2>/dev/null
		cmp <(nb-select --frames last --no-history <one.nb) <(nb-select --frames last --no-history <rest.nb)
	done
}

@test "whole frames: bodies keep what is theirs in whatever order the pipeline returns them, at exact times" {
	mutate add tag <king.nb >tagged.nb
	$WHOLE --until 0.0625 --every-time 0.03125 "nb-sort-zorder | $FORCE" <tagged.nb >sorted.nb
	$WHOLE --until 0.0625 --every-time 0.03125 "$FORCE" <tagged.nb >straight.nb
	[ "$(grep -a -o 'time=[-+.0-9e]*' sorted.nb | tr '\n' ' ')" = 'time=0 time=0.03125 time=0.0625 ' ]
	for f in straight sorted; do
		nb-select --frames last <$f.nb >last.nb
		mutate show id tag <last.nb | sort -n >$f.tags
		mutate show id pos vel <last.nb | sort -n >$f.txt
		$FORCE --no-history <last.nb >again.nb
		cmp <(mutate show acc <last.nb) <(mutate show acc <again.nb)
	done
	cmp straight.tags sorted.tags
	paste straight.txt sorted.txt | awk '{ for (k = 2; k <= 7; k++) if (!(($k - $(k + 7)) ^ 2 < 1e-16)) { print; exit 1 } }'
}

@test "whole frames: any number of bodies" {
	for n in 0 1 2; do
		$WHOLE -k 3 --every 0 "$FORCE" <n$n.nb >out.nb
		[ "$(nb-convert --no-comments --to csv <out.nb | wc -l)" -eq $((n + 1)) ]
	done
	nb-calc 'pos = id < 2 ? 0 * pos : pos' 'mass = id == 2 ? 0 : mass' <king.nb >odd.nb
	$WHOLE -k 2 --every 0 "$FORCE" <odd.nb | nb-stats --check
	nb-calc 'mass = 0' <n2.nb | $WHOLE -k 2 --every 0 "$FORCE" | nb-stats --check
}
