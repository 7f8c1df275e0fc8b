/* nb-stats - measures the frames of a particle stream. */
#include "common/decimal.h"
#include "common/die.h"
#include "common/mem.h"
#include "common/parse.h"
#include "kernels/gravity/gravity.h"
#include "kernels/measure/measure.h"
#include "kernels/motion/motion.h"
#include "kernels/order/order.h"
#include "tools/filter/options.h"
#include "tools/filter/require.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECT_LIMIT = 65536, MAX_RADII = 32, MAX_VALUES = 64 };

enum format { TABLE, TSV, JSON };
enum epot { EPOT_AUTO, EPOT_DIRECT, EPOT_NONE };

static int format, epot = EPOT_AUTO;
static int format_given, epot_given, eps_given, lagrangian_given;
static int want_attributes, want_check, want_fields, want_history;
static const char *compare_path, *lagrangian = "10,50,90";
static double eps;

static const struct nb_option options[] = {
	{0, "attributes", NB_OPT_FLAG, &want_attributes, 0, 0, NULL, NULL, "print the attributes of each frame", 0,
		NULL},
	{0, "check", NB_OPT_FLAG, &want_check, 0, 0, NULL, NULL, "verify the stream without holding a frame", 0, NULL},
	{0, "compare", NB_OPT_TEXT, &compare_path, 0, 0, "FILE", NULL,
		"errors of acc against that of the stream in FILE", 0, NULL},
	{0, "epot", NB_OPT_CHOICE, &epot, 0, 0, "auto|direct|none", "auto",
		"potential energy: field pot or a direct sum, the sum whatever n, none", 0, &epot_given},
	{0, "fields", NB_OPT_FLAG, &want_fields, 0, 0, NULL, NULL, "list the columns", 0, NULL},
	{0, "format", NB_OPT_CHOICE, &format, 0, 0, "table|tsv|json", "table", "how to print", 0, &format_given},
	{0, "history", NB_OPT_FLAG, &want_history, 0, 0, NULL, NULL, "print the commands that made the stream", 0,
		NULL},
	{0, "lagrangian", NB_OPT_TEXT, &lagrangian, 0, 0, "LIST", "10,50,90",
		"percentages of the mass whose radii are wanted", 0, &lagrangian_given},
	{'e', "softening", NB_OPT_F64, &eps, 0, 1e300, "EPS", "the frame's",
		"softening of the direct sum, which is then done even if there is a field pot", 0, &eps_given},
};

static const struct nb_command command = {
	.about = "measure a particle stream: energies, momenta, radii, force errors",
	.operands = "",
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS,
};

static _Noreturn void no_memory(uint64_t nframe)
{
	nb_die(NB_EXIT_FAILED, "out of memory in frame %" PRIu64, nframe);
}

static void require_ok(int status, uint64_t nframe)
{
	if (status)
		nb_die(NB_EXIT_FAILED, "%s in frame %" PRIu64, nb_status_text(status), nframe);
}

/* ---- output ------------------------------------------------------------------------------------- */

