#!/usr/bin/env bats
# nb-convert: TIPSY, NEMO, VTK, npz - read by other programs, and back again to the bit.

load helper

DATA=$NB_TOP/tests/data

from() { nb-convert --no-history --from "$@"; }
show() { mutate show "$1" <"$2"; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	small='ulimit -v 500000' # AddressSanitizer has most of the address space
	[ "${NB_CONFIG:-}" != san ] || small=:
}

# three bodies, one of each kind of TIPSY, with all that its records have
kinds() {
	cat >kinds.csv <<-'END'
		# types=gadget
		# time=0.5
		# column density <f4 1 0
		# column temperature <f4 1 0
		# column metallicity <f4 1 0
		# column formation_time <f4 1 0
		id,mass,x,y,z,vx,vy,vz,species,eps,pot,density,temperature,metallicity,formation_time
		0,1,1.5,2,3,-1,-2,-3,0,0.25,-7,11,12,0.5,nan
		1,2,4,5,6,-4,-5,-6,1,0.5,-8,nan,nan,nan,nan
		2,4,7,8,9,-7,-8,-9,4,0.75,-9,nan,nan,0.125,21
	END
	from csv kinds.csv >kinds.nb
}

real() {
	[ -n "${NB_DATA:-}" ] || skip 'NB_DATA is not set'
	[ -r "$NB_DATA/formats/$1" ] || skip "no formats/$1 in $NB_DATA"
}

# ---- TIPSY ----

# a TIPSY file by the description of the format: make_tipsy ORDER HEADER POSITIONS [VELOCITIES]
make_tipsy() {
	python3 - "$@" <<-'END'
		import struct, sys
		o, header, p, v = sys.argv[1], int(sys.argv[2]), sys.argv[3], (sys.argv + ["f"])[4]
		out = struct.pack(o + "d5i", 0.5, 3, 3, 1, 1, 1) + b"\0" * (header - 28)
		out += struct.pack(o + "f3" + p + "3" + v + "5f", 1, 1.5, 2, 3, -1, -2, -3, 11, 12, 0.25, 0.5, -7)
		out += struct.pack(o + "f3" + p + "3" + v + "2f", 2, 4, 5, 6, -4, -5, -6, 0.5, -8)
		out += struct.pack(o + "f3" + p + "3" + v + "4f", 4, 7, 8, 9, -7, -8, -9, 0.125, 21, 0.75, -9)
		sys.stdout.buffer.write(out)
	END
}

# bats test_tags=once
@test "a TIPSY file of both byte orders, both headers, and any width of positions and velocities is the same frame" {
	kinds
	for order in '>' '<'; do
		for header in 28 32; do
			widths=(f-f d-d)
			[[ $order$header != @('>28'|'<32') ]] || widths=(f-d d-f)
			for widths in "${widths[@]}"; do
				make_tipsy "$order" "$header" "${widths%-*}" "${widths#*-}" >a.tipsy
				from tipsy a.tipsy >a.nb 2>said
				[ ! -s said ]
				nb-convert --to csv <a.nb | grep -v '^#' >a.csv
				[ -e first.csv ] || cp a.csv first.csv
				cmp a.csv first.csv
			done
		done
	done
	for c in id mass pos vel species eps pot density temperature metallicity formation_time; do
		diff <(show $c a.nb) <(show $c kinds.nb)
	done
	nb-stats --check <a.nb
	nb-stats --attributes <a.nb | sort >attributes
	printf 'G=1\ndim=3\ntime=0.5\ntipsy_positions=f8\ntypes=gadget\n' | diff attributes -
}

@test "TIPSY files of the same length with positions or velocities in f8 are told apart by their numbers, or a warning says that they cannot be" {
	python3 - <<-'END'
		import random, struct
		rng = random.Random(1)
		for n in 1, 2, 300:
		    for kind in "real", "rounded":
		        rows = [[rng.gauss(0, 10) for _ in range(6)] for _ in range(n)]
		        if kind == "rounded":
		            rows = [struct.unpack("6f", struct.pack("6f", *r)) for r in rows]
		        for p, v in "df", "fd":
		            with open(f"{n}{kind}.{p}{v}", "wb") as f:
		                f.write(struct.pack(">d6i", 0, n, 3, 0, n, 0, 0))
		                for r in rows:
		                    f.write(struct.pack(f">f3{p}3{v}2f", 1, *r, 0, 0))
		with open("doubt.fd", "wb") as f:
		    f.write(struct.pack(">d6i", 0, 1, 3, 0, 1, 0, 0) + struct.pack(">f3f3d2f", 1, 1.875, 0, 0, 0, 0, 0, 0, 0))
	END
	for file in [123]*real.df [123]*rounded.df; do
		from tipsy "$file" >a.nb 2>said
		from tipsy "${file%.df}.fd" >b.nb 2>>said
		[ ! -s said ]
		nb-diff -q --fields pos,vel --tolerance 1e-6 a.nb b.nb
	done
	from tipsy doubt.fd >a.nb 2>said
	diff said <(echo 'nb-convert: the size of doubt.fd fits positions in f8, and velocities in f8, and so do the numbers: positions are taken to be')
}

@test "TIPSY is written byte for byte as its description says" {
	kinds
	nb-convert --to tipsy -o k.tipsy <kinds.nb
	make_tipsy '>' 32 f | cmp - k.tipsy
	nb-convert --to tipsy-native -o k.native <kinds.nb
	make_tipsy '<' 32 f | cmp - k.native
	[ ! -e k.tipsy.iord ]
	# positions in f8 stay so, in both orders
	make_tipsy '>' 32 d >d.tipsy
	from tipsy d.tipsy | nb-convert --to tipsy | cmp - d.tipsy
	make_tipsy '<' 32 d >e.tipsy
	from tipsy d.tipsy | nb-convert --to tipsy-native | cmp - e.tipsy
	# through pipes too
	make_tipsy '>' 32 f | cat | from tipsy | nb-convert --to tipsy | cat | cmp - k.tipsy
}

@test "the three kinds stand one after the other in TIPSY, and their ids go beside the file" {
	kinds
	nb-select --sort -id <kinds.nb >turned.nb
	[ "$(show id turned.nb | tr '\n' ' ')" = '2 1 0 ' ]
	nb-convert --to tipsy -o t.tipsy <turned.nb
	nb-convert --to tipsy -o k.tipsy <kinds.nb
	cmp t.tipsy k.tipsy
	[ ! -e t.tipsy.iord ]
	nb-calc 'id = id + 5' <kinds.nb >five.nb
	run --separate-stderr nb-convert --to tipsy -o f.tipsy <five.nb
	[ "$stderr" = '' ]
	[ "$(tr '\n' ' ' <f.tipsy.iord)" = '3 5 6 7 ' ]
	from tipsy f.tipsy >back.nb
	[ "$(show id back.nb | tr '\n' ' ')" = '5 6 7 ' ]
	# a file of ids that belongs to other bodies does not stay
	nb-convert --to tipsy -o f.tipsy <kinds.nb
	[ "$(tr '\n' ' ' <f.tipsy.iord)" = '3 0 1 2 ' ]
	# a pipe has nothing beside it, nor has a file that is standard output
	run nb-convert --to tipsy -o /dev/null <five.nb
	[ "$output" = 'nb-convert: a TIPSY file cannot represent these columns, which are left out: id' ]
	ln -s /proc/self/fd/1 out
	nb-convert --to tipsy -o out <five.nb 2>err >o.tipsy
	grep -q 'left out: id$' err
	[ ! -e out.iord ]
	cmp o.tipsy f.tipsy
}

