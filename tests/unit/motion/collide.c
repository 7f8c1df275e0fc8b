/* Contacts of many bodies against what must be conserved, and against the search through all pairs, byte by byte. */
#include "common/cpu.h"
#include "tests/unit/motion/bodies.h"

/* ---- conservation --------------------------------------------------------------------------------------- */

static void gas(struct bodies *b, double radius)
{
	for (size_t i = 0; i < b->n; i++) {
		b->radius[i] = radius * (0.5 + uniform());
		b->mass[i] = pow(10, 3 * uniform());
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			b->pos[k] = uniform();
			b->vel[k] = uniform() - 0.5;
			b->later[k] = uniform();
		}
	}
}

static void conserved(void)
{
	struct bodies b = make(3000);
	gas(&b, 0.02);
	uint64_t total = 0;
	struct sums before = sums_of(&b, 1);
	for (int step = 0; step < 20; step++)
		total += contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, step % 3 == 2 ? -0.02 : 0.02);
	struct sums after = sums_of(&b, 1);
	CHECK(total > 3000);
	CHECK_NEAR(after.ekin / before.ekin, 1, 1e-14 * sqrt((double)total));
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(after.momentum[d], before.momentum[d], 1e-15 * before.scale);
		CHECK_NEAR(after.later[d], before.later[d], 1e-14 * before.scale);
	}
	release(&b);

	b = make(3000);
	gas(&b, 0.012);
	before = sums_of(&b, 1);
	total = contacts(&b, nb_collide_cpu, NB_COLLIDE_MERGE, 0.1);
	after = sums_of(&b, 0);
	CHECK(total > 300 && total < 2900);
	CHECK_NEAR(after.mass / before.mass, 1, 1e-13);
	CHECK_NEAR(after.volume / before.volume, 1, 1e-13);
	for (int d = 0; d < 3; d++) {
		CHECK_NEAR(after.momentum[d], before.momentum[d], 1e-14 * before.scale);
		CHECK_NEAR(after.later[d], before.later[d], 1e-14 * before.scale);
		CHECK_NEAR(after.moment[d], before.moment[d] + 0.1 * before.momentum[d], 1e-14 * before.mass);
	}
	/* and nobody is left who overlaps another */
	size_t overlaps = 0;
	for (size_t k = 0; k < b.left; k++)
		for (size_t l = k + 1; l < b.left; l++) {
			const size_t i = b.keep[k], j = b.keep[l];
			double d2 = 0;
			for (size_t d = 0; d < 3; d++)
				d2 += pow(b.pos[3 * i + d] - b.pos[3 * j + d], 2);
			overlaps += sqrt(d2) < (b.radius[i] + b.radius[j]) * (1 - 1e-12);
		}
	CHECK(overlaps == 0);
	release(&b);
}

static void reversed(void)
{
	/* a dilute gas, some collisions a body, there and back */
	struct bodies b = make(1000);
	gas(&b, 0.02);
	for (size_t i = 0; i < b.n; i++) /* no overlaps in the beginning: a lattice */
		for (size_t d = 0, at = i; d < 3; d++, at /= 10)
			b.pos[3 * i + d] = 0.1 * (double)(at % 10);
	struct bodies start = copy_of(&b, NULL);
	uint64_t there = 0, back = 0;
	for (int step = 0; step < 10; step++)
		there += contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 0.02);
	for (int step = 0; step < 10; step++)
		back += contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, -0.02);
	CHECK(there > 200 && there == back);
	double most = 0;
	for (size_t i = 0; i < 3 * b.n; i++)
		most = fmax(most, fabs(b.pos[i] - start.pos[i]) + fabs(b.vel[i] - start.vel[i]));
	CHECK_NEAR(most, 0, 1e-8);
	release(&b);
	release(&start);
}

