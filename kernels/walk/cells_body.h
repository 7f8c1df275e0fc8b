/* cells_body.h - a part of walk_body.h: cells act on a cell: M2L into T(level).c, L2L to the children, and L2P and M2P
 * at the bodies of a group. */

/* The next vector of cells, in target units. */
static NB_HD V T(cell)(const struct T(cells) * cells, size_t j, int quad, V x[3], V q[6])
{
	for (int d = 0; d < 3; d++)
		x[d] = LOAD(&cells->x[d][j]);
	for (int k = 0; k < 6; k++)
		q[k] = quad ? LOAD(&cells->m[1 + k][j]) : (V){};
	return LOAD(&cells->m[0][j]);
}

/* Velocities of these cells relative to the root, and the time derivatives p of q. */
static NB_HD void T(cell_motion)(const struct T(cells) * cells, size_t j, int quad, V v[3], V p[6])
{
	for (int d = 0; d < 3; d++)
		v[d] = LOAD(&cells->m[NB_WALK_VELOCITY + d][j]);
	for (int k = 0; k < 6; k++)
		p[k] = quad ? LOAD(&cells->m[NB_WALK_QUAD_RATE + k][j]) : (V){};
}

/* The power of the unit of length that moment q has. */
static NB_HD int T(degree)(int q, int folded)
{
	if (q == 0 || (JERK && q >= NB_WALK_VELOCITY && q < NB_WALK_QUAD_RATE))
		return 0;
	if (HIGH)
		return q < (folded ? NB_FOLDED_THIRD : NB_HIGH_THIRD)	  ? 2
		       : q < (folded ? NB_FOLDED_FOURTH : NB_HIGH_FOURTH) ? 3
									  : 4;
	return q < NB_WALK_VELOCITY ? 2 : 1;
}

/* Gives the cells their moments, in target units, and fills up the last vector with cells of no mass.  The rows of W
 * cells become columns by interleaving row i with row i + W / 2, log2(W) times. */
static NB_HD void T(cells_close_as)(struct T(cells) * cells, const struct nb_walk_plan *plan, int folded)
{
	enum { HALF = NB_VECTOR / sizeof(S) / 2 };
	const int count = folded ? FOLDED : MOMENTS;
	const size_t stride = NB_WALK_STRIDE(count);
	const S *moment = plan->moment;
	VI low, high;
	for (int l = 0; l < HALF; l++) {
		low[2 * l] = l, low[2 * l + 1] = l + 2 * HALF;
		high[2 * l] = l + HALF, high[2 * l + 1] = l + 3 * HALF;
	}
	for (size_t j = cells->n; j % W; j++) {
		for (int d = 0; d < 3; d++)
			cells->x[d][j] = 1;
		cells->at[j] = 0;
	}
	for (size_t j = 0; j < cells->n; j += W) {
		const V unit = LOAD(&cells->unit[j]), unit2 = unit * unit;
		const V power[5] = {(V){} + 1, unit, unit2, unit2 * unit, unit2 * unit2};
		for (int q = 0; q < count; q += 2 * HALF) {
			V row[2 * HALF], next[2 * HALF];
#pragma GCC unroll 16
			for (int l = 0; l < 2 * HALF; l++)
				memcpy(&row[l], moment + cells->at[j + (size_t)l] * stride + q, sizeof row[l]);
#pragma GCC unroll 4
			for (int done = 1; done < 2 * HALF; done *= 2) {
#pragma GCC unroll 8
				for (int l = 0; l < HALF; l++) {
					next[2 * l] = __builtin_shuffle(row[l], row[l + HALF], low);
					next[2 * l + 1] = __builtin_shuffle(row[l], row[l + HALF], high);
				}
#pragma GCC unroll 16
				for (int l = 0; l < 2 * HALF; l++)
					row[l] = next[l];
			}
#pragma GCC unroll 16
			for (int l = 0; l < 2 * HALF; l++)
				if (q + l < count)
					*(V *)&cells->m[q + l][j] = row[l] * power[T(degree)(q + l, folded)];
		}
	}
	for (size_t j = cells->n; j % W; j++)
		for (int q = 0; q < count; q++)
			cells->m[q][j] = 0;
}

