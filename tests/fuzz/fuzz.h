/* fuzz.h - what the targets of libFuzzer share.  A target hands bytes to a part of the suite: a crash, what a sanitizer
 * reports, or a broken promise (REQUIRE) is a finding. */
#ifndef NB_FUZZ_H
#define NB_FUZZ_H

#include "formats/exchange/exchange.h"
#include "formats/stream/stream.h"
#include "tests/unit/run.h"
#include "tools/filter/filter.h"

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

#define REQUIRE(promise)                                                                      \
	do                                                                                    \
		if (!(promise)) {                                                             \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #promise); \
			abort();                                                              \
		}                                                                             \
	while (0)

/* A file in memory with these bytes, read from the beginning. */
static inline int fuzz_file(const void *data, size_t size)
{
	const int fd = memfd_create("input", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && (size_t)write(fd, data, size) == size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* The same through a pipe; -1 where it would not hold all of it, as the system gives those who have many only small
 * ones. */
static inline int fuzz_pipe(const void *data, size_t size)
{
	int fd[2];
	REQUIRE(pipe2(fd, O_CLOEXEC) == 0);
	const int capacity = fcntl(fd[0], F_GETPIPE_SZ);
	if (capacity < 0 || size > (size_t)capacity) {
		close(fd[0]);
		fd[0] = -1;
	} else {
		REQUIRE((size_t)write(fd[1], data, size) == size);
	}
	close(fd[1]);
	return fd[0];
}

/* All bytes of a file in memory and a NUL; from malloc. */
static inline char *fuzz_contents(int fd, size_t *size)
{
	const off_t end = lseek(fd, 0, SEEK_END);
	char *text = end >= 0 ? malloc((size_t)end + 1) : NULL;
	REQUIRE(text && pread(fd, text, (size_t)end, 0) == end);
	text[end] = '\0';
	*size = (size_t)end;
	return text;
}

/* Where messages and lists go: a file of libFuzzer's own would be written to otherwise. */
static inline int fuzz_silence(void)
{
	static int null = -1;
	if (null < 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		REQUIRE(null >= 0 && freopen("/dev/null", "w", stdout));
		setenv("NB_MAX_FRAME", "4194304", 1); /* no input needs more */
		setenv("OMP_NUM_THREADS", "1", 1);
	}
	return null;
}

/* Both forms of all columns, the checks of their contents, and all attributes. */
static inline void fuzz_look(struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		REQUIRE(strlen(column->name) <= NB_NAME_SIZE && strlen(column->dtype) <= NB_DTYPE_SIZE);
		REQUIRE(nb_frame_find(frame, column->name) == column);
		REQUIRE(column->rows == frame->rows[column->table]);
		(void)nb_column_first_bad(column, NB_BAD_NONFINITE | NB_BAD_NEGATIVE);
		REQUIRE(nb_column_read(column, &nb_space_host, NB_WIRE) || column->rows == 0);
		(void)nb_column_read(column, &nb_space_host, NB_AS_F64);
		(void)nb_column_read(column, &nb_space_host, NB_AS_U64);
	}
	for (size_t k = 0; k < frame->nattribute; k++) {
		double x;
		REQUIRE(nb_frame_attribute_text(frame, k));
		REQUIRE(nb_frame_attribute_f64(frame, frame->attribute[k].key, 0, &x) != NB_OK || isfinite(x));
	}
}

/* Same columns with the same wire bytes. */
static inline int fuzz_same_columns(struct nb_frame *a, struct nb_frame *b)
{
	if (a->ncolumn != b->ncolumn || memcmp(a->rows, b->rows, sizeof a->rows) != 0)
		return 0;
	for (size_t c = 0; c < a->ncolumn; c++) {
		struct nb_column *k = &a->column[c], *l = &b->column[c];
		if (strcmp(k->name, l->name) != 0 || strcmp(k->dtype, l->dtype) != 0 || k->ncomp != l->ncomp)
			return 0;
		const size_t bytes = k->rows * k->rowsize;
		if (bytes && memcmp(nb_column_read(k, &nb_space_host, NB_WIRE),
				     nb_column_read(l, &nb_space_host, NB_WIRE), bytes) != 0)
			return 0;
	}
	return 1;
}

static inline int fuzz_same_attributes(const struct nb_frame *a, const struct nb_frame *b)
{
	if (a->nattribute != b->nattribute)
		return 0;
	for (size_t k = 0; k < a->nattribute; k++)
		if (strcmp(a->attribute[k].key, b->attribute[k].key) != 0 ||
			strcmp(nb_frame_attribute_text(a, k), nb_frame_attribute_text(b, k)) != 0)
			return 0;
	return 1;
}

static inline const struct nb_backend *fuzz_cpu(void)
{
	const struct nb_backend *cpu;
	char why[NB_BACKEND_WHY];
	REQUIRE(nb_backend_choose("cpu", &cpu, why) == 0);
	return cpu;
}

/* An instance of a tool that says nothing; its options are good. */
static inline struct nb_run *fuzz_run(const struct nb_tool *tool, int argc, char **argv)
{
	struct nb_run *run;
	REQUIRE(run_create(&run, tool, argc, argv, fuzz_cpu()) == 0);
	run->voice.file = fuzz_silence();
	return run;
}

#endif
