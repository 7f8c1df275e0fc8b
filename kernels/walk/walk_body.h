/* walk_body.h - the walk in one arithmetic; included by walk_simd.c for f32 and, with NB_WALK_F64
 * defined, for f64; and for both again with NB_WALK_JERK, for the walk that gives jerks too.
 *
 * Lengths in here are in target units: the caller's times a power of two that brings the target cell's
 * reach to 0.5 .. 1.  So nothing over- or underflows in f32 however deep the tree is, and a separation of cells is
 * taken in f64 before it is rounded.
 *
 * Velocities are in units of their own, relative to that of the body or node that they are compared with, or to the
 * root's; the time unit is the length unit over that of velocities.
 *
 * Plan (the algorithm is described in walk_simd.c, which this file is part of).  A thread walks down from the root to
 * its groups with a stack of T(level), one for each ancestor, and a T(walker), its own workspace.  At each level
 * T(resolve) deals out the source cells that the parent left: into the expansion (w->far), onto bodies (w->near),
 * opened (w->open), to the children (w->entry), or, in a group, as leaves (w->leaf).  Lists act when they are full.
 * Its parts, each in a file that this one includes:
 *   bodies_body.h    bodies act on bodies: columns of sources and targets, P2P
 *   cells_body.h     cells act on a cell: M2L into T(level).c, L2L to the children, L2P and M2P at a group's bodies
 *   resolve_body.h   the opening test, and T(resolve)
 *   group_body.h     T(group): the bodies of a group, and their rows
 *   walk_body.h      T(walk): up and down the levels
 *
 * What an instance of this file is made of:
 *   T(name)   name_f32 or name_f64, name_f32_jerk or name_f64_jerk with jerk: functions and types of this file
 *   JERK      1 or 0: whether it gives jerks; what only they need takes no time and no memory in the other walk
 *   F(name)   name_vf or name_vd: functions of simd.h and multipole_body.h
 *   S V VI W  a number, a vector of them and of integers, how many a vector has
 *   V8        eight numbers, one for each child of a node; PACK packs lanes of V8, TO_V8 makes one of eight doubles
 *   LOAD(p)   the vector at p, aligned
 *   CUBE      what r^-3 of simd.h is to be multiplied by
 *   EPS2      eps^2 with the floor of pair.h, FLOOR
 *   MOST_UNIT a family whose length has so many target units is opened
 *   MOST_ACT2 from this square of a family's length times its distance on, both in target units, what a cell does to
 *             bodies may overflow: moments of degree k meet the k-th power of the distance */

#if defined(NB_WALK_JERK)
#define JERK 1
#define HIGH 0
#define WITH(name, real) name##_##real##_jerk
#define MOMENTS (NB_WALK_MOMENTS + NB_WALK_MOTION)
#elif defined(NB_WALK_HIGH)
#define JERK 0
#define HIGH NB_WALK_HIGH
#define PASTE_WITH(name, real, p) name##_##real##_p##p
#define PASTE_ORDER(name, real, p) PASTE_WITH(name, real, p)
#define WITH(name, real) PASTE_ORDER(name, real, NB_WALK_HIGH)
#define MOMENTS (HIGH == 3 ? NB_HIGH_FOURTH : NB_HIGH_MOMENTS)
#else
#define JERK 0
#define HIGH 0
#define WITH(name, real) name##_##real
#define MOMENTS NB_WALK_MOMENTS
#endif
#if HIGH
#define ORDER (HIGH + NB_HIGH_EXTRA)
#define TERMS (HIGH == 3 ? NB_HIGH_TERMS_3 : NB_HIGH_TERMS_4)
#define ROW(k, j) taylor_row_high[HIGH - 3][k][j]
#define FOLDED (HIGH == 3 ? NB_FOLDED_FOURTH : NB_FOLDED_MOMENTS)
#define LEAST 0x1p-10f
#else
#define FOLDED 0
#define ORDER NB_TAYLOR_ORDER
#define TERMS NB_TAYLOR
#define ROW(k, j) taylor_row[k][j]
#define LEAST 0x1p-14f
#endif
#define JERK_ROWS(n) (JERK ? (n) : 1)
#ifdef NB_WALK_F64
#define T(name) WITH(name, f64)
#define F(name) name##_vd
#define V nb_vd
#define VI nb_vdi
#define V8 v8d
#define S double
#define W ((size_t)NB_WD)
#define CUBE 1.0
#define EPS2 nb_pair_eps2_f64
#define FLOOR NB_PAIR_FLOOR_F64
#define MOST_UNIT 0x1p100f
#define MOST_ACT2 INFINITY
#define PACK pack_v8d
#define TO_V8(v) (v)
#else
#define T(name) WITH(name, f32)
#define F(name) name##_vf
#define V nb_vf
#define VI nb_vfi
#define V8 v8f
#define S float
#define W ((size_t)NB_WF)
#define CUBE NB_CUBE_F32
#define EPS2 nb_pair_eps2_f32
#define FLOOR NB_PAIR_FLOOR_F32
#define MOST_UNIT 0x1p20f
#define MOST_ACT2 (HIGH > 3 ? 0x1p58f : HIGH ? 0x1p78f : 0x1p120f)
#define PACK pack_v8f
#define TO_V8(v) __builtin_convertvector(v, v8f)
#endif
#define LOAD(p) (*(const V *)(p))

