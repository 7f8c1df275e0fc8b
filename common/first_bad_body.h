/* first_bad_body.h - the first bad number of an array, for one type; common/space.c includes it for float and double.
 *
 * A block is judged in one pass that only ors bits together, which the compiler turns into SIMD: the sum below has its
 * top bit set where all bits of an exponent are, as those of NaN and infinity are.  Only a block that may be bad is
 * looked through number by number; -0 is good. */
static size_t FIRST_BAD_IN_BLOCK(const TYPE *x, size_t count, unsigned what)
{
	const BITS top = (BITS)1 << (8 * sizeof(BITS) - 1), one = (BITS)1 << MANTISSA;
	const int finite = (what & NB_BAD_NONFINITE) != 0, positive = (what & NB_BAD_NEGATIVE) != 0;
	BITS exponents = 0, signs = 0;
	for (size_t i = 0; i < count; i++) {
		BITS bits;
		memcpy(&bits, &x[i], sizeof bits);
		exponents |= (bits & (top - one)) + one;
		signs |= bits;
	}
	if (!(finite && (exponents & top)) && !(positive && (signs & top)))
		return count;
	for (size_t i = 0; i < count; i++)
		if ((finite && !isfinite(x[i])) || (positive && x[i] < 0))
			return i;
	return count;
}

static size_t FIRST_BAD(const TYPE *x, size_t count, unsigned what)
{
	enum { BLOCK = 1024 };
	if (count <= PARALLEL)
		return FIRST_BAD_IN_BLOCK(x, count, what);
	size_t first = count;
#pragma omp parallel for reduction(min : first) schedule(static)
	for (size_t b = 0; b < count; b += BLOCK) {
		const size_t end = b + BLOCK < count ? b + BLOCK : count;
		const size_t bad = b + FIRST_BAD_IN_BLOCK(x + b, end - b, what);
		if (bad < end && bad < first)
			first = bad;
	}
	return first;
}
