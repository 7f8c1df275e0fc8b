/* field.h - fields of fixed potentials: what they add to the accelerations, potentials and jerks of bodies.
 *
 * A text says which potentials (potential.def has them, nb-field(1) what they mean); they become an nb_external for one
 * constant of gravity and one time, and that is added to bodies.  Everything is computed in f64.  The CPU and the
 * device evaluate the same formulas (potential_internal.h) and agree to about 1e-14; each gives the same bytes on every
 * run, the CPU for any number of threads. */
#ifndef NB_FIELD_H
#define NB_FIELD_H

#include <stddef.h>

#include "common/status.h"
#include "common/terms.h"

NB_C_BEGIN

enum nb_potential_kind {
#define NB_POTENTIAL(id, name, keys, formula) NB_POTENTIAL_##id,
#include "kernels/field/potential.def"
#undef NB_POTENTIAL
	NB_NPOTENTIAL
};

enum nb_potential_key {
#define NB_POTENTIAL_KEY(id, name, sign, value) NB_KEY_##id,
#include "kernels/field/potential.def"
#undef NB_POTENTIAL_KEY
	NB_NPOTENTIAL_KEY
};

/* The keys that all potentials take. */
#define NB_POTENTIAL_PLACE "x? y? z? vx? vy? vz?"

extern const struct nb_term_kind nb_potential_info[NB_NPOTENTIAL];

/* "NAME KEY=VALUE ...; NAME:KEY=VALUE,..." into at most NB_TERMS_MOST potentials; 0, or NB_EINVAL and a phrase in why.
 */
NB_MUST_CHECK int nb_potentials_parse(
	const char *text, struct nb_term potential[NB_TERMS_MOST], int *n, char why[NB_TERM_WHY]);
/* Whether it is not the same at all times. */
int nb_potential_varies(const struct nb_term *potential);
/* Whether it pulls bodies of the plane z = 0 out of it, at any time. */
int nb_potential_leaves_plane(const struct nb_term *potential);

/* The cubic through a table: n rows of r, c0, c1, c2, c3, where Phi = c0 + c1 u + c2 u^2 + c3 u^3, u = t - r, for t
 * from this r to the next.  Its first derivative is continuous, and it is monotone where the table is; it has third
 * order in the distance of rows where the table is smooth and monotone.  In r = 0 its slope is 0. r    n, ascending,
 * r[0] >= 0     phi   n     row   n x 5, out n >= 2.  Source: Fritsch & Carlson 1980, SIAM J. Numer. Anal. 17, 238,
 * with slopes of parabolas through three points. */
enum { NB_POTENTIAL_ROW = 5 };
void nb_potential_table(size_t n, const double *r, const double *phi, double *row);

/* A potential for one G and one time, as its formula wants it. */
struct nb_external_term {
	int kind, turned; /* turned: own axes are not those of the space */
	double strength;  /* G m or a squared speed */
	double length[3]; /* a, b, c; eps or a; a, gamma; rs; rc, qy, qz */
	double centre[3], velocity[3];
	double axes[3][3]; /* columns: own axes in the space */
	double omega;	   /* of the own axes about the own z */
	size_t nrow;	   /* of a table, ... */
	const double *row; /* ... where the backend computes: for the caller to set */
};
struct nb_external {
	int n;
	struct nb_external_term term[NB_TERMS_MOST];
};
void nb_external_prepare(int n, const struct nb_term *potential, double G, double time, struct nb_external *external);

/* What is added to, of n bodies; arrays where the backend computes. */
struct nb_external_bodies {
	size_t n;
	const double *pos;     /* n x 3 */
	const double *vel;     /* n x 3, needed for jerk only, else NULL */
	double *acc;	       /* n x 3 */
	double *pot;	       /* n, or NULL: not wanted */
	double *part;	       /* n, or NULL: the potential of the field alone */
	double *jerk;	       /* n x 3, or NULL: not wanted */
	int fresh, fresh_part; /* acc, pot and jerk; part: hold nothing yet, and are overwritten */
};

/* A body in a point mass without eps feels nothing of it; in the cusp of hernquist, dehnen and nfw it is not pulled,
 * and the potential of dehnen is infinite there from gamma = 2 on.  Results that no number can hold are not finite.
 * NB_OK. */
NB_MUST_CHECK int nb_external_add_cpu(const struct nb_external *external, const struct nb_external_bodies *bodies);
/* The same on the current device, queued on its default stream. */
NB_MUST_CHECK int nb_external_add_cuda(const struct nb_external *external, const struct nb_external_bodies *bodies);

NB_C_END
#endif