/* A target cell on the way from the root to the group being walked. */
struct T(level) {
	V8 child_c[TERMS]; /* its children's expansions, each about its own centre and in its own units */
	S c[TERMS];	   /* local expansion */
	V8 child_rate[JERK_ROWS(TERMS)];
	S rate[JERK_ROWS(TERMS)]; /* time derivative of c about a centre that moves with the velocity of the node */
	S frame[3];		  /* that velocity, of its centre of mass, relative to the root's */
	uint32_t node;
	uint32_t family, lane; /* the same node as a source */
	uint32_t next;	       /* children already walked */
	size_t begin, end;     /* in walker.entry: source cells that its parent could not take as a whole */
	size_t mark;	       /* in walker.entry: what its children get begins here */
	double centre[3];      /* of its box, in the caller's units */
	double scale;	       /* from the caller's units to target units, a power of two */
	float reach;	       /* greatest distance of a body from the centre */
	float far;	       /* field strength, sum of m / r^2, of the cells in c */
	float limit;	       /* error that an accepted cell may have */
	double eps[NB_SOFT];   /* of its bodies, except for NB_LAW_COMMON */
	double kind[KINDS];    /* of a group, NB_LAW_PLUMMER: the softenings there are, if they are at most KINDS */
	int nkind;
	int group; /* its bodies are walked together */
};

/* Source cells, column by column: target - source, and, before they act, moments. */
struct T(cells) {
	S x[3][LIST + 16], m[MOMENTS][LIST + 16];
	S unit[LIST + 16];	/* target units in the family's length */
	uint32_t at[LIST + 16]; /* family * NB_FAMILY + lane */
	size_t n;
} __attribute__((aligned(64)));

struct T(walker) {
	struct T(cells) far, near; /* to act through the expansion, or on each body */
	/* bodies to act one by one; low: what x leaves out of a position, where fine is set */
	S x[3][SOURCES + 80], low[3][SOURCES + 80];
	S m[SOURCES + 80];
	/* bodies acted on, and what they got */
	S target[3][TARGETS + 80], target_low[3][TARGETS + 80];
	S acc[3][TARGETS + 80];
	S phi[TARGETS + 80];
	V sum[TERMS]; /* of the local expansion: lane by lane, times factorials */
	/* for jerks: velocities relative to the target node's, and the same sums */
	S v[3][JERK_ROWS(SOURCES + 80)];
	S target_v[3][JERK_ROWS(TARGETS + 80)];
	S jerk[3][JERK_ROWS(TARGETS + 80)];
	V rate[JERK_ROWS(TERMS)];
	const struct nb_walk_plan *plan;
	size_t nsource, ntarget;
	int fine;	       /* separations of bodies are taken from pairs of f32, close ones at least */
	size_t own, own_first; /* the first `own` sources are the bodies own_first .. */
	size_t target_first;   /* the targets are the bodies target_first .. */
	double remote[7];      /* acceleration, potential and jerk by remote bodies, in the caller's units but for G */
	struct runs entry;     /* of the levels, one after the other */
	struct list open;      /* families to test */
	struct list leaf;      /* leaves to be taken body by body: family * NB_FAMILY + lane */
	struct list close;     /* those of them that are to be taken finely */
	struct T(level) * level;
	size_t nlevel, level_capacity;
	struct nb_gravity_count count;
	int counts; /* 0 above the parts, where another thread does and counts the same */
	/* nb_gravity_soft, except for NB_LAW_COMMON */
	S soft[SOURCES + 80] __attribute__((aligned(64))), target_soft[TARGETS + 80];
	/* NB_LAW_PLUMMER: eps^2 of the far cells with the target, and of the near cells themselves */
	S far_eps2[LIST + 16], near_eps2[LIST + 16];
} __attribute__((aligned(64)));

/* the moments of a cell, family * NB_FAMILY + lane, in the order of plan.h */
static NB_HD const S *T(moments)(const struct nb_walk_plan *plan, size_t cell)
{
	return (const S *)plan->moment + cell * plan->stride;
}

