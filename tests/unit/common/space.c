/* The host's space: which number of an array is the first bad one. */
#include "common/space.h"

#include "tests/unit/unit.h"

static size_t first_bad(const double *x, const float *y, size_t count, unsigned what)
{
	size_t wide = 0, single = 0;
	CHECK(nb_space_host.first_bad(&nb_space_host, count, 1, x, what, &wide) == 0);
	CHECK(nb_space_host.first_bad(&nb_space_host, count, 0, y, what, &single) == 0);
	CHECK(wide == single);
	return wide;
}

static void test_each_kind_of_number_is_judged(void)
{
	const unsigned any = NB_BAD_NONFINITE | NB_BAD_NEGATIVE;
	const struct {
		double x;
		unsigned bad; /* that it is */
	} number[] = {{0, 0}, {-0.0, 0}, {1e-40, 0}, {1, 0}, {3e38, 0}, {-1, NB_BAD_NEGATIVE},
		{-1e-40, NB_BAD_NEGATIVE}, {NAN, NB_BAD_NONFINITE}, {-NAN, NB_BAD_NONFINITE},
		{INFINITY, NB_BAD_NONFINITE}, {-INFINITY, any}};
	for (size_t k = 0; k < sizeof number / sizeof *number; k++)
		for (unsigned what = 0; what <= any; what++) {
			const double x = number[k].x;
			const float y = (float)x;
			CHECK(first_bad(&x, &y, 1, what) == (number[k].bad & what ? 0 : 1));
		}
}

static void test_the_first_of_several_is_found_in_arrays_of_any_length(void)
{
	enum { MOST = 250000 };
	static const size_t lengths[] = {1, 2, 7, 4095, 4096, 4097, 99999, 100000, 100001, MOST};
	double *x = calloc(MOST, sizeof *x);
	float *y = calloc(MOST, sizeof *y);
	CHECK(first_bad(x, y, 0, NB_BAD_NONFINITE) == 0);
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		const size_t n = lengths[k], at[] = {n - 1, n / 2, n / 3, 0};
		for (size_t i = 0; i < n; i++)
			x[i] = y[i] = i % 3 ? 1.5f : -0.0f;
		CHECK(first_bad(x, y, n, NB_BAD_NONFINITE | NB_BAD_NEGATIVE) == n);
		for (size_t j = 0; j < sizeof at / sizeof *at; j++) {
			x[at[j]] = y[at[j]] = j % 2 ? -2 : INFINITY;
			CHECK(first_bad(x, y, n, NB_BAD_NONFINITE | NB_BAD_NEGATIVE) == at[j]);
		}
	}
	free(x);
	free(y);
}

static void test_bytes_are_copied_whole_whatever_their_number(void)
{
	enum { MOST = (5 << 20) + 3 };
	static const size_t lengths[] = {0, 1, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, 4 << 20, MOST};
	unsigned char *from = malloc(MOST), *to = malloc(MOST + 1);
	for (size_t i = 0; i < MOST; i++)
		from[i] = (unsigned char)(i * 2654435761u >> 13);
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		memset(to, 7, MOST + 1);
		CHECK(nb_space_host.copy(&nb_space_host, to, from, lengths[k]) == 0);
		CHECK(memcmp(to, from, lengths[k]) == 0 && to[lengths[k]] == 7);
	}
	free(from);
	free(to);
}

static void test_why_something_failed_is_told_once_there_is_a_reason(void)
{
	nb_space_note_failure("no room");
	CHECK(strcmp(nb_space_failure(), "no room") == 0);
	nb_space_note_failure(NULL);
	CHECK(strcmp(nb_space_failure(), "") == 0);
}

int main(void)
{
	test_why_something_failed_is_told_once_there_is_a_reason();
	test_each_kind_of_number_is_judged();
	test_bytes_are_copied_whole_whatever_their_number();
	test_the_first_of_several_is_found_in_arrays_of_any_length();
	return unit_end();
}
