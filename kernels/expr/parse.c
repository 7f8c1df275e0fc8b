/* Text to a tree, by recursive descent; operators of one level in a loop, so that only parentheses, functions, powers,
 * signs and ?: nest, NB_EXPR_DEPTH of them at most. */
#include "kernels/expr/expr_internal.h"

#include "common/decimal.h"
#include "common/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *text;
	const char *at;
	struct nb_expr_tree *tree;
	struct nb_expr_error *error;
	int status; /* of the first failure */
	int depth;
};

static int fail_at(struct parser *p, const char *at, const char *what)
{
	if (!p->status)
		p->status = nb_expr_fail(p->error, (size_t)(at - p->text), "%s", what);
	return -1;
}

static int too_deep(struct parser *p)
{
	return fail_at(p, p->at, "the expression is nested too deeply");
}

static int no_memory(struct parser *p)
{
	if (!p->status)
		p->status = nb_expr_no_memory(p->error);
	return -1;
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char skip(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
		p->at++;
	return *p->at;
}

/* ---- nodes -------------------------------------------------------------------------------------- */

/* A node, or -1. */
static int add_node(struct parser *p, struct nb_expr_node node)
{
	struct nb_expr_tree *tree = p->tree;
	if (p->status)
		return -1;
	if (tree->nnode == NB_EXPR_NODES)
		return fail_at(p, p->text + node.at, "the expression is too long");
	if (tree->nnode == tree->room) {
		const int room = tree->room ? 2 * tree->room : 16;
		struct nb_expr_node *grown = realloc(tree->node, (size_t)room * sizeof *grown);
		if (!grown)
			return no_memory(p);
		tree->node = grown;
		tree->room = room;
	}
	tree->node[tree->nnode] = node;
	return tree->nnode++;
}

static int apply(struct parser *p, enum nb_apply what, const char *at, int a, int b, int c)
{
	return add_node(
		p, (struct nb_expr_node){
			   .kind = NB_NODE_APPLY, .what = what, .arg = {a, b, c}, .at = (size_t)(at - p->text)});
}

/* Keeps a name or text: where, or SIZE_MAX. */
static size_t keep(struct parser *p, const char *prefix, const char *text, size_t length)
{
	struct nb_expr_tree *tree = p->tree;
	const size_t before = strlen(prefix), need = tree->names_used + before + length + 1;
	if (need > tree->names_room) {
		char *grown = realloc(tree->names, 2 * need);
		if (!grown) {
			(void)no_memory(p);
			return SIZE_MAX;
		}
		tree->names = grown;
		tree->names_room = 2 * need;
	}
	const size_t where = tree->names_used;
	memcpy(tree->names + where, prefix, before);
	memcpy(tree->names + where + before, text, length);
	tree->names[need - 1] = '\0';
	tree->names_used = need;
	return where;
}

/* ---- names -------------------------------------------------------------------------------------- */

/* A name without @: letters and digits, or anything in braces.  *from and the length, or -1. */
static int take_name(struct parser *p, const char **from, size_t *length)
{
	const char *begin = p->at;
	if (*begin == '{') {
		const char *end = strchr(begin, '}');
		if (!end)
			return fail_at(p, begin + strlen(begin), "expected '}'");
		*from = begin + 1;
		*length = (size_t)(end - begin) - 1;
		p->at = end + 1;
	} else {
		while (is_letter(*p->at) || is_digit(*p->at))
			p->at++;
		*from = begin;
		*length = (size_t)(p->at - begin);
	}
	if (*length == 0)
		return fail_at(p, begin, "expected a name");
	if (*length >= NB_EXPR_NAME)
		return fail_at(p, begin, "the name is too long");
	return 0;
}

/* Whether the text goes on with this symbol or word, and not with a longer word. */
static int has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);
	return strncmp(text, word, n) == 0 && !(is_letter(word[n - 1]) && (is_letter(text[n]) || is_digit(text[n])));
}

