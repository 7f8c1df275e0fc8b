#!/usr/bin/env bats
# nb-stats: measures against values worked out by hand, force errors by id, and what is in a stream.
# as a filter: nb-stats
# as a filter: nb-stats --check
# as a filter: nb-stats --profile --bins 3
# as a filter: nb-stats --orbits heaviest
# as a filter: nb-stats --bound --shape reduced --center density

load helper

bodies() { printf '%s\n' "$@" | nb-convert --from csv --no-history; }
tsv() { nb-stats --format tsv "$@"; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# masses 3 and 1 at a distance of 4, the lighter one faster, and a massless third body far out
two() {
	bodies id,mass,x,y,z,vx,vy,vz 7,3,1,0,0,0,2,0 5,1,-3,0,0,0,-6,0.5 9,0,0,0,50,0,0,0
}

@test "two bodies have the energies, momenta, centre and radii that theory gives them" {
	two | tsv >t
	[ "$(stat_of n <t)" = 3 ]
	[ "$(stat_of mass <t)" = 4 ]
	[ "$(stat_of ekin <t)" = 24.125 ]
	[ "$(stat_of epot <t)" = -0.75 ]
	[ "$(stat_of etot <t)" = 23.375 ]
	close_to "$(awk 'BEGIN { printf "%.17g", 24.125 / 0.75 }')" "$(stat_of virial <t)" 1e-13
	[ "$(stat_of drift <t)" = NA ]
	[ "$(for k in px py pz lx ly lz comx comy comz; do stat_of $k <t; done | tr '\n' ' ')" = '0 0 0.5 0 1.5 24 0 0 0 ' ]
	[ "$(for k in r10 r50 r90 vmax; do stat_of $k <t; done | tr '\n' ' ')" = "1 1 3 $(awk 'BEGIN { printf "%.16g", sqrt(36.25) }') " ]
	[ "$(head -n 1 t | tr '\t' ' ')" = 'frame time n mass ekin epot etot virial drift px py pz lx ly lz comx comy comz r10 r50 r90 vmax' ]
	[ "$(wc -l <t)" -eq 2 ]
}

@test "potential energy obeys G and the softening of the frame or of -e" {
	two | mutate attribute G 10 | tsv | stat_of epot | grep -qx -- -7.5
	close_to -0.6 "$(two | mutate attribute softening 3 | tsv | stat_of epot)" 1e-15
	close_to -0.6 "$(two | mutate attribute softening 1 | tsv -e 3 | stat_of epot)" 1e-15
	two | mutate attribute softening 1 | tsv --softening 0 | stat_of epot | grep -qx -- -0.75
	two | mutate attribute G heavy >bad.nb
	fails_with 1 "attribute G='heavy' of frame 0 is not a number" 'nb-stats <bad.nb'
	two | mutate attribute softening -1 >bad.nb
	fails_with 1 'attribute softening=-1 of frame 0 is negative' 'nb-stats <bad.nb'
}

@test "-b says where to measure: auto is the CPU; it has no place where nothing is measured" {
	cmp <(two | tsv) <(two | tsv -b auto)
	cmp <(two | tsv) <(two | tsv -b cpu)
	two >two.nb
	fails_with 2 "backend 'gpu'" 'nb-stats -b gpu <two.nb'
	fails_with 2 "option '--backend' has no effect with '--check'" 'nb-stats -b cpu --check <two.nb'
	fails_with 2 "option '--backend' has no effect with '--fields'" 'nb-stats -b cpu --fields <two.nb'
}

@test "field pot gives the potential energy, unless -e or --epot say otherwise" {
	bodies id,mass,x,y,z,vx,vy,vz,pot 0,2,0,0,0,1,0,0,-3 1,4,2,0,0,0,0,0,-1.5 >p.nb
	tsv <p.nb | stat_of epot | grep -qx -- -6
	tsv <p.nb | stat_of etot | grep -qx -- -5
	tsv -e 0 <p.nb | stat_of epot | grep -qx -- -4
	tsv --epot direct <p.nb | stat_of epot | grep -qx -- -4
	tsv --epot none <p.nb | stat_of epot | grep -qx NA
	tsv --epot none <p.nb | stat_of etot | grep -qx NA
	run nb-stats -v <p.nb
	[[ ${lines[0]} == *'backend cpu: about '* && ${lines[1]} == *"frame 0: potential energy from field 'pot'" ]]
	run nb-stats -v -e 0.5 <p.nb
	[[ ${lines[1]} == *'by a direct sum, softening 0.5' ]]
	mutate set pot 1 0 nan <p.nb >bad.nb
	fails_with 1 "field 'pot' of the body with id 1 is not finite in frame 0" 'nb-stats <bad.nb'
}

@test "a potential energy that would take too long is absent, with a warning, and never 0" {
	nb-gen uniform -n 65537 >u.nb
	run nb-stats --format tsv <u.nb
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *'potential energy absent: no field '\''pot'\'' and 65537 bodies are too many'* ]]
	for k in epot etot virial drift; do
		[ "$(nb-stats -q --format tsv <u.nb | stat_of $k)" = NA ]
	done
	# a potential of the stream is not used with another softening, and to add one is no help then
	nb-sort-zorder <u.nb | nb-build-tree | nb-force -t 1 --potential >pot.nb
	run nb-stats --format tsv -e 1 <pot.nb
	[[ ${lines[0]} == *"absent: '--softening' excludes field 'pot' and 65537 bodies are too many for a direct sum (give '--epot direct')" ]]
	nb-stats -q --format tsv <u.nb | stat_of ekin | grep -qv NA
	run nb-stats -q <u.nb
	[ "${#lines[@]}" -eq 2 ]
	[ "$(grep -o absent <<<"$output" | wc -l)" -eq 4 ]
}

@test "what needs a missing field is absent, what needs mass or pos is refused" {
	bodies mass,x,y,z 1,0,0,0 1,1,0,0 >p.nb
	for k in ekin etot virial drift px lz vmax; do
		[ "$(tsv <p.nb | stat_of $k)" = NA ]
	done
	[ "$(tsv <p.nb | stat_of epot)" = -1 ]
	bodies x,y,z 0,0,0 >p.nb
	fails_with 1 "field 'mass' missing in frame 0 (stream has: id, pos)" 'nb-stats <p.nb'
	nb-gen plummer -n 4 | mutate drop pos >p.nb
	fails_with 1 "field 'pos' missing in frame 0 (stream has: id, mass, vel)" 'nb-stats <p.nb'
	bodies mass,x,y,z,vx,vy,vz 0,1,0,0,1,2,2 >p.nb
	[ "$(tsv <p.nb | stat_of ekin)" = 0 ]
	[ "$(tsv <p.nb | stat_of comx)" = NA ]
	[ "$(tsv <p.nb | stat_of r50)" = NA ]
	[ "$(tsv <p.nb | stat_of virial)" = NA ]
	[ "$(tsv <p.nb | stat_of vmax)" = 3 ]
}

@test "velocities that lag behind by half a kick are brought up by acc" {
	bodies mass,x,y,z,vx,vy,vz,ax,ay,az 2,0,0,0,1,0,0,4,0,0 | mutate attribute pending_kick 0.5 >p.nb
	[ "$(tsv <p.nb | stat_of ekin)" = 9 ]
	[ "$(tsv <p.nb | stat_of px)" = 6 ]
	mutate drop acc <p.nb >q.nb
	run nb-stats --format tsv <q.nb
	[[ ${lines[0]} == *'velocities lag behind positions'* ]]
	[ "$(nb-stats -q --format tsv <q.nb | stat_of ekin)" = NA ]
	mutate attribute pending_kick 0 <p.nb | tsv | stat_of ekin | grep -qx 1
}

@test "energy drift is against the first frame" {
	{
		printf 'frame,time,mass,x,y,z,vx,vy,vz\n'
		for t in 0 1 2; do
			printf '%s,%s.5,1,0,0,0,0,0,0\n%s,%s.5,1,%s,0,0,%s,0,0\n' $t $t $t $t $((t + 1)) $t
		done
	} | nb-convert --from csv | tsv >t
	# energies -1, 1/2 - 1/2, 2 - 1/3
	[ "$(tail -n +2 t | cut -f 1,2 | tr '\t\n' ' ,')" = '0 0.5,1 1.5,2 2.5,' ]
	[ "$(sed -n 2p t | cut -f 9)" = NA ]
	[ "$(sed -n 3p t | cut -f 9)" = 1 ]
	close_to 2.6666666666666667 "$(stat_of drift <t)" 1e-15
}

# bats test_tags=once
@test "a Plummer sphere has virial ratio 0.5, energy -1/4 and the half-mass radius of theory" {
	nb-gen plummer -n 20000 --rmax 1000 >p.nb
	tsv <p.nb >t
	# T/|W| scatters by about 0.5/sqrt(n); r50 = 3 pi/16 / sqrt(2^(2/3) - 1)
	close_to 0.5 "$(stat_of virial <t)" 0.02
	close_to -0.25 "$(stat_of etot <t)" 0.01
	close_to 0.7686 "$(stat_of r50 <t)" 0.03
	close_to 1 "$(stat_of mass <t)" 1e-12
	for k in px py pz comx comy comz; do
		close_to 0 "$(stat_of $k <t)" 1e-12
	done
}

@test "--lagrangian names its radii, and refuses what is no percentage" {
	two | tsv --lagrangian 75,75.5,100,0.1 >t
	head -n 1 t | grep -q $'\tr75\tr75.5\tr100\tr0.1\t'
	[ "$(for k in r75 r75.5 r100 r0.1; do stat_of $k <t; done | tr '\n' ' ')" = '1 3 3 1 ' ]
	for list in 0 101 -5 10,x '10,,20' '' 10,10 nan; do
		fails_with 2 "invalid lagrangian '$list'" "nb-stats --lagrangian '$list' </dev/null"
	done
	fails_with 2 'want at most 32' "nb-stats --lagrangian $(seq -s , 1 33) </dev/null"
}

@test "json is valid, line by line, with the names and numbers of tsv, and null for what is absent" {
	{ two; bodies mass,x,y,z 1,0,0,0; } >s.nb
	nb-stats --format json <s.nb >s.json
	tsv <s.nb >s.tsv
	python3 - <<-'END'
		import json
		frames = [json.loads(line, parse_constant=lambda c: 1 / 0) for line in open("s.json")]
		names, *rows = [line.rstrip("\n").split("\t") for line in open("s.tsv")]
		assert len(frames) == len(rows) == 2
		for frame, row in zip(frames, rows):
		    assert list(frame) == names
		    assert [None if v == "NA" else float(v) for v in row] == list(frame.values())
		assert frames[0]["epot"] == -0.75 and frames[1]["ekin"] is None
	END
	for mode in --fields --history --attributes; do
		nb-stats $mode --format json <s.nb | python3 -c 'import json, sys
assert [json.loads(line)["frame"] for line in sys.stdin]'
	done
	# a name with quotes, a control character, UTF-8 and a byte that is none
	name=$(printf 'a "quoted" \\ tab\there \303\251 \377 \355\240\200 end')
	echo x,y >"$name"
	nb-convert --from csv "$name" | nb-stats --history --format json | python3 -c 'import json, sys
line = json.loads(sys.stdin.buffer.read().decode("utf-8"))["history"][0]
assert line.endswith("\u0027a \"quoted\" \\ tab\there \u00e9 \ufffd \ufffd\ufffd\ufffd end\u0027"), line'
}

@test "the table is for people: main measures, one line a frame, columns below their names" {
	two >p.nb
	run nb-stats <p.nb
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[0]} == 'frame       time          n       ekin       epot       etot     virial      drift        r10        r50        r90' ]]
	[[ ${lines[1]} == '    0          0          3      24.12      -0.75      23.38      32.17     absent          1          1          3' ]]
}

