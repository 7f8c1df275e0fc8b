/* Expressions against values worked out by hand, against plain loops, and for any number of threads. */
#include "kernels/expr/expr.h"
#include "common/cpu.h"
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20011 };

static double pos[3 * N], mass[N], holes[N];
static float weight[N];
static uint64_t id[N];
static uint8_t species[N];
static int16_t level[N];
static char label[8 * N];

static void make_rows(void)
{
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < 3; k++)
			pos[3 * i + k] = sin((double)(7 * i + 3 * k + 1));
		mass[i] = 1.0 / (double)(i + 1);
		holes[i] = i % 10 == 3 ? NAN : (double)i;
		weight[i] = (float)i / 3;
		id[i] = UINT64_MAX - i;
		species[i] = (uint8_t)(i % 5);
		level[i] = (int16_t)((int)(i % 7) - 3);
		snprintf(&label[8 * i], 8, "%s", i % 2 ? "star" : "halo");
	}
	memcpy(label, "12345678", 8); /* fills its width */
}

static const char *loop; /* what the name "loop" stands for */

static int find(void *context, const char *name, int in_formula, struct nb_expr_value *value, char why[NB_EXPR_MESSAGE])
{
	static const double half = 0.5, none = NAN;
	static const struct {
		const char *name;
		struct nb_expr_value value;
	} known[] = {
		{"x", {NULL, 0, NB_ITEM_F64, &pos[0], 24, 1, 8, "length"}},
		{"y", {NULL, 0, NB_ITEM_F64, &pos[1], 24, 1, 8, "length"}},
		{"pos", {NULL, 0, NB_ITEM_F64, pos, 24, 3, 8, "length"}},
		{"mass", {NULL, 0, NB_ITEM_F64, mass, 8, 1, 8, "mass"}},
		{"holes", {NULL, 0, NB_ITEM_F64, holes, 8, 1, 8, ""}},
		{"weight", {NULL, 0, NB_ITEM_F32, weight, 4, 1, 4, ""}},
		{"id", {NULL, 0, NB_ITEM_U64, id, 8, 1, 8, ""}},
		{"species", {NULL, 0, NB_ITEM_U8, species, 1, 1, 1, ""}},
		{"level", {NULL, 0, NB_ITEM_I16, level, 2, 1, 2, ""}},
		{"label", {NULL, 0, NB_ITEM_TEXT, label, 8, 1, 8, ""}},
		{"pair", {NULL, 0, NB_ITEM_F64, mass, 16, 2, 8, ""}},
		{"wide", {NULL, 0, NB_ITEM_F64, mass, 8 * 17, 17, 8, ""}},
		{"half", {NULL, 0, NB_ITEM_F64, &half, 0, 1, 8, ""}},
		{"none", {NULL, 0, NB_ITEM_F64, &none, 0, 1, 8, ""}},
		{"@model", {NULL, 0, NB_ITEM_TEXT, "king", 0, 1, 4, ""}},
		{"row", {NULL, 1, NB_ITEM_F64, NULL, 0, 1, 0, ""}},
		{"x2", {"x*x", 0, NB_ITEM_F64, NULL, 0, 1, 0, ""}},
		{"wrong", {"x*", 0, NB_ITEM_F64, NULL, 0, 1, 0, ""}},
	};
	(void)context;
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (strcmp(name, known[k].name) == 0) {
			*value = known[k].value;
			return 1;
		}
	if (strcmp(name, "within") == 0) {
		*value = (struct nb_expr_value){.item = NB_ITEM_F64, .data = in_formula ? &none : &half, .ncomp = 1};
		return 1;
	}
	if (strcmp(name, "loop") == 0) {
		value->formula = loop;
		return 1;
	}
	snprintf(why, NB_EXPR_MESSAGE, "no column '%s'", name);
	return 0;
}

static struct nb_expr_error error;

/* NULL, and the reason in error, if there is one. */
static struct nb_expr *bound(const char *text, size_t n, uint32_t ncomp)
{
	struct nb_expr *expr;
	if (nb_expr_parse(&expr, text, &error))
		return NULL;
	if (nb_expr_bind(expr, n, ncomp, find, NULL, &error)) {
		nb_expr_free(expr);
		return NULL;
	}
	return expr;
}

