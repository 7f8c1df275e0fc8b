#!/usr/bin/env bats
# nb-convert and the snapshots of GADGET, the recognition of formats, and import of a part.

load helper

DATA=${NB_DATA:-none}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

from() { nb-convert --no-history --from "$@"; }
show() { mutate show "$1" <"$2"; }
csv() { nb-convert -q --no-comments --to csv; }
make_snapshot() { python3 "$NB_TOP/tests/gadget.py" "$@"; }
attribute() { nb-stats --attributes <"$2" | sed -n "s/^$1=//p"; }

needs_data() { [ -r "$DATA/formats/$1" ] || skip "no $1 (NB_DATA names the folder of larger files)"; }

# ---- recognition ----

@test "--from auto recognises each format by its first bytes, from files and pipes, and -v tells which" {
	make_snapshot one labels=0
	make_snapshot two labels=1 swap=1
	from gadget one 2>/dev/null | csv >want.csv
	cp "$NB_TOP/tests/data/planets.txt" planets
	printf 'w,x,y\n1,2,3\n' >table
	for file in one:gadget two:gadget want.csv:csv planets:princeton table:csv; do
		name=${file%:*} format=${file#*:}
		from "$format" "$name" >want.nb
		from auto "$name" | cmp want.nb
		cat "$name" | from auto | cmp want.nb
		nb-convert -v --from auto "$name" 2>said >/dev/null
		grep -q "^nb-convert: $name is .*: --from $format\$" said
	done
}

@test "text is csv if it begins with a word, princeton if with a number of bodies" {
	printf '\xef\xbb\xbf"x",y\n1,2\n' | from auto | csv | grep -q '^0,1,2$'
	printf '# G=2\nx,y\n1,2\n' | from auto >c.nb
	[ "$(attribute G c.nb)" = 2 ]
	printf '0 1.5\n' | from auto >p.nb
	[ "$(attribute universe_radius p.nb)" = 1.5 ]
	fails_with 1 "standard input: 4 columns of numbers, but no header line (name them, as by '--from csv --columns mass,x,y,z')" \
		"printf '1 2 3 4\n5 6 7 8\n' | nb-convert --from auto"
	fails_with 1 "t.txt: 3 columns of numbers, but no header line (name them, as by '--from csv --columns x,y,z')" \
		"printf ' 1, -2.5e3,3' >t.txt; nb-convert t.txt"
	# by auto as by csv, where cells are empty or have decimal commas
	for text in '1,,3' ',1,2' '1;;3' '1,2,nan' '1,5;2,5;3' '1,5;2,5;3,5' '1 2 3' '1,2,3,'; do
		fails_with 1 "3 columns of numbers, but no header line (name them, as by '--from csv --columns x,y,z')" "echo '$text' | nb-convert --from auto"
		fails_with 1 "line 1: numbers, but no header line before (name the columns, as by '--columns x,y,z')" "echo '$text' | nb-convert --from csv"
	done
	fails_with 1 'standard input is none of amuse, princeton, csv, gadget' "printf '1 2 3 x\n' | nb-convert --from auto"
	fails_with 1 'standard input is none of amuse, princeton, csv, gadget' "printf 'a\0b' | nb-convert --from auto"
	fails_with 1 'standard input: the file is empty' 'nb-convert --from auto </dev/null'
	fails_with 1 "standard input: this is a particle stream (it needs no '--from')" 'nb-gen kepler | nb-convert --from auto'
	fails_with 1 "standard input: this is gzip: put 'gzip -dc' before" 'echo x | gzip | nb-convert --from auto'
	fails_with 2 "option '--columns' needs '--from csv'" 'nb-convert --from auto --columns x,y </dev/null'
}

@test "a file of another format than --from says is refused with the format that it has" {
	make_snapshot galaxy.gadget
	nb-gen plummer -n 5 >p.nb
	for format in tipsy nemo gadget-hdf5; do nb-convert -q --to $format -o p.$format <p.nb; done
	nb-convert -q --no-comments --to csv -o p.csv <p.nb
	cp "$NB_TOP/tests/data/planets.txt" planets.princeton
	for file in galaxy.gadget p.tipsy p.nemo p.gadget-hdf5 p.csv planets.princeton; do
		format=${file##*.}
		for wrong in gadget tipsy nemo csv princeton; do
			[ "$wrong" != "$format" ] || continue
			fails_with 1 "nb-convert: $file" "nb-convert --from $wrong $file"
			grep -q "; it looks like .*: --from $format\$" "$BATS_TEST_TMPDIR/fails.err"
		done
	done
	gzip -c p.tipsy >p.gz
	fails_with 1 "; this is gzip: put 'gzip -dc' before" 'nb-convert --from tipsy p.gz'
	fails_with 1 "; it looks like a TIPSY file: --from tipsy" 'cat p.tipsy | nb-convert --from gadget'
	fails_with 1 "; this is a particle stream (it needs no '--from')" 'nb-convert --from nemo p.nb'
	# a file of the right format that is wrong in itself has no such hint
	head -c 400 p.nemo >short
	fails_with 1 'short: the file ends at byte 400' 'nb-convert --from nemo short'
	run ! grep -q 'looks like' "$BATS_TEST_TMPDIR/fails.err"
	# rows of a table that come one by one are not waited for
	rm -f err
	mkfifo rows
	nb-convert --from csv <rows >out 2>err &
	exec {to}>rows
	printf 'a,b\n1,2\n' >&"$to"
	wait_until test -s err
	exec {to}>&-
	wait $! || :
	# and other programs know what to put before
	fails_with 1 "(this looks like a GADGET snapshot: put 'nb-convert --from gadget' before)" 'nb-stats galaxy.gadget'
	fails_with 1 "(this is a NEMO snapshot: put 'nb-convert --from nemo' before)" 'nb-stats <p.nemo'
}

@test "a TIPSY file that is cut is told from a file of no known format" {
	nb-gen plummer -n 50 | nb-convert -q --to tipsy -o p.tipsy
	head -c 1000 p.tipsy >short
	fails_with 1 'short: 1000 bytes, but its header says 0 gas, 50 dark and 0 star bodies, which are 1832' 'nb-convert --from auto short'
}

# ---- parts ----

@test "--rows, --species and --sphere take the same bodies of a file, a pipe and a table" {
	make_snapshot g n='(300,500,200,0,100,0)' f8=1
	from gadget g >all.nb
	nb-convert -q --to csv -o all.csv <all.nb
	run -0 nb-stats --check <all.nb
	for part in '--rows 7' '--rows 3:900:11' '--rows ::13' '--rows 299:500' '--rows 5000:' '--species 0' '--species 1,4' \
		'--species 3' '--species 2 --rows 5::3' '--sphere 0,0,0,1' '--sphere 0.5,0,0,1.5 --species 1,2' \
		'--sphere 0,0,0,0' '--rows 1::2 --species 0,1,4 --sphere 0,0.5,0,1.2'; do
		read -ra words <<<"$part"
		from gadget "${words[@]}" g >file.nb
		cat g | from gadget "${words[@]}" | cmp file.nb
		csv <file.nb >file.csv
		from csv "${words[@]}" all.csv | csv >table.csv
		cmp file.csv table.csv
	done
	# and those are the ones that are meant
	from gadget --species 2,4 --rows 790::10 g | csv | cut -d , -f 8 | tail -n +2 | tr '\n' ' ' >ids
	[ "$(cat ids)" = '801 811 821 831 841 851 861 871 881 891 901 911 921 931 941 951 961 971 981 991 1001 1011 1021 1031 1041 1051 1061 1071 1081 1091 ' ]
	nb-select --no-history --where 'x^2 + y^2 + z^2 <= 1' <all.nb | csv >want.csv
	from gadget --sphere 0,0,0,1 g | csv | cmp - want.csv
	[ "$(wc -l <want.csv)" -gt 100 ]
}

@test "the last row of --rows, and a body on the surface of the sphere, are taken" {
	printf 'x,y,z\n1,0,0\n0,3,4\n0,0,5.5\n' | from csv >three.nb
	for format in csv nemo; do
		nb-convert -q --to $format -o three <three.nb
		from $format --rows 0:1 three >part.nb
		[ "$(show id part.nb | tr '\n' ' ')" = '0 1 ' ]
		from $format --sphere 0,0,0,5 three >part.nb
		[ "$(show id part.nb | tr '\n' ' ')" = '0 1 ' ]
	done
}

@test "bodies of a snapshot without ids have the numbers of their rows, of a part too" {
	make_snapshot g labels=1 n='(1,5,0,0,0,0)' mass='[1] * 6'
	head -c 472 g >places # POS and VEL only
	nb-convert -q --from gadget --rows 1::2 places >part.nb
	[ "$(show id part.nb | tr '\n' ' ')" = '1 3 5 ' ]
	nb-convert -q --from gadget --species 1 places >part.nb
	[ "$(show id part.nb | tr '\n' ' ')" = '1 2 3 4 5 ' ]
}

@test "what follows from all bodies is left out with bodies, unless --keep-derived" {
	make_snapshot g n='(0,50,0,0,0,0)'
	from gadget g >all.nb
	nb-stats --fields <all.nb | grep -q ' acc '
	from gadget --rows 0:9 g >part.nb
	run nb-stats --fields <part.nb
	[[ $output != *' acc '* ]]
	[[ $output != *' pot '* ]]
	from gadget --rows 0:9 --keep-derived g >kept.nb
	show acc all.nb | head -n 10 | cmp - <(show acc kept.nb)
	nb-convert -q --to csv -o all.csv <all.nb
	from csv --rows 0:9 --keep-derived all.csv | csv | cmp - <(csv <kept.nb)
	from csv --rows 0:9 all.csv | csv | cmp - <(csv <part.nb)
	from gadget --rows 0: g | cmp - all.nb
	fails_with 2 "option '--keep-derived' needs '--rows', '--species', '--sphere' or '--one-file'" 'nb-convert --from gadget --keep-derived g'
}

@test "a choice of no bodies of a snapshot has the columns that all bodies have" {
	make_snapshot g labels=1
	nb-convert -q --from gadget --keep-derived --species 3 g | nb-stats --fields --format tsv | cut -f 2-5 >some
	nb-convert -q --from gadget g | nb-stats --fields --format tsv | cut -f 2-5 | diff some -
	# a file with positions alone
	make_snapshot g labels=1 mass='[0] * 6'
	head -c 376 g >places
	for part in '--species 3' '--rows 0:'; do
		read -ra words <<<"$part"
		nb-convert -q --from gadget --keep-derived "${words[@]}" places >part.nb
		[ "$(nb-stats --fields --format tsv <part.nb | sed 1d | cut -f 2 | sort | tr '\n' ' ')" = 'id pos species ' ]
	done
}

@test "--fields reads these columns only, and what the choice of bodies needs is not in the frame" {
	make_snapshot g n='(0,50,20,0,0,0)'
	run nb-stats --fields --format tsv < <(from gadget --fields id,mass --sphere 0,0,0,1 --species 2 g)
	[ "${#lines[@]}" -eq 3 ]
	show id <(from gadget --species 2 --sphere 0,0,0,1 g) >want
	[ -s want ]
	show id <(from gadget --fields id --sphere 0,0,0,1 --species 2 g) | cmp - want
	fails_with 1 "column 'density' missing in frame 0 of g (of '--fields' it has: id)" 'nb-convert --from gadget --fields id,density g'
}

@test "what is not wanted of a file is not read" {
	make_snapshot g n='(0,100000,100,0,0,0)'
	export ASAN_OPTIONS=detect_leaks=0 # which does not work under strace
	strace -f -e trace=read,pread64 -o trace "$(command -v nb-convert)" --from gadget --species 2 --no-history g >/dev/null || skip 'no strace'
	awk -F '= ' '/\\1\\0\\0|"/ { n += $NF } END { exit !(n < 1e6) }' trace
	strace -f -e trace=read,pread64 -o trace "$(command -v nb-convert)" --from gadget --no-history g >/dev/null
	awk -F '= ' '{ n += $NF } END { exit !(n > 4e6) }' trace
}

@test "--frame takes one frame of several, or the last" {
	nb-gen kepler | nb-step -d 0.1 -k 3 nb-force | nb-convert -q --to csv -o run.csv
	for k in 0 2 3; do
		from csv --frame "$k" run.csv >k.nb
		[ "$(nb-stats --format tsv <k.nb | wc -l)" -eq 2 ]
		[ "$(nb-stats --format tsv <k.nb | stat_of time)" = "$(from csv run.csv | nb-select --frames "$k" | nb-stats --format tsv | stat_of time)" ]
	done
	from csv --frame last run.csv | csv | cmp - <(from csv --frame 3 run.csv | csv)
	fails_with 1 'run.csv has no frame 4 (it has 4)' 'nb-convert --from csv --frame 4 run.csv'
}

@test "wrong parts are usage errors, and species need a column" {
	for rows in x 5:2 1:2:0 '' 1:2:3:4 -1; do
		fails_with 2 "invalid rows '$rows'" "nb-convert --from csv --rows '$rows' </dev/null"
	done
	for species in 256 a '' 1,,2 '1,'; do
		fails_with 2 "invalid species '$species'" "nb-convert --from csv --species '$species' </dev/null"
	done
	for sphere in 1,2,3 1,2,3,-1 1,2,3,4,5 a,b,c,d 0,0,0,nan; do
		fails_with 2 "invalid sphere '$sphere'" "nb-convert --from csv --sphere '$sphere' </dev/null"
	done
	for option in '--rows 1' '--species 1' '--sphere 0,0,0,1' '--fields id' '--keep-derived' '--precision f32'; do
		fails_with 2 "option '${option%% *}' needs '--from'" "nb-convert --to csv $option </dev/null"
	done
	fails_with 1 'the bodies have no species to choose by' "printf 'x,y\n1,2\n' | nb-convert --from csv --species 1"
}

@test "real columns are imported with the width that is asked for" {
	nb-gen clusters -n 300 --precision f32 >single.nb
	nb-convert -q --to gadget single.nb -o g
	for width in 32 64; do
		nb-convert --from gadget --precision f$width g >$width.nb
		equals "$(nb-stats --fields $width.nb | grep -c " <f$((width / 8)) ")" 3
		nb-diff --fields pos,vel,mass --tolerance 0 single.nb $width.nb
	done
	fails_with 1 "field 'pos' of the body with id 0 is not finite" "printf 'id,x,y,z\\n0,1e39,0,0\\n' | nb-convert --from csv --precision f32"
}

@test "a body of a box that single precision takes to the wall is at the other one, and others stay where they are" {
	printf '# nb-stream 1\n# box=1\nid,x,y,z\n0,0.999999999999,0,-1e-12\n1,2,0.25,0.99999994\n' >wall.csv
	nb-convert --from csv --precision f32 wall.csv | nb-convert --to csv --no-comments >got.csv
	printf 'id,x,y,z\n0,0,0,-9.999999960041972e-13\n1,2,0.25,0.9999999403953552\n' | cmp - got.csv
	printf '# nb-stream 1\n# box=1e40\nid,x,y,z\n0,0,1e39,0\n' >far.csv
	fails_with 1 "field 'pos' of the body with id 0 is not finite" 'nb-convert --from csv --precision f32 far.csv'
}

# ---- snapshots ----

@test "a snapshot has the same bodies in both byte orders, with numbers of 4 and 8 bytes, with labels and without" {
	for labels in 0 1; do
		for wide in 0 1; do
			make_snapshot little labels=$labels f8=$wide u8=$wide
			make_snapshot big labels=$labels f8=$wide u8=$wide swap=1
			run -1 cmp -s little big
			from gadget little >$labels$wide.nb
			from gadget big | cmp - $labels$wide.nb
			cat big | from gadget | cmp - $labels$wide.nb
		done
		csv <${labels}0.nb >${labels}0.csv
		csv <${labels}1.nb | cmp - ${labels}0.csv
	done
	[ "$(show id 00.nb | tr '\n' ' ')" = '1 2 3 4 5 6 ' ]
	[ "$(show species 00.nb | tr '\n' ' ')" = '0 0 1 1 1 4 ' ]
	[ "$(show mass 00.nb | tr '\n' ' ')" = '1.0 2.0 0.5 0.5 0.5 3.0 ' ]
	[ "$(show internal_energy 00.nb | tail -n 4 | tr '\n' ' ')" = 'nan nan nan nan ' ]
	[ "$(show age 10.nb | head -n 5 | tr '\n' ' ')" = 'nan nan nan nan nan ' ]
	run cut -d , -f 1-16 10.csv
	[ "$output" = "$(cut -d , -f 1-15,16 00.csv | sed 's/species$/age/; s/,[0-9]$/,nan/' | head -n 6)
$(tail -n 1 10.csv | cut -d , -f 1-16)" ]
	nb-stats --attributes <00.nb | sort >attributes
	printf 'G=43007.1\ndim=3\nhubble_param=1\ntime=0.25\ntypes=gadget\nunits=kpc,1e10Msun,km/s\n' | diff attributes -
}

# bats test_tags=once
@test "what a snapshot holds comes back, and a file that was read is written as the same bytes" {
	for labels in 0 1; do
		to=gadget$([ $labels = 0 ] || echo 2)
		for n in '(2,3,0,0,2,0)' '(0,0,0,0,0,0)' '(0,1,0,0,0,0)' '(255,0,0,0,0,0)' '(0,200,57,0,0,0)' '(2,2,2,2,2,2)' '(1,2,0,0,0,0)'; do
			mass='(0,.5,0,0,0,0)'
			[[ $n != '('*,0,0,0,0,0')' ]] || mass='(0,0,0,0,0,0)'
			make_snapshot a labels=$labels n="$n" mass="$mass"
			from gadget a >a.nb
			nb-convert -q --to "$to" -o b <a.nb
			from gadget b >b.nb
			csv <a.nb | cmp - <(csv <b.nb)
			nb-convert -q --to "$to" <b.nb | cmp - b
			case $labels$n in
			*'(1,2,0'*) ;; # the mass of a lone body goes into the header,
			1*'2,0)' | 1*'2,2)') ;; # and AGE has NaN for bodies that are no stars
			*) cmp a b ;;
			esac
		done
	done
}

