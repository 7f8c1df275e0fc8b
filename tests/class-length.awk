# class-length.awk - structures that have functions, and more than `most` lines between their braces.  In this layout they
# begin and end in column 0, and a function's brace stands alone after one tab.
FNR == 1 { start = 0 }
/^(template <.*> )?(struct|class) .*\{$/ {
	start = FNR
	head = $0
	functions = 0
}
/^\t\{$/ { functions++ }
/^\}/ {
	if (start && functions && FNR - start - 1 > most)
		printf "%s:%d: %s: %d lines (want at most %d)\n", FILENAME, start, head, FNR - start - 1, most
	start = 0
}
