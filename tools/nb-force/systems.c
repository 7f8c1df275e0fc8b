/* nb-force of a frame with column system: direct sums within each system, on the CPU.  What a system gets does not
 * depend on the others, nor on where its bodies stand in the frame. */
#include "tools/filter/systems.h"
#include "common/mem.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/require.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <string.h>

/* Systems of more bodies are computed one after the other by all threads, the others each by one of them. */
enum { MANY = 2048, NUMBERS = 15 /* of a body */ };

static const char *what_else(const struct force *opt, enum method method)
{
	if (opt->kernel)
		return "option '--kernel'";
	if (method != METHOD_DIRECT)
		return method == METHOD_TREE ? "method tree" : method == METHOD_NEAR ? "method near" : "method fmm";
	if (nb_force_precision(opt, method) != NB_F64)
		return "a precision other than f64";
	if (nb_ranks_size() > 1)
		return "nb-force on several ranks";
	if (opt->accuracy > 0 || opt->audit)
		return opt->audit ? "option '--audit'" : "option '--accuracy'";
	return opt->box > 0 ? "a periodic box" : NULL;
}

int nb_force_has_systems(struct nb_run *run, const struct force *opt, enum method method, const struct nb_frame *frame)
{
	if (!nb_frame_field(frame, NB_SYSTEM))
		return 0;
	const char *what = what_else(opt, method);
	if (!what && run->backend->space->device >= 0 && strcmp(run->common.backend, "auto") != 0)
		what = "a device";
	if (what) {
		nb_refuse_systems(frame, what, "'-m direct -b cpu' in f64");
		return 0; /* one system is as none */
	}
	if (run->backend->space->device >= 0)
		nb_choose_backend(run, "cpu");
	return 1;
}

/* The n bodies of these rows, as if there were no others. */
static int sum_one(const struct nb_gravity *all, size_t n, const uint32_t *row, double *own)
{
	struct nb_gravity g = *all;
	double *pos = own, *vel = pos + 3 * n, *mass = vel + 3 * n, *eps = mass + n;
	g.n = n;
	g.pos = pos;
	g.mass = mass;
	g.vel = all->vel ? vel : NULL;
	g.body_eps = all->body_eps ? eps : NULL;
	g.acc = eps + n;
	g.pot = all->pot ? g.acc + 3 * n : NULL;
	g.jerk = all->jerk ? g.acc + 4 * n : NULL;
	for (size_t i = 0; i < n; i++) {
		memcpy(pos + 3 * i, all->pos + 3 * (size_t)row[i], 3 * sizeof *pos);
		if (all->vel)
			memcpy(vel + 3 * i, all->vel + 3 * (size_t)row[i], 3 * sizeof *vel);
		mass[i] = all->mass[row[i]];
		eps[i] = all->body_eps ? all->body_eps[row[i]] : 0;
	}
	const int status = nb_gravity_direct_cpu(&g, NULL);
	for (size_t i = 0; i < n && !status; i++) {
		memcpy(all->acc + 3 * (size_t)row[i], g.acc + 3 * i, 3 * sizeof *g.acc);
		if (all->pot)
			all->pot[row[i]] = g.pot[i];
		if (all->jerk)
			memcpy(all->jerk + 3 * (size_t)row[i], g.jerk + 3 * i, 3 * sizeof *g.jerk);
	}
	return status;
}

static int sum_alone(const struct nb_gravity *all, size_t n, const uint32_t *row)
{
	double few[16 * NUMBERS], *own = n <= 16 ? few : nb_alloc(n, NUMBERS * sizeof *own);
	const int status = own ? sum_one(all, n, row, own) : NB_ENOMEM;
	if (own != few)
		nb_free(own);
	return status;
}

int nb_force_systems(struct nb_frame *frame, const struct nb_gravity *g, struct nb_gravity_count *count)
{
	struct nb_systems systems;
	int status = NB_OK;
	nb_find_systems(frame, &systems);
	const size_t *first = systems.first;
#pragma omp parallel for schedule(dynamic, 64) reduction(max : status) if (systems.n > 64)
	for (size_t k = 0; k < systems.n; k++) {
		const size_t n = first[k + 1] - first[k];
		const int own = n <= MANY ? sum_alone(g, n, systems.row + first[k]) : NB_OK;
		status = own > status ? own : status;
	}
	for (size_t k = 0; k < systems.n && !status; k++) {
		const size_t n = first[k + 1] - first[k];
		if (n > MANY)
			status = sum_alone(g, n, systems.row + first[k]);
		if (count)
			count->p2p += (uint64_t)n * (n - 1);
	}
	nb_free_systems(&systems);
	return status;
}
