# completion.fish - fish completion for the nb programs, by the one for bash.  Installed as nb.fish and under the name of
# each program, as fish looks for a file of that name.

set -g __nb_bash (status dirname)/../../bash-completion/completions/nb

function __nb_complete
    set -l word (string replace -r '^[\'"]' '' -- (commandline -ct)) # a pipeline in quotes that are still open
    bash $__nb_bash (commandline -opc) "$word"
end

complete -c (status basename | string replace .fish '') -f -a '(__nb_complete)'
