#!/usr/bin/env bats
# nb-step --integrator ias15: orbits and encounters to rounding, states at given times, and what is refused.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen kepler --eccentricity 0.9 --no-history >pair.nb
	printf 'id,mass,x,y,z,vx,vy,vz\n0,3,1,3,0,0,0,0\n1,4,-2,-1,0,0,0,0\n2,5,1,-1,0,0,0,0\n' >three.csv
	nb-convert --no-history three.csv >three.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

I=(nb-step --no-history --integrator ias15)

@test "an orbit comes back, the problem of Pythagoras has its known state, and all goes back in time" {
	"${I[@]}" --until 62.83185307179586 --every 0 nb-force pair.nb >out.nb
	agree_within pair.nb out.nb 2e-11
	"${I[@]}" --until 10 --every 0 nb-force three.nb >ten.nb
	# integrated with 160 bits; an encounter has made errors 10^4 times as large
	last_state ten.nb | awk '
		{ x[NR] = $1; y[NR] = $2 }
		function off(a, b) { return a > b ? a - b : b - a }
		END {
			e = off(x[1], 0.7784804101380854931) + off(y[1], 0.1413923002900861686)
			e += off(x[2], -2.025092477978198586) + off(y[2], 0.0972193841460583965)
			e += off(x[3], 1.152985736299707573) + off(y[3], -0.1626108874908984184)
			print e
			exit !(NR == 3 && e < 1e-10)
		}'
	"${I[@]}" -d -1 --until 0 --every 0 nb-force ten.nb >back.nb
	agree_within three.nb back.nb 1e-8
}

@test "steps two thirds as long leave a two hundredth of the error of the energy, or less: an order of 13 or more" {
	nb-gen kepler --eccentricity 0.3 --no-history >wide.nb
	for d in 0.45 0.3; do
		"${I[@]}" --eta 1 -d $d -k "$(awk "BEGIN { print int(63 / $d) }")" 'nb-force --potential' wide.nb | nb-stats --format tsv |
			awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i; next }
				{ e = $c < 0 ? -$c : $c; if (e > most) most = e } END { print most }' >e$d
	done
	awk -v long="$(<e0.45)" -v short="$(<e0.3)" 'BEGIN { print long, short; exit !(long / short > 1.5 ^ 13 && long < 1e-11) }'
}

@test "states at given times change no step, and a run to one of them ends with it" {
	"${I[@]}" --until 12 --every 0 nb-force three.nb >end.nb
	"${I[@]}" --until 12 --every-time 0.013 nb-force three.nb >often.nb # more often than there are steps
	cmp <(last_state end.nb) <(last_state often.nb)
	[ "$(nb-stats --format tsv often.nb | wc -l)" -eq 926 ]
	"${I[@]}" --until 12 --every 7 nb-force three.nb >seventh.nb
	cmp <(last_state end.nb) <(last_state seventh.nb)
	"${I[@]}" --until 6.5 --every 0 nb-force three.nb >half.nb
	cmp <(last_state half.nb) <(nb-select --time 6.5 often.nb | mutate show pos vel)
	[ "$(nb-stats --attributes half.nb | grep ^time=)" = time=6.5 ]
	# steps are much shorter than the time at which the run begins
	nb-calc '@time = 1e15' three.nb | "${I[@]}" --until 1000000000000012 --every 0 nb-force >late.nb
	agree_within end.nb late.nb 1e-10
	NB_FOLD=off "${I[@]}" --until 12 --every-time 0.5 'nb-force --potential' three.nb >a.nb
	"${I[@]}" --until 12 --every-time 0.5 'nb-force --potential' three.nb | cmp - a.nb
}

@test "-k counts steps, -d is the largest and --eta sets all" {
	"${I[@]}" -k 9 nb-force three.nb >nine.nb
	[ "$(nb-stats --attributes nine.nb | grep '^step=' | paste -sd ' ')" = 'step=0 step=1 step=2 step=3 step=4 step=5 step=6 step=7 step=8 step=9' ]
	"${I[@]}" -k 9 --every 0 nb-force three.nb | cmp <(last_state nine.nb) <(last_state /dev/stdin)
	# with times in every step, too: the last state is that after the last step
	"${I[@]}" -k 3 --every-time 0.001 nb-force three.nb >times.nb
	"${I[@]}" -k 3 --every 0 nb-force three.nb >three-steps.nb
	cmp <(last_state three-steps.nb) <(last_state times.nb)
	nb-stats --format tsv times.nb | awk -F '\t' 'NR > 1 { end = $2; n = NR - 1 } END { print n, end; exit !(n == int(end / 0.001) + 2) }'
	steps() { "${I[@]}" --until 5 --every 0 "$@" nb-force three.nb | nb-stats --attributes | sed -n 's/^step=//p'; }
	awk -v free="$(steps)" -v small="$(steps -d 0.01)" -v eta="$(steps --eta 0.05)" 'BEGIN {
		print free, small, eta
		exit !(free > 200 && free < 400 && small >= 500 && eta > 2.5 * free && eta < 4.5 * free) }'
}

