/* The instructions that operators and functions become: their kinds, their units, constants folded. */
#include "kernels/expr/bind_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nb_expr_no_instr(struct nb_expr_binder *b, size_t at, const char *what)
{
	if (!b->status)
		b->status = nb_expr_fail(b->error, at, "%s", what);
	return -1;
}

static const struct nb_expr_instr *instr_at(const struct nb_expr_binder *b, int k)
{
	return &b->expr->instr[k];
}

/* ---- instructions ------------------------------------------------------------------------------- */

static int is_same(const struct nb_expr_instr *a, const struct nb_expr_instr *b)
{
	if (a->op != b->op || a->what != b->what || a->kind != b->kind || a->of != b->of || a->stream != b->stream ||
		a->given != b->given || a->is_unsigned != b->is_unsigned || memcmp(a->arg, b->arg, sizeof a->arg) != 0)
		return 0;
	if (a->op == NB_OP_CONST)
		return a->kind != NB_EXPR_TEXT && memcmp(&a->value, &b->value, sizeof a->value) == 0 &&
		       nb_units_equal(&a->units, &b->units);
	return a->op != NB_OP_LOAD ||
	       (a->data == b->data && a->stride == b->stride && a->item == b->item && a->width == b->width);
}

int nb_expr_add_instr(struct nb_expr_binder *b, const struct nb_expr_instr *instr)
{
	struct nb_expr *expr = b->expr;
	if (b->status)
		return -1;
	for (int k = 0; k < expr->ninstr; k++)
		if (is_same(&expr->instr[k], instr))
			return k;
	if (expr->ninstr == NB_EXPR_INSTRS)
		return nb_expr_no_instr(b, instr->at, "the expression is too long");
	if (expr->ninstr == expr->room) {
		const int room = expr->room ? 2 * expr->room : 32;
		struct nb_expr_instr *grown = realloc(expr->instr, (size_t)room * sizeof *grown);
		if (!grown) {
			b->status = nb_expr_no_memory(b->error);
			return -1;
		}
		expr->instr = grown;
		expr->room = room;
	}
	expr->instr[expr->ninstr] = *instr;
	return expr->ninstr++;
}

struct nb_expr_instr nb_expr_empty_instr(enum nb_expr_op op, enum nb_expr_kind kind, size_t at)
{
	struct nb_expr_instr instr;
	memset(&instr, 0, sizeof instr); /* padding too, as scalars are compared by their bytes */
	instr.op = op;
	instr.kind = instr.of = kind;
	instr.arg[0] = instr.arg[1] = instr.arg[2] = -1;
	instr.at = at;
	return instr;
}

int nb_expr_emit(struct nb_expr_binder *b, struct nb_expr_instr *instr)
{
	int constant = instr->op != NB_OP_LOAD && instr->op != NB_OP_ROW && instr->op != NB_OP_CONST;
	if (b->status)
		return -1;
	for (int k = 0; k < 3 && instr->arg[k] >= 0; k++) {
		const struct nb_expr_instr *arg = instr_at(b, instr->arg[k]);
		constant &= arg->op == NB_OP_CONST;
		instr->given |= arg->given && arg->op == NB_OP_CONST;
	}
	if (constant)
		b->status = nb_expr_fold(b->expr, instr, b->error);
	return nb_expr_add_instr(b, instr);
}

int nb_expr_whole_constant(struct nb_expr_binder *b, nb_whole value, size_t at)
{
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_CONST, NB_EXPR_WHOLE, at);
	instr.value.whole = value;
	instr.is_unsigned = value >= 0;
	return nb_expr_emit(b, &instr);
}

int nb_expr_real_constant(struct nb_expr_binder *b, double value, size_t at)
{
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_CONST, NB_EXPR_REAL, at);
	instr.value.real = value;
	instr.given = !isfinite(value);
	return nb_expr_emit(b, &instr);
}

static int convert(struct nb_expr_binder *b, int k, enum nb_expr_op op, enum nb_expr_kind kind)
{
	if (k < 0)
		return -1;
	const struct nb_expr_instr *from = instr_at(b, k);
	struct nb_expr_instr instr = nb_expr_empty_instr(op, kind, from->at);
	instr.of = from->kind;
	instr.arg[0] = k;
	instr.units = from->units;
	instr.is_unsigned = kind == NB_EXPR_WHOLE;
	return nb_expr_emit(b, &instr);
}

/* ---- kinds -------------------------------------------------------------------------------------- */

