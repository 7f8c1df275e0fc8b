/* A tree to instructions: names get their meaning, numbers their type, and what is the same for all rows its value. */
#include "kernels/expr/bind_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FORMULA_DEPTH = 8 };

/* What a node becomes: an instruction for each component. */
struct value {
	uint32_t n; /* 0: failed */
	int of[NB_EXPR_COMPONENTS];
};

static const struct value failed;

/* ---- names -------------------------------------------------------------------------------------- */

static enum nb_expr_kind kind_of_item(enum nb_expr_item item)
{
	if (item == NB_ITEM_TEXT)
		return NB_EXPR_TEXT;
	return item <= NB_ITEM_F32 ? NB_EXPR_REAL : NB_EXPR_WHOLE;
}

/* Component k of what a name stands for. */
static int load(struct nb_expr_binder *b, const struct nb_expr_value *value, uint32_t k, size_t at)
{
	static const size_t size[] = {8, 4, 8, 4, 2, 1, 8, 4, 2, 1};
	struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_LOAD, kind_of_item(value->item), at);
	const size_t width = value->item == NB_ITEM_TEXT ? value->width : size[value->item];
	instr.item = value->item;
	instr.data = value->data ? (const char *)value->data + k * width : NULL;
	instr.stride = value->stride;
	instr.width = value->width;
	instr.is_unsigned = value->item >= NB_ITEM_U64 && value->item <= NB_ITEM_U8;
	instr.units = nb_units_parse(value->unit ? value->unit : "");
	if (value->stride > 0)
		return nb_expr_emit(b, &instr);
	if (instr.kind != NB_EXPR_TEXT) {
		b->status = nb_expr_fold(b->expr, &instr, b->error);
		instr.given = instr.kind == NB_EXPR_REAL && !isfinite(instr.value.real);
	}
	instr.op = NB_OP_CONST;
	return nb_expr_emit(b, &instr);
}

static struct value bind_tree(struct nb_expr_binder *b, const struct nb_expr_tree *tree, size_t at);

/* A formula has the place of the name that stands for it. */
static struct value bind_formula(struct nb_expr_binder *b, const char *name, const char *formula, size_t at)
{
	struct nb_expr_tree tree;
	struct nb_expr_error inner;
	if (b->depth == FORMULA_DEPTH) {
		nb_expr_no_instr(b, at, "formulas stand for each other");
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

static struct value bind_name(struct nb_expr_binder *b, const char *name, int component, size_t at)
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
		struct nb_expr_instr row = nb_expr_empty_instr(NB_OP_ROW, NB_EXPR_WHOLE, at);
		row.is_unsigned = 1;
		value.of[0] = nb_expr_add_instr(b, &row);
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
static struct value bind_random(struct nb_expr_binder *b, int what, size_t at)
{
	struct nb_expr_value found = {.ncomp = 1, .unit = ""};
	struct value value = {b->wanted ? b->wanted : 1, {-1}};
	char why[NB_EXPR_MESSAGE];
	const int has_id = b->find(b->context, "id", 0, &found, why) && !found.formula && !found.is_row &&
			   found.stride > 0 && found.ncomp == 1 && kind_of_item(found.item) == NB_EXPR_WHOLE;
	struct nb_expr_instr row = nb_expr_empty_instr(NB_OP_ROW, NB_EXPR_WHOLE, at);
	const int counter = has_id ? load(b, &found, 0, at) : nb_expr_add_instr(b, &row);
	const uint64_t call = (uint64_t)++b->nrandom;
	for (uint32_t k = 0; k < value.n; k++) {
		struct nb_expr_instr instr = nb_expr_empty_instr(NB_OP_APPLY, NB_EXPR_REAL, at);
		instr.what = what;
		instr.of = NB_EXPR_WHOLE;
		instr.arg[0] = counter;
		instr.stream = b->expr->seed * 0x9E3779B97F4A7C15u + (call << 8) + k;
		value.of[k] = counter < 0 ? -1 : nb_expr_emit(b, &instr);
	}
	return value;
}

static struct value bind_dot(
	struct nb_expr_binder *b, int what, const struct value *x, const struct value *y, size_t at)
{
	struct value value = {1, {-1}};
	const uint32_t n = x->n > y->n ? x->n : y->n;
	int sum = -1;
	for (uint32_t k = 0; k < n && !b->status; k++) {
		const int product = nb_expr_arithmetic(b, NB_DO_MUL, component_of(x, k),
			what == NB_DO_NORM ? component_of(x, k) : component_of(y, k), at);
		sum = k == 0 ? product : nb_expr_arithmetic(b, NB_DO_ADD, sum, product, at);
	}
	value.of[0] = what == NB_DO_NORM ? nb_expr_apply(b, NB_DO_SQRT, sum, -1, -1, at) : sum;
	return value;
}

static struct value bind_apply(
	struct nb_expr_binder *b, const struct nb_expr_node *node, const struct value *all, size_t at)
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
		value.of[k] = nb_expr_apply(
			b, node->what, component_of(arg[0], k), component_of(arg[1], k), component_of(arg[2], k), at);
	return value;
}

static struct value bind_node(
	struct nb_expr_binder *b, const struct nb_expr_tree *tree, int k, const struct value *all, size_t at)
{
	const struct nb_expr_node *node = &tree->node[k];
	struct value value = {1, {-1}};
	switch (node->kind) {
	case NB_NODE_REAL: value.of[0] = nb_expr_real_constant(b, node->real, at); break;
	case NB_NODE_WHOLE: value.of[0] = nb_expr_whole_constant(b, node->whole, at); break;
	case NB_NODE_NAME: return bind_name(b, tree->names + node->text, node->what, at);
	case NB_NODE_APPLY: return bind_apply(b, node, all, at);
	case NB_NODE_TEXT: {
		if (b->depth > 0) { /* would outlive its tree */
			nb_expr_no_instr(b, at, "a formula with a text");
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
static struct value bind_tree(struct nb_expr_binder *b, const struct nb_expr_tree *tree, size_t at)
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

static int plan(struct nb_expr_binder *b, const struct value *root)
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
	struct nb_expr_binder b = {.expr = expr, .find = find, .context = context, .error = error, .wanted = ncomp};
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
