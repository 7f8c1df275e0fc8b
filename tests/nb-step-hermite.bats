#!/usr/bin/env bats
# nb-step --integrator hermite: a Taylor step that the force at its end corrects twice.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	ln -s "$(cd "$NB_BIN/../tests/filters" && pwd)/spring" filter
	for n in 0 1 2 5 257; do nb-gen plummer -n $n --no-history >n$n.nb; done
	nb-gen plummer -n 20 -s 7 --no-history >cluster.nb
	nb-gen kepler --eccentricity 0.5 --no-history >orbit.nb
	nb-gen kepler --eccentricity 0.9 --no-history >narrow.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

HERMITE='nb-step --no-history --integrator hermite'
FORCE='nb-force --jerk -e 0.05'
PERIOD=6.283185307179586

# places: where the bodies of the stream on stdin are
places() { nb-convert -q --no-comments --to csv | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next } { print $(c["x"]), $(c["y"]), $(c["z"]) }'; }

# the error at most that -v tells
worst() { sed -n 's/.* in the end, \([-+.0-9e]*\) at most.*/\1/p' "$1"; }

@test "one step has the formulas of the page" {
	nb-force --jerk -e 0.1 --no-history <n5.nb >start.nb
	for dt in 0.25 -0.25; do
		$HERMITE -d $dt --every 0 'nb-force --jerk -e 0.1' <start.nb >end.nb
		paste <(for f in pos vel acc jerk; do mutate show $f <start.nb | tr '\n' ' '; done) \
			<(for f in pos vel acc jerk; do mutate show $f <end.nb | tr '\n' ' '; done) | awk -v dt=$dt '
				function near(got, want) { if (!((got - want) ^ 2 < 1e-28)) { print got, want; bad = 1; exit 1 } }
				{
					for (k = 1; k <= 15; k++) {
						x = $k; v = $(k + 15); a = $(k + 30); j = $(k + 45)
						x1 = $(k + 60); v1 = $(k + 75); a1 = $(k + 90); j1 = $(k + 105)
						near(v1, v + (a + a1) * dt / 2 + (j - j1) * dt ^ 2 / 12)
						near(x1, x + (v + v1) * dt / 2 + (a - a1) * dt ^ 2 / 12)
					}
				}
				END { exit bad || NR != 1 || k != 16 }'
	done
}

@test "the forces that are left are those at the bodies but for terms of sixth order" {
	for k in 32 64 128; do
		$HERMITE -d "$(awk "BEGIN { print 1 / $k }")" -k $k --every 0 'nb-force --jerk -e 0.2' <cluster.nb >end.nb
		nb-force -e 0.2 <end.nb >again.nb
		paste <(mutate show acc <end.nb) <(mutate show acc <again.nb) |
			awk '{ for (j = 1; j < 4; j++) s += ($j - $(j + 3)) ^ 2 } END { printf "%.17g\n", sqrt(s) }'
	done | awk '{ e[NR] = $1; print } END { exit !(e[1] / e[2] > 40 && e[2] / e[3] > 40 && e[3] > 0 && e[1] < 1e-4) }'
}

@test "the energy error of a fixed step does not grow from period to period" {
	for periods in 2 20; do
		nb-step -v --integrator hermite -d "$(awk "BEGIN { printf \"%.17g\", $PERIOD / 100 }")" -k $((100 * periods)) --every 0 \
			'nb-force --jerk --potential' <orbit.nb 2>said >/dev/null
		worst said
	done | awk '{ e[NR] = $1; print } END { exit !(NR == 2 && e[1] > 0 && e[1] < 2e-4 && e[2] < 1.2 * e[1]) }'
}

@test "steps back in time return to the start" {
	$HERMITE -d 0.01 -k 100 --every 0 "$FORCE" <cluster.nb | $HERMITE -d -0.01 -k 100 --every 0 "$FORCE" >back.nb
	paste <(places <cluster.nb) <(places <back.nb) | awk '
		{ for (j = 1; j < 4; j++) { d = ($j - $(j + 3)) ^ 2; if (d > most) most = d } }
		END { print sqrt(most); exit !(NR == 20 && most < 1e-12) }'
}