/* After each frame, so that a reader sees it at once and a full disk is noticed. */
static void require_flushed(void)
{
	if (fflush(stdout) || ferror(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
}

/* Text from a stream, which must not reach the control sequences of a terminal nor break a line. */
static void print_clean(const char *text)
{
	for (; *text; text++)
		putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

/* Bytes of the UTF-8 character that text begins with; 0 if it is none. */
static size_t utf8_length(const unsigned char *text)
{
	size_t n = text[0] < 0x80		       ? 1
		   : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
		   : (text[0] & 0xf0) == 0xe0	       ? 3
		   : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
						       : 0;
	for (size_t i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
		(text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return n;
}

static void print_json_string(const char *string)
{
	const unsigned char *text = (const unsigned char *)string;
	putchar('"');
	while (*text) {
		size_t n = utf8_length(text);
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if (*text < 0x20 || *text == 0x7f)
			printf("\\u%04x", *text);
		else if (n)
			fwrite(text, 1, n, stdout);
		else
			fputs("\\ufffd", stdout);
		text += n ? n : 1;
	}
	putchar('"');
}

/* One line of numbers. What is absent or undefined is NaN here, and NA, null or "absent" in print. */
struct values {
	size_t n;
	struct value {
		char name[40];
		double x;
		int in_table; /* the table shows the main ones only */
	} value[MAX_VALUES];
};

static void add_value(struct values *values, const char *name, double x, int in_table)
{
	struct value *value = &values->value[values->n++];
	snprintf(value->name, sizeof value->name, "%s", name);
	value->x = x;
	value->in_table = in_table;
}

static void add_vector(struct values *values, const char *const name[3], const double *x)
{
	for (int k = 0; k < 3; k++)
		add_value(values, name[k], x[k], 0);
}

static int column_width(const struct value *value)
{
	size_t length = strlen(value->name);
	return strcmp(value->name, "frame") == 0 ? 5 : length > 10 ? (int)length : 10;
}

static void print_table_value(const struct value *value)
{
	int width = column_width(value);
	if (isnan(value->x))
		printf("%*s", width, "absent");
	else if (value->x == floor(value->x) && fabs(value->x) < 1e9)
		printf("%*.0f", width, value->x);
	else
		printf("%*.4g", width, value->x);
}

static void print_values(const struct values *values)
{
	static int header_done;
	const char *gap = format == TSV ? "\t" : format == TABLE ? " " : ",";
	if (format != JSON && !header_done) {
		header_done = 1;
		for (size_t i = 0; i < values->n; i++)
			if (format == TSV)
				printf("%s%s", i ? gap : "", values->value[i].name);
			else if (values->value[i].in_table)
				printf("%s%*s", i ? gap : "", column_width(&values->value[i]), values->value[i].name);
		putchar('\n');
	}
	if (format == JSON)
		putchar('{');
	for (size_t i = 0; i < values->n; i++) {
		const struct value *value = &values->value[i];
		char text[NB_DECIMAL_SIZE];
		if (format == TABLE && !value->in_table)
			continue;
		if (i)
			fputs(gap, stdout);
		if (format == TABLE) {
			print_table_value(value);
			continue;
		}
		nb_decimal_write(value->x, text);
		if (format == JSON)
			printf("\"%s\":%s", value->name, isfinite(value->x) ? text : "null");
		else
			fputs(isnan(value->x) ? "NA" : text, stdout);
	}
	puts(format == JSON ? "}" : "");
	require_flushed();
}

/* ---- measures ----------------------------------------------------------------------------------- */

struct radii {
	size_t n;
	double percent[MAX_RADII], fraction[MAX_RADII];
};

static void parse_radii(struct radii *radii)
{
	const char *want = "percentages > 0 and <= 100, each once, separated by commas";
	if (nb_parse_f64_list(lagrangian, MAX_RADII, radii->percent, &radii->n) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE, "invalid lagrangian '%s' (want at most %d %s)", lagrangian, MAX_RADII, want);
	for (size_t i = 0; i < radii->n; i++) {
		radii->fraction[i] = radii->percent[i] / 100;
		int good = radii->percent[i] > 0 && radii->percent[i] <= 100;
		for (size_t k = 0; k < i; k++)
			good &= radii->percent[k] != radii->percent[i];
		if (!good)
			nb_die(NB_EXIT_USAGE, "invalid lagrangian '%s' (want %s)", lagrangian, want);
	}
}

/* All particles against all: sum of m pot / 2. */
static double direct_epot(const struct nb_frame *frame, uint64_t nframe)
{
	const size_t n = frame->rows[NB_PARTICLE];
	double *acc = nb_alloc(n, 3 * sizeof *acc), *pot = nb_alloc(n, sizeof *pot), result;
	if (!acc || !pot)
		no_memory(nframe);
	struct nb_gravity gravity = {
		.n = n,
		.pos = nb_require_f64(frame, NB_POS, &nb_space_host, nframe),
		.mass = nb_require_f64(frame, NB_MASS, &nb_space_host, nframe),
		.acc = acc,
		.pot = pot,
		.eps = eps_given ? eps : nb_require_attribute(frame, "softening", 0, nframe),
		.G = nb_require_attribute(frame, "G", 1, nframe),
		.precision = NB_F64,
	};
	struct nb_gravity_count count = {0};
	if (!(gravity.eps >= 0))
		nb_die(NB_EXIT_FAILED, "attribute softening=%g of frame %" PRIu64 " is negative", gravity.eps, nframe);
	nb_verbose("frame %" PRIu64 ": potential energy by a direct sum, softening %g", nframe, gravity.eps);
	require_ok(nb_gravity_direct_cpu(&gravity, &count), nframe);
	require_ok(nb_potential_energy(n, gravity.mass, pot, &result), nframe);
	nb_free(acc);
	nb_free(pot);
	return result;
}

/* NaN where it is not to be had. */
static double potential_energy(const struct nb_frame *frame, uint64_t nframe)
{
	static int warned;
	struct nb_column *pot = nb_frame_field(frame, NB_POT);
	const size_t n = frame->rows[NB_PARTICLE];
	double result;
	if (epot == EPOT_NONE)
		return NAN;
	if (pot && epot == EPOT_AUTO && !eps_given) {
		nb_require_finite_column(frame, pot, nframe);
		const double *mass = nb_require_f64(frame, NB_MASS, &nb_space_host, nframe);
		nb_verbose("frame %" PRIu64 ": potential energy from field 'pot'", nframe);
		require_ok(nb_potential_energy(n, mass, nb_require_f64(frame, NB_POT, &nb_space_host, nframe), &result),
			nframe);
		return result;
	}
	if (n <= DIRECT_LIMIT || epot == EPOT_DIRECT)
		return direct_epot(frame, nframe);
	if (!warned++)
		nb_warn("potential energy absent: %s and %zu bodies are many for a direct sum ('nb-force --potential' "
			"before, or "
			"--epot direct)",
			pot ? "pot has another softening" : "no field 'pot'", n);
	return NAN;
}

/* At the time of the positions: where nb-step left half a kick to be done, acc does it on a copy.  NULL: not to be had.
 */
static const double *velocities(const struct nb_frame *frame, uint64_t nframe, double **copy)
{
	static int warned;
	const size_t n = frame->rows[NB_PARTICLE];
	*copy = NULL;
	if (!nb_frame_field(frame, NB_VEL))
		return NULL;
	const double *vel = nb_require_f64(frame, NB_VEL, &nb_space_host, nframe);
	const double pending = nb_require_attribute(frame, "pending_kick", 0, nframe);
	if (pending == 0)
		return vel;
	if (!nb_frame_field(frame, NB_ACC)) {
		if (!warned++)
			nb_warn("velocities lag behind positions, and there is no field 'acc' to bring them up "
				"('nb-force' before)");
		return NULL;
	}
	nb_require_finite_column(frame, nb_frame_field(frame, NB_ACC), nframe);
	const double *acc = nb_require_f64(frame, NB_ACC, &nb_space_host, nframe);
	*copy = nb_alloc(n, 3 * sizeof **copy);
	if (!*copy)
		no_memory(nframe);
	if (n)
		memcpy(*copy, vel, 3 * n * sizeof *vel);
	require_ok(nb_kick_cpu(n, *copy, acc, pending), nframe);
	return *copy;
}

static void measure(const struct nb_frame *frame, uint64_t nframe, const struct radii *radii)
{
	static const char *const p[3] = {"px", "py", "pz"}, *const l[3] = {"lx", "ly", "lz"};
	static const char *const com[3] = {"comx", "comy", "comz"};
	static double first_etot = NAN;
	const size_t n = frame->rows[NB_PARTICLE];
	nb_require_finite(frame, nframe);
	const double *mass = nb_require_f64(frame, NB_MASS, &nb_space_host, nframe);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host, nframe);
	double *copy;
	const double *vel = velocities(frame, nframe, &copy);
	struct nb_moments m;
	require_ok(nb_moments(n, mass, pos, vel, &m), nframe);
	nb_free(copy);
	const double w = potential_energy(frame, nframe), etot = m.ekin + w;
	if (nframe == 0)
		first_etot = etot;
	const double origin[3] = {0, 0, 0}, *centre = m.mass > 0 ? m.com : origin;
	double radius[MAX_RADII];
	require_ok(nb_lagrangian_radii(n, mass, pos, centre, radii->n, radii->fraction, radius), nframe);

	struct values values = {0};
	add_value(&values, "frame", (double)nframe, 1);
	add_value(&values, "time", nb_require_attribute(frame, "time", 0, nframe), 1);
	add_value(&values, "n", (double)n, 1);
	add_value(&values, "mass", m.mass, 0);
	add_value(&values, "ekin", m.ekin, 1);
	add_value(&values, "epot", w, 1);
	add_value(&values, "etot", etot, 1);
	add_value(&values, "virial", w != 0 ? m.ekin / fabs(w) : NAN, 1);
	add_value(&values, "drift", first_etot != 0 ? (etot - first_etot) / fabs(first_etot) : NAN, 1);
	add_vector(&values, p, m.momentum);
	add_vector(&values, l, m.angular);
	add_vector(&values, com, m.com);
	for (size_t i = 0; i < radii->n; i++) {
		char name[NB_F64_TEXT + 1] = "r";
		nb_format_f64(radii->percent[i], name + 1);
		add_value(&values, name, radius[i], 1);
	}
	add_value(&values, "vmax", m.speed_max, 0);
	print_values(&values);
}

static void measure_stream(struct nb_reader *reader, struct nb_frame *frame)
{
	struct radii radii;
	parse_radii(&radii);
	while (nb_require_frame(reader, frame))
		measure(frame, reader->nframe - 1, &radii);
}

/* ---- force errors ------------------------------------------------------------------------------- */

/* The ids of a frame as u64, in memory of their own. */
static uint64_t *ids_of(const struct nb_frame *frame, uint64_t nframe)
{
	struct nb_column *column = nb_require_field(frame, NB_ID, nframe);
	uint64_t *id = nb_alloc(column->rows, sizeof *id);
	int wide = strcmp(column->dtype, "<u8") == 0;
	const void *data = nb_column_read(column, &nb_space_host, wide ? NB_WIRE : NB_AS_F64);
	if (!id || !data)
		no_memory(nframe);
	for (size_t i = 0; i < column->rows; i++)
		id[i] = wide ? ((const uint64_t *)data)[i] : (uint64_t)((const double *)data)[i];
	return id;
}

static void require_unique(size_t n, const uint64_t *id, uint64_t nframe, const char *where)
{
	size_t first, second;
	require_ok(nb_ids_unique(n, id, &first, &second), nframe);
	if (first < n)
		nb_die(NB_EXIT_FAILED, "id %" PRIu64 " appears twice in frame %" PRIu64 "%s%s%s (bodies %zu and %zu)",
			id[first], nframe, where ? " of '" : "", where ? where : "", where ? "'" : "", first, second);
}

/* Nor are those of another law. */
static void warn_if_other_law(const struct nb_frame *frame, const struct nb_frame *ref, uint64_t nframe)
{
	static int warned;
	static const char *const key[] = {"softening", "G"};
	static const double absent[] = {0, 1};
	for (size_t k = 0; k < sizeof key / sizeof *key && !warned; k++) {
		const double x = nb_require_attribute(frame, key[k], absent[k], nframe);
		const double y = nb_require_attribute(ref, key[k], absent[k], nframe);
		warned = x != y;
		if (warned)
			nb_warn("%s is %g in frame %" PRIu64 " and %g in '%s'", key[k], x, nframe, y, compare_path);
	}
}

/* Forces at other places are no errors of a method. */
static void warn_if_moved(const struct nb_frame *frame, const struct nb_frame *ref, const uint32_t *row,
	const uint64_t *id, uint64_t nframe)
{
	static int warned;
	if (warned || !nb_frame_field(frame, NB_POS) || !nb_frame_field(ref, NB_POS))
		return;
	const double *x = nb_require_f64(frame, NB_POS, &nb_space_host, nframe);
	const double *y = nb_require_f64(ref, NB_POS, &nb_space_host, nframe);
	double largest = 0;
	for (size_t i = 0; i < 3 * ref->rows[NB_PARTICLE]; i++)
		largest = fmax(largest, fabs(y[i]));
	for (size_t k = 0; k < ref->rows[NB_PARTICLE]; k++)
		for (int c = 0; c < 3; c++)
			if (!(fabs(x[3 * (size_t)row[k] + c] - y[3 * k + c]) <= 1e-6 * largest)) { /* f32 rounds less */
				nb_warn("the body with id %" PRIu64 " is elsewhere in '%s' than in frame %" PRIu64,
					id[k], compare_path, nframe);
				warned = 1;
				return;
			}
}

static void compare(const struct nb_frame *frame, const struct nb_frame *ref, uint64_t nframe, uint64_t nref)
{
	const size_t n = frame->rows[NB_PARTICLE], count = ref->rows[NB_PARTICLE];
	if (!nb_frame_field(ref, NB_ACC) || !nb_frame_field(ref, NB_ID))
		nb_die(NB_EXIT_FAILED, "field '%s' missing in frame %" PRIu64 " of '%s'",
			nb_frame_field(ref, NB_ACC) ? "id" : "acc", nref, compare_path);
	nb_require_finite_column(frame, nb_require_field(frame, NB_ACC, nframe), nframe);
	nb_require_finite_column(ref, nb_frame_field(ref, NB_ACC), nref);
	uint64_t *id = ids_of(frame, nframe), *ref_id = ids_of(ref, nref);
	uint32_t *row = nb_alloc(count, sizeof *row);
	size_t missing;
	struct nb_vector_error error;
	if (!row)
		no_memory(nframe);
	if (n > 0 && count == 0)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " of '%s' has no bodies to compare with", nref, compare_path);
	require_unique(n, id, nframe, NULL);
	require_unique(count, ref_id, nref, compare_path);
	int status = nb_ids_match(n, id, count, ref_id, row, &missing);
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has no body with the id %" PRIu64 " of '%s'", nframe,
			ref_id[missing], compare_path);
	require_ok(status, nframe);
	warn_if_moved(frame, ref, row, ref_id, nframe);
	warn_if_other_law(frame, ref, nframe);
	require_ok(nb_vector_error(count, nb_require_f64(frame, NB_ACC, &nb_space_host, nframe), row,
			   nb_require_f64(ref, NB_ACC, &nb_space_host, nref), &error),
		nframe);
	nb_free(id);
	nb_free(ref_id);
	nb_free(row);

	struct values values = {0};
	add_value(&values, "frame", (double)nframe, 1);
	add_value(&values, "time", nb_require_attribute(frame, "time", 0, nframe), 1);
	add_value(&values, "n", (double)n, 1);
	add_value(&values, "compared", (double)count, 1);
	add_value(&values, "median", error.median, 1);
	add_value(&values, "rms", error.rms, 1);
	add_value(&values, "p99", error.p99, 1);
	add_value(&values, "max", error.max, 1);
	add_value(&values, "rms_ratio", error.rms_ratio, 1);
	print_values(&values);
}

static int next_reference(struct nb_reader *reader, struct nb_frame *frame)
{
	enum nb_answer answer = nb_reader_next(reader, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "'%s': %s", compare_path, reader->error);
	return answer == NB_FRAME;
}

/* Frame k against frame k; a reference of one frame serves all. */
static void compare_stream(struct nb_reader *reader, struct nb_frame *frame)
{
	struct nb_reader file;
	struct nb_frame ref, next;
	nb_frame_init(&ref);
	nb_frame_init(&next);
	int fd = open(compare_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		nb_die(NB_EXIT_FAILED, "'%s':", compare_path);
	if (nb_reader_open(&file, fd))
		nb_die(NB_EXIT_FAILED, "out of memory");
	if (!next_reference(&file, &ref))
		nb_die(NB_EXIT_FAILED, "'%s' has no frames to compare with", compare_path);
	int more = next_reference(&file, &next);
	const int several = more;
	uint64_t k = 0;
	for (; nb_require_frame(reader, frame); k++) {
		if (k > 0 && several) {
			if (!more)
				nb_die(NB_EXIT_FAILED, "'%s' has %" PRIu64 " frames and the stream has more",
					compare_path, k);
			struct nb_frame swap = ref;
			ref = next;
			next = swap;
			more = next_reference(&file, &next);
		}
		compare(frame, &ref, k, several ? k : 0);
	}
	if (more && k > 0)
		nb_die(NB_EXIT_FAILED, "'%s' has more frames than the %" PRIu64 " of the stream", compare_path, k);
	nb_frame_clear(&ref);
	nb_frame_clear(&next);
	nb_reader_close(&file);
}

/* ---- columns, history, attributes --------------------------------------------------------------- */

/* Head and, without looking at them, contents of the next frame: 1, or 0 at the end. */
static int next_checked(struct nb_reader *reader, struct nb_frame *frame, nb_visit *visit, void *context)
{
	enum nb_answer answer = nb_reader_head(reader, frame);
	if (answer == NB_FRAME)
		answer = nb_reader_body(reader, frame, visit, context);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", reader->error);
	return answer == NB_FRAME;
}

static void print_column(const struct nb_column *column, uint64_t nframe)
{
	const size_t bytes = column->rows * column->rowsize;
	if (format == JSON) {
		printf("{\"frame\":%" PRIu64 ",\"name\":", nframe);
		print_json_string(column->name);
		printf(",\"table\":\"%s\",\"type\":", nb_table_name[column->table]);
		print_json_string(column->dtype);
		printf(",\"components\":%" PRIu32 ",\"unit\":", column->ncomp);
		print_json_string(column->unit);
		printf(",\"rows\":%zu,\"bytes\":%zu}\n", column->rows, bytes);
		return;
	}
	printf(format == TSV ? "%" PRIu64 "\t%s\t%s\t%s\t%" PRIu32 "\t%s\t%zu\t%zu\n"
			     : "%5" PRIu64 " %-16s %-8s %-5s %10" PRIu32 " %-18s %10zu %12zu\n",
		nframe, column->name, nb_table_name[column->table], column->dtype, column->ncomp,
		*column->unit || format == TSV ? column->unit : "-", column->rows, bytes);
}

static int same_columns(const struct nb_frame *a, const struct nb_frame *b)
{
	if (a->ncolumn != b->ncolumn)
		return 0;
	for (size_t c = 0; c < a->ncolumn; c++) {
		const struct nb_column *x = &a->column[c], *y = &b->column[c];
		if (strcmp(x->name, y->name) != 0 || strcmp(x->dtype, y->dtype) != 0 || strcmp(x->unit, y->unit) != 0 ||
			x->table != y->table || x->ncomp != y->ncomp || x->rows != y->rows)
			return 0;
	}
	return 1;
}

static void print_fields(const struct nb_frame *frame, const struct nb_frame *before, uint64_t nframe)
{
	if (nframe > 0 && same_columns(frame, before))
		return;
	if (nframe == 0 && format == TSV)
		puts("frame\tname\ttable\ttype\tcomponents\tunit\trows\tbytes");
	if (nframe == 0 && format == TABLE)
		printf("%5s %-16s %-8s %-5s %10s %-18s %10s %12s\n", "frame", "name", "table", "type", "components",
			"unit", "rows", "bytes");
	for (size_t c = 0; c < frame->ncolumn; c++)
		print_column(&frame->column[c], nframe);
}

/* The attributes that are history, or the others, one at a time: *at moves on. NULL: no more. */
static const struct nb_attribute *next_attribute(const struct nb_frame *frame, int history, size_t *at)
{
	while (*at < frame->nattribute) {
		const struct nb_attribute *attribute = &frame->attribute[(*at)++];
		if ((strcmp(attribute->key, "history") == 0) == history)
			return attribute;
	}
	return NULL;
}

static int same_attributes(const struct nb_frame *a, const struct nb_frame *b, int history)
{
	const struct nb_attribute *x, *y;
	size_t i = 0, j = 0;
	do {
		x = next_attribute(a, history, &i);
		y = next_attribute(b, history, &j);
		if (!x || !y)
			return x == y;
	} while (strcmp(x->key, y->key) == 0 && strcmp(x->value, y->value) == 0);
	return 0;
}

static void print_attribute(const struct nb_attribute *attribute, uint64_t nframe, int history, int first)
{
	if (format == JSON) {
		fputs(first ? "" : ",", stdout);
		if (!history) {
			print_json_string(attribute->key);
			putchar(':');
		}
		print_json_string(attribute->value);
		return;
	}
	if (format == TSV)
		printf("%" PRIu64 "\t", nframe);
	if (!history) {
		print_clean(attribute->key);
		putchar(format == TSV ? '\t' : '=');
	}
	print_clean(attribute->value);
	putchar('\n');
}

static void print_attributes(const struct nb_frame *frame, const struct nb_frame *before, uint64_t nframe, int history)
{
	if (nframe > 0 && same_attributes(frame, before, history))
		return;
	if (format == TSV && nframe == 0)
		puts(history ? "frame\thistory" : "frame\tkey\tvalue");
	if (format == TABLE && nframe > 0)
		putchar('\n');
	if (format == JSON)
		printf("{\"frame\":%" PRIu64 ",\"%s\":%c", nframe, history ? "history" : "attributes",
			history ? '[' : '{');
	const struct nb_attribute *attribute;
	size_t at = 0;
	for (int first = 1; (attribute = next_attribute(frame, history, &at)); first = 0)
		print_attribute(attribute, nframe, history, first);
	if (format == JSON)
		puts(history ? "]}" : "}}");
}

static void list_stream(struct nb_reader *reader, struct nb_frame *frame)
{
	struct nb_frame before;
	nb_frame_init(&before);
	while (next_checked(reader, frame, NULL, NULL)) {
		if (want_fields)
			print_fields(frame, &before, reader->nframe - 1);
		else
			print_attributes(frame, &before, reader->nframe - 1, want_history);
		require_flushed();
		struct nb_frame swap = before;
		before = *frame;
		*frame = swap;
	}
	nb_frame_clear(&before);
}

/* ---- check -------------------------------------------------------------------------------------- */

/* The first body of a frame that something is wrong with. */
struct fault {
	const char *field, *what;
	size_t row;
};

/* What has been seen of a frame.  Ids 0, 1, 2 ... (from any start) cost nothing; others are kept. */
struct check {
	const struct nb_frame *frame;
	struct fault fault;
	uint64_t first_id;
	uint64_t *id; /* NULL while they follow each other */
	size_t id_capacity;
	uint64_t bodies;
};

static void fault_at(struct check *check, const struct nb_column *column, const char *what, size_t row)
{
	if (!check->fault.field || row < check->fault.row)
		check->fault = (struct fault){column->name, what, row};
}

/* One pass that only ors bits together: the sum has the top bit where an exponent is all ones. */
#define SCAN(bits_type, low)                                                                                    \
	static void scan_##bits_type(const bits_type *x, size_t count, int *bad, int *negative)                 \
	{                                                                                                       \
		const bits_type top = (bits_type)1 << (8 * sizeof(bits_type) - 1), one = (bits_type)1 << (low); \
		bits_type exponents = 0, signs = 0;                                                             \
		for (size_t i = 0; i < count; i++) {                                                            \
			exponents |= (x[i] & (top - one)) + one;                                                \
			signs |= x[i];                                                                          \
		}                                                                                               \
		*bad = (exponents & top) != 0;                                                                  \
		*negative = (signs & top) != 0;                                                                 \
	}
SCAN(uint64_t, 52)
SCAN(uint32_t, 23)

static void check_numbers(
	struct check *check, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	const int single = strcmp(column->dtype, "<f4") == 0;
	const int positive = strcmp(column->name, "mass") == 0 || strcmp(column->name, "radius") == 0;
	const size_t size = single ? sizeof(float) : sizeof(double), count = bytes / size;
	int bad, negative;
	if (single)
		scan_uint32_t(data, count, &bad, &negative);
	else
		scan_uint64_t(data, count, &bad, &negative);
	for (size_t i = 0; (bad || (negative && positive)) && i < count; i++) {
		double x = single ? ((const float *)data)[i] : ((const double *)data)[i];
		if (!isfinite(x) || (positive && x < 0)) {
			fault_at(check, column, isfinite(x) ? "negative" : "not finite",
				(offset / size + i) / column->ncomp);
			return;
		}
	}
}

static uint64_t id_at(const struct nb_column *column, const unsigned char *data, size_t i)
{
	uint64_t id = 0; /* little-endian, as the stream */
	memcpy(&id, data + i * column->rowsize, column->rowsize);
	return id;
}

/* How many of the ids continue the sequence that begins with first. */
static int in_sequence(const uint64_t *id, size_t count, uint64_t first)
{
	uint64_t differ = 0;
	for (size_t i = 0; i < count; i++)
		differ |= id[i] ^ (first + i);
	return differ == 0;
}

static void check_ids(
	struct check *check, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	const size_t row = offset / column->rowsize, count = bytes / column->rowsize;
	const int wide = column->rowsize == sizeof(uint64_t);
	if (row == 0) {
		check->first_id = id_at(column, data, 0);
		check->id_capacity = 0;
	}
	if (check->id_capacity == 0 && wide && in_sequence(data, count, check->first_id + row))
		return;
	if (check->id_capacity < column->rows) {
		nb_free(check->id);
		check->id = nb_alloc(column->rows, sizeof *check->id);
		if (!check->id)
			nb_die(NB_EXIT_FAILED, "out of memory for the ids");
		check->id_capacity = column->rows;
		for (size_t i = 0; i < row; i++)
			check->id[i] = check->first_id + i;
	}
	if (wide)
		memcpy(check->id + row, data, bytes);
	for (size_t i = 0; !wide && i < count; i++)
		check->id[row + i] = id_at(column, data, i);
}

static int check_block(void *context, const struct nb_column *column, size_t offset, const void *data, size_t bytes)
{
	static const enum nb_field checked[] = {NB_POS, NB_VEL, NB_MASS, NB_RADIUS, NB_ACC, NB_POT, NB_JERK};
	struct check *check = context;
	if (column == nb_frame_field(check->frame, NB_ID))
		check_ids(check, column, offset, data, bytes);
	for (size_t k = 0; k < sizeof checked / sizeof *checked; k++)
		if (strcmp(column->name, nb_field_info[checked[k]].name) == 0)
			check_numbers(check, column, offset, data, bytes);
	return 0;
}

static void report_fault(const struct check *check, uint64_t nframe)
{
	const struct fault *fault = &check->fault;
	const struct nb_column *id = nb_frame_field(check->frame, NB_ID);
	uint64_t value = !id ? fault->row : check->id_capacity ? check->id[fault->row] : check->first_id + fault->row;
	nb_die(NB_EXIT_FAILED, "field '%s' of the body with id %" PRIu64 " is %s in frame %" PRIu64, fault->field,
		value, fault->what, nframe);
}

static void check_stream(struct nb_reader *reader, struct nb_frame *frame)
{
	struct check check = {.frame = frame};
	while (next_checked(reader, frame, check_block, &check)) {
		const uint64_t nframe = reader->nframe - 1;
		if (check.fault.field)
			report_fault(&check, nframe);
		if (check.id_capacity)
			require_unique(frame->rows[NB_PARTICLE], check.id, nframe, NULL);
		check.id_capacity = 0;
		check.bodies += frame->rows[NB_PARTICLE];
	}
	nb_free(check.id);
	printf("ok: %" PRIu64 " frames, %" PRIu64 " bodies, %" PRIu64 " bytes\n", reader->nframe, check.bodies,
		reader->nbyte);
}

/* ---- main --------------------------------------------------------------------------------------- */

/* No option is read and then ignored. */
static void require_sense(void)
{
	const int mode = want_attributes + want_check + want_fields + want_history + (compare_path != NULL);
	if (mode > 1)
		nb_die(NB_EXIT_USAGE,
			"options --attributes, --check, --compare, --fields and --history exclude each other");
	const char *idle = epot_given ? "epot" : eps_given ? "softening" : lagrangian_given ? "lagrangian" : NULL;
	if (mode && idle)
		nb_die(NB_EXIT_USAGE, "option '--%s' has no effect with --%s", idle,
			want_attributes ? "attributes"
			: want_check	? "check"
			: want_fields	? "fields"
			: want_history	? "history"
					: "compare");
	if (want_check && format_given)
		nb_die(NB_EXIT_USAGE, "option '--format' has no effect with --check");
	if (eps_given && epot == EPOT_NONE)
		nb_die(NB_EXIT_USAGE, "option '--softening' has no effect with --epot none");
}

int main(int argc, char **argv)
{
	struct nb_reader reader;
	struct nb_frame frame;
	nb_options_parse(&command, argc, argv);
	require_sense();
	nb_frame_init(&frame);
	nb_require_input(&reader);
	if (want_check)
		check_stream(&reader, &frame);
	else if (want_attributes || want_fields || want_history)
		list_stream(&reader, &frame);
	else if (compare_path)
		compare_stream(&reader, &frame);
	else
		measure_stream(&reader, &frame);
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
	require_flushed();
	if (fclose(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
	return NB_EXIT_OK;
}
