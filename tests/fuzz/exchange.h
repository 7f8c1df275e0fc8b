/* exchange.h - a format of nb-convert: from bytes to frames, to text, and to the same frames again. */
#ifndef NB_FUZZ_EXCHANGE_H
#define NB_FUZZ_EXCHANGE_H

#include "tests/fuzz/fuzz.h"

static inline const struct nb_format *fuzz_format(const char *name)
{
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

/* Whether a frame has the fields without which the format writes none. */
static inline int fuzz_has_needs(const struct nb_format *format, struct nb_frame *frame)
{
	int has = 1;
	for (int f = 0; f < NB_NFIELD; f++)
		has &= !(format->needs & NB_NEED(f)) || nb_frame_field(frame, (enum nb_field)f);
	return has;
}

static int fuzz_plain; /* csv without comments */

/* Text of the frames; from malloc, NULL where the format cannot hold them. */
static inline char *fuzz_export(
	const struct nb_format *format, struct nb_frame *frame, size_t n, int safe, size_t *size)
{
	struct nb_export out;
	char path[64], *text = NULL;
	const int fd = memfd_create("text", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	REQUIRE(fd >= 0 && nb_export_open(&out, format, path) == NB_OK);
	out.several = n > 1;
	out.safe = safe;
	out.plain = fuzz_plain;
	int status = NB_OK;
	for (size_t k = 0; k < n && !status; k++)
		status = nb_export_frame(&out, &frame[k]);
	if (!status)
		status = nb_export_close(&out);
	if (!status)
		text = fuzz_contents(fd, size);
	else
		REQUIRE(status != NB_EINVAL || *out.error);
	nb_export_abandon(&out);
	close(fd);
	return text;
}

enum { FUZZ_FRAMES = 8 };

/* Frames of what a descriptor gives, which is closed, at most FUZZ_FRAMES of them; -1 where it is refused. */
static inline int fuzz_import_from(
	const struct nb_format *format, int fd, const struct nb_subset *subset, int safe, struct nb_frame *frame)
{
	struct nb_import in;
	enum nb_answer answer = NB_ERROR;
	int n = 0;
	int status = nb_import_open(&in, format, fd, NULL, subset, &(struct nb_table_text){.safe = safe});
	while (!status && n < FUZZ_FRAMES) {
		nb_frame_init(&frame[n]);
		answer = nb_import_next(&in, &frame[n]);
		if (answer != NB_FRAME) {
			nb_frame_clear(&frame[n]);
			break;
		}
		fuzz_look(&frame[n++]);
	}
	REQUIRE((!status && answer != NB_ERROR) || *in.error);
	nb_import_close(&in);
	close(fd);
	if (status || answer == NB_ERROR) {
		while (n > 0)
			nb_frame_clear(&frame[--n]);
		return -1;
	}
	return n;
}

/* The same of a text. */
static inline int fuzz_import(
	const struct nb_format *format, const void *data, size_t size, int safe, struct nb_frame *frame)
{
	return fuzz_import_from(format, fuzz_file(data, size), NULL, safe, frame);
}

static inline void fuzz_release(struct nb_frame *frame, int n)
{
	for (int k = 0; k < n; k++)
		nb_frame_clear(&frame[k]);
}

/* What is exported reads back, and is exported as the same text again (exact).  Returns how many frames came back;
 * FUZZ_REFUSED: the format cannot hold them; FUZZ_LOST: it did not take back what it had written. */
enum { FUZZ_REFUSED = -1, FUZZ_LOST = -2 };
static inline int fuzz_round(
	const struct nb_format *format, struct nb_frame *frame, int n, int safe, int exact, struct nb_frame *back)
{
	size_t size, again_size = 0;
	char *text = fuzz_export(format, frame, (size_t)n, safe, &size);
	if (!text)
		return FUZZ_REFUSED;
	const int m = fuzz_import(format, text, size, safe, back);
	if (m == n && exact) { /* m < n: of several frames, those without bodies leave no trace */
		char *again = fuzz_export(format, back, (size_t)m, safe, &again_size);
		REQUIRE(again && again_size == size && memcmp(again, text, size) == 0);
		free(again);
	}
	REQUIRE(m <= n);
	free(text);
	return m < 0 ? FUZZ_LOST : m;
}

#endif
