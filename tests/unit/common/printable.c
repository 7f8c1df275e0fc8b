/* Which text reaches a terminal. */
#include "common/printable.h"

#include "tests/unit/unit.h"

static void check(const char *text, const char *want)
{
	char copy[64];
	strcpy(copy, text);
	nb_make_printable(copy);
	CHECK(strcmp(copy, want) == 0);
	if (strcmp(copy, want) != 0)
		fprintf(stderr, "got %s, want %s\n", copy, want);
}

static void test_text_of_any_language_stays(void)
{
	static const char *const text[] = {"", "plain ~!", "Größe µ Ω", "עברית العربية", "☉ 粒子 𝛁", "\xc2\xa0",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"};
	for (size_t k = 0; k < sizeof text / sizeof *text; k++)
		check(text[k], text[k]);
}

static void test_controls_do_not(void)
{
	check("a\033[31mb\n\t\r\177c", "a?[31mb????c");
	check("\x9b"
	      "31m",
		"?31m");
	check("\xc2\x80\xc2\x9b"
	      "31m\xc2\x9f",
		"??31m?");
}

static void test_the_direction_of_writing_cannot_be_turned(void)
{
	static const unsigned turn[] = {0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067,
		0x2068, 0x2069, 0x2028, 0x2029};
	for (size_t k = 0; k < sizeof turn / sizeof *turn; k++) {
		char text[8] = "";
		const unsigned c = turn[k];
		if (c < 0x800)
			snprintf(text, sizeof text, "%c%cx", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
		else
			snprintf(text, sizeof text, "%c%c%cx", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)),
				(int)(0x80 | (c & 0x3f)));
		check(text, "?x");
		CHECK(!nb_is_printable(c));
	}
	CHECK(nb_is_printable(0x200d) && nb_is_printable(0x2010) && nb_is_printable(0x2030) && nb_is_printable(0x206a));
}

static void test_what_is_no_utf8(void)
{
	check("\xff\xfe", "??");
	check("\xc3", "?"); /* cut */
	check("\xe2\x98", "??");
	check("\xf0\x9d\x9b", "???");
	check("\xc0\xaf", "??"); /* overlong */
	check("\xc1\x9b", "??");
	check("\xe0\x80\xaf", "???");
	check("\xf0\x80\x80\xaf", "????");
	check("\xed\xa0\x80", "???"); /* surrogates */
	check("\xed\xbf\xbf", "???");
	check("\xf4\x90\x80\x80", "????"); /* behind the last */
	check("\xf5\x80\x80\x80", "????");
	check("\xc3\xbc\x9b\xc3\xbc", "\xc3\xbc?\xc3\xbc");
}

static void test_numbers_and_lengths(void)
{
	unsigned code;
	CHECK(nb_utf8_character("a", &code) == 1 && code == 'a');
	CHECK(nb_utf8_character("\xc3\xbc", &code) == 2 && code == 0xfc);
	CHECK(nb_utf8_character("\xe2\x98\x89", &code) == 3 && code == 0x2609);
	CHECK(nb_utf8_character("\xf0\x9d\x9b\x81", &code) == 4 && code == 0x1d6c1);
	CHECK(nb_utf8_character("\x9b", &code) == 0);
}

int main(void)
{
	test_text_of_any_language_stays();
	test_controls_do_not();
	test_the_direction_of_writing_cannot_be_turned();
	test_what_is_no_utf8();
	test_numbers_and_lengths();
	return unit_end();
}
