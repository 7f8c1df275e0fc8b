/* units.h - unit systems by name, as in the attribute units: "kpc,1e10Msun,km/s". */
#ifndef NB_UNITS_H
#define NB_UNITS_H

#include "common/status.h"

/* What one unit is in metres, kilograms and metres per second, and how people write it. */
struct nb_unit_system {
	double length, mass, velocity; /* velocity 0: follows from G */
	const char *text;	       /* "pc,Msun,km/s" */
	char name[3][24];	       /* "pc", "Msun", "km/s" */
};

/* LENGTH,MASS[,VELOCITY or TIME]; at most so many parts are missing.  0, or -1 with why. */
NB_MUST_CHECK int nb_unit_system_parse(const char *text, struct nb_unit_system *units, const char **why);
/* The units that the text of attribute units says; 0, or -1 if it says none. */
NB_MUST_CHECK int nb_unit_system_known(const char *text, struct nb_unit_system *units);
/* Newton's constant in these units, whose velocity is known. */
double nb_unit_system_G(const struct nb_unit_system *units);
/* The name of units of this many metres and kilograms, both divided by h (1: they are not), and metres per second: pc,
 * kpc, Mpc, Msun and the like with a power of ten before, where that is right to 0.05 % (files say 1.989e43 g and mean
 * 1e10 Msun); else a number of cm, g, cm/s.  The text has NB_UNIT_SYSTEM_TEXT bytes. */
enum { NB_UNIT_SYSTEM_TEXT = 80 };
const char *nb_unit_system_name(double length, double mass, double velocity, double h, char *text);

#endif
