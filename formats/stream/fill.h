/* fill.h - frames whose contents several threads make block by block: in memory, or written in order without holding
 * the frame.  A part of stream.h. */
#ifndef NB_STREAM_FILL_H
#define NB_STREAM_FILL_H

#include "common/status.h"
#include "formats/stream/frame.h"

struct nb_writer;

/* Makes rows [first, first + count) of a column, count * column->rowsize bytes in wire form, 64-byte aligned if rows
 * (below) is a multiple of 64.  Called by any number of threads at once, each row once.  Returns 0, or an enum
 * nb_status, which ends the work. */
typedef int nb_fill_block(void *context, const struct nb_column *column, uint64_t first, size_t count, void *to);

struct nb_filler {
	size_t rows; /* of a block; the last of a column may have fewer */
	nb_fill_block *block;
	void *context;
};

/* Fills all columns of a frame that has attributes and columns without contents, in host memory.  NB_OK, NB_ENOMEM, or
 * what the filler returned. */
NB_MUST_CHECK int nb_frame_fill(struct nb_frame *frame, const struct nb_filler *filler);
/* A part of a column, from the byte offset on.  0; anything else ends the work. */
typedef int nb_visit(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes);
/* Shows the blocks that nb_frame_fill would make to visit, while each is in the cache of the thread that made it, and
 * holds none.  Column after column, of which the first block is alone; the others come in any order, to any number of
 * threads at once.  NB_OK, NB_ENOMEM, or the largest of what the filler and visit returned. */
NB_MUST_CHECK int nb_frame_visit(
	const struct nb_frame *frame, const struct nb_filler *filler, nb_visit *visit, void *context);
/* Writes the frame that nb_frame_fill would make.  Only threads + 6 blocks exist at a time: they are made ahead of
 * the writing as far as there is room, while still in cache, and a thread that has to wait sleeps, since the reader of
 * a pipe needs the processor.  0, or -1 with writer->error. */
NB_MUST_CHECK int nb_writer_fill(
	struct nb_writer *writer, const struct nb_frame *frame, const struct nb_filler *filler);

#endif
