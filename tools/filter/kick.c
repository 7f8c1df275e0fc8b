#include "tools/filter/kick.h"

#include "kernels/motion/motion.h"
#include "tools/filter/require.h"

void nb_complete_kick(struct nb_frame *frame)
{
	struct nb_column *vel = nb_frame_field(frame, NB_VEL), *acc = nb_frame_field(frame, NB_ACC);
	const double pending = nb_require_attribute(frame, "pending_kick", 0);
	if (pending == 0 || !vel || !acc)
		return;
	nb_require_finite(frame, acc);
	const double *a = nb_column_read(acc, &nb_space_host, NB_AS_F64);
	double *v = a ? nb_column_update(vel, &nb_space_host, NB_AS_F64) : NULL;
	if (!v || nb_kick_cpu(frame->rows[NB_PARTICLE], v, a, pending))
		nb_out_of_memory(frame);
	nb_frame_drop_attribute(frame, "pending_kick");
}
