/* Units as products of powers of words. */
#include "kernels/expr/expr_internal.h"

#include "common/decimal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int find(const struct nb_expr_units *units, const char *word)
{
	for (int k = 0; k < units->n; k++)
		if (strcmp(units->base[k].word, word) == 0)
			return k;
	return -1;
}

static void multiply(struct nb_expr_units *units, const char *word, double power)
{
	int k = find(units, word);
	if (units->unknown || power == 0)
		return;
	if (k < 0) {
		if (units->n == NB_UNIT_BASES) {
			units->unknown = 1;
			return;
		}
		k = units->n++;
		snprintf(units->base[k].word, sizeof units->base[k].word, "%s", word);
		units->base[k].power = 0;
	}
	units->base[k].power += power;
	if (fabs(units->base[k].power) < 1e-9)
		units->base[k] = units->base[--units->n];
}

static void multiply_word(struct nb_expr_units *units, const char *word, double power)
{
	const int is_velocity = strcmp(word, "velocity") == 0;
	if (is_velocity || strcmp(word, "acceleration") == 0) {
		multiply(units, "length", power);
		multiply(units, "time", is_velocity ? -power : -2 * power);
	} else {
		multiply(units, word, power);
	}
}

/* Words with powers, separated by blanks, * and /, which is for the next word only: "length^3/mass time^2". */
struct nb_expr_units nb_units_parse(const char *text)
{
	struct nb_expr_units units = {0};
	int sign = 1;
	for (const char *p = text; *p && !units.unknown;) {
		if (*p == ' ' || *p == '*') {
			p++;
			continue;
		}
		if (*p == '/') {
			sign = -1;
			p++;
			continue;
		}
		char word[NB_UNIT_WORD + 1];
		const size_t length = strcspn(p, " */^");
		double power = 1;
		const int is_one = length == 1 && *p == '1';
		if (length == 0 || length > NB_UNIT_WORD || strpbrk(p, "()") ||
			(!is_one && strchr("0123456789.+-", *p))) {
			units.unknown = 1;
			break;
		}
		snprintf(word, sizeof word, "%.*s", (int)length, p);
		p += length;
		if (*p == '^') {
			p = nb_decimal_read(p + 1, &power);
			if (!p || !(fabs(power) < 100)) {
				units.unknown = 1;
				break;
			}
		}
		if (!is_one)
			multiply_word(&units, word, sign * power);
		sign = 1;
	}
	return units;
}

struct nb_expr_units nb_units_product(const struct nb_expr_units *a, double x, const struct nb_expr_units *b, double y)
{
	struct nb_expr_units units = {.unknown = a->unknown || b->unknown};
	for (int k = 0; k < a->n; k++)
		multiply(&units, a->base[k].word, a->base[k].power * x);
	for (int k = 0; k < b->n; k++)
		multiply(&units, b->base[k].word, b->base[k].power * y);
	if (units.unknown)
		units.n = 0;
	return units;
}

int nb_units_equal(const struct nb_expr_units *a, const struct nb_expr_units *b)
{
	if (a->unknown != b->unknown || a->n != b->n)
		return 0;
	for (int k = 0; k < a->n; k++) {
		const int other = find(b, a->base[k].word);
		if (other < 0 || fabs(a->base[k].power - b->base[other].power) > 1e-9)
			return 0;
	}
	return 1;
}

/* ---- text --------------------------------------------------------------------------------------- */

static double power_of(const struct nb_expr_units *units, const char *word)
{
	const int k = find(units, word);
	return k < 0 ? 0 : units->base[k].power;
}

static int append(char *to, size_t size, size_t *used, const char *word, double power)
{
	if (power == 0)
		return 0;
	const int below = power < 0 && *used > 0; /* "mass/length^3", but "time^-1" */
	const double shown = below ? -power : power;
	const char *before = *used == 0 ? "" : below ? "/" : " ";
	const int more = shown == 1 ? snprintf(to + *used, size - *used, "%s%s", before, word)
				    : snprintf(to + *used, size - *used, "%s%s^%g", before, word, shown);
	*used += (size_t)more;
	return *used >= size;
}

/* Positive powers first; velocity and acceleration where they fit. */
void nb_units_text(const struct nb_expr_units *units, char *to, size_t size)
{
	struct nb_expr_units rest = *units;
	double length = power_of(units, "length"), time = power_of(units, "time"), velocity = 0, acceleration = 0;
	if (time < 0 && length > 0) {
		if (time < -1 && length < -time) {
			acceleration = length == 1 ? 1 : 0;
			velocity = acceleration ? 0 : length;
		} else {
			velocity = -time <= length ? -time : 0;
		}
		length -= velocity + acceleration;
		time += velocity + 2 * acceleration;
	}
	for (int k = rest.n - 1; k >= 0; k--)
		if (strcmp(rest.base[k].word, "length") == 0 || strcmp(rest.base[k].word, "time") == 0)
			rest.base[k] = rest.base[--rest.n];
	size_t used = 0;
	int full = 0;
	to[0] = '\0';
	for (int below = 0; below < 2; below++) {
		for (int k = 0; k < rest.n && !full; k++)
			if ((rest.base[k].power < 0) == below)
				full = append(to, size, &used, rest.base[k].word, rest.base[k].power);
		if (!full && (length < 0) == below)
			full = append(to, size, &used, "length", length);
		if (!full && !below)
			full = append(to, size, &used, "velocity", velocity) ||
			       append(to, size, &used, "acceleration", acceleration);
		if (!full && (time < 0) == below)
			full = append(to, size, &used, "time", time);
	}
	if (full || units->unknown)
		to[0] = '\0';
}
