/* Instructions on blocks of NB_EXPR_ROWS rows (instr_cpu.c), one after the other.  Threads take blocks; sums of blocks
 * are added in order with compensation. */
#include "kernels/expr/expr_internal.h"

#include "common/cpu.h"
#include "common/mem.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- passes ------------------------------------------------------------------------------------- */

/* The contents of the column serve as they are. */
static int is_direct(const struct nb_expr_instr *instr)
{
	return instr->op == NB_OP_LOAD &&
	       (instr->kind == NB_EXPR_TEXT || (instr->item == NB_ITEM_F64 && instr->stride == sizeof(double)));
}

/* Free slots of one and of two units. */
struct slots {
	int *free[2];
	int nfree[2];
	int used;
};

static int take_slot(struct slots *slots, int is_double)
{
	if (slots->nfree[is_double] > 0)
		return slots->free[is_double][--slots->nfree[is_double]];
	const int slot = slots->used;
	slots->used += 1 + is_double;
	return slot;
}

/* Constants keep their slots.  A result gets its slot before those of its operands are free again, so that no loop
 * writes what it reads. */
static void place(const struct nb_expr *expr, struct nb_expr_pass *pass, const int *last, struct slots *slots)
{
	for (int k = 0; k < pass->n; k++) {
		const struct nb_expr_instr *instr = &expr->instr[pass->order[k]];
		if (instr->op == NB_OP_CONST)
			pass->place[pass->order[k]] = take_slot(slots, instr->kind == NB_EXPR_WHOLE);
	}
	for (int k = 0; k < pass->n; k++) {
		const int at = pass->order[k];
		const struct nb_expr_instr *instr = &expr->instr[at];
		if (instr->op == NB_OP_CONST)
			continue;
		pass->place[at] = is_direct(instr) ? -1 : take_slot(slots, instr->kind == NB_EXPR_WHOLE);
		for (int i = 0; i < 3 && instr->arg[i] >= 0; i++) {
			const int arg = instr->arg[i];
			const struct nb_expr_instr *from = &expr->instr[arg];
			int kept = from->op == NB_OP_CONST || pass->place[arg] < 0 || last[arg] != at;
			for (int j = 0; j < i; j++)
				kept |= instr->arg[j] == arg; /* is free already */
			const int is_double = from->kind == NB_EXPR_WHOLE;
			if (!kept)
				slots->free[is_double][slots->nfree[is_double]++] = pass->place[arg];
		}
	}
	pass->nslot = slots->used;
}

int nb_expr_plan(const struct nb_expr *expr, int result, struct nb_expr_pass *pass)
{
	const size_t n = (size_t)result + 1;
	int *work = calloc(3 * n, sizeof *work), *last = work;
	*pass = (struct nb_expr_pass){
		.order = calloc(n, sizeof(int)), .place = calloc(n, sizeof(int)), .result = result};
	if (!work || !pass->order || !pass->place) {
		free(work);
		nb_expr_pass_clear(pass);
		return NB_ENOMEM;
	}
	struct slots slots = {.free = {work + n, work + 2 * n}};
	for (size_t k = 0; k < n; k++)
		last[k] = -1;
	last[result] = result + 1;
	for (int k = result; k >= 0; k--)
		for (int i = 0; last[k] >= 0 && i < 3 && expr->instr[k].arg[i] >= 0; i++)
			if (last[expr->instr[k].arg[i]] < 0)
				last[expr->instr[k].arg[i]] = k;
	for (int k = 0; k <= result; k++)
		if (last[k] >= 0)
			pass->order[pass->n++] = k;
	place(expr, pass, last, &slots);
	free(work);
	return NB_OK;
}

void nb_expr_pass_clear(struct nb_expr_pass *pass)
{
	free(pass->order);
	free(pass->place);
	memset(pass, 0, sizeof *pass);
}

