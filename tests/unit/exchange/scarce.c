/* Import and export when memory runs out, or when reading or writing fails: each call that fails is reported, and
 * nothing is left. */
#include "tests/unit/scarce.h"
#include "common/cpu.h"
#include "formats/exchange/bytes.h"
#include "formats/exchange/output.h"

#include "tests/unit/exchange/bodies.h"
#include "tests/unit/exchange/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

enum { MOST = 1 << 20, BROKEN = 1000 /* status: EIO, which is reported */ };

/* What fails instead of memory: reading or writing of bytes, with EIO. */
static int reads_fail, writes_fail;

#define FAILING(fails, type, name, parameters, arguments, failure)                                   \
	type __real_##name parameters;                                                               \
	type __wrap_##name parameters;                                                               \
	type __wrap_##name parameters                                                                \
	{                                                                                            \
		return fails && scarce_strikes() ? (errno = EIO, failure) : __real_##name arguments; \
	}
FAILING(writes_fail, int, nb_output_bytes, (struct nb_output * out, const void *data, size_t n), (out, data, n), -1)
FAILING(writes_fail, int, nb_output_text, (struct nb_output * out, const char *text), (out, text), -1)
FAILING(writes_fail, int, nb_output_f64, (struct nb_output * out, double x), (out, x), -1)
FAILING(writes_fail, int, nb_output_goes_back, (struct nb_output * out), (out), -1)
FAILING(writes_fail, int, nb_output_again, (struct nb_output * out, size_t at, const void *data, size_t n),
	(out, at, data, n), -1)
FAILING(reads_fail, const unsigned char *, nb_bytes_peek, (struct nb_bytes * bytes, size_t n, size_t *there),
	(bytes, n, there), NULL)
FAILING(reads_fail, ssize_t, nb_bytes_read, (struct nb_bytes * bytes, void *to, size_t most), (bytes, to, most), -1)
FAILING(reads_fail, int, nb_bytes_skip, (struct nb_bytes * bytes, uint64_t n), (bytes, n), -1)
FAILING(reads_fail, int, nb_bytes_seek, (struct nb_bytes * bytes, uint64_t at), (bytes, at), -1)

static char folder[] = "/tmp/nb-unit-scarce-XXXXXX", to[64];

struct work {
	const struct nb_format *format;
	struct nb_frame *frame; /* to be exported */
	const char *from;	/* what is imported, with so many rows in all */
	size_t rows;
	const struct nb_subset *subset; /* NULL: all */
	int frames;			/* that are exported, 0: one */
	const unsigned char *want;	/* what is written; NULL: nobody looks */
	size_t size;
};

/* All of a file, without a call that could fail: stdio needs memory, where libc is linked statically. */
static size_t bytes_of(const char *name, unsigned char to_bytes[MOST])
{
	const int fd = open(name, O_RDONLY);
	const ssize_t n = read(fd, to_bytes, MOST);
	CHECK(n >= 0 && n < MOST && close(fd) == 0);
	return n < 0 ? 0 : (size_t)n;
}

/* A frame of which no other form has been kept, so that each conversion needs memory; this itself never fails. */
static void renew(struct nb_frame *frame)
{
	const long fails = scarce_fails;
	scarce_fails = 0;
	nb_frame_clear(frame);
	make_bodies(frame);
	/* density of gas only */
	float *density = nb_column_write(nb_frame_find(frame, "density"), &nb_space_host, NB_WIRE);
	CHECK(density != NULL);
	if (density)
		density[1] = NAN;
	scarce_fails = fails;
}

static int import(void *context)
{
	const struct work *work = context;
	struct nb_import in;
	struct nb_frame frame;
	size_t rows = 0;
	enum nb_answer answer = NB_ERROR;
	nb_frame_init(&frame);
	if (nb_import_open(&in, work->format, 0, work->from, work->subset, NULL) == NB_OK)
		while ((answer = nb_import_next(&in, &frame)) == NB_FRAME)
			rows += frame.rows[NB_PARTICLE];
	const int status = answer == NB_END ? (rows == work->rows ? 0 : -1)
			   : strstr(in.error, "out of memory") || strstr(in.error, strerror(ENOMEM)) ? NB_ENOMEM
			   : strstr(in.error, strerror(EIO))					     ? BROKEN
												     : -1;
	nb_import_close(&in);
	nb_frame_clear(&frame);
	return status;
}

static int export(void *context)
{
	const struct work *work = context;
	struct nb_export out;
	if (work->want)
		renew(work->frame);
	int status = nb_export_open(&out, work->format, to);
	if (!status) {
		out.several = work->frames > 1 || strcmp(work->format->name, "csv") == 0;
		status = nb_export_frame(&out, work->frame);
		for (int k = 1; !status && k < work->frames; k++)
			status = nb_export_frame(&out, work->frame);
		if (!status)
			status = nb_export_close(&out);
	}
	if (status == -1 && (errno == ENOMEM || errno == EIO))
		status = errno == EIO ? BROKEN : NB_ENOMEM;
	if (status == NB_EINVAL && strstr(out.error, strerror(EIO)))
		status = BROKEN;
	if (status == NB_EINVAL && strstr(out.error, strerror(ENOMEM)))
		status = NB_ENOMEM;
	nb_export_abandon(&out);
	if (!status && work->want) {
		static unsigned char got[MOST];
		status = bytes_of(to, got) == work->size && memcmp(got, work->want, work->size) == 0 ? 0 : -1;
	}
	return status;
}

/* As scarce_each, but not memory fails. */
static long broken_each(const char *label, int (*work)(void *context), void *context)
{
	scarce_not_memory = 1;
	const long calls = scarce_each(label, work, context, BROKEN);
	scarce_not_memory = 0;
	return calls;
}

