/* Numbers of options: taken whole and in range, or refused for the right reason. */
#include "common/parse.h"
#include "tests/unit/unit.h"

#include <inttypes.h>

static const char *const reason[] = {"taken", "invalid", "too small", "too large"};

static void same(const char *text, enum nb_parse got, enum nb_parse want)
{
	unit_checked++;
	if (got != want) {
		unit_failed++;
		fprintf(stderr, "'%s' is %s, want %s\n", text, reason[got], reason[want]);
	}
}

static void test_unsigned(void)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		enum nb_parse want;
		uint64_t value;
	} at[] = {
		{"0", 0, 9, NB_PARSE_OK, 0},
		{"9", 0, 9, NB_PARSE_OK, 9},
		{"007", 0, 9, NB_PARSE_OK, 7},
		{"18446744073709551615", 0, UINT64_MAX, NB_PARSE_OK, UINT64_MAX},
		{"10", 0, 9, NB_PARSE_TOO_LARGE, 0},
		{"18446744073709551616", 0, UINT64_MAX, NB_PARSE_TOO_LARGE, 0},
		{"2", 3, 9, NB_PARSE_TOO_SMALL, 0},
		{"-1", 0, 9, NB_PARSE_TOO_SMALL, 0},
		{"-9223372036854775808", 0, 9, NB_PARSE_TOO_SMALL, 0},
		{"-0", 0, 9, NB_PARSE_INVALID, 0},
		{"-", 0, 9, NB_PARSE_INVALID, 0},
		{"-x", 0, 9, NB_PARSE_INVALID, 0},
		{"+1", 0, 9, NB_PARSE_INVALID, 0},
		{"", 0, 9, NB_PARSE_INVALID, 0},
		{" 1", 0, 9, NB_PARSE_INVALID, 0},
		{"1 ", 0, 9, NB_PARSE_INVALID, 0},
		{"1.0", 0, 9, NB_PARSE_INVALID, 0},
		{"1e3", 0, 9, NB_PARSE_INVALID, 0},
		{"0x10", 0, 99, NB_PARSE_INVALID, 0},
	};
	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		uint64_t value = 77;
		same(at[k].text, nb_parse_u64(at[k].text, at[k].min, at[k].max, &value), at[k].want);
		CHECK(value == (at[k].want == NB_PARSE_OK ? at[k].value : 77));
	}
}

static void test_count(void)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		enum nb_parse want;
		uint64_t value;
	} at[] = {
		{"0", 0, 9, NB_PARSE_OK, 0},
		{"007", 0, 9, NB_PARSE_OK, 7},
		{"18446744073709551615", 0, UINT64_MAX, NB_PARSE_OK, UINT64_MAX},
		{"1e6", 0, UINT64_MAX, NB_PARSE_OK, 1000000},
		{"1E+6", 0, UINT64_MAX, NB_PARSE_OK, 1000000},
		{"1.25e2", 0, UINT64_MAX, NB_PARSE_OK, 125},
		{"1500e-2", 0, UINT64_MAX, NB_PARSE_OK, 15},
		{"1.0", 0, 9, NB_PARSE_OK, 1},
		{"3.", 0, 9, NB_PARSE_OK, 3},
		{"0.0e99", 0, 9, NB_PARSE_OK, 0},
		{"10k", 0, UINT64_MAX, NB_PARSE_OK, 10000},
		{"10K", 0, UINT64_MAX, NB_PARSE_OK, 10000},
		{"1.5k", 0, UINT64_MAX, NB_PARSE_OK, 1500},
		{"2M", 0, UINT64_MAX, NB_PARSE_OK, 2000000},
		{"0.000000001G", 0, 9, NB_PARSE_OK, 1},
		{"3T", 0, UINT64_MAX, NB_PARSE_OK, 3000000000000},
		{"1e1k", 0, UINT64_MAX, NB_PARSE_OK, 10000},
		{"1Ki", 0, UINT64_MAX, NB_PARSE_OK, 1024},
		{"1.5Ki", 0, UINT64_MAX, NB_PARSE_OK, 1536},
		{"1Mi", 0, UINT64_MAX, NB_PARSE_OK, 1 << 20},
		{"0.25Gi", 0, UINT64_MAX, NB_PARSE_OK, 1 << 28},
		{"1Ti", 0, UINT64_MAX, NB_PARSE_OK, (uint64_t)1 << 40},
		{"9007199254740993e0", 0, UINT64_MAX, NB_PARSE_OK, 9007199254740993}, /* 2^53 + 1: no double */
		{"1.5", 0, 9, NB_PARSE_INVALID, 0},
		{"1e-3", 0, 9, NB_PARSE_INVALID, 0},
		{"1.0005k", 0, UINT64_MAX, NB_PARSE_INVALID, 0},
		{"1.1Ki", 0, UINT64_MAX, NB_PARSE_INVALID, 0},
		{"1e", 0, 9, NB_PARSE_INVALID, 0},
		{"1e+", 0, 9, NB_PARSE_INVALID, 0},
		{"e6", 0, 9, NB_PARSE_INVALID, 0},
		{".5k", 0, UINT64_MAX, NB_PARSE_INVALID, 0},
		{"k", 0, 9, NB_PARSE_INVALID, 0},
		{"1m", 0, 9, NB_PARSE_INVALID, 0},
		{"1kk", 0, UINT64_MAX, NB_PARSE_INVALID, 0},
		{"1k ", 0, UINT64_MAX, NB_PARSE_INVALID, 0},
		{"1.2.3", 0, 9, NB_PARSE_INVALID, 0},
		{"0x10", 0, 99, NB_PARSE_INVALID, 0},
		{"", 0, 9, NB_PARSE_INVALID, 0},
		{" 1", 0, 9, NB_PARSE_INVALID, 0},
		{"+1", 0, 9, NB_PARSE_INVALID, 0},
		{"-0", 0, 9, NB_PARSE_INVALID, 0},
		{"-", 0, 9, NB_PARSE_INVALID, 0},
		{"nan", 0, 9, NB_PARSE_INVALID, 0},
		{"-1", 0, 9, NB_PARSE_TOO_SMALL, 0},
		{"-1k", 0, 9, NB_PARSE_TOO_SMALL, 0},
		{"2", 3, 9, NB_PARSE_TOO_SMALL, 0},
		{"1k", 0, 999, NB_PARSE_TOO_LARGE, 0},
		{"18446744073709551616", 0, UINT64_MAX, NB_PARSE_TOO_LARGE, 0},
		{"1e20", 0, UINT64_MAX, NB_PARSE_TOO_LARGE, 0},
		{"1e999999999999", 0, UINT64_MAX, NB_PARSE_TOO_LARGE, 0},
		{"20000000Ti", 0, UINT64_MAX, NB_PARSE_TOO_LARGE, 0},
	};
	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		uint64_t value = 77;
		same(at[k].text, nb_parse_count(at[k].text, at[k].min, at[k].max, &value), at[k].want);
		CHECK(value == (at[k].want == NB_PARSE_OK ? at[k].value : 77));
	}
}