@test "0, 1, 2, 255 and 257 bodies are measured and checked" {
	for n in 0 1 2 255 257; do
		nb-gen plummer -n $n >p.nb
		[ "$(tsv <p.nb | stat_of n)" = $n ]
		size=$(stat -c %s p.nb)
		nb-stats --check <p.nb | grep -qx "ok: 1 frames, $n bodies, $size bytes"
	done
	tsv --lagrangian 50 < <(nb-gen plummer -n 0) >t
	[ "$(tail -n 1 t | cut -f 4-)" = "$(printf '0\t0\t0\t0\tNA\tNA\t0\t0\t0\t0\t0\t0\tNA\tNA\tNA\tNA\tNA')" ]
}

@test "1, 2 and 3 threads give the same bytes" {
	nb-gen plummer -n 20000 >p.nb
	tsv -j 1 --epot none <p.nb >one
	for j in 2 3; do
		tsv -j $j --epot none <p.nb | cmp one -
	done
}

# acc of four bodies, by id
ref() { bodies id,x,y,z,ax,ay,az 1,0,0,0,10,0,0 2,1,0,0,0,10,0 3,2,0,0,0,0,10 4,3,0,0,0,0,40; }

@test "--compare matches bodies by id and gives the errors worked out by hand" {
	ref >ref.nb
	bodies id,x,y,z,ax,ay,az 4,3,0,0,0,0,40 2,1,0,0,1,10,0 1,0,0,0,10,0,2 3,2,0,0,0,0,7 >a.nb
	tsv --compare ref.nb <a.nb >t
	[ "$(head -n 1 t | tr '\t' ' ')" = 'frame time n compared median rms p99 max rms_ratio' ]
	[ "$(stat_of n <t)" = 4 ]
	[ "$(stat_of compared <t)" = 4 ]
	# errors 0.2, 0.1, 0.3, 0
	close_to 0.15 "$(stat_of median <t)" 1e-15
	close_to "$(awk 'BEGIN { printf "%.17g", sqrt(0.14 / 4) }')" "$(stat_of rms <t)" 1e-15
	close_to 0.297 "$(stat_of p99 <t)" 1e-15
	close_to 0.3 "$(stat_of max <t)" 1e-15
	close_to "$(awk 'BEGIN { printf "%.17g", sqrt(14 / 1900) }')" "$(stat_of rms_ratio <t)" 1e-15
	nb-stats --compare ref.nb --format json <a.nb | python3 -c 'import json, sys; assert json.load(sys.stdin)["max"] == 0.3'
	run nb-stats --compare ref.nb <a.nb
	[[ ${lines[1]} == *'0.15     0.1871      0.297        0.3'* ]]
	# the same, of itself
	cp a.nb b.nb
	[ "$(tsv --compare a.nb <b.nb | stat_of max)" = 0 ]
}

@test "--compare takes a sample, and refuses ids that do not match" {
	ref >all.nb
	bodies id,ax,ay,az,x,y,z 3,0,0,5,2,0,0 1,10,0,0,0,0,0 >some.nb
	tsv --compare some.nb <all.nb >t
	[ "$(stat_of compared <t)" = 2 ]
	[ "$(stat_of max <t)" = 1 ]
	fails_with 1 "frame 0 has no body with the id 2 of 'all.nb'" 'nb-stats --compare all.nb <some.nb'
	mutate set id 1 0 4 <all.nb >twice.nb
	fails_with 1 'id 4 appears twice in frame 0 (bodies 1 and 3)' 'nb-stats --compare all.nb <twice.nb'
	fails_with 1 "id 4 appears twice in frame 0 of 'twice.nb'" 'nb-stats --compare twice.nb <all.nb'
	mutate drop acc <all.nb >bare.nb
	fails_with 1 "field 'acc' missing in frame 0 of 'bare.nb'" 'nb-stats --compare bare.nb <all.nb'
	fails_with 1 "field 'acc' missing in frame 0 (stream has: id, pos)" 'nb-stats --compare all.nb <bare.nb'
	mutate drop id <all.nb >anon.nb
	fails_with 1 "field 'id' missing in frame 0 of 'anon.nb'" 'nb-stats --compare anon.nb <all.nb'
	mutate set acc 2 1 nan <all.nb >nan.nb
	fails_with 1 "field 'acc' of the body with id 3 is not finite" 'nb-stats --compare all.nb <nan.nb'
	fails_with 1 "field 'acc' of the body with id 3 is not finite" 'nb-stats --compare nan.nb <all.nb'
	bodies id,x,y,z,ax,ay,az >none.nb
	fails_with 1 "frame 0 of 'none.nb' has no bodies to compare with" 'nb-stats --compare none.nb <all.nb'
	bodies id,x,y,z,ax,ay,az | tsv --compare none.nb | stat_of max | grep -qx NA
	fails_with 1 "'missing.nb': No such file" 'nb-stats --compare missing.nb <all.nb'
	head -c 700 all.nb >cut.nb
	fails_with 1 "'cut.nb': truncated stream" 'nb-stats --compare cut.nb <all.nb'
}

@test "--compare pairs frames, or takes one frame for all" {
	ref >ref.nb
	cat ref.nb ref.nb ref.nb >three.nb
	mutate set acc 0 0 11 <ref.nb >off.nb
	cat ref.nb off.nb ref.nb >a.nb
	[ "$(tsv --compare ref.nb <a.nb | cut -f 8 | tr '\n' ' ')" = 'max 0 0.1 0 ' ]
	[ "$(tsv --compare three.nb <a.nb | cut -f 8 | tr '\n' ' ')" = 'max 0 0.1 0 ' ]
	cp a.nb b.nb
	[ "$(tsv --compare a.nb <b.nb | cut -f 8 | tr '\n' ' ')" = 'max 0 0 0 ' ]
	cat ref.nb ref.nb >two.nb
	run bash -c 'nb-stats --compare two.nb <three.nb >out'
	[ "$status" -eq 1 ]
	[[ $output == *"'two.nb' has 2 frames, but the stream has more" ]]
	run bash -c 'nb-stats --compare three.nb <two.nb >out'
	[ "$status" -eq 1 ]
	[[ $output == *"'three.nb' has more frames than the 2 of the stream" ]]
}

@test "--compare warns when softening or G are others" {
	nb-gen plummer -n 20 | nb-force -e 0.01 >soft.nb
	nb-gen plummer -n 20 | nb-force -e 0.02 >softer.nb
	run nb-stats --compare soft.nb <softer.nb
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *"softening is 0.02 in frame 0 and 0.01 in 'soft.nb'" ]]
	nb-gen plummer -n 20 | nb-force -e 0.01 --G 2 >strong.nb
	run nb-stats --compare soft.nb <strong.nb
	[[ ${lines[0]} == *"G is 2 in frame 0 and 1 in 'soft.nb'" ]]
	run nb-stats --compare soft.nb < <(cat soft.nb)
	[ "${#lines[@]}" -eq 2 ]
}

@test "--compare warns when the bodies stand elsewhere" {
	ref >ref.nb
	mutate set pos 2 1 0.001 <ref.nb >moved.nb
	run nb-stats --compare ref.nb <moved.nb
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *"the body with id 3 is elsewhere in 'ref.nb' than in frame 0" ]]
	run nb-stats -q --compare ref.nb <moved.nb
	[ "${#lines[@]}" -eq 2 ]
}

@test "vanishing accelerations: equal ones have no error, others an infinite one" {
	bodies id,x,y,ax,ay 0,0,0,0,0 >zero.nb
	bodies id,x,y,ax,ay 0,0,0,1,0 >one.nb
	cp zero.nb same.nb
	[ "$(tsv --compare zero.nb <same.nb | cut -f 5- | tail -n 1)" = "$(printf '0\t0\t0\t0\t0')" ]
	[ "$(tsv --compare zero.nb <one.nb | cut -f 5- | tail -n 1)" = "$(printf 'inf\tinf\tinf\tinf\tinf')" ]
	nb-stats --compare zero.nb --format json <one.nb | python3 -c 'import json, sys; assert json.load(sys.stdin)["max"] is None'
}

