/* What a frame and a writer refuse, and a stream that cannot be written, wherever that is found out. */
#include "formats/stream/crc32_internal.h"
#include "formats/stream/stream.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static void init(struct nb_frame *frame, size_t rows)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = rows;
}

static struct nb_column *add(
	struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp, const char *unit)
{
	return nb_frame_add(frame, name, NB_PARTICLE, dtype, ncomp, unit, 0);
}

/* A column of bytes, all 1; bytes is a number of rows. */
static void add_bytes(struct nb_frame *frame, const char *name)
{
	struct nb_column *column = add(frame, name, "|u1", 1, "");
	void *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	CHECK(data != NULL);
	if (data)
		memset(data, 1, column->rows);
}

static void test_columns(void)
{
	static const char long_name[] = "a name of thirty-three characters", long_unit[] = "a unit of 25 characters..";
	struct nb_frame frame;
	char name[40], list[64], few[3];
	init(&frame, 10);
	CHECK(!add(&frame, "x", "<f9x", 1, "") && !add(&frame, "x", "<f8", 0, ""));
	CHECK(strlen(long_name) == 33 && !add(&frame, long_name, "<f8", 1, "") &&
		add(&frame, long_name + 1, "<f8", 1, ""));
	CHECK(strlen(long_unit) == 25 && !add(&frame, "x", "<f8", 1, long_unit) &&
		add(&frame, "x", "<f8", 1, long_unit + 1));
	frame.rows[NB_PARTICLE] = SIZE_MAX / 8;
	CHECK(!add(&frame, "y", "<f8", 2, "") && !add(&frame, "y", "|S4096", UINT32_MAX, ""));
	frame.rows[NB_PARTICLE] = 1;
	for (int i = (int)frame.ncolumn; i < NB_MAX_COLUMNS; i++) {
		snprintf(name, sizeof name, "column%d", i);
		CHECK(add(&frame, name, "|u1", 1, "") != NULL);
	}
	CHECK(!add(&frame, "one too many", "|u1", 1, "") && add(&frame, "x", "|u1", 1, "") != NULL);
	/* a list that is cut says so, if there is room for that */
	const char *cut = nb_frame_list(&frame, list, sizeof list);
	CHECK(cut == list && strlen(cut) == sizeof list - 1 && strcmp(cut + sizeof list - 4, "...") == 0);
	CHECK(strlen(nb_frame_list(&frame, few, sizeof few)) == 2);
	nb_frame_clear(&frame);
	CHECK(strcmp(nb_frame_list(&frame, list, sizeof list), "") == 0);
}

/* What describes trees and keys goes with them; what only begins like it stays. */
static void test_tree_attributes(void)
{
	static const char *const gone[] = {"tree", "leaf_size", "level", "order"};
	static const char *const stay[] = {"time", "t", "label", "l", "origin", "levels", "note"};
	struct nb_frame frame;
	init(&frame, 1);
	for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
		CHECK(nb_frame_set_attribute(&frame, gone[k], "1") == NB_OK);
	for (size_t k = 0; k < sizeof stay / sizeof *stay; k++)
		CHECK(nb_frame_set_attribute(&frame, stay[k], "1") == NB_OK);
	nb_frame_drop_tree(&frame);
	for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
		CHECK(!nb_frame_attribute(&frame, gone[k]));
	for (size_t k = 0; k < sizeof stay / sizeof *stay; k++)
		CHECK(nb_frame_attribute(&frame, stay[k]) != NULL);
	nb_frame_clear(&frame);
}

static void fails_to_write(const struct nb_frame *frame, const char *want)
{
	struct nb_writer writer;
	CHECK(nb_writer_open(&writer, open("/dev/null", O_WRONLY)) == NB_OK);
	CHECK(nb_writer_next(&writer, frame) == -1);
	unit_checked++;
	if (!strstr(writer.error, want)) {
		unit_failed++;
		fprintf(stderr, "'%s', want '%s'\n", writer.error, want);
	}
	close(writer.fd);
	nb_writer_abandon(&writer);
}