@test "velocities of a cosmological snapshot are those of GADGET in the file, and peculiar in the frame" {
	nb-gen uniform -n 30 | nb-calc 'vel = pos + 0.25' |
		nb-calc '@box = 1; @omega0 = 0.25; @time = 0.25; @redshift = 3; @G = 43007.1' 'x = id == 3 ? 0.9999999999 : x' |
		nb-transform --shift 0,0,0 | nb-force --potential >a.nb
	for format in gadget gadget2; do
		nb-convert -q --to $format -o a <a.nb
		from gadget a >b.nb 2>said
		grep -q 'a is cosmological (omega0 = 0.25, redshift = 3): .* and velocities are made peculiar$' said
		nb-diff --fields vel --absolute 1e-6 a.nb b.nb
		nb-diff --fields pos --absolute 1e-7 a.nb b.nb
		[ "$(nb-select --where 'id == 3' b.nb | mutate show pos | cut -d ' ' -f 1)" = 0.0 ] # not 1, as in the file
		for key in box omega0 time redshift; do equals "$(attribute $key b.nb)" "$(attribute $key a.nb)"; done
		equals "$(attribute omega_lambda b.nb)" 0.75
		[ -z "$(attribute box_size b.nb)" ]
		run ! grep -q 'acc\|pot' <(nb-stats --fields b.nb)
		nb-step --cosmology -d 0.1 -k 1 nb-force b.nb >/dev/null
		nb-convert -q --to $format -o c <b.nb
		from gadget c 2>/dev/null | nb-convert -q --to $format | cmp - c
	done
	# u = v / sqrt(a), which a file has whose redshift is not that of its time
	nb-convert -q --to gadget -o a <a.nb
	head -c 8 /dev/zero | dd of=a bs=1 seek=84 conv=notrunc status=none
	from gadget a 2>said | nb-calc 'vel /= 2' | nb-diff --fields vel --absolute 1e-6 a.nb -
	grep -q 'nothing of that is converted, as time, redshift and box are not those of a periodic run$' said
	equals "$(from gadget a 2>/dev/null | nb-stats --attributes | grep -c '^box=')" 0
	# the scale factor of a frame may be in its redshift alone; it must be known
	nb-calc '@time = 0' a.nb | nb-convert -q --to gadget | from gadget 2>/dev/null >b.nb
	nb-diff --fields vel --absolute 1e-6 a.nb b.nb
	equals "$(attribute time b.nb)" 0.25
	for wrong in '@time = 0.5' '@redshift = 4' '@time = 0; @redshift = -1'; do
		fails_with 1 'do not agree on the scale factor of a cosmological frame' "nb-calc '$wrong' a.nb | nb-convert -q --to gadget"
	done
	nb-calc '@w0 = -0.9; @wa = 0' a.nb | nb-convert --to gadget 2>said >/dev/null
	equals "$(grep expansion said)" 'nb-convert: a GADGET snapshot cannot represent attribute w0=-0.9, of the expansion'
	nb-calc '@omega0 = 0' a.nb | nb-convert --to gadget 2>said >/dev/null
	grep -q 'a GADGET snapshot cannot represent attribute box=1, of a periodic box$' said
	# in an open frame they stay as they are
	nb-calc '@box = 0' a.nb | nb-convert -q --to gadget | from gadget 2>/dev/null | nb-diff --fields vel --absolute 1e-6 a.nb -
}

