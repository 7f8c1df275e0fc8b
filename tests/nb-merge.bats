#!/usr/bin/env bats
# nb-merge: bodies of several streams in one, with their columns, ids, times and attributes.
# as a filter: nb-merge -

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	nb-gen plummer -n 30 --no-history >a.nb
	nb-gen plummer -n 20 -s 2 | nb-transform --shift 5,0,0 --no-history >b.nb
}

attributes() { nb-stats --attributes | grep -v '^history='; }

@test "the bodies of all inputs come one after the other" {
	nb-merge --ids offset a.nb b.nb a.nb >m.nb
	nb-stats --check <m.nb
	for c in mass pos vel; do
		cmp <(mutate show $c <m.nb) <(for f in a b a; do mutate show $c <$f.nb; done)
	done
	equals "$(mutate show id <m.nb | tr '\n' ' ')" "$(seq -s ' ' 0 79) "
	# a single one stays as it is
	nb-merge --no-history a.nb | cmp - a.nb
	cat a.nb | nb-merge --no-history - | cmp - a.nb
	nb-merge --no-history - <a.nb >same.nb
	cmp same.nb a.nb
	nb-gen plummer -n 30 --no-history | nb-merge --no-history --ids offset b.nb - | mutate show pos |
		cmp - <(mutate show pos <b.nb; mutate show pos <a.nb)
}

@test "ids are kept if they are unique, renumbered, or kept apart" {
	fails_with 1 "id 0 is in frame 0 of 'a.nb' and of 'b.nb' (give '--ids offset' or '--ids renumber')" 'nb-merge a.nb b.nb'
	printf 'id,mass,x,y,z\n40,1,0,0,0\n7,1,1,0,0\n' | nb-convert --from csv >c.nb
	printf 'id,mass,x,y,z\n1000,1,0,0,0\n8,1,1,0,0\n' | nb-convert --from csv >d.nb
	equals "$(nb-merge c.nb d.nb | mutate show id | tr '\n' ' ')" '40 7 1000 8 '
	equals "$(nb-merge --ids renumber c.nb d.nb | mutate show id | tr '\n' ' ')" '0 1 2 3 '
	equals "$(nb-merge --ids offset c.nb d.nb c.nb | mutate show id | tr '\n' ' ')" '40 7 1041 49 1082 1049 '
	# names go with the ids
	mutate attribute names '40 A, 7 B' <c.nb >e.nb
	mutate attribute names '8 C,7 D' <d.nb >f.nb
	equals "$(nb-merge e.nb d.nb f.nb --ids offset | attributes | grep names)" 'names=7 B, 40 A, 1049 D, 1050 C'
	equals "$(nb-merge d.nb e.nb | attributes | grep names)" 'names=7 B, 40 A'
	equals "$(nb-merge e.nb f.nb | attributes | grep names)" 'names=7 B, 40 A, 8 C'
	nb-merge --ids renumber e.nb f.nb 2>said | attributes >after
	run ! grep names after
	grep 'attribute names is left out' said
	mutate set id 1 0 40 <c.nb >twice.nb
	fails_with 1 "id 40 appears twice in frame 0 of 'twice.nb' (give '--ids renumber')" 'nb-merge twice.nb d.nb'
	fails_with 1 "id 40 appears twice in frame 0 of 'twice.nb'" 'nb-merge d.nb twice.nb'
	mutate set id 1 0 18446744073709551614 <c.nb >large.nb
	fails_with 1 "too large for '--ids offset'" 'nb-merge --ids offset d.nb large.nb'
	# without ids
	mutate drop id <c.nb >none.nb
	run ! grep -q ' id ' <(nb-merge none.nb none.nb | nb-stats --fields)
	fails_with 1 "missing in frame 0 of 'none.nb': id" 'nb-merge c.nb none.nb'
	equals "$(nb-merge --ids offset c.nb none.nb | mutate show id | tr '\n' ' ')" '40 7 41 42 '
	equals "$(nb-merge --ids renumber none.nb c.nb | mutate show id | tr '\n' ' ')" '0 1 2 3 '
}

