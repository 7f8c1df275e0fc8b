/* stream.h - reading and writing the nb particle stream, version 1.0; nb-stream(5) is the specification.
 *
 * Library code: nothing is printed, nothing exits.  Reading has three answers, so that a broken stream
 * can not look like a short one.  A stream that a reader or writer gave up on must not be used further. */
#ifndef NB_STREAM_H
#define NB_STREAM_H

#include "formats/stream/fill.h"
#include "formats/stream/frame.h"
#include "formats/stream/names.h"
#include "formats/stream/nb.h"

#include <stdio.h>
#include <sys/types.h>

enum {
	NB_STREAM_MAJOR = 1,
	NB_STREAM_MINOR = 0,
	NB_HEADER_SIZE = 128,
	NB_ENTRY_SIZE = 128,
	NB_ALIGN = 64,
	NB_BLOCK = 128 << 10, /* bytes moved at once: small enough to stay in a core's cache */
	NB_MAX_ATTRIBUTE_BYTES = 16 << 20
};
#define NB_MAX_ROWS ((uint64_t)1 << 40)

enum { NB_ERROR_SIZE = 256 };

/* ---- reading ------------------------------------------------------------------------------------ */

struct nb_reader {
	int fd;
	uint64_t nframe; /* frames read so far in the whole input */
	uint64_t nbyte;	 /* bytes read so far */
	uint64_t begin;	 /* of which so many before the present frame, or what stands in its place */
	char error[NB_ERROR_SIZE];
	/* Called before a read that may have to wait, NULL: nobody.  1; or 0 if nothing more is to be read, as at the
	 * end of the input. */
	int (*wait)(void *context);
	void *context;
	/* Gets all bytes as they are read, NULL: nobody. */
	void (*tap)(void *context, const void *data, size_t bytes);
	void *tap_context;
	/* private */
	uint64_t ninner;	/* frames since the last end marker */
	uint64_t first;		/* number of the first frame of this input */
	int ended;		/* the last thing read was an end marker */
	unsigned char *map;	/* the input as a mapped file, or NULL */
	struct nb_owner *owner; /* of the map */
	size_t map_size, map_at;
	unsigned char *buffer;	/* for a pipe: NB_BLOCK bytes */
	unsigned char ahead[8]; /* of a pipe: bytes that nb_reader_is_stream has read ... */
	size_t nahead;		/* ... so many */
	uint64_t limit;		/* bytes one frame may have */
	size_t ncolumn, column; /* of the frame being read: how many, how many of them are read */
	int whole;		/* and whether its CRCs are read too */
	int passed;		/* all its bytes are behind the reader */
	size_t frame_at;	/* map_at where it begins */
	uint32_t crc[NB_MAX_COLUMNS];
};

/* Bytes that one frame may have: the machine's memory, or what the text (NULL or "": none) says, which is that of the
 * environment variable NB_MAX_FRAME; at most PTRDIFF_MAX.  NB_OK, or NB_EINVAL and 0 if it is no number. */
int nb_reader_limit(const char *text, uint64_t *bytes);
/* Starts reading fd (0 for stdin). A regular file is mapped from its current offset if that is a multiple of NB_ALIGN.
 * NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_reader_open(struct nb_reader *reader, int fd);
/* After a clean end: another input, which must hold a stream, is read as if it followed.  Frames are counted on.
 * NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_reader_go_on(struct nb_reader *reader, int fd);
/* Before anything is read: whether the input begins as a stream does, as far as it goes; it stays unread.  And bytes of
 * one that does not, as by read(2). */
int nb_reader_is_stream(struct nb_reader *reader);
ssize_t nb_reader_raw(struct nb_reader *reader, void *to, size_t most);
/* Reads a whole frame into *frame (cleared first); CRCs are verified. On NB_ERROR reader->error says why. */
enum nb_answer nb_reader_next(struct nb_reader *reader, struct nb_frame *frame);
/* The same in pieces, for tools that can begin before a frame is there, or need not hold it: reads attributes and
 * columns without contents ... */
enum nb_answer nb_reader_head(struct nb_reader *reader, struct nb_frame *frame);
/* ... then the contents of the first count columns, as far as they are not read yet (SIZE_MAX: all, which must be
 * the last call).  The CRCs are verified with the last column.  Columns may be added behind the others meanwhile, none
 * dropped ... */
