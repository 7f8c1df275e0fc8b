#!/usr/bin/env bats
# Column system holds many systems in one frame: each program keeps them apart, or refuses the frame with one line.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen uniform -n 60 --seed 5 | nb-calc 'system = (7 * id) % 4' >many.nb
}

# What each program does with a frame of several systems.  A new program gets a row here.
deeds() {
	cat <<-'END'
		nb-build-tree   refuses  nb-sort-zorder many.nb | nb-build-tree
		nb-calc         obeys    nb-calc 'mass *= 2' many.nb
		nb-convert      obeys    nb-convert --to csv <many.nb
		nb-diff         obeys    nb-diff many.nb many.nb
		nb-extra        obeys    nb-force many.nb | nb-extra gr:c=10
		nb-field        obeys    nb-field --alone 'plummer m=1 a=1' many.nb
		nb-force        obeys    nb-force --potential --jerk many.nb
		nb-force        refuses  nb-force -t 0.5 many.nb
		nb-force        refuses  nb-force -m fmm many.nb
		nb-force        refuses  nb-force --precision f32 many.nb
		nb-force        refuses  nb-force --audit 3 many.nb
		nb-force        refuses  nb-force --at many.nb many.nb
		nb-force        refuses  nb-force -b cpu --kernel gems3-serial many.nb
		nb-force        refuses  nb-calc '@box = 2' many.nb | nb-transform --shift 0,0,0 | nb-force
		nb-gen          obeys    nb-gen uniform -n 1
		nb-groups       refuses  nb-groups -l 0.1 many.nb
		nb-merge        obeys    nb-merge --ids renumber many.nb many.nb
		nb-merge        obeys    nb-merge --systems --ids renumber many.nb many.nb
		nb-neighbours   refuses  nb-neighbours --nearest 2 many.nb
		nb-plot         obeys    nb-plot --x x --y y --format svg -o /dev/null many.nb
		nb-power        refuses  nb-power --mesh 8 --periodic 2 many.nb
		nb-render-ppm   obeys    nb-render-ppm many.nb
		nb-select       obeys    nb-select --where 'system == 3' many.nb
		nb-sort-zorder  obeys    nb-sort-zorder many.nb
		nb-stats        obeys    nb-stats --each system many.nb
		nb-stats        obeys    nb-stats --each system --orbits heaviest many.nb
		nb-stats        obeys    nb-force many.nb | nb-stats --transits z
		nb-stats        obeys    nb-stats --radial-velocity z many.nb
		nb-stats        obeys    nb-force --potential many.nb | nb-stats
		nb-stats        refuses  nb-stats many.nb
		nb-stats        refuses  nb-stats --epot direct many.nb
		nb-stats        refuses  nb-stats --epot none --center density many.nb
		nb-stats        refuses  nb-stats --orbits heaviest many.nb
		nb-stats        refuses  nb-calc --dtype u8 'half = id % 2' many.nb | nb-stats --each half
		nb-stats        obeys    nb-calc --dtype u8 'half = 9 - system' many.nb | nb-stats --each half --orbits heaviest
		nb-step         obeys    nb-step -d 0.1 'nb-force -e 0.1' many.nb
		nb-step         refuses  nb-step -d 0.1 'nb-force -t 0.5' many.nb
		nb-transform    obeys    nb-transform --shift 0.5,0,0 --rotate z:30 many.nb
		nb-transform    refuses  nb-transform --recenter com many.nb
		nb-view         obeys    nb-view --exit -q many.nb
	END
}

@test "each program keeps the systems of a frame apart, or refuses it in one line" {
	deeds | each_does_as_said '^nb-[a-z-]*: .* does not keep the systems of frame 0 apart'
}

@test "what refuses a frame of several systems takes one of them, cut out as it says" {
	while read -r _ deed command; do
		[[ "$deed" = refuses && "$command" != *fmm* ]] || continue # which wants boxes
		bash -o pipefail -c "${command//many.nb/one.nb}" >out 2>err </dev/null || { echo "$command"; cat err; false; }
	done < <(nb-select --where 'system == 2' many.nb >one.nb; deeds)
	nb-force one.nb | nb-step --integrator ias15 --until 0.1 'nb-force | nb-extra gr:c=100' | nb-stats --check
	nb-step -d 0.01 -k 2 --eta 0.1 --levels 2 'nb-force -t 0.5 -e 0.1' one.nb | nb-stats --check
	nb-calc 'system = 3' one.nb | nb-groups -l 0.1 | nb-stats --check
}

# id and force of each body of a stream, in the order of ids.
forces() { nb-calc 'fx = ax' 'fy = ay' 'fz = az' 'p = pot' | nb-select --where "${1:-id >= 0}" --fields id,pos,fx,fy,fz,p | nb-convert --to csv | grep '^[0-9]' | sort; }