static void T(cells_close)(struct T(cells) * cells, const struct nb_walk_plan *plan)
{
	if (plan->folded)
		T(cells_close_as)(cells, plan, HIGH > 0);
	else
		T(cells_close_as)(cells, plan, 0);
}

/* eps^2 of all pairs that cells take part in; a spline is Newton's there. */
static NB_HD S T(cell_eps2)(const struct nb_walk_plan *plan, const struct T(level) * lv)
{
	return EPS2(plan->law == NB_LAW_COMMON ? plan->g->eps * lv->scale : 0);
}

#if HIGH
/* Lets the far cells act on the expansion by folded moments. */
static APART void T(far_act_folded)(struct T(walker) * w)
{
	T(cells_close)(&w->far, w->plan);
	for (size_t j = 0; j < w->far.n; j += W) {
		V x[3], a[NB_FOLDED_TERMS], b[NB_FOLDED_SUMS], m[FOLDED];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->far.x[d][j]);
		for (int k = 0; k < FOLDED; k++)
			m[k] = LOAD(&w->far.m[k][j]) * (S)folded_weight[k];
		V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], (V){} + (S)FLOOR));
		if (HIGH == 3) {
			F(nb_harmonic_tensor_3)(x[0], x[1], x[2], rinv, a, b);
			F(nb_harmonic_m2l_3)(a, b, m, w->sum);
		} else {
			F(nb_harmonic_tensor_4)(x[0], x[1], x[2], rinv, a, b);
			F(nb_harmonic_m2l_4)(a, b, m, w->sum);
		}
	}
	w->count.m2l += w->counts ? w->far.n : 0;
	w->far.n = 0;
}

/* Lets the far cells act on the expansion.  each: with eps2 of their own */
static NB_HD void T(far_act_order)(struct T(walker) * w, const struct T(level) * lv, int quad, int each)
{
	const S eps2 = T(cell_eps2)(w->plan, lv);
	(void)quad;
	T(cells_close)(&w->far, w->plan);
	for (size_t j = 0; j < w->far.n; j += W) {
		enum { POWERS = HIGH == 3 ? NB_HIGH_POWERS - 15 : NB_HIGH_POWERS };
		V x[3], a[TERMS], m[POWERS];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->far.x[d][j]);
		for (int k = 0; k < POWERS; k++)
			m[k] = k >= 1 && k < 4 ? (V){} : LOAD(&w->far.m[k < 1 ? 0 : k - 3][j]) * (S)high_weight[k];
		V soft = each ? LOAD(&w->far_eps2[j]) + eps2 : (V){} + eps2;
		V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], soft));
		if (HIGH == 3) {
			F(nb_tensor_3)(x[0], x[1], x[2], rinv, a);
			F(nb_m2l_3)(a, m, w->sum);
		} else {
			F(nb_tensor_4)(x[0], x[1], x[2], rinv, a);
			F(nb_m2l_4)(a, m, w->sum);
		}
	}
	w->count.m2l += w->counts ? w->far.n : 0;
	w->far.n = 0;
}
#else
/* Lets the far cells act on the expansion.  each: with eps2 of their own */
static NB_HD void T(far_act_order)(struct T(walker) * w, const struct T(level) * lv, int quad, int each)
{
	const S eps2 = T(cell_eps2)(w->plan, lv);
	T(cells_close)(&w->far, w->plan);
	V sum[TERMS], rate[JERK_ROWS(TERMS)]; /* copies, of which the compiler may keep parts in registers */
	memcpy(sum, w->sum, sizeof sum);
	memcpy(rate, w->rate, sizeof rate);
	for (size_t j = 0; j < w->far.n; j += W) {
		V x[3], q[6], a[NB_TAYLOR], m = T(cell)(&w->far, j, quad, x, q);
		V soft = each ? LOAD(&w->far_eps2[j]) + eps2 : (V){} + eps2;
		V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], soft));
		F(nb_derivatives)(x[0], x[1], x[2], rinv, a);
		F(nb_m2l)(quad, a, m, q, sum);
		if (JERK) {
			V v[3], p[6];
			T(cell_motion)(&w->far, j, quad, v, p);
			for (int d = 0; d < 3; d++)
				v[d] = lv->frame[d] - v[d];
			F(nb_m2l_rate)(quad, a, v[0], v[1], v[2], m, q, p, rate);
		}
	}
	memcpy(w->sum, sum, sizeof sum);
	memcpy(w->rate, rate, sizeof rate);
	w->count.m2l += w->counts ? w->far.n : 0;
	w->far.n = 0;
}
#endif

