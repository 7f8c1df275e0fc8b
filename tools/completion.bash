# completion.bash - bash completion for the nb programs: options and their fixed words come from --help.

_nb_words() { # words after option $2 in the help of program $1, e.g. f32|mixed|f64
	"$1" --help 2>/dev/null | awk -v option="$2" '{
		for (i = 1; i < NF; i++) if ($i == option || $i == option ",")
			for (j = i + 1; j <= NF && j <= i + 3; j++) if ($j ~ /^[a-z0-9_:-]+(\|[A-Za-z0-9_:-]+)+$/) {
				gsub(/\|/, " ", $j); print $j; exit } }'
}

_nb() {
	local program=$1 current=$2 previous=$3 words
	COMPREPLY=()
	words=
	[[ $previous == -* ]] && words=$(_nb_words "$program" "$previous")
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	elif [[ $current == -* ]]; then
		words=$("$program" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z0-9-]*' | tr -d ' ,' | sort -u)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	elif [[ $program == *nb-gen ]]; then
		words=$("$program" --help 2>/dev/null | sed -n 's/^models: //p' | tr -d ',')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
	fi
	[[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _nb nb-gen nb-convert nb-sort-zorder nb-build-tree nb-force nb-step nb-stats nb-render-ppm
