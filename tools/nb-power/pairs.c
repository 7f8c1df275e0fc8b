/* --pairs: the correlation function, by counts of pairs. */
#include "tools/nb-power/power.h"

#include "common/mem.h"
#include "common/parse.h"
#include "common/timer.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>

#define PI 3.14159265358979323846

static size_t counts(const struct nb_power_pairs *pairs)
{
	return (size_t)pairs->bins.n * (size_t)(pairs->bins.parts ? pairs->bins.parts : 1);
}

void nb_power_check_pairs(struct nb_power *self)
{
	struct nb_power_pairs *pairs = &self->pairs;
	double project[2] = {0, 1};
	size_t n = 0, nproject = 0;
	int wrong = nb_parse_f64_list(pairs->edges, NB_PAIR_BINS + 1, pairs->edge, &n) != NB_PARSE_OK || n < 2;
	for (size_t k = 0; !wrong && k < n; k++)
		wrong = pairs->edge[k] < 0 || (k && pairs->edge[k] <= pairs->edge[k - 1]);
	if (wrong)
		nb_die(NB_EXIT_USAGE, "invalid edges '%s' of bins (want 2 to %d ascending numbers, 0 or more)",
			pairs->edges, NB_PAIR_BINS + 1);
	if (pairs->project) {
		wrong = nb_parse_f64_list(pairs->project, 2, project, &nproject) != NB_PARSE_OK || !(project[0] > 0);
		if (wrong || !(project[1] >= 1 && project[1] <= NB_PAIR_PARTS) || project[1] != floor(project[1]))
			nb_die(NB_EXIT_USAGE,
				"invalid reach '%s' (want a number above 0, or REACH,N with N from 1 to %d)",
				pairs->project, NB_PAIR_PARTS);
	}
	pairs->bins = (struct nb_pair_bins){(int)n - 1, pairs->edge, pairs->project ? (int)project[1] : 0, project[0]};
}

enum { ROOM = 25 /* bytes for each body, of the work */ };

static struct nb_near_bodies load(const struct nb_power *self, const struct nb_frame *frame, double box)
{
	static const enum nb_field lent[] = {NB_POS, NB_NFIELD};
	const double reach = self->pairs.bins.parts ? self->pairs.bins.reach : 0;
	const double most = fmax(self->pairs.edge[self->pairs.bins.n], reach);
	nb_require_valid(frame);
	(void)nb_require_field(frame, NB_POS);
	nb_require_room(frame, "pairs", ROOM + nb_lend_row(frame, lent));
	struct nb_near_bodies bodies = {.n = frame->rows[NB_PARTICLE],
		.dim = nb_require_dim(frame),
		.box = box,
		.single.pos = nb_lend_f32(frame, NB_POS)};
	if (!bodies.single.pos)
		bodies.pos = nb_lend_f64(frame, NB_POS, &nb_space_host);
	if (bodies.dim == 2 && reach > 0)
		nb_die(NB_EXIT_FAILED,
			"option '--project' needs bodies in space, and frame %" PRIu64 " is two-dimensional",
			frame->number);
	if (box > 0 && most > box / 2)
		nb_die(NB_EXIT_FAILED,
			"distance %g is more than half of the box of frame %" PRIu64 ", whose edge is %g", most,
			frame->number, box);
	return bodies;
}

static uint64_t *count(struct nb_run *run, const struct nb_power *self, const struct nb_near_bodies *a,
	const struct nb_near_bodies *b, const struct nb_frame *frame)
{
	nb_require_room(frame, "pairs", ROOM);
	uint64_t *pairs = nb_require_memory(frame, nb_alloc(counts(&self->pairs), sizeof *pairs));
	nb_require_done(run, nb_near_pairs_cpu(a, b, &self->pairs.bins, pairs), "pairs of", frame);
	return pairs;
}

/* The part of all pairs, of bodies at random in the box, whose distances are in a bin. */
static double expected(const struct nb_pair_bins *bins, int k, int dim, double box)
{
	const double from = bins->edge[k], to = bins->edge[k + 1];
	if (bins->parts)
		return PI * (to * to - from * from) * 2 * bins->reach / bins->parts / (box * box * box);
	return dim == 2 ? PI * (to * to - from * from) / (box * box)
			: 4 * PI / 3 * (to * to * to - from * from * from) / (box * box * box);
}

