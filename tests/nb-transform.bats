#!/usr/bin/env bats
# nb-transform: shifts, boosts, rotations, scales, units and centres, against independent arithmetic and what they
# must not change.
# as a filter: nb-transform --shift 1,2,0 --boost 3,4,0 --rotate z:30
# as a filter: nb-transform --scale length=2,mass=3,velocity=virial

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen plummer -n 500 --no-history >p.nb
}

# the numbers of two columns of two streams differ by at most a tolerance
near() { # near A COLUMN B COLUMN TOLERANCE
	paste <(mutate show "$2" <"$1") <(mutate show "$4" <"$3") | awk -v by="$5" '
		{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (!(d <= by && -d <= by)) { print NR ": " $0; exit 1 } } }
		END { if (!NR) exit 1 }'
}

attribute() { nb-stats --attributes <"$2" | sed -n "s/^$1=//p"; }

@test "a shift and a boost add to positions and velocities" {
	nb-transform --shift 1,-2,0.5 --boost 0.25,0,-1 <p.nb >t.nb
	paste -d ' ' <(mutate show pos <p.nb) <(mutate show pos <t.nb) |
		awk '$4 != $1 + 1 || $5 != $2 - 2 || $6 != $3 + 0.5 { d = $4 - $1 - 1; if (d > 1e-15 || d < -1e-15) exit 1 }'
	paste -d ' ' <(mutate show vel <p.nb) <(mutate show vel <t.nb) | awk '
		{ for (i = 1; i <= 3; i++) { d = $(i + 3) - $i - (i == 1 ? 0.25 : i == 2 ? 0 : -1); if (d > 1e-15 || d < -1e-15) exit 1 } }
		END { exit NR != 500 }'
	near p.nb mass t.nb mass 0
	near p.nb id t.nb id 0
}

@test "a rotation is that of the axis, counter-clockwise, in the order given" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,1,0\n1,1,0,0,1,1,2,3\n' | nb-convert --from csv >axes.nb
	nb-transform --rotate z:90 <axes.nb | mutate show pos >pos.txt
	equals "$(tr '\n' ';' <pos.txt)" '0.0 1.0 0.0;0.0 0.0 1.0;'
	nb-transform --rotate z:90,x:90 <axes.nb | mutate show pos >pos.txt
	equals "$(tr '\n' ';' <pos.txt)" '0.0 0.0 1.0;0.0 -1.0 0.0;'
	nb-transform --rotate x:90,z:90 <axes.nb | mutate show pos >pos.txt
	equals "$(tr '\n' ';' <pos.txt)" '0.0 1.0 0.0;1.0 0.0 0.0;'
	# about a diagonal a third of a turn permutes the axes
	nb-transform --rotate 2,2,2:120 <axes.nb >t.nb
	printf '0 1 0\n1 0 0\n' >want
	paste <(mutate show pos <t.nb) want | awk '{ for (i = 1; i <= 3; i++) if (($i - $(i + 3)) ^ 2 > 1e-30) exit 1 }'
	nb-transform --rotate z:30 <axes.nb | mutate show pos | head -n 1 >pos.txt
	awk '{ exit !(($1 - sqrt(0.75)) ^ 2 < 1e-30 && ($2 - 0.5) ^ 2 < 1e-30 && $3 == 0) }' pos.txt
}

