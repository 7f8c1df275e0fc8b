/* plan.h - a part of walk.h: what the pieces of the CPU walk share, and those that walk a part of a tree
 * (kernels/domain) call. */
#ifndef NB_WALK_PLAN_H
#define NB_WALK_PLAN_H

#include "common/cpu.h"
#include "kernels/gravity/gravity.h"
#include "kernels/tree/tree.h"

#include <float.h>

enum {
	NB_FAMILY = 8,	   /* children a node has at most */
	NB_WALK_LEAF = 48, /* a node of no more bodies is not opened: they cost less than its parts, each with a test */
	NB_WALK_GROUP = 128, /* targets that share one list of sources, unless they are of one leaf */
	NB_WALK_SMALL = 2,   /* so few targets of a group that an expansion costs more than it saves */
	/* the same of fourth order: cells cost more, and errors so small take many bodies anyway */
	NB_WALK_LEAF_4 = 64,
	NB_WALK_GROUP_4 = 160,
	NB_WALK_MOMENTS = 7, /* mass, second moments; of higher orders: high_body.h */
	/* then, for jerks: velocity relative to the root, time derivatives of the second moments */
	NB_WALK_VELOCITY = NB_WALK_MOMENTS,
	NB_WALK_QUAD_RATE = NB_WALK_VELOCITY + 3,
	NB_WALK_MOTION = 9
};

/* So many moments take the room of so many.  They are read by whole vectors, which may go on into the next row. */
#define NB_WALK_STRIDE(count) (((size_t)(count) + 7) / 8 * 8)

/* x rounded up to f32, with room for the rounding of what led to x */
static inline float round_up(double x)
{
	if (!(x > 0))
		return 0;
	float f = (float)(x * (1 + 0x1p-20));
	return f > FLT_MIN ? f : FLT_MIN;
}

/* The children of a node side by side, as one SIMD test reads them.  Lanes without a child have mass 0. */
struct nb_family {
	double x[3][NB_FAMILY];	   /* centre of mass, in the caller's units */
	float radius[NB_FAMILY];   /* greatest distance of a body from it, in units of length */
	float mass[NB_FAMILY];	   /* in tree units */
	uint32_t inner[NB_FAMILY]; /* the family of the child's children, 0 for a leaf; NB_WALK_ABSENT */
	uint32_t first[NB_FAMILY], count[NB_FAMILY]; /* bodies */
	double length; /* a power of two: the largest radius is between half of it and all of it; 0: all are 0 */
} __attribute__((aligned(64)));

/* Softenings of a node's bodies, where they are not one Plummer softening: the least, the root of the mean square, by
 * mass, and the largest. */
enum { NB_SOFT_LEAST, NB_SOFT_MEAN, NB_SOFT_LARGEST, NB_SOFT };

/* Those of a family, in the caller's units. */
struct nb_family_soft {
	double eps[NB_SOFT][NB_FAMILY];
} __attribute__((aligned(64)));

/* What all threads read.  Tree units: extent (or softening, if that is larger) and total mass in 0.5 .. 1.  Lengths are
 * in the caller's units, or in those of a family or a target: a tree may be deeper than f32 has exponents. */
struct nb_walk_plan {
	const struct nb_gravity *g;
	const struct nb_tree *tree;
	const struct nb_gravity *at;  /* what is acted on, and what is written: g itself, or points ... */
	const struct nb_tree *target; /* ... and their tree */
	int apart;		      /* these are points, none of which is a source */
	const uint32_t *row;	      /* of points: where results belong */
	double length;		      /* scaled length = length * x, a power of two */
	double mass;		      /* the same for masses */
	int order;		      /* of the multipoles: 1 to 4 */
	int folded;		      /* orders 3 and 4: cells act without softening, by folded moments (high_body.h) */
	int f64;	   /* arithmetic in f64, asked for or needed for what a cell's parent has not resolved */
	int deep;	   /* sources may be remote from targets */
	double unit_limit; /* of target units: above it the softening would be too long */
	float error;	   /* tolerated error of an interaction: by the field strength at the target, or 1 with least */
	const float *least;    /* smallest tolerated error of each node's bodies, scaled; NULL: by the field strength */
	const uint32_t *inner; /* of each node of tree: the family of its children, 0 for a leaf */
	const double *reach;   /* of each target: greatest distance of a body from the middle of its box */
	const uint8_t *group;  /* of each target: whether its bodies are walked together, where sources are not dense */
	const uint32_t *npart; /* of each target: the parts that it consists of, as threads claim them */
	uint32_t part;	       /* bodies in a part, at most */
	const struct nb_family *family; /* 0 is the root alone */
	const void *moment;	/* float or double [stride] of each lane of each family, in powers of its length */
	size_t nmoment, stride; /* so many of them count; NB_WALK_STRIDE(nmoment) */
	const double *velocity; /* for jerks: of each node's centre of mass, 3, in the caller's units */
	double speed;		/* scaled velocity = speed * v, a power of two */
	enum nb_pair_law law;
	const double *soft; /* of each target: NB_SOFT; NULL for NB_LAW_COMMON, as the next */
	const struct nb_family_soft *family_soft;
	float soft_weight; /* of errors of softenings beside those of multipoles */
	/* Of each lane of each family: what is wanted of it (enum nb_walk_wanted).  The walk then does nothing but set
	 * these; NULL: it acts. */
	uint8_t *wanted;
	/* Of each target, beside wanted: the walk writes here the error that an accepted cell may have, in scaled
	 * units, and goes on to groups, but does not resolve them.  NULL: it does. */
	double *limit;
};