/* What is in a bin of a part: xi, and adds the pairs to sum (of bodies, of both, of those at random). */
static double find_xi(const struct nb_power *self, const struct nb_near_bodies *bodies, const uint64_t *const pairs[3],
	int k, int part, uint64_t sum[3])
{
	const struct nb_power_pairs *own = &self->pairs;
	const size_t at = (size_t)k * (size_t)(own->bins.parts ? own->bins.parts : 1) + (size_t)part;
	const double n = (double)bodies->n, m = (double)own->with.n, dd = (double)pairs[0][at] / n / (n - 1);
	sum[0] += pairs[0][at];
	if (!own->randoms)
		return dd / expected(&own->bins, k, bodies->dim, bodies->box) - 1;
	const double dr = (double)pairs[1][at] / n / m, rr = (double)pairs[2][at] / m / (m - 1);
	sum[1] += pairs[1][at];
	sum[2] += pairs[2][at];
	return (dd - 2 * dr + rr) / rr;
}

static void print(struct nb_power *self, const struct nb_near_bodies *bodies, const struct nb_frame *frame,
	const uint64_t *const pairs[3])
{
	struct nb_report *report = &self->report;
	const struct nb_pair_bins *bins = &self->pairs.bins;
	for (int k = 0; k < bins->n; k++) {
		uint64_t sum[3] = {0, 0, 0};
		double xi = 0;
		for (int part = 0; part < bins->parts || part == 0; part++)
			xi += find_xi(self, bodies, pairs, k, part, sum);
		nb_report_integer(report, "frame", 5, frame->number);
		nb_report_real(report, "time", nb_require_attribute(frame, "time", 0));
		nb_report_real(report, "r_from", bins->edge[k]);
		nb_report_real(report, "r_to", bins->edge[k + 1]);
		nb_report_integer(report, "DD", 12, sum[0]);
		if (self->pairs.randoms) {
			nb_report_integer(report, "DR", 12, sum[1]);
			nb_report_integer(report, "RR", 12, sum[2]);
		}
		nb_report_real(
			report, bins->parts ? "w_p" : "xi", bins->parts ? 2 * xi * bins->reach / bins->parts : xi);
		nb_report_row(report);
	}
}

/* The bodies of --randoms, and their pairs, which stay for the next frame if its box is the same. */
static void load_randoms(struct nb_run *run, struct nb_power *self, int dim, double box)
{
	struct nb_power_pairs *pairs = &self->pairs;
	char name[NB_SOURCE_NAME];
	(void)nb_source_name(&self->source, name);
	if (!self->loaded && !nb_source_next(&self->source, &self->other))
		nb_die(NB_EXIT_FAILED, "%s has no frame", name);
	if (!self->loaded || pairs->with.box != box) {
		nb_free(pairs->rr);
		pairs->rr = NULL;
		pairs->with = load(self, &self->other, box);
		if (pairs->with.dim != dim)
			nb_die(NB_EXIT_FAILED, "%s has another number of dimensions", name);
		pairs->rr = count(run, self, &pairs->with, NULL, &self->other);
	}
	self->loaded = 1;
}

void nb_power_find_pairs(struct nb_run *run, struct nb_power *self, struct nb_frame *frame, double box)
{
	const double start = nb_now();
	const struct nb_near_bodies bodies = load(self, frame, box);
	if (self->pairs.randoms)
		load_randoms(run, self, bodies.dim, box);
	uint64_t *dd = count(run, self, &bodies, NULL, frame);
	uint64_t *dr = self->pairs.randoms ? count(run, self, &bodies, &self->pairs.with, frame) : NULL;
	print(self, &bodies, frame, (const uint64_t *const[3]){dd, dr, self->pairs.rr});
	nb_free_all(dd, dr);
	nb_require_flushed();
	nb_verbose("frame %" PRIu64 ": pairs of %zu bodies in %.4g s", frame->number, bodies.n, nb_now() - start);
}