/* A number: what is a condition is 1 or 0. */
static int as_number(struct nb_expr_binder *b, int k)
{
	if (k < 0 || b->status)
		return -1;
	const struct nb_expr_instr *instr = instr_at(b, k);
	if (instr->kind == NB_EXPR_TEXT)
		return nb_expr_no_instr(b, instr->at, "expected a number, not a text,");
	return instr->kind == NB_EXPR_CONDITION ? convert(b, k, NB_OP_TO_WHOLE, NB_EXPR_WHOLE) : k;
}

static int as_real(struct nb_expr_binder *b, int k)
{
	k = as_number(b, k);
	return k >= 0 && instr_at(b, k)->kind == NB_EXPR_WHOLE ? convert(b, k, NB_OP_TO_REAL, NB_EXPR_REAL) : k;
}

static int as_condition(struct nb_expr_binder *b, int k)
{
	if (k < 0 || b->status)
		return -1;
	if (instr_at(b, k)->kind != NB_EXPR_CONDITION)
		return nb_expr_no_instr(b, instr_at(b, k)->at, "expected a condition, such as r < 2,");
	return k;
}

/* ---- units -------------------------------------------------------------------------------------- */

static void doubt(struct nb_expr_binder *b, size_t at, const struct nb_expr_units *x, const struct nb_expr_units *y)
{
	char a[NB_EXPR_UNIT], c[NB_EXPR_UNIT];
	if (*b->expr->doubt)
		return;
	nb_units_text(x, a, sizeof a);
	nb_units_text(y, c, sizeof c);
	snprintf(b->expr->doubt, sizeof b->expr->doubt, "'%s' and '%s' at character %zu", a, c, at + 1);
}

/* Of a sum: both agree, or one is a pure number, which may be one that nobody has given a unit. */
static struct nb_expr_units common_units(struct nb_expr_binder *b, int x, int y, size_t at)
{
	const struct nb_expr_units *u = &instr_at(b, x)->units, *v = &instr_at(b, y)->units;
	if (u->unknown || v->unknown || nb_units_equal(u, v) || v->n == 0)
		return v->unknown ? *v : *u;
	if (u->n == 0)
		return *v;
	doubt(b, at, u, v);
	return (struct nb_expr_units){.unknown = 1};
}

static struct nb_expr_units power_units(const struct nb_expr_binder *b, int x, int y)
{
	const struct nb_expr_units none = {0}, *u = &instr_at(b, x)->units;
	const struct nb_expr_instr *power = instr_at(b, y);
	if (u->n == 0)
		return *u;
	if (power->op != NB_OP_CONST || !(fabs(power->value.real) < 100))
		return (struct nb_expr_units){.unknown = 1};
	return nb_units_product(u, power->value.real, &none, 0);
}

static struct nb_expr_units units_of(struct nb_expr_binder *b, const struct nb_expr_instr *instr)
{
	const struct nb_expr_units none = {0};
	const int x = instr->arg[0], y = instr->arg[1];
	switch ((enum nb_apply)instr->what) {
	case NB_DO_ADD:
	case NB_DO_SUB:
	case NB_DO_HYPOT: return common_units(b, x, y, instr->at);
	case NB_DO_MIN:
	case NB_DO_MAX: return y < 0 ? instr_at(b, x)->units : common_units(b, x, y, instr->at);
	case NB_DO_MUL: return nb_units_product(&instr_at(b, x)->units, 1, &instr_at(b, y)->units, 1);
	case NB_DO_DIV: return nb_units_product(&instr_at(b, x)->units, 1, &instr_at(b, y)->units, -1);
	case NB_DO_SQRT: return nb_units_product(&instr_at(b, x)->units, 0.5, &none, 0);
	case NB_DO_POW: return power_units(b, x, y);
	case NB_DO_MOD:
	case NB_DO_NEG:
	case NB_DO_ABS:
	case NB_DO_FLOOR:
	case NB_DO_CEIL:
	case NB_DO_ROUND:
	case NB_DO_SUM:
	case NB_DO_MEAN: return instr_at(b, x)->units;
	case NB_DO_IF: return common_units(b, y, instr->arg[2], instr->at);
	default: return none;
	}
}

/* ---- operators and functions of one component --------------------------------------------------- */