/* The value in one row. */
static double at(const char *text, size_t row)
{
	struct nb_expr *expr = bound(text, N, 1);
	double value = -4711;
	if (!expr || nb_expr_values(expr, row, 1, 0, NB_ITEM_F64, &value, 8, &error))
		printf("%s: %s\n", text, error.text);
	nb_expr_free(expr);
	return value;
}

static int holds(const char *text)
{
	struct nb_expr *expr = bound(text, N, 1);
	uint8_t mask = 7;
	if (!expr || nb_expr_mask(expr, 0, 1, &mask, &error))
		printf("%s: %s\n", text, error.text);
	nb_expr_free(expr);
	return mask;
}

static int refused(const char *text, const char *why)
{
	struct nb_expr *expr = bound(text, N, 1);
	uint64_t value;
	int is = !expr && strcmp(error.text, why) == 0;
	if (expr && nb_expr_values(expr, 0, N, 0, NB_ITEM_U64, &value, 0, &error))
		is = strcmp(error.text, why) == 0;
	if (!is)
		printf("'%s': '%s', not '%s'\n", text, expr ? "accepted" : error.text, why);
	nb_expr_free(expr);
	return is;
}

static void precedence(void)
{
	CHECK(at("1 + 2 * 3", 0) == 7 && at("(1 + 2) * 3", 0) == 9);
	CHECK(at("2 ^ 3 ^ 2", 0) == 512 && at("-2 ^ 2", 0) == -4 && at("2 ^ -1", 0) == 0.5);
	CHECK(at("7 - 2 - 1", 0) == 4 && at("8 / 4 / 2", 0) == 1 && at("-7 % 3", 0) == -1);
	CHECK(at("2 * 3 % 4", 0) == 2 && at("5 / 2", 0) == 2.5 && at("--3", 0) == 3 && at("+3", 0) == 3);
	CHECK(at("1 < 2 ? 3 : 4", 0) == 3 && at("1 > 2 ? 3 : 1 > 2 ? 4 : 5", 0) == 5);
	CHECK(holds("1 < 2 || 1 < 2 && 2 < 1") == 1 && holds("(1 < 2 || 1 < 2) && 2 < 1") == 0);
	CHECK(holds("!(1 < 2)") == 0 && holds("1 + 1 == 2") == 1 && holds("1 != 1") == 0);
	CHECK(holds("1 < 2 or 1 < 2 and 2 < 1") == 1 && holds("(1 < 2 or 1 < 2)and(2 < 1)") == 0);
	CHECK(holds("not 2 < 1 and 1 < 2") == 1 && holds("not not 1 < 2") == 1 && holds("not(1 < 2) or 2 < 1") == 0);
	CHECK(at("2 ** 3 ** 2", 0) == 512 && at("-2**2", 0) == -4 && at("2*3**2", 0) == 18);
	CHECK(at("1e3", 0) == 1000 && at(".5", 0) == 0.5 && at("1.5e-3", 0) == 0.0015);
	CHECK(at("(1 < 2) + (2 < 3)", 0) == 2);
}

static void functions(void)
{
	CHECK_NEAR(at("sqrt(2)", 0), sqrt(2), 1e-16);
	CHECK_NEAR(at("exp(1) + log(2) + log10(3)", 0), exp(1) + log(2) + log10(3), 1e-15);
	CHECK_NEAR(at("sin(1) + cos(2) * tan(3)", 0), sin(1) + cos(2) * tan(3), 1e-15);
	CHECK_NEAR(at("asin(0.1) + acos(0.2) * atan(3)", 0), asin(0.1) + acos(0.2) * atan(3), 1e-15);
	CHECK_NEAR(at("atan2(1, -2) + hypot(3, 4)", 0), atan2(1, -2) + 5, 1e-15);
	CHECK(at("floor(-1.5)", 0) == -2 && at("ceil(-1.5)", 0) == -1 && at("round(2.5)", 0) == 3);
	CHECK(at("abs(-3) + abs(-0.5)", 0) == 3.5 && at("sign(-2.5) + 10*sign(3) + sign(0)", 0) == 9);
	CHECK(at("min(3, 1, 2)", 0) == 1 && at("max(3, 1.5, 2)", 0) == 3);
	CHECK(isnan(at("min(1, none)", 0)) && isnan(at("max(none, 1)", 0)) && isnan(at("sign(none)", 0)));
	CHECK(at("2.5 ^ 3", 0) == 2.5 * 2.5 * 2.5 && at("4 ^ 0.5", 0) == 2);
	CHECK(holds("isnan(none)") && !holds("isfinite(none)") && !holds("isfinite(1/0)") && holds("isfinite(1)"));
	CHECK(!holds("none == none") && holds("none != none") && !holds("none < 1") && !holds("none >= 1"));
}

