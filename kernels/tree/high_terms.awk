# high_terms.awk - prints the macros of high_body.h for sources of orders 3 and 4: derivatives, and how far cells act, one
# term after the other, as a compiler does not take loops over such triangles apart.
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

BEGIN {
	print "/* made by kernels/tree/high_terms.awk */"
	for (P = 3; P <= 4; P++) {
		print_tensor(P + 3)
		print_far(P, P + 3)
	}
}
