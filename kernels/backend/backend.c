/* Asks NB_CUDA which backends there are; papers/choose.c does for the kernels of the papers, and nobody else. */
#include "kernels/backend/backend.h"

#include "kernels/device/device.h"
#include "kernels/domain/domain.h"
#include "kernels/ranks/ranks.h"
#include "kernels/team/team.h"
#include "kernels/walk_gpu/walk_gpu.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int nothing_to_finish(void)
{
	return NB_OK;
}

static const struct nb_backend backend_cpu = {
	.name = "cpu",
	.space = &nb_space_host,
	.gravity_direct = nb_gravity_direct_cpu,
	.gravity_near = nb_gravity_near_cpu,
	.gravity_fmm = nb_gravity_fmm_cpu,
	.gravity_tree = nb_gravity_tree_cpu,
	.gravity_treepm = nb_treepm_cpu,
	.external_add = nb_external_add_cpu,
	.gravity_points = nb_gravity_points_cpu,
	.gravity_tree_points = nb_gravity_tree_points_cpu,
	.morton_cube = nb_morton_cube_cpu,
	.morton_keys = nb_morton_keys_cpu,
	.sort_keys = nb_sort_keys_cpu,
	.sort_deep = nb_sort_deep_cpu,
	.permute = nb_permute_cpu,
	.scatter = nb_scatter_cpu,
	.marked_rows = nb_marked_rows_cpu,
	.keys_current = nb_keys_current_cpu,
	.first_outside = nb_first_outside_cpu,
	.ids_sum = nb_ids_sum_cpu,
	.tree_build = nb_tree_build_cpu,
	.tree_free = nb_tree_free,
	.tree_check = nb_tree_check_cpu,
	.boxes_build = nb_boxes_build_cpu,
	.boxes_check = nb_boxes_check_cpu,
	.whfast_swarm_begin = nb_whfast_swarm_begin_cpu,
	.whfast_swarm_steps = nb_whfast_swarm_steps_cpu,
	.whfast_swarm_state = nb_whfast_swarm_state_cpu,
	.whfast_swarm_free = nb_whfast_swarm_free_cpu,
	.ias15_swarm_begin = nb_ias15_swarm_begin_cpu,
	.ias15_swarm_until = nb_ias15_swarm_until_cpu,
	.ias15_swarm_at = nb_ias15_swarm_at_cpu,
	.ias15_swarm_free = nb_ias15_swarm_free_cpu,
	.near_nearest = nb_near_nearest_cpu,
	.groups_find = nb_groups_find_cpu,
	.kick = nb_kick_cpu,
	.drift = nb_drift_cpu,
	.kick_drift = nb_kick_drift_cpu,
	.wrap = nb_wrap_cpu,
	.scale_velocities = nb_scale_velocities_cpu,
	.taylor = nb_taylor_cpu,
	.hermite = nb_hermite_cpu,
	.largest_acc = nb_largest_acc_cpu,
	.moments = nb_moments_cpu,
	.potential_energy = nb_potential_energy_cpu,
	.lagrangian_radii = nb_lagrangian_radii_cpu,
	.mesh_paint = nb_mesh_paint_cpu,
	.mesh_transform = nb_mesh_transform_cpu,
	.mesh_shells = nb_mesh_shells_cpu,
	.splat_visible = nb_splat_visible_cpu,
	.splat_centre = nb_splat_centre_cpu,
	.camera_size = nb_camera_size_cpu,
	.splat_project = nb_splat_project_cpu,
	.splat_radii = nb_splat_radii_cpu,
	.splat_disc_radii = nb_splat_disc_radii_cpu,
	.splat_sharpen = nb_splat_sharpen_cpu,
	.exposure_masses = nb_exposure_masses_cpu,
	.exposure_speeds = nb_exposure_speeds_cpu,
	.exposure_range = nb_exposure_range_cpu,
	.splat_weights = nb_splat_weights_cpu,
	.splat_speed_weights = nb_splat_speed_weights_cpu,
	.splat_colour_weights = nb_splat_colour_weights_cpu,
	.splat = nb_splat_cpu,
	.finish = nothing_to_finish,
};

#ifdef NB_CUDA
static int no_tree_points(const struct nb_gravity *g, const struct nb_tree *tree, const struct nb_tree_walk *walk,
	const struct nb_gravity_points *points, struct nb_gravity_count *count)
{
	(void)g;
	(void)tree;
	(void)walk;
	(void)points;
	(void)count;
	return NB_EUNSUPPORTED;
}

