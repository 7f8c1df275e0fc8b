/* CRC-32 against its definition bit by bit, for every length about the boundaries, any alignment, and in pieces. */
#include "formats/stream/crc32_internal.h"
#include "tests/unit/unit.h"

#include <omp.h>

static uint32_t by_bits(uint32_t crc, const unsigned char *p, size_t bytes)
{
	crc = ~crc;
	for (size_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

int main(void)
{
	enum { MOST = 5000 };
	static unsigned char data[MOST + 64];
	uint32_t x = 1;
	for (size_t i = 0; i < sizeof data; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (unsigned char)(x >> 24);
	}
	CHECK(nb_crc32(0, "123456789", 9) == 0xcbf43926); /* the check value of the catalogues */
	CHECK(nb_crc32(0, data, 0) == 0);
	for (size_t length = 0; length <= MOST; length += length < 2600 ? 1 : 97)
		CHECK(nb_crc32(0, data, length) == by_bits(0, data, length));
	for (size_t shift = 0; shift < 64; shift++)
		CHECK(nb_crc32(7, data + shift, 1500) == by_bits(7, data + shift, 1500));
	const uint32_t all = by_bits(0, data, MOST);
	for (size_t cut = 0; cut <= MOST; cut += 13)
		CHECK(nb_crc32(nb_crc32(0, data, cut), data + cut, MOST - cut) == all);
	for (size_t cut = 0; cut <= MOST; cut += 13)
		CHECK(nb_crc32_join(nb_crc32(0, data, cut), nb_crc32(0, data + cut, MOST - cut), MOST - cut) == all);
	enum { LARGE = 5 * NB_CRC32_EACH + 12345 };
	unsigned char *large = malloc(LARGE);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = data[i % 4999] ^ (unsigned char)(i >> 13);
	for (int threads = 1; threads <= 7; threads += 2) {
		omp_set_num_threads(threads);
		CHECK(nb_crc32_shared(7, large, LARGE) == nb_crc32(7, large, LARGE));
	}
	free(large);
	/* zeros are where a wrong start hides */
	memset(data, 0, sizeof data);
	CHECK(nb_crc32(0, data, 4096) == by_bits(0, data, 4096));
	CHECK(nb_crc32(0x12345678, data, 4096) == by_bits(0x12345678, data, 4096));
	return unit_end();
}