/* Bodies of a leaf one by one; children of a node that this process does not have. */
enum nb_walk_wanted { NB_WALK_NOTHING, NB_WALK_BODIES, NB_WALK_CHILDREN };
/* Added to a family that this process does not have: then it is none of its numbers.  A walk that acts meets none. */
#define NB_WALK_ABSENT (UINT32_C(1) << 31)

/* Bytes of one family's moments. */
static inline size_t nb_walk_moment_size(const struct nb_walk_plan *plan)
{
	return plan->stride * NB_FAMILY * (plan->f64 ? sizeof(double) : sizeof(float));
}

/* Adds to sum what a mass at x, with velocity v, does to a body at rest at 0: acceleration, potential (positive), jerk,
 * but for G.  In f64, with no square that is out of range. */
void nb_walk_add_pair(double mass, const double *x, const double *v, double eps, double *sum);

/* Points as the walk has them (points_cpu.c), at least one. */
struct nb_walk_points {
	size_t n;
	const struct nb_tree *tree;	/* of them */
	const double *pos, *mass, *eps; /* n x 3, n, n: sorted as the tree; masses are those of the tree; eps or NULL */
	const uint32_t *row;		/* n: where in acc and pot a point belongs */
	double *acc, *pot;		/* pot or NULL */
};
/* What is wrong with the arguments, before memory is taken: 0, NB_EINVAL, NB_EUNSUPPORTED. */
NB_MUST_CHECK int nb_walk_check(
	const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk);
/* nb_gravity_tree_cpu and, unless points is NULL, nb_gravity_tree_points_cpu. */
NB_MUST_CHECK int nb_walk_cpu(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct nb_walk_points *points, struct nb_gravity_count *count);

/* What the threads share: parts are claimed in order. */
struct nb_walk_share {
	uint32_t claimed;      /* the next one */
	uint32_t end;	       /* behind the last one that this process walks */
	uint32_t begin;	       /* its first one */
	float *cost;	       /* of each of these, seconds of its thread; NULL: not wanted */
	const uint32_t *order; /* the parts as they are claimed, all if begin is 0; NULL: one after the other */
};
/* The part that the calling thread walks next, after the one that it claimed before; UINT32_MAX, which is none, if
 * there are no more. */
uint32_t nb_walk_claim(struct nb_walk_share *share);
/* Walks the parts of a share with all threads, and adds what they count.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_walk_parts(
	const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count);
/* Walks all parts with all ranks, of which this is the first (ranks_cpu.c).
 *   nfamily  families of the plan
 * 0 or NB_ENOMEM; *done is 0 if nothing was done, as this process is alone. */
NB_MUST_CHECK int nb_walk_by_ranks(
	const struct nb_walk_plan *plan, size_t nfamily, struct nb_gravity_count *count, int *done);

/* What is found out of a tree for a walk: all that nb_gravity_tree_cpu allocates. */
struct nb_walk_memory {
	uint32_t *inner, *npart;
	uint8_t *group, *tight_child;
	uint32_t *generation; /* where each begins (nb_walk_generation), the root first, and where the last ends */
	size_t ngeneration;
	double *radius, *reach;
	float *least;
	double jump; /* the largest ratio of a node's reach and that of a child */
	struct nb_family *family;
	void *moment;
	double *own; /* moments in lengths of the node, nown of each, where the tree's do not do */
	size_t nown;
	double *velocity, *quad_rate; /* for jerks, of each node: 3, 6 */
	double *soft;		      /* of each node, NB_SOFT, except for NB_LAW_COMMON */
	struct nb_family_soft *family_soft;
	size_t nfamily;
};

