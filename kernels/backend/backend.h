/* backend.h - where to compute: one table of kernels per backend, chosen by name at run time.
 *
 * A tool asks nb_backend_choose for a table, asks its frame for columns in backend->space, and calls through
 * the table.  Backends agree within the tolerances that the headers of the kernels state, not bit for bit;
 * each gives the same bytes on every run. */
#ifndef NB_BACKEND_H
#define NB_BACKEND_H

#include "common/space.h"
#include "kernels/backend/cost.h"
#include "kernels/backend/list.h"
#include "kernels/backend/memory.h"
#include "kernels/field/field.h"
#include "kernels/fmm/fmm.h"
#include "kernels/gravity/gravity.h"
#include "kernels/groups/groups.h"
#include "kernels/measure/measure.h"
#include "kernels/mesh/mesh.h"
#include "kernels/motion/motion.h"
#include "kernels/near/near.h"
#include "kernels/order/order.h"
#include "kernels/picture/picture.h"
#include "kernels/small/small.h"
#include "kernels/tree/tree.h"
#include "kernels/treepm/treepm.h"
#include "kernels/walk/walk.h"

NB_C_BEGIN

struct nb_backend {
	const char *name; /* "cpu", "cuda:0", "cuda:0,1" */
	const struct nb_space *space;

	int (*gravity_direct)(const struct nb_gravity *g, struct nb_gravity_count *count);
	int (*gravity_near)(const struct nb_gravity *g, const struct nb_boxes *boxes, struct nb_gravity_count *count);
	int (*gravity_fmm)(const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm,
		struct nb_gravity_count *count);
	int (*gravity_tree)(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
		struct nb_gravity_count *count);
	int (*gravity_points)(const struct nb_gravity *g, const struct nb_gravity_points *points);
	int (*gravity_tree_points)(const struct nb_gravity *g, const struct nb_tree *tree,
		const struct nb_tree_walk *walk, const struct nb_gravity_points *points,
		struct nb_gravity_count *count);

	int (*gravity_treepm)(const struct nb_gravity *g, double box, const struct nb_treepm *how,
		const struct nb_gravity_points *points, struct nb_treepm_kept *kept, struct nb_gravity_count *count);

	int (*external_add)(const struct nb_external *external, const struct nb_external_bodies *bodies);

	int (*morton_cube)(size_t n, const double *pos, int dim, struct nb_cube *cube, size_t *bad);
	int (*morton_keys)(size_t n, const double *pos, int dim, const struct nb_cube *cube, uint64_t *key);
	int (*sort_keys)(size_t n, uint64_t *key, uint32_t *perm);
	int (*sort_deep)(size_t n, const uint64_t *key, const double *pos, int dim, uint32_t *perm);
	int (*permute)(size_t n, const uint32_t *perm, size_t rowsize, const void *src, void *dst);
	int (*scatter)(size_t n, const uint32_t *row, size_t rowsize, const void *src, void *dst);
	int (*marked_rows)(size_t n, const unsigned char *mark, uint32_t *row, size_t *count);
	int (*keys_current)(
		size_t n, const double *pos, int dim, const struct nb_cube *cube, const uint64_t *key, int *current);
	int (*first_outside)(size_t n, const double *pos, int from, int to, const struct nb_cube *cube, size_t *first);
	int (*ids_sum)(size_t n, const uint64_t *id, uint64_t *sum);
	int (*tree_build)(size_t n, const uint64_t *key, const double *pos, const double *mass, int dim,
		const struct nb_cube *cube, int leaf_size, int order, struct nb_tree *tree);
	void (*tree_free)(struct nb_tree *tree);
	int (*tree_check)(
		const struct nb_tree *tree, size_t n, const double *pos, const double *mass, const char **wrong);
	int (*boxes_build)(size_t n, const uint64_t *key, int dim, int level, uint64_t *box_first, int32_t *neighbour);
	int (*boxes_check)(const struct nb_boxes *boxes, size_t n, const char **wrong);

	/* many systems for steps of whfast */
	int (*whfast_swarm_begin)(struct nb_whfast_swarm **swarm, const struct nb_whfast *w, size_t systems);
	int (*whfast_swarm_steps)(struct nb_whfast_swarm *swarm, const uint64_t *steps, int *failed);
	int (*whfast_swarm_state)(struct nb_whfast_swarm *swarm, struct nb_whfast *w);
	void (*whfast_swarm_free)(struct nb_whfast_swarm *swarm);
	/* and of ias15 */
	int (*ias15_swarm_begin)(struct nb_ias15_swarm **swarm, const struct nb_ias15_bodies *all);
	int (*ias15_swarm_until)(struct nb_ias15_swarm *swarm, const double *time, uint64_t most, size_t *left);
	int (*ias15_swarm_at)(struct nb_ias15_swarm *swarm, const double *time, double *pos, double *vel,
		struct nb_ias15_ended *ended);
	void (*ias15_swarm_free)(struct nb_ias15_swarm *swarm);
	int (*near_nearest)(const struct nb_near_bodies *bodies, const struct nb_near_found *nearest);
	int (*groups_find)(const struct nb_groups_job *job, uint32_t *group, struct nb_groups *groups);

	int (*kick)(size_t n, double *vel, const double *acc, double dt);
	int (*drift)(size_t n, double *pos, const double *vel, double dt);
	int (*kick_drift)(size_t n, double *pos, double *vel, const double *acc, double before, double kick,
		double drift, double extent[7]);
	int (*wrap)(size_t n, double *pos, double box, int single);
	int (*scale_velocities)(size_t n, double *vel, double factor);
	int (*taylor)(size_t n, double *pos, double *vel, const double *acc, const double *jerk, double dt);
	int (*hermite)(size_t n, double *pos, double *vel, const double *acc, const double *jerk, const double *acc_was,
		const double *jerk_was, double ahead, double dt);
	int (*largest_acc)(size_t n, const double *acc, double *largest);

