/* nb-render-ppm: the units of the numbers in the legend. */
#include "tools/nb-render-ppm/render.h"

#include "common/units.h"
#include "tools/filter/cosmology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "length", "velocity^2": what it is, not how much. */
static int is_general(const char *unit)
{
	static const char *const words[] = {"length", "mass", "velocity", "time", "acceleration"};
	for (size_t k = 0; k < sizeof words / sizeof *words; k++)
		if (strstr(unit, words[k]))
			return 1;
	return 0;
}

/* Nothing where it is too long. */
static void join(char to[NB_UNIT_SIZE + 1], const char *first, const char *between, const char *second, const char *end)
{
	char text[3 * NB_UNIT_SIZE];
	const int n = snprintf(text, sizeof text, "%s%s%s%s", first, between, second, end);
	if (n <= NB_UNIT_SIZE)
		memcpy(to, text, (size_t)n + 1);
}

static void set(char to[NB_UNIT_SIZE + 1], const char *text, size_t length)
{
	if (length <= NB_UNIT_SIZE)
		snprintf(to, NB_UNIT_SIZE + 1, "%.*s", (int)length, text);
	if (!nb_text_possible(to))
		*to = '\0';
}

/* The unit of the column of this field, if it says one. */
static void take_column(const struct nb_frame *frame, enum nb_field field, char to[NB_UNIT_SIZE + 1])
{
	const struct nb_column *column = nb_frame_field(frame, field);
	if (column && column->unit[0] && !is_general(column->unit))
		set(to, column->unit, strlen(column->unit));
}

/* LENGTH,MASS,VELOCITY or LENGTH,MASS,TIME, as nb-transform writes them and, with blanks, nb-gen lpt; those of nb-gen
 * solar; and SI. */
static void take_attribute(const struct nb_frame *frame, char part[3][NB_UNIT_SIZE + 1])
{
	const char *text = nb_frame_attribute(frame, "units");
	if (!text || strpbrk(text, "=\n"))
		return;
	if (strcmp(text, "SI") == 0)
		text = "m,kg,m/s";
	else if (strncmp(text, "AU, day, solar mass", 19) == 0)
		text = "AU,Msun,AU/d";
	const char *comma = strchr(text, ','), *next = comma ? strchr(comma + 1, ',') : NULL;
	if (!next || strchr(text, ';') || strchr(next + 1, ','))
		return;
	set(part[0], text, (size_t)(comma - text));
	comma += strspn(comma, ", ");
	set(part[1], comma, (size_t)(next - comma));
	next += strspn(next, ", ");
	set(part[2], next, strlen(next));
}

/* Whether the name of a unit ends with /h, the Hubble parameter; its length without. */
static int is_over_h(const char *unit, int *length)
{
	*length = (int)strlen(unit);
	if (*length < 3 || strcmp(unit + *length - 2, "/h") != 0)
		return 0;
	*length -= 2;
	return 1;
}

void nb_render_density_unit(const struct unit_names *names, const char *square, char to[NB_LABEL_SIZE])
{
	int mass, length;
	to[0] = '\0';
	if (!names->mass[0] || !names->length[0])
		return;
	const int h = is_over_h(names->length, &length), both = is_over_h(names->mass, &mass) && h;
	if (both)
		snprintf(to, NB_LABEL_SIZE, "%.*s h/%.*s%s", mass, names->mass, length, names->length, square);
	else if (h)
		snprintf(to, NB_LABEL_SIZE, "%s/(%s)%s", names->mass, names->length, square);
	else
		snprintf(to, NB_LABEL_SIZE, "%s/%s%s", names->mass, names->length, square);
}

/* The unit of time is that in which a unit of length is gone at a velocity of 1. */
static void set_time(struct unit_names *names, const char *third)
{
	const size_t length = strlen(names->length);
	const char *velocity = names->velocity;
	if (*third && !strchr(third, '/'))
		set(names->time, third, strlen(third));
	else if (length && strncmp(velocity, names->length, length) == 0 && velocity[length] == '/')
		set(names->time, velocity + length + 1, strlen(velocity + length + 1));
	else if (length && *velocity)
		join(names->time, names->length, "/(", velocity, ")");
}

