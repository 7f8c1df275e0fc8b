#!/usr/bin/env bats
# nb-stats --transits and --radial-velocity: orbits that are known, of each system, and what is refused.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

transits() { nb-stats --transits "$@" --format tsv; }

@test "a planet passes its star when its orbit says so, from each side" {
	nb-gen orbits 'm=1; a=1 i=89 e=0.3 omega=40' | nb-step --integrator ias15 --until 20 --every-time 0.05 nb-force >run.nb
	# the node is on x, so the planet is in front where omega + f = 90 degrees
	transits z run.nb >seen.tsv
	awk -F '\t' '
		function atan(y, x) { return atan2(y, x) }
		BEGIN {
			pi = atan2(0, -1); e = 0.3; f = 50 * pi / 180
			E = 2 * atan(sqrt((1 - e) / (1 + e)) * sin(f / 2), cos(f / 2))
			first = E - e * sin(E)
			r = 1 - e * cos(E)
		}
		NR == 1 { bad += $0 != "id\ttransit\ttime\tdistance\tspeed"; next }
		{
			# the least distance is a bit off, as i is not 90
			off = $3 - first - 2 * pi * $2
			bad += $1 != 1 || $2 != NR - 2 || off * off > 1e-6 || ($4 - r * cos(89 * pi / 180))^2 > 1e-7
			if (NR > 2 && ($3 - last - 2 * pi)^2 > 1e-18)
				bad++
			last = $3
		}
		END { print bad, NR; exit bad || NR != 5 }' seen.tsv
	nb-select --frames ::2 run.nb | transits z | cut -f 3 >half
	paste <(cut -f 3 seen.tsv) half | awk 'NR > 1 { bad += ($1 - $2)^2 > 1e-15 } END { exit bad || NR != 5 }'
}

@test "each system has its own star, and a new run counts from 0" {
	nb-gen orbits --systems 2 'm=1+system; m=1e-3 a=1 i=90; m=1e-4 a=2 i=90 M=50' |
		nb-step --integrator ias15 --until 20 --every-time 0.1 nb-force >many.nb
	transits x many.nb >all.tsv
	[ "$(head -n 1 all.tsv)" = "$(printf 'system\tid\ttransit\ttime\tdistance\tspeed')" ]
	for k in 0 1; do
		nb-gen orbits --systems 2 'm=1+system; m=1e-3 a=1 i=90; m=1e-4 a=2 i=90 M=50' | nb-select --where "system == $k" --fields id,mass,pos,vel |
			nb-step --integrator ias15 --until 20 --every-time 0.1 nb-force >one.nb
		transits x one.nb | tail -n +2 >one.tsv
		awk -F '\t' -v k=$k 'NR > 1 && $1 == k' OFS='\t' all.tsv | cut -f 2- | cmp - one.tsv
		[ -s one.tsv ]
	done
	cmp <(cat one.nb one.nb | transits x | tail -n +2) <(transits x one.nb | tail -n +2; transits x one.nb | tail -n +2)
}

@test "frames that are too far apart get a warning, and what cannot be is refused" {
	nb-gen orbits 'm=1; a=1 i=90' >two.nb
	nb-step --integrator ias15 --until 20 --every-time 2 nb-force two.nb >run.nb
	nb-stats --transits x run.nb 2>said >seen
	grep -q 'the orbit of the body with id 1 turns by more than a quarter from frame to frame at frame 1' said
	fails_with 1 "field 'acc' missing" 'nb-stats --transits x two.nb'
	fails_with 2 "option '--each' has no effect with '--transits'" 'nb-stats --transits x --each id run.nb'
	fails_with 2 "'--radial-velocity' and '--transits' exclude" 'nb-stats --transits x --orbits heaviest run.nb'
	for n in 0 1; do
		[ "$(nb-gen plummer -n $n | nb-force | nb-stats --transits x | wc -l)" -eq 1 ]
	done
}

