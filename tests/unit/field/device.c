/* Fields on the device: those of the CPU to rounding, whatever the potential and the outputs, the same bytes twice.
 * Exit 77 where there is no device. */
#include "common/mem.h"
#include "tests/unit/backend/there.h"

static char label[300];

enum { ROWS = 41 };

/* Results of one backend. */
struct results {
	double *acc, *pot, *part, *jerk;
};

static struct results make(size_t n)
{
	struct results r = {nb_alloc(n, 3 * sizeof(double)), nb_alloc(n, sizeof(double)), nb_alloc(n, sizeof(double)),
		nb_alloc(n, 3 * sizeof(double))};
	for (size_t i = 0; i < 3 * n; i++) {
		r.acc[i] = r.jerk[i] = (double)(i % 7);
		r.pot[i / 3] = r.part[i / 3] = -1;
	}
	return r;
}

static void forget(struct results *r)
{
	nb_free(r->acc);
	nb_free(r->pot);
	nb_free(r->part);
	nb_free(r->jerk);
}

static void on_device(const struct nb_external *external, size_t n, const double *pos, const double *vel, int fresh,
	const struct results *r)
{
	void *d_pos = there(pos, 3 * n * sizeof *pos), *d_vel = there(vel, 3 * n * sizeof *vel);
	const struct nb_external_bodies b = {n, d_pos, d_vel, there(r->acc, 3 * n * sizeof *pos),
		there(r->pot, n * sizeof *pos), there(r->part, n * sizeof *pos), there(r->jerk, 3 * n * sizeof *pos),
		fresh, fresh};
	WANT(cuda->external_add(external, &b) == NB_OK);
	WANT(cuda->finish() == NB_OK);
	back(r->acc, b.acc, 3 * n * sizeof *pos);
	back(r->pot, b.pot, n * sizeof *pos);
	back(r->part, b.part, n * sizeof *pos);
	back(r->jerk, b.jerk, 3 * n * sizeof *pos);
	drop(d_pos);
	drop(d_vel);
}

/* Vectors of width numbers are the same to 1e-12 of their size, and what is not finite is so in both. */
static void same(size_t n, size_t width, const double *want, const double *got)
{
	size_t others = 0;
	for (size_t i = 0; i < n; i++) {
		double size = 1;
		for (size_t k = 0; k < width; k++)
			size += isfinite(want[width * i + k]) ? fabs(want[width * i + k]) : 0;
		for (size_t k = 0; k < width; k++)
			others += !agree(want[width * i + k], got[width * i + k], 10 * size);
	}
	WANT(others == 0);
}

static void compare(const char *text, size_t n, double extent)
{
	struct nb_term potential[NB_TERMS_MOST];
	struct nb_external external;
	char why[NB_TERM_WHY];
	int count;
	uint64_t state = 5;
	static double r[ROWS], phi[ROWS], row[ROWS * NB_POTENTIAL_ROW];
	for (int k = 0; k < ROWS; k++) {
		r[k] = 0.05 * (k + 1);
		phi[k] = -1 / (r[k] + 0.3);
	}
	nb_potential_table(ROWS, r, phi, row);
	void *d_row = there(row, sizeof row);
	CHECK(nb_potentials_parse(text, potential, &count, why) == NB_OK);
	nb_external_prepare(count, potential, 0.7, 1.3, &external);
	struct nb_external d_external = external;
	for (int k = 0; k < count; k++)
		if (external.term[k].kind == NB_POTENTIAL_TABLE) {
			external.term[k].nrow = d_external.term[k].nrow = ROWS;
			external.term[k].row = row;
			d_external.term[k].row = d_row;
		}
	double *pos = nb_alloc(n, 3 * sizeof *pos), *vel = nb_alloc(n, 3 * sizeof *vel);
	for (size_t i = 0; i < 3 * n; i++) {
		pos[i] = extent * (2 * uniform(&state) - 1);
		vel[i] = uniform(&state) - 0.5;
		if (i < 3) /* a body in the origin */
			pos[i] = 0;
	}
	for (int fresh = 0; fresh < 2; fresh++) {
		struct results want = make(n), got = make(n), twice = make(n);
		const struct nb_external_bodies b = {
			n, pos, vel, want.acc, want.pot, want.part, want.jerk, fresh, fresh};
		snprintf(label, sizeof label, "%s, n %zu, extent %g, fresh %d", text, n, extent, fresh);
		WANT(cpu->external_add(&external, &b) == NB_OK);
		on_device(&d_external, n, pos, vel, fresh, &got);
		on_device(&d_external, n, pos, vel, fresh, &twice);
		same(n, 3, want.acc, got.acc);
		same(n, 1, want.pot, got.pot);
		same(n, 1, want.part, got.part);
		same(n, 3, want.jerk, got.jerk);
		WANT(memcmp(got.acc, twice.acc, 3 * n * sizeof *pos) == 0);
		WANT(memcmp(got.jerk, twice.jerk, 3 * n * sizeof *pos) == 0);
		forget(&want);
		forget(&got);
		forget(&twice);
	}
	drop(d_row);
	nb_free(pos);
	nb_free(vel);
}

int main(void)
{
	static const char *const texts[] = {"point m=2", "point m=2 eps=0.3", "plummer m=1.5 a=0.7 x=0.3 vx=1",
		"hernquist m=1.5 a=0.7", "dehnen m=1 a=0.5 gamma=1.5", "dehnen m=1 a=0.5 gamma=2", "nfw m=1 rs=0.2",
		"nfw v=1.3 rs=3", "log v0=1.2 rc=0.3 qy=0.9 qz=0.7 inc=40 node=70 angle=10 omega=0.8",
		"disk m=1 a=0.5 b=0.1", "bar m=1 a=1 b=0.1 c=0.2", "bar m=1 a=0.5 b=0 c=0.01 inc=35 node=100 omega=2",
		"table file=x",
		"nfw m=1 rs=0.4 x=1; disk m=0.5 a=0.5 b=0.2 vz=1; bar m=0.3 a=1 b=0.3 c=0.2 omega=1; table file=x y=1"};
	static const size_t counts[] = {1, 2, 129, 1000, 30001};
	if (!both_backends())
		return 77;
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			for (double extent = 1e-3; extent < 1e4; extent *= 1e3)
				compare(texts[k], counts[i], extent);
	const struct nb_external_bodies none = {0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0};
	const struct nb_external nothing = {0};
	CHECK(cuda->external_add(&nothing, &none) == NB_OK);
	return unit_end();
}