@test "offsets are those of the first frame, so a body of a run keeps its id" {
	# of the second run the bodies change their places, and the first loses its last body
	nb-gen plummer -n 3 >1.nb
	printf 'id,mass,x,y,z,vx,vy,vz\n0,1,0,0,0,0,0,0\n1,1,1,1,1,0,0,0\n' | nb-convert --from csv >2.nb
	cat 1.nb 2.nb >first.nb
	nb-gen plummer -n 4 -s 2 >3.nb
	nb-sort-zorder <3.nb >sorted.nb
	cat 3.nb sorted.nb >second.nb
	nb-merge -q --ids offset first.nb second.nb >m.nb
	nb-stats --check <m.nb
	nb-convert --no-comments --to csv --frame 1 <m.nb | cut -d , -f 1 | tail -n +2 | sort -n | tr '\n' ' ' >ids
	equals "$(<ids)" '0 1 3 4 5 6 '
}

@test "--origin says which input a body came from, also of streams that were merged, and galaxies stay what they are" {
	nb-gen disk -n 20 >g.nb
	nb-gen disk -n 30 -s 2 >h.nb
	count() { mutate show origin | uniq -c | awk '{ print $1, $2 }' | tr '\n' ';'; }
	nb-merge --ids offset --origin g.nb h.nb >gh.nb
	equals "$(count <gh.nb)" '20 0;30 1;'
	equals "$(mutate show species <gh.nb | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" '25 5 20 '
	equals "$(nb-merge --ids renumber --origin gh.nb g.nb gh.nb | count)" '20 0;30 1;20 2;20 3;30 4;'
	# in later frames, as some bodies have gone, the numbers stay; with --last, too
	cat gh.nb <(nb-select --where 'origin == 0' gh.nb) >two.nb
	equals "$(nb-merge --ids renumber --origin --last two.nb g.nb | nb-select --frames 1 | count)" '20 0;20 2;'
	# without the option it is a column like any other
	equals "$(nb-merge --ids renumber gh.nb gh.nb | count)" '20 0;30 1;20 0;30 1;'
	equals "$(nb-merge --ids renumber --fill g.nb gh.nb | count)" '40 0;30 1;'
	fails_with 1 "column 'origin' in 'b.nb' has 0.5 (want whole numbers, at most 65535 in all)" \
		"nb-calc 'origin = 0.5' g.nb >b.nb; nb-merge --ids renumber --origin g.nb b.nb"
	fails_with 1 "column 'origin' in 'b.nb' has 65535" "nb-calc 'origin = 65535' g.nb >b.nb; nb-merge --ids renumber --origin g.nb b.nb"
	# what all are
	nb-gen merger -n 20 >m.nb
	nb-gen plummer -n 20 | nb-calc 'species = 0' >p.nb
	model() { attributes | sed -n 's/^model=//p'; }
	equals "$(model <gh.nb)" disk
	equals "$(nb-merge --ids renumber g.nb m.nb | model)" merger
	equals "$(nb-merge --ids renumber p.nb p.nb | model)" plummer
	equals "$(nb-merge --ids renumber g.nb p.nb | model)" ''
	equals "$(nb-merge --ids renumber --species g.nb h.nb 2>lost | model)" ''
	equals "$(<lost)" 'nb-merge: disk, bulge and halo are lost, as --species numbers the files (--origin keeps them)'
	equals "$(nb-merge --ids renumber --species p.nb p.nb 2>&1 >out)" ''
	equals "$(model <out)" plummer
	equals "$(nb-merge --ids renumber --origin g.nb h.nb 2>&1 >out)" ''
}