@test "bodies whose species are no types are dark in TIPSY, and what is lost is told" {
	nb-gen merger -n 50 | mutate attribute model own >m.nb
	run nb-convert --to tipsy -o m.tipsy <m.nb
	[ "$output" = 'nb-convert: a TIPSY file cannot represent these columns, which are left out: species' ]
	from tipsy m.tipsy >back.nb
	[ "$(show species back.nb | sort -u)" = 1 ]
	kinds
	nb-calc 'density = 5' <kinds.nb >dense.nb
	run nb-convert --to tipsy -o d.tipsy <dense.nb
	[ "$output" = 'nb-convert: a TIPSY file cannot represent these columns, which are left out: density' ]
	nb-calc 'species = 3' <kinds.nb | nb-convert --to tipsy -o d.tipsy 2>err
	grep -q 'left out: species, density' err
	from csv --G 5 kinds.csv >g.nb
	run nb-convert --to tipsy -o d.tipsy <g.nb
	[ "$output" = 'nb-convert: attribute G is 5, but readers of a TIPSY file assume 1' ]
}

@test "the softening of a frame is that of its bodies in TIPSY and NEMO" {
	nb-gen plummer -n 10 | nb-force -e 0.125 >p.nb
	for format in tipsy nemo; do
		run --separate-stderr nb-convert --to "$format" -o "p.$format" <p.nb
		[[ $stderr != *softening* ]]
		from "$format" "p.$format" >back.nb
		[ "$(show eps back.nb | sort -u)" = 0.125 ]
	done
}

@test "potentials of TIPSY that nobody computed do not become a column" {
	nb-gen plummer -n 10 | nb-convert --to tipsy -o p.tipsy
	from tipsy p.tipsy | nb-stats --fields >fields
	grep -q ' eps ' fields
	run ! grep -q ' pot ' fields
}

@test "arrays beside a TIPSY file become columns" {
	make_tipsy '>' 32 f >a.tipsy
	printf '3\n10\n18446744073709551615\n12\n' >a.tipsy.iord
	printf '3\n1\n2.5\n-3e2\n' >a.HI
	printf '3\n1\n2\n3\n4\n5\n6\n7\n8\n9\n' >a.tipsy.acc
	printf '3\n4\n5\n6\n' >a.tipsy.density
	printf '3\n1\n2\n2\n' >a.tipsy.amiga.grp
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">i3f", 3, 1, 2, 4))' >a.tipsy.OxMassFrac
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">i9f", 3, *range(9)))' >a.tipsy.field
	printf 'a log file\n' >a.tipsy.log
	: >a.tipsy.empty
	mkdir a.tipsy.folder
	mkfifo a.tipsy.pipe
	from tipsy a.tipsy >a.nb
	[ "$(show id a.nb | tr '\n' ' ')" = '10 18446744073709551615 12 ' ]
	[ "$(show hi a.nb | tr '\n' ' ')" = '1.0 2.5 -300.0 ' ]
	[ "$(show acc a.nb | tr '\n' ' ')" = '1.0 4.0 7.0 2.0 5.0 8.0 3.0 6.0 9.0 ' ]
	[ "$(show density a.nb | tr '\n' ' ')" = '11.0 nan nan ' ]
	[ "$(show density_array a.nb | tr '\n' ' ')" = '4.0 5.0 6.0 ' ]
	[ "$(show amiga_grp a.nb | tr '\n' ' ')" = '1 2 2 ' ]
	[ "$(show oxmassfrac a.nb | tr '\n' ' ')" = '1.0 2.0 4.0 ' ]
	[ "$(show field a.nb | tr '\n' ' ')" = '0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 ' ]
	nb-stats --check <a.nb
	nb-stats --fields <a.nb >fields
	run ! grep -qE 'log|empty|folder|pipe' fields
	# from another folder
	mkdir other
	(cd other && from tipsy ../a.tipsy) | cmp - a.nb
	# in the other byte order
	make_tipsy '<' 28 f >b.tipsy
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<i3i", 3, 8, 9, 7))' >b.iord
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<i3d", 3, 8, 9, 0.1))' >b.wide
	from tipsy b.tipsy >b.nb
	[ "$(show id b.nb | tr '\n' ' ')" = '8 9 7 ' ]
	[ "$(show wide b.nb | tr '\n' ' ')" = '8.0 9.0 0.1 ' ]
}

@test "an array beside a TIPSY file that is wrong is refused" {
	make_tipsy '>' 32 f >a.tipsy
	bad() {
		fails_with 1 "$1" 'nb-convert --from tipsy a.tipsy'
		rm a.tipsy.?*
	}
	printf '3\n1\n2\n' >a.tipsy.iord
	bad 'nb-convert: a.tipsy.iord line 3: 2 numbers for 3 bodies'
	printf '3\n1\n2\n3\n4\n' >a.tipsy.iord
	bad 'a.tipsy.iord line 5: 4 numbers for 3 bodies'
	printf '3\n1\n2.5\n3\n' >a.tipsy.iord
	want="(want numbers from 0 on; '--fields' without id leaves them out)"
	bad "a.tipsy.iord line 3: '2.5' is not a whole number $want"
	printf '3\n1\n2\n99999999999999999999\n' >a.tipsy.iord
	bad "line 4: 99999999999999999999 is too large $want"
	printf '3\n1\n-2\n3\n' >a.tipsy.iord
	bad "line 3: -2 is negative $want"
	for words in i q; do
		python3 -c "import struct; open('a.tipsy.iord', 'wb').write(struct.pack('>i', 3) + struct.pack('>3$words', 1, 2, -3))"
		nb-convert --from tipsy --fields mass,pos a.tipsy | nb-stats --check
		bad "a.tipsy.iord: body 2 has -3 $want"
	done
	printf '3\n1\nx\n3\n' >a.tipsy.den
	bad "a.tipsy.den line 3: 'x' is not a number"
	printf '3\n1\n1\n3\n' >a.tipsy.iord
	bad 'id 1 appears twice in frame 0 (bodies 0 and 1)'
	printf '3\n1\n2\n3\n' >a.tipsy.acc
	bad 'a.tipsy.acc line 4: 3 numbers for 3 bodies'
	printf '\0\0\0\3\0\0\0\1' >a.tipsy.iord
	bad 'a.tipsy.iord: 8 bytes, which are no array of 3 bodies'
	printf '\0\0\0\3\0\0\0\1\0\0\0\1\0\0\0\1' >a.tipsy.acc
	bad 'a.tipsy.acc: 1 number for each body (want 3)'
}

