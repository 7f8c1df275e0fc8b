/* Numbers of every type, to f64 and back: the smallest and largest of each, and what no type has. */
#include "formats/stream/field.h"
#include "tests/unit/unit.h"

#include <stdint.h>

static void test_to_f64(void)
{
	const uint64_t u8[] = {0, UINT64_MAX};
	const int64_t i8[] = {INT64_MIN, INT64_MAX};
	const uint32_t u4[] = {0, UINT32_MAX};
	const int32_t i4[] = {INT32_MIN, INT32_MAX};
	const uint16_t u2[] = {0, UINT16_MAX};
	const int16_t i2[] = {INT16_MIN, INT16_MAX};
	const uint8_t u1[] = {0, UINT8_MAX};
	const int8_t i1[] = {INT8_MIN, INT8_MAX};
	const double f8[] = {-1e300, 0x1p-1074};
	const float f4[] = {-1e30f, 0x1p-149f};
	const struct {
		const char *dtype;
		const void *from;
		double want[2];
	} of[] = {{"<u8", u8, {0, 0x1p64}}, {"<i8", i8, {-0x1p63, 0x1p63}}, {"<u4", u4, {0, 0x1p32 - 1}},
		{"<i4", i4, {-0x1p31, 0x1p31 - 1}}, {"<u2", u2, {0, 65535}}, {"<i2", i2, {-32768, 32767}},
		{"|u1", u1, {0, 255}}, {"|i1", i1, {-128, 127}}, {"<f8", f8, {-1e300, 0x1p-1074}},
		{"<f4", f4, {-1e30f, 0x1p-149}}};
	for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
		const char *label = of[k].dtype;
		double got[3] = {7, 7, 7};
		WANT(nb_dtype_is_number(label));
		nb_dtype_to_f64(label, 2, of[k].from, got);
		WANT(got[0] == of[k].want[0] && got[1] == of[k].want[1] && got[2] == 7);
		/* back again; of integers of 64 bits, f64 cannot hold the largest */
		char back[24];
		memset(back, 7, sizeof back);
		const size_t size = nb_dtype_size(label), count = label[2] == '8' && label[1] != 'f' ? 1 : 2;
		nb_dtype_from_f64(label, count, of[k].want, back);
		WANT(memcmp(back, of[k].from, count * size) == 0 && back[count * size] == 7);
		uint64_t whole[3] = {7, 7, 7};
		if (label[1] == 'u') {
			nb_dtype_to_u64(label, 2, of[k].from, whole);
			WANT(whole[0] == 0 && whole[1] == UINT64_MAX >> (64 - 8 * size) && whole[2] == 7);
		}
	}
}

static void test_others(void)
{
	static const char *const none[] = {"|S8", "|V3", "<c8", "|b1", "<f2", "", "<"};
	for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
		const char *label = none[k];
		WANT(!nb_dtype_is_number(label));
	}
	CHECK(nb_dtype_size("|S4096") == 4096 && nb_dtype_size("|V3") == 3 && nb_dtype_size("|b1") == 1);
	static const char *const bad[] = {"", "<", "|", "<f", "<x8", "|S4097", "|S99999999999999999999", "|S1x", "|S/",
		"<f08", "<u1", "|u2", "=f8", "f8", "<f:"};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		const char *label = bad[k];
		WANT(nb_dtype_size(label) == 0);
	}
}

int main(void)
{
	test_to_f64();
	test_others();
	return unit_end();
}
