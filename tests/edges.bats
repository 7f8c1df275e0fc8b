#!/usr/bin/env bats
# Every table of a fixed size: at its edge all works; beyond there are plain bytes or one clear line, never a hang or
# silent loss.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export MARK=edges.$BATS_TEST_NUMBER.$$
}

teardown() {
	end_marked
}

repeat() { printf "$2%.0s" $(seq "$1"); }

# Constants with MOST, MAX or LIMIT in their names: FILE NAME.
capacities() {
	(cd "$NB_TOP" && grep -rnoE '\b([A-Z0-9]+_)*(MOST|MAX|LIMIT)(_[A-Z0-9]+)*\b *= *[^ =%'"'"']' tools formats common kernels \
		--include='*.[ch]' | sed -E "s/:[0-9]+:/ /; s/ *= *.\$//" | sort -u)
}

# capacity FILE NAME: its value
capacity() {
	local value
	value=$(sed -nE "s/.*\\b$2 *= *([^,};]*).*/\\1/p" "$NB_TOP/$1")
	[ -n "$value" ] || return 1
	echo $((value))
}

# What tests the edge: 'here', a test file and a text in it, or '-' and why there is nothing to test.
tables() {
	cat <<-'ROWS'
		common/cpu.h NB_THREADS_MOST stream.bats want at most 4096, see OMP_NUM_THREADS
		common/decimal.c EXPONENT_LIMIT unit/common/decimal.c 1e99999999999
		common/decimal.c MAX_DIGITS - more digits are read in another way
		common/decimal.c MAX_POWER - larger powers are taken in another way
		common/terms.h NB_TERMS_MOST unit/field/field.c NB_TERMS_MOST
		common/terms.h NB_TERM_KEYS_MOST - tables of keys are compared with it as they are compiled
		formats/exchange/csv/ahead.c MOST - lines beyond it are read next
		formats/exchange/bytes.h NB_BYTES_MOST - a buffer that is filled again
		formats/exchange/gadget-hdf5/files.c MOST_KEPT convert-hdf5.bats more files than are open at once
		formats/exchange/gadget-hdf5/gadget-hdf5.c MOST_FILES - a range of a number in a file
		formats/exchange/gadget-hdf5/write.c MOST - the names of 1024 columns take less
		formats/exchange/gadget/file.c MOST_FILES convert-gadget.bats the header counts 2147483647 files
		formats/exchange/gadget/file.c MOST_TYPES - a header with more is none
		formats/exchange/gadget/gadget.c MOST_COLUMNS here
		formats/exchange/hdf5/hdf5.h NB_H5_MOST_RATIO - a ratio that is possible
		formats/exchange/hdf5/image.c MAX_RANK - all arrays that are written have one or two
		formats/exchange/lines.h NB_MAX_LINE nb-convert.bats longer than 1048576
		formats/exchange/nemo/items.c MAX_DEPTH convert-tables.bats more than 64 sets in one another
		formats/exchange/nemo/nemo.c MAX_COMPONENTS - a range of a number in a file
		formats/exchange/nemo/nemo.c MAX_TEXT - more text is left out, with a warning
		formats/exchange/princeton/princeton.c MAX_SPECIES here
		formats/exchange/rows.c MAX_TEXT here
		formats/exchange/tipsy/tipsy.c MOST - bodies of a sample
		formats/stream/field.c MAX_ITEM unit/stream/types.c |S4096
		formats/stream/frame.h NB_MAX_COLUMNS here
		formats/stream/frame.h NB_MAX_COPIES - a copy for each kind that there is
		formats/stream/stream.h NB_MAX_ATTRIBUTE_BYTES here
		formats/stream/stream_internal.h MAX_HEADER_SIZE - a range of a number in a file
		kernels/backend/list.h NB_DEVICES_MOST unit/backend/list.c more than 16
		kernels/lpt/lpt.h NB_LPT_EDGE_MOST nb-gen-lpt.bats has at most 8589934592 bodies
		formats/stream/crc32.c MOST - more threads than that take no part
		kernels/boxes/boxes.h NB_BOXES_MAX_LEVEL_2D - the range of an option
		kernels/boxes/boxes.h NB_BOXES_MAX_LEVEL_3D - the range of an option
		kernels/domain/cut_cpu.c MOST_PARTS - parts are coarser then
		kernels/ewald/ewald_cpu.c MODES_MOST - follows from the length of the split
		kernels/fmm/expansion_internal.h NB_FMM_MAX_TOTAL - follows from the range of an option
		kernels/fmm/fmm.h NB_FMM_MAX_ORDER_2D - the range of an option
		kernels/fmm/fmm.h NB_FMM_MAX_ORDER_3D - the range of an option
		kernels/gravity/direct_cpu.c MOST - bodies of a sample
		kernels/groups/properties.c MOST_SLOTS - what is finer is found by no gap, as nb-groups(1) says
		kernels/measure/measure.h NB_HEALPIX_MOST - the range of an option
		kernels/mesh/mesh.h NB_MESH_MOST - the range of an option
		kernels/models/model_simd.c MAX_DRAWS - draws that any model makes
		kernels/models/models.h NB_ELEMENTS_MOST nb-gen-orbits.bats more than 64 bodies
		kernels/models/system_cpu.c MOST_ORBITS unit/models/system.c segregation wants a mass-range
		kernels/motion/collide.h NB_COLLIDE_MOST unit/motion/contact.c NB_COLLIDE_MOST
		kernels/near/near.h NB_NEAR_MOST - the range of an option
		kernels/order/sort_cpu.c MAX_PASS - one for each bit of a key
		kernels/picture/picture.h NB_SPLAT_MAX_CHANNEL - channels that nb-render-ppm has
		kernels/picture/picture.h NB_SPLAT_MAX_SIZE - the range of an option
		kernels/picture/picture_internal.h NB_MAX_LEVEL - follows from the largest picture
		kernels/ranks/ranks_mpi.c MOST - pieces of a message
		kernels/ranks/ranks_mpi.c MOST_STARTED - waits for one before the next
		kernels/small/ias15_body.h ROUNDS_MOST - the step is repeated, or taken as it is
		kernels/small/kepler_body.h MOST - more halvings than a double has
		kernels/small/kepler_body.h MOST_HALVED - beyond it the range of a double ends
		kernels/small/small.h NB_SMALL_MOST unit/small/small.c NB_SMALL_MOST
		kernels/small/trace_cpu.c STEPS_MOST nb-step-trace.bats -d is far longer than orbits
		kernels/small/variation_cpu.c ROUNDS_MOST - the last changes are rounding by then
		kernels/small/whfast.h NB_WHFAST_MOST unit/small/whfast.c NB_WHFAST_MOST
		kernels/small/whfast_cpu.c STAGES_MOST - of the corrector of the highest order
		kernels/tree/build_cpu.c MAX_LEVEL unit/tree/check.c NB_TREE_LEVELS
		kernels/walk/nodes_cpu.c MOST_GROUP - the larger of two sizes
		kernels/walk/ranks_cpu.c MOST_CUTS - ranks share equally then
		kernels/walk/walk_cpu.c MAX_THREADS - parts are larger then
		tools/filter/help.c MOST_WORDS here
		tools/filter/input.c MOST - follows from NB_WATCH_MOST
		tools/filter/options.c MAX_OPTIONS - a program with more does not start
		tools/filter/options.h NB_MOST_ORDERED here
		tools/filter/ring.h NB_RING_MOST here
		tools/filter/running.h NB_RUNNING_MOST - follows from NB_WATCH_MOST
		tools/filter/watch.h NB_WATCH_MOST unit/filter/watch.c NB_WATCH_MOST
		tools/fold/reader.c PENDING_MOST fold.bats ten thousand times
		tools/fold/reader.c STRANGERS_MOST fold.bats ten thousand times
		tools/fold/strings.c STRINGS_MOST - the system starts no program with so many bytes of words
		tools/nb-convert/convert.h NB_CONVERT_MOST_FILES - the range of an option
		tools/nb-field/table.c MOST_ROWS here
		tools/nb-gen/orbits.h NB_ORBITS_VARIED_MOST systems.bats more than 256 expressions
		tools/nb-gen/lpt.c MOST_ROWS here
		tools/nb-force/method.c MOST nb-force.bats (limit 4 for method tree)
		tools/nb-force/box.c MOST_SUMMED - above it the mesh is taken, and a warning says if it misses
		tools/nb-merge/merge.c MOST_SPECIES nb-merge.bats has numbers for 256 inputs
		tools/nb-merge/origin.c MOST_ORIGINS here
		tools/nb-render-ppm/camera.c MAX_KEYS nb-render-ppm.bats has more than 10000 key frames
		tools/nb-render-ppm/legend.c MOST - a longer title is shortened
		tools/nb-render-ppm/output.c MAX_WORDS - words of a table in this file
		tools/nb-render-ppm/trail.c MAX_POINTS here
		tools/nb-select/frames.c MOST - more frames than can be
		tools/nb-stats/potential.c DIRECT_LIMIT nb-stats.bats and 65537 bodies are too many
		tools/nb-stats/stats.h MAX_RADII here
		tools/nb-step/ias15.c MOST - steps beyond it are made next
		tools/nb-step/trace.c MOST - steps beyond it are made next
		tools/nb-view/server/want.c SIZE_MOST - pixels of a window that there is not
		tools/nb-view/talk.h TALK_MOST - twenty times what 2^20 points take
	ROWS
}

