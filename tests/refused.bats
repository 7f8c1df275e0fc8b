#!/usr/bin/env bats
# What programs refuse: command lines, and frames that are sound streams but not what a program needs.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	nb-gen plummer -n 30 >sphere.nb
	nb-sort-zorder <sphere.nb >sorted.nb
	nb-build-tree <sorted.nb >tree.nb
	nb-build-tree --kind boxes --level 1 <sorted.nb >boxes.nb
	nb-force <sphere.nb >forces.nb
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "an option without its argument, or with one that it does not take, or with no such name" {
	fails_with 2 "option '-n' needs an argument" 'nb-gen plummer -n'
	fails_with 2 "option '-n' needs an argument (want N)" 'nb-gen plummer -qn'
	fails_with 2 "option '--seed' needs an argument (want SEED)" 'nb-gen plummer --seed'
	fails_with 2 "option '--seed' needs an argument (want SEED)" 'nb-gen plummer --see'
	fails_with 2 "option '--orbits' needs an argument (want heaviest|" 'nb-stats --orbits'
	fails_with 2 "ambiguous option '--rest' ('--restartable', '--restitution')" 'nb-step --rest'
	fails_with 2 "option '--no-history' takes no argument" 'nb-gen plummer --no-history=3'
	fails_with 2 "unknown option '-Y' (see 'nb-gen --help')" 'nb-gen -Y'
	fails_with 2 "unknown option '--no-such'" 'nb-gen --no-such'
	fails_with 2 "unknown option '-K' (did you mean '-k'? one of the force pipeline stands within its quotes)" "nb-step -K 3 -d 0.1 nb-force"
	fails_with 2 "unknown option '-G' (did you mean '--G'? see 'nb-gen --help')" 'nb-gen -G 2'
	fails_with 2 "unknown option '-N' (did you mean '-n'? see 'nb-gen --help')" 'nb-gen -N 10'
	fails_with 2 "unknown option '--model' (it is an operand: 'nb-gen [MODEL [ORBITS]]')" 'nb-gen --model plummer'
	fails_with 2 "unknown option '--file=sphere.nb' (it is an operand: 'nb-stats [FILE ...]')" 'nb-stats --file=sphere.nb'
	fails_with 2 "unexpected operand '1000' (want -n 1000; see 'nb-gen --help')" 'nb-gen plummer 1000'
	fails_with 2 "unknown model '1000' (want -n 1000; see 'nb-gen --help')" 'nb-gen 1000 plummer'
	fails_with 2 "unexpected operand '/no/such/file' (see 'nb-gen --help')" 'nb-gen plummer /no/such/file'
	fails_with 2 "unexpected operand 'sphere.nb' (see 'nb-convert --help')" 'nb-convert --to csv out.csv sphere.nb'
	fails_with 2 "standard input ('-') is given as operand 2 times" 'nb-stats - sphere.nb - <sphere.nb'
	fails_with 2 "invalid output '' (want the name of a file)" "nb-gen -o ''"
}

@test "nb by its own name lists the programs, tells its version, and runs them" {
	fails_with 2 "unknown tool 'no-such' (see 'nb --help' or 'nb help WORD')" 'nb no-such'
	fails_with 2 "unknown tool 'render' (did you mean 'nb-render-ppm'? see" 'nb render'
	fails_with 2 "unknown tool 'nb-tree' (did you mean 'nb-build-tree'? see" 'nb nb-tree'
	equals "$(nb)" "$(nb --help)"
	equals "$(nb help)" "$(nb --help)"
	local version
	version=$(nb-gen --version | sed 's/^nb-gen (nb)/nb/')
	equals "$(nb --version)" "$version"
	equals "$(nb -V)" "$version"
	equals "$(nb -h)" "$(nb --help)"
	equals "$(nb gen plummer -n 3 --no-history | cksum)" "$(nb nb-gen plummer -n 3 --no-history | cksum)"
	fails_with 1 'write error' 'nb --version >/dev/full'
}

