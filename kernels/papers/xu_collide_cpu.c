/* xu_collide_cpu.c - the end of a step of Xu, Xu & Chen: "check and handle collision", then the move.
 *
 * The listing calls collide() for two bodies that touch, which the report does not print; it is taken for the elastic
 * collision of two spheres that its text describes, along the line between the centres that the function is given:
 * those before the step.  Nothing asks whether the two approach. */
#include "kernels/motion/motion.h"
#include "kernels/papers/papers.h"

#include <math.h>
#include <string.h>

/* The velocities after an elastic collision of spheres at pa and pb: along the line of centres the relative one turns
 * round. */
static void bounce(const double *pa, const double *pb, double ma, double mb, double *va, double *vb)
{
	double d[3], dd = 0, dw = 0;
	for (int c = 0; c < 3; c++) {
		d[c] = pb[c] - pa[c];
		dd += d[c] * d[c];
		dw += d[c] * (vb[c] - va[c]);
	}
	if (!(dd > 1e-290)) /* no line, as far as the numbers can tell */
		return;
	const double push = 2 * dw / dd, to_a = push * nb_share(ma, mb), to_b = push * nb_share(mb, ma);
	for (int c = 0; c < 3; c++) {
		va[c] += to_a * d[c];
		vb[c] -= to_b * d[c];
	}
}

static int touch(const struct nb_xu_step *s, size_t i, size_t j)
{
	double d2 = 0;
	for (size_t c = 0; c < 3; c++) {
		const double d = (s->pos[3 * i + c] + s->dx[3 * i + c]) - (s->pos[3 * j + c] + s->dx[3 * j + c]);
		d2 += d * d;
	}
	return sqrt(d2) <= s->radius[i] + s->radius[j];
}

static void hold(const struct nb_xu_step *s, size_t i)
{
	memset(s->dx + 3 * i, 0, 3 * sizeof *s->dx);
	memset(s->dv + 3 * i, 0, 3 * sizeof *s->dv);
}

static int ends_finite(const struct nb_xu_step *s)
{
	int finite = 1;
	for (size_t k = 0; k < 3 * s->n; k++)
		finite &= isfinite(s->pos[k] + s->dx[k]) && isfinite(s->vel[k] + s->dv[k]);
	return finite;
}

int nb_xu_collide(const struct nb_xu_step *s, uint64_t *contacts)
{
	const int finite = ends_finite(s);
	int valid = 1;
	for (size_t i = 0; i < s->n; i++)
		valid &= s->mass[i] >= 0 && s->radius[i] >= 0 && isfinite(s->mass[i]) && isfinite(s->radius[i]);
	if (!finite || !valid)
		return finite ? NB_EINVAL : NB_ENONFINITE;
	*contacts = 0;
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = i + 1; j < s->n; j++)
			if (touch(s, i, j)) {
				bounce(s->pos + 3 * i, s->pos + 3 * j, s->mass[i], s->mass[j], s->vel + 3 * i,
					s->vel + 3 * j);
				hold(s, i);
				hold(s, j);
				++*contacts;
			}
	if (!ends_finite(s))
		return NB_ENONFINITE;
	for (size_t k = 0; k < 3 * s->n; k++) {
		s->pos[k] += s->dx[k];
		s->vel[k] += s->dv[k];
	}
	return NB_OK;
}
