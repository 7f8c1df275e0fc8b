#!/usr/bin/env bats
# nb-step --integrator ar: collisions and encounters, states at given times, many systems, and what is refused.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	printf 'id,mass,x,y,z,vx,vy,vz\n0,3,1,3,0,0,0,0\n1,4,-2,-1,0,0,0,0\n2,5,1,-1,0,0,0,0\n' >three.csv
	nb-convert --no-history three.csv >three.nb
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,0,0\n1,1,-1,0,0,0,0,0\n' | nb-convert --no-history --from csv >fall.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

I=(nb-step --no-history --integrator ar)

@test "bodies that fall into each other come back, and encounters have their known state" {
	# the period of 2 pi sqrt(a^3 / M) with a = 1, M = 2
	"${I[@]}" --until 44.428829381583662 --every 0 nb-force fall.nb >out.nb
	agree_within fall.nb out.nb 1e-7 # by the square root of the error of the time
	"${I[@]}" --until 43 --every 0 nb-force fall.nb >out.nb
	"${I[@]}" -d -1 --until 0 --every 0 nb-force out.nb >back.nb
	agree_within fall.nb back.nb 1e-7
	"${I[@]}" --until 59 --every 0 'nb-force --potential' three.nb >out.nb
	last_state out.nb | awk '
		{ x[NR] = $1; y[NR] = $2 }
		function off(a, b) { return a > b ? a - b : b - a }
		END {
			e = off(x[1], -0.6133562657610142412) + off(y[1], -1.256610937081316641)
			e += off(x[2], 0.6346547073626101474) + off(y[2], 0.009252573972788964868)
			e += off(x[3], -0.1397100064334795732) + off(y[3], 0.7465645030705588129)
			print e
			exit !(NR == 3 && e < 2e-5)
		}'
	at_most 1e-11 "$(nb-stats --format tsv out.nb | stat_of drift | sed 's/^-//')"
}

@test "states at given times change no step, of many systems neither" {
	"${I[@]}" --until 12 --every 0 nb-force three.nb >end.nb
	"${I[@]}" --until 12 --every-time 0.5 nb-force three.nb >often.nb
	cmp <(last_state end.nb) <(last_state often.nb)
	"${I[@]}" --until 12 --every 7 nb-force three.nb >seventh.nb
	cmp <(last_state end.nb) <(last_state seventh.nb)
	NB_FOLD=off "${I[@]}" --until 12 --every-time 0.5 nb-force three.nb | cmp - often.nb
	nb-merge --systems --ids renumber fall.nb three.nb | OMP_NUM_THREADS=2 "${I[@]}" --until 12 --every-time 6 nb-force >both.nb
	cmp <(last_state end.nb) <(last_state both.nb | tail -n 3)
	nb-merge --systems --ids renumber fall.nb three.nb |
		"${I[@]}" -d 0.001 --until 3 --every 0 --stop-when 'dmin < 0.01' nb-force >stopped.nb
	# the first two meet after half a period, masses 4 and 5 of the others at 1.87934 with a distance of 0.0097
	mutate show stopped system_time <stopped.nb | awk '
		NR < 3 { bad += !($1 == 2 && $2 > 2.21 && $2 < 2.2215) }
		NR > 2 { bad += !($1 == 2 && $2 > 1.87 && $2 < 1.89) }
		END { exit bad || NR != 5 }'
}

@test "-k counts steps, and -d is the largest" {
	[ "$("${I[@]}" -k 9 nb-force three.nb | nb-stats --attributes | grep '^step=' | paste -sd ' ')" = \
		'step=0 step=1 step=2 step=3 step=4 step=5 step=6 step=7 step=8 step=9' ]
	steps() { "${I[@]}" --until 5 --every 0 "$@" nb-force three.nb | nb-stats --attributes | sed -n 's/^step=//p'; }
	awk -v free="$(steps)" -v small="$(steps -d 0.01)" 'BEGIN { print free, small; exit !(free > 30 && free < 100 && small >= 500) }'
}

@test "any number of bodies from 0 to 16, without masses, and with forces of positions" {
	for n in 0 1 2 16; do
		nb-gen plummer -n $n --seed 3 >n.nb
		"${I[@]}" --until 0.3 --every-time 0.1 'nb-force --potential' n.nb >out.nb
		nb-stats --check out.nb
		[ "$(last_state out.nb | wc -l)" -eq $n ]
	done
	at_most 1e-12 "$(nb-stats --format tsv out.nb | stat_of drift | sed 's/^-//')"
	nb-calc 'mass = 0' three.nb | "${I[@]}" --until 1 --every 0 nb-force >out.nb
	cmp <(last_state three.nb) <(last_state out.nb)
	nb-gen orbits 'm=1; m=1e-3 a=1 e=0.3; a=3 e=0.1 i=40' >planets.nb
	for integrator in ias15 ar; do
		nb-step --integrator $integrator --until 50 --every 0 'nb-force | nb-extra "gr-potential:c=30;oblate:j2=1e-2,r=0.1"' planets.nb >$integrator.nb
	done
	agree_within ias15.nb ar.nb 1e-10
}

@test "what does not go with it is refused" {
	s='nb-step --integrator ar --until 1'
	for option in '--collide merge' '--levels 2' --send-velocities '--eta 0.1'; do
		fails_with 2 "'--integrator ar' takes no '${option%% *}'" "$s $option nb-force three.nb"
	done
	fails_with 2 "option '--megno' needs '--integrator ias15'" "$s --megno nb-force three.nb"
	fails_with 1 "and '--integrator ar' takes no softening (want nb-force -e 0)" "$s 'nb-force -e 0.1' three.nb"
	fails_with 1 "'--integrator ar' takes no masses or G as extreme as those of frame 0" "nb-calc 'mass = 1e130' three.nb | $s nb-force"
	fails_with 1 'takes none of these (want --integrator ias15, or gr-potential in place of gr)' "$s 'nb-force | nb-extra gr:c=30' three.nb"
	fails_with 1 "has 17 bodies, and '--integrator ar' takes at most 16" 'nb-gen plummer -n 17 | nb-step --integrator ar --until 1 nb-force'
	nb-calc 'x = 1; y = id == 0 ? 0 : 1' three.nb >same.nb
	fails_with 1 'bodies are at the same place, or too far apart, in step 1' "$s --every 0 nb-force same.nb"
}
