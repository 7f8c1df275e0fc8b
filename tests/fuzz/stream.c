/* The reader of the particle stream, from a file and through a pipe, which must agree; then nb-stats --check; then the
 * writer, whose stream must read back as the same frames. */
#include "tests/fuzz/mend.h"

/* How many bodies come in pieces does not matter here: only that they come. */
static int visit(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	uint64_t *seen = context;
	REQUIRE(offset + bytes <= column->rows * column->rowsize);
	*seen += libdeflate_crc32(0, data, bytes);
	return 0;
}

/* Through a pipe, without keeping frames. */
static enum nb_answer skim(int fd, uint64_t *nframe)
{
	struct nb_reader reader;
	struct nb_frame frame;
	enum nb_answer answer;
	uint64_t seen = 0;
	nb_frame_init(&frame);
	REQUIRE(nb_reader_open(&reader, fd) == NB_OK);
	while ((answer = nb_reader_head(&reader, &frame)) == NB_FRAME &&
		(answer = nb_reader_body(&reader, &frame, visit, &seen)) == NB_FRAME)
		;
	*nframe = reader.nframe;
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
	return answer;
}

static void compare_written(int fd, int copies, struct nb_frame *want, uint64_t count)
{
	struct nb_reader reader;
	struct nb_frame frame;
	nb_frame_init(&frame);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0 && nb_reader_open(&reader, fd) == NB_OK);
	for (uint64_t k = 0; k < count; k++) {
		REQUIRE(nb_reader_next(&reader, &frame) == NB_FRAME);
		if (k < (uint64_t)copies)
			REQUIRE(fuzz_same_columns(&frame, &want[k]) && fuzz_same_attributes(&frame, &want[k]));
	}
	REQUIRE(nb_reader_next(&reader, &frame) == NB_END);
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { KEPT = 4 };
	static char *check[] = {"nb-stats", "--check", NULL};
	struct nb_frame kept[KEPT], frame;
	struct nb_reader reader;
	struct nb_writer writer;
	enum nb_answer answer;
	fuzz_silence();
	const int fd = fuzz_file(data, size), out = memfd_create("output", MFD_CLOEXEC);
	struct nb_run *run = fuzz_run(nb_tool_find("nb-stats"), 2, check);
	int copies = 0, checked = 0, written = 0;
	nb_frame_init(&frame);
	REQUIRE(out >= 0 && nb_reader_open(&reader, fd) == NB_OK && nb_writer_open(&writer, dup(out)) == NB_OK);
	while ((answer = nb_reader_next(&reader, &frame)) == NB_FRAME) {
		fuzz_look(&frame);
		written |= nb_writer_next(&writer, &frame);
		if (copies < KEPT) {
			nb_frame_init(&kept[copies]);
			REQUIRE(nb_frame_share(&kept[copies++], &frame) == NB_OK);
		}
		if (!checked)
			checked = nb_run_frame(run, &frame);
	}
	REQUIRE(answer == NB_END || *reader.error);
	if (answer == NB_END && !written) {
		REQUIRE(nb_writer_close(&writer) == 0);
		compare_written(out, copies, kept, reader.nframe);
	} else {
		nb_writer_abandon(&writer);
		close(writer.fd);
	}
	const int pipe = fuzz_pipe(data, size);
	if (pipe >= 0) {
		uint64_t nframe;
		REQUIRE(skim(pipe, &nframe) == answer && nframe == reader.nframe);
		close(pipe);
	}
	for (int k = 0; k < copies; k++)
		nb_frame_clear(&kept[k]);
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
	nb_run_free(run);
	close(fd);
	close(out);
	return 0;
}
