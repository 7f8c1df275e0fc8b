/* Snapshots of GADGET (Springel 2005, MNRAS 364, 1105; the users' guide of GADGET-2, section 6): blocks of binary
 * numbers between two counts of their bytes, as Fortran writes them.  Format 1 has the blocks in a fixed order, format
 * 2 a label before each.  Both byte orders, f4 or f8, ids of 4 or 8 bytes, and snapshots of several files NAME.0,
 * NAME.1
 * ... are read, in one pass: POS of all files first, since a sphere decides by it which bodies are wanted; then the
 * other blocks, of which only wanted columns and rows are read where the file can be skipped in.
 *
 * Bodies stand in the order of the files, and in a file in the order of types. */
#include "formats/exchange/bytes_internal.h"
#include "formats/exchange/gadget_internal.h"
#include "formats/exchange/subset_internal.h"

#include "common/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALL = 0x3f, MOST_FILES = 1 << 16, MOST_COLUMNS = 256, NEAR = 64 << 10, FIRST_ROOM = 1 << 16 };

const struct nb_gadget_attribute nb_gadget_attributes[] = {
	{"redshift", 80, 'd', 0, 0},
	{"flag_sfr", 88, 'i', 0, 0},
	{"flag_feedback", 92, 'i', 0, 0},
	{"flag_cooling", 120, 'i', 0, 0},
	{"box_size", 128, 'd', 0, 0},
	{"omega0", 136, 'd', 0, 0},
	{"omega_lambda", 144, 'd', 0, 0},
	{"hubble_param", 152, 'd', 1, 1},
	{"flag_stellarage", 160, 'i', 0, 0},
	{"flag_metals", 164, 'i', 0, 0},
	{"flag_entropy_instead_u", 192, 'i', 0, 0},
	{"flag_lpt_ics", 200, 'i', 0, 0},
	{"lpt_scalingfactor", 204, 'f', 0, 0},
};
const size_t nb_gadget_nattribute = sizeof nb_gadget_attributes / sizeof *nb_gadget_attributes;

const struct nb_gadget_block nb_gadget_blocks[NB_GADGET_NBLOCK] = {
	[NB_GADGET_POS] = {"POS ", "pos", NB_POS, 3, 0},
	[NB_GADGET_VEL] = {"VEL ", "vel", NB_VEL, 3, 0},
	[NB_GADGET_ID] = {"ID  ", "id", NB_ID, 1, 0},
	[NB_GADGET_MASSES] = {"MASS", "mass", NB_MASS, 1, 0},
	[NB_GADGET_U] = {"U   ", "internal_energy", NB_NFIELD, 1, 1},
	[NB_GADGET_RHO] = {"RHO ", "density", NB_NFIELD, 1, 1},
	[NB_GADGET_HSML] = {"HSML", "smoothing_length", NB_NFIELD, 1, 1},
	[NB_GADGET_POT] = {"POT ", "pot", NB_POT, 1, 0},
	[NB_GADGET_ACCE] = {"ACCE", "acc", NB_ACC, 3, 0},
};

unsigned nb_gadget_with_masses(const uint64_t n[NB_NTYPE], const double mass[NB_NTYPE])
{
	unsigned mask = 0;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		mask |= n[t] && mass[t] == 0 ? 1u << t : 0;
	return mask;
}

enum nb_gadget_number nb_gadget_by_place(unsigned seen, const uint64_t n[NB_NTYPE], unsigned masses, uint64_t numbers)
{
	for (unsigned b = NB_GADGET_MASSES; b < NB_GADGET_NBLOCK; b++) {
		const struct nb_gadget_block *block = &nb_gadget_blocks[b];
		uint64_t rows = 0;
		for (unsigned t = 0; t < NB_NTYPE; t++)
			rows += (b == NB_GADGET_MASSES ? masses >> t & 1 : !block->gas || t == 0) ? n[t] : 0;
		if (!(seen >> b) && rows && numbers == rows * block->ncomp)
			return (enum nb_gadget_number)b;
	}
	return NB_GADGET_NBLOCK;
}

struct header {
	uint64_t n[NB_NTYPE], rows; /* in this file */
	double mass[NB_NTYPE];
	double time;
	uint64_t total[NB_NTYPE]; /* in all */
	unsigned files;
	unsigned char raw[NB_GADGET_HEADER];
};

/* Rows of a file, all of one type: first, first + step ... */
struct run {
	uint64_t first, step, count;
	unsigned type;
};

/* A file of the snapshot. */
struct part {
	struct run *run; /* the rows that are wanted */
	size_t nrun, room;
	uint64_t from;	 /* its first row, of all files */
	uint64_t begin;	 /* its first row in the frame */
	uint64_t behind; /* offset behind POS */
	unsigned seen;	 /* blocks that it has, bits of enum nb_gadget_number */
};

struct gadget_reader {
	struct nb_import *in;
	struct nb_bytes *bytes, own; /* of the present file; own: if it is another than the one that was opened */
	int fd;			     /* of own, -1: closed */
	char *name;		     /* of the present file, NULL: the one that was opened */
	int swap, labels;
	struct header head, first; /* of the present file, and of the one that was opened */
	int first_swap, several, directory;
	char *stem;
	struct part *part;
	unsigned nfile;
	uint64_t rows; /* of all files */
	int block;     /* of the present file, from 1; 0: the header */
	char label[5];
	uint64_t block_at;
	uint32_t block_size;
	unsigned width; /* of the numbers of POS */
	int done;
};

/* ---- messages ----------------------------------------------------------------------------------- */

static const char *name_of(const struct gadget_reader *reader)
{
	const struct nb_import named = {.name = reader->name ? reader->name : reader->in->name};
	return nb_import_tail(&named);
}

__attribute__((format(printf, 2, 3))) static int fail(struct gadget_reader *reader, const char *format, ...)
{
	struct nb_import *in = reader->in;
	va_list ap;
	int used = snprintf(in->error, sizeof in->error, "%s", name_of(reader));
	if (reader->block)
		used += snprintf(in->error + used, sizeof in->error - (size_t)used, " block %d%s%s%s at byte %" PRIu64,
			reader->block, *reader->label ? " '" : "", reader->label, *reader->label ? "'" : "",
			reader->block_at);
	used += snprintf(in->error + used, sizeof in->error - (size_t)used, ": ");
	va_start(ap, format);
	vsnprintf(in->error + used, sizeof in->error - (size_t)used, format, ap);
	va_end(ap);
	return NB_EINVAL;
}

