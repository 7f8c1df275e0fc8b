/* group_body.h - a part of walk_body.h: the bodies of a group as targets, and their rows of the results. */

/* Makes n bodies from first on the targets. */
static void T(targets)(struct T(walker) * w, const struct T(level) * lv, size_t first, size_t n)
{
	w->target_first = first;
	w->ntarget = n;
	S *const x[3] = {w->target[0], w->target[1], w->target[2]};
	S *const low[3] = {w->target_low[0], w->target_low[1], w->target_low[2]};
	S *const v[3] = {w->target_v[0], w->target_v[1], w->target_v[2]};
	T(positions)(w, w->plan->at, lv, first, n, x, low);
	if (JERK)
		T(velocities)(w, lv, first, n, v);
	if (w->plan->law != NB_LAW_COMMON)
		T(softs)(w->plan->at, lv, first, n, w->target_soft);
	for (int d = 0; d < 3; d++) {
		/* targets are taken in pairs */
		w->target[d][n] = w->target[d][n - 1];
		w->target_low[d][n] = w->target_low[d][n - 1];
		memset(w->acc[d], 0, (n + 1) * sizeof(S));
		if (JERK) {
			w->target_v[d][n] = w->target_v[d][n - 1];
			memset(w->jerk[d], 0, (n + 1) * sizeof(S));
		}
	}
	memset(w->phi, 0, (n + 1) * sizeof(S));
}

/* Writes acceleration and potential of target k, to which phi belongs too, to the row of body `to`. */
static NB_HD void T(row)(const struct T(walker) * w, const struct T(level) * lv, size_t to, size_t k, double phi)
{
	const struct nb_gravity *g = w->plan->at;
	const double pot_unit = g->G * lv->scale / w->plan->mass;
	to = w->plan->row ? w->plan->row[to] : to;
	for (int d = 0; d < 3; d++)
		g->acc[3 * to + (size_t)d] = (double)w->acc[d][k] * lv->scale * pot_unit + w->remote[d] * g->G;
	if (g->pot)
		g->pot[to] = -((double)w->phi[k] + phi) * pot_unit - w->remote[3] * g->G;
}

/* Writes the jerk of target k; with what softened bodies in the same place do to each other.
 *   inverse_eps  1 / their softening in target units, or 0 where there are none */
static NB_HD void T(row_jerk)(
	const struct T(walker) * w, const struct T(level) * lv, size_t to, size_t k, double inverse_eps)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_gravity *g = plan->g;
	const double unit = g->G * lv->scale / plan->mass * lv->scale / plan->speed * lv->scale;
	const double middle = plan->law == NB_LAW_SPLINE ? nb_spline_inner_acc_f64(0) / SUPPORT3 : 1;
	const double weight = plan->tree->mass[lv->node] * plan->mass * middle *
			      (inverse_eps * inverse_eps * inverse_eps);
	for (int d = 0; d < 3; d++) {
		double jerk = (double)w->jerk[d][k];
		if (inverse_eps > 0) /* their velocities are relative to the mean */
			jerk -= weight * (double)w->target_v[d][k];
		g->jerk[3 * to + (size_t)d] = jerk * unit + w->remote[4 + d] * g->G;
	}
}

/* Finds the softenings of a group's bodies. */
static APART void T(find_kinds)(const struct nb_walk_plan *plan, struct T(level) * lv)
{
	const size_t first = plan->target->first[lv->node], count = plan->target->count[lv->node];
	lv->nkind = 0;
	for (size_t b = first; b < first + count && lv->nkind <= KINDS; b++) {
		const double eps = plan->at->body_eps ? plan->at->body_eps[b] : plan->at->eps;
		int k = 0;
		while (k < lv->nkind && lv->kind[k] != eps)
			k++;
		if (k == lv->nkind && lv->nkind++ < KINDS)
			lv->kind[k] = eps;
	}
}

/* Resolves the sources of a group. */
static NB_HD int T(find_sources)(struct T(walker) * w, struct T(level) * lv, int small, int self)
{
	return w->plan->law != NB_LAW_COMMON ? T(resolve_soft)(w, lv, 1, small, self)
	       : small			     ? T(resolve)(w, lv, 1, 1, 0, 0)
					     : T(resolve)(w, lv, 1, 0, self, 0);
}

/* Marks the lanes of a list as wanted. */
static void T(want)(const struct nb_walk_plan *plan, struct list *leaf)
{
	for (size_t k = 0; k < leaf->n; k++)
		__atomic_store_n(&plan->wanted[leaf->at[k]], NB_WALK_BODIES, __ATOMIC_RELAXED);
	leaf->n = 0;
}