void nb_render_unit_names(const struct nb_frame *frame, struct unit_names *names)
{
	char part[3][NB_UNIT_SIZE + 1] = {"", "", ""};
	memset(names, 0, sizeof *names);
	take_attribute(frame, part);
	strcpy(names->length, part[0]);
	strcpy(names->mass, part[1]);
	if (strchr(part[2], '/'))
		strcpy(names->velocity, part[2]);
	else if (*part[2])
		join(names->velocity, part[0], "/", part[2], "");
	take_column(frame, NB_POS, names->length);
	take_column(frame, NB_MASS, names->mass);
	take_column(frame, NB_VEL, names->velocity);
	set_time(names, part[2]);
}

double nb_render_redshift(const struct nb_frame *frame)
{
	return nb_is_cosmological(frame) ? nb_redshift_of(nb_scale_factor(frame)) : NAN;
}

double nb_render_time(struct unit_names *names, double time)
{
	static const struct {
		const char *name;
		double seconds;
	} known[] = {{"d", 86400}, {"yr", 31557600}, {"kyr", 31557600e3}, {"Myr", 31557600e6}, {"Gyr", 31557600e9}};
	struct nb_unit_system units;
	const char *why;
	char text[3 * NB_UNIT_SIZE];
	snprintf(text, sizeof text, "%s,Msun,%s", names->length, names->velocity);
	if (!strchr(names->time, '/') || nb_unit_system_parse(text, &units, &why))
		return time;
	const double unit = units.length / units.velocity;
	size_t k = 0;
	while (k + 1 < sizeof known / sizeof *known && unit > 0.5 * known[k + 1].seconds)
		k++;
	strcpy(names->time, known[k].name);
	return time * unit / known[k].seconds;
}

void nb_render_number(char text[NB_LABEL_SIZE], int digits, double x)
{
	static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
	char plain[40], power[8];
	snprintf(plain, sizeof plain, "%.*g", digits, x);
	const int n = (int)strcspn(plain, "e");
	strcpy(text, plain);
	if (!plain[n])
		return;
	snprintf(power, sizeof power, "%d", atoi(plain + n + 1));
	const int sign = plain[0] == '-', one = n == sign + 1 && plain[sign] == '1';
	int used = snprintf(text, NB_LABEL_SIZE, "%.*s%s10", one ? sign : n, plain, one ? "" : "×");
	for (const char *c = power; *c; c++)
		used += snprintf(text + used, NB_LABEL_SIZE - (size_t)used, "%s", *c == '-' ? "⁻" : raised[*c - '0']);
	if (!nb_text_possible(text)) /* letters of dots */
		snprintf(text, NB_LABEL_SIZE, "%.*g", digits, x);
}

size_t nb_render_length_text(double length, const char *unit, char text[NB_LABEL_SIZE])
{
	static const char *const ladder[] = {"pc", "kpc", "Mpc", "Gpc"};
	const double power = floor(log10(length) + 1e-9);
	for (int k = 0; k < 4; k++)
		if (strcmp(unit, ladder[k]) == 0) {
			const int steps = (int)fmin(fmax(floor(power / 3), -k), 3 - k);
			unit = ladder[k + steps];
			length *= pow(1000, -steps);
			break;
		}
	nb_render_number(text, 3, length);
	const size_t used = strlen(text);
	snprintf(text + used, NB_LABEL_SIZE - used, "%s%s", *unit ? " " : "", unit);
	return used;
}

/* Of a column or an expression: powers of velocity stand for themselves. */
void nb_render_value_unit(const struct nb_frame *frame, const char *unit, char to[NB_UNIT_SIZE + 1])
{
	struct unit_names names;
	to[0] = '\0';
	if (!is_general(unit)) {
		set(to, unit, strlen(unit));
		return;
	}
	nb_render_unit_names(frame, &names);
	if (strcmp(unit, "length") == 0)
		strcpy(to, names.length);
	else if (strcmp(unit, "mass") == 0)
		strcpy(to, names.mass);
	else if (strcmp(unit, "time") == 0)
		strcpy(to, names.time);
	else if (strcmp(unit, "velocity") == 0)
		strcpy(to, names.velocity);
	else if (strcmp(unit, "velocity^2") == 0 && names.velocity[0])
		join(to, "(", names.velocity, ")^2", "");
}
