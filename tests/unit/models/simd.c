/* The generator of random numbers against its published values; vectors against the C library. */
#include "common/cpu.h"
#include "kernels/models/part_internal.h"
#include "kernels/models/random_internal.h"
#include "tests/unit/models/bodies.h"

static void test_philox(void)
{
	/* Random123 distribution, tests/kat_vectors, philox4x32 10 */
	static const uint32_t known[3][10] = {{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
			0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
			0x5001e420, 0x24126ea1}};
	for (int k = 0; k < 3; k++) {
		uint32_t out[4];
		nb_philox4x32(known[k], known[k] + 4, out);
		EXPECT(memcmp(out, known[k] + 6, sizeof out) == 0, "vector %d gives %08x", k, out[0]);
	}
	EXPECT(nb_uniform52(0) == 0x1p-53, "%a", nb_uniform52(0));
	EXPECT(nb_uniform52(UINT64_MAX) == 1 - 0x1p-53, "%a", nb_uniform52(UINT64_MAX));
}

static void reference(const struct nb_model_part *part, uint64_t seed, int vel, uint64_t i, double out[3])
{
	double u[3], d[2], v[6], w[4];
	nb_random3(seed, part->stream, i, 0, u);
	nb_random2(seed, part->stream, i, 1, d);
	nb_random3(seed, part->stream, i, 16, v);
	nb_random3(seed, part->stream, i, 17, v + 3);
	nb_random2(seed, part->stream, i, 18, w);
	const double p = fmax(u[0], fmax(u[1], u[2]));
	if (vel && part->sampler == NB_SAMPLE_PLUMMER) {
		double five[5];
		memcpy(five, v, sizeof five);
		qsort(five, 5, sizeof *five, by_size);
		const double x = p * part->mu, speed = part->speed * pow((1 - x) * (1 + x), 0.25) * sqrt(five[1]);
		out[0] = speed * sqrt(v[5]) * cos(tau * w[0]);
		out[1] = speed * sqrt(v[5]) * sin(tau * w[0]);
		out[2] = speed * sqrt(1 - v[5]) * sin(tau / 2 * (w[1] - 0.5));
	} else if (vel) {
		nb_random2(seed, part->stream, i, 16, w);
		nb_random2(seed, part->stream, i, 17, w + 2);
		const double r = part->speed * sqrt(-2 * log(w[0])), r1 = part->speed * sqrt(-2 * log(w[2]));
		out[0] = r * cos(tau * w[1]);
		out[1] = r * sin(tau * w[1]);
		out[2] = r1 * cos(tau * w[3]);
	} else if (part->sampler == NB_SAMPLE_CUBE) {
		for (int c = 0; c < 3; c++)
			out[c] = part->length * (u[c] - 0.5);
	} else {
		const double x = p * part->mu, r = part->sampler == NB_SAMPLE_PLUMMER ? x / sqrt((1 - x) * (1 + x)) : p;
		const double z = 2 * d[0] - 1, ring = sqrt((1 - z) * (1 + z));
		out[0] = part->length * r * ring * cos(tau * d[1]);
		out[1] = part->length * r * ring * sin(tau * d[1]);
		out[2] = part->length * r * z;
	}
}

/* Up to the sign of the vector, which the block chooses, every instruction set gives the formula's bodies, and all
 * give the same bytes. */
static void test_simd(void)
{
	nb_model_draw_block *const draw[] = {NB_ISA_TABLE(nb_model_draw_block)};
	static double plain[3 * NB_MODEL_BLOCK], out[3 * NB_MODEL_BLOCK];
	const enum nb_model_sampler samplers[] = {NB_SAMPLE_PLUMMER, NB_SAMPLE_BALL, NB_SAMPLE_CUBE};
	const uint64_t seed = 0xfedcba9876543210, start = ((uint64_t)5 << 32) + 2 * NB_MODEL_BLOCK;
	for (int s = 0; s < 3; s++)
		for (int vel = 0; vel < 2; vel++) {
			struct nb_model_part part = {.sampler = samplers[s],
				.dim = 3,
				.stream = 3,
				.length = 1.25,
				.speed = 0.75,
				.mu = 0.9995};
			nb_model_draw_block_plain(&part, seed, vel, start, NB_MODEL_BLOCK, plain);
			double worst = 0;
			for (size_t i = 0; i < NB_MODEL_BLOCK; i++) {
				double want[3], *got = plain + 3 * i;
				reference(&part, seed, vel, start + i, want);
				const double sign = got[0] * want[0] < 0 ? -1 : 1, size = norm(want);
				for (int c = 0; c < 3; c++) {
					const double error = fabs(got[c] - sign * want[c]) / size;
					if (!(error <= worst))
						worst = error;
				}
			}
			EXPECT(worst < 4e-15, "sampler %d, vel %d: %g", s, vel, worst);
			for (int isa = 1; isa <= (int)nb_cpu_isa(); isa++) {
				/* an odd count too: the last group is cut */
				nb_model_draw_block_plain(&part, seed, vel, start, 1003, plain);
				draw[isa](&part, seed, vel, start, 1003, out);
				EXPECT(memcmp(plain, out, 3 * 1003 * sizeof *out) == 0,
					"sampler %d, vel %d differ on %s", s, vel, nb_cpu_isa_name((enum nb_isa)isa));
			}
		}
}

int main(void)
{
	test_philox();
	test_simd();
	return unit_end();
}
