/* Frames and streams when memory runs out: each call that fails is reported, nothing is lost or left, and what was
 * there before is there after it.  Columns in all forms and places, against plain numbers. */
#include "tests/unit/scarce.h"

#include "common/mem.h"
#include "formats/stream/stream.h"

#include <sys/mman.h>
#include <unistd.h>

enum { N = 40 };

/* ---- a second place, and a third ------------------------------------------------------------------ */

static long device_calls, device_fails; /* copies within it and to it: the k-th fails */

static int device_strikes(void)
{
	return device_fails && ++device_calls == device_fails;
}

static void *device_alloc(const struct nb_space *space, size_t bytes)
{
	(void)space;
	return nb_alloc(bytes, 1);
}

static void device_release(const struct nb_space *space, void *p)
{
	(void)space;
	nb_free(p);
}

static int device_move(const struct nb_space *space, void *to, const void *from, size_t bytes)
{
	(void)space;
	if (device_strikes())
		return NB_EDEVICE;
	memcpy(to, from, bytes);
	return NB_OK;
}

static int device_widen(const struct nb_space *space, size_t count, const float *from, double *to)
{
	(void)space;
	return device_strikes() ? NB_EDEVICE : nb_space_host.widen(&nb_space_host, count, from, to);
}

static int device_narrow(const struct nb_space *space, size_t count, const double *from, float *to)
{
	(void)space;
	return device_strikes() ? NB_EDEVICE : nb_space_host.narrow(&nb_space_host, count, from, to);
}

static int device_first_bad(
	const struct nb_space *space, size_t count, int wide, const void *x, unsigned what, size_t *first)
{
	(void)space;
	return device_strikes() ? NB_EDEVICE : nb_space_host.first_bad(&nb_space_host, count, wide, x, what, first);
}

static const struct nb_space near = {"near", 0, device_alloc, device_release, device_move, device_move, device_move,
				     device_widen, device_narrow, device_first_bad},
			     far = {"far", 1, device_alloc, device_release, device_move, device_move, device_move,
				     device_widen, device_narrow, device_first_bad};
static const struct nb_space *const places[] = {&nb_space_host, &near, &far};

/* ---- columns ---------------------------------------------------------------------------------------
 * Two frames that sometimes share their memory; what their column must hold is in plain numbers beside it. */

static const char *const types[] = {"<f4", "<f8", "<u4", "<u8", "<i2", "<i8", "|V3"};

struct both {
	struct nb_frame frame[2];
	double want[2][N];
	const char *type;
};

