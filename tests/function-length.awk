# function-length.awk - functions of more than `most` lines between their braces.  In this layout these stand alone in
# column 0, those of a member function after one tab; initialisers, structures and enumerations open theirs at the end
# of a line.
function close_at(depth) {
	if (start[depth] && FNR - start[depth] - 1 > most)
		printf "%s:%d: %s: %d lines (want at most %d)\n", FILENAME, start[depth], name[depth],
			FNR - start[depth] - 1, most
	start[depth] = 0
}
FNR == 1 { start[0] = start[1] = 0 }
/^\{$/ { start[0] = FNR; name[0] = head[0] }
/^\t\{$/ { start[1] = FNR; name[1] = head[1] }
/^\}$/ { close_at(0) }
/^\t\}$/ { close_at(1) }
/^[A-Za-z_]/ { head[0] = $0 }
/^\t[A-Za-z_]/ { head[1] = substr($0, 2) }
