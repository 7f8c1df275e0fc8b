/* crc32_internal.h - the CRC-32 of zlib, gzip and PNG (polynomial 0x04C11DB7, bits reflected, start and end inverted).
 *
 * Every byte of a stream is summed once by who writes it and once by who reads it.  With AVX-512 and VPCLMULQDQ that
 * takes a quarter of libdeflate's time, which serves everywhere else. */
#ifndef NB_STREAM_CRC32_INTERNAL_H
#define NB_STREAM_CRC32_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* crc: of the bytes before, 0 at the beginning.  NB_SIMD=plain or avx2 leaves the work to libdeflate. */
uint32_t nb_crc32(uint32_t crc, const void *data, size_t bytes);
/* That of two pieces, of which the second has so many bytes. */
uint32_t nb_crc32_join(uint32_t first, uint32_t second, size_t bytes);
/* nb_crc32 by as many threads as there are NB_CRC32_EACH bytes, to the nearest, at most all. */
enum { NB_CRC32_EACH = 1 << 20 };
uint32_t nb_crc32_shared(uint32_t crc, const void *data, size_t bytes);

#endif
