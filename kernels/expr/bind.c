/* A tree to instructions: names get their meaning, numbers their type, and what is the same for all rows its value. */
#include "kernels/expr/expr_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMULA_DEPTH = 8 };

struct binder {
	struct nb_expr *expr;
	nb_expr_find *find;
	void *context;
	struct nb_expr_error *error;
	int status;
	uint32_t wanted; /* components of the result, 0: any */
	int nrandom;
	int depth; /* of formulas in each other */
};

/* What a node becomes: an instruction for each component. */
struct value {
	uint32_t n; /* 0: failed */
	int of[NB_EXPR_COMPONENTS];
};

static const struct value failed;

static int no_instr(struct binder *b, size_t at, const char *what)
{
	if (!b->status)
		b->status = nb_expr_fail(b->error, at, "%s", what);
	return -1;
}

static const struct nb_expr_instr *instr_at(const struct binder *b, int k)
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

/* The instruction, or one that computes the same; -1 after a failure. */
static int add_instr(struct binder *b, const struct nb_expr_instr *instr)
{
	struct nb_expr *expr = b->expr;
	if (b->status)
		return -1;
	for (int k = 0; k < expr->ninstr; k++)
		if (is_same(&expr->instr[k], instr))
			return k;
	if (expr->ninstr == NB_EXPR_INSTRS)
		return no_instr(b, instr->at, "the expression is too long");
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

static struct nb_expr_instr empty_instr(enum nb_expr_op op, enum nb_expr_kind kind, size_t at)
{
	struct nb_expr_instr instr;
	memset(&instr, 0, sizeof instr); /* padding too, as scalars are compared by their bytes */
	instr.op = op;
	instr.kind = instr.of = kind;
	instr.arg[0] = instr.arg[1] = instr.arg[2] = -1;
	instr.at = at;
	return instr;
}

/* The instruction, computed now if its operands are constants. */
static int emit(struct binder *b, struct nb_expr_instr *instr)
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
	return add_instr(b, instr);
}

static int whole_constant(struct binder *b, nb_whole value, size_t at)
{
	struct nb_expr_instr instr = empty_instr(NB_OP_CONST, NB_EXPR_WHOLE, at);
	instr.value.whole = value;
	instr.is_unsigned = value >= 0;
	return emit(b, &instr);
}

static int real_constant(struct binder *b, double value, size_t at)
{
	struct nb_expr_instr instr = empty_instr(NB_OP_CONST, NB_EXPR_REAL, at);
	instr.value.real = value;
	instr.given = !isfinite(value);
	return emit(b, &instr);
}

static int convert(struct binder *b, int k, enum nb_expr_op op, enum nb_expr_kind kind)
{
	if (k < 0)
		return -1;
	const struct nb_expr_instr *from = instr_at(b, k);
	struct nb_expr_instr instr = empty_instr(op, kind, from->at);
	instr.of = from->kind;
	instr.arg[0] = k;
	instr.units = from->units;
	instr.is_unsigned = kind == NB_EXPR_WHOLE;
	return emit(b, &instr);
}

/* ---- kinds -------------------------------------------------------------------------------------- */

/* A number: what is a condition is 1 or 0. */
static int as_number(struct binder *b, int k)
{
	if (k < 0 || b->status)
		return -1;
	const struct nb_expr_instr *instr = instr_at(b, k);
	if (instr->kind == NB_EXPR_TEXT)
		return no_instr(b, instr->at, "expected a number, not a text,");
	return instr->kind == NB_EXPR_CONDITION ? convert(b, k, NB_OP_TO_WHOLE, NB_EXPR_WHOLE) : k;
}

static int as_real(struct binder *b, int k)
{
	k = as_number(b, k);
	return k >= 0 && instr_at(b, k)->kind == NB_EXPR_WHOLE ? convert(b, k, NB_OP_TO_REAL, NB_EXPR_REAL) : k;
}

static int as_condition(struct binder *b, int k)
{
	if (k < 0 || b->status)
		return -1;
	if (instr_at(b, k)->kind != NB_EXPR_CONDITION)
		return no_instr(b, instr_at(b, k)->at, "expected a condition, such as r < 2,");
	return k;
}

/* ---- units -------------------------------------------------------------------------------------- */

static void doubt(struct binder *b, size_t at, const struct nb_expr_units *x, const struct nb_expr_units *y)
{
	char a[NB_EXPR_UNIT], c[NB_EXPR_UNIT];
	if (*b->expr->doubt)
		return;
	nb_units_text(x, a, sizeof a);
	nb_units_text(y, c, sizeof c);
	snprintf(b->expr->doubt, sizeof b->expr->doubt, "'%s' and '%s' at character %zu", a, c, at + 1);
}

