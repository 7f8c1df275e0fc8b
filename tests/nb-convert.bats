#!/usr/bin/env bats
# nb-convert: text in, stream out, and back again to the bit.
# as a filter: nb-convert --to csv

load helper

DATA=$NB_TOP/tests/data

csv() { nb-convert -q --no-comments --to csv "$@"; }
from() { nb-convert --no-history --from "$@"; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# the arrays of a stream, as a reader of the project's own page sees them
show() { mutate show "$1" <"$2"; }

@test "csv text of many bodies is the same for any number of threads, and a full disk is noticed" {
	nb-gen plummer -n 9001 | nb-sort-zorder >p.nb
	for threads in 1 2 7; do OMP_NUM_THREADS=$threads nb-convert --to csv p.nb >$threads.csv; done
	cmp 1.csv 2.csv
	cmp 1.csv 7.csv
	nb-convert --from csv 7.csv | nb-diff - p.nb
	OMP_NUM_THREADS=3 fails_with 1 'No space left on device' 'nb-convert --to csv p.nb >/dev/full'
}

@test "princeton text with odd white space, colours and prose is read as it is meant" {
	from princeton "$DATA/princeton-colour.txt" >p.nb
	nb-stats --check <p.nb
	[ "$(show id p.nb | tr '\n' ' ')" = '0 1 2 3 ' ]
	[ "$(show mass p.nb | tr '\n' ' ')" = '1.989e+30 5.974e+24 6.419e+23 3.302e+23 ' ]
	[ "$(show pos p.nb | sed -n 3p)" = '-227900000000.0 0.0 0.0' ]
	[ "$(show vel p.nb | sed -n 2p)" = '0.0 29800.0 0.0' ]
	[ "$(show colour p.nb | tr '\n' ' ')" = '255 255 0 0 50 255 255 0 0 255 255 0 ' ]
	[ "$(show species p.nb | tr '\n' ' ')" = '0 1 2 0 ' ]
	nb-stats --attributes <p.nb | sort >attributes
	printf 'G=6.67e-11\ndim=2\ntime=0\nunits=SI\nuniverse_radius=250000000000\n' | diff attributes -
}

@test "princeton names may have a suffix, none, or be missing" {
	from princeton "$DATA/princeton-names.txt" >p.nb
	csv <p.nb >p.csv
	diff p.csv - <<-'END'
		id,mass,x,y,vx,vy,name
		0,5.974e+24,149600000000,0,0,29800,"earth.gif"
		1,6.419e+23,227900000000,0,0,24100,"mars"
		2,3.302e+23,57900000000,0,0,47900,"mercury.gif"
		3,1.989e+30,0,0,0,0,""
		4,4.869e+24,108200000000,0,0,35000,"255 0 255"
	END
	# names are padded with zeros whatever memory held before
	MALLOC_PERTURB_=165 from princeton "$DATA/princeton-names.txt" | cmp p.nb -
	run nb-stats --fields --format tsv <p.nb
	[[ $output == *$'name\tparticle\t|S32\t1'* ]]
	[[ $output != *species* ]]
}

@test "colours before a name become text, and a long name widens its column" {
	long=$(printf 'n%.0s' {1..70})
	printf '4\n1\n1 2 3 4 5 10 20 30\n1 2 3 4 5 40 50 60\n1 2 3 4 5 a b\n1 2 3 4 5 %s\n' "$long" | from princeton >p.nb
	csv <p.nb | cut -d , -f 7 | tail -n +2 >names
	printf '"10 20 30"\n"40 50 60"\n"a b"\n"%s"\n' "$long" | diff names -
	nb-stats --fields <p.nb | grep -q '|S96'
	printf '2\n1\n1 2 3 4 5\n1 2 3 4 5 1 2 3\n' | from princeton | csv | cut -d , -f 7 | tail -n +2 | diff - <(printf '""\n"1 2 3"\n')
	printf '1\n1\n1 2 3 4 5 256 0 0\n' | from princeton | nb-stats --fields | grep -q 'name .*|S32'
}

@test "a tab in a name stays, what would break a line is refused" {
	printf '1\n1\n1 2 3 4 5 red\tgiant\n' | from princeton >p.nb
	nb-convert --to princeton <p.nb | tail -n 1 | grep -qx $'1 2 3 4 5 red\tgiant'
	csv <p.nb | from csv | csv | tail -n 1 | grep -qx $'0,5,1,2,3,4,"red\tgiant"'
	printf '1\n1\n1 2 3 4 5 red\033giant\n' | from princeton >p.nb
	fails_with 1 'frame 0: the name in row 0 has a control character' 'nb-convert --to princeton <p.nb'
	fails_with 1 "frame 0: text in row 0 of 'name' has a control character" 'nb-convert --to csv -q <p.nb'
}

@test "more colours than species can number leave species out" {
	{ printf '300\n1\n'; awk 'BEGIN { for (i = 0; i < 300; i++) print i, 0, 0, 0, 1, i % 256, int(i / 256), 7 }'; } |
		from princeton | nb-stats --fields >fields
	grep -q colour fields
	run grep -q species fields
	[ "$status" -eq 1 ]
	{ printf '256\n1\n'; awk 'BEGIN { for (i = 0; i < 256; i++) print i, 0, 0, 0, 1, i, 255 - i, 7 }'; } |
		from princeton >p.nb
	[ "$(show species p.nb | tail -n 1)" = 255 ]
}

@test "princeton to stream and back gives the same stream" {
	for f in princeton-colour princeton-names; do
		from princeton "$DATA/$f.txt" >a.nb
		nb-convert --to princeton <a.nb >a.txt
		from princeton a.txt | cmp a.nb -
		from princeton <a.txt | nb-convert --to princeton >b.txt
		cmp a.txt b.txt
	done
	awk 'BEGIN { srand(4); print 257; print 0.1; for (i = 0; i < 257; i++)
		printf "%.17g %.17g %.17g %.17g %.17g\n", rand() - 0.5, rand() * 1e-9, rand() * 1e22, -rand(), rand() / 3 }' >r.txt
	from princeton r.txt >r.nb
	show pos r.nb | awk '{ print $1, $2 }' >positions
	tail -n +3 r.txt | python3 -c 'import sys
for line in sys.stdin: print(*[repr(float(w)) for w in line.split()[:2]])' | diff positions -
	nb-convert --to princeton <r.nb | from princeton >s.nb
	cmp r.nb s.nb
}

