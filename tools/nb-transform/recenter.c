/* What makes the centre the origin, at rest. */
#include "kernels/measure/measure.h"
#include "tools/filter/require.h"
#include "tools/nb-transform/transform.h"

#include <inttypes.h>
#include <math.h>

static _Noreturn void no_centre(const struct nb_frame *frame, int status)
{
	if (status == NB_ENOMEM)
		nb_out_of_memory(frame);
	if (status)
		nb_die(NB_EXIT_FAILED, "the bodies of frame %" PRIu64 " are too far apart for a centre", frame->number);
	nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has no mass, and so no centre", frame->number);
}

/* Velocities at the time of the positions, of the centre: where nb-step left half a kick to be done, the kick of the
 * centre is added. */
static void find_centre(const struct nb_frame *frame, enum centre kind, const double *vel, struct nb_centre *centre)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const double *mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	struct nb_moments m;
	int status;
	if (kind == CENTRE_OF_DENSITY) {
		status = nb_density_centre(n, mass, pos, vel, centre);
	} else {
		status = nb_moments_cpu(n, mass, pos, vel, &m);
		for (int k = 0; k < 3 && !status; k++) {
			centre->pos[k] = m.com[k];
			centre->vel[k] = m.momentum[k] / m.mass;
		}
	}
	if (status || isnan(centre->pos[0]))
		no_centre(frame, status);
}

int nb_transform_find_way(struct nb_frame *frame, enum centre kind, struct nb_centre *way)
{
	const double pending = nb_require_attribute(frame, "pending_kick", 0);
	const int moving = nb_frame_field(frame, NB_VEL) != NULL;
	struct nb_centre centre = {{0, 0, 0}, {0, 0, 0}, 0}, kick = centre;
	nb_require_field(frame, NB_POS);
	nb_require_field(frame, NB_MASS);
	if (frame->rows[NB_PARTICLE] == 0)
		return 0;
	find_centre(frame, kind, moving ? nb_require_f64(frame, NB_VEL, &nb_space_host) : NULL, &centre);
	if (moving && pending != 0) {
		nb_require_finite(frame, nb_require_field(frame, NB_ACC));
		find_centre(frame, kind, nb_require_f64(frame, NB_ACC, &nb_space_host), &kick);
	}
	for (int k = 0; k < 3; k++) {
		centre.pos[k] = -centre.pos[k];
		centre.vel[k] = -(centre.vel[k] + pending * kick.vel[k]);
	}
	if (nb_require_dim(frame) == 2)
		centre.pos[2] = centre.vel[2] = 0;
	nb_verbose("frame %" PRIu64 ": centre at (%g, %g, %g)", frame->number, -centre.pos[0], -centre.pos[1],
		-centre.pos[2]);
	*way = centre;
	return 1;
}
