#!/usr/bin/env bats
# nb-extra: forces beside gravity in frames and in the pipelines of integrators.  Rates of orbits: unit/small/extra.
# as a filter: nb-extra gr-potential:c=10

load helper

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen orbits --no-history 'm=1; m=1e-3 a=1 e=0.2 i=10; m=1e-3 a=2.1' >planets.nb
}

G='nb-force --potential | nb-extra "gr-potential c=50; oblate j2=1e-3 r=0.3"'

@test "a force is added to acc and pot, and its text stands in the frame" {
	nb-force --potential planets.nb >force.nb
	nb-extra 'gr-potential   c=50' force.nb >gr.nb
	# body 1 at its pericentre, from which the star is 0.8 away
	paste <(mutate show acc pot <force.nb) <(mutate show acc pot <gr.nb) | awk '
		function off(a, b) { return a > b ? a - b : b - a }
		NR == 2 { exit !(off($8, $4 - 3 / 2500 / 0.64) < 1e-12 && off($5 - $1, -6 / 2500 / 0.512) < 1e-12) }'
	[ "$(nb-stats --attributes gr.nb | grep -E '^(extra|field_varies)=')" = 'extra=gr-potential c=50' ]
	nb-extra gr:c=50 gr.nb >more.nb
	[ "$(nb-stats --attributes more.nb | grep -E '^(extra|field_varies)=' | sort | paste -sd ' ')" = \
		'extra=gr-potential c=50; gr:c=50 field_varies=1' ]
	run ! grep -a extra= <(nb-force more.nb)
	for n in 0 1; do nb-gen plummer -n $n | nb-force | nb-extra gr:c=1 | nb-stats --check; done
	# the heaviest body is the centre in any order
	nb-sort-zorder planets.nb | nb-force | nb-extra gr:c=50 | nb-select --fields id,acc | nb-stats --check
}

@test "whfast, trace and ias15 have the forces of the pipeline, folded or not, and conserve the energy" {
	local integrator options
	nb-step --no-history --integrator ias15 --until 50 --every 0 "$G" planets.nb >true.nb
	for integrator in 'whfast --corrector 17 -d 0.1' 'trace -d 0.05'; do
		read -ra options <<<"$integrator --until 50 --every-time 25"
		nb-step -v --no-history --integrator "${options[@]}" "$G" planets.nb >a.nb 2>log
		agree_within true.nb a.nb 2e-4
		at_most 1e-6 "$(sed -n 's/.* in the end, \([^ ]*\) at most.*/\1/p' log)"
		NB_FOLD=off nb-step --no-history --integrator "${options[@]}" "$G" planets.nb | cmp - a.nb
	done
	nb-step --no-history --integrator ias15 --until 50 --every 0 nb-force planets.nb >none.nb
	run ! agree_within true.nb none.nb 1e-3
	# the leapfrog has it as any other force
	nb-step --no-history -d 0.002 --until 50 --every 0 "$G" planets.nb >leap.nb
	agree_within true.nb leap.nb 1e-3
	# with velocities
	nb-step --integrator ias15 --until 5 --every-time 1 'nb-force | nb-extra gr:c=50' planets.nb >a.nb
	NB_FOLD=off nb-step --no-history --integrator ias15 --until 5 --every-time 1 'nb-force | nb-extra gr:c=50' planets.nb |
		nb-diff - a.nb
	nb-step --send-velocities -d 0.002 --until 5 --every 0 'nb-force | nb-extra gr:c=50' planets.nb >leap.nb
	agree_within a.nb leap.nb 3e-4
}

