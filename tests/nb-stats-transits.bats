#!/usr/bin/env bats
# nb-stats --transits: times of orbits that are known, of each system, and what is refused.

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
	fails_with 2 "'--profile' and '--transits' exclude" 'nb-stats --transits x --orbits heaviest run.nb'
	for n in 0 1; do
		[ "$(nb-gen plummer -n $n | nb-force | nb-stats --transits x | wc -l)" -eq 1 ]
	done
}