static void test_frames(void)
{
	struct nb_frame frame;
	struct nb_writer writer;
	init(&frame, 10);
	CHECK(add(&frame, "empty", "<f8", 1, "") != NULL);
	fails_to_write(&frame, "column 'empty' of frame 0 has no contents or does not fit into memory");
	frame.rows[NB_PARTICLE] = 11;
	fails_to_write(&frame, "column 'empty' does not have the rows of its table");
	nb_frame_clear(&frame);
	/* attributes beyond the limit */
	init(&frame, 1);
	const size_t most = NB_MAX_ATTRIBUTE_BYTES;
	char *text = malloc(most + 1);
	CHECK(text != NULL);
	if (!text)
		return;
	memset(text, 'a', most);
	text[most] = '\0';
	CHECK(nb_frame_set_attribute(&frame, "note", text) == NB_OK);
	fails_to_write(&frame, "bytes of attributes (limit 16777216)");
	nb_frame_clear(&frame);
	free(text);
	/* a frame that was begun, but whose columns did not all come */
	init(&frame, 10);
	CHECK(add(&frame, "a", "<f8", 1, "") != NULL && add(&frame, "b", "<f8", 1, "") != NULL);
	CHECK(nb_writer_open(&writer, open("/dev/null", O_WRONLY)) == NB_OK);
	CHECK(nb_writer_begin(&writer, &frame) == 0 && nb_writer_block(&writer, (double[10]){0}, 80) == 0);
	CHECK(nb_writer_end(&writer) == -1 && strstr(writer.error, "lacks contents of column 'b'"));
	close(writer.fd);
	nb_writer_abandon(&writer);
	nb_frame_clear(&frame);
}

static int write_to(int fd, const struct nb_frame *frame, int frames)
{
	struct nb_writer writer;
	CHECK(nb_writer_open(&writer, fd) == NB_OK);
	int status = 0;
	for (int k = 0; k < frames && !status; k++)
		status = nb_writer_next(&writer, frame);
	const int ended = !status;
	if (ended)
		status = nb_writer_close(&writer);
	if (!status)
		return 0;
	CHECK(strstr(writer.error, "write error: ") != NULL);
	if (!ended)
		close(writer.fd);
	nb_writer_abandon(&writer);
	return status;
}

/* The buffer is full at each place in a frame in turn: in its columns, what pads them, checksums, the next head, the
 * end. */
static void test_full_disk(void)
{
	struct nb_frame frame;
	for (size_t rows = NB_BLOCK - 2048; rows <= NB_BLOCK; rows += 8)
		for (int columns = 1; columns <= 3; columns += 2) {
			init(&frame, rows / (size_t)columns);
			add_bytes(&frame, "a");
			if (columns > 1) {
				add_bytes(&frame, "b");
				add_bytes(&frame, "c");
			}
			CHECK(write_to(open("/dev/full", O_WRONLY), &frame, 2) == -1);
			nb_frame_clear(&frame);
		}
	init(&frame, 1);
	add_bytes(&frame, "a");
	CHECK(write_to(open("/dev/full", O_WRONLY), &frame, 1) == -1); /* only when it is closed */
	nb_frame_clear(&frame);
	/* a descriptor that somebody else has closed, when all has been written */
	struct nb_writer writer;
	CHECK(nb_writer_open(&writer, -1) == NB_OK);
	CHECK(nb_writer_close(&writer) == -1 && strstr(writer.error, "write error: "));
	nb_writer_abandon(&writer);
}

static void no_matter(int number)
{
	(void)number;
}

/* A pipe with little room, and a timer: reads and writes are interrupted, and go on. */
static void test_interrupted(void)
{
	struct nb_frame frame, back;
	struct nb_reader reader;
	int ends[2];
	const struct sigaction action = {.sa_handler = no_matter}; /* without SA_RESTART */
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	init(&frame, 1 << 20);
	add_bytes(&frame, "a");
	CHECK(pipe(ends) == 0);
	const pid_t child = fork();
	if (child == 0) {
		struct nb_writer writer;
		close(ends[0]);
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		int failed = nb_writer_open(&writer, ends[1]) || nb_writer_next(&writer, &frame);
		usleep(20000); /* the reader waits, and is interrupted, too */
		failed = failed || nb_writer_close(&writer);
		setitimer(ITIMER_REAL, &never, NULL);
		exit(failed ? 1 : 0);
	}
	close(ends[1]);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	usleep(20000); /* the pipe is full: the writer waits */
	nb_frame_init(&back);
	CHECK(nb_reader_open(&reader, ends[0]) == NB_OK);
	CHECK(nb_reader_next(&reader, &back) == NB_FRAME);
	const unsigned char *data = back.ncolumn ? nb_column_read(&back.column[0], &nb_space_host, NB_WIRE) : NULL;
	CHECK(data && back.rows[NB_PARTICLE] == 1 << 20 && data[0] == 1 && data[(1 << 20) - 1] == 1);
	CHECK(nb_reader_next(&reader, &back) == NB_END);
	setitimer(ITIMER_REAL, &never, NULL);
	nb_reader_close(&reader);
	close(ends[0]);
	nb_frame_clear(&back);
	nb_frame_clear(&frame);
}

