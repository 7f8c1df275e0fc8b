/* transform.h - an instance of nb-transform: operations in the order of the command line, for the files of the tool. */
#ifndef NB_TRANSFORM_H
#define NB_TRANSFORM_H

#include "common/units.h"
#include "tools/filter/filter.h"

enum kind { SHIFT, BOOST, ROTATE, SCALE, FROM_UNITS, UNITS, RECENTER, NKIND };

enum centre { CENTRE_OF_MASS, CENTRE_OF_DENSITY };

struct operation {
	enum kind kind;
	const char *text; /* as given */
	double vector[3]; /* SHIFT, BOOST */
	int is_flat;	  /* and it has two numbers */
	double matrix[9]; /* ROTATE */
	int leaves_plane; /* ROTATE: z of a flat frame would not stay 0 */
	struct scale {
		double length, mass, velocity;
	} scale;
	struct nb_unit_system units; /* FROM_UNITS, UNITS */
	enum centre centre;	     /* RECENTER */
};

/* ---- parse.c: what is wrong in the text ends the tool with status 2 ------------------------------- */

/* "shift", as the option is called. */
const char *nb_transform_name(enum kind kind);
struct operation nb_transform_parse(enum kind kind, const char *text);

/* ---- apply.c -------------------------------------------------------------------------------------- */

void nb_transform_apply(struct nb_frame *frame, const struct operation *operation, struct nb_unit_system *units);
/* Columns that have left the range of their types end the tool. */
void nb_transform_require_finite(const struct nb_frame *frame);

/* ---- recenter.c ----------------------------------------------------------------------------------- */

/* What is to be added to positions and velocities so that the centre of the bodies is the origin, and at rest: 1, or 0
 * where there are no bodies. */
int nb_transform_find_way(struct nb_frame *frame, enum centre kind, struct nb_centre *way);

#endif
