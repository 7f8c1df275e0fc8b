/* The differences of columns. */
#include "common/mem.h"
#include "common/nearest.h"
#include "tools/filter/require.h"
#include "tools/nb-diff/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The same column of the two frames. */
struct pair {
	struct nb_column *column[2];
};

/* ---- which columns ------------------------------------------------------------------------------ */

static _Noreturn void refuse(const struct side *side, const char *name, const struct nb_column *column)
{
	char list[400];
	if (column)
		nb_die(NB_EXIT_FAILED, "column '%s' in frame %" PRIu64 " of %s has type '%s', which is no number", name,
			side->frame->number, side->name, column->dtype);
	nb_frame_list(side->frame, list, sizeof list);
	nb_die(NB_EXIT_FAILED, "column '%s' missing in frame %" PRIu64 " of %s (%sstream has: %s)", name,
		side->frame->number, side->name, nb_nearest_in(name, strlen(name), list, ", ").hint, list);
}

static struct nb_column *particle_column(const struct nb_frame *frame, const char *name)
{
	struct nb_column *column = nb_frame_find(frame, name);
	return column && column->table == NB_PARTICLE ? column : NULL;
}

static void tell_types(struct diff *opt, const struct pair *pair)
{
	const struct nb_column *a = pair->column[0], *b = pair->column[1];
	char key[NB_NAME_SIZE + 8];
	snprintf(key, sizeof key, "type %s", a->name);
	if (strcmp(a->dtype, b->dtype) != 0 && nb_report_once(&opt->reported, key))
		nb_warn("column '%s' is '%s' in %s and '%s' in %s", a->name, a->dtype, opt->side[0].name, b->dtype,
			opt->side[1].name);
}