/* Constants, once for all blocks. */
static void fill_constants(const struct nb_expr *expr, const struct nb_expr_pass *pass, char *scratch, size_t n)
{
	for (int k = 0; k < pass->n; k++) {
		const struct nb_expr_instr *instr = &expr->instr[pass->order[k]];
		if (instr->op != NB_OP_CONST || instr->kind == NB_EXPR_TEXT)
			continue;
		char *slot = scratch + (size_t)pass->place[pass->order[k]] * NB_EXPR_SLOT;
		for (size_t i = 0; i < n; i++)
			if (instr->kind == NB_EXPR_WHOLE)
				((nb_whole *)(void *)slot)[i] = instr->value.whole;
			else if (instr->kind == NB_EXPR_REAL)
				((double *)(void *)slot)[i] = instr->value.real;
			else
				((uint64_t *)(void *)slot)[i] = instr->value.condition;
	}
}

/* The results of a block.  NULL: instruction *bad has no value in row *row. */
static const void *run_block(const struct nb_expr *expr, const struct nb_expr_pass *pass, char *scratch, size_t first,
	size_t n, int *bad, size_t *row)
{
	const void *value = NULL;
	for (int k = 0; k < pass->n; k++) {
		const int at = pass->order[k];
		const struct nb_expr_instr *instr = &expr->instr[at];
		const void *arg[3] = {NULL, NULL, NULL};
		for (int i = 0; i < 3 && instr->arg[i] >= 0; i++) {
			const int from = instr->arg[i], slot = pass->place[from];
			arg[i] = slot < 0 ? (const void *)(expr->instr[from].data + first * expr->instr[from].stride)
					  : scratch + (size_t)slot * NB_EXPR_SLOT;
		}
		if (pass->place[at] < 0) {
			value = instr->data + first * instr->stride;
			continue;
		}
		value = scratch + (size_t)pass->place[at] * NB_EXPR_SLOT;
		const size_t good = nb_expr_run(
			expr, instr, first, n, arg, scratch + (size_t)pass->place[at] * NB_EXPR_SLOT);
		if (good < n) {
			*bad = at;
			*row = first + good;
			return NULL;
		}
	}
	return value;
}

/* What is done with the results of a block: 0, or 1 and the bad one in *bad. */
typedef int use_block(void *context, size_t block, size_t n, const void *value, size_t *bad);

struct trouble {
	size_t block; /* SIZE_MAX: none */
	size_t row;
	int instr; /* -1: found by the one who uses the block */
};

static void note(struct trouble *trouble, size_t block, size_t row, int instr)
{
#pragma omp critical
	if (block < trouble->block)
		*trouble = (struct trouble){block, row, instr};
}

/* All blocks of rows first to first + count - 1.  NB_OK; NB_EINVAL: the first that failed is in *trouble; NB_ENOMEM. */
static int run_rows(const struct nb_expr *expr, const struct nb_expr_pass *pass, size_t first, size_t count,
	use_block *use, void *context, struct trouble *trouble)
{
	const size_t blocks = (count + NB_EXPR_ROWS - 1) / NB_EXPR_ROWS;
	const size_t most = (size_t)nb_cpu_threads(), enough = blocks / 16 + 1;
	const int threads = (int)(most < enough ? most : enough);
	const size_t bytes = (size_t)pass->nslot * NB_EXPR_SLOT;
	char *all = nb_alloc((size_t)threads, bytes);
	*trouble = (struct trouble){SIZE_MAX, SIZE_MAX, -1};
	if (!all)
		return NB_ENOMEM;
#pragma omp parallel num_threads(threads) if (threads > 1)
	{
		char *scratch = all + (size_t)omp_get_thread_num() * bytes;
		fill_constants(expr, pass, scratch, count < NB_EXPR_ROWS ? count : NB_EXPR_ROWS);
#pragma omp for schedule(static)
		for (size_t block = 0; block < blocks; block++) {
			const size_t at = block * NB_EXPR_ROWS, left = count - at;
			const size_t n = left < NB_EXPR_ROWS ? left : NB_EXPR_ROWS;
			int instr = -1;
			size_t row = 0, bad = 0;
			const void *value = run_block(expr, pass, scratch, first + at, n, &instr, &row);
			if (!value)
				note(trouble, block, row, instr);
			else if (use(context, block, n, value, &bad))
				note(trouble, block, first + at + bad, -1);
		}
	}
	nb_free(all);
	return trouble->block == SIZE_MAX ? NB_OK : NB_EINVAL;
}

/* ---- reductions --------------------------------------------------------------------------------- */

struct reduction {
	int what;
	enum nb_expr_kind kind;
	union nb_expr_scalar *partial; /* of each block */
};

