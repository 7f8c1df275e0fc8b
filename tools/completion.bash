# completion.bash - bash completion for the nb programs.  What there is to complete comes from --help.
#
# Installed under the name of a program, it serves that program; sourced as completion.bash, it serves all programs that
# 'nb --help' lists.

_nb_options() { # the options of program $1
	"$1" --help 2>/dev/null | awk '/^ +-/ { print $1; print $2 }' | grep -oE -- '^--?[A-Za-z][A-Za-z0-9-]*'
}

_nb_argument() { # what follows option $2 in the help of program $1: N, FILE, f32|f64; nothing behind a flag
	"$1" --help 2>/dev/null | awk -v option="$2" '/^ +-/ {
		name = $1 ~ /,$/ ? $2 : $1
		if (($1 == option "," || name == option) && match($0, name " [^ ]+")) {
			print substr($0, RSTART + length(name) + 1, RLENGTH - length(name) - 1)
			exit
		} }'
}

_nb_models() { # the models that program $1 lists, if it lists any
	"$1" --help 2>/dev/null | awk '/^[^ ]/ { listed = $0 == "models:" } listed && /^  / { print $1 }'
}

_nb_kernels() { # of nb-force, which is program $1
	"$1" --kernel help 2>/dev/null | awk '/^[^ ]/ { print $1 } END { print "help" }'
}

_nb() {
	local program=$1 current=$2 previous=$3 words='' argument=''
	COMPREPLY=()
	[[ $previous == [\<\>]* ]] && argument=FILE
	[[ $previous == -?* ]] && argument=$(_nb_argument "$program" "$previous")
	case $argument in
	'') # no argument: an option or an operand
		if [[ $current == -* ]]; then
			words=$(_nb_options "$program")
		else
			words=$(_nb_models "$program")
		fi
		;;
	*'|'*) words=$(tr '|' '\n' <<<"$argument" | grep -xE '[a-z0-9_-]+') ;; # the others are names, as AZIMUTH
	*FILE*) ;;
	NAME*) [[ $previous == --kernel ]] && words=$(_nb_kernels "$program") ;;
	*) return ;; # a number
	esac
	[[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	[[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

if [[ ${BASH_SOURCE[0]##*/} == nb-* ]]; then
	complete -o filenames -F _nb "${BASH_SOURCE[0]##*/}"
else
	mapfile -t _nb_tools < <(nb --help 2>/dev/null | awk '/^  nb-/ { print $1 }')
	[[ ${#_nb_tools[@]} -eq 0 ]] || complete -o filenames -F _nb "${_nb_tools[@]}"
	unset _nb_tools
fi
