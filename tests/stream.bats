#!/usr/bin/env bats
# nb-stream(5): the library that writes it, and the readers that the page shows, extracted from the page.

load helper

PAGE=$NB_TOP/man/nb-stream.5

# the text between .Bd and .Ed after the first line that matches, roff escapes undone
example() {
	awk -v start="$1" '$0 ~ start { found = 1 } found && /^\.Ed/ { exit } on { gsub(/\\e/, "\\"); print } found && /^\.Bd/ { on = 1 }' "$PAGE"
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 1000 >f.nb
	nb-stats --format tsv <f.nb >f.tsv
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}


@test "the C reader in the page compiles and finds the mean position" {
	example '^A reader in C' >reader.c
	[ "$(grep -c '' reader.c)" -ge 30 ]
	gcc -Wall -Wextra -o reader reader.c
	./reader <f.nb >reader.out
	read -r n x y z <reader.out
	[ "$n" -eq 1000 ]
	python3 "$NB_TOP/tests/mutate.py" show pos <f.nb | awk -v x="$x" -v y="$y" -v z="$z" '
		{ a += $1; b += $2; c += $3 }
		END { e = 1e-12; exit !(a/NR-x < e && x-a/NR < e && b/NR-y < e && y-b/NR < e && c/NR-z < e && z-c/NR < e) }'
	cat f.nb f.nb | ./reader | wc -l | grep -qx 2
	run bash -c 'head -c 2000 f.nb | ./reader'
	[ "$status" -eq 1 ]
	run bash -c './reader </dev/null'
	[ "$status" -eq 1 ]
}

@test "the NumPy reader in the page has three lines and reads every column" {
	example '^The first frame of a file in NumPy' >reader.py
	[ "$(grep -c '' reader.py)" -eq 3 ]
	cat >>reader.py <<-'END'
		assert list(F) == ["id", "mass", "pos", "vel"], list(F)
		assert F["pos"].shape == (1000, 3) and F["id"].shape == (1000, 1) and sorted(F["id"][:, 0]) == list(range(1000))
		import zlib
		print("%.17g %.17g" % (F["mass"].sum(), F["pos"][7, 1]))
	END
	"$(numpy_python)" reader.py >numpy.out
	read -r mass y <numpy.out
	close_to 1 "$mass" 1e-12
	[ "$(python3 "$NB_TOP/tests/mutate.py" show pos <f.nb | sed -n 8p | awk '{ print $2 }')" = "$(python3 -c "print(repr($y))")" ]
}

# bats test_tags=once
@test "the R reader in the page reads pos" {
	command -v Rscript >/dev/null || skip 'no Rscript'
	example '^One <f8 column' >reader.R
	[ "$(grep -c '' reader.R)" -eq 3 ]
	cat >>reader.R <<<'cat(dim(pos), sprintf("%.17g", pos[8, 2]), fill = TRUE)'
	Rscript --vanilla reader.R >r.out
	read -r rows columns y <r.out
	[ "$rows" -eq 1000 ]
	[ "$columns" -eq 3 ]
	[ "$(python3 "$NB_TOP/tests/mutate.py" show pos <f.nb | sed -n 8p | awk '{ print $2 }')" = "$(python3 -c "print(repr($y))")" ]
}

@test "CRCs are those of zlib: an independent reader agrees with the writer" {
	python3 "$NB_TOP/tests/mutate.py" attribute note hello <f.nb >again.nb
	nb-stats --check <again.nb
	nb-gen plummer -n 1000 --no-history | python3 "$NB_TOP/tests/mutate.py" attribute seed 0 >a.nb
	nb-stats --check <a.nb
}

@test "a column in f4 is read as the number it is" {
	nb-gen plummer -n 100 --precision f32 >f4.nb
	nb-stats --fields <f4.nb | grep -q '<f4'
	nb-force <f4.nb | nb-stats --fields | grep acc | grep -q '<f4'
}

