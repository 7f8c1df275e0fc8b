/* resolve_body.h - a part of walk_body.h: the opening test, and how it deals out the sources of a target. */

/* Separation of the target from eight sources, and the quantities that decide. */
struct T(test) {
	v8d x[3];  /* target - source, in target units */
	v8f d2, u; /* its square; with eps^2 */
	v8f size2; /* (radius + reach)^2 */
	v8f m;
	v8f radius;
	float unit; /* target units in the family's length */
	/* where pairs are not softened alike.  Plummer: eps^2 of the cell, and of a pair through the expansion; by how
	 * much that of some pairs may be off, on bodies and on the cell; and how eps^2 is spread in the source, as a
	 * variance, where only that makes an error */
	v8d own, pair;
	v8f off_bodies, off_cell, spread_bodies, spread_cell;
	v8f support; /* spline: the largest of a pair */
	v8f weak;    /* u for the target that feels the source least */
};

/* Lanes in which the softening of some target is between those of the source. */
static NB_HD v8l T(between)(const struct T(level) * lv, v8d least, v8d largest)
{
	v8l between = {};
	if (lv->nkind > KINDS)
		return (least < lv->eps[NB_SOFT_LARGEST]) & (largest > lv->eps[NB_SOFT_LEAST]);
	for (int k = 0; k < lv->nkind; k++)
		between |= (least < lv->kind[k]) & (largest > lv->kind[k]);
	return between;
}

/* Of pairs of the target's bodies and those of each of eight sources.  A pair has the larger softening.  So a source
 * acts with its mean eps^2 on targets that are softened less than all of it, but for the spread; without error on those
 * that are softened more; and on those between with an error of first order. */
static NB_HD void T(measure_soft)(
	const struct nb_walk_plan *plan, size_t family, const struct T(level) * lv, struct T(test) * t)
{
	const struct nb_family_soft *f = &plan->family_soft[family];
	const v8d least = *(const v8d *)f->eps[NB_SOFT_LEAST], largest = *(const v8d *)f->eps[NB_SOFT_LARGEST];
	const double scale = lv->scale;
	t->weak = t->d2 +
		  __builtin_convertvector(
			  square(larger(*(const v8d *)f->eps[NB_SOFT_MEAN], lv->eps[NB_SOFT_LARGEST]) * scale), v8f);
	if (plan->law == NB_LAW_SPLINE) {
		const v8d eps = larger(largest, lv->eps[NB_SOFT_LARGEST]) * (NB_SPLINE_SUPPORT * (1 + 0x1p-20) * scale);
		t->support = __builtin_convertvector(eps, v8f);
		return;
	}
	const v8d low = square(least * scale), high = square(largest * scale);
	const double target_low = lv->eps[NB_SOFT_LEAST] * scale, target_mean = lv->eps[NB_SOFT_MEAN] * scale,
		     target_high = lv->eps[NB_SOFT_LARGEST] * scale;
	const v8d pair_low = larger(low, target_low * target_low);
	t->own = square(*(const v8d *)f->eps[NB_SOFT_MEAN] * scale);
	t->pair = larger(t->own, target_mean * target_mean);
	t->u = t->d2 + __builtin_convertvector(pair_low, v8f);
	const v8f spread = __builtin_convertvector((high - t->own) * (t->own - low), v8f); /* Bhatia & Davis 2000 */

	const v8d on_softest = larger(t->own, target_low * target_low);
	const v8d off_bodies = larger_v(larger(high, target_low * target_low) - on_softest, on_softest - pair_low);
	const v8i between = __builtin_convertvector(T(between)(lv, least, largest), v8i);
	const v8i softer = __builtin_convertvector((v8l)(largest > lv->eps[NB_SOFT_LEAST]), v8i);
	t->off_bodies = (v8f)((v8i) __builtin_convertvector(off_bodies, v8f) & between);
	t->spread_bodies = (v8f)((v8i)spread & softer & ~between);

	const v8d off_cell = larger_v(larger(high, target_high * target_high) - t->pair, t->pair - pair_low);
	const v8i below_all = __builtin_convertvector((v8l)(least >= lv->eps[NB_SOFT_LARGEST]), v8i);
	t->off_cell = (v8f)((v8i) __builtin_convertvector(off_cell, v8f) & ~below_all);
	t->spread_cell = (v8f)((v8i)spread & below_all);
}