static double sum_of_block(size_t n, const double *x)
{
	enum { LANES = 8 };
	double lane[LANES] = {0};
	size_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			lane[k] += x[i + k];
	for (size_t k = 0; i < n; i++, k++)
		lane[k] += x[i];
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static double reduce_real(int what, size_t n, const double *x)
{
	if (what == NB_DO_SUM)
		return sum_of_block(n, x);
	double best = x[0];
	for (size_t i = 1; i < n; i++)
		best = what == NB_DO_MIN ? NB_EXPR_LEAST(best, x[i]) : NB_EXPR_GREATEST(best, x[i]);
	return best;
}

/* 1 if the sum has more than 128 bits. */
static int reduce_whole(int what, size_t n, const nb_whole *x, nb_whole *to)
{
	*to = x[0];
	for (size_t i = 1; i < n; i++)
		if (what != NB_DO_SUM)
			*to = (what == NB_DO_MIN ? x[i] < *to : x[i] > *to) ? x[i] : *to;
		else if (__builtin_add_overflow(*to, x[i], to))
			return 1;
	return 0;
}

static int use_reduction(void *context, size_t block, size_t n, const void *value, size_t *bad)
{
	const struct reduction *r = context;
	union nb_expr_scalar *to = &r->partial[block];
	*bad = 0;
	if (r->kind == NB_EXPR_WHOLE)
		return reduce_whole(r->what, n, value, &to->whole);
	if (r->kind == NB_EXPR_REAL) {
		to->real = reduce_real(r->what, n, value);
		return 0;
	}
	to->whole = 0;
	for (size_t i = 0; i < n; i++)
		to->whole += ((const uint64_t *)value)[i] & 1;
	return 0;
}

/* Neumaier's compensated sum. */
static double sum_of_partials(size_t n, const union nb_expr_scalar *partial)
{
	double sum = 0, lost = 0, plain = 0;
	for (size_t k = 0; k < n; k++) {
		const double x = partial[k].real, next = sum + x;
		lost += fabs(sum) >= fabs(x) ? (sum - next) + x : (x - next) + sum;
		sum = next;
		plain += x;
	}
	return isfinite(sum + lost) ? sum + lost : plain;
}

/* What all blocks have together; 1 if it has more than 128 bits. */
static int join(const struct reduction *r, size_t blocks, union nb_expr_scalar *to)
{
	memset(to, 0, sizeof *to);
	if (r->kind == NB_EXPR_REAL && r->what == NB_DO_SUM) {
		to->real = sum_of_partials(blocks, r->partial);
	} else if (r->kind == NB_EXPR_REAL) {
		double best = blocks ? r->partial[0].real : NAN;
		for (size_t k = 1; k < blocks; k++)
			best = r->what == NB_DO_MIN ? NB_EXPR_LEAST(best, r->partial[k].real)
						    : NB_EXPR_GREATEST(best, r->partial[k].real);
		to->real = best;
	} else {
		const int adds = r->what == NB_DO_SUM || r->what == NB_DO_COUNT;
		to->whole = !adds && blocks ? r->partial[0].whole : 0;
		for (size_t k = 0; k < blocks; k++) {
			const nb_whole x = r->partial[k].whole;
			if (!adds)
				to->whole = (r->what == NB_DO_MIN ? x < to->whole : x > to->whole) ? x : to->whole;
			else if (__builtin_add_overflow(to->whole, x, &to->whole))
				return 1;
		}
	}
	return 0;
}

static int reads_finite(const struct nb_expr *expr, const struct nb_expr_pass *pass, size_t row);

/* A result that is not finite was given if something that is not finite went into it. */
static int was_given(const struct nb_expr *expr, const struct nb_expr_pass *pass, double result)
{
	if (isfinite(result))
		return 0;
	for (size_t row = 0; row < expr->n; row++)
		if (!reads_finite(expr, pass, row))
			return 1;
	return 0;
}

int nb_expr_reduce(const struct nb_expr *expr, int what, int arg, union nb_expr_scalar *to, int *given,
	struct nb_expr_error *error)
{
	const struct nb_expr_instr *instr = &expr->instr[arg];
	const size_t blocks = (expr->n + NB_EXPR_ROWS - 1) / NB_EXPR_ROWS;
	struct reduction r = {what, instr->kind, nb_alloc_zero(blocks, sizeof *r.partial)};
	struct nb_expr_pass pass;
	struct trouble trouble;
	int status = r.partial ? nb_expr_plan(expr, arg, &pass) : NB_ENOMEM;
	if (status) {
		nb_free(r.partial);
		return nb_expr_no_memory(error);
	}
	status = run_rows(expr, &pass, 0, expr->n, use_reduction, &r, &trouble);
	if (status == NB_EINVAL && trouble.instr >= 0) {
		(void)nb_expr_no_value(&expr->instr[trouble.instr], error);
		error->row = trouble.row;
	} else if (status == NB_EINVAL || (!status && join(&r, blocks, to))) {
		status = nb_expr_fail(error, instr->at, "a sum of more than 128 bits");
	} else if (status) {
		(void)nb_expr_no_memory(error);
	}
	*given = !status && r.kind == NB_EXPR_REAL && was_given(expr, &pass, to->real);
	nb_expr_pass_clear(&pass);
	nb_free(r.partial);
	return status;
}

/* ---- results ------------------------------------------------------------------------------------ */

struct output {
	enum nb_expr_kind kind;
	enum nb_expr_item item;
	size_t stride;
	char *to;
};

static const struct {
	nb_whole least, most;
} range[] = {
	[NB_ITEM_U64] = {0, UINT64_MAX},
	[NB_ITEM_U32] = {0, UINT32_MAX},
	[NB_ITEM_U16] = {0, UINT16_MAX},
	[NB_ITEM_U8] = {0, UINT8_MAX},
	[NB_ITEM_I64] = {INT64_MIN, INT64_MAX},
	[NB_ITEM_I32] = {INT32_MIN, INT32_MAX},
	[NB_ITEM_I16] = {INT16_MIN, INT16_MAX},
	[NB_ITEM_I8] = {INT8_MIN, INT8_MAX},
};

static nb_whole whole_at(enum nb_expr_kind kind, const void *value, size_t i)
{
	return kind == NB_EXPR_WHOLE ? ((const nb_whole *)value)[i] : (nb_whole)(((const uint64_t *)value)[i] & 1);
}

static double real_at(enum nb_expr_kind kind, const void *value, size_t i)
{
	return kind == NB_EXPR_REAL ? ((const double *)value)[i] : (double)whole_at(kind, value, i);
}

/* *to from a value: 1 if it is no number of the item. */
static int whole_of(const struct output *out, const void *value, size_t i, nb_whole *to)
{
	if (out->kind == NB_EXPR_REAL) {
		const double x = ((const double *)value)[i];
		if (!(fabs(x) < 0x1p100) || x != floor(x))
			return 1;
		*to = (nb_whole)x;
	} else {
		*to = whole_at(out->kind, value, i);
	}
	return *to < range[out->item].least || *to > range[out->item].most;
}

static int use_output(void *context, size_t block, size_t n, const void *value, size_t *bad)
{
	const struct output *out = context;
	static const size_t size[] = {8, 4, 8, 4, 2, 1, 8, 4, 2, 1};
	char *to = out->to + block * NB_EXPR_ROWS * out->stride;
	if (out->item == NB_ITEM_F64 && out->kind == NB_EXPR_REAL && out->stride == sizeof(double)) {
		memcpy(to, value, n * sizeof(double));
		return 0;
	}
	if (out->item == NB_ITEM_U8 && out->kind == NB_EXPR_CONDITION && out->stride == 1) {
		for (size_t i = 0; i < n; i++)
			to[i] = (char)(((const uint64_t *)value)[i] & 1);
		return 0;
	}
	for (size_t i = 0; i < n; i++, to += out->stride) {
		nb_whole whole;
		if (out->item == NB_ITEM_F64) {
			memcpy(to, &(double){real_at(out->kind, value, i)}, sizeof(double));
		} else if (out->item == NB_ITEM_F32) {
			memcpy(to, &(float){(float)real_at(out->kind, value, i)}, sizeof(float));
		} else if (whole_of(out, value, i, &whole)) {
			*bad = i;
			return 1;
		} else {
			memcpy(to, &whole, size[out->item]); /* little-endian */
		}
	}
	return 0;
}

/* Decimal digits, from the end of a buffer. */
static const char *digits_of(nb_whole x, char buffer[48])
{
	char *p = buffer + 47;
	unsigned __int128 rest = x < 0 ? -(unsigned __int128)x : (unsigned __int128)x;
	*p = '\0';
	do
		*--p = (char)('0' + (int)(rest % 10));
	while ((rest /= 10) != 0);
	if (x < 0)
		*--p = '-';
	return p;
}

struct one {
	enum nb_expr_kind kind;
	char text[48];
};

static int use_one(void *context, size_t block, size_t n, const void *value, size_t *bad)
{
	struct one *one = context;
	char digits[48];
	(void)block;
	(void)n;
	(void)bad;
	if (one->kind == NB_EXPR_REAL)
		snprintf(one->text, sizeof one->text, "%.17g", *(const double *)value);
	else
		snprintf(one->text, sizeof one->text, "%s", digits_of(whole_at(one->kind, value, 0), digits));
	return 0;
}

/* The value of a row, which is not what the item wants. */
static int bad_value(const struct nb_expr *expr, const struct nb_expr_pass *pass, enum nb_expr_item item, size_t row,
	struct nb_expr_error *error)
{
	struct one one = {.kind = expr->instr[pass->result].kind};
	struct trouble trouble;
	char least[48], most[48];
	if (run_rows(expr, pass, row, 1, use_one, &one, &trouble))
		return nb_expr_no_memory(error);
	(void)nb_expr_fail(error, SIZE_MAX, "%s is not a whole number from %s to %s", one.text,
		digits_of(range[item].least, least), digits_of(range[item].most, most));
	error->row = row;
	return NB_EINVAL;
}

int nb_expr_values(const struct nb_expr *expr, size_t first, size_t count, uint32_t comp, enum nb_expr_item item,
	void *to, size_t stride, struct nb_expr_error *error)
{
	const struct nb_expr_pass *pass = &expr->pass[comp];
	struct output out = {expr->instr[pass->result].kind, item, stride, to};
	struct trouble trouble;
	if (out.kind == NB_EXPR_TEXT || item == NB_ITEM_TEXT)
		return nb_expr_fail(error, SIZE_MAX, "the result is %s text", out.kind == NB_EXPR_TEXT ? "a" : "no");
	const int status = run_rows(expr, pass, first, count, use_output, &out, &trouble);
	if (status == NB_ENOMEM)
		return nb_expr_no_memory(error);
	if (status && trouble.instr < 0)
		return bad_value(expr, pass, item, trouble.row, error);
	if (status) {
		(void)nb_expr_no_value(&expr->instr[trouble.instr], error);
		error->row = trouble.row;
	}
	return status;
}

int nb_expr_mask(const struct nb_expr *expr, size_t first, size_t count, uint8_t *mask, struct nb_expr_error *error)
{
	if (nb_expr_kind(expr) != NB_EXPR_CONDITION)
		return nb_expr_fail(error, SIZE_MAX, "expected a condition, such as r < 2");
	return nb_expr_values(expr, first, count, 0, NB_ITEM_U8, mask, 1, error);
}

const char *nb_expr_text(const struct nb_expr *expr, size_t row, size_t *length)
{
	const struct nb_expr_instr *instr = &expr->instr[expr->result[0]];
	const char *text = instr->data + row * instr->stride;
	*length = nb_expr_text_length(text, instr->width);
	return text;
}

static int reads_finite(const struct nb_expr *expr, const struct nb_expr_pass *pass, size_t row)
{
	for (int k = 0; k < pass->n; k++) {
		const struct nb_expr_instr *instr = &expr->instr[pass->order[k]];
		union nb_expr_scalar x = {.real = 0};
		if (instr->op == NB_OP_CONST && instr->given)
			return 0;
		if (instr->op == NB_OP_LOAD && instr->kind == NB_EXPR_REAL)
			nb_expr_load(instr, row, 1, &x);
		if (!isfinite(x.real))
			return 0;
	}
	return 1;
}

int nb_expr_reads_finite(const struct nb_expr *expr, size_t row)
{
	for (uint32_t k = 0; k < expr->ncomp; k++)
		if (!reads_finite(expr, &expr->pass[k], row))
			return 0;
	return 1;
}