@test "the force on a body is that of its system alone, whatever the order of the bodies and the number of threads" {
	nb-force --potential -e 0.01 many.nb | forces >all
	equals "$(grep -c . all)" 60
	nb-force -j 3 --potential -e 0.01 many.nb | forces | cmp - all
	nb-sort-zorder many.nb | nb-force --potential -e 0.01 | forces | cut -d, -f1 | cmp - <(cut -d, -f1 all)
	for k in 0 1 2 3; do
		nb-select --where "system == $k" many.nb | nb-calc 'system = 0' >one.nb
		nb-force --potential -e 0.01 one.nb | forces >alone
		nb-force --potential -e 0.01 many.nb | forces "system == $k" | cmp - alone
		nb-select --fields id,mass,pos,vel one.nb | nb-force --potential -e 0.01 | forces | cmp - alone
	done
}

@test "nb-extra adds the forces of a centre of each system" {
	nb-gen orbits --systems 3 'm=1+system; m=1e-3 a=1 e=0.1*system; m=1e-4 a=2' | nb-select --sort 'id % 3' >three.nb
	nb-force --potential three.nb | nb-extra 'gr-potential c=20; tides k2=0.1 r=0.05 tau=0.1' | forces >all
	equals "$(grep -c . all)" 9
	run ! cmp -s all <(nb-force --potential three.nb | forces)
	for k in 0 1 2; do
		nb-select --where "system == $k" --fields id,mass,pos,vel three.nb | nb-force --potential | nb-extra 'gr-potential c=20; tides k2=0.1 r=0.05 tau=0.1' | forces >alone
		nb-force --potential three.nb | nb-extra 'gr-potential c=20; tides k2=0.1 r=0.05 tau=0.1' | forces "system == $k" | cmp - alone
	done
	nb-step -d 0.1 -k 3 'nb-force | nb-extra gr-potential:c=20' three.nb | nb-stats --check
	nb-calc 'mass = system == 2 && id % 3 == 0 ? 1e-5 : system == 2 && id % 3 == 1 ? 1 : mass' three.nb >other.nb # its heaviest body is the second
	# integrators have them, too: gr-potential of whfast stands in its kicks, gr-full has no centre
	while read -r forces integrator; do
		read -ra how <<<"nb-step --until 3 --every 0 --integrator $integrator"
		"${how[@]}" "nb-force --potential | nb-extra '$forces'" other.nb | forces >all
		equals "$(grep -c . all)" 9
		for k in 0 1 2; do
			nb-select --where "system == $k" --fields id,mass,pos,vel other.nb |
				"${how[@]}" "nb-force --potential | nb-extra '$forces'" | forces >alone
			grep -x -F -c -f alone all | grep -x 3
		done
	done <<-'HOW'
		gr-potential:c=20 whfast -d 0.1
		tides:k2=0.1,r=0.05 whfast -d 0.1
		oblate:j2=0.01,r=0.1 trace -d 0.1
		gr-potential:c=20 ar
		gr:c=20 ias15
		gr-full:c=20 ias15
	HOW
	fails_with 1 "there are forces of nb-extra in step 0, and '--stop-when' takes none of these (want nb-force alone)" \
		"nb-step -d 0.1 -k 3 --stop-when 'dmin < 0.1' 'nb-force | nb-extra gr-potential:c=20' three.nb"
	fails_with 1 'no body with the id 3 in a system of frame 0' 'nb-force three.nb | nb-extra "gr c=20 body=3"'
}

@test "systems of 1, 2, 17 and 3000 bodies stand beside each other" {
	nb-gen plummer -n 3020 | nb-calc 'system = id < 1 ? 9 : id < 3 ? 4 : id < 20 ? 7 : 1' 'eps = 0.01 + 0.001 * (id % 3)' >sizes.nb
	nb-force --potential --jerk sizes.nb | forces 'id < 20' >all
	equals "$(grep -c . all)" 20
	nb-select --where 'system != 1' sizes.nb | nb-force --potential --jerk | forces | cmp - all
	nb-select --where 'id < 1' --fields id,mass,pos,vel,eps sizes.nb | nb-force --potential | forces | tail -n 1 | cmp - <(grep '^0,' all)
	nb-select --where 'id >= 20' --fields id,mass,pos,vel,eps sizes.nb | nb-force -j 2 --potential --jerk | forces >large
	nb-force --potential --jerk sizes.nb | forces 'id >= 20' | cmp - large
	nb-select --where 'id < 0' sizes.nb | nb-force | nb-stats --check
}

@test "nb-merge --systems numbers its inputs, and what they hold" {
	nb-gen uniform -n 2 >a.nb
	nb-gen uniform -n 3 | nb-calc 'system = 10 - 5 * (id > 0)' >b.nb
	nb-merge --systems --ids renumber a.nb b.nb a.nb | mutate show system >numbers
	equals "$(tr '\n' ' ' <numbers)" '0 0 11 6 6 12 12 '
	# numbers that stay as they are
	fails_with 1 "missing in frame 0 of 'a.nb': system (give '--systems'" 'nb-merge --common --ids offset b.nb a.nb'
	nb-calc 'system = 5' a.nb >c.nb
	nb-merge --ids offset b.nb c.nb 2>said | mutate show system >numbers
	equals "$(tr '\n' ' ' <numbers)" '10 5 5 5 5 '
	equals "$(cat said)" "nb-merge: system 5 has bodies of 'b.nb' and of 'c.nb', which pull each other (give '--systems' to keep them apart)"
	nb-calc 'system = 6' a.nb | nb-merge --ids offset - b.nb 2>said | nb-stats --check
	equals "$(cat said)" ''
	nb-gen uniform -n 1 | nb-calc --dtype u8 'system = 18446744073709551615' >last.nb
	fails_with 1 "system 18446744073709551615 in frame 0 is too large for '--systems'" 'nb-merge --systems --ids renumber a.nb last.nb'
}