# FILE in princeton text goes through and back, and its numbers are those of the file
round_trip() {
	local n
	from princeton "$1" >a.nb
	n=$(head -n 1 "$1" | tr -d ' \r')
	[ "$(show mass a.nb | wc -l)" -eq "$n" ]
	nb-convert --to princeton <a.nb | from princeton >b.nb
	cmp a.nb b.nb
	diff <(show pos a.nb | awk '{ print $1, $2 }') \
		<(awk 'NF' "$1" | tail -n +3 | head -n "$n" | python3 -c 'import sys
for line in sys.stdin: print(*[repr(float(w)) for w in line.split()[:2]])')
}

@test "planets go through princeton text and back" {
	round_trip "$DATA/planets.txt"
}

@test "the princeton files in NB_DATA go through and back" {
	[ -n "${NB_DATA:-}" ] || skip 'NB_DATA is not set'
	for f in planets galaxy1 cluster2582 galaxy30k; do
		[ -f "$NB_DATA/$f.txt" ] || skip "no $f.txt in $NB_DATA"
		round_trip "$NB_DATA/$f.txt"
	done
}

@test "a pair of galaxies goes through csv and back" {
	from csv --G 43007.1 "$DATA/galaxies.csv" >a.nb
	nb-stats --check <a.nb | grep -q '^ok: 1 frames, 3858 bodies'
	csv <a.nb | cmp "$DATA/galaxies.csv" -
	[ "$(show species a.nb | sort -n | uniq -c | tr -s ' \n' ' ')" = ' 1429 0 500 2 1429 3 500 5 ' ]
}

@test "wrong princeton text is refused with file, line and reason" {
	bad() { # bad LINE:MESSAGE TEXT; 0: in no line
		local where=" line $1"
		[[ $1 != 0:* ]] || where=${1#0}
		printf %b "$2" >bad.txt
		fails_with 1 "nb-convert: bad.txt$where" 'nb-convert --from princeton bad.txt'
		fails_with 1 "nb-convert: standard input$where" 'nb-convert --from princeton <bad.txt'
		fails_with 1 "nb-convert: standard input$where" 'cat bad.txt | nb-convert --from princeton -'
	}
	bad '0: the file is empty' ''
	bad '3: the file is empty' '\n \n\n'
	bad "1: 'five' is not a number of bodies" 'five\n1\n'
	bad "1: '-5' is not a number of bodies" '-5\n1\n'
	bad "1: '5.0' is not a number of bodies" '5.0\n1\n'
	bad '1: 99999999999999999999999 bodies (limit 1099511627776)' '99999999999999999999999\n1\n'
	bad '1: 2000000000000 bodies (limit' '2000000000000\n1\n'
	bad '3: the file ends after 1 body, but line 1 promises 1000000000000' '1000000000000\n1\n1 2 3 4 5\n'
	bad '1: the file ends before the radius' '5\n'
	bad "2: 'x' is not the radius" '5\nx\n'
	bad "2: '-1' is not the radius" '5\n-1\n'
	bad "2: 'nan' is not the radius" '5\nnan\n'
	bad "2: unexpected 'and more' after the radius" '5\n1 and more\n'
	bad '3: 4 numbers (want at least 5)' '2\n1\n1 2 3 4\n1 2 3 4 5\n'
	bad '4: 4 numbers (want at least 5)' '2\n1\n1 2 3 4 5\n1 2 3 4 earth.gif\n'
	bad '4: 0 numbers (want at least 5)' '2\n1\n1 2 3 4 5\nThat was all.\n'
	bad "3: 'nan' is not a finite number" '1\n1\n1 2 3 4 nan\n'
	bad "3: '-inf' is not a finite number" '1\n1\n1 -inf 3 4 5\n'
	bad "3: '1e999' is not a finite number" '1\n1\n1 2 3 4 1e999\n'
	bad "3: '3x' is not a finite number" '1\n1\n1 2 3x 4 5\n'
	bad "3: '0x10' is not a finite number" '1\n1\n1 2 0x10 4 5\n'
	bad '3: mass -5 is negative' '1\n1\n1 2 3 4 -5\n'
	bad '3: has a NUL byte' '1\n1\n1 2 3 4\00005\n'
	printf '1\n1\n1 2 3 4 5 ' >bad.txt
	head -c 5000 /dev/zero | tr '\0' n >>bad.txt
	fails_with 1 'line 3: name of 5000 characters is too long' 'nb-convert --from princeton bad.txt'
	head -c 1100000 /dev/zero | tr '\0' 1 >bad.txt
	fails_with 1 'line 1: longer than 1048576 bytes' 'nb-convert --from princeton bad.txt'
	fails_with 1 "'missing.txt': No such file" 'nb-convert --from princeton missing.txt'
	fails_with 1 "'.': Is a directory" 'nb-convert --from princeton .'
}

@test "princeton text with no bodies, without a last newline, or with N and radius on one line is good" {
	printf '0\n2.5\n' | from princeton >a.nb
	[ "$(show pos a.nb | wc -l)" -eq 0 ]
	nb-convert --to princeton <a.nb | diff - <(printf '0\n2.5\n')
	printf '1 2.5\n1 2 3 4 5' | from princeton >a.nb
	[ "$(show vel a.nb)" = '3.0 4.0 0.0' ]
}

@test "csv to stream and back gives the same text, and the same stream" {
	awk 'BEGIN { srand(5); print "id,mass,x,y,z,vx,vy,vz"; for (i = 0; i < 257; i++)
		printf "%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", 1000 - i, rand(), rand() * 1e30, -rand() * 1e-30,
			rand() - 0.5, rand(), rand() / 7, rand() * 1e5 }' >a.csv
	from csv a.csv >a.nb
	csv <a.nb >b.csv
	from csv b.csv | cmp a.nb -
	from csv b.csv | csv | cmp b.csv -
	nb-convert --to csv <a.nb >c.csv
	from csv c.csv | cmp a.nb -
	diff <(show pos a.nb) <(tail -n +2 a.csv | python3 -c 'import sys
for line in sys.stdin: print(*[repr(float(w)) for w in line.split(",")[2:5]])')
	[ "$(show id a.nb | head -n 1)" = 1000 ]
}

# bats test_tags=once
@test "streams of 0, 1, 2, 255 and 257 bodies go through csv" {
	for n in 0 1 2 255 257; do
		nb-gen plummer -n $n --no-history | mutate drop id >a.nb
		csv <a.nb >a.csv
		[ "$(wc -l <a.csv)" -eq $((n + 1)) ]
		from csv a.csv >b.nb
		for column in mass pos vel; do
			cmp <(show $column a.nb) <(show $column b.nb)
		done
		[ "$(show id b.nb | tail -n 1)" = "$([ $n -eq 0 ] || echo $((n - 1)))" ]
	done
}

@test "csv columns come in any order, with quotes, spaces, CR LF, a byte order mark, comments, and a last line without end" {
	printf '\xef\xbb\xbf# made by hand\r\n"VX", vy ,"Y",x,Mass,VZ,z, ID\r\n\r\n1,2, 3 ,4,5,6,7,8\r\n# more\r\n"10",20,30,40,50,60,70,80.0' >a.csv
	from csv a.csv >a.nb
	[ "$(show pos a.nb | tr '\n' ' ')" = '4.0 3.0 7.0 40.0 30.0 70.0 ' ]
	[ "$(show vel a.nb | tr '\n' ' ')" = '1.0 2.0 6.0 10.0 20.0 60.0 ' ]
	[ "$(show id a.nb | tr '\n' ' ')" = '8 80 ' ]
	[ "$(show mass a.nb | tr '\n' ' ')" = '5.0 50.0 ' ]
}

@test "csv columns that nobody knows come through: numbers as f8, text as text" {
	printf 'x,y,z,mass,ax,ay,az,pot,radius,species,metal content,name\n1,2,3,4,5,6,7,-8,9,10,0.1,"a, ""b"""\n1,2,3,4,5,6,7,-8,9,255,,c d\n1,2,3,4,5,6,7,-8,9,0,-inf,\n' >a.csv
	from csv a.csv >a.nb
	nb-stats --fields --format tsv <a.nb | cut -f 2,4,5 | tail -n +2 | tr '\t\n' '  ' >fields
	[ "$(cat fields)" = 'id <u8 1 pos <f8 3 mass <f8 1 acc <f8 3 pot <f8 1 radius <f8 1 species |u1 1 metal_content <f8 1 name |S32 1 ' ]
	csv <a.nb >b.csv
	diff b.csv - <<-'END'
		id,x,y,z,mass,ax,ay,az,pot,radius,species,metal_content,name
		0,1,2,3,4,5,6,7,-8,9,10,0.1,"a, ""b"""
		1,1,2,3,4,5,6,7,-8,9,255,nan,"c d"
		2,1,2,3,4,5,6,7,-8,9,0,-inf,""
	END
	from csv b.csv | cmp a.nb -
	printf 'x,y,extra\n' | from csv | csv | diff - <(echo id,x,y,extra)
}

@test "a column of many components is exported name by name, and every type to its last digit" {
	nb-gen plummer -n 3 --no-history --precision f32 | mutate add strange | csv >a.csv
	[ "$(head -n 1 a.csv)" = id,mass,x,y,z,vx,vy,vz,strange_0,strange_1,strange_2 ]
	[ "$(cut -d , -f 9-11 a.csv | tail -n 1)" = 6,7,8 ]
	printf 'id,mass,x,y\n18446744073709551615,1,0.1,-0\n' | from csv | csv | diff - <(printf 'id,mass,x,y\n18446744073709551615,1,0.1,-0\n')
}

@test "csv without z is two-dimensional, both ways" {
	printf 'mass,x,y,vx,vy\n1,2,3,4,5\n' | MALLOC_PERTURB_=165 from csv >a.nb
	[ "$(show pos a.nb)" = '2.0 3.0 0.0' ]
	nb-stats --attributes <a.nb | grep -qx dim=2
	csv <a.nb | diff - <(printf 'id,mass,x,y,vx,vy\n0,1,2,3,4,5\n')
	printf 'mass,x,y,z\n1,2,3,0\n' | from csv | nb-stats --attributes | grep -qx dim=3
	mutate set pos 0 2 0.5 <a.nb >bad.nb
	fails_with 1 "frame 0: attribute dim is 2, but row 0 of 'pos' has a third component 0.5" 'nb-convert --to csv <bad.nb'
}

@test "several frames have columns frame and time, and come back as frames" {
	for t in 0 0.1 0.2; do
		nb-gen uniform -n 3 -s "${t#0.}" --no-history | mutate attribute time $t
	done >a.nb
	nb-convert --no-comments --to csv <a.nb >a.csv
	[ "$(head -n 1 a.csv | cut -d , -f 1-4)" = frame,time,id,mass ]
	[ "$(tail -n +2 a.csv | cut -d , -f 1-3 | tr '\n' ' ')" = '0,0,0 0,0,1 0,0,2 1,0.1,0 1,0.1,1 1,0.1,2 2,0.2,0 2,0.2,1 2,0.2,2 ' ]
	from csv a.csv >b.nb
	nb-stats --check <b.nb | grep -q '^ok: 3 frames, 9 bodies'
	nb-stats --format tsv <a.nb >a.tsv
	nb-stats --format tsv <b.nb | cmp a.tsv -
	nb-convert --no-comments --to csv <b.nb | cmp a.csv -
	# one of them
	csv --frame 1 <a.nb | tail -n +2 | diff - <(grep '^1,' a.csv | cut -d , -f 3-)
	csv --frame 1e0 <a.nb | cmp - <(csv --frame 1 <a.nb)
	fails_with 1 'the stream has no frame 3 (it has 3)' 'nb-convert --to csv --frame 3 <a.nb'
	head -c -1 a.nb >cut.nb
	fails_with 1 'truncated stream' 'nb-convert --to csv --frame 0 <cut.nb'
	fails_with 1 'several frames, but princeton text holds only one' 'nb-convert --to princeton <a.nb'
	printf 'frame,time,x,y\n' | from csv | nb-stats --check | grep -q '^ok: 0 frames'
}

@test "wrong csv is refused with file, line and reason" {
	bad() { # bad LINE:MESSAGE TEXT; 0: in no line
		local where=" line $1"
		[[ $1 != 0:* ]] || where=${1#0}
		printf %b "$2" >bad.csv
		fails_with 1 "nb-convert: bad.csv$where" 'nb-convert --from csv bad.csv'
		fails_with 1 "nb-convert: standard input$where" 'cat bad.csv | nb-convert --from csv'
	}
	bad '0: the file is empty' ''
	bad '2: the file is empty' '# a table\n\n'
	bad "1: column 'x' is missing" 'id,mass\n1,2\n'
	bad "1: column 'y' is missing" 'x,mass\n1,2\n'
	bad "1: column 'vz' is missing" 'x,y,z,vx,vy\n1,2,3,4,5\n'
	bad "1: there is a column 'az' but no column 'z'" 'x,y,ax,ay,az\n1,2,3,4,5\n'
	bad "1: column 'x' appears twice" 'x,y,X\n1,2,3\n'
	bad '1: column 2 has no name' 'x,,y\n1,2,3\n'
	bad "2: '3' in column 3, which has no name in the header" 'x,y,\n1,2,3\n'
	bad "1: column 'pos' is not a single number per body" 'x,y,pos\n1,2,3\n'
	bad '1: name of column 3 is not plain ASCII' 'x,y,\0303\0251\n1,2,3\n'
	bad '1: a quoted name has no closing quote' 'x,"y\n1,2\n'
	bad '2: 2 cells (the header has 3)' 'x,y,z\n1,2\n'
	bad '2: a comment behind the cells (put "sed' 'x y z\n1 2 3 # four\n'
	bad '2: a comment behind the cells (put "sed' 'x\ty\tz\n1\t2\t3\t# four\n'
	bad "2: '3 # four' in column 'z' is not a finite number (comments behind cells: put" 'x,y,z\n1,2,3 # four\n'
	bad '3: 4 cells (the header has 3)' 'x,y,z\n1,2,3\n1,2,3,4\n'
	bad "3: '4x' in column 'y' is not a finite number" 'x,y\n1,2\n3,4x\n'
	bad "2: 'nan' in column 'x' is not a finite number" 'x,y\nnan,2\n'
	bad "2: '1e999' in column 'x' is not a finite number" 'x,y\n1e999,2\n'
	bad "2: column 'y' is empty (want a finite number)" 'x,y\n1,\n'
	bad '2: mass -1 is negative' 'x,y,mass\n1,2,-1\n'
	bad '2: radius -1 is negative' 'x,y,radius\n1,2,-1\n'
	bad "2: '-1' in column 'id' is not a whole number" 'x,y,id\n1,2,-1\n'
	bad "2: '1.5' in column 'id' is not a whole number" 'x,y,id\n1,2,1.5\n'
	bad "2: '18446744073709551616' in column 'id' is not" 'x,y,id\n1,2,18446744073709551616\n'
	bad "2: '99999999999999999999' in column 'id' is not" 'x,y,id\n1,2,99999999999999999999\n'
	bad "2: '256' in column 'species' is not a whole number from 0 to 255" 'x,y,species\n1,2,256\n'
	bad "3: 'red' in column 'hue' is not a number (the first row has one)" 'x,y,hue\n1,2,3\n1,2,red\n'
	bad '2: a quoted cell has no closing quote' 'x,y,name\n1,2,"a\n'
	bad '3: time 2 in a frame of time 1' 'x,y,time\n1,2,1\n1,2,2\n'
	printf 'x,y,id\n1,2,7\n1,2,8\n1,2,7\n' >bad.csv
	fails_with 1 'bad.csv: id 7 appears twice in frame 0 (bodies 0 and 2)' 'nb-convert --from csv bad.csv'
	for id in 7,7 -1,2 1.5,2; do
		printf 'x,y,id\n1,2,%s\n1,2,%s\n' "${id%,*}" "${id#*,}" >ids.csv
		fails_with 1 "'--fields' without id" 'nb-convert --from csv ids.csv'
		equals "$(nb-convert --from csv --fields pos ids.csv | nb-convert --to csv --no-comments)" $'x,y\n1,2\n1,2'
	done
	# nothing is asked of any column that is not wanted
	while read -r name; do
		[[ $name == [xyz] ]] && continue
		printf 'x,y,z,%s\n1,2,3,?\n' "$name" >odd.csv
		fails_with 1 '' 'nb-convert --from csv odd.csv'
		equals "$(nb-convert --from csv --fields pos odd.csv | nb-convert --to csv --no-comments)" $'x,y,z\n1,2,3'
	done < <(sed -n 's/^NB_FIELD(.* PARTICLE,.*"\([^"]*\)", *"[^"]*")$/\1/p' "$NB_TOP/formats/stream/field.def" | tr -d '[]' | tr ' ' '\n' | sed '/^$/d')
	# the index that pandas writes, and the name that it gives to one it has read
	for name in '' 'Unnamed: 0'; do
		printf '%s,mass,x,y\n0,1,0,0\n0,2,1,0\n' "$name" >pandas.csv
		equals "$(nb-convert --from csv pandas.csv | nb-convert --to csv --no-comments)" $'id,index,mass,x,y\n0,0,1,0,0\n1,0,2,1,0'
	done
	awk 'BEGIN { for (k = 0; k < 1100; k++) { a = a ",c" k; b = b ",odd" } print "x,y" a "\n1,2" b }' >bad.csv
	fails_with 1 "bad.csv line 1: more than 1024 columns (choose some with '--fields')" 'nb-convert --from csv bad.csv'
	equals "$(nb-convert --from csv --fields pos,c1099 bad.csv | nb-convert --to csv --no-comments)" $'x,y,c1099\n1,2,"odd"'
	printf 'mass,x,y\n1D0,0,0\n' >bad.csv
	fails_with 1 "line 2: '1D0' in column 'mass' is not a finite number, with E where Fortran writes D" 'nb-convert --from csv bad.csv'
	printf 'frame,x,y\n1,0,0\n0,0,0\n' >bad.csv
	run bash -c 'nb-convert --from csv bad.csv >bad.nb'
	[ "$status" -eq 1 ]
	[[ $output == *'line 3: frame 0 after frame 1'* ]]
}

@test "what was written before a bad line of a later frame has no end marker" {
	printf 'frame,x,y\n0,1,2\n1,3,4\n1,5\n' >bad.csv
	run bash -c 'nb-convert --from csv bad.csv >bad.nb'
	[ "$status" -eq 1 ]
	[[ $output == *'line 4: 2 cells'* ]]
	[ -s bad.nb ]
	run nb-stats --check <bad.nb
	[ "$status" -eq 1 ]
	[[ $output == *'truncated stream: no end marker after frame 0'* ]]
}

@test "nothing is lost silently: columns and attributes without a place are named" {
	nb-gen uniform -n 5 --dim 2 --no-history | mutate add strange | mutate attribute time 3 |
		mutate attribute universe_radius 7 >a.nb
	run bash -c 'nb-convert --to princeton <a.nb >a.txt'
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *'cannot represent these columns, which are left out: strange' ]]
	[[ ${lines[1]} == *'attribute G is 1, but readers of princeton text assume 6.67e-11' ]]
	[[ ${lines[2]} == *'cannot represent attribute time=3' ]]
	[ "$(sed -n 2p a.txt)" = 7 ]
	run nb-convert -q --to princeton -o b.txt <a.nb
	[ -z "$output" ]
	cmp a.txt b.txt
	run bash -c 'mutate() { python3 "$NB_TOP/tests/mutate.py" "$@"; }
		mutate attribute G 2 <a.nb | mutate attribute pending_kick 0.5 | nb-convert --no-comments --to csv >a.csv'
	[ "$status" -eq 0 ]
	[[ $output == *'attribute G=2'*'attribute pending_kick=0.5'*'attribute time=3'* ]]
	[ "$(head -n 1 a.csv)" = id,mass,x,y,vx,vy,strange_0,strange_1,strange_2 ]
}

@test "princeton text refuses what is not flat, not finite or incomplete, and leaves the file alone" {
	nb-gen plummer -n 5 >a.nb
	echo precious >file.txt
	fails_with 1 'princeton text is 2-D' 'nb-convert --to princeton -o file.txt <a.nb'
	mutate drop vel <a.nb >b.nb
	fails_with 1 "field 'vel' missing in frame 0 (stream has: id, mass, pos)" 'nb-convert --to princeton -o file.txt <b.nb'
	mutate set mass 3 0 nan <a.nb >b.nb
	fails_with 1 "field 'mass' of the body with id 3 is not finite" 'nb-convert --to princeton -o file.txt <b.nb'
	fails_with 1 'truncated stream' 'nb-convert --to princeton -o file.txt </dev/null'
	[ "$(cat file.txt)" = precious ]
}

@test "a failed export leaves the file as it was, and nothing beside it" {
	mkdir -p whole && cd whole || return 1
	nb-gen plummer -n 20000 --no-history >big.nb
	head -c -200 big.nb >cut.nb # more than a buffer has been written by then
	cat big.nb cut.nb >late.nb
	for to in csv princeton; do
		for name in old new link; do
			echo precious >old
			ln -sf old link
			rm -f new
			[ "$to" = princeton ] || fails_with 1 'truncated stream' "nb-convert -q --to $to -o $name <late.nb"
			fails_with 1 '' "nb-convert -q --to $to -o $name <cut.nb"
			(
				ulimit -f 300
				trap '' XFSZ
				[ "$to" = princeton ] || fails_with 1 "write error: '$name': File too large" "nb-convert --to $to -o $name <big.nb"
			)
			[ "$(cat old)" = precious ]
			[ ! -e new ]
			[ "$(readlink link)" = old ]
			[ "$(find . -name '.*' -type f)" = '' ]
		done
	done
	# a second frame with other columns
	printf 'x,y,s\n1,2,a\n' | from csv >one.nb
	mutate drop s <one.nb >less.nb
	cat one.nb less.nb >unlike.nb
	fails_with 1 'frame 1: its columns differ' 'nb-convert -q --to csv -o old <unlike.nb'
	[ "$(cat old)" = precious ]
	fails_with 1 "from those of the frames before: 's' is missing" 'nb-convert -q --to csv <unlike.nb'
	fails_with 1 "from those of the frames before: 's' is new" 'cat less.nb one.nb | nb-convert -q --to csv'
}

@test "columns of later frames are found by their names, in whatever order, and come back with them" {
	nb-gen kepler --no-history >bodies.nb
	nb-calc --no-history 'a = 1' 'b = 3 + 0 * pos' bodies.nb >two.nb
	nb-calc --no-history 'b = 5 + 0 * pos' 'a = 8' bodies.nb >>two.nb
	nb-convert --to csv <two.nb >two.csv
	equals "$(awk -F, '/^frame/ { for (k = 1; k <= NF; k++) at[$k] = k } /^[01],/ { print $at["a"], $at["b_0"], $at["b_2"] }' two.csv | uniq | tr '\n' ' ')" '1 3 3 8 5 5 '
	nb-convert --from csv two.csv | nb-diff - two.nb
}

@test "an export that is killed leaves the file as it was" {
	mkdir -p killed && cd killed || return 1
	echo precious >old
	mkfifo feed
	nb-gen plummer -n 20000 --no-history >big.nb
	nb-convert --to csv -o old <feed &
	pid=$!
	exec 7>feed
	cat big.nb big.nb >&7
	wait_until test -s old.part
	kill -KILL $pid
	exec 7>&-
	wait $pid || true
	[ "$(cat old)" = precious ]
	[ "$(ls -A)" = "$(printf '%s\n' big.nb feed old old.part)" ]
}

@test "an export has the mode of the file that it replaces, or that of any new file" {
	mkdir -p modes && cd modes || return 1
	printf 'x,y\n1,2\n' | from csv >a.nb
	(
		umask 027
		nb-convert --to csv -o new <a.nb
		echo old >old
		chmod 604 old
		ln -s old link
		ln old other
		nb-convert --to csv -o link <a.nb
	)
	[ "$(stat -c %a new)" = 640 ]
	[ "$(stat -c %a old)" = 604 ]
	[ "$(readlink link)" = old ]
	cmp new old
	[ "$(cat other)" = old ]
	ln -s missing dangling
	nb-convert --to csv -o dangling <a.nb
	cmp new missing
	nb-convert --to csv -o "$(pwd)/sub/../absolute" <a.nb 2>said || true
	grep -q 'No such file' said
	nb-convert --to csv -o "$(pwd)/absolute" <a.nb
	cmp new absolute
}

@test "devices, pipes and the standard output are written as they are" {
	mkdir -p devices && cd devices || return 1
	printf 'x,y\n1,2\n' | from csv >a.nb
	nb-convert --to csv <a.nb >want
	mkfifo pipe
	cat pipe >got &
	nb-convert --to csv -o pipe <a.nb
	wait $!
	cmp want got
	[ -p pipe ]
	{
		echo before
		nb-convert --to csv -o /dev/stdout <a.nb
		echo after
	} >>got.txt
	[ "$(tail -n 1 got.txt)" = after ]
	nb-convert --to csv -o /dev/stdout <a.nb | cmp want -
	nb-convert --to csv -o /dev/null <a.nb
	[ -c /dev/null ]
}

@test "with --safe-cells a spreadsheet computes nothing, and the text comes back" {
	printf '%s\n' 'x,y,"=cmd()",s,v' '1,2,"+a","=1+1",-1.5' '3,4,"b","-2",+2' '5,6,"@c","'"'"'d",-0.25' \
		"7,8,\"\",\"$(printf '\t')=1\",3" '9,10,"x=1","a""b",4' | from csv --no-history >cells.nb
	csv <cells.nb | grep -qx '0,1,2,"+a","=1+1",-1.5'
	csv --safe-cells <cells.nb >safe.csv
	cat safe.csv
	head -n 1 safe.csv | grep -qxF "id,x,y,\"'=cmd()\",s,v"
	sed -n 2p safe.csv | grep -qxF "0,1,2,\"'+a\",\"'=1+1\",-1.5"
	sed -n 4p safe.csv | grep -qxF "2,5,6,\"'@c\",\"''d\",-0.25"
	sed -n 6p safe.csv | grep -qxF '4,9,10,"x=1","a""b",4'
	run grep -E "(^|,)\"?[=+@$(printf '\t')]" safe.csv
	[ "$status" -eq 1 ]
	nb-convert --from csv --safe-cells --no-history <safe.csv | cmp cells.nb
	tr -d '"' <safe.csv | sed 6d | nb-convert --from csv --safe-cells | csv | sed -n 3p | grep -qx '1,3,4,"b","-2",2'
	fails_with 2 "option '--safe-cells' needs" 'nb-convert --to princeton --safe-cells <cells.nb'
	fails_with 2 "option '--safe-cells' needs" 'nb-convert --from princeton --safe-cells </dev/null'
}

@test "a terminal gets no character that it would obey" {
	printf 'x,y,s\n1,2,"a\302\2332Jb\342\200\256c\233d\303\251"\n' | from csv >hostile.nb
	nb-convert --to csv <hostile.nb >plain
	printf '0,1,2,"a\302\2332Jb\342\200\256c\233d\303\251"\n' | cmp - <(tail -n 1 plain)
	script -qec 'nb-convert --to csv <hostile.nb' /dev/null </dev/null | tr -d '\r' | tail -n 1 >shown
	printf '0,1,2,"a?2Jb?c?d\303\251"\n' | cmp - shown
}

# FILE comes back from csv byte for byte, with its frames apart too
comes_back() {
	nb-convert --to csv <"$1" >back.csv
	from csv back.csv >back.nb
	cmp "$1" back.nb || { echo "$2"; head -n 20 back.csv; return 1; }
}

# bats test_tags=once
@test "csv keeps every byte of every model, with forces, in both precisions" {
	local model precision jerk
	for model in $(nb-gen --help | awk '/^[^ ]/ { on = $0 == "models:" } on && /^  / && $1 != "orbits" { print $1 }'); do
		for precision in f32 f64; do
			small=(-n 64)
			[[ $model != @(solar|figure8|kepler) ]] || small=()
			[ "$model" != boxes ] || small=(--level 2 --per-box 3)
			nb-gen "$model" "${small[@]}" --precision $precision >b.nb
			jerk=(--jerk)
			[ "$model" != lpt ] || jerk=() # there is none in a periodic box
			nb-force -e 0.1 "${jerk[@]}" --potential <b.nb >a.nb
			comes_back a.nb "$model $precision"
		done
	done
}

@test "csv keeps frames of 0, 1 and 2 bodies, columns that nobody knows, and runs" {
	for n in 0 1 2; do
		nb-gen plummer -n $n | mutate add strange | mutate attribute softening 0.1 >a.nb
		comes_back a.nb $n
		cat a.nb a.nb | nb-sort-zorder >b.nb # one stream
		comes_back b.nb "twice $n"
	done
	nb-gen merger -n 50 | nb-step -d 0.01 -k 20 --every 5 'nb-force -e 0.1' >a.nb
	comes_back a.nb run
	# a frame says what is not as before it
	[ "$(sed -n '/^# frame 2/,/^2,/p' back.csv | grep -c '^# ')" -le 4 ]
	(nb-gen plummer -n 0; nb-gen plummer -n 3; nb-gen plummer -n 0; nb-gen plummer -n 0) | nb-sort-zorder >a.nb
	comes_back a.nb 'with empty frames'
	nb-gen plummer -n 2 --no-history >one.nb
	for k in a b b=1 c; do mutate attribute "${k%=*}" "${k#*=}" <one.nb; done | cat - one.nb | nb-sort-zorder --no-history >a.nb
	comes_back a.nb 'with attributes that come and go'
	printf 'x,y,frame\n' | from csv >none.nb # a stream without frames
	comes_back none.nb 'no frames'
	[ "$(cat back.csv)" = '# nb-stream 1' ]
}

@test "csv keeps types, shapes, units and flags, also of what it has no numbers for" {
	local file
	for file in attributes f32 middle-of-run narrow-ids no-attributes no-bodies no-frames one-body plain potential-jerk \
		radius-species several-frames two-dimensions unknown-flags unsorted; do
		comes_back "$NB_TOP/tests/corpus/good/$file.nb" $file
	done
	# what the programs do not pass on, such as a later minor version, and tables other than the bodies aside
	for file in later-minor two-streams underived-acc; do
		nb-sort-zorder --no-history <"$NB_TOP/tests/corpus/good/$file.nb" >a.nb
		comes_back a.nb $file
	done
	nb-convert --to csv <"$NB_TOP/tests/corpus/good/unknown-columns.nb" | from csv >a.nb
	nb-stats --fields <"$NB_TOP/tests/corpus/good/unknown-columns.nb" | grep -v of_ | diff - <(nb-stats --fields <a.nb)
	comes_back a.nb 'unknown columns'
	nb-sort-zorder <"$NB_TOP/tests/corpus/good/octree.nb" | nb-build-tree >tree.nb
	nb-convert --to csv <tree.nb | from csv >a.nb
	run bash -c 'nb-stats --attributes <a.nb | grep -E "^(tree|leaf_size|order)="'
	[ "$status" -eq 1 ]
	nb-build-tree <a.nb | nb-stats --check
}

@test "a NaN keeps its sign, and attributes keep line ends, backslashes and controls" {
	printf 'x,y,a\n1,2,nan\n3,4,-nan\n5,6,-inf\n' | from csv >a.nb
	comes_back a.nb nan
	tail -n 3 back.csv | cut -d , -f 4 | diff - <(printf 'nan\n-nan\n-inf\n')
	python3 - >b.nb <<-'END'
		import sys
		sys.path.insert(0, "$NB_TOP/tests".replace("$NB_TOP", __import__("os").environ["NB_TOP"]))
		import mutate
		frame = mutate.Frame(open("a.nb", "rb").read())
		frame.attributes += b"note=a\\nb\\\\c\rd\te  \nempty=\nhistory=one\nhistory=two, =1+1\n"
		sys.stdout.buffer.write(frame.encode() + open("a.nb", "rb").read()[frame.size:])
	END
	nb-stats --check <b.nb
	comes_back b.nb attributes
	nb-convert --safe-cells --to csv <b.nb >safe.csv
	run grep -E '^#.*([,; 	]=|	)' safe.csv
	[ "$status" -eq 1 ]
	from csv --safe-cells safe.csv | cmp b.nb -
	sed 's/$/\r/' back.csv | from csv | cmp b.nb -
}

@test "a table that a person has changed is what the columns say" {
	nb-gen plummer -n 4 --precision f32 | nb-force -e 0.1 >a.nb
	nb-convert --to csv <a.nb >a.csv
	# without the accelerations, which a comment still describes; other columns keep their types
	cut -d , -f 1-8 a.csv | from csv >b.nb
	nb-stats --fields <b.nb | awk 'NR > 1 { print $2, $4 }' | diff - <(printf 'id <u8\nmass <f4\npos <f4\nvel <f4\n')
	nb-stats --attributes <b.nb | grep -qx softening=0.1
	# a row less, a column more, another time
	awk -F , -v OFS=, '/^#/ { print; next } !h { h = 1; print $0, "time", "hue"; next } h++ < 4 { print $0, 7, "red" }' a.csv | from csv >b.nb
	nb-stats --attributes <b.nb | grep -qx time=7
	[ "$(show mass b.nb | wc -l)" -eq 3 ]
	nb-stats --fields <b.nb | grep -q 'hue .*|S32'
	# in the plane
	cut -d , -f 1-4 a.csv | from csv | nb-stats --attributes | grep -qx dim=2
	sed 's/^# dim=3/# dim=2/; s/^# G=1/# G=3/' a.csv | from csv | nb-stats --attributes | grep -E '^(G|dim)=' | diff - <(printf 'G=3\ndim=2\n')
}

@test "the masses that the page doubles keep all their digits" {
	command=$(sed -n '/^Change the data/,/^The last frame/p' "$NB_TOP/man/nb-convert.1" | awk -f "$NB_TOP/man/examples.awk" | tr '\001' '\n')
	command=${command%|*nb-stats}
	[[ $command == *awk* ]]
	bash -o pipefail -c "$command" >a.nb
	show mass a.nb | python3 -c 'import sys
for line in sys.stdin: print(repr(float(line) / 2))' | diff - <(nb-gen solar | mutate show mass)
	equals "$(nb-stats --attributes <a.nb)" "$(nb-gen solar | nb-stats --attributes)"
	show pos a.nb | diff - <(nb-gen solar | mutate show pos)
}

@test "comments of a person set attributes, and prose is passed over" {
	printf '# made by hand, x=1\n# G=43007.1\n#softening=0.5  \n# frame 7\n# column x\nmass,x,y\n1,2,3\n# time=9\n' | from csv >a.nb
	nb-stats --attributes <a.nb | sort | diff - <(printf 'G=43007.1\ndim=2\nsoftening=0.5\ntime=0\n')
	from csv --G 2 <<<$'# G=1\nx,y\n1,2' | nb-stats --attributes | grep -qx G=2
	bad() { # bad MESSAGE TEXT
		printf %b "$2" >bad.csv
		fails_with 1 "nb-convert: bad.csv line $1" 'nb-convert --from csv bad.csv'
	}
	bad "2: attribute 'G' appears twice" '# G=1\n# G=2\nx,y\n'
	bad "1: csv text of another version, 'nb-stream 2'" '# nb-stream 2\nx,y\n'
	bad "2: attribute 'a' has a backslash that is no escape" '# nb-stream 1\n# a=\\q\nx,y\n'
	bad "2: attribute 'a' has a backslash that is no escape" '# nb-stream 1\n# a=\\x0\nx,y\n'
	bad "2: attribute 'a' has a backslash that is no escape" '# nb-stream 1\n# a=\\x00\nx,y\n'
	bad "4: attribute 'G' stands behind the rows of its frame" '# nb-stream 1\nx,y\n1,2\n# G=1\n'
	bad "2: 'frame one' is not the number of a frame" '# nb-stream 1\n# frame one\nx,y\n'
	bad "3: frame 1 begins before the header line" '# nb-stream 1\n# frame 0\n# frame 1\nx,y\n'
	printf '# nb-stream 1\n# frame 3\nx,y\n1,2\n# frame 1\n' >bad.csv
	run bash -c 'nb-convert --from csv bad.csv >bad.nb'
	[[ $output == *'line 5: frame 1 after frame 3' ]]
	bad "2: 'pos' describes no column" '# nb-stream 1\n# column pos\nx,y\n'
	bad "2: 'pos <f8 2 0 length' describes no column" '# nb-stream 1\n# column pos <f8 2 0 length\nx,y\n'
	bad "2: 'pos <u8 3 0' describes no column" '# nb-stream 1\n# column pos <u8 3 0\nx,y\n'
	bad "2: 'pos <f8 3 1' describes no column" '# nb-stream 1\n# column pos <f8 3 1\nx,y\n'
	bad "2: 'a <f8 0 0' describes no column" '# nb-stream 1\n# column a <f8 0 0\nx,y,a\n'
	bad "2: 'a >f8 1 0' describes no column" '# nb-stream 1\n# column a >f8 1 0\nx,y,a\n'
	bad "2: 'node_mass <f8 1 1' describes no column" '# nb-stream 1\n# column node_mass <f8 1 1\nx,y\n'
	bad "3: column 'a' is described twice" '# nb-stream 1\n# column a <f8 1 0\n# column a <f8 1 0\nx,y\n'
	bad "3: column 'a_1' is missing ('a' has 2 components)" '# nb-stream 1\n# column a <f8 2 0\nx,y,a_0\n1,2,3\n'
	bad "4: '1.5' in column 'a' is not a whole number from -32768 to 32767" '# nb-stream 1\n# column a <i2 1 0\nx,y,a\n1,2,1.5\n'
	bad "4: text in column 'a_1' is longer than 2 bytes" '# nb-stream 1\n# column a |S2 2 0\nx,y,a_0,a_1\n1,2,ab,abc\n'
	bad "4: column 'a' wants 4 hexadecimal digits" '# nb-stream 1\n# column a |V2 1 0\nx,y,a\n1,2,ab0g\n'
	bad "4: column 'a' wants 4 hexadecimal digits" '# nb-stream 1\n# column a |V2 1 0\nx,y,a\n1,2,ab01f\n'
}

@test "frame last is the last, and -1 too, by either name of the option" {
	(nb-gen -n 3; nb-gen -n 4; nb-gen -n 5 -s 2) | nb-sort-zorder >a.nb
	csv --frame 2 <a.nb >want.csv
	csv --frame last <a.nb | cmp want.csv -
	csv --frame -1 <a.nb | cmp want.csv -
	# by either name, in the programs that choose one
	csv --frames last <a.nb | cmp want.csv -
	for o in --frame --frames; do
		nb-select $o last a.nb --no-history | nb-convert --no-comments --to csv | cmp want.csv -
		nb-plot $o last -x x -y y --format text a.nb >/dev/null
	done
	NB_FOLD=off bash -c 'cat a.nb | nb-convert --no-comments --to csv --frame last' | cmp want.csv -
	[ "$(wc -l <want.csv)" -eq 6 ]
	printf 'x,y,frame\n' | from csv >none.nb
	fails_with 1 'the stream has no frames, and csv text needs one' 'nb-convert --to csv --frame last <none.nb'
	head -c -200 a.nb >cut.nb
	fails_with 1 'truncated stream' 'nb-convert --to csv --frame last <cut.nb'
	nb-convert --to csv --frame last <a.nb | nb-convert --from csv | nb-stats --history | grep -q 'nb-sort-zorder$'
}

@test "more bodies than a princeton file promises are not taken, and counted" {
	{ printf '2\n1\n'; for i in 1 2 3 4; do echo "$i 2 3 4 5 earth"; done; echo 'and 1 2 3 4 5'; } >more.txt
	run --separate-stderr bash -c 'nb-convert --no-history --from princeton more.txt >more.nb'
	[ "$status" -eq 0 ]
	equals "$stderr" 'nb-convert: more.txt has 4 bodies, but line 1 promises 2: the first 2 are taken'
	head -n 4 more.txt | from princeton | cmp more.nb -
	run nb-convert -q --from princeton more.txt
	[ "$status" -eq 0 ]
	[ -z "$(nb-convert -q --from princeton more.txt 2>&1 >/dev/null)" ]
}

# reads 'TEXT' 'CSV LINES' OPTION...: that is what the text means
reads() {
	local got
	got=$(printf %b "$1" | from csv "${@:3}" | csv | paste -sd ' ')
	equals "$got" "$2"
}

@test "tables of other programs: blanks, tabs, semicolons, a header in a comment, other spellings" {
	reads 'mass x y z\n1 2 3 4\n' 'id,mass,x,y,z 0,1,2,3,4'
	reads '  mass \t x y z  \n\t1   2 3 4 \n' 'id,mass,x,y,z 0,1,2,3,4'
	reads 'x;y;name\n1;2;"a;b"\n' 'id,x,y,name 0,1,2,"a;b"'
	reads 'x\ty\tmy name\tb\n1\t2\t\t5\n' 'id,x,y,my_name,b 0,1,2,nan,5'
	reads '"x" "y" "my name"\n1 2 "a b"\n' 'id,x,y,my_name 0,1,2,"a b"'
	reads 'x,y,\n1,2,\n3,4\n' 'id,x,y 0,1,2 1,3,4'
	reads 'x\ty\t\n1\t2\t\n' 'id,x,y 0,1,2'
	reads '#id,mass,x,y\n7,1,2,3\n' 'id,mass,x,y 7,1,2,3'
	reads '# made in 1999\n#id mass x y z\n# more\n7 1 2 3 4\n' 'id,mass,x,y,z 7,1,2,3,4'
	reads '# id, mass, x, y\n7 1 2 3\n' 'id,mass,x,y 7,1,2,3'
	reads '# name x y\nsun 1 2\n' 'id,name,x,y 0,"sun",1,2'
	reads '# x y\n' 'id,x,y'
	reads '# old x and y\nx,y\n1,2\n' 'id,x,y 0,1,2'
	reads 'ParticleIDs\tM\tposX\tPosY\tPOS_Z\tvel_x\tvely\tV_Z\tPotential\n1\t2\t3\t4\t5\t6\t7\t8\t9\n' 'id,mass,x,y,z,vx,vy,vz,pot 1,2,3,4,5,6,7,8,9'
	# what has the name itself is meant; others stay as they are
	reads 'm,mass,x,y,r,t\n1,2,3,4,5,6\n' 'id,m,mass,x,y,r,t 0,1,2,3,4,5,6'
	printf 'm [Msun],x[kpc],y(kpc),T[K]\n1,2,3,4\n' | from csv >u.nb
	nb-stats --fields <u.nb | awk 'NR > 1 { print $2, $4, $6 }' | diff - <(printf 'id <u8 -\nmass <f8 Msun\npos <f8 kpc\nT[K] <f8 -\n')
}

@test "--columns names those of a table without header" {
	reads '1 2 3 4\n' 'id,mass,x,y,z 0,1,2,3,4' --columns mass,x,y,z
	reads '1;2;3;4\n' 'id,mass,x,y,z 0,1,2,4,3' --columns mass,x,z,y
	reads '# two\n\n1,2,z,4\n5,6,,8' 'id,mass,x,y 0,1,2,4 1,5,6,8' --columns mass,x,-,y
	reads '1\t2\t9\t\n' 'id,x,y 0,1,2' --columns x,y,-
	reads '' 'id,x,y' --columns x,y
	reads '# G=2\n-1.5 2 sun\n' 'id,x,y,name 0,-1.5,2,"sun"' --columns x,y,name
	bad() { # bad LINE:MESSAGE TEXT LIST; 0: in no line
		local where=" line $1"
		[[ $1 != 0:* ]] || where=${1#0}
		printf %b "$2" >bad.txt
		fails_with 1 "nb-convert: bad.txt$where" "nb-convert --from csv --columns $3 bad.txt"
	}
	bad '1: 3 cells (the list has 2)' '1 2 3\n' x,y
	bad '2: 1 cell (the list has 2); what divides them is a blank' '1 2\n3\n' x,y
	bad "1: 'x' in column 'x' is not a finite number (if this is a header line, take it off" 'x y\n1 2\n' x,y
	bad "0: column 'y' is missing" '' x
	bad "0: column 2 has no name" '' x,,y
	bad "1: column 'x' appears twice" '1 2\n' x,x
}

# bats test_tags=once
@test "--separator divides the cells of a table both ways, to the same bytes" {
	printf '%s\n' '# column a;b <f8 1 0' '# column note |S32 1 0' '# unit=a|b' 'id,mass,x,y,z,"a,b","c d",a;b,e|f,note' \
		'7,1.5,1,2,3,-1e-300,nan,6,7,"a b;c|d	e,""f"""' '3,2,-1,-2,-3,4,5,,0.1,""' | from csv - >t.nb
	nb-gen plummer -n 50 | nb-step --no-history -d 0.01 -k 2 nb-force >run.nb
	from csv --columns x,y,z <<<'1 2 3' | nb-calc --no-history 'species = 3' >one.nb
	for file in t run one; do
		for separator in tab space ';' ',' '|' : '&'; do
			nb-convert --to csv --separator "$separator" -o "$file.txt" "$file.nb"
			from csv --separator "$separator" "$file.txt" | cmp - "$file.nb"
			nb-convert --to csv --safe-cells --separator "$separator" -o safe.txt "$file.nb"
			from csv --safe-cells --separator "$separator" safe.txt | cmp - "$file.nb"
			case $separator in
			tab | space | ';') from csv "$file.txt" | cmp - "$file.nb" ;; # as the header has it
			,) nb-convert --to csv "$file.nb" -o - | cmp - "$file.txt" ;;
			esac
		done
	done
	nb-convert --to csv --no-comments --separator ';' <t.nb >t.txt
	equals "$(head -n 2 t.txt)" 'id;mass;x;y;z;"a,b";c_d;"a;b";e|f;note
7;1.5;1;2;3;-1e-300;nan;6;7;"a b;c|d	e,""f"""'
	# numbers of other programs agree, by the same separator
	nb-convert --to csv --no-comments --separator tab --frame 1 <run.nb >tab.txt
	nb-convert --to csv --no-comments --frame 1 <run.nb | tr , '\t' | cmp - tab.txt
	close_to "$(nb-convert --to csv --no-comments --separator '|' --frame 1 <run.nb | awk -F '|' 'NR > 1 { s += $2 } END { print s }')" 1 1e-9
	python3 -c '
import csv
rows = list(csv.reader(open("t.txt"), delimiter=";"))
assert rows[0] == ["id", "mass", "x", "y", "z", "a,b", "c_d", "a;b", "e|f", "note"], rows
assert rows[1][9] == "a b;c|d\te,\"f\"" and float(rows[1][5]) == -1e-300 and len(rows) == 3, rows'
	# the one that is given wins over what would be guessed
	reads '1;2;"a;b"\n' 'id,x,y,name 0,1,2,"a;b"' --separator ';' --columns x,y,name
	reads '1|2|sun\n3|4|\n' 'id,x,y,name 0,1,2,"sun" 1,3,4,""' --separator '|' --columns x,y,name
	reads 'x:y:n,m\n1:2:3\n' 'id,x,y,"n,m" 0,1,2,3' --separator :
	reads '# x|y\n1|2\n' 'id,x,y 0,1,2' --separator '|'
	printf 'name|x|y\nq,1,2\n' >c.txt
	fails_with 1 "c.txt line 2: 1 cell (the header has 3); what divides them is '|'" "nb-convert --from csv --separator '|' c.txt"
	for bad in '' a 7 '"' '#' . -- ',,' tabs $'\xc3'; do
		fails_with 2 "invalid separator '" "nb-convert --from csv --separator '$bad' </dev/null"
	done
	fails_with 2 "option '--separator' needs '--from csv' or '--to csv'" 'nb-convert --from princeton --separator tab </dev/null'
	fails_with 2 "option '--separator' needs '--from csv' or '--to csv'" 'nb-convert --to npy --separator tab <t.nb'
}