@test "species numbers the inputs" {
	equals "$(nb-merge --ids renumber --species a.nb b.nb a.nb | mutate show species | uniq -c | awk '{ print $1, $2 }' | tr '\n' ';')" \
		'30 0;20 1;30 2;'
	nb-gen merger -n 50 >g.nb
	equals "$(nb-merge -q --species g.nb | mutate show species | uniq)" 0
	mapfile -t many < <(yes a.nb | head -n 257)
	fails_with 2 "option '--species' has numbers for 256 inputs" "nb-merge --species ${many[*]}"
	nb-merge --ids renumber --species "${many[@]:1}" | mutate show species | tail -n 1 | grep -qx 255
}

@test "columns that not all inputs have are an error, left out, or zeros" {
	nb-gen plummer -n 10 -s 3 --radius 0.5 | nb-merge --ids renumber --species - | mutate add mine >r.nb
	fails_with 1 "missing in frame 0 of 'a.nb': radius, species, mine (give '--common'" 'nb-merge --ids renumber r.nb a.nb'
	fails_with 1 "missing in frame 0 of 'a.nb': radius, species, mine (give '--common'" 'nb-merge --ids renumber a.nb r.nb'
	nb-merge --ids renumber --common a.nb r.nb >m.nb
	equals "$(nb-stats --fields <m.nb | awk 'NR > 1 { print $2 }' | tr '\n' ' ')" 'id mass pos vel '
	nb-merge --ids renumber --fill a.nb r.nb >m.nb
	equals "$(mutate show radius <m.nb | uniq -c | awk '{ print $1, $2 }' | tr '\n' ';')" '30 0.0;10 0.5;'
	equals "$(mutate show mine <m.nb | tail -n +31)" "$(mutate show mine <r.nb)"
	equals "$(mutate show mine <m.nb | head -n 30 | uniq)" '0 0 0'
	mutate drop vel <a.nb >still.nb
	fails_with 1 "missing in frame 0 of 'still.nb': vel (zeros would be no sensible values" 'nb-merge --ids renumber --fill still.nb b.nb'
	fails_with 2 "exclude each other" 'nb-merge --common --fill a.nb b.nb'
	# inputs without bodies lack nothing
	nb-gen uniform -n 0 >empty.nb
	nb-merge -q empty.nb r.nb empty.nb | mutate show mine | cmp - <(mutate show mine <r.nb)
	nb-merge -q r.nb empty.nb | nb-stats --check
	nb-gen uniform -n 0 --radius 1 >round.nb
	nb-merge -q a.nb round.nb | nb-stats --check
}

@test "a column is as wide as its widest input" {
	nb-gen plummer -n 20 -s 2 --precision f32 >s.nb
	for order in 'a.nb s.nb' 's.nb a.nb'; do
		read -ra files <<<"$order"
		nb-merge --ids renumber "${files[@]}" >m.nb
		nb-stats --fields <m.nb | awk '$2 == "pos" && $4 != "<f8" { exit 1 }'
		cmp <(mutate show pos <m.nb) <(for f in "${files[@]}"; do mutate show pos <"$f"; done)
	done
	nb-merge --ids renumber s.nb s.nb | nb-stats --fields | awk '$2 == "pos" && $4 != "<f4" { exit 1 }'
	mutate add mine <a.nb >mine.nb
	mutate type mine '<u4' <mine.nb >u4.nb
	mutate type mine '<i4' <mine.nb >i4.nb
	nb-merge --ids renumber mine.nb u4.nb | mutate show mine | head -n 30 | cmp - <(mutate show mine <mine.nb)
	fails_with 1 "column 'mine' is 3 x '<i4' in 'i4.nb' and 3 x '<u2' in 'mine.nb' (frame 0)" 'nb-merge --ids renumber mine.nb i4.nb'
	# texts are padded
	printf '2\n10\n0 0 0 0 1 sun.gif\n1 0 0 1 1 p\n' | nb-convert --from princeton >p.nb
	printf '1\n10\n0 0 0 0 1 jupiter.gif\n' | nb-convert --from princeton >q.nb
	equals "$(nb-merge --ids renumber p.nb q.nb | nb-convert --to princeton | awk 'NR > 2 { print $NF }' | tr '\n' ' ')" 'sun.gif p jupiter.gif '
	equals "$(nb-merge --ids renumber q.nb p.nb | nb-convert --to princeton | awk 'NR > 2 { print $NF }' | tr '\n' ' ')" 'jupiter.gif sun.gif p '
	long=a-name-that-is-longer-than-32-characters.gif
	printf '1\n10\n0 0 0 0 1 %s\n' $long | nb-convert --from princeton >q.nb
	equals "$(nb-merge --ids renumber p.nb q.nb | nb-convert --to princeton | awk 'NR > 2 { print $NF }' | tr '\n' ' ')" "sun.gif p $long "
}

