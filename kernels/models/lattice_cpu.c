/* The model of a cosmological box: its universe, its spectrum, and its lattice or glass of bodies. */
#include "kernels/models/model_internal.h"

#include "common/mem.h"
#include "kernels/lpt/lpt.h"
#include "kernels/mesh/mesh.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static const double G = 43.0091727; /* (km/s)^2 Mpc / 10^10 solar masses, and the same with /h on both */
static const double H0 = 100;	    /* km/s / (Mpc/h) */

static double scale_of(double redshift)
{
	return 1 / (1 + redshift);
}

static struct nb_cosmology universe(const struct nb_model_param *p)
{
	return (struct nb_cosmology){.H0 = H0,
		.omega_m = p->omega0,
		.omega_r = p->omega_r,
		.omega_l = p->omega_lambda < 0 ? 1 - p->omega0 - p->omega_r : p->omega_lambda,
		.w0 = p->dark_w0,
		.wa = p->dark_wa};
}

/* Its modes, of the density at D1 = 1, as the spectrum is at a redshift of its own. */
static int draw_modes(struct nb_model *model, const struct nb_model_param *p, const struct nb_cosmology *c,
	struct nb_lpt_spectrum *spectrum, const struct nb_lpt_field *field, double *mesh)
{
	double k[2];
	if (p->table && !p->extrapolate && nb_lpt_field_range(field, k) &&
		(p->table->k[0] > k[0] || p->table->k[p->table->n - 1] < k[1]))
		return nb_model_refuse(model, "the spectrum does not reach from the first mode of the box to the last");
	struct nb_growth then, today;
	nb_cosmology_growth(c, scale_of(p->table ? p->spectrum_redshift : 0), &then);
	nb_cosmology_growth(c, 1, &today);
	model->sigma8 = nb_lpt_spectrum_sigma(spectrum, 8) * today.D[NB_D1] / then.D[NB_D1];
	const double want = p->sigma8 > 0 ? p->sigma8 : p->table ? model->sigma8 : 0.8102;
	const double factor = want / model->sigma8 / then.D[NB_D1];
	model->sigma8 = want;
	if (!isfinite(factor))
		return nb_model_refuse(model, "the spectrum has no sigma8");
	return nb_lpt_field_draw(field, spectrum, factor, mesh);
}

static int displace(struct nb_model *model, const struct nb_model_param *p, const struct nb_cosmology *c, int m)
{
	const struct nb_lpt_shape shape = {.table = p->table,
		.omega_m = p->omega0,
		.omega_b = p->omega_b,
		.h = p->hubble,
		.ns = p->ns,
		.smooth = p->smooth};
	struct nb_lpt_spectrum *spectrum;
	int status = nb_lpt_spectrum_create(&shape, &spectrum);
	if (status == NB_EINVAL)
		return nb_model_refuse(model, "there is no spectrum with these numbers");
	if (status)
		return status;
	const struct nb_lpt_field field = {
		.m = m, .box = p->box, .seed = p->seed, .fixed = p->fixed, .paired = p->paired, .sphere = p->in_sphere};
	double *mesh = nb_alloc(1, nb_mesh_bytes(m));
	status = mesh ? draw_modes(model, p, c, spectrum, &field, mesh) : NB_ENOMEM;
	nb_lpt_spectrum_free(spectrum);
	const struct nb_lpt_glass glass = {p->nplace, p->place, p->tiles};
	if (!status)
		status = nb_lpt_create(&(struct nb_lpt_start){.m = m,
					       .order = p->lpt_order,
					       .box = p->box,
					       .cosmology = *c,
					       .a = scale_of(p->redshift),
					       .glass = p->place ? &glass : NULL},
			mesh, &model->lpt);
	nb_free(mesh);
	return status;
}

int nb_model_build_lpt(struct nb_model *model, const struct nb_model_param *p)
{
	const struct nb_cosmology c = universe(p);
	const uint64_t n = p->place ? p->nplace * (uint64_t)(p->tiles * p->tiles * p->tiles) : p->n;
	const int m = p->place ? nb_lpt_edge_of_glass(n) : nb_lpt_edge(n);
	if (m < 0)
		return nb_model_refuse(model,
			p->place ? "there are more than 2^33 bodies"
				 : "count must be the cube of a number up to 2048 that has no prime factor above 7");
	if (nb_cosmology_check(&c, 1))
		return nb_model_refuse(model, "no universe of these densities has expanded until today");
	if (!p->table && !(p->omega_b < p->omega0))
		return nb_model_refuse(model, "omega-b must be less than omega0, of which it is a part");
	int status = displace(model, p, &c, m);
	if (status)
		return status;
	struct nb_model_part *part = nb_model_add_part(model, NB_SAMPLE_LATTICE, 3, n);
	part->mass = p->omega0 * 3 * H0 * H0 / (8 * PI * G) * p->box * p->box * p->box / (double)n;
	model->G = G;
	return NB_OK;
}
