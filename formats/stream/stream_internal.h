/* stream_internal.h - what reader and writer of the particle stream share; private.  Integers are coded and decoded
 * byte by byte, so the code does not depend on the layout of a struct; column contents are little-endian as they lie,
 * which nb_reader_head checks. */
#ifndef NB_STREAM_INTERNAL_H
#define NB_STREAM_INTERNAL_H

#include "formats/stream/stream.h"

static const unsigned char magic[8] = {0x89, 'N', 'B', 'S', '\r', '\n', 0x1a, '\n'};

enum { KIND_FRAME = 1, KIND_END = 2 };

/* byte offsets in the fixed header and in a directory entry: the tables of nb-stream(5) */
enum {
	H_MAGIC = 0,
	H_MAJOR = 8,
	H_MINOR = 10,
	H_HEADER_SIZE = 12,
	H_KIND = 16,
	H_CRC = 20,
	H_NUMBER = 24,
	H_ROWS = 32, /* three u64: particle, node, box */
	H_ATTRIBUTE_BYTES = 56,
	H_NCOLUMN = 64,
	H_ENTRY_SIZE = 68,
	H_BODY_BYTES = 72
};
enum { E_NAME = 0, E_DTYPE = 32, E_TABLE = 40, E_NCOMP = 44, E_FLAGS = 48, E_UNIT = 56, E_OFFSET = 80, E_BYTES = 88 };
enum { MAX_HEADER_SIZE = 4096 };

static inline uint16_t load16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t load32(const unsigned char *p)
{
	return (uint32_t)load16(p) | (uint32_t)load16(p + 2) << 16;
}

static inline uint64_t load64(const unsigned char *p)
{
	return (uint64_t)load32(p) | (uint64_t)load32(p + 4) << 32;
}

static inline void store16(unsigned char *p, uint16_t x)
{
	p[0] = (unsigned char)x;
	p[1] = (unsigned char)(x >> 8);
}

static inline void store32(unsigned char *p, uint32_t x)
{
	store16(p, (uint16_t)x);
	store16(p + 2, (uint16_t)(x >> 16));
}

static inline void store64(unsigned char *p, uint64_t x)
{
	store32(p, (uint32_t)x);
	store32(p + 4, (uint32_t)(x >> 32));
}

static inline uint64_t align_up(uint64_t bytes)
{
	return (bytes + NB_ALIGN - 1) / NB_ALIGN * NB_ALIGN;
}

/* More bytes no frame has, whatever the limit: sums of sizes below it stay in any type. */
static const uint64_t NB_COUNTABLE = PTRDIFF_MAX;

/* ---- stream.c ---- */

/* Writes a message into error, which has NB_ERROR_SIZE bytes, and returns NB_ERROR. */
enum nb_answer nb_stream_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Gives a pipe more room.  With the default pipe of 64 KiB the two processes take turns, at a quarter of the speed.
 * Harmless if fd is not a pipe, or if the system refuses. */
void nb_stream_widen_pipe(int fd);

/* ---- reader.c ---- */

/* So many bytes have been read, which are there now. */
void nb_reader_note(struct nb_reader *reader, const void *data, size_t bytes);
/* Reads up to bytes into to; less only at the end of input or after an error (*failed). */
size_t nb_reader_pull(struct nb_reader *reader, void *to, size_t bytes, int *failed);
/* All of bytes, 0; or -1 with an error that names the part. */
int nb_reader_pull_all(struct nb_reader *reader, void *to, size_t bytes, const char *part);
/* The errors of an input that ends too early: NB_ERROR. */
/* An answer about what has been read: of a mapped file that has become shorter, an error is that, as what is behind its
 * new end in a page is read as zeros. */
enum nb_answer nb_reader_judge(struct nb_reader *reader, enum nb_answer answer);
enum nb_answer nb_reader_ends_in(struct nb_reader *reader, const char *part, size_t got, size_t bytes);
enum nb_answer nb_reader_ends_in_column(struct nb_reader *reader, const struct nb_column *column, size_t got);

/* ---- header.c ---- */

/* What the fixed part of a header says of the rest. */
struct nb_header {
	unsigned char bytes[NB_HEADER_SIZE];
	uint32_t size, kind, ncolumn, entry_size;
	uint64_t attribute_bytes;
	size_t whole; /* bytes of the header with attributes and directory */
};

/* NB_FRAME: there is a header, and its sizes are possible; NB_END: the input has ended, and was to. */
enum nb_answer nb_header_read_fixed(struct nb_reader *reader, struct nb_header *fixed);
/* The rest of the header into head, which has room for the whole; its CRC and number are right. */
enum nb_answer nb_header_read_rest(struct nb_reader *reader, const struct nb_header *fixed, unsigned char *head);

#endif