static void whole_numbers_are_exact(void)
{
	CHECK(holds("id == 18446744073709551615") && !holds("id == 18446744073709551614"));
	CHECK(holds("id > 18446744073709551614") && holds("id - 1 == 18446744073709551614"));
	CHECK(holds("id != 18446744073709551616") && holds("id < 18446744073709551616.0"));
	CHECK(holds("18446744073709551616.0 > id") && holds("id < 1e40") && holds("id > -1e40"));
	CHECK(holds("id * 1000 > id") && holds("0 - id < 0") && holds("-id < level") && holds("level == -3"));
	CHECK(holds("species == 0.0") && !holds("species == 0.5") && holds("species < 0.5") &&
		!holds("species > none"));
	CHECK(holds("species != none") && !holds("none == species") && holds("0.5 > species") &&
		holds("0.5 >= species"));
	CHECK(holds("-0.5 <= species") && holds("min(id, 3) == 3") && holds("max(id, 3) == id"));
	CHECK(holds("id % 10 == 5") && holds("abs(level) == 3") && holds("sign(level) == -1"));
	CHECK(holds("(1 < 2 ? id : 0) == 18446744073709551615") && holds("floor(id) == id"));
	CHECK(at("9007199254740993 - 9007199254740992", 0) == 1);
	/* 2^53 + 1 lies between doubles */
	CHECK(holds("9007199254740993 > 9007199254740992.0") && !holds("9007199254740993 == 9007199254740992.0"));
	CHECK(holds("170141183460469231731687303715884105727 < 170141183460469231731687303715884105728.0"));
	uint64_t copy[N];
	struct nb_expr *expr = bound("id", N, 1);
	CHECK(expr && nb_expr_values(expr, 0, N, 0, NB_ITEM_U64, copy, 8, &error) == NB_OK);
	CHECK(memcmp(copy, id, sizeof copy) == 0);
	CHECK(nb_expr_kind(expr) == NB_EXPR_WHOLE && nb_expr_is_unsigned(expr) && !nb_expr_is_uniform(expr));
	nb_expr_free(expr);
	expr = bound("id - 1", N, 1);
	CHECK(expr && !nb_expr_is_unsigned(expr));
	nb_expr_free(expr);
}

static void columns_of_all_types(void)
{
	CHECK(at("x", 5) == pos[15] && at("pos[2]", 5) == pos[17] && at("weight", 5) == weight[5]);
	CHECK(at("pos.x", 5) == pos[15] && at("-pos.z*2", 5) == -2 * pos[17] && at("pos.y^2", 1) == pos[4] * pos[4]);
	CHECK(at("species", 9) == 4 && at("level", 0) == -3 && at("row", 4711) == 4711 && at("holes", 5) == 5);
	CHECK(at("{mass}", 3) == 0.25 && at("half", 9) == 0.5 && at("x2", 5) == pos[15] * pos[15]);
	CHECK(!holds("label == 'halo'") && holds("label == \"12345678\"") && holds("label != '1234567'"));
	CHECK(holds("@model == 'king'") && holds("'kin' != @model"));
	struct nb_expr *expr = bound("@model", N, 0);
	size_t length;
	CHECK(expr && nb_expr_kind(expr) == NB_EXPR_TEXT && nb_expr_is_uniform(expr));
	CHECK(expr && memcmp(nb_expr_text(expr, 0, &length), "king", 4) == 0 && length == 4);
	nb_expr_free(expr);
}

