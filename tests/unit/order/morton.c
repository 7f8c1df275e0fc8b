/* Morton keys and the cube around all bodies. */
#include "common/mem.h"
#include "kernels/order/order.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static void test_keys(void)
{
	for (int k = 0; k < 1000; k++) {
		uint32_t v = (uint32_t)random_u64();
		CHECK(nb_morton_gather3(nb_morton_spread3(v)) == (v & 0x1fffff));
		CHECK(nb_morton_gather2(nb_morton_spread2(v)) == (v & 0x7fffffff));
	}
	CHECK(nb_morton_key3(1, 0, 0) == 4 && nb_morton_key3(0, 1, 0) == 2 && nb_morton_key3(0, 0, 1) == 1);
	CHECK(nb_morton_key2(1, 0) == 2 && nb_morton_key2(0, 1) == 1);
	CHECK(nb_morton_key3(0x1fffff, 0x1fffff, 0x1fffff) == 0x7fffffffffffffff);
	CHECK(nb_morton_key2(0x7fffffff, 0x7fffffff) == 0x3fffffffffffffff);

	/* the corners of a cube: the eight octants in order, each body inside the cube */
	double pos[8 * 3];
	for (int i = 0; i < 8; i++)
		for (int d = 0; d < 3; d++)
			pos[3 * i + d] = (i >> (2 - d) & 1) ? 7 : -5;
	struct nb_cube cube;
	size_t bad = 99;
	uint64_t key[8];
	CHECK(nb_morton_cube_cpu(8, pos, 3, &cube, &bad) == NB_OK);
	CHECK(cube.lo[0] == -5 && cube.lo[1] == -5 && cube.lo[2] == -5 && cube.size > 12 &&
		cube.size < 12 * (1 + 1e-11));
	CHECK(nb_morton_keys_cpu(8, pos, 3, &cube, key) == NB_OK);
	for (uint64_t i = 0; i < 8; i++)
		CHECK(key[i] >> 60 == i && nb_morton_gather3(key[i]) == (i & 1 ? 0x1fffff : 0));
	CHECK(nb_morton_cube_cpu(8, pos, 2, &cube, &bad) == NB_OK && cube.lo[2] == 0);
	CHECK(nb_morton_keys_cpu(8, pos, 2, &cube, key) == NB_OK);
	for (uint64_t i = 0; i < 8; i++)
		CHECK(key[i] >> 60 == i >> 1);

	CHECK(nb_morton_cube_cpu(0, NULL, 3, &cube, &bad) == NB_OK && cube.size == 1);
	double same[6] = {3, 4, 5, 3, 4, 5};
	CHECK(nb_morton_cube_cpu(2, same, 3, &cube, &bad) == NB_OK && cube.size == 1 && cube.lo[1] == 4);
	double tiny[6] = {0, 0, 0, 5e-324, 0, 0};
	CHECK(nb_morton_cube_cpu(2, tiny, 3, &cube, &bad) == NB_OK &&
		nb_morton_keys_cpu(2, tiny, 3, &cube, key) == NB_OK);
	double wide[6] = {-1.7e308, 0, 0, 1.7e308, 0, 0};
	CHECK(nb_morton_cube_cpu(2, wide, 3, &cube, &bad) == NB_ELIMIT);
	CHECK(nb_morton_cube_cpu(1, pos, 4, &cube, &bad) == NB_EINVAL);

	enum { N = 50000 };
	double *many = nb_alloc_zero(N, 3 * sizeof *many);
	const double nasty[] = {NAN, INFINITY, -INFINITY};
	for (int k = 0; k < 3; k++) {
		many[3 * 40001 + k] = nasty[k];
		many[3 * 20000 + k] = nasty[(k + 1) % 3];
		CHECK(nb_morton_cube_cpu(N, many, 3, &cube, &bad) == NB_ENONFINITE && bad == 20000);
		many[3 * 20000 + k] = 0;
		CHECK(nb_morton_cube_cpu(N, many, 3, &cube, &bad) == NB_ENONFINITE && bad == 40001);
		many[3 * 40001 + k] = 0;
	}
	nb_free(many);
}

/* Keys are current while each is that of its body's cell and they ascend; a body that moves to another cell makes them
 * stale even if the keys would ascend still. */
static void test_current(void)
{
	enum { N = 9001, DIM = 3 }; /* blocks of 4096 */
	static double pos[3 * N];
	static uint64_t key[N];
	const struct nb_cube cube = {{0, 0, 0}, 1};
	int current = -1;
	for (size_t i = 0; i < N; i++) /* along x, cells apart */
		pos[3 * i] = ((double)i + 0.5) / N;
	CHECK(nb_morton_keys_cpu(N, pos, DIM, &cube, key) == NB_OK);
	CHECK(nb_keys_current_cpu(N, pos, DIM, &cube, key, &current) == NB_OK && current == 1);
	static const size_t rows[] = {0, 1, 4095, 4096, 4097, N / 2, N - 1};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		double *x = &pos[3 * rows[k]];
		const double was = *x;
		*x += 0.25 / N;
		CHECK(nb_keys_current_cpu(N, pos, DIM, &cube, key, &current) == NB_OK && current == 0);
		*x = was;
	}
	for (size_t at = 4095; at <= 4096; at++) { /* right keys in the wrong order, within a block and across two */
		double other[6];
		memcpy(other, pos + 3 * (at - 1), sizeof other);
		memcpy(pos + 3 * at, other, 3 * sizeof *other);
		memcpy(pos + 3 * (at - 1), other + 3, 3 * sizeof *other);
		CHECK(nb_morton_keys_cpu(N, pos, DIM, &cube, key) == NB_OK);
		CHECK(nb_keys_current_cpu(N, pos, DIM, &cube, key, &current) == NB_OK && current == 0);
		memcpy(pos + 3 * (at - 1), other, sizeof other);
		CHECK(nb_morton_keys_cpu(N, pos, DIM, &cube, key) == NB_OK);
	}
	CHECK(nb_keys_current_cpu(N, pos, DIM, &cube, key, &current) == NB_OK && current == 1);
	CHECK(nb_keys_current_cpu(0, pos, DIM, &cube, key, &current) == NB_OK && current == 1);
}

int main(void)
{
	test_keys();
	test_current();
	return unit_end();
}
