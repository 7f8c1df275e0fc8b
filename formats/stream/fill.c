#include "formats/stream/stream.h"

#include "common/cpu.h"
#include "common/mem.h"
#include "formats/stream/crc32_internal.h"

#include <pthread.h>

/* ---- in memory ---------------------------------------------------------------------------------- */

static size_t rows_at(const struct nb_column *column, uint64_t first, const struct nb_filler *filler)
{
	const uint64_t left = column->rows - first;
	return left < filler->rows ? (size_t)left : filler->rows;
}

int nb_frame_fill(struct nb_frame *frame, const struct nb_filler *filler)
{
	int status = NB_OK;
	for (size_t c = 0; c < frame->ncolumn && status == NB_OK; c++) {
		struct nb_column *column = &frame->column[c];
		unsigned char *to = nb_column_write(column, &nb_space_host, NB_WIRE);
		if (!to)
			return NB_ENOMEM;
#pragma omp parallel for schedule(dynamic)
		for (uint64_t first = 0; first < column->rows; first += filler->rows) {
			const size_t count = rows_at(column, first, filler);
			int got = filler->block(filler->context, column, first, count, to + first * column->rowsize);
			if (got) {
#pragma omp atomic write
				status = got;
			}
		}
	}
	return status;
}

/* ---- held by nobody ----------------------------------------------------------------------------- */

static int show_block(const struct nb_column *column, const struct nb_filler *filler, uint64_t first, void *data,
	nb_visit *visit, void *context)
{
	const size_t count = rows_at(column, first, filler);
	const int status = filler->block(filler->context, column, first, count, data);
	return status ? status : visit(context, column, first * column->rowsize, data, count * column->rowsize);
}

int nb_frame_visit(const struct nb_frame *frame, const struct nb_filler *filler, nb_visit *visit, void *context)
{
	int status = NB_OK;
	for (size_t c = 0; c < frame->ncolumn && status == NB_OK; c++) {
		const struct nb_column *column = &frame->column[c];
		if (column->rows == 0)
			continue;
#pragma omp parallel reduction(max : status) if (column->rows > filler->rows)
		{
			void *data = nb_alloc(filler->rows, column->rowsize);
			status = data ? NB_OK : NB_ENOMEM;
#pragma omp single
			status = data ? show_block(column, filler, 0, data, visit, context) : NB_ENOMEM;
#pragma omp for schedule(dynamic)
			for (uint64_t first = filler->rows; first < column->rows; first += filler->rows)
				if (status == NB_OK)
					status = show_block(column, filler, first, data, visit, context);
			nb_free(data);
		}
	}
	return status;
}

/* ---- on its way out ----------------------------------------------------------------------------- */

struct slot {
	unsigned char *data;
	size_t bytes;
	uint32_t crc;
	int status; /* of making it */
	int ready;
};

/* A ring of blocks.  Threads take the next block of all columns in turn and make it in its slot; whoever completes the
 * one that is due writes it and those behind it. */
struct ring {
	struct nb_writer *writer;
	const struct nb_frame *frame;
	const struct nb_filler *filler;
	struct slot *slot;
	uint64_t slots;
	pthread_mutex_t lock; /* for what follows, and the ready flags */
	pthread_cond_t written;
	size_t column; /* where the next block begins */
	uint64_t row;
	uint64_t nmade, nwritten; /* blocks begun to be made, blocks written */
	int writing, failed;
	int status; /* of the block that failed; NB_OK: the writer knows why */
};

/* With the lock held: moves to the next block; 0 if there is none. */
static int more(struct ring *ring)
{
	const struct nb_frame *frame = ring->frame;
	while (ring->column < frame->ncolumn && ring->row >= frame->column[ring->column].rows) {
		ring->column++;
		ring->row = 0;
	}
	return ring->column < frame->ncolumn;
}

