#!/usr/bin/env bats
# nb-step --integrator trace: a star and planets that meet, forth and back, with bodies without mass; what is refused.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen orbits --no-history 'm=1; m=1e-3 a=1; m=1e-3 a=1.1' >close.nb
	nb-gen orbits --no-history 'm=1; m=1e-3 a=1; m=1e-3 a=1.9' >apart.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

T=(nb-step --no-history --integrator trace)

off() {
	paste <(last_state "$1") <(last_state "$2") |
		awk '{ for (k = 1; k <= 3; k++) { d = $k - $(k + 6); most = d * d > most * most ? d : most } }
			END { print (most < 0 ? -most : most) }'
}

@test "the error is of second order in dt, and of REBOUND's size where planets meet" {
	"${T[@]}" --until 20 -d 0.2 --every 0 nb-force apart.nb >coarse.nb
	"${T[@]}" --until 20 -d 0.1 --every 0 nb-force apart.nb >fine.nb
	nb-step --integrator ias15 --until 20 --every 0 nb-force apart.nb >true.nb
	awk -v coarse="$(off coarse.nb true.nb)" -v fine="$(off fine.nb true.nb)" 'BEGIN {
		print coarse, fine; exit !(coarse < 1e-3 && coarse / fine > 3.5 && coarse / fine < 4.5) }'
	nb-step -v --integrator trace -d 0.2 --until 300 --every-time 50 'nb-force --potential' close.nb 2>log >/dev/null
	grep -E '^nb-step: steps in which planets met: [1-9][0-9]*; in which one was near the star: 0$' log
	at_most 1e-4 "$(sed -n 's/.* in the end, \([^ ]*\) at most.*/\1/p' log)"
	# a planet whose ellipse takes it to a hundredth of its axis from the star
	nb-gen orbits 'm=1; m=1e-3 a=1 e=0.99 i=30; m=1e-3 a=4' |
		nb-step -v --integrator trace -d 0.1 --until 60 --every-time 10 'nb-force --potential' 2>log >/dev/null
	grep -E 'planets met: [0-9]*; in which one was near the star: [1-9]' log
	at_most 1e-3 "$(sed -n 's/.* in the end, \([^ ]*\) at most.*/\1/p' log)"
}

@test "through encounters and back, and with states on the way the same bytes" {
	"${T[@]}" -d 0.2 -k 300 --every 0 nb-force close.nb >there.nb
	"${T[@]}" -d -0.2 -k 300 --every 0 nb-force there.nb >back.nb
	agree_within close.nb back.nb 1e-6
	"${T[@]}" -d 0.2 -k 300 --every 7 nb-force close.nb | cmp <(last_state there.nb) <(last_state /dev/stdin)
	"${T[@]}" -d 0.2 --until 60 --every-time 2 nb-force close.nb >times.nb
	cmp <(last_state there.nb) <(last_state times.nb)
	[ "$(nb-stats --format tsv times.nb | wc -l)" -eq 32 ]
	NB_FOLD=off "${T[@]}" -d 0.2 -k 300 --every 0 nb-force close.nb | cmp - there.nb
}

@test "any number of bodies from 0 to 16, and without masses" {
	for n in 0 1 2 16; do
		nb-gen plummer -n $n --seed 3 | nb-calc 'mass = id == 0 ? 1 : id < 3 ? 1e-5 : 0' |
			"${T[@]}" -d 0.05 --until 0.3 --every-time 0.1 'nb-force --potential' >out.nb
		nb-stats --check out.nb
		[ "$(last_state out.nb | wc -l)" -eq $n ]
	done
	fails_with 1 "has 17 bodies, and '--integrator trace' takes at most 16" 'nb-gen plummer -n 17 | nb-step --integrator trace -d 1 nb-force'
}

@test "a first body that is not the star gets a warning, which says what helps" {
	nb-select --sort 'id == 2 ? -1 : id' close.nb >turned.nb
	nb-select --sort -mass turned.nb >sorted.nb
	for how in '--integrator trace' '--integrator whfast --coordinates democratic'; do
		run bash -c "nb-step $how -d 0.02 -k 3 nb-force turned.nb 2>&1 >/dev/null"
		[ "${lines[0]}" = "nb-step: the body with id 0 is heavier than the first one, that with id 2, about which '${how/*whfast /}' has all orbits (put 'nb-select --sort -mass' before)" ]
		run bash -c "nb-step $how -d 0.02 -k 3 nb-force sorted.nb 2>&1 >/dev/null"
		[ -z "$output" ]
	done
}

@test "what does not go with it is refused, and a collision ends the run" {
	s='nb-step --integrator trace -k 20'
	fails_with 2 'needs the force pipeline as operand' 'nb-step --integrator trace -d 0.1 <close.nb'
	fails_with 2 'no time step (give -d)' "$s nb-force close.nb"
	for option in '--collide merge' '--eta 0.1' '--levels 2' --send-velocities; do
		fails_with 2 "'--integrator trace' takes no '${option%% *}'" "$s -d 0.1 $option nb-force close.nb"
	done
	fails_with 1 'forces are softened' "$s -d 0.1 'nb-force -e 0.1' close.nb"
	fails_with 1 "needs G > 0, a first body with a mass" "nb-calc 'mass = id' close.nb | $s -d 0.1 nb-force"
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,0,0,0,0,0,0\n1,1e-3,1,0,0,0,0,0\n' | nb-convert --from csv >fall.nb
	fails_with 1 '-d is far longer than orbits in step 1, after the time 0' \
		"nb-gen orbits 'm=1; a=1' | nb-step --integrator trace -d 1e6 -k 1 --every 0 nb-force"
	fails_with 1 'bodies collide, or leave the range of numbers, in step' "$s -d 0.1 --every 0 nb-force fall.nb"
}
