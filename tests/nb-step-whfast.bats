#!/usr/bin/env bats
# nb-step --integrator whfast: Kepler orbits, order and correctors, bytes, what goes on, and what is refused.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen solar --no-history >solar.nb
	nb-gen kepler --eccentricity 0.6 --no-history >pair.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

W=(nb-step --no-history --integrator whfast)

@test "two bodies are back after a period, whatever the length of the steps" {
	for k in 1 3 12 40; do
		"${W[@]}" -d "$(awk "BEGIN { printf \"%.17g\", 8 * atan2(1, 1) / $k }")" -k $((2 * k)) --every 0 nb-force pair.nb 2>said >out.nb
		agree_within pair.nb out.nb 2e-13
		[ "$(grep -c 'has a period of 6.28319, which is' said)" -eq $((k < 6)) ]
	done
	"${W[@]}" -q -d -1.3 -k 7 --corrector 17 --every 0 nb-force pair.nb | "${W[@]}" -q -d 9.1 -k 1 --every 0 nb-force >out.nb
	agree_within pair.nb out.nb 2e-13
}

@test "the energy error of the solar system is of second order, and correctors make it small" {
	for d in 4 8; do
		"${W[@]}" -d $d --until 4000 --every-time 160 'nb-force --potential' solar.nb | tee d$d.nb | nb-stats --format tsv |
			awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i; next }
				{ e = $c < 0 ? -$c : $c; if (e > most) most = e } END { print most }' >e$d
	done
	awk -v a="$(<e4)" -v b="$(<e8)" 'BEGIN { print a, b; exit !(b / a > 3 && b / a < 5 && b < 1e-7) }'
	"${W[@]}" -d 4 --corrector 17 --until 4000 --every-time 160 'nb-force --potential' solar.nb | nb-stats --format tsv |
		awk -v plain="$(<e4)" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i; next }
			{ e = $c < 0 ? -$c : $c; if (e > most) most = e } END { print most; exit !(most < plain / 200) }'
}

@test "a lazy kernel leaves errors of fourth order where the standard one leaves those of second" {
	worst() {
		"${W[@]}" --corrector 17 "$@" --until 4000 --every-time 250 'nb-force --potential' giants.nb | nb-stats --format tsv |
			awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i; next }
				{ e = $c < 0 ? -$c : $c; if (e > most) most = e } END { print most }'
	}
	nb-gen orbits --no-history 'm=1; m=1e-3 a=5.2 e=0.05; m=3e-4 a=9.6 e=0.06 M=100; m=5e-5 a=19 i=1 M=200' >giants.nb
	awk -v standard2="$(worst -d 2)" -v standard1="$(worst -d 1)" -v lazy2="$(worst -d 2 --kernel lazy)" \
		-v lazy1="$(worst -d 1 --kernel lazy)" 'BEGIN {
			print standard2, standard1, lazy2, lazy1
			exit !(standard2 / standard1 > 3.5 && standard2 / standard1 < 5 && lazy2 / lazy1 > 10 && lazy2 / lazy1 < 25)
		}'
}

@test "there and back again" {
	for how in '--corrector 0' '--corrector 17' '--coordinates democratic'; do
		read -ra words <<<"$how"
		"${W[@]}" -d 6 -k 100 "${words[@]}" --every 0 nb-force solar.nb |
			"${W[@]}" -d -6 -k 100 "${words[@]}" --every 0 nb-force >back.nb
		agree_within solar.nb back.nb 1e-12
	done
}