/* Every row, at all edges of blocks and with any number of threads. */
static void against_plain_loops(void)
{
	static const size_t sizes[] = {0, 1, 2, 511, 512, 513, 1025, N};
	static double got[N], first[N];
	struct nb_expr *expr;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const size_t n = sizes[s];
		CHECK(nb_expr_parse(&expr, "0.5*(x^2 + y*y)*mass + (species == 2 ? level : weight)", &error) == NB_OK);
		for (int threads = 1; threads <= 3; threads++) {
			nb_cpu_set_threads(threads);
			CHECK(nb_expr_bind(expr, n, 1, find, NULL, &error) == NB_OK);
			CHECK(nb_expr_values(expr, 0, n, 0, NB_ITEM_F64, got, 8, &error) == NB_OK);
			for (size_t i = 0; i < n; i++) {
				const double *p = &pos[3 * i];
				CHECK(got[i] == 0.5 * (p[0] * p[0] + p[1] * p[1]) * mass[i] +
							(species[i] == 2 ? level[i] : (double)weight[i]));
			}
		}
		nb_expr_free(expr);
	}
	/* rows from the middle */
	expr = bound("mass + row", N, 1);
	CHECK(expr && nb_expr_values(expr, 0, N, 0, NB_ITEM_F64, first, 8, &error) == NB_OK);
	CHECK(expr && nb_expr_values(expr, 777, 1000, 0, NB_ITEM_F64, got, 8, &error) == NB_OK);
	CHECK(memcmp(got, first + 777, 1000 * sizeof *got) == 0);
	nb_expr_free(expr);
	nb_cpu_set_threads(0);
}

static void over_all_rows(void)
{
	long double sum = 0, moment = 0;
	for (size_t i = 0; i < N; i++) {
		sum += mass[i];
		moment += (long double)mass[i] * pos[3 * i];
	}
	CHECK_NEAR(at("sum(mass)", 0), (double)sum, 1e-15);
	CHECK_NEAR(at("sum(mass*x)/sum(mass)", 0), (double)(moment / sum), 1e-12);
	CHECK_NEAR(at("mean(mass)", 0), (double)(sum / N), 1e-15);
	CHECK(at("min(mass)", 0) == 1.0 / N && at("max(mass)", 0) == 1 && at("max(row)", 0) == N - 1);
	CHECK(at("count(species == 3)", 0) == 4002 && at("sum(species == 3)", 0) == 4002);
	CHECK(holds("max(id) == 18446744073709551615") && holds("min(id) == 18446744073709531605"));
	CHECK(holds("sum(id) > 18446744073709551616.0") && at("min(level)", 0) == -3);
	CHECK(isnan(at("sum(holes)", 0)) && isnan(at("max(holes)", 0)) && isnan(at("min(holes)", 0)));
	CHECK(at("max(isnan(holes) ? 0 : holes)", 0) == N - 1);
	/* one within another */
	CHECK(fabs(at("mean(x - mean(x))", 0)) < 1e-16);
	CHECK(at("mass / max(mass)", 1) == 0.5);
	/* of nothing */
	static const char *const nothing[] = {"min(mass)", "max(id)", "mean(mass)"};
	for (size_t k = 0; k < 3; k++) {
		struct nb_expr *expr = bound(nothing[k], 0, 1);
		double x = 0;
		CHECK(expr && nb_expr_is_uniform(expr));
		CHECK(expr && nb_expr_values(expr, 0, 1, 0, NB_ITEM_F64, &x, 8, &error) == NB_OK && isnan(x));
		CHECK(expr && nb_expr_reads_finite(expr, 0));
		nb_expr_free(expr);
	}
	struct nb_expr *expr = bound("sum(mass) + count(x > 0)", 0, 1);
	double x = 1;
	CHECK(expr && nb_expr_values(expr, 0, 1, 0, NB_ITEM_F64, &x, 8, &error) == NB_OK && x == 0);
	nb_expr_free(expr);
	/* the same bytes for any number of threads */
	double one = 0;
	for (int threads = 1; threads <= 4; threads++) {
		nb_cpu_set_threads(threads);
		const double now = at("sum(mass*x)", 0);
		one = threads == 1 ? now : one;
		CHECK(memcmp(&one, &now, 8) == 0);
	}
	nb_cpu_set_threads(0);
}

/* Large terms that cancel leave the small ones. */
static void cancelling(void)
{
	static const double saved[4] = {1e17, 3, -1e17, 5};
	double before[4];
	for (size_t k = 0; k < 4; k++) {
		before[k] = holes[1024 * k];
		holes[1024 * k] = saved[k];
	}
	CHECK(at("sum(row % 1024 == 0 && row < 4096 ? holes : 0)", 0) == 8);
	for (size_t k = 0; k < 4; k++)
		holes[1024 * k] = before[k];
}