@test "each table of a fixed size has a test at its edge, or a reason" {
	local file name where text
	capacities >found
	[ "$(wc -l <found)" -gt 40 ]
	tables | cut -d ' ' -f 1,2 | sort -u | diff found -
	tables >rows
	while read -r file name where text; do
		case $where in
		here) [ "$(grep -cE "capacity $file $name\b" "$BATS_TEST_FILENAME")" -ge 1 ] ;;
		-) [ -n "$text" ] ;;
		*) grep -qF -- "$text" "$NB_TOP/tests/$where" ;;
		esac || {
			echo "$file $name: '$where' has no '$text'"
			return 1
		}
	done <rows
}

@test "a force pipeline of more programs than a process does the work of gives the same bytes" {
	local most n
	most=$(capacity tools/filter/ring.h NB_RING_MOST)
	nb-gen plummer -n 20 >in.nb
	for n in $((most - 1)) "$most" $((most + 1)); do # nb-force is one more
		echo "$(repeat "$n" 'nb-sort-zorder | ') nb-force -e 0.1" >pipeline
		NB_FOLD=off nb-step -d 0.1 -k 1 "$(cat pipeline)" in.nb >want.nb
		TEST_MARK=$MARK timeout -k 1 60 nb-step -d 0.1 -k 1 "$(cat pipeline)" in.nb >got.nb 2>err
		cmp want.nb got.nb
		equals "$(without_waiting err)" '' # so many programs may take long to begin
	done
	nothing_stays
}