static APART void T(far_act_each)(struct T(walker) * w, const struct T(level) * lv)
{
	for (size_t j = w->far.n; j % W; j++)
		w->far_eps2[j] = 0;
	w->plan->order > 1 ? T(far_act_order)(w, lv, 1, 1) : T(far_act_order)(w, lv, 0, 1);
}

static void T(far_act)(struct T(walker) * w, const struct T(level) * lv)
{
#if HIGH
	if (w->far.n && w->plan->folded) {
		T(far_act_folded)(w);
		return;
	}
#endif
	if (w->far.n && w->plan->law == NB_LAW_PLUMMER)
		T(far_act_each)(w, lv);
	else if (w->far.n)
		w->plan->order > 1 ? T(far_act_order)(w, lv, 1, 0) : T(far_act_order)(w, lv, 0, 0);
}

/* Lets the near cells act on each target.  each: with softenings of their own; folded: by folded moments */
static NB_HD void T(near_act_order)(struct T(walker) * w, const struct T(level) * lv, int quad, int each, int folded)
{
	const S eps2 = T(cell_eps2)(w->plan, lv);
	T(cells_close)(&w->near, w->plan);
	for (size_t i = 0; i < w->ntarget; i++) {
		S at[3], moves[3] = {};
		for (int d = 0; d < 3; d++) {
			at[d] = w->target[d][i] - T(centre)(lv, d);
			if (JERK)
				moves[d] = w->target_v[d][i] + lv->frame[d];
		}
		V acc[3] = {}, jerk[3] = {}, phi = {};
		for (size_t j = 0; j < w->near.n; j += W) {
			V x[3], q[6], m = T(cell)(&w->near, j, quad, x, q);
			for (int d = 0; d < 3; d++)
				x[d] = -at[d] - x[d];
			V soft = (V){} + (each ? w->target_soft[i] : eps2);
			if (each)
				soft = F(nb_choose)(LOAD(&w->near_eps2[j]) > soft, LOAD(&w->near_eps2[j]), soft);
			V rinv = F(nb_rsqrt)(F(nb_pair_r2)(x[0], x[1], x[2], soft));
			V all[MOMENTS];
			for (int k = 0; HIGH && k < (folded ? FOLDED : MOMENTS); k++)
				all[k] = LOAD(&w->near.m[k][j]);
			if (folded) {
				F(nb_m2p_folded)
				(HIGH, x[0], x[1], x[2], rinv, all, &acc[0], &acc[1], &acc[2], &phi);
			} else if (HIGH) {
				F(nb_m2p_high)(HIGH, x[0], x[1], x[2], rinv, all, &acc[0], &acc[1], &acc[2], &phi);
			} else if (JERK) {
				V v[3], p[6];
				T(cell_motion)(&w->near, j, quad, v, p);
				for (int d = 0; d < 3; d++)
					v[d] -= moves[d];
				F(nb_m2p_jerk)
				(quad, x[0], x[1], x[2], v[0], v[1], v[2], rinv, m, q, p, acc, &phi, jerk);
			} else {
				F(nb_m2p)(quad, x[0], x[1], x[2], rinv, m, q, &acc[0], &acc[1], &acc[2], &phi);
			}
		}
		for (int d = 0; d < 3; d++) {
			w->acc[d][i] += F(nb_sum)(acc[d]);
			if (JERK)
				w->jerk[d][i] += F(nb_sum)(jerk[d]);
		}
		w->phi[i] += F(nb_sum)(phi);
	}
	w->count.m2p += w->near.n * w->ntarget;
	w->near.n = 0;
}

