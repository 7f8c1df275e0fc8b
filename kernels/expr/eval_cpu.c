/* Instructions on blocks of NB_EXPR_ROWS rows: each is one loop over arrays that stay in the first cache.  Threads take
 * blocks; sums of blocks are added in order with compensation. */
#include "kernels/expr/expr_internal.h"

#include "common/cpu.h"
#include "common/mem.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t HOLDS = UINT64_MAX;

/* ---- loops -------------------------------------------------------------------------------------- */

#define EACH(value)                    \
	for (size_t i = 0; i < n; i++) \
		to[i] = (value);       \
	break

/* Either, if it is NaN. */
#define LEAST(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))
#define GREATEST(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))

static void apply_real(int what, size_t n, const double *restrict a, const double *restrict b, double *restrict to)
{
	switch ((enum nb_apply)what) {
	case NB_DO_ADD: EACH(a[i] + b[i]);
	case NB_DO_SUB: EACH(a[i] - b[i]);
	case NB_DO_MUL: EACH(a[i] * b[i]);
	case NB_DO_DIV: EACH(a[i] / b[i]);
	case NB_DO_MOD: EACH(fmod(a[i], b[i]));
	case NB_DO_POW: EACH(pow(a[i], b[i]));
	case NB_DO_ATAN2: EACH(atan2(a[i], b[i]));
	case NB_DO_HYPOT: EACH(hypot(a[i], b[i]));
	case NB_DO_MIN: EACH(LEAST(a[i], b[i]));
	case NB_DO_MAX: EACH(GREATEST(a[i], b[i]));
	case NB_DO_NEG: EACH(-a[i]);
	case NB_DO_ABS: EACH(fabs(a[i]));
	case NB_DO_SIGN: EACH(a[i] > 0 ? 1 : a[i] < 0 ? -1 : a[i]);
	case NB_DO_SQRT: EACH(sqrt(a[i]));
	case NB_DO_EXP: EACH(exp(a[i]));
	case NB_DO_LOG: EACH(log(a[i]));
	case NB_DO_LOG10: EACH(log10(a[i]));
	case NB_DO_SIN: EACH(sin(a[i]));
	case NB_DO_COS: EACH(cos(a[i]));
	case NB_DO_TAN: EACH(tan(a[i]));
	case NB_DO_ASIN: EACH(asin(a[i]));
	case NB_DO_ACOS: EACH(acos(a[i]));
	case NB_DO_ATAN: EACH(atan(a[i]));
	case NB_DO_FLOOR: EACH(floor(a[i]));
	case NB_DO_CEIL: EACH(ceil(a[i]));
	case NB_DO_ROUND: EACH(round(a[i]));
	default: break;
	}
}

static void test_real(int what, size_t n, const double *restrict a, const double *restrict b, uint64_t *restrict to)
{
	switch ((enum nb_apply)what) {
	case NB_DO_LT: EACH(a[i] < b[i] ? HOLDS : 0);
	case NB_DO_LE: EACH(a[i] <= b[i] ? HOLDS : 0);
	case NB_DO_GT: EACH(a[i] > b[i] ? HOLDS : 0);
	case NB_DO_GE: EACH(a[i] >= b[i] ? HOLDS : 0);
	case NB_DO_EQ: EACH(a[i] == b[i] ? HOLDS : 0);
	case NB_DO_NE: EACH(a[i] != b[i] ? HOLDS : 0);
	case NB_DO_ISNAN: EACH(a[i] != a[i] ? HOLDS : 0);
	case NB_DO_ISFINITE: EACH(fabs(a[i]) <= 0x1.fffffffffffffp1023 ? HOLDS : 0);
	default: break;
	}
}

static void test_whole(
	int what, size_t n, const nb_whole *restrict a, const nb_whole *restrict b, uint64_t *restrict to)
{
	switch ((enum nb_apply)what) {
	case NB_DO_LT: EACH(a[i] < b[i] ? HOLDS : 0);
	case NB_DO_LE: EACH(a[i] <= b[i] ? HOLDS : 0);
	case NB_DO_GT: EACH(a[i] > b[i] ? HOLDS : 0);
	case NB_DO_GE: EACH(a[i] >= b[i] ? HOLDS : 0);
	case NB_DO_EQ: EACH(a[i] == b[i] ? HOLDS : 0);
	case NB_DO_NE: EACH(a[i] != b[i] ? HOLDS : 0);
	default: break;
	}
}

/* Rounding keeps order, so only numbers that are equal when rounded need another look. */
static int compare_mixed(nb_whole a, double b)
{
	const double rounded = (double)a;
	if (rounded != b)
		return rounded < b ? -1 : 1;
	if (b >= 0x1p127)
		return -1;
	const nb_whole exact = (nb_whole)b;
	return a < exact ? -1 : a > exact;
}