@test "frames that are written change no byte of those behind them, and a run goes on from any of them" {
	for options in '-d 6' '-d -6 --corrector 17' '-d 6 --until 377 --corrector 3' '-d 6 --coordinates democratic'; do
		read -ra words <<<"$options"
		go=("${W[@]}" "${words[@]}")
		[[ $options = *--until* ]] || go+=(-k 60)
		"${go[@]}" --every 0 'nb-force --potential' solar.nb >whole.nb
		"${go[@]}" --every 7 'nb-force --potential' solar.nb >frames.nb
		equals "$(last_state frames.nb)" "$(last_state whole.nb)"
		head -c $(($(stat -c %s frames.nb) / 2)) frames.nb >cut.nb
		"${go[@]}" --every 0 --resume cut.nb 'nb-force --potential' 2>said >rest.nb
		cmp whole.nb rest.nb
	done
	"${W[@]}" -d 7 --until 4000 --every-time 365.25 --corrector 3 nb-force solar.nb >frames.nb
	head -c $(($(stat -c %s frames.nb) * 2 / 3)) frames.nb >cut.nb
	"${W[@]}" -d 7 --until 4000 --every-time 365.25 --corrector 3 --resume cut.nb nb-force 2>/dev/null >rest.nb
	cmp <(last_state frames.nb) <(last_state rest.nb)
	# it needs no acceleration for that
	"${W[@]}" -d 6 -k 10 --every 0 --corrector 17 nb-force solar.nb | nb-select --drop acc --no-history >half.nb
	"${W[@]}" -d 6 -k 20 --every 0 --corrector 17 nb-force solar.nb >whole.nb
	"${W[@]}" -d 6 -k 10 --every 0 --corrector 17 nb-force half.nb | cmp <(last_state whole.nb) <(last_state /dev/stdin)
	# the state of the map is not that of positions which another program has changed
	"${W[@]}" -d 6 -k 10 --every 0 nb-force solar.nb | nb-calc 'vx += 1e-6' >moved.nb
	"${W[@]}" -d 6 -k 10 --every 0 nb-force moved.nb >a.nb
	mutate drop map_pos <moved.nb | "${W[@]}" -d 6 -k 10 --every 0 nb-force >b.nb
	cmp <(last_state a.nb) <(last_state b.nb)
	# so late that the rounding of the time is more than the change of -d
	nb-calc '@time = 1e13' solar.nb | "${W[@]}" -d 5 -k 3 --every 0 nb-force | "${W[@]}" -d 5.001 -k 1 --every 0 nb-force >late.nb
	[ "$(nb-stats --attributes late.nb | grep ^map_dt=)" = map_dt=5.001 ]
}

# Steps that do not divide the time between states differ by rounding. A state after each would take twenty times as long.
# bats test_tags=once
@test "only states that are written cost a force and a corrector, whether -d divides the time between them or not" {
	local TIMEFORMAT=%U even odd
	even=$({ time "${W[@]}" -d 8 --corrector 17 --until 400000 --every-time 200000 nb-force solar.nb >even.nb; } 2>&1)
	odd=$({ time "${W[@]}" -d 8.001 --corrector 17 --until 400000 --every-time 200000 nb-force solar.nb >odd.nb; } 2>&1)
	awk "BEGIN { exit !($odd < 6 * ($even + 0.02)) }" || { echo "$even $odd" && return 1; }
}

@test "the same bytes for each instruction set and any number of threads, and with programs that do not fold" {
	for how in '--corrector 5 --kernel standard' '--coordinates democratic'; do
		read -ra words <<<"$how"
		for force in nb-force 'nb-force -v --potential'; do
			"${W[@]}" -d 6 -k 40 "${words[@]}" --every 20 "$force" solar.nb >want.nb 2>/dev/null
			for setting in NB_SIMD=plain NB_SIMD=avx2 NB_FOLD=off OMP_NUM_THREADS=3; do
				env $setting "${W[@]}" -d 6 -k 40 "${words[@]}" --every 20 "$force" solar.nb 2>/dev/null | cmp want.nb
			done
		done
	done
}