/* Of a sum: both agree, or one is a pure number, which may be one that nobody has given a unit. */
static struct nb_expr_units common_units(struct binder *b, int x, int y, size_t at)
{
	const struct nb_expr_units *u = &instr_at(b, x)->units, *v = &instr_at(b, y)->units;
	if (u->unknown || v->unknown || nb_units_equal(u, v) || v->n == 0)
		return v->unknown ? *v : *u;
	if (u->n == 0)
		return *v;
	doubt(b, at, u, v);
	return (struct nb_expr_units){.unknown = 1};
}

static struct nb_expr_units power_units(const struct binder *b, int x, int y)
{
	const struct nb_expr_units none = {0}, *u = &instr_at(b, x)->units;
	const struct nb_expr_instr *power = instr_at(b, y);
	if (u->n == 0)
		return *u;
	if (power->op != NB_OP_CONST || !(fabs(power->value.real) < 100))
		return (struct nb_expr_units){.unknown = 1};
	return nb_units_product(u, power->value.real, &none, 0);
}

static struct nb_expr_units units_of(struct binder *b, const struct nb_expr_instr *instr)
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

static int apply(struct binder *b, int what, enum nb_expr_kind kind, enum nb_expr_kind of, int x, int y, size_t at)
{
	if (x < 0 || b->status)
		return -1;
	struct nb_expr_instr instr = empty_instr(NB_OP_APPLY, kind, at);
	instr.what = what;
	instr.of = of;
	instr.arg[0] = x;
	instr.arg[1] = y;
	const int both = instr_at(b, x)->is_unsigned && (y < 0 || instr_at(b, y)->is_unsigned);
	instr.is_unsigned = kind == NB_EXPR_WHOLE &&
			    ((both && what != NB_DO_SUB && what != NB_DO_NEG) || what == NB_DO_ABS);
	if (kind != NB_EXPR_CONDITION)
		instr.units = units_of(b, &instr);
	return emit(b, &instr);
}

/* Whole if all operands are; a quotient and a power never. */
static int arithmetic(struct binder *b, int what, int x, int y, size_t at)
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
static int power(struct binder *b, int x, int y, size_t at)
{
	y = as_real(b, y);
	x = as_real(b, x);
	if (b->status)
		return -1;
	const struct nb_expr_instr *p = instr_at(b, y);
	if (p->op != NB_OP_CONST || (p->value.real != 2 && p->value.real != 3))
		return arithmetic(b, NB_DO_POW, x, y, at);
	const int cube = p->value.real == 3;
	const int square = arithmetic(b, NB_DO_MUL, x, x, at);
	return cube ? arithmetic(b, NB_DO_MUL, square, x, at) : square;
}

static int compare_texts(struct binder *b, int what, int x, int y, size_t at)
{
	if (instr_at(b, x)->kind != instr_at(b, y)->kind)
		return no_instr(b, at, "a text is compared with a number");
	if (what != NB_DO_EQ && what != NB_DO_NE)
		return no_instr(b, at, "texts are compared by == and != only:");
	return apply(b, what, NB_EXPR_CONDITION, NB_EXPR_TEXT, x, y, at);
}

static int compare(struct binder *b, int what, int x, int y, size_t at)
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
	struct nb_expr_instr instr = empty_instr(NB_OP_COMPARE_MIXED, NB_EXPR_CONDITION, at);
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
	return emit(b, &instr);
}

static int choose(struct binder *b, int condition, int yes, int no, size_t at)
{
	condition = as_condition(b, condition);
	if (b->status)
		return -1;
	struct nb_expr_instr instr = empty_instr(NB_OP_SELECT, instr_at(b, yes)->kind, at);
	if (instr_at(b, yes)->kind == NB_EXPR_TEXT || instr_at(b, no)->kind == NB_EXPR_TEXT)
		return no_instr(b, at, "a text cannot be chosen by ?:");
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
	return emit(b, &instr);
}

