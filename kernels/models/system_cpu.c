/* Binaries, and mass segregation.
 *
 * A binary is two bodies on a Kepler orbit about the centre that the model has placed: a uniform in its logarithm
 * between two limits, f(e) = 2 e (thermal: Jeans 1919, MNRAS 79, 408; Heggie 1975, MNRAS 173, 729), any orientation and
 * mean anomaly.
 *
 * Segregation after Baumgardt, De Marchi & Kroupa 2008, ApJ 685, 247, as McLuster does it (Kupper, Maschberger, Kroupa
 * & Baumgardt 2011, MNRAS 417, 2300): more orbits than systems are drawn and sorted by energy.  The systems, in some
 * order, divide the orbits among themselves, each getting a number of them in proportion to its mass; it keeps one at
 * random.  So the mass in orbits of each energy is that of the model, whatever the order, and with it the density of
 * mass and the virial ratio.  The order is that of the masses for S = 1: one after the other, from the heaviest on,
 * takes the free place of number floor((1 - u^(1 - S)) times those that are free), u uniform.  With S = 0 that would
 * be any place. */
#include "kernels/models/model_internal.h"

#include "common/mem.h"
#include "kernels/models/sample_internal.h"
#include "kernels/models/sphere_internal.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ORBITS = 256 /* for each system */ };

struct entry {
	double value;
	uint64_t index;
};

static int ascending(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
				    : (x->index > y->index) - (x->index < y->index);
}

/* ---- segregation -------------------------------------------------------------------------------- */

/* Energies of bodies 0 to n - 1 of the part, in its own units; sorted. */
static int sort_orbits(const struct nb_model *model, uint64_t n, struct entry *orbit)
{
	const struct nb_model_part *part = &model->part[0];
	const int64_t blocks = (int64_t)((n + NB_MODEL_BLOCK - 1) / NB_MODEL_BLOCK);
	int status = NB_OK;
#pragma omp parallel for schedule(dynamic)
	for (int64_t b = 0; b < blocks; b++) {
		const uint64_t start = (uint64_t)b * NB_MODEL_BLOCK;
		const size_t count = n - start < NB_MODEL_BLOCK ? (size_t)(n - start) : (size_t)NB_MODEL_BLOCK;
		double *pos = nb_alloc(6 * NB_MODEL_BLOCK, sizeof *pos), *vel = pos + 3 * NB_MODEL_BLOCK;
		int got = pos ? nb_model_draw(model, part, 0, start, count, pos) : NB_ENOMEM;
		if (!got)
			got = nb_model_draw(model, part, 1, start, count, vel);
		for (size_t i = 0; i < count && !got; i++) {
			const double *x = pos + 3 * i, *v = vel + 3 * i;
			const double r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / part->length;
			const double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / part->speed;
			const double energy = speed * speed / 2 - nb_sphere_potential(part->sphere, r);
			orbit[start + i] = (struct entry){energy, start + i};
		}
		nb_free(pos);
		if (got) {
#pragma omp atomic write
			status = got;
		}
	}
	if (!status)
		qsort(orbit, n, sizeof *orbit, ascending);
	return status;
}

/* Takes free place k, counting from 0, out of n: place[i] has the number of free ones in its range, as a Fenwick tree
 * does.  Fenwick 1994, Software: Practice and Experience 24, 327. */
static uint64_t take_place(uint64_t *place, uint64_t n, uint64_t k)
{
	uint64_t at = 0, step = 1;
	while (step <= n / 2)
		step *= 2;
	for (; step > 0; step /= 2)
		if (at + step <= n && place[at + step] <= k) {
			at += step;
			k -= place[at];
		}
	for (uint64_t i = at + 1; i <= n; i += i & -i)
		place[i]--;
	return at;
}

/* The systems in the order in which they get orbits; value: their masses. */
static int order_systems(const struct nb_model *model, double S, struct entry *order)
{
	const uint64_t n = model->systems->n;
	struct entry *sorted = nb_alloc(n, sizeof *sorted);
	uint64_t *place = nb_alloc(n + 1, sizeof *place);
	const int status = sorted && place ? NB_OK : NB_ENOMEM;
#pragma omp parallel for if (!status)
	for (uint64_t j = 0; j < (status ? 0 : n); j++) {
		sorted[j] = (struct entry){-nb_system_mass(model, j), j};
		place[j + 1] = (j + 1) & -(j + 1);
	}
	if (!status)
		qsort(sorted, n, sizeof *sorted, ascending);
	for (uint64_t j = 0; j < n && !status; j++) {
		const struct source from = {model->seed, j, model->part[0].stream};
		double u[2];
		draw(&from, DRAW_ORDER, u);
		const uint64_t k = (uint64_t)((1 - pow(u[0], 1 - S)) * (double)(n - j));
		order[take_place(place, n, k)] = (struct entry){-sorted[j].value, sorted[j].index};
	}
	nb_free_all(sorted, place);
	return status;
}