@test "tables that are not understood are refused with what to do" {
	bad() { # bad MESSAGE TEXT
		printf %b "$2" >bad.csv
		fails_with 1 "nb-convert: bad.csv line $1" 'nb-convert --from csv bad.csv'
	}
	bad "2: '1,5' in column 'x' is not a finite number (decimal comma: put 'tr , .' before)" 'x;y\n1,5;2\n'
	tr , . <bad.csv | from csv | csv | grep -qx 0,1.5,2
	bad "2: '-1,5' in column 'y' is not a finite number (decimal comma" 'x y\n1 -1,5\n'
	bad "1: numbers, but no header line before (name the columns, as by '--columns mass,x,y,z')" '1 2 3 4\n'
	bad "1: numbers, but no header line before (name the columns, as by '--columns mass,x,y,z,vx,vy,vz')" '1,2,3,4,5,6,7\n'
	bad "1: numbers, but no header line before (name the columns, as by '--columns x,y,z,...')" '1 2 3 4 5\n'
	bad "2: '1 2' in column 'x' is not a finite number (what divides cells is a comma)" 'x,y\n1 2\n'
	bad "2: '1;2' in column 'x' is not a finite number (what divides cells is a comma)" 'x,y\n1;2\n'
	bad "1: column 'x' is missing (name it so, or name all columns with '--columns')" 'id mass\n1 2\n'
	bad "1: columns 'm' and 'masses' could both be mass (call one of them so)" 'm,masses,x,y\n1,2,3,4\n'
	bad "1: columns 'x[kpc]' and 'y[pc]' have different units" 'x[kpc],y[pc]\n1,2\n'
	bad "1: the unit in 'x[aaaaaaaaaaaaaaaaaaaaaaaaa]' is longer than 24 characters" 'x[aaaaaaaaaaaaaaaaaaaaaaaaa],y\n1,2\n'
	bad "1: name '[kpc]' of column 2 is a unit (write it without a blank, as x[kpc])" 'x [kpc] y [kpc]\n1 2\n'
	bad "1: lines end in CR alone (put \"tr '\\r' '\\n'\" before)" 'x,y\r1,2\r3,4\r'
	foreign() { # foreign MESSAGE, of the file foreign
		for format in csv princeton; do
			fails_with 1 "nb-convert: standard input: this is $1" "nb-convert --from $format <foreign"
			fails_with 1 "nb-convert: foreign: this is $1" "nb-convert --from $format foreign"
		done
	}
	printf 'x,y\n1,2\n' | gzip >foreign
	foreign "gzip: put 'gzip -dc' before"
	printf 'x,y\n1,2\n' | iconv -f UTF-8 -t UTF-16 >foreign
	foreign "UTF-16 text: put 'iconv -f UTF-16 -t UTF-8' before"
	iconv -f UTF-16 -t UTF-8 <foreign | from csv | nb-stats --check
	nb-gen >foreign
	foreign "a particle stream (it needs no '--from')"
}