@test "an equator in the plane keeps it, a body inside a centre gets one warning, and forces made anew have no text" {
	nb-gen uniform -n 3 --dim 2 | nb-force | nb-extra 'oblate j2=1 r=1e-3 inc=180' | nb-select --where 'az == 0' |
		nb-stats --check | grep ', 3 bodies,'
	run --separate-stderr nb-step -d 0.01 -k 3 'nb-force | nb-extra "oblate j2=1e-3 r=0.9"' planets.nb
	[ "$status" -eq 0 ]
	[[ $stderr == "nb-extra: body 1 is inside the radius r=0.9 of force oblate in frame 0, "* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	nb-force planets.nb | nb-extra gr:c=50 | nb-field --alone point:m=1 | nb-stats --attributes >text
	run ! grep -E '^(extra|field_varies)' text
}

@test "what it does not know is refused" {
	fails_with 2 "force gr: key 'c' is missing" 'nb-extra gr planets.nb'
	fails_with 2 "unknown force 'grr' (did you mean 'gr'?" "nb-extra 'grr c=1' planets.nb"
	fails_with 2 "operand 'planets.nb' is no force" 'nb-extra planets.nb'
	fails_with 2 'no force given' nb-extra
	fails_with 1 "field 'acc' missing" 'nb-extra gr:c=1 planets.nb'
	fails_with 1 'no body with the id 7' "nb-force planets.nb | nb-extra 'gr c=1 body=7'"
	fails_with 1 "field 'vel' missing" 'nb-force planets.nb | nb-select --fields pos,mass,acc | nb-extra gr:c=1'
	run ! nb-step -d 0.1 'nb-force | nb-extra gr:c=1' planets.nb
	[[ $output == *'nb-step keeps it unless --send-velocities'* ]]
	fails_with 1 "has field 'jerk'" 'nb-force --jerk planets.nb | nb-extra gr:c=1'
	fails_with 1 'overflows in frame 0' 'nb-force planets.nb | nb-extra gr-potential:c=1e-200'
	fails_with 1 'would pull bodies out of the plane' \
		"nb-gen uniform -n 3 --dim 2 | nb-force | nb-extra 'oblate j2=1 r=1 inc=3'"
	for integrator in whfast trace; do
		fails_with 1 "a force of nb-extra depends on velocities in step 0, and '--integrator $integrator' takes none" \
			"nb-step --integrator $integrator -d 0.1 'nb-force | nb-extra gr:c=1' planets.nb"
	done
	fails_with 1 "the force is not that of all bodies" \
		"nb-step --integrator ias15 -k 2 'nb-force | nb-extra gr:c=10 | nb-calc \"@extra = \\\"gr:c=20\\\"\"' planets.nb"
	fails_with 1 'force tides: the centre, body 2, has no mass in frame 0' \
		"nb-gen orbits 'm=1; m=1e-3 a=1; a=3 m=0' | nb-force | nb-extra 'tides k2=1 r=0.1 body=2'"
	fails_with 1 'force damp: on=0 is the centre itself in frame 0' "nb-force planets.nb | nb-extra 'damp on=0 tau_a=1'"
	fails_with 2 'force damp: no time (want tau_a, tau_e or tau_i)' 'nb-extra damp:on=1 planets.nb'
	fails_with 2 'force damp: tau_a is 0' 'nb-extra damp:on=1,tau_a=0 planets.nb'
	fails_with 2 "invalid body '1e30' (want a whole number below 2^53)" 'nb-extra gr:c=1,body=1e30 planets.nb'
	fails_with 2 "key 'c' is missing (want quotes: 'gr c=1')" 'nb-extra gr c=1 planets.nb'
	run ! nb-step --integrator hermite -d 0.1 'nb-force | nb-extra gr:c=1' planets.nb
	[[ $output == *'(nb-extra adds none to jerks: want --integrator ias15, or chin for forces without v)'* ]]
	nine=$(printf ';gr:c=100%.0s' 1 2 3 4 5 6 7 8 9)
	fails_with 1 "attribute 'extra' has more than 16 forces in a text in step 0, and '--integrator ias15'" \
		"nb-step --integrator ias15 -d 0.1 'nb-force | nb-extra \"${nine#;}\" | nb-extra \"${nine#;}\"' planets.nb"
	fails_with 1 "takes none of these (want --integrator ias15)" \
		"nb-step --integrator trace -d 0.1 'nb-force | nb-extra damp:on=1,tau_a=1e3' planets.nb"
	[ "$(nb-extra help | grep -c '^  [a-z]')" -eq "$(grep -c '^NB_EXTRA(' "$NB_TOP/kernels/small/extra.def")" ]
}