@test "what follows from positions is dropped, and a kick that is still to be done is completed" {
	nb-sort-zorder <a.nb | nb-build-tree | nb-force -t 0.5 --potential >t.nb
	nb-merge --ids renumber -q t.nb t.nb >m.nb
	equals "$(nb-stats --fields <m.nb | awk 'NR > 1 { print $2 }' | tr '\n' ' ')" 'id mass pos vel '
	run ! grep -qE '^(tree|key_cube|order|leaf_size)=' <(attributes <m.nb)
	nb-merge -v --ids renumber t.nb a.nb 2>&1 >/dev/null |
		grep -q -x 'nb-merge: frame 0: putting bodies together makes stale, and drops: key acc pot tree'
	for precision in f64 f32; do
		nb-gen plummer -n 3000 --precision $precision | nb-force -e 0.1 | nb-step -d 0.02 | nb-force -e 0.1 >lag.nb
		close_to "$(nb-stats --epot none --format tsv <lag.nb | stat_of ekin)" \
			"$(nb-merge -q --ids renumber lag.nb lag.nb | nb-stats --epot none --format tsv | stat_of ekin | awk '{ printf "%.12g", $1 / 2 }')" 1e-7
	done
	run ! grep -q pending_kick <(nb-merge -q lag.nb | attributes)
	close_to "$(nb-stats --epot none --format tsv <lag.nb | stat_of ekin)" \
		"$(nb-merge --last -q lag.nb | nb-stats --epot none --format tsv | stat_of ekin)" 1e-7
	mutate drop acc <lag.nb >noacc.nb
	fails_with 1 "velocities of frame 0 of 'noacc.nb' lag behind positions" 'nb-merge --time-tolerance 1 --ids renumber a.nb noacc.nb'
}

@test "frames of equal times are merged" {
	nb-step -d 0.1 -k 4 --every 2 'nb-force -e 0.1' <a.nb >ra.nb
	nb-step -d 0.05 -k 8 --every 4 'nb-force -e 0.1' <b.nb >rb.nb
	nb-merge -q --ids offset ra.nb rb.nb >m.nb
	equals "$(nb-stats --format tsv <m.nb | awk 'NR > 1 { printf "%s:%s ", $2, $3 }')" '0:50 0.2:50 0.4:50 '
	for k in 0 1 2; do
		nb-convert -q --no-comments --frame $k --to csv <m.nb | cut -d , -f 2-8 | tail -n +2 >m.csv
		for f in ra rb; do nb-convert -q --no-comments --frame $k --to csv <$f.nb | cut -d , -f 2-8 | tail -n +2; done | cmp - m.csv
	done
	nb-step -d 0.06 -k 8 --every 4 'nb-force -e 0.1' <b.nb >rc.nb
	run bash -c 'nb-merge -q --ids offset ra.nb rc.nb 2>&1 >out.nb'
	[ "$status" -eq 1 ]
	equals "$output" "nb-merge: frame 1 is at time 0.2 in 'ra.nb' and at 0.24 in 'rc.nb' (give '--time-tolerance')"
	run ! nb-stats --check <out.nb
	nb-merge -q --ids offset --time-tolerance 0.081 ra.nb rc.nb | nb-stats --check
	run ! nb-merge -q --ids offset --time-tolerance 0.079 ra.nb rc.nb >out.nb
}