enum { NB_WALK_UNREACHED = UINT32_MAX }; /* inner[i] of a node below one that is not divided */
static inline int nb_walk_is_divided(const struct nb_walk_memory *m, size_t i)
{
	return m->inner[i] != 0 && m->inner[i] != NB_WALK_UNREACHED;
}
void nb_walk_memory_free(struct nb_walk_memory *m);

/* ---- the pieces of nb_walk_cpu, for kernels/domain, which has a part of the tree ---- */

/* What the order says: nodes of no more bodies are not divided further, groups have no more; moments in m->own. */
static inline uint32_t nb_walk_leaf(int order)
{
	return order > 3 ? NB_WALK_LEAF_4 : NB_WALK_LEAF;
}
static inline uint32_t nb_walk_group(int order)
{
	return order > 3 ? NB_WALK_GROUP_4 : NB_WALK_GROUP;
}
size_t nb_walk_nown(int order);
/* Whether squares of lengths may be out of range, so that moments of the tree are: the least radius that is not 0, and
 * that of the root.  And whether squares of separations are, in units of the least reach. */
static inline int nb_walk_is_beyond_squares(double least, double radius)
{
	return least < 0x1p-400 || radius > 0x1p400;
}
static inline int nb_walk_is_deep(double reach, double least)
{
	return reach * 0x1p-50 > least;
}
/* Whether terms in f32 would be out of range: where a cell is so much smaller than its parent that what the parent has
 * not resolved is very far by the cell's measure. */
#define NB_WALK_FARTHEST 0x1p54	 /* in a leaf: more is too much for f64, too */
#define NB_WALK_NEAREST 0x1p-160 /* of the extent of the tree: less is too much for the levels of a tree, too */
static inline int nb_walk_wants_f64(double jump)
{
	return jump > 0x1p28;
}
/* The first of the nodes first .. end - 1 none of which is the parent of another: what is known of their children,
 * threads can find out of them at the same time.  A tree in the order of its levels has about as many such ranges as
 * levels. */
size_t nb_walk_generation(const struct nb_tree *tree, size_t first, size_t end);
/* The order of the plan, and what a cell's row of moments has; the plan has g, tree and law. */
void nb_walk_layout(struct nb_walk_plan *plan, const struct nb_tree_walk *walk);
/* Scales and tolerances of the plan, which has its order, g, tree, law and apart.
 *   size  the largest extent of the root's box, or the largest softening eps if that is more */
void nb_walk_scale(struct nb_walk_plan *plan, const struct nb_tree_walk *walk, double size, double eps);
/* Memory for what is known of nodes as targets, and of the bodies in them. */
NB_MUST_CHECK int nb_walk_allocate_nodes(struct nb_walk_memory *m, size_t nnode, int by_acc);
/* Whether a child of node i has bodies much closer to each other than the node is large. Positions in a group are
 * relative to its middle, and in f32 would lose such a separation: the child is better walked by itself. */
int nb_walk_has_tight_child(const struct nb_tree *tree, size_t i);
/* Radius, reach and least |acc_old| (acc_old may be NULL) of a cell whose bodies are not divided further; looks at
 * every body.  *jump: its extent over typical distances or the softening in it (pair.h).  NB_ENONFINITE, NB_EINVAL (a
 * mass < 0), NB_EFAR. */
NB_MUST_CHECK int nb_walk_measure_bodies(const struct nb_gravity *g, const struct nb_tree *tree,
	struct nb_walk_memory *m, size_t i, const double *acc_old, double error, double *jump);
/* The same of a node, from its children: the better of two bounds.  Returns the largest ratio of its reach and that of
 * a child. */
double nb_walk_measure_children(const struct nb_tree *tree, struct nb_walk_memory *m, size_t i);
/* The moments m->own of node i about its centre of mass, in its own unit of length. */
void nb_walk_find_moments_of(const struct nb_walk_plan *plan, const struct nb_walk_memory *m, size_t i);
/* Writes the nodes first .. first + n - 1 as a family. */
void nb_walk_fill_family(
	const struct nb_walk_plan *plan, const struct nb_walk_memory *m, size_t first, size_t n, size_t family);

/* Walks the parts that the calling thread claims, and writes their rows of g->acc, g->pot and g->jerk.
 * Returns 0 or NB_ENOMEM. */
typedef int nb_walk(const struct nb_walk_plan *plan, struct nb_walk_share *share, struct nb_gravity_count *count);
NB_ISA_DECLARE(nb_walk)

#endif