static void untouched(void)
{
	struct bodies b = make(5001), c;
	gas(&b, 1e-9);
	c = copy_of(&b, NULL);
	CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 0.3) == 0);
	CHECK(nb_drift_cpu(c.n, c.pos, c.vel, 0.3) == NB_OK);
	for (size_t i = 0; i < c.n; i++)
		c.keep[i] = (uint32_t)i;
	CHECK(same(&b, &c));
	release(&b);
	release(&c);
}

/* ---- against all pairs ---------------------------------------------------------------------------------- */

enum { KINDS = 16 };

static void spread(struct bodies *b, int kind)
{
	const size_t n = b->n;
	gas(b, kind == 1 ? 0.2 : 0.3 / cbrt((double)n + 1));
	for (size_t i = 0; i < n; i++) {
		double *x = b->pos + 3 * i, *v = b->vel + 3 * i;
		b->id[i] = (i * 7919 + 13) % (n ? n : 1) + (i % 5 == 0 && kind == 2 ? 1 : 0); /* some equal */
		switch (kind) {
		case 3: /* clusters of clusters */
			for (int d = 0; d < 3; d++)
				x[d] = floor(2 * x[d]) + 1e-3 * floor(3 * uniform()) + 1e-7 * uniform();
			b->radius[i] = pow(10, -8.5 + 3 * uniform());
			v[0] *= 1e-3;
			break;
		case 4: b->radius[i] = pow(10, -9 * uniform() - 0.5); break;
		case 5: /* all at one place */ x[0] = x[1] = x[2] = 0.3; break;
		case 6: /* nearly */
			for (int d = 0; d < 3; d++)
				x[d] = 0.3 + 1e-13 * x[d];
			break;
		case 7: /* a lattice whose balls just touch, some of which move along it */
			for (size_t d = 0, at = i; d < 3; d++, at /= 4)
				x[d] = (double)(at % 4) * 0.25;
			x[0] += floor((double)i / 64) * 1.25;
			b->radius[i] = 0.125;
			b->mass[i] = 1;
			v[0] = (double)(i % 7 == 0) - (double)(i % 11 == 0);
			v[1] = v[2] = 0;
			break;
		case 8: /* at rest */ v[0] = v[1] = v[2] = 0; break;
		case 9: /* points, some of them large; some without mass */
			b->radius[i] = i % 3 ? 0 : b->radius[i];
			b->mass[i] = i % 2 ? 0 : b->mass[i];
			break;
		case 10: /* some very fast ones */
			for (int d = 0; d < 3; d++)
				v[d] *= i % 17 == 0 ? 1000 : 1;
			break;
		case 11: /* in a plane */ x[2] = v[2] = 0; break;
		case 12: /* on a line, at regular places, equal speeds: many contacts at the same time */
			x[0] = (double)((i * 37) % (n + 1));
			x[1] = x[2] = v[1] = v[2] = 0;
			v[0] = i % 2 ? 4 : -4;
			b->radius[i] = 0.25;
			b->mass[i] = 1;
			break;
		case 13: /* far from the origin, with small radii */
			for (int d = 0; d < 3; d++)
				x[d] = 1e5 + 1e-4 * x[d], v[d] *= 1e-3;
			b->radius[i] = 1e-5 * uniform();
			break;
		case 14:
		case 15: /* near the ends of the range of numbers */
			for (int d = 0; d < 3; d++) {
				x[d] *= kind == 14 ? 1e300 : 1e-290;
				v[d] *= kind == 14 ? 1e300 : 1e-290;
			}
			b->radius[i] *= kind == 14 ? 1e300 : 1e-290;
			break;
		default: break;
		}
	}
}