/* Over all rows. */
static int reduce(struct binder *b, int what, int x, size_t at)
{
	x = what == NB_DO_COUNT ? as_condition(b, x) : as_number(b, x);
	const int is_order = what == NB_DO_MIN || what == NB_DO_MAX;
	if (is_order && b->expr->n == 0)
		x = as_real(b, x); /* of nothing: NaN */
	if (b->status)
		return -1;
	const struct nb_expr_instr *arg = instr_at(b, x);
	struct nb_expr_instr instr = empty_instr(NB_OP_CONST, arg->kind, at);
	if (what == NB_DO_COUNT)
		instr.kind = NB_EXPR_WHOLE;
	else
		instr.units = arg->units;
	instr.of = instr.kind;
	instr.is_unsigned = what == NB_DO_COUNT || arg->is_unsigned;
	b->status = nb_expr_reduce(
		b->expr, what == NB_DO_MEAN ? NB_DO_SUM : what, x, &instr.value, &instr.given, b->error);
	const int total = emit(b, &instr);
	if (what != NB_DO_MEAN || total < 0)
		return total;
	return arithmetic(b, NB_DO_DIV, total, whole_constant(b, (nb_whole)b->expr->n, at), at);
}

static int one_component(struct binder *b, int what, int x, int y, int z, size_t at)
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
	case NB_DO_MAX: return y < 0 ? reduce(b, what, x, at) : arithmetic(b, what, x, y, at);
	case NB_DO_ISNAN:
	case NB_DO_ISFINITE: return apply(b, what, NB_EXPR_CONDITION, NB_EXPR_REAL, as_real(b, x), -1, at);
	case NB_DO_ADD:
	case NB_DO_SUB:
	case NB_DO_MUL:
	case NB_DO_DIV:
	case NB_DO_MOD:
	case NB_DO_NEG:
	case NB_DO_ABS:
	case NB_DO_SIGN: return arithmetic(b, what, x, y, at);
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

/* ---- names -------------------------------------------------------------------------------------- */

static enum nb_expr_kind kind_of_item(enum nb_expr_item item)
{
	if (item == NB_ITEM_TEXT)
		return NB_EXPR_TEXT;
	return item <= NB_ITEM_F32 ? NB_EXPR_REAL : NB_EXPR_WHOLE;
}

/* Component k of what a name stands for. */
static int load(struct binder *b, const struct nb_expr_value *value, uint32_t k, size_t at)
{
	static const size_t size[] = {8, 4, 8, 4, 2, 1, 8, 4, 2, 1};
	struct nb_expr_instr instr = empty_instr(NB_OP_LOAD, kind_of_item(value->item), at);
	const size_t width = value->item == NB_ITEM_TEXT ? value->width : size[value->item];
	instr.item = value->item;
	instr.data = value->data ? (const char *)value->data + k * width : NULL;
	instr.stride = value->stride;
	instr.width = value->width;
	instr.is_unsigned = value->item >= NB_ITEM_U64 && value->item <= NB_ITEM_U8;
	instr.units = nb_units_parse(value->unit ? value->unit : "");
	if (value->stride > 0)
		return emit(b, &instr);
	if (instr.kind != NB_EXPR_TEXT) {
		b->status = nb_expr_fold(b->expr, &instr, b->error);
		instr.given = instr.kind == NB_EXPR_REAL && !isfinite(instr.value.real);
	}
	instr.op = NB_OP_CONST;
	return emit(b, &instr);
}

static struct value bind_tree(struct binder *b, const struct nb_expr_tree *tree, size_t at);

/* A formula has the place of the name that stands for it. */
static struct value bind_formula(struct binder *b, const char *name, const char *formula, size_t at)
{
	struct nb_expr_tree tree;
	struct nb_expr_error inner;
	if (b->depth == FORMULA_DEPTH) {
		no_instr(b, at, "formulas stand for each other");
		return failed;
	}
	const int status = nb_expr_tree_parse(&tree, formula, NULL, &inner);
	if (status == NB_ENOMEM) {
		b->status = nb_expr_no_memory(b->error);
		return failed;
	}
	if (status) {
		b->status = nb_expr_fail(b->error, at, "'%s' is %.200s:", name, inner.text);
		return failed;
	}
	b->depth++;
	const struct value value = bind_tree(b, &tree, at);
	b->depth--;
	nb_expr_tree_clear(&tree);
	return value;
}