static uint64_t random_state;
static unsigned below(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static size_t item_of(const struct both *b, enum nb_form form)
{
	return form == NB_WIRE ? nb_dtype_size(b->type) : 8;
}

static double number_at(const struct both *b, enum nb_form form, const void *data, size_t i)
{
	double x;
	const unsigned char *at = (const unsigned char *)data + i * item_of(b, form);
	if (form == NB_AS_F64) {
		memcpy(&x, at, sizeof x);
	} else if (form == NB_AS_U64) {
		uint64_t u;
		memcpy(&u, at, sizeof u);
		x = (double)u;
	} else if (b->type[1] == 'V') {
		x = at[0];
	} else {
		nb_dtype_to_f64(b->type, 1, at, &x);
	}
	return x;
}

static void put_number(const struct both *b, enum nb_form form, void *data, size_t i, double x)
{
	unsigned char *at = (unsigned char *)data + i * item_of(b, form);
	if (form == NB_AS_F64)
		memcpy(at, &x, sizeof x);
	else if (b->type[1] == 'V')
		memset(at, (int)x, 3);
	else
		nb_dtype_from_f64(b->type, 1, &x, at);
}

static int is_unsigned(const char *type)
{
	return type[1] == 'u';
}

/* Whether the column has that form, for reading or for writing. */
static int has_form(const struct both *b, enum nb_form form, int writing)
{
	return form == NB_WIRE || (form == NB_AS_F64 ? b->type[1] != 'V' : is_unsigned(b->type) && !writing);
}

/* u64 of <u8 is the wire form itself, which may be written */
static enum nb_form random_form(void)
{
	static const enum nb_form forms[] = {NB_WIRE, NB_AS_F64, NB_AS_U64};
	return forms[below(3)];
}

/* Three forms in three places are more than a column keeps. */
static int is_full(const struct nb_column *column)
{
	int valid = 0;
	for (int i = 0; i < NB_MAX_COPIES; i++)
		valid += column->copy[i].space && column->copy[i].valid;
	return valid >= NB_MAX_COPIES - 1; /* a copy on the host may be needed on the way */
}

static int may_fail(const struct both *b, int f)
{
	return scarce_struck() || (device_fails && device_calls >= device_fails) || is_full(&b->frame[f].column[0]);
}

static void read_one(struct both *b, int f)
{
	const enum nb_form form = random_form();
	const struct nb_space *place = places[below(3)];
	const void *data = nb_column_read(&b->frame[f].column[0], place, form);
	if (!data) {
		if (!has_form(b, form, 0))
			return;
		CHECK(may_fail(b, f));
		device_fails = 0;
		if (is_full(&b->frame[f].column[0]))
			nb_column_trim(&b->frame[f].column[0]);
		data = nb_column_read(&b->frame[f].column[0], place, form); /* nothing is lost */
	}
	CHECK(data && has_form(b, form, 0));
	size_t wrong = 0;
	for (size_t i = 0; data && i < N; i++)
		wrong += number_at(b, form, data, i) != b->want[f][i];
	CHECK(wrong == 0);
}

static void write_one(struct both *b, int f)
{
	const enum nb_form form = random_form();
	struct nb_column *column = &b->frame[f].column[0];
	void *data = nb_column_write(column, places[below(3)], form);
	const int possible = has_form(b, form, 1) || (form == NB_AS_U64 && strcmp(b->type, "<u8") == 0);
	CHECK(data ? possible : !possible || may_fail(b, f));
	if (!data && possible) { /* what was there may be gone */
		nb_column_trim(column);
		data = nb_column_write(column, &nb_space_host, form);
		CHECK(data != NULL);
	}
	for (size_t i = 0; data && i < N; i++)
		put_number(b, form, data, i, b->want[f][i] = below(100));
}

static void update_one(struct both *b, int f)
{
	const enum nb_form form = random_form();
	void *data = has_form(b, form, 1) ? nb_column_update(&b->frame[f].column[0], places[below(3)], form) : NULL;
	const size_t i = below(N);
	if (data)
		put_number(b, form, data, i, b->want[f][i] = below(100));
	else
		CHECK(!has_form(b, form, 1) || may_fail(b, f));
}

static void first_bad(struct both *b, int f)
{
	struct nb_column *column = &b->frame[f].column[0];
	const size_t first = nb_column_first_bad(column, NB_BAD_NONFINITE | NB_BAD_NEGATIVE);
	CHECK(first == column->rows || (first == SIZE_MAX && may_fail(b, f)));
}

static int same_rows(size_t n, const uint32_t *row, size_t rowsize, const void *from, void *to)
{
	if (device_strikes())
		return NB_EDEVICE;
	for (size_t i = 0; i < n; i++)
		memcpy((char *)to + i * rowsize, (const char *)from + row[i] * rowsize, rowsize);
	return NB_OK;
}

static void gather(struct both *b, int f)
{
	uint32_t row[N];
	double want[N];
	for (uint32_t i = 0; i < N; i++)
		row[i] = (i + 1) % N;
	const int status = nb_frame_gather(&b->frame[f], NB_PARTICLE, N, row, places[below(3)], same_rows);
	if (status) {
		CHECK((status == NB_ENOMEM || status == NB_EDEVICE) && may_fail(b, f));
		return;
	}
	for (size_t i = 0; i < N; i++)
		want[i] = b->want[f][row[i]];
	memcpy(b->want[f], want, sizeof want);
}

static void share(struct both *b, int f)
{
	struct nb_frame fresh;
	nb_frame_init(&fresh);
	const int status = nb_frame_share(&fresh, &b->frame[f]);
	if (status) {
		CHECK(status == NB_ENOMEM && may_fail(b, f));
		nb_frame_clear(&fresh);
		return;
	}
	nb_frame_clear(&b->frame[1 - f]);
	b->frame[1 - f] = fresh;
	memcpy(b->want[1 - f], b->want[f], sizeof b->want[f]);
}

static void round_one(struct both *b, int f)
{
	const int status = nb_frame_round(&b->frame[f]);
	CHECK(status == NB_OK || (status == NB_ENOMEM && may_fail(b, f)));
}

static void trim(struct both *b, int f)
{
	nb_column_trim(&b->frame[f].column[0]);
}

static void test_columns(const char *type, int rounds)
{
	static void (*const operation[])(struct both *, int) = {
		read_one, write_one, update_one, first_bad, gather, share, round_one, trim, read_one, update_one};
	struct both b = {.type = type};
	for (int f = 0; f < 2; f++) {
		nb_frame_init(&b.frame[f]);
		b.frame[f].rows[NB_PARTICLE] = N;
		struct nb_column *column = nb_frame_add(&b.frame[f], "x", NB_PARTICLE, type, 1, "", 0);
		CHECK(column && !nb_column_read(column, &near, NB_WIRE) &&
			!nb_column_read(column, &nb_space_host, NB_AS_F64));
		void *data = nb_column_write(column, &nb_space_host, NB_WIRE);
		CHECK(data != NULL);
		for (size_t i = 0; i < N; i++)
			put_number(&b, NB_WIRE, data, i, b.want[f][i] = (double)i);
	}
	for (int k = 0; k < rounds; k++) {
		scarce_at(below(4) ? 0 : 1 + below(3));
		device_calls = 0;
		device_fails = below(6) ? 0 : 1 + below(2);
		operation[below(sizeof operation / sizeof *operation)](&b, (int)below(2));
		scarce_at(0);
		device_fails = 0;
	}
	for (int f = 0; f < 2; f++)
		nb_frame_clear(&b.frame[f]);
}

/* ---- frames ---------------------------------------------------------------------------------------- */

/* Attributes of all kinds, columns of both kinds; 0 or NB_ENOMEM. */
static int make(struct nb_frame *frame)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = N;
	int status = nb_frame_set_attribute_f64(frame, "time", 0.5);
	if (!status)
		status = nb_frame_set_attribute(frame, "note", "a\nb");
	if (!status)
		status = nb_frame_set_attribute(frame, "note", "two\nlines");
	if (!status)
		status = nb_frame_add_attribute(frame, "history", "one");
	if (!status)
		status = nb_frame_add_attribute(frame, "history", "two");
	if (!status)
		status = nb_frame_set_last_attribute_f64(frame, "time", 1.5);
	if (status)
		return status;
	struct nb_column *pos = nb_frame_add_field(frame, NB_POS, "<f4", 0);
	struct nb_column *id = pos ? nb_frame_add_field(frame, NB_ID, NULL, 0) : NULL;
	uint64_t *ids = id ? nb_column_write(id, &nb_space_host, NB_WIRE) : NULL;
	double *at = ids ? nb_column_write(nb_frame_field(frame, NB_POS), &nb_space_host, NB_AS_F64) : NULL;
	if (!at)
		return NB_ENOMEM;
	for (size_t i = 0; i < N; i++) {
		ids[i] = i;
		for (size_t k = 0; k < 3; k++)
			at[3 * i + k] = (double)(3 * i + k);
	}
	return NB_OK;
}

