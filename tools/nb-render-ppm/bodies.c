/* nb-render-ppm: the bodies of a frame that are to be drawn. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include <string.h>

/* Which species of this frame to leave out; NULL: none. */
static const unsigned char *hidden_species(const struct render *r, const struct nb_frame *frame)
{
	static const unsigned char halos[NSPECIES] = {[2] = 1, [5] = 1};
	if (r->hide || r->only)
		return r->hide && strcmp(r->hide, "none") == 0 ? NULL : r->parsed.hidden;
	/* the dark halo of nb-gen's galaxies, which would outshine the stars */
	const char *model = nb_frame_attribute(frame, "model");
	if (!model || (strcmp(model, "disk") != 0 && strcmp(model, "merger") != 0) ||
		!nb_frame_field(frame, NB_SPECIES))
		return NULL;
	return halos;
}

/* The rows of from (n x ncomp) whose species is not hidden, in order; returns the end of to. */
static double *keep(double *to, const double *from, size_t n, size_t ncomp, const double *species,
	const unsigned char hidden[NSPECIES])
{
	for (size_t i = 0; i < n; i++) {
		if (species[i] >= 0 && species[i] < NSPECIES && hidden[(size_t)species[i]])
			continue;
		for (size_t k = 0; k < ncomp; k++)
			*to++ = from[ncomp * i + k];
	}
	return to;
}

static void drop_hidden(struct bodies *b, const unsigned char hidden[NSPECIES])
{
	double *at = b->kept = nb_alloc(b->n, 9 * sizeof *at);
	if (!at)
		nb_out_of_memory(b->frame);
	const double *species = b->species;
	const struct {
		const double **field;
		size_t ncomp;
	} part[] = {{&b->mass, 1}, {&b->pos, 3}, {&b->vel, 3}, {&b->radius, 1}, {&b->species, 1}};
	const size_t n = b->n;
	for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
		if (!*part[k].field)
			continue;
		double *end = keep(at, *part[k].field, n, part[k].ncomp, species, hidden);
		*part[k].field = at;
		b->n = (size_t)(end - at) / part[k].ncomp;
		at = end;
	}
}

void nb_render_load(struct render *r, const struct nb_frame *frame)
{
	const unsigned char *hidden = hidden_species(r, frame);
	struct bodies *b = &r->bodies;
	nb_render_release_bodies(r);
	b->frame = frame;
	b->n = frame->rows[NB_PARTICLE];
	nb_require_valid(frame);
	b->pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	b->mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	if (r->by == BY_SPEED)
		b->vel = nb_require_f64(frame, NB_VEL, &nb_space_host);
	if (r->by == BY_SPECIES || hidden)
		b->species = nb_require_f64(frame, NB_SPECIES, &nb_space_host);
	if (nb_frame_field(frame, NB_RADIUS))
		b->radius = nb_require_f64(frame, NB_RADIUS, &nb_space_host);
	if (hidden)
		drop_hidden(b, hidden);
}

void nb_render_release_bodies(struct render *r)
{
	nb_free(r->bodies.kept);
	memset(&r->bodies, 0, sizeof r->bodies);
}