static void against_all_pairs(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 100};
	static const enum nb_collide_mode modes[] = {NB_COLLIDE_ELASTIC, NB_COLLIDE_MERGE, NB_COLLIDE_BOUNCE};
	uint64_t found[3][KINDS] = {{0}};
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int variant = 0; variant < 6; variant++) {
				const enum nb_collide_mode mode = modes[variant % 3];
				const double dt = (variant < 3 ? 1 : -1) * (kind == 3 ? 1e-3 : 0.3);
				struct bodies a = make(sizes[k]);
				a.restitution = 0.25 * (double)(k % 4);
				spread(&a, kind);
				struct bodies b = copy_of(&a, NULL);
				struct nb_collide_count count_a = {0, 0, 0}, count_b = {1, 1, 1};
				CHECK(drift(&a, nb_collide_cpu, mode, dt, &count_a) == NB_OK);
				CHECK(drift(&b, nb_collide_ref, mode, dt, &count_b) == NB_OK);
				int equal = same(&a, &b) && count_a.contacts == count_b.contacts &&
					    count_a.limited == count_b.limited;
				if (!equal)
					fprintf(stderr, "kind %d, n = %zu, variant %d: %zu and %zu contacts\n", kind,
						sizes[k], variant, (size_t)count_a.contacts, (size_t)count_b.contacts);
				CHECK(equal);
				found[mode][kind] += count_a.contacts;
				release(&a);
				release(&b);
			}
	/* each kind says something: only bodies at rest or at one place do not collide */
	for (int kind = 0; kind < KINDS; kind++) {
		CHECK((found[NB_COLLIDE_ELASTIC][kind] > 30) == (kind != 5 && kind != 8));
		CHECK(found[NB_COLLIDE_MERGE][kind] > 30);
		CHECK((found[NB_COLLIDE_BOUNCE][kind] > 30) == (kind != 5 && kind != 8));
	}
}

/* n too large for all pairs of all pairs, but few contacts: enough for a first contact of each */
static void larger_against_all_pairs(void)
{
	for (int mode = 0; mode < (UNIT_SANITIZED ? 1 : 3); mode++) {
		struct bodies a = make(4100);
		a.restitution = 0.5;
		gas(&a, 2.2e-3);
		struct bodies b = copy_of(&a, NULL);
		const uint64_t here = contacts(&a, nb_collide_cpu, mode, 0.02),
			       there = contacts(&b, nb_collide_ref, mode, 0.02);
		CHECK(here > 3 && here == there && same(&a, &b));
		release(&a);
		release(&b);
	}
}

/* All bodies overlap all others, so that most contacts happen at once and ids decide; an acceleration presses some
 * together until they may collide no more. */
static void overlapping_against_all_pairs(void)
{
	enum { N = 60 };
	double acc[3 * N];
	for (int variant = 0; variant < 16; variant++) {
		struct bodies a = make(N);
		gas(&a, 10);
		for (size_t i = 0; i < 3 * N; i++) {
			if (variant & 1) /* towards the middle */
				a.vel[i] = 0.5 - a.pos[i];
			if (variant & 8) /* far less than the drift goes: contacts at other times too */
				a.radius[i / 3] = 0.2;
			acc[i] = 30 * (0.5 - a.pos[i]);
			a.id[i / 3] = i / 3 * 37 % N / (variant & 2 ? 1 : 4); /* each once, or some four times */
		}
		struct bodies b = copy_of(&a, NULL);
		struct nb_collide_count count[2];
		for (int k = 0; k < 2; k++) {
			const struct bodies *of = k ? &b : &a;
			const struct nb_collide c = {N, variant & 4 ? NB_COLLIDE_BOUNCE : NB_COLLIDE_ELASTIC, 0.1,
				of->pos, of->vel, of->later, of->mass, of->radius, of->id, NULL, acc, 0.05, 0.5, NULL,
				NULL};
			CHECK(both[k](&c, &count[k]) == NB_OK);
		}
		CHECK(same(&a, &b));
		CHECK(count[0].contacts == count[1].contacts && count[0].limited == count[1].limited);
		CHECK(count[0].limited > 5);
		release(&a);
		release(&b);
	}
}

/* ---- order of rows, threads ----------------------------------------------------------------------------- */

