# completion.bash - bash completion for the nb programs.  What there is to complete comes from --help.
#
# Installed under the name of a program, it serves that program; sourced as completion.bash or nb, it serves nb and all
# programs that 'nb --help' lists.  Run with the words of a line, as completion.zsh and completion.fish do, it prints what
# completes the last.

_nb_options() { # the options of program $1
	"$1" --help 2>/dev/null | awk '/^ +-/ { print $1; if ($1 ~ /,$/) print $2 }' | grep -oE -- '^--?[A-Za-z][A-Za-z0-9-]*'
}

_nb_argument() { # what follows option $2 in the help of program $1: N, FILE, f32|f64; nothing behind a flag
	"$1" --help 2>/dev/null | awk -v option="$2" '/^ +-/ {
		name = $1 ~ /,$/ ? $2 : $1
		if (($1 == option "," || name == option) && match($0, name " [^ ]+")) {
			print substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
			exit
		} }'
}

_nb_models() { # the models, potentials, forces or presets that program $1 lists, if it lists any
	"$1" --help 2>/dev/null | awk '/^[^ ]/ { listed = $0 ~ /^(models|potentials|forces|presets)[:,]/ } listed && /^  [^ ]/ { print $1 }'
}

_nb_kernels() { # of nb-force, which is program $1
	"$1" --kernel help 2>/dev/null | awk '/^[^ ]/ { print $1 } END { print "help" }'
}

_nb_columns() { # those of nb-stream(5)
	nb help columns 2>/dev/null | awk '$1 == "column" { print $2 }'
}

_nb_tools() { # the programs, without nb-
	nb --help 2>/dev/null | sed -n 's/^  nb-\([a-z-]*\) .*/\1/p'
}

_nb() {
	if [[ ${1##*/} == nb ]]; then
		_nb_command "$2" "$3"
	else
		_nb_program "$@"
	fi
}

_nb_command() { # nb TOOL ..., nb help TOOL
	local tool=${COMP_WORDS[1]}
	if [[ $COMP_CWORD -eq 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_nb_tools) help --help --version" -- "$1")
	elif [[ $tool == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_nb_tools)" -- "$1")
	else
		_nb_program "nb-${tool#nb-}" "$1" "$2"
	fi
}

_nb_pipeline() { # the operand of nb-step: programs, or what is to follow the words of the last one
	local -a stage
	local before=$1
	read -ra stage <<<"${before##*|}"
	[[ $before != *[[:space:]\|] ]] || stage+=('')
	before=${before%"${stage[-1]}"}
	if [[ ${#stage[@]} -lt 2 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_nb_tools | sed 's/^/nb-/')" -- "${stage[0]}")
	elif [[ ${stage[0]} == nb-* ]]; then
		_nb_program "${stage[0]}" "${stage[-1]}" "${stage[-2]}"
	fi
	COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

_nb_program() {
	local program=$1 current=$2 previous=$3 words='' argument='' before=''
	COMPREPLY=()
	[[ $previous == [\<\>]* ]] && argument=FILE
	[[ $previous == -?* ]] && argument=$(_nb_argument "$program" "$previous")
	[[ $previous == --@(fields|drop) && $argument == LIST ]] && argument=COLUMN
	if [[ ${program##*/} == nb-step && -z $argument && $current == @(nb*|*[[:space:]\|]*) ]]; then
		_nb_pipeline "$current"
		[[ ${#COMPREPLY[@]} -eq 0 ]] || return
	fi
	case $argument in
	'') # no argument: an option or an operand
		if [[ $current == -* ]]; then
			words=$(_nb_options "$program")
		else
			words=$(_nb_models "$program")
		fi
		;;
	*'|'*) # words, and names such as AZIMUTH
		words=$(tr '|' '\n' <<<"$argument" | grep -xE '[a-z0-9_-]+')
		[[ $argument != *COLUMN* ]] || words+=$'\n'$(_nb_columns)
		;;
	*COLUMN*) # one, or a list
		[[ $current != *,* ]] || before=${current%,*},
		words=$(_nb_columns | sed "s/^/$before/")
		;;
	*FILE*) ;;
	NAME*) [[ $previous == --kernel ]] && words=$(_nb_kernels "$program") ;;
	*) return ;; # a number
	esac
	[[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	[[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_nb "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
elif [[ ${BASH_SOURCE[0]##*/} == nb-* ]]; then
	complete -o filenames -F _nb "${BASH_SOURCE[0]##*/}"
else
	mapfile -t _nb_names < <(_nb_tools | sed 's/^/nb-/')
	[[ ${#_nb_names[@]} -eq 0 ]] || complete -o filenames -F _nb nb "${_nb_names[@]}"
	unset _nb_names
fi
