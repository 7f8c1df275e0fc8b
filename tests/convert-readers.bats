#!/usr/bin/env bats
# What nb-convert writes, opened by the programs that the format is for: masses, positions, velocities, ids, time.
#
# A reader that is not installed is skipped.  NB_PYTHON names a Python with those that Debian does not have: pynbody, unsio,
# VTK of version 9.3 or later.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	# halo, disk and stars mixed, with masses, softenings and ids of their own
	nb-gen merger -n 301 -s 5 | nb-transform --from-units 1kpc,1e10Msun --units kpc,1e10Msun,km/s |
		nb-calc 'species = id % 3 == 0 ? 1 : id % 3 == 1 ? 2 : 4' 'mass *= 1 + 0.5*random()' 'eps = 0.1*species' \
			'id = 1000000 + 7*id' '@time = 0.25' | mutate attribute types gadget >types.nb
	# TIPSY has no disk, and gas
	nb-calc 'species = species == 2 ? 0 : species' <types.nb >kinds.nb
	nb-gen plummer -n 301 >plain.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# finds READER 'FORMAT FRAME COLUMN ...' ...: one process of the reader opens each FRAME.nb in its FORMAT, and these columns
# are what is compared
finds() {
	local reader=$1 job format frame files=() want=()
	shift
	for job; do
		read -r format frame columns <<<"$job"
		nb-convert -q --to "$format" -o "$frame.$format" <"$frame.nb"
		files+=("$frame.$format" "$frame.nb")
		want+=("$columns")
	done
	run --separate-stderr "$python" -W ignore "$NB_TOP/tests/read-back.py" "$reader" "${files[@]}"
	echo "$output $stderr"
	[ "$status" -eq 0 ]
	equals "$(printf '%s\n' "$output" | sed "s/^$reader [^ ]* 301 //")" "$(printf '%s\n' "${want[@]}")"
}

# bats test_tags=once
@test "NumPy finds npy and npz" {
	python=$(numpy_python)
	finds numpy 'npy types id species mass pos vel eps' \
		'npz types id species mass pos vel eps time G'
}

# bats test_tags=once
@test "h5py finds gadget-hdf5 and vtkhdf" {
	python=$(python_with h5py) || skip 'no Python with h5py (python3-h5py)'
	finds h5py 'gadget-hdf5 types id species mass pos vel eps time G' \
		'vtkhdf types id species mass pos vel eps'
}

# bats test_tags=once
@test "yt finds gadget, gadget2, gadget-hdf5 and tipsy" {
	python=$(python_with yt) || skip 'no Python with yt (python3-yt)'
	finds yt 'gadget types id species mass pos vel time' \
		'gadget2 types id species mass pos vel time' \
		'gadget-hdf5 types id species mass pos vel time' \
		'gadget plain id mass pos vel time' \
		'tipsy kinds species mass pos vel time' \
		'tipsy-native kinds species mass pos vel time'
}

# bats test_tags=once
@test "pynbody finds gadget, gadget2, gadget-hdf5 and tipsy" {
	python=$(python_with pynbody) || skip 'no Python with pynbody (NB_PYTHON may name one)'
	finds pynbody 'gadget types id mass pos vel time' \
		'gadget2 types id mass pos vel time' \
		'gadget-hdf5 types id mass pos vel' \
		'tipsy kinds id mass pos vel eps time'
}

# bats test_tags=once
@test "astropy finds csv" {
	python=$(python_with astropy) || skip 'no Python with astropy (python3-astropy)'
	finds astropy 'csv types id species mass pos vel eps time G'
}

# bats test_tags=once
@test "splash finds csv, gadget and gadget2" {
	command -v splash >/dev/null || skip 'no splash'
	python=$(numpy_python)
	finds splash 'csv types id species mass pos vel eps' \
		'gadget types mass pos vel time' \
		'gadget2 types mass pos vel time'
}

# bats test_tags=once
@test "VTK finds vtp" {
	python=$(python_with vtkmodules.vtkIOXML) || skip 'no Python with VTK (python3-vtk9)'
	finds vtk 'vtp types id species mass pos vel eps time G'
}

