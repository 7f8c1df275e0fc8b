#!/usr/bin/env bats
# nb-convert: snapshots in HDF5, in and out, and the programs that read what goes out.

load helper

setup_file() {
	PYTHON_H5=$(python_with_h5py)
	export PYTHON_H5
	if (nb-convert --from gadget-hdf5 "$NB_TOP/Makefile" 2>&1 || :) | grep -q 'HDF5 is not built in'; then
		export NO_HDF5=1
	fi
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

needs_h5py() { [ -n "${PYTHON_H5:-}" ] || skip 'no Python with h5py (python3-h5py)'; }
needs_hdf5() {
	[ -z "${NO_HDF5:-}" ] || skip 'nb is built without libhdf5'
	[ "$#" -eq 0 ] || needs_h5py
}
make_hdf5() { "$PYTHON_H5" "$NB_TOP/tests/make-hdf5.py" "$@"; }
from() { nb-convert --no-history --from "$@"; }
show() { mutate show "$1" <"$2" | tr '\n' ' '; }
attributes() { nb-stats --attributes <"$1"; }
attribute() { attributes "$1" | sed -n "s/^$2=//p"; }

# 3 components of pos of the given ids, as make-hdf5.py makes them
vectors() {
	local scale=$1
	shift
	printf '%s\n' "$@" | awk -v s="$scale" '{ printf "%.2f %.2f %.2f\n", $1 * s, $1 * s + 0.25, -$1 * s }'
}

has_vectors() { # COLUMN SCALE FILE ID...
	local column=$1 scale=$2 file=$3
	shift 3
	diff <(mutate show "$column" <"$file" | awk '{ printf "%.2f %.2f %.2f\n", $1, $2, $3 }') <(vectors "$scale" "$@")
}

@test "GADGET-2: types become species, masses and all datasets come along" {
	needs_hdf5 h5py
	make_hdf5 gadget2 s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb 2>warnings
	nb-stats --check <s.nb
	equals "$(show id s.nb)" '10 11 12 13 14 40 41 42 '
	equals "$(show species s.nb)" '1 1 1 1 1 4 4 4 '
	equals "$(show mass s.nb)" '1.25 1.375 1.5 1.625 1.75 5.0 5.125 5.25 '
	has_vectors pos 1 s.nb 10 11 12 13 14 40 41 42
	has_vectors vel 0.5 s.nb 10 11 12 13 14 40 41 42
	# other types have no such number, which a standard column cannot say; it is f64, another one keeps its type
	equals "$(show star_formation_rate s.nb)" 'nan nan nan nan nan 20.0 20.5 21.0 '
	equals "$(cat warnings)" "nb-convert: s.hdf5: left out, as not all types or files have it: pot ('--species' chooses types)"
	from gadget-hdf5 --species 4 --keep-derived s.hdf5 >t.nb
	equals "$(show pot t.nb)" '-40.0 -41.0 -42.0 '
	nb-stats --fields --format tsv <s.nb >fields
	grep -q $'\tstar_formation_rate\tparticle\t<f4' fields
	grep -q $'\tvel\tparticle\t<f8' fields
	diff <(attributes s.nb | sort) - <<-'END'
		G=43007.1
		dim=3
		flag_sfr=1
		hubble_param=0.7
		time=0.5
		types=gadget
		units=kpc,1e10Msun,km/s
	END
}

@test "GADGET-4: five types, masses in the header, units and softenings in Parameters" {
	needs_hdf5 h5py
	make_hdf5 gadget4 s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb
	equals "$(show mass s.nb)" '0.25 0.25 0.25 0.25 0.25 0.5 0.5 0.5 '
	equals "$(show eps s.nb)" '1.0 1.0 1.0 1.0 1.0 1.5 1.5 1.5 '
	equals "$(show species s.nb)" '1 1 1 1 1 4 4 4 '
	equals "$(attribute s.nb units)" kpc,1e10Msun,km/s
	# 6.6738e-8 cm^3 / (g s^2) in these units
	close_to 43018.70837 "$(attribute s.nb G)" 1e-4
}

@test "SWIFT: seven types, chunks with gzip, shuffle and checksums, plural names, other units" {
	needs_hdf5 h5py
	make_hdf5 swift s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb 2>warnings
	equals "$(cat warnings)" 'nb-convert: s.hdf5 is cosmological: positions are comoving, at a scale factor of 0.5; nothing has been converted'
	equals "$(show id s.nb)" '10 11 12 13 14 40 41 42 '
	has_vectors pos 1 s.nb 10 11 12 13 14 40 41 42
	equals "$(show pot s.nb)" '-10.0 -11.0 -12.0 -13.0 -14.0 -40.0 -41.0 -42.0 '
	equals "$(show eps s.nb)" '0.625 0.6875 0.75 0.8125 0.875 2.5 2.5625 2.625 '
	equals "$(attribute s.nb units)" Mpc,1e10Msun,km/s
	equals "$(attribute s.nb box_size)" 8
	equals "$(attribute s.nb redshift)" 1
	close_to 43.009175 "$(attribute s.nb G)" 1e-5
}

@test "SWIFT: a cosmological run has its scale factor and universe in a group, and peculiar velocities" {
	needs_hdf5 h5py
	make_hdf5 swift-universe s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb 2>warnings
	equals "$(cat warnings)" 'nb-convert: s.hdf5 is cosmological: positions are comoving, at a scale factor of 0.5, and velocities are peculiar; its massive neutrinos are left out'
	has_vectors vel 0.5 s.nb 10 11 12 13 14 40 41 42
	equals "$(attributes s.nb | grep '^box\|^omega\|^redshift\|^time\|^w\|^hubble' | sort | tr '\n' ' ')" \
		'box=8 omega0=0.25 omega_lambda=0.74 omega_r=0.01 redshift=1 time=0.5 w0=-0.9 wa=0.1 '
	equals "$(show pos s.nb | cut -d ' ' -f 1-3)" '2.0 2.25 6.0' # 10, 10.25, -10
	equals "$(show eps s.nb)" '0.625 0.6875 0.75 0.8125 0.875 2.5 2.5625 2.625 '
	# the masses are those of H0, which is in units of velocity over length
	nb-step --cosmology -d 0.1 -k 1 nb-force s.nb 2>warnings >/dev/null
	equals "$(cat warnings)" ''
}

# bats test_tags=once
@test "velocities of a cosmological snapshot are those of GADGET in the file, or what a dataset says, and peculiar in the frame" {
	needs_hdf5 h5py
	nb-gen uniform -n 30 --no-history | nb-calc 'vel = pos + 0.25' --no-history |
		nb-calc '@box = 1; @omega0 = 0.25; @time = 0.25; @redshift = 3; @G = 43007.1; @units = "kpc,1e10Msun,km/s"' --no-history >a.nb
	nb-convert --to gadget-hdf5 -o a.hdf5 a.nb
	from gadget-hdf5 a.hdf5 | cmp - a.nb
	nb-calc '@time = 0' --no-history a.nb | nb-convert --to gadget-hdf5 -o z.hdf5
	from gadget-hdf5 z.hdf5 | nb-diff --fields vel a.nb - # the scale factor is in the redshift alone
	equals "$(h5 z.hdf5 'f["Header"].attrs["Time"]')" 0.25
	fails_with 1 "frame 0: time=0.5 and redshift=3 do not agree" "nb-calc '@time = 0.5' a.nb | nb-convert --to gadget-hdf5 -o y.hdf5"
	equals "$(h5 a.hdf5 '[f["Header"].attrs[k] for k in ("BoxSize", "Omega0", "OmegaLambda", "Time", "Redshift")]')" '[1.0, 0.25, 0.75, 0.25, 3.0]'
	# by a program that knows no group of nb
	h5 a.hdf5 '[f.__delitem__("nb"), f["Header"].attrs.__delitem__("OmegaLambda")]' r+ >/dev/null
	from gadget-hdf5 a.hdf5 2>said >b.nb
	equals "$(cat said)" 'nb-convert: a.hdf5 is cosmological: positions are comoving, at a scale factor of 0.25, and velocities are made peculiar'
	nb-diff --fields pos,vel,mass a.nb b.nb
	equals "$(attributes b.nb | grep '^box\|^omega\|^redshift\|^time' | sort | tr '\n' ' ')" 'box=1 omega0=0.25 omega_lambda=0.75 redshift=3 time=0.25 '
	for name in a_scaling 'a-scale exponent' aexp-scale-exponent; do
		h5 a.hdf5 "f['PartType1/Velocities'].attrs.__setitem__('$name', 0.0)" r+ >/dev/null
		from gadget-hdf5 a.hdf5 2>/dev/null | nb-calc 'vel /= 2' | nb-diff --fields vel a.nb -
		h5 a.hdf5 "f['PartType1/Velocities'].attrs.__delitem__('$name')" r+ >/dev/null
	done
}

@test "AREPO: units in the header, per h, big-endian numbers, and what cannot be read is told" {
	needs_hdf5 h5py
	make_hdf5 arepo s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb 2>warnings
	grep -q '; not read: PartType0/Complex, PartType0/Odd$' warnings
	equals "$(show id s.nb)" '1 2 3 10 11 12 13 14 40 41 42 '
	has_vectors pos 1 s.nb 1 2 3 10 11 12 13 14 40 41 42
	equals "$(show mass s.nb)" '0.125 0.25 0.375 0.25 0.25 0.25 0.25 0.25 5.0 5.125 5.25 '
	# f4 in one type, f8 in another
	equals "$(show internal_energy s.nb)" '1.0 2.0 3.0 nan nan nan nan nan 40.0 41.0 42.0 '
	grep -q '; left out, as not all types or files have it: flags (' warnings
	from gadget-hdf5 -q --species 0 s.hdf5 >t.nb
	equals "$(show flags t.nb)" '1 2 3 '
	nb-stats --fields --format tsv <s.nb >fields
	grep -q $'\tinternal_energy\tparticle\t<f8' fields
	grep -q $'\tgfm_metals\tparticle\t<f8\t3' fields
	nb-stats --fields --format tsv <t.nb | grep -q $'\tflags\tparticle\t<i2'
	equals "$(attribute s.nb units)" 2Mpc,2e10Msun,km/s
	nb-transform --units Mpc,1e10Msun,km/s <s.nb >t.nb
	close_to 2 "$(mutate show pos <t.nb | awk 'NR == 1 { print $1 }')" 1e-12
	# sizes that have no name
	"$PYTHON_H5" -c 'import h5py; h = h5py.File("s.hdf5", "a")["Header"].attrs; h["UnitLength_in_cm"] = 1.5e20; h["UnitMass_in_g"] = 3e40; h["UnitVelocity_in_cm_per_s"] = 31'
	from gadget-hdf5 -q s.hdf5 >s.nb
	equals "$(attribute s.nb units)" 3e20cm,6e40g,31cm/s
}

@test "real numbers of 2 bytes are read" {
	needs_hdf5 h5py
	make_hdf5 half s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb
	has_vectors pos 1 s.nb 10 11 12 13 14 40 41 42
	equals "$(show mass s.nb | cut -d " " -f 6-)" '5.960464477539063e-08 6.097555160522461e-05 65504.0 '
	equals "$(show vel s.nb | cut -d " " -f 16-18)" '-1.5 -6.103515625e-05 1.0009765625'
	from gadget-hdf5 --species 4 --keep-derived s.hdf5 >t.nb
	equals "$(show pot t.nb)" 'inf -inf nan '
	from gadget-hdf5 --fields id,mass,pos,vel --rows 1:5:2 s.hdf5 >part.nb
	nb-select --ids 11,13,40 --fields id,mass,pos,vel <s.nb | nb-diff - part.nb
}

@test "bodies without ids have the numbers of their rows, of a part too" {
	needs_hdf5 h5py
	make_hdf5 gadget2 s.hdf5
	"$PYTHON_H5" -c 'import h5py; f = h5py.File("s.hdf5", "a"); del f["PartType1/ParticleIDs"], f["PartType4/ParticleIDs"]'
	from gadget-hdf5 s.hdf5 >s.nb
	equals "$(show id s.nb)" '0 1 2 3 4 5 6 7 '
	for part in '--rows 1::3' '--species 4' '--rows 2: --species 1,4' '--sphere 40,40.25,-40,2'; do
		read -ra words <<<"$part"
		from gadget-hdf5 "${words[@]}" s.hdf5 >part.nb
		nb-select --ids "$(show id part.nb | sed 's/ $//; s/ /,/g')" --fields id,mass,pos,vel <s.nb >same.nb
		nb-select --fields id,mass,pos,vel <part.nb | nb-diff - same.nb
	done
	equals "$(show id part.nb)" '5 6 '
	equals "$(from gadget-hdf5 --rows 1::3 s.hdf5 >part.nb && show id part.nb)" '1 4 7 '
}

@test "a dataset of velocities with other rows than the header counts is refused" {
	needs_hdf5 h5py
	make_hdf5 gadget2 s.hdf5
	"$PYTHON_H5" -c 'import h5py; g = h5py.File("s.hdf5", "a")["PartType1"]; v = g["Velocities"][:4]; del g["Velocities"]; g["Velocities"] = v'
	fails_with 1 "dataset 'PartType1/Velocities' has 4 rows, but Header/NumPart_ThisFile says 5 bodies of type 1" \
		'nb-convert --from gadget-hdf5 s.hdf5'
}

@test "several files: any of them stands for all, in the order of types" {
	needs_hdf5 h5py
	make_hdf5 parts s.0.hdf5 0
	make_hdf5 parts s.1.hdf5 1
	for name in s.0.hdf5 s.1.hdf5 s; do
		from gadget-hdf5 "$name" >"$name.nb"
		equals "$(show id "$name.nb")" '10 11 12 13 14 40 41 42 '
		has_vectors pos 1 "$name.nb" 10 11 12 13 14 40 41 42
	done
	fails_with 1 'standard input: this is one of 2 files of a snapshot: give its path' 'nb-convert --from gadget-hdf5 <s.0.hdf5'
	rm s.1.hdf5
	fails_with 1 "s.1.hdf5: cannot be opened: No such file or directory (the snapshot has 2 files; '--one-file' reads one alone)" 'nb-convert --from gadget-hdf5 s.0.hdf5'
	from gadget-hdf5 --one-file s.0.hdf5 >one.nb
	equals "$(show id one.nb)" '10 11 40 '
	cat s.0.hdf5 | from gadget-hdf5 --one-file | cmp - one.nb
	fails_with 2 "option '--one-file' needs '--from gadget' or '--from gadget-hdf5'" 'nb-gen kepler | nb-convert --to csv | nb-convert --from csv --one-file'
	cp s.0.hdf5 s.1.hdf5
	fails_with 1 's.1.hdf5: Header/NumPart_Total says 5 bodies of type 1, but the files have 4' 'nb-convert --from gadget-hdf5 s.0.hdf5'
	for k in 0 1; do
		make_hdf5 parts s.$k.hdf5 $k
		"$PYTHON_H5" -c "import h5py; g = h5py.File('s.$k.hdf5', 'a')['PartType4']; i = g['ParticleIDs'][:].astype('i4'); del g['ParticleIDs']; g['ParticleIDs'] = i - 50"
	done
	fails_with 1 "s.0.hdf5: dataset 'PartType4/ParticleIDs': row 0 is negative" 'nb-convert --from gadget-hdf5 s.1.hdf5'
	make_hdf5 parts s.0.hdf5 0
	fails_with 1 "s.1.hdf5: dataset 'PartType4/ParticleIDs': row 0 is negative" 'nb-convert --from gadget-hdf5 s.0.hdf5'
}

# bats test_tags=once
@test "more files than are open at once, and rows that several threads read" {
	needs_hdf5 h5py
	"$PYTHON_H5" - <<-'END'
		import h5py, numpy
		for k in range(66):
		    with h5py.File("m.%d.hdf5" % k, "w") as f:
		        h = f.create_group("Header").attrs
		        h["NumPart_ThisFile"], h["NumPart_Total"], h["MassTable"] = [0, 1], [0, 66], [0.0, 1.0]
		        h["NumFilesPerSnapshot"], h["Time"] = 66, 0.5
		        g = f.create_group("PartType1")
		        g["Coordinates"] = numpy.full((1, 3), k, "f4")
		        g.create_dataset("ParticleIDs", data=numpy.array([k], "u4"), chunks=(1,))
		with h5py.File("large.hdf5", "w") as f:
		    h = f.create_group("Header").attrs
		    h["NumPart_ThisFile"], h["MassTable"], h["Time"] = [0, 400000], [0.0, 1.0], 0.5
		    g = f.create_group("PartType1")
		    g["Coordinates"] = numpy.arange(1200000, dtype="f4").reshape(-1, 3)
		    g["ParticleIDs"] = numpy.arange(400000, dtype="i4")
		with h5py.File("wrong.hdf5", "w") as f:
		    h5py.File("large.hdf5").copy("Header", f)
		    h5py.File("large.hdf5").copy("PartType1", f)
		    f["PartType1/ParticleIDs"][[300000, 399999]] = -1
	END
	from gadget-hdf5 m.65.hdf5 >m.nb
	equals "$(show id m.nb)" "$(printf '%d ' {0..65})"
	equals "$(mutate show pos <m.nb | sed -n '1p;66p' | paste -s -d /)" '0.0 0.0 0.0/65.0 65.0 65.0'
	from gadget-hdf5 large.hdf5 | nb-calc '@wrong = sum(x != 3 * id || y != 3 * id + 1 || z != 3 * id + 2)' | nb-stats --attributes | grep -x 'wrong=0'
	fails_with 1 "dataset 'PartType1/ParticleIDs': row 300000 is negative" 'nb-convert --from gadget-hdf5 wrong.hdf5'
}

@test "what goes out comes back to the byte: columns of any type, attributes, ids, through pipes too" {
	needs_hdf5
	nb-gen plummer -n 257 | nb-force -e 0.05 | mutate add spins >f.nb
	nb-convert --to gadget-hdf5 -o f.hdf5 <f.nb
	from gadget-hdf5 f.hdf5 | cmp - f.nb
	from gadget-hdf5 <f.hdf5 | cmp - f.nb
	cat f.hdf5 | from auto | cmp - f.nb
	nb-convert --to gadget-hdf5 <f.nb | cmp - f.hdf5
	# text, whole numbers, f32 and names that GADGET does not have
	printf 'id,mass,x,y,z,vx,vy,vz,tag,a_1,2nd\n7,1,2,3,4,5,6,7,"a b",3,1\n8,2,3,4,5,6,7,8,c,4,2\n' | nb-convert --from csv >c.nb
	nb-convert --to gadget-hdf5 -o c.hdf5 <c.nb
	from gadget-hdf5 c.hdf5 | cmp - c.nb
	nb-gen plummer -n 100 --precision f32 >s.nb
	nb-convert --to gadget-hdf5 -o s.hdf5 <s.nb
	from gadget-hdf5 s.hdf5 | nb-diff - s.nb
}

@test "columns of gas go out under GADGET's names, and no two columns under the same name" {
	needs_hdf5 h5py
	nb-gen plummer -n 5 | nb-calc 'density=mass' 'internal_energy=mass' 'smoothing_length=mass' 'metallicity=mass' |
		nb-convert --to gadget-hdf5 -o d.hdf5
	equals "$(h5 d.hdf5 'list(f["PartType1"])')" "['Coordinates', 'Density', 'InternalEnergy', 'Masses', 'Metallicity', 'ParticleIDs', 'SmoothingLength', 'Velocities']"
	# names that are those of other columns in GADGET
	nb-gen plummer -n 5 | nb-calc 'Coordinates=id' 'Masses=mass*7' 'AbC=mass' 'ab_c=mass*2' 'nb_Masses=mass*3' >c.nb
	nb-convert --to gadget-hdf5 -o c.hdf5 <c.nb
	equals "$(h5 c.hdf5 'len(set(f["PartType1"])), len(f["PartType1"])')" '(9, 9)'
	from gadget-hdf5 c.hdf5 | cmp - c.nb
	# names that are paths
	nb-gen plummer -n 5 >p.nb
	mutate add a/b <p.nb | nb-convert --to gadget-hdf5 -o s.hdf5 2>warnings
	grep -q 'which are left out: a/b$' warnings
	from gadget-hdf5 s.hdf5 | cmp - p.nb
}

@test "columns whose datasets would have one name get others, and come back" {
	needs_hdf5
	nb-gen plummer -n 9 | nb-force -e 0.1 --jerk >f.nb
	for names in 'vel Coordinates' 'vel Potential' 'vel ParticleIDs' 'vel Accelerations' 'vel Foo_2'; do
		read -r from to <<<"$names"
		mutate rename "$from" "$to" <f.nb >n.nb
		nb-convert --to gadget-hdf5 -o n.hdf5 <n.nb
		from gadget-hdf5 n.hdf5 | cmp - n.nb
	done
	mutate rename jerk FooBar <f.nb | mutate flags FooBar 0 | mutate rename acc Foo_Bar | mutate flags Foo_Bar 0 | mutate rename vel foo_bar >n.nb
	nb-convert --to gadget-hdf5 -o n.hdf5 <n.nb
	from gadget-hdf5 n.hdf5 | cmp - n.nb
	# numbers of bodies without ids are not those of a column of that name
	mutate drop id <f.nb | mutate rename vel ParticleIDs >n.nb
	nb-convert --to gadget-hdf5 -o n.hdf5 <n.nb
	from gadget-hdf5 n.hdf5 >m.nb
	cmp <(mutate show ParticleIDs <m.nb) <(mutate show vel <f.nb)
	cmp <(mutate show id <m.nb) <(seq 0 8)
	mutate rename vel a/b <f.nb | mutate rename acc a_b >n.nb
	fails_with 1 "two columns would be called 'a_b'" 'nb-convert --to vtkhdf <n.nb'
}

@test "a file is read in a folder that has another one named snapshot" {
	needs_hdf5
	nb-gen plummer -n 5 >f.nb
	nb-convert --to gadget-hdf5 -o f.hdf5 <f.nb
	cp f.nb snapshot
	from gadget-hdf5 f.hdf5 | cmp - f.nb
}

@test "n = 0 and 1" {
	needs_hdf5
	for n in 0 1; do
		nb-gen uniform -n $n >n.nb
		nb-convert --to gadget-hdf5 -o n.hdf5 <n.nb
		from gadget-hdf5 n.hdf5 | cmp - n.nb
		cat n.hdf5 | from gadget-hdf5 | cmp - n.nb
	done
	needs_h5py
	make_hdf5 empty e.hdf5
	equals "$(from gadget-hdf5 e.hdf5 | nb-sort-zorder | nb-build-tree | nb-force -e 0.1 | nb-stats --format tsv | stat_of n)" 0
}

# bats test_tags=once
@test "types go out as groups and come back, whatever the order of the bodies" {
	needs_hdf5 h5py
	make_hdf5 gadget2 s.hdf5
	from gadget-hdf5 s.hdf5 >s.nb
	nb-convert --to gadget-hdf5 -o t.hdf5 <s.nb
	from gadget-hdf5 t.hdf5 | cmp - s.nb
	equals "$(h5 t.hdf5 'list(f["PartType4/ParticleIDs"][:]), list(f["Header"].attrs["NumPart_ThisFile"])')" '([40, 41, 42], [0, 5, 0, 0, 3, 0])'
	# shuffled: the same bodies, sorted by type
	nb-select --sort -mass <s.nb >r.nb
	nb-convert --to gadget-hdf5 -o r.hdf5 <r.nb
	equals "$(h5 r.hdf5 'list(f["PartType4/ParticleIDs"][:]), list(f["PartType1/ParticleIDs"][:])')" '([42, 41, 40], [14, 13, 12, 11, 10])'
	nb-convert --from gadget-hdf5 r.hdf5 | nb-select --sort id >again.nb
	for column in id species mass pos vel star_formation_rate; do
		equals "$(show $column again.nb)" "$(show $column s.nb)"
	done
	# species of a model are no types of GADGET: 0 is not gas
	nb-gen merger -n 100 >m.nb
	nb-convert -q --to gadget-hdf5 -o m.hdf5 <m.nb
	run ! h5 m.hdf5 'f["PartType0"]'
	equals "$(h5 m.hdf5 'list(f["Header"].attrs["NumPart_ThisFile"])')" '[0, 40, 50, 10, 0, 0]'
	from gadget-hdf5 m.hdf5 >back.nb
	nb-diff back.nb m.nb
	equals "$(nb-select --sort id back.nb | mutate show species)" "$(nb-select --sort id m.nb | mutate show species)"
}

# h5 FILE EXPRESSION [MODE]: what an expression of the open file f is, in numbers of Python
h5() {
	"$PYTHON_H5" - "$@" 2>&1 <<-'END'
		import sys, h5py
		def plain(x):
		    if hasattr(x, "tolist"):
		        return x.tolist()
		    return type(x)(map(plain, x)) if isinstance(x, (list, tuple)) else x
		f = h5py.File(sys.argv[1], (sys.argv + ["r"])[3])
		print(plain(eval(sys.argv[2])))
	END
}

# bats test_tags=once
@test "h5py reads what goes out: header, units, G" {
	needs_h5py
	nb-gen plummer -n 100 | nb-transform --from-units 1kpc,1e10Msun --units kpc,1e10Msun,km/s >p.nb
	nb-convert --to gadget-hdf5 -o p.hdf5 <p.nb
	equals "$(h5 p.hdf5 'f["PartType1/Coordinates"].shape, f["PartType1/Coordinates"].dtype.str, f["PartType1/ParticleIDs"].dtype.str')" "((100, 3), '<f8', '<u8')"
	equals "$(h5 p.hdf5 '[list(f["Header"].attrs[k]) for k in ("NumPart_ThisFile", "NumPart_Total", "MassTable")]')" '[[0, 100, 0, 0, 0, 0], [0, 100, 0, 0, 0, 0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]'
	close_to 3.0856776e21 "$(h5 p.hdf5 'f["Units"].attrs["UnitLength_in_cm"]')" 1e14
	close_to 1.98840987e43 "$(h5 p.hdf5 'f["Units"].attrs["UnitMass_in_g"]')" 1e35
	close_to 100000 "$(h5 p.hdf5 'f["Units"].attrs["UnitVelocity_in_cm_per_s"]')" 1e-9
	equals "$(h5 p.hdf5 'f["Parameters"].attrs["GravityConstantInternal"]')" "$(attribute p.nb G)"
	# a factor 1/h in Parameters is for readers a reason to think of comoving numbers
	equals "$(h5 p.hdf5 '["HubbleParam" in f[k].attrs for k in ("Header", "Parameters")]')" '[True, False]'
	mutate attribute omega0 0.3 <p.nb | nb-convert --to gadget-hdf5 -o c.hdf5
	equals "$(h5 c.hdf5 '[f["Parameters"].attrs[k] for k in ("Omega0", "HubbleParam")]')" '[0.3, 1.0]'
	[ "$(h5 p.hdf5 'f["PartType1/Coordinates"][41].tolist()' | tr -d '[],')" = "$(mutate show pos <p.nb | sed -n 42p)" ]
	# a frame in units that nobody knows does not say that they are kpc; the usual G says so
	nb-gen plummer -n 10 >q.nb
	nb-convert --to gadget-hdf5 -o q.hdf5 q.nb 2>said
	diff said <(echo "nb-convert: G is 1, but the units are not known: none are written, and readers take their usual ones (put 'nb-transform --units' before)")
	equals "$(h5 q.hdf5 '[k for g in f.values() for k in g.attrs if k.startswith("Unit")]')" '[]'
	mutate attribute G 43007.1 <q.nb | nb-convert --to gadget-hdf5 -o k.hdf5 2>said
	[ ! -s said ]
	close_to 1.98840987e43 "$(h5 k.hdf5 'f["Units"].attrs["UnitMass_in_g"]')" 1e35
}

@test "a part: columns, types, every third body" {
	needs_hdf5 h5py
	make_hdf5 swift s.hdf5
	from gadget-hdf5 -q s.hdf5 >s.nb
	from gadget-hdf5 -q --species 4 s.hdf5 >t.nb
	equals "$(show id t.nb)" '40 41 42 '
	has_vectors pos 1 t.nb 40 41 42
	from gadget-hdf5 -q --rows 1::3 s.hdf5 >t.nb
	equals "$(show id t.nb)" '11 14 42 '
	has_vectors vel 0.5 t.nb 11 14 42
	from gadget-hdf5 -q --rows 1:5 --species 1 s.hdf5 >t.nb
	equals "$(show id t.nb)" '11 12 13 14 '
	from gadget-hdf5 -q --fields id,mass --sphere 10,10.25,-10,4 s.hdf5 >t.nb
	equals "$(show id t.nb)" '10 11 12 '
	nb-stats --fields --format tsv <t.nb >fields
	run ! grep -qE '\b(pos|vel)\b' fields
}

columns() { nb-stats --fields --format tsv "$1" | awk -F '\t' 'NR > 1 { print $2 }' | sort; }

# bats test_tags=once
@test "what only some types or files have is absent or NaN, never a number, and told: each column" {
	needs_hdf5 h5py
	nb-gen plummer -n 6 | nb-force -e 0.1 --jerk | nb-calc 'species = id < 4 ? 1 : 4' 'eps = 0.1' 'density = mass' 'radius = mass' |
		mutate attribute types gadget | mutate add spins >a.nb
	nb-convert --to gadget-hdf5 -o a.hdf5 a.nb
	"$PYTHON_H5" - >names <<-'END'
		import h5py, shutil, numpy
		def header(f, files, first):
		    del f["nb"]
		    for t in 1, 4:
		        f["PartType%d/Word" % t] = numpy.array([b"a"] * len(f["PartType%d/Masses" % t]))
		        f["PartType%d/ParticleIDs" % t][...] += first
		    h = f["Header"].attrs
		    h["NumFilesPerSnapshot"] = files
		    h["NumPart_Total"] = h["NumPart_ThisFile"] * files
		def copy(name, files=1, first=0):
		    shutil.copy("a.hdf5", name)
		    f = h5py.File(name, "a")
		    header(f, files, first)
		    return f
		copy("whole.hdf5")
		names = [k for k in copy("whole.hdf5")["PartType4"] if k != "Coordinates"]
		for k in names:
		    print(k)
		    with copy("type-%s.hdf5" % k) as f:
		        del f["PartType4/" + k]
		    copy("file-%s.0.hdf5" % k, 2).close()
		    with copy("file-%s.1.hdf5" % k, 2, 6) as f:
		        del f["PartType1/" + k], f["PartType4/" + k]
	END
	from gadget-hdf5 whole.hdf5 >whole.nb
	from gadget-hdf5 --species 1 --keep-derived whole.hdf5 >part.nb
	columns whole.nb >all
	[ "$(wc -l <names)" -ge 8 ]
	while read -r name; do
		for file in "type-$name.hdf5" "file-$name.0.hdf5"; do
			from gadget-hdf5 "$file" >x.nb 2>said
			lost=$(columns x.nb | comm -23 all -)
			if [ -n "$lost" ]; then
				grep -qE "left out, as not all types or files have it: $lost \(" said
			else # a column that may be NaN is that where it is not known
				equals "$(nb-convert -q --to csv --no-comments x.nb | grep -c nan)" "$([[ $file == type* ]] && echo 2 || echo 6)"
			fi || { echo "$file: lost '$lost'"; cat said; return 1; }
		done
		# of the type that has it nothing is lost
		from gadget-hdf5 --species 1 --keep-derived "type-$name.hdf5" 2>said | cmp - part.nb
		[ ! -s said ]
	done <names
}

# bats test_tags=once
@test "types, rows and columns that are not wanted decide nothing" {
	needs_hdf5 h5py
	make_hdf5 plain plain.hdf5
	"$PYTHON_H5" - <<-'END'
		import h5py, numpy, os, shutil
		def put(g, name, data):
		    if name in g: del g[name]
		    if data is not None: g[name] = data
		def unwritten(g):
		    del g["Coordinates"]
		    g.create_dataset("Coordinates", (3, 3), "f8")
		def virtual(g):
		    del g["Velocities"]
		    layout = h5py.VirtualLayout((3, 3), "f8")
		    layout[:] = h5py.VirtualSource("other.hdf5", "x", (3, 3))
		    g.create_virtual_dataset("Velocities", layout)
		def many(g):
		    for k in range(1100): g["Odd%d" % k] = numpy.zeros(3, "f4")
		# in a type that is not wanted, and (those of a column Odd) in a column that is not wanted
		types = {
		    "no-mass": lambda g: put(g, "Masses", None), "no-place": lambda g: put(g, "Coordinates", None),
		    "bad-mass": lambda g: put(g, "Masses", numpy.array([1, -1, numpy.nan])),
		    "flat": lambda g: put(g, "Coordinates", numpy.zeros(3)), "text": lambda g: put(g, "Velocities", numpy.zeros((3, 3), "S4")),
		    "short": lambda g: put(g, "Masses", numpy.ones(2)), "nothing": lambda g: [put(g, k, None) for k in list(g)],
		    "elsewhere": lambda g: put(g, "Coordinates", h5py.ExternalLink("other.hdf5", "/x")),
		    "nowhere": lambda g: put(g, "Masses", h5py.SoftLink("/none")), "unwritten": unwritten, "virtual": virtual, "many": many,
		    "real-ids": lambda g: put(g, "ParticleIDs", numpy.ones(3)), "below-ids": lambda g: put(g, "ParticleIDs", -numpy.ones(3, "i4")),
		    "complex": lambda g: put(g, "Masses", numpy.ones(3, "c16")),
		}
		columns = {
		    "odd-complex": lambda g: put(g, "Odd", numpy.ones(5, "c16")), "odd-short": lambda g: put(g, "Odd", numpy.ones(4)),
		    "odd-bool": lambda g: put(g, "Odd", numpy.ones(5, "?")), "odd-group": lambda g: put(g, "Odd/Hydrogen", numpy.ones(5)),
		    "odd-link": lambda g: put(g, "Odd", h5py.ExternalLink("other.hdf5", "/x")), "odd-nowhere": lambda g: put(g, "Odd", h5py.SoftLink("/none")),
		    "odd-pot": lambda g: put(g, "Potential", numpy.ones(4)), "odd-at": lambda g: put(g, "Odd@unit", numpy.ones(5)),
		    "odd-many": lambda g: [put(g, "Odd%d" % k, numpy.zeros(5, "f4")) for k in range(1100)],
		}
		with h5py.File("other.hdf5", "w") as f: f["x"] = numpy.ones((3, 3))
		for kind, table, group in ("type", types, "PartType4"), ("column", columns, "PartType1"):
		    os.mkdir(kind)
		    for name, spoil in table.items():
		        shutil.copy("plain.hdf5", "%s/%s.hdf5" % (kind, name))
		        with h5py.File("%s/%s.hdf5" % (kind, name), "a", libver="latest") as f: spoil(f[group])
		with h5py.File("type/no-group.hdf5", "w") as f, h5py.File("plain.hdf5") as g:
		    for k in "Header", "PartType1": g.copy(k, f)
	END
	from gadget-hdf5 --species 1 plain.hdf5 >one.nb
	from gadget-hdf5 --fields id,mass,pos,vel,species plain.hdf5 >few.nb
	for file in type/*.hdf5; do
		from gadget-hdf5 --species 1 "$file" 2>said | cmp - one.nb
		equals "$(cat said)" ''
		# without these options there is one line, of a warning or of an error
		from gadget-hdf5 "$file" >whole.nb 2>said || rm whole.nb
		equals "$file $(wc -l <said)" "$file 1"
	done
	for file in type/{bad-mass,flat,text,short,elsewhere,unwritten,virtual,many,real-ids,below-ids}.hdf5; do
		if [ "$file" != type/elsewhere.hdf5 ]; then
			from gadget-hdf5 --rows :4 "$file" | cmp - one.nb
		fi
	done
	for file in column/*.hdf5; do
		from gadget-hdf5 --fields id,mass,pos,vel,species "$file" 2>said | cmp - few.nb
		equals "$(cat said)" ''
		from gadget-hdf5 "$file" >whole.nb 2>said || rm whole.nb
		equals "$file $(wc -l <said)" "$file 1"
	done
	fails_with 1 "type 1 has more than 1024 datasets (choose some with '--fields')" 'nb-convert --from gadget-hdf5 column/odd-many.hdf5'
	fails_with 1 "type/elsewhere.hdf5: 'PartType4/Coordinates' is a link to another file, which is not followed" 'nb-convert --from gadget-hdf5 type/elsewhere.hdf5'
}

@test "EAGLE and OWLS write Mass and Velocity, SWIFT gives black holes two masses, tracers have no place" {
	needs_hdf5 h5py
	make_hdf5 gadget2 s.hdf5
	from gadget-hdf5 -q --fields id,mass,pos,vel,species s.hdf5 >want.nb
	"$PYTHON_H5" - <<-'END'
		import h5py
		with h5py.File("s.hdf5", "a") as f:
		    f["PartType1"].move("Masses", "Mass")
		    f["PartType1"].move("Velocities", "Velocity")
		    f["PartType4"].move("Masses", "DynamicalMasses")
		    f["PartType4/SubgridMasses"] = f["PartType4/DynamicalMasses"][:] / 8
		    f["PartType3/TracerID"] = [1, 2]
		    for k in "ThisFile", "Total":
		        f["Header"].attrs["NumPart_" + k] = [0, 5, 0, 2, 3, 7]
	END
	from gadget-hdf5 --fields id,mass,pos,vel,species s.hdf5 2>said | cmp - want.nb
	equals "$(cat said)" 'nb-convert: s.hdf5: not read: type 3 (2 bodies without Coordinates), type 5 (7 bodies without Coordinates)'
	"$PYTHON_H5" -c 'import h5py; f = h5py.File("s.hdf5", "a"); del f["PartType1"], f["PartType4"]'
	fails_with 1 'but there is no PartTypeN/Coordinates' 'nb-convert --from gadget-hdf5 s.hdf5'
}

@test "ids of a snapshot that repeat are kept beside those of nb" {
	needs_hdf5 h5py
	make_hdf5 plain s.hdf5
	"$PYTHON_H5" -c 'import h5py; h5py.File("s.hdf5", "a")["PartType4/ParticleIDs"][1] = 12'
	from gadget-hdf5 s.hdf5 >s.nb 2>said
	equals "$(cat said)" 'nb-convert: s.hdf5: id 12 appears twice (bodies 2 and 6), so bodies are numbered, and the ids of the file are column file_id'
	equals "$(show id s.nb) $(show file_id s.nb)" '0 1 2 3 4 5 6 7  10 11 12 13 14 40 12 42 '
	fails_with 1 's.hdf5: id 12 appears twice in frame 0 (bodies 2 and 6)' 'nb-convert --from gadget-hdf5 --fields id,pos s.hdf5'
}

@test "links within a file are followed, no other file is opened, names that are paths are refused" {
	needs_hdf5 h5py
	make_hdf5 plain plain.hdf5
	make_hdf5 plain other.hdf5
	from gadget-hdf5 plain.hdf5 >want.nb
	"$PYTHON_H5" - <<-'END'
		import h5py, shutil
		for name in "soft", "group", "across", "path":
		    shutil.copy("plain.hdf5", name + ".hdf5")
		with h5py.File("soft.hdf5", "a") as f:
		    f.move("PartType1/Coordinates", "raw/x")
		    f["PartType1/Coordinates"] = h5py.SoftLink("/raw/x")
		    f["PartType1/up"] = f["raw/up"] = h5py.SoftLink("/")
		with h5py.File("group.hdf5", "a") as f:
		    f.move("PartType1", "dark")
		    f["PartType1"] = h5py.SoftLink("/dark")
		with h5py.File("across.hdf5", "a") as f:  # a soft link through one that leaves the file
		    del f["PartType1/Masses"]
		    f["away"] = h5py.ExternalLink("other.hdf5", "/")
		    f["PartType1/Masses"] = h5py.SoftLink("/away/PartType1/Masses")
		with h5py.File("path.hdf5", "a", libver="earliest") as f:  # no call makes such a name
		    for k in list(f["PartType1"]):
		        f.move("PartType1/" + k, "PartType1_" + k)
		    del f["PartType1"]
		    f["PartType1"] = h5py.ExternalLink("other.hdf5", "/PartType1")
		data = open("path.hdf5", "rb").read()
		open("path.hdf5", "wb").write(data.replace(b"PartType1_", b"PartType1/"))
	END
	from gadget-hdf5 -q soft.hdf5 | cmp - want.nb
	from gadget-hdf5 group.hdf5 | cmp - want.nb
	fails_with 1 "across.hdf5: 'PartType1/Masses' is a link to another file, which is not followed: give that file" 'nb-convert --from gadget-hdf5 across.hdf5'
	fails_with 1 "path.hdf5: a name that no library writes, at '/PartType1/Coordinates'" 'nb-convert --from gadget-hdf5 path.hdf5'
}

@test "names and units that a stream cannot hold do not get into one" {
	needs_hdf5 h5py
	make_hdf5 names s.hdf5
	from gadget-hdf5 --species 1 s.hdf5 >s.nb
	nb-stats --check <s.nb
	nb-stats --fields --format tsv <s.nb | cut -f 2,6 >fields
	grep -qx $'foo\t' fields
	grep -qx $'bar\tkpc km/s' fields
	make_hdf5 amuse-names a.hdf5
	from amuse a.hdf5 >a.nb 2>warnings
	nb-stats --check <a.nb
	grep -q 'not read: .*/two words' warnings
	# a G beyond all numbers
	make_hdf5 units u.hdf5
	fails_with 1 'u.hdf5: its units give no gravitational constant' 'nb-convert --from gadget-hdf5 u.hdf5'
}

@test "a crowd of datasets or lines takes no time, and a wide dataset no memory" {
	needs_hdf5 h5py
	make_hdf5 crowd s.hdf5
	timeout 600 nb-convert --no-history --from gadget-hdf5 --species 1 s.hdf5 2>warnings | nb-stats --fields >fields
	equals "$(grep -c ' foo' fields)" 490
	grep -q 'not read: PartType1/A00000' warnings
	make_hdf5 lines l.hdf5
	timeout 600 nb-convert --no-history --from gadget-hdf5 l.hdf5 | nb-stats --check
	make_hdf5 wide w.hdf5
	fails_with 1 'w.hdf5: the columns of all bodies have 1.31e+11 bytes, which files of' 'nb-convert --from gadget-hdf5 w.hdf5'
	equals "$(from gadget-hdf5 --species 0 w.hdf5 | nb-stats --format tsv | stat_of n)" 1
}

@test "files that say the impossible are refused in one line" {
	needs_hdf5 h5py
	refused() { # FLAVOUR MESSAGE
		make_hdf5 "$1" bad.hdf5
		fails_with 1 "$2" 'nb-convert --from gadget-hdf5 bad.hdf5'
	}
	refused counts "bad.hdf5: dataset 'PartType1/Coordinates' has 5 rows of 3 numbers, but Header/NumPart_ThisFile says 2147483647 bodies of type 1"
	refused negative 'bad.hdf5: NumPart_ThisFile has the number -5'
	refused total 'bad.hdf5: Header/NumPart_Total says 1 body of type 0, but this is one file with 0'
	refused no-header 'bad.hdf5: this HDF5 file is no GADGET snapshot (it has no Header/NumPart_ThisFile)'
	refused huge "bad.hdf5: dataset 'PartType1/Coordinates' has 1649267441664 bytes, which the file of"
	refused unwritten "dataset 'PartType1/Coordinates' has never been written"
	refused chunk "dataset 'PartType1/Velocities' has chunks of 3221225472 bytes, which the file of"
	refused rank "dataset 'PartType1/Coordinates' has 5 rows of 4 numbers"
	refused text "dataset 'PartType1/Coordinates' has a shape or a type that pos cannot have"
	refused ids "dataset 'PartType1/ParticleIDs': row 2 is negative"
	refused nan 'mass of body 2 is negative or not finite'
	refused virtual 'is in other files (a virtual dataset): give one of these'
	refused external "dataset 'PartType1/Coordinates' is in other files"
	refused lzf 'is compressed in a way that is not known here (h5repack -f NONE IN OUT undoes it)'
	refused files 'this is one of 3 files of a snapshot, whose names should end in .0.hdf5'
	fails_with 1 'is no whole HDF5 file' "nb-convert --from gadget-hdf5 '$NB_TOP/Makefile'"
	fails_with 1 'standard input: the file is empty' ': | nb-convert --from gadget-hdf5'
	# catalogues of groups, with a count of bodies and without
	for counts in 'h["NumPart_ThisFile"] = [0] * 6' ''; do
		"$PYTHON_H5" -c "import h5py; f = h5py.File('fof.hdf5', 'w'); f['Group/GroupMass'] = [1.0, 2.0]
h = f.create_group('Header').attrs; h['Ngroups_ThisFile'] = 2; $counts"
		fails_with 1 'fof.hdf5: this is a catalogue of groups, which has no bodies (give the snapshot' 'nb-convert --from auto fof.hdf5'
	done
	# a group that contains itself has an end
	make_hdf5 loop loop.hdf5
	equals "$(from gadget-hdf5 loop.hdf5 | nb-stats --format tsv | stat_of n)" 8
	make_hdf5 plain plain.hdf5
	"$PYTHON_H5" -c 'import h5py; h5py.File("other.hdf5", "w")["x"] = 1'
	fails_with 1 'this HDF5 file is no GADGET snapshot' 'nb-convert --from gadget-hdf5 other.hdf5'
}

# bats test_tags=once
@test "AMUSE: sets become frames, in SI or N-body units" {
	needs_hdf5
	data=${NB_DATA:-none}/formats/amuse_plummer.hdf5
	if [ -e "$data" ]; then
		nb-convert --from auto -v "$data" 2>said >a.nb
		grep -q 'AMUSE HDF5: --from amuse' said
		equals "$(attribute a.nb units) $(attribute a.nb G)" 'SI 6.6743e-11'
		nb-stats --check <a.nb
		close_to 0.5 "$(nb-stats --format tsv <a.nb | stat_of virial)" 0.01
	fi
	needs_h5py
	make_hdf5 amuse a.hdf5
	from amuse a.hdf5 >a.nb 2>warnings
	equals "$(cat warnings)" 'nb-convert: not read: particles/0000000001/attributes/child, particles/0000000001/attributes/kind'
	equals "$(nb-stats --format tsv <a.nb | awk -F '\t' 'NR > 1 { print $2, $3 }' | tr '\n' ' ')" '31557600 3 2 2 '
	nb-select --frames 0 <a.nb >s.nb
	equals "$(show id s.nb)" '1 2 18446744073709551615 '
	equals "$(show pos s.nb)" '1000.0 4000.0 7000.0 2000.0 5000.0 8000.0 3000.0 6000.0 9000.0 '
	equals "$(show vel s.nb)" '0.5 0.5 0.5 1.0 1.0 1.0 1.5 1.5 1.5 '
	equals "$(attribute s.nb names)" '1 Sun, 18446744073709551615 Δ  aé🌍'
	equals "$(show mass s.nb)" '2e+30 4e+30 6.000000000000001e+30 '
	equals "$(show temperature s.nb)" '10.0 20.0 30.0 '
	equals "$(show stellar_type s.nb)" '1 2 3 '
	equals "$(show age s.nb)" '1000000.0 2000000.0 3000000.0 '
	equals "$(nb-convert -q --no-comments --to csv <s.nb | grep -o '"[a-z]*"$' | paste -sd ' ')" '"one" "two" "six"'
	nb-stats --fields <s.nb | grep -q 'luminosity .*kg\*s^-3'
	nb-select --frames 1 <a.nb >n.nb
	equals "$(show id n.nb)" '0 1 '
	equals "$(attribute n.nb G)" 1
	equals "$(attribute n.nb units)" ''
	from amuse --frame 1 a.hdf5 | nb-diff - n.nb
	from amuse --fields id,mass --frame 1 a.hdf5 | nb-stats --fields >fields
	run ! grep -qE '\b(pos|vel)\b' fields
	refused() { # HOW MESSAGE
		make_hdf5 "amuse-$1" bad.hdf5
		fails_with 1 "$2" 'nb-convert --from amuse bad.hdf5'
	}
	for unit in units.furlong "system.get('S.I.').base('smell')" "system.get('nbody').base('length') * system.get('S.I.').base('mass')" \
		'(1000.0' '1e300**2' "$(printf '%.0s(' {1..300})"; do
		refused "unit=$unit" "dataset 'particles/0000000001/attributes/x' has a unit that is neither of SI nor of N-body units"
	done
	# what is not asked for decides nothing; an attribute that no body needs is left out
	for how in unit=units.furlong wrong vector many; do
		make_hdf5 "amuse-$how" bad.hdf5
		from amuse --frame 0 --fields id,temperature bad.hdf5 >bad.nb
		equals "$how $(show temperature bad.nb)$(attribute bad.nb G)" "$how 10.0 20.0 30.0 6.6743e-11"
	done
	for how in twice/age radius/radius; do
		make_hdf5 "amuse-${how%/*}" bad.hdf5
		from amuse bad.hdf5 2>&1 >bad.nb | grep -q "not read: .*particles/0000000001/attributes/${how#*/}"
		run ! grep -qw "${how#*/}" <(nb-select --frames 0 <bad.nb | columns -)
	done
	refused many "more than 1024 columns (choose some with '--fields')"
	refused nowhere "'particles/0000000001' has no positions"
	refused keys "dataset 'particles/0000000001/keys' has not a number for each particle"
	refused wrong "dataset 'particles/0000000001/attributes/mass' has the unit of something else"
	refused short "dataset 'particles/0000000001/attributes/y' has not a number for each particle"
	refused vector "'particles/0000000001' has vel incomplete"
	refused count "'particles/0000000001@number_of_particles' is no number of particles"
	make_hdf5 plain g.hdf5
	fails_with 1 'g.hdf5: this HDF5 file has no particles of AMUSE' 'nb-convert --from amuse g.hdf5'
}

# bats test_tags=once
@test "VTKHDF: a frame through a pipe, a run as a time series in a file, with any number of bodies" {
	nb-gen plummer -n 257 | nb-force >f.nb
	nb-convert -q --to vtkhdf -o f.vtkhdf <f.nb
	nb-convert -q --to vtkhdf <f.nb | cmp - f.vtkhdf
	{
		nb-gen plummer -n 300 | mutate attribute time 1
		nb-gen uniform -n 0 | mutate attribute time 2
		nb-gen plummer -n 200000 -s 3 | mutate attribute time 3
		nb-gen plummer -n 7 -s 4 | mutate attribute time 4
	} >run.nb
	nb-convert --to vtkhdf -o run.vtkhdf <run.nb
	fails_with 1 'VTKHDF of several frames is written to a file only' 'nb-convert --to vtkhdf <run.nb | cat'
	{ nb-gen plummer -n 3 | nb-force; nb-gen plummer -n 3; } >less.nb
	fails_with 1 "frame 1: column 'acc' is missing" 'nb-convert -q --to vtkhdf -o less.vtkhdf <less.nb'
	[ ! -e less.vtkhdf ]
	{ nb-gen plummer -n 3; nb-gen plummer -n 3 | nb-force; } | nb-convert --to vtkhdf -o more.vtkhdf 2>said
	grep -q 'columns that the first frame does not have are left out' said
	nb-gen uniform -n 0 | nb-convert --to vtkhdf -o empty.vtkhdf
	needs_h5py
	equals "$(h5 f.vtkhdf 'f["VTKHDF"].attrs["Type"], f["VTKHDF/Points"].shape, list(f["VTKHDF/Vertices/Offsets"][-2:]), sorted(f["VTKHDF/PointData"])')" "(b'PolyData', (257, 3), [256, 257], ['acc', 'id', 'mass', 'vel'])"
	equals "$(h5 run.vtkhdf 'list(f["VTKHDF/NumberOfPoints"]), list(f["VTKHDF/Steps/Values"]), list(f["VTKHDF/Steps/PointOffsets"]), f["VTKHDF/Steps"].attrs["NSteps"]')" '([300, 0, 200000, 7], [1.0, 2.0, 3.0, 4.0], [0, 300, 300, 200300], 4)'
	[ "$(h5 run.vtkhdf 'f["VTKHDF/Points"][200300 + 6].tolist()' | tr -d '[],')" = "$(nb-select --frames 3 <run.nb | mutate show pos | tail -n 1)" ]
	[ "$(h5 run.vtkhdf 'f["VTKHDF/PointData/vel"][300 + 123456].tolist()' | tr -d '[],')" = "$(nb-select --frames 2 <run.nb | mutate show vel | sed -n 123457p)" ]
	"$PYTHON_H5" -c 'from vtk import vtkVersion as v; assert v().GetVTKMajorVersion() * 100 + v().GetVTKMinorVersion() >= 903' 2>/dev/null || skip 'no VTK of version 9.3 or later'
	"$PYTHON_H5" - <<-'END' >steps
		import vtk
		r = vtk.vtkHDFReader()
		r.SetFileName("run.vtkhdf")
		for t in 1.0, 3.0, 4.0:
		    r.UpdateTimeStep(t)
		    o = r.GetOutputDataObject(0)
		    v = o.GetPointData().GetArray("vel")
		    print(o.GetNumberOfPoints(), o.GetNumberOfVerts(), v.GetTuple(v.GetNumberOfTuples() - 1)[0])
	END
	for k in 0 2 3; do
		nb-select --frames $k <run.nb | mutate show vel | awk -v k="$k" '{ x = $1 } END { print NR, NR, x }'
	done | diff steps -
}

@test "a chain of trees of chunks: more chunks than a node of the tree holds" {
	needs_h5py
	nb-gen kepler | nb-step -d 0.001 -k 9000 nb-force | nb-convert -q --to vtkhdf -o long.vtkhdf
	equals "$(h5 long.vtkhdf 'f["VTKHDF/Points"].shape, f["VTKHDF/Points"].chunks, float(f["VTKHDF/PointData/mass"][:].sum())')" "$(printf "((18002, 3), (2, 3), %s)" "$(nb-gen kepler | mutate show mass | awk '{ s += $1 } END { printf "%.1f", 9001 * s }')")"
	[ "$(h5 long.vtkhdf 'f["VTKHDF/Points"][18001].tolist()' | tr -d '[],')" = "$(nb-gen kepler | nb-step -d 0.001 -k 9000 --every 9000 nb-force | nb-select --frames 1 | mutate show pos | tail -n 1)" ]
}

@test "a build without libhdf5 says so, and writes all the same" {
	[ -n "${NO_HDF5:-}" ] || skip 'nb is built with libhdf5'
	nb-gen plummer -n 10 | nb-convert --to gadget-hdf5 -o s.hdf5
	fails_with 1 's.hdf5: HDF5 is not built in: install libhdf5-dev, and build nb again' 'nb-convert --from gadget-hdf5 s.hdf5'
	nb-convert --help | grep -qx -- '--from gadget-hdf5 is not built in: install libhdf5-dev, and build nb again.'
}

# 0 with a whole stream, or 1 with one line and nothing else
sound_or_refused() {
	local code=0
	timeout 600 nb-convert -q --from "$1" "$2" >out 2>err || code=$?
	if [ "$code" -eq 0 ]; then
		nb-stats --check <out >/dev/null
	else
		[ "$code $(wc -l <err) $(grep -c '^nb-convert: ' err) $(wc -c <out)" = '1 1 1 0' ]
	fi || { echo "$2: exit status $code"; cat err; return 1; }
}

@test "a file that is cut anywhere is refused in one line" {
	needs_hdf5
	nb-gen uniform -n 3 | nb-convert --to gadget-hdf5 -o s.hdf5
	size=$(stat -c %s s.hdf5)
	for ((n = 0; n < size; n += n < 200 ? 29 : 499)); do
		head -c "$n" s.hdf5 >cut.hdf5
		fails_with 1 'cut.hdf5: ' 'nb-convert --from gadget-hdf5 cut.hdf5'
	done
	head -c -1 s.hdf5 | fails_with 1 'standard input: this is no whole HDF5 file: truncated file' 'nb-convert --from gadget-hdf5'
}

# every STEP-th byte with all bits turned over, one file for each in the folder struck
strike() { # FILE STEP
	rm -rf struck
	mkdir struck
	python3 - "$@" <<-'END'
		import sys
		b = bytearray(open(sys.argv[1], "rb").read())
		for k in range(0, len(b), int(sys.argv[2])):
		    b[k] ^= 255
		    open(f"struck/{k}", "wb").write(b)
		    b[k] ^= 255
	END
}

@test "flipped bytes end in a sound stream or one line" {
	local each=1
	needs_hdf5
	nb-gen uniform -n 3 | nb-convert --to gadget-hdf5 -o s.hdf5
	[[ $NB_BIN != */san/* ]] || each=5
	strike s.hdf5 $((61 * each))
	for file in struck/*; do sound_or_refused gadget-hdf5 "$file"; done
	needs_h5py
	make_hdf5 swift s.hdf5
	strike s.hdf5 $((409 * each))
	for file in struck/*; do sound_or_refused gadget-hdf5 "$file"; done
}

@test "of a huge HDF5 snapshot only what is wanted is read" {
	needs_h5py
	"$PYTHON_H5" - <<-'END'
		import h5py, numpy
		n = 10**8
		with h5py.File("huge.hdf5", "w") as f:
		    h = f.create_group("Header").attrs
		    h["NumPart_ThisFile"] = h["NumPart_Total"] = numpy.array([5, n], "u4")
		    h["MassTable"] = numpy.array([1.0, 2.0])
		    h["NumFilesPerSnapshot"], h["Time"] = 1, 0.5
		    for t, rows in (0, 5), (1, n):
		        for name, shape, kind in ("Coordinates", (rows, 3), "f4"), ("Velocities", (rows, 3), "f4"), ("ParticleIDs", (rows,), "u4"):
		            p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
		            p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
		            p.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
		            p.set_layout(h5py.h5d.CONTIGUOUS)
		            g = f.require_group("PartType%d" % t)
		            d = h5py.Dataset(h5py.h5d.create(g.id, name.encode(), h5py.h5t.py_create(numpy.dtype(kind)), h5py.h5s.create_simple(shape), p))
		            d[rows - 1:] = 7
	END
	[ "$(stat -c %s huge.hdf5)" -gt 2000000000 ]
	[ "$(du -m huge.hdf5 | cut -f 1)" -lt 10 ]
	# the library that lists what is there is a file of some MB, which is written and read too
	at_most 2000000 "$(bytes_read 'nb-convert --from gadget-hdf5 --no-history --species 0 --fields pos,vel,mass huge.hdf5')"
	[ "$(nb-stats --format tsv out | stat_of n)" = 5 ]
	at_most 2000000 "$(bytes_read 'nb-convert --from gadget-hdf5 --no-history --rows 4:100000004:25000000 --fields pos,mass,species huge.hdf5')"
	equals "$(mutate show pos <out | sed -n '1p;$p' | paste -sd ' ' | tr -d ',') $(mutate show mass <out | paste -sd ' ')" '7.0 7.0 7.0 7.0 7.0 7.0 1.0 2.0 2.0 2.0 2.0'
}

@test "a file that h5py writes as nb-formats(7) shows is read" {
	needs_hdf5 h5py
	cd "$BATS_TEST_TMPDIR" || return 1
	{
		echo 'import h5py, numpy as np; n = 5; pos = np.arange(15.0).reshape(n, 3); vel = pos / 2; mass = np.ones(n)'
		sed -n '/^with h5py.File/,/^\.Ed/p' "$NB_TOP/man/nb-formats.7" | sed '/^\.Ed/d'
	} >my.py
	"$PYTHON_H5" my.py
	nb-convert --G 1 my.hdf5 | nb-convert --to csv --no-comments | cut -d , -f 2-8 >got.csv
	awk 'BEGIN { print "mass,x,y,z,vx,vy,vz"; for (i = 0; i < 15; i += 3) print "1," i "," i + 1 "," i + 2 "," i / 2 "," (i + 1) / 2 "," (i + 2) / 2 }' | diff - got.csv
}
