/* A filter that misbehaves in one way: misbehave MODE [K].  It adds the acceleration of a spring to each frame, as
 * spring.c does, and at frame K (default 1) of its input does as MODE says:
 *
 *   the name of an edit  changes columns, see edits[] below
 *   die, die3            exits with status 0 or 3 instead of answering
 *   kill9                kills itself
 *   skip                 does not answer, and waits for the next frame
 *   hang                 does not answer, and waits for ever
 *   twice                answers twice
 *   garbage              writes no stream
 *   trickle              answers in small pieces, slowly
 *   half, halfhang       writes half of its answer, and exits or waits for ever
 *   end, endgo           ends its stream instead of answering, or before it answers in another stream
 *   endexit              ends its stream and exits with status 0
 *   closein              closes its input, answers and waits for ever
 *   stderr               says a million bytes first
 *
 * or, after the last frame,
 *
 *   extra                writes one frame more
 *   trail                writes something behind the end marker
 *   status5, noend       exits with status 5, or without an end marker
 *   hangnoend            waits for ever without writing an end marker
 *   hangend, hangclosed  writes an end marker, and waits for ever, or closes its output and waits for ever */
#include "tests/filters/spring.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- columns ------------------------------------------------------------------------------------ */

static double *f64(struct nb_frame *frame, enum nb_field field)
{
	return update(nb_frame_field(frame, field));
}

/* The contents of a new column. */
static void *fresh(struct nb_column *column)
{
	void *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	if (!data)
		nb_die(1, "no memory");
	return data;
}

/* The column again with other types, and zeros as contents. */
static void retype(struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp)
{
	struct nb_column *column = nb_frame_add(frame, name, NB_PARTICLE, dtype, ncomp, "", 0);
	memset(fresh(column), 0, column->rows * column->rowsize);
}

static void narrow(struct nb_frame *frame, enum nb_field field)
{
	const size_t count = 3 * frame->rows[NB_PARTICLE];
	double *wide = malloc(count * sizeof *wide);
	if (!wide)
		nb_die(1, "out of memory");
	memcpy(wide, f64(frame, field), count * sizeof *wide);
	float *to = fresh(nb_frame_add_field(frame, field, "<f4", 0));
	for (size_t i = 0; i < count; i++)
		to[i] = (float)wide[i];
	free(wide);
}

static void more(struct nb_frame *frame)
{
	resize(frame, frame->rows[NB_PARTICLE] + 1);
}

static void less(struct nb_frame *frame)
{
	resize(frame, frame->rows[NB_PARTICLE] - 1);
}

static void ids(struct nb_frame *frame)
{
	((uint64_t *)update(nb_frame_field(frame, NB_ID)))[0] = 1000000;
}

/* The ids of two bodies, which are the same set. */
static void swapids(struct nb_frame *frame)
{
	uint64_t *id = update(nb_frame_field(frame, NB_ID)), first = id[0];
	id[0] = id[1];
	id[1] = first;
}

static void rowdup(struct nb_frame *frame)
{
	((uint32_t *)update(nb_frame_find(frame, "nb_step_row")))[1] = 0;
}

static void rowbig(struct nb_frame *frame)
{
	((uint32_t *)update(nb_frame_find(frame, "nb_step_row")))[1] = (uint32_t)frame->rows[NB_PARTICLE];
}

static void rowtype(struct nb_frame *frame)
{
	retype(frame, "nb_step_row", "<u8", 1);
}

static void rowwide(struct nb_frame *frame)
{
	retype(frame, "nb_step_row", "<u4", 2);
}

static void norow(struct nb_frame *frame)
{
	nb_frame_drop(frame, "nb_step_row");
}

static void nopos(struct nb_frame *frame)
{
	nb_frame_drop_field(frame, NB_POS);
}

static void posf4(struct nb_frame *frame)
{
	narrow(frame, NB_POS);
}

static void accf4(struct nb_frame *frame)
{
	narrow(frame, NB_ACC);
}