@test "--fields lists columns, and again where they change" {
	nb-gen plummer -n 10 --precision f32 >p.nb
	nb-stats --fields --format tsv <p.nb | diff - <(printf '%b\n' \
		'frame\tname\ttable\ttype\tcomponents\tunit\trows\tbytes' '0\tid\tparticle\t<u8\t1\t\t10\t80' \
		'0\tmass\tparticle\t<f4\t1\tmass\t10\t40' '0\tpos\tparticle\t<f4\t3\tlength\t10\t120' \
		'0\tvel\tparticle\t<f4\t3\tvelocity\t10\t120')
	run nb-stats --fields <p.nb
	[[ ${lines[1]} == *'id '*'particle '*'<u8 '*' 1 -'*' 10 '*' 80' ]]
	nb-stats --fields --format json <p.nb | sed -n 3p | python3 -c 'import json, sys
assert json.load(sys.stdin) == dict(frame=0, name="pos", table="particle", type="<f4", components=3, unit="length", rows=10, bytes=120)'
	mutate add strange <p.nb >q.nb
	[ "$(cat p.nb p.nb q.nb q.nb | nb-stats --fields --format tsv | cut -f 1 | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')" = '1 frame 4 0 5 2 ' ]
	nb-gen plummer -n 11 --precision f32 | cat p.nb - | nb-stats --fields --format tsv | cut -f 1,7 | tail -n 1 | grep -qx $'1\t11'
}

@test "--history prints what made the stream, --attributes the rest" {
	nb-gen plummer -n 10 -s 3 >p.nb
	run nb-stats --history <p.nb
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == 'nb-gen '*': nb-gen '*'-n 10 -s 3'* ]]
	nb-gen plummer -n 3 >q.nb
	cat p.nb p.nb q.nb | nb-stats --history --format tsv | cut -f 1 | tr '\n' ' ' | grep -qx 'frame 0 2 '
	cat p.nb q.nb | nb-stats --history | grep -c '^$' | grep -qx 1
	nb-stats --attributes <p.nb >attributes
	grep -qx seed=3 attributes
	run grep history attributes
	[ "$status" -eq 1 ]
	nb-stats --attributes --format tsv <p.nb | grep -qx $'0\tseed\t3'
	mutate attribute note $'\033[31mred' <p.nb | nb-stats --attributes | grep -qx 'note=?\[31mred'
}

@test "--check counts frames, bodies and bytes, from a file and from a pipe" {
	nb-gen plummer -n 1000 >p.nb
	cat p.nb p.nb p.nb >s.nb
	want="ok: 3 frames, 3000 bodies, $(stat -c %s s.nb) bytes"
	[ "$(nb-stats --check <s.nb)" = "$want" ]
	pipeline 'cat s.nb | nb-stats --check'
	[ "$output" = "$want" ]
}

@test "--check names the body that has a NaN, an infinity or a negative mass, wherever ids come from" {
	n=20000
	nb-gen plummer -n $n >p.nb
	nb-convert -q --no-comments --to csv <p.nb | awk -F , -v OFS=, 'NR > 1 { $1 = ($1 * 7919) % 20000 } 1' | nb-convert --from csv >shuffled.nb
	nb-convert -q --no-comments --to csv <p.nb | awk -F , -v OFS=, 'NR > 1 { $1 = sprintf("%.0f", $1 + 5000000000) } 1' | nb-convert --from csv >later.nb
	mutate drop id <p.nb >anon.nb
	for field in pos vel mass; do
		for value in nan inf -inf; do
			mutate set $field 17001 0 $value <p.nb >bad.nb
			fails_with 1 "field '$field' of the body with id 17001 is not finite in frame 0" 'nb-stats --check <bad.nb'
		done
	done
	mutate set vel 17001 2 nan <shuffled.nb >bad.nb
	fails_with 1 "body with id $((17001 * 7919 % n)) is not finite" 'cat bad.nb | nb-stats --check'
	mutate set vel 19999 2 nan <later.nb >bad.nb
	fails_with 1 'body with id 5000019999 is not finite' 'nb-stats --check <bad.nb'
	# ids that count up for more than a block of the reader, then do not
	nb-convert -q --no-comments --to csv <p.nb | awk -F , -v OFS=, 'NR > 1 { $1 = NR > 19000 ? 90000 - NR : 500 + NR }  1' |
		nb-convert --from csv | mutate set mass 7 0 nan >bad.nb
	fails_with 1 'body with id 509 is not finite' 'nb-stats --check <bad.nb'
	mutate set pos 3 2 nan <anon.nb >bad.nb
	fails_with 1 'body with id 3 is not finite' 'nb-stats --check <bad.nb'
	mutate set mass 4 0 -0.5 <p.nb >bad.nb
	fails_with 1 "field 'mass' of the body with id 4 is negative" 'nb-stats --check <bad.nb'
	mutate set mass 4 0 -0.0 <p.nb | nb-stats --check
	mutate set mass 9000 0 inf <p.nb | mutate set pos 30 0 nan >bad.nb
	fails_with 1 "field 'pos' of the body with id 30 is not finite" 'nb-stats --check <bad.nb'
	nb-gen plummer -n 300 --precision f32 | mutate set pos 250 1 inf >bad.nb
	fails_with 1 "field 'pos' of the body with id 250 is not finite" 'nb-stats --check <bad.nb'
	nb-gen plummer -n 300 --precision f32 | nb-stats --check
	cat p.nb bad.nb >second.nb
	fails_with 1 'is not finite in frame 1' 'nb-stats --check <second.nb'
	# a number that is not finite because of damage is damage
	mutate flip 400008 <p.nb >bad.nb
	fails_with 1 'has the wrong CRC' 'nb-stats --check <bad.nb'
}

@test "--check finds an id that appears twice, also where ids have another width" {
	nb-gen plummer -n 300 >p.nb
	nb-stats --check <p.nb
	mutate set id 250 0 3 <p.nb >bad.nb
	fails_with 1 'id 3 appears twice in frame 0 (bodies 3 and 250)' 'nb-stats --check <bad.nb'
	mutate set id 0 0 123456789012345 <bad.nb >far.nb
	fails_with 1 'id 3 appears twice in frame 0 (bodies 3 and 250)' 'nb-stats --check <far.nb'
	cat >narrow.py <<-'END'
		import sys
		code = open(sys.argv[1]).read().rsplit("if __name__", 1)[0]
		exec(code)
		frame = Frame(sys.stdin.buffer.read())
		i = frame.index("id")
		ids = struct.unpack("<300Q", frame.contents[i])
		frame.contents[i] = bytearray(struct.pack("<300H", *ids))
		frame.entries[i][32:40] = b"<u2\0\0\0\0\0"
		sys.stdout.buffer.write(frame.encode())
	END
	end=$(($(stat -c %s p.nb) - 128))
	{ python3 narrow.py "$NB_TOP/tests/mutate.py" <bad.nb; tail -c +$((end + 1)) p.nb; } >narrow.nb
	nb-stats --fields <narrow.nb | grep -q '<u2'
	fails_with 1 'id 3 appears twice in frame 0 (bodies 3 and 250)' 'nb-stats --check <narrow.nb'
	{ python3 narrow.py "$NB_TOP/tests/mutate.py" <p.nb; tail -c +$((end + 1)) p.nb; } >narrow.nb
	nb-stats --check <narrow.nb
	tsv <narrow.nb | stat_of n | grep -qx 300
}

@test "a broken stream gives no measures, or those before the break and exit 1" {
	nb-gen plummer -n 100 >p.nb
	head -c 3000 p.nb >cut.nb
	for mode in '' --check --fields --history --attributes '--format json'; do
		fails_with 1 'truncated stream' "nb-stats $mode <cut.nb"
		fails_with 1 'truncated stream' "nb-stats $mode </dev/null"
	done
	cat p.nb cut.nb >s.nb
	run bash -c 'nb-stats --format tsv <s.nb 2>/dev/null'
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 2 ]
	mutate set vel 42 1 nan <p.nb >bad.nb
	fails_with 1 "field 'vel' of the body with id 42 is not finite in frame 0" 'nb-stats <bad.nb'
}

@test "a full disk is noticed in every mode" {
	ref >p.nb
	nb-gen plummer -n 10 >q.nb
	for mode in '' --check --fields --history --attributes '--format tsv' '--format json'; do
		fails_with 1 'write error: No space left' "nb-stats $mode <q.nb >/dev/full"
	done
	fails_with 1 'write error: No space left' 'nb-stats --compare p.nb <p.nb >/dev/full'
}

@test "wrong usage of nb-stats exits 2" {
	fails_with 2 'exclude each other' 'nb-stats --check --fields </dev/null'
	fails_with 2 'exclude each other' 'nb-stats --compare x --history </dev/null'
	fails_with 2 "option '--softening' has no effect with '--check'" 'nb-stats --check -e 1 </dev/null'
	fails_with 2 "option '--lagrangian' has no effect with '--compare'" 'nb-stats --compare x --lagrangian 10 </dev/null'
	fails_with 2 "option '--epot' has no effect with '--attributes'" 'nb-stats --attributes --epot none </dev/null'
	fails_with 2 "option '--format' has no effect with '--check'" 'nb-stats --check --format tsv </dev/null'
	fails_with 2 "option '--softening' has no effect with '--epot none'" 'nb-stats --epot none -e 0 </dev/null'
	fails_with 2 "invalid softening '-1' (want a number >= 0)" 'nb-stats -e -1 </dev/null'
	fails_with 2 "invalid format 'xml' (want table|tsv|json)" 'nb-stats --format xml </dev/null'
	fails_with 2 "invalid epot 'often' (want auto|direct|none)" 'nb-stats --epot often </dev/null'
	fails_with 2 "unknown option '--nonsense'" 'nb-stats --nonsense </dev/null'
	fails_with 1 "'file.nb': No such file or directory" 'nb-stats file.nb </dev/null'
	: >file.nb
	fails_with 1 "'file.nb': truncated stream: empty input" 'nb-stats file.nb </dev/null'
}

