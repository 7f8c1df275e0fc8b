# names.awk - structures and functions of one name: of those that are visible everywhere, which begin with nb_, in all of
# the files that it reads; of others in one file.  Both begin in column 0.
FNR == 1 {
	split("", structs)
	split("", functions)
}
match($0, /^(typedef |extern |static )?(template <.*> )?(struct|class|union|enum) [A-Za-z_0-9]+( :.*)? \{$/) {
	name = $0
	sub(/^.*(struct|class|union|enum) /, "", name)
	sub(/[^A-Za-z_0-9].*/, "", name)
	is_struct(name)
}
/^[A-Za-z_][^=(;]*[ *&][A-Za-z_0-9]+\(/ && !/^(typedef|enum|else|return) / {
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ *&]/, "", name)
	is_function(name)
}
function is_struct(name) {
	if (name in functions)
		both(name)
	structs[name] = FNR
	if (name ~ /^nb_/)
		all_structs[name] = FILENAME ":" FNR
}
function is_function(name) {
	if (name in structs)
		both(name)
	functions[name] = FNR
	if (name ~ /^nb_/)
		all_functions[name] = FILENAME ":" FNR
}
function both(name) {
	if (name !~ /^nb_/)
		print FILENAME ":" FNR ": " name " is a structure and a function"
}
END {
	for (name in all_structs)
		if (name in all_functions)
			print all_structs[name] ": " name " is a structure and, in " all_functions[name] ", a function"
}