static APART void T(near_act_each)(struct T(walker) * w, const struct T(level) * lv)
{
	for (size_t j = w->near.n; j % W; j++)
		w->near_eps2[j] = 0;
	w->plan->order > 1 ? T(near_act_order)(w, lv, 1, 1, 0) : T(near_act_order)(w, lv, 0, 1, 0);
}

static void T(near_act)(struct T(walker) * w, const struct T(level) * lv)
{
	if (w->near.n && w->plan->law == NB_LAW_PLUMMER)
		T(near_act_each)(w, lv);
	else if (w->near.n && HIGH)
		w->plan->folded ? T(near_act_order)(w, lv, 1, 0, 1) : T(near_act_order)(w, lv, 1, 0, 0);
	else if (w->near.n)
		w->plan->order > 1 ? T(near_act_order)(w, lv, 1, 0, 0) : T(near_act_order)(w, lv, 0, 0, 0);
}

/* Adds the lanes of a family that are in mask; unit: target units in the family's length. */
static NB_HD void T(cells_add)(struct T(cells) * cells, uint32_t mask, const v8d *x, size_t family, float unit)
{
	const v8i lane = {0, 1, 2, 3, 4, 5, 6, 7};
	const V8 units = (V8){} + unit;
	const size_t n = cells->n;
	for (int d = 0; d < 3; d++)
		PACK(&cells->x[d][n], mask, TO_V8(x[d]));
	memcpy(&cells->unit[n], &units, sizeof units);
	pack_u32(&cells->at[n], mask, lane + (int32_t)(family * NB_FAMILY));
	cells->n = n + (size_t)__builtin_popcount(mask);
}

static void T(clear)(struct T(walker) * w)
{
	for (int q = 0; q < TERMS; q++)
		w->sum[q] = (V){};
	for (int q = 0; JERK && q < TERMS; q++)
		w->rate[q] = (V){};
}

/* Adds the sums of the M2L to the expansion c.  folded: only those of degree 0 or 1 in z are there */
static void T(collect)(const V *sum, int folded, S *c)
{
	S all[TERMS];
	for (int k = 0; k <= ORDER; k++)
		for (int j = 0; j + k <= ORDER; j++)
			for (int i = 0; i + j + k <= ORDER; i++) {
				int at = ROW(k, j) + i;
				S factor = (S)(inverse_factorial[i] * inverse_factorial[j] * inverse_factorial[k]);
				all[at] = folded && k > 1 ? -(all[ROW(k - 2, j) + i + 2] + all[ROW(k - 2, j + 2) + i])
							  : F(nb_sum)(sum[at]);
				c[at] += factor * all[at];
			}
}

/* Coefficients of the derivatives of c by x, y, z, which are of fourth order. */
static NB_HD void T(gradient)(const S *c, S g[3][TERMS])
{
	for (int k = 0; k < ORDER; k++)
		for (int j = 0; j + k < ORDER; j++)
			for (int i = 0; i + j + k < ORDER; i++) {
				const int at = ROW(k, j) + i;
				g[0][at] = (S)(i + 1) * c[at + 1];
				g[1][at] = (S)(j + 1) * c[ROW(k, j + 1) + i];
				g[2][at] = (S)(k + 1) * c[ROW(k + 1, j) + i];
			}
}

/* The expansions c of eight children (L2L), until now about the parent's centre, about those that are d away: a Taylor
 * shift by repeated synthetic division, one axis after the other. Then from the parent's units to the child's, ratio;
 * unit is that of the value. */