@test "a cosmological frame has the units of PKDGRAV in a TIPSY file, and comes back with --omega0" {
	# of matter alone, where a displacement of 0.01 of the box grows with the rate H0 a^-1.5
	printf 'mass,x,y,z,vx,vy,vz,eps\n1,25.5,0,49,100,0,0,0.1\n3,0.25,25,12.5,-8,0,0,0\n' | nb-convert --from csv |
		nb-calc '@box = 50; @omega0 = 1; @time = 0.25; @H0 = 100; @G = 3 * 100^2 * 50^3 / (8 * pi * 4)' >a.nb
	nb-convert -o a.tipsy a.nb 2>said
	equals "$(cat said)" "nb-convert: a TIPSY file of an expanding universe has a box of edge 1, G = 1 and H0 = sqrt(8 pi / 3), and says nothing of omega0=1 (give '--omega0' when it is read back)"
	from tipsy a.tipsy >plain.nb
	nb-calc 'mass /= 4; pos = pos / 50 - 0.5; vx = (id == 0 ? 0.01 : -0.0008) * sqrt(8 * pi / 3) * 8; eps *= 1.4 / 50' '@box = 0' a.nb |
		nb-diff --fields pos,vel,mass,eps --tolerance 2e-7 plain.nb -
	from tipsy --omega0 1 a.tipsy >b.nb
	equals "$(nb-stats --attributes <b.nb | grep '^box\|^omega\|^redshift\|^time\|^G' | sort | tr '\n' ' ')" 'G=1 box=1 omega0=1 redshift=3 time=0.25 '
	nb-calc 'mass /= 4; pos /= 50; eps /= 50; vel *= sqrt(8 * pi / 3) / 5000' '@box = 1' a.nb | nb-diff --fields pos,vel,mass,eps --tolerance 2e-7 b.nb -
	nb-step --cosmology -d 0.01 -k 1 nb-force b.nb 2>said >/dev/null
	equals "$(cat said)" ''
	# H0 follows from the masses
	nb-calc '@H0 = 0' a.nb | nb-convert -q --to tipsy | cmp - a.tipsy
	nb-calc '@w0 = -0.9; @softening = 0.5' --no-history a.nb | nb-select --fields pos,vel,mass | nb-convert --to tipsy 2>said >c.tipsy
	grep -qx 'nb-convert: a TIPSY file cannot represent attribute w0=-0.9, of the expansion' said
	nb-calc '@omega_lambda = 0.5' a.nb | nb-convert --to tipsy 2>said >/dev/null
	grep -qx 'nb-convert: a TIPSY file cannot represent attribute omega_lambda=0.5, of the expansion' said
	equals "$(from tipsy c.tipsy | mutate show eps | sort -u)" 0.014000000432133675 # 0.5 * 1.4 / 50 in f4
	fails_with 2 "option '--omega0' needs '--from'" 'nb-convert --omega0 1 a.nb -o x.csv'
	fails_with 2 "option '--omega0' needs '--from tipsy' (other" "nb-convert --to csv a.nb | nb-convert --from csv --omega0 1"
	fails_with 1 "a.tipsy: the time in the header, at byte 0, is no scale factor > 0" \
		"nb-calc '@time = 0; @redshift = 0; @box = 0' a.nb | nb-convert -qo a.tipsy && nb-convert --from tipsy --omega0 1 a.tipsy"
	fails_with 1 "a.tipsy: body 1 is not in a box of edge 1 around 0" \
		"nb-calc '@box = 0; @redshift = 3' 'pos = id * 2' a.nb | nb-convert -qo a.tipsy && nb-convert --from tipsy --omega0 1 a.tipsy"
	nb-calc '@H0 = 0' a.nb | nb-select --where 'x < 0' | nb-convert -q --to tipsy >none.tipsy
	equals "$(from tipsy --omega0 1 none.tipsy | nb-stats --attributes | grep '^box')" box=1
	fails_with 1 'H0=0, or else the masses, and G=' "nb-calc '@H0 = 0' 'mass = 0' a.nb | nb-convert -q --to tipsy"
	fails_with 1 'do not agree on the scale factor' "nb-calc '@redshift = 4' a.nb | nb-convert -q --to tipsy"
}

