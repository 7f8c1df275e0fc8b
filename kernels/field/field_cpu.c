/* Each body by itself; no SIMD, as logarithms and roots are most of the work. */
#include "kernels/field/potential_internal.h"

enum { PARALLEL = 1000 /* bodies: fewer are not worth starting threads */ };

int nb_external_add_cpu(const struct nb_external *external, const struct nb_external_bodies *bodies)
{
	const size_t n = bodies->n;
#pragma omp parallel for schedule(static) if (n > PARALLEL)
	for (size_t i = 0; i < n; i++)
		nb_field_add(external, bodies, i);
	return NB_OK;
}
