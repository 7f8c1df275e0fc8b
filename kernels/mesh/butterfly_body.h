/* butterfly_body.h - the transform of 2, 3, 4, 5, 7 or 8 numbers, for a type NB_REAL: numbers of a device or vectors of
 * the CPU. */

#if defined(__CUDA_ARCH__)
#define NB_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define NB_UNROLL
#else
#define NB_UNROLL _Pragma("GCC unroll 7")
#endif

struct nb_complex {
	NB_REAL re, im;
};

/* cos and sin of k / r turns, r odd */
static NB_HD double nb_turn_cos(int r, int k)
{
	const int j = k % r < r - k % r ? k % r : r - k % r;
	if (j == 0)
		return 1;
	if (r == 3)
		return -0.5;
	if (r == 5)
		return j == 1 ? 0.30901699437494742 : -0.80901699437494742;
	return j == 1 ? 0.62348980185873353 : j == 2 ? -0.22252093395631440 : -0.90096886790241913;
}

static NB_HD double nb_turn_sin(int r, int k)
{
	const int j = k % r < r - k % r ? k % r : r - k % r, sign = j == k % r ? 1 : -1;
	if (j == 0)
		return 0;
	if (r == 3)
		return sign * 0.86602540378443865;
	if (r == 5)
		return sign * (j == 1 ? 0.95105651629515357 : 0.58778525229247313);
	return sign * (j == 1 ? 0.78183148246802981 : j == 2 ? 0.97492791218182361 : 0.43388373911755812);
}

static NB_HD struct nb_complex nb_complex_add(struct nb_complex a, struct nb_complex b)
{
	a.re = a.re + b.re;
	a.im = a.im + b.im;
	return a;
}

static NB_HD struct nb_complex nb_complex_sub(struct nb_complex a, struct nb_complex b)
{
	a.re = a.re - b.re;
	a.im = a.im - b.im;
	return a;
}

/* a (c + i s) */
static NB_HD struct nb_complex nb_complex_turn(struct nb_complex a, double c, double s)
{
	struct nb_complex b;
	b.re = a.re * c - a.im * s;
	b.im = a.re * s + a.im * c;
	return b;
}

/* a - i b and a + i b */
static NB_HD void nb_complex_sides(
	struct nb_complex a, struct nb_complex b, struct nb_complex *less, struct nb_complex *more)
{
	less->re = a.re + b.im;
	less->im = a.im - b.re;
	more->re = a.re - b.im;
	more->im = a.im + b.re;
}

/* a[j] becomes sum_i a[i] exp(-2 pi i j i / r); r is known to the compiler. */
static NB_HD void nb_butterfly_of_two(int r, struct nb_complex *a)
{
	if (r == 2) {
		const struct nb_complex b = a[0];
		a[0] = nb_complex_add(b, a[1]);
		a[1] = nb_complex_sub(b, a[1]);
		return;
	}
	const struct nb_complex even = nb_complex_add(a[0], a[2]), odd = nb_complex_add(a[1], a[3]);
	const struct nb_complex left = nb_complex_sub(a[0], a[2]), right = nb_complex_sub(a[1], a[3]);
	a[0] = nb_complex_add(even, odd);
	a[2] = nb_complex_sub(even, odd);
	nb_complex_sides(left, right, &a[1], &a[3]);
}

static NB_HD void nb_butterfly_of_eight(struct nb_complex *a)
{
	const double root = 0.70710678118654752;
	struct nb_complex even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]}, turned;
	nb_butterfly_of_two(4, even);
	nb_butterfly_of_two(4, odd);
	a[0] = nb_complex_add(even[0], odd[0]);
	a[4] = nb_complex_sub(even[0], odd[0]);
	turned = nb_complex_turn(odd[1], root, -root);
	a[1] = nb_complex_add(even[1], turned);
	a[5] = nb_complex_sub(even[1], turned);
	nb_complex_sides(even[2], odd[2], &a[2], &a[6]);
	turned = nb_complex_turn(odd[3], -root, -root);
	a[3] = nb_complex_add(even[3], turned);
	a[7] = nb_complex_sub(even[3], turned);
}

static NB_HD void nb_butterfly(int r, struct nb_complex *a)
{
	if (r == 2 || r == 4) {
		nb_butterfly_of_two(r, a);
		return;
	}
	if (r == 8) {
		nb_butterfly_of_eight(a);
		return;
	}
	struct nb_complex sum[4], difference[4];
	const struct nb_complex first = a[0];
	NB_UNROLL
	for (int k = 1; k <= r / 2; k++) {
		sum[k] = nb_complex_add(a[k], a[r - k]);
		difference[k] = nb_complex_sub(a[k], a[r - k]);
		a[0] = nb_complex_add(a[0], sum[k]);
	}
	NB_UNROLL
	for (int j = 1; j <= r / 2; j++) {
		struct nb_complex across = first, along;
		along.re = difference[1].re * nb_turn_sin(r, j);
		along.im = difference[1].im * nb_turn_sin(r, j);
		NB_UNROLL
		for (int k = 1; k <= r / 2; k++) {
			across.re = across.re + sum[k].re * nb_turn_cos(r, j * k);
			across.im = across.im + sum[k].im * nb_turn_cos(r, j * k);
			if (k == 1)
				continue;
			along.re = along.re + difference[k].re * nb_turn_sin(r, j * k);
			along.im = along.im + difference[k].im * nb_turn_sin(r, j * k);
		}
		nb_complex_sides(across, along, &a[j], &a[r - j]);
	}
}
