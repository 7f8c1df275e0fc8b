/* The only file that tests NB_CUDA. */
#include "kernels/backend.h"

#include <stdio.h>
#include <string.h>

static const struct nb_backend backend_cpu = {
        .name = "cpu",
        .space = &nb_space_host,
        .gravity_direct = nb_gravity_direct_cpu,
        .gravity_near = nb_gravity_near_cpu,
        .gravity_tree = nb_gravity_tree_cpu,
        .morton_cube = nb_morton_cube_cpu,
        .morton_keys = nb_morton_keys_cpu,
        .sort_keys = nb_sort_keys_cpu,
        .permute = nb_permute_cpu,
        .tree_build = nb_tree_build_cpu,
        .kick = nb_kick_cpu,
        .drift = nb_drift_cpu,
        .taylor = nb_taylor_cpu,
        .largest_acc = nb_largest_acc_cpu,
};

int nb_backend_choose(const char *name, const struct nb_backend **backend, char *why)
{
	*backend = NULL;
	why[0] = '\0';
	if (strcmp(name, "auto") == 0 || strcmp(name, "cpu") == 0) {
		*backend = &backend_cpu;
		return NB_OK;
	}
	if (strcmp(name, "cuda") == 0 || strncmp(name, "cuda:", 5) == 0) {
		snprintf(why, NB_BACKEND_WHY, "this program was built without CUDA");
		return NB_ENODEV;
	}
	snprintf(why, NB_BACKEND_WHY, "want auto, cpu, cuda or cuda:N");
	return NB_EINVAL;
}

const char *nb_backend_error(const struct nb_backend *backend, int status)
{
	(void)backend;
	return nb_status_text(status);
}