@test "an array beside a TIPSY file that cannot be opened is an error, a folder is none" {
	kinds
	nb-convert -q --to tipsy -o a <kinds.nb
	ln -s nowhere a.iord
	fails_with 1 'a.iord: cannot be opened: No such file or directory' 'nb-convert --from tipsy a'
	rm a.iord
	mkdir a.folder
	nb-convert --from tipsy a | nb-stats --check
}

@test "wrong TIPSY files are refused with the reason" {
	bad() { # bad MESSAGE: as a file, and through a pipe
		fails_with 1 "$1" 'nb-convert --from tipsy bad.tipsy'
		fails_with 1 "$1" 'cat bad.tipsy | nb-convert --from tipsy'
	}
	: >bad.tipsy
	bad ': the file ends at byte 0, in the header, which has 32'
	head -c 27 <(make_tipsy '>' 32 f) >bad.tipsy
	bad ': the file ends at byte 27, in the header'
	make_tipsy '>' 32 f >bad.tipsy
	printf '\0\0\0\4' | dd of=bad.tipsy bs=1 seek=8 conv=notrunc 2>/dev/null
	bad 'the header says 4 bodies, but 1 gas, 1 dark and 1 star'
	printf '%64s' x >bad.tipsy
	bad 'this is no TIPSY file (538976288 or 538976288 dimensions at byte 12)'
	make_tipsy '>' 32 f >bad.tipsy
	printf 'xx' >>bad.tipsy
	fails_with 1 'bad.tipsy: 162 bytes, but its header says 1 gas, 1 dark and 1 star bodies, which are 160' 'nb-convert --from tipsy bad.tipsy'
	fails_with 1 'standard input: more bytes behind the last body, at byte 160 (positions in f8' 'cat bad.tipsy | nb-convert --from tipsy'
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6i", 0, 5, 3, 1, 2, 3, 0))' >bad.tipsy
	bad 'the header says 5 bodies, but 1 gas, 2 dark and 3 star'
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6i", float("nan"), 0, 3, 0, 0, 0, 0))' >bad.tipsy
	bad 'the time in the header, at byte 0, is not finite'
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6i", 0, 0, 1, 0, 0, 0, 0))' >bad.tipsy
	bad 'bodies in 1 dimension (want 2 or 3)'
	# four thousand million bodies, of which there is none, cost no memory
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6I", 0, 4000000000, 3, 0, 4000000000, 0, 0))' >bad.tipsy
	fails_with 1 'standard input: the file ends at byte 32, in the dark bodies' "$small && cat bad.tipsy | nb-convert --from tipsy"
	fails_with 1 'bad.tipsy: 32 bytes, but its header says' 'nb-convert --from tipsy bad.tipsy'
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6i9f", 0, 1, 3, 0, 1, 0, 0, 1, float("nan"), 0, 0, 0, 0, 0, 0, 0))' >bad.tipsy
	bad "field 'pos'"
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6i9f", 0, 1, 2, 0, 1, 0, 0, 1, 0, 0, 5, 0, 0, 0, 0, 0))' >bad.tipsy
	bad '2 dimensions, but body 0 has z = 5 and vz = 0'
}

@test "a TIPSY file without bodies that ends within its header is refused, through a pipe too" {
	python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack(">d6i", 0.5, 0, 3, 0, 0, 0, 0))' >none.tipsy
	for n in 28 32; do # headers of both lengths
		head -c $n none.tipsy | from tipsy >out.nb
		head -c $n none.tipsy >whole.tipsy
		from tipsy whole.tipsy | cmp - out.nb
	done
	for n in 29 30 31; do
		head -c $n none.tipsy >cut.tipsy
		fails_with 1 "cut.tipsy: $n bytes, but its header says 0 gas" 'nb-convert --from tipsy cut.tipsy'
		fails_with 1 "standard input: $n bytes, but its header says 0 gas" 'cat cut.tipsy | nb-convert --from tipsy'
	done
}

@test "TIPSY refuses numbers that single precision cannot hold" {
	kinds
	nb-calc 'pos = 1e39 * pos' <kinds.nb >large.nb
	fails_with 1 "row 0 of 'pos' has 1.5e+39, which single precision cannot hold" 'nb-convert --to tipsy <large.nb'
	[ ! -e l.tipsy ]
	fails_with 1 "row 0 of 'pos'" 'nb-convert --to tipsy -o l.tipsy <large.nb'
	[ ! -e l.tipsy ]
}

@test "TIPSY of two dimensions stays so" {
	printf 'id,mass,x,y,vx,vy\n0,1,2,3,4,5\n1,1,2,4,4,5\n' | from csv >flat.nb
	nb-convert --to tipsy -o f.tipsy <flat.nb
	from tipsy f.tipsy >back.nb
	[ "$(nb-stats --attributes <back.nb | grep dim)" = dim=2 ]
	diff <(show pos flat.nb) <(show pos back.nb)
}

@test "TIPSY files in NB_DATA go through and back to the byte" {
	real tiny.000640.tipsy
	cp "$NB_DATA"/formats/tiny.000640.* .
	chmod u+w tiny*
	from tipsy tiny.000640.tipsy >t.nb
	[ "$(show species t.nb | sort -n | uniq -c | tr -s ' \n' ' ')" = ' 171 0 3078 1 49 4 ' ]
	[ "$(show id t.nb | sed -n '2p;$p' | tr '\n' ' ')" = '10000 33020437 ' ]
	[ "$(nb-stats --attributes <t.nb | grep time)" = time=0.25228136787231603 ]
	nb-convert --to tipsy -o back.tipsy <t.nb
	cmp back.tipsy tiny.000640.tipsy
	python3 - <<-'END'
		import struct
		b = open("tiny.000640.iord", "rb").read()
		n = struct.unpack(">i", b[:4])[0]
		assert list(struct.unpack(">%di" % n, b[4:])) == [int(x) for x in open("back.tipsy.iord")][1:]
	END
	real king_soft.tipsy
	from tipsy <"$NB_DATA/formats/king_soft.tipsy" >king.nb
	nb-convert --to tipsy <king.nb | cmp - "$NB_DATA/formats/king_soft.tipsy"
	nb-convert --to tipsy-native -o king.native <king.nb
	from tipsy king.native >back.nb
	cmp back.nb king.nb
}

@test "the King model of ChaNGa has the energy that PKDGRAV found" {
	real king_soft.tipsy
	real king_pkdgrav.log
	# its splines end at twice the softening, those of nb at 2.8 times
	from tipsy "$NB_DATA/formats/king_soft.tipsy" | nb-calc 'eps /= 1.4' | nb-sort-zorder | nb-build-tree |
		nb-force -m tree -t 0.5 --softening-kernel spline --potential | nb-stats --format tsv >found
	read -r _ _ etot ekin epot _ < <(grep -v '^#' "$NB_DATA/formats/king_pkdgrav.log")
	close_to "$etot" "$(stat_of etot <found)" 1.5e-3
	close_to "$ekin" "$(stat_of ekin <found)" 1e-5
	close_to "$epot" "$(stat_of epot <found)" 1.5e-3
}