@test "rotations against matrices in Python, of positions, velocities, accelerations and jerks" {
	nb-force -e 0.1 --jerk --potential <p.nb >f.nb
	nb-transform --rotate z:33,x:-71.5 --rotate=0.3,-2,1:200 <f.nb >t.nb
	for c in pos vel acc jerk; do
		paste -d ' ' <(mutate show $c <f.nb) <(mutate show $c <t.nb) >"$c.txt"
	done
	python3 - <<-'END'
		from math import cos, sin, radians, sqrt
		def turn(axis, degrees):
		    """By a quaternion, not by Rodrigues' formula."""
		    n = sqrt(sum(a * a for a in axis)); h = radians(degrees) / 2
		    w, (x, y, z) = cos(h), [a / n * sin(h) for a in axis]
		    return [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
		            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
		            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
		turns = [turn((0, 0, 1), 33), turn((1, 0, 0), -71.5), turn((0.3, -2, 1), 200)]
		for column in "pos", "vel", "acc", "jerk":
		    rows = [[float(v) for v in line.split()] for line in open(column + ".txt")]
		    assert len(rows) == 500
		    for row in rows:
		        v = row[:3]
		        for m in turns:
		            v = [sum(m[i][k] * v[k] for k in range(3)) for i in range(3)]
		        size = sqrt(sum(a * a for a in v))
		        assert all(abs(a - b) <= 1e-14 * size for a, b in zip(v, row[3:])), (column, row, v)
	END
	near f.nb pot t.nb pot 0
	# and they are those that the rotated bodies have
	nb-force -e 0.1 --jerk --potential <t.nb >again.nb
	for c in acc pot jerk; do near t.nb $c again.nb $c 1e-12; done
}

@test "energies: a rotation and a shift change none, a boost adds M V^2 / 2" {
	nb-stats --format tsv <p.nb >p.tsv
	nb-transform --rotate z:40,y:17 --shift 3,0,-8 <p.nb | nb-stats --format tsv >r.tsv
	for key in ekin epot; do close_to "$(stat_of $key <p.tsv)" "$(stat_of $key <r.tsv)" 1e-13; done
	nb-transform --boost 0.5,-1,2 <p.nb | nb-stats --format tsv >b.tsv
	close_to "$(awk -v e="$(stat_of ekin <p.tsv)" 'BEGIN { print e + 0.5 * (0.25 + 1 + 4) }')" "$(stat_of ekin <b.tsv)" 1e-5
	equals "$(stat_of epot <p.tsv)" "$(stat_of epot <b.tsv)"
}

@test "the order of the options is that of the operations" {
	nb-transform --shift 1,0,0 --rotate z:90 --shift 0,0,1 <p.nb >a.nb
	nb-transform --shift 1,0,0 <p.nb | nb-transform --rotate z:90 | nb-transform --shift 0,0,1 >b.nb
	cmp <(mutate show pos <a.nb) <(mutate show pos <b.nb)
	nb-transform --rotate z:90 --shift 1,0,0 --shift 0,0,1 <p.nb >c.nb
	run cmp -s <(mutate show pos <a.nb) <(mutate show pos <c.nb)
	[ "$status" -eq 1 ]
	nb-stats --history <a.nb | grep -qF -- '--shift 1,0,0 --rotate z:90 --shift 0,0,1'
	fails_with 2 'more than 64 operations' "nb-transform $(printf -- '--shift 1,1,1 %.0s' {1..65}) <p.nb"
}

# bats test_tags=once
@test "forces and potentials of a scaled system are those that it has" {
	nb-gen plummer -n 300 --radius 0.01 | nb-force -e 0.1 --potential --jerk >f.nb
	nb-transform --scale length=3,mass=5,velocity=0.5 <f.nb >t.nb
	nb-force --potential --jerk <t.nb >again.nb
	equals "$(attribute softening t.nb)" 0.30000000000000004
	for c in acc pot jerk; do near t.nb $c again.nb $c 1e-12; done
	paste -d ' ' <(mutate show vel <f.nb) <(mutate show vel <t.nb) | awk '$4 != $1 / 2 { exit 1 }'
	mutate show radius <t.nb | awk '$1 != 0.03 { exit 1 }'
	mutate show mass <t.nb | awk '{ s += $1 } END { exit !((s - 5) ^ 2 < 1e-24) }'
	equals "$(attribute G t.nb)" 1
}

# bats test_tags=once
@test "velocity=virial keeps the virial ratio, and scaled runs are runs" {
	nb-transform --scale length=4,mass=9,velocity=virial <p.nb >t.nb
	close_to "$(nb-stats --format tsv <p.nb | stat_of virial)" "$(nb-stats --format tsv <t.nb | stat_of virial)" 1e-13
	# length 4, mass 1: time 8
	nb-step -d 0.01 -k 20 --every 10 'nb-force -e 0.1' <p.nb | nb-transform --scale length=4,velocity=virial >scaled.nb
	nb-transform --scale length=4,velocity=virial <p.nb | nb-step -d 0.08 -k 20 --every 10 'nb-force -e 0.4' >direct.nb
	close_to 1.6 "$(nb-stats --format tsv <scaled.nb | stat_of time)" 1e-12
	nb-convert --no-comments --to csv <scaled.nb >scaled.csv
	nb-convert --no-comments --to csv <direct.nb >direct.csv
	paste -d , scaled.csv direct.csv | awk -F, 'NR > 1 { for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2)
		if (!(d < 1e-11 && d > -1e-11)) { print; exit 1 } } } END { exit NR != 1501 }'
	# velocity and time are two ways to say the same
	nb-transform --scale length=4,time=8 --no-history <p.nb >time.nb
	nb-transform --scale length=4,velocity=0.5 --no-history <p.nb >velocity.nb
	cmp time.nb velocity.nb
	# what nb-step says of systems is in the same unit
	nb-gen orbits --systems 2 'm=1; m=1e-3 a=1' | nb-step --integrator ias15 --megno --until 3 --every 0 nb-force >many.nb
	nb-transform --scale time=2 many.nb >slow.nb
	equals "$(mutate show system_time <slow.nb | sort -u)" 6.0
	close_to "$(mutate show lyapunov <many.nb | head -n 1)" "$(nb-calc 'twice = 2 * lyapunov' slow.nb | mutate show twice | head -n 1)" 1e-12
}