# ---- centres, species, numbers ---------------------------------------------------------------------

# masses 1 at x = 0, 1, 2, 10 and 5 at x = 40; species 0 0 1 1 3
line() {
	bodies id,mass,species,x,y,z,vx,vy,vz 4,1,0,0,0,0,0,0,0 5,1,0,1,0,0,1,0,0 6,1,1,2,0,0,0,2,0 7,1,1,10,0,0,0,0,3 8,5,3,40,0,0,0,0,0
}

radii() { tsv --lagrangian 10,50,100 "$@" | tail -n 1 | cut -f 19-21 | tr '\t' ' '; }

@test "--center says where radii are measured from: the centre of mass by default" {
	line >l.nb
	com=$(awk 'BEGIN { printf "%.17g", 213 / 9 }')
	equals "$(radii <l.nb)" "$(radii --center com <l.nb)"
	close_to "$(awk -v c="$com" 'BEGIN { printf "%.17g", c - 10 }')" "$(radii <l.nb | cut -d ' ' -f 1)" 1e-13
	equals "$(radii --center origin <l.nb)" '0 40 40'
	equals "$(radii --center 1,0,0 <l.nb)" '0 39 39'
	equals "$(radii --center 0,3 <l.nb | cut -d ' ' -f 1)" 3
	equals "$(radii --center id:7 <l.nb)" '0 30 30'
	nb-gen uniform --dim 2 -n 3 >flat.nb
	fails_with 1 "'--center 1,2,3' is not in the plane of frame 0, which has 2 dimensions" 'nb-stats --center 1,2,3 <flat.nb'
	cmp <(tsv --center 1,2,0 <flat.nb) <(tsv --center 1,2 <flat.nb)
	equals "$(tsv <l.nb | tail -n 1 | cut -f 1-18)" "$(tsv --center id:7 <l.nb | tail -n 1 | cut -f 1-18)"
	fails_with 1 "frame 0 has no body with the id 9 of '--center'" 'nb-stats --center id:9 <l.nb'
	mutate drop id <l.nb | radii --center id:3 | grep -qx '0 30 30'
	mutate drop id <l.nb >anon.nb
	fails_with 1 "no body with the id 5 of '--center'" 'nb-stats --center id:5 <anon.nb'
}

@test "--center density finds the dense part that a distant crowd draws the centre of mass away from" {
	{
		nb-gen plummer -n 3000 | nb-convert --no-comments --to csv
		nb-gen uniform -n 1000 -s 5 | nb-convert --no-comments --to csv | awk -F , -v OFS=, -v CONVFMT=%.17g 'NR > 1 { $1 += 3000; $3 = 100 + 30 * $3; $4 *= 30; $5 *= 30; print }'
	} | nb-convert --from csv >crowd.nb
	tsv --epot none <crowd.nb >com
	tsv --epot none --center density --lagrangian 30 <crowd.nb >dense
	awk -v x="$(stat_of comx <com)" 'BEGIN { exit !(x > 20) }'
	# masses are 1 in all for both
	awk -v r="$(stat_of r30 <dense)" 'BEGIN { exit !(r > 0.5 && r < 2) }'
	# which moves with the bodies
	nb-convert --no-comments --to csv <crowd.nb | awk -F , -v OFS=, -v CONVFMT=%.17g 'NR > 1 { $3 += 1000; $5 -= 7 } 1' | nb-convert --from csv |
		tsv --epot none --center density --lagrangian 30 | stat_of r30 >moved
	close_to "$(stat_of r30 <dense)" "$(cat moved)" 1e-9
}

# bats test_tags=once
@test "the centre of density of Plummer spheres is where it should be, and so is the core, with the errors that the page says" {
	column() { awk -F '\t' -v key="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == key) c = i; next } { print $c }'; }
	for case in '1000 0.0531 0.05' '10000 0.0131 0.02'; do
		read -r n error spread <<<"$case"
		# the spheres are about the origin; boosted, for the angular momentum about it
		for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do nb-gen plummer -n "$n" -s $seed; done >spheres.nb
		nb-transform --recenter density -v spheres.nb 2>&1 >centred.nb |
			sed -n 's/.*centre at (\(.*\), \(.*\), \(.*\))/\1 \2 \3/p' |
			awk -v most="$error" '{ s += $1^2 + $2^2 + $3^2 } END { exit !(NR == 12 && sqrt(s / NR) <= most) }'
		tsv --epot none --center density <centred.nb >t
		# 0.679 scale radii of 3 pi / 16
		column rcore <t | awk -v d="$spread" '{ s += $1; ss += $1^2 } END { m = s / NR; v = sqrt(ss / NR - m^2) / m
			exit !(NR == 12 && m > 0.395 && m < 0.412 && v > d / 2 && v < 1.5 * d) }'
	done
	# about the centre, which is at rest at the origin here, whatever the bodies do together
	for k in x y z; do column "l$k" <t >l; column "lc$k" <t | paste l - | awk '{ exit !(($1 - $2)^2 < 1e-24) }'; done
	nb-transform --shift 3,4,5 --boost 6,-7,8 centred.nb | tsv --epot none --center density >moved
	for k in x y z; do
		column "lc$k" <t >l
		column "lc$k" <moved | paste l - | awk '{ bad = bad || !(($1 - $2)^2 < 1e-20) } END { exit bad || NR != 12 }'
	done
}

@test "few bodies, none and those in one place have a centre of density, and a core where there can be one" {
	for case in '0 NA' '1 NA' '5 NA' '32 NA' '33 0'; do
		read -r n core <<<"$case"
		nb-gen plummer -n "$n" | nb-calc 'x = 1' 'y = 2' 'z = 3' | tsv --epot none --center density >t
		equals "$(stat_of rcore <t)" "$core"
		[ "$n" = 0 ] || at_most 1e-15 "$(stat_of r90 <t)"
	done
}

@test "--by-number counts bodies instead of masses" {
	line >l.nb
	equals "$(radii --by-number --center origin <l.nb)" '0 2 40'
	bodies mass,x,y,z 0,1,0,0 0,2,0,0 >massless.nb
	equals "$(tsv --by-number --center origin --lagrangian 50,100 <massless.nb | tail -n 1 | cut -f 19,20)" $'1\t2'
	equals "$(tsv --center origin --lagrangian 50 <massless.nb | stat_of r50)" NA
}

@test "--by species has a line for each species, and they add up to all" {
	line >l.nb
	tsv --by species --center origin --lagrangian 100 <l.nb >t
	equals "$(head -n 1 t | tr '\t' ' ')" 'frame time species n mass ekin epot etot px py pz lx ly lz comx comy comz r100 vmax'
	equals "$(tail -n +2 t | cut -f 3-6,15,18,19 | tr '\t\n' ' ,')" '0 2 2 0.5 0.5 1 1,1 2 2 6.5 6 10 3,3 1 5 0 40 40 0,'
	# half of the energy of each pair: with each other -1
	close_to "$(awk 'BEGIN { printf "%.17g", -1 - (1/2 + 1/10 + 1 + 1/9 + 5/40 + 5/39) / 2 }')" "$(sed -n 2p t | cut -f 7)" 1e-14
	for column in 4 5 6 7 8 9 10 11; do
		all=$(tsv <l.nb | awk -F '\t' -v name="$(head -n 1 t | cut -f $column)" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } END { print $c }')
		close_to "$all" "$(tail -n +2 t | awk -F '\t' -v c=$column '{ sum += $c } END { printf "%.17g", sum }')" 1e-13
	done
	bodies id,mass,species,x,y,z,pot 0,2,0,0,0,0,-3 1,4,5,2,0,0,-1.5 | tsv --by species | tail -n +2 | cut -f 3,7 | tr '\t\n' ' ,' | grep -qx '0 -3,5 -3,'
}

@test "--species restricts what is measured, and keeps its order" {
	line >l.nb
	tsv --species 3,0 --center origin --lagrangian 100 <l.nb >t
	equals "$(tail -n 1 t | cut -f 1-5 | tr '\t' ' ')" '0 0 3 7 0.5'
	equals "$(stat_of r100 <t)" 40
	run stat_of drift <t
	[ "$status" -ne 0 ]
	tsv --by species --species 3,2,0 <l.nb | tail -n +2 | cut -f 3,4 | tr '\t\n' ' ,' | grep -qx '3 1,2 0,0 2,'
	bodies mass,x,y,z 1,0,0,0 >p.nb
	fails_with 1 "field 'species' missing in frame 0" 'nb-stats --by species <p.nb'
	bodies id,mass,species,x,y,z | tsv --by species | wc -l | grep -qx 1
}

# ---- drift -----------------------------------------------------------------------------------------