enum nb_answer nb_reader_columns(struct nb_reader *reader, struct nb_frame *frame, size_t count);
/* ... or passes the contents column by column in blocks of at most NB_BLOCK bytes (of a mapped file, 1 MiB for each
 * thread) that end on row boundaries where a row fits, and verifies the CRCs. visit returns 0, or anything else to stop
 * (the answer is then NB_ERROR and reader->error is left to visit).  visit may be NULL. */
enum nb_answer nb_reader_body(struct nb_reader *reader, struct nb_frame *frame, nb_visit *visit, void *context);
/* ... or leaves them out, with their CRCs: damage there is not noticed. */
enum nb_answer nb_reader_skip(struct nb_reader *reader, struct nb_frame *frame);
/* After NB_ERROR goes on where a header with the right CRC begins, and counts the frames in between: 1; or 0, nothing
 * more can be read.  A mapped file is searched to its end; anything else goes on only behind a frame that was read to
 * its end, which has the wrong CRC of a column. */
int nb_reader_recover(struct nb_reader *reader);
/* A frame of this input that came in another way than through fd is counted as if it had been read ... */
enum nb_answer nb_reader_count(struct nb_reader *reader, struct nb_frame *frame);
/* ... without its bytes (nb_frame_bytes); and so is an end marker, with them. */
void nb_reader_count_end(struct nb_reader *reader);
/* 1 if no stream has begun that has not ended: the next frame must be the first of another one. */
int nb_reader_is_between(const struct nb_reader *reader);
void nb_reader_close(struct nb_reader *reader);

/* ---- other files, by their first bytes ----------------------------------------------------------- */

/* What the file is that begins with these bytes (8 are enough), and what to do with it, as "gzip: put 'gzip -dc'
 * before"; NULL: nothing that is known. */
const char *nb_foreign(const void *head, size_t n);
/* The same of ASCII text, which has no signature: NULL if these bytes are none. */
const char *nb_foreign_text(const void *head, size_t n);
/* Whether a particle stream begins so; of fewer bytes than its signature has, whether it may. */
int nb_is_stream(const void *head, size_t n);

/* ---- writing ------------------------------------------------------------------------------------ */

struct nb_writer {
	int fd;
	uint64_t nframe;
	uint64_t nbyte; /* bytes written so far; atomic: another thread may look */
	char error[NB_ERROR_SIZE];
	/* private */
	unsigned char *buffer;
	size_t used;
	const struct nb_frame *frame; /* being written block by block */
	size_t column;
	uint64_t at; /* bytes of the column written */
	uint32_t crc[NB_MAX_COLUMNS];
};

NB_MUST_CHECK int nb_writer_open(struct nb_writer *writer, int fd);
/* Bytes that a frame takes in a stream. */
uint64_t nb_frame_bytes(const struct nb_frame *frame);
/* Writes a whole frame. 0, or -1 with writer->error. */
NB_MUST_CHECK int nb_writer_next(struct nb_writer *writer, const struct nb_frame *frame);
/* The same in pieces, for tools that make a frame without holding it: begin with a frame whose columns have no
 * contents, then the wire bytes of each column in turn, in blocks of any size, then end.  By several threads: fill.h.
 */
NB_MUST_CHECK int nb_writer_begin(struct nb_writer *writer, const struct nb_frame *frame);
NB_MUST_CHECK int nb_writer_block(struct nb_writer *writer, const void *data, size_t bytes);
/* A block of one column, of which the caller knows the CRC-32. */
NB_MUST_CHECK int nb_writer_summed(struct nb_writer *writer, const void *data, size_t bytes, uint32_t crc);
NB_MUST_CHECK int nb_writer_end(struct nb_writer *writer);
/* Sends what is buffered on its way (after a frame that somebody waits for). */
NB_MUST_CHECK int nb_writer_flush(struct nb_writer *writer);
/* Writes the end marker, flushes, and closes fd, checking both. */
NB_MUST_CHECK int nb_writer_close(struct nb_writer *writer);
/* Releases memory without an end marker: after a failure. */
void nb_writer_abandon(struct nb_writer *writer);

#endif
