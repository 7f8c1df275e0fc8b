/* Frames made by several threads: on the way out the same bytes as in memory, in order, for any number of threads. */
#include "formats/stream/stream.h"

#include "common/cpu.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

static char path[] = "/tmp/nb-unit-fill-XXXXXX";

struct job {
	uint64_t fail_at; /* row of column pos whose block fails; UINT64_MAX: none */
	int status;	  /* with this */
	_Atomic uint64_t calls, rows, at_once, most_at_once;
};

/* Bytes that tell column, row and place; some blocks take longer. */
static int fill(void *context, const struct nb_column *column, uint64_t first, size_t count, void *to)
{
	struct job *job = context;
	unsigned char *bytes = to;
	const uint64_t now = ++job->at_once;
	for (uint64_t most = job->most_at_once;
		now > most && !atomic_compare_exchange_weak(&job->most_at_once, &most, now);)
		;
	if ((first / 100 + column->ncomp) % 7 == 0)
		usleep(200);
	for (size_t i = 0; i < count * column->rowsize; i++)
		bytes[i] = (unsigned char)((first * column->rowsize + i) * 31 + (unsigned char)column->name[0]);
	job->calls++;
	job->rows += count;
	job->at_once--;
	const int is_pos = strcmp(column->name, "pos") == 0;
	return is_pos && job->fail_at >= first && job->fail_at < first + count ? job->status : NB_OK;
}

/* n bodies, no nodes, 3 boxes: columns of three lengths. */
static void describe(struct nb_frame *frame, size_t n)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = n;
	frame->rows[NB_BOX] = 3;
	CHECK(nb_frame_set_attribute(frame, "note", "made in blocks") == NB_OK);
	CHECK(nb_frame_add_field(frame, NB_NODE_MASS, NULL, 0) && nb_frame_add_field(frame, NB_ID, NULL, 0) &&
		nb_frame_add_field(frame, NB_BOX_FIRST, NULL, 0) && nb_frame_add_field(frame, NB_POS, "<f4", 0) &&
		nb_frame_add(frame, "odd", NB_PARTICLE, "|V3", 5, "", 0));
}

static size_t read_file(unsigned char **bytes)
{
	FILE *file = fopen(path, "rb");
	fseek(file, 0, SEEK_END);
	const size_t size = (size_t)ftell(file);
	rewind(file);
	*bytes = malloc(size + 1);
	CHECK(fread(*bytes, 1, size, file) == size);
	fclose(file);
	return size;
}

/* The stream of one frame, made in memory or on the way out. */
static size_t stream_of(size_t n, size_t rows, int in_memory, unsigned char **bytes)
{
	struct job job = {.fail_at = UINT64_MAX};
	const struct nb_filler filler = {.rows = rows, .block = fill, .context = &job};
	struct nb_frame frame;
	struct nb_writer writer;
	describe(&frame, n);
	CHECK(nb_writer_open(&writer, open(path, O_WRONLY | O_TRUNC)) == NB_OK);
	if (in_memory)
		CHECK(nb_frame_fill(&frame, &filler) == NB_OK && nb_writer_next(&writer, &frame) == 0);
	else
		CHECK(nb_writer_fill(&writer, &frame, &filler) == 0);
	CHECK(nb_writer_close(&writer) == 0);
	CHECK(job.rows == 3 * n + 3); /* each row once */
	CHECK(job.calls == 3 * ((n + rows - 1) / rows) + (3 + rows - 1) / rows);
	if (!in_memory && n <= rows)
		CHECK(n == 0 || job.most_at_once == 1);
	nb_frame_clear(&frame);
	return read_file(bytes);
}

static void test_same_bytes(void)
{
	static const size_t sizes[] = {0, 1, 99, 100, 101, 25000};
	static const int threads[] = {1, 2, 3, 16};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
			unsigned char *memory, *out;
			nb_cpu_set_threads(threads[t]);
			const size_t a = stream_of(sizes[s], 100, 1, &memory), b = stream_of(sizes[s], 100, 0, &out);
			CHECK(a == b && memcmp(memory, out, a) == 0);
			free(out);
			/* nor does the size of a block matter */
			const size_t c = stream_of(sizes[s], 37, 0, &out);
			CHECK(a == c && memcmp(memory, out, a) == 0);
			free(out);
			free(memory);
		}
	nb_cpu_set_threads(0);
}