/* A file that cannot be mapped is read: one that is open at its end, or at an odd place; a folder cannot be read. */
static void test_unmapped(void)
{
	struct nb_frame frame;
	struct nb_reader reader;
	const int fd = memfd_create("stream", MFD_CLOEXEC);
	init(&frame, 100);
	add_bytes(&frame, "a");
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && write_to(dup(fd), &frame, 1) == 0);
	CHECK(lseek(fd, 1, SEEK_SET) == 1);
	CHECK(nb_reader_open(&reader, fd) == NB_OK && !reader.map);
	CHECK(nb_reader_next(&reader, &frame) == NB_FRAME && frame.rows[NB_PARTICLE] == 100);
	CHECK(nb_reader_next(&reader, &frame) == NB_END);
	nb_reader_close(&reader);
	CHECK(nb_reader_open(&reader, fd) == NB_OK && !reader.map); /* at its end */
	CHECK(nb_reader_next(&reader, &frame) == NB_ERROR);
	nb_reader_close(&reader);
	close(fd);
	const int folder = open("/", O_RDONLY);
	CHECK(nb_reader_open(&reader, folder) == NB_OK);
	CHECK(nb_reader_next(&reader, &frame) == NB_ERROR && strstr(reader.error, "read error"));
	nb_reader_close(&reader);
	close(folder);
	nb_frame_clear(&frame);
}

/* The buffer is full when the end marker comes, or while a column is rounded. */
static void test_full_at_the_end(void)
{
	struct nb_frame frame;
	for (uint32_t bytes = 60000; bytes < 65536; bytes += 64) {
		init(&frame, 1);
		for (int c = 0; c < 2; c++) {
			struct nb_column *column = add(&frame, c ? "b" : "a", "|u1", c ? bytes : 65472, "");
			void *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
			CHECK(data != NULL);
			if (data)
				memset(data, 1, column->rowsize);
		}
		CHECK(write_to(open("/dev/full", O_WRONLY), &frame, 1) == -1);
		nb_frame_clear(&frame);
	}
	init(&frame, 100000);
	struct nb_column *column = add(&frame, "a", "<f4", 1, "");
	double *x = column ? nb_column_write(column, &nb_space_host, NB_AS_F64) : NULL;
	for (size_t i = 0; x && i < frame.rows[NB_PARTICLE]; i++)
		x[i] = 1;
	CHECK(write_to(open("/dev/full", O_WRONLY), &frame, 1) == -1);
	nb_frame_clear(&frame);
}

/* A row larger than what is moved at once, and a name as long as it may be. */
static void test_largest(void)
{
	static const char name[] = "a-name-of-thirty-two-characters.";
	struct nb_frame frame;
	struct nb_reader reader;
	const int fd = memfd_create("stream", MFD_CLOEXEC);
	init(&frame, 2);
	struct nb_column *column = add(&frame, name, "<f8", 65536, "");
	double *x = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	for (size_t i = 0; x && i < 2 * 65536; i++)
		x[i] = (double)i;
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && write_to(dup(fd), &frame, 1) == 0);
	CHECK(lseek(fd, 1, SEEK_SET) == 1);
	CHECK(nb_reader_open(&reader, fd) == NB_OK && nb_reader_next(&reader, &frame) == NB_FRAME);
	CHECK(frame.ncolumn == 1 && strcmp(frame.column[0].name, name) == 0);
	const double *back = frame.ncolumn ? nb_column_read(&frame.column[0], &nb_space_host, NB_WIRE) : NULL;
	CHECK(back && back[65536] == 65536 && back[2 * 65536 - 1] == 2 * 65536 - 1);
	CHECK(!nb_column_read(&frame.column[0], &nb_space_host, NB_AS_U64));
	nb_reader_close(&reader);
	close(fd);
	nb_frame_clear(&frame);
}

