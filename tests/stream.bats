#!/usr/bin/env bats
# nb-stream(5): the library that writes it, and the readers that the page shows, extracted from the page.

load helper

PAGE=$NB_TOP/man/nb-stream.5

# the text between .Bd and .Ed after the first line that matches, roff escapes undone
example() {
	awk -v start="$1" '$0 ~ start { found = 1 } found && /^\.Ed/ { exit } on { gsub(/\\e/, "\\"); print } found && /^\.Bd/ { on = 1 }' "$PAGE"
}

numpy_python() {
	for p in python3 /usr/bin/python3; do
		"$p" -c 'import numpy' 2>/dev/null && echo "$p" && return
	done
	echo 'no python3 with numpy' >&2
	return 1
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