# ---- NEMO ----

# a NEMO file by the description of the format: make_nemo ORDER FORM TYPE, two snapshots of two bodies; the second has no
# masses, and a snapshot between them only diagnostics
make_nemo() {
	python3 - "$@" <<-'END'
		import struct, sys
		o, form, real = sys.argv[1:4]
		out = bytearray()
		def head(kind, tag, dims):
		    out.extend(struct.pack(o + "H", 0x0B92 if dims else 0x0992) + kind.encode() + b"\0")
		    if tag is not None:
		        out.extend(tag.encode() + b"\0")
		    if dims:
		        out.extend(struct.pack(o + "%di" % (len(dims) + 1), *dims, 0))
		def item(kind, tag, data, *dims):
		    head(kind, tag, dims)
		    out.extend(data if kind == "c" else struct.pack(o + "%d%s" % (len(data), kind), *data))
		def end():
		    head(")", None, ())
		item("c", "Headline", b"two bodies\0", 11)
		item("c", "History", b"mk out=x\0", 9)
		for k in range(2):
		    head("(", "SnapShot", ())
		    head("(", "Parameters", ())
		    item("i", "Nobj", [2])
		    item(real, "Time", [0.25 + k])
		    end()
		    head("(", "Particles", ())
		    item("i", "CoordSystem", [0x10302])
		    if k == 0:
		        item(real, "Mass", [1, 2], 2)
		    pos, vel = [1, 2, 3, 4, 5, 6 + k], [-1, -2, -3, -4, -5, -6]
		    if form == "together":
		        item(real, "PhaseSpace", pos[:3] + vel[:3] + pos[3:] + vel[3:], 2, 2, 3)
		    else:
		        item(real, "Position", pos, 2, 3)
		        item(real, "Velocity", vel, 2, 3)
		    item(real, "Potential", [-0.5, -0.25], 2)
		    item(real, "Acceleration", [0, 1, 2, 3, 4, 5], 2, 3)
		    item("i", "Key", [7, 3], 2)
		    item("f", "Density", [8, 16], 2)
		    item(real, "Eps", [0.125, 0.5], 2)
		    item("d", "Aux", [0.1, 0.2], 2)
		    end()
		    end()
		    head("(", "SnapShot", ())
		    head("(", "Parameters", ())
		    item("i", "Nobj", [2])
		    end()
		    head("(", "Diagnostics", ())
		    item("d", "Energy", [-1, 2, -3], 3)
		    end()
		    end()
		sys.stdout.buffer.write(out)
	END
}

# bats test_tags=once
@test "NEMO snapshots of both byte orders, both forms and both precisions are the same frames" {
	make_nemo '<' together d >n.nemo
	from nemo n.nemo >n.nb
	nb-stats --check <n.nb | grep -q '^ok: 2 frames, 4 bodies'
	nb-select --frames 0 <n.nb >first.nb
	[ "$(show id first.nb | tr '\n' ' ')" = '7 3 ' ]
	[ "$(show mass first.nb | tr '\n' ' ')" = '1.0 2.0 ' ]
	[ "$(show pos first.nb | tr '\n' ' ')" = '1.0 2.0 3.0 4.0 5.0 6.0 ' ]
	[ "$(show vel first.nb | tr '\n' ' ')" = '-1.0 -2.0 -3.0 -4.0 -5.0 -6.0 ' ]
	[ "$(show pot first.nb | tr '\n' ' ')" = '-0.5 -0.25 ' ]
	[ "$(show acc first.nb | tr '\n' ' ')" = '0.0 1.0 2.0 3.0 4.0 5.0 ' ]
	[ "$(show eps first.nb | tr '\n' ' ')" = '0.125 0.5 ' ]
	[ "$(show density first.nb | tr '\n' ' ')" = '8.0 16.0 ' ]
	[ "$(show aux first.nb | tr '\n' ' ')" = '0.1 0.2 ' ]
	nb-stats --attributes <first.nb | sort >attributes
	printf 'G=1\ndim=3\nheadline=two bodies\ntime=0.25\n' | diff attributes -
	nb-stats --history <first.nb | grep -qx 'mk out=x'
	# masses that a later snapshot does not have stay
	nb-select --frames 1 <n.nb >second.nb
	[ "$(show mass second.nb | tr '\n' ' ')" = '1.0 2.0 ' ]
	[ "$(show pos second.nb | tail -n 1)" = '4.0 5.0 7.0' ]
	[ "$(nb-stats --attributes <second.nb | grep time)" = time=1.25 ]
	# NEMO_i of any kind is the same stream, but for where the columns stand
	for order in '<' '>'; do
		make_nemo "$order" together d | from nemo | cmp - n.nb
		for form in together apart; do
			for real in f d; do
				make_nemo "$order" "$form" "$real" | cat | from nemo >o.nb
				nb-diff --quiet n.nb o.nb
			done
		done
	done
}

@test "NEMO is written so that it reads back as the same stream" {
	make_nemo '<' together d | from nemo >n.nb
	nb-convert --to nemo-split <n.nb >split.nemo
	for format in nemo nemo-split; do
		nb-convert --to "$format" -o "out.$format" <n.nb
		from nemo "out.$format" | cmp - n.nb
		nb-convert --to "$format" <n.nb | cat >piped
		cmp piped "out.$format"
	done
	cmp split.nemo out.nemo-split
	grep -aq PhaseSpace out.nemo
	run ! grep -aq Position out.nemo
	grep -aq Position out.nemo-split
	run ! grep -aq PhaseSpace out.nemo-split
	# as the description says: an own reader
	python3 - out.nemo <<-'END'
		import struct, sys
		b, at, depth, seen = open(sys.argv[1], "rb").read(), 0, 0, []
		size = {"c": 1, "b": 1, "s": 2, "i": 4, "l": 8, "f": 4, "d": 8}
		while at < len(b):
		    magic, = struct.unpack_from("<H", b, at)
		    assert magic in (0x0992, 0x0B92)
		    kind, at = chr(b[at + 2]), at + 4
		    if kind == ")":
		        depth -= 1
		        continue
		    end = b.index(0, at)
		    tag, at, n = b[at:end].decode(), end + 1, 1
		    if kind == "(":
		        depth += 1
		        continue
		    while magic == 0x0B92:
		        d, = struct.unpack_from("<i", b, at)
		        at += 4
		        if not d:
		            break
		        n *= d
		    seen.append((depth, tag, struct.unpack_from("<%d%s" % (n, kind), b, at) if kind != "c" else b[at:at + n]))
		    at += n * size[kind]
		assert depth == 0
		assert seen[0] == (0, "Headline", b"two bodies\0") or seen[1] == (0, "Headline", b"two bodies\0"), seen[:2]
		assert (2, "Nobj", (2,)) in seen and (2, "Time", (1.25,)) in seen and (2, "Key", (7, 3)) in seen
		assert (2, "PhaseSpace", (1, 2, 3, -1, -2, -3, 4, 5, 6, -4, -5, -6)) in seen
	END
}