# Sun, Mercury, Jupiter and Neptune after 1000 steps of 5 days, by democraticheliocentric of REBOUND 5.2.2.
@test "democratic coordinates give the positions that REBOUND has, whatever the order of the planets, and orbits may cross" {
	cat >want <<-END
		0.00025005016232796474 -0.00244288683440787 -7.588955054640959e-05
		-0.3649744703018107 -0.23615304887269148 0.014338263275974756
		-0.49220261602100945 5.1278366451937964 -0.010325762146672645
		26.928129556925356 -13.26095041684422 -0.3480512416524987
	END
	D=("${W[@]}" --coordinates democratic)
	"${D[@]}" -d 5 -k 1000 --every 0 nb-force solar.nb >out.nb
	last_state out.nb | sed -n '1p;2p;6p;9p' | paste -d ' ' - want |
		awk '{ for (k = 1; k <= 3; k++) bad += ($k - $(k + 6))^2 > 1e-24 } END { print bad; exit bad || NR != 4 }'
	nb-select --sort 'id == 0 ? 0 : 9 - id' solar.nb | "${D[@]}" -d 5 -k 1000 --every 0 nb-force 2>said | nb-select --sort id >turned.nb
	agree_within out.nb turned.nb 1e-11
	run ! grep -q 'inside out' said
	# of second order
	worst() {
		"${D[@]}" -d "$1" --until 4000 --every-time 160 'nb-force --potential' solar.nb | nb-stats --format tsv |
			awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "drift") c = i; next }
				{ e = $c < 0 ? -$c : $c; if (e > most) most = e } END { print most }'
	}
	awk -v a="$(worst 4)" -v b="$(worst 8)" 'BEGIN { print a, b; exit !(b / a > 3 && b / a < 5 && b < 2e-7) }'
	# with other forces, too: they and K do not commute
	nb-gen orbits --no-history 'm=1; m=1e-3 a=1 e=0.1; m=1e-3 a=2 i=20 M=80' >flat.nb
	end() { nb-step --no-history "$@" --until 20 --every 0 'nb-force | nb-extra oblate:j2=0.01,r=0.5' flat.nb; }
	end --integrator ias15 >exact.nb
	for d in 0.1 0.05; do
		end --integrator whfast --coordinates democratic -d $d >d$d.nb
		paste <(last_state exact.nb) <(last_state d$d.nb) | awk '{ for (k = 1; k <= 3; k++) s += ($k - $(k + 6))^2 } END { print sqrt(s) }' >off$d
	done
	awk -v a="$(<off0.05)" -v b="$(<off0.1)" 'BEGIN { print a, b; exit !(b / a > 3 && b / a < 5 && b < 0.01) }'
	nb-gen orbits --systems 3 'm=1; m=1e-6 a=1 e=0.4+system/100; m=1e-6 a=1.2 e=0.4 M=180' | "${D[@]}" -d 0.1 -k 50 nb-force | nb-stats --check
	fails_with 2 "'--coordinates democratic' takes no '--corrector' (want jacobi)" "${D[*]} -d 5 --corrector 3 nb-force solar.nb"
	fails_with 2 "'--coordinates democratic' takes no '--kernel' (want jacobi)" "${D[*]} -d 5 --kernel lazy nb-force solar.nb"
	fails_with 2 "option '--coordinates' needs '--integrator whfast'" 'nb-step -d 5 --coordinates jacobi nb-force solar.nb'
}