# bats test_tags=once
@test "a reversed run goes back to where it began" {
	nb-step -d 0.01 -k 50 --every 0 'nb-force -e 0.1' <p.nb >there.nb
	run ! near p.nb pos there.nb pos 1e-2
	nb-transform --scale velocity=-1 <there.nb | nb-step -d 0.01 -k 50 --every 0 'nb-force -e 0.1' >back.nb
	near p.nb pos back.nb pos 1e-11
	close_to 0 "$(nb-stats --format tsv <back.nb | stat_of time)" 1e-12
}

@test "a kick that is still to be done stays right" {
	nb-force -e 0.1 <p.nb | nb-step -d 0.02 | nb-force -e 0.1 >lag.nb
	nb-stats --attributes <lag.nb | grep -q '^pending_kick=0.01'
	ekin() { nb-stats --format tsv --epot none | stat_of ekin; }
	close_to "$(ekin <lag.nb)" "$(nb-transform --rotate z:50,x:9 <lag.nb | ekin)" 1e-13
	close_to "$(ekin <lag.nb | awk '{ print $1 * 3 * 0.49 }')" "$(nb-transform --scale mass=3,length=2,velocity=0.7 <lag.nb | ekin)" 1e-5
	nb-transform --recenter com --boost 1,0,0 <lag.nb | nb-stats --format tsv >c.tsv
	close_to 1 "$(stat_of px <c.tsv)" 1e-13
	close_to 0 "$(stat_of py <c.tsv)" 1e-13
	# that of the densest part is not 0; nb-merge completes the kick
	nb-transform --recenter density <lag.nb | nb-merge - >after.nb
	nb-merge lag.nb | nb-transform --recenter density >before.nb
	near before.nb vel after.nb vel 1e-13
	# at rest there is none
	nb-transform --scale velocity=0 <lag.nb >rest.nb
	run ! grep -a -q pending_kick <(nb-stats --attributes <rest.nb)
	equals "$(ekin <rest.nb)" 0
	mutate drop acc <lag.nb >noacc.nb
	fails_with 1 "field 'acc' missing" 'nb-transform --recenter com <noacc.nb'
}

