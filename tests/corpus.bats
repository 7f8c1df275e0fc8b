#!/usr/bin/env bats
# tests/corpus: every program takes each feature of the stream and refuses each defect with its message.

load helper

CORPUS=$NB_TOP/tests/corpus
# Every program that reads a stream, as the test file of the program calls it, and in its other ways.
mapfile -t FILTERS < <(sed -n '/none$/d; s/^# as a filter: //p' "$NB_TOP"/tests/nb-*.bats)
# what shows numbers as they are
LOOKERS=('nb-convert --to csv' 'nb-stats --fields' 'nb-stats --attributes' 'nb-stats --history')
# in other ways, for streams that do not come so far
OTHERS=('nb-step -d 0.01 -k 1 nb-force' "nb-stats --compare $CORPUS/good/plain.nb")

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# refused PROGRAM CODE MESSAGE: exit status 1, that line alone in the file err, and no end marker in the file out
refused() {
	local end=''
	[ ! -s out ] || end=$(tail -c 128 out | grep -ac NBS) || :
	if [ "$2" -ne 1 ] || [ "$(<err)" != "${1%% *}: $3" ] || [ "${end:-0}" -ne 0 ]; then
		printf '%s: exit status %d\ngot:  %s\nwant: %s\n' "$1" "$2" "$(<err)" "$3"
		return 1
	fi
}

@test "the corpus is what its script writes" {
	python3 "$CORPUS/make.py" "$PWD"
	for folder in good partial bad; do diff -r "$CORPUS/$folder" $folder; done
	[ "$(find "$CORPUS/bad" -name '*.nb' | wc -l)" -ge 100 ]
	[ "$(find "$CORPUS/good" -name '*.nb' | wc -l)" -ge 20 ]
	# small enough for every cut and every flipped bit
	[ -z "$(find "$CORPUS" -name '*.nb' -size +8k)" ]
}