static void test_failures(void)
{
	for (int threads = 1; threads <= 5; threads += 2) {
		struct job job = {.fail_at = 5000, .status = NB_ENOMEM};
		const struct nb_filler filler = {.rows = 100, .block = fill, .context = &job};
		struct nb_frame frame;
		struct nb_writer writer;
		nb_cpu_set_threads(threads);
		/* the filler: nothing behind the block that failed is written, and no more than the ring holds is made
		 */
		describe(&frame, 100000);
		CHECK(nb_writer_open(&writer, open(path, O_WRONLY | O_TRUNC)) == NB_OK);
		CHECK(nb_writer_fill(&writer, &frame, &filler) == -1);
		CHECK(strcmp(writer.error, nb_status_text(NB_ENOMEM)) == 0);
		CHECK(job.calls <= 1000 + 1 + 51 + (uint64_t)threads + 6);
		close(writer.fd);
		nb_writer_abandon(&writer);
		CHECK(nb_frame_fill(&frame, &filler) == NB_ENOMEM);
		/* the disk */
		job.fail_at = UINT64_MAX;
		CHECK(nb_writer_open(&writer, open("/dev/full", O_WRONLY)) == NB_OK);
		CHECK(nb_writer_fill(&writer, &frame, &filler) == -1);
		CHECK(strncmp(writer.error, "write error: ", 13) == 0);
		close(writer.fd);
		nb_writer_abandon(&writer);
		nb_frame_clear(&frame);
	}
	nb_cpu_set_threads(0);
}

/* What is shown of a column, and whether its first block came alone. */
struct shown {
	struct nb_frame *frame;
	unsigned char *pos;
	_Atomic uint64_t bytes, begun, early;
	uint64_t stop_at; /* bytes of this many blocks; then visit fails */
};

static int show(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	struct shown *shown = context;
	const uint64_t begun = ++shown->begun;
	if (offset == 0)
		usleep(2000);
	shown->early += offset == 0 && shown->begun != begun;
	shown->bytes += bytes;
	if (column->field == NB_POS)
		memcpy(shown->pos + offset, data, bytes);
	return begun >= shown->stop_at ? NB_EINVAL : NB_OK;
}

static void test_visits(void)
{
	static const size_t sizes[] = {0, 1, 100, 101, 25000};
	static const int threads[] = {1, 3, 16};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
			const size_t n = sizes[s], size = 12 * n;
			struct job job = {.fail_at = UINT64_MAX};
			const struct nb_filler filler = {.rows = 100, .block = fill, .context = &job};
			struct nb_frame frame;
			struct shown shown = {.frame = &frame, .pos = calloc(size + 1, 1), .stop_at = UINT64_MAX};
			nb_cpu_set_threads(threads[t]);
			describe(&frame, n);
			CHECK(nb_frame_visit(&frame, &filler, show, &shown) == NB_OK);
			CHECK(job.rows == 3 * n + 3 && shown.early == 0);
			CHECK(shown.bytes == n * (8 + 12 + 15) + 3 * nb_frame_find(&frame, "box_first")->rowsize);
			CHECK(nb_frame_fill(&frame, &filler) == NB_OK);
			CHECK(memcmp(nb_column_read(nb_frame_field(&frame, NB_POS), &nb_space_host, NB_WIRE), shown.pos,
				      size) == 0);
			shown.stop_at = shown.begun / 2;
			shown.begun = 0;
			CHECK(n < 25000 || nb_frame_visit(&frame, &filler, show, &shown) == NB_EINVAL);
			CHECK(n < 25000 || shown.begun < shown.stop_at + 16 + 3);
			job.fail_at = 0;
			CHECK(n == 0 || nb_frame_visit(&frame, &filler, show, &shown) != NB_OK);
			free(shown.pos);
			nb_frame_clear(&frame);
		}
	nb_cpu_set_threads(0);
}

int main(void)
{
	const int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	test_same_bytes();
	test_visits();
	test_failures();
	unlink(path);
	return unit_end();
}