@test "nb help finds programs, options, models, columns and pages" {
	equals "$(nb help step)" "$(nb-step --help)"
	equals "$(nb help nb-step)" "$(nb-step --help)"
	# the option of each program that has it, with all its lines
	nb help softening >found
	[ "$(grep -c '^nb-[a-z-]*: ' found)" -ge 2 ]
	grep -A 1 '^nb-force: ' found | grep -q '^  -e, --softening LENGTH '
	grep -q '^      --eta ETA  ' found
	run ! grep -q -e '--theta' found
	nb help PRECISION | grep -A 1 -e '--precision f32|mixed|f64|auto' | grep -q '^  *arithmetic of the pair interactions'
	# all words in one place
	nb help opening angle | grep -q -e '-t, --theta'
	run ! grep -q -e '--softening' <(nb help opening angle)
	# also where they were quoted; of several places, those of a program that has them all
	equals "$(nb help 'opening angle')" "$(nb help opening angle)"
	nb help 'king imf' >found
	equals "$(grep -c '^nb-[a-z-]*: ' found)" 1
	grep -q '^nb-gen: ' found
	grep -q -e '--imf' found
	grep -q '^  king ' found
	nb help completion | grep -q 'share/bash-completion/completions/nb'
	fails_with 1 "nothing about 'king xyzzy' in one place (try one word; see 'nb help'" "nb help 'king xyzzy'"
	# a program by what it is for
	nb help z-order | grep -q '^nb-sort-zorder: '
	nb help restart | grep -q -e '--resume FILE'
	nb help records film | grep -qx '      r records a film, in WebM .*' # without the macro before r
	nb help kitty | grep -q 'shows such (sixel, or the graphics of kitty)\.'
	# models one by one, and all
	nb help halo | grep -q '^  nfw '
	run ! grep -q '^  figure8' <(nb help halo)
	equals "$(nb help models | grep -v '^  man ' | grep -c '^  [a-z0-9][a-z0-9]* ')" "$(nb-gen --help | sed '1,/^models:/d' | wc -l)"
	# columns and pages
	equals "$(nb help columns | grep -c '^  column ')" "$(grep -c '^NB_FIELD' "$NB_TOP/formats/stream/field.def")"
	nb help potential | grep -q '^  column pot '
	nb help galaxy | grep -q '^nb(7): '
	fails_with 1 "nb: nothing about 'no-such thing-at-all' in one place (try one word" 'nb help no-such thing-at-all'
	fails_with 1 "nb: nothing about 'xyzzy' (see 'nb help'" 'nb help xyzzy'
	# the text of the pages, in any order, by words and not by parts of them
	nb help energy drift | grep -qx '  man 1 nb-stats, Measures'
	equals "$(nb help drift ENERGY)" "$(nb help energy drift)"
	nb help rotation curve | grep -q '^  man 1 nb-stats, '
	run ! grep -qi byte <(nb help yt)
	# words of newcomers lead to the place
	nb help crossing time | grep -qx '  man 7 nb, Units'
	nb help crossing time | grep -qx '  man 7 nb-integrators, Choosing dt, softening and theta'
	nb help slice | grep -q '^      --where CONDITION '
	nb help thin | grep -q '^      --frames LIST '
	run ! grep -q 'all of it or nothing' <(nb help thin)
	nb help softening length | grep -q '^  -e, --softening LENGTH '
	nb help snapshot interval | grep -q '^      --every N '
	for words in movie png plot 'rotation curve' gpu cron paraview lecture nyland gangavarapu shan xu milkyway signal; do
		nb help "$words" >found
		[ -s found ]
	done
	nb help milkyway | grep -qx 'what means the same: galaxy'
	nb help statistics | grep -q '^nb-stats: '
	for t in stats render-ppm groups power; do
		fails_with 2 "nb-$t: unknown option '--frame' (frames are chosen by 'nb-select --frames' before)" "nb-$t --frame last p.nb"
	done
	fails_with 2 "nb-gen: unknown option '--frames' (see 'nb-gen --help')" 'nb-gen --frames 3'
	fails_with 2 "unknown option '--rotcurve' (did you mean '--profile'?" 'nb-stats --rotcurve'
	for page in "$NB_TOP"/man/*.[1-9]; do # each heading of each is found
		name=$(basename "$page")
		heading=$(sed -n 's/^\.S[sh] //p' "$page" | grep -vE 'NAME|SYNOPSIS|DESCRIPTION|EXIT|SEE ALSO|[^A-Za-z ]' | tail -n 1)
		nb help "$heading" | grep -q "^  man ${name##*.} ${name%.*}"
	done
	fails_with 1 'write error' 'nb help softening >/dev/full'
	# what is said about a page is what the page says
	for page in "$NB_TOP"/man/*.[57]; do
		name=$(basename "$page")
		nb help | grep -qxF "  man ${name##*.} $(printf '%-15s ' "${name%.*}")$(sed -n 's/^\.Nd //p' "$page")"
	done
}

# bats test_tags=once
@test "who misspells a name is told the one that was meant, whatever it names" {
	local name wrong said
	nb-gen plummer -n 20 | nb-force --no-history >p.nb
	# swap_letters WORD: the second and the third are exchanged
	swap_letters() { printf '%s' "${1:0:1}${1:2:1}${1:1:1}${1:3}"; }
	# meant COMMAND ...: of each name of standard input that has four letters or more, and two others in the middle
	meant() {
		local n=0
		while read -r name; do
			wrong=$(swap_letters "$name")
			[[ ${#name} -ge 4 && $wrong != "$name" ]] || continue
			said=$("${@//@/$wrong}" 2>&1 >/dev/null) && return 1
			[[ $said == *"did you mean '${mark-}"* ]] || return 1
			n=$((n + 1))
		done
		[ "$n" -ge "$least" ]
	}
	least=10 meant nb-gen @ < <(nb-gen --help | sed '1,/^models:/d' | awk '{ print $1 }')
	least=6 mark=nb- meant nb @ < <(nb --help | sed -n 's/^  nb-\([a-z-]*\) .*/\1/p')
	least=20 mark=-- meant nb-step --@ < <(nb-step --help | sed -n 's/^  .*--\([a-z-]*\) .*/\1/p')
	least=6 meant nb-convert --to @ p.nb < <(nb-convert --help | sed -n 's/.*--to \([a-z0-9|-]*\).*/\1/p' | tr '|' '\n')
	least=2 meant nb-force -m @ p.nb < <(printf 'direct\ntree\n')
	least=2 meant nb-extra '@ c=1' p.nb < <(nb-extra help | sed -n 's/^  \([a-z]*\) .*/\1/p')
	least=3 meant nb-field '@ m=1' p.nb < <(nb-field help | sed -n 's/^  \([a-z]*\) .*/\1/p')
	least=10 meant nb-force --kernel @ p.nb < <(nb-force --kernel help | awk '/^[a-z]/ { print $1 }' | sort -u)
	least=3 meant nb-calc 'x = @(1)' p.nb < <(sed -n 's/^NB_FUNCTION([^"]*"\([a-z0-9]*\)".*/\1/p' "$NB_TOP/kernels/expr/function.def")
	least=1 meant nb-select --fields @ p.nb <<<mass
	least=1 meant nb-calc 'x = @' p.nb <<<mass
	least=1 meant nb-diff --fields @ p.nb p.nb <<<mass
	# every word of every option that lists some
	local tool option words before
	while read -r tool option words; do
		case $tool in
		nb-field) before=('plummer m=1 a=1') ;;
		nb-step) before=(-d 1 nb-force) ;;
		nb-groups) before=(--length 1) ;;
		nb-power) before=(--mesh 8 --periodic 1) ;;
		*) before=() ;;
		esac
		least=0 meant "$tool" "$option=@" "${before[@]}" p.nb < <(tr '|' '\n' <<<"$words" | grep -x '[a-z]*') || {
			echo "$tool $option=$wrong: $said"
			return 1
		}
	done < <(for tool in $(nb --help | sed -n 's/^  \(nb-[a-z-]*\) .*/\1/p'); do
		"$tool" --help | sed -n "s/^  .*\(--[a-z-]*\) \([A-Za-z|:,.-]*|[A-Za-z|:,.-]*\).*/$tool \1 \2/p"
	done)
	fails_with 1 "did you mean 'vel'? there are: id mass x y z" 'nb-render-ppm --by vell p.nb'
	# words of elsewhere; no guess where nothing is near
	fails_with 2 "unknown model 'galaxy' (did you mean 'disk'?" 'nb-gen galaxy'
	fails_with 2 "unknown model 'zeldovich' (did you mean 'lpt'?" 'nb-gen zeldovich'
	fails_with 2 "unknown option '--omega-m' (did you mean '--omega0'?" 'nb-gen lpt --omega-m 0.3'
	fails_with 2 "invalid to 'numpy' (did you mean 'npy'?" 'nb-convert --to numpy p.nb'
	fails_with 2 "'--timestep' (did you mean '--dt'? see 'nb-step --help')" 'nb-step --timestep 0.1 p.nb'
	fails_with 2 "'--tmax' (did you mean '--until'? see 'nb-step --help')" 'nb-step --tmax 1 p.nb'
	fails_with 2 "no function 'ln' (did you mean 'log'?" "nb-calc 'f = ln(mass)' p.nb"
	fails_with 2 "unknown model 'xyzzy' (see 'nb-gen --help')" 'nb-gen xyzzy'
}