@test "any number of bodies from 0 to 16, of which planets may be without a mass" {
	for n in 0 1 2 5 6 9 10 16; do
		nb-gen ring -n $n --inner 1 --outer 3 --ring-mass 1e-6 --eccentricity 0 --no-history | nb-calc 'mass *= id % 3 != 2' >ring.nb
		for coordinates in jacobi democratic; do
			"${W[@]}" -q -d 0.3 -k 9 --every 4 --coordinates $coordinates 'nb-force --potential' ring.nb >out.nb
			nb-stats --check out.nb
			[ "$(last_state out.nb | wc -l)" -eq $n ]
		done
	done
	fails_with 2 'no time step (give -d)' 'nb-step --integrator whfast nb-force <solar.nb'
	nb-gen ring -n 17 | fails_with 1 "has 17 bodies, and '--integrator whfast' takes at most 16 (want --integrator hermite or leapfrog)" 'nb-step --integrator whfast -d 1 nb-force'
	# one without a mass goes with the others, which do not notice
	nb-calc 'mass *= id != 4' solar.nb >light.nb
	"${W[@]}" -d 6 -k 50 --every 0 nb-force light.nb | nb-select --where 'id != 4' >with.nb
	nb-select --where 'id != 4' light.nb | "${W[@]}" -d 6 -k 50 --every 0 nb-force >without.nb
	agree_within with.nb without.nb 1e-14
}

@test "a body alone with the star meets nothing on its way, along an axis or at the end of the range of numbers" {
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,0,0,0,0,0,0\n1,0.1,1,0,0,2,0,0\n' | nb-convert --from csv >leaves.nb
	run bash -c "nb-step --integrator whfast -d 0.05 -k 200 --every 0 nb-force leaves.nb 2>&1 >leaves.out"
	[ -z "$output" ]
	nb-calc 'pos *= 3e153' leaves.nb | "${W[@]}" -d 0.05 -k 5 --every 0 nb-force >far.nb
	[ "$(last_state far.nb | sed -n '2s/ .*//p')" = 3e+153 ]
}

@test "what the map is not made for is refused, or warned of" {
	s='nb-step --integrator whfast -d 5'
	fails_with 2 'needs the force pipeline as operand' "$s <solar.nb"
	for option in '--collide merge' '--eta 0.1' '--levels 2' --send-velocities; do
		fails_with 2 "'--integrator whfast' takes no '${option%% *}'" "$s $option nb-force solar.nb"
	done
	fails_with 2 "option '--corrector' needs '--integrator whfast'" 'nb-step -d 5 --corrector 3 nb-force solar.nb'
	fails_with 2 "option '--kernel' needs '--integrator whfast'" 'nb-step -d 5 --kernel lazy nb-force solar.nb'
	fails_with 2 "invalid corrector '4'" "$s --corrector 4 nb-force solar.nb"
	fails_with 1 "forces are softened in step 0" "$s 'nb-force -e 0.1' solar.nb"
	fails_with 1 'the force is not that of all bodies on each other' "$s 'nb-force | nb-field \"point:m=1e-9\"' solar.nb"
	fails_with 1 'the force is not that of all bodies on each other' "$s 'nb-force --precision f32' solar.nb"
	for changes in 'mass = mass * 2' '@G = @G * 2'; do
		fails_with 1 'the force pipeline changes masses, G or the softening in step 1' "$s --every 0 'nb-calc \"$changes\" | nb-force' solar.nb"
	done
	# the force of the input may be any
	nb-force -e 1 solar.nb | "${W[@]}" -d 5 -k 3 --every 0 'nb-force -e 0' >a.nb
	"${W[@]}" -d 5 -k 3 --every 0 nb-force solar.nb >b.nb
	cmp <(last_state a.nb) <(last_state b.nb)
	fails_with 1 'needs G > 0 and a first body with a mass' "nb-calc 'mass *= id > 0' solar.nb | $s nb-force"
	fails_with 1 'needs G > 0 and a first body with a mass' "$s 'nb-force --G 0' solar.nb"
	mutate drop mass <solar.nb >massless.nb
	fails_with 1 "field 'mass' missing" "$s nb-force massless.nb"
	run bash -c "nb-select --sort 'id == 4 ? 9 : id' solar.nb | $s -k 1 nb-force 2>&1 >/dev/null"
	[[ $output == *'is smaller than that of id'*'from the inside out'* ]]
	close='nb-gen orbits "m=1; m=1e-3 a=1; m=1e-3 a=1.02 M=20"'
	run bash -c "$close | nb-step --integrator whfast -d 0.2 --until 100 --every-time 10 nb-force 2>&1 >/dev/null"
	[[ $output == *'planets come closer to each other in steps '*' than steps of 0.2 can follow (want --integrator trace or ias15)'* ]]
	[ "${#lines[@]}" -eq 1 ]
	run bash -c "$close | nb-step --integrator whfast -d 0.2 --until 5 nb-force 2>&1 >/dev/null"
	[ -z "$output" ]
	run bash -c "$s -d 20 -k 1 nb-force solar.nb 2>&1 >/dev/null"
	[[ $output == *'the body with id 1 has a period of 87.9'*', which is 4.4 steps (want 6 or more)'* ]]
}