static void T(shift)(V8 *c, V8 dx, V8 dy, V8 dz, V8 ratio, V8 unit)
{
	enum { N = ORDER };
	for (int k = 0; k <= N; k++)
		for (int j = 0; j + k <= N; j++) {
			V8 *row = c + ROW(k, j);
			for (int s = 0; s < N - j - k; s++)
				for (int t = N - j - k - 1; t >= s; t--)
					row[t] += dx * row[t + 1];
		}
	for (int k = 0; k <= N; k++)
		for (int i = 0; i + k <= N; i++)
			for (int s = 0; s < N - i - k; s++)
				for (int t = N - i - k - 1; t >= s; t--)
					c[ROW(k, t) + i] += dy * c[ROW(k, t + 1) + i];
	for (int j = 0; j <= N; j++)
		for (int i = 0; i + j <= N; i++)
			for (int s = 0; s < N - i - j; s++)
				for (int t = N - i - j - 1; t >= s; t--)
					c[ROW(t, j) + i] += dz * c[ROW(t + 1, j) + i];
	V8 power[N + 1];
	power[0] = unit;
	for (int n = 1; n <= N; n++)
		power[n] = power[n - 1] * ratio;
	for (int k = 0; k <= N; k++)
		for (int j = 0; j + k <= N; j++)
			for (int i = 0; i + j + k <= N; i++)
				c[ROW(k, j) + i] *= power[i + j + k];
}

/* Value and gradient of an expansion of order N at x, by Horner's rule in x, y and z. */
static NB_HD void T(horner)(int N, const S *c, const V *x, V *value, V *grad)
{
	V f = {}, fx = {}, fy = {}, fz = {};
	for (int k = N; k >= 0; k--) {
		V g = {}, gx = {}, gy = {};
		for (int j = N - k; j >= 0; j--) {
			const S *row = c + ROW(k, j);
			V h = {}, hx = {};
			for (int i = N - k - j; i >= 0; i--) {
				hx = hx * x[0] + h;
				h = h * x[0] + row[i];
			}
			gy = gy * x[1] + g;
			g = g * x[1] + h;
			gx = gx * x[1] + hx;
		}
		fz = fz * x[2] + f;
		f = f * x[2] + g;
		fx = fx * x[2] + gx;
		fy = fy * x[2] + gy;
	}
	*value = f;
	grad[0] = fx;
	grad[1] = fy;
	grad[2] = fz;
}

/* Lets the expansion act on the targets (L2P): potential and acceleration. */
static void T(evaluate)(struct T(walker) * w, const struct T(level) * lv, const S *c)
{
	for (size_t at = 0; at < w->ntarget; at += W) {
		V x[3], f, grad[3];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->target[d][at]) - T(centre)(lv, d);
		T(horner)(ORDER, c, x, &f, grad);
		for (int d = 0; d < 3; d++)
			*(V *)&w->acc[d][at] += grad[d];
		*(V *)&w->phi[at] += f;
	}
}

/* The same of the jerk: the gradient of the expansion's time derivative, and what the target finds where it goes. */
static void T(evaluate_jerk)(struct T(walker) * w, const struct T(level) * lv, const S *c, const S *rate)
{
	enum { N = ORDER - 1 };
	S g[3][TERMS];
	T(gradient)(c, g);
	for (size_t at = 0; at < w->ntarget; at += W) {
		V x[3], f, jerk[3];
		for (int d = 0; d < 3; d++)
			x[d] = LOAD(&w->target[d][at]) - T(centre)(lv, d);
		T(horner)(N, rate, x, &f, jerk);
		for (int d = 0; d < 3; d++) {
			V second[3], v = LOAD(&w->target_v[d][at]);
			T(horner)(N, g[d], x, &f, second);
			for (int e = 0; e < 3; e++)
				jerk[e] += v * second[e];
		}
		for (int d = 0; d < 3; d++)
			*(V *)&w->jerk[d][at] += jerk[d];
	}
}
