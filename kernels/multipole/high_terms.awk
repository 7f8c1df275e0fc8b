# high_terms.awk - prints the macros of high_body.h for sources of orders 3 and 4: derivatives, and how far cells act, one
# term after the other, as a compiler does not take loops over such triangles apart; and the same without softening, where
# components of degree 0 or 1 in z are all that there is, and b are sums of two: minus those of degree 2.
function place(i, j, k,  n, r) { n = i + j + k; r = j + k; return n * (n + 1) * (n + 2) / 6 + r * (r + 1) / 2 + k }
function name(i, j, k) { return "a[" place(i, j, k) "]" }
function factorial(n) { return n < 2 ? 1 : n * factorial(n - 1) }
function add(text, term) { return text == "" ? term : text " + " term }

function print_tensor(N,  n, i, j, k, one, two, f) {
	print "\n#define NB_TENSOR_TERMS_" N " \\"
	for (n = 1; n <= N; n++) {
		printf "\tconst NB_REAL f%d = (NB_SCALAR)(2 - 1.0 / %d) * inverse, x%d = f%d * x, y%d = f%d * y, z%d = f%d * z", n, n, n, n, n, n, n, n
		if (n > 1) printf ", s%d = (NB_SCALAR)(1 - 1.0 / %d) * inverse", n, n
		print "; \\"
		for (i = n; i >= 0; i--)
			for (j = n - i; j >= 0; j--) {
				k = n - i - j
				one = two = ""
				if (i > 0) one = add(one, "x" n " * " name(i - 1, j, k))
				if (j > 0) one = add(one, "y" n " * " name(i, j - 1, k))
				if (k > 0) one = add(one, "z" n " * " name(i, j, k - 1))
				if (i > 1) two = add(two, name(i - 2, j, k))
				if (j > 1) two = add(two, name(i, j - 2, k))
				if (k > 1) two = add(two, name(i, j, k - 2))
				if (two != "") one = one " + s" n " * " (index(two, "+") ? "(" two ")" : two)
				print "\t" name(i, j, k) " = " one "; \\"
			}
	}
	for (n = 2; n <= N; n++)
		for (i = n; i >= 0; i--)
			for (j = n - i; j >= 0; j--) {
				f = factorial(i) * factorial(j) * factorial(n - i - j)
				if (f > 1) print "\t" name(i, j, n - i - j) " *= " f "; \\"
			}
	print ""
}

function print_far(P, N,  x, y, z, n, i, j, l, text) {
	print "\n#define NB_FAR_TERMS_" P " \\"
	for (z = 0; z <= N; z++)
		for (y = 0; y + z <= N; y++)
			for (x = 0; x + y + z <= N; x++) {
				text = ""
				for (n = 0; n <= P && n <= N - x - y - z; n++)
					for (i = n; i >= 0; i--)
						for (j = n - i; j >= 0; j--)
							if (n != 1)
								text = add(text, "m[" place(i, j, n - i - j) "] * " name(x + i, y + j, z + n - i - j))
				print "\tsum[" l++ + 0 "] += " text "; \\"
			}
	print ""
}

function folded(i, j, k,  n) {
	n = i + j + k
	return k > 1 ? "b[" (n - 2) * (n - 1) / 2 + j "]" : "a[" n * n + k * (n + 1) + j "]"
}

function print_harmonic_tensor(N,  n, i, j, k, one, two, f) {
	print "\n#define NB_HARMONIC_TENSOR_TERMS_" N " \\"
	for (n = 1; n <= N; n++) {
		printf "\tconst NB_REAL f%d = (NB_SCALAR)(2 - 1.0 / %d) * inverse, x%d = f%d * x, y%d = f%d * y, z%d = f%d * z", n, n, n, n, n, n, n, n
		if (n > 1) printf ", s%d = (NB_SCALAR)(1 - 1.0 / %d) * inverse", n, n
		print "; \\"
		for (k = 0; k < 2; k++)
			for (j = 0; j + k <= n; j++) {
				i = n - j - k
				one = two = ""
				if (i > 0) one = add(one, "x" n " * " folded(i - 1, j, k))
				if (j > 0) one = add(one, "y" n " * " folded(i, j - 1, k))
				if (k > 0) one = add(one, "z" n " * " folded(i, j, k - 1))
				if (i > 1) two = add(two, folded(i - 2, j, k))
				if (j > 1) two = add(two, folded(i, j - 2, k))
				if (two != "") one = one " + s" n " * " (index(two, "+") ? "(" two ")" : two)
				print "\t" folded(i, j, k) " = " one "; \\"
			}
	}
	for (n = 2; n <= N; n++)
		for (k = 0; k < 2; k++)
			for (j = 0; j + k <= n; j++) {
				f = factorial(n - j - k) * factorial(j)
				if (f > 1) print "\t" folded(n - j - k, j, k) " *= " f "; \\"
			}
	for (n = 2; n <= N; n++)
		for (j = 0; j + 2 <= n; j++)
			print "\t" folded(n - j - 2, j, 2) " = " folded(n - j, j, 0) " + " folded(n - j - 2, j + 2, 0) "; \\"
	print ""
}

function print_harmonic_far(P, N,  x, y, z, n, j, k, l, text) {
	print "\n#define NB_HARMONIC_FAR_TERMS_" P " \\"
	for (z = 0; z < 2; z++)
		for (y = 0; y + z <= N; y++)
			for (x = 0; x + y + z <= N; x++) {
				text = "m[0] * " folded(x, y, z)
				for (n = 2; n <= P && n <= N - x - y - z; n++)
					for (k = 0; k < 2; k++)
						for (j = 0; j + k <= n; j++)
							text = text (z + k < 2 ? " + " : " - ") "m[" n * n + k * (n + 1) + j - 3 "] * " folded(x + n - j - k, y + j, z + k)
				print "\tsum[" l++ + 0 "] += " text "; \\"
			}
	print ""
}

BEGIN {
	print "/* made by kernels/multipole/high_terms.awk */"
	for (P = 3; P <= 4; P++) {
		print_tensor(P + 3)
		print_far(P, P + 3)
		print_harmonic_tensor(P + 3)
		print_harmonic_far(P, P + 3)
	}
}