static int deal_orbits(struct nb_model *model, double S)
{
	struct nb_systems *systems = model->systems;
	struct entry *order = nb_alloc(systems->n, sizeof *order), *orbit = NULL;
	systems->orbit = nb_alloc(systems->n, sizeof *systems->orbit);
	int status = order && systems->orbit ? order_systems(model, S, order) : NB_ENOMEM;
	double all = 0, least = INFINITY, below = 0;
	for (uint64_t j = 0; j < systems->n && !status; j++) {
		all += order[j].value;
		least = fmin(least, order[j].value);
	}
	/* so many that the lightest has at least one */
	const double many = ceil(1.001 * all / least) + 1;
	if (!status && !(many <= MOST_ORBITS * ((double)systems->n + 1)))
		status = nb_model_refuse(model,
			"segregation wants a mass-range whose smallest mass is at least 1/256 of the mean of all");
	if (!status)
		orbit = nb_alloc((size_t)many, sizeof *orbit);
	if (!status)
		status = orbit ? sort_orbits(model, (uint64_t)many, orbit) : NB_ENOMEM;
	for (uint64_t j = 0; j < systems->n && !status; j++) {
		const struct source from = {model->seed, j, model->part[0].stream};
		const double first = ceil(below / all * many);
		below += order[j].value;
		const double last = fmin(ceil(below / all * many), many);
		double u[2];
		draw(&from, DRAW_ORDER + 1, u);
		systems->orbit[order[j].index] = orbit[(uint64_t)(first + floor(u[0] * (last - first)))].index;
	}
	nb_free_all(order, orbit);
	return status;
}

/* ---- systems ------------------------------------------------------------------------------------ */

int nb_systems_create(struct nb_model *model, const struct nb_model_param *param)
{
	const int takes = nb_model_takes(param->kind, NB_PARAMETER_binaries);
	const double share = takes ? param->binaries : 0, S = takes && param->imf ? param->segregation : 0;
	if (share == 0 && (S == 0 || model->n == 0))
		return NB_OK;
	struct nb_systems *systems = model->systems = nb_alloc_zero(1, sizeof *systems);
	if (!systems)
		return NB_ENOMEM;
	const uint64_t most = model->n / 2, want = (uint64_t)llround((double)model->n * share / (1 + share));
	*systems = (struct nb_systems){.nbinary = want < most ? want : most,
		.has_binaries = share > 0,
		.pairing = param->pairing,
		.low = param->mass_range[0],
		.semi_major = {param->semi_major[0], param->semi_major[1]}};
	systems->n = model->n - systems->nbinary;
	model->part[0].n = systems->n;
	model->part[0].whole = 1;
	return S > 0 && systems->n > 0 ? deal_orbits(model, S) : NB_OK;
}

void nb_systems_free(struct nb_systems *systems)
{
	if (systems)
		nb_free(systems->orbit);
	nb_free(systems);
}

int nb_system_centre(const struct nb_model *model, int vel, uint64_t j, double out[3])
{
	const uint64_t *orbit = model->systems->orbit;
	return nb_model_draw(model, &model->part[0], vel, orbit ? orbit[j] : j, 1, out);
}

double nb_system_mass(const struct nb_model *model, uint64_t j)
{
	const struct nb_model_part *part = &model->part[0];
	const uint64_t nbinary = model->systems->nbinary;
	return j < nbinary ? nb_model_mass_of(model, part, 2 * j) + nb_model_mass_of(model, part, 2 * j + 1)
			   : nb_model_mass_of(model, part, j + nbinary);
}

/* The second component minus the first. */
static void separation(const struct nb_model *model, uint64_t j, double mass, double pos[3], double vel[3])
{
	const struct source from = {model->seed, j, model->part[0].stream};
	const double *a = model->systems->semi_major;
	double u[2], v[2], w[2];
	draw(&from, DRAW_BINARY, u);
	draw(&from, DRAW_BINARY + 1, v);
	draw(&from, DRAW_BINARY + 2, w);
	const struct nb_orbit orbit = {.a = a[0] * pow(a[1] / a[0], u[0]),
		.e = sqrt(u[1]),
		.inclination = acos(2 * v[0] - 1) * 180 / M_PI,
		.node = 360 * v[1],
		.perihelion = 360 * w[0],
		.longitude = 360 * (w[0] + w[1])};
	nb_orbit_place(&orbit, model->G * mass, pos, vel);
}

int nb_system_body(const struct nb_model *model, int vel, uint64_t i, double out[3])
{
	const uint64_t nbinary = model->systems->nbinary, j = i < 2 * nbinary ? i / 2 : i - nbinary;
	const int status = nb_system_centre(model, vel, j, out);
	if (j >= nbinary)
		return status;
	double part[2][3];
	const double mass = nb_system_mass(model, j), other = nb_model_mass_of(model, &model->part[0], i ^ 1) / mass;
	separation(model, j, mass, part[0], part[1]);
	for (int c = 0; c < 3; c++)
		out[c] += (i % 2 ? other : -other) * part[vel][c];
	return status;
}

int nb_model_has_binaries(const struct nb_model *model)
{
	return model->systems && model->systems->has_binaries;
}
