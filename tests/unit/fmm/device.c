/* The fast multipole method on the device: the field of the CPU to rounding, whatever the order, level, precision and
 * outputs, the errors of the oracle, the same bytes twice, and what must be refused.  Exit 77 where there is no device.
 * For slow checkers, a number may be given: the most bodies. */
#include "kernels/backend/backend.h"
#include "tests/unit/fmm/system.h"

static const struct nb_backend *cuda;

static void *there(const void *host, size_t bytes)
{
	void *p = cuda->space->alloc(cuda->space, bytes);
	CHECK(p && cuda->space->from_host(cuda->space, p, host, bytes) == NB_OK);
	return p;
}

static void back(void *host, void *device, size_t bytes)
{
	if (device)
		CHECK(cuda->space->to_host(cuda->space, host, device, bytes) == NB_OK);
	cuda->space->release(cuda->space, device);
}

/* Into s->acc and s->pot, which are poisoned first. */
static int on_device(const struct system_ *s, enum nb_precision precision, int with_pot, struct nb_gravity_count *count)
{
	struct nb_gravity g = gravity_of(s, precision);
	struct nb_boxes boxes = boxes_of(s);
	const size_t first = (boxes.nbox + 1) * sizeof *boxes.box_first;
	const size_t neighbour = boxes.nbox * (size_t)boxes.nneighbour * sizeof *boxes.neighbour;
	poison(s);
	void *const pos = there(s->pos, 3 * s->n * sizeof(double)), *const mass = there(s->mass, s->n * sizeof(double));
	void *const box_first = there(s->first, first), *const neighbours = there(s->neighbour, neighbour);
	g.pos = pos;
	g.mass = mass;
	g.acc = there(s->acc, 3 * s->n * sizeof(double));
	g.pot = with_pot ? there(s->pot, s->n * sizeof(double)) : NULL;
	boxes.box_first = box_first;
	boxes.neighbour = neighbours;
	const int status = cuda->gravity_fmm(&g, &boxes, &s->fmm, count);
	back(s->acc, g.acc, 3 * s->n * sizeof(double));
	if (with_pot)
		back(s->pot, g.pot, s->n * sizeof(double));
	cuda->space->release(cuda->space, pos);
	cuda->space->release(cuda->space, mass);
	cuda->space->release(cuda->space, box_first);
	cuda->space->release(cuda->space, neighbours);
	return status;
}

/* Fails with the name of the case. */
static void expect(const struct system_ *s, const char *what, enum nb_precision precision, double got, double most)
{
	unit_checked++;
	if (got <= most)
		return;
	unit_failed++;
	fprintf(stderr, "%s: n %zu dim %d level %d order %d eps %g precision %d: %.2g, want at most %.2g\n", what, s->n,
		s->fmm.dim, s->fmm.level, s->fmm.order, s->eps, precision, got, most);
}

/* One system: as on the CPU. */
static void as_cpu(const struct system_ *s, enum nb_precision precision, int with_pot)
{
	const double most = precision == NB_F64 ? 2e-13 : 4e-6;
	struct nb_gravity_count want = {0, 0, 0, 0}, got = {0, 0, 0, 0};
	double *acc = nb_alloc(s->n, 3 * sizeof *acc), *pot = nb_alloc(s->n, sizeof *pot);
	const struct nb_gravity g = gravity_of(s, NB_F64);
	const struct nb_boxes boxes = boxes_of(s);
	CHECK(nb_gravity_fmm_cpu(&g, &boxes, &s->fmm, &want) == NB_OK);
	memcpy(acc, s->acc, 3 * s->n * sizeof *acc);
	memcpy(pot, s->pot, s->n * sizeof *pot);
	CHECK(on_device(s, precision, with_pot, &got) == NB_OK);
	CHECK(got.m2l == want.m2l);
	if (s->n > 1) {
		expect(s, "acc", precision, error_of(s->acc, acc, 3 * s->n), most);
		if (with_pot)
			expect(s, "pot", precision, error_of(s->pot, pot, s->n), most);
	}
	memcpy(acc, s->acc, 3 * s->n * sizeof *acc);
	CHECK(on_device(s, precision, with_pot, NULL) == NB_OK);
	CHECK(memcmp(acc, s->acc, 3 * s->n * sizeof *acc) == 0);
	nb_free(acc);
	nb_free(pot);
}

static void all_orders(size_t n)
{
	static const double eps[] = {0, 0.3, 3}; /* edges of the finest boxes */
	for (int model = UNIFORM; model <= PLANE; model++)
		for (int level = 0; level <= 5; level++) {
			struct system_ s = make((enum model)model, n, level, 1);
			const int most = s.fmm.dim == 3 ? NB_FMM_MAX_ORDER_3D : NB_FMM_MAX_ORDER_2D;
			s.G = 1.5;
			for (s.fmm.order = 1; s.fmm.order <= most; s.fmm.order++) {
				const int turn = s.fmm.order + level;
				if (s.fmm.dim == 3 && level == 5 && turn % 3)
					continue;
				s.eps = eps[turn % 3] * ldexp(s.fmm.cube.size, -level);
				/* in f32 pairs without softening lose digits to their nearness */
				const enum nb_precision single = s.eps > 0 ? NB_F32 : NB_MIXED;
				as_cpu(&s, turn % 2 ? NB_F64 : single, turn / 2 % 2);
				as_cpu(&s, turn % 2 ? NB_MIXED : NB_F64, turn % 2);
			}
			free_system(&s);
		}
}