@test "as many operations as a program keeps are done, and one more is one line" {
	local most
	most=$(capacity tools/filter/options.h NB_MOST_ORDERED)
	nb-gen plummer -n 3 >in.nb
	nb-transform --shift "$most,0,0" --no-history in.nb >want.nb
	bash -c "nb-transform $(repeat "$most" ' --shift 1,0,0') --no-history in.nb" | nb-diff --absolute 1e-12 - want.nb
	fails_with 2 "more than $most operations (put some of them into another" "nb-transform $(repeat $((most + 1)) ' --shift 1,0,0') in.nb"
}

@test "nb help looks for 63 words, and refuses more" {
	local most
	most=$(capacity tools/filter/help.c MOST_WORDS)
	[[ "$(bash -c "nb help $(repeat "$most" ' energy')")" == *nb-stats* ]]
	fails_with 2 "more than $most words" "nb help $(repeat "$most" ' energy') zzzz"
}

# A table of N columns: id, mass, pos, vel and numbers.
wide() {
	awk -v n="$1" 'BEGIN {
		printf "id,mass,x,y,z,vx,vy,vz"; for (i = 4; i < n; i++) printf ",c%d", i
		for (b = 0; b < 2; b++) { printf "\n%d,1,%d,0,0,0,0,0", b, b; for (i = 4; i < n; i++) printf ",%d.5", i }
		print ""
	}'
}
columns() { nb-stats --fields | tail -n +2 | wc -l; }

# bats test_tags=once
@test "frames of 1024 columns go through all formats that have them and come back" {
	local most format
	most=$(capacity formats/stream/frame.h NB_MAX_COLUMNS)
	wide "$most" | nb-convert --from csv --no-history >wide.nb
	equals "$(columns <wide.nb)" "$most"
	for format in csv nemo gadget-hdf5; do
		nb-convert --to $format wide.nb -o wide.out -q 2>err || { grep -q 'not built in' err && continue; }
		nb-convert --from $format wide.out | nb-select --drop id | nb-diff - <(nb-select --drop id wide.nb)
		nb-convert --from $format --fields pos,c1000 wide.out | nb-stats --fields | grep -qE '^ +0 c1000 '
		rm wide.out
	done
	wide $((most + 1)) >more.csv
	fails_with 1 "more than $most columns (choose some with '--fields')" 'nb-convert --from csv more.csv'
	[ "$(NB_MAX_COLUMNS=$most capacity formats/exchange/gadget/gadget.c MOST_COLUMNS)" -ge 1000 ]
	wide 1000 | nb-convert --from csv | nb-convert --to gadget2 -q -o wide.g2
	equals "$(nb-convert --from gadget wide.g2 | columns)" 1001 # and species
}

