#!/usr/bin/env bats
# tests/mutate-code: that its list fits the code, and that it tells what tests notice from what they do not.

load helper

@test "each mutant of the list applies in one place and names tests that exist; at most three are known to survive" {
	run "$NB_TOP/tests/mutate-code" --check
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == *' mutants, 0 faults' ]]
	[ "${lines[-1]%% *}" -ge 100 ]
}

@test "a list that does not fit is refused: what applies nowhere or twice, lacks a test or a key" {
	cd "$BATS_TEST_TMPDIR"
	sed 's/^\t//' >list.txt <<-'END'
		id: nowhere
		breaks: nothing
		in: kernels/order
		text: no such text
		with: another
		by: unit order/morton

		id: twice
		breaks: nothing
		in: kernels/order
		text: return NB_OK;
		with: return NB_EINVAL;
		by: unit order/nothing
		by: bats nb-gen.bats no such title
	END
	run "$NB_TOP/tests/mutate-code" --check --list list.txt
	[ "$status" -eq 1 ]
	[[ $output == *'nowhere does not apply in one place: nowhere'* ]]
	[[ $output == *'twice does not apply in one place: kernels/order/'* ]]
	[[ $output == *"twice: there is no test 'unit order/nothing'"* ]]
	[[ $output == *"twice: there is no test 'bats nb-gen.bats no such title'"* ]]
	[[ ${lines[-1]} == '2 mutants, 4 faults' ]]
	sed -i '/^breaks/d' list.txt
	fails_with 1 "mutant 'nowhere' lacks breaks" "$NB_TOP/tests/mutate-code --check --list list.txt"
	fails_with 1 "no mutant is called no-*" "$NB_TOP/tests/mutate-code 'no-*'"
}

@test "a mutant is killed by a test that fails or does not end, and survives one that passes" {
	cd "$BATS_TEST_TMPDIR"
	# a known mutant of the list, one that changes nothing, twice, one that never ends, and one that is no C
	awk -v RS= -v ORS='\n\n' '/^id: order-cube-flat\n/' "$NB_TOP/tests/mutants.txt" >list.txt
	for mutant in 'survivor|enum { BLOCK = 1 << 9 };|enum { BLOCK = 1 << 8 };|' \
		'known|enum { BLOCK = 1 << 9 };|enum { BLOCK = 1 << 8 };|survives: blocks of any size give the same' \
		'endless|const double scale = ldexp(1, bits)|for (;;) {}  const double scale = ldexp(1, bits)|' \
		'no-c|const double scale = ldexp(1, bits)|const double scale = ldexp(1, bits))|'; do
		IFS='|' read -r id text with more <<<"$mutant"
		printf '%s\n' "id: $id" 'breaks: see its name' 'in: kernels/order/morton_cpu.c' "text: $text" "with: $with" \
			'by: unit order/morton' ${more:+"$more"} '' >>list.txt
	done
	run "$NB_TOP/tests/mutate-code" -j2 --limit 6 --list list.txt --scratch scratch \
		--config "${NB_CONFIG:-$(basename "${NB_BIN%/bin}")}"
	echo "$output"
	[ "$status" -eq 1 ]
	grep -q '^killed  *order-cube-flat: unit order/morton fails' <<<"$output"
	grep -q '^survived  *survivor: see its name' <<<"$output"
	grep -q '^known  *known: blocks of any size' <<<"$output"
	grep -q '^killed  *endless: unit order/morton is stopped after [0-9]* s' <<<"$output"
	grep -q '^broken  *no-c: does not build' <<<"$output"
	[[ ${lines[-1]} == '5 mutants: 2 killed, 1 survived, 1 known, 1 broken' ]]
	# what is known is not done again: nothing is built
	rm -r scratch/pristine scratch/job-*
	run "$NB_TOP/tests/mutate-code" --list list.txt --scratch scratch order-cube-flat known
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == '2 mutants: 1 killed, 0 survived, 1 known, 0 broken' ]]
	[ ! -e scratch/pristine ]
}
