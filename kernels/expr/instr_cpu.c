/* One instruction on a block of rows: one loop over arrays that stay in the first cache. */
#include "kernels/expr/expr_internal.h"

#include <math.h>
#include <string.h>

static const uint64_t HOLDS = UINT64_MAX;

/* ---- loops -------------------------------------------------------------------------------------- */

#define EACH(value)                    \
	for (size_t i = 0; i < n; i++) \
		to[i] = (value);       \
	break

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
	case NB_DO_MIN: EACH(NB_EXPR_LEAST(a[i], b[i]));
	case NB_DO_MAX: EACH(NB_EXPR_GREATEST(a[i], b[i]));
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

void nb_expr_load(const struct nb_expr_instr *instr, size_t first, size_t n, void *restrict to)
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

size_t nb_expr_text_length(const char *text, size_t width)
{
	const char *end = width ? memchr(text, '\0', width) : NULL;
	return end ? (size_t)(end - text) : width;
}

static int same_text(const struct nb_expr_instr *a, const struct nb_expr_instr *b, size_t row)
{
	const char *x = a->data + row * a->stride, *y = b->data + row * b->stride;
	const size_t length = nb_expr_text_length(x, a->width);
	return length == nb_expr_text_length(y, b->width) && memcmp(x, y, length) == 0;
}

/* ---- one instruction ---------------------------------------------------------------------------- */

size_t nb_expr_run(const struct nb_expr *expr, const struct nb_expr_instr *instr, size_t first, size_t n,
	const void *const arg[3], void *result)
{
	const void *a = arg[0], *b = arg[1];
	switch (instr->op) {
	case NB_OP_CONST: break;
	case NB_OP_LOAD: nb_expr_load(instr, first, n, result); break;
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

int nb_expr_no_value(const struct nb_expr_instr *instr, struct nb_expr_error *error)
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
	if (nb_expr_run(expr, instr, 0, 1, arg, &result) < 1)
		return nb_expr_no_value(instr, error);
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