@test "a regular file and a pipe give the same result" {
	nb-force -e 0.01 <f.nb >mapped.nb
	cat f.nb | nb-force -e 0.01 >piped.nb
	cmp mapped.nb piped.nb
	# reading starts at the file's offset and ends there too
	cat f.nb f.nb >ff.nb
	(nb-stats --check >/dev/null; [ "$(cat | wc -c)" -eq 0 ]) <ff.nb
}

@test "a frame larger than memory is refused before it is allocated" {
	for limit in 1000 0; do
		fails_with 1 "more than NB_MAX_FRAME='$limit'" "NB_MAX_FRAME=$limit nb-sort-zorder <f.nb"
	done
	NB_MAX_FRAME=1000000000 nb-sort-zorder <f.nb | nb-stats --check
	# each column would fit, not all of them
	size=$(stat -c %s f.nb)
	fails_with 1 "more than NB_MAX_FRAME='$((size / 2))'" "NB_MAX_FRAME=$((size / 2)) nb-sort-zorder <f.nb"
	NB_MAX_FRAME=$size nb-sort-zorder <f.nb | NB_MAX_FRAME=$((2 * size)) nb-stats --check
	NB_MAX_FRAME='' nb-sort-zorder <f.nb | nb-stats --check
}

@test "no limit of frames makes sums of sizes wrap" {
	for limit in 9223372036854775807 9223372036854775808 18446744073709551615 99999999999999999999999; do
		fails_with 1 "column 'c7' of frame 0 ends behind 9223372036854775807 bytes" \
			"NB_MAX_FRAME=$limit nb-stats --check <$NB_TOP/tests/corpus/bad/sizes-wrap.nb"
		fails_with 1 "column 'c7' of frame 0 ends behind" \
			"cat $NB_TOP/tests/corpus/bad/sizes-wrap.nb | NB_MAX_FRAME=$limit nb-sort-zorder"
		NB_MAX_FRAME=$limit nb-stats --check <f.nb
	done
}

@test "a compiler for big-endian processors stops with one message" {
	run cc -I"$NB_TOP" -w -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ -fsyntax-only "$NB_TOP/common/status.c" \
		-include common/cpu.h
	[ "$status" -ne 0 ]
	[ "$(grep -c 'error:' <<<"$output")" -eq 1 ]
	[[ $output == *'nb does not run on big-endian processors'* ]]
}

# bats test_tags=once,linux
@test "a word that an environment variable does not know is refused by every program, not taken as the default" {
	local t f limit
	mapfile -t calls < <(sed -n '/none$/d; s/^# as a filter: //p' "$NB_TOP"/tests/nb-*.bats; echo nb-gen)
	for f in "${calls[@]}"; do
		t=${f%% *}
		fails_with 2 "$t: NB_SIMD='sse2' (want plain, avx2, avx512 or neon)" "NB_SIMD=sse2 $f <f.nb"
		fails_with 2 "$t: NB_FOLD='yes' (want on or off)" "NB_FOLD=yes $f <f.nb"
		for limit in -5 1G much ' 5' 5.5; do
			fails_with 2 "$t: NB_MAX_FRAME='$limit' (want a number of bytes)" "NB_MAX_FRAME='$limit' $f <f.nb"
		done
		NB_SIMD=sse2 NB_MAX_FRAME=much "$t" --help >/dev/null
	done
	NB_SIMD='' NB_FOLD='' NB_MAX_FRAME='' nb-sort-zorder <f.nb | nb-stats --check
	for isa in plain avx2 avx512 neon; do NB_SIMD=$isa nb-sort-zorder <f.nb | nb-stats --check; done
	pipeline 'OMP_NUM_THREADS=many nb-gen -n 3 2>&1 >/dev/null'
	[ "$output" = 'nb-gen: invalid value for environment variable OMP_NUM_THREADS' ]
}

