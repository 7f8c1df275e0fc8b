#include "kernels/backend/memory.h"

#include <math.h>
#include <stddef.h>

struct row {
	enum nb_memory_stage stage;
	unsigned traits;
	enum nb_memory_unit unit;
	double bytes;
};

static const struct row table[] = {
#define NB_MEMORY(stage, traits, unit, bytes) {NB_MEMORY_##stage, traits, NB_MEMORY_##unit, bytes},
#include "kernels/backend/memory.def"
#undef NB_MEMORY
};

double nb_memory_of(enum nb_memory_stage stage, const struct nb_memory_job *job)
{
	double bytes = 0;
	for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
		const struct row *row = &table[k];
		if (row->stage == stage && (row->traits & ~job->traits) == 0)
			bytes += row->bytes * job->count[row->unit];
	}
	return bytes;
}

/* Plummer and Hernquist spheres of 10^6 bodies have 3.3, 3.8, 3.9 and 3.8 n / leaf_size at leaf sizes 8, 16, 32 and 64.
 * Where the density is the same everywhere it is 2.1 to 5.1, depending on n.  Most leaves hold one body in the end. */
double nb_memory_nodes(double n, double leaf_size)
{
	return fmin(1.4 * n, 3.8 * n / leaf_size);
}

/* A region has at most 1024 bodies; of Plummer spheres of 3 10^5 to 8 10^6 bodies there are n / 285 to n / 309, of
 * uniform cubes n / 230 to n / 590.  Groups have 65 bodies or more on average. */
double nb_memory_regions(double n, double bytes, int shared)
{
	const double each = bytes + 1024, bound = n / 66, usual = n / 300;
	if (shared)
		return usual;
	return bound * each <= 0x1p29 ? bound : fmin(usual, 0x1p30 / each);
}

double nb_memory_context(void)
{
	return 0.6e9;
}

const char *nb_memory_stage_name(enum nb_memory_stage stage)
{
	static const char *const name[] = {
		[NB_MEMORY_SORT] = "sort",
		[NB_MEMORY_PERMUTE] = "permutation",
		[NB_MEMORY_PLACE] = "tree",
		[NB_MEMORY_TREE] = "tree",
		[NB_MEMORY_BOXES] = "boxes",
		[NB_MEMORY_NEIGHBOURS] = "search for neighbours",
		[NB_MEMORY_GROUPS] = "groups",
		[NB_MEMORY_MESH] = "meshes",
		[NB_MEMORY_WALK] = "tree walk",
		[NB_MEMORY_DIRECT] = "direct sum",
		[NB_MEMORY_NEAR] = "near field",
		[NB_MEMORY_FAR] = "far field",
		[NB_MEMORY_TREEPM] = "mesh and pairs",
		[NB_MEMORY_STEP] = "step",
		[NB_MEMORY_RETURN] = "order of velocities",
	};
	return name[stage];
}