/* Reads the text, then writes what it holds; both with each call failing. */
static void test_format(const char *name, const char *text, size_t rows)
{
	struct nb_import in;
	struct nb_frame frame;
	struct work work = {.format = format_named(name), .from = path, .rows = rows, .frame = &frame};
	write_file(text);
	CHECK(scarce_each(name, import, &work, NB_ENOMEM) > 10);
	nb_frame_init(&frame);
	CHECK(nb_import_open(&in, work.format, 0, path, NULL, NULL) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_FRAME);
	nb_import_close(&in);
	CHECK(scarce_each(name, export, &work, NB_ENOMEM) > 2);
	writes_fail = rows <= 3;
	CHECK(rows > 3 || broken_each(name, export, &work) > 2);
	writes_fail = 0;
	nb_frame_clear(&frame);
}

/* Writes bodies with each call failing; the file stays. */
static void test_writing(struct work *work)
{
	static unsigned char want[MOST];
	const char *name = work->format->name;
	renew(work->frame);
	work->want = NULL;
	CHECK(export(work) == 0);
	work->size = bytes_of(to, want);
	work->want = want;
	CHECK(scarce_each(name, export, work, NB_ENOMEM) > 2);
	writes_fail = 1;
	CHECK(broken_each(name, export, work) > 2);
	writes_fail = 0;
	CHECK(export(work) == 0);
}

static void test_reading(struct work *work)
{
	const char *name = work->format->name;
	CHECK(scarce_each(name, import, work, NB_ENOMEM) > 10);
	reads_fail = 1;
	CHECK(broken_each(name, import, work) > 0);
	reads_fail = 0;
}

/* Both, if there is a reader, which then also takes only the second body. */
static void test_bodies(const char *written, const char *read)
{
	static const double sphere[] = {1.5, 2.5, 3.5, 10};
	static const struct nb_subset second = {
		.row_first = 1, .row_last = 1, .row_step = 1, .species = {1 << 4 | 1}, .sphere = sphere};
	struct nb_frame frame;
	struct work work = {.format = format_named(written), .from = to, .rows = 2, .frame = &frame};
	nb_frame_init(&frame);
	test_writing(&work);
	work.format = read ? format_named(read) : NULL;
	if (read && !(work.format->lacks && work.format->lacks())) {
		test_reading(&work);
		work.subset = &second;
		work.rows = 1;
		test_reading(&work);
	}
	nb_frame_clear(&frame);
}

/* Two frames, into a file of this name. */
static void test_run(const char *written, const char *name)
{
	struct nb_frame frame;
	struct work work = {.format = format_named(written), .frame = &frame, .frames = 2};
	nb_frame_init(&frame);
	snprintf(to, sizeof to, "%s/%s", folder, name);
	test_writing(&work);
	unlink(to);
	nb_frame_clear(&frame);
}

int main(void)
{
	static char many[200000];
	if (!mkdtemp(folder))
		return 1;
	nb_cpu_set_threads(1); /* starting others needs memory, too, without which libgomp ends the program */
	snprintf(to, sizeof to, "%s/out", folder);
	make_path();
	test_format("csv", "frame,time,id,x,y,a,word\n0,0,7,1,2,3,one\n0,0,8,1,2,4,two\n1,1,7,1,2,3,three\n", 3);
	test_format("csv", "x,y,z,a\n", 0);
	test_format(
		"csv", "x,y,z,species,word\n1,2,3,4,a\n1,2,3,5,a word that is longer than thirty-two characters\n", 2);
	/* more rows than there is room for in the beginning */
	int used = snprintf(many, sizeof many, "x,y,z,a\n");
	for (int i = 0; i < 1500; i++)
		used += snprintf(many + used, sizeof many - (size_t)used, "%d,2,3,4\n", i);
	test_format("csv", many, 1500);
	used = snprintf(many, sizeof many, "1500 5\n");
	for (int i = 0; i < 1500; i++)
		used += snprintf(many + used, sizeof many - (size_t)used, "%d 2 3 4 5\n", i);
	test_format("princeton", many, 1500);
	test_format("princeton", "2 5\n1 2 3 4 5 1 2 3\n1 2 3 4 5 3 4 5\n", 2);
	test_format("princeton", "3 5\n1 2 3 4 5 1 2 3\n1 2 3 4 5 moon\n1 2 3 4 5 sun\n", 3);
	test_format("princeton", "2 5\n1 2 3 4 5 sun\n1 2 3 4 5 a name that is longer than thirty-two characters\n", 2);
	test_bodies("tipsy", "tipsy");
	test_bodies("nemo", "nemo");
	test_bodies("nemo-split", "nemo");
	test_bodies("gadget", "gadget");
	test_bodies("gadget2", "gadget");
	test_bodies("gadget-hdf5", "gadget-hdf5");
	test_bodies("vtkhdf", NULL);
	test_bodies("vtp", NULL);
	test_bodies("npy", NULL);
	test_bodies("npz", NULL);
	unlink(path);
	unlink(to);
	test_run("vtp", "run.pvd");
	test_run("vtkhdf", "run.hdf");
	test_run("npz", "run.npz");
	test_run("nemo", "run.nemo");
	static const char *const beside[] = {"out.iord", "run_000000.vtp", "run_000001.vtp"};
	for (size_t k = 0; k < sizeof beside / sizeof *beside; k++) {
		snprintf(to, sizeof to, "%s/%s", folder, beside[k]);
		CHECK(unlink(to) == 0);
	}
	CHECK(rmdir(folder) == 0); /* no failure has left a file */
	return unit_end();
}