static int apply(
	struct nb_expr_binder *b, int what, enum nb_expr_kind kind, enum nb_expr_kind of, int x, int y, size_t at)
{
	if (x < 0 || b->status)
		return -1;
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_APPLY, kind, at);
	instr.what = what;
	instr.of = of;
	instr.arg[0] = x;
	instr.arg[1] = y;
	const int both = instr_at(b, x)->is_unsigned && (y < 0 || instr_at(b, y)->is_unsigned);
	instr.is_unsigned = kind == NB_EXPR_WHOLE &&
			    ((both && what != NB_DO_SUB && what != NB_DO_NEG) || what == NB_DO_ABS);
	if (kind != NB_EXPR_CONDITION)
		instr.units = units_of(b, &instr);
	return nb_expr_emit(b, &instr);
}

/* Whole if all operands are; a quotient and a power never. */
int nb_expr_arithmetic(struct nb_expr_binder *b, int what, int x, int y, size_t at)
{
	const int two = y >= 0;
	x = as_number(b, x);
	y = two ? as_number(b, y) : -1;
	if (b->status)
		return -1;
	const int whole = instr_at(b, x)->kind == NB_EXPR_WHOLE && (!two || instr_at(b, y)->kind == NB_EXPR_WHOLE);
	if (whole && what != NB_DO_DIV && what != NB_DO_POW)
		return apply(b, what, NB_EXPR_WHOLE, NB_EXPR_WHOLE, x, y, at);
	x = as_real(b, x);
	y = two ? as_real(b, y) : -1;
	return apply(b, what, NB_EXPR_REAL, NB_EXPR_REAL, x, y, at);
}

/* x^2 and x^3 are products, which are exact to rounding and many times faster. */
static int power(struct nb_expr_binder *b, int x, int y, size_t at)
{
	y = as_real(b, y);
	x = as_real(b, x);
	if (b->status)
		return -1;
	const struct nb_expr_instr *p = instr_at(b, y);
	if (p->op != NB_OP_CONST || (p->value.real != 2 && p->value.real != 3))
		return nb_expr_arithmetic(b, NB_DO_POW, x, y, at);
	const int cube = p->value.real == 3;
	const int square = nb_expr_arithmetic(b, NB_DO_MUL, x, x, at);
	return cube ? nb_expr_arithmetic(b, NB_DO_MUL, square, x, at) : square;
}

static int compare_texts(struct nb_expr_binder *b, int what, int x, int y, size_t at)
{
	if (instr_at(b, x)->kind != instr_at(b, y)->kind)
		return nb_expr_no_instr(b, at, "a text is compared with a number");
	if (what != NB_DO_EQ && what != NB_DO_NE)
		return nb_expr_no_instr(b, at, "texts are compared by == and != only:");
	return apply(b, what, NB_EXPR_CONDITION, NB_EXPR_TEXT, x, y, at);
}

static int compare(struct nb_expr_binder *b, int what, int x, int y, size_t at)
{
	if (x < 0 || y < 0 || b->status)
		return -1;
	if (instr_at(b, x)->kind == NB_EXPR_TEXT || instr_at(b, y)->kind == NB_EXPR_TEXT)
		return compare_texts(b, what, x, y, at);
	x = as_number(b, x);
	y = as_number(b, y);
	if (b->status)
		return -1;
	(void)common_units(b, x, y, at);
	const enum nb_expr_kind of = instr_at(b, x)->kind;
	if (of == instr_at(b, y)->kind)
		return apply(b, what, NB_EXPR_CONDITION, of, x, y, at);
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_COMPARE_MIXED, NB_EXPR_CONDITION, at);
	const int turned = of == NB_EXPR_REAL; /* the whole number first */
	static const int mirror[] = {[NB_DO_LT] = NB_DO_GT,
		[NB_DO_GT] = NB_DO_LT,
		[NB_DO_LE] = NB_DO_GE,
		[NB_DO_GE] = NB_DO_LE,
		[NB_DO_EQ] = NB_DO_EQ,
		[NB_DO_NE] = NB_DO_NE};
	instr.what = turned ? mirror[what] : what;
	instr.arg[0] = turned ? y : x;
	instr.arg[1] = turned ? x : y;
	return nb_expr_emit(b, &instr);
}