/* 1 if vectors have the same length; else the streams differ. */
static int same_components(struct nb_run *run, struct diff *opt, const struct pair *pair)
{
	const struct nb_column *a = pair->column[0], *b = pair->column[1];
	if (a->ncomp == b->ncomp)
		return 1;
	run->verdict = DIFFERENT;
	if (nb_report_once(&opt->reported, a->name))
		nb_warn("column '%s' has %" PRIu32 " components in %s and %" PRIu32 " in %s", a->name, a->ncomp,
			opt->side[0].name, b->ncomp, opt->side[1].name);
	return 0;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static const double *numbers(const struct side *side, struct nb_column *column)
{
	return nb_require_memory(side->frame, nb_column_read(column, &nb_space_host, NB_AS_F64));
}

static int is_long_integer(const struct nb_column *column)
{
	return (column->dtype[1] == 'u' || column->dtype[1] == 'i') && nb_dtype_size(column->dtype) == 8;
}

/* The difference of integers of which a double has not all digits. */
static double exact_difference(const struct nb_column *column, uint64_t a, uint64_t b)
{
	const int less = column->dtype[1] == 'u' ? a < b : (int64_t)a < (int64_t)b;
	return less ? (double)(b - a) : (double)(a - b);
}

/* Of two columns of integers of 8 bytes. */
static struct nb_difference compare_integers(const struct diff *opt, const struct pair *pair)
{
	const struct nb_column *a = pair->column[0];
	const size_t n = opt->count, ncomp = a->ncomp;
	const uint32_t *row_a = opt->side[0].row, *row_b = opt->side[1].row;
	const uint64_t *x = nb_column_read(pair->column[0], &nb_space_host, NB_WIRE);
	const uint64_t *y = nb_column_read(pair->column[1], &nb_space_host, NB_WIRE);
	double *zero = nb_alloc_zero(n, ncomp * sizeof *zero), *d = nb_alloc(n, ncomp * sizeof *d);
	if (!x || !y || !zero || !d)
		nb_out_of_memory(opt->side[0].frame);
	for (size_t k = 0; k < n; k++)
		for (size_t c = 0; c < ncomp; c++)
			d[ncomp * k + c] = exact_difference(
				a, x[ncomp * (row_a ? row_a[k] : k) + c], y[ncomp * (row_b ? row_b[k] : k) + c]);
	const double *values = numbers(&opt->side[0], pair->column[0]);
	struct nb_difference self = {0}, difference = {0};
	int status = nb_difference_cpu(n, ncomp, values, row_a, values, row_a, &self);
	difference.absolute = fmax(opt->absolute, opt->tolerance > 0 ? opt->tolerance * self.scale : 0);
	if (!status)
		status = nb_difference_cpu(n, ncomp, zero, NULL, d, NULL, &difference);
	nb_free_all(zero, d);
	nb_require_ok(status, opt->side[0].frame);
	difference.scale = self.scale;
	return difference;
}

/* Positions of the second side, at the images that are nearest to those of the first, where both are in one periodic
 * box; else NULL. */
static double *nearest_images(const struct diff *opt, const struct pair *pair, const double *a, const double *b)
{
	const struct side *side = opt->side;
	const double box = nb_box_of(side[0].frame);
	const size_t rows = pair->column[1]->rows;
	if (pair->column[0]->field != NB_POS || !(box > 0) || nb_box_of(side[1].frame) != box)
		return NULL;
	double *near = nb_require_memory(side[1].frame, nb_alloc(3 * rows, sizeof *near));
	memcpy(near, b, 3 * rows * sizeof *near);
	for (size_t k = 0; k < 3 * opt->count; k++) {
		const size_t i = side[0].row ? side[0].row[k / 3] : k / 3, j = side[1].row ? side[1].row[k / 3] : k / 3;
		near[3 * j + k % 3] -= box * rint((b[3 * j + k % 3] - a[3 * i + k % 3]) / box);
	}
	return near;
}

static struct nb_difference compare(const struct diff *opt, const struct pair *pair)
{
	struct nb_difference difference = {.absolute = opt->absolute, .relative = opt->tolerance};
	if (is_long_integer(pair->column[0]) && strcmp(pair->column[0]->dtype, pair->column[1]->dtype) == 0)
		return compare_integers(opt, pair);
	const double *a = numbers(&opt->side[0], pair->column[0]), *b = numbers(&opt->side[1], pair->column[1]);
	double *near = nearest_images(opt, pair, a, b);
	const int status = nb_difference_cpu(opt->count, pair->column[0]->ncomp, a, opt->side[0].row, near ? near : b,
		opt->side[1].row, &difference);
	nb_free(near);
	nb_require_ok(status, opt->side[0].frame);
	return difference;
}

/* ---- a line ------------------------------------------------------------------------------------- */

/* 0 where there is no difference, whatever the scale. */
static double relative(double difference, double scale)
{
	return difference == 0 ? 0 : difference / scale;
}

static void add_to_sum(struct diff *opt, const char *column, const struct nb_difference *d, uint64_t id)
{
	const double part = relative(d->max, d->scale);
	opt->sum.compared++;
	opt->sum.differ += d->beyond > 0;
	if (!(d->max > 0) || (opt->sum.not_equal++ && !(part > opt->sum.relative)))
		return;
	snprintf(opt->sum.column, sizeof opt->sum.column, "%s", column);
	opt->sum.frame = opt->side[0].frame->number;
	opt->sum.id = id;
	opt->sum.beyond = d->beyond;
	opt->sum.n = opt->count;
	opt->sum.max = d->max;
	opt->sum.relative = part;
}

static void report(struct nb_run *run, struct diff *opt, const struct pair *pair)
{
	struct nb_report *to = &opt->report;
	const struct nb_frame *frame = opt->side[0].frame;
	const struct nb_difference d = compare(opt, pair);
	const uint32_t *row = opt->side[0].row;
	const uint64_t id = d.max > 0 ? nb_body_id(frame, row ? row[d.worst] : d.worst) : 0;
	if (d.beyond > 0)
		run->verdict = DIFFERENT;
	add_to_sum(opt, pair->column[0]->name, &d, id);
	nb_column_trim(pair->column[0]);
	nb_column_trim(pair->column[1]);
	/* for people, what is equal is in the summary */
	if (run->common.quiet || (to->format == NB_REPORT_TABLE && !(d.max > 0) && run->common.verbose == 0))
		return;
	nb_report_integer(to, "frame", 5, frame->number);
	nb_report_real(to, "time", nb_require_attribute(frame, "time", 0));
	nb_report_text(to, "column", -10, pair->column[0]->name);
	nb_report_real(to, "n", (double)opt->count);
	nb_report_real(to, "max", d.max);
	nb_report_real(to, "rms", d.rms);
	nb_report_real(to, "p50", d.median);
	nb_report_real(to, "p99", d.p99);
	nb_report_detail(to, "scale", d.scale);
	nb_report_real(to, "rel_max", relative(d.max, d.scale));
	nb_report_real(to, "rel_rms", relative(d.rms, d.scale));
	nb_report_detail(to, "rel_p50", relative(d.median, d.scale));
	nb_report_detail(to, "rel_p99", relative(d.p99, d.scale));
	/* where nothing differs no body is the worst */
	if (d.max > 0)
		nb_report_integer(to, "id", 10, id);
	else
		nb_report_real(to, "id", NAN);
	nb_report_text(to, "result", -7, d.beyond > 0 ? "differs" : "within");
	nb_report_line(to);
}

/* ---- all ---------------------------------------------------------------------------------------- */

static void compare_pair(struct nb_run *run, struct diff *opt, const struct pair *pair)
{
	tell_types(opt, pair);
	if (same_components(run, opt, pair))
		report(run, opt, pair);
}

/* Columns asked for by name, which must be there and be numbers. */
static void compare_named(struct nb_run *run, struct diff *opt)
{
	for (const char *at = opt->fields; *at;) {
		char name[NB_NAME_SIZE + 1];
		const size_t length = strcspn(at, ",");
		memcpy(name, at, length); /* check has seen to the length */
		name[length] = '\0';
		struct pair pair;
		for (int s = 0; s < 2; s++) {
			pair.column[s] = particle_column(opt->side[s].frame, name);
			if (!pair.column[s] || !nb_dtype_is_number(pair.column[s]->dtype))
				refuse(&opt->side[s], name, pair.column[s]);
		}
		compare_pair(run, opt, &pair);
		at += length + (at[length] == ',');
	}
}

static int is_real(const struct nb_column *column)
{
	return column->dtype[1] == 'f' && nb_dtype_is_number(column->dtype);
}

/* All columns of reals that both have; others, which one side alone has, are reported. */
static void compare_all(struct nb_run *run, struct diff *opt)
{
	for (int s = 0; s < 2; s++) {
		const struct nb_frame *frame = opt->side[s].frame;
		for (size_t c = 0; c < frame->ncolumn; c++) {
			struct nb_column *column = &frame->column[c];
			struct nb_column *other = particle_column(opt->side[1 - s].frame, column->name);
			char key[NB_NAME_SIZE + 8];
			if (column->table != NB_PARTICLE)
				continue;
			snprintf(key, sizeof key, "only %s", column->name);
			if (!other && nb_report_once(&opt->reported, key))
				nb_warn("column '%s' is only in %s", column->name, opt->side[s].name);
			if (s == 0 && other && is_real(column) && is_real(other))
				compare_pair(run, opt, &(const struct pair){{column, other}});
		}
	}
}

void nb_diff_columns(struct nb_run *run, struct diff *opt)
{
	if (opt->fields)
		compare_named(run, opt);
	else
		compare_all(run, opt);
}