@test "a stream that begins anywhere in a file gives the same as at its beginning" {
	nb-force -m direct --potential <f.nb | nb-sort-zorder | nb-build-tree >tree.nb
	nb-build-tree --kind boxes --level 2 <tree.nb >boxes.nb
	local f in commands=('tree.nb nb-stats --check' 'tree.nb nb-stats --format tsv' 'tree.nb nb-sort-zorder' 'tree.nb nb-build-tree'
		'tree.nb nb-force -m tree -e 0.1' 'tree.nb nb-force -m direct --precision f64' 'boxes.nb nb-force -m fmm -e 0.1'
		'tree.nb nb-step -d 0.01' 'tree.nb nb-step -d 0.01 -k 1 nb-force' 'tree.nb nb-convert --to csv'
		'tree.nb nb-render-ppm -W 16 -H 16') offsets=(1 4 7 2 5 8 3 6 63)
	for c in "${commands[@]}"; do
		in=${c%% *} f=${c#* }
		$f <"$in" >aligned
		for offset in "${offsets[@]:0:3}"; do # all read by the same code
			(head -c "$offset" /dev/zero; cat "$in") >shifted.nb
			(dd bs=1 count="$offset" of=/dev/null 2>/dev/null; exec $f) <shifted.nb >shifted || { echo "$offset: $f"; return 1; }
			cmp aligned shifted
		done
		offsets=("${offsets[@]:3}" "${offsets[@]:0:3}")
	done
	# which is left where the stream ended
	(dd bs=1 count="$offset" of=/dev/null 2>/dev/null; nb-stats >/dev/null; [ "$(cat | wc -c)" -eq 0 ]) <shifted.nb
}

@test "neither a message nor a listing has what a terminal obeys" {
	# a control of one byte, the same in UTF-8, an override of the direction, and letters that stay
	local hostile=$'\x9b31m\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\x7f\e[0m \xc3\xbc \xce\xa9' clean=$'?31m?31m????[0m \xc3\xbc \xce\xa9'
	mutate attribute note "$hostile" <f.nb | mutate attribute time "$hostile" >hostile.nb
	nb-stats --attributes <hostile.nb | grep -aFqx "note=$clean"
	nb-stats --attributes --format tsv <hostile.nb | cut -f 3 | grep -aFqx "$clean"
	fails_with 1 "attribute time='$clean'" 'nb-step -d 0.1 <hostile.nb'
	nb-stats --attributes --format json <hostile.nb >listed
	grep -aFq '"note":"\ufffd31m\u009b31m\u202e\u2066\u007f\u001b[0m ü Ω"' listed
	python3 -c 'import json; json.load(open("listed"))'
	nb-stats --compare "$hostile" <f.nb 2>err || :
	grep -aFq "$clean" err
	cp f.nb "$hostile"
	nb-stats --compare "$hostile" <f.nb >out 2>>err || :
	nb-step -d 0.1 -k 1 "nb-force -e 0.1; : '$hostile'" <f.nb 2>>err | nb-stats --history >>out
	grep -aFq "$clean" out
	nb-gen "$hostile" 2>>err || :
	"nb" "$hostile" 2>>err || :
	nb-sort-zorder "--$hostile" <f.nb 2>>err || :
	NB_FOLD=$hostile nb-sort-zorder <f.nb 2>>err || :
	[ "$(wc -l <err)" -eq 6 ] || { cat -v err; return 1; }
	LC_ALL=C.UTF-8 python3 - out err <<-'END'
		import sys, unicodedata
		for path in sys.argv[1:]:
		    text = open(path, encoding="utf-8", newline="").read()  # fails if it is not UTF-8
		    bad = [c for c in text if c not in "\n\t" and (unicodedata.category(c) == "Cc" or unicodedata.bidirectional(c) in
		           ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))]
		    assert not bad, (path, bad)
	END
}