# as numpy.load reads it, without NumPy: the type of a record, and the records
show_npy() {
	python3 - "$1" <<-'END'
		import ast, struct, sys
		data = open(sys.argv[1], "rb").read()
		assert data[:8] == b"\x93NUMPY\2\0"
		size = struct.unpack_from("<I", data, 8)[0]
		assert (12 + size) % 64 == 0 and data[11 + size:12 + size] == b"\n"
		header = ast.literal_eval(data[12:12 + size].decode("ascii").strip())
		assert header["fortran_order"] is False
		print(header["descr"], header["shape"])
		code = {"<f8": "d", "<f4": "f", "<u8": "Q", "<u2": "H", "|u1": "B"}
		form = "<" + "".join(code[d[1]] * (d[2][0] if len(d) > 2 else 1) for d in header["descr"])
		assert len(data) == 12 + size + header["shape"][0] * struct.calcsize(form)
		for row in struct.iter_unpack(form, data[12 + size:]):
		    print(*row)
	END
}

@test "npy is a structured array with a record for each body" {
	nb-gen merger -n 3 --precision f32 | mutate add "it's" >a.nb
	nb-convert --to npy -o a.npy <a.nb
	show_npy a.npy >got
	equals "$(head -n 1 got)" "[('id', '<u8'), ('mass', '<f4'), ('pos', '<f4', (3,)), ('vel', '<f4', (3,)), ('species', '|u1'), (\"it's\", '<u2', (3,))] (3,)"
	csv <a.nb | tail -n +2 | python3 -c 'import sys
for line in sys.stdin: print(*[int(w) if c == 0 or c > 7 else float(w) for c, w in enumerate(line.split(","))])' | diff <(tail -n +2 got) -
	nb-gen -n 0 | nb-convert --to npy >a.npy
	equals "$(show_npy a.npy)" "[('id', '<u8'), ('mass', '<f8'), ('pos', '<f8', (3,)), ('vel', '<f8', (3,))] (0,)"
	nb-gen -n 2 | nb-sort-zorder | nb-build-tree | nb-convert --to npy >a.npy
	run grep -c node_ a.npy
	[ "$output" = 0 ]
	(nb-gen -n 2; nb-gen -n 3) >two.nb
	fails_with 1 'several frames, but a NumPy array holds only one' 'nb-convert --to npy <two.nb'
	nb-convert --to npy --frame last <two.nb >a.npy
	[ "$(show_npy a.npy | wc -l)" -eq 4 ]
	printf 'x,y,frame\n' | from csv >none.nb
	fails_with 1 'the stream has no frames, and a NumPy array needs one' 'nb-convert --to npy <none.nb'
	fails_with 2 "invalid from 'npy' (want auto|amuse|princeton|csv" 'nb-convert --from npy </dev/null'
	run --separate-stderr bash -c 'nb-gen -n 2 | nb-force -e 0.1 | nb-convert --to npy'
	[[ $stderr == *'a NumPy array cannot represent attribute softening=0.1'* ]]
	run --separate-stderr bash -c 'nb-gen -n 2 | nb-force | nb-convert --to npy'
	equals "$stderr" ''
	run --separate-stderr bash -c "nb-gen lpt -n 8 | nb-calc '@omega_r = 0.1' | nb-convert --to npy"
	equals "$(grep -c attribute <<<"$stderr")" 3 # G, time and the box, which is all of it
	[[ $stderr == *'a NumPy array cannot represent attribute box=100, of a periodic box'* ]]
}