@test "a copy of the file is the program that its name says, also with a suffix" {
	local name file want
	mkdir -p copies
	file=$(readlink -f "$NB_BIN/nb-gen")
	want=$(nb-gen plummer -n 3 | cksum)
	# only a link where nothing else would be tested by a copy
	for name in nb-gen nb-gen-0.2 nb-gen-old nb-gen.bin nb-gen_2; do
		ln -s "$file" "copies/$name"
		equals "$("copies/$name" plummer -n 3 | cksum)" "$want"
		[[ $("copies/$name" --version) == 'nb-gen (nb) '* ]]
	done
	cp "$file" copies/whole-nb
	mv copies/whole-nb copies/nb-gen-9
	equals "$(copies/nb-gen-9 plummer -n 3 | cksum)" "$want"
	equals "$(exec -a -nb-gen copies/nb-gen-9 plummer -n 3 | cksum)" "$want"
	equals "$(exec -a whatever copies/nb-gen-9 plummer -n 3 | cksum)" "$want"
	for name in nb-0.2 nb.old; do
		ln -s "$file" "copies/$name"
		equals "$("copies/$name" gen plummer -n 3 | cksum)" "$want"
	done
	for name in nb-foo nb-gender gen foo nbx; do
		ln -s "$file" "copies/$name"
		fails_with 2 "'$name' is not the name of a program of nb (programs: see nb --help)" "copies/$name -e 0.1"
		fails_with 2 "'$name' is not the name" "copies/$name --version"
	done
}