static struct nb_backend backend_cuda = {
	.name = "cuda",
	.gravity_direct = nb_gravity_direct_cuda,
	.gravity_near = nb_gravity_near_cuda,
	.gravity_fmm = nb_gravity_fmm_cuda,
	.gravity_tree = nb_gravity_tree_cuda,
	.gravity_treepm = nb_treepm_cuda,
	.external_add = nb_external_add_cuda,
	.gravity_points = nb_gravity_points_cuda,
	.gravity_tree_points = no_tree_points,
	.morton_cube = nb_morton_cube_cuda,
	.morton_keys = nb_morton_keys_cuda,
	.sort_keys = nb_sort_keys_cuda,
	.sort_deep = nb_sort_deep_cuda,
	.permute = nb_permute_cuda,
	.scatter = nb_scatter_cuda,
	.marked_rows = nb_marked_rows_cuda,
	.keys_current = nb_keys_current_cuda,
	.first_outside = nb_first_outside_cuda,
	.ids_sum = nb_ids_sum_cuda,
	.tree_build = nb_tree_build_cuda,
	.tree_free = nb_tree_free_cuda,
	.tree_check = nb_tree_check_cuda,
	.boxes_build = nb_boxes_build_cuda,
	.boxes_check = nb_boxes_check_cuda,
	.whfast_swarm_begin = nb_whfast_swarm_begin_cuda,
	.whfast_swarm_steps = nb_whfast_swarm_steps_cuda,
	.whfast_swarm_state = nb_whfast_swarm_state_cuda,
	.whfast_swarm_free = nb_whfast_swarm_free_cuda,
	.ias15_swarm_begin = nb_ias15_swarm_begin_cuda,
	.ias15_swarm_until = nb_ias15_swarm_until_cuda,
	.ias15_swarm_at = nb_ias15_swarm_at_cuda,
	.ias15_swarm_free = nb_ias15_swarm_free_cuda,
	.near_nearest = nb_near_nearest_cuda,
	.groups_find = nb_groups_find_cuda,
	.kick = nb_kick_cuda,
	.drift = nb_drift_cuda,
	.kick_drift = nb_kick_drift_cuda,
	.wrap = nb_wrap_cuda,
	.scale_velocities = nb_scale_velocities_cuda,
	.taylor = nb_taylor_cuda,
	.hermite = nb_hermite_cuda,
	.largest_acc = nb_largest_acc_cuda,
	.moments = nb_moments_cuda,
	.potential_energy = nb_potential_energy_cuda,
	.lagrangian_radii = nb_lagrangian_radii_cuda,
	.mesh_paint = nb_mesh_paint_cuda,
	.mesh_transform = nb_mesh_transform_cuda,
	.mesh_shells = nb_mesh_shells_cuda,
	.splat_visible = nb_splat_visible_cuda,
	.splat_centre = nb_splat_centre_cuda,
	.camera_size = nb_camera_size_cuda,
	.splat_project = nb_splat_project_cuda,
	.splat_radii = nb_splat_radii_cuda,
	.splat_disc_radii = nb_splat_disc_radii_cuda,
	.splat_sharpen = nb_splat_sharpen_cuda,
	.exposure_masses = nb_exposure_masses_cuda,
	.exposure_speeds = nb_exposure_speeds_cuda,
	.exposure_range = nb_exposure_range_cuda,
	.splat_weights = nb_splat_weights_cuda,
	.splat_speed_weights = nb_splat_speed_weights_cuda,
	.splat_colour_weights = nb_splat_colour_weights_cuda,
	.splat = nb_splat_cuda,
	.finish = nb_cuda_finish,
};

static struct nb_device_list opened;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

void nb_backend_offer(void)
{
	nb_domain_use_devices(&nb_domain_device_cuda);
}

int nb_backend_reach(const struct nb_device_list *list)
{
	int count = list->n ? 0 : INT_MAX;
	for (int k = 0; k < list->n; k++)
		count = list->id[k] >= count ? list->id[k] + 1 : count;
	return nb_cuda_show(count);
}

/* What is open stays as it is when it is asked for again, as other threads may be computing with it. */
static int open_devices(struct nb_device_list *list, char *why)
{
	const struct nb_space *space;
	(void)nb_backend_reach(list); /* if not, the next line names the device that is missing */
	int status = list->n ? NB_OK : nb_team_list_all(NB_DEVICES_MOST, list->id, &list->n, why, NB_BACKEND_WHY);
	if (!status)
		status = nb_cuda_open(list->id[0], &space, why, NB_BACKEND_WHY);
	if (!status && list->n > 1)
		status = nb_team_open(list->n, list->id, why, NB_BACKEND_WHY);
	if (status || nb_device_list_equal(list, &opened))
		return status;
	backend_cuda.name = nb_team_size() > 1 ? nb_team_name() : space->name;
	backend_cuda.space = space;
	opened = *list;
	nb_backend_offer();
	return NB_OK;
}

