/* first_bad_body.h - the first bad number of an array, for one type; common/space.c includes it for float and double.
 *
 * Whole blocks are judged without a branch, so that the compiler uses SIMD: infinity minus itself and NaN minus itself
 * are NaN, so x - x == 0 tells a finite number. */
static size_t FIRST_BAD(const TYPE *x, size_t count, unsigned what)
{
	enum { BLOCK = 4096 };
	const int finite = (what & NB_BAD_NONFINITE) != 0, positive = (what & NB_BAD_NEGATIVE) != 0;
	size_t first = count;
#pragma omp parallel for reduction(min : first) schedule(static) if (count > 100000)
	for (size_t b = 0; b < count; b += BLOCK) {
		const size_t end = b + BLOCK < count ? b + BLOCK : count;
		int bad = 0;
		for (size_t i = b; i < end; i++)
			bad += (finite & !(x[i] - x[i] == 0)) | (positive & (x[i] < 0));
		for (size_t i = b; bad && i < end; i++)
			if (((finite && !isfinite(x[i])) || (positive && x[i] < 0)) && i < first)
				first = i;
	}
	return first;
}