static int fail_read(struct gadget_reader *reader)
{
	return fail(reader, "read error: %s", strerror(errno));
}

__attribute__((format(printf, 2, 3))) static void warn(struct gadget_reader *reader, const char *format, ...)
{
	struct nb_import *in = reader->in;
	const size_t used = strlen(in->warning);
	va_list ap;
	va_start(ap, format);
	if (used + 80 < sizeof in->warning) {
		const int more = snprintf(in->warning + used, sizeof in->warning - used, "%s", used ? "; " : "");
		vsnprintf(in->warning + used + more, sizeof in->warning - used - (size_t)more, format, ap);
	}
	va_end(ap);
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static uint32_t u32_of(const unsigned char *from, int swap)
{
	uint32_t x;
	memcpy(&x, from, sizeof x);
	return swap ? __builtin_bswap32(x) : x;
}

static uint64_t u64_of(const unsigned char *from, int swap)
{
	uint64_t x;
	memcpy(&x, from, sizeof x);
	return swap ? __builtin_bswap64(x) : x;
}

static float f32_of(const unsigned char *from, int swap)
{
	const uint32_t bits = u32_of(from, swap);
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static double f64_of(const unsigned char *from, int swap)
{
	const uint64_t bits = u64_of(from, swap);
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Each with swap as a constant, so that the loop has one case only. */
#define EACH(type, size, of)                                              \
	do {                                                              \
		if (swap)                                                 \
			for (size_t i = 0; i < n; i++)                    \
				((type *)to)[i] = of(from + (size)*i, 1); \
		else                                                      \
			for (size_t i = 0; i < n; i++)                    \
				((type *)to)[i] = of(from + (size)*i, 0); \
	} while (0)

static void take_f64_of_f32(const unsigned char *from, size_t n, int swap, void *to)
{
	EACH(double, 4, f32_of);
}

static void take_64(const unsigned char *from, size_t n, int swap, void *to)
{
	EACH(uint64_t, 8, u64_of);
}

static void take_u64_of_u32(const unsigned char *from, size_t n, int swap, void *to)
{
	EACH(uint64_t, 4, u32_of);
}

static void take_32(const unsigned char *from, size_t n, int swap, void *to)
{
	EACH(uint32_t, 4, u32_of);
}

typedef void take(const unsigned char *from, size_t n, int swap, void *to);

/* ---- blocks ------------------------------------------------------------------------------------- */

/* The next n bytes, which stay the next; NULL after fail. */
static const unsigned char *need(struct gadget_reader *reader, size_t n)
{
	size_t there;
	const unsigned char *from = nb_bytes_peek(reader->bytes, n, &there);
	if (!from)
		fail_read(reader);
	else if (there < n)
		fail(reader, "the file ends after %" PRIu64 " bytes", reader->bytes->at + there);
	return from && there == n ? from : NULL;
}

/* The count before or behind a block. */
static int take_count(struct gadget_reader *reader, uint32_t *count)
{
	const unsigned char *from = need(reader, 4);
	if (!from)
		return NB_EINVAL;
	*count = u32_of(from, reader->swap);
	nb_bytes_pass(reader->bytes, 4);
	return NB_OK;
}

static int skip(struct gadget_reader *reader, uint64_t n)
{
	const int status = nb_bytes_skip(reader->bytes, n);
	if (status < 0)
		return fail_read(reader);
	return status ? fail(reader, "the file ends within it") : NB_OK;
}

static int end_block(struct gadget_reader *reader)
{
	uint32_t size;
	if (take_count(reader, &size))
		return NB_EINVAL;
	return size == reader->block_size ? NB_OK
					  : fail(reader, "has %" PRIu32 " bytes, but %" PRIu32 " stands behind it",
						    reader->block_size, size);
}

/* The head of the next block: 1, 0 at the end of the file, -1 after fail. */
static int next_block(struct gadget_reader *reader)
{
	size_t there;
	uint32_t size;
	reader->block++;
	reader->block_at = reader->bytes->at;
	*reader->label = '\0';
	if (!nb_bytes_peek(reader->bytes, 1, &there)) {
		fail_read(reader);
		return -1;
	}
	if (there == 0)
		return 0;
	if (reader->labels) {
		const unsigned char *from = need(reader, 16);
		if (!from)
			return -1;
		if (u32_of(from, reader->swap) != 8 || u32_of(from + 12, reader->swap) != 8) {
			fail(reader, "no label of 8 bytes is before it");
			return -1;
		}
		memcpy(reader->label, from + 4, 4);
		reader->label[4] = '\0';
		for (int k = 0; k < 4; k++)
			if (!isprint((unsigned char)reader->label[k]))
				reader->label[k] = reader->label[k] ? '?' : ' ';
		nb_bytes_pass(reader->bytes, 16);
	} else if (reader->block <= NB_GADGET_ID + 1) {
		strcpy(reader->label, nb_gadget_blocks[reader->block - 1].label);
	}
	if (take_count(reader, &size))
		return -1;
	reader->block_size = size;
	const struct nb_bytes *bytes = reader->bytes;
	if (bytes->seekable && bytes->size - bytes->at < (uint64_t)size + 4) {
		fail(reader, "has %" PRIu32 " bytes, but the file ends after %" PRIu64, size, bytes->size);
		return -1;
	}
	return 1;
}

/* ---- header ------------------------------------------------------------------------------------- */

static int recognises(const unsigned char *head, size_t n, uint64_t size)
{
	(void)size;
	for (int swap = 0; swap < 2 && n >= 8; swap++) {
		const uint32_t count = u32_of(head, swap);
		if (count == NB_GADGET_HEADER && (n < 264 || u32_of(head + 260, swap) == NB_GADGET_HEADER))
			return 1;
		if (count == 8 && memcmp(head + 4, "HEAD", 4) == 0)
			return 1;
	}
	return 0;
}

/* What the header says. */
static int parse_header(struct gadget_reader *reader, const unsigned char *from)
{
	struct header *head = &reader->head;
	const int swap = reader->swap;
	*head = (struct header){.time = f64_of(from + NB_GADGET_TIME, swap)};
	memcpy(head->raw, from, NB_GADGET_HEADER);
	for (int t = 0; t < NB_NTYPE; t++) {
		const uint32_t n = u32_of(from + NB_GADGET_N + 4 * t, swap);
		if (n > INT32_MAX)
			return fail(reader, "the header counts %" PRId32 " bodies of type %d", (int32_t)n, t);
		head->n[t] = n;
		head->rows += n;
		head->mass[t] = f64_of(from + NB_GADGET_MASS + 8 * t, swap);
		if (!isfinite(head->mass[t]) || head->mass[t] < 0)
			return fail(reader, "the header has mass %g for type %d", head->mass[t], t);
		head->total[t] = u32_of(from + NB_GADGET_TOTAL + 4 * t, swap) |
				 (uint64_t)u32_of(from + NB_GADGET_TOTAL_HIGH + 4 * t, swap) << 32;
	}
	if (!isfinite(head->time))
		return fail(reader, "the header has time %g", head->time);
	const uint32_t files = u32_of(from + NB_GADGET_FILES, swap);
	if (files > MOST_FILES)
		return fail(reader, "the header counts %" PRId32 " files", (int32_t)files);
	head->files = files > 1 ? files : 1;
	return NB_OK;
}

static int read_header(struct gadget_reader *reader)
{
	size_t there;
	const unsigned char *from = nb_bytes_peek(reader->bytes, 24 + NB_GADGET_HEADER, &there);
	reader->block = 0;
	if (!from)
		return fail_read(reader);
	if (there == 0)
		return fail(reader, "the file is empty");
	const uint32_t first = there >= 8 ? u32_of(from, 0) : 0;
	reader->swap = first == __builtin_bswap32(8) || first == __builtin_bswap32(NB_GADGET_HEADER);
	reader->labels = there >= 8 && u32_of(from, reader->swap) == 8;
	if (!recognises(from, there, 0))
		return fail(reader, "this is no GADGET snapshot (it begins with neither 256 nor a label HEAD)");
	const size_t begin = reader->labels ? 16 : 0, end = begin + 8 + NB_GADGET_HEADER;
	if (there < end)
		return fail(reader, "the file ends within the header, after %zu bytes", there);
	if (reader->labels && u32_of(from + 12, reader->swap) != 8)
		return fail(reader, "8 does not stand behind the label of the header");
	if (u32_of(from + begin, reader->swap) != NB_GADGET_HEADER ||
		u32_of(from + end - 4, reader->swap) != NB_GADGET_HEADER)
		return fail(reader, "256 does not stand before and behind the header");
	if (parse_header(reader, from + begin + 4))
		return NB_EINVAL;
	nb_bytes_pass(reader->bytes, end);
	return NB_OK;
}

/* ---- several files ------------------------------------------------------------------------------- */

static void close_own(struct gadget_reader *reader)
{
	if (reader->fd >= 0) {
		nb_bytes_close(&reader->own);
		close(reader->fd);
	}
	reader->fd = -1;
	free(reader->name);
	reader->name = NULL;
	reader->bytes = reader->in->bytes;
}

/* File k is the present one, behind its header. */
static int open_file(struct gadget_reader *reader, unsigned k)
{
	if (!reader->several)
		return NB_OK;
	close_own(reader);
	reader->block = 0;
	if (asprintf(&reader->name, "%s.%u", reader->stem, k) < 0) {
		reader->name = NULL;
		return NB_ENOMEM;
	}
	reader->fd = openat(reader->directory, reader->name, O_RDONLY | O_CLOEXEC);
	if (reader->fd < 0)
		return fail(reader, "this file of %u cannot be opened: %s", reader->nfile, strerror(errno));
	if (nb_bytes_open(&reader->own, reader->fd))
		return NB_ENOMEM;
	reader->bytes = &reader->own;
	return read_header(reader);
}

/* The name without ".3", for a file that is one of several. */
static int find_stem(struct gadget_reader *reader)
{
	const char *path = reader->in->path;
	if (!path)
		return fail(reader, "this is one of %u files of a snapshot (give the FILE instead of standard input)",
			reader->nfile);
	const char *dot = strrchr(path, '.');
	if (!dot || !isdigit((unsigned char)dot[1]) || dot[1 + strspn(dot + 1, "0123456789")] ||
		strtoul(dot + 1, NULL, 10) >= reader->nfile)
		return fail(reader, "this is one of %u files, but the name does not end in .0 to .%u", reader->nfile,
			reader->nfile - 1);
	reader->stem = strndup(path, (size_t)(dot - path));
	reader->directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!reader->stem)
		return NB_ENOMEM;
	if (reader->directory < 0)
		return fail(reader, "the working directory cannot be opened: %s", strerror(errno));
	reader->several = 1;
	return NB_OK;
}

/* A file belongs to the others, and its bodies can be in it. */
static int check_file(struct gadget_reader *reader)
{
	const struct header *head = &reader->head;
	const struct nb_bytes *bytes = reader->bytes;
	if (head->files != reader->first.files || head->time != reader->first.time)
		return fail(reader, "it is of another snapshot: one of %u files at time %g, not of %u at time %g",
			head->files, head->time, reader->first.files, reader->first.time);
	if (bytes->seekable && (bytes->size - bytes->at) / 12 < head->rows)
		return fail(reader, "the header counts %" PRIu64 " bodies, but the file has %" PRIu64 " bytes",
			head->rows, bytes->size);
	return NB_OK;
}

/* The headers of all files agree with each other. */
static int check_files(struct gadget_reader *reader)
{
	uint64_t n[NB_NTYPE] = {0};
	int promised = 0;
	for (unsigned k = 0; k < reader->nfile; k++) {
		const int status = open_file(reader, k);
		if (status)
			return status;
		if (check_file(reader))
			return NB_EINVAL;
		for (int t = 0; t < NB_NTYPE; t++)
			n[t] += reader->head.n[t];
		reader->part[k].from = reader->rows;
		reader->rows += reader->head.rows;
	}
	for (int t = 0; t < NB_NTYPE; t++)
		promised |= reader->first.total[t] != 0;
	for (int t = 0; t < NB_NTYPE; t++) {
		if (!promised || n[t] == reader->first.total[t])
			continue;
		reader->block = 0;
		if (reader->several)
			return fail(reader,
				"the files hold %" PRIu64 " bodies of type %d, but the header promises %" PRIu64, n[t],
				t, reader->first.total[t]);
		warn(reader, "%s has %" PRIu64 " bodies of type %d, but its header promises %" PRIu64 " in all files",
			name_of(reader), n[t], t, reader->first.total[t]);
	}
	return NB_OK;
}

static int open_gadget(struct nb_import *in)
{
	struct gadget_reader *reader = in->state;
	reader->in = in;
	reader->bytes = in->bytes;
	reader->fd = reader->directory = -1;
	if (read_header(reader))
		return NB_EINVAL;
	reader->first = reader->head;
	reader->first_swap = reader->swap;
	reader->nfile = reader->head.files;
	reader->part = calloc(reader->nfile, sizeof *reader->part);
	if (!reader->part)
		return NB_ENOMEM;
	const int status = reader->nfile > 1 ? find_stem(reader) : NB_OK;
	return status ? status : check_files(reader);
}

/* ---- which rows ---------------------------------------------------------------------------------- */

static int add_run(struct part *part, uint64_t first, uint64_t step, uint64_t count, unsigned type)
{
	if (part->nrun == part->room) {
		const size_t room = 2 * part->room + NB_NTYPE;
		struct run *run = realloc(part->run, room * sizeof *run);
		if (!run)
			return NB_ENOMEM;
		part->run = run;
		part->room = room;
	}
	part->run[part->nrun++] = (struct run){.first = first, .step = step, .count = count, .type = type};
	return NB_OK;
}

/* By number and type. */
static int choose_rows(struct gadget_reader *reader, struct part *part)
{
	const struct nb_subset *subset = &reader->in->subset;
	uint64_t begin = part->from;
	for (unsigned t = 0; t < NB_NTYPE; t++) {
		const uint64_t end = begin + reader->head.n[t];
		uint64_t first, step;
		const uint64_t count = nb_subset_species(subset, t) ? nb_subset_rows(subset, begin, end, &first, &step)
								    : 0;
		if (count && add_run(part, first - part->from, step, count, t))
			return NB_ENOMEM;
		begin = end;
	}
	return NB_OK;
}

/* ---- contents of a block ------------------------------------------------------------------------- */

/* Where the rows of a block go. */
struct sink {
	take *take;
	unsigned ncomp;
	unsigned char *to;
	size_t rowsize; /* there */
	/* of positions, which come first: the memory grows as they come, and they choose */
	size_t row, room;
	struct part *chosen; /* gets those in the sphere, NULL: all are chosen */
};

static int reserve(struct sink *sink, size_t more)
{
	if (sink->room - sink->row >= more)
		return NB_OK;
	size_t room = sink->room < FIRST_ROOM ? FIRST_ROOM : 2 * sink->room;
	while (room - sink->row < more)
		room *= 2;
	unsigned char *to = nb_alloc(room, sink->rowsize);
	if (!to)
		return NB_ENOMEM;
	if (sink->row)
		memcpy(to, sink->to, sink->row * sink->rowsize);
	nb_free(sink->to);
	sink->to = to;
	sink->room = room;
	return NB_OK;
}

/* Of n positions behind the others those in the sphere stay; they are rows of the run from number k on. */
static int choose_places(const struct nb_subset *subset, struct sink *sink, size_t n, const struct run *run, uint64_t k)
{
	double *pos = (double *)(void *)sink->to;
	size_t to = sink->row;
	for (size_t i = 0; i < n; i++) {
		const double x[3] = {
			pos[3 * (sink->row + i)], pos[3 * (sink->row + i) + 1], pos[3 * (sink->row + i) + 2]};
		if (!nb_subset_place(subset, x))
			continue;
		memcpy(&pos[3 * to++], x, sizeof x);
		const uint64_t row = run->first + (k + i) * run->step;
		struct part *part = sink->chosen;
		struct run *last = part->nrun ? &part->run[part->nrun - 1] : NULL;
		if (last && last->type == run->type && last->first + last->count == row)
			last->count++;
		else if (add_run(part, row, 1, 1, run->type))
			return NB_ENOMEM;
	}
	sink->row = to;
	return NB_OK;
}

/* n rows of a run from number k on. */
static int put(struct gadget_reader *reader, struct sink *sink, const unsigned char *from, size_t n,
	const struct run *run, uint64_t k)
{
	if (!sink->room) {
		sink->take(from, n * sink->ncomp, reader->swap, sink->to + sink->row * sink->rowsize);
		sink->row += n;
		return NB_OK;
	}
	if (reserve(sink, n))
		return NB_ENOMEM;
	sink->take(from, n * sink->ncomp, reader->swap, sink->to + sink->row * sink->rowsize);
	if (sink->chosen)
		return choose_places(&reader->in->subset, sink, n, run, k);
	sink->row += n;
	return NB_OK;
}

/* The rows of one run, which begins here in the block. */
static int take_run(struct gadget_reader *reader, const struct run *run, size_t rowsize, struct sink *sink)
{
	/* rows that are far from each other are read one by one */
	const uint64_t most = run->step > NEAR / rowsize ? 1 : (NB_BYTES_MOST / rowsize - 1) / run->step + 1;
	for (uint64_t k = 0; k < run->count;) {
		const size_t n = (size_t)(run->count - k < most ? run->count - k : most);
		const size_t span = ((n - 1) * (size_t)run->step + 1) * rowsize;
		/* the buffer is ours: wanted rows move together in it */
		unsigned char *from = (unsigned char *)need(reader, span);
		if (!from)
			return NB_EINVAL;
		for (size_t i = 1; run->step > 1 && i < n; i++)
			memmove(from + i * rowsize, from + i * run->step * rowsize, rowsize);
		if (put(reader, sink, from, n, run, k))
			return NB_ENOMEM;
		nb_bytes_pass(reader->bytes, span);
		k += n;
		const int status = k < run->count ? skip(reader, (run->step - 1) * rowsize) : NB_OK;
		if (status)
			return status;
	}
	return NB_OK;
}

/* The wanted rows of a block that has the types of the mask, and its end. */
static int take_block(
	struct gadget_reader *reader, const struct part *part, unsigned mask, size_t rowsize, struct sink *sink)
{
	uint64_t at = 0; /* row of the block */
	for (size_t r = 0; r < part->nrun; r++) {
		const struct run *run = &part->run[r];
		uint64_t first = run->first;
		if (!(mask >> run->type & 1)) {
			sink->row += run->count;
			continue;
		}
		for (unsigned t = 0; t < run->type; t++)
			first -= mask >> t & 1 ? 0 : reader->head.n[t];
		int status = skip(reader, (first - at) * rowsize);
		if (!status)
			status = take_run(reader, run, rowsize, sink);
		if (status)
			return status;
		at = first + (run->count - 1) * run->step + 1;
	}
	const int status = skip(reader, reader->block_size - at * rowsize);
	return status ? status : end_block(reader);
}

static int skip_block(struct gadget_reader *reader)
{
	const int status = skip(reader, reader->block_size);
	return status ? status : end_block(reader);
}

/* ---- positions ----------------------------------------------------------------------------------- */

static int is_label(const struct gadget_reader *reader, const char *label)
{
	return strcmp(reader->label, label) == 0;
}

static int wrong_size(struct gadget_reader *reader, uint64_t rows, unsigned ncomp)
{
	return fail(reader, "has %" PRIu32 " bytes, want %" PRIu64 " or %" PRIu64 " (bodies: %" PRIu64 ")",
		reader->block_size, rows * ncomp * 4, rows * ncomp * 8, rows);
}

/* Bytes of each of so many numbers, 0: it is neither 4 nor 8. */
static unsigned width_of(const struct gadget_reader *reader, uint64_t rows, unsigned ncomp)
{
	return reader->block_size == rows * ncomp * 4 ? 4 : reader->block_size == rows * ncomp * 8 ? 8 : 0;
}

/* POS of the present file, and with it which of its bodies are wanted. */
static int read_places(struct gadget_reader *reader, struct part *part, struct sink *sink)
{
	struct part by_number = {.from = part->from};
	int there = next_block(reader);
	while (there == 1 && is_label(reader, "INFO")) {
		if (skip_block(reader))
			return NB_EINVAL;
		there = next_block(reader);
	}
	if (there < 0)
		return NB_EINVAL;
	if (there == 0 && reader->head.rows == 0) {
		part->behind = reader->bytes->at;
		return NB_OK;
	}
	if (there == 0)
		return fail(reader, "the file ends before the positions of %" PRIu64 " bodies", reader->head.rows);
	if (!is_label(reader, "POS "))
		return fail(reader, "the first block must be POS");
	const unsigned width = width_of(reader, reader->head.rows, 3);
	if (!width)
		return wrong_size(reader, reader->head.rows, 3);
	reader->width = width;
	sink->take = width == 4 ? take_f64_of_f32 : take_64;
	int status = choose_rows(reader, part);
	if (!status && reader->in->subset.sphere) {
		by_number = *part;
		part->run = NULL;
		part->nrun = part->room = 0;
		sink->chosen = part;
	}
	if (!status)
		status = take_block(reader, sink->chosen ? &by_number : part, ALL, 3 * (size_t)width, sink);
	if (sink->chosen)
		free(by_number.run);
	part->behind = reader->bytes->at;
	return status;
}

/* POS of all files. */
static int read_all_places(struct gadget_reader *reader, struct nb_frame *frame)
{
	struct sink sink = {.ncomp = 3, .rowsize = 3 * sizeof(double)};
	/* what the file cannot hold has been refused; a pipe must show it first */
	const struct nb_subset *subset = &reader->in->subset;
	sink.room = reader->bytes->seekable && !subset->sphere && !subset->row_step ? (size_t)reader->rows + 1
										    : FIRST_ROOM;
	sink.to = nb_alloc(sink.room, sink.rowsize);
	int status = sink.to ? NB_OK : NB_ENOMEM;
	for (unsigned k = 0; !status && k < reader->nfile; k++) {
		reader->part[k].begin = sink.row;
		sink.chosen = NULL;
		status = open_file(reader, k);
		if (!status)
			status = read_places(reader, &reader->part[k], &sink);
	}
	if (!status && sink.row > NB_MAX_ROWS)
		status = NB_ELIMIT;
	frame->rows[NB_PARTICLE] = sink.row;
	struct nb_column *pos = status ? NULL : nb_frame_add_field(frame, NB_POS, NULL, 0);
	if (!pos) {
		nb_free(sink.to);
		return status ? status : NB_ENOMEM;
	}
	nb_column_adopt(pos, &nb_space_host, sink.to);
	return NB_OK;
}

/* ---- columns that follow from the header --------------------------------------------------------- */

static int wanted(const struct gadget_reader *reader, enum nb_field field)
{
	return nb_subset_needs(&reader->in->subset, nb_field_info[field].name);
}

static int add_species(struct gadget_reader *reader, struct nb_frame *frame)
{
	if (!wanted(reader, NB_SPECIES))
		return NB_OK;
	struct nb_column *column = nb_frame_add_field(frame, NB_SPECIES, NULL, 0);
	unsigned char *species = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	if (!species)
		return NB_ENOMEM;
	for (unsigned k = 0; k < reader->nfile; k++)
		for (size_t r = 0; r < reader->part[k].nrun; r++) {
			const struct run *run = &reader->part[k].run[r];
			memset(species, (int)run->type, (size_t)run->count);
			species += run->count;
		}
	return NB_OK;
}

/* A file without ids: the bodies are numbered as they stand in it. */
static int number_bodies(struct gadget_reader *reader, struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_add_field(frame, NB_ID, NULL, 0);
	uint64_t *id = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	if (!id)
		return NB_ENOMEM;
	for (unsigned k = 0; k < reader->nfile; k++)
		for (size_t r = 0; r < reader->part[k].nrun; r++) {
			const struct run *run = &reader->part[k].run[r];
			for (uint64_t i = 0; i < run->count; i++)
				*id++ = reader->part[k].from + run->first + i * run->step;
		}
	return NB_OK;
}

/* Masses of the header, 0 for those that are in a block. */
static void fill_masses(const struct gadget_reader *reader, const struct part *part, double *mass)
{
	for (size_t r = 0; r < part->nrun; r++)
		for (uint64_t i = 0; i < part->run[r].count; i++)
			*mass++ = reader->head.mass[part->run[r].type];
}

static int add_attributes(struct gadget_reader *reader, struct nb_frame *frame)
{
	const struct header *head = &reader->first;
	const int swap = reader->first_swap;
	double omega = 0;
	int status = nb_frame_set_attribute_f64(frame, "time", head->time) ||
		     nb_frame_set_attribute(frame, "dim", "3") || nb_frame_set_attribute_f64(frame, "G", NB_GADGET_G) ||
		     nb_frame_set_attribute(frame, NB_TYPES, "gadget");
	for (size_t k = 0; k < nb_gadget_nattribute && !status; k++) {
		const struct nb_gadget_attribute *a = &nb_gadget_attributes[k];
		const unsigned char *from = head->raw + a->at;
		const double x = a->kind == 'd'	  ? f64_of(from, swap)
				 : a->kind == 'f' ? (double)f32_of(from, swap)
						  : (double)(int32_t)u32_of(from, swap);
		if (strcmp(a->name, "omega0") == 0)
			omega = x;
		if (isfinite(x) && (x != 0 || a->always))
			status = nb_frame_set_attribute_f64(frame, a->name, x);
	}
	if (!status && !(omega > 0))
		status = nb_frame_set_attribute(frame, "units", NB_GADGET_UNITS);
	if (omega > 0)
		warn(reader,
			"%s is cosmological (omega0 = %g): positions are comoving, lengths and masses have units of "
			"1/h, "
			"and velocities lack a factor sqrt(a); nothing of that is converted",
			name_of(reader), omega);
	reader->in->usual_units = 1;
	return status ? NB_ENOMEM : NB_OK;
}

/* ---- other blocks -------------------------------------------------------------------------------- */

/* A block that is to be read: what it is, and which types have it. */
struct content {
	enum nb_gadget_number number; /* NB_GADGET_NBLOCK: none that is known */
	char column[NB_NAME_SIZE + 1];
	unsigned ncomp, width, mask;
};

/* Bodies of the present file whose types are in the mask. */
static uint64_t rows_of(const struct gadget_reader *reader, unsigned mask)
{
	uint64_t rows = 0;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		rows += mask >> t & 1 ? reader->head.n[t] : 0;
	return rows;
}

static unsigned with_masses(const struct gadget_reader *reader)
{
	return nb_gadget_with_masses(reader->head.n, reader->head.mass);
}

/* A block without label behind the ids; if it fits nothing while masses are due, those. */
static enum nb_gadget_number by_place(const struct gadget_reader *reader, const struct part *part)
{
	const unsigned masses = with_masses(reader);
	const enum nb_gadget_number b = nb_gadget_by_place(
		part->seen, reader->head.n, masses, reader->block_size / reader->width);
	return masses && !(part->seen >> NB_GADGET_MASSES) ? NB_GADGET_MASSES : b;
}

/* Whether the block has so many numbers of the types in the mask, and how wide. */
static int fits(const struct gadget_reader *reader, struct content *content, unsigned mask, unsigned ncomp)
{
	const uint64_t rows = rows_of(reader, mask);
	content->mask = mask;
	content->ncomp = ncomp;
	content->width = rows ? width_of(reader, rows, ncomp) : 0;
	if (rows == reader->head.rows)
		content->mask = ALL;
	return content->width != 0;
}

/* Which types have a block that some may not have: the first of these sets that its size fits, with numbers as wide as
 * those of positions if that fits any. */
static int find_types(const struct gadget_reader *reader, struct content *content, int gas)
{
	static const unsigned sets[] = {ALL, 0x01, 0x10, 0x20, 0x11, 0x21, 0x31, 0x02, 0x04, 0x08};
	const unsigned least = content->ncomp ? content->ncomp : 1, most = content->ncomp ? content->ncomp : 3;
	for (int any_width = 0; any_width < 2; any_width++) {
		if (gas && fits(reader, content, 0x01, least) && (any_width || content->width == reader->width))
			return 1;
		for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
			for (unsigned ncomp = least; ncomp <= most; ncomp += 2)
				if (fits(reader, content, sets[s], ncomp) &&
					(any_width || content->width == reader->width))
					return 1;
	}
	return 0;
}

static void lower(char *to, const char *label)
{
	size_t n = strlen(label);
	while (n && label[n - 1] == ' ')
		n--;
	for (size_t k = 0; k < n; k++)
		to[k] = isalnum((unsigned char)label[k]) ? (char)tolower((unsigned char)label[k]) : '_';
	to[n] = '\0';
}

/* What the present block is.  NB_OK; PASS: nothing that is to be read; or after fail. */
enum { PASS = -2 };
static int identify(struct gadget_reader *reader, struct part *part, struct content *content)
{
	unsigned b = 0;
	if (reader->labels || reader->block <= NB_GADGET_ID + 1)
		while (b < NB_GADGET_NBLOCK && !is_label(reader, nb_gadget_blocks[b].label))
			b++;
	else
		b = by_place(reader, part);
	content->number = (enum nb_gadget_number)b;
	if (b == NB_GADGET_NBLOCK) {
		content->ncomp = 0;
		if (is_label(reader, "INFO") || reader->block_size == 0)
			return PASS;
		if (*reader->label)
			lower(content->column, reader->label);
		else
			snprintf(content->column, sizeof content->column, "block_%d", reader->block);
		if (!*content->column || nb_field_find(content->column))
			strcat(content->column, "_block");
	} else {
		if (part->seen >> b & 1)
			return fail(reader, "there is another block of this kind before it");
		part->seen |= 1u << b;
		strcpy(reader->label, nb_gadget_blocks[b].label);
		snprintf(content->column, sizeof content->column, "%s", nb_gadget_blocks[b].column);
		content->ncomp = nb_gadget_blocks[b].ncomp;
	}
	if (!nb_subset_needs(&reader->in->subset, content->column))
		return PASS;
	if (b <= NB_GADGET_MASSES) {
		const unsigned mask = b == NB_GADGET_MASSES ? with_masses(reader) : ALL;
		if (!fits(reader, content, mask, content->ncomp) && reader->block_size + rows_of(reader, mask))
			return wrong_size(reader, rows_of(reader, mask), content->ncomp);
		return content->width ? NB_OK : PASS;
	}
	if (!find_types(reader, content, b < NB_GADGET_NBLOCK && nb_gadget_blocks[b].gas)) {
		if (reader->block_size)
			warn(reader, "%s block %d '%s' is left out: its %" PRIu32 " bytes fit no types of bodies",
				name_of(reader), reader->block, *reader->label ? reader->label : content->column,
				reader->block_size);
		return PASS;
	}
	return NB_OK;
}

/* The bodies of a column that no block has are NaN. */
static void fill_missing(struct nb_column *column, void *to)
{
	const size_t n = column->rows * column->ncomp;
	if (strcmp(column->dtype, "<f4") == 0)
		for (size_t i = 0; i < n; i++)
			((float *)to)[i] = NAN;
	else
		for (size_t i = 0; i < n; i++)
			((double *)to)[i] = NAN;
}

/* Where the block goes; a new column if it is the first of its kind.  NB_OK, PASS, or a status. */
static int prepare(
	struct gadget_reader *reader, struct nb_frame *frame, const struct content *content, struct sink *sink)
{
	const enum nb_field field = content->number < NB_GADGET_NBLOCK ? nb_gadget_blocks[content->number].field
								       : NB_NFIELD;
	const char *dtype = content->width == 4 ? "<f4" : "<f8";
	struct nb_column *column = nb_frame_find(frame, content->column);
	const int is_new = !column;
	*sink = (struct sink){.take = content->width == 4 ? take_32 : take_64, .ncomp = content->ncomp};
	if (field == NB_ID)
		sink->take = content->width == 4 ? take_u64_of_u32 : take_64;
	else if (field != NB_NFIELD)
		sink->take = content->width == 4 ? take_f64_of_f32 : take_64;
	if (is_new && frame->ncolumn >= MOST_COLUMNS)
		return fail(reader, "there are more than %d columns", MOST_COLUMNS);
	if (is_new)
		column = field != NB_NFIELD
				 ? nb_frame_add_field(frame, field, NULL, 0)
				 : nb_frame_add(frame, content->column, NB_PARTICLE, dtype, content->ncomp, "", 0);
	else if (field == NB_NFIELD && (strcmp(column->dtype, dtype) != 0 || column->ncomp != content->ncomp))
		return fail(reader, "it has other numbers than a block of the same name before it");
	if (!column)
		return NB_ENOMEM;
	sink->to = is_new ? nb_column_write(column, &nb_space_host, NB_WIRE)
			  : nb_column_update(column, &nb_space_host, NB_WIRE);
	sink->rowsize = column->rowsize;
	if (!sink->to)
		return NB_ENOMEM;
	if (is_new && field == NB_NFIELD && (content->mask != ALL || reader->several))
		fill_missing(column, sink->to);
	return NB_OK;
}

/* Blocks of bodies that were chosen among others say nothing that follows from all of them. */
static int is_stale(const struct gadget_reader *reader, const struct content *content, const struct nb_frame *frame)
{
	const enum nb_field field = content->number < NB_GADGET_NBLOCK ? nb_gadget_blocks[content->number].field
								       : NB_NFIELD;
	return field != NB_NFIELD && (nb_field_info[field].flags & NB_DERIVED) && !reader->in->subset.keep_derived &&
	       frame->rows[NB_PARTICLE] < reader->rows;
}

/* All blocks behind POS of the present file. */
static int read_blocks(struct gadget_reader *reader, struct part *part, struct nb_frame *frame)
{
	struct content content;
	struct sink sink;
	int there;
	part->seen = 1u << NB_GADGET_POS;
	while ((there = next_block(reader)) == 1) {
		int status = identify(reader, part, &content);
		if (!status && is_stale(reader, &content, frame))
			status = PASS;
		if (!status && content.mask != ALL && content.number >= NB_GADGET_POT &&
			content.number < NB_GADGET_NBLOCK) {
			warn(reader, "%s block '%s' is left out: not all types have it", name_of(reader),
				reader->label);
			status = PASS;
		}
		if (!status)
			status = prepare(reader, frame, &content, &sink);
		if (!status) {
			sink.row = part->begin;
			status = take_block(reader, part, content.mask, (size_t)content.ncomp * content.width, &sink);
		} else if (status == PASS) {
			status = skip_block(reader);
		}
		if (status)
			return status;
	}
	return there < 0 ? NB_EINVAL : NB_OK;
}

/* ---- the frame ----------------------------------------------------------------------------------- */

/* The columns that the header alone fills: masses as far as it has them, and species. */
static int begin_masses(struct gadget_reader *reader, struct nb_frame *frame)
{
	return !wanted(reader, NB_MASS) || nb_frame_add_field(frame, NB_MASS, NULL, 0) ? NB_OK : NB_ENOMEM;
}

static int set_masses(struct gadget_reader *reader, const struct part *part, struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_MASS);
	if (!column)
		return NB_OK;
	double *mass = part == reader->part ? nb_column_write(column, &nb_space_host, NB_WIRE)
					    : nb_column_update(column, &nb_space_host, NB_WIRE);
	if (!mass)
		return NB_ENOMEM;
	fill_masses(reader, part, mass + part->begin);
	return NB_OK;
}

/* The bodies of a type have masses in the header, or in a block, or no body has a mass. */
static int check_masses(
	struct gadget_reader *reader, struct part *part, struct nb_frame *frame, unsigned *without, unsigned *with)
{
	const unsigned in_block = with_masses(reader);
	const int has_block = part->seen >> NB_GADGET_MASSES & 1;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		if (reader->head.n[t])
			*(has_block || !(in_block >> t & 1) ? with : without) |= 1u << t;
	reader->block = 0;
	if (*without && *with) {
		unsigned t = 0;
		while (!(*without >> t & 1))
			t++;
		return fail(reader, "bodies of type %u have no mass, neither in the header nor in a block MASS", t);
	}
	if (*without)
		nb_frame_drop_field(frame, NB_MASS);
	return NB_OK;
}

/* Without labels, what every body has must be there. */
static int check_end(struct gadget_reader *reader, const struct part *part)
{
	for (unsigned b = NB_GADGET_VEL; b <= NB_GADGET_MASSES && !reader->labels; b++)
		if (!(part->seen >> b & 1) && (b < NB_GADGET_MASSES ? reader->head.rows > 0 : with_masses(reader) > 0))
			return fail(reader, "the file ends before block '%s'", nb_gadget_blocks[b].label);
	return NB_OK;
}

/* All files have the same blocks of what every body has. */
static int check_blocks(struct gadget_reader *reader, struct nb_frame *frame)
{
	static const enum nb_gadget_number all[] = {NB_GADGET_VEL, NB_GADGET_ID, NB_GADGET_POT, NB_GADGET_ACCE};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		unsigned some = 0, lack = 0, first = 0;
		for (unsigned f = 0; f < reader->nfile; f++) {
			const struct part *part = &reader->part[f];
			const uint64_t end = f + 1 < reader->nfile ? part[1].from : reader->rows;
			if (part->from == end)
				continue;
			const unsigned has = part->seen >> all[k] & 1;
			first = !has && !lack ? f : first;
			some |= has;
			lack |= !has;
		}
		if (!some && lack && all[k] < NB_GADGET_POT)
			warn(reader, "%s has no block '%s'%s", nb_import_tail(reader->in),
				nb_gadget_blocks[all[k]].label,
				all[k] == NB_GADGET_ID ? ": ids are the numbers of rows" : "");
		if (!some || !lack)
			continue;
		if (all[k] < NB_GADGET_POT)
			return fail(reader, "file %u of the snapshot has no block '%s', but others have", first,
				nb_gadget_blocks[all[k]].label);
		nb_frame_drop(frame, nb_gadget_blocks[all[k]].column);
		warn(reader, "block '%s' is left out: not all files have it", nb_gadget_blocks[all[k]].label);
	}
	return NB_OK;
}