static int is_made(struct nb_frame *frame)
{
	struct nb_column *pos = nb_frame_field(frame, NB_POS);
	const double *at = pos ? nb_column_read(pos, &nb_space_host, NB_AS_F64) : NULL;
	const char *note = nb_frame_attribute(frame, "note");
	double time = 0;
	return at && at[3 * N - 1] == 3 * N - 1 && note && strcmp(note, "two\nlines") == 0 &&
	       nb_frame_attribute_f64(frame, "time", 0, &time) == NB_OK && time == 1.5 && frame->nattribute == 4 &&
	       frame->ncolumn == 2;
}

static int make_and_share(void *context)
{
	struct nb_frame a, b, c;
	(void)context;
	nb_frame_init(&b);
	nb_frame_init(&c);
	int status = make(&a);
	if (!status)
		status = nb_frame_share(&b, &a);
	if (!status)
		status = nb_frame_share(&c, &b);
	if (!status) {
		const long fails = scarce_fails;
		scarce_fails = 0;
		CHECK(is_made(&a) && is_made(&b) && is_made(&c));
		scarce_fails = fails;
	}
	nb_frame_clear(&a);
	nb_frame_clear(&b);
	nb_frame_clear(&c);
	return status;
}

/* ---- streams --------------------------------------------------------------------------------------- */