@test "drift is relative to the energy that the run has left in the frame, also for the first frame" {
	bodies mass,x,y,z,vx,vy,vz 1,0,0,0,0,0,0 1,2,0,0,0,0,0 >p.nb # energy -1/2
	mutate attribute etot0 -0.4 <p.nb >q.nb
	equals "$(tsv <p.nb | stat_of drift)" NA
	close_to -0.25 "$(tsv <q.nb | stat_of drift)" 1e-15
	close_to -0.25 "$(cat p.nb q.nb | tsv | stat_of drift)" 1e-15
	# nothing is known of bodies at the same time, or back in time again
	equals "$(cat q.nb p.nb p.nb | tsv | stat_of drift)" NA
	for x in 1 2 4; do mutate attribute time $x <p.nb >t$x.nb; done
	equals "$(cat t1.nb t2.nb t4.nb t1.nb t2.nb t1.nb | tsv | tail -n +2 | cut -f 9 | paste -sd ' ')" 'NA 0 0 NA 0 NA'
	equals "$(cat t4.nb t2.nb t1.nb t1.nb | tsv | tail -n +2 | cut -f 9 | paste -sd ' ')" 'NA 0 0 NA'
	# of another law, or computed in another way, it is no reference
	equals "$(tsv -e 0 <q.nb | stat_of drift)" NA
	equals "$(tsv --epot direct <q.nb | stat_of drift)" NA
	mutate attribute etot0 much <p.nb >bad.nb
	fails_with 1 "attribute etot0='much' of frame 0 is not a number" 'nb-stats <bad.nb'
	# nb-force with another softening or another G drops it
	mutate attribute softening 0.5 <q.nb >s.nb
	equals "$(nb-force <s.nb | nb-stats --attributes | grep etot0)" etot0=-0.4
	equals "$(nb-force -e 0.5 --G 1 <s.nb | nb-stats --attributes | grep etot0)" etot0=-0.4
	equals "$(nb-force -e 0.2 <s.nb | nb-stats --attributes | grep -c etot0)" 0
	equals "$(nb-force --G 2 <s.nb | nb-stats --attributes | grep -c etot0)" 0
	for same in 'nb-transform --shift 1,2,3 --rotate z:30' 'nb-select --sort -mass' "nb-calc 'e = v2'"; do
		equals "$(bash -c "$same" <s.nb | nb-stats --attributes | grep etot0)" etot0=-0.4
	done
	for other in 'nb-transform --boost 1,0,0' 'nb-transform --scale mass=2' 'nb-select --sample 0.5' "nb-calc 'vx = 2*vx'" 'nb-merge -'; do
		equals "$(bash -c "$other" <s.nb | nb-stats --attributes | grep -c etot0)" 0
	done
}

# ---- profiles --------------------------------------------------------------------------------------

@test "--profile has the bins worked out by hand" {
	bodies mass,x,y,z,vx,vy,vz 1,1,0,0,2,3,0 3,0,2,0,-1,4,0 1,0,-2,0,5,-4,0 5,0,0,4,0,0,1 >p.nb
	tsv --profile --center origin --axis z --spacing linear --bins 2 --range 0:4 <p.nb >t
	equals "$(head -n 1 t | tr '\t' ' ')" \
		'frame time bin rmin rmax r n mass mwithin density vx vy vz vr vphi sigma_r sigma_theta sigma_phi sigma_t beta vcirc'
	# in the first bin: vr 2, 4, 4 and vphi 3, 1, 5 with masses 1, 3, 1
	equals "$(sed -n 2p t | cut -f 3-5,7-9 | tr '\t' ' ')" '0 0 2 3 5 5'
	awk -F '\t' 'function near(x, y) { if (!(x - y < 1e-14 && y - x < 1e-14)) { print x, "is not", y; bad = 1 } }
		NR == 2 { near($6, 9 / 5); near($10, 5 / (32 * atan2(0, -1) / 3)); near($11, 4 / 5); near($12, 11 / 5)
			near($14, 18 / 5); near($15, 11 / 5); near($16, sqrt((4 + 64) / 5 - 3.6 ^ 2))
			near($18, sqrt((9 + 3 + 25) / 5 - 2.2 ^ 2)); near($19, $18 / sqrt(2)); near($20, 1 - ($19 / $16) ^ 2)
			near($21, sqrt(5 / 2)) }
		END { exit bad }' t
	equals "$(sed -n 3p t | cut -f 3-9,14,16,20 | tr '\t' ' ')" '1 2 4 4 1 5 10 1 0 NA'
	run nb-stats --profile --center origin --bins 2 <p.nb
	[[ ${lines[0]} == 'frame       time          r          n       mass    density         vr       vphi    sigma_r    sigma_t       beta' ]]
	[ "${#lines[@]}" -eq 3 ]
	nb-stats --profile --center origin --bins 2 --format json <p.nb | python3 -c 'import json, sys
lines = [json.loads(line) for line in sys.stdin]
assert [b["bin"] for b in lines] == [0, 1] and lines[1]["beta"] is None and lines[1]["mwithin"] == 10'
}

@test "--profile of a Plummer sphere: its density, isotropic, at rest, in bins of equal mass" {
	nb-gen plummer -n 20000 --rmax 1000 | nb-convert --no-comments --to csv | awk -F , -v OFS=, -v CONVFMT=%.17g 'NR > 1 { $3 += 30; $6 += 8 } 1' | nb-convert --from csv >p.nb
	tsv --profile --bins 10 <p.nb >t
	# scale radius 3 pi / 16; the mass within r is (1 + (a / r)^2)^(-3/2)
	awk -F '\t' 'NR > 1 { a = 3 * atan2(0, -1) / 16; n++
		bad += !($7 == 2000 && $8 > 0.0999 && $8 < 0.1001)
		if (n < 10) { m = (1 + (a / $5) ^ 2) ^ -1.5; bad += !(m - $9 < 0.012 && $9 - m < 0.012) }
		rho = 3 / (4 * atan2(0, -1) * a ^ 3) * (1 + ($6 / a) ^ 2) ^ -2.5
		if (n > 1 && n < 10) bad += !($10 / rho > 0.85 && $10 / rho < 1.15)
		bad += !($14 < 0.03 && $14 > -0.03 && $15 < 0.03 && $15 > -0.03 && $20 < 0.12 && $20 > -0.12)
		sigma = sqrt(1 / (6 * sqrt($6 ^ 2 + a ^ 2)))
		if (n < 10) bad += !($16 / sigma > 0.95 && $16 / sigma < 1.05)
		bad += !($11 < 1e-1 && $11 > -1e-1)
	} END { exit bad || n != 10 }' t
}

@test "bins are spaced as asked, and --range and --center obeyed" {
	nb-gen plummer -n 1000 >p.nb
	tsv --profile --spacing log --bins 3 --range 0.1:2.7 <p.nb | tail -n +2 | cut -f 4,5 | tr '\t' '\n' | sed -n '1p;2p;4p;6p' >edges
	paste edges <(printf '0.1\n0.3\n0.9\n2.7\n') | while read -r got want; do close_to "$want" "$got" 1e-14; done
	tsv --profile --spacing log --bins 30 <p.nb | awk -F '\t' 'NR > 1 { n += $7 } END { exit n != 1000 }'
	tsv --profile --spacing linear --bins 30 <p.nb | awk -F '\t' 'NR > 1 { n += $7 } END { exit n != 1000 }'
	tsv --profile --spacing linear --bins 4 --range 2: <p.nb | sed -n 2p | cut -f 4 | grep -qx 2
	tsv --profile --bins 5 --range :1 <p.nb | awk -F '\t' 'NR > 1 { n[$7]++; last = $5 } END { exit !(last == 1 && length(n) <= 2) }'
	# of bodies that weigh differently, by mass and by number
	line >l.nb
	equals "$(tsv --profile --bins 2 --center origin <l.nb | cut -f 7 | tr '\n' ' ')" 'n 5 0 '
	equals "$(tsv --profile --bins 5 --by-number --center origin <l.nb | cut -f 5,6 | tr '\t\n' ' ,')" 'rmax r,0 0,1 1,2 2,10 10,40 40,'
	equals "$(tsv --profile --by species --spacing linear --bins 2 --center origin <l.nb | cut -f 3,4,8 | tr '\t\n' ' ,')" \
		'species bin n,0 0 2,0 1 0,1 0 2,1 1 0,3 0 0,3 1 1,'
	equals "$(tsv --profile --species 3 --bins 1 --center id:8 <l.nb | sed -n 2p | cut -f 6,7,11 | tr '\t' ' ')" '0 1 0'
}

@test "rotation is about the angular momentum, or the axis that is asked for" {
	# a ring of 36 bodies in the plane of y and z that turns clockwise seen from x, about a centre that moves
	awk 'BEGIN { print "mass,x,y,z,vx,vy,vz"; for (i = 0; i < 36; i++) { p = i * atan2(0, -1) / 18
		printf "1,5,%.17g,%.17g,100,%.17g,%.17g\n", 2 * cos(p), 2 * sin(p), 3 * sin(p), -3 * cos(p) } }' |
		nb-convert --from csv >ring.nb
	for axis in angular x y; do
		tsv --profile --bins 1 --axis $axis <ring.nb >"$axis"
	done
	close_to 3 "$(stat_of vphi <angular)" 1e-13
	close_to 0 "$(stat_of vr <angular)" 1e-13
	close_to 0 "$(stat_of vx <angular)" 1e-13
	close_to -3 "$(stat_of vphi <x)" 1e-13
	close_to 0 "$(stat_of vphi <y)" 1e-13
	nb-gen plummer -n 30 | mutate attribute pending_kick 0.5 >late.nb
	tsv -q --profile --bins 1 <late.nb | stat_of sigma_r | grep -qx NA
	nb-force <late.nb | tsv --profile --bins 1 | stat_of sigma_r | grep -qvx NA
}