/* [2] or .z behind a name: the number, -1 if there is none, -2 after a failure. */
static int take_component(struct parser *p)
{
	const char *begin = p->at;
	if (*begin == '.') {
		if (!has_word(begin, ".x") && !has_word(begin, ".y") && !has_word(begin, ".z"))
			return fail_at(p, begin, "expected .x, .y or .z, or pos[0],") - 1;
		p->at += 2;
		return begin[1] - 'x';
	}
	if (skip(p) != '[') {
		p->at = begin;
		return -1;
	}
	p->at++;
	skip(p);
	const char *digits = p->at;
	int number = 0;
	for (; is_digit(*p->at); p->at++)
		number = number < 100000 ? 10 * number + (*p->at - '0') : number;
	if (p->at == digits)
		return fail_at(p, digits, "expected the number of a component, such as pos[0],") - 1;
	if (skip(p) != ']')
		return fail_at(p, p->at, "expected ']'") - 1;
	p->at++;
	return number;
}

static int take_value_of_name(struct parser *p)
{
	struct nb_expr_node node = {.kind = NB_NODE_NAME, .what = -1, .arg = {-1, -1, -1}};
	const int is_attribute = *p->at == '@';
	const char *name;
	size_t length;
	node.at = (size_t)(p->at - p->text);
	p->at += is_attribute;
	if (take_name(p, &name, &length))
		return -1;
	if (!is_attribute && (node.what = take_component(p)) < -1)
		return -1;
	node.text = keep(p, is_attribute ? "@" : "", name, length);
	return node.text == SIZE_MAX ? -1 : add_node(p, node);
}

/* ---- functions ---------------------------------------------------------------------------------- */