@test "a terminal is no stream" {
	run script -qec 'nb-stats' /dev/null </dev/null
	[ "$status" -eq 2 ]
	[[ $output == *"standard input is a terminal"* ]]
}

@test "no program writes to a terminal what is not text" {
	command -v script >/dev/null || skip 'no script(1)'
	local format
	sed -n '/none$/d; s/^# as a filter: //p' "$NB_TOP"/tests/nb-*.bats >filters
	echo nb-gen >>filters
	for format in $(nb-convert --to no-such 2>&1 </dev/null | sed 's/.*(want //; s/)$//; s/|/ /g'); do
		echo "nb-convert -q --to $format"
	done >formats
	printf 'nb-%s\n' 'plot -x x --format png' 'plot -x x --format pdf' | sed 's/^nb-plot/env nb-plot/' >>formats
	[ "$(wc -l <formats)" -gt 10 ]
	nb-calc z=0 vz=0 <sphere.nb | nb-force >flat.nb
	cat >each <<-'END'
	cat filters formats | while read -r command; do
		for way in "" "-o /dev/tty" "-o -"; do
			case $command/$way in nb-stats*/-o* | nb-power*/-o* | nb-plot*) continue ;; esac # whose text is UTF-8
			$command $way <flat.nb 2>message || [ $? -eq 2 ] || echo "$command $way" >>wrong
			[ ! -s message ] || [ "$(grep -c 'is a terminal and .* binary' message)" -eq "$(wc -l <message)" ] ||
				echo "$command $way: $(<message)" >>wrong
			[ ! -s message ] || echo "$command" >>refused
		done
	done
	END
	: >wrong
	TERM=dumb timeout 60 script -qec 'bash each' /dev/null >shown </dev/null
	cat wrong
	[ ! -s wrong ]
	run ! grep -naP '[^\x20-\x7e\r\t]' shown
	grep -q '^ *frame' shown # some are text
	equals "$(sort refused | uniq -c | grep -v nb-view | awk '$1 != 3')" '' # which shows what it does not write
	grep -qx 'nb-convert -q --to npz' refused
	grep -qx 'nb-render-ppm -W 16 -H 16' refused
}

@test "options that contradict each other" {
	fails_with 2 "cannot be used with '--kind boxes'" 'nb-build-tree --kind boxes -l 4 <sorted.nb'
	fails_with 2 "cannot be used with '--kind boxes'" 'nb-build-tree --kind boxes --order 1 <sorted.nb'
}

@test "numbers of a type that no program reads" {
	local column
	for column in mass pos vel; do
		mutate type $column '<f2' <sphere.nb >half.nb
		fails_with 1 "field '$column' of frame 0 has type '<f2', which no tool reads" 'nb-force --jerk <half.nb'
		fails_with 1 "has type '<f2', which no tool reads" 'nb-stats --check <half.nb'
		fails_with 1 "has type '<f2', which no tool reads" 'cat half.nb | nb-stats --check'
	done
}