@test "numpy.load reads npy" {
	python=$(numpy_python) || skip 'no python3 with numpy'
	nb-gen plummer -n 4 | nb-convert --to npy -o a.npy
	"$python" -c 'import numpy; a = numpy.load("a.npy"); print(a["pos"].shape, a["mass"].sum(), a.dtype.names)' >got
	equals "$(cat got)" "(4, 3) 1.0 ('id', 'mass', 'pos', 'vel')"
}

@test "csv shows a NaN as it is" {
	nb-gen plummer -n 3 | mutate set pos 1 0 nan | csv | sed -n 3p | cut -d , -f 3 | grep -qx nan
}

@test "two columns that csv would give one name are refused" {
	nb-gen plummer -n 3 | mutate add v | mutate add x >a.nb
	printf 'x,y,v_0\n1,2,3\n' | from csv | mutate add v >b.nb
	fails_with 1 "two columns would be called 'v_0'" 'nb-convert --to csv <b.nb'
	csv <a.nb | head -n 1 | grep -q 'x_2$'
}

@test "--G sets the gravitational constant, --no-history leaves out the history" {
	from csv --G 2.5 <<<$'x,y\n1,2' | nb-stats --attributes | grep -qx G=2.5
	from csv <<<$'x,y\n1,2' | nb-stats --attributes | grep -qx G=1
	from princeton --G 1 "$DATA/princeton-names.txt" | nb-stats --attributes | grep -qx G=1
	[ -z "$(from csv <<<$'x,y\n1,2' | nb-stats --history)" ]
	nb-convert --from csv --G 3 <<<$'x,y\n1,2' | nb-stats --history | grep -q 'nb-convert --from csv --G 3$'
}