@test "a star goes to and fro as the orbit of its planet says" {
	# K (cos(omega + f) + e cos omega), K = n a sin i m / (M + m) / sqrt(1 - e^2), with M = 0 at the time 0
	nb-gen orbits 'm=1; m=1e-3 a=1 i=60 e=0.3 omega=40' | nb-step --integrator ias15 --until 20 --every-time 0.5 nb-force >run.nb
	nb-stats --radial-velocity z --format tsv run.nb >seen.tsv
	awk -F '\t' '
		BEGIN { pi = atan2(0, -1); e = 0.3; m = 1e-3; w = 40 * pi / 180; n = sqrt(1 + m)
			K = n * sin(pi / 3) * m / (1 + m) / sqrt(1 - e * e) }
		NR == 1 { bad += $0 != "frame\ttime\tid\tvelocity"; next }
		{
			E = M = n * $2
			for (k = 0; k < 50; k++) E = M + e * sin(E)
			f = 2 * atan2(sqrt(1 + e) * sin(E / 2), sqrt(1 - e) * cos(E / 2))
			off = $4 - K * (cos(w + f) + e * cos(w))
			bad += $1 != NR - 2 || $3 != 0 || off * off > 1e-30
		}
		END { print bad, NR; exit bad || NR != 42 }' seen.tsv
	# from the other side it is the negative of that
	nb-transform --rotate x=180 run.nb | nb-stats --radial-velocity z --format tsv |
		paste - seen.tsv | awk -F '\t' 'NR > 1 { bad += ($4 + $8)^2 > 1e-30 } END { exit bad || NR != 42 }'
}

@test "velocities are those of the heaviest body of each system, which has a name if the stream has names" {
	nb-gen orbits --systems 3 'm=1; m=2+system a=1 i=90' >many.nb
	nb-stats --radial-velocity x --format tsv many.nb | cut -f 3,4 >seen
	[ "$(head -n 1 seen)" = "$(printf 'system\tid')" ]
	[ "$(tail -n +2 seen | tr '\t\n' ', ')" = '0,1 1,3 2,5 ' ]
	nb-gen solar | nb-stats --radial-velocity y --format tsv | cut -f 5 >seen
	[ "$(tr '\n' ' ' <seen)" = 'name Sun ' ]
	nb-gen solar | nb-step --integrator ias15 --until 100 --every-time 3 nb-force | nb-stats --transits y --format tsv | cut -f 1,6 >seen
	[ "$(tr '\t\n' ', ' <seen)" = 'id,name 1,Mercury ' ]
	[ "$(nb-gen plummer -n 0 | nb-stats --radial-velocity x | wc -l)" -eq 1 ]
	fails_with 1 "field 'vel' missing" 'nb-select --fields id,mass,pos many.nb | nb-stats --radial-velocity x'
	fails_with 2 "'--radial-velocity' and '--transits' exclude" 'nb-stats --transits x --radial-velocity x many.nb'
	fails_with 2 "option '--each' has no effect with '--radial-velocity'" 'nb-stats --radial-velocity x --each system many.nb'
}

@test "a system that has ended between two frames has transits and velocities of its own time" {
	nb-gen orbits --systems 2 'm=1; m=1e-3 a=1 e=0.3*system M=160' |
		nb-step -q --integrator whfast -d 0.01 --until 4 --every-time 0.2 --stop-when 'dmin > 0.701 && dmin < 0.9 && time > 3.49' nb-force >two.nb
	# both pass where M is 360
	transits x two.nb | awk -F '\t' 'NR > 1 { off = $4 - 8 * atan2(1, 1) * 200 / 360 / sqrt(1.001); bad += off * off > 1e-14 } END { exit bad || NR != 3 }'
	equals "$(nb-stats --radial-velocity x --format tsv two.nb | tail -n 2 | cut -f 1-3)" $'20\t4\t0\n20\t3.55\t1'
}