@test "--rings has the bins worked out by hand, about any axis" {
	# R 1, 2, 2 and 5; z 3, 0, -1, 4; v_R 2, 4, 0; v_phi 3, 1, -4; v_z 1, 0, 5
	bodies mass,x,y,z,vx,vy,vz 1,1,0,3,2,3,1 3,0,2,0,-1,4,0 1,0,-2,-1,-4,0,5 5,0,5,4,0,0,1 >p.nb
	tsv --profile --rings --center origin --axis z --spacing linear --bins 2 --range 0:4 <p.nb >t
	equals "$(head -n 1 t | tr '\t' ' ')" \
		'frame time bin rmin rmax r n mass mwithin density vx vy vz vr vphi sigma_r sigma_phi sigma_z z height'
	awk -F '\t' 'function near(x, y) { if (!(x - y < 1e-14 && y - x < 1e-14)) { print x, "is not", y; bad = 1 } }
		NR == 2 { near($6, 9 / 5); near($7, 3); near($8, 5); near($10, 5 / (4 * atan2(0, -1))); near($14, 14 / 5); near($15, 2 / 5)
			near($16, sqrt((4 + 48) / 5 - 2.8 ^ 2)); near($17, sqrt((9 + 3 + 16) / 5 - 0.4 ^ 2)); near($18, sqrt(26 / 5 - 1.2 ^ 2))
			near($19, 2 / 5); near($20, sqrt(10 / 5 - 0.4 ^ 2)) }
		END { exit bad }' t
	# the same in axes that have changed their names, about one of them
	bodies mass,z,x,y,vz,vx,vy 1,0,3,1,3,1,2 3,2,0,0,4,0,-1 1,-2,-1,0,0,5,-4 5,5,4,0,0,1,0 |
		tsv --profile --rings --center origin --axis x --spacing linear --bins 2 --range 0:4 | cut -f 4-10,14-20 | cmp - <(cut -f 4-10,14-20 t)
	# each species in rings of its own
	for equal in '' '--spacing equal' '--spacing log'; do
		# shellcheck disable=SC2086
		nb-gen disk -n 3000 | tsv --profile --rings --by species --bins 7 $equal | awk -F '\t' 'NR > 1 { n[$3] += $8 } END { exit !(n[0] == 1500 && n[1] == 300 && n[2] == 1200) }'
	done
	fails_with 2 "option '--rings' needs '--profile'" 'nb-stats --rings <p.nb'
}

@test "rings of a disk have its surface density, its rotation and its thickness" {
	nb-gen disk -n 40000 --rscale 1 | tsv --profile --rings --axis z --species 0 --spacing linear --range 0.5:4.5 --bins 4 >t
	# Sigma = M exp(-R) / (2 pi) with M = 0.15; sech^2(z / 0.15) has the dispersion pi / sqrt(12) times 0.15
	awk -F '\t' 'NR > 1 { n++; want = 0.15 * ((1 + $4) * exp(-$4) - (1 + $5) * exp(-$5)) / (atan2(0, -1) * ($5 ^ 2 - $4 ^ 2))
		bad += !($10 / want > 0.95 && $10 / want < 1.05) || !($20 / 0.136 > 0.93 && $20 / 0.136 < 1.07) || !($15 > 3 * $16) || !($16 > $17) || !($19 ^ 2 < 1e-4) }
		END { exit bad || n != 4 }' t
}

@test "profiles in two dimensions are surface densities" {
	bodies mass,x,y,vx,vy 1,1,0,0,2 1,-1,0,0,-2 1,0,1,2,0 | mutate attribute dim 2 >p.nb
	tsv --profile --bins 1 --range 0:2 --spacing linear --center origin --axis z <p.nb >t
	close_to 0.238732414637843 "$(stat_of density <t)" 1e-14
	close_to 0.66666666666666667 "$(stat_of vphi <t)" 1e-14
	close_to "$(stat_of sigma_phi <t)" "$(stat_of sigma_t <t)" 0
	fails_with 1 'frame 0 is two-dimensional' 'nb-stats --profile --axis x <p.nb'
	tsv --shape unreduced --center origin <p.nb >t
	close_to "$(awk 'BEGIN { printf "%.17g", sqrt(0.5) }')" "$(stat_of b_over_a <t)" 1e-14
	equals "$(stat_of c_over_a <t)" NA
}

# ---- shapes, bound bodies, orbits ------------------------------------------------------------------

@test "--shape finds the axis ratios of a flattened sphere, in all and within a range" {
	# 1 : 0.8 : 0.5 along y, x, z
	nb-gen plummer -n 40000 | nb-convert --no-comments --to csv | awk -F , -v OFS=, -v CONVFMT=%.17g 'NR > 1 { $3 *= 0.8; $5 *= 0.5 } 1' | nb-convert --from csv >e.nb
	for options in '--shape unreduced' '--shape reduced' '--shape unreduced --range :1' '--shape reduced --range 0.2:2'; do
		# shellcheck disable=SC2086
		tsv --epot none $options <e.nb >t
		close_to 0.8 "$(stat_of b_over_a <t)" 0.04
		close_to 0.5 "$(stat_of c_over_a <t)" 0.03
		close_to 1 "$(stat_of majory <t)" 0.02
		close_to 1 "$(stat_of minorz <t)" 0.02
	done
	equals "$(head -n 1 t | cut -f 23- | tr '\t' ' ')" 'b_over_a c_over_a nshape majorx majory majorz minorx minory minorz'
	tsv --epot none --shape reduced <e.nb >want
	for options in '--shape' '--shape=reduced' '--shape -q'; do
		# shellcheck disable=SC2086
		tsv --epot none $options e.nb | cmp - want
	done
	fails_with 2 "invalid shape 'round' (want reduced|unreduced)" 'nb-stats --shape=round e.nb'
	run nb-stats --epot none --shape reduced <e.nb
	[[ ${lines[0]} == *'        r90   b_over_a   c_over_a' ]]
	tsv --epot none --shape reduced --range 0.2:2 <e.nb | stat_of nshape >n
	awk '{ exit !($1 > 20000 && $1 < 40000) }' n
}

@test "--bound counts what does not escape from the bound bodies" {
	# a pair at rest in a frame that moves with 10, a third that leaves it, and one that stands still
	bodies id,mass,species,x,y,z,vx,vy,vz,pot 0,2,0,0,0,0,10,0.5,0,-3 1,2,1,1,0,0,10,-0.5,0,-3 2,1,1,2,0,0,13,0,0,-3 3,0.5,0,3,0,0,0,0,0,-3 >p.nb
	tsv --bound <p.nb >t
	equals "$(head -n 1 t | cut -f 23- | tr '\t' ' ')" \
		'nbound mbound ekin_bound epot_bound virial_bound clausius clausius_bound r10_bound r50_bound r90_bound'
	equals "$(tail -n 1 t | cut -f 23-27 | tr '\t' ' ')" '2 4 0.5 -6 0.08333333333333333'
	equals "$(tail -n 1 t | cut -f 28,29 | tr '\t' ' ')" 'NA NA' # without accelerations
	equals "$(tsv --bound --by species <p.nb | tail -n +2 | cut -f 3,22- | tr '\t\n' ' ,')" '0 1 2,1 1 2,'
	tsv --bound --species 1 <p.nb | tail -n 1 | cut -f 20- | grep -qx $'NA\t1\t2\|13\t1\t2\|1\t2'
	# about one that does not move with them, only that one is
	equals "$(tsv --bound --center id:3 <p.nb | tail -n 1 | cut -f 23,24 | tr '\t' ' ')" '1 0.5'
	mutate drop vel <p.nb | tsv --bound | tail -n 1 | cut -f 23- | grep -qx $'NA\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA'
	nb-gen plummer -n 500 | tsv --bound -e 0.05 | stat_of mbound >m
	awk '{ exit !($1 > 0.99 && $1 <= 1.0000001) }' m
	# ten times as fast, all but those below a tenth of the speed of escape are free
	nb-gen plummer -n 500 | nb-convert --no-comments --to csv | awk -F , -v OFS=, -v CONVFMT=%.17g 'NR > 1 { $6 *= 10; $7 *= 10; $8 *= 10 } 1' | nb-convert --from csv |
		tsv --bound | stat_of nbound >n
	awk '{ exit !($1 < 50) }' n
}

# bats test_tags=once
@test "--bound has energies, virial ratios and radii of the bound bodies, and the virial of Clausius" {
	# X a of the pair is -0.5 * 4 twice, for masses of 2; radii are about the first body
	bodies id,mass,x,y,z,vx,vy,vz,pot,ax,ay,az 0,2,1,0,0,10,0.5,0,-3,4,0,0 1,2,2,0,0,10,-0.5,0,-3,-4,0,0 2,1,9,0,0,13,0,0,-3,0,1,0 >p.nb
	tsv --bound --center id:0 <p.nb >t
	equals "$(for k in ekin_bound epot_bound clausius_bound r10_bound r50_bound r90_bound; do stat_of $k <t; done | tr '\n' ' ')" '0.5 -6 0.0625 0 0 1 '
	# a cold sphere that has thrown out a sixth of its bodies is not in equilibrium as a whole
	nb-gen sphere -n 1000 -s 2 | nb-step -q -d 0.01 --until 8 --every 0 'nb-force -e 0.05 --potential' | tsv --bound >t
	awk -v all="$(stat_of virial <t)" -v c="$(stat_of clausius_bound <t)" -v n="$(stat_of nbound <t)" \
		-v r="$(stat_of r90 <t)" -v b="$(stat_of r90_bound <t)" \
		'BEGIN { exit !(all > 0.6 && c > 0.46 && c < 0.54 && n > 700 && n < 900 && r > 1.5 * b) }'
	# of all bodies, bound or not, it is what softening leaves out of the potential energy
	nb-gen plummer -n 500 | nb-force --potential | tsv --bound >t
	close_to "$(stat_of virial <t)" "$(stat_of clausius <t)" 1e-12
	close_to "$(stat_of virial <t)" "$(nb-gen plummer -n 500 | nb-transform --shift 1e3,0,0 --boost 0,1e3,0 | nb-force --potential | tsv --bound | stat_of clausius)" 1e-6
}