/* Estimated error of that. */
static NB_HD v8f T(soft_error)(const struct nb_walk_plan *plan, const struct T(test) * t, v8f off, v8f spread, v8f inv)
{
	const v8f spread2 = spread * (inv * inv);
	return t->m * inv *
	       (plan->soft_weight * (1.5f * off * inv + 1.875f * spread2) +
		       3 * square_root(t->radius * t->radius * inv * spread2));
}

/* soft: with softenings of their own */
static NB_HD struct T(test)
	T(measure)(const struct nb_walk_plan *plan, size_t family, const struct T(level) * lv, float eps2, int soft)
{
	const struct nb_family *f = &plan->family[family];
	struct T(test) t;
	v8f x[3];
	for (int d = 0; d < 3; d++) {
		t.x[d] = (lv->centre[d] - *(const v8d *)f->x[d]) * lv->scale;
		x[d] = __builtin_convertvector(t.x[d], v8f);
	}
	t.d2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
	t.u = t.d2 + eps2;
	t.unit = (float)(lv->scale * f->length);
	t.radius = *(const v8f *)f->radius * t.unit;
	v8f size = t.radius + lv->reach;
	t.size2 = size * size;
	t.m = *(const v8f *)f->mass;
	if (soft)
		T(measure_soft)(plan, family, lv, &t);
	return t;
}

/* Sums a field strength over the source cells that are still to be resolved: m / r^2, each as if spread over
 * its size and the target's. */
static NB_HD float T(strength)(const struct T(walker) * w, const struct T(level) * lv, float eps2, int soft)
{
	v8f sum = {};
	for (size_t e = lv->begin; e < lv->end; e++) {
		struct run r = w->entry.at[e];
		struct T(test) t = T(measure)(w->plan, r.family, lv, eps2, soft);
		sum += only(r.mask, t.m / ((soft ? t.weak : t.u) + 0.5f * t.size2 + 0x1p-60f));
	}
	float total = 0;
	for (int k = 0; k < 8; k++)
		total += sum[k];
	return total;
}

static APART float T(strength_soft)(const struct T(walker) * w, const struct T(level) * lv)
{
	return T(strength)(w, lv, 0, 1);
}

/* Resolves the target's sources: accepted cells go to w->far (and those that may act on bodies to w->near), and act
 * whenever it is full; of the others, cells larger than the target are opened; the rest goes to the children's
 * entries, or, where the target is a group, the leaves to w->leaf. Branches here are unpredictable, hence the
 * packing of lanes; opened cells wait in a queue, so that what is tested next does not hang on the test before.
 *   small   the group has so few bodies that cells act on each of them only
 *   self    the group may act on itself as a cell
 *   soft    not NB_LAW_COMMON */