@test "inputs of different lengths are an error, go on with their last frame, or end with the shortest" {
	nb-step -d 0.1 -k 3 --every 1 'nb-force -e 0.1' <a.nb >ra.nb
	for order in 'ra.nb b.nb' 'b.nb ra.nb'; do
		read -ra files <<<"$order"
		run bash -c "nb-merge -q --ids offset $order 2>&1 >out.nb"
		[ "$status" -eq 1 ]
		equals "$output" "nb-merge: 'b.nb' has 1 frame, and 'ra.nb' has more (give '--last' to go on with the last frame, or '--shortest')"
		run ! nb-stats --check <out.nb
		nb-merge -q --ids offset --last "${files[@]}" >m.nb
		equals "$(nb-stats --format tsv <m.nb | awk 'NR > 1 { printf "%.9g:%s ", $2, $3 }')" '0:50 0.1:50 0.2:50 0.3:50 '
		for k in 0 1 2 3; do nb-convert -q --no-comments --frame $k --to csv <m.nb | cut -d , -f 2-8 | sort >$k.csv; done
		nb-convert --no-comments --to csv <b.nb | cut -d , -f 2-8 | tail -n +2 | sort >b.csv
		for k in 0 3; do comm -12 $k.csv b.csv | cmp - b.csv; done
		nb-convert -q --no-comments --frame 3 --to csv <ra.nb | cut -d , -f 2-8 | tail -n +2 | sort | comm -23 - 3.csv | cmp - /dev/null
		nb-merge -q --ids offset --shortest "${files[@]}" | nb-stats --check | grep -q '^ok: 1 frames, 50 bodies'
	done
	nb-convert --from csv </dev/null >none.nb 2>/dev/null || tail -c 128 a.nb | python3 -c '
import struct, sys, zlib
h = bytearray(sys.stdin.buffer.read()); struct.pack_into("<QI", h, 24, 0, 0); h[20:24] = bytes(4); h[32:64] = bytes(32)
struct.pack_into("<I", h, 20, zlib.crc32(bytes(h))); sys.stdout.buffer.write(h)' >none.nb
	nb-stats --check <none.nb | grep -q '^ok: 0 frames'
	nb-merge none.nb none.nb | nb-stats --check | grep -q '^ok: 0 frames'
	nb-merge --shortest a.nb none.nb | nb-stats --check | grep -q '^ok: 0 frames'
	fails_with 1 "'none.nb' has no frames, and so no last one" 'nb-merge --last a.nb none.nb'
	fails_with 1 "'none.nb' has 0 frames, and 'a.nb' has more" 'nb-merge none.nb a.nb'
	fails_with 2 "exclude each other" 'nb-merge --last --shortest a.nb b.nb'
	# what is left out with --shortest must be sound as well
	head -c -128 ra.nb >cut.nb
	run bash -c 'nb-merge -q --ids offset --shortest b.nb cut.nb 2>&1 >out.nb'
	[ "$status" -eq 1 ]
	[[ $output == *"'cut.nb': truncated stream"* ]]
}

