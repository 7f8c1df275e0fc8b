/* Memory that runs out while a cosmological box is made: it is said, and what was made is released. */
#include "tests/unit/scarce.h"
#include "common/mem.h"
#include "kernels/lpt/lpt.h"
#include "kernels/mesh/mesh.h"

static int make_box(void *context)
{
	static const double k[] = {0.1, 10}, power[] = {10, 0.1}, places[] = {0.1, 0.2, 0.3};
	const struct nb_lpt_glass glass = {1, places, 8};
	const int order = *(const int *)context;
	const struct nb_lpt_table table = {2, k, power};
	const struct nb_lpt_field field = {.m = 8, .box = 10, .seed = 1};
	const struct nb_lpt_start start = {.m = 8,
		.order = order > 0 ? order : 2,
		.box = 10,
		.cosmology = {.H0 = 100, .omega_m = 1, .w0 = -1},
		.a = 0.02,
		.glass = order > 0 ? NULL : &glass};
	struct nb_lpt_spectrum *spectrum;
	struct nb_lpt *lpt = NULL;
	int status = nb_lpt_spectrum_create(&(struct nb_lpt_shape){.table = &table}, &spectrum);
	if (status)
		return status;
	double *modes = nb_alloc(1, nb_mesh_bytes(field.m));
	status = modes ? nb_lpt_field_draw(&field, spectrum, 1, modes) : NB_ENOMEM;
	nb_lpt_spectrum_free(spectrum);
	if (!status)
		status = nb_lpt_create(&start, modes, &lpt);
	nb_free(modes);
	nb_lpt_free(lpt);
	return status;
}

int main(void)
{
	scarce_blocks_only = 1;
	/* 0: of a glass */
	for (int order = 0; order <= 3; order++)
		scarce_each("a box", make_box, &order, NB_ENOMEM);
	return unit_end();
}