@test "--orbits gives the elements of the planets that Standish and Williams publish" {
	nb-gen solar >s.nb
	tsv --orbits heaviest <s.nb >t
	equals "$(head -n 1 t | tr '\t' ' ')" 'frame time id a e i Omega omega M period q name'
	equals "$(cut -f 12 t | tr '\n' ' ')" 'name Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune '
	mutate attribute names '4 Big Red, x, 9, 2 , 1 A,,70 no' <s.nb | tsv --orbits heaviest | cut -f 3,12 | tr '\t\n' '  ' >named
	equals "$(cat named)" 'id name 1 A 2  3  4 Big Red 5  6  7  8  '
	nb-gen kepler | tsv --orbits heaviest | run ! grep -w name
	# a, e, i, mean longitude, longitudes of the perihelion and of the node; period in days from Kepler's third law
	cat >published <<-'END'
		1 0.38709927 0.20563593 7.00497902 252.25032350 77.45779628 48.33076593
		2 0.72333566 0.00677672 3.39467605 181.97909950 131.60246718 76.67984255
		4 1.52371034 0.09339410 1.84969142 -4.55343205 -23.94362959 49.55953891
		5 5.20288700 0.04838624 1.30439695 34.39644051 14.72847983 100.47390909
		6 9.53667594 0.05386179 2.48599187 49.95424423 92.59887831 113.66242448
		7 19.18916464 0.04725744 0.77263783 313.23810451 170.95427630 74.01692503
		8 30.06992276 0.00859048 1.77004347 -55.12002969 44.96476227 131.78422574
	END
	tail -n +2 t | cut -f 3- | awk 'NR == FNR { for (k = 2; k <= 7; k++) want[$1, k] = $k; next }
		function off(x, y) { x = (x - y) / 360; x -= int(x); if (x > 0.5) x--; if (x < -0.5) x++; return x < 0 ? -360 * x : 360 * x }
		function near(x, y, by) { if (!(x - y < by && y - x < by)) { print $1, x, "is not", y; bad = 1 } }
		($1, 2) in want { seen++; near($2 / want[$1, 2], 1, 1e-5); near($3, want[$1, 3], 1e-6); near($4, want[$1, 4], 1e-5)
			near(off($5, want[$1, 7]), 0, 1e-4); near(off($5 + $6, want[$1, 6]), 0, 0.002); near(off($5 + $6 + $7, want[$1, 5]), 0, 0.002)
			near($8 / 365.2569 / $2 ^ 1.5, 1, 0.001); near($9 / $2, 1 - $3, 1e-12) }
		END { exit bad || seen != 7 }' published -
	equals "$(tsv --orbits id:0 <s.nb)" "$(cat t)"
	# about Jupiter the Sun has the same orbit, turned round
	close_to "$(awk -F '\t' '$3 == 5 { print $4 }' t)" "$(tsv --orbits id:5 <s.nb | awk -F '\t' '$3 == 0 { print $4 }')" 1e-12
	fails_with 1 "frame 0 has no body with the id 12 of '--orbits'" 'nb-stats --orbits id:12 <s.nb'
	nb-stats --orbits heaviest --format json <s.nb | python3 -c 'import json, sys
assert [json.loads(line)["id"] for line in sys.stdin] == [1, 2, 3, 4, 5, 6, 7, 8]'
	# about the centre of mass of those before: what nb-gen has placed so
	nb-gen orbits 'm=1; m=0.1 a=1 e=0.3 i=20 Omega=30 omega=40 M=50; m=0.2 a=4 e=0.1 i=5 Omega=70 omega=80 M=90; a=-9 e=1.5 i=10 Omega=11 omega=12 M=60' |
		tsv --orbits jacobi | awk -F '\t' 'NR > 1 { for (k = 3; k < 10; k++) printf "%s%.9g", (k == 3 ? "" : " "), $k; print "" }' >before
	equals "$(<before)" $'1 1 0.3 20 30 40 50\n2 4 0.1 5 70 80 90\n3 -9 1.5 10 11 12 60'
	nb-gen orbits 'm=0' | tsv --orbits jacobi | wc -l | grep -qx 1
	# about the centre of mass of all: two bodies have parts of one orbit, and a body far out has the mass of all in it
	nb-gen orbits 'm=3; m=1 a=8 e=0.3 i=20 Omega=30 omega=40 M=50; a=800 e=0.1 i=5 Omega=70 omega=80 M=90' |
		tsv --orbits barycentric | awk -F '\t' 'NR > 1 { for (k = 3; k < 10; k++) printf "%s%.9g", (k == 3 ? "" : " "), $k; print "" }' >all
	equals "$(<all)" $'0 2 0.3 20 30 220 50\n1 6 0.3 20 30 40 50\n2 800 0.1 5 70 80 90'
	equals "$(nb-gen orbits 'm=1' | tsv --orbits barycentric | cut -f 3,4 | tail -n 1)" $'0\tNA'
	nb-gen orbits 'm=1; m=0 a=1' | nb-calc 'mass = 0' | tsv --orbits barycentric | cut -f 4 | grep -cx NA | grep -qx 2
	fails_with 2 "invalid orbits 'barycentre' (did you mean 'barycentric'? want heaviest, id:N, jacobi or barycentric)" 'nb-stats --orbits barycentre <s.nb'
	# G of the stream: four times as much, half the period
	bodies mass,x,y,z,vx,vy,vz 1,0,0,0,0,0,0 0,1,0,0,0,2,0 | mutate attribute G 4 | tsv --orbits heaviest >t
	close_to 3.14159265358979312 "$(stat_of period <t)" 1e-15
	bodies mass,x,y,z 1,0,0,0 0,1,0,0 >still.nb
	fails_with 1 "field 'vel' missing in frame 0" 'nb-stats --orbits heaviest <still.nb'
	nb-gen kepler | mutate attribute pending_kick 0.5 >late.nb
	run bash -c 'nb-stats -q --orbits heaviest <late.nb 2>&1'
	[ "$status" -eq 1 ]
	[[ $output == *'no velocities in frame 0'* ]]
}

@test "profiles, orbits, shapes and bound bodies of 0, 1 and 2 bodies, and with 1 and 3 threads" {
	for n in 0 1 2; do
		nb-gen plummer -n $n >p.nb
		for options in '--profile' '--profile --spacing log' '--profile --spacing linear --center density' '--profile --by-number'; do
			# shellcheck disable=SC2086
			tsv $options <p.nb | tail -n +2 | awk -F '\t' -v n=$n '{ sum += $7 } END { exit !(NR == 20 && sum == n) }'
		done
		tsv --orbits heaviest <p.nb | wc -l | grep -qx $((n == 2 ? 2 : 1))
		tsv --bound --shape reduced --center density --by-number <p.nb | stat_of n | grep -qx $n
	done
	nb-gen disk -n 20000 >d.nb
	for options in '--profile --by species --center density' '--bound --shape reduced --range :3 --by species --epot auto -q' '--orbits id:3'; do
		# shellcheck disable=SC2086
		cmp <(tsv -j 1 $options <d.nb) <(tsv -j 3 $options <d.nb)
	done
}

@test "--each measures the bodies of each value as a frame of their own, also across a face of the box" {
	nb-gen clusters -n 4000 | nb-groups -l 0.1 --no-history | nb-calc 'vx += group' 'y *= 1 + 0.1 * group' >g.nb
	local options k
	for options in '' '--shape --bound' '--profile --bins 3' '--nfw --range :0.04' '--profile --rings --bins 2'; do
		for k in 1 2 8; do
			# shellcheck disable=SC2086
			nb-select --where "group == $k" g.nb | nb-stats $options --format tsv >alone.tsv
			# shellcheck disable=SC2086
			nb-stats $options --each group --format tsv g.nb |
				awk -F '\t' -v OFS='\t' -v k=$k 'NR == 1 || $3 == k { for (i = 3; i < NF; i++) $i = $(i + 1); NF--; print }' >each.tsv
			cmp alone.tsv each.tsv
		done
	done
	equals "$(nb-stats --each group --format tsv g.nb | wc -l)" 9
	nb-stats --each group --profile --bins 4 --format tsv g.nb | cut -f 3- >want.tsv
	nb-calc '@box = 10' 'pos += 0.5' 'x -= 10 * floor(x / 10)' 'y -= 10 * floor(y / 10)' 'z -= 10 * floor(z / 10)' g.nb >box.nb
	[ "$(nb-select --where 'group == 1 && x > 9' box.nb | nb-stats --epot none --format tsv | stat_of n)" -gt 100 ]
	[ "$(nb-select --where 'group == 1 && x < 1' box.nb | nb-stats --epot none --format tsv | stat_of n)" -gt 100 ]
	nb-stats --each group --profile --bins 4 --format tsv box.nb | cut -f 3- >got.tsv
	awk -F '\t' 'NR == FNR { for (i = 1; i <= NF; i++) want[FNR, i] = $i; next }
		{ for (i = 1; i <= 9; i++) if (FNR > 1 && ($i - want[FNR, i]) ^ 2 > 1e-16 * want[FNR, i] ^ 2) bad++ } END { exit bad || FNR != 33 }' want.tsv got.tsv
	nb-calc --dtype i4 'a = 5 - group' g.nb | nb-calc --dtype u8 'b = id < 9 ? 18446744073709551615 : 7' >columns.nb
	fails_with 1 "column 'a' of '--each' of the body with id" 'nb-stats --each a columns.nb'
	equals "$(nb-stats --each b --format tsv columns.nb | cut -f 3,4 | paste -s -d ' ')" "$(printf 'b\tn 7\t3991 18446744073709551615\t9')"
	fails_with 1 "column 'x' of '--each' is missing" 'nb-stats --each x g.nb'
	fails_with 1 "column 'mass' of '--each' is <f8 x 1 in frame 0 (want whole numbers)" 'nb-stats --each mass g.nb'
	fails_with 2 "option '--each' has no effect with '--check'" 'nb-stats --check --each group g.nb'
}