#include "kernels/walk/bodies_body.h"
#include "kernels/walk/cells_body.h"
#include "kernels/walk/resolve_body.h"

#include "kernels/walk/group_body.h"

/* Velocity of a node relative to the root. */
static NB_HD S T(frame)(const struct nb_walk_plan *plan, size_t node, int d)
{
	return (S)((plan->velocity[3 * node + (size_t)d] - plan->velocity[d]) * plan->speed);
}

/* Gives the children their expansions (L2L). */
static void T(hand_down)(const struct T(walker) * w, struct T(level) * lv)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_tree *tree = plan->target;
	const uint32_t child = tree->child[lv->node], nchild = tree->nchild[lv->node];
	V8 d[3] = {}, v[3] = {}, unit = (V8){} + 1;
	for (uint32_t b = 0; b < nchild; b++) {
		for (int k = 0; k < 3; k++) {
			d[k][b] = (S)((middle(tree, child + b, k) - lv->centre[k]) * lv->scale);
			if (JERK)
				v[k][b] = T(frame)(plan, child + b, k) - lv->frame[k];
		}
		unit[b] = (S)(lv->scale / child_unit(plan, lv->node, child + b, lv->scale));
	}
	for (int q = 0; q < TERMS; q++)
		lv->child_c[q] = (V8){} + lv->c[q];
	T(shift)(lv->child_c, d[0], d[1], d[2], unit, unit);
	if (!JERK)
		return;
	/* a centre that moves otherwise finds another field where it goes */
	S g[3][TERMS] = {};
	T(gradient)(lv->c, g);
	for (int q = 0; q < TERMS; q++)
		lv->child_rate[q] = lv->rate[q] + v[0] * g[0][q] + v[1] * g[1][q] + v[2] * g[2][q];
	T(shift)(lv->child_rate, d[0], d[1], d[2], unit, unit * unit);
}

/* Whether a node of points has so many sources around it that its children are better walked one by one: a list for all
 * would be a long one. */
static APART int T(has_many_sources)(const struct T(walker) * w, const struct T(level) * lv)
{
	float sum = 0;
	if (w->nlevel == 1) /* nothing has been opened yet */
		return w->plan->g->n > MANY_SOURCES;
	for (size_t e = lv->begin; e < lv->end; e++) {
		const struct run r = w->entry.at[e];
		const struct nb_family *f = &w->plan->family[r.family];
		const struct T(test) t = T(measure)(w->plan, r.family, lv, 0, 0);
		/* of a source that is much larger not all is near, but perhaps most of it */
		for (uint32_t mask = r.mask & below(t.d2, t.size2); mask; mask &= mask - 1) {
			const int b = __builtin_ctz(mask);
			sum += (float)f->count[b] * fminf(1, 2 * lv->reach / (lv->reach + t.radius[b]));
		}
	}
	return sum > MANY_SOURCES;
}

/* Enters a node: child `lane` of the node of the last level, or the root. */
static int T(enter)(struct T(walker) * w, uint32_t lane)
{
	const struct nb_walk_plan *plan = w->plan;
	const struct nb_tree *tree = plan->target;
	if (nb_reserve(w->level, w->nlevel, w->nlevel + 1, w->level_capacity))
		return NB_ENOMEM;
	struct T(level) *lv = &w->level[w->nlevel++];
	const struct T(level) *up = w->nlevel > 1 ? lv - 1 : NULL;
	lv->node = up ? tree->child[up->node] + lane : 0;
	lv->family = up && !plan->apart ? plan->inner[up->node] : 0;
	lv->lane = lane;
	lv->next = 0;
	for (int d = 0; d < 3; d++)
		lv->centre[d] = middle(tree, lv->node, d);
	lv->scale = up ? child_unit(plan, up->node, lv->node, up->scale)
		       : target_unit(plan, plan->reach[lv->node], plan->length);
	lv->reach = round_up(plan->reach[lv->node] * lv->scale);
	const float ratio = up ? (float)(up->scale / lv->scale) : 1;
	lv->begin = up ? up->mark : 0;
	lv->end = w->entry.n;
	lv->far = up ? up->far * ratio * ratio : 0;
	for (int q = 0; q < TERMS; q++)
		lv->c[q] = up ? up->child_c[q][lane] : 0;
	if (JERK) {
		for (int q = 0; q < TERMS; q++)
			lv->rate[q] = up ? up->child_rate[q][lane] : 0;
		for (int d = 0; d < 3; d++)
			lv->frame[d] = T(frame)(plan, lv->node, d);
	}

	for (size_t k = 0; plan->soft && k < NB_SOFT; k++)
		lv->eps[k] = plan->soft[NB_SOFT * (size_t)lv->node + k];
	lv->nkind = 0;
	const float eps = plan->soft ? 0 : (float)(plan->g->eps * lv->scale);
	const int group = plan->group[lv->node] &&
			  !(plan->apart && tree->nchild[lv->node] > 0 && T(has_many_sources)(w, lv));
	lv->group = group;
	const double sigma = plan->length / lv->scale;
	if (plan->least)
		lv->limit = (float)((double)plan->least[lv->node] * sigma * sigma);
	else if (group && up && !plan->apart && !plan->limit)
		lv->limit = up->limit * ratio * ratio;
	else
		lv->limit = plan->error *
			    (lv->far + (plan->soft ? T(strength_soft)(w, lv) : T(strength)(w, lv, eps * eps, 0)));
	/* points need not be where sources are, and the field not what it is around them */
	if (group && up && plan->apart)
		lv->limit = fminf(lv->limit, up->limit * ratio * ratio);
	if (plan->limit) {
		double limit = (double)lv->limit / sigma / sigma;
		__atomic_store(&plan->limit[lv->node], &limit, __ATOMIC_RELAXED);
		if (group)
			return NB_OK;
	}
	if (group && plan->law == NB_LAW_PLUMMER)
		T(find_kinds)(plan, lv);
	if (group)
		return T(group)(w, lv);

	T(clear)(w);
	w->ntarget = 0;
	lv->mark = w->entry.n;
	int status = plan->soft ? T(resolve_soft)(w, lv, 0, 0, 0) : T(resolve)(w, lv, 0, 0, 0, 0);
	if (status || plan->wanted)
		return status;
	T(far_act)(w, lv);
	T(collect)(w->sum, HIGH && plan->folded, lv->c);
	if (JERK)
		T(collect)(w->rate, 0, lv->rate);
	T(hand_down)(w, lv);
	return NB_OK;
}