@test "a run of several frames goes to NEMO and back" {
	nb-gen plummer -n 20 | nb-step -d 0.01 -k 4 --every 2 'nb-force -e 0.25 --potential' >run.nb
	nb-convert --to nemo -o run.nemo <run.nb
	from nemo run.nemo >back.nb
	nb-diff --quiet --fields pos,vel,mass,id,acc,pot run.nb back.nb
	nb-convert --frame last --to nemo <run.nb | from nemo | nb-stats --check | grep -q '^ok: 1 frames'
}

@test "what NEMO cannot hold is told, and columns of its own names stay" {
	kinds
	run nb-convert --to nemo -o k.nemo <kinds.nb
	[ "$output" = '' ]
	from nemo k.nemo >back.nb
	for c in id mass pos vel species eps pot density temperature metallicity formation_time; do
		diff <(show $c back.nb) <(show $c kinds.nb)
	done
	nb-calc 'id = id + 3000000000' <kinds.nb >large.nb
	run nb-convert --to nemo -o l.nemo <large.nb
	[ "$output" = 'nb-convert: a NEMO snapshot cannot represent these columns, which are left out: id' ]
	# columns whose names are the tags of others
	nb-calc 'Position=mass' 'Mass=id' 'Key=id' 'PhaseSpace=pos' <kinds.nb >tags.nb
	run nb-convert --to nemo -o t.nemo <tags.nb
	[ "$output" = 'nb-convert: a NEMO snapshot cannot represent these columns, which are left out: Position, Mass, Key, PhaseSpace' ]
	diff <(from nemo t.nemo | nb-stats --fields) <(nb-stats --fields <back.nb)
	# keys that are no ids are a column of that name
	make_nemo '<' together d | sed 's/\x07\x00\x00\x00\x03\x00\x00\x00/\x03\x00\x00\x00\x03\x00\x00\x00/g' >same.nemo
	from nemo same.nemo >same.nb 2>err # two frames, one warning
	equals "$(cat err)" 'nb-convert: same.nemo: keys are no ids (negative, not whole, or twice the same), so bodies are numbered, and the keys are column nemo_key'
	from nemo --fields mass,pos,nemo_key same.nemo 2>err >keys.nb
	[ ! -s err ]
	nb-select --frames 0 <same.nb >first.nb
	[ "$(show nemo_key first.nb | tr '\n' ' ')" = '3 3 ' ]
	[ "$(show id first.nb | tr '\n' ' ')" = '0 1 ' ]
	nb-convert --to nemo -o same2.nemo <same.nb
	from nemo same2.nemo >back.nb
	cmp back.nb same.nb
}

@test "NEMO frames without bodies, and with one, go through and back" {
	for n in 0 1; do
		nb-gen plummer -n "$n" | nb-convert --to nemo -o "$n.nemo"
		from nemo "$n.nemo" >back.nb
		nb-stats --check <back.nb | grep -q "^ok: 1 frames, $n bodies"
		nb-gen plummer -n "$n" | nb-convert --to tipsy -o "$n.tipsy"
		from tipsy "$n.tipsy" | nb-stats --check | grep -q "^ok: 1 frames, $n bodies"
	done
}

@test "wrong NEMO files are refused with item and byte" {
	make_nemo '<' together d >n.nemo
	bad() { # bad MESSAGE PYTHON: b is the file
		python3 -c 'import sys
b = open("n.nemo", "rb").read()
def swap(old, new, count=1):
    global b
    assert old in b
    b = b.replace(old, new, count)
'"$2"'
sys.stdout.buffer.write(b)' >bad.nemo
		fails_with 1 "$1" 'nb-convert --from nemo bad.nemo'
		fails_with 1 "$1" 'cat bad.nemo | nb-convert --from nemo'
	}
	bad ': no snapshot with particles' 'b = b""'
	bad ': no item of a NEMO file begins at byte 0' 'b = b"hello, world"'
	bad "has the type 'q', which is not known" 'swap(b"d\0Time", b"q\0Time")'
	bad "item 'Nobj' at byte" 'swap(b"i\0Nobj", b"b\0Nobj")'
	bad 'has 2 bodies, but its Nobj is 3' 'swap(b"Nobj\0\2", b"Nobj\0\3")'
	bad "item 'PhaseSpace' at byte" 'swap(b"PhaseSpace\0\2\0\0\0\2", b"PhaseSpace\0\2\0\0\0\3")'
	local code
	for code in 66306.5 4295033602 1e160; do # not as an integer, which would be the wanted one, or undefined
		bad "is $(python3 -c "print('%.17g' % $code)") (want 66306, 0x10302: cartesian, 3-D)" \
			"import struct; swap(b'i\0CoordSystem\0' + struct.pack('<i', 66306), b'd\0CoordSystem\0' + struct.pack('<d', $code))"
	done
	bad 'is 66307 (want 66306, 0x10302: cartesian, 3-D)' 'swap(b"CoordSystem\0\2", b"CoordSystem\0\3")'
	bad "item 'Mass' at byte 157 is not an array of a real number for each body" 'swap(b"d\0Mass", b"l\0Mass")'
	bad "item 'Potential' at byte" 'swap(b"Potential\0\2", b"Potential\0\3")'
	bad 'has impossible dimensions' 'swap(b"Mass\0\2\0\0\0", b"Mass\0\xff\xff\xff\xff")'
	bad 'has no Position and no PhaseSpace' 'swap(b"PhaseSpace\0\2\0\0\0\2\0\0\0\3\0\0\0", b"PhaseSpaze\0\2\0\0\0\2\0\0\0\3\0\0\0", 2)'
	bad 'a set ends at byte 0 that has not begun' 'b = b"\x92\x09)\0" + b'
	bad 'more than 64 sets in one another' 'b = b"\x92\x09(\0A\0" * 100'
	# more bodies than the file has bytes for cost no memory
	python3 -c 'import struct, sys
sys.stdout.buffer.write(b"\x92\x09(\0SnapShot\0\x92\x09(\0Particles\0\x92\x0bd\0Mass\0" + struct.pack("<2i", 2000000000, 0))' >bad.nemo
	fails_with 1 'the file ends at byte 44, in Mass' "$small && cat bad.nemo | nb-convert --from nemo"
	fails_with 1 'the file ends at byte 44, in Mass, which has 16000000000 bytes from byte 44' 'nb-convert --from nemo bad.nemo'
}

@test "cut files are refused, and leave no stream that looks whole" {
	make_nemo '>' apart f >n.nemo
	make_tipsy '>' 32 f >n.tipsy
	for format in nemo tipsy; do
		for i in 1 30 100 156 159; do
			head -c "$i" "n.$format" >short
			fails_with 1 'nb-convert: short: ' "nb-convert --from $format short"
			fails_with 1 'nb-convert: standard input: ' "cat short | nb-convert --from $format"
		done
	done
}