static int choose(struct nb_expr_binder *b, int condition, int yes, int no, size_t at)
{
	condition = as_condition(b, condition);
	if (b->status)
		return -1;
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_SELECT, instr_at(b, yes)->kind, at);
	if (instr_at(b, yes)->kind == NB_EXPR_TEXT || instr_at(b, no)->kind == NB_EXPR_TEXT)
		return nb_expr_no_instr(b, at, "a text cannot be chosen by ?:");
	if (instr_at(b, yes)->kind != instr_at(b, no)->kind) {
		yes = as_number(b, yes);
		no = as_number(b, no);
		if (!b->status && instr_at(b, yes)->kind != instr_at(b, no)->kind) {
			yes = as_real(b, yes);
			no = as_real(b, no);
		}
		if (b->status)
			return -1;
	}
	instr.kind = instr.of = instr_at(b, yes)->kind;
	instr.what = NB_DO_IF;
	instr.arg[0] = condition;
	instr.arg[1] = yes;
	instr.arg[2] = no;
	instr.is_unsigned = instr_at(b, yes)->is_unsigned && instr_at(b, no)->is_unsigned;
	if (instr.kind != NB_EXPR_CONDITION)
		instr.units = units_of(b, &instr);
	return nb_expr_emit(b, &instr);
}

/* Over all rows. */
static int reduce(struct nb_expr_binder *b, int what, int x, size_t at)
{
	x = what == NB_DO_COUNT ? as_condition(b, x) : as_number(b, x);
	const int is_order = what == NB_DO_MIN || what == NB_DO_MAX;
	if (is_order && b->expr->n == 0)
		x = as_real(b, x); /* of nothing: NaN */
	if (b->status)
		return -1;
	const struct nb_expr_instr *arg = instr_at(b, x);
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_CONST, arg->kind, at);
	if (what == NB_DO_COUNT)
		instr.kind = NB_EXPR_WHOLE;
	else
		instr.units = arg->units;
	instr.of = instr.kind;
	instr.is_unsigned = what == NB_DO_COUNT || arg->is_unsigned;
	b->status = nb_expr_reduce(
		b->expr, what == NB_DO_MEAN ? NB_DO_SUM : what, x, &instr.value, &instr.given, b->error);
	const int total = nb_expr_emit(b, &instr);
	if (what != NB_DO_MEAN || total < 0)
		return total;
	return nb_expr_arithmetic(b, NB_DO_DIV, total, nb_expr_whole_constant(b, (nb_whole)b->expr->n, at), at);
}

int nb_expr_apply(struct nb_expr_binder *b, int what, int x, int y, int z, size_t at)
{
	switch ((enum nb_apply)what) {
	case NB_DO_LT:
	case NB_DO_LE:
	case NB_DO_GT:
	case NB_DO_GE:
	case NB_DO_EQ:
	case NB_DO_NE: return compare(b, what, x, y, at);
	case NB_DO_AND:
	case NB_DO_OR:
		x = as_condition(b, x);
		return apply(b, what, NB_EXPR_CONDITION, NB_EXPR_CONDITION, x, as_condition(b, y), at);
	case NB_DO_NOT: return apply(b, what, NB_EXPR_CONDITION, NB_EXPR_CONDITION, as_condition(b, x), -1, at);
	case NB_DO_IF: return choose(b, x, y, z, at);
	case NB_DO_POW: return power(b, x, y, at);
	case NB_DO_SUM:
	case NB_DO_MEAN:
	case NB_DO_COUNT: return reduce(b, what, x, at);
	case NB_DO_MIN:
	case NB_DO_MAX: return y < 0 ? reduce(b, what, x, at) : nb_expr_arithmetic(b, what, x, y, at);
	case NB_DO_ISNAN:
	case NB_DO_ISFINITE: return apply(b, what, NB_EXPR_CONDITION, NB_EXPR_REAL, as_real(b, x), -1, at);
	case NB_DO_ADD:
	case NB_DO_SUB:
	case NB_DO_MUL:
	case NB_DO_DIV:
	case NB_DO_MOD:
	case NB_DO_NEG:
	case NB_DO_ABS:
	case NB_DO_SIGN: return nb_expr_arithmetic(b, what, x, y, at);
	case NB_DO_FLOOR:
	case NB_DO_CEIL:
	case NB_DO_ROUND:
		x = as_number(b, x);
		if (!b->status && instr_at(b, x)->kind == NB_EXPR_WHOLE)
			return x;
		return apply(b, what, NB_EXPR_REAL, NB_EXPR_REAL, x, -1, at);
	default: {
		const int two = y >= 0;
		x = as_real(b, x);
		return apply(b, what, NB_EXPR_REAL, NB_EXPR_REAL, x, two ? as_real(b, y) : -1, at);
	}
	}
}