@test "any number of bodies from 0 to 16, with a softening, and without masses" {
	for n in 0 1 2 16; do
		nb-gen plummer -n $n --seed 3 >n.nb
		"${I[@]}" --until 0.3 --every-time 0.1 'nb-force -e 0.05 --potential' n.nb >out.nb
		nb-stats --check out.nb
		[ "$(last_state out.nb | wc -l)" -eq $n ]
	done
	[ "$(nb-stats --format tsv out.nb | stat_of drift | awk '{ print ($1 < 0 ? -$1 : $1) < 1e-13 }')" = 1 ]
	fails_with 1 "has 17 bodies, and '--integrator ias15' takes at most 16" 'nb-gen plummer -n 17 | nb-step --integrator ias15 --until 1 nb-force'
	# a body in the middle of three, on which no force is left, sets no step
	nb-gen figure8 --no-history >eight.nb
	"${I[@]}" --until 6.32591400978213855 --every 0 nb-force eight.nb >out.nb
	agree_within eight.nb out.nb 1e-7
	[ "$(nb-stats --attributes out.nb | sed -n 's/^step=//p')" -lt 150 ]
	nb-calc 'mass *= id == 0' pair.nb | "${I[@]}" --until 1 --every 0 nb-force | nb-stats --check
}

@test "what does not go with it is refused, and a collision ends the run" {
	s='nb-step --integrator ias15 --until 1'
	fails_with 2 'needs the force pipeline as operand' 'nb-step --integrator ias15 <three.nb'
	for option in '--collide merge' '--levels 2' --send-velocities; do
		fails_with 2 "'--integrator ias15' takes no '${option%% *}'" "$s $option nb-force three.nb"
	done
	fails_with 2 "invalid eta '1.5' (want a number <= 1 with '--integrator ias15')" "$s --eta 1.5 nb-force three.nb"
	fails_with 2 "option '--corrector' needs '--integrator whfast'" "$s --corrector 3 nb-force three.nb"
	fails_with 1 'the force is not that of all bodies on each other' "$s 'nb-force | nb-field \"point:m=1e-9\"' three.nb"
	fails_with 1 'softenings of their own' "nb-calc 'eps = 0.1' three.nb | $s nb-force"
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,0,0\n1,1,-1,0,0,0,0,0\n' | nb-convert --from csv >fall.nb
	fails_with 1 'bodies co' "$s --until 3 --every 0 nb-force fall.nb"
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,0,0\n1,1,1,0,0,0,0,0\n' | nb-convert --from csv >same.nb
	fails_with 1 'bodies are at the same place, or too far apart, in step 1' "$s --every 0 nb-force same.nb"
	fails_with 1 'steps grow beyond the range of numbers, as nothing pulls a body, in step 5' \
		"nb-gen plummer -n 1 | nb-step --integrator ias15 -k 2000 --every 0 nb-force"
	fails_with 1 'the force pipeline changes masses, G or the softening in step' "$s --every 0 'nb-calc \"mass = mass / 2\" | nb-force' three.nb"
	# one unit of length past the other they are followed
	nb-calc 'vy = id == 0 ? 0.001 : -0.001' fall.nb | "${I[@]}" --until 3 --every 0 'nb-force --potential' >out.nb
	at_most 1e-9 "$(nb-stats --format tsv out.nb | stat_of drift | sed 's/^-//')"
}

@test "--megno tells chaotic orbits from regular ones, of each system" {
	for a in 1.15 1.8; do nb-gen orbits --no-history "m=1; m=1e-3 a=1; m=1e-3 a=$a M=90" >$a.nb; done
	for a in 1.15 1.8; do
		"${I[@]}" --megno --until 1000 --every 0 nb-force $a.nb | nb-stats --attributes | grep -E '^(megno|lyapunov)=' >$a.txt
		"${I[@]}" --until 1000 --every 0 nb-force $a.nb >$a.out
		cmp <(last_state $a.out) <("${I[@]}" --megno --until 1000 --every-time 100 nb-force $a.nb | last_state /dev/stdin)
	done
	cat 1.15.txt 1.8.txt
	awk -F= '{ x[NR] = $2 } END { exit !(NR == 4 && x[1] > 10 && x[2] > 0.02 && x[2] < 0.2 && x[3] > 1.9 && x[3] < 2.1 && x[4] < 1e-3) }' 1.15.txt 1.8.txt
	nb-merge --systems --ids renumber 1.15.nb 1.8.nb | "${I[@]}" --megno --until 1000 --every-time 1000 nb-force | nb-select --frames -1: >both.nb
	equals "$(mutate show megno <both.nb | awk '{ printf "%.6g ", $1 }')" \
		"$(sed -n 's/^megno=//p' 1.15.txt 1.8.txt | awk '{ for (k = 0; k < 3; k++) printf "%.6g ", $1 }')"
	# nothing is left of it in the run of another integrator
	run ! grep -a megno= <("${I[@]}" --megno --until 1 --every 0 nb-force 1.8.nb | "${I[@]}" --until 2 --every 0 nb-force)
	fails_with 2 "option '--megno' needs '--integrator ias15' or 'whfast'" 'nb-step --megno -d 0.1 nb-force three.nb'
	"${I[@]}" --megno --until 1000 --every 0 'nb-force | nb-extra "oblate j2=1e-2 r=0.1"' 1.8.nb | nb-stats --attributes >flat.txt
	close_to "$(sed -n 's/^megno=//p' flat.txt)" 2 0.1
	fails_with 1 "'--megno' takes no force of nb-extra that depends on velocities" \
		"nb-step --integrator ias15 --megno -k 2 'nb-force | nb-extra gr:c=10' three.nb"
}
