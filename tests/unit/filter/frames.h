/* frames.h - frames of bodies, on the host or in the fake place of fake.h, their bytes, and command lines; a program
 * may define N, the number of bodies, before. */
#ifndef NB_FILTER_FRAMES_H
#define NB_FILTER_FRAMES_H

#include "tools/filter/filter.h"

#include "tests/unit/filter/fake_body.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef N
#define N 3000
#endif

/* ---- frames ------------------------------------------------------------------------------------- */

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

static void fill(struct nb_frame *frame, enum nb_field field, const char *dtype, double scale, uint64_t *state)
{
	struct nb_column *column = nb_frame_add_field(frame, field, dtype, 0);
	double *x = nb_column_write(column, &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < column->rows * column->ncomp; i++)
		x[i] = scale * uniform(state);
}

/* Bodies in a cube (dim 2: a square), with a column that no tool knows. */
static void make_bodies(struct nb_frame *frame, const char *real, int dim)
{
	uint64_t state = 7;
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = N;
	uint32_t *id = nb_column_write(nb_frame_add_field(frame, NB_ID, "<u4", 0), &nb_space_host, NB_WIRE);
	for (uint32_t i = 0; i < N; i++)
		id[i] = 3 * i + 5;
	fill(frame, NB_MASS, real, 1, &state);
	fill(frame, NB_POS, real, 1, &state);
	fill(frame, NB_VEL, real, 0.1, &state);
	fill(frame, NB_RADIUS, real, 1e-4, &state);
	fill(frame, NB_SPECIES, NULL, 5, &state);
	uint16_t *mark = nb_column_write(
		nb_frame_add(frame, "mark", NB_PARTICLE, "<u2", 3, "", 0), &nb_space_host, NB_WIRE);
	for (size_t i = 0; i < 3 * N; i++)
		mark[i] = (uint16_t)(uniform(&state) * 65536);
	if (dim == 2) {
		double *pos = nb_column_update(nb_frame_field(frame, NB_POS), &nb_space_host, NB_AS_F64);
		for (size_t i = 0; i < N; i++)
			pos[3 * i + 2] = 0;
	}
	CHECK(nb_frame_round(frame) == NB_OK);
	CHECK(nb_frame_set_attribute_f64(frame, "dim", dim) == NB_OK);
}

/* All columns to the fake place, and nowhere else. */
static void move_away(struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++)
		CHECK(nb_column_update(&frame->column[c], nb_fake_backend.space, NB_WIRE) != NULL);
}

struct bytes {
	char *data;
	size_t size;
};

/* The frame as it would be in a stream. */
static struct bytes stream_of(const struct nb_frame *frame)
{
	struct nb_writer writer;
	struct stat st;
	struct bytes bytes = {NULL, 0};
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600), copy = dup(fd);
	CHECK(nb_writer_open(&writer, fd) == NB_OK);
	CHECK(nb_writer_next(&writer, frame) == 0);
	CHECK(nb_writer_close(&writer) == 0);
	CHECK(fstat(copy, &st) == 0);
	bytes.size = (size_t)st.st_size;
	bytes.data = malloc(bytes.size);
	CHECK(pread(copy, bytes.data, bytes.size, 0) == (ssize_t)bytes.size);
	close(copy);
	return bytes;
}

struct words {
	char text[200];
	char *word[24];
	int n;
};

static void split(const char *command, struct words *words)
{
	snprintf(words->text, sizeof words->text, "%s", command);
	words->n = 0;
	for (char *word = strtok(words->text, " "); word; word = strtok(NULL, " "))
		words->word[words->n++] = word;
	words->word[words->n] = NULL;
}

#endif
