/* Steps of many systems by whfast on a device (kernels/small/swarm.h); frames stay in the memory of the host. */
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

void nb_step_swarm_choose(struct step *s)
{
	enum { LEAST = 1024 /* systems: with fewer, the processor is as fast */ };
	struct planets *p = &s->planets;
	nb_step_swarm_free(p);
	if (p->device)
		s->run->backend = s->backend = p->device; /* as it was for the frame before */
	p->device = NULL;
	if (!s->systems.many || s->opt.integrator->few != NB_FEW_WHFAST || s->backend->space->device < 0 ||
		s->stop.text || s->opt.democratic ||
		(strcmp(s->run->common.backend, "auto") == 0 && s->systems.of.n < LEAST))
		return;
	p->device = s->backend;
	nb_verbose("steps of %zu systems on %s", s->systems.of.n, p->device->name);
}

static void require_device(const struct step *s, int status)
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
	require_device(s, p->device->whfast_swarm_begin(&p->swarm, p->map, s->systems.of.n));
}

int nb_step_swarm_move(struct step *s, uint64_t steps)
{
	struct planets *p = &s->planets;
	int failed;
	for (size_t k = 0; k < s->systems.of.n; k++)
		p->steps[k] = s->systems.stopped[k] ? 0 : steps;
	require_device(s, p->device->whfast_swarm_steps(p->swarm, p->steps, &failed));
	return failed;
}

void nb_step_swarm_fetch(struct step *s)
{
	require_device(s, s->planets.device->whfast_swarm_state(s->planets.swarm, s->planets.map));
}