/* With the lock held, which is free meanwhile: makes the next block. */
static void make_block(struct ring *ring)
{
	const struct nb_filler *filler = ring->filler;
	const struct nb_column *column = &ring->frame->column[ring->column];
	const uint64_t first = ring->row;
	const size_t count = rows_at(column, first, filler);
	struct slot *slot = &ring->slot[ring->nmade++ % ring->slots];
	ring->row += count;
	pthread_mutex_unlock(&ring->lock);
	slot->bytes = count * column->rowsize;
	slot->status = filler->block(filler->context, column, first, count, slot->data);
	slot->crc = nb_crc32(0, slot->data, slot->bytes);
	pthread_mutex_lock(&ring->lock);
	slot->ready = 1;
}

/* With the lock held, which is free meanwhile: writes what is due. */
static void write_due(struct ring *ring)
{
	if (ring->writing)
		return;
	ring->writing = 1;
	while (!ring->failed && ring->slot[ring->nwritten % ring->slots].ready) {
		struct slot *slot = &ring->slot[ring->nwritten % ring->slots];
		pthread_mutex_unlock(&ring->lock);
		int failed = slot->status || nb_writer_summed(ring->writer, slot->data, slot->bytes, slot->crc);
		pthread_mutex_lock(&ring->lock);
		ring->failed = failed;
		ring->status = slot->status;
		slot->ready = 0;
		ring->nwritten++;
		if (failed)
			pthread_cond_broadcast(&ring->written);
		else /* one slot is free, for one thread */
			pthread_cond_signal(&ring->written);
	}
	ring->writing = 0;
}

static void work(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	for (;;) {
		while (!ring->failed && more(ring) && ring->nmade - ring->nwritten >= ring->slots)
			pthread_cond_wait(&ring->written, &ring->lock);
		if (ring->failed || !more(ring))
			break;
		make_block(ring);
		write_due(ring);
	}
	pthread_cond_broadcast(&ring->written); /* there is no more */
	pthread_mutex_unlock(&ring->lock);
}

static void free_slots(struct ring *ring)
{
	if (ring->slot)
		nb_free(ring->slot[0].data);
	nb_free(ring->slot);
}

/* One allocation for all blocks. */
static int make_slots(struct ring *ring, int threads)
{
	size_t widest = 1, bytes;
	for (size_t c = 0; c < ring->frame->ncolumn; c++)
		if (ring->frame->column[c].rowsize > widest)
			widest = ring->frame->column[c].rowsize;
	if (nb_mul_overflow(widest, ring->filler->rows, &bytes) || bytes > SIZE_MAX - NB_ALIGN)
		return NB_ENOMEM;
	bytes = (bytes + NB_ALIGN - 1) / NB_ALIGN * NB_ALIGN;
	ring->slots = threads > 1 ? (uint64_t)threads + 6 : 1;
	ring->slot = nb_alloc_zero(ring->slots, sizeof *ring->slot);
	unsigned char *data = ring->slot ? nb_alloc(ring->slots, bytes) : NULL;
	for (uint64_t k = 0; data && k < ring->slots; k++)
		ring->slot[k].data = data + k * bytes;
	return data ? NB_OK : NB_ENOMEM;
}

static int run_threads(struct ring *ring, int threads)
{
	if (pthread_mutex_init(&ring->lock, NULL))
		return NB_ENOMEM;
	if (pthread_cond_init(&ring->written, NULL)) {
		pthread_mutex_destroy(&ring->lock);
		return NB_ENOMEM;
	}
#pragma omp parallel num_threads(threads)
	work(ring);
	pthread_cond_destroy(&ring->written);
	pthread_mutex_destroy(&ring->lock);
	return ring->status;
}

int nb_writer_fill(struct nb_writer *writer, const struct nb_frame *frame, const struct nb_filler *filler)
{
	struct ring ring = {.writer = writer, .frame = frame, .filler = filler};
	int threads = 1;
	for (size_t c = 0; c < frame->ncolumn; c++)
		if (frame->column[c].rows > filler->rows)
			threads = nb_cpu_threads();
	if (nb_writer_begin(writer, frame))
		return -1;
	int status = make_slots(&ring, threads);
	if (!status)
		status = run_threads(&ring, threads);
	free_slots(&ring);
	if (status)
		snprintf(writer->error, sizeof writer->error, "%s", nb_status_text(status));
	return status || ring.failed ? -1 : nb_writer_end(writer);
}
