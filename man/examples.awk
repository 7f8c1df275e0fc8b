# The examples (.Dl) of a page, or of a part of one on standard input, each on a line.  One whose line ends in the middle of
# a command goes on in the next .Dl; the line end between them is printed as \001.
# -v mark=WORD: before each; then remarks '.\" needs: ...' and '.\" shorter: ...' are printed, too.
function plain(text) {
	gsub(/\\\(aq/, "'", text)
	gsub(/\\\(dq/, "\"", text)
	gsub(/\\-/, "-", text)
	gsub(/\\&/, "", text)
	gsub(/\\e/, "\\", text)
	return text
}
function put() {
	if (text != "")
		print mark plain(text)
	text = ""
}
sub(/^\.Dl /, "") {
	text = text (text == "" ? "" : "\001") $0
	if (text !~ /( (\|\|?|\\e|&&|do)|[;{,])$/ && gsub(/'|\\\(aq/, "&", text) % 2 == 0)
		put()
	next
}
{ put() }
mark != "" && /^\.\\" (needs|shorter): / { print plain(substr($0, 5)) }
END { put() }