# bats test_tags=once
@test "texts, attributes, rows, numbers and points beyond the edge are one line" {
	local most bytes
	nb-gen plummer -n 3 --no-history >in.nb
	most=$(capacity formats/exchange/rows.c MAX_TEXT)
	named() { printf 'id,mass,x,y,z,name\n0,1,0,0,0,%s\n' "$(repeat "$1" a)"; }
	equals "$(named "$most" | nb-convert --from csv | nb-stats --fields | tail -1 | awk '{ print $4 }')" "|S$most"
	named $((most + 1)) >long.csv
	fails_with 1 "text in column 'name' is too long (choose others with '--fields')" 'nb-convert --from csv long.csv'
	fine_without() { nb-convert --from csv --fields id,pos long.csv | nb-stats --check; }
	fine_without

	bytes=$(capacity formats/stream/stream.h NB_MAX_ATTRIBUTE_BYTES)
	told() { # of so many pieces of a million bytes
		local piece
		piece=$(head -c 1000000 /dev/zero | tr '\0' a)
		for k in $(seq "$1"); do echo "# k$k=$piece"; done
		printf 'id,mass,x,y,z\n0,1,0,0,0\n'
	}
	told $((bytes / 1000100)) | nb-convert --from csv | nb-sort-zorder | nb-stats --check
	told $((bytes / 1000000 + 1)) >told.csv
	fails_with 1 "bytes of attributes (limit $bytes)" 'nb-convert --from csv told.csv'

	most=$(capacity tools/nb-field/table.c MOST_ROWS)
	seq "$most" | awk '{ print $1, -1/$1 }' >table
	nb-field --alone table:file=table in.nb | nb-stats --check
	echo "$((most + 1)) -1e-9" >>table
	fails_with 1 "'table' line $((most + 1)): more than $most rows" 'nb-field --alone table:file=table in.nb'

	most=$(capacity tools/nb-gen/lpt.c MOST_ROWS)
	seq "$most" | awk '{ print $1 / 10000, 1/$1 }' >table
	nb-gen lpt -n 27 --spectrum table | nb-stats --check
	echo "$((most + 1)) 1e-9" >>table
	fails_with 1 "'table' line $((most + 1)): more than $most rows" 'nb-gen lpt -n 27 --spectrum table'

	most=65535 # capacity tools/nb-merge/origin.c MOST_ORIGINS
	nb-calc "origin = $((most - 1))" in.nb >most.nb
	equals "$(nb-merge --origin --ids renumber most.nb in.nb | nb-convert --to csv --no-comments | sed -n '$s/.*,//p')" "$most"
	fails_with 1 "the inputs were merged from more than $((most + 1))" 'nb-merge --origin --ids renumber most.nb in.nb in.nb'

	most=$(capacity tools/nb-stats/stats.h MAX_RADII)
	nb-stats --lagrangian "$(seq -s , "$most")" --format tsv in.nb | grep -cP "\tr$most\t" >count
	fails_with 2 "want at most $most percentages" "nb-stats --lagrangian $(seq -s , $((most + 1))) in.nb"

	most=$(capacity tools/nb-render-ppm/trail.c MAX_POINTS)
	nb-gen plummer -n $((most / 1024)) >many.nb
	nb-render-ppm --width 32 --height 32 --trail 1023 many.nb | head -c 2 | grep -q P6
	fails_with 1 "(want at most $most points)" 'nb-render-ppm --width 32 --height 32 --trail 1024 many.nb'
}

@test "256 colours of a princeton file are species, and 257 are colours only" {
	local most n
	most=$(capacity formats/exchange/princeton/princeton.c MAX_SPECIES)
	coloured() { awk -v n="$1" 'BEGIN { print n "\n1e11"; for (i = 0; i < n; i++) print i, "1 0 0 1e20", i % 256, int(i / 256), 7 }'; }
	for n in "$most" $((most + 1)); do
		coloured "$n" | nb-convert --from princeton | nb-stats --fields >fields
		grep -q ' colour ' fields
		equals "$(grep -c ' species ' fields)" $((n == most))
	done
}

@test "every name in a picture is drawn, however many there are" {
	awk 'BEGIN { print "id,mass,x,y,z"; for (i = 0; i < 1200; i++) print i ",1," i % 60 "," int(i / 60) ",0" }' >grid.csv
	names() { seq "$1" | sed 's/$/ a/' | paste -s -d ,; } # of bodies 1 to N
	nb-convert --from csv grid.csv | nb-calc "@names = \"$(names 1199)\"" >all.nb
	nb-calc "@names = \"$(names 1198)\"" all.nb >most.nb
	for f in all most; do nb-render-ppm --width 1410 --height 470 --size 21 --label name $f.nb >$f.ppm; done
	run ! cmp -s all.ppm most.ppm
}