static void test_mixed(int what, size_t n, const nb_whole *restrict a, const double *restrict b, uint64_t *restrict to)
{
	for (size_t i = 0; i < n; i++) {
		const int order = compare_mixed(a[i], b[i]);
		int holds = 0;
		switch ((enum nb_apply)what) {
		case NB_DO_LT: holds = order < 0; break;
		case NB_DO_LE: holds = order <= 0; break;
		case NB_DO_GT: holds = order > 0; break;
		case NB_DO_GE: holds = order >= 0; break;
		case NB_DO_EQ: holds = order == 0; break;
		default: holds = order != 0; break;
		}
		if (b[i] != b[i])
			holds = what == NB_DO_NE;
		to[i] = holds ? HOLDS : 0;
	}
}

static void apply_condition(
	int what, size_t n, const uint64_t *restrict a, const uint64_t *restrict b, uint64_t *restrict to)
{
	switch ((enum nb_apply)what) {
	case NB_DO_AND: EACH(a[i] & b[i]);
	case NB_DO_OR: EACH(a[i] | b[i]);
	case NB_DO_NOT: EACH(~a[i]);
	default: break;
	}
}

/* 1 if the product has more than 128 bits.  (__builtin_mul_overflow wants a function that not every compiler's library
 * has.) */
static int multiply(nb_whole x, nb_whole y, nb_whole *to)
{
	typedef unsigned __int128 size;
	const size a = x < 0 ? -(size)x : (size)x, b = y < 0 ? -(size)y : (size)y, most = ~(size)0 >> 1;
	if ((a | b) >> 63 && b != 0 && a > most / b)
		return 1;
	*to = (x < 0) != (y < 0) ? -(nb_whole)(a * b) : (nb_whole)(a * b);
	return 0;
}

/* Returns the first row whose result has more than 128 bits, or is a remainder of a division by 0; n: none. */
static size_t apply_whole(
	int what, size_t n, const nb_whole *restrict a, const nb_whole *restrict b, nb_whole *restrict to)
{
	for (size_t i = 0; i < n; i++) {
		const nb_whole x = a[i], y = b ? b[i] : 0;
		int bad = 0;
		switch ((enum nb_apply)what) {
		case NB_DO_ADD: bad = __builtin_add_overflow(x, y, &to[i]); break;
		case NB_DO_SUB: bad = __builtin_sub_overflow(x, y, &to[i]); break;
		case NB_DO_MUL: bad = multiply(x, y, &to[i]); break;
		case NB_DO_NEG: bad = __builtin_sub_overflow((nb_whole)0, x, &to[i]); break;
		case NB_DO_ABS: bad = x < 0 ? __builtin_sub_overflow((nb_whole)0, x, &to[i]) : (to[i] = x, 0); break;
		case NB_DO_MOD: bad = y == 0 ? 1 : (to[i] = y == -1 ? 0 : x % y, 0); break;
		case NB_DO_MIN: to[i] = x < y ? x : y; break;
		case NB_DO_MAX: to[i] = x > y ? x : y; break;
		default: to[i] = (x > 0) - (x < 0); break; /* SIGN */
		}
		if (bad)
			return i;
	}
	return n;
}

/* ---- random numbers ----------------------------------------------------------------------------- */

/* The finaliser of SplitMix64 (Steele, Lea & Flood 2014, OOPSLA). */
static uint64_t mixed(uint64_t z)
{
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* In (0, 1), never an end of it. */
static double uniform(uint64_t stream, uint64_t counter)
{
	const uint64_t bits = mixed(mixed(counter + 0x9E3779B97F4A7C15u) ^ mixed(stream + 0xD1B54A32D192ED03u));
	return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

static void random_numbers(int what, uint64_t stream, size_t n, const nb_whole *restrict a, double *restrict to)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t counter = (uint64_t)a[i];
		const double u = uniform(stream, counter);
		to[i] = what == NB_DO_RANDOM ? u : sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(~stream, counter));
	}
}

/* ---- columns ------------------------------------------------------------------------------------ */

#define LOAD(type, to_type)                                    \
	for (size_t i = 0; i < n; i++) {                       \
		type item;                                     \
		memcpy(&item, from + i * stride, sizeof item); \
		((to_type *)to)[i] = (to_type)item;            \
	}                                                      \
	break

static void load(const struct nb_expr_instr *instr, size_t first, size_t n, void *restrict to)
{
	const size_t stride = instr->stride;
	const char *restrict from = n ? instr->data + first * stride : NULL;
	switch (instr->item) {
	case NB_ITEM_F64: LOAD(double, double);
	case NB_ITEM_F32: LOAD(float, double);
	case NB_ITEM_U64: LOAD(uint64_t, nb_whole);
	case NB_ITEM_U32: LOAD(uint32_t, nb_whole);
	case NB_ITEM_U16: LOAD(uint16_t, nb_whole);
	case NB_ITEM_U8: LOAD(uint8_t, nb_whole);
	case NB_ITEM_I64: LOAD(int64_t, nb_whole);
	case NB_ITEM_I32: LOAD(int32_t, nb_whole);
	case NB_ITEM_I16: LOAD(int16_t, nb_whole);
	case NB_ITEM_I8: LOAD(int8_t, nb_whole);
	case NB_ITEM_TEXT: break;
	}
}

