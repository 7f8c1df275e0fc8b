#compdef nb -P nb-*
# completion.zsh - zsh completion for the nb programs, by the one for bash.  Installed as _nb.

local file=${${(%):-%x}:A:h}/../../bash-completion/completions/nb
local -a line=("${(@Q)words[1,CURRENT]}") reply
# in quotes that are still open, zsh completes the last word of the pipeline
if [[ $words[CURRENT] == [\'\"]* ]]; then
	line[-1]=${words[CURRENT]#?}
	compset -q
	reply=(${${(f)"$(bash $file "${line[@]}")"}##*[[:space:]|]})
else
	reply=(${(f)"$(bash $file "${line[@]}")"})
fi
compadd -f -- $reply