@test "FILE is the input, and what is not a stream is never taken for it where it may be meant as the output" {
	nb-gen plummer -n 20 >a.nb
	nb-convert --to csv <a.nb >want.csv
	nb-convert --to csv -o out.csv a.nb
	cmp want.csv out.csv
	nb-convert --to csv -o out.csv <a.nb
	cmp want.csv out.csv
	nb-convert --to csv -o - a.nb | cmp want.csv
	nb-convert --to csv -o out.csv - <a.nb
	cmp want.csv out.csv
	nb-convert --to npy <a.nb >want.npy
	nb-convert --to npy a.nb -o out.npy
	cmp want.npy out.npy
	# other programs fold with it as before
	for fold in on off; do
		NB_FOLD=$fold bash -c 'nb-gen plummer -n 20 | nb-convert --to csv -o out.csv'
		cmp want.csv out.csv
	done
	nb-convert --to csv a.nb | cmp want.csv
	nb-convert --to csv <(cat a.nb) | cmp want.csv
	# the output was an operand once
	echo text >old
	for file in out.csv new.csv old . /dev/null /dev/full; do
		fails_with 2 "'$file' is no particle stream, and FILE is the input (want '--to csv -o $file' to write it, or '--from auto' to read it)" \
			"nb-convert --to csv $file <a.nb"
	done
	cmp want.csv out.csv
	grep -qx text old
	[ ! -e new.csv ]
	# any other file is replaced, as it was
	nb-convert --to csv -o out.csv <a.nb
	cmp want.csv out.csv
	echo text >out.csv
	nb-convert --to csv -o out.csv <a.nb
	cmp want.csv out.csv
	# nothing is lost where the input fails
	head -c 500 a.nb >cut.nb
	fails_with 1 'truncated stream' 'nb-convert --to csv -o out.csv cut.nb'
	fails_with 1 "'none.nb': No such file" 'nb-convert --to csv -o out.csv none.nb'
	fails_with 1 'truncated stream' 'nb-convert --to csv -o out.csv <cut.nb'
	cmp want.csv out.csv
	# it may be asked to, where both are one file
	cp a.nb both
	nb-convert --to csv -o both both
	cmp want.csv both
}

