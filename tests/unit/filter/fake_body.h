/* fake_body.h - the place and backend of fake.h; included by the test program. */
#include "tests/unit/filter/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
#define ARENA ((size_t)1 << 30)

struct nb_fake_count nb_fake_count;
struct nb_fake_fault nb_fake_fault;
static char *arena;
static size_t arena_used;

static void allow(int protection)
{
	if (arena_used && mprotect(arena, arena_used, protection)) {
		perror("mprotect");
		abort();
	}
}

/* Whether this call fails. */
static int fails(void)
{
	struct nb_fake_fault *f = &nb_fake_fault;
	f->calls++;
	if (!f->at || (f->lost ? f->calls < f->at : f->calls != f->at))
		return 0;
	nb_space_note_failure(f->status == NB_ENOMEM ? "" : "the fake is lost");
	return 1;
}

static void *fake_alloc(const struct nb_space *space, size_t bytes)
{
	(void)space;
	if (fails())
		return NULL;
	if (!arena) {
		arena = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena == MAP_FAILED)
			abort();
	}
	bytes = (bytes + PAGE) / PAGE * PAGE; /* at least a page */
	if (arena_used + bytes > ARENA)
		return NULL;
	arena_used += bytes;
	return arena + arena_used - bytes;
}

static void fake_release(const struct nb_space *space, void *p)
{
	(void)space;
	(void)p; /* nb_fake_reset takes all */
}

void nb_fake_reset(void)
{
	if (arena)
		munmap(arena, ARENA);
	arena = NULL;
	arena_used = 0;
}

/* Every function of the place and of the backend is one of the host or the CPU with the memory open for it. */
#define OPEN(call)                           \
	if (fails())                         \
		return nb_fake_fault.status; \
	allow(PROT_READ | PROT_WRITE);       \
	const int status_of_call = (call);   \
	allow(PROT_NONE);                    \
	return status_of_call

static int fake_from_host(const struct nb_space *space, void *to, const void *host, size_t bytes)
{
	(void)space;
	nb_fake_count.from_host += bytes;
	OPEN(nb_space_host.copy(&nb_space_host, to, host, bytes));
}

static int fake_to_host(const struct nb_space *space, void *host, const void *from, size_t bytes)
{
	(void)space;
	nb_fake_count.to_host += bytes;
	OPEN(nb_space_host.copy(&nb_space_host, host, from, bytes));
}

static int fake_copy(const struct nb_space *space, void *to, const void *from, size_t bytes)
{
	(void)space;
	OPEN(nb_space_host.copy(&nb_space_host, to, from, bytes));
}

static int fake_widen(const struct nb_space *space, size_t count, const float *from, double *to)
{
	(void)space;
	OPEN(nb_space_host.widen(&nb_space_host, count, from, to));
}

static int fake_narrow(const struct nb_space *space, size_t count, const double *from, float *to)
{
	(void)space;
	OPEN(nb_space_host.narrow(&nb_space_host, count, from, to));
}

static int fake_first_bad(
	const struct nb_space *space, size_t count, int wide, const void *x, unsigned what, size_t *first)
{
	(void)space;
	OPEN(nb_space_host.first_bad(&nb_space_host, count, wide, x, what, first));
}

static const struct nb_space fake_space = {"fake", 0, fake_alloc, fake_release, fake_from_host, fake_to_host, fake_copy,
	fake_widen, fake_narrow, fake_first_bad};