@test "the centre of mass goes to the origin at rest" {
	nb-gen plummer -n 500 -s 3 | nb-transform --shift 5,-7,100 --boost 3,2,1 --recenter com | nb-stats --format tsv >c.tsv
	for key in comx comy comz px py pz; do close_to 0 "$(stat_of $key <c.tsv)" 1e-12; done
	# without velocities too, and with no bodies
	mutate drop vel <p.nb | nb-transform --shift 1,1,1 --recenter com | nb-stats --epot none --format tsv >c.tsv
	close_to 0 "$(stat_of comx <c.tsv)" 1e-13
	nb-gen uniform -n 0 | nb-transform --recenter com --recenter density | nb-stats --check
	printf 'id,mass,x,y,z,vx,vy,vz\n0,0,1,2,3,0,0,0\n' | nb-convert --from csv >light.nb
	fails_with 1 'frame 0 has no mass' 'nb-transform --recenter com <light.nb'
	fails_with 1 'frame 0 has no mass' 'nb-transform --recenter density <light.nb'
}

@test "the densest part is found beside a massive cloud" {
	# 3000 bodies in a sphere of 0.1 at (3, 0, 0), moving, beside 3000 that are spread over 10 and have the same mass
	nb-gen uniform -n 3000 --size 20 | nb-convert --no-comments --to csv >cloud.csv
	nb-gen plummer -n 3000 --rmax 2 | nb-transform --scale length=0.05 --shift 3,0,0 --boost 0,7,0 | nb-convert --no-comments --to csv |
		awk -F, -v OFS=, 'NR > 1 { $1 += 3000; print }' | cat cloud.csv - | nb-convert --from csv >both.nb
	nb-transform --recenter density <both.nb >t.nb
	mutate show pos <t.nb | tail -n 3000 | awk '{ for (i = 1; i <= 3; i++) s[i] += $i / 3000 }
		END { print s[1], s[2], s[3]; for (i = 1; i <= 3; i++) if (s[i] ^ 2 > 1e-4) exit 1 }'
	mutate show vel <t.nb | tail -n 3000 | awk '{ s += $2 / 3000 } END { print s; if (s ^ 2 > 0.01) exit 1 }'
	OMP_NUM_THREADS=3 nb-transform --recenter density <both.nb | cmp - t.nb
	# the answer does not depend on where the bodies are
	nb-transform --shift 100,50,25 --rotate z:90 --recenter density <both.nb >far.nb
	nb-transform --rotate z:90 <t.nb >near.nb
	near near.nb pos far.nb pos 1e-11
}

@test "units: the solar system in parsecs, and back" {
	nb-gen solar >s.nb
	nb-transform --units pc,Msun,km/s <s.nb >t.nb
	nb-stats --attributes <t.nb | grep -q '^units=pc,Msun,km/s$'
	# the speed of the Earth is 29.3 to 30.3 km/s, its distance 1 AU = 1/206265 pc
	mutate show vel <t.nb | awk 'NR == 4 { v = sqrt($1 * $1 + $2 * $2 + $3 * $3); exit !(v > 29.2 && v < 30.4) }'
	mutate show pos <t.nb | awk 'NR == 4 { r = 206264.806 * sqrt($1 * $1 + $2 * $2 + $3 * $3); exit !(r > 0.98 && r < 1.02) }'
	close_to 0.0043009 "$(attribute G t.nb)" 1e-7
	nb-transform --units AU,Msun,d <t.nb >back.nb
	near s.nb pos back.nb pos 1e-13
	near s.nb vel back.nb vel 1e-16
	close_to "$(attribute G s.nb)" "$(attribute G back.nb)" 1e-17
	nb-stats --fields <t.nb | awk '$2 == "pos" { p = $6 } $2 == "vel" { v = $6 } $2 == "mass" { m = $6 }
		END { exit !(p == "pc" && v == "km/s" && m == "Msun") }'
	# the energies are in these units: Msun (km/s)^2
	close_to "$(nb-stats --format tsv <s.nb | stat_of ekin | awk '{ v = 149597870.7 / 86400; printf "%.12g", $1 * v * v }')" \
		"$(nb-stats --format tsv <t.nb | stat_of ekin)" 1e-9
	close_to "$(nb-stats --format tsv <s.nb | stat_of virial)" "$(nb-stats --format tsv <t.nb | stat_of virial)" 1e-13
}

