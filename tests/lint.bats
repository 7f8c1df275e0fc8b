#!/usr/bin/env bats
# tests/lint: that its rules find what they are for.

load helper

@test "conditions of a bats file that cannot fail are found where they begin, and nothing else" {
	cd "$NB_TOP/tests"
	grep -n '# bad' data/conditions.txt | cut -d: -f1 >"$BATS_TEST_TMPDIR/want"
	awk -f bats-conditions.awk data/conditions.txt | cut -d: -f2 >"$BATS_TEST_TMPDIR/got"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/want")" -ge 14 ]
	diff "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
	# each file on its own: what one leaves open does not reach the next
	printf '@test "x" {\n\techo "$(echo\n' >"$BATS_TEST_TMPDIR/open.bats"
	run awk -f bats-conditions.awk "$BATS_TEST_TMPDIR/open.bats" data/conditions.txt
	[ "${#lines[@]}" -eq "$(wc -l <"$BATS_TEST_TMPDIR/want")" ]
}

@test "long structures with functions, and structures and functions of one name, are found" {
	cd "$BATS_TEST_TMPDIR"
	printf 'template <int P> struct work {\n\tint x;\n\n\tint add()\n\t{\n\t\treturn x;\n\t}\n};\n' >class.cuh
	printf 'struct plain {\n\tint a;\n\tint b;\n\tint c;\n\tint d;\n\tint e;\n\tint f;\n};\n' >plain.h
	run -0 awk -v most=5 -f "$NB_TOP/tests/class-length.awk" class.cuh plain.h
	[ "$output" = "class.cuh:1: template <int P> struct work {: 6 lines (want at most 5)" ]
	[ -z "$(awk -v most=6 -f "$NB_TOP/tests/class-length.awk" class.cuh plain.h)" ]
	printf 'struct nb_plan {\n};\nstruct sum {\n};\n' >a.h
	printf 'int nb_plan(struct nb_plan *p)\n{\n\treturn sum(p);\n}\nstatic int sum(void *p)\n{\n}\n' >b.c
	run -0 awk -f "$NB_TOP/tests/names.awk" a.h b.c
	[ "$output" = "a.h:1: nb_plan is a structure and, in b.c:1, a function" ]
	run -0 awk -f "$NB_TOP/tests/names.awk" <(cat a.h b.c)
	[[ "${lines[0]}" == *":9: sum is a structure and a function" ]]
}

@test "files of a folder that call each other in a circle are found, and a call from another folder is none" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p kernels/{one,two}
	echo 'void b(void); void a(void) { b(); }' >kernels/one/a.c
	echo 'void c(void); void b(void) { c(); }' >kernels/one/b.c
	echo 'void a(void); void c(void) { a(); }' >kernels/two/c.c
	for f in kernels/{one/a,one/b,two/c}; do "${CC:-cc}" -c -o "$f.o" "$f.c"; done
	run "$NB_TOP/tests/circles" kernels/{one/a.o,one/b.o,two/c.o}
	[ -z "$output" ]
	mv kernels/two/c.o kernels/one
	run "$NB_TOP/tests/circles" kernels/one/{a,b,c}.o
	[ "${lines[0]}" = "a circle of calls:" ]
	[ "$(printf '%s\n' "${lines[@]:1}" | sort | tr -d ' \n')" = kernels/one/a.okernels/one/b.okernels/one/c.o ]
}