@test "attributes are those of the first input, and what differs is told once" {
	mutate attribute units pc <a.nb | mutate attribute note x >a2.nb
	mutate attribute softening 0.5 <b.nb >b2.nb
	cat a2.nb a2.nb >a4.nb
	cat b2.nb b2.nb >b4.nb
	nb-merge --ids renumber a4.nb b4.nb >m.nb 2>err
	equals "$(sort err)" "nb-merge: attribute softening is 0.5 in 'b4.nb' and absent in 'a4.nb': it is kept
nb-merge: attribute units is pc in 'a4.nb' and Henon: G=1 M=1 E=-1/4 in 'b4.nb': pc is taken"
	attributes <m.nb >got
	for line in units=pc note=x softening=0.5 G=1 dim=3 model=plummer; do grep -qx "$line" got; done
	run ! grep -qE '^seed=' got
	equals "$(nb-merge -q --ids renumber a4.nb b4.nb 2>&1 >/dev/null)" ''
	# numbers are compared as numbers, and 1 and 3 are what G and dim are where they are absent
	mutate attribute G 1.0 <a.nb | mutate attribute dim 3 >g.nb
	equals "$(nb-merge --ids renumber a.nb g.nb 2>&1 >/dev/null)" ''
	printf 'id,mass,x,y,z,vx,vy,vz\n77,1,0,0,0,0,0,0\n' | nb-convert --from csv --G 0.004 >h.nb
	fails_with 1 "G is 1 in 'a.nb' and 0.004 in 'h.nb': they are in different units (put 'nb-transform --units' before)" 'nb-merge a.nb h.nb'
	nb-gen uniform --dim 2 -n 5 >flat.nb
	for order in 'a.nb flat.nb' 'flat.nb a.nb'; do
		read -ra files <<<"$order"
		nb-merge --ids renumber "${files[@]}" 2>err >m.nb
		grep -q '^nb-merge: attribute dim is .*: 3 is taken$' err
		attributes <m.nb | grep -qx dim=3
	done
}

@test "bodies of two universes are not merged, and the error names what differs and both files" {
	nb-gen lpt -n 8 --box 10 --redshift 9 >u.nb
	local deed key
	while IFS='|' read -r deed key; do
		nb-calc "$deed" u.nb >v.nb
		fails_with 1 "nb-merge: attribute $key (want the same universe; see nb-cosmology(7))" 'nb-merge --ids renumber u.nb v.nb'
	done <<-'END'
		@omega0 = 0.4|omega0 is 0.3111 in 'u.nb' and 0.4 in 'v.nb'
		@omega0 = 0|omega0 is 0.3111 in 'u.nb' and 0 in 'v.nb'
		@omega_lambda = 0.5|omega_lambda is 0.6889 in 'u.nb' and 0.5 in 'v.nb'
		@omega_r = 1e-4|omega_r is 0 in 'u.nb' and 0.0001 in 'v.nb'
		@w0 = -0.9|w0 is -1 in 'u.nb' and -0.9 in 'v.nb'
		@wa = 0.1|wa is 0 in 'u.nb' and 0.1 in 'v.nb'
		@H0 = 0.1|H0 is 100 in 'u.nb' and 0.1 in 'v.nb'
	END
	fails_with 1 "omega0 is 0 in 'v.nb' and 0.3111 in 'u.nb'" "nb-calc '@omega0 = 0' u.nb >v.nb && nb-merge --ids renumber v.nb u.nb"
	# a time that only the redshift says
	nb-calc '@time = 0' u.nb >early.nb
	nb-calc '@time = 0; @redshift = 4' u.nb >late.nb
	fails_with 1 "attribute redshift is 9 in 'early.nb' and 4 in 'late.nb'" 'nb-merge --ids renumber early.nb late.nb'
	# what is absent counts as what it stands for; a hundred-millionth is rounding
	nb-calc '@H0 = 0; @omega_lambda += 1e-8; @w0 = -1' u.nb >v.nb
	nb-merge -q --ids renumber u.nb v.nb | nb-stats --attributes >got
	for line in omega0=0.3111 H0=100 redshift=9; do grep -qx "$line" got; done
}

@test "a frame that goes on beside an older one has the redshift of its time" {
	nb-gen lpt -n 8 --box 10 --redshift 9 >u.nb
	nb-calc '@time = 0.2; @redshift = 4' u.nb >v.nb
	cat u.nb v.nb >uv.nb
	for order in 'u.nb uv.nb' 'uv.nb u.nb'; do
		read -ra files <<<"$order"
		nb-merge --last --ids renumber "${files[@]}" 2>err | nb-select --frames last | nb-stats --attributes >got
		equals "$(cat err)" ''
		equals "$(grep -E '^(time|redshift)=' got)" $'time=0.2\nredshift=4'
	done
}

