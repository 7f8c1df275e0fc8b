/* extra.h - forces between a body and others beside gravity of points: relativity, oblateness, tides, radiation and
 * damping; a part of small.h, which includes it.
 *
 * A text says which (extra.def has them, nb-extra(1) what they mean).  In each, r and v are the position and velocity
 * of another body relative to the one that the force comes from, of mass M: that with a given id, or the heaviest.
 * gr-full has no such body.
 *
 * Sources: Anderson et al. 1975, ApJ 200, 221, and Nobili & Roxburgh 1986, IAU Symp. 114, 105 (gr, gr-potential);
 * Einstein, Infeld & Hoffmann 1938, Ann. Math. 39, 65 (gr-full); Hut 1981, A&A 99, 126 (tides); Burns, Lamy & Soter
 * 1979, Icarus 40, 1 (radiation); Papaloizou & Larwood 2000, MNRAS 315, 823 (damp).  Only +, -, *, / and square roots
 * are used after nb_extra_parse, so that any processor gives the same bytes. */
#ifndef NB_SMALL_EXTRA_H
#define NB_SMALL_EXTRA_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/terms.h"

NB_C_BEGIN

enum nb_extra_kind {
#define NB_EXTRA(id, name, keys, formula) NB_EXTRA_##id,
#include "kernels/small/extra.def"
#undef NB_EXTRA
	NB_NEXTRA
};
enum nb_extra_key {
#define NB_EXTRA_KEY(id, name, sign, value) NB_EXTRA_KEY_##id,
#include "kernels/small/extra.def"
#undef NB_EXTRA_KEY
	NB_NEXTRA_KEY
};

extern const struct nb_term_kind nb_extra_info[NB_NEXTRA];

struct nb_extra {
	int n;
	struct nb_term term[NB_TERMS_MOST];
	double axis[NB_TERMS_MOST][3]; /* of oblateness and spin */
	size_t from[NB_TERMS_MOST];    /* row of the body that the force comes from, ... */
	size_t on[NB_TERMS_MOST];      /* ... and of that of key on */
};

/* 0, or NB_EINVAL and a phrase in why. */
NB_MUST_CHECK int nb_extra_parse(const char *text, struct nb_extra *e, char why[NB_TERM_WHY]);
/* Whether a force depends on velocities, and so has no potential. */
int nb_extra_needs_velocities(const struct nb_extra *e);
/* Finds the rows of the bodies in n > 0 of them; id NULL: the ids are the rows.  NB_EINVAL and a phrase in why: there
 * is none with an id, a centre has no mass, or would damp itself. */
NB_MUST_CHECK int nb_extra_find(
	struct nb_extra *e, size_t n, const double *mass, const uint64_t *id, char why[NB_TERM_WHY]);
/* Whether a body is inside the radius of a centre, where its forces mean nothing: the first force, and the row. */
int nb_extra_is_inside(const struct nb_extra *e, size_t n, const double *pos, int *term, size_t *row);
/* Adds to accelerations, n x 3, and to potentials, n or NULL, in which a pair has its energy in equal parts.
 *   gm        G m, n
 *   pos, vel  n x 3; vel may be NULL where nobody needs velocities
 * A body in the place of the one that the force comes from feels nothing.  Results may not be finite. */
void nb_extra_add(const struct nb_extra *e, size_t n, const double *gm, const double *pos, const double *vel,
	double *acc, double *pot);
/* Adds to accelerations of a variation of the positions, n x 3 each, what forces without velocities give it. */
void nb_extra_vary(
	const struct nb_extra *e, size_t n, const double *gm, const double *pos, const double *variation, double *acc);

NB_C_END
#endif