static size_t text_length(const char *text, size_t width)
{
	const char *end = width ? memchr(text, '\0', width) : NULL;
	return end ? (size_t)(end - text) : width;
}

static int same_text(const struct nb_expr_instr *a, const struct nb_expr_instr *b, size_t row)
{
	const char *x = a->data + row * a->stride, *y = b->data + row * b->stride;
	const size_t length = text_length(x, a->width);
	return length == text_length(y, b->width) && memcmp(x, y, length) == 0;
}

/* ---- one instruction ---------------------------------------------------------------------------- */

/* On count rows.  Returns the first that has no value, or count. */
static size_t run_instr(const struct nb_expr *expr, const struct nb_expr_instr *instr, size_t first, size_t n,
	const void *const arg[3], void *result)
{
	const void *a = arg[0], *b = arg[1];
	switch (instr->op) {
	case NB_OP_CONST: break;
	case NB_OP_LOAD: load(instr, first, n, result); break;
	case NB_OP_ROW: {
		nb_whole *to = result;
		EACH((nb_whole)(first + i));
	}
	case NB_OP_TO_REAL: {
		const nb_whole *from = a;
		double *to = result;
		EACH((double)from[i]);
	}
	case NB_OP_TO_WHOLE: {
		const uint64_t *from = a;
		nb_whole *to = result;
		EACH(from[i] & 1);
	}
	case NB_OP_COMPARE_MIXED: test_mixed(instr->what, n, a, b, result); break;
	case NB_OP_SELECT: {
		const uint64_t *chosen = a;
		if (instr->kind == NB_EXPR_REAL) {
			const double *yes = b, *no = arg[2];
			double *to = result;
			EACH(chosen[i] ? yes[i] : no[i]);
		} else if (instr->kind == NB_EXPR_WHOLE) {
			const nb_whole *yes = b, *no = arg[2];
			nb_whole *to = result;
			EACH(chosen[i] ? yes[i] : no[i]);
		} else {
			const uint64_t *yes = b, *no = arg[2];
			uint64_t *to = result;
			EACH((chosen[i] & yes[i]) | (~chosen[i] & no[i]));
		}
	}
	case NB_OP_APPLY:
		if (instr->what == NB_DO_RANDOM || instr->what == NB_DO_NORMAL) {
			random_numbers(instr->what, instr->stream, n, a, result);
		} else if (instr->of == NB_EXPR_TEXT) {
			const struct nb_expr_instr *x = &expr->instr[instr->arg[0]], *y = &expr->instr[instr->arg[1]];
			uint64_t *to = result;
			EACH(same_text(x, y, first + i) == (instr->what == NB_DO_EQ) ? HOLDS : 0);
		} else if (instr->of == NB_EXPR_CONDITION) {
			apply_condition(instr->what, n, a, b, result);
		} else if (instr->of == NB_EXPR_WHOLE) {
			if (instr->kind == NB_EXPR_WHOLE)
				return apply_whole(instr->what, n, a, b, result);
			test_whole(instr->what, n, a, b, result);
		} else if (instr->kind == NB_EXPR_CONDITION) {
			test_real(instr->what, n, a, b, result);
		} else {
			apply_real(instr->what, n, a, b, result);
		}
		break;
	}
	return n;
}

static int no_value(const struct nb_expr_instr *instr, struct nb_expr_error *error)
{
	return nb_expr_fail(error, instr->at,
		instr->what == NB_DO_MOD ? "a remainder of a division by 0" : "a whole number of more than 128 bits");
}

int nb_expr_fold(const struct nb_expr *expr, struct nb_expr_instr *instr, struct nb_expr_error *error)
{
	union nb_expr_scalar result;
	const void *arg[3] = {NULL, NULL, NULL};
	memset(&result, 0, sizeof result);
	for (int k = 0; k < 3 && instr->arg[k] >= 0; k++)
		arg[k] = &expr->instr[instr->arg[k]].value;
	if (run_instr(expr, instr, 0, 1, arg, &result) < 1)
		return no_value(instr, error);
	instr->op = NB_OP_CONST;
	instr->what = 0;
	instr->of = instr->kind;
	instr->arg[0] = instr->arg[1] = instr->arg[2] = -1;
	memset(&instr->value, 0, sizeof instr->value);
	if (instr->kind == NB_EXPR_REAL)
		instr->value.real = result.real;
	else if (instr->kind == NB_EXPR_WHOLE)
		instr->value.whole = result.whole;
	else
		instr->value.condition = result.condition;
	return NB_OK;
}

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
		const size_t good = run_instr(
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
		best = what == NB_DO_MIN ? LEAST(best, x[i]) : GREATEST(best, x[i]);
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
			best = r->what == NB_DO_MIN ? LEAST(best, r->partial[k].real)
						    : GREATEST(best, r->partial[k].real);
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
		(void)no_value(&expr->instr[trouble.instr], error);
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
		(void)no_value(&expr->instr[trouble.instr], error);
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
	*length = text_length(text, instr->width);
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
			load(instr, row, 1, &x);
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
