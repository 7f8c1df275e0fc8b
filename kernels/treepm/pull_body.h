/* pull_body.h - what a list does to a target, for one precision; included by treepm_simd.c once for each
 * NB_PULL_PRECISION = NB_MIXED, NB_F64 (as 1, 2: the preprocessor does not know enums).
 *
 * Vectors are of sources, past one target after the other.  In mixed precision separations and the sums of SPAN
 * vectors are in f64, the other arithmetic in f32. */
#if NB_PULL_PRECISION == 2
#define PULL nb_treepm_pull
#define T(name) name##_f64
#define F(name) name##_vd
#define V nb_vd
#define VI nb_vdi
#define S double
#define W ((size_t)NB_WD)
#define CUBE 1.0
#define FLOOR NB_PAIR_FLOOR_F64
#define COLUMN(name) name
#define WIDE(v) (v)
#define SPAN NB_TREEPM_LIST
#else
#define PULL nb_treepm_pull_mixed
#define T(name) name##_mixed
#define F(name) name##_vf
#define V nb_vf
#define VI nb_vfi
#define S float
#define W ((size_t)NB_WF)
#define CUBE ((S)NB_CUBE_F32)
#define FLOOR NB_PAIR_FLOOR_F32
#define COLUMN(name) name##_f32
#define WIDE(v) nb_wide_vf(v)
#define SPAN (16 * W)
#endif
#define LOAD(p) (*(const V *)(p))

/* The law, in the precision of the pairs. */
struct T(law) {
	S eps2, none, cut2, scale, acc[NB_TREEPM_TERMS], pot[NB_TREEPM_TERMS];
	const struct nb_treepm_law *given;
};

static NB_HD V T(separation)(const double *x, double at)
{
#if NB_PULL_PRECISION == 2
	return LOAD(x) - at;
#else
	return nb_narrow(*(const nb_vd *)x - at, *(const nb_vd *)(x + NB_WD) - at);
#endif
}

/* A polynomial of NB_TREEPM_TERMS terms, as two of v^2, so that chains are half as long. */
static NB_HD V T(polynomial)(const S *term, V v, V v2)
{
	V even = (V){} + term[NB_TREEPM_TERMS - 2], odd = (V){} + term[NB_TREEPM_TERMS - 1];
	_Pragma("GCC unroll 16") for (int k = NB_TREEPM_TERMS - 4; k >= 0; k -= 2)
	{
		even = even * v2 + term[k];
		odd = odd * v2 + term[k + 1];
	}
	return odd * v + even;
}

/* r^-3, and r^-1 if it is wanted and s2 > none. */
static NB_HD void T(unsoftened)(const int pot, V s2, S none, V *w, V *p)
{
	if (pot) {
		const V y = F(nb_rsqrt)(s2);
		*w = y * y * y;
		*p = F(nb_where)(s2 > none, y);
	} else {
		*w = CUBE * F(nb_cube)(s2, F(nb_guess)(s2));
	}
}

#if NB_PULL_PRECISION == 1
/* The potential of sources j, j + 1, ... of a vector that are where the target is, as that itself is: in f64, since it
 * may be many times all the rest, and that of the target will be subtracted. */
static double T(coincident)(const enum nb_pair_law form, const struct nb_treepm_law *law,
	const struct nb_treepm_list *list, size_t j, VI here, double soft)
{
	double sum = 0, cloud = 0;
	for (int k = NB_TREEPM_TERMS - 1; k >= 0; k--)
		cloud = law->pot[k] - cloud;
	for (size_t k = 0; k < W; k++) {
		const double other = list->soft[j + k];
		const double both = form == NB_LAW_SPLINE ? fmin(soft, other) : fmax(soft, other);
		double p = 0;
		if (form == NB_LAW_SPLINE && both * both * FLOOR < 1)
			p = both * NB_SPLINE_SUPPORT;
		else if (form != NB_LAW_SPLINE && both > FLOOR)
			p = 1 / sqrt(both);
		sum -= here[k] ? list->mass[j + k] * (p - cloud) : 0;
	}
	return sum;
}
#endif