static void any_order(void)
{
	enum { N = UNIT_SANITIZED ? 120 : 300 };
	size_t order[N];
	for (int kind = 0; kind < KINDS; kind++)
		for (int mode = 0; mode < 3; mode++) {
			struct bodies a = make(N);
			a.restitution = 0.5;
			spread(&a, kind);
			for (size_t i = 0; i < N; i++) {
				order[i] = (i * 277 + 31) % N;
				a.id[i] = i * 3;
			}
			struct bodies b = copy_of(&a, order);
			const uint64_t x = contacts(&a, nb_collide_cpu, mode, 0.1),
				       y = contacts(&b, nb_collide_cpu, mode, 0.1);
			CHECK(x == y && a.left == b.left);
			size_t wrong = 0;
			for (size_t k = 0; k < b.left; k++) {
				const size_t j = b.keep[k], i = order[j];
				size_t at = 0;
				while (at < a.left && a.keep[at] != i)
					at++;
				wrong += at == a.left || memcmp(a.pos + 3 * i, b.pos + 3 * j, 24) != 0 ||
					 memcmp(a.vel + 3 * i, b.vel + 3 * j, 24) != 0 || a.mass[i] != b.mass[j] ||
					 a.radius[i] != b.radius[j];
			}
			CHECK(wrong == 0);
			release(&a);
			release(&b);
		}
}

static void any_threads(void)
{
	for (int mode = 0; mode < 3; mode++)
		for (int kind = 0; kind < 2; kind++) {
			struct bodies a = make(kind ? 6000 : 20000), first = {0};
			gas(&a, kind ? 0.02 : 1e-3); /* many overlaps, and few */
			a.restitution = 0.5;
			for (int threads = 1; threads <= 4; threads++) {
				struct bodies b = copy_of(&a, NULL);
				nb_cpu_set_threads(threads);
				CHECK(contacts(&b, nb_collide_cpu, mode, 0.01) > 10);
				if (threads == 1)
					first = b;
				else {
					CHECK(same(&first, &b));
					release(&b);
				}
			}
			release(&first);
			release(&a);
		}
	nb_cpu_set_threads(0);
}

/* ---- limits --------------------------------------------------------------------------------------------- */

static void many_at_one_place(void)
{
	/* in no more than n log n; all pairs would take a minute */
	for (int kind = 0; kind < 3; kind++) {
		struct bodies b = make(UNIT_SANITIZED ? 30000 : 100000);
		for (size_t i = 0; i < b.n; i++) {
			b.radius[i] = 0.03;
			for (size_t d = 3 * i; d < 3 * i + 3; d++) {
				b.pos[d] = kind == 0 ? 0.7 : kind == 1 ? 0.7 + 1e-5 * uniform() : uniform();
				b.vel[d] = uniform() - 0.5;
			}
		}
		b.mass[777] = 2;
		const struct sums before = sums_of(&b, 1);
		CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_MERGE, 0.01) == b.n - 1);
		CHECK(b.keep[0] == 777 && b.mass[777] == (double)b.n + 1);
		CHECK_NEAR(b.radius[777], 0.03 * cbrt((double)b.n), 1e-10);
		CHECK_NEAR(b.vel[3 * 777], before.momentum[0] / before.mass, 1e-12);
		release(&b);
	}
	/* points at one place have nothing to do with each other, one ball among them or not */
	struct bodies b = make(UNIT_SANITIZED ? 30000 : 100000);
	memset(b.radius, 0, b.n * sizeof *b.radius);
	for (size_t i = 0; i < 3 * b.n; i++)
		b.vel[i] = uniform() - 0.5;
	CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 1) == 0);
	memset(b.pos, 0, 3 * b.n * sizeof *b.pos);
	b.radius[5] = 0.1;
	b.vel[15] = 0;
	CHECK(contacts(&b, nb_collide_cpu, NB_COLLIDE_ELASTIC, 1) == 0);
	release(&b);
}

int main(void)
{
	conserved();
	reversed();
	untouched();
	against_all_pairs();
	larger_against_all_pairs();
	overlapping_against_all_pairs();
	any_order();
	any_threads();
	many_at_one_place();
	return unit_end();
}
