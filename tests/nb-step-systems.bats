#!/usr/bin/env bats
# nb-step of frames with many systems: each moves as if it were alone, and ends alone.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	for k in 0 1 2 3; do
		nb-gen orbits "m=1; m=1e-3 a=$((k + 1)) e=0.$k; m=1e-4 a=$((2 * k + 4)) M=4$k" | nb-calc "id += 10 * $k" >s$k.nb
	done
	nb-gen orbits 'm=1' | nb-calc 'id = 90' >s4.nb
	nb-merge --systems s?.nb | nb-select --sort 'id % 10' --no-history >many.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Bodies of a stream's last frame, in the order of ids.
bodies() { nb-select --frames last --where "${1:-id >= 0}" | nb-select --sort id --fields id,pos,vel | nb-convert --to csv | grep '^[0-9]'; }

@test "each system has the bytes that it has alone, with any threads and in any order, folded or not" {
	for how in '-k 60 -d 0.05' '-k 60 -d 0.05 --integrator whfast --corrector 3' '--until 3 --integrator ias15' '--until 3 --integrator ar' '-k 60 -d 0.05 --integrator trace'; do
		read -ra run <<<"nb-step --no-history $how --every-time 0.5"
		"${run[@]}" nb-force many.nb >run.nb
		bodies <run.nb >all
		equals "$(grep -c . all)" 13
		"${run[@]}" -j 3 nb-force many.nb | cmp - run.nb
		NB_FOLD=off "${run[@]}" nb-force many.nb | cmp - run.nb
		nb-select --sort system many.nb | nb-calc 'system = 9 - system' | "${run[@]}" nb-force | bodies | cmp - all
		for k in 0 2 4; do
			nb-select --where "system == $k" --fields id,mass,pos,vel many.nb | "${run[@]}" nb-force | bodies >alone
			bodies "system == $k" <run.nb | cmp - alone
		done
	done
}

@test "frames that are written change no byte of those behind them, and a run goes on from any of them" {
	for how in '' '--integrator whfast --corrector 3'; do
		read -ra run <<<"nb-step --no-history -d 0.05 $how"
		"${run[@]}" -k 80 --every 40 nb-force many.nb >two.nb
		nb-select --no-history --frames last two.nb >last.nb
		"${run[@]}" -k 80 --every 0 nb-force many.nb | cmp - last.nb
		nb-select --no-history --frames 1 two.nb | "${run[@]}" -k 40 --every 0 nb-force | cmp - last.nb
	done
}

@test "a system whose bodies collide ends alone, says when, and stays as it is" {
	printf 'id,mass,x,y,z,vx,vy,vz\n200,0.5,0.5,0,0,0,0,0\n201,0.5,-0.5,0,0,0,0,0\n' | nb-convert --from csv >fall.nb
	nb-merge --systems fall.nb many.nb >with.nb
	nb-step --integrator ias15 --until 3 --every-time 1 nb-force many.nb | bodies >want
	nb-step --integrator ias15 --until 3 --every-time 1 nb-force with.nb >run.nb 2>said
	bodies 'id < 200' <run.nb | cmp - want
	[ "$(grep -c 'system 0 ends alone at the time 1.1107.*: bodies co' said)" -eq 1 ]
	equals "$(nb-select --frames last run.nb | mutate show stopped | sort | uniq -c | tr -s ' \n' ' ')" ' 13 0 2 1 '
	close_to 1.1107207345395915 "$(nb-select --frames last --where 'stopped == 1' run.nb | mutate show system_time | head -n 1)" 1e-6
	nb-select --time 2 run.nb | nb-step --integrator ias15 --until 3 --every-time 5 nb-force >on.nb 2>said
	equals "$(cat said)" ''
	cmp <(bodies 'stopped == 1' <on.nb) <(bodies 'stopped == 1' <run.nb)
	cmp <(nb-select --frames last on.nb | mutate show system_time) <(nb-select --frames last run.nb | mutate show system_time)
	# the bodies are those of the end, not of the last state before
	equals "$(nb-select --frames last --where 'stopped == 1 && r > 0.01' run.nb | mutate show id)" ''
	# a fall from rest takes pi / 8^(1/2); trace keeps the state before the step of the collision
	printf 'id,mass,x,y,z,vx,vy,vz\n200,1,0,0,0,0,0,0\n201,0,1,0,0,0,0,0\n' | nb-convert --from csv >drop.nb
	nb-merge --systems drop.nb many.nb | nb-step --integrator trace -d 0.05 -k 60 --every 0 nb-force 2>/dev/null >drop
	equals "$(nb-select --where 'stopped == 1' drop | mutate show system_time | tr '\n' ' ' | sed 's/1[.]1000*[0-9]*/1.1/g')" '1.1 1.1 '
	# on top of a star
	printf 'id,mass,x,y,z,vx,vy,vz\n200,0.5,0,0,0,0,0,0\n201,0.5,0,0,0,0,0,0\n' | nb-convert --from csv >hit.nb
	nb-merge --systems hit.nb many.nb | nb-step --integrator whfast -d 0.05 -k 20 --every 0 nb-force 2>said >hit
	bodies 'id < 200' <hit >got
	equals "$(mutate show stopped <hit | sort | uniq -c | tr -s ' \n' ' ')" ' 13 0 2 1 '
	grep -q 'system 0 ends alone at the time 0: the orbit of the body with id 201 cannot be followed' said
	nb-step --integrator whfast -d 0.05 -k 20 --every 0 nb-force many.nb | bodies | cmp - got
}