@test "--megno is that of ias15, changes no step, and is of each system" {
	nb-gen orbits --systems 6 --no-history 'm=1; m=1e-4 a=1 e=0.04; m=1e-4 a=1.15+0.03*system e=0.04 M=90' >six.nb
	"${W[@]}" --megno -d 0.1 --until 2000 --every-time 2000 nb-force six.nb | nb-select --frames -1: >map.nb
	nb-step --integrator ias15 --megno --until 2000 --every-time 2000 nb-force six.nb | nb-select --frames -1: >orbit.nb
	paste <(mutate show system megno lyapunov <map.nb) <(mutate show megno lyapunov <orbit.nb) | awk 'NR % 3 == 1 { print
		chaos = $1 == 0
		bad += chaos ? !($2 > 10 && $4 > 10 && $3 > 0.01 && $5 > 0.01) : !($2 > 1.8 && $2 < 2.2 && $4 > 1.4 && $4 < 2.6 && $3 < 1e-3)
	} END { exit bad > 0 || NR != 18 }'
	"${W[@]}" -d 0.1 --until 2000 --every-time 2000 nb-force six.nb | nb-select --frames -1: | cmp <(mutate show pos vel) <(mutate show pos vel <map.nb)
	nb-select --where 'system == 3' six.nb | "${W[@]}" --megno -d 0.1 --until 2000 --every-time 2000 nb-force | nb-select --frames -1: |
		mutate show megno lyapunov | cmp - <(nb-select --where 'system == 3' map.nb | mutate show megno lyapunov)
	# one system has attributes; other steps on the way to given times are nothing to it
	nb-select --where 'system == 3' six.nb | mutate drop system >one.nb
	"${W[@]}" --megno -d 0.1 --until 2000 --every-time 7.03 nb-force one.nb | nb-stats --attributes | grep ^megno= | tail -n 1 | cut -d = -f 2 >often
	close_to "$(cat often)" "$(nb-select --where 'system == 3' map.nb | mutate show megno | head -n 1)" 2e-3
}

@test "--megno goes with any kernel and coordinates, and with forces that do not depend on velocities" {
	local how force
	nb-gen orbits --systems 2 --no-history 'm=1; m=1e-4 a=1 e=0.04; m=1e-4 a=1.12+0.1*system e=0.04 M=90' >two.nb
	for how in '--kernel lazy --corrector 17' '--coordinates democratic' '--corrector 3'; do
		for force in nb-force 'nb-force | nb-extra "gr-potential c=100"' 'nb-force | nb-extra "oblate j2=1e-2 r=0.1"'; do
			read -ra words <<<"$how"
			"${W[@]}" "${words[@]}" --megno -d 0.1 --until 2000 --every 0 "$force" two.nb >varied.nb
			"${W[@]}" "${words[@]}" -d 0.1 --until 2000 --every 0 "$force" two.nb | cmp <(mutate show pos vel) <(mutate show pos vel <varied.nb)
			mutate show megno <varied.nb | awk -v how="$how $force" '{ print how, $1 } NR == 1 && !($1 > 8) || NR == 4 && !($1 > 1.8 && $1 < 2.2) { bad = 1 }
				END { exit bad || NR != 6 }'
		done
	done
}