# bats test_tags=once
@test "units: a Plummer sphere of 1e5 solar masses, whose unit of velocity follows from G" {
	nb-force -e 0.1 --potential <p.nb | nb-transform --from-units 2pc,1e5Msun --units pc,Msun,km/s >t.nb
	close_to 4.30091727e-3 "$(attribute G t.nb)" 1e-11
	mutate show mass <t.nb | awk '{ s += $1 } END { exit !((s / 1e5 - 1) ^ 2 < 1e-24) }'
	# sqrt(G 1e5 Msun / 2 pc) = 14.664446 km/s
	paste -d ' ' <(mutate show vel <p.nb) <(mutate show vel <t.nb) | awk '{ q = $4 / $1; if (!(q > 14.66444 && q < 14.66446)) { print q; exit 1 } }'
	equals "$(attribute softening t.nb)" 0.2
	nb-force --potential <t.nb >again.nb
	near t.nb acc again.nb acc 1e-9
	near t.nb pot again.nb pot 1e-9
	nb-stats --fields <t.nb | awk '$2 == "acc" { a = $6 } $2 == "pot" { p = $6 } END { exit !(a == "(km/s)^2/pc" && p == "(km/s)^2") }'
	# a million years: 1 pc is 2 units of length, 1 Myr = 1.0227 pc/(km/s)
	nb-transform --units kpc,1e10Msun,Myr <t.nb >myr.nb
	equals "$(attribute units myr.nb)" kpc,1e10Msun,Myr
	close_to 4.498502e-2 "$(attribute G myr.nb)" 1e-7
}

@test "units: what is proposed is right for the G of the frame" {
	local G want said
	while read -r G want; do
		nb-gen plummer -n 10 --mass 2000 --G "$G" >g.nb
		said=$(nb-transform --units kpc,Msun,km/s <g.nb 2>&1 >/dev/null) || :
		[[ $said == *"e.g. '--from-units $want')" ]]
		# it works, and the masses are what they were
		nb-transform --from-units "$want" --units pc,Msun,km/s <g.nb | nb-stats --check
	done <<-'END'
		4.3e-3 pc,Msun,km/s
		4.30091e-3 pc,Msun,km/s
		43007.1 kpc,1e10Msun,km/s
		39.478 AU,Msun,yr
		6.674e-11 m,kg,s
		1 1pc,1000Msun
		7 pc,Msun
	END
	nb-gen plummer -n 10 --mass 2000 --G 4.3e-3 | nb-transform --from-units pc,Msun,km/s --units pc,Msun,km/s >t.nb
	mutate show mass <t.nb | sort -u | diff - <(echo 200.0)
}

@test "units: numbers in physical units without a G get that of nature" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,1,0\n1,1,0,0,1,1,2,3\n' | nb-convert --from csv | nb-force >c.nb
	nb-transform --from-units pc,Msun,km/s --units pc,Msun,km/s <c.nb >t.nb
	close_to 4.30091727e-3 "$(attribute G t.nb)" 1e-11
	near c.nb pos t.nb pos 0
	# accelerations with G = 1 were none
	run ! grep -q acc <(nb-stats --fields <t.nb)
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,1,0,0,0,1,0\n' | nb-convert --from csv --G 2 >two.nb
	fails_with 1 "attribute G=2 of frame 0 is not that of the units 'pc,Msun,km/s'" \
		'nb-transform --from-units pc,Msun,km/s --units AU,Msun,yr <two.nb'
	# a G that is nearly that of nature is converted as it is
	nb-convert --from princeton "$NB_TOP/tests/data/planets.txt" >planets.nb
	nb-transform --units AU,Msun,d --units m,kg,s <planets.nb >si.nb
	close_to 6.67e-11 "$(attribute G si.nb)" 1e-25
	near planets.nb vel si.nb vel 1e-9
}

