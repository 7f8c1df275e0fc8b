/* The model lpt: its options, its glass, the table of its spectrum, and the attributes of its universe. */
#include "tools/nb-gen/gen.h"

#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/filter/source.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 100000 };

/* ---- options ------------------------------------------------------------------------------------ */

void nb_gen_check_lpt(const struct gen *gen)
{
	const uint64_t n = gen->param.n;
	if (gen->param.glass && strcmp(gen->param.glass, "-") == 0)
		nb_die(NB_EXIT_USAGE, "option '--glass' wants a file");
	if (gen->param.kind != NB_MODEL_LPT || gen->param.glass || nb_lpt_edge(n) >= 0)
		return;
	uint64_t below = 0, above = 0;
	for (uint64_t m = 1; m <= NB_LPT_EDGE_MOST; m++) {
		if (nb_lpt_edge(m * m * m) < 0)
			continue;
		below = m * m * m < n ? m * m * m : below;
		above = m * m * m > n && !above ? m * m * m : above;
	}
	if (!above)
		nb_die(NB_EXIT_USAGE, "model 'lpt' has at most %" PRIu64 " bodies, not %" PRIu64, below, n);
	nb_die(NB_EXIT_USAGE,
		"model 'lpt' wants a cube of bodies, whose edge has no prime factor above 7, not %" PRIu64
		" (the nearest are %" PRIu64 " and %" PRIu64 ")",
		n, below, above);
}

/* ---- the glass ---------------------------------------------------------------------------------- */

static void take_places(struct gen *gen, struct nb_frame *frame)
{
	const char *path = gen->param.glass;
	nb_require_valid(frame);
	const double box = nb_box_of(frame);
	const uint64_t n = frame->rows[NB_PARTICLE], k = (uint64_t)gen->param.tiles;
	if (!nb_frame_field(frame, NB_POS) || nb_require_dim(frame) != 3 || !(box > 0))
		nb_die(NB_EXIT_FAILED, "'%.200s' has no glass (want field 'pos' and attribute box, in 3 dimensions)",
			path);
	if (n >= UINT64_C(1) << 40 || nb_lpt_edge_of_glass(n * k * k * k) < 0)
		nb_die(NB_EXIT_FAILED, "%d tiles of '%.200s' are more than 2^33 bodies", gen->param.tiles, path);
	gen->place = nb_require_memory(frame, nb_alloc(3 * n + 1, sizeof *gen->place));
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	for (uint64_t i = 0; i < 3 * n; i++) {
		gen->place[i] = pos[i] / box;
		if (!(gen->place[i] >= 0 && gen->place[i] < 1))
			nb_die(NB_EXIT_FAILED,
				"a body of '%.200s' is outside its periodic box, at %.17g (want 'nb-transform --shift "
				"0,0,0' before)",
				path, pos[i]);
	}
	gen->param.place = gen->place;
	gen->param.nplace = n;
	gen->param.n = n * k * k * k;
}

void nb_gen_read_glass(struct nb_run *run, struct gen *gen)
{
	const char *path = gen->param.glass;
	if (gen->param.kind != NB_MODEL_LPT || !path)
		return;
	struct nb_source source = {.is_open = 0};
	struct nb_frame frame, more;
	nb_frame_init(&frame);
	nb_frame_init(&more);
	nb_source_open(run, &source, path);
	if (!nb_source_next(&source, &frame) || nb_source_next(&source, &more))
		nb_die(NB_EXIT_FAILED, "'%.200s' %s", path,
			more.number > 0 ? "has more than one frame (want 'nb-select --frames' before)"
					: "has no frame");
	take_places(gen, &frame);
	nb_frame_clear(&frame);
	nb_frame_clear(&more);
	nb_source_close(&source);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static void check_row(const char *where, const double row[2])
{
	if (!(row[0] > 0 && row[1] > 0 && isfinite(row[0]) && isfinite(row[1])))
		nb_die(NB_EXIT_FAILED, "%s: k is %g and P %g (want numbers > 0)", where, row[0], row[1]);
}

/* Wave numbers from one to the other are in the table. */
static void require_range(const struct gen *gen, double from, double to, const char *of)
{
	const double first = gen->spectrum.k[0], last = gen->spectrum.k[gen->spectrum.n - 1];
	if (!gen->param.extrapolate && !(first <= from && last >= to))
		nb_die(NB_EXIT_FAILED,
			"'%.200s' has k from %g to %g, and %s %g to %g (want a longer table, or --extrapolate)",
			gen->param.spectrum, first, last, of, from, to);
}

void nb_gen_read_spectrum(struct gen *gen)
{
	static const struct nb_pairs_kind kind = {.lines = "does not begin with two numbers, k and P",
		.rows = "k and P",
		.ascending = "k",
		.x = "k",
		.more_columns = 1,
		.most = MOST_ROWS,
		.check = check_row};
	const struct nb_model_param *p = &gen->param;
	struct nb_pairs *pairs = &gen->pairs;
	if (p->kind != NB_MODEL_LPT || !p->spectrum)
		return;
	nb_pairs_read(pairs, p->spectrum, &kind);
	gen->spectrum = (struct nb_lpt_table){.n = pairs->n, .k = pairs->x, .power = pairs->y};
	const int m = p->glass ? nb_lpt_edge_of_glass(p->n) : nb_lpt_edge(p->n);
	double k[2];
	if (nb_lpt_field_range(&(struct nb_lpt_field){.m = m, .box = p->box, .sphere = p->in_sphere}, k))
		require_range(gen, k[0], k[1], "the modes of the box are from");
	if (p->sigma8 > 0)
		require_range(gen, 0.01, 1, "--sigma8 is of");
	gen->param.table = &gen->spectrum;
}

/* ---- the frame --------------------------------------------------------------------------------- */

void nb_gen_tell_lpt(const struct gen *gen)
{
	if (gen->param.kind == NB_MODEL_LPT)
		nb_verbose("lpt: sigma8 is %.6g today, by linear theory; bodies are %.3g spacings of a lattice from "
			   "their places (rms)",
			nb_model_sigma8(gen->model), nb_model_displacement(gen->model));
}

void nb_gen_keep_inside(const struct gen *gen, size_t n, double *x)
{
	for (size_t k = 0; gen->param.kind == NB_MODEL_LPT && k < n; k++)
		x[k] = (float)x[k] < gen->param.box ? x[k] : 0;
}

void nb_gen_describe_lpt(const struct gen *gen, struct nb_frame *frame)
{
	const struct nb_model_param *p = &gen->param;
	if (p->kind != NB_MODEL_LPT)
		return;
	nb_set_attribute_f64(frame, "time", 1 / (1 + p->redshift));
	nb_set_attribute_f64(frame, "box", p->box);
	nb_set_attribute_f64(frame, "redshift", p->redshift);
	nb_set_attribute_f64(frame, "omega0", p->omega0);
	nb_set_attribute_f64(frame, "omega_lambda", p->omega_lambda < 0 ? 1 - p->omega0 - p->omega_r : p->omega_lambda);
	if (p->omega_r != 0)
		nb_set_attribute_f64(frame, "omega_r", p->omega_r);
	if (p->dark_w0 != -1)
		nb_set_attribute_f64(frame, "w0", p->dark_w0);
	if (p->dark_wa != 0)
		nb_set_attribute_f64(frame, "wa", p->dark_wa);
	nb_set_attribute_f64(frame, "H0", 100);
	nb_set_attribute_f64(frame, "hubble_param", p->hubble);
}
