#!/usr/bin/env bats
# RECIPES.md: the sample tool, format and integrator, and the sample term, compile and work as they stand there.
# bats file_tags=once

load helper

# A copy of the sources and of what has been built from them, so that make has only the new files to compile.
setup_file() {
	local build=${NB_BIN%/bin} folder
	local config=${build##*/}
	cd "$BATS_FILE_TMPDIR" || return 1
	cp -rp "$NB_TOP"/{Makefile,make,RECIPES.md,common,formats,kernels,tools,man} .
	mkdir -p "build/$config/tests/filters"
	for folder in common formats kernels tools libnb.a; do cp -rp "$build/$folder" "build/$config/"; done
	cp -rp "$NB_TOP"/build/made build
	[ ! -d "$NB_TOP/build/simd" ] || cp -rp "$NB_TOP"/build/simd build
	sample tools/nb-reverse.c
	sample tools/nb-step/semi_implicit.c
	mkdir formats/exchange/xyz
	sample formats/exchange/xyz/xyz.c
	sed -i 's/DO(leapfrog).*/& DO(semi_implicit)/' tools/nb-step/integrators.h
	make -s all CUDA="$([ "$config" = cuda ] && echo 1 || echo 0)" SAN="$([ "$config" = san ] && echo 1 || echo 0)" \
		BUILD="build/$config" >make.log 2>&1 || { cat make.log; return 1; }
	if grep warning make.log; then return 1; fi
	ln -s "build/$config/bin" bin
}

# sample FILE: the indented block behind the line `FILE`: of RECIPES.md, as that file
sample() {
	awk -v mark="\`$1\`:" '
		$0 == mark { inside = 1; next }
		inside && (/^[^ ]/ || /^   [^ ]/) { exit }
		inside { sub(/^    /, ""); text = text $0 "\n"; if ($0 != "") { printf "%s", text; text = "" } }' \
		RECIPES.md | sed '1{/^$/d}' >"$1"
	[ -s "$1" ]
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
	PATH="$BATS_FILE_TMPDIR/bin:$PATH"
}

@test "the sample tool reverses the bodies" {
	equals "$(nb-gen plummer -n 3 | nb-reverse | mutate show id | paste -sd ' ')" '2 1 0'
	equals "$(nb-gen plummer -n 4 | nb-reverse --second-half | mutate show id | paste -sd ' ')" '0 1 3 2'
	for n in 0 1 257; do
		nb-gen uniform -n $n --no-history >in.nb
		nb-reverse --no-history <in.nb | nb-reverse --no-history >out.nb
		cmp in.nb out.nb
	done
	nb-gen plummer -n 300 | nb-sort-zorder | nb-build-tree | nb-reverse >reversed.nb
	nb-stats --check <reversed.nb
	fails_with 1 'frame 0 is not sorted' 'nb-build-tree <reversed.nb'
	nb --help | grep -q '^  nb-reverse  *reverse the order'
}

@test "the sample format goes through and back, cut it is refused, and what is not asked for may be wrong" {
	cat <(nb-gen plummer -n 5) <(nb-gen plummer -n 0) <(nb-gen plummer -n 3) | nb-convert -q --to xyz >a.xyz
	equals "$(grep -c '^[0-9X]' a.xyz) $(grep -c '^$' a.xyz)" '11 3'
	nb-convert --from xyz a.xyz | nb-convert --to xyz | cmp a.xyz
	for bytes in 1 2 3 40 -40; do
		fails_with 1 cut.xyz "head -c $bytes a.xyz >cut.xyz; nb-convert --from xyz cut.xyz >cut.nb"
	done
	printf '2\n\nH 1 2 x\nO 1 2 3\n' >wrong.xyz
	fails_with 1 "line 3: 'x' is not a finite number" 'nb-convert --from xyz wrong.xyz'
	equals "$(nb-convert --from xyz --rows 1 wrong.xyz | mutate show pos)" '1.0 2.0 3.0'
}

@test "the sample term of the acceptance criterion keeps all forms alike and its bounds; the formula by hand must follow" {
	local source=tests/unit/multipole/opening.c body=kernels/multipole/opening_body.h
	term=$(sed -n '/^## How to add a term/,/^## How to add a model/s/^ *\(return inv_u .*\)/\1/p' RECIPES.md)
	[[ $term == *'2.0f * mass'* ]]
	sed -i "0,/return inv_u .*/s//$term/" $body
	run ! cmp -s $body "$NB_TOP/$body"
	mkdir -p tests
	cp -r "$NB_TOP/tests/unit" tests/
	cc -I. -std=c17 -D_GNU_SOURCE -O1 -ffp-contract=off -o opening $source -lm
	run ! ./opening
	by_hand=$(grep -n 'on_cell_f64(2' $source)
	[[ $output == *"$source:${by_hand%%:*}:"*' 1 failed' ]]
	sed -i "${by_hand%%:*}s/0.25 \* (/0.25 * (2 * /" $source
	cc -I. -std=c17 -D_GNU_SOURCE -O1 -ffp-contract=off -o opening $source -lm
	./opening
}

@test "the sample tool obeys the rules of the house" {
	command -v clang-format >/dev/null || skip 'no clang-format'
	clang-format --style=file:"$NB_TOP/.clang-format" --dry-run -Werror tools/nb-reverse.c tools/nb-step/semi_implicit.c \
		formats/exchange/xyz/xyz.c
}

@test "the sample integrator is of first order, with and without radii" {
	[[ $(integrators | paste -sd ' ') == *' semi_implicit' ]]
	nb-gen kepler --eccentricity 0.3 --radius 0 >start.nb
	nb-step -d 1e-4 -k 10000 --every 0 nb-force <start.nb | mutate show pos >exact
	for collide in none elastic; do
		for k in 500 1000 2000; do
			nb-step --integrator semi_implicit --collide $collide -d "$(awk "BEGIN { print 1 / $k }")" -k $k --every 0 nb-force \
				<start.nb | mutate show pos | paste -d ' ' exact - | awk '{ for (i = 1; i < 4; i++) e += ($i - $(i + 3)) ^ 2 }
					END { printf "%.9g\n", e ^ 0.5 }'
		done | awk '{ e[NR] = $1 } END { for (i = 1; i < 3; i++) {
			order = log(e[i] / e[i + 1]) / log(2)
			print e[i], order
			if (!(order > 0.9 && order < 1.1)) exit 1
		} }'
	done
}