@test "units that are not known, and texts that are no units" {
	fails_with 1 "the units of frame 0 are not known from its attribute units='Henon: G=1 M=1 E=-1/4'" \
		'nb-transform --units pc,Msun,km/s <p.nb'
	for text in pc pc,Msun Msun,pc,km/s pc,Msun,km pc,Msun,kg pc,Msun,km/pc pc,Msun,km/s,K 0pc,Msun,km/s xpc,Msun,km/s pc,,km/s 1e999pc,Msun,km/s; do
		fails_with 2 "invalid units '$text' (want LENGTH,MASS,VELOCITY" "nb-transform --units $text <p.nb"
	done
	fails_with 2 "option '--from-units' needs a '--units' behind it" 'nb-transform --units pc,Msun,d --from-units pc,Msun <p.nb'
	fails_with 2 "two '--from-units'" 'nb-transform --from-units pc,Msun --from-units pc,Msun --units pc,Msun,d <p.nb'
}

@test "keys and trees are dropped when bodies move, and kept when they do not" {
	nb-sort-zorder <p.nb | nb-build-tree | nb-force -t 0.5 --potential >tree.nb
	for op in shift=1,0,0 rotate=x:1 scale=mass=2 recenter=com; do
		nb-transform "--$op" <tree.nb >t.nb
		run ! grep -qE 'node_|key' <(nb-stats --fields <t.nb)
		run ! grep -qE '^(tree|key_cube|order|leaf_size)=' <(nb-stats --attributes <t.nb)
		grep -q pot <(nb-stats --fields <t.nb)
		nb-sort-zorder <t.nb | nb-build-tree | nb-force -t 0.5 | nb-stats --check
	done
	nb-transform -v --shift 1,0,0 <tree.nb 2>&1 >/dev/null | grep -q -x "nb-transform: frame 0: '--shift 1,0,0' makes stale, and drops: key tree"
	run ! grep stale <(nb-transform -v --boost 1,0,0 <tree.nb 2>&1 >/dev/null)
	nb-transform --boost 1,0,0 <tree.nb | nb-force -t 0.5 | nb-stats --check
	# a column of others that is derived from positions goes, too
	mutate add mine <p.nb >mine.nb
	mutate flags mine 1 <mine.nb >derived.nb
	run ! grep -q mine <(nb-transform --shift 1,0,0 <derived.nb | nb-stats --fields)
	grep -q mine <(nb-transform --boost 1,0,0 <derived.nb | nb-stats --fields)
	cmp <(mutate show mine <mine.nb) <(nb-transform --rotate z:90 <mine.nb | mutate show mine)
}

@test "f32 columns stay f32, and are rounded once" {
	nb-gen plummer -n 400 --precision f32 --no-history >s.nb
	nb-transform --shift 1e9,0,0 --shift=-1e9,0,0 <s.nb >t.nb
	nb-stats --fields <t.nb | awk '$2 == "pos" && $4 != "<f4" { exit 1 }'
	near s.nb pos t.nb pos 1e-6
	fails_with 1 "leaves the range of its type '<f4'" 'nb-transform --scale length=1e39 <s.nb >/dev/null'
	fails_with 1 "leaves the range of its type '<f8'" 'nb-transform --scale mass=1e308 --scale mass=1e308 <p.nb >/dev/null'
}

@test "a flat frame stays flat" {
	nb-gen uniform --dim 2 -n 100 >flat.nb
	nb-transform --shift 1,2 --boost 3,4 --rotate z:20 --recenter com <flat.nb >t.nb
	mutate show pos <t.nb | awk '$3 != 0 { exit 1 }'
	for op in '--shift 0,0,1' '--boost 0,0,1' '--rotate x:90' '--rotate 0,1,1:10'; do
		fails_with 1 "would leave the plane of frame 0" "nb-transform $op <flat.nb >/dev/null"
	done
	fails_with 1 "'--shift 1,2' has two numbers, and frame 0 has 3 dimensions (want '--shift 1,2,0')" 'nb-transform --shift 1,2 <p.nb >/dev/null'
	fails_with 1 "'--boost 1,2' has two numbers, and frame 0 has 3 dimensions (want '--boost 1,2,0')" 'nb-transform --boost 1,2 <p.nb >/dev/null'
	nb-transform --rotate x:180 <flat.nb | mutate show pos | awk '$3 != 0 { exit 1 }'
}

