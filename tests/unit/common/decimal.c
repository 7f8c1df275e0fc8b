/* Numbers from and to text against strtod and printf: random bit patterns, round numbers, halfway cases. */
#include "common/decimal.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdint.h>

static uint64_t random_u64(void)
{
	static uint64_t state = 20240501;
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static int same(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

static void failed(const char *what, const char *text, double got, double want)
{
	if (unit_failed++ < 20)
		fprintf(stderr, "%s: '%s' gives %.17g, want %.17g\n", what, text, got, want);
}

static void check_read(const char *text)
{
	unit_checked++;
	double got = -1, want;
	char *end;
	want = strtod(text, &end);
	const char *after = nb_decimal_read(text, &got);
	if (after != end || !same(got, want))
		failed("read", text, got, want);
}

/* those from the first to the last that is not 0 */
static const char *significant_digits(const char *text, char digits[NB_DECIMAL_SIZE])
{
	int n = 0, last = 0;
	for (; *text && *text != 'e'; text++)
		if (*text >= '0' && *text <= '9' && (n || *text != '0')) {
			digits[n++] = *text;
			last = *text == '0' ? last : n;
		}
	digits[last] = '\0';
	return digits;
}

static void check_write(double x)
{
	unit_checked++;
	char text[NB_DECIMAL_SIZE + 8], shortest[NB_DECIMAL_SIZE];
	memset(text, 'x', sizeof text);
	size_t length = nb_decimal_write(x, text);
	if (length >= NB_DECIMAL_SIZE || strlen(text) != length)
		failed("length", text, (double)length, (double)strlen(text));
	if (!same(strtod(text, NULL), x))
		failed("write", text, strtod(text, NULL), x);
	int precision = 14;
	do
		snprintf(shortest, sizeof shortest, "%.*g", ++precision, x);
	while (strtod(shortest, NULL) != x);
	char own[NB_DECIMAL_SIZE], wanted[NB_DECIMAL_SIZE];
	if (strcmp(significant_digits(text, own), significant_digits(shortest, wanted)) != 0)
		failed("other digits than printf's", text, x, strtod(shortest, NULL));
}

int main(void)
{
	char text[64];
	static const char *const edge[] = {"0", "-0", "+1", "1.", ".5", "-.5e1", "1e5", "1E+05", "1e", "1e+", "1.5x",
		"00012", "0.000e00", "1e308", "1.7976931348623157e308", "1e309", "-1e400", "4.9e-324", "1e-400",
		"2.2250738585072014e-308", "9007199254740993", "9007199254740992.5",
		"9007199254740993.0000000000000000000000001", "12345678901234567890123",
		"0.1000000000000000055511151231257827021181583404541015625", "1e22", "1e23", "8.5e22", "6.67e-11",
		"5.97e24", "0000000000000000000000000000001.5", "0.00000000000000000000000000000000000000000000001",
		"1e99999999999"};
	for (size_t i = 0; i < sizeof edge / sizeof *edge; i++)
		check_read(edge[i]);
	double x;
	static const char *const none[] = {"", "-", ".", "-.", "+.e5", "e5", "nan", "inf", "x", " 1"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		CHECK(!nb_decimal_read(none[i], &x));
	CHECK(nb_decimal_read("0x10", &x)[0] == 'x' && x == 0);
	for (int i = 0; i < (UNIT_SANITIZED ? 100000 : 1000000); i++) {
		uint64_t bits = random_u64();
		if (i % 2) /* exponents of everyday numbers */
			bits = (bits & 0x800fffffffffffffu) | (uint64_t)(1023 - 120 + random_u64() % 240) << 52;
		memcpy(&x, &bits, sizeof x);
		if (!isfinite(x))
			continue;
		snprintf(text, sizeof text, "%.*g", (int)(random_u64() % 20) + 1, x);
		check_read(text);
		snprintf(text, sizeof text, "%.*e", 16, x);
		check_read(text);
		if (i % 4 == 1)
			check_write(x);
		/* numbers of 19 digits that lie next to the middle between two doubles */
		uint64_t mantissa = bits >> 11 | (uint64_t)1 << 53;
		if (i % 4 == 2) {
			snprintf(text, sizeof text, "%" PRIu64 "e%d", (mantissa << 5 | 0x10) + random_u64() % 3 - 1,
				(int)(random_u64() % 60) - 30);
			check_read(text);
		}
	}
	for (int e = -330; e <= 308; e++)
		for (int m = 1; m < 100; m++) {
			snprintf(text, sizeof text, "%de%d", m, e);
			check_read(text);
			if (isfinite(strtod(text, NULL)))
				check_write(strtod(text, NULL));
		}
	static const double special[] = {0.1, 0.3, 1.0 / 3, 1e15, 1e16, 1e17, 123456789012345.0, 999999999999999.9,
		0.0001, 0.00001, 9.999999999999999e22, 1e23, 5e-324, 1.7976931348623157e308, -0.0, 0.0};
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		check_write(special[i]);
	static const struct {
		double x;
		const char *text;
	} none_finite[] = {{INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"}};
	for (size_t i = 0; i < 3; i++) {
		CHECK(nb_decimal_write(none_finite[i].x, text) == strlen(none_finite[i].text));
		CHECK(strcmp(text, none_finite[i].text) == 0);
	}
	return unit_end();
}