# bats test_tags=once
@test "VTK finds vtkhdf" {
	python=$(python_with vtkmodules.vtkIOHDF 'from vtkmodules.vtkCommonCore import vtkVersion as v
assert v().GetVTKMajorVersion() * 100 + v().GetVTKMinorVersion() >= 903') || skip 'no VTK of version 9.3 or later (NB_PYTHON may name a Python that has it)'
	finds vtk 'vtkhdf types id species mass pos vel eps'
}

# bats test_tags=once
@test "unsio, a library of NEMO, finds nemo, nemo-split, gadget and gadget2" {
	python=$(python_with unsio.input) || skip 'no Python with unsio (NB_PYTHON may name one)'
	finds unsio 'nemo types id mass pos vel eps time' \
		'nemo-split types id mass pos vel eps time' \
		'gadget types id mass pos vel time' \
		'gadget2 types id mass pos vel time'
}

# ---- round trips ----

# n bodies of types that all formats have, in numbers that f32 has, with all columns and a cosmological header
full_frame() {
	nb-gen plummer -n "$1" -s 3 --precision f32 | nb-calc --dtype f4 'eps = 0.25 + id/1024' 'mass *= 1 + id % 7/8' |
		nb-force -m direct --potential | nb-calc --dtype f4 'pot -= 1' 'acc *= 1' |
		nb-calc --dtype u1 'species = id % 3 == 0 ? 1 : id % 3 == 1 ? 0 : 4' | nb-calc 'id = 70000 - 11*id' |
		mutate attribute types gadget | mutate attribute time 0.5 | mutate attribute redshift 3 |
		mutate attribute box_size 40.5 | mutate attribute omega0 0.3125 | mutate attribute omega_lambda 0.6875 |
		mutate attribute hubble_param 0.75
}

# comes_back FORMAT COLUMNS ATTRIBUTES: of full.nb
comes_back() {
	local format=$1 columns=$2 key to
	# a format of blocks has none where nobody is in them
	[ "$n" -gt 0 ] || columns=mass,pos,vel
	nb-convert -q --to "$format" -o "trip.$format" <full.nb
	case $format in
	gadget2) to=gadget ;;
	*-native | *-split) to=${format%-*} ;;
	*) to=$format ;;
	esac
	nb-convert -q --no-history --from "$to" "trip.$format" >back.nb
	nb-stats --check <back.nb
	nb-select -q --no-history --fields "$columns" --sort id <full.nb >want.nb
	nb-select -q --no-history --fields "$columns" --sort id <back.nb >got.nb
	nb-diff want.nb got.nb
	for key in $3; do
		equals "$(nb-stats --attributes <back.nb | grep "^$key=")" "$(nb-stats --attributes <full.nb | grep "^$key=")"
	done
	# a second trip changes nothing
	nb-convert -q --to "$format" -o "again.$format" <back.nb
	nb-convert -q --no-history --from "$to" "again.$format" | cmp - back.nb
}

# bats test_tags=once
@test "round trips lose nothing that a format holds: columns, header, types, n = 0, 1 and many" {
	for n in 0 1 257; do
		full_frame $n >full.nb
		nb-stats --check <full.nb
		comes_back csv id,mass,pos,vel,species,acc,pot,eps 'time redshift box_size omega0 omega_lambda hubble_param G types'
		comes_back gadget-hdf5 id,mass,pos,vel,species,acc,pot,eps 'time redshift box_size omega0 omega_lambda hubble_param G types'
		for format in gadget gadget2; do
			# of one body, blocks without labels have the same size
			comes_back $format "id,mass,pos,vel,species$([ $format$n = gadget1 ] || echo ,acc,pot)" 'time redshift box_size omega0 omega_lambda hubble_param types'
		done
		for format in tipsy tipsy-native; do comes_back $format id,mass,pos,vel,species,pot,eps 'time types G'; done
		for format in nemo nemo-split; do comes_back $format id,mass,pos,vel,acc,pot,eps,species 'time G'; done
	done
}