static void vectors(void)
{
	double got[3];
	struct nb_expr *expr = bound("2*pos - mean(pos)", N, 0);
	CHECK(expr && nb_expr_ncomp(expr) == 3);
	for (uint32_t k = 0; k < 3 && expr; k++) {
		char mean[40];
		snprintf(mean, sizeof mean, "2*pos[%u] - mean(pos[%u])", k, k);
		CHECK(nb_expr_values(expr, 7, 1, k, NB_ITEM_F64, &got[k], 8, &error) == NB_OK);
		CHECK(got[k] == at(mean, 7));
	}
	nb_expr_free(expr);
	const double *p = &pos[21];
	CHECK(at("dot(pos, pos)", 7) == p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
	CHECK(at("norm(pos)", 7) == sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
	CHECK(at("dot(pos, 1)", 7) == p[0] + p[1] + p[2]);
	expr = bound("mass", N, 3);
	CHECK(expr && nb_expr_ncomp(expr) == 3);
	CHECK(expr && nb_expr_values(expr, 1, 1, 2, NB_ITEM_F64, got, 8, &error) == NB_OK && got[0] == 0.5);
	nb_expr_free(expr);
}

static void random_numbers(void)
{
	static double u[3][N];
	struct nb_expr *expr = bound("random()", N, 3);
	double mean = 0, square = 0, product = 0;
	for (uint32_t k = 0; k < 3 && expr; k++)
		CHECK(nb_expr_values(expr, 0, N, k, NB_ITEM_F64, u[k], 8, &error) == NB_OK);
	for (size_t i = 0; i < N; i++) {
		CHECK(u[0][i] > 0 && u[0][i] < 1);
		mean += u[0][i] / N;
		square += u[0][i] * u[0][i] / N;
		product += (u[0][i] - 0.5) * (u[1][i] - 0.5) / N;
	}
	/* within four standard deviations */
	CHECK(fabs(mean - 0.5) < 4 * sqrt(1.0 / 12 / N) && fabs(square - 1.0 / 3) < 4 * sqrt(4.0 / 45 / N));
	CHECK(fabs(product) < 4.0 / 12 / sqrt(N));
	/* by id, not by row */
	const double before = u[0][5];
	id[5] = id[6];
	CHECK(expr && nb_expr_values(expr, 5, 1, 0, NB_ITEM_F64, u[1], 8, &error) == NB_OK && u[1][0] == u[0][6]);
	id[5] = UINT64_MAX - 5;
	nb_expr_set_seed(expr, 1);
	CHECK(expr && nb_expr_bind(expr, N, 3, find, NULL, &error) == NB_OK);
	CHECK(expr && nb_expr_values(expr, 5, 1, 0, NB_ITEM_F64, u[1], 8, &error) == NB_OK && u[1][0] != before);
	nb_expr_free(expr);
	CHECK(at("random()", 5) == before && at("random() - random()", 5) != 0);
	CHECK(fabs(at("mean(normal())", 0)) < 4 / sqrt(N));
	CHECK(fabs(at("mean(normal()*0 + 1)", 0) - 1) < 1e-15);
	CHECK(fabs(at("mean((normal()*1)^2)", 0) - 1) < 4 * sqrt(2.0 / N));
}

static int has_unit(const char *text, const char *unit, const char *doubt)
{
	struct nb_expr *expr = bound(text, N, 0);
	const int is = expr && strcmp(nb_expr_unit(expr), unit) == 0 && strcmp(nb_expr_unit_doubt(expr), doubt) == 0;
	if (!is)
		printf("'%s': '%s' '%s' %s\n", text, expr ? nb_expr_unit(expr) : "-",
			expr ? nb_expr_unit_doubt(expr) : "-", error.text);
	nb_expr_free(expr);
	return is;
}

static void units(void)
{
	CHECK(has_unit("x", "length", "") && has_unit("2*x + 1", "length", "") && has_unit("x*y", "length^2", ""));
	CHECK(has_unit("mass/x^3", "mass/length^3", "") && has_unit("sqrt(x2)", "length", "") &&
		has_unit("1/x", "length^-1", ""));
	CHECK(has_unit("x/y", "", "") && has_unit("sin(x)", "", "") && has_unit("x < 1", "", ""));
	CHECK(has_unit("min(x, y) + abs(-x) + sum(y)", "length", "") && has_unit("x > 0 ? x : 0", "length", ""));
	CHECK(has_unit("norm(pos)", "length", "") && has_unit("dot(pos, pos)", "length^2", ""));
	CHECK(has_unit("x^0.5", "length^0.5", "") && has_unit("x^-2", "length^-2", "") && has_unit("species", "", ""));
	CHECK(has_unit("x + mass", "", "'length' and 'mass' at character 3"));
	CHECK(has_unit("x < mass ? 1 : 2", "", "'length' and 'mass' at character 3"));
	CHECK(has_unit("x^mass", "", "no unit follows"));
}

static void errors(void)
{
	CHECK(refused("", "expected a number, a name or '(' at character 1"));
	CHECK(refused("(1 + 2", "expected ')' at character 7"));
	CHECK(refused("1 + ", "expected a number, a name or '(' at character 5"));
	CHECK(refused("1 2", "expected an operator at character 3"));
	CHECK(refused("x = 1", "a comparison is written ==: unexpected '=' at character 3"));
	CHECK(refused("x < 1 & y < 1", "'and' is written 'and' or &&: unexpected '&' at character 7"));
	CHECK(refused("x < 1 | y < 1", "'or' is written 'or' or ||: unexpected '|' at character 7"));
	CHECK(refused("not 1", "expected a condition, such as r < 2, at character 5"));
	CHECK(refused("x < 1 and", "expected a number, a name or '(' at character 10"));
	CHECK(refused("x < 1 andy", "expected an operator at character 7"));
	CHECK(refused("x == not y", "expected an operator at character 10"));
	CHECK(refused("pos.q", "expected .x, .y or .z, or pos[0], at character 4"));
	CHECK(refused("pos.xy", "expected .x, .y or .z, or pos[0], at character 4"));
	CHECK(refused("x; y", "only assignments of nb-calc are divided by ';': unexpected ';' at character 2"));
	CHECK(refused("1)", "unexpected ')' at character 2"));
	CHECK(refused("0 < x < 1", "comparisons are not chained (a < b && b < c) at character 7"));
	CHECK(refused("sqrt(1, 2)", "too many operands at character 8"));
	CHECK(refused("atan2(1)", "atan2() wants 2 operands: expected more at character 8"));
	CHECK(refused("random(1)", "expected ')' at character 8"));
	CHECK(refused("1 ? 2", "expected ':' at character 6"));
	CHECK(refused("1 ? 2 : 3", "expected a condition, such as r < 2, at character 1"));
	CHECK(refused("'a", "no closing quote of the text at character 1"));
	CHECK(refused("{a", "expected '}' at character 3"));
	CHECK(refused("{}", "expected a name at character 1"));
	CHECK(refused("@", "expected a name at character 2"));
	CHECK(refused("pos[x]", "expected the number of a component, such as pos[0], at character 5"));
	CHECK(refused("pos[1", "expected ']' at character 6"));
	CHECK(refused("pos[3]", "no component 3 of 'pos', which has 3, at character 1"));
	CHECK(refused("x2[0]", "no component 0 of 'x2', which has 1, at character 1"));
	CHECK(refused("v3 + 1", "no column 'v3'"));
	CHECK(refused("label + 1", "expected a number, not a text, at character 1"));
	CHECK(refused("label == 1", "a text is compared with a number at character 7"));
	CHECK(refused("label < 'a'", "texts are compared by == and != only: at character 7"));
	CHECK(refused("x > 0 ? label : label", "a text cannot be chosen by ?: at character 7"));
	CHECK(refused("!x", "expected a condition, such as r < 2, at character 2"));
	CHECK(refused("count(x)", "expected a condition, such as r < 2, at character 7"));
	CHECK(refused("pos + pair", "vectors of 3 and of 2 components meet at character 5"));
	CHECK(refused("wide", "'wide' has 17 components (name one, such as wide[0]), at character 1"));
	CHECK(refused("wrong + 1", "'wrong' is expected a number, a name or '(' at character 3: at character 1"));
	CHECK(refused("label", "the result is a text"));
	CHECK(refused("2.5", "2.5 is not a whole number from 0 to 18446744073709551615"));
	CHECK(refused("0 - id", "-18446744073709551615 is not a whole number from 0 to 18446744073709551615"));
	CHECK(refused("id % species", "a remainder of a division by 0 at character 4"));
	CHECK(error.row == 0);
	CHECK(refused("id % (row - 700)", "a remainder of a division by 0 at character 4") && error.row == 700);
	CHECK(refused("id*id", "a whole number of more than 128 bits at character 3"));
	CHECK(refused("sum(id*9223372036854775807)", "a sum of more than 128 bits at character 7"));
	CHECK(refused("1 % 0", "a remainder of a division by 0 at character 3"));
	loop = "loop + 1";
	CHECK(refused("loop", "formulas stand for each other at character 1"));
	loop = "within + 1";
	CHECK(isnan(at("loop", 0)) && at("within", 0) == 0.5 && holds("isnan(loop) && within == 0.5"));
	loop = "label == 'a'";
	CHECK(refused("loop", "a formula with a text at character 1"));
	CHECK(strncmp(bound("foo(1)", 1, 1) ? "" : error.text, "no function 'foo' (there are: abs acos ", 39) == 0);
	CHECK(bound("pos", N, 1) == NULL && strstr(error.text, "a vector of 3 components, where 1 is expected"));
}

/* What is hostile is refused, and nothing overflows. */
static void deep_and_long(void)
{
	enum { MOST = 100000 };
	static char text[4 * MOST];
	static const char *const opening[] = {"(", "-", "!", "sin(", "2^", "1<2?", "1<2?1:"};
	for (size_t k = 0; k < sizeof opening / sizeof *opening; k++) {
		const size_t length = strlen(opening[k]);
		for (size_t i = 0; i < MOST / 2; i++)
			memcpy(text + i * length, opening[k], length + 1);
		CHECK(bound(text, 1, 1) == NULL);
		CHECK(strncmp(error.text, "the expression is nested too deeply at", 38) == 0);
	}
	strcpy(text, "1");
	for (size_t i = 0; i < 3000; i++)
		strcpy(text + 1 + 2 * i, "+1");
	CHECK(bound(text, 1, 1) == NULL && strncmp(error.text, "the expression is too long at", 29) == 0);
	text[1 + 2 * 2000] = '\0';
	CHECK(at(text, 0) == 2001);
	memset(text, 'x', 200);
	text[200] = '\0';
	CHECK(refused(text, "the name is too long at character 1"));
	/* a function of a name that fills any message */
	static const size_t lengths[] = {63, 64, 500, 640, MOST};
	for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		char want[100];
		memset(text, 'f', lengths[k]);
		strcpy(text + lengths[k], "(1)");
		snprintf(want, sizeof want, "no function '%.63s' (there are: abs acos ", text);
		CHECK(bound(text, 1, 1) == NULL && strncmp(error.text, want, strlen(want)) == 0);
		CHECK(strstr(error.text, ") at character 1"));
	}
	memset(text, '9', 400);
	text[400] = '\0';
	CHECK(at(text, 0) == INFINITY);
}

static int assigns(const char *text, const char *name, int is_attribute, int component, const char *unit)
{
	struct nb_expr *expr;
	struct nb_expr_target target;
	if (nb_expr_parse_assignment(&expr, text, &target, &error)) {
		printf("%s: %s\n", text, error.text);
		return 0;
	}
	nb_expr_free(expr);
	return strcmp(target.name, name) == 0 && target.is_attribute == is_attribute && target.component == component &&
	       target.has_unit == (unit != NULL) && (!unit || strcmp(target.unit, unit) == 0);
}

static double assigned(const char *text)
{
	struct nb_expr *expr;
	struct nb_expr_target target;
	double value = -4711;
	CHECK(nb_expr_parse_assignment(&expr, text, &target, &error) == NB_OK);
	CHECK(nb_expr_bind(expr, N, 1, find, NULL, &error) == NB_OK);
	CHECK(nb_expr_values(expr, 3, 1, 0, NB_ITEM_F64, &value, 8, &error) == NB_OK);
	nb_expr_free(expr);
	return value;
}

static void assignments(void)
{
	CHECK(assigns("e = 0.5", "e", 0, -1, NULL) && assigns(" @model='king'", "model", 1, -1, NULL));
	CHECK(assigns("pos[2] = 1", "pos", 0, 2, NULL) && assigns("e [velocity^2] = 1", "e", 0, -1, "velocity^2"));
	CHECK(assigns("pos[0] [pc] = 1", "pos", 0, 0, "pc") && assigns("{M/L} = 1", "M/L", 0, -1, NULL));
	CHECK(assigns("e [] = 1", "e", 0, -1, ""));
	CHECK(assigned("mass *= 2 + 1") == 0.75 && assigned("mass += 1") == 1.25 && assigned("mass -= 1") == -0.75);
	CHECK(assigned("mass /= 2") == 0.125 && assigned("mass ^= 2") == 0.0625 && assigned("id %= 10") == 2);
	CHECK(assigned("pos[1] += 0") == pos[10] && assigned("e = mass") == 0.25);
	static const char *const wrong[][2] = {
		{"", "expected NAME = EXPRESSION: a name at character 1"},
		{"e", "expected NAME = EXPRESSION: '=' at character 2"},
		{"e == 1", "expected NAME = EXPRESSION: '=' at character 3"},
		{"1 = e", "expected NAME = EXPRESSION: a name at character 1"},
		{"@ = 1", "expected NAME = EXPRESSION: a name at character 2"},
		{"e = ", "expected a number, a name or '(' at character 5"},
		{"e += ", "expected a number, a name or '(' at character 6"},
		{"e [pc = 1", "expected ']' at character 10"},
		{"e [\001] = 1", "a unit is plain ASCII at character 4"},
		{"@e [pc] = 1", "an attribute has no unit at character 5"},
	};
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		struct nb_expr *expr;
		struct nb_expr_target target;
		CHECK(nb_expr_parse_assignment(&expr, wrong[k][0], &target, &error) == NB_EINVAL);
		CHECK(strcmp(error.text, wrong[k][1]) == 0);
	}
}

