# What papers.c has left of rows of several devices: figures on each number of them, and how many times as fast as one.
# Numbers of devices, and rows, that were not measured are left out.
BEGIN { FS = "\t" }
$2 ~ /^cuda\*[0-9]+$/ {
	k = substr($2, 6) + 0
	row = sprintf("%-12s%10s  %-10s%6s", $3, $4, $5, $8)
	if (!(row in seen)) { seen[row] = 1; name[++rows] = row; is_time[row] = $8 ~ /^ms/ }
	value[row, k] = $14
	if (k > most) most = k
	there[k] = 1
}
END {
	if (!there[1] || most < 2) exit
	printf "\n  %-12s%10s  %-10s%6s", "data", "n", "kernel", ""
	for (k = 1; k <= most; k++) if (there[k]) printf "%12s%s", "on " k, (k > 1 ? "   times" : "")
	print ""
	for (r = 1; r <= rows; r++) {
		printf "  %s", name[r]
		for (k = 1; k <= most; k++) if (there[k]) {
			x = value[name[r], k]; one = value[name[r], 1]
			printf "%12s", (x == "" ? "-" : sprintf("%.4g", x))
			if (k > 1) printf "%8s", (x == "" || one == "" ? "-" : sprintf("%.2f", is_time[name[r]] ? one / x : x / one))
		}
		print ""
	}
}
