/* Steps of many systems on a device (kernels/small/swarm.h), by whfast, and whether there are any, by ias15, too;
 * frames stay in the memory of the host. */
#include "common/mem.h"
#include "tools/filter/require.h"
#include "tools/nb-step/step.h"

#include <inttypes.h>
#include <string.h>

void nb_step_swarm_free(struct planets *p)
{
	if (p->swarm)
		p->device->whfast_swarm_free(p->swarm);
	nb_free(p->steps);
	p->swarm = NULL;
	p->steps = NULL;
}

void nb_step_ias15_free(struct step *s)
{
	struct fifteen *f = &s->fifteen;
	if (f->swarm)
		s->planets.device->ias15_swarm_free(f->swarm);
	nb_free_all(f->of, f->ended, f->mark, f->x, f->v);
	*f = (struct fifteen){0};
}

/* On a device; from a state that is restartable ias15 goes on as its steps were. */
static int may_be_moved(const struct step *s)
{
	switch (s->opt.integrator->few) {
	case NB_FEW_WHFAST: return !s->opt.democratic;
	case NB_FEW_IAS15:
		return !s->opt.megno && !s->opt.restartable && !s->opt.resume &&
		       !nb_frame_find(s->frame, "ias15_state");
	default: return 0;
	}
}

void nb_step_swarm_choose(struct step *s)
{
	/* with fewer, the processor is as fast */
	const size_t least = s->opt.integrator->few == NB_FEW_WHFAST ? 1024 : 16384;
	struct planets *p = &s->planets;
	nb_step_swarm_free(p);
	nb_step_ias15_free(s);
	if (p->device)
		s->run->backend = s->backend = p->device; /* as it was for the frame before */
	p->device = NULL;
	if (!s->systems.many || s->backend->space->device < 0 || s->stop.text || !may_be_moved(s) ||
		(strcmp(s->run->common.backend, "auto") == 0 && s->systems.of.n < least))
		return;
	p->device = s->backend;
	nb_verbose("steps of %zu systems on %s", s->systems.of.n, p->device->name);
}

void nb_step_require_device(const struct step *s, int status)
{
	const struct nb_backend *device = s->planets.device;
	if (status)
		nb_die(NB_EXIT_FAILED, "moving the systems of frame %" PRIu64 " on backend %s: %s", s->frame->number,
			device->name, nb_backend_error(device, status));
}

void nb_step_swarm_begin(struct step *s)
{
	struct planets *p = &s->planets;
	nb_step_swarm_free(p);
	p->steps = nb_require_memory(s->frame, nb_alloc(s->systems.of.n, sizeof *p->steps));
	nb_step_require_device(s, p->device->whfast_swarm_begin(&p->swarm, p->map, s->systems.of.n));
}

int nb_step_swarm_move(struct step *s, uint64_t steps)
{
	struct planets *p = &s->planets;
	int failed;
	for (size_t k = 0; k < s->systems.of.n; k++)
		p->steps[k] = s->systems.stopped[k] ? 0 : steps;
	nb_step_require_device(s, p->device->whfast_swarm_steps(p->swarm, p->steps, &failed));
	return failed;
}

void nb_step_swarm_fetch(struct step *s)
{
	nb_step_require_device(s, s->planets.device->whfast_swarm_state(s->planets.swarm, s->planets.map));
}