/* Numbers that no stream may hold. */
static int check_numbers(struct gadget_reader *reader, struct nb_frame *frame)
{
	for (unsigned b = 0; b < NB_GADGET_NBLOCK; b++) {
		const enum nb_field field = nb_gadget_blocks[b].field;
		struct nb_column *column = field == NB_NFIELD || field == NB_ID ? NULL : nb_frame_field(frame, field);
		const size_t row = column ? nb_column_first_bad(
						    column, NB_BAD_NONFINITE | (field == NB_MASS ? NB_BAD_NEGATIVE : 0))
					  : 0;
		if (!column || row >= column->rows)
			continue;
		close_own(reader);
		reader->block = 0;
		return fail(reader, "block '%s': body %zu has a number that is not finite%s", nb_gadget_blocks[b].label,
			row, field == NB_MASS ? ", or a negative mass" : "");
	}
	return NB_OK;
}

static int read_rest(struct gadget_reader *reader, struct nb_frame *frame)
{
	unsigned without = 0, with = 0;
	int status = begin_masses(reader, frame);
	for (unsigned k = 0; k < reader->nfile && !status; k++) {
		struct part *part = &reader->part[k];
		status = open_file(reader, k);
		if (!status && reader->several && nb_bytes_seek(reader->bytes, part->behind))
			return fail_read(reader);
		reader->block = 1;
		if (!status)
			status = set_masses(reader, part, frame);
		if (!status)
			status = read_blocks(reader, part, frame);
		if (!status)
			status = check_end(reader, part);
		if (!status)
			status = check_masses(reader, part, frame, &without, &with);
	}
	if (!status && without)
		warn(reader, "%s has no masses", nb_import_tail(reader->in));
	return status ? status : check_blocks(reader, frame);
}