@test "--eta follows a narrow orbit without softening, and a quarter of it has a 16th of the error or less" {
	for eta in 0.02 0.005; do
		nb-step -v --integrator hermite --eta $eta --until $PERIOD --every 0 'nb-force --jerk --potential' \
			<narrow.nb 2>said >end.nb
		worst said
		grep -a -o 'time=[-+.0-9e]*' end.nb | cut -d= -f2
		grep -a -o 'step=[-+.0-9e]*' end.nb | cut -d= -f2
	done | awk -v period=$PERIOD '{ v[NR] = $1; print } END {
		exit !(NR == 6 && v[1] > 0 && v[1] < 1e-3 && v[1] / v[4] > 16 && v[2] == period && v[5] == period &&
			v[3] > 60 && v[3] < 400 && v[6] > 1.8 * v[3] && v[6] < 2.2 * v[3])
	}'
	# as many equal steps do worse by far
	nb-step -v --integrator hermite -d 0.04 --until $PERIOD --every 0 'nb-force --jerk --potential' <narrow.nb 2>said >end.nb
	awk -v e="$(worst said)" 'BEGIN { exit !(e > 0.01) }'
}

@test "the time scale of a circular orbit is that of its angular velocity" {
	# all derivatives of the force are the one before times that
	nb-gen kepler --eccentricity 0 | $HERMITE --eta 0.0001 -k 2 'nb-force --jerk' >out.nb
	[ "$(mutate show timescale <out.nb | wc -l)" -ge 2 ]
	mutate show timescale <out.nb | awk '{ if (!(($1 - 1) ^ 2 < 1e-6)) { print; exit 1 } }'
	# that of the first state is found by shorter and shorter steps
	nb-gen kepler --eccentricity 0 | $HERMITE --eta 0.0001 -d 2 -k 0 'nb-force --jerk' >out.nb
	mutate show timescale <out.nb | awk '{ if (!(($1 - 1) ^ 2 < 1e-3)) { print; exit 1 } } END { exit NR != 2 }'
	$HERMITE -d 0.1 'nb-force --jerk' <orbit.nb >out.nb
	nb-select --columns timescale <out.nb 2>/dev/null | mutate show timescale >shown 2>/dev/null || :
	[ ! -s shown ]
}

@test "what changes the forces drops time scales" {
	$HERMITE --eta 0.02 --every 0 "$FORCE" <n5.nb >out.nb
	grep -a -q timescale out.nb
	for other in 'nb-transform --scale length=2' "nb-calc 'vx = 2 * vx'" "nb-calc 'mass = 2 * mass'" 'nb-force -e 1' \
		"nb-step -d 0.1 'nb-force -e 1'" "nb-step --integrator taylor --every 0 -d 0.1 '$FORCE'"; do
		bash -c "$other --no-history <out.nb 2>/dev/null" | nb-select --frames last --no-history >other.nb
		[ -s other.nb ]
		run ! grep -a -q timescale other.nb
	done
}

@test "frames have exact times, and two forces are computed in a step" {
	$HERMITE --eta 0.02 --until 0.5 --every-time 0.125 "$FORCE" <cluster.nb >out.nb
	[ "$(grep -a -o 'time=[-+.0-9e]*' out.nb | tr '\n' ' ')" = 'time=0 time=0.125 time=0.25 time=0.375 time=0.5 ' ]
	nb-step --integrator hermite -d 0.01 -k 5 --every 0 "nb-force -v --jerk -e 0.05" <cluster.nb 2>said >/dev/null
	[ "$(grep -c 'direct on' said)" -eq 11 ]
}

# bats test_tags=once
@test "--resume ends with the bytes of a whole run" {
	for pipe in "$FORCE --potential" "nb-sort-zorder | nb-build-tree | $FORCE"; do
		for how in '-d 0.01' '--eta 0.02' '--eta 0.02 -d -0.01'; do
			s="$HERMITE $how -k 6"
			$s "$pipe" <cluster.nb >whole.nb
			head -c $(($(stat -c %s whole.nb) / 2)) whole.nb >cut.nb
			$s --resume cut.nb "$pipe" >rest.nb 2>/dev/null
			cmp <(nb-select --frames last --no-history <whole.nb) <(nb-select --frames last --no-history <rest.nb)
			NB_FOLD=off $s --resume cut.nb "$pipe" >rest.nb 2>/dev/null
			cmp <(nb-select --frames last --no-history <whole.nb) <(nb-select --frames last --no-history <rest.nb)
		done
	done
}

