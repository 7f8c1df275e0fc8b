/* opening_body.h - the acceptance criterion of the CPU: which cells act as a whole on a target cell, and on a body.
 *
 * A cell that is not accepted is opened.  Accepted is what cannot overlap the target and whose estimated error is below
 * a limit.  The estimate is an acceleration per G: of a cell that acts on a target cell through its expansion
 *     (mass (size / d)^6 + 1/2 enclosing (reach / d)^6) / d^2,
 * and of a cell that acts on a body
 *     mass (radius / d)^4 / (2 d^2);
 * of sources of third and fourth order both have one and two powers more.  After Dehnen 2014, Comput. Astrophys.
 * Cosmol. 1, 1, who compares an estimated error with the local force; the exponents are what measured best.
 *     order      of the multipoles
 *     mass       of the source
 *     enclosing  the mass of the largest cell around the source that the target has opened, or that of the source: its
 *                parts are seen in about one direction, and what the target's expansion leaves out of each adds up
 *     size2      (radius of the source + reach of the target)^2
 *     reach2     (greatest distance of a body of the target from its middle)^2
 *     d2, u      squared distance of the centres, without and with eps^2
 *
 * Gives the functions for float and double (suffixes f32 and f64); or those of the estimates for the type that the
 * includer wants, e.g. vectors:
 *     #define NB_REAL v8f
 *     #define NB_REAL_NAME v8f
 *     #define NB_SQRT square_root
 *     #include "kernels/multipole/opening_body.h" */
#ifndef NB_OPENING_BODY_H
#define NB_OPENING_BODY_H

#include <math.h>

#include "common/hd.h"

#ifndef NB_REAL
#define NB_REAL float
#define NB_REAL_NAME f32
#define NB_SQRT sqrtf
#include "kernels/multipole/opening_body.h"
#define NB_REAL double
#define NB_REAL_NAME f64
#define NB_SQRT sqrt
#include "kernels/multipole/opening_body.h"

/* The whole criterion, of one cell and one target; shares: the target may have bodies of the cell, so that softening
 * must not make the two look far apart. */
static NB_HD int nb_mac_accepts_on_cell(int order, double mass, double enclosing, double size2, double reach2,
	double d2, double u, int shares, double limit)
{
	return size2 < (shares ? d2 : u) && nb_mac_on_cell_f64(order, mass, enclosing, size2, reach2, 1 / u) < limit;
}

/* away: from the nearest place that a body of the target may be at to the centre of the cell. */
static NB_HD int nb_mac_accepts_on_body(int order, double mass, double radius, double away, double eps2, double limit)
{
	return radius < away && nb_mac_on_body_f64(order, mass, radius * radius, 1 / (away * away + eps2)) < limit;
}
#endif
#endif

#ifdef NB_REAL
#define NB_MAC_PASTE2(f, name) f##_##name
#define NB_MAC_PASTE(f, name) NB_MAC_PASTE2(f, name)
#define NB_MAC(f) NB_MAC_PASTE(f, NB_REAL_NAME)

/* inv_u = 1 / u.  The expansions converge where size2 inv_u < 1; accept only there. */
static NB_HD NB_REAL NB_MAC(nb_mac_on_cell)(
	int order, NB_REAL mass, NB_REAL enclosing, NB_REAL size2, NB_REAL reach2, NB_REAL inv_u)
{
	NB_REAL t = size2 * inv_u, s = reach2 * inv_u;
	if (order < 3)
		return inv_u * (mass * (t * t * t) + 0.5f * enclosing * (s * s * s));
	if (order == 3)
		return inv_u * (mass * (t * t * t * NB_SQRT(t)) + 0.5f * enclosing * (s * s * s * NB_SQRT(s)));
	t *= t;
	s *= s;
	return inv_u * (mass * (t * t) + 0.5f * enclosing * (s * s));
}

/* inv_u = 1 / (distance^2 + eps^2), where radius2 inv_u < 1.  Of fourth order it is three times as large, which
 * measured best: a body's own cells then add little to the errors of its expansion, and bodies in place of them cost
 * little more.
 */
static NB_HD NB_REAL NB_MAC(nb_mac_on_body)(int order, NB_REAL mass, NB_REAL radius2, NB_REAL inv_u)
{
	const NB_REAL t = radius2 * inv_u;
	if (order < 3)
		return 0.5f * inv_u * mass * (t * t);
	return (order == 3 ? 0.5f : 1.5f) * inv_u * mass * (t * t * (order == 3 ? NB_SQRT(t) : t));
}

#undef NB_REAL
#undef NB_REAL_NAME
#undef NB_SQRT
#undef NB_MAC
#undef NB_MAC_PASTE
#undef NB_MAC_PASTE2
#endif