static int open_cuda(struct nb_device_list *list, const struct nb_backend **backend, char *why)
{
	pthread_mutex_lock(&opening);
	const int status = open_devices(list, why);
	pthread_mutex_unlock(&opening);
	if (!status)
		*backend = &backend_cuda;
	return status;
}

int nb_backend_room(const struct nb_backend *backend, struct nb_device_room *room)
{
	double bytes;
	room->bytes = 0;
	for (int k = 0; backend == &backend_cuda && k < opened.n; k++) {
		int status = nb_cuda_memory(opened.id[k], &bytes);
		if (status)
			return status;
		if (room->bytes > 0 && room->bytes <= bytes)
			continue;
		room->bytes = bytes;
		snprintf(room->name, sizeof room->name, "device %d", opened.id[k]);
	}
	return room->bytes > 0 ? NB_OK : NB_EINVAL;
}

int nb_backend_report(const struct nb_backend *backend, int k, char *line)
{
	if (backend != &backend_cuda)
		return NB_EINVAL;
	if (nb_team_size() > 1)
		return nb_team_report(k, line, NB_BACKEND_REPORT);
	return k == 0 && opened.n ? nb_cuda_report(opened.id[0], line, NB_BACKEND_REPORT) : NB_EINVAL;
}

int nb_backend_look(struct nb_device_speed *speed, char *why)
{
	(void)nb_cuda_show(1);
	return nb_cuda_look(0, &speed->f32, &speed->f64, why, NB_BACKEND_WHY);
}

static const char *device_error(int status)
{
	return nb_cuda_error(status);
}

int nb_backend_enter_thread(void)
{
	return backend_cuda.space ? nb_cuda_enter(backend_cuda.space) : NB_OK;
}
int nb_backend_members(void)
{
	return nb_team_size();
}

int nb_backend_cards(void)
{
	int n = 0;
	for (int k = 0; k < opened.n; k++) {
		int before = 0;
		while (before < k && opened.id[before] != opened.id[k])
			before++;
		n += before == k;
	}
	return n ? n : 1;
}

int nb_backend_enlist(void)
{
	return nb_ranks_begin_threads(nb_team_size(), nb_domain_serve);
}
#else
void nb_backend_offer(void)
{
}

int nb_backend_reach(const struct nb_device_list *list)
{
	(void)list;
	return 1;
}

int nb_backend_members(void)
{
	return 1;
}

int nb_backend_cards(void)
{
	return 1;
}

int nb_backend_enlist(void)
{
	return NB_EUNSUPPORTED;
}

static int no_cuda(char *why)
{
	snprintf(why, NB_BACKEND_WHY, "this program was built without CUDA");
	return NB_ENODEV;
}

static int open_cuda(struct nb_device_list *list, const struct nb_backend **backend, char *why)
{
	(void)list;
	(void)backend;
	return no_cuda(why);
}

int nb_backend_report(const struct nb_backend *backend, int k, char *line)
{
	(void)backend;
	(void)k;
	(void)line;
	return NB_EINVAL;
}

int nb_backend_room(const struct nb_backend *backend, struct nb_device_room *room)
{
	(void)backend;
	(void)room;
	return NB_EINVAL;
}

int nb_backend_look(struct nb_device_speed *speed, char *why)
{
	(void)speed;
	return no_cuda(why);
}

static const char *device_error(int status)
{
	(void)status;
	return "";
}

int nb_backend_enter_thread(void)
{
	return NB_OK;
}
#endif

int nb_backend_choose(const char *name, const struct nb_backend **backend, char *why)
{
	struct nb_device_list list;
	*backend = NULL;
	why[0] = '\0';
	if (strcmp(name, "cpu") == 0) {
		*backend = &backend_cpu;
		return NB_OK;
	}
	int status = nb_device_list_read(name, &list, why, NB_BACKEND_WHY);
	return status ? status : open_cuda(&list, backend, why);
}

const char *nb_backend_error(const struct nb_backend *backend, int status)
{
	const char *detail = backend->space->device >= 0 ? device_error(status) : "";
	return *detail ? detail : nb_status_text(status);
}
