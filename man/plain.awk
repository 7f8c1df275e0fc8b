# plain.awk - the pages as text for 'nb help': a line of NAME(SECTION) after a form feed for each page, of a heading
# after a tab for each of its sections, and one for each sentence.
#   awk -f man/plain.awk man/*.[1-9]

function flush() {
	sub(/^ +/, "", text)
	if (text != "" && named) print text
	text = ""
}

# The words of a macro line, without the names of macros that only choose a font.
function plain(line,   n, i, out, w, glue, dash, open, closing) {
	n = split(line, part, " ")
	out = ""
	for (i = 1; i <= n; i++) {
		w = part[i]
		if (w ~ /^(Ar|Cm|Ic|Sy|Em|Pa|Ql|Li|Op|Dv|Ev|Er|It|Dl|D1|No|Ta|Sx|Bq|Qq|Dq|Sq|An|Aq)$/) { dash = 0; continue }
		if (w == "Fl") { dash = 1; continue }
		if (w == "Ns") { glue = 1; continue }
		if (w == "Pq") { open = "("; continue }
		if (w == "Nm") w = page
		if (w == "Xr") { w = part[i + 1] "(" part[i + 2] ")"; i += 2 }
		if (dash && w !~ /^[,.;:()|]+$/) { w = "-" w }
		out = out (out == "" || glue || w ~ /^[,.;:)]+$/ ? "" : " ") open w
		glue = 0
		if (open != "") { open = ""; closing = 1 }
	}
	if (closing) sub(/[,.;:]*$/, ")&", out)
	return out
}

{
	gsub(/\\\(aq|\\\(dq/, "'")
	gsub(/\\-/, "-")
	gsub(/\\&|\\%/, "")
	gsub(/\\e/, "\\")
	gsub(/\\\('/, "") # an accent
}
FNR == 1 { flush(); named = 0; skip = 0 }
/^\.\\"/ { next }
/^\.Nm / && !named { page = $2; n = split(FILENAME, end, "."); print "\f" page "(" end[n] ")"; named = 1; next }
/^\.Nd / { next }
/^\.S[hs] / {
	flush()
	heading = plain(substr($0, 5))
	skip = heading ~ /^(NAME|SYNOPSIS|SEE ALSO|EXIT STATUS)$/
	if (!skip) print "\t" heading
	next
}
skip { next }
/^\.(It|Dl|D1)/ { flush(); text = plain(substr($0, 4)); flush(); next }
/^\.(Bd|Ed)/ { literal = /Bd/ }
/^\.(Pp|Bl|El|Bd|Ed|Rs|Re)/ { flush(); next }
/^\.%/ { text = text " " substr($0, 4); next }
/^\./ { text = text " " plain(substr($0, 2)) }
!/^\./ { text = text " " $0 }
/[.:?]$/ || literal { flush() }
END { flush() }
