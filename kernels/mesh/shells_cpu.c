/* Sums over shells: rows of modes, in which a shell is a run; those of parts of all x are added in their order. */
#include "kernels/mesh/mesh_internal.h"

#include "common/mem.h"

enum { PARTS = 64 };

struct modes {
	int m;
	const struct nb_mesh_axis *axis;
	const struct nb_mesh_modes *a, *b;
};

static void add(struct nb_mesh_shell *to, const struct nb_mesh_shell *part)
{
	to->modes += part->modes;
	to->distance += part->distance;
	to->power[0] += part->power[0];
	to->power[1] += part->power[1];
	to->cross += part->cross;
}

static void add_row(const struct modes *of, int x, int y, struct nb_mesh_shell *shell)
{
	const int m = of->m, kx = nb_mesh_wave(x, m), ky = nb_mesh_wave(y, m), count = (m + 1) / 2;
	const size_t first = ((size_t)x * (size_t)m + (size_t)y) * nb_mesh_row(m) / 2;
	const struct nb_mesh_axis xy = nb_mesh_both(of->axis[x], of->axis[y]);
	struct nb_mesh_shell run = {0};
	int at = 0;
	for (int z = 0; z < count; z++) {
		const int distance2 = kx * kx + ky * ky + z * z, next = nb_mesh_shell_of(distance2);
		const double weight = z ? 2 : 1;
		double a[2], b[2] = {0, 0};
		if (next >= count)
			break;
		if (next != at) {
			add(&shell[at], &run);
			run = (struct nb_mesh_shell){0};
			at = next;
		}
		const struct nb_mesh_axis axes = nb_mesh_both(xy, of->axis[z]);
		nb_mesh_mode(of->a, first + (size_t)z, axes, a);
		if (of->b)
			nb_mesh_mode(of->b, first + (size_t)z, axes, b);
		add(&run, &(struct nb_mesh_shell){weight, weight * sqrt(distance2),
				  {weight * (a[0] * a[0] + a[1] * a[1]), weight * (b[0] * b[0] + b[1] * b[1])},
				  weight * (a[0] * b[0] + a[1] * b[1])});
	}
	add(&shell[at], &run);
}

int nb_mesh_shells_cpu(
	int m, int order, const struct nb_mesh_modes *a, const struct nb_mesh_modes *b, struct nb_mesh_shell *shell)
{
	const size_t count = ((size_t)m + 1) / 2;
	struct nb_mesh_axis *axis = nb_alloc((size_t)m, sizeof *axis);
	struct nb_mesh_shell *part = nb_alloc_zero(PARTS * count, sizeof *part);
	const struct modes of = {m, axis, a, b};
	const int status = axis && part ? NB_OK : NB_ENOMEM;
	if (!status)
		nb_mesh_axes(m, order, axis);
#pragma omp parallel for schedule(dynamic)
	for (int p = 0; p < (status ? 0 : PARTS); p++)
		for (int x = m * p / PARTS; x < m * (p + 1) / PARTS; x++)
			for (int y = 0; y < m; y++)
				add_row(&of, x, y, part + (size_t)p * count);
	for (size_t k = 0; !status && k < count; k++) {
		shell[k] = (struct nb_mesh_shell){0};
		for (size_t p = 0; p < PARTS; p++)
			add(&shell[k], &part[p * count + k]);
	}
	nb_free_all(axis, part);
	return status;
}