@test "a system of two bodies in one place goes on with the leapfrog, and no other notices" {
	printf 'id,mass,x,y,z,vx,vy,vz\n200,0.5,0,0,0,1,0,0\n201,0.5,0,0,0,0,0,0\n' | nb-convert --from csv >hit.nb
	nb-merge --systems hit.nb many.nb | nb-step --no-history -d 0.05 -k 20 --every 0 nb-force >with.nb
	nb-merge --systems hit.nb many.nb | NB_FOLD=off nb-step --no-history -d 0.05 -k 20 --every 0 nb-force | cmp - with.nb
	nb-step -d 0.05 -k 20 --every 0 nb-force many.nb | bodies | cmp - <(bodies 'id < 200' <with.nb)
}

@test "--stop-when ends a system alone, before the step of which it holds, whatever is written" {
	nb-gen orbits --systems 5 'm=1; m=1e-3 a=1; m=1e-3 a=1.1+0.1*system M=90+20*system' >close.nb
	nb-merge --systems --ids renumber close.nb <(nb-gen orbits 'm=1; m=1e-3 a=9') >close6.nb
	for how in '-d 0.02' '-d 0.1 --integrator whfast' '-d 0.1 --integrator trace' '--integrator ias15'; do
		read -ra run <<<"nb-step --no-history $how --until 30"
		end='dmin < 0.2 || rmax > 4'
		"${run[@]}" --every-time 30 --stop-when "$end" nb-force close6.nb >run.nb
		nb-select --frames last --where 'stopped == 2' run.nb | nb-stats --epot none --each system --format tsv | cut -f 3 >ended
		[ "$(grep -c '^5$' ended)" -eq 1 ] # at once
		[ "$(grep -c '^[0-4]$' ended)" -ge 1 ]
		[ "$(grep -c '^[0-4]$' ended)" -lt 5 ]
		equals "$(nb-select --frames last --where 'system == 5 && system_time != 0' run.nb | mutate show id)" ''
		"${run[@]}" --every-time 10 --stop-when "$end" nb-force close6.nb | bodies | cmp - <(bodies <run.nb)
		[[ "$how" != '-d 0.02' ]] || NB_FOLD=off "${run[@]}" --every-time 30 --stop-when "$end" nb-force close6.nb | cmp - run.nb
		# those that go on are as without; those that do not, are not
		"${run[@]}" --every-time 30 nb-force close6.nb | bodies >free
		grep -xFf free <(bodies <run.nb) | cmp - <(bodies 'stopped == 0' <run.nb)
		k=$(head -n 1 ended)
		nb-select --where "system == $k" close6.nb | "${run[@]}" --every-time 30 --stop-when "$end" nb-force | bodies | cmp - <(bodies "system == $k" <run.nb)
		bodies 'stopped == 2' <run.nb >before
		nb-select --frames last run.nb | nb-calc '@time = 0' '@step = 0' | "${run[@]}" --every-time 30 --stop-when "$end" nb-force | bodies 'stopped == 2' | grep -xFf before | cmp - before
	done
	nb-select --frames last --where 'stopped == 0' run.nb | nb-step -d 0.5 -k 3 --every 0 nb-force >on.nb # no time of another run remains
	equals "$(nb-calc 'late = system_time - time' on.nb | mutate show late | sort -u)" 0.0
	nb-select --frames last run.nb >end.nb
	fails_with 1 "of frame 0 has ended, and would be moved (want '--stop-when'" 'nb-step -d 0.1 nb-force end.nb'
	for how in '-d 0.02' '-d 0.1 --integrator whfast' '-d 0.1 --integrator trace'; do # in between nothing is tested
		read -ra run <<<"nb-step $how -k 20 --every 0 --stop-every 7"
		nb-select --where 'system < 5' close6.nb | "${run[@]}" --stop-when "time > $(awk "BEGIN { print ${how:3:4} * 7.5 }")" nb-force >late.nb
		equals "$(mutate show system_time <late.nb | awk "{ printf \"%.6g\\n\", \$1 / ${how:3:4} }" | sort -u)" 14
	done
}