/* Files without bodies may have no blocks. */
static int add_no_velocities(struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_add_field(frame, NB_VEL, NULL, 0);
	return column && nb_column_write(column, &nb_space_host, NB_WIRE) ? NB_OK : NB_ENOMEM;
}

static int read_snapshot(struct gadget_reader *reader, struct nb_frame *frame)
{
	int status = read_all_places(reader, frame);
	if (!status)
		status = read_rest(reader, frame);
	if (!status)
		status = check_numbers(reader, frame);
	if (!status && reader->rows == 0 && wanted(reader, NB_VEL))
		status = add_no_velocities(frame);
	if (!status && wanted(reader, NB_ID) && !nb_frame_field(frame, NB_ID))
		status = number_bodies(reader, frame);
	if (!status)
		status = add_species(reader, frame);
	return status ? status : add_attributes(reader, frame);
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct gadget_reader *reader = in->state;
	if (reader->done)
		return NB_END;
	reader->done = 1;
	in->selected = NB_SELECTED_ALL;
	const int status = read_snapshot(reader, frame);
	if (status == NB_ELIMIT)
		fail(reader, "there are too many bodies");
	return status ? NB_ERROR : NB_FRAME;
}

static void close_gadget(struct nb_import *in)
{
	struct gadget_reader *reader = in->state;
	if (!reader->in)
		return;
	close_own(reader);
	if (reader->directory >= 0)
		close(reader->directory);
	for (unsigned k = 0; reader->part && k < reader->nfile; k++)
		free(reader->part[k].run);
	free(reader->part);
	free(reader->stem);
}

const struct nb_format nb_format_gadget = {
	.name = "gadget",
	.about = "a GADGET snapshot",
	.place = 3,
	.traits = NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_MANY_FILES,
	.needs = NB_NEED(NB_VEL) | NB_NEED(NB_MASS),
	.G = NB_GADGET_G,
	.recognises = recognises,
	.import_size = sizeof(struct gadget_reader),
	.open = open_gadget,
	.next = next,
	.close = close_gadget,
	.export_size = sizeof(struct nb_gadget_export),
	.frame = nb_gadget_write,
	.holds = nb_gadget_holds,
};