static const struct function {
	enum nb_apply what;
	const char *name;
	int least, most;
} functions[] = {
#define NB_OPERATOR(id, symbol)
#define NB_FUNCTION(id, name, least, most) {NB_DO_##id, name, least, most},
#include "kernels/expr/function.def"
#undef NB_OPERATOR
#undef NB_FUNCTION
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int unknown_function(struct parser *p, const char *name, size_t length)
{
	char text[NB_EXPR_MESSAGE];
	struct nb_nearest nearest = nb_nearest_to(name, length);
	for (size_t k = 0; k < FUNCTIONS; k++)
		nb_nearest_offer(&nearest, functions[k].name, strlen(functions[k].name));
	size_t used = (size_t)snprintf(text, sizeof text,
		"no function '%.*s' (%sthere are:", (int)(length < NB_EXPR_NAME ? length : NB_EXPR_NAME - 1), name,
		nearest.hint);
	for (size_t k = 0; k < FUNCTIONS && used < sizeof text; k++)
		used += (size_t)snprintf(
			text + used, sizeof text - used, " %s%s", functions[k].name, k + 1 == FUNCTIONS ? ")" : "");
	return fail_at(p, name, text);
}

static int take_expression(struct parser *p);

static int take_call(struct parser *p, const char *name, size_t length)
{
	const struct function *f = functions;
	int arg[16], n = 0;
	while (f < functions + FUNCTIONS && (strncmp(f->name, name, length) != 0 || f->name[length]))
		f++;
	if (f == functions + FUNCTIONS)
		return unknown_function(p, name, length);
	p->at++;
	if (skip(p) != ')')
		for (;;) {
			if (n == f->most)
				return fail_at(p, p->at, n == 0 ? "expected ')'" : "too many operands");
			if ((arg[n++] = take_expression(p)) < 0)
				return -1;
			if (skip(p) != ',')
				break;
			p->at++;
		}
	if (*p->at != ')')
		return fail_at(p, p->at, n < f->most ? "expected ',' or ')'" : "expected ')'");
	if (n < f->least) {
		char text[80];
		snprintf(text, sizeof text, "%s() wants %d operand%s: expected more", f->name, f->least,
			f->least > 1 ? "s" : "");
		return fail_at(p, p->at, text);
	}
	p->at++;
	p->tree->nrandom += f->what == NB_DO_RANDOM || f->what == NB_DO_NORMAL;
	int result = n > 2 ? arg[0] : -1;
	for (int k = 1; n > 2 && k < n; k++)
		result = apply(p, f->what, name, result, arg[k], -1);
	return n > 2 ? result : apply(p, f->what, name, n > 0 ? arg[0] : -1, n > 1 ? arg[1] : -1, -1);
}

/* ---- operands ----------------------------------------------------------------------------------- */

static int take_number(struct parser *p)
{
	const nb_whole most = (nb_whole)(~(unsigned __int128)0 >> 1);
	struct nb_expr_node node = {.kind = NB_NODE_WHOLE, .arg = {-1, -1, -1}, .at = (size_t)(p->at - p->text)};
	const char *end = nb_decimal_read(p->at, &node.real), *digit = p->at;
	if (!end)
		return fail_at(p, p->at, "expected a number");
	for (; is_digit(*digit); digit++) {
		if (node.whole > (most - (*digit - '0')) / 10)
			node.kind = NB_NODE_REAL;
		else
			node.whole = 10 * node.whole + (*digit - '0');
	}
	if (digit != end)
		node.kind = NB_NODE_REAL;
	p->at = end;
	return add_node(p, node);
}

static int take_text(struct parser *p)
{
	const char quote = *p->at, *end = strchr(p->at + 1, quote);
	if (!end)
		return fail_at(p, p->at, "no closing quote of the text");
	struct nb_expr_node node = {.kind = NB_NODE_TEXT, .arg = {-1, -1, -1}, .at = (size_t)(p->at - p->text)};
	node.length = (size_t)(end - p->at) - 1;
	node.text = keep(p, "", p->at + 1, node.length);
	p->at = end + 1;
	return node.text == SIZE_MAX ? -1 : add_node(p, node);
}

static int take_operand(struct parser *p)
{
	const char c = skip(p), *begin = p->at;
	if (c == '(') {
		p->at++;
		const int inner = take_expression(p);
		if (inner < 0)
			return -1;
		if (skip(p) != ')')
			return fail_at(p, p->at, "expected ')'");
		p->at++;
		return inner;
	}
	if (is_digit(c) || c == '.')
		return take_number(p);
	if (c == '"' || c == '\'')
		return take_text(p);
	if (c == '@' || c == '{')
		return take_value_of_name(p);
	if (is_letter(c)) {
		const char *end = begin;
		while (is_letter(*end) || is_digit(*end))
			end++;
		p->at = end;
		if (skip(p) == '(')
			return take_call(p, begin, (size_t)(end - begin));
		p->at = begin;
		return take_value_of_name(p);
	}
	return fail_at(p, p->at, "expected a number, a name or '('");
}

/* -a^b is -(a^b), and a^-b a^(-b). */
static int take_signed(struct parser *p)
{
	const char c = skip(p), *begin = p->at;
	if (++p->depth > NB_EXPR_DEPTH)
		return too_deep(p);
	int result;
	if (c == '-' || c == '+' || c == '!') {
		p->at++;
		result = take_signed(p);
		if (result >= 0 && c != '+')
			result = apply(p, c == '-' ? NB_DO_NEG : NB_DO_NOT, begin, result, -1, -1);
	} else {
		result = take_operand(p);
		if (result >= 0 && (skip(p) == '^' || has_word(p->at, "**"))) {
			const char *at = p->at;
			p->at += *at == '^' ? 1 : 2;
			const int power = take_signed(p);
			result = power < 0 ? -1 : apply(p, NB_DO_POW, at, result, power, -1);
		}
	}
	p->depth--;
	return result;
}

/* ---- operators ---------------------------------------------------------------------------------- */

enum { LEVEL_OR, LEVEL_AND, LEVEL_COMPARE, LEVEL_SUM, LEVEL_PRODUCT, LEVELS };

static const struct operator
{
	const char *symbol;
	int level;
	enum nb_apply what;
}
operators[] = {
	{"||", LEVEL_OR, NB_DO_OR},
	{"&&", LEVEL_AND, NB_DO_AND},
	{"or", LEVEL_OR, NB_DO_OR},
	{"and", LEVEL_AND, NB_DO_AND},
	{"==", LEVEL_COMPARE, NB_DO_EQ},
	{"!=", LEVEL_COMPARE, NB_DO_NE},
	{"<=", LEVEL_COMPARE, NB_DO_LE},
	{">=", LEVEL_COMPARE, NB_DO_GE},
	{"<", LEVEL_COMPARE, NB_DO_LT},
	{">", LEVEL_COMPARE, NB_DO_GT},
	{"+", LEVEL_SUM, NB_DO_ADD},
	{"-", LEVEL_SUM, NB_DO_SUB},
	{"*", LEVEL_PRODUCT, NB_DO_MUL},
	{"/", LEVEL_PRODUCT, NB_DO_DIV},
	{"%", LEVEL_PRODUCT, NB_DO_MOD},
};

/* The operator of that level that comes next, or NULL. */
static const struct operator* next_operator(struct parser *p, int level)
{
	skip(p);
	for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
		if (has_word(p->at, operators[k].symbol))
			return operators[k].level == level ? &operators[k] : NULL;
	return NULL;
}

static int take_level(struct parser *p, int level)
{
	if (level == LEVELS)
		return take_signed(p);
	if (level == LEVEL_COMPARE && skip(p) == 'n' && has_word(p->at, "not")) {
		const char *at = p->at;
		if (++p->depth > NB_EXPR_DEPTH)
			return too_deep(p);
		p->at += strlen("not");
		const int condition = take_level(p, level);
		p->depth--;
		return condition < 0 ? -1 : apply(p, NB_DO_NOT, at, condition, -1, -1);
	}
	int left = take_level(p, level + 1), compared = 0;
	const struct operator* op;
	while (left >= 0 && (op = next_operator(p, level)) != NULL) {
		const char *at = p->at;
		if (level == LEVEL_COMPARE && compared++)
			return fail_at(p, at, "comparisons are not chained (a < b && b < c)");
		p->at += strlen(op->symbol);
		const int right = take_level(p, level + 1);
		if (right < 0)
			return -1;
		left = apply(p, op->what, at, left, right, -1);
	}
	return left;
}

static int take_expression(struct parser *p)
{
	if (++p->depth > NB_EXPR_DEPTH)
		return too_deep(p);
	int result = take_level(p, LEVEL_OR);
	if (result >= 0 && skip(p) == '?') {
		const char *at = p->at++;
		const int yes = take_expression(p);
		if (yes < 0)
			return -1;
		if (skip(p) != ':')
			return fail_at(p, p->at, "expected ':'");
		p->at++;
		const int no = take_expression(p);
		result = no < 0 ? -1 : apply(p, NB_DO_IF, at, result, yes, no);
	}
	p->depth--;
	return result;
}

/* What is there where an operator, or nothing, should be. */
static int stray(struct parser *p)
{
	switch (*p->at) {
	case '=': return fail_at(p, p->at, "a comparison is written ==: unexpected '='");
	case '&': return fail_at(p, p->at, "'and' is written 'and' or &&: unexpected '&'");
	case '|': return fail_at(p, p->at, "'or' is written 'or' or ||: unexpected '|'");
	case ';': return fail_at(p, p->at, "only assignments of nb-calc are divided by ';': unexpected ';'");
	case ')': return fail_at(p, p->at, "unexpected ')'");
	default: return fail_at(p, p->at, "expected an operator");
	}
}

/* ---- assignments -------------------------------------------------------------------------------- */

/* [2] or [UNIT] behind the name. */
static int take_bracket(struct parser *p, struct nb_expr_target *target)
{
	if (*p->at == '.' && !target->is_attribute)
		return (target->component = take_component(p)) < 0 ? -1 : take_bracket(p, target);
	if (skip(p) != '[')
		return 0;
	const char *begin = p->at + 1, *end = strchr(begin, ']');
	if (!end)
		return fail_at(p, begin + strlen(begin), "expected ']'");
	const size_t length = (size_t)(end - begin);
	if (length > 0 && strspn(begin, "0123456789 ") == length && strcspn(begin, "0123456789") < length &&
		target->component < 0 && !target->is_attribute) {
		target->component = take_component(p);
		return target->component < 0 ? -1 : take_bracket(p, target);
	}
	if (length >= sizeof target->unit)
		return fail_at(p, begin, "the unit is too long");
	if (target->is_attribute)
		return fail_at(p, begin, "an attribute has no unit");
	for (const char *c = begin; c < end; c++)
		if (*c < ' ' || *c > '~')
			return fail_at(p, c, "a unit is plain ASCII");
	target->has_unit = 1;
	memcpy(target->unit, begin, length);
	target->unit[length] = '\0';
	p->at = end + 1;
	return 0;
}

/* The target and its operator: '=', or that of an assignment such as +=; 0 after a failure. */
static char take_target(struct parser *p, struct nb_expr_target *target)
{
	const char *name;
	size_t length;
	*target = (struct nb_expr_target){.component = -1};
	skip(p);
	target->is_attribute = *p->at == '@';
	p->at += target->is_attribute;
	if (!is_letter(*p->at) && *p->at != '{')
		return (char)(fail_at(p, p->at, "expected NAME = EXPRESSION: a name") + 1);
	if (take_name(p, &name, &length))
		return 0;
	memcpy(target->name, name, length);
	target->name[length] = '\0';
	if (take_bracket(p, target))
		return 0;
	const char op = skip(p);
	const int is_short = op != '\0' && strchr("+-*/%^", op) != NULL;
	if (is_short && p->at[1] == '=')
		p->at += 2;
	else if (op == '=' && p->at[1] != '=')
		p->at++;
	else
		return (char)(fail_at(p, p->at, "expected NAME = EXPRESSION: '='") + 1);
	return op;
}

static enum nb_apply operator_of(char symbol)
{
	if (symbol == '^')
		return NB_DO_POW;
	size_t k = 0;
	while (operators[k].symbol[0] != symbol)
		k++;
	return operators[k].what;
}

/* NAME of NAME += ... as an operand; -1 after a failure. */
static int operand_of_target(struct parser *p, const struct nb_expr_target *target)
{
	struct nb_expr_node node = {.kind = NB_NODE_NAME, .what = target->component, .arg = {-1, -1, -1}};
	node.text = keep(p, target->is_attribute ? "@" : "", target->name, strlen(target->name));
	return node.text == SIZE_MAX ? -1 : add_node(p, node);
}

int nb_expr_tree_parse(
	struct nb_expr_tree *tree, const char *text, struct nb_expr_target *target, struct nb_expr_error *error)
{
	struct parser p = {.text = text, .at = text, .tree = tree, .error = error};
	char op = '=';
	int left = -1;
	const char *at = text;
	memset(tree, 0, sizeof *tree);
	if (target) {
		op = take_target(&p, target);
		at = p.at;
		if (op && op != '=')
			left = operand_of_target(&p, target);
	}
	if (!p.status) {
		const int root = take_expression(&p);
		if (root >= 0 && skip(&p))
			(void)stray(&p);
		if (left >= 0 && !p.status)
			(void)apply(&p, operator_of(op), at, left, root, -1);
	}
	if (p.status)
		nb_expr_tree_clear(tree);
	return p.status;
}

void nb_expr_tree_clear(struct nb_expr_tree *tree)
{
	free(tree->node);
	free(tree->names);
	memset(tree, 0, sizeof *tree);
}

int nb_expr_fail(struct nb_expr_error *error, size_t at, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	error->row = SIZE_MAX;
	vsnprintf(error->text, sizeof error->text, format, list);
	va_end(list);
	const size_t used = strlen(error->text);
	if (at != SIZE_MAX)
		snprintf(error->text + used, sizeof error->text - used, " at character %zu", at + 1);
	return NB_EINVAL;
}

int nb_expr_no_memory(struct nb_expr_error *error)
{
	(void)nb_expr_fail(error, SIZE_MAX, "out of memory");
	return NB_ENOMEM;
}
