#!/usr/bin/env bats
# completion for bash, zsh and fish: options, words and names come from the programs, so none can be missing.
# bats file_tags=once

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	# shellcheck source=/dev/null
	source "$NB_TOP/tools/completion.bash"
}

# complete_line WORD...: what completes the last word, one a line, sorted, as bash calls the function
complete_line() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_nb "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort
}

# completes 'WANT ...' WORD...
completes() {
	local want=$1 got
	shift
	got=$(complete_line "$@" | paste -sd ' ')
	if [ "$got" != "$want" ]; then
		echo "$*: '$got', want '$want'"
		return 1
	fi
}

@test "models" {
	completes "$(sed -n 's/^NB_MODEL([A-Z0-9_]*, *\([a-z0-9_]*\),.*/\1/p' "$NB_TOP/kernels/models/model.def" |
		sort | paste -sd ' ')" nb-gen ''
	completes 'solar' nb-gen sol
	completes 'plummer' nb-gen -n 100 pl
	for model in $(complete_line nb-gen '' | grep -vx orbits); do nb-gen "$model" | nb-stats --check; done
}

@test "potentials" {
	completes "$(sed -n 's/^NB_POTENTIAL([A-Z]*, "\([a-z]*\)".*/\1/p' "$NB_TOP/kernels/field/potential.def" | sort | paste -sd ' ')" nb-field ''
	completes 'plummer point' nb-field p
}

@test "forces of nb-extra" {
	completes "$(nb-extra help | awk '/^forces/ { listed = 1 } listed && /^  [a-z]/ { print $1 }' | sort | paste -sd ' ')" nb-extra ''
	completes 'gr gr-full gr-potential' nb-extra g
}

@test "presets" {
	completes 'energies energy' nb-plot ene
	completes 'text' nb-plot --format t
}

@test "kernels of the papers" {
	completes 'shan-serial' nb-force --kernel shan-s
	completes 'help' nb-force --kernel he
	# every name once, whatever backends have it, and help
	equals "$(complete_line nb-force --kernel '' | sort -u | wc -l)" \
		$(($(nb-force --kernel help | awk '/^[^ ]/ { print $1 }' | sort -u | wc -l) + 1))
}

@test "options of every program" {
	local tool
	completes '--precision' nb-force --prec
	completes '--per-box --pericentre' nb-gen disk --per
	completes '-n' nb-gen -n
	for tool in $(nb --help | awk '/^  nb-/ { print $1 }'); do
		complete_line "$tool" - | grep -qx -- --help
		complete_line "$tool" - | grep -x -- '--[A-Za-z0-9-]*' >options
		"$tool" --help | grep -oE -- '^  (-., |    )--[A-Za-z0-9-]+' | grep -oE -- '--[A-Za-z0-9-]+' | sort >want
		cmp options want
	done
}

@test "words that an option takes, none that stand for others" {
	completes 'mixed' nb-force --precision m
	completes 'f32 f64' nb-gen --precision ''
	completes '2 3' nb-gen uniform --dim ''
	completes 'auto cpu cuda' nb-force -b ''
	completes 'auto cpu cuda' nb-force --backend ''
	completes 'xy xz yz' nb-render-ppm --view ''
}

@test "columns, one or a list" {
	fake() { printf 'options:\n      --by density|speed|COLUMN  text\n      --fields LIST  text\n      --sort [-]COLUMN  text\n'; }
	completes 'pos pot pot_field' fake --by po
	completes 'density' fake --by d
	equals "$(complete_line fake --fields '' | wc -l)" "$(grep -c '^NB_FIELD' "$NB_TOP/formats/stream/field.def")"
	completes 'pos,vel' fake --fields pos,v
	completes 'mass' fake --sort ma
}