# bats test_tags=once
@test "the same bytes for any number of threads, folded or not" {
	for pipe in "$FORCE" "nb-sort-zorder | nb-build-tree | $FORCE"; do
		s="$HERMITE --eta 0.02 -k 3"
		$s -j 1 "$pipe" <n257.nb >one.nb
		$s -j 3 "$pipe" <n257.nb >three.nb
		cmp one.nb three.nb
		NB_FOLD=off $s "$pipe" <n257.nb >pipes.nb
		cmp one.nb pipes.nb
	done
}

@test "bodies keep what is theirs in whatever order the pipeline returns them" {
	mutate add tag <n5.nb >tagged.nb
	s="$HERMITE --eta 0.01 -d 0.1 -k 4 --every 0"
	$s './filter spring' <tagged.nb >straight.nb
	$s './filter reverse' <tagged.nb >out.nb
	mutate show id <out.nb >ids
	if [ "$(cat ids)" = "$(mutate show id <tagged.nb)" ]; then order="cat"; else order="tac"; fi
	[ "$($order ids)" = "$(mutate show id <tagged.nb)" ]
	for field in pos vel acc jerk timescale tag; do
		[ "$(mutate show $field <out.nb | $order)" = "$(mutate show $field <straight.nb)" ]
	done
}

@test "any bodies: none, one, at rest, without mass, in one place" {
	for n in 0 1 2; do
		$HERMITE --eta 0.02 -d 0.1 -k 3 --every 0 "$FORCE" <n$n.nb >out.nb
		[ "$(mutate show id <out.nb | grep -c .)" -eq $n ]
		$HERMITE --eta 0.02 --until 1 --every 0 "$FORCE" <n$n.nb >out.nb
	done
	fails_with 1 "no body of frame 0 is accelerated, so '--eta' sets no time step" "$HERMITE --eta 0.02 --every 0 '$FORCE' <n1.nb"
	# all at rest, where no jerk tells how long the first step may be
	nb-calc 'vx = 0' 'vy = 0' 'vz = 0' <cluster.nb >rest.nb
	nb-step -v --integrator hermite --eta 0.02 -d 1 --until 0.5 --every 0 "$FORCE --potential" <rest.nb 2>said >/dev/null
	at_most 1e-4 "$(worst said)"
	fails_with 1 "the jerks of frame 0 are 0, so '--eta' sets no first time step (give -d" "$HERMITE --eta 0.02 --every 0 '$FORCE' <rest.nb"
	nb-calc 'mass = id % 2 == 1 ? mass : 0' 'x = id < 4 ? 0 : x' 'y = id < 4 ? 0 : y' 'z = id < 4 ? 0 : z' <cluster.nb >odd.nb
	$HERMITE --eta 0.02 -k 3 --every 0 "$FORCE" <odd.nb >out.nb
	$HERMITE -d 0.01 -k 3 --every 0 "nb-force --jerk" <odd.nb >out.nb
	nb-stats --check <out.nb
}

@test "what it cannot do is a usage error" {
	s='nb-step -d 0.1 --integrator hermite'
	fails_with 2 'needs several forces in a step (give the force pipeline as operand)' "$s <n5.nb"
	fails_with 2 "'--collide' needs an integrator with one force" "$s --collide merge '$FORCE' <n5.nb"
	fails_with 2 "'--send-velocities' needs an integrator with one force" "$s --send-velocities '$FORCE' <n5.nb"
	fails_with 1 "returned no field 'jerk' (want nb-force --jerk, or nb-field --alone --jerk)" "$s nb-force <n5.nb"
}

@test "a closed or full output ends it like any filter" {
	run bash -c "$HERMITE --eta 0.02 -d 0.01 -k 50 '$FORCE' <n257.nb | head -c 1000 | wc -c"
	[ "$output" -eq 1000 ]
	run bash -c "$HERMITE -d 0.01 -k 3 '$FORCE' <n257.nb >/dev/full"
	[ "$status" -eq 1 ]
}