static void accf2(struct nb_frame *frame)
{
	retype(frame, "acc", "<f2", 3);
}

static void vel(struct nb_frame *frame)
{
	retype(frame, "vel", "<f8", 3);
}

static void nanacc(struct nb_frame *frame)
{
	f64(frame, NB_ACC)[3] = NAN;
}

static void nanpos(struct nb_frame *frame)
{
	f64(frame, NB_POS)[3] = NAN;
}

static void nanvel(struct nb_frame *frame)
{
	f64(frame, NB_VEL)[3] = NAN;
}

static void nanpot(struct nb_frame *frame)
{
	retype(frame, "pot", "<f8", 1);
	f64(frame, NB_POT)[1] = NAN;
}

static void infmass(struct nb_frame *frame)
{
	f64(frame, NB_MASS)[1] = INFINITY;
}

static void negmass(struct nb_frame *frame)
{
	f64(frame, NB_MASS)[1] = -1;
}

static void halfmass(struct nb_frame *frame)
{
	f64(frame, NB_MASS)[1] /= 2;
}

static void negradius(struct nb_frame *frame)
{
	retype(frame, "radius", "<f8", 1);
	f64(frame, NB_RADIUS)[1] = -1;
}

static void step(struct nb_frame *frame)
{
	nb_set_attribute(frame, "step", "1000");
}

static void bigattr(struct nb_frame *frame)
{
	char *text = calloc(15 << 20, 1);
	if (!text)
		nb_die(1, "out of memory");
	memset(text, 'y', (15 << 20) - 1);
	nb_set_attribute(frame, "big", text);
	free(text);
}

#define EDIT(name)          \
	{                   \
#name, name \
	}
static const struct {
	const char *mode;
	void (*edit)(struct nb_frame *frame);
} edits[] = {EDIT(more), EDIT(less), EDIT(ids), EDIT(swapids), EDIT(rowdup), EDIT(rowbig), EDIT(rowtype), EDIT(rowwide),
	EDIT(norow), EDIT(nopos), EDIT(posf4), EDIT(accf4), EDIT(accf2), EDIT(vel), EDIT(nanacc), EDIT(nanpos),
	EDIT(nanvel), EDIT(nanpot), EDIT(infmass), EDIT(negmass), EDIT(halfmass), EDIT(negradius), EDIT(step),
	EDIT(bigattr)};

/* ---- bytes -------------------------------------------------------------------------------------- */

/* The stream as it should be goes to a file in memory, and from there what is wanted of it to standard output. */
struct out {
	struct nb_writer writer;
	int file;
	off_t said;
};

static void open_out(struct out *out)
{
	out->file = memfd_create("misbehave", 0);
	out->said = 0;
	if (out->file < 0 || nb_writer_open(&out->writer, out->file))
		nb_die(1, "no file in memory");
}

static void say(const void *data, size_t bytes)
{
	for (const char *from = data; bytes;) {
		const ssize_t n = write(STDOUT_FILENO, from, bytes);
		if (n < 0)
			exit(1);
		from += n;
		bytes -= (size_t)n;
	}
}

/* What is new, all of it in so many pieces, or only the first half. */
static void pass(struct out *out, size_t pieces, int half)
{
	const off_t end = lseek(out->file, 0, SEEK_CUR);
	const size_t bytes = (size_t)(end - out->said);
	char *data = malloc(bytes + 1);
	if (!data || pread(out->file, data, bytes, out->said) != (ssize_t)bytes)
		nb_die(1, "no file in memory");
	for (size_t k = 0; k < pieces; k++) {
		if (k)
			usleep(300000);
		say(data + bytes * k / pieces, bytes * (k + 1) / pieces - bytes * k / pieces);
		if (half)
			break;
	}
	out->said = end;
	free(data);
}

static void make(struct out *out, const struct nb_frame *frame)
{
	if (nb_writer_next(&out->writer, frame) || nb_writer_flush(&out->writer))
		nb_die(1, "%s", out->writer.error);
}