static NB_HD int T(resolve)(struct T(walker) * w, struct T(level) * lv, int group, int small, int self, int soft)
{
	const struct nb_walk_plan *plan = w->plan;
	const size_t first = plan->target->first[lv->node], count = plan->target->count[lv->node];
	const int plummer = soft && plan->law == NB_LAW_PLUMMER, spline = soft && !plummer;
	const float eps = soft ? 0 : (float)(plan->g->eps * lv->scale), eps2 = eps * eps;
	const v8f limit = (v8f){} + lv->limit, reach = (v8f){} + lv->reach;
	/* closer than this (in f32, powers of the distance would overflow) only bodies act */
	const v8f least = (v8f){} + LEAST;
	v8f field = {};
	for (size_t e = lv->begin, next = 0; e < lv->end || next < w->open.n;) {
		struct run r;
		v8f enclosing = {};
		if (e < lv->end) {
			r = w->entry.at[e++];
			enclosing = *(const v8f *)plan->family[r.family].mass;
		} else {
			r = (struct run){w->open.at[next], 0xff};
			enclosing += w->open.enclosing[next++];
		}
		const struct nb_family *f = &plan->family[r.family];
		struct T(test) t = T(measure)(plan, r.family, lv, eps2, soft);
		v8f inv = 1.0f / t.u;
		uint32_t mask = r.mask & below((v8f){}, t.m), take = 0;
		/* of a family so much larger than the target, terms with its moments would overflow */
		uint32_t measurable = t.unit < MOST_UNIT ? 0xff : 0;
		if (plan->deep) /* leaves so far are for T(remote_act) */
			measurable &= below(t.u, (v8f){} + (float)(REMOTE * REMOTE));
		if (!small && measurable) {
			v8f error = nb_mac_on_cell_v8f(HIGH, t.m, enclosing, t.size2, reach * reach, inv);
			if (plummer)
				error += T(soft_error)(plan, &t, t.off_cell, t.spread_cell, inv);
			take = mask & measurable & below(t.size2, t.u) & below(least, t.u) & below(error, limit);
			if (spline)
				take &= below(t.radius + lv->reach + t.support, square_root(t.d2));
			/* softening lets cells be taken that overlap the target: those that share bodies with it must
			 * not */
			for (uint32_t shares = take & ~below(t.size2, t.d2); shares && !plan->apart;
				shares &= shares - 1) {
				int b = __builtin_ctz(shares);
				int is_self = r.family == lv->family && (uint32_t)b == lv->lane;
				if (f->first[b] < first + count && first < (size_t)f->first[b] + f->count[b] &&
					!(self && is_self))
					take &= ~(1u << b);
			}
			if (take && !plan->wanted) {
				if (plummer)
					PACK(&w->far_eps2[w->far.n], take, TO_V8(t.pair));
				T(cells_add)(&w->far, take, t.x, r.family, t.unit);
				if (w->far.n > LIST - NB_FAMILY)
					T(far_act)(w, lv);
			}
			if (take && !group)
				field += only(take, soft ? t.m / t.weak : t.m * inv);
		}
		uint32_t rest = mask & ~take, close = 0;
		if (group) {
			/* as seen from the nearest place that a target may be at */
			v8f away = square_root(t.d2) - reach,
			    away2 = away * away + (plummer ? t.u - t.d2 : (v8f){} + eps2);
			v8f error = nb_mac_on_body_v8f(HIGH, t.m, t.radius * t.radius, 1.0f / away2);
			if (plummer)
				error += T(soft_error)(plan, &t, t.off_bodies, t.spread_bodies, 1.0f / away2);
			uint32_t act = rest & measurable & below(t.u * (t.unit * t.unit), (v8f){} + MOST_ACT2) &
				       below(t.radius, away) & below(least, away2) &
				       above(f->count, HIGH > 3 ? FEW_4 : FEW) & below(error, limit);
			if (spline)
				act &= below(t.radius + t.support, away);
			rest &= ~act;
			if (act && !plan->wanted) {
				if (plummer)
					PACK(&w->near_eps2[w->near.n], act, TO_V8(t.own));
				T(cells_add)(&w->near, act, t.x, r.family, t.unit);
				if (w->near.n > LIST - NB_FAMILY)
					T(near_act)(w, lv);
			}
			close = w->fine ? ~below(t.radius + CLOSE * reach, away) : 0;
		}
		const uint32_t may = group ? rest : rest & below(reach, t.radius), open = may & above(f->inner, 0);
		rest &= ~open;
		if (plan->wanted)
			rest &= ~miss(plan, r.family, may);
		if (list_reserve(&w->open) || (group ? list_reserve(&w->leaf) || list_reserve(&w->close)
						     : runs_reserve(&w->entry, w->entry.n + 1)))
			return NB_ENOMEM;
		pack_u32(w->open.at + w->open.n, open, *(const v8i *)f->inner);
		pack_v8f(w->open.enclosing + w->open.n, open, enclosing);
		w->open.n += (size_t)__builtin_popcount(open);
		if (group) {
			const v8i lane = {0, 1, 2, 3, 4, 5, 6, 7};
			const v8i leaf = lane + (int32_t)(r.family * NB_FAMILY);
			list_add(&w->close, rest & close, leaf);
			list_add(&w->leaf, rest & ~close, leaf);
		} else {
			w->entry.at[w->entry.n] = (struct run){r.family, rest};
			w->entry.n += rest != 0;
		}
	}
	w->open.n = 0;
	for (int k = 0; k < 8; k++)
		lv->far += field[k];
	return NB_OK;
}

/* For other laws than the common one. */
static APART int T(resolve_soft)(struct T(walker) * w, struct T(level) * lv, int group, int small, int self)
{
	return !group  ? T(resolve)(w, lv, 0, 0, 0, 1)
	       : small ? T(resolve)(w, lv, 1, 1, 0, 1)
		       : T(resolve)(w, lv, 1, 0, self, 1);
}
