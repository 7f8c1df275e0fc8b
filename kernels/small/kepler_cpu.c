/* kepler_cpu.c - the orbit of one body about another, whatever its kind. */
#include "kernels/small/kepler_body.h"
#include "kernels/small/whfast_internal.h"

int nb_kepler_move(double mu, double h, double x[3], double v[3])
{
	return nb_kepler_follow(mu, h, x, v, NULL, NULL);
}

int nb_kepler_vary(double mu, double h, double x[3], double v[3], double dx[3], double dv[3])
{
	return nb_kepler_follow(mu, h, x, v, dx, dv);
}
