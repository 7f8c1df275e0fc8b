/* What transforms and shells of both backends are planned with; host memory. */
#include "kernels/mesh/mesh_internal.h"

#include "common/mem.h"

static const double PI = 3.14159265358979323846;

int nb_fft_factor(int m, int radix[NB_FFT_PASSES])
{
	static const int odd[] = {3, 5, 7};
	int npass = 0, twos = 0;
	for (; m > 0 && m % 2 == 0; m /= 2)
		twos++;
	for (int bits; twos; twos -= bits) { /* 16 is 4 x 4, not 8 x 2 */
		bits = twos == 4 ? 2 : twos < 3 ? twos : 3;
		radix[npass++] = 1 << bits;
	}
	for (size_t k = 0; m > 0 && k < sizeof odd / sizeof *odd; k++)
		for (; m % odd[k] == 0; m /= odd[k])
			radix[npass++] = odd[k];
	return m == 1 ? npass : 0;
}

int nb_mesh_size(int m)
{
	int radix[NB_FFT_PASSES];
	while (!nb_fft_factor(m, radix))
		m++;
	return m;
}

int nb_mesh_quick_size(int m)
{
	int radix[NB_FFT_PASSES], best = nb_mesh_size(m), fewest = nb_fft_factor(best, radix);
	for (int other = best + 1; other <= m + m / 20; other++) {
		const int passes = nb_fft_factor(other, radix);
		if (passes && passes < fewest) {
			best = other;
			fewest = passes;
		}
	}
	return best;
}

/* cos and sin of t / m turns, t >= 0, from an angle in the first quadrant */
static void turn(long t, long m, double *c, double *s)
{
	const long quadrant = 4 * t / m;
	const double angle = PI / 2 * ((double)(4 * t - quadrant * m) / (double)m);
	const double x = cos(angle), y = sin(angle);
	const double by[4][2] = {{x, y}, {-y, x}, {-x, -y}, {y, -x}};
	*c = by[quadrant % 4][0];
	*s = by[quadrant % 4][1];
}

void nb_fft_roots(int m, double *root)
{
	for (int t = 0; t < m; t++) {
		turn(t, m, &root[2 * t], &root[2 * t + 1]);
		root[2 * t + 1] = -root[2 * t + 1];
	}
}

void nb_mesh_axes(int m, int order, struct nb_mesh_axis *axis)
{
	for (int i = 0; i < m; i++) {
		const int k = nb_mesh_wave(i, m);
		const double x = PI * k / m;
		axis[i].sharpen = k ? pow(x / sin(x), order) : 1;
		turn(k < 0 ? -k : k, 2 * m, &axis[i].c, &axis[i].s);
		axis[i].s = k < 0 ? -axis[i].s : axis[i].s;
	}
}

int nb_mesh_smooth(const struct nb_mesh_poisson *of, double *smooth)
{
	struct nb_mesh_axis *axis = nb_alloc((size_t)of->m, sizeof *axis);
	if (!axis)
		return NB_ENOMEM;
	nb_mesh_axes(of->m, of->order, axis);
	for (int i = 0; i < of->m; i++) {
		const int q = nb_mesh_wave(i, of->m);
		const double k = 2 * PI * q / of->box * of->split;
		smooth[i] = 2 * q == of->m ? 0 : axis[i].sharpen * axis[i].sharpen * exp(-k * k);
	}
	nb_free(axis);
	return NB_OK;
}

double nb_mesh_unit(double total)
{
	int exponent = 0;
	(void)frexp(total > 0 ? total : 1, &exponent); /* total < 2^exponent */
	return ldexp(1, (exponent < -960 ? -960 : exponent) - 62);
}