@test "columns of a tree have the types that they were made with" {
	mutate type node_mass '<f4' <tree.nb >narrow.nb
	fails_with 1 "field 'node_mass' of frame 0 has type '<f4' (want '<f8')" 'nb-force -m tree <narrow.nb'
	mutate type box_first '<u4' <boxes.nb >narrow.nb
	fails_with 1 "box" 'nb-force -m near <narrow.nb'
	mutate type key '<u4' <sorted.nb >narrow.nb
	fails_with 1 'the order of frame 0 is stale' 'nb-build-tree <narrow.nb'
}

@test "attributes that are not what they are for" {
	local text
	mutate attribute dim 4 <sphere.nb >odd.nb
	fails_with 1 "attribute dim='4' of frame 0 (want 2 or 3)" 'nb-sort-zorder <odd.nb'
	for text in 0,0,0 0,0,0,0 0,0,0,-1 1,2,3,x; do
		mutate attribute key_cube $text <sorted.nb >odd.nb
		fails_with 1 "attribute key_cube='$text' of frame 0 (want x,y,z,edge)" 'nb-build-tree <odd.nb'
	done
	for text in -1 0.5 1e300; do
		mutate attribute step $text <forces.nb >odd.nb
		fails_with 1 'step' 'nb-step -d 0.1 <odd.nb'
	done
}

@test "attributes of a law that are negative" {
	mutate attribute softening -1 <sphere.nb >odd.nb
	fails_with 1 'attribute softening=-1 of frame 0 is negative' 'nb-force <odd.nb'
	mutate attribute G -1 <sphere.nb >odd.nb
	fails_with 1 'attribute G=-1 of frame 0 is negative' 'nb-force <odd.nb'
}

@test "models whose sizes have squares that are 0, and galaxies almost without a disk" {
	fails_with 2 'size must be > 0' 'nb-gen uniform -n 3 --size 1e-300'
	fails_with 2 'size must be > 0' 'nb-gen sphere -n 3 --size 1e-300'
	fails_with 2 'spread must be > 0' 'nb-gen clusters -n 16 --spread 1e-300'
	fails_with 2 'eccentricity and mass ratio must be > 0' 'nb-gen merger -n 100 --eccentricity 0'
	fails_with 2 'the disk must have at least 1e-6 of the mass' 'nb-gen disk -n 100 --disk 1e-9'
	fails_with 2 'the disk must have at least 1e-6 of the mass' 'nb-gen merger -n 100 --disk 1e-9'
	nb-gen disk -n 1000 --bulge 0 | nb-stats --check
}

@test "a frame that is too large for a reader in the same process" {
	fails_with 1 "column 'pos' of frame 0 has 2400 bytes, more than NB_MAX_FRAME='4000'" \
		'export NB_MAX_FRAME=4000; nb-gen plummer -n 100 | nb-stats'
}

@test "a comparison with nothing" {
	cp "$NB_TOP/tests/corpus/good/no-frames.nb" end.nb
	fails_with 1 "'end.nb' has no frames to compare with" 'nb-stats --compare end.nb <sphere.nb'
	fails_with 1 'the stream has no frames, and csv text needs one for its header' 'nb-convert --no-comments --to csv <end.nb'
}

@test "a picture out of scale" {
	fails_with 1 'a picture of size 1e-305 with zoom 1e+12 is out of scale' \
		'nb-render-ppm -W 8 -H 8 --size 1e-305 --zoom 1e12 <sphere.nb'
}

@test "a step beyond 10^15 is written with all its digits" {
	nb-gen kepler | nb-force >kepler.nb
	mutate attribute step 999999999999998 <kepler.nb | nb-step -d 0.01 -k 3 nb-force | nb-stats --attributes |
		sed -n 's/^step=//p' >steps
	equals "$(cat steps)" "$(printf '%s\n' 999999999999998 999999999999999 1000000000000000 1000000000000001)"
}

@test "csv says which frame it has no place for" {
	nb-gen plummer -n 0 >none.nb
	run --separate-stderr bash -c 'cat sphere.nb none.nb sphere.nb | nb-convert --no-comments --to csv'
	[ "$status" -eq 0 ]
	equals "$(grep -c 'no bodies' <<<"$stderr")" 1
	[[ $stderr == *"csv text cannot represent frame 1, which has no bodies"* ]]
	equals "$(cut -d, -f1 <<<"$output" | sort | uniq -c | tr -s ' \n' ' ')" ' 30 0 30 2 1 frame '
}