/* An end marker before any frame that is not empty. */
static void test_end_marker(void)
{
	enum { SIZE = 128, AT_CRC = 20, AT_ROWS = 32 };
	struct nb_frame frame;
	struct nb_reader reader;
	struct nb_writer writer;
	unsigned char head[SIZE] = {0};
	const int fd = memfd_create("stream", MFD_CLOEXEC);
	CHECK(nb_writer_open(&writer, dup(fd)) == NB_OK && nb_writer_close(&writer) == 0);
	const ssize_t size = pread(fd, head, sizeof head, 0);
	CHECK(size >= AT_ROWS + 8);
	head[AT_ROWS] = 1;
	memset(head + AT_CRC, 0, 4);
	const uint32_t crc = nb_crc32(0, head, (size_t)size);
	memcpy(head + AT_CRC, &crc, sizeof crc);
	CHECK(pwrite(fd, head, (size_t)size, 0) == size && lseek(fd, 0, SEEK_SET) == 0);
	nb_frame_init(&frame);
	CHECK(nb_reader_open(&reader, fd) == NB_OK);
	CHECK(nb_reader_next(&reader, &frame) == NB_ERROR && strstr(reader.error, "the end marker is not empty"));
	nb_reader_close(&reader);
	close(fd);
	nb_frame_clear(&frame);
}

static enum nb_answer count_within(const char *limit, struct nb_frame *frame, const char *want)
{
	struct nb_reader reader;
	setenv("NB_MAX_FRAME", limit, 1);
	CHECK(nb_reader_open(&reader, -1) == NB_OK);
	const enum nb_answer answer = nb_reader_count(&reader, frame);
	CHECK(answer == NB_FRAME || strstr(reader.error, want));
	nb_reader_close(&reader);
	unsetenv("NB_MAX_FRAME");
	return answer;
}

/* A frame in memory is as large as it would be in the stream. */
static void test_counted(void)
{
	struct nb_frame frame;
	init(&frame, 1000);
	CHECK(nb_frame_set_attribute(&frame, "note", "one") == NB_OK);
	CHECK(add(&frame, "a", "<f8", 1, "") != NULL && add(&frame, "b", "<f8", 1, "") != NULL);
	CHECK(count_within("", &frame, "") == NB_FRAME);
	CHECK(count_within("20000", &frame, "") == NB_FRAME);
	CHECK(count_within("10000", &frame, "column 'b' of frame 0 has 8000 bytes, more than NB_MAX_FRAME='10000'") ==
		NB_ERROR);
	CHECK(count_within("100", &frame, "column 'a' of frame 0 has 8000 bytes") == NB_ERROR);
	nb_frame_clear(&frame);
	init(&frame, (size_t)1 << 50);
	CHECK(add(&frame, "a", "|u1", 1, "") != NULL);
	CHECK(count_within("", &frame, "more than this machine's memory") == NB_ERROR);
	nb_frame_clear(&frame);
	/* one byte, but behind too many others */
	init(&frame, 1);
	CHECK(add(&frame, "a", "|u1", 1, "") != NULL);
	CHECK(count_within("64", &frame, "column 'a' of frame 0 has 1 bytes, more than NB_MAX_FRAME='64'") == NB_ERROR);
	nb_frame_clear(&frame);
}

static int no_visit(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	(void)column, (void)data;
	*(size_t *)context += bytes;
	return offset == 0 ? -1 : 0;
}

static void test_visit_that_fails(void)
{
	struct nb_frame frame;
	struct nb_reader reader;
	size_t seen = 0;
	const int fd = memfd_create("stream", MFD_CLOEXEC);
	init(&frame, 100);
	add_bytes(&frame, "a");
	CHECK(fd >= 0 && write_to(dup(fd), &frame, 1) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	CHECK(nb_reader_open(&reader, fd) == NB_OK && nb_reader_head(&reader, &frame) == NB_FRAME);
	CHECK(nb_reader_body(&reader, &frame, no_visit, &seen) == NB_ERROR && seen == 100);
	nb_reader_close(&reader);
	close(fd);
	nb_frame_clear(&frame);
}

int main(void)
{
	test_columns();
	test_tree_attributes();
	test_frames();
	test_full_disk();
	test_interrupted();
	test_unmapped();
	test_full_at_the_end();
	test_largest();
	test_end_marker();
	test_counted();
	test_visit_that_fails();
	return unit_end();
}