@test "the NEMO file in NB_DATA goes through and back" {
	real disk.nemo
	from nemo "$NB_DATA/formats/disk.nemo" >d.nb
	nb-stats --check <d.nb | grep -q '^ok: 1 frames, 10001 bodies'
	[ "$(nb-stats --attributes <d.nb | grep time)" = time=600 ]
	nb-stats --history <d.nb | grep -q 'snapmask_s bhg067.snap_sp'
	for format in nemo nemo-split; do
		nb-convert --to "$format" <d.nb >"d.$format"
		from nemo "d.$format" >back.nb
		cmp back.nb d.nb
	done
	# the bytes themselves: position of body 0, of the last, and a mass
	python3 - "$NB_DATA/formats/disk.nemo" >want <<-'END'
		import struct, sys
		b = open(sys.argv[1], "rb").read()
		at = b.index(b"Position\0") + 9 + 12
		for i in 0, 10000:
		    print(*struct.unpack_from("<3f", b, at + 12 * i))
	END
	show pos d.nb | sed -n '1p;$p' | diff want -
}

# ---- npz ----

@test "NumPy reads an npz file: arrays for columns, and attributes" {
	nb-gen plummer -n 17 | nb-force -e 0.25 --potential >p.nb
	nb-convert --to npz -o p.npz <p.nb
	nb-convert --to npz <p.nb | cmp - p.npz
	nb-convert --to npy -o p.npy <p.nb
	"$(numpy_python)" - <<-'END'
		import numpy as np, zipfile
		assert zipfile.ZipFile("p.npz").testzip() is None
		a, b = np.load("p.npz"), np.load("p.npy")
		for name in b.dtype.names:
		    assert a[name].dtype == b[name].dtype and np.array_equal(a[name], b[name]), name
		assert a["pos"].shape == (17, 3) and a["softening"] == 0.25 and a["G"] == 1 and a["time"] == 0
		assert str(a["model"]) == "plummer" and a["history"].shape == (2,) and "nb-force" in a["history"][1]
	END
}

@test "an npz file of several frames has their numbers before the names" {
	nb-gen plummer -n 5 | nb-step -d 0.01 -k 4 --every 2 'nb-force -e 0.25' >run.nb
	nb-convert --to npz -o run.npz <run.nb
	nb-convert --frame 1 --to npz -o one.npz <run.nb
	nb-gen plummer -n 0 | nb-convert --to npz -o none.npz
	printf '# nb-stream 1\n' | from csv | nb-convert --to npz -o empty.npz
	"$(numpy_python)" - <<-'END'
		import numpy as np
		a, one, none = np.load("run.npz"), np.load("one.npz"), np.load("none.npz")
		assert [float(a["%d/time" % k]) for k in range(3)] == [0, 0.02, 0.04]
		assert np.array_equal(a["1/pos"], one["pos"]) and not np.array_equal(a["0/pos"], a["2/pos"])
		assert none["pos"].shape == (0, 3) and none["mass"].shape == (0,)
		assert np.load("empty.npz").files == []
	END
}

@test "an npz file keeps text, odd types and names that are attributes too" {
	printf '# time=3\n# note=caf\xc3\xa9 \xff\nx,y,z,name,time\n1,2,3,"a",7\n' | from csv >a.nb
	printf '# time=3\n# note=caf\xc3\xa9\nx,y,z,name\n1,2,3,"a"\n' | from csv | nb-calc 'note = 4' | nb-convert --to npz -o a.npz
	"$(numpy_python)" - <<-'END'
		import numpy as np
		a = np.load("a.npz")
		assert a["name"][0] == b"a" and a["note"][0] == 4 and str(a["attribute_note"]) == "caf\xe9" and a["time"] == 3
	END
	nb-convert --to npz <a.nb >b.npz
	"$(numpy_python)" -c 'import numpy as np; assert str(np.load("b.npz")["note"]) == "caf\xe9 \xff"'
}

# ---- VTK ----

# what VTK sees in a .vtp file, as columns
vtk_of() {
	"$vtk" - "$1" <<-'END'
		import sys
		from vtkmodules.vtkIOXML import vtkXMLPolyDataReader
		from vtkmodules.util.numpy_support import vtk_to_numpy
		r = vtkXMLPolyDataReader()
		r.SetFileName(sys.argv[1])
		r.Update()
		p = r.GetOutput()
		n = p.GetNumberOfPoints()
		assert p.GetNumberOfVerts() == n and (n == 0 or p.GetCell(n - 1).GetPointId(0) == n - 1)
		a = {"pos": vtk_to_numpy(p.GetPoints().GetData())} if n else {}
		d, f = p.GetPointData(), p.GetFieldData()
		for i in range(d.GetNumberOfArrays()):
		    a[d.GetArrayName(i)] = vtk_to_numpy(d.GetArray(i))
		for name in sorted(a):
		    print(name, a[name].dtype, *(repr(float(x)) for x in a[name].ravel()))
		for i in range(f.GetNumberOfArrays()):
		    print("#", f.GetArrayName(i), f.GetAbstractArray(i).GetVariantValue(0).ToString())
	END
}

# bats test_tags=once
@test "VTK reads a vtp file: points, columns and attributes" {
	vtk=$(python_with vtkmodules.vtkIOXML) || skip 'no VTK for Python'
	nb-gen merger -n 30 | nb-force -e 0.25 --potential >p.nb
	nb-convert --to vtp -o p.vtp <p.nb
	nb-convert --to vtp <p.nb | cmp - p.vtp
	nb-convert --to npy -o p.npy <p.nb
	vtk_of p.vtp >seen
	grep -v '^#' seen >columns
	"$(numpy_python)" -c 'import numpy as np
a = np.load("p.npy")
for name in sorted(a.dtype.names): print(name, a[name].dtype, *(repr(float(x)) for x in a[name].ravel()))' | diff columns -
	grep -qx '# TimeValue 0' seen
	grep -qx '# softening 0.25' seen
	grep -qx '# model merger' seen
	grep -q '^# history_1 nb-force' seen
	# single precision, and no bodies
	nb-gen plummer -n 3 --precision f32 >f.nb
	nb-convert --to vtp -o f.vtp <f.nb
	vtk_of f.vtp | grep -q '^pos float32'
	nb-gen plummer -n 0 | nb-convert --to vtp -o n.vtp
	vtk_of n.vtp | grep -qx '# model plummer'
}

