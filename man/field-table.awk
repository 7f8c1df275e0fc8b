# field-table.awk - the table of standard columns in nb-stream(5), from formats/stream/field.def.
#   awk -f man/field-table.awk formats/stream/field.def man/nb-stream.5
# prints the page with the lines between its two marks replaced.

function trim(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
function unquote(text) { text = trim(text); gsub(/"/, "", text); return text }

FNR == 1 { file++ }

file == 1 && /^NB_FIELD\(/ {
	line = $0
	sub(/^NB_FIELD\(/, "", line)
	sub(/\)$/, "", line)
	match(line, /"[^"]*"$/) # the meaning may hold commas
	meaning = unquote(substr(line, RSTART))
	split(substr(line, 1, RSTART - 1), part, ",")
	ncomp = trim(part[5]) == "0" ? "8 or 26" : trim(part[5])
	unit = unquote(part[6])
	derived = trim(part[7]) == "0" ? "" : "; derived"
	rows[++n] = ".It Sy " unquote(part[2]) " Pq " tolower(trim(part[3])) ", " unquote(part[4]) " x " ncomp \
		(unit == "" ? "" : ", " unit) derived "\n" toupper(substr(meaning, 1, 1)) substr(meaning, 2) "."
}

file == 2 && /^\.\\" fields: end/ { inside = 0 }
file == 2 && !inside { print }
file == 2 && /^\.\\" fields: begin/ {
	inside = 1
	print ".Bl -tag -width node_count -compact"
	for (i = 1; i <= n; i++)
		print rows[i]
	print ".El"
}
