#!/usr/bin/env bats
# nb-step without frames for few bodies: the bytes of steps that go through the force pipeline, and when it is done.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	cat >eight.csv <<-'END'
		id,mass,x,y,z,vx,vy,vz
		0,1,0.97000436,-0.24308753,0,0.466203685,0.43236573,0
		1,1,-0.97000436,0.24308753,0,0.466203685,0.43236573,0
		2,1,0,0,0,-0.93240737,-0.86473146,0
	END
	nb-convert eight.csv >eight.nb
	for n in 1 2 16 17; do nb-gen plummer -n $n --seed 3 --no-history >n$n.nb; done
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# same INPUT OPTION... FORCE: the stream of steps without frames is that of steps with them, and not empty
same() {
	without_frames() { nb-step -v "${@:2}" "$1" >without.nb 2>messages && grep -q ': folded: steps of a few bodies' messages; }
	in_one_of 20 without_frames "$@" # a program that starts late does not fold
	NB_FOLD=off nb-step -v "${@:2}" "$1" >with.nb 2>messages
	grep -q 'not folded: steps of a few bodies: the force pipeline is not of this process' messages
	[ "$(grep -a -c '^history=' with.nb)" -ge 1 ]
	cmp with.nb without.nb
}

# goes_through WHY INPUT OPTION... FORCE
goes_through() {
	told() { nb-step -v "${@:3}" "$2" 2>messages >out.nb && grep -q "not folded: steps of a few bodies: .*$1" messages; }
	in_one_of 20 told "$@"
	nb-stats --check out.nb
}

@test "few bodies make the same steps without frames as through the force pipeline" {
	same eight.nb -d 0.01 -k 200 --every 7 nb-force
	same eight.nb -d 0.01 -k 200 --every 0 'nb-force --potential -e 0.1'
	same eight.nb -d -0.01 --until -1.234 --every-time 0.3 'nb-force --G 2 --potential'
	same eight.nb -d 0.01 --until 1.5 --every 40 nb-force
	same eight.nb -d 0.01 --until 1 --every-time 0.127 nb-force
	same n2.nb -d 0.001 -k 100 --every 30 nb-force
	same n16.nb -d 0.001 -k 100 --every 30 --integrator leapfrog 'nb-force -e 0.01'
	nb-force -e 0.5 eight.nb >soft.nb
	same soft.nb -d 0.01 -k 30 --every 13 'nb-force -e 0'
	nb-step -d 0.01 -k 57 --every 0 nb-force eight.nb | nb-step -d 0.01 -k 143 --every 0 nb-force | mutate show pos >halves
	nb-step -d 0.01 -k 200 --every 0 nb-force eight.nb | mutate show pos | cmp - halves
}

@test "what needs more than a direct sum of few bodies makes its steps through the force pipeline" {
	goes_through 'the integrator' eight.nb -d 0.01 -k 2 --integrator hermite 'nb-force --jerk'
	goes_through '--levels or --eta' eight.nb --eta 0.1 -k 2 'nb-force -e 0.1'
	goes_through 'nb-force alone' eight.nb -d 0.01 -k 2 'nb-sort-zorder | nb-force'
	goes_through 'a direct sum in f64' eight.nb -d 0.01 -k 2 'nb-force -t 0.5'
	goes_through 'a direct sum in f64' eight.nb -d 0.01 -k 2 'nb-force --precision mixed'
	goes_through "other than Plummer's" eight.nb -d 0.01 -k 2 'nb-force -e 0.1 --softening-kernel spline'
	goes_through 'says something of each force' eight.nb -d 0.01 -k 2 'nb-force -v'
	for n in 1 17; do
		nb-step -v -d 0.01 -k 2 nb-force n$n.nb 2>messages >out.nb
		run ! grep 'steps of a few bodies' messages
	done
}

@test "without frames a close encounter is reported in the step in which it happens, and a collision goes on" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,0,0\n1,1,-1,0,0,0,0,0\n' | nb-convert --from csv >fall.nb
	nb-step -d 0.01 -k 400 --every 0 nb-force fall.nb 2>without >without.nb
	NB_FOLD=off nb-step -d 0.01 -k 400 --every 0 nb-force fall.nb 2>with >with.nb
	grep -q 'come closer to each other in step' without
	cmp with without
	cmp with.nb without.nb
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,0,0\n1,1,1,0,0,0,0,0\n2,1,0,0,0,0,0,0\n' | nb-convert --from csv >pair.nb
	nb-step -q -d 0.01 -k 20 --every 5 nb-force pair.nb >without.nb
	NB_FOLD=off nb-step -q -d 0.01 -k 20 --every 5 nb-force pair.nb >with.nb
	cmp with.nb without.nb
	fails_with 1 'leaves the range of numbers in step 1 ' 'nb-step -q -d 1e300 -k 9 --every 0 nb-force eight.nb'
}