static int write_stream(void *context)
{
	const int fd = *(int *)context;
	struct nb_frame frame;
	struct nb_writer writer;
	CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	int status = make(&frame);
	if (!status)
		status = nb_writer_open(&writer, dup(fd));
	if (!status) {
		status = nb_writer_next(&writer, &frame);
		if (status || nb_writer_close(&writer)) {
			CHECK(strstr(writer.error, "out of memory") != NULL);
			nb_writer_abandon(&writer);
			status = NB_ENOMEM;
		}
	}
	nb_frame_clear(&frame);
	return status;
}

/* From a mapped file (context: its descriptor), or without one from a pipe, which holds the stream. */
struct source {
	int fd, piped;
};

static int read_stream(void *context)
{
	const struct source *source = context;
	struct nb_reader reader;
	struct nb_frame frame;
	char bytes[1 << 14];
	int ends[2] = {-1, -1};
	CHECK(lseek(source->fd, 0, SEEK_SET) == 0);
	if (source->piped) {
		const ssize_t size = read(source->fd, bytes, sizeof bytes);
		CHECK(size > 0 && pipe(ends) == 0 && write(ends[1], bytes, (size_t)size) == size);
		close(ends[1]);
	}
	int status = nb_reader_open(&reader, source->piped ? ends[0] : source->fd);
	if (!status) {
		nb_frame_init(&frame);
		const enum nb_answer answer = nb_reader_next(&reader, &frame);
		if (answer == NB_FRAME && nb_reader_next(&reader, &frame) == NB_END)
			status = frame.ncolumn == 0 ? 0 : -1;
		else
			status = strstr(reader.error, "out of memory") ? NB_ENOMEM : -1;
		nb_frame_clear(&frame);
		nb_reader_close(&reader);
	}
	if (source->piped)
		close(ends[0]);
	return status;
}

static int fill(void *context, const struct nb_column *column, uint64_t first, size_t count, void *to)
{
	(void)context;
	memset(to, (int)(first % 7), count * column->rowsize);
	return NB_OK;
}

static int fill_stream(void *context)
{
	const int fd = *(int *)context;
	const struct nb_filler filler = {.rows = 64, .block = fill};
	struct nb_frame frame;
	struct nb_writer writer;
	CHECK(ftruncate(fd, 0) == 0);
	nb_frame_init(&frame);
	frame.rows[NB_PARTICLE] = 1000;
	int status = nb_frame_add(&frame, "x", NB_PARTICLE, "|V3", 1, "", 0) ? NB_OK : NB_ENOMEM;
	if (!status)
		status = nb_writer_open(&writer, dup(fd));
	if (!status && (nb_writer_fill(&writer, &frame, &filler) || nb_writer_close(&writer))) {
		CHECK(strstr(writer.error, "out of memory") != NULL);
		nb_writer_abandon(&writer);
		status = NB_ENOMEM;
	}
	if (!status)
		status = nb_frame_fill(&frame, &filler);
	nb_frame_clear(&frame);
	return status;
}

int main(void)
{
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (unsigned seed = 0; seed < 20; seed++) {
			random_state = 1000 * t + seed;
			test_columns(types[t], 500);
		}
	CHECK(scarce_each("frames", make_and_share, NULL, NB_ENOMEM) > 20);
	int fd = memfd_create("stream", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(scarce_each("writing", write_stream, &fd, NB_ENOMEM) > 10);
	CHECK(scarce_each("reading a file", read_stream, &(struct source){fd, 0}, NB_ENOMEM) > 5);
	CHECK(scarce_each("reading a pipe", read_stream, &(struct source){fd, 1}, NB_ENOMEM) > 5);
	scarce_blocks_only = 1;
	CHECK(scarce_each("blocks", fill_stream, &fd, NB_ENOMEM) > 3);
	close(fd);
	return unit_end();
}
