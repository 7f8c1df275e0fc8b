# join.awk - page.html with the files that its lines "@include FILE" name, which are beside it
FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
/^@include / {
	file = folder $2
	while ((got = (getline line < file)) > 0)
		print line
	if (got < 0) {
		print FILENAME ": no file " file >"/dev/stderr"
		exit 1
	}
	close(file)
	next
}
{ print }
