/* orbit.h - osculating Keplerian elements.  Host memory. */
#ifndef NB_MEASURE_ORBIT_H
#define NB_MEASURE_ORBIT_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

/* Of the orbit of a body about another one.  Angles are in radians, about the plane of x and y, from x. */
struct nb_orbit {
	double a;      /* semi-major axis; < 0 for a hyperbola, infinite for a parabola */
	double e;      /* eccentricity */
	double q;      /* distance of the pericentre */
	double i;      /* inclination, 0 to pi */
	double Omega;  /* longitude of the ascending node, 0 to 2 pi; 0 where the orbit lies in the plane */
	double omega;  /* argument of the pericentre, 0 to 2 pi; 0 for a circle */
	double M;      /* mean anomaly: 0 to 2 pi, or any number for a hyperbola; NaN for a parabola */
	double period; /* NaN if it is not bound */
};

/* From the position and velocity relative to the other body, and mu = G times the sum of both masses.  All NaN if mu or
 * the distance is 0; the angles i, Omega and omega also for motion on a straight line through it.
 * Source: Murray & Dermott 1999, Solar System Dynamics, section 2.8; a vector for e, which keeps its digits where e is
 * small. */
void nb_orbit_elements(const double pos[3], const double vel[3], double mu, struct nb_orbit *orbit);

/* Of n bodies, each about the centre of mass of those before it; orbit[0] is all NaN. */
void nb_orbits_jacobi(
	size_t n, const double *mass, const double *pos, const double *vel, double G, struct nb_orbit *orbit);

/* Of n bodies, each about the centre of mass of all, with mu = G (M - m)^3 / M^2 of the mass M of all, which makes the
 * orbits of two bodies exact; NaN where that is 0. */
void nb_orbits_barycentric(
	size_t n, const double *mass, const double *pos, const double *vel, double G, struct nb_orbit *orbit);

/* Of n bodies about body number about < n; orbit[about] is all NaN.  mass n, pos and vel n x 3. */
void nb_orbits(size_t n, const double *mass, const double *pos, const double *vel, size_t about, double G,
	struct nb_orbit *orbit);

NB_C_END
#endif