#define FAKE(name, parameters, arguments)        \
	static int fake_##name parameters        \
	{                                        \
		OPEN(nb_##name##_cpu arguments); \
	}

FAKE(gravity_direct, (const struct nb_gravity *g, struct nb_gravity_count *count), (g, count))
FAKE(gravity_near, (const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count),
	(g, boxes, count))
FAKE(gravity_fmm,
	(const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm,
		struct nb_gravity_count *count),
	(g, boxes, fmm, count))
FAKE(gravity_tree,
	(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
		struct nb_gravity_count *count),
	(g, tree, walk, count))
FAKE(external_add, (const struct nb_external *external, const struct nb_external_bodies *bodies), (external, bodies))
FAKE(gravity_points, (const struct nb_gravity *g, const struct nb_gravity_points *points), (g, points))
FAKE(gravity_tree_points,
	(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
		const struct nb_gravity_points *points, struct nb_gravity_count *count),
	(g, tree, walk, points, count))
FAKE(treepm,
	(const struct nb_gravity *g, double box, const struct nb_treepm *how, const struct nb_gravity_points *points,
		struct nb_treepm_kept *kept, struct nb_gravity_count *count),
	(g, box, how, points, kept, count))
FAKE(wrap, (size_t n, double *pos, double box, int single), (n, pos, box, single))
FAKE(scale_velocities, (size_t n, double *vel, double factor), (n, vel, factor))
FAKE(morton_cube, (size_t n, const double *pos, int dim, struct nb_cube *cube, size_t *bad), (n, pos, dim, cube, bad))
FAKE(morton_keys, (size_t n, const double *pos, int dim, const struct nb_cube *cube, uint64_t *key),
	(n, pos, dim, cube, key))
FAKE(sort_keys, (size_t n, uint64_t *key, uint32_t *perm), (n, key, perm))
FAKE(sort_deep, (size_t n, const uint64_t *key, const double *pos, int dim, uint32_t *perm), (n, key, pos, dim, perm))
FAKE(permute, (size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst),
	(n, perm, rowsize, src, dst))
FAKE(scatter, (size_t n, const uint32_t *row, size_t rowsize, const void *src, void *dst), (n, row, rowsize, src, dst))
FAKE(marked_rows, (size_t n, const unsigned char *mark, uint32_t *row, size_t *count), (n, mark, row, count))
FAKE(keys_current,
	(size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key, int *current),
	(n, pos, dim, cube, key, current))
FAKE(first_outside, (size_t n, const double *pos, int from, int to, const struct nb_cube *cube, size_t *first),
	(n, pos, from, to, cube, first))
FAKE(ids_sum, (size_t n, const uint64_t *id, uint64_t *sum), (n, id, sum))
FAKE(tree_check, (const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong),
	(tree, n, pos, mass, wrong))
FAKE(boxes_build, (size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour),
	(n, key, dim, level, box_first, neighbour))
FAKE(boxes_check, (const struct nb_boxes *boxes, size_t n, const char **wrong), (boxes, n, wrong))
FAKE(whfast_swarm_begin, (struct nb_whfast_swarm * *swarm, const struct nb_whfast *w, size_t systems),
	(swarm, w, systems))
FAKE(whfast_swarm_steps, (struct nb_whfast_swarm * swarm, const uint64_t *steps, int *failed), (swarm, steps, failed))
FAKE(ias15_swarm_begin, (struct nb_ias15_swarm * *swarm, const struct nb_ias15_bodies *all), (swarm, all))
FAKE(ias15_swarm_until, (struct nb_ias15_swarm * swarm, const double *time, uint64_t most, size_t *left),
	(swarm, time, most, left))
FAKE(ias15_swarm_at,
	(struct nb_ias15_swarm * swarm, const double *time, double *pos, double *vel, struct nb_ias15_ended *ended),
	(swarm, time, pos, vel, ended))
FAKE(whfast_swarm_state, (struct nb_whfast_swarm * swarm, struct nb_whfast *w), (swarm, w))
FAKE(near_nearest, (const struct nb_near_bodies *bodies, const struct nb_near_found *nearest), (bodies, nearest))
FAKE(groups_find, (const struct nb_groups_job *job, uint32_t *group, struct nb_groups *groups), (job, group, groups))
FAKE(kick, (size_t n, double *vel, const double *acc, double dt), (n, vel, acc, dt))
FAKE(drift, (size_t n, double *pos, const double *vel, double dt), (n, pos, vel, dt))
FAKE(kick_drift,
	(size_t n, double *pos, double *vel, const double *acc, double before, double kick, double drift,
		double extent[7]),
	(n, pos, vel, acc, before, kick, drift, extent))
FAKE(hermite,
	(size_t n, double *pos, double *vel, const double *acc, const double *jerk, const double *acc_was,
		const double *jerk_was, double ahead, double dt),
	(n, pos, vel, acc, jerk, acc_was, jerk_was, ahead, dt))
FAKE(taylor, (size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt),
	(n, pos, vel, acc, jerk, dt))
FAKE(largest_acc, (size_t n, const double *acc, double *largest), (n, acc, largest))
FAKE(moments, (size_t n, const double *mass, const double *pos, const double *vel, struct nb_moments *moments),
	(n, mass, pos, vel, moments))
FAKE(potential_energy, (size_t n, const double *mass, const double *pot, double *epot), (n, mass, pot, epot))
FAKE(lagrangian_radii,
	(size_t n, const double *mass, const double *pos, const double centre[3], size_t nfraction,
		const double *fraction, double *radius),
	(n, mass, pos, centre, nfraction, fraction, radius))
FAKE(mesh_paint, (const struct nb_mesh_paint *paint, void *mesh, void *shifted), (paint, mesh, shifted))
FAKE(mesh_transform, (int m, double unit, void *mesh), (m, unit, mesh))
FAKE(mesh_shells,
	(int m, int order, const struct nb_mesh_modes *a, const struct nb_mesh_modes *b, struct nb_mesh_shell *shell),
	(m, order, a, b, shell))
FAKE(splat_visible,
	(size_t n, const double *species, const unsigned char hidden[NB_PICTURE_SPECIES], uint32_t *row, size_t *count),
	(n, species, hidden, row, count))
FAKE(splat_centre, (size_t n, const double *pos, const double *mass, double centre[3]), (n, pos, mass, centre))
FAKE(camera_size, (size_t n, const double *pos, const double centre[3], double *size), (n, pos, centre, size))
FAKE(splat_project, (size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y),
	(n, pos, camera, x, y))
FAKE(splat_radii, (size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius),
	(n, x, y, width, height, neighbours, radius))
FAKE(splat_disc_radii,
	(size_t n, const double *mass, const struct nb_mass_scale *scale, const double *own, double pixels_per_length,
		double size, float *radius),
	(n, mass, scale, own, pixels_per_length, size, radius))
FAKE(splat_sharpen, (size_t n, const double *mass, double heavy, float spot, float *radius),
	(n, mass, heavy, spot, radius))
FAKE(exposure_masses, (size_t n, const double *mass, struct nb_mass_scale *scale), (n, mass, scale))
FAKE(exposure_speeds, (size_t n, const double *vel, double *slow, double *fast), (n, vel, slow, fast))
FAKE(exposure_range,
	(size_t n, const float *x, const float *y, int width, int height, const float *image, enum nb_stretch stretch,
		float *lo, float *hi),
	(n, x, y, width, height, image, stretch, lo, hi))
FAKE(splat_weights,
	(size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel, float *weight),
	(n, mass, scale, cap, nchannel, weight))
FAKE(splat_speed_weights, (size_t n, const double *vel, double slow, double fast, int nchannel, float *weight),
	(n, vel, slow, fast, nchannel, weight))
FAKE(splat_colour_weights, (size_t n, const double *species, const uint32_t colour[NB_PICTURE_SPECIES], float *weight),
	(n, species, colour, weight))
FAKE(splat, (const struct nb_splat *splat), (splat))

/* An array of the heap, moved there. */
static int move_there(void **array, size_t bytes)
{
	void *there = fake_alloc(&fake_space, bytes);
	if (!there)
		return nb_space_status();
	allow(PROT_READ | PROT_WRITE);
	memcpy(there, *array, bytes);
	allow(PROT_NONE);
	*array = there;
	return NB_OK;
}

static int fake_tree_build(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
	const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree)
{
	struct nb_tree heap;
	if (fails())
		return nb_fake_fault.status;
	allow(PROT_READ | PROT_WRITE);
	int status = nb_tree_build_cpu(n, key, pos, mass, dim, cube, leaf_size, order, &heap);
	allow(PROT_NONE);
	if (status)
		return status;
	*tree = heap;
#define NB_NODE_COLUMN(type, member, components, least) \
	if (heap.member && !status)                     \
		status = move_there((void **)(void *)&tree->member, (components)*tree->nnode * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	nb_tree_free(&heap);
	return status;
}

static void fake_tree_free(struct nb_tree *tree)
{
	memset(tree, 0, sizeof *tree);
}

static int fake_finish(void)
{
	return fails() ? nb_fake_fault.status : NB_OK;
}

const struct nb_backend nb_fake_backend = {
	.name = "fake",
	.space = &fake_space,
	.gravity_direct = fake_gravity_direct,
	.gravity_near = fake_gravity_near,
	.gravity_fmm = fake_gravity_fmm,
	.gravity_tree = fake_gravity_tree,
	.gravity_treepm = fake_treepm,
	.external_add = fake_external_add,
	.gravity_points = fake_gravity_points,
	.gravity_tree_points = fake_gravity_tree_points,
	.morton_cube = fake_morton_cube,
	.morton_keys = fake_morton_keys,
	.sort_keys = fake_sort_keys,
	.sort_deep = fake_sort_deep,
	.permute = fake_permute,
	.scatter = fake_scatter,
	.marked_rows = fake_marked_rows,
	.keys_current = fake_keys_current,
	.first_outside = fake_first_outside,
	.ids_sum = fake_ids_sum,
	.tree_build = fake_tree_build,
	.tree_free = fake_tree_free,
	.tree_check = fake_tree_check,
	.boxes_build = fake_boxes_build,
	.boxes_check = fake_boxes_check,
	.whfast_swarm_begin = fake_whfast_swarm_begin,
	.whfast_swarm_steps = fake_whfast_swarm_steps,
	.whfast_swarm_state = fake_whfast_swarm_state,
	.whfast_swarm_free = nb_whfast_swarm_free_cpu,
	.ias15_swarm_begin = fake_ias15_swarm_begin,
	.ias15_swarm_until = fake_ias15_swarm_until,
	.ias15_swarm_at = fake_ias15_swarm_at,
	.ias15_swarm_free = nb_ias15_swarm_free_cpu,
	.near_nearest = fake_near_nearest,
	.groups_find = fake_groups_find,
	.kick = fake_kick,
	.drift = fake_drift,
	.kick_drift = fake_kick_drift,
	.wrap = fake_wrap,
	.scale_velocities = fake_scale_velocities,
	.taylor = fake_taylor,
	.hermite = fake_hermite,
	.largest_acc = fake_largest_acc,
	.moments = fake_moments,
	.potential_energy = fake_potential_energy,
	.lagrangian_radii = fake_lagrangian_radii,
	.mesh_paint = fake_mesh_paint,
	.mesh_transform = fake_mesh_transform,
	.mesh_shells = fake_mesh_shells,
	.splat_visible = fake_splat_visible,
	.splat_centre = fake_splat_centre,
	.camera_size = fake_camera_size,
	.splat_project = fake_splat_project,
	.splat_radii = fake_splat_radii,
	.splat_disc_radii = fake_splat_disc_radii,
	.splat_sharpen = fake_splat_sharpen,
	.exposure_masses = fake_exposure_masses,
	.exposure_speeds = fake_exposure_speeds,
	.exposure_range = fake_exposure_range,
	.splat_weights = fake_splat_weights,
	.splat_speed_weights = fake_splat_speed_weights,
	.splat_colour_weights = fake_splat_colour_weights,
	.splat = fake_splat,
	.finish = fake_finish,
};
