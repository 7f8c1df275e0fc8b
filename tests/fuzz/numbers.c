/* Numbers in text, against strtod, and back to the same bits; attributes; text for terminals. */
#include "tests/fuzz/fuzz.h"

#include "common/decimal.h"
#include "common/parse.h"
#include "common/printable.h"
#include "tools/filter/views.h"

#include <math.h>

static int same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

static void read_back(double x)
{
	char text[NB_DECIMAL_SIZE + 1], other[NB_F64_TEXT];
	double y, z;
	const size_t length = nb_decimal_write(x, text);
	REQUIRE(length < NB_DECIMAL_SIZE);
	text[length] = '\0';
	if (!isfinite(x))
		return;
	const char *end = nb_decimal_read(text, &y);
	REQUIRE(end && !*end && same_bits(x, y));
	REQUIRE(nb_parse_f64(nb_format_f64(x, other), &z) == NB_PARSE_OK && same_bits(x, z));
}

static void parse(const char *text)
{
	double x, list[4];
	uint64_t u;
	int64_t i;
	size_t count;
	struct nb_cube cube;
	const char *end = nb_decimal_read(text, &x);
	if (end) {
		char *stop;
		const double want = strtod(text, &stop);
		REQUIRE((stop == end && same_bits(x, want)) || strpbrk(text, "xX"));
		read_back(x);
	}
	if (nb_parse_f64(text, &x) == NB_PARSE_OK)
		REQUIRE(isfinite(x));
	if (nb_parse_u64(text, 3, 1000, &u) == NB_PARSE_OK)
		REQUIRE(u >= 3 && u <= 1000);
	if (nb_parse_u64(text, 0, UINT64_MAX, &u) == NB_PARSE_OK)
		REQUIRE(u == strtoull(text, NULL, 10));
	if (nb_parse_count(text, 3, 1000, &u) == NB_PARSE_OK)
		REQUIRE(u >= 3 && u <= 1000);
	if (nb_parse_u64(text, 0, UINT64_MAX, &u) == NB_PARSE_OK) {
		uint64_t same;
		REQUIRE(nb_parse_count(text, 0, UINT64_MAX, &same) == NB_PARSE_OK && same == u);
	} else if (nb_parse_f64(text, &x) == NB_PARSE_OK && nb_parse_count(text, 0, UINT64_MAX, &u) == NB_PARSE_OK) {
		REQUIRE(fabs((double)u - x) <= 1e-15 * x);
	}
	if (nb_parse_i64(text, INT64_MIN, INT64_MAX, &i) == NB_PARSE_OK)
		REQUIRE(i == strtoll(text, NULL, 10));
	if (nb_parse_f64_list(text, 4, list, &count) == NB_PARSE_OK)
		REQUIRE(count <= 4);
	if (nb_parse_cube(text, &cube) == 0)
		REQUIRE(cube.size > 0 && isfinite(cube.lo[0]));
	(void)nb_reader_limit(text, &u);
}

static void set_attributes(const char *text)
{
	struct nb_frame frame;
	double x;
	nb_frame_init(&frame);
	REQUIRE(nb_frame_set_attribute(&frame, "time", text) == NB_OK);
	REQUIRE(strcmp(nb_frame_attribute(&frame, "time"), text) == 0);
	if (nb_frame_attribute_f64(&frame, "time", 7, &x) == NB_OK) {
		REQUIRE(isfinite(x) && nb_frame_set_attribute_f64(&frame, "time", x) == NB_OK);
		double y, z = 0;
		REQUIRE(nb_frame_attribute_f64(&frame, "time", 7, &y) == NB_OK && same_bits(x, y));
		REQUIRE(nb_parse_f64(nb_frame_attribute(&frame, "time"), &z) == NB_PARSE_OK && same_bits(x, z));
	}
	nb_frame_clear(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	double x;
	fuzz_silence();
	REQUIRE(text);
	memcpy(text, data, size);
	text[size] = '\0';
	parse(text);
	set_attributes(text);
	if (size >= sizeof x) {
		memcpy(&x, data, sizeof x);
		read_back(x);
	}
	nb_make_printable(text);
	REQUIRE(strlen(text) <= size);
	for (const char *c = text; *c;) {
		unsigned code;
		const size_t n = nb_utf8_character(c, &code);
		REQUIRE(n && nb_is_printable(code));
		c += n;
	}
	free(text);
	return 0;
}
