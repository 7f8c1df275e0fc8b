/* What integrators of a few bodies refuse, and forces of nb-extra, for integrators of a few bodies, which compute them
 * themselves: the frame says which they are, and each system has its own centre.  Most systems have it in the same row,
 * and share one description. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *nb_step_few_name(const struct step *s)
{
	static const char *const name[] = {[NB_FEW_NONE] = "leapfrog",
		[NB_FEW_WHFAST] = "whfast",
		[NB_FEW_IAS15] = "ias15",
		[NB_FEW_TRACE] = "trace",
		[NB_FEW_AR] = "ar"};
	return name[s->opt.integrator->few];
}

_Noreturn void nb_step_few_refuse(struct step *s, const char *what, const char *want)
{
	nb_step_progress_clear(&s->progress);
	const int few = s->opt.integrator->few != NB_FEW_NONE;
	nb_die(NB_EXIT_FAILED, "%s in step %" PRIu64 ", and '--%s%s' %s", what, s->clock.step,
		few ? "integrator " : "stop-when", few ? nb_step_few_name(s) : "", want);
}

void nb_step_extras_free(struct extras *e)
{
	nb_free_all(e->list, e->of);
	*e = (struct extras){0};
}

const struct nb_extra *nb_step_extra(const struct step *s, size_t k)
{
	return s->extras.n > 0 ? &s->extras.list[s->extras.of[k]] : NULL;
}

/* The number of these in the list, to which they are added if they are new. */
static uint32_t number_of(const struct step *s, struct extras *e, const struct nb_extra *forces)
{
	uint32_t k = 0;
	while (k < e->n && memcmp(&e->list[k], forces, sizeof *forces) != 0)
		k++;
	if (k == e->n && nb_reserve(e->list, e->n, e->n + 1, e->room))
		nb_out_of_memory(s->frame);
	if (k == e->n)
		e->list[e->n++] = *forces;
	return k;
}

/* The rows of the bodies of system k that the forces name. */
static int find_rows(const struct step *s, size_t k, const uint64_t *ids, struct nb_extra *forces, char *why)
{
	const struct systems *all = &s->systems;
	double mass[NB_SMALL_MOST];
	uint64_t id[NB_SMALL_MOST];
	const size_t n = nb_step_system_gather(all, k, 1, all->mass, mass);
	for (size_t i = 0; i < n; i++)
		id[i] = ids ? ids[nb_step_system_row(all, k, i)] : nb_step_system_row(all, k, i);
	return n > 0 ? nb_extra_find(forces, n, mass, id, why) : NB_OK;
}

static void require_known(struct step *s, const struct nb_extra *forces)
{
	if (!s->opt.integrator->few)
		nb_step_few_refuse(s, "there are forces of nb-extra", "takes none of these (want nb-force alone)");
	if (!nb_extra_needs_velocities(forces) || s->opt.integrator->few == NB_FEW_IAS15)
		return;
	struct nb_extra other = *forces;
	for (int k = 0; k < other.n; k++)
		if (other.term[k].kind == NB_EXTRA_GR)
			other.term[k].kind = NB_EXTRA_GR_POTENTIAL;
	nb_step_few_refuse(s, "a force of nb-extra depends on velocities",
		nb_extra_needs_velocities(&other)
			? "takes none of these (want --integrator ias15)"
			: "takes none of these (want --integrator ias15, or gr-potential in place of gr)");
}

/* Those of the frame. */
static struct extras read_extras(struct step *s)
{
	const struct systems *all = &s->systems;
	const char *text = nb_frame_attribute(s->frame, "extra");
	const uint64_t *ids = nb_frame_field(s->frame, NB_ID) ? nb_require_ids(s->frame, &nb_space_host) : NULL;
	struct extras e = {.known = 1};
	struct nb_extra forces;
	char why[NB_TERM_WHY];
	memset(&forces, 0, sizeof forces); /* its padding, too, is compared */
	if (!text || s->frame->rows[NB_PARTICLE] == 0)
		return e;
	int status = nb_extra_parse(text, &forces, why);
	e.of = nb_require_memory(s->frame, nb_alloc(all->of.n, sizeof *e.of));
	for (size_t k = 0; k < all->of.n && !status; k++) {
		status = find_rows(s, k, ids, &forces, why);
		e.of[k] = status ? 0 : number_of(s, &e, &forces);
	}
	if (status) {
		char what[NB_TERM_WHY + 24];
		snprintf(what, sizeof what, "attribute 'extra' has %s", why);
		nb_step_few_refuse(s, what, "wants to know the force");
	}
	require_known(s, &forces);
	return e;
}

void nb_step_extras_find(struct step *s)
{
	struct extras now = read_extras(s), *first = &s->extras;
	if (!first->known) {
		*first = now;
		return;
	}
	if (now.n != first->n ||
		(now.n > 0 && (memcmp(now.list, first->list, now.n * sizeof *now.list) != 0 ||
				      memcmp(now.of, first->of, s->systems.of.n * sizeof *now.of) != 0)))
		nb_step_few_refuse(
			s, "the force pipeline changes the forces beside gravity", "has those of the first state");
	nb_step_extras_free(&now);
}