/* Visits the nodes depth first. Above the parts every thread does the same, which is little; a part is walked
 * by the thread whose ticket it is.  A ticket for a part that has been passed is for another visit. */
static int T(walk)(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count)
{
	struct T(walker) *w = nb_alloc_zero(1, sizeof *w);
	if (!w)
		return NB_ENOMEM;
	w->plan = plan;
	uint32_t ticket = nb_walk_claim(share), later = UINT32_MAX, rank = 0; /* rank: parts passed so far */
	size_t part = 0; /* the level at which the present part began; 0: outside */
	int status = runs_reserve(&w->entry, 1);
	uint32_t node = 0, lane = 0;
	if (!status)
		w->entry.at[w->entry.n++] = (struct run){0, 1};
	while (!status) {
		/* enter the node, unless others walk all its parts */
		if (part || rank + plan->npart[node] > ticket) {
			w->counts = part || rank == ticket;
			if (!part && is_part(plan, node)) {
				part = w->nlevel + 1;
				rank++;
			}
			status = T(enter)(w, lane);
			if (status)
				break;
		} else {
			rank += plan->npart[node];
		}
		/* on to the next child, sibling, or sibling of an ancestor */
		while (w->nlevel) {
			struct T(level) *lv = &w->level[w->nlevel - 1];
			if (!lv->group && lv->next < plan->target->nchild[lv->node])
				break;
			if (part == w->nlevel) {
				part = 0;
				ticket = nb_walk_claim(share);
				later = ticket < rank ? ticket : UINT32_MAX;
				ticket = ticket < rank ? UINT32_MAX : ticket;
			}
			w->entry.n = lv->end; /* what it left for its children */
			w->nlevel--;
		}
		if (!w->nlevel && later == UINT32_MAX)
			break;
		if (!w->nlevel) {
			ticket = later;
			later = UINT32_MAX;
			rank = node = lane = 0;
			continue;
		}
		struct T(level) *lv = &w->level[w->nlevel - 1];
		lane = lv->next++;
		node = plan->target->child[lv->node] + lane;
	}
	count->p2p += w->count.p2p;
	count->m2p += w->count.m2p;
	count->m2l += w->count.m2l;
	count->groups += w->count.groups;
	nb_free_all(w->entry.at, w->open.at, w->leaf.at, w->close.at, w->level, w);
	return status;
}

#undef T
#undef HIGH
#undef ORDER
#undef TERMS
#undef ROW
#undef FOLDED
#undef LEAST
#undef WITH
#undef JERK
#undef JERK_ROWS
#undef MOMENTS
#undef F
#undef V
#undef VI
#undef V8
#undef S
#undef W
#undef CUBE
#undef EPS2
#undef FLOOR
#undef PACK
#undef TO_V8
#undef LOAD
#undef MOST_UNIT
#undef MOST_ACT2
#undef EACH_TARGET
#undef PASTE_WITH
#undef PASTE_ORDER
#undef NB_WALK_F64