@test "stacked, the profiles of all values are one about their centres" {
	nb-gen plummer -n 2000 >one.nb
	nb-merge --common <(nb-calc 'x += 100' 'vx += 3' one.nb) <(nb-calc 'id += 2000' 'y -= 50' one.nb) 2>/dev/null | nb-calc --dtype u4 'half = id < 2000 ? 4 : 9' >two.nb
	nb-stats --profile --bins 5 --range 0:4 --spacing linear --format tsv one.nb | cut -f 4-9,16 >want.tsv
	nb-stats --profile --bins 5 --range 0:4 --spacing linear --each half --stack --format tsv two.nb | cut -f 4-9,16 >got.tsv
	awk -F '\t' 'NR == FNR { for (i = 1; i <= NF; i++) want[FNR, i] = $i * (i > 3 && i < 7 ? 2 : 1); next }
		FNR > 1 { for (i = 1; i <= NF; i++) if (!(($i - want[FNR, i]) ^ 2 <= 1e-16 * want[FNR, i] ^ 2)) bad++ } END { exit bad || FNR != 6 }' want.tsv got.tsv
	fails_with 2 "option '--stack' needs '--profile'" 'nb-stats --stack --each half two.nb'
	fails_with 2 "option '--stack' needs '--each'" 'nb-stats --profile --stack two.nb'
}

# bats test_tags=once
@test "the fit of a halo has its scale radius and density, with errors that are those of several halos" {
	local seed
	for seed in $(seq 1 24); do
		nb-gen nfw -n 4000 -s "$seed" --rscale 0.3 | nb-stats --nfw --center origin --range :3 --epot none --format tsv | tail -n 1
	done | rev | cut -f 1-5 | rev >fits
	# mass 0.8249 in 10 scale radii
	awk -F '\t' '{ d = ($1 - 0.3) / $2; e = ($3 / 1.6330 - 1) * $3 / $4; s += d * d; t += e * e; r += $1; n++ }
		END { printf "%g %g %g\n", s / n, t / n, r / n; exit !(s / n > 0.4 && s / n < 2 && t / n > 0.4 && t / n < 2 && (r / n / 0.3 - 1) ^ 2 < 0.02 ^ 2) }' fits
	equals "$(nb-gen nfw -n 90 | nb-stats --nfw --format json | grep -c '"nfw_rs":null')" 1
	nb-gen nfw -n 20000 | nb-stats --nfw --epot none -j 1 --format tsv >1.tsv
	nb-gen nfw -n 20000 | nb-stats --nfw --epot none -j 3 --format tsv | cmp - 1.tsv
}

@test "wrong usage of centres, profiles and orbits exits 2" {
	fails_with 2 "option '--bins' needs '--profile'" 'nb-stats --bins 3 </dev/null'
	fails_with 2 "option '--spacing' needs '--profile'" 'nb-stats --spacing log </dev/null'
	fails_with 2 "option '--axis' needs '--profile'" 'nb-stats --axis z </dev/null'
	fails_with 2 "option '--range' needs '--healpix', '--profile', '--nfw' or '--shape'" 'nb-stats --range 1:2 </dev/null'
	fails_with 2 "option '--lagrangian' has no effect with '--profile'" 'nb-stats --profile --lagrangian 50 </dev/null'
	fails_with 2 "option '--backend' has no effect with '--profile'" 'nb-stats --profile -b cpu </dev/null'
	fails_with 2 "option '--shape' has no effect with '--profile'" 'nb-stats --profile --shape reduced </dev/null'
	fails_with 2 "option '--bound' has no effect with '--orbits'" 'nb-stats --orbits heaviest --bound </dev/null'
	fails_with 2 "option '--by' has no effect with '--check'" 'nb-stats --check --by species </dev/null'
	fails_with 2 "option '--species' has no effect with '--compare'" 'nb-stats --compare x --species 1 </dev/null'
	fails_with 2 "option '--bound' has no effect with '--epot none'" 'nb-stats --epot none --bound </dev/null'
	fails_with 2 'exclude each other' 'nb-stats --profile --orbits heaviest </dev/null'
	fails_with 2 "invalid center 'middle' (want origin, com, density, X,Y,Z or id:N)" 'nb-stats --center middle </dev/null'
	fails_with 2 "invalid center 'id:-1'" 'nb-stats --center id:-1 </dev/null'
	fails_with 2 "invalid center '1,2,3,4'" 'nb-stats --center 1,2,3,4 </dev/null'
	fails_with 2 "invalid orbits 'sun' (want heaviest, id:N, jacobi or barycentric)" 'nb-stats --orbits sun </dev/null'
	fails_with 2 "invalid spacing 'even' (want equal|log|linear)" 'nb-stats --profile --spacing even </dev/null'
	for range in 5 : 2:1 1:1 -1:2 x:2 1:nan; do
		fails_with 2 "invalid range '$range' (want A:B with 0 <= A < B; A or B may be left out)" "nb-stats --profile --range $range </dev/null"
	done
	fails_with 2 "invalid range '0:1' (with '--spacing log'" 'nb-stats --profile --spacing log --range 0:1 </dev/null'
	for list in 256 -1 1.5 1,1 '' 1,,2; do
		fails_with 2 "invalid species '$list' (want numbers from 0 to 255" "nb-stats --species '$list' </dev/null"
	done
}

@test "of a cosmological frame circular velocities are physical, the scale factor may be a redshift, and --bound refuses it" {
	nb-gen plummer -n 200 | nb-calc '@box = 1000; @omega0 = 0.3; @time = 0.25; pos += 400' 'pot = -1' >comoving.nb
	nb-calc '@omega0 = 0' comoving.nb | nb-stats --profile --bins 3 --format tsv | awk 'NR > 1 { print $NF }' >still
	nb-stats --profile --bins 3 --format tsv comoving.nb | awk 'NR > 1 { print $NF }' | paste still - >both
	awk '$1 > 0 { d = $2 / $1 - 2; ok += d * d < 1e-28 } END { exit ok != 3 }' both
	close_to -2 "$(nb-stats --format tsv comoving.nb | stat_of epot)" 1e-14
	close_to -2 "$(nb-calc '@time = 0; @redshift = 3' comoving.nb | nb-stats --format tsv | stat_of epot)" 1e-14
	equals "$(nb-calc '@time = 0' comoving.nb | nb-stats --format tsv | stat_of epot)" NA
	equals "$(nb-calc '@redshift = 9' comoving.nb | nb-stats --format tsv | stat_of epot)" NA
	fails_with 1 "frame 0 is cosmological (want 'nb-groups --bound')" \
		"nb-calc --dtype u4 'group = 1' comoving.nb | nb-stats --each group --bound"
}

@test "a sky has the pixels of HEALPix, by rings, of equal area, in a shell" {
	# the first five are the examples of healpy.ang2pix(16, ...): the equator by the cosine of pi / 2, 45 degrees, and the poles
	printf '%s\n' x,y,z,mass 1,0,6e-17,1 0.5,0.5,0.70710678118654752,2 0,2,0,3 0,0,3,4 0,0,-1,5 1,0,6e-17,6 | nb-convert --from csv >sky.nb
	nb-stats --healpix 16 --format tsv sky.nb | cut -f 3- | tail -n +2 | tr '\t\n' ' ;' >got
	equals "$(cat got)" '0 1 4;427 1 2;1440 2 7;1520 1 3;3068 1 5;'
	equals "$(nb-stats --healpix 16 --range 1.5:2.5 --format tsv sky.nb | cut -f 3- | tail -n +2 | tr '\t\n' ' ;')" '1520 1 3;'
	equals "$(nb-stats --healpix 1024 --format tsv sky.nb | tail -n 1 | cut -f 3)" 12582908
	# by longitude and ring: middles of the twelve pixels of nside 1
	awk 'BEGIN { print "x,y,z"; pi = atan2(0, -1); for (k = 0; k < 12; k++) { z = k < 4 ? 2 / 3 : k < 8 ? 0 : -2 / 3; p = (k % 4 + (k < 4 || k >= 8 ? 0.5 : 0)) * pi / 2
		printf "%.17g,%.17g,%.17g\n", sqrt(1 - z * z) * cos(p), sqrt(1 - z * z) * sin(p), z } }' | nb-convert --from csv |
		nb-calc 'mass = row' | nb-stats --healpix 1 --format tsv | awk -F '\t' 'NR > 1 && $3 != $5 { exit 1 } END { exit NR != 13 }'
	nb-gen uniform -n 40000 --seed 3 | nb-select --where 'r < 0.5' >ball.nb
	nb-stats --healpix 2 --format tsv ball.nb | awk -F '\t' 'NR > 1 { n += $4; sum += $4^2 } END { m = n / 48; exit NR != 49 || sum / 48 - m^2 > 2 * m }'
	# no bodies, and one that is nowhere on a sky
	equals "$(nb-select --where 'x > 9' sky.nb | nb-stats --healpix 1 --format tsv)" "$(printf 'frame\ttime\tpixel\tn\tmass')"
	equals "$(nb-calc 'pos = 0' sky.nb | nb-stats --healpix 1 --format tsv | tail -n 1 | cut -f 3-4)" "$(printf '4\t6')"
	fails_with 2 "invalid healpix '0'" 'nb-stats --healpix 0 sky.nb'
	fails_with 2 "'--healpix', '--history'" 'nb-stats --healpix 1 --check sky.nb'
	fails_with 1 "field 'mass' missing" 'nb-select --drop mass sky.nb | nb-stats --healpix 1'
}

@test "a stream without frames is warned of, by what prints nothing then" {
	local command none=$NB_TOP/tests/corpus/good/no-frames.nb
	for command in nb-stats 'nb-stats --format tsv' 'nb-stats --fields' 'nb-stats --profile' 'nb-power --mesh 8 --periodic 1' nb-render-ppm; do
		$command "$none" >out 2>err
		[ ! -s out ]
		equals "$(<err)" "${command%% *}: the stream has no frames"
		nb-gen -n 3 | nb-select --frames 1: | $command -q >out 2>err
		[ ! -s out ]
		[ ! -s err ]
	done
	equals "$(nb-stats --check "$none" 2>&1)" 'ok: 0 frames, 0 bodies, 128 bytes'
	run ! grep -q 'no frames' <(nb-gen -n 0 | nb-stats 2>&1)
}