@test "n = 0, 1, 2, 255, 257, several frames and 1 and 3 threads" {
	for n in 0 1 2 255 257; do
		nb-gen uniform -n $n | nb-transform --shift 1,2,3 --boost 1,1,1 --rotate z:1 --scale length=2 --recenter com >t.nb
		nb-stats --check <t.nb
		[ "$(mutate show pos <t.nb | wc -l)" -eq $n ]
	done
	nb-gen plummer -n 50000 >big.nb
	cat p.nb big.nb >two.nb
	for j in 1 3; do
		nb-transform -j $j --rotate z:1,y:2 --scale length=2,mass=3 --recenter density <two.nb >$j.nb
	done
	cmp 1.nb 3.nb
	equals "$(nb-stats --check <1.nb | cut -d , -f 1)" 'ok: 2 frames'
}

@test "what is no operation is refused" {
	fails_with 2 'no operation given' 'nb-transform <p.nb'
	for text in 1 1,2,3,4 1,x,2 '' nan,0,0; do
		fails_with 2 "invalid shift '$text' (want X,Y,Z" "nb-transform --shift '$text' <p.nb"
	done
	for text in z 'x:90,' a:3 z:nan 0,0,0:3 1,2:3 z:1x ''; do
		fails_with 2 "invalid rotate '$text' (want AXIS:DEGREES" "nb-transform --rotate '$text' <p.nb"
	done
	for text in 2 length=0 length=-1 mass=nan size=2 length=2,length=3 velocity=2,time=3 velocity=virial,time=2 velocity=virial,velocity=1 'length=2,' mass=virial ''; do
		fails_with 2 "invalid scale '$text' (want factors" "nb-transform --scale '$text' <p.nb"
	done
	fails_with 2 "invalid recenter 'middle' (want com|density)" 'nb-transform --recenter middle <p.nb'
	fails_with 2 "invalid scale" 'nb-transform --scale time=1e-320,length=1e300 <p.nb'
	mutate drop vel <p.nb >still.nb
	fails_with 1 "field 'vel' missing" 'nb-transform --boost 1,1,1 <still.nb >/dev/null'
	mutate attribute softening 1e300 <p.nb >soft.nb
	fails_with 1 'attribute softening of frame 0 leaves the range of numbers' 'nb-transform --scale length=1e100 <soft.nb'
	mutate attribute G 0 <p.nb >free.nb
	fails_with 1 'attribute G=0 of frame 0 gives no unit of velocity' 'nb-transform --from-units 1pc,1Msun --units pc,Msun,km/s <free.nb'
	mutate attribute pending_kick 0.5 <p.nb | mutate attribute units pc,Msun,km/s >late.nb
	fails_with 1 'the velocities of frame 0 lag behind the positions, and G=1 is not that of the units' 'nb-transform --units pc,Msun,km/s <late.nb'
}

@test "files are operands, and units keep the first energy of a run" {
	nb-gen plummer -n 20 >a.nb
	nb-gen plummer -n 20 -s 2 >b.nb
	cat a.nb b.nb | nb-transform --shift 1,0,0 --no-history >want.nb
	nb-transform --shift 1,0,0 --no-history a.nb b.nb | cmp - want.nb
	nb-step -d 0.05 -k 20 --every 0 'nb-force -e 0.05 --potential' <a.nb >run.nb
	drift() { nb-stats --format json | grep -o '"drift":[^,}]*' | cut -d : -f 2; }
	close_to "$(drift <run.nb)" "$(nb-transform --from-units 1kpc,1e10Msun --units pc,Msun,km/s run.nb | drift)" 1e-6
}