@test "nb-stats --each system --orbits has the elements of each system about a body of its own" {
	nb-gen orbits 'm=1; m=1e-3 a=2 e=0.1' >two.nb
	nb-gen orbits 'm=2; m=0 a=3 e=0.2; m=0 a=5' >three.nb
	nb-merge --systems --ids offset two.nb three.nb | nb-stats --each system --orbits heaviest --format tsv >orbits
	equals "$(awk 'NR > 1 { printf "%s %s %.10g; ", $3, $4, $5 }' orbits)" '0 1 2; 1 3 3; 1 4 5; '
	nb-merge --systems --ids offset two.nb three.nb >both.nb
	for option in orbits center; do
		command="nb-stats --each system --$option id:0 both.nb"
		fails_with 1 "frame 0 has no body with the id 0 of '--$option' among those of system 1" "$command"
		equals "$(bash -c "$command" 2>/dev/null || true)" ''
	done
}

@test "nb-gen --systems makes systems of seeds one after the other, and of expressions" {
	nb-gen plummer -n 20 --systems 3 --seed 7 --binaries 0.5 --radius 0.1 >gen.nb
	for k in 0 1 2; do
		nb-gen plummer -n 20 --seed $((7 + k)) --binaries 0.5 --radius 0.1 | nb-select --fields mass,pos,vel,radius | nb-convert --to csv | grep '^[0-9-]' >want
		equals "$(grep -c . want)" 20
		nb-select --where "system == $k" --fields mass,pos,vel,radius gen.nb | nb-convert --to csv | grep '^[0-9-]' | cmp - want
	done
	equals "$(mutate show binary <gen.nb | sort -n | uniq -c | awk '$2 > 0 && $1 != 2 || $2 == 0 && $1 % 3' | wc -l)" 0
	equals "$(mutate show id <gen.nb | sort -un | wc -l)" 60
	nb-gen plummer -n 20 --systems 3 --seed 7 --binaries 0.5 --radius 0.1 -j 1 --no-history >1.nb
	NB_FOLD=off nb-gen plummer -n 20 --systems 3 --seed 7 --binaries 0.5 --radius 0.1 -j 3 --no-history | cmp - 1.nb
	nb-gen orbits --systems 3 'm=1+system; m=0 a=2-system/4 e=0.1+0.1*system; m=0 a=3 e=0.5 M=90+10*cos(pi*system)' | nb-stats --each system --orbits heaviest --format tsv >elements
	equals "$(awk 'NR > 1 { printf "%s %.6g %.6g %.6g; ", $3, $5, $6, $10 }' elements)" '0 2 0.1 0; 0 3 0.5 100; 1 1.75 0.2 0; 1 3 0.5 80; 2 1.5 0.3 0; 2 3 0.5 100; '
	[ "$(nb-gen orbits --systems 9 'm=1; m=0 a=1+random() e=random()' | nb-convert --to csv | sort -u | grep -c '^[0-9]')" -eq 18 ]
	run ! cmp <(nb-gen orbits --systems 9 'm=1; m=0 a=1+random()' --no-history) <(nb-gen orbits --systems 9 -s 2 'm=1; m=0 a=1+random()' --no-history)
	for k in 0 1; do nb-gen orbits --systems $k 'm=1; m=0 a=1+system' | nb-stats --check; done
	fails_with 2 'orbits: system 2: body 1: a must be above 0' "nb-gen orbits --systems 3 'm=1; a=2-system'"
	fails_with 2 "orbits: system 2: body 1: '1/(2-system)' is not finite" "nb-gen orbits --systems 3 'm=1; a=1/(2-system)'"
	fails_with 2 "orbits: body 1: '1+x': unknown name 'x'" "nb-gen orbits --systems 3 'm=1; a=1+x'"
	fails_with 2 "'1+': expected a number" "nb-gen orbits --systems 3 'm=1; a=1+'"
	printf -v many '; a=1+system e=0*system i=system M=system Omega=system omega=system%.0s' {1..43}
	fails_with 2 'orbits: body 43: more than 256 expressions' "nb-gen orbits --systems 3 'm=1$many'"
	fails_with 2 'no effect on elements without random()' "nb-gen orbits --systems 3 --seed 3 'm=1; a=1+system'"
	fails_with 2 "model 'lpt' takes no --systems" 'nb-gen lpt --systems 2'
	fails_with 2 'are too many' 'nb-gen plummer -n 100000 --systems 100000'
}