@test "every program refuses each defect with its message, in a file and in a pipe" {
	local file by message f code programs all=("${FILTERS[@]}" "${LOOKERS[@]}" "${OTHERS[@]}") computing=()
	for f in "${FILTERS[@]}" "${OTHERS[0]}"; do [[ $f == nb-convert* || $f == nb-plot* || $f == nb-view* ]] || computing+=("$f"); done
	[ ${#computing[@]} -ge 8 ]
	local each=2 k=0 n=0 # half the time, as all read by the same code; the next file has the other half of the programs
	[[ $NB_BIN != */san/* ]] || each=5
	while IFS=$'\t' read -r file by message; do
		echo "$file"
		programs=("${all[@]}")
		[ "$by" = reads ] || programs=("${computing[@]}")
		n=$((n + 1))
		for ((k = n % each; k < ${#programs[@]}; k += each)); do
			f=${programs[k]}
			code=0
			$f <"$CORPUS/bad/$file" >out 2>err || code=$?
			refused "$f" $code "$message"
			[[ $f == nb-sort-zorder || ($NB_BIN != */san/* && $((k % 3)) -eq $((n % 3))) ]] || continue # half the time
			[[ $f != nb-view* || $file != trailing* ]] || continue # what it has passed on is gone
			code=0
			cat "$CORPUS/bad/$file" | $f >out 2>err || code=$?
			refused "$f" $code "$message"
		done
	done < <(tail -n +2 "$CORPUS/bad/expected.tsv")
}

@test "a defect in what nb-stats compares with is refused, too" {
	local file by message code
	while IFS=$'\t' read -r file by message; do
		[ "$by" = reads ] || continue
		code=0
		nb-stats --compare "$CORPUS/bad/$file" <"$CORPUS/good/plain.nb" >out 2>err || code=$?
		[ $code -eq 1 ]
		grep -qF -- "$message" err
		[ "$(wc -l <err)" -eq 1 ]
	done < <(tail -n +2 "$CORPUS/bad/expected.tsv")
}

@test "every program takes each feature, and gives the same for a file and a pipe" {
	local file f before all=("${FILTERS[@]}" "${LOOKERS[@]}") each=1 n=0 k
	[[ $NB_BIN != */san/* ]] || each=4
	for file in "$CORPUS"/good/*.nb; do
		n=$((n + 1))
		for ((k = n % each; k < ${#all[@]}; k += each)); do
			f=${all[k]}
			[[ $f != nb-power* || $file != */@(boxes-two-dimensions|two-dimensions|quadtree).nb ]] || continue # it wants space
			[[ $f != nb-extra* || $file != */potential-jerk.nb ]] || continue # it has no jerk to add
			before='cat'
			[[ $f != nb-build-tree* || $file != */@(unsorted|no-attributes).nb ]] || before=nb-sort-zorder
			bash -o pipefail -c "$before <$file | $f >piped" || { echo "$f: $file"; return 1; }
			[ "$before" != cat ] || $f <"$file" >mapped || { echo "$f: $file"; return 1; }
			[ "$before" != cat ] || cmp mapped piped
		done
	done
}

# of the table of bodies, and the attributes that are not about order and trees
columns_of() { nb-stats --fields <"$1" | awk '$3 != "node" && $3 != "box"'; }
attributes_of() { nb-stats --attributes <"$1" | grep -vE '^((key_cube|tree|leaf_size|order|level)=.*|)$' | sort -u; }

@test "what a program passes on of each feature is sound and has the same columns and attributes" {
	for file in "$CORPUS"/good/*.nb; do
		nb-sort-zorder <"$file" >sorted.nb
		nb-stats --check <sorted.nb
		diff <(columns_of "$file" | grep -v ' key ') <(columns_of sorted.nb | grep -v ' key ')
		diff <(attributes_of "$file") <(attributes_of sorted.nb)
	done
}

@test "a derived column without its mark gets it, and is dropped like one with it when bodies move" {
	nb-build-tree <"$CORPUS/good/plain.nb" >marked.nb
	nb-build-tree <"$CORPUS/good/underived-acc.nb" | cmp marked.nb
	nb-step -d 0.01 <"$CORPUS/good/plain.nb" | nb-stats --fields >marked
	nb-step -d 0.01 <"$CORPUS/good/underived-acc.nb" | nb-stats --fields >unmarked
	cmp marked unmarked
	run grep -w acc marked
	[ "$status" -eq 1 ]
	grep -w vel marked
}

# bats test_tags=once
@test "each byte that a program writes is what nb-stream(5) says, padding and reserved bytes included" {
	cat >again.py <<-'END'
		"""Reads a stream without checks, writes it anew with the functions of the corpus, and compares."""
		import struct, sys
		sys.dont_write_bytecode = True
		sys.path.insert(0, sys.argv[1])
		import make
		data, again, at, number = sys.stdin.buffer.read(), b"", 0, 0
		while at < len(data):
		    head = data[at:]
		    kind, = struct.unpack_from("<I", head, 16)
		    if kind == make.END:
		        again, at, number = again + make.end(number), at + 128, 0
		        continue
		    *rows, size, ncolumn, _, body = struct.unpack_from("<QQQQIIQ", head, 32)
		    entries, columns = 128 + (size + 63) // 64 * 64, []
		    for c in range(ncolumn):
		        e = head[entries + 128 * c:]
		        table, ncomp, flags = struct.unpack_from("<III", e, 40)
		        first, length = struct.unpack_from("<QQ", e, 80)
		        text = [e[a:b].rstrip(b"\0") for a, b in ((0, 32), (32, 40), (56, 80))]
		        columns.append(make.Column(text[0], text[1], ncomp, head[first:first + length], table, flags, text[2]))
		    again += make.frame(columns, rows, head[128:128 + size], number)
		    at, number = at + entries + 128 * ncolumn + body, number + 1
		assert again == data and kind == make.END
	END
	local f files=("$CORPUS/good/plain.nb" "$CORPUS/good/several-frames.nb" "$CORPUS/good/f32.nb" "$CORPUS/good/unknown-columns.nb"
		"$CORPUS/good/attributes.nb" "$CORPUS/good/two-dimensions.nb" "$CORPUS/good/later-minor.nb" "$CORPUS/good/no-frames.nb")
	for file in "${files[@]}"; do
		for f in nb-sort-zorder nb-build-tree 'nb-build-tree --kind boxes --level 1' 'nb-force --potential' 'nb-step -d 0.01' \
			'nb-step -d 0.01 -k 2 nb-force'; do
			echo "$f: $file"
			$f <"$file" >out.nb
			python3 again.py "$CORPUS" <out.nb
		done
	done
	nb-gen merger -n 1000 | tee big.nb | python3 again.py "$CORPUS"
	nb-convert --to csv <big.nb | nb-convert --from csv | python3 again.py "$CORPUS"
	# it would see a byte of the padding
	mutate flip 700 <"$CORPUS/good/plain.nb" >flipped.nb
	run python3 again.py "$CORPUS" <flipped.nb
	[ "$status" -eq 1 ]
}

@test "the trees and boxes of the corpus give the forces of the direct sum" {
	for tree in octree octree-order-1 quadtree; do
		nb-force -m direct <"$CORPUS/good/$tree.nb" >exact.nb
		at_most 1e-6 "$(nb-force -m tree -t 0 <"$CORPUS/good/$tree.nb" | compare exact.nb max)"
	done
	for boxes in boxes boxes-two-dimensions; do
		nb-force -m direct <"$CORPUS/good/$boxes.nb" >exact.nb
		at_most 1e-12 "$(nb-force -m near <"$CORPUS/good/$boxes.nb" | compare exact.nb max)"
	done
}

@test "a legal frame without what a program needs is refused with the name of what is missing" {
	for file in "$CORPUS"/partial/*.nb; do
		for f in 'nb-stats --check' 'nb-stats --fields' 'nb-stats --attributes' 'nb-stats --history'; do
			$f <"$file" >/dev/null
		done
		for f in "${FILTERS[@]}"; do
			[[ $f != nb-stats* ]] || continue
			code=0
			$f <"$file" >out 2>err || code=$?
			if [ $code -ne 0 ]; then
				echo "$f: $file"
				[ $code -eq 1 ]
				[ "$(wc -l <err)" -eq 1 ]
				grep -qE 'missing|not sorted|no column' err
			fi
		done
	done
}

# bats test_tags=once
@test "every fuzz target gets the inputs of its archive, and each that is added" {
	local source target
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p tests/corpus tests/fuzz build/tests/fuzz
	cp "$NB_TOP/tests/fuzz/run" tests/fuzz/
	cp -r "$CORPUS/fuzz" tests/corpus/
	echo odd >'a name'
	for source in "$NB_TOP"/tests/fuzz/*.c; do
		target=$(basename "$source" .c)
		printf '#!/bin/sh\nfor last; do :; done\nls "$last" >seen\n' >"build/tests/fuzz/$target"
		chmod +x "build/tests/fuzz/$target"
		tests/fuzz/run build add "$target" 'a name'
		tests/fuzz/run build 0 "$target" >rows
		{ tar -tzf "$CORPUS/fuzz/$target.tar.gz"; echo 'a name'; } | LC_ALL=C sort | cmp - <(LC_ALL=C sort seen)
		[ "$(wc -l <seen)" -gt 10 ]
		equals "$(awk -F '\t' -v t="$target" '$1 == t { print $4 }' rows)" "$(wc -l <seen | tr -d ' ')"
	done
}