@test "a vtp file says where its arrays are, and is well-formed before them" {
	printf '# note=<&">\nx,y,z,a&b\n1,2,3,4\n' | from csv >p.nb
	nb-convert --to vtp -o p.vtp <p.nb
	python3 - <<-'END'
		import re, struct, xml.etree.ElementTree as T
		b = open("p.vtp", "rb").read()
		head, raw = b.split(b'<AppendedData encoding="raw">\n_', 1)
		tree = T.fromstring(head + b"</VTKFile>")
		arrays = {a.get("Name"): a for a in tree.iter("DataArray") if a.get("format") == "appended"}
		def data(name, kind):
		    at = int(arrays[name].get("offset"))
		    size, = struct.unpack_from("<Q", raw, at)
		    return struct.unpack_from("<%d%s" % (size // struct.calcsize(kind), kind), raw, at + 8)
		assert data("Points", "d") == (1, 2, 3) and data("a&b", "d") == (4,) and data("id", "Q") == (0,)
		assert data("connectivity", "i") == (0,) and data("offsets", "i") == (1,)
		assert raw.endswith(b"\n</AppendedData>\n</VTKFile>\n")
		note = [a for a in tree.iter("Array") if a.get("Name") == "note"][0]
		assert bytes(int(c) for c in note.text.split()) == b'<&">\0'
	END
}

@test "a run becomes a .pvd list with a vtp file for each frame" {
	nb-gen plummer -n 5 | nb-step -d 0.01 -k 4 --every 2 'nb-force -e 0.25' >run.nb
	mkdir out
	nb-convert --to vtp -o 'out/a&b.pvd' <run.nb
	[ "$(cd out && printf '%s ' *)" = 'a&b.pvd a&b_000000.vtp a&b_000001.vtp a&b_000002.vtp ' ]
	python3 - <<-'END'
		import xml.etree.ElementTree as T
		sets = list(T.parse("out/a&b.pvd").iter("DataSet"))
		assert [s.get("file") for s in sets] == ["a&b_00000%d.vtp" % k for k in range(3)]
		assert [float(s.get("timestep")) for s in sets] == [0, 0.02, 0.04]
	END
	nb-convert --frame 1 --to vtp -o one.vtp <run.nb
	cmp one.vtp 'out/a&b_000001.vtp'
	fails_with 1 "a .vtp file holds only one frame (choose it with '--frames K', or write all with '-o FILE.pvd')" 'nb-convert --to vtp <run.nb'
	fails_with 1 'holds only one frame' 'nb-convert --to vtp -o run.vtp <run.nb'
	[ ! -e run.vtp ]
	# the list comes when all is there
	mkdir locked_000001.vtp
	fails_with 1 "frame 1: write error: 'locked_000001.vtp':" 'nb-convert --to vtp -o locked.pvd <run.nb'
	[ ! -e locked.pvd ]
}

@test "vtp leaves out text, and says so" {
	from princeton "$DATA/princeton-names.txt" >n.nb
	run nb-convert --to vtp -o n.vtp <n.nb
	[ "$output" = 'nb-convert: a VTK file of points cannot represent these columns, which are left out: name' ]
}

# ---- parts ----

# as the same of a table, from a file and from a pipe: parts_agree FORMAT FILE
parts_agree() {
	local part words
	from "$1" "$2" >all.nb
	nb-convert -q --to csv -o all.csv all.nb
	for part in '--rows 7' '--rows 3:250:11' '--rows ::13' '--rows 99:200' '--rows 5000:' '--species 0' '--species 1,4' \
		'--species 3' '--species 4 --rows 5::3' '--sphere 0,0,0,1' '--sphere 0.5,0,0,1.5 --species 1,4' \
		'--rows 1::2 --species 0,4 --sphere 0,0.5,0,1.2' '--fields pos,vel --rows 3:9' '--fields id,mass --rows 4::100' \
		'--fields id --sphere 0,0,0,1' '--rows ::2 --keep-derived'; do
		[[ $1 != nemo || $part != *--species* ]] || continue
		read -ra words <<<"$part"
		from csv "${words[@]}" all.csv >want.nb
		from "$1" "${words[@]}" "$2" | cmp - want.nb || { echo "$part"; return 1; }
		[ -e "$2.iord" ] || from "$1" "${words[@]}" - <"$2" | cmp - want.nb || { echo "pipe $part"; return 1; }
	done
}

# bats test_tags=once
@test "--rows, --species, --sphere and --fields take the same bodies of TIPSY, NEMO and a table" {
	(
		echo '# types=gadget'
		nb-gen plummer -n 300 | nb-force -e 0.1 --potential | nb-convert --to csv --no-comments |
			awk -F , -v OFS=, 'NR == 1 { print $0, "species,eps"; next } { print $0, (NR < 100 ? 0 : NR < 180 ? 1 : 4), NR / 1000 }' |
			cut -d , -f 1-8,12-
	) >mixed.csv
	head -n 2 mixed.csv | tail -n 1 | grep -qx id,mass,x,y,z,vx,vy,vz,pot,species,eps
	from csv mixed.csv >m.nb
	nb-convert -q --to tipsy -o m.tipsy m.nb
	parts_agree tipsy m.tipsy
	# with ids and arrays of others beside it
	nb-calc 'id = 1000 - id' m.nb | nb-convert -q --to tipsy -o a.tipsy
	(echo 300 && seq 1 0.5 150.5) >a.tipsy.HI
	from tipsy --rows 17 a.tipsy | nb-convert --to csv --no-comments | tail -n 1 | grep -q ',9.5$'
	parts_agree tipsy a.tipsy
	nb-convert -q --to nemo -o m.nemo m.nb
	parts_agree nemo m.nemo
	nb-convert -q --to nemo-split -o s.nemo m.nb
	parts_agree nemo s.nemo
}

# bats test_tags=once,linux
@test "what --fields, --rows and --species leave out decides nothing, in any format that is read" {
	# @types: species are the same in each format; a plane is all that princeton holds
	nb-gen plummer -n 24 --no-history | nb-calc --no-history 'species=1+3*(id%2)' '@types="gadget"' z=0 vz=0 eps=0.01 >sound.nb
	PYTHON_H5=$(python_with_h5py) python3 - <<-'END'
		import os, shutil, struct, subprocess

		def run(command):
		    done = subprocess.run(command, shell=True, capture_output=True)
		    return done.returncode, done.stdout, done.stderr.decode()

		# numbers that stand nowhere else, for each column, and are the same in both precisions
		marks = {"mass": ("mass", 1 / 32 + 2**-20), "pos": ("x", 7 / 8 + 2**-20), "vel": ("vx", 9 / 8 + 2**-20),
		         "eps": ("eps", 1 / 16 + 2**-20), "acc": ("ax", 5 / 4 + 2**-20), "pot": ("pot", -3 - 2**-20)}

		def spoil(data, mark):
		    for form in "<f", ">f", "<d", ">d":
		        data = data.replace(struct.pack(form, mark), struct.pack(form, float("nan")))
		    return data.replace(repr(mark).encode(), b"nan")

		def writer(form):
		    if form != "amuse":
		        return f"nb-convert -q --to {form} -o good/f"
		    return 'nb-convert -q --to csv --no-comments | "$PYTHON_H5" "$NB_TOP/tests/make-hdf5.py" amuse-table good/f'

		def export(form, where):
		    values = [f"'{v}=({where})*({m!r})+(1-({where}))*{v}'" for v, m in marks.values()]
		    bodies, forces = " ".join(values[:4]), " ".join(values[4:])
		    code, _, said = run(f"nb-calc --no-history {bodies} <sound.nb | "
		                        f"nb-force --no-history --potential | nb-calc --no-history {forces} | " + writer(form))
		    assert code == 0, said

		def compare(reads, options, spoiled, always):
		    sound = open("good/f", "rb").read()
		    data = sound
		    for mark in spoiled:
		        data = spoil(data, mark)
		    if data == sound and not always:
		        return 0
		    assert data != sound, (reads, options, "nothing to spoil")
		    shutil.rmtree("bad", ignore_errors=True)
		    shutil.copytree("good", "bad")  # with what stands beside the file
		    open("bad/f", "wb").write(data)
		    good, bad = (run(f"cd {d} && nb-convert --from {reads} --no-history {options} f") for d in ("good", "bad"))
		    assert good[0] == 0, (reads, good)
		    assert good == bad, (reads, options, good[0], good[2], bad[0], bad[2])
		    return 1

		words = [run(f"nb-convert --{way} no-such </dev/null")[2].split("(want ")[1].split(")")[0].split("|")
		         for way in ("from", "to")]
		walked = 0
		for reads in words[0]:
		    if reads == "auto" or (reads == "amuse" and not os.environ["PYTHON_H5"]):
		        continue
		    assert reads == "amuse" or reads in words[1], reads + " has no writer: make a file for it here"
		    shutil.rmtree("good", ignore_errors=True)
		    os.mkdir("good")
		    writes = {"gadget": "gadget2"}.get(reads, reads)  # without labels the numbers are the names
		    export(writes, "1")
		    table = run(f"nb-convert -q --from {reads} good/f | nb-stats --fields")[1].decode()
		    names = [line.split()[1] for line in table.splitlines()[1:]]
		    found = [c for c in marks if c in names]
		    assert "pos" in found, (reads, names)
		    for c in found:
		        others = ",".join(n for n in names if n != c)
		        walked += compare(reads, "--fields " + others, [marks[c][1]], 0)
		    export(writes, "id==0")
		    for rows in "1:5", "3::4":
		        walked += compare(reads, "--rows " + rows, [m for _, m in marks.values()], 1)
		    if "species" in names:
		        export(writes, "species==1")
		        walked += compare(reads, "--species 4", [m for _, m in marks.values()], 1)
		assert walked > 40, walked
	END
}

@test "of a huge TIPSY file only what is wanted is read" {
	python3 - <<-'END'
		import struct
		with open("huge.tipsy", "wb") as f:
		    n = 100 * 10**6
		    f.write(struct.pack(">d6i", 0, n + 7, 3, 3, n, 4, 0))
		    f.write(struct.pack(">12f", *range(12)) * 3)
		    f.seek(n * 36, 1)
		    f.write(struct.pack(">11f", *range(1, 12)) * 4)
	END
	at_most 600000 "$(bytes_read 'nb-convert --from tipsy --no-history --species 0,4 huge.tipsy')"
	[ "$(nb-stats --format tsv out | stat_of n)" = 7 ]
	at_most 600000 "$(bytes_read 'nb-convert --from tipsy --no-history --rows 1:100000002:33333333 huge.tipsy')"
	equals "$(mutate show id <out | paste -sd ' ')" '1 33333334 66666667 100000000'
	at_most 600000 "$(bytes_read 'nb-convert --from tipsy --no-history --rows 100000003: --fields id,mass huge.tipsy')"
	equals "$(mutate show mass <out | paste -sd ' ')" '1.0 1.0 1.0 1.0'
}

@test "of a huge NEMO file only what is wanted is read" {
	python3 - <<-'END'
		import struct
		def item(f, kind, tag, data):
		    f.write(struct.pack("<H", 0x0992) + kind + b"\0" + tag + b"\0" + data)
		def hole(f, tag, *dims):
		    f.write(struct.pack("<H", 0x0b92) + b"f\0" + tag + b"\0" + struct.pack("<%di" % (len(dims) + 1), *dims, 0))
		    size = 4
		    for d in dims:
		        size *= d
		    f.seek(size - 4, 1)
		    f.write(struct.pack("<f", 7))
		def end(f):
		    f.write(struct.pack("<H", 0x0992) + b")\0")
		n = 100 * 10**6
		with open("huge.nemo", "wb") as f:
		    for time in 1.0, 2.0:
		        item(f, b"(", b"SnapShot", b"")
		        item(f, b"(", b"Parameters", b"")
		        item(f, b"i", b"Nobj", struct.pack("<i", n))
		        item(f, b"d", b"Time", struct.pack("<d", time))
		        end(f)
		        item(f, b"(", b"Particles", b"")
		        if time == 1:
		            hole(f, b"Mass", n)
		        hole(f, b"PhaseSpace", n, 2, 3)
		        hole(f, b"Aux", n)
		        end(f)
		        end(f)
	END
	at_most 600000 "$(bytes_read 'nb-convert --from nemo --no-history --rows 99999990: --frame 1 huge.nemo')"
	equals "$(nb-stats --format tsv out | stat_of time)" 2
	equals "$(mutate show id <out | tail -n 1) $(mutate show mass <out | tail -n 1) $(mutate show aux <out | paste -sd ' ')" \
		'99999999 7.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 7.0'
	at_most 600000 "$(bytes_read 'nb-convert --from nemo --no-history --rows 9:99999999:33333330 --fields id,vel --frame 0 huge.nemo')"
	equals "$(mutate show vel <out | tail -n 1 | tr -d ',')" '0.0 0.0 7.0'
	truncate -s 3000000000 huge.nemo # what is cut is refused, wanted or not
	fails_with 1 "the file ends at byte 3000000000, in Aux" 'nb-convert --from nemo --rows 1 --fields id,pos huge.nemo'
}

# ---- all of them ----

@test "binary formats are recognised, and a full disk is reported" {
	kinds
	for format in tipsy tipsy-native nemo nemo-split; do
		nb-convert --to "$format" -o "k.$format" <kinds.nb
		run -0 --separate-stderr bash -c "nb-convert -v --from auto k.$format | nb-stats --check"
		[[ $stderr == *"--from ${format%-*}"* ]]
		cat "k.$format" | from auto | cmp - <(from "${format%-*}" "k.$format")
	done
	for format in tipsy tipsy-native nemo nemo-split npz vtp; do
		fails_with 1 'nb-convert: write error' "nb-convert --to $format >/dev/full <kinds.nb"
		fails_with 1 "nb-convert: write error: '/dev/full'" "nb-convert --to $format -o /dev/full <kinds.nb"
	done
}

@test "all threads read what one reads, and find the same mistake first" {
	local fault faults=('1500s/,/,x/' '900s/,[^,]*$//' '2900s/^/"/' '1700s/e-/\x00/' '40s/^/# a remark\n \n/' '2000,2900s/$/,/' 's/$/\r/;1500s/$/\n\t\r/;2800s/,/,x/' '7~50s/$/\n \n/;2500s/,.*//;2400s/,/;/')
	nb-gen plummer -n 3000 | nb-convert --to csv >good.csv
	nb-convert --from csv --no-history -j 1 good.csv >one
	nb-convert --from csv --no-history -j 7 good.csv | cmp - one
	for fault in "${faults[@]}"; do
		sed "$fault" good.csv >bad.csv
		nb-convert --from csv --no-history -j 1 bad.csv >one 2>said || :
		nb-convert --from csv --no-history -j 7 bad.csv >seven 2>said7 || :
		cmp one seven
		cmp said said7
	done
	grep -q 'line 2496: ' said
}