/* Acts on the bodies of a group, and writes their rows. */
static int T(group)(struct T(walker) * w, struct T(level) * lv)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_gravity *g = plan->g;
	const size_t first = plan->target->first[lv->node], count = plan->target->count[lv->node];
	const int common = plan->law == NB_LAW_COMMON, apart = plan->apart;
	const double least_eps = common ? g->eps : lv->eps[NB_SOFT_LEAST];
	const float eps = (float)(least_eps * lv->scale);
	const int coincident = plan->reach[lv->node] == 0 && count > 1 &&
			       (common || least_eps == lv->eps[NB_SOFT_LARGEST]);
	const int fine = plan->g->precision == NB_MIXED || eps < FINE;
	/* a leaf of many bodies that are close by the measure of the softening may act on itself as a cell */
	int self = 0;
	if (count > (HIGH > 3 ? NB_WALK_GROUP_4 : NB_WALK_GROUP) && !coincident && common && !apart) {
		struct T(test) t = T(measure)(plan, lv->family, lv, eps * eps, 0);
		v8f error = nb_mac_on_cell_v8f(HIGH, t.m, t.m, t.size2, (v8f){} + lv->reach * lv->reach, 1.0f / t.u);
		self = t.size2[lv->lane] < t.u[lv->lane] && error[lv->lane] < lv->limit;
	}
	/* coincident bodies have one acceleration, but each its jerk */
	const int shared = coincident && !JERK;
	const size_t ntarget = shared ? 1 : count;
	/* A few bodies want cells to act on each of them, which may overflow where these are much closer than all
	 * others: see MOST_ACT2. */
	const int tight = HIGH && sizeof(S) < sizeof(double) && w->nlevel > 1 && lv->scale > (lv - 1)->scale * 0x1p9;
	const int small = ntarget <= NB_WALK_SMALL && !tight;
	if (plan->wanted) {
		const int status = T(find_sources)(w, lv, small, self);
		T(want)(plan, &w->close);
		T(want)(plan, &w->leaf);
		return status;
	}
	for (size_t start = 0; start < ntarget; start += TARGETS) {
		const size_t n = ntarget - start < TARGETS ? ntarget - start : TARGETS;
		w->fine = fine && sizeof(S) < sizeof(double);
		T(targets)(w, lv, first + start, n);
		T(clear)(w);
		memset(w->remote, 0, sizeof w->remote);
		if (!coincident && !self && !apart) {
			for (size_t b = first; b < first + count; b += SOURCES) {
				size_t end = b + SOURCES < first + count ? b + SOURCES : first + count;
				T(sources_act)(w, lv);
				T(gather)(w, lv, b, end);
				w->own_first = b;
				w->own = end - b;
			}
			w->count.p2p -= n;
		}
		int status = T(find_sources)(w, lv, small, self);
		if (status)
			return status;
		if (w->fine) {
			T(gather_leaves)(w, lv, &w->close);
			T(sources_act)(w, lv);
			w->fine = plan->g->precision == NB_MIXED;
		}
		T(gather_leaves)(w, lv, &w->leaf);
		T(sources_act)(w, lv);
		T(far_act)(w, lv);
		T(near_act)(w, lv);
		S c[TERMS], rate[JERK_ROWS(TERMS)];
		memcpy(c, lv->c, sizeof c);
		memcpy(rate, lv->rate, sizeof rate);
		if (!small) {
			T(collect)(w->sum, HIGH && plan->folded, c);
			if (JERK)
				T(collect)(w->rate, 0, rate);
		}
		T(evaluate)(w, lv, c);
		if (JERK)
			T(evaluate_jerk)(w, lv, c, rate);

		const double inverse_eps = 1 / (least_eps * lv->scale);
		const size_t rows = shared ? count : n;
		for (size_t k = 0; k < rows; k++) {
			const size_t to = first + start + k;
			double phi = 0;
			if (self)
				phi -= g->mass[to] * plan->mass * inverse_eps;
			if (coincident && !apart && least_eps > 0)
				phi += (plan->tree->mass[lv->node] - g->mass[to]) * plan->mass * inverse_eps;
			T(row)(w, lv, to, shared ? 0 : k, phi);
			if (JERK)
				T(row_jerk)(w, lv, to, k, coincident && least_eps > 0 ? inverse_eps : 0);
		}
	}
	w->count.groups++;
	return NB_OK;
}