static struct value bind_name(struct binder *b, const char *name, int component, size_t at)
{
	struct nb_expr_value found = {.ncomp = 1, .unit = ""};
	struct value value = {1, {-1}};
	char why[NB_EXPR_MESSAGE] = "";
	if (!b->find(b->context, name, b->depth > 0, &found, why)) {
		b->status = nb_expr_fail(b->error, SIZE_MAX, "%s", why);
		return failed;
	}
	if (found.formula && component < 0)
		return bind_formula(b, name, found.formula, at);
	if (component >= 0 && (found.formula || (uint32_t)component >= found.ncomp)) {
		b->status = nb_expr_fail(b->error, at, "no component %d of '%s', which has %u,", component, name,
			found.formula ? 1 : found.ncomp);
		return failed;
	}
	if (found.is_row) {
		struct nb_expr_instr row = empty_instr(NB_OP_ROW, NB_EXPR_WHOLE, at);
		row.is_unsigned = 1;
		value.of[0] = add_instr(b, &row);
		return value;
	}
	if (component >= 0) {
		value.of[0] = load(b, &found, (uint32_t)component, at);
		return value;
	}
	if (found.ncomp > NB_EXPR_COMPONENTS) {
		b->status = nb_expr_fail(
			b->error, at, "'%s' has %u components (name one, such as %s[0]),", name, found.ncomp, name);
		return failed;
	}
	value.n = found.ncomp;
	for (uint32_t k = 0; k < value.n; k++)
		value.of[k] = load(b, &found, k, at);
	return value;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static int component_of(const struct value *value, uint32_t k)
{
	return value->n == 0 ? -1 : value->of[value->n > 1 ? k : 0];
}

/* Another number for each row, each call and each component of the result, of the id that the body has. */
static struct value bind_random(struct binder *b, int what, size_t at)
{
	struct nb_expr_value found = {.ncomp = 1, .unit = ""};
	struct value value = {b->wanted ? b->wanted : 1, {-1}};
	char why[NB_EXPR_MESSAGE];
	const int has_id = b->find(b->context, "id", 0, &found, why) && !found.formula && !found.is_row &&
			   found.stride > 0 && found.ncomp == 1 && kind_of_item(found.item) == NB_EXPR_WHOLE;
	struct nb_expr_instr row = empty_instr(NB_OP_ROW, NB_EXPR_WHOLE, at);
	const int counter = has_id ? load(b, &found, 0, at) : add_instr(b, &row);
	const uint64_t call = (uint64_t)++b->nrandom;
	for (uint32_t k = 0; k < value.n; k++) {
		struct nb_expr_instr instr = empty_instr(NB_OP_APPLY, NB_EXPR_REAL, at);
		instr.what = what;
		instr.of = NB_EXPR_WHOLE;
		instr.arg[0] = counter;
		instr.stream = b->expr->seed * 0x9E3779B97F4A7C15u + (call << 8) + k;
		value.of[k] = counter < 0 ? -1 : emit(b, &instr);
	}
	return value;
}

static struct value bind_dot(struct binder *b, int what, const struct value *x, const struct value *y, size_t at)
{
	struct value value = {1, {-1}};
	const uint32_t n = x->n > y->n ? x->n : y->n;
	int sum = -1;
	for (uint32_t k = 0; k < n && !b->status; k++) {
		const int product = arithmetic(b, NB_DO_MUL, component_of(x, k),
			what == NB_DO_NORM ? component_of(x, k) : component_of(y, k), at);
		sum = k == 0 ? product : arithmetic(b, NB_DO_ADD, sum, product, at);
	}
	value.of[0] = what == NB_DO_NORM ? one_component(b, NB_DO_SQRT, sum, -1, -1, at) : sum;
	return value;
}

static struct value bind_apply(struct binder *b, const struct nb_expr_node *node, const struct value *all, size_t at)
{
	const struct value none = {0}, *arg[3];
	struct value value = {1, {-1}};
	for (int k = 0; k < 3; k++) {
		arg[k] = node->arg[k] >= 0 ? &all[node->arg[k]] : &none;
		if (arg[k]->n > 1 && value.n > 1 && arg[k]->n != value.n) {
			b->status = nb_expr_fail(
				b->error, at, "vectors of %u and of %u components meet", value.n, arg[k]->n);
			return failed;
		}
		value.n = arg[k]->n > value.n ? arg[k]->n : value.n;
	}
	if (node->what == NB_DO_RANDOM || node->what == NB_DO_NORMAL)
		return bind_random(b, node->what, at);
	if (node->what == NB_DO_DOT || node->what == NB_DO_NORM)
		return bind_dot(b, node->what, arg[0], arg[1], at);
	for (uint32_t k = 0; k < value.n && !b->status; k++)
		value.of[k] = one_component(
			b, node->what, component_of(arg[0], k), component_of(arg[1], k), component_of(arg[2], k), at);
	return value;
}

static struct value bind_node(
	struct binder *b, const struct nb_expr_tree *tree, int k, const struct value *all, size_t at)
{
	const struct nb_expr_node *node = &tree->node[k];
	struct value value = {1, {-1}};
	switch (node->kind) {
	case NB_NODE_REAL: value.of[0] = real_constant(b, node->real, at); break;
	case NB_NODE_WHOLE: value.of[0] = whole_constant(b, node->whole, at); break;
	case NB_NODE_NAME: return bind_name(b, tree->names + node->text, node->what, at);
	case NB_NODE_APPLY: return bind_apply(b, node, all, at);
	case NB_NODE_TEXT: {
		if (b->depth > 0) { /* would outlive its tree */
			no_instr(b, at, "a formula with a text");
			break;
		}
		const struct nb_expr_value text = {
			.item = NB_ITEM_TEXT, .data = tree->names + node->text, .width = node->length};
		value.of[0] = load(b, &text, 0, at);
		break;
	}
	}
	return value;
}

/* at: of the name that stands for this formula, SIZE_MAX: none. */
static struct value bind_tree(struct binder *b, const struct nb_expr_tree *tree, size_t at)
{
	struct value *all = calloc((size_t)tree->nnode, sizeof *all);
	struct value root = failed;
	if (!all)
		b->status = nb_expr_no_memory(b->error);
	for (int k = 0; k < tree->nnode && !b->status; k++)
		all[k] = bind_node(b, tree, k, all, at != SIZE_MAX ? at : tree->node[k].at);
	if (!b->status)
		root = all[tree->nnode - 1];
	free(all);
	return b->status ? failed : root;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void unbind(struct nb_expr *expr)
{
	for (uint32_t k = 0; k < expr->ncomp; k++)
		nb_expr_pass_clear(&expr->pass[k]);
	expr->ncomp = 0;
	expr->ninstr = 0;
	expr->unit[0] = expr->doubt[0] = '\0';
}

void nb_expr_free(struct nb_expr *expr)
{
	if (!expr)
		return;
	unbind(expr);
	nb_expr_tree_clear(&expr->tree);
	free(expr->instr);
	free(expr->text);
	free(expr);
}

static int plan(struct binder *b, const struct value *root)
{
	struct nb_expr *expr = b->expr;
	const uint32_t n = b->wanted ? b->wanted : root->n;
	if (root->n > 1 && root->n != n)
		return nb_expr_fail(b->error, SIZE_MAX,
			"the result is a vector of %u components, where %u %s expected (such as x, pos[0] or "
			"norm(pos))",
			root->n, n, n > 1 ? "are" : "is");
	for (uint32_t k = 0; k < n; k++) {
		expr->result[k] = component_of(root, k);
		if (nb_expr_plan(expr, expr->result[k], &expr->pass[k]))
			return nb_expr_no_memory(b->error);
		expr->ncomp = k + 1;
	}
	const struct nb_expr_units *units = &expr->instr[expr->result[0]].units;
	nb_units_text(units, expr->unit, sizeof expr->unit);
	if (units->unknown && !*expr->doubt)
		snprintf(expr->doubt, sizeof expr->doubt, "no unit follows");
	return NB_OK;
}

int nb_expr_bind(
	struct nb_expr *expr, size_t n, uint32_t ncomp, nb_expr_find *find, void *context, struct nb_expr_error *error)
{
	struct binder b = {.expr = expr, .find = find, .context = context, .error = error, .wanted = ncomp};
	unbind(expr);
	expr->n = n;
	error->text[0] = '\0';
	error->row = SIZE_MAX;
	const struct value root = bind_tree(&b, &expr->tree, SIZE_MAX);
	if (!b.status)
		b.status = plan(&b, &root);
	if (b.status)
		unbind(expr);
	return b.status;
}

enum nb_expr_kind nb_expr_kind(const struct nb_expr *expr)
{
	return expr->instr[expr->result[0]].kind;
}

uint32_t nb_expr_ncomp(const struct nb_expr *expr)
{
	return expr->ncomp;
}

int nb_expr_is_uniform(const struct nb_expr *expr)
{
	for (uint32_t k = 0; k < expr->ncomp; k++)
		if (expr->instr[expr->result[k]].op != NB_OP_CONST)
			return 0;
	return 1;
}

int nb_expr_is_unsigned(const struct nb_expr *expr)
{
	for (uint32_t k = 0; k < expr->ncomp; k++)
		if (!expr->instr[expr->result[k]].is_unsigned)
			return 0;
	return 1;
}

const char *nb_expr_unit(const struct nb_expr *expr)
{
	return expr->unit;
}

const char *nb_expr_unit_doubt(const struct nb_expr *expr)
{
	return expr->doubt;
}