@test "models of other masses have the same units, which G says" {
	for pair in 'plummer --mass 2000 --G 0.0043|king --mass 1000 --G 0.0043|G=0.0043' 'plummer|uniform|G=1' 'plummer|king|Henon: G=1 M=1 E=-1/4'; do
		IFS='|' read -r one two want <<<"$pair"
		# shellcheck disable=SC2086
		nb-gen $one -n 5 >one.nb
		# shellcheck disable=SC2086
		nb-gen $two -n 5 >two.nb
		run --separate-stderr bash -c 'nb-merge --ids renumber one.nb two.nb >both.nb'
		equals "$status$(grep units <<<"$stderr")" 0
		equals "$(nb-stats --attributes both.nb | grep ^units)" "units=$want"
	done
}

@test "units of columns that differ are told" {
	nb-transform --from-units 1pc,1Msun --units pc,Msun,km/s <b.nb | nb-transform --shift 1,1,1 | mutate attribute G 1 >u.nb
	nb-merge --ids renumber a.nb u.nb 2>err >m.nb
	grep -qx "nb-merge: column 'pos' has the unit 'length' in 'a.nb' and 'pc' in 'u.nb': the first is kept" err
}

@test "the history has the lines of all inputs, then its own" {
	nb-gen plummer -n 3 >1.nb
	nb-gen plummer -n 3 -s 5 | nb-transform --shift 1,1,1 >2.nb
	nb-merge --ids offset 1.nb 2.nb | nb-stats --history | sed 's/.*: //' >history
	equals "$(<history)" 'nb-gen -n 3 plummer
nb-gen -n 3 -s 5 plummer
nb-transform --shift 1,1,1
nb-merge --ids offset 1.nb 2.nb'
}

@test "two clusters on a collision course are one line" {
	nb-merge --ids offset --species <(nb-gen plummer -n 200 | nb-transform --shift -2,0,0 --boost 0.3,0,0) \
		<(nb-gen plummer -n 100 -s 2 | nb-transform --scale mass=0.5 --shift 4,0,0 --boost -0.6,0,0) |
		nb-step -d 0.02 -k 5 'nb-force -e 0.1 --potential' | nb-stats --format tsv >s.tsv
	equals "$(stat_of n <s.tsv)" 300
	close_to 1.5 "$(stat_of mass <s.tsv)" 1e-12
	close_to 0 "$(stat_of comx <s.tsv)" 1e-12
	close_to 0 "$(stat_of px <s.tsv)" 1e-12
}

# bats test_tags=linux
@test "folded and not, with files that only its own process can open" {
	cat >lines <<-'END'
		nb-merge --ids renumber <(nb-gen plummer -n 20) <(nb-gen plummer -n 20 -s 2) | nb-force -e 0.1 | nb-stats --format tsv
		nb-merge --ids renumber a.nb b.nb | nb-force -e 0.1 | nb-stats --format tsv
		nb-merge --ids renumber a.nb - <b.nb | nb-force -e 0.1 | nb-stats --format tsv
		nb-gen plummer -n 20 -s 9 | nb-merge --ids renumber a.nb - | nb-force -e 0.1 | nb-stats --format tsv
		nb-gen plummer -n 20 -s 9 | nb-merge --ids renumber a.nb /dev/stdin | nb-force -e 0.1 | nb-stats --format tsv
		nb-merge none.nb a.nb 2>&1 | nb-stats 2>&1
	END
	NB_FOLD=off bash lines >unfolded.txt 2>&1 || :
	NB_FOLD=on bash lines >folded.txt 2>&1 || :
	[ "$(wc -l <unfolded.txt)" -ge 11 ]
	cmp unfolded.txt folded.txt
	export NB_FOLD=on
	folded() { # a busy machine may start a program too late
		local i
		for ((i = 0; i < 20; i++)); do bash -c "$1" 2>&1 >/dev/null | grep -q 'folded: nb-merge | nb-stats' && return; done
		return 1
	}
	folded 'nb-merge -v --ids renumber a.nb b.nb | nb-stats'
	run ! folded 'nb-merge -v --ids renumber <(nb-gen plummer -n 20) b.nb | nb-stats'
	nb-merge -v <(nb-gen plummer -n 20) 2>err | cat >/dev/null
	grep -q "not folded: only this process can open '/dev/fd/" err
}