static void odd_counts(void)
{
	static const size_t counts[] = {0, 1, 2, 31, 33, 255, 257};
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
		for (int model = UNIFORM; model <= PLANE; model++) {
			struct system_ s = make((enum model)model, counts[k], 3, 1e20);
			s.fmm.order = 5;
			s.eps = 1e18;
			as_cpu(&s, NB_F64, 1);
			as_cpu(&s, NB_F32, 1);
			free_system(&s);
		}
}

/* Errors are those of the order, in the default precision too; extreme units and softening do not spoil them. */
static void oracle(size_t n)
{
	const double few = n < 5000 ? 5 : 1; /* the far field is all that they have */
	static const struct {
		enum model model;
		int level, order;
		double eps, rms; /* eps: in edges */
	} table[] = {{UNIFORM, 4, 6, 0.1, 6e-4}, {SPHERE, 4, 6, 0.1, 2.5e-4}, {SPHERE, 5, 8, 2, 1.1e-4},
		{PLANE, 5, 8, 0.1, 2e-4}, {UNIFORM, 3, 2, 1e8, 1e-6}, {PLANE, 5, 2, 1e8, 1e-6}};
	static const double unit[] = {1, 1e25};
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		for (int u = 0; u < 2; u++) {
			struct system_ s = make(table[k].model, n, table[k].level, unit[u]);
			s.fmm.order = table[k].order;
			s.eps = table[k].eps * ldexp(s.fmm.cube.size, -s.fmm.level);
			for (size_t i = 0; i < s.n; i++)
				s.mass[i] *= unit[u];
			truth(&s);
			CHECK(on_device(&s, NB_F32, 1, NULL) == NB_OK);
			expect(&s, "oracle, acc", NB_F32, rms_of(&s), few * table[k].rms);
			expect(&s, "oracle, pot", NB_F32, rms_pot(&s), few * 1e-4);
			free_system(&s);
		}
	/* masses 0 */
	struct system_ s = make(UNIFORM, 300, 3, 1);
	memset(s.mass, 0, s.n * sizeof *s.mass);
	CHECK(on_device(&s, NB_F32, 1, NULL) == NB_OK);
	CHECK(s.acc[0] == 0 && s.acc[3 * s.n - 1] == 0 && s.pot[5] == 0);
	free_system(&s);
}

static void refusals(void)
{
	struct system_ s = make(UNIFORM, 500, 3, 1), plane = make(PLANE, 500, 3, 1);
	CHECK(on_device(&s, NB_F64, 1, NULL) == NB_OK);
	const struct nb_fmm good = s.fmm;
	s.fmm.order = NB_FMM_MAX_ORDER_3D + 1;
	CHECK(on_device(&s, NB_F64, 0, NULL) == NB_EINVAL);
	s.fmm = good;
	s.fmm.cube.size /= 2;
	CHECK(on_device(&s, NB_F64, 0, NULL) == NB_EINVAL);
	s.fmm = good;
	const int32_t neighbour = s.neighbour[26 * 200 + 5];
	s.neighbour[26 * 200 + 5] = neighbour == 3 ? 4 : 3;
	CHECK(on_device(&s, NB_F64, 0, NULL) == NB_EINVAL);
	s.neighbour[26 * 200 + 5] = neighbour;
	const uint64_t first = s.first[256];
	s.first[256]++;
	CHECK(on_device(&s, NB_F64, 0, NULL) == NB_EINVAL);
	s.first[256] = first;
	CHECK(on_device(&s, NB_F64, 0, NULL) == NB_OK);
	plane.pos[3 * 77 + 2] = 1e-9;
	CHECK(on_device(&plane, NB_F64, 0, NULL) == NB_EINVAL);
	s.mass[3] = NAN;
	CHECK(on_device(&s, NB_F64, 0, NULL) == NB_ENONFINITE);
	struct nb_gravity g = gravity_of(&s, NB_F64);
	const struct nb_boxes boxes = boxes_of(&s);
	g.jerk = g.acc;
	CHECK(cuda->gravity_fmm(&g, &boxes, &good, NULL) == NB_EUNSUPPORTED);
	free_system(&s);
	free_system(&plane);
}

int main(int argc, char **argv)
{
	char why[NB_BACKEND_WHY];
	const size_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000;
	if (nb_backend_choose("cuda", &cuda, why)) {
		fprintf(stderr, "%s\n", why);
		return 77;
	}
	all_orders(most);
	odd_counts();
	oracle(most < 150 ? 150 : most);
	refusals();
	return unit_end();
}