@test "bodies stand in the order of types, and the attributes of the header come back" {
	printf '# types=gadget\n# time=0.5\n# G=43007.1\n# redshift=3\n# box_size=7\n# omega0=0.3\n# omega_lambda=0.7\n# hubble_param=0.6\n# flag_sfr=1\n# lpt_scalingfactor=0.5\nid,mass,x,y,z,vx,vy,vz,species\n10,1,1,2,3,4,5,6,4\n11,2,1,2,3,4,5,6,1\n12,3,1,2,3,4,5,6,4\n13,2,1,2,3,4,5,6,0\n' |
		from csv >a.nb
	nb-convert --to gadget -o a <a.nb 2>said
	[ ! -s said ]
	nb-convert --no-history --from gadget a >b.nb 2>said
	grep -q 'a is cosmological (omega0 = 0.3, redshift = 3)' said
	[ "$(show id b.nb | tr '\n' ' ')" = '13 11 10 12 ' ]
	[ "$(show mass b.nb | tr '\n' ' ')" = '2.0 2.0 1.0 3.0 ' ]
	for key in time redshift box_size omega0 omega_lambda hubble_param flag_sfr lpt_scalingfactor types; do
		equals "$(attribute $key b.nb)" "$(attribute $key a.nb)"
	done
	[ -z "$(attribute units b.nb)" ]
	# the mass of a type whose bodies are equal is in the header, with all digits
	printf 'mass,x,y,z,vx,vy,vz\n0.1,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n' | from csv --G 43007.1 | nb-convert --to gadget | from gadget >c.nb
	[ "$(show mass c.nb | tr '\n' ' ')" = '0.1 0.1 ' ]
}