@test "bad input is told with its file" {
	head -c 1000 b.nb >cut.nb
	fails_with 1 "'cut.nb': truncated stream" 'nb-merge a.nb cut.nb'
	fails_with 1 "'cut.nb': truncated stream" 'nb-merge --ids renumber a.nb <(cat cut.nb)  2>&1 >/dev/null | sed "s,/dev/fd/[0-9]*,cut.nb," >&2; exit ${PIPESTATUS[0]}'
	echo 'text, that is no stream' >text
	fails_with 1 "'text': not a particle stream" 'nb-merge a.nb text'
	fails_with 1 "'absent.nb': No such file or directory" 'nb-merge a.nb absent.nb'
	fails_with 1 "'.': " 'nb-merge a.nb .'
	fails_with 2 'no files given' 'nb-merge <a.nb'
	fails_with 2 'standard input can be read only once' 'nb-merge - - <a.nb'
	mutate set pos 3 1 nan <b.nb >nan.nb
	fails_with 1 "field 'pos' of the body with id 33 is not finite in frame 0" 'nb-merge --ids renumber a.nb nan.nb'
	fails_with 1 'truncated stream' 'nb-merge - </dev/null'
}

@test "memory is that of one frame of output" {
	[ -x "$NB_BIN/../tests/bench/measure" ] || make_here "${NB_BIN%/bin}/tests/bench/measure"
	[[ $NB_BIN == */san/* ]] && skip 'sanitizers use memory of their own'
	nb-gen plummer -n 500000 >big.nb
	"$NB_BIN/../tests/bench/measure" m.txt nb-merge --ids offset <(cat big.nb) <(cat big.nb) | cat >/dev/null
	at_most "$((1000000 * 64 * 12 / 10 + 8000000))" "$(cut -d ' ' -f 3 m.txt)"
}

@test "an input without bodies neither hides a column of another nor adds one" {
	nb-gen plummer -n 3 | nb-calc 'foo = 1' >with.nb
	nb-select --where 'id < 0' <with.nb >none.nb
	nb-gen plummer -n 3 >without.nb
	fails_with 1 "missing in frame 0 of 'without.nb': foo" 'nb-merge --ids renumber none.nb without.nb with.nb'
	fails_with 1 "missing in frame 0 of 'without.nb': foo" 'nb-merge --ids renumber without.nb with.nb none.nb'
	nb-merge --ids renumber none.nb without.nb | nb-stats --fields >fields
	run ! grep -q foo fields
	nb-merge --ids renumber none.nb with.nb | nb-stats --fields | grep -q foo
	nb-merge --ids renumber none.nb none.nb | nb-stats --fields | grep -q foo
}

@test "messages name standard input, and give advice that helps" {
	nb-gen plummer -n 3 >three.nb
	fails_with 1 'id 0 is in frame 0 of standard input and of '"'three.nb'" 'nb-merge - three.nb <three.nb'
	cat three.nb three.nb | nb-select --where 'frame > 0 || id < 2' >grows.nb
	fails_with 1 "ids grow after the first frame: give '--ids renumber'" 'nb-merge --ids offset -o out.nb grows.nb grows.nb'
	fails_with 1 'standard input has 1 frame, and '"'grows.nb'"' has more' 'nb-merge --ids offset -o out.nb - grows.nb <three.nb'
}
