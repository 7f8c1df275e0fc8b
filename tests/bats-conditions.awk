# bats-conditions.awk - conditions in Bats files that cannot fail a test.  Bats ends a test at the first command that
# fails, but the shell makes exceptions: a command before the last && of a list, and one after `!`.  So
#
#     [ "$a" = 1 ] && [ "$b" = 2 ]     write two lines
#     ! cmp -s a b                     write run ! cmp -s a b, or if cmp -s a b; then false; fi
#
# are reported, unless they are the condition of if, while or until, are followed by ||, or are what a function ends
# with, which is its status.  `a && break` and assignments after && are no conditions.

# ---- the text ---------------------------------------------------------------------------------------

function at(p) { return substr(text, p, 1) }

# The place after what begins at p: quotes, parentheses, braces, brackets.
function after_single(p) { return index(substr(text, p + 1), "'") + p + 1 }
function after_ansi(p) { # $'...'
	for (p += 2; p <= length(text) && at(p) != "'"; p++)
		if (at(p) == "\\") p++
	return p + 1
}
function after_double(p) {
	for (p++; p <= length(text) && at(p) != "\"";)
		p = at(p) == "\\" ? p + 2 : at(p) == "$" || at(p) == "`" ? after_piece(p) : p + 1
	return p + 1
}
function after_pair(p, opening, closing) { # p: behind the first
	for (; p <= length(text) && at(p) != closing;)
		p = at(p) == opening ? after_pair(p + 1, opening, closing) : after_piece(p)
	return p + 1
}
function after_test(p) { # [[ ... ]]
	for (p += 2; p <= length(text) && substr(text, p, 3) != " ]]";)
		p = after_piece(p)
	return p + 3
}
function after_line(p) { return index(substr(text, p), "\n") + p - 1 }

# The place after one character, or after what is quoted or bracketed together with it.
function after_piece(p,    two) {
	two = substr(text, p, 2)
	if (two == "$(" || two == "<(" || two == ">(") return after_pair(p + 2, "(", ")")
	if (two == "${") return after_pair(p + 2, "{", "}")
	if (two == "$'") return after_ansi(p)
	if (at(p) == "\\") return p + 2
	if (at(p) == "'") return after_single(p)
	if (at(p) == "\"") return after_double(p)
	if (at(p) == "#" && substr(text, p - 1, 1) ~ /[ \t\n;(]/) return after_line(p)
	return p + 1
}

# The place after the here-document whose << is at p; its lines begin at `line`.
function after_here(p, line,    word, tabs) {
	p += 2
	tabs = at(p) == "-"
	match(substr(text, p + tabs), /^ *['"\\]?[A-Za-z_]+/)
	word = substr(text, p + tabs, RLENGTH)
	gsub(/[ '"\\]/, "", word)
	for (;;) {
		p = after_line(line)
		if (p <= line) return length(text) + 1
		here = substr(text, line, p - line)
		if (tabs) sub(/^\t+/, "", here)
		if (here == word) return p
		line = p + 1
	}
}

# ---- lists of commands ------------------------------------------------------------------------------

function report() {
	if (pending) printf "%s:%d: %s\n", name, pending, why
	pending = 0
}

# A word at the beginning of a command.
function begin_command(word) {
	if (word ~ /^(if|elif|while|until)$/) { end_list(); condition = 1; return }
	if (word ~ /^(then|do)$/) { end_list(); condition = 0; return }
	if (word ~ /^(else|fi|done|esac|time)$/) { end_list(); return }
	if (word == "{") {
		if (operator) first = inside = piped = 0 # what stands before has its alternative, or is a condition
		operator = ""
		end_list()
		report()
		kind[++depth] = defining ? "function" : "group"
		defining = 0
		return
	}
	if (word == "}") {
		end_list()
		if (kind[depth] == "function") pending = 0
		report()
		depth--
		return
	}
	report() # of the list before, which does not end a function
	if (!first) first = line
	defining = word ~ /\(\)$/
	if (!piped) last = word
	piped = 0
	inside = 1
}

function end_list() {
	if (first && !condition) {
		if (last == "!") {
			pending = first
			why = "what ! negates cannot fail the test (want run !, or if)"
		} else if (operator == "&&" && last !~ assignment && last !~ /^(break|continue|return|exit|skip)$/) {
			pending = first
			why = "what stands before && cannot fail the test (want a line of its own)"
		}
	}
	first = inside = piped = 0
	operator = ""
}

# The place after the word at p; here_at: where it has a here-document.
function after_word(p) {
	do {
		if (substr(text, p, 3) == "<<<") p += 3
		else if (substr(text, p, 2) == "<<") { here_at = p; p += 2 }
		else if (substr(text, p, 2) == "()") p += 2
		else if (substr(text, p, 2) ~ /^([<>]&|&>)/) p += 2
		else if (at(p) == "(") p = after_pair(p + 1, "(", ")")
		else p = after_piece(p)
	} while (p <= length(text) && at(p) !~ /[ \t\n;|&)]/)
	return p
}

function take_word(word) {
	if (!inside) {
		begin_command(word)
	} else if (word == "{" && (defining || last == "@test")) {
		end_list()
		kind[++depth] = defining ? "function" : "test"
		defining = 0
	} else if (last ~ assignment && word !~ /^[0-9]*[<>]/) {
		last = word # FOO=1 command
	}
}

function scan(    p, q, c, two) {
	line = 1
	depth = first = inside = piped = condition = defining = pending = here_at = 0
	operator = ""
	for (p = 1; p <= length(text); p = q) {
		c = at(p)
		two = substr(text, p, 2)
		q = p + 1
		if (c == "\n") {
			if (inside || !operator) end_list() # after an operator the list goes on
			if (here_at) {
				q = after_here(here_at, q)
				here_at = 0
			}
		} else if (c == " " || c == "\t") {
		} else if (c == "#" || two == "\\\n") {
			q = c == "#" ? after_line(p) : p + 2
		} else if (two == "&&" || two == "||") {
			operator = two
			inside = 0
			q = p + 2
		} else if (c == "|") {
			inside = 0
			piped = 1
		} else if (c == ";" || c == ")" || (c == "&" && two != "&>")) {
			end_list()
		} else if (two == "[[" && !inside) {
			begin_command("[[")
			q = after_test(p)
		} else {
			q = after_word(p)
			take_word(substr(text, p, q - p))
		}
		passed = substr(text, p, q - p)
		line += gsub(/\n/, "", passed)
	}
	end_list()
	report()
}

BEGIN { assignment = "^[A-Za-z_][A-Za-z_0-9]*(\\[.*\\])?[+]?=" }
FNR == 1 && text != "" { scan(); text = "" }
{ name = FILENAME; text = text $0 "\n" }
END { scan() }