# bats test_tags=once
@test "formats follow from the suffix of -o and from what the file holds" {
	local name suffix reads
	reads=$(nb-convert --help | sed -n 's/^  *--from \([a-z0-9|-]*\).*/|\1|/p')
	nb-gen plummer -n 40 >p.nb
	sed -n 's/^\t\.name = "\(.*\)",$/\1/p; s/^\t\.suffixes = "\(.*\)",$/ \1/p' "$NB_TOP"/formats/exchange/*/*.c |
		awk '/^[^ ]/ { name = $1 } /^ / { for (i = 1; i <= NF; i++) print name, $i }' >suffixes
	[ "$(wc -l <suffixes)" -ge 14 ]
	while read -r name suffix; do
		nb-convert -q p.nb -o "x.$suffix"
		nb-convert -q --to "$name" -o x.other p.nb
		if [ "$suffix" != pvd ]; then
			cmp x.other "x.$suffix"
			nb-convert -q --to "$suffix" p.nb | cmp - x.other
		fi
		[[ $reads == *"|$name|"* && $(nb-convert --help) != *"--from $name is"* ]] || continue
		nb-convert "x.$suffix" >back.nb
		nb-convert --from "$name" "x.$suffix" | nb-diff back.nb -
		nb-convert --from "$suffix" "x.$suffix" | nb-diff back.nb -
		nb-convert "x.$suffix" -o again.nb
		nb-diff back.nb again.nb
		# through no stream at all
		nb-convert -q "x.$suffix" -o direct.csv
		nb-convert --no-comments --to csv back.nb >want.csv
		grep -v '^#' direct.csv | cmp want.csv
	done <suffixes
	nb-convert -q p.nb -o x.CSV
	cmp x.csv x.CSV
	nb-convert <x.csv | nb-diff p.nb -
	nb-convert -o b.nb <x.csv
	nb-diff p.nb b.nb
	nb-convert --from csv x.csv -o noname
	nb-diff p.nb noname
	fails_with 2 "'p.nb' is a particle stream already (want '--to FORMAT', or '-o FILE.csv')" 'nb-convert p.nb -o p.xyz'
	fails_with 2 "'p.nb' is a particle stream already" 'nb-convert p.nb'
	fails_with 1 'this is a particle stream' 'nb-convert -o p.xyz <p.nb'
	[ ! -e p.xyz ]
}

@test "what is read from one format and written in another is what a stream between them gives" {
	nb-gen kepler | nb-step -d 0.1 -k 3 nb-force >run.nb
	nb-convert -o run.csv run.nb
	for frame in -q --frame=1 --frame=last; do
		nb-convert "$frame" run.csv -o direct.nemo
		nb-convert "$frame" --from csv run.csv | nb-convert -o by.nemo
		nb-convert direct.nemo --no-history >direct.nb
		nb-convert by.nemo --no-history | nb-diff direct.nb -
	done
	nb-convert --from csv --to csv run.csv --separator tab 2>/dev/null && return 1
	nb-convert --from csv --to csv run.csv --no-comments | cmp - <(nb-convert --to csv --no-comments run.nb)
	fails_with 1 'the stream has several frames, but a TIPSY file holds only one' 'nb-convert -q run.csv -o run.tipsy'
	fails_with 1 "has no frame 7 (it has 4)" 'nb-convert -q --frame 7 run.csv -o run.nemo'
	nb-convert -q --from csv --frame 2 --rows 1 --to tipsy run.csv -o one.tipsy
	nb-convert one.tipsy | nb-stats --format tsv | head -n 2 | grep -q '0\.2'
	[ ! -e run.tipsy ]
}

@test "with -o an output of several files is written from a file as from a pipe" {
	nb-gen plummer -n 40 | nb-calc 'id += 100' >p.nb
	nb-gen kepler | nb-step -d 0.1 -k 2 nb-force >run.nb
	mkdir operand option
	nb-convert -q --to gadget --files 4 -o operand/snap <p.nb
	nb-convert -q --to tipsy -o operand/p.tipsy <p.nb
	nb-convert -q --to vtp -o operand/run.pvd <run.nb
	nb-convert -q --to gadget --files 4 -o option/snap p.nb
	nb-convert -q --to tipsy p.nb -o option/p.tipsy
	nb-convert -q --to vtp -o option/run.pvd <run.nb
	equals "$(cd option && echo *)" 'p.tipsy p.tipsy.iord run.pvd run_000000.vtp run_000001.vtp run_000002.vtp snap.0 snap.1 snap.2 snap.3'
	diff -r operand option
	# a failure leaves what was there, and nothing else
	head -c 1500 p.nb >cut.nb
	fails_with 1 'truncated stream' 'nb-convert -q --to gadget --files 4 -o option/snap cut.nb'
	fails_with 1 'truncated stream' 'nb-convert -q --to tipsy -o option/p.tipsy cut.nb'
	diff -r operand option
	rm option/snap.2
	mkdir option/snap.2
	nb-gen plummer -n 50 >other.nb
	fails_with 1 "write error: 'option/snap': Is a directory" 'nb-convert -q --to gadget --files 4 -o option/snap other.nb'
	rmdir option/snap.2
	cp operand/snap.2 option/
	diff -r operand option
	fails_with 2 "option '--files' needs '-o FILE'" 'nb-convert -q --to gadget --files 4 -o - p.nb'
	fails_with 2 "invalid output ''" "nb-convert --to csv -o '' p.nb"
}

@test "wrong usage of nb-convert exits 2" {
	fails_with 1 'standard input: the file is empty' 'nb-convert </dev/null'
	run script -qec nb-convert /dev/null
	[ "$status" -eq 2 ]
	[[ $output == *"give '--from FORMAT', '--to FORMAT' or a FILE"* ]]
	fails_with 2 "invalid to 'no-such' (want princeton|csv" 'nb-convert --to no-such </dev/null'
	fails_with 2 "invalid to 'amuse'" 'nb-convert --to amuse </dev/null'
	fails_with 2 "invalid from 'no-such' (want auto|amuse|princeton|csv" 'nb-convert --from no-such </dev/null'
	fails_with 2 "option '--G' needs '--from'" 'nb-convert --to csv --G 1 </dev/null'
	fails_with 2 "option '--no-history' needs '--from'" 'nb-convert --to csv --no-history </dev/null'
	fails_with 2 "invalid frames '-2' (want a number from 0, or 'last'; 'nb-select --frames' takes lists)" 'nb-convert --to csv --frame -2 </dev/null'
	fails_with 2 "invalid frames 'first'" 'nb-convert --to csv --frame first </dev/null'
	fails_with 2 "option '--columns' needs '--from csv'" 'nb-convert --to csv --columns x,y </dev/null'
	fails_with 2 "option '--columns' needs '--from csv'" 'nb-convert --from princeton --columns x,y </dev/null'
	fails_with 2 "option '--no-comments' needs '--to csv'" 'nb-convert --from csv --no-comments </dev/null'
	fails_with 2 "option '--no-comments' needs '--to csv'" 'nb-convert --to princeton --no-comments </dev/null'
	fails_with 2 "invalid G 'x'" 'nb-convert --from csv --G x </dev/null'
	fails_with 2 "unknown option '--nonsense'" 'nb-convert --nonsense </dev/null'
	fails_with 2 "unexpected operand 'b'" 'nb-convert --to csv a b </dev/null'
}

@test "a full disk is noticed in both directions" {
	printf 'x,y\n1,2\n' >a.csv
	fails_with 1 'write error: No space left' 'nb-convert --from csv a.csv >/dev/full'
	nb-convert --from csv a.csv >a.nb
	fails_with 1 'write error: No space left' 'nb-convert --to csv <a.nb >/dev/full'
	fails_with 1 "write error: '/dev/full': No space left" 'nb-convert --to csv -o /dev/full <a.nb'
	fails_with 1 "nb-convert: 'no/such/place': No such file" 'nb-convert --to csv -o no/such/place <a.nb'
}
