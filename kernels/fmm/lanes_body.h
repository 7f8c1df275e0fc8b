/* lanes_body.h - operators on the children of a box, one in each lane; included with LANES = 4 and 8, NAME, and VEC,
 * the lanes of a vector: all of them, or what a register of the instruction set holds. */
#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)
#define F(name) PASTE(name, NAME)

typedef double F(vec) __attribute__((vector_size(VEC * 8)));

static NB_HD F(vec) F(load)(const double *p)
{
	F(vec) v;
	memcpy(&v, p, sizeof v);
	return v;
}

static void F(m2m)(const struct nb_fmm_basis *basis, const double *const *child, double *m)
{
	double x[NB_FMM_TERMS * LANES], sum[NB_FMM_TERMS * LANES];
	for (int a = 0; a < basis->n; a++)
		for (int c = 0; c < LANES; c++) {
			x[a * LANES + c] = child[c] ? child[c][a] * basis->half[a] : 0;
			sum[a * LANES + c] = 0;
		}
	for (int a = 0; a < basis->n; a++)
		for (int b = 0; b < nb_fmm_partners(basis, basis->degree[a], basis->order); b++)
			for (int c = 0; c < LANES; c += VEC) {
				double *s = sum + basis->sum[basis->first[a] + b] * LANES + c;
				const F(vec) v = F(load)(s) +
						 F(load)(x + a * LANES + c) * F(load)(basis->back + b * LANES + c);
				memcpy(s, &v, sizeof v);
			}
	for (int a = 0; a < basis->n; a++) {
		m[a] = 0;
		for (int c = 0; c < LANES; c++)
			m[a] += sum[a * LANES + c];
	}
}

static void F(l2l)(const struct nb_fmm_basis *basis, const double *l, double *local)
{
	for (int a = 0; a < basis->n; a++)
		for (int c = 0; c < LANES; c += VEC) {
			const uint16_t *sum = basis->sum + basis->first[a];
			const int many = nb_fmm_partners(basis, basis->degree[a], basis->order);
			F(vec) v = {0};
			for (int b = 0; b < many; b++)
				v += F(load)(basis->shift + b * LANES + c) * l[sum[b]];
			v *= 0.5 * basis->half[a]; /* as 1 / edge is twice as large */
			memcpy(local + a * LANES + c, &v, sizeof v);
		}
}

/* For one number of pairs, so that their sums stay in registers. */
static NB_HD void F(m2l_of)(const struct nb_fmm_basis *basis, int total, const double *tensor, const int pairs,
	const double *const *source, double *const *local)
{
	for (int c = 0; c < LANES; c += VEC)
		for (int a = 0; a < basis->n; a++) {
			const uint16_t *sum = basis->sum + basis->first[a];
			const int many = nb_fmm_partners(basis, basis->degree[a], total);
			F(vec) v[8];
			for (int k = 0; k < pairs; k++)
				v[k] = F(load)(local[k] + a * LANES + c);
			for (int b = 0; b < many; b++) {
				const F(vec) t = F(load)(tensor + sum[b] * LANES + c);
				for (int k = 0; k < pairs; k++)
					v[k] += t * source[k][b];
			}
			for (int k = 0; k < pairs; k++)
				memcpy(local[k] + a * LANES + c, &v[k], sizeof v[k]);
		}
}

static void F(m2l)(const struct nb_fmm_basis *basis, int total, const double *tensor, int pairs,
	const double *const *source, double *const *local)
{
	switch (pairs) {
	case 1: F(m2l_of)(basis, total, tensor, 1, source, local); break;
	case 2: F(m2l_of)(basis, total, tensor, 2, source, local); break;
	case 4: F(m2l_of)(basis, total, tensor, 4, source, local); break;
	case 8: F(m2l_of)(basis, total, tensor, 8, source, local); break;
	}
}

#undef F
#undef PASTE
#undef PASTE2
#undef NAME
#undef LANES
#undef VEC