@test "the command nb" {
	completes 'step' nb ste
	completes 'gen' nb ge
	completes 'select sort-zorder stats step' nb help s
	completes 'plummer' nb gen pl
	completes '--precision' nb nb-force --prec
	completes 'mixed' nb force --precision m
	complete_line nb '' | grep -qx help
	equals "$(complete_line nb '' | wc -l)" $((${#NB_TOOLS[@]} + 3))
}

@test "the last program of a pipeline in the quotes of nb-step" {
	completes 'nb-force' nb-step nb-fo
	completes 'nb-sort-zorder | nb-force' nb-step -d 0.1 'nb-sort-zorder | nb-fo'
	completes 'nb-sort-zorder |nb-force' nb-step -d 0.1 'nb-sort-zorder |nb-fo'
	completes 'cat | nb-force -t 0.5 --precision' nb-step 'cat | nb-force -t 0.5 --prec'
	completes 'nb-force --precision mixed' nb step 'nb-force --precision m'
	completes '' nb-step 'nb-force -t '
	equals "$(complete_line nb-step -d 0.1 'nb-sort-zorder | ' | wc -l)" ${#NB_TOOLS[@]}
	touch 'nb file'
	completes 'nb file' nb-step 'nb f'
}

# what zsh and fish offer for a line, of which the last word may have an open quote
in_zsh() {
	zsh -f -c 'words=(${(z)1}); [[ $1 != *" " ]] || words+=(""); CURRENT=$#words
		compset() { words=(${words[CURRENT]##* }) CURRENT=1 }
		compadd() { print -l -- ${@:3} }
		source "$2"' zsh "$1" root/share/zsh/site-functions/_nb
}
in_fish() { XDG_DATA_DIRS=$PWD/root/share HOME=$PWD fish -c "complete -C \"$1\"" | sed 's/.*| //'; }

@test "zsh and fish offer what bash does, in quotes, too" {
	local shell line
	mkdir -p root/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	cp "$NB_TOP/tools/completion.bash" root/share/bash-completion/completions/nb
	cp "$NB_TOP/tools/completion.zsh" root/share/zsh/site-functions/_nb
	for line in nb nb-gen nb-force nb-step; do cp "$NB_TOP/tools/completion.fish" root/share/fish/vendor_completions.d/$line.fish; done
	for shell in zsh fish; do
		command -v $shell >/dev/null || skip "no $shell"
		equals "$(in_$shell 'nb-gen -n 100 plu')" plummer
		equals "$(in_$shell 'nb-force --prec')" --precision
		equals "$(in_$shell 'nb ste')" step
		equals "$(in_$shell "nb-step -d 0.1 'nb-sort-zorder | nb-fo")" nb-force
		equals "$(in_$shell "nb-step -d 0.1 'nb-sort-zorder | nb-force --prec" | sed 's/.* //')" --precision
		touch 'first run.nb'
		equals "$(in_$shell 'nb-stats fir')" 'first run.nb'
		equals "$(in_$shell 'nb-gen -n ' | tr -d '\n')" ''
	done
}

@test "nothing for a number" {
	touch 1file
	completes '' nb-gen -n ''
	completes '' nb-gen --rmax 1
	completes '' nb-force -t ''
}

@test "files" {
	touch first.nb second.nb
	completes 'first.nb second.nb' nb-convert ''
	completes 'first.nb' nb-stats --compare f
	completes 'second.nb' nb-gen disk '>' s
	completes 'first.nb' nb-sort-zorder '<' f
	completes 'first.nb second.nb' nb-force --jerk ''
}

@test "sourced by hand it is for every program, under the name of one for that" {
	[ "$(complete -p | grep -c -- '-F _nb nb-')" -eq "$(nb --help | grep -c '^  nb-')" ]
	complete -p nb-gen
	complete -r
	cp "$NB_TOP/tools/completion.bash" nb-gen
	# shellcheck source=/dev/null
	source ./nb-gen
	complete -p nb-gen
	[ "$(complete -p | grep -c -- '-F _nb')" -eq 1 ]
}
