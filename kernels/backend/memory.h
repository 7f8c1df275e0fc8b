/* memory.h - what stages of the work take in the memory of a device, from a table; a part of backend.h.
 *
 * Only what grows with the bodies is counted, by the arrays that the files in kernels/ allocate: so nothing is
 * measured, and no device is asked.  What a tree has in nodes is not known before it is built; nb_memory_nodes has what
 * is usual. */
#ifndef NB_MEMORY_H
#define NB_MEMORY_H

#include "common/status.h"

NB_C_BEGIN

/* What the rows of memory.def ask for. */
enum nb_memory_trait {
	NB_HAS_QUAD = 1 << 0, /* nodes of a tree with second moments */
	NB_HAS_ORDER_3 = 1 << 1,
	NB_HAS_ORDER_4 = 1 << 2,
	NB_HAS_F32 = 1 << 3, /* precisions ... */
	NB_HAS_MIXED = 1 << 4,
	NB_HAS_SINGLE = 1 << 5, /* ... of which these two sum in f32, */
	NB_HAS_DOUBLE = 1 << 6, /* and f64 in f64 */
	NB_HAS_POT = 1 << 7,
	NB_HAS_JERK = 1 << 8,
	NB_HAS_SOFT = 1 << 9,  /* pairs that are not all softened alike */
	NB_HAS_OLD = 1 << 10,  /* a walk by the criterion of accelerations */
	NB_HAS_FLAT = 1 << 11, /* 2-D, 3-D */
	NB_HAS_SPACE = 1 << 12,
	NB_HAS_ONCE = 1 << 13,	/* a near field whose kernel computes each pair once */
	NB_HAS_SHARED = 1 << 14 /* by several devices */
};

enum nb_memory_stage {
	NB_MEMORY_SORT,
	NB_MEMORY_PERMUTE,
	NB_MEMORY_PLACE,
	NB_MEMORY_TREE,
	NB_MEMORY_BOXES,
	NB_MEMORY_NEIGHBOURS,
	NB_MEMORY_GROUPS,
	NB_MEMORY_MESH,
	NB_MEMORY_WALK,
	NB_MEMORY_DIRECT,
	NB_MEMORY_NEAR,
	NB_MEMORY_FAR,
	NB_MEMORY_TREEPM,
	NB_MEMORY_STEP,
	NB_MEMORY_RETURN,
	NB_MEMORY_STAGES
};

enum nb_memory_unit {
	NB_MEMORY_BODY,
	NB_MEMORY_NODE,
	NB_MEMORY_REGION,
	NB_MEMORY_BOX,
	NB_MEMORY_SLOT,
	NB_MEMORY_TERM,
	NB_MEMORY_CELL,
	NB_MEMORY_UNITS
};

/* Units that a job has, and its traits. */
struct nb_memory_job {
	double count[NB_MEMORY_UNITS];
	unsigned traits;
};

/* Bytes of a stage beside the columns of the frame. */
double nb_memory_of(enum nb_memory_stage stage, const struct nb_memory_job *job);
/* "sort", "permutation" ... */
const char *nb_memory_stage_name(enum nb_memory_stage stage);

/* Nodes of a tree over n bodies with so many of them in a leaf at most. */
double nb_memory_nodes(double n, double leaf_size);
/* Regions whose lists there is room for at once in a walk over n bodies, with lists of so many bytes; shared: by
 * several devices.  As walk_gpu/share_cuda.cu has it. */
double nb_memory_regions(double n, double bytes, int shared);
/* Bytes that a process takes on a device whatever the number of bodies: the context, kernels, stacks of a walk. */
double nb_memory_context(void);

NB_C_END
#endif