# bats test_tags=linux
@test "without threads or with too small a stack a program says so in one line" {
	[[ $NB_BIN != */san/* ]] || skip 'sanitizers want all addresses'
	fails_with 1 'nb-force: thread creation failed: Resource temporarily unavailable (want fewer threads, such as -j 1, or more' 'ulimit -v 4000000; OMP_STACKSIZE=100G nb-force -m direct -j 2 <f.nb'
	for t in "${NB_TOOLS[@]}"; do
		# the environment is on the stack, too
		fails_with 1 "$t: stack limit of 16 KiB (want at least 256, see ulimit -s)" \
			"env -i PATH='$PATH' bash -c 'ulimit -s 16; exec $t' <f.nb"
	done
	fails_with 1 'nb-gen: stack limit of 256 KiB (want at least 640, see ulimit -s)' 'ulimit -s 256; nb-gen -n 10000 -j 4096'
	fails_with 2 'nb-gen: 100000 threads (want at most 4096, see OMP_NUM_THREADS)' 'OMP_NUM_THREADS=100000 nb-gen merger -n 5000'
	fails_with 2 'nb-gen: 5000 threads (want at most 4096' 'OMP_NUM_THREADS=5000,3 OMP_STACKSIZE=16k nb-gen merger -n 5000'
	(ulimit -s 256; nb-gen merger -n 1000 | nb-sort-zorder | nb-build-tree | nb-force -e 0.1 | nb-stats >/dev/null)
}

# bats test_tags=once,linux
@test "no variable of OpenMP ends a program by a signal or changes its bytes" {
	local v value code=0 some=0
	[[ $NB_BIN != */san/* ]] || skip 'sanitizers want the shared library, which has its own stacks'
	nb-gen merger -n 5000 --no-history >one.nb
	for v in OMP_STACKSIZE $(strings -a "$NB_BIN/nb-gen" | grep -xE 'G?OMP_[A-Z_]+' | sort -u); do
		for value in 64 16k 100000 junk; do
			code=0
			env "$v=$value" nb-gen merger -n 5000 --no-history >out.nb 2>said || code=$?
			case $code in
			0) cmp one.nb out.nb ;;
			1 | 2) [ "$(wc -l <said)" -eq 1 ] ;;
			*) false ;;
			esac || { echo "$v=$value: status $code"; cat said; return 1; }
			some=$((some + 1))
		done
	done
	[ $some -ge 40 ]
}

@test "a column more than there may be is not called a lack of memory" {
	awk 'BEGIN {
		for (i = 0; i < 1019; i++) { names = names ",c" i; ones = ones ",1" }
		print "id,mass,x,y,z" names ",c1019,c1020"; print "0,1,0,0,0" ones ",1,1"; print "1,1,1,1,1" ones ",1,1" }' >wide.csv
	nb-convert --from csv <wide.csv >wide.nb
	[ "$(nb-stats --fields <wide.nb | wc -l)" -eq 1025 ]
	fails_with 1 "no room for field 'acc': frame 0 has 1024 columns" 'nb-force <wide.nb'
	fails_with 1 "no room for field 'key': frame 0 has 1024 columns" 'nb-sort-zorder <wide.nb'
	cut -d , -f 1-1025 wide.csv | nb-convert --from csv | nb-sort-zorder >sorted.nb
	fails_with 1 "no room for field 'node_first': frame 0 has 1024 columns" 'nb-build-tree <sorted.nb'
	fails_with 1 "no room for field 'box_first': frame 0 has 1024 columns" 'nb-build-tree --kind boxes <sorted.nb'
}

@test "an attribute that should be an integer and is not one is refused" {
	nb-sort-zorder <f.nb | nb-build-tree >tree.nb
	for size in 1e300 -1 0 2.5 3000000000 nan many ''; do
		mutate attribute leaf_size "$size" <tree.nb >bad.nb
		fails_with 1 "nb-force: attribute leaf_size='$size' of frame 0" 'nb-force -m tree -e 0.1 <bad.nb'
	done
	nb-sort-zorder <f.nb | nb-build-tree --kind boxes --level 1 >boxes.nb
	nb-force -m near <boxes.nb >near.nb
	for level in 1e300 -1e300 2.5 many; do # only for the estimate of time: the boxes say it themselves
		mutate attribute level "$level" <boxes.nb | nb-force -m near | compare near.nb max | grep -qx 0
	done
}