static void test_signed(void)
{
	static const struct {
		const char *text;
		int64_t min, max;
		enum nb_parse want;
		int64_t value;
	} at[] = {
		{"0", -9, 9, NB_PARSE_OK, 0},
		{"-9", -9, 9, NB_PARSE_OK, -9},
		{"+9", -9, 9, NB_PARSE_OK, 9},
		{"-9223372036854775808", INT64_MIN, INT64_MAX, NB_PARSE_OK, INT64_MIN},
		{"9223372036854775807", INT64_MIN, INT64_MAX, NB_PARSE_OK, INT64_MAX},
		{"-10", -9, 9, NB_PARSE_TOO_SMALL, 0},
		{"10", -9, 9, NB_PARSE_TOO_LARGE, 0},
		{"-9223372036854775809", INT64_MIN, INT64_MAX, NB_PARSE_TOO_SMALL, 0},
		{"9223372036854775808", INT64_MIN, INT64_MAX, NB_PARSE_TOO_LARGE, 0},
		{"+", -9, 9, NB_PARSE_INVALID, 0},
		{"--1", -9, 9, NB_PARSE_INVALID, 0},
		{"", -9, 9, NB_PARSE_INVALID, 0},
		{" 1", -9, 9, NB_PARSE_INVALID, 0},
		{"1x", -9, 9, NB_PARSE_INVALID, 0},
	};
	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		int64_t value = 77;
		same(at[k].text, nb_parse_i64(at[k].text, at[k].min, at[k].max, &value), at[k].want);
		CHECK(value == (at[k].want == NB_PARSE_OK ? at[k].value : 77));
	}
}

static void test_real(void)
{
	static const struct {
		const char *text;
		enum nb_parse want;
		double value;
	} at[] = {
		{"0", NB_PARSE_OK, 0},
		{"-1.5", NB_PARSE_OK, -1.5},
		{"+.5e1", NB_PARSE_OK, 5},
		{"1e308", NB_PARSE_OK, 1e308},
		{"1e-400", NB_PARSE_OK, 0},
		{"0x1p4", NB_PARSE_OK, 16},
		{"1e309", NB_PARSE_TOO_LARGE, 0},
		{"-1e309", NB_PARSE_TOO_SMALL, 0},
		{"nan", NB_PARSE_INVALID, 0},
		{"-inf", NB_PARSE_INVALID, 0},
		{".", NB_PARSE_INVALID, 0},
		{"-.", NB_PARSE_INVALID, 0},
		{"", NB_PARSE_INVALID, 0},
		{" 1", NB_PARSE_INVALID, 0},
		{"1,5", NB_PARSE_INVALID, 0},
		{"1e", NB_PARSE_INVALID, 0},
	};
	for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
		double value = 77;
		same(at[k].text, nb_parse_f64(at[k].text, &value), at[k].want);
		CHECK_NEAR(value, at[k].want == NB_PARSE_OK ? at[k].value : 77, 0);
	}
}