	int (*moments)(size_t n, const double *mass, const double *pos, const double *vel, struct nb_moments *moments);
	int (*potential_energy)(size_t n, const double *mass, const double *pot, double *epot);
	int (*lagrangian_radii)(size_t n, const double *mass, const double *pos, const double centre[3],
		size_t nfraction, const double *fraction, double *radius);

	int (*mesh_paint)(const struct nb_mesh_paint *paint, void *mesh, void *shifted);
	int (*mesh_transform)(int m, double unit, void *mesh);
	int (*mesh_shells)(int m, int order, const struct nb_mesh_modes *a, const struct nb_mesh_modes *b,
		struct nb_mesh_shell *shell);

	int (*splat_visible)(size_t n, const double *species, const unsigned char hidden[NB_PICTURE_SPECIES],
		uint32_t *row, size_t *count);
	int (*splat_centre)(size_t n, const double *pos, const double *mass, double centre[3]);
	int (*camera_size)(size_t n, const double *pos, const double centre[3], double *size);
	int (*splat_project)(size_t n, const double *pos, const struct nb_camera *camera, float *x, float *y);
	int (*splat_radii)(
		size_t n, const float *x, const float *y, int width, int height, double neighbours, float *radius);
	int (*splat_disc_radii)(size_t n, const double *mass, const struct nb_mass_scale *scale, const double *own,
		double pixels_per_length, double size, float *radius);
	int (*splat_sharpen)(size_t n, const double *mass, double heavy, float spot, float *radius);
	int (*exposure_masses)(size_t n, const double *mass, struct nb_mass_scale *scale);
	int (*exposure_speeds)(size_t n, const double *vel, double *slow, double *fast);
	int (*exposure_range)(size_t n, const float *x, const float *y, int width, int height, const float *image,
		enum nb_stretch stretch, float *lo, float *hi);
	int (*splat_weights)(size_t n, const double *mass, const struct nb_mass_scale *scale, double cap, int nchannel,
		float *weight);
	int (*splat_speed_weights)(size_t n, const double *vel, double slow, double fast, int nchannel, float *weight);
	int (*splat_colour_weights)(
		size_t n, const double *species, const uint32_t colour[NB_PICTURE_SPECIES], float *weight);
	int (*splat)(const struct nb_splat *splat);

	/* Waits for work that is only queued, and returns what went wrong in it. */
	int (*finish)(void);
};

/* "cpu", or the devices of list.h; what "auto" means is for the caller to say (cost.h).  Several devices share the
 * direct sum, the walk of a tree and the near field; arrays are in the memory of the first one, which does the rest.
 * Returns 0 and the table, or NB_EINVAL (no such name), NB_ENODEV, NB_EDEVICE. why then holds a phrase of at most
 * NB_BACKEND_WHY bytes, e.g. "this program was built without CUDA". */
enum { NB_BACKEND_WHY = 200 };
NB_MUST_CHECK int nb_backend_choose(const char *name, const struct nb_backend **backend, char *why);
/* How fast the device is that "cuda" means, without a context of it.  0, or NB_ENODEV with why. */
NB_MUST_CHECK int nb_backend_look(struct nb_device_speed *speed, char *why);

/* The process will choose this list: so devices up to the last of it are started, and not those behind.  0: too late,
 * as it has started fewer.  Nobody has to say so before he chooses. */
int nb_backend_reach(const struct nb_device_list *list);

/* The memory of a device: of the one of a backend that has the least.  0, NB_EINVAL for the CPU, or what the device
 * says. */
struct nb_device_room {
	double bytes;
	char name[24]; /* "device 0" */
};
NB_MUST_CHECK int nb_backend_room(const struct nb_backend *backend, struct nb_device_room *room);

/* What device number k of those that share the work has done up to now, as a line for people, with the memory that it
 * used at most; NB_EINVAL if there is no such device. */
enum { NB_BACKEND_REPORT = 300 };
NB_MUST_CHECK int nb_backend_report(const struct nb_backend *backend, int k, char *line);

/* In a new thread that is to use what another one has chosen.  0, or why its device cannot be used there. */
NB_MUST_CHECK int nb_backend_enter_thread(void);

/* Ranks other than the first (kernels/ranks/ranks.h): their parts of what backend "cpu" of rank 0 computes, until that
 * leaves.  0, or what went wrong, e.g. NB_ENOMEM: the others then wait for this one, and nb_ranks_abort must follow. */
NB_MUST_CHECK int nb_backend_serve(void);

/* How many devices share the work of this process; 1 where that is the CPU's or one device's. */
int nb_backend_members(void);
/* How many these are, if those that are named several times count once. */
int nb_backend_cards(void);
/* Makes them the ranks of jobs NB_RANKS_DOMAIN (kernels/ranks/ranks.h).  NB_ENOMEM; NB_EUNSUPPORTED in a program with
 * MPI. */
NB_MUST_CHECK int nb_backend_enlist(void);

/* Lets bodies be spread over the devices of ranks (kernels/domain/domain.h), if the program has been built with CUDA.
 * nb_backend_choose and nb_backend_serve do that. */
void nb_backend_offer(void);

/* What went wrong in the last call that returned status, e.g. the device's own message. */
const char *nb_backend_error(const struct nb_backend *backend, int status);

NB_C_END
#endif
