/* The functions of nb.h, which other programs see: what they give, and what they refuse. */
#include "formats/stream/stream.h"

#include "tests/unit/unit.h"

#include <unistd.h>

static const uint64_t ids[4] = {7, UINT64_MAX, 2, 3};

static struct nb_frame *make_frame(void)
{
	struct nb_frame *frame = nb_frame_new(4);
	memcpy(nb_frame_make(frame, "id", "<u8", 1, "", 0), ids, sizeof ids);
	double *pos = nb_frame_make(frame, "pos", "<f8", 3, "length", 0);
	float *size = nb_frame_make(frame, "size", "<f4", 1, "kpc", 1);
	for (int i = 0; i < 12; i++)
		pos[i] = i;
	for (int i = 0; i < 4; i++)
		size[i] = (float)i / 4;
	memset(nb_frame_make(frame, "word", "|S3", 1, "", 0), 'x', 12);
	double *acc = nb_frame_make(frame, "acc", "<f8", 3, "", 0);
	memset(acc, 0, 12 * sizeof *acc);
	CHECK(nb_frame_set_attribute_f64(frame, "time", 1.5) == 0 &&
		nb_frame_set_attribute(frame, "note", "a\nb") == 0);
	return frame;
}

static void test_columns(void)
{
	struct nb_frame *frame = make_frame();
	struct nb_column_shape s;
	CHECK(nb_frame_bodies(frame) == 4);
	CHECK(nb_frame_shape(frame, 2, &s) && strcmp(s.name, "size") == 0 && strcmp(s.type, "<f4") == 0 &&
		strcmp(s.unit, "kpc") == 0 && s.rows == 4 && s.components == 1 && s.derived && s.of_bodies);
	CHECK(nb_frame_shape(frame, 4, &s) && s.derived && !nb_frame_shape(frame, 5, &s));
	CHECK(nb_frame_get_u64(frame, "id", 1)[1] == UINT64_MAX && nb_frame_get_f64(frame, "id", 1)[2] == 2);
	nb_frame_change_f64(frame, "size", 1)[3] = 0.1;
	CHECK(((float *)nb_frame_change(frame, "size"))[3] == 0.1f && nb_frame_get_f64(frame, "size", 1)[3] == 0.1f);
	CHECK(!nb_frame_change_f64(frame, "id", 1) && !nb_frame_get_u64(frame, "size", 1));
	CHECK(!nb_frame_get_f64(frame, "pos", 1) && !nb_frame_get_f64(frame, "word", 1) &&
		!nb_frame_change(frame, "no"));
	CHECK(!nb_frame_make(frame, "", "<f8", 1, "", 0) && !nb_frame_make(frame, "two words", "<f8", 1, "", 0) &&
		!nb_frame_make(frame, "x", ">f8", 1, "", 0) && !nb_frame_make(frame, "node_mass", "<f8", 1, "", 0));
	CHECK(strcmp(nb_frame_lacks(frame, "vel", 3), "field 'vel' missing (stream has: id, pos, size, word, acc)") ==
		0);
	CHECK(nb_frame_set_attribute(frame, "missing_vel", "it stays there") == 0);
	CHECK(strcmp(nb_frame_lacks(frame, "vel", 3), "field 'vel' missing (it stays there)") == 0);
	CHECK(strcmp(nb_frame_lacks(frame, "pos", 1),
		      "field 'pos' of the particle table has type '<f8' and 3 components") == 0);
	CHECK(strstr(nb_frame_lacks(frame, "id", 1), "'id' of type '<u8' does not fit") != NULL);
	nb_frame_drop_derived(frame);
	CHECK(nb_frame_shape(frame, 2, &s) && strcmp(s.name, "word") == 0 && !nb_frame_shape(frame, 3, &s));
	nb_frame_free(frame);
}

static void test_select(void)
{
	static const uint32_t row[3] = {3, 0, 3}, far[1] = {4};
	struct nb_frame *frame = make_frame();
	CHECK(nb_frame_select(frame, 1, far) == NB_EINVAL && nb_frame_bodies(frame) == 4);
	memcpy(nb_frame_make(frame, "key", "<u8", 1, "", 1), ids, sizeof ids);
	CHECK(nb_frame_select(frame, 3, row) == 0 && nb_frame_bodies(frame) == 3);
	CHECK(!nb_frame_get_u64(frame, "key", 1)); /* in another order it is no key */
	CHECK(nb_frame_get_u64(frame, "id", 1)[0] == 3 && nb_frame_get_f64(frame, "pos", 3)[4] == 1);
	CHECK(nb_frame_select(frame, 0, row) == 0 && nb_frame_get_f64(frame, "pos", 3) != NULL);
	nb_frame_free(frame);
}

/* What one end of a pipe writes, the other reads; a stream without its end marker is truncated. */
static void test_streams(void)
{
	for (int ends = 0; ends < 2; ends++) {
		int fd[2];
		double time;
		struct nb_frame *frame = make_frame(), *got = nb_frame_new(0);
		CHECK(pipe(fd) == 0);
		struct nb_writer *writer = nb_writer_new(fd[1]);
		struct nb_reader *reader = nb_reader_new(fd[0]);
		CHECK(nb_writer_send(writer, frame) == 0 && nb_reader_next(reader, got) == NB_FRAME);
		CHECK(memcmp(nb_frame_get_u64(got, "id", 1), ids, sizeof ids) == 0);
		CHECK(nb_frame_attribute_f64(got, "time", 0, &time) == 0 && time == 1.5 &&
			strcmp(nb_frame_attribute(got, "note"), "a\nb") == 0);
		if (ends)
			CHECK(nb_writer_close(writer) == 0);
		else
			close(fd[1]);
		nb_writer_free(writer);
		CHECK(nb_reader_next(reader, got) == (ends ? NB_END : NB_ERROR));
		CHECK(ends || strstr(nb_reader_error(reader), "truncated stream") != NULL);
		nb_reader_free(reader);
		close(fd[0]);
		nb_frame_free(frame);
		nb_frame_free(got);
	}
	struct nb_writer *writer = nb_writer_new(-1);
	CHECK(nb_writer_close(writer) == -1 && strstr(nb_writer_error(writer), "Bad file descriptor") != NULL);
	nb_writer_free(writer);
	nb_writer_free(NULL);
	nb_reader_free(NULL);
	nb_frame_free(NULL);
}

int main(void)
{
	test_columns();
	test_select();
	test_streams();
	return unit_end();
}
