# parameter-check.awk - what nb-gen(1) says of models and parameters, held against the tables they come from.
#   awk -f man/parameter-check.awk kernels/models/model.def kernels/models/parameter.def man/nb-gen.1
# prints a line for each item that is missing, or does not name the models, the default or the range of the table:
#   models    those that take the parameter, or those that do not, as .Cm
#   default   "default 20", "20 (default)"
#   range     "at least 1.5", "above 0", "0 to 12", "at most 10", "below 1"; an end beyond a million may be left out

function trim(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }

FNR == 1 { file++ }

file == 1 && /^NB_MODEL\(/ {
	split($0, part, ",")
	model[++nmodel] = trim(part[2])
}

# a row without its strings, the name of the option kept
file == 2 && /^NB_PARAMETER(_ROW)?\(/ {
	line = $0
	match(line, /"[^"]*"/)
	name = substr(line, RSTART + 1, RLENGTH - 2)
	option[++noption] = name
	split(line, quoted, "\"")
	if (line ~ /^NB_PARAMETER_ROW/)
		shown[name] = quoted[6] # the default in --help
	gsub(/"[^"]*"/, "text", line)
	if (match(line, /NB_TWO\([^)]*\)/)) {
		two = substr(line, RSTART + 7, RLENGTH - 8)
		gsub(/, */, ";", two)
		line = substr(line, 1, RSTART - 1) two substr(line, RSTART + RLENGTH)
	}
	sub(/\).*$/, "", line)
	n = split(line, part, ",")
	at = line ~ /^NB_PARAMETER_ROW/ ? 4 : 3
	sub(/^[^(]*\(/, "", part[1])
	member[trim(part[1])] = name
	kind[name] = trim(part[at])
	low[name] = trim(part[at + 1])
	high[name] = trim(part[at + 2])
	value[name] = trim(part[at + 4])
	sub(/;/, ",", value[name])
	for (i = at + (at == 4 ? 7 : 6); i <= n; i++)
		takes[name, trim(part[i])] = 1
}

file == 2 && /^NB_DEFAULT\(/ {
	line = $0
	sub(/^NB_DEFAULT\(/, "", line)
	sub(/\).*$/, "", line)
	split(line, part, ",")
	value[member[trim(part[2])]] = value[member[trim(part[2])]] " " trim(part[3])
}

file == 3 && /^\.It / {
	item = ""
	if ($2 == "Cm")
		described[$3] = 1
	else if (match($0, /Fl -[A-Za-z][A-Za-z0-9-]*/))
		item = substr($0, RSTART + 4, RLENGTH - 4)
	next
}
file == 3 && /^\.E[lk]/ { item = "" }
file == 3 && item != "" {
	line = $0
	if (line ~ /^\./) {
		if (line ~ /Cm/)
			named[item] = named[item] line " "
		gsub(/(^\.| )(Cm|Pq|Po|Pc|Sy|Fl|Ar)( |$)/, " ", line)
	}
	gsub(/\\/, "", line)
	text[item] = text[item] " " tolower(line)
}

function wrong(name, what) { print "nb-gen.1, --" name ": " what }

# whether the item of an option says one of the phrases, which bars separate
function says(name, phrases,    part, n, i) {
	n = split(phrases, part, "|")
	for (i = 1; i <= n; i++)
		if (index(text[name], " " part[i] " "))
			return 1
	return 0
}

function check_models(name,    i, takers, others, has, all_takers, all_others) {
	all_takers = all_others = 1
	for (i = 1; i <= nmodel; i++) {
		has = (" " named[name] " ") ~ ("[ .]" model[i] "[ .]")
		if (has != ((name, model[i]) in takes))
			all_takers = 0
		if (has == ((name, model[i]) in takes))
			all_others = 0
	}
	if (!all_takers && !all_others)
		wrong(name, "names other models than parameter.def")
}

function check_defaults(name,    part, n, i, x) {
	if (kind[name] ~ /^(CHOICE|FLAG|TABLE)$/)
		return # tests/lint looks for its words
	n = split(value[name], part, " ")
	for (i = 1; i <= n; i++) {
		x = part[i]
		if (kind[name] ~ /^(POSITIVE|RANGE)$/ ? x + 0 <= low[name] + 0 : x + 0 < low[name] + 0)
			continue # no number: what only the model knows
		if (!says(name, "default " x "|" x " default"))
			wrong(name, "does not say 'default " x "'")
		if (name in shown && index(" " shown[name] ",", " " x ",") + index(shown[name], x ";") == 0)
			print "parameter.def, --" name ": '" shown[name] "' does not show the default " x
	}
}

function check_range(name,    x) {
	if (kind[name] ~ /^(ANGLES|RANGE|CHOICE|FLAG|TABLE)$/)
		return
	x = low[name]
	if (kind[name] == "POSITIVE" && !says(name, "above " x "|above that|larger than " x "|larger than that"))
		wrong(name, "does not say 'above " x "'")
	if (kind[name] != "POSITIVE" && !says(name, "at least " x "|" x " to|" x " default to"))
		wrong(name, "does not say 'at least " x "'")
	x = high[name]
	if (x !~ /^0x/ && x + 0 < 1e6 && !says(name, "to " x "|at most " x "|below " x))
		wrong(name, "does not say 'at most " x "'")
}

END {
	for (i = 1; i <= nmodel; i++)
		if (!(model[i] in described))
			print "nb-gen.1 does not describe the model " model[i]
	for (i = 1; i <= noption; i++) {
		name = option[i]
		if (!(name in text)) {
			wrong(name, "is not described")
			continue
		}
		gsub(/[(]/, " ", text[name])
		text[name] = text[name] " "
		while (gsub(/[,.;:)]+ /, " ", text[name]) + gsub(/  +/, " ", text[name]))
			;
		check_models(name)
		check_defaults(name)
		check_range(name)
	}
	if (nmodel == 0 || noption == 0)
		print "no tables"
}