static void test_list(void)
{
	char text[200];
	double x[3];
	size_t count;
	CHECK(nb_parse_f64_list("1,-2.5,3e1", 3, x, &count) == NB_PARSE_OK && count == 3);
	CHECK(x[0] == 1 && x[1] == -2.5 && x[2] == 30);
	CHECK(nb_parse_f64_list("4", 3, x, &count) == NB_PARSE_OK && count == 1 && x[0] == 4);
	CHECK(nb_parse_f64_list("1,2,3,4", 3, x, &count) == NB_PARSE_TOO_LARGE);
	CHECK(nb_parse_f64_list("1,1e999", 3, x, &count) == NB_PARSE_TOO_LARGE);
	CHECK(nb_parse_f64_list("-1e999,1", 3, x, &count) == NB_PARSE_TOO_SMALL);
	static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "1;2", "1,x"};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		same(bad[k], nb_parse_f64_list(bad[k], 3, x, &count), NB_PARSE_INVALID);
	/* so many digits are none that anybody types */
	memset(text, '1', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	CHECK(nb_parse_f64_list(text, 3, x, &count) == NB_PARSE_INVALID);
	text[63] = '\0';
	CHECK(nb_parse_f64_list(text, 3, x, &count) == NB_PARSE_OK && count == 1);
}

static size_t gap(const char *text)
{
	return (size_t)(nb_range_gap(text, text + strlen(text)) - text);
}

static void test_range(void)
{
	CHECK(gap("5:9") == 1 && gap("5-9") == 1 && gap("5-") == 1 && gap(":9") == 0 && gap("59") == 2);
	CHECK(gap("-5") == 2 && gap("-5--2") == 2 && gap("1e-5") == 4 && gap("1e-5-2") == 4 && gap("2.-3") == 2);
	static const struct {
		const char *text;
		double from, to;
	} good[] = {{"1:2", 1, 2}, {"1-2", 1, 2}, {"1,2", 1, 2}, {"-1--0.5", -1, -0.5}, {"1e-3-2", 1e-3, 2},
		{":2", 7, 2}, {"3-", 3, 8}, {",-1", 7, -1}};
	for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
		double x[2] = {7, 8};
		const char *label = good[k].text;
		WANT(nb_parse_range(label, label + strlen(label), x) == NB_PARSE_OK);
		WANT(x[0] == good[k].from && x[1] == good[k].to);
	}
	static const char *const bad[] = {"", "5", "-5", "1:2:3", "1:x", "a-b", "1,2,3", "1-2-3"};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		double x[2];
		same(bad[k], nb_parse_range(bad[k], bad[k] + strlen(bad[k]), x), NB_PARSE_INVALID);
	}
}

static void test_species(void)
{
	unsigned char list[256];
	size_t n;
	CHECK(nb_parse_species("7,0:2,5-5", list, &n) == NB_PARSE_OK && n == 5);
	CHECK(list[0] == 7 && list[1] == 0 && list[3] == 2 && list[4] == 5);
	CHECK(nb_parse_species("0-255", list, &n) == NB_PARSE_OK && n == 256 && list[255] == 255);
	static const char *const bad[] = {"", ",", "1,", "1,1", "0-3,2", "256", "-1", "3-1", "1.5", "1-", "x"};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		same(bad[k], nb_parse_species(bad[k], list, &n), NB_PARSE_INVALID);
}

/* Reads back as what it was, with no more digits than that needs. */
static void test_format(void)
{
	static const double numbers[] = {0, 1, -0.1, 1.0 / 3, 0.1 + 0.2, 1e300, 5e-324, 123456789012345678.0};
	char text[NB_F64_TEXT];
	for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
		CHECK(strtod(nb_format_f64(numbers[k], text), NULL) == numbers[k]);
	CHECK(strcmp(nb_format_f64(0.1, text), "0.1") == 0);
	CHECK(strcmp(nb_format_f64(0.1 + 0.2, text), "0.30000000000000004") == 0);
	CHECK(strcmp(nb_format_f64(NAN, text), "nan") == 0 || strcmp(text, "-nan") == 0);
}

int main(void)
{
	test_unsigned();
	test_count();
	test_signed();
	test_real();
	test_list();
	test_range();
	test_species();
	test_format();
	return unit_end();
}