static NB_HD void T(pull)(const enum nb_pair_law form, const int pot, const struct T(law) * law,
	const struct nb_treepm_list *list, const double at[3], double soft, double total[4])
{
	const size_t end = (list->n + W - 1) / W * W;
	nb_vd sum[4] = {};
	for (size_t from = 0; from < end; from += SPAN) {
		V ax = {}, ay = {}, az = {}, ap = {};
		for (size_t j = from; j < end && j < from + SPAN; j += W) {
			const V x = T(separation)(&list->x[0][j], at[0]), y = T(separation)(&list->x[1][j], at[1]),
				z = T(separation)(&list->x[2][j], at[2]);
			const V r2 = F(nb_pair_r2)(x, y, z, (V){}), mass = LOAD(&list->COLUMN(mass)[j]);
			const V v = r2 * law->scale - 1, v2 = v * v;
			VI within = r2 < law->cut2;
			V w, p = {};
			if (form == NB_LAW_COMMON) {
				T(unsoftened)(pot, r2 + law->eps2, law->none, &w, &p);
			} else {
				const int spline = form == NB_LAW_SPLINE;
				const V other = LOAD(&list->COLUMN(soft)[j]), own = (V){} + (S)soft;
				const V both = F(nb_choose)(spline ? other < own : other > own, other, own);
				const V s2 = r2 + (spline ? (V){} + (S)FLOOR : both);
				if (spline && !F(nb_any)(s2 * both * both < 1)) { /* most are not softened */
					T(unsoftened)(pot, s2, (S)FLOOR, &w, &p);
				} else {
					const struct F(nb_pull) soften = F(nb_soften)(spline, 0, s2, both);
					w = soften.w;
					p = soften.p;
				}
			}
			const V f = F(nb_where)(within, mass * (w - T(polynomial)(law->acc, v, v2)));
			F(nb_pair_add)(f, x, y, z, &ax, &ay, &az);
#if NB_PULL_PRECISION == 1
			if (pot && F(nb_any)(r2 == 0)) {
				total[3] += T(coincident)(form, law->given, list, j, r2 == 0, soft);
				within &= r2 > 0;
			}
#endif
			if (pot)
				ap -= F(nb_where)(within, mass * (p - T(polynomial)(law->pot, v, v2)));
		}
		sum[0] += WIDE(ax);
		sum[1] += WIDE(ay);
		sum[2] += WIDE(az);
		sum[3] += WIDE(ap);
	}
	for (int c = 0; c < 4; c++)
		total[c] += nb_sum_vd(sum[c]);
}

static NB_HD void T(pull_all)(const enum nb_pair_law form, const int pot, const struct T(law) * law,
	const struct nb_treepm_list *list, const struct nb_treepm_side *targets, size_t first, size_t count,
	double sum[][4])
{
	for (size_t k = 0; k < count; k++) {
		const size_t i = first + k;
		const double at[3] = {targets->x[0][i], targets->x[1][i], targets->x[2][i]};
		const double soft = form == NB_LAW_COMMON ? law->given->eps2 : targets->soft[i];
		T(pull)(form, pot, law, list, at, soft, sum[k]);
	}
}

/* Fills up the last vector with what is out of reach. */
static NB_HD void T(end_list)(struct nb_treepm_list *list, double far)
{
	const size_t end = list->n + W;
	for (size_t k = list->n; k < end; k++) {
		for (int c = 0; c < 3; c++)
			list->x[c][k] = far;
		list->mass[k] = list->soft[k] = 0;
	}
#if NB_PULL_PRECISION == 1
	for (size_t k = 0; k < end; k++) {
		list->mass_f32[k] = (float)list->mass[k];
		list->soft_f32[k] = (float)list->soft[k];
	}
#endif
}

static NB_HD struct T(law) T(law_of)(const struct nb_treepm_law *law)
{
	struct T(law) to = {.cut2 = (S)law->cut2, .scale = (S)law->scale, .given = law};
	to.eps2 = law->eps2 > FLOOR ? (S)law->eps2 : (S)FLOOR;
	to.none = law->eps2 > FLOOR ? (S)law->none : to.eps2;
	for (int k = 0; k < NB_TREEPM_TERMS; k++) {
		to.acc[k] = (S)law->acc[k];
		to.pot[k] = (S)law->pot[k];
	}
	return to;
}

void NB_ISA(PULL)(const struct nb_treepm_law *given, struct nb_treepm_list *list, const struct nb_treepm_side *targets,
	size_t first, size_t count, int pot, double sum[][4])
{
	const struct T(law) law = T(law_of)(given);
	T(end_list)(list, given->far);
	switch (given->law) {
	case NB_LAW_COMMON:
		pot ? T(pull_all)(NB_LAW_COMMON, 1, &law, list, targets, first, count, sum)
		    : T(pull_all)(NB_LAW_COMMON, 0, &law, list, targets, first, count, sum);
		break;
	case NB_LAW_PLUMMER:
		pot ? T(pull_all)(NB_LAW_PLUMMER, 1, &law, list, targets, first, count, sum)
		    : T(pull_all)(NB_LAW_PLUMMER, 0, &law, list, targets, first, count, sum);
		break;
	case NB_LAW_SPLINE:
		pot ? T(pull_all)(NB_LAW_SPLINE, 1, &law, list, targets, first, count, sum)
		    : T(pull_all)(NB_LAW_SPLINE, 0, &law, list, targets, first, count, sum);
		break;
	}
}

#undef PULL
#undef T
#undef F
#undef V
#undef VI
#undef S
#undef W
#undef CUBE
#undef FLOOR
#undef COLUMN
#undef WIDE
#undef SPAN
#undef LOAD
#undef NB_PULL_PRECISION