static void names_and_finite_numbers(void)
{
	struct nb_expr *expr = bound("sqrt(x2) + @model_not", N, 1);
	CHECK(!expr);
	CHECK(nb_expr_parse(&expr, "x + @a*{b c} - pos[1]", &error) == NB_OK);
	CHECK(strcmp(nb_expr_source(expr), "x + @a*{b c} - pos[1]") == 0);
	nb_expr_free(expr);
	expr = bound("1/(holes - 5)", N, 1);
	CHECK(nb_expr_reads_finite(expr, 5) && !nb_expr_reads_finite(expr, 3));
	nb_expr_free(expr);
	expr = bound("mass + none", N, 1);
	CHECK(!nb_expr_reads_finite(expr, 0));
	nb_expr_free(expr);
	expr = bound("mass + sum(holes)", N, 1);
	CHECK(!nb_expr_reads_finite(expr, 0));
	nb_expr_free(expr);
	expr = bound("mass + sum(1/species)", N, 1);
	CHECK(nb_expr_reads_finite(expr, 0));
	nb_expr_free(expr);
	expr = bound("mass + 1/0", N, 1);
	CHECK(nb_expr_reads_finite(expr, 0));
	nb_expr_free(expr);
}

/* Into items of each type, with gaps. */
static void items(void)
{
	struct nb_expr *expr = bound("species", N, 1);
	uint16_t words[2 * 5] = {0};
	float reals[5];
	int8_t small[5];
	CHECK(nb_expr_values(expr, 0, 5, 0, NB_ITEM_U16, words, 4, &error) == NB_OK && words[8] == 4 && words[7] == 0);
	CHECK(nb_expr_values(expr, 0, 5, 0, NB_ITEM_F32, reals, 4, &error) == NB_OK && reals[4] == 4);
	CHECK(nb_expr_values(expr, 0, 5, 0, NB_ITEM_I8, small, 1, &error) == NB_OK && small[4] == 4);
	CHECK(nb_expr_values(expr, 0, 5, 0, NB_ITEM_TEXT, small, 1, &error) == NB_EINVAL);
	CHECK(nb_expr_mask(expr, 0, 5, (uint8_t *)small, &error) == NB_EINVAL);
	nb_expr_free(expr);
	expr = bound("1000*row", N, 1);
	CHECK(nb_expr_values(expr, 0, 5, 0, NB_ITEM_I8, small, 1, &error) == NB_EINVAL && error.row == 1);
	CHECK(strcmp(error.text, "1000 is not a whole number from -128 to 127") == 0);
	nb_expr_free(expr);
	expr = bound("row < 2000 ? row : 1e300", N, 1);
	static uint32_t all[N];
	CHECK(nb_expr_values(expr, 0, N, 0, NB_ITEM_U32, all, 4, &error) == NB_EINVAL && error.row == 2000);
	CHECK(nb_expr_values(expr, 0, 2000, 0, NB_ITEM_U32, all, 4, &error) == NB_OK && all[1999] == 1999);
	nb_expr_free(expr);
}

int main(void)
{
	make_rows();
	precedence();
	functions();
	whole_numbers_are_exact();
	columns_of_all_types();
	against_plain_loops();
	over_all_rows();
	cancelling();
	vectors();
	random_numbers();
	units();
	errors();
	deep_and_long();
	assignments();
	names_and_finite_numbers();
	items();
	return unit_end();
}