@test "--stop-when takes bodies without numbers of systems as one" {
	for how in '-d 0.1' '-d 0.1 --integrator whfast' '--integrator ias15'; do
		read -ra plain <<<"nb-step $how --until 3 --every-time 3"
		run=("${plain[@]}" --stop-when)
		"${run[@]}" 'time > 1' nb-force s0.nb >joined.nb
		nb-calc 'system = 0' s0.nb | "${run[@]}" 'time > 1' nb-force | mutate show system stopped system_time pos vel |
			cmp - <(mutate show system stopped system_time pos vel <joined.nb)
		[ "$(nb-select --frames last joined.nb | mutate show stopped | sort -u)" = 2 ]
		# where it does not end, nothing is changed
		"${run[@]}" 'time > 9' nb-force s0.nb | mutate show pos vel | cmp - <(nb-calc 'system = 0' s0.nb | "${plain[@]}" nb-force | mutate show pos vel)
	done
}

@test "--stop-when wants a condition of systems that are moved without frames" {
	fails_with 2 "option '--stop-every' needs '--stop-when'" 'nb-step -d 0.1 --stop-every 2 nb-force many.nb'
	fails_with 2 "'rmax' is not a condition" 'nb-step -d 0.1 --stop-when rmax nb-force many.nb'
	fails_with 2 "unknown name 'r' (want dmin, rmax or time)" 'nb-step -d 0.1 --stop-when "r > 1" nb-force many.nb'
	for end in 'max(dmin) > 1' 'rmax > 9 || count(dmin > 1) == 1' 'random() < 0.1'; do
		fails_with 2 "'$end' has a function of many bodies, or random numbers" "nb-step -d 0.1 --stop-when '$end' nb-force many.nb"
	done
	nb-step -d 0.1 -k 1 --stop-when 'max(dmin, rmax) > 1' nb-force many.nb | nb-stats --check
	fails_with 2 "option '--stop-when' needs the force pipeline as operand" 'nb-force many.nb | nb-step -d 0.1 --stop-when "rmax > 1"'
	fails_with 1 'with nb-force alone (here another case: the integrator)' 'nb-step -d 0.1 --integrator euler --stop-when "rmax > 1" nb-force many.nb'
	fails_with 1 "bodies have softenings of their own, or not Plummer's in step 0, and '--stop-when' takes none of these" "nb-calc 'eps = 0.1' many.nb | nb-step -d 0.1 --stop-when 'rmax > 1' nb-force"
	fails_with 1 'of up to 16 bodies with nb-force alone (here another case: more than 16 bodies)' 'nb-gen plummer -n 17 | nb-step -d 0.1 --stop-when "rmax > 1" nb-force'
	fails_with 1 'a system of more than 16 bodies' 'nb-gen plummer -n 17 --systems 2 | nb-step -d 0.1 --stop-when "rmax > 1" nb-force'
}

@test "frames without bodies or with systems of 16 and 17 bodies, and what is refused" {
	for how in '-k 9 -d 0.1' '-k 9 -d 0.1 --integrator whfast' '-k 9 -d 0.1 --integrator trace' '--until 1 --integrator ias15' '--until 1 --integrator ar'; do
		read -ra run <<<"nb-step $how"
		nb-select --where 'id < 0' many.nb | "${run[@]}" nb-force | nb-stats --check
	done
	nb-gen plummer -n 33 | nb-calc 'system = id < 17' >sizes.nb
	nb-step -d 0.01 -k 5 -v 'nb-force -e 0.1' sizes.nb 2>said | nb-stats --check
	run ! grep -q 'folded: steps of a few bodies' said
	without_frames() {
		nb-select --where 'id > 0' sizes.nb | nb-step -d 0.01 -k 5 -v 'nb-force -e 0.1' 2>said | nb-stats --check
		grep -q '^nb-step: folded: steps of a few bodies' said
	}
	in_one_of 20 without_frames # a program that starts late does not fold
	fails_with 1 'system 1 of frame 0 has 17 bodies' 'nb-step --integrator whfast -d 0.1 nb-force sizes.nb'
	fails_with 1 'make steps of their own, so that states are at given times (want --until without -k)' 'nb-step --integrator ias15 -k 3 nb-force many.nb'
	nb-step --integrator ias15 --until 3 --every-time 3 nb-force many.nb | bodies | cmp - <(nb-step --integrator ias15 --until 3 --every 0 nb-force many.nb | bodies)
	fails_with 1 '(want --until and --every-time without --every)' 'nb-step --integrator ias15 --until 3 --every 3 nb-force many.nb'
	fails_with 1 "option '--eta' does not keep the systems" 'nb-step --eta 0.1 "nb-force -e 0.1" many.nb'
	fails_with 1 "option '--levels' does not keep the systems" 'nb-step -d 0.1 --eta 0.1 --levels 3 "nb-force -e 0.1" many.nb'
	fails_with 1 "option '--collide' does not keep the systems" 'nb-calc "radius = 0.1" many.nb | nb-step -d 0.1 --collide bounce nb-force'
}