# bats test_tags=once
@test "disk, bulge and halo of nb's galaxies become types 2, 3 and 1, and stars and dark bodies, also of two that are merged" {
	nb-gen disk -n 100 >disk.nb
	nb-gen merger -n 100 >merger.nb
	nb-merge --ids offset disk.nb disk.nb >pair.nb
	# as both have them: 50 disk, 10 bulge, 40 halo, or twice as many
	for file in disk:1 merger:1 pair:2; do
		m=${file%:*} k=${file#*:}
		nb-convert --to gadget2 -o "$m.g" "$m.nb" 2>said
		grep -q '^nb-convert: disk, bulge and halo, species 0, 1 and 2, become types 2, 3 and 1' said
		[ "$(grep -c 'of the second galaxy' said)" = "$([ "$m" = merger ] && echo 1 || echo 0)" ]
		from gadget "$m.g" >back.nb
		[ "$(show species back.nb | uniq -c | tr -s ' \n' ' ')" = " $((40 * k)) 1 $((50 * k)) 2 $((10 * k)) 3 " ]
		# they are those bodies
		diff <(nb-select --where 'species % 3 == 0' "$m.nb" | mutate show id | sort) <(nb-select --where 'species == 2' back.nb | mutate show id | sort)
		# and stay so
		nb-convert -q --to gadget2 back.nb | from gadget | cmp - back.nb
		nb-convert --to tipsy -o "$m.t" "$m.nb" 2>said
		diff said <(echo 'nb-convert: disks and bulges, species 0, 1, 3 and 4, become stars, and halos, 2 and 5, dark bodies')
		[ "$(from tipsy "$m.t" | mutate show species | uniq -c | tr -s ' \n' ' ')" = " $((40 * k)) 1 $((60 * k)) 4 " ]
	done
	# a model with other species: the next types
	nb-gen disk -n 100 | mutate attribute model own | nb-convert --to gadget -o m 2>said
	grep -q 'species 0 to 2 become types 1 to 3, since type 0 is gas' said
	[ "$(from gadget m | mutate show species | uniq -c | tr -s ' \n' ' ')" = ' 50 1 10 2 40 3 ' ]
	nb-gen solar | nb-convert --to gadget -o s 2>said
	grep -q 'cannot represent these columns, which are left out: .*species' said
	[ "$(from gadget s | mutate show species | sort -u)" = 1 ]
	fails_with 1 'frame 0: body 1 is of species 6, but types are 0 to 5' \
		"printf '# types=gadget\nmass,x,y,z,vx,vy,vz,species\n1,1,2,3,4,5,6,5\n1,1,2,3,4,5,6,6\n' | nb-convert --from csv | nb-convert --to gadget"
}

@test "--G sets G, and the usual units are no longer stated" {
	make_snapshot g
	from gadget --G 1 g >g.nb
	[ "$(attribute G g.nb)" = 1 ]
	[ -z "$(attribute units g.nb)" ]
	from gadget g | nb-transform --units pc,Msun,km/s >t.nb
	close_to 1000 "$(awk -v a="$(show pos t.nb | head -n 1 | cut -d ' ' -f 1)" -v b="$(show pos g.nb | head -n 1 | cut -d ' ' -f 1)" 'BEGIN { print a / b }')" 1e-6
}

@test "a frame is spread over several files, which are read from any of them or from their stem" {
	make_snapshot g n='(10,203,50,0,7,0)'
	from gadget g >g.nb
	nb-convert -q --to gadget --files 4 -o part <g.nb
	[ "$(echo part*)" = 'part.0 part.1 part.2 part.3' ]
	from gadget part >p.nb
	for file in part.0 part.3; do from gadget "$file" | cmp - p.nb; done
	from auto part | cmp - p.nb
	# the same bodies in another order
	nb-select --no-history --sort id <p.nb | csv >p.csv
	csv <g.nb | cmp - p.csv
	from gadget --species 1,4 --rows 3::2 --sphere 0,0,0,1.5 part | csv >part.csv
	nb-convert -q --to csv -o p.csv <p.nb
	from csv --species 1,4 --rows 3::2 --sphere 0,0,0,1.5 p.csv | csv | cmp - part.csv
	nb-convert -q --to gadget2 --files 3 -o few < <(nb-gen plummer -n 2)
	[ "$(from gadget few.1 | mutate show id | tr '\n' ' ')" = '0 1 ' ]
	# a file is missing, is of another snapshot, or is alone
	mv part.2 away
	fails_with 1 'part.2: this file of 4 cannot be opened: No such file or directory' 'nb-convert --from gadget part'
	cp few.1 part.2
	fails_with 1 'part.2: it is of another snapshot' 'nb-convert --from gadget part.1'
	cp part.1 part.2
	fails_with 1 'the files hold' 'nb-convert --from gadget part.1'
	fails_with 1 "standard input: this is one of 4 files of a snapshot: give its path, or '--one-file'" 'nb-convert --from gadget <part.1'
	mv part.1 part.9
	fails_with 1 'part.9: this is one of 4 files, but the name does not end in .0 to .3' 'nb-convert --from gadget part.9'
	# one file alone is the bodies that it has, without what follows from all
	from gadget --one-file part.9 >nine.nb
	from gadget --one-file <part.9 | cmp - nine.nb
	for file in part.0 part.9 away part.3; do from gadget --one-file "$file" | mutate show id; done | sort | cmp - <(show id p.nb | sort)
	run nb-stats --fields <nine.nb
	[[ $output != *' pot '* ]]
	from gadget --one-file --keep-derived part.9 | nb-stats --fields | grep -q ' pot '
	fails_with 2 "option '--files' needs '-o FILE'" 'nb-convert --to gadget --files 2 <g.nb'
	fails_with 1 "(give '-o FILE')" 'nb-convert --to gadget --files 2 -o /dev/null <g.nb'
	fails_with 2 "option '--files' needs '--to gadget'" 'nb-convert --to csv --files 2 -o x <g.nb'
	fails_with 1 'No such file' 'nb-convert --from gadget nothing'
}

@test "files of a snapshot may have numbers of different widths" {
	make_snapshot one 'n=(0,3,0,0,3,0)'
	make_snapshot m.0 'n=(0,3,0,0,3,0)' 'total=(0,6,0,0,6,0)'
	make_snapshot m.1 'n=(0,3,0,0,3,0)' 'total=(0,6,0,0,6,0)' f8=1
	for file in m.0 m.1; do printf '\2' | dd of=$file bs=1 seek=128 conv=notrunc status=none; done
	from gadget --fields pos,vel,mass,pot,acc,species m >m.nb
	from gadget --fields pos,vel,mass,pot,acc,species one >one.nb
	for column in pos pot acc; do
		equals "$(mutate show $column <m.nb | head -n 6)" "$(mutate show $column <one.nb)"
		equals "$(mutate show $column <m.nb | tail -n 6)" "$(mutate show $column <one.nb)"
	done
}

@test "nothing of several files takes its name if one cannot be written" {
	nb-gen plummer -n 1000 >p.nb
	mkdir out.1
	fails_with 1 'write error' 'nb-convert -q --to gadget --files 3 -o out <p.nb'
	[ "$(echo out*)" = out.1 ]
}

@test "what a snapshot cannot hold is told" {
	nb-gen plummer -n 10 | nb-calc 'eps = 0.1' | nb-calc 'abc = 3' | nb-calc 'longname = 3' >p.nb
	nb-convert --to gadget -o p <p.nb 2>said
	grep -q 'cannot represent these columns, which are left out: eps, abc, longname' said
	grep -q 'attribute G is 1, but readers of a GADGET snapshot assume 43007.1' said
	nb-convert --to gadget2 -o q <p.nb 2>said
	grep -q 'cannot represent these columns, which are left out: eps, longname' said
	from gadget q 2>/dev/null | nb-stats --fields | grep -q 'abc .*<f4'
	fails_with 1 "frame 0: column 'pos' has 1e+39, which is too large for a number of 4 bytes" \
		"printf 'mass,x,y,z,vx,vy,vz\n1,1e39,2,3,4,5,6\n' | nb-convert --from csv | nb-convert --to gadget"
	fails_with 1 "attribute flag_sfr=1.5 is not a whole number" \
		"printf '# flag_sfr=1.5\nmass,x,y,z,vx,vy,vz\n1,1,2,3,4,5,6\n' | nb-convert --from csv | nb-convert --to gadget"
	fails_with 1 "field 'vel' missing in frame 0" "printf 'mass,x,y,z\n1,1,2,3\n' | nb-convert --from csv | nb-convert --to gadget"
}

@test "a file that is cut anywhere is refused, except between blocks that need not be there" {
	make_snapshot g labels=1 swap=1
	size=$(stat -c %s g)
	local step=5
	[[ $NB_BIN != */san/* ]] || step=23
	for ((n = 0; n < size; n += step)); do
		head -c "$n" g >part
		code=0
		nb-convert -q --from gadget part >out 2>err || code=$?
		if [ "$code" -eq 0 ]; then
			# only behind MASS, at the end of a block
			[ "$n" -ge 556 ]
			continue
		fi
		[ "$code" -eq 1 ]
		[ ! -s out ]
		[ "$(wc -l <err)" -eq 1 ]
		grep -q '^nb-convert: part' err
		code=0
		cat part | nb-convert -q --from gadget >out 2>err || code=$?
		[ "$code" -eq 1 ]
		[ ! -s out ]
	done
	make_snapshot h
	for n in 264 344 424 456; do
		head -c "$n" h >part
		fails_with 1 'part' 'nb-convert --from gadget part'
	done
}

@test "a byte that is wrong anywhere gives a snapshot or one line, never a crash" {
	make_snapshot g labels=1
	python3 - <<-'END'
		import subprocess
		good = open('g', 'rb').read()
		refused = 0
		import os
		slow = 4 if '/san/' in os.environ['NB_BIN'] else 1
		for i in list(range(0, 300, 7 * slow)) + list(range(300, len(good), 17 * slow)):
		    for x in 0x01, 0x80, 0xff:
		        bad = good[:i] + bytes([good[i] ^ x]) + good[i + 1:]
		        p = subprocess.run(['nb-convert', '-q', '--from', 'gadget'], input=bad, capture_output=True)
		        assert p.returncode in (0, 1), (i, x, p.returncode, p.stderr)
		        if p.returncode == 1:
		            refused += 1
		            assert p.stderr.count(b'\n') == 1 and not p.stdout, (i, x, p.stderr)
		assert refused > 30 / slow
	END
}

@test "wrong counts, masses and sizes are refused with file, block and byte" {
	make_snapshot g labels=1
	at() { # at OFFSET BYTES
		cp g bad
		printf '%b' "$2" | dd of=bad bs=1 seek="$1" conv=notrunc 2>/dev/null
	}
	at 20 '\xff\xff\xff\xff'
	fails_with 1 'bad: the header counts -1 bodies of type 0' 'nb-convert --from gadget bad'
	at 20 '\xff\xff\xff\x7f'
	fails_with 1 'bad: the header counts 2147483651 bodies, but the file has' 'nb-convert --from gadget bad'
	fails_with 1 "standard input block 1 'POS ' at byte 280: has 72 bytes, want 25769803812 or" 'cat bad | nb-convert --from gadget'
	at 44 '\0\0\0\0\0\0\xf0\xff'
	fails_with 1 'bad: the header has mass -inf for type 0' 'nb-convert --from gadget bad'
	at 92 '\0\0\0\0\0\0\xf8\x7f'
	fails_with 1 'bad: the header has time nan' 'nb-convert --from gadget bad'
	at 144 '\xff\xff\xff\x7f'
	fails_with 1 'bad: the header counts 2147483647 files' 'nb-convert --from gadget bad'
	at 284 'VEL '
	fails_with 1 "bad block 1 'VEL ' at byte 280: the first block must be POS" 'nb-convert --from gadget bad'
	at 380 'POS '
	fails_with 1 "bad block 2 'POS ' at byte 376: there is another block of this kind before it" 'nb-convert --from gadget bad'
	at 296 '\xff\xff\xff\xff'
	fails_with 1 "bad block 1 'POS ' at byte 280: has 4294967295 bytes, but the file ends after" 'nb-convert --from gadget bad'
	at 372 '\x47'
	fails_with 1 "bad block 1 'POS ' at byte 280: has 72 bytes, but 71 stands behind it" 'nb-convert --from gadget bad'
	for n in 280 292; do
		at $n '\x09'
		fails_with 1 'bad block 1 at byte 280: no label of 8 bytes is before it' 'nb-convert --from gadget bad'
	done
	at 300 '\0\0\xc0\x7f'
	fails_with 1 "bad: block 'POS ': body 0 has a number that is not finite" 'nb-convert --from gadget bad'
	make_snapshot one labels=0
	head -c 424 one >bad
	fails_with 1 "the file ends before block 'ID  '" 'nb-convert --from gadget bad'
	make_snapshot more total='(2,9,0,0,1,0)'
	nb-convert --from gadget more 2>&1 >/dev/null | grep -q 'more has 3 bodies of type 1, but its header promises 9 in all files'
}

# Snapshots of four bodies with blocks of your own: files of name.gad, and what is wanted of each as name.want
own_snapshots() {
	python3 - <<-'EOF'
		import struct, sys
		def f(*x): return struct.pack(f'{len(x)}f', *x)
		def u(*x): return struct.pack(f'{len(x)}I', *x)
		def r(b): return struct.pack('I', len(b)) + b + struct.pack('I', len(b))
		def head(n, m, cooling=0): return struct.pack('6i6d2d2i6I2i4d', *n, *m, 0, 0, cooling, cooling, *n, cooling, 1, 0, 0, 0, 1).ljust(256, b'\0')
		bodies = [f(*[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]), f(*[0] * 12), u(1, 2, 3, 4)]
		def two(name, h, blocks):
		    labels = ['HEAD', 'POS ', 'VEL ', 'ID  '] + [b[0] for b in blocks]
		    data = [h] + bodies + [b[1] for b in blocks]
		    open(name + '.gad', 'wb').write(b''.join(map(r, data)))
		    open(name + '.gad2', 'wb').write(b''.join(r(k.encode() + struct.pack('I', len(d) + 8)) + r(d) for k, d in zip(labels, data)))
		halo, gas, mixed, n0, one = (0, 4, 0, 0, 0, 0), (4, 0, 0, 0, 0, 0), (2, 0, 2, 0, 0, 0), [0] * 6, (0, 1, 0, 0, 0, 0)
		two('twice', head(halo, (0, 1.5, 0, 0, 0, 0)), [('MASS', f(*[1.5] * 4))])
		two('other', head(halo, (0, 1.5, 0, 0, 0, 0)), [('MASS', f(1.5, 1.5, 2.5, 1.5))])
		two('some', head(mixed, (0, 0, 1.5, 0, 0, 0)), [('MASS', f(3, 4, 1.5, 1.5))])
		two('gizmo', head(halo, n0), [('CID ', u(0, 0, 1, 0)), ('GEN ', u(0, 0, 2, 0)), ('MASS', f(1, 2, 3, 4))])
		two('gizmo0', head(halo, n0), [('CID ', u(0, 0, 0, 0)), ('GEN ', u(0, 0, 0, 0)), ('MASS', f(1, 2, 3, 4)), ('TSTP', f(5, 6, 7, 8))])
		two('massless', head(halo, n0), [('MASS', f(0, 0, 0, 0)), ('POT ', f(-1, -2, -3, -4))])
		two('step', head(halo, one), [('TSTP', f(.1, .2, .3, .4))])
		two('pot', head(halo, one), [('POT ', f(-1, -2, -3, -4)), ('ACCE', f(*range(12)))])
		two('cooling', head(gas, (1, 0, 0, 0, 0, 0), 1), [('U   ', f(*[9] * 4)), ('RHO ', f(*[.1] * 4)), ('NE  ', f(*[1.15] * 4)), ('NH  ', f(*[0] * 4)), ('HSML', f(*[7] * 4))])
		two('cooled', head(gas, (1, 0, 0, 0, 0, 0)), [('U   ', f(*[9] * 4)), ('RHO ', f(*[0] * 4)), ('HSML', f(*[7] * 4))])
		two('stars', head((2, 0, 0, 0, 2, 0), (1, 0, 0, 0, 1, 0)), [('AGE ', f(1, 2))])
	EOF
}
masses() { nb-convert -q --no-comments --to csv | cut -d, -f4 | tr '\n' ' '; }

@test "a block without label gets a name that its numbers allow, and each guess is told in one line" {
	own_snapshots
	# each line: file, the columns but pos and vel, the last body, what is told
	while IFS='|' read -r file want last told; do
		from gadget "$file.gad" >o.nb 2>said
		nb-convert -q --no-comments --to csv <o.nb | sed -n '1p;$p' | cut -d, -f4,8- | tr '\n' '|' >got
		[ "$(<got)" = "$want|$last|" ]
		diff said <(echo "nb-convert: $file.gad has no labels, so blocks are named by size and numbers: $told")
		nb-stats --check <o.nb >/dev/null
	done <<-'EOF'
		twice|mass,id,species|1.5,4,1|4 is mass
		gizmo|mass,id,block_4,block_5,species|4,4,0,0,1|4 is unknown, 5 is unknown, 6 is mass
		gizmo0|mass,id,block_5,block_7,species|4,4,0,8,1|5 is unknown, 6 is mass, 7 is unknown
		massless|mass,id,pot,species|0,4,-4,1|5 is pot
		step|mass,id,block_4,species|1,4,0.4000000059604645,1|4 is unknown
		pot|mass,id,pot,ax,ay,az,species|1,4,-4,9,10,11,1|4 is pot, 5 is acc
		cooling|mass,id,internal_energy,density,ne,nh,smoothing_length,species|1,4,9,0.10000000149011612,1.149999976158142,0,7,0|4 is internal_energy, 5 is density, 6 is ne, 7 is nh, 8 is smoothing_length
		cooled|mass,id,internal_energy,density,smoothing_length,species|1,4,9,0,7,0|4 is internal_energy, 5 is density, 6 is smoothing_length
	EOF
	# the same whatever is wanted
	from gadget --fields mass,pos gizmo.gad 2>/dev/null | masses | grep -q '^mass 1 2 3 4 $'
	# the potential of a body far behind those that have been looked at
	python3 "$NB_TOP/tests/gadget.py" far n='(0,20000,0,0,0,0)' extra=1
	printf '\0\0\x80\x3f' | dd of=far bs=1 seek=$((264 + 2 * (8 + 240000) + 8 + 80000 + 4 + 4 * 19000)) conv=notrunc status=none
	from gadget far >far.nb 2>said
	grep -q 'what seemed to be potentials is left out: body 19000 has 1$' said
	nb-stats --fields <far.nb | run ! grep -q '^pot'
	# what would be read as something else is not written
	printf 'id,mass,x,y,z,vx,vy,vz,pot\n0,1,0,0,0,0,0,0,0.5\n1,1,1,0,0,0,0,0,-1\n' | from csv | nb-convert --to gadget -o p 2>said
	grep -q 'left out: pot' said
	from gadget stars.gad2 2>said >/dev/null
	grep -q "stars.gad2 block 4 'age' is taken for numbers of 2 bodies, gas, though its size fits others too" said
}

@test "masses in the header and in a block are read, and a warning says where they differ" {
	own_snapshots
	for file in twice.gad2 other.gad2 some.gad2 some.gad; do
		from gadget "$file" 2>said | masses >got
		case $file in
		some*) grep -q '^mass 3 4 1.5 1.5 $' got ;;
		*) grep -q '^mass 1.5 1.5 1.5 1.5 $' got ;;
		esac
		case $file in
		other*) grep -q "other.gad2 has other masses of type 1 in block 'MASS' (2.5) than in the header (1.5), which are taken" said ;;
		*2) [ ! -s said ] ;;
		esac
	done
}

@test "the header of GADGET-4 is read, with any number of types, in both formats and byte orders" {
	python3 - <<-'EOF'
		import struct
		for o in '<', '>':
		    r = lambda b: struct.pack(o + 'I', len(b)) + b + struct.pack(o + 'I', len(b))
		    for N in 2, 6, 8:
		        n = [0, 4] + [0] * (N - 2)
		        h = struct.pack(f'{o}{N}q{N}q{N}d3di4x2q', *n, *n, *([0, 2.] + [0] * (N - 2)), 1.25, 0, 7, 1, 0, 0)
		        b = [('HEAD', h), ('POS ', struct.pack(o + '12f', *range(12))), ('VEL ', struct.pack(o + '12f', *range(12))), ('ID  ', struct.pack(o + '4I', *range(4)))]
		        w = 'l' if o == '<' else 'b'
		        open(f'{w}{N}.g1', 'wb').write(b''.join(r(d) for k, d in b))
		        open(f'{w}{N}.g2', 'wb').write(b''.join(r(k.encode() + struct.pack(o + 'I', len(d) + 8)) + r(d) for k, d in b))
	EOF
	for file in [lb][268].g[12]; do
		nb-convert --no-history --from auto "$file" >g.nb 2>said
		[ ! -s said ]
		[ "$(nb-convert -q --no-comments --to csv <g.nb | tail -1)" = 9,10,11,2,9,10,11,3,1 ]
		[ "$(attribute time g.nb) $(attribute box_size g.nb) $(attribute hubble_param g.nb)" = '1.25 7 ' ]
	done
	head -c 200 l6.g2 >cut.g2
	fails_with 1 'cut.g2: the file ends within the header, after 200 bytes' 'nb-convert --from gadget cut.g2'
	printf '\x01' | dd of=l8.g1 bs=1 seek=52 conv=notrunc status=none
	fails_with 1 'l8.g1: the header counts 1 body of type 6 (types are 0 to 5)' 'nb-convert --from gadget l8.g1'
}

@test "a large snapshot gives the same frame and the same error for any number of threads, from a file and a pipe" {
	local threads
	nb-gen plummer -n 110000 | nb-convert -q --to gadget >p.gad
	from gadget -q >pipe.nb < <(cat p.gad)
	head -c 2000000 p.gad >cut.gad
	for threads in 1 3; do
		OMP_NUM_THREADS=$threads from gadget -q p.gad | cmp - pipe.nb
		OMP_NUM_THREADS=$threads from gadget -q --rows 7:109000:1 p.gad >part.nb
		cmp part.nb <(cat p.gad | from gadget -q --rows 7:109000:1)
		OMP_NUM_THREADS=$threads run ! from gadget -q cut.gad
		[[ $output =~ ^nb-convert:\ cut.gad\ block\ 2\ .*\ has\ 1320000\ bytes,\ but\ the\ file\ ends\ after\ 2000000$ ]]
	done
}

@test "a large snapshot has the same bytes for any number of threads, which report a full disk and a number too large" {
	local threads
	nb-gen merger -n 70000 | nb-calc 'id = id + 5000000000' >p.nb
	nb-calc 'x = id == 5000020000 ? 1e39 : id == 5000069000 ? 2e39 : x' p.nb | nb-select --fields id,mass,pos,vel >large.nb
	nb-convert -q -j 1 --to gadget2 p.nb >one.gad
	from gadget -q one.gad | nb-diff --tolerance 1e-6 --fields pos,vel p.nb -
	for threads in 2 7; do
		nb-convert -q -j $threads --to gadget2 p.nb | cmp - one.gad
		fails_with 1 'No space left on device' "nb-convert -q -j $threads --to gadget p.nb >/dev/full"
		fails_with 1 "column 'pos' has 1e+39, which is too large" "nb-convert -q -j $threads --to gadget -o x large.nb"
		fails_with 1 "column 'pos' has 1e+39, which is too large" "nb-convert -q -j $threads --to gadget large.nb >/dev/null"
	done
	[ ! -e x ]
}

@test "a header that promises more bodies than a pipe brings takes no memory for them" {
	make_snapshot g labels=0
	cp g bad
	printf '\x54\x55\x55\x0a' | dd of=bad bs=1 seek=8 conv=notrunc 2>/dev/null # 173 million bodies of type 1
	printf '\xf8\xff\xff\x7f' | dd of=bad bs=1 seek=264 conv=notrunc 2>/dev/null
	[ "${NB_CONFIG:-}" = san ] || ulimit -v 1500000
	fails_with 1 "standard input block 1 'POS ' at byte 264" 'cat bad | nb-convert -j 1 --from gadget'
}

@test "a full disk is noticed when a snapshot is written" {
	nb-gen plummer -n 5000 >p.nb
	fails_with 1 'No space left on device' 'nb-convert -q --to gadget -o /dev/full <p.nb'
	fails_with 1 'No space left on device' 'nb-convert -q --to gadget2 <p.nb >/dev/full'
}

# ---- real files, and other readers ----

@test "the two galaxies of GADGET-2 are read, and written as the same bytes" {
	needs_data galaxy_littleendian.dat
	from auto "$DATA/formats/galaxy_littleendian.dat" >g.nb
	[ "$(nb-stats --format tsv <g.nb | stat_of n)" = 60000 ]
	[ "$(show species g.nb | sort | uniq -c | tr -s ' \n' ' ')" = ' 40000 1 20000 2 ' ]
	nb-convert --to gadget -o g <g.nb
	# except for the number of files, which is 0 there
	[ "$(cmp -l g "$DATA/formats/galaxy_littleendian.dat" | tr -s ' ')" = ' 129 1 0' ] || [ "$(cmp -l g "$DATA/formats/galaxy_littleendian.dat" | tr -s ' ')" = '129 1 0' ]
}

@test "real snapshots: both byte orders, labels with POT and ACCE, four files" {
	needs_data gassphere_bigendian.dat
	needs_data snap_002.0
	from gadget "$DATA/formats/gassphere_bigendian.dat" >b.nb
	[ ! -r "$DATA/gassphere_littleendian.dat" ] || from gadget "$DATA/gassphere_littleendian.dat" | cmp - b.nb
	nb-stats --fields <b.nb | grep -q 'internal_energy .*<f4 .* 1472 '
	# the accelerations in the file are those that its bodies have with G = 43007.1, as GADGET's tree saw them
	from gadget "$DATA/formats/pot_acc.format2.gadget2" >p.nb
	nb-select --no-history --drop acc,pot <p.nb | nb-force -m direct -e 0 >f.nb
	at_most 0.03 "$(compare p.nb median <f.nb)"
	from gadget "$DATA/formats/snap_002" 2>said >s.nb
	[ "$(nb-stats --format tsv <s.nb | stat_of n)" = 800 ]
}
