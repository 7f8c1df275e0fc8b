/* Units by name.  Sizes: IAU 2012 B2 (AU), 2015 B2 and B3 (pc, nominal solar values), CODATA 2018 (G). */
#include "common/units.h"
#include "common/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEWTON 6.6743e-11 /* m^3 / (kg s^2) */
#define AU 149597870700.0
#define DAY 86400.0
#define YEAR (365.25 * DAY)
#define PARSEC (AU * 648000 / 3.14159265358979323846)

enum dimension { LENGTH, MASS, TIME };

static const struct unit {
	const char *name;
	enum dimension dimension;
	double size;
} table[] = {
	{"cm", LENGTH, 0.01},
	{"m", LENGTH, 1},
	{"km", LENGTH, 1000},
	{"Rsun", LENGTH, 6.957e8},
	{"AU", LENGTH, AU},
	{"ly", LENGTH, 299792458 * YEAR},
	{"pc", LENGTH, PARSEC},
	{"kpc", LENGTH, 1e3 * PARSEC},
	{"Mpc", LENGTH, 1e6 * PARSEC},
	{"g", MASS, 1e-3},
	{"kg", MASS, 1},
	{"Mearth", MASS, 3.986004e14 / NEWTON},
	{"Mjup", MASS, 1.2668653e17 / NEWTON},
	{"Msun", MASS, 1.3271244e20 / NEWTON},
	{"s", TIME, 1},
	{"h", TIME, 3600},
	{"d", TIME, DAY},
	{"yr", TIME, YEAR},
	{"kyr", TIME, 1e3 * YEAR},
	{"Myr", TIME, 1e6 * YEAR},
	{"Gyr", TIME, 1e9 * YEAR},
};

static const struct unit *find(const char *name, size_t length)
{
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		if (strlen(table[k].name) == length && strncmp(table[k].name, name, length) == 0)
			return &table[k];
	return NULL;
}

/* Characters of a number at the start of the text, such as 1e5 of 1e5Msun. */
static size_t number_length(const char *text)
{
	size_t n = strspn(text, "0123456789.");
	const size_t exponent = n && (text[n] == 'e' || text[n] == 'E') ? 1 + strspn(text + n + 1, "+-") : 0;
	const size_t digits = exponent ? strspn(text + n + exponent, "0123456789") : 0;
	return digits ? n + exponent + digits : n;
}

/* "2.5km/s", without commas: its size, and what it is the unit of; for a velocity, TIME and velocity = 1. */
static int parse_part(const char *text, double *size, enum dimension *dimension, int *velocity)
{
	char number[40];
	const size_t digits = number_length(text);
	double factor = 1;
	if (digits) {
		if (digits >= sizeof number)
			return -1;
		memcpy(number, text, digits);
		number[digits] = '\0';
		if (nb_parse_f64(number, &factor) != NB_PARSE_OK)
			return -1;
	}
	const char *name = text + digits;
	const size_t length = strcspn(name, "/");
	const struct unit *unit = find(name, length);
	if (!unit || !(factor > 0))
		return -1;
	*size = factor * unit->size;
	*dimension = unit->dimension;
	*velocity = 0;
	if (name[length] == '/') {
		const struct unit *per = find(name + length + 1, strlen(name + length + 1));
		if (!per || per->dimension != TIME || unit->dimension != LENGTH)
			return -1;
		*size /= per->size;
		*velocity = 1;
	}
	return 0;
}

int nb_unit_system_parse(const char *text, struct nb_unit_system *units, const char **why)
{
	*units = (struct nb_unit_system){.text = text};
	*why = "LENGTH,MASS,VELOCITY such as pc,Msun,km/s";
	size_t part = 0;
	for (const char *at = text;; at++, part++) {
		const size_t length = strcspn(at, ",");
		enum dimension dimension;
		int velocity;
		double size;
		if (part == 3 || length >= sizeof units->name[0])
			return -1;
		memcpy(units->name[part], at, length);
		if (parse_part(units->name[part], &size, &dimension, &velocity))
			return -1;
		if (part < 2 ? velocity || dimension != (part ? MASS : LENGTH) : !velocity && dimension != TIME)
			return -1;
		if (part == 0)
			units->length = size;
		else if (part == 1)
			units->mass = size;
		else
			units->velocity = velocity ? size : units->length / size;
		/* a unit of time: the velocity is that of a unit of length in this time */
		if (part == 2 && !velocity) {
			char time[24];
			strcpy(time, units->name[2]);
			const int n = snprintf(units->name[2], sizeof units->name[2], "%s/%s", units->name[0], time);
			if (n >= (int)sizeof units->name[2])
				units->name[2][0] = '\0';
		}
		at += length;
		if (!*at)
			break;
	}
	return part >= 1 ? 0 : -1;
}

int nb_unit_system_known(const char *text, struct nb_unit_system *units)
{
	static const char *const known[][2] = {
		{"SI", "m,kg,m/s"}, /* of nb-convert, and of nb-gen solar */
		{"AU, day, solar mass; ecliptic J2000", "AU,Msun,AU/d"},
	};
	const char *why;
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (strcmp(text, known[k][0]) == 0)
			return nb_unit_system_parse(known[k][1], units, &why);
	return nb_unit_system_parse(text, units, &why) || units->velocity == 0 ? -1 : 0;
}

double nb_unit_system_G(const struct nb_unit_system *units)
{
	return NEWTON * units->mass / (units->length * units->velocity * units->velocity);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* "1e10Msun" of this size: the unit of the list of which it is the smallest power of ten; else in the last.  The number
 * is divided by h. */
static void name_part(
	char *text, size_t room, double size, double h, const char *const list[], size_t n, const char *behind)
{
	const char *unit = list[n - 1];
	double best = 100, number = size / find(unit, strlen(unit))->size / h;
	for (size_t k = 0; k < n; k++) {
		const double ratio = size / find(list[k], strlen(list[k]))->size, power = round(log10(ratio));
		if (fabs(ratio / pow(10, power) - 1) > 5e-4 || fabs(power) >= fabs(best))
			continue;
		best = power;
		unit = list[k];
		number = pow(10, power) / h;
	}
	if (number == 1)
		snprintf(text, room, "%s%s", unit, behind);
	else if (best < 100 && h == 1)
		snprintf(text, room, "1e%.0f%s%s", best, unit, behind);
	else
		snprintf(text, room, "%.10g%s%s", number, unit, behind);
	char *plus = strchr(text, '+');
	if (plus)
		memmove(plus, plus + 1, strlen(plus));
}

const char *nb_unit_system_name(double length, double mass, double velocity, double h, char *text)
{
	static const char *const lengths[] = {"kpc", "Mpc", "pc", "AU", "m", "cm"},
				 *const masses[] = {"Msun", "kg", "g"}, *const velocities[] = {"km", "m", "cm"};
	char part[3][NB_UNIT_SYSTEM_TEXT / 3];
	name_part(part[0], sizeof part[0], length, h, lengths, sizeof lengths / sizeof *lengths, "");
	name_part(part[1], sizeof part[1], mass, h, masses, sizeof masses / sizeof *masses, "");
	name_part(part[2], sizeof part[2], velocity, 1, velocities, sizeof velocities / sizeof *velocities, "/s");
	snprintf(text, NB_UNIT_SYSTEM_TEXT, "%s,%s,%s", part[0], part[1], part[2]);
	return text;
}