/* An end marker, and another stream. */
static void end(struct out *out)
{
	const int file = dup(out->file); /* the writer closes its own */
	if (nb_writer_close(&out->writer))
		nb_die(1, "%s", out->writer.error);
	out->file = file;
	pass(out, 1, 0);
	close(file);
	open_out(out);
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static int is(const char *mode, const char *wanted)
{
	return strcmp(mode, wanted) == 0;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Frame K.  1 if it is to be answered still, as often as *times says and in so many pieces. */
static int misbehave(const char *mode, struct out *out, struct nb_frame *frame, int *times, size_t *pieces)
{
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
		if (is(mode, edits[i].mode))
			edits[i].edit(frame);
	if (is(mode, "die"))
		_exit(0);
	if (is(mode, "die3"))
		_exit(3);
	if (is(mode, "kill9"))
		raise(SIGKILL);
	if (is(mode, "hang"))
		wait_for_ever();
	if (is(mode, "garbage"))
		say("no stream, and longer than a magic number", 40);
	if (is(mode, "half") || is(mode, "halfhang")) {
		make(out, frame);
		pass(out, 2, 1);
		if (is(mode, "half"))
			_exit(0);
		wait_for_ever();
	}
	if (is(mode, "end") || is(mode, "endgo") || is(mode, "endexit"))
		end(out);
	if (is(mode, "endexit"))
		_exit(0);
	for (int k = 0; is(mode, "stderr") && k < 1000; k++)
		dprintf(STDERR_FILENO, "%999s\n", "misbehave");
	*times = is(mode, "twice") ? 2 : 1;
	*pieces = is(mode, "trickle") ? 6 : 1;
	return !is(mode, "skip") && !is(mode, "end");
}

static void answer(const char *mode, int now, struct out *out, struct nb_frame *frame)
{
	int times = 1;
	size_t pieces = 1;
	spring(frame);
	if (now && !misbehave(mode, out, frame, &times, &pieces))
		return;
	while (times-- > 0)
		make(out, frame);
	if (now && is(mode, "closein"))
		close(STDIN_FILENO);
	pass(out, pieces, 0);
	if (now && is(mode, "closein"))
		wait_for_ever();
}

/* After the last frame. */
static int finish(const char *mode, struct out *out, const struct nb_frame *last)
{
	if (is(mode, "noend"))
		return 0;
	if (is(mode, "hangnoend"))
		wait_for_ever();
	if (is(mode, "extra")) {
		make(out, last);
		pass(out, 1, 0);
	}
	end(out);
	if (is(mode, "trail"))
		say("trailing bytes", 14);
	if (is(mode, "hangclosed"))
		close(STDOUT_FILENO);
	if (is(mode, "hangclosed") || is(mode, "hangend"))
		wait_for_ever();
	return is(mode, "status5") ? 5 : 0;
}

/* It ends in the middle of its work, with memory that it holds. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

int main(int argc, char **argv)
{
	struct nb_voice voice = {"misbehave", 0, STDERR_FILENO, NULL, NULL, NULL};
	const char *mode = argc > 1 ? argv[1] : "";
	const uint64_t when = strtoull(argc > 2 ? argv[2] : "1", NULL, 10);
	struct nb_reader in;
	struct out out;
	struct nb_frame frame, last;
	enum nb_answer got;
	nb_speak_as(&voice);
	open_out(&out);
	nb_frame_init(&frame);
	nb_frame_init(&last);
	if (nb_reader_open(&in, STDIN_FILENO))
		nb_die(1, "out of memory");
	while ((got = nb_reader_next(&in, &frame)) == NB_FRAME) {
		answer(mode, frame.number == when, &out, &frame);
		if (nb_frame_share(&last, &frame))
			nb_die(1, "out of memory");
	}
	return got == NB_END ? finish(mode, &out, &last) : 1;
}
