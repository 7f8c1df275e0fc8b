/* bodies.cuh - sets of bodies, and cases by name, for the unit tests of the device's tree. */
#ifndef NB_UNIT_TREE_BODIES_CUH
#define NB_UNIT_TREE_BODIES_CUH

#include <algorithm>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/order/order.h"
#include "kernels/walk_gpu/walk_gpu.h"
#include "tests/unit/device.cuh"

using std::vector;

static const char *label = "";

#define OK(call) CHECK((call) == NB_OK)

template <class T> static vector<T> from_device(const T *p, size_t n)
{
	vector<T> v(n);
	CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
	return v;
}

/* ---- bodies ----------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static double uniform()
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

enum shape { CUBE, PLUMMER, CLUMPS, POINT, PLANE, LINE, PAIRS, NESTED, DEEP_PLANE, SHAPES };
static const char *const shape_name[] = {
	"cube", "plummer", "clumps", "point", "plane", "line", "pairs", "nested", "deep plane"};

struct bodies {
	size_t n;
	int dim;
	vector<double> pos, mass;
};

static struct bodies make(enum shape shape, size_t n)
{
	struct bodies b;
	random_state = 17 * n + shape;
	b.n = n;
	b.dim = shape == PLANE || shape == DEEP_PLANE ? 2 : 3;
	b.pos.resize(3 * n);
	b.mass.resize(n);
	for (size_t i = 0; i < n; i++) {
		double *x = &b.pos[3 * i];
		b.mass[i] = (0.5 + uniform()) / (double)n;
		for (int k = 0; k < 3; k++)
			x[k] = uniform();
		if (shape == PLUMMER) {
			const double r = 1 / sqrt(pow(0.999 * uniform(), -2.0 / 3) - 1), cz = 2 * uniform() - 1,
				     phi = 6.283185307179586 * uniform(), s = sqrt(1 - cz * cz);
			x[0] = r * s * cos(phi), x[1] = r * s * sin(phi), x[2] = r * cz;
		} else if (shape == CLUMPS) { /* tight, far from each other, and a third of the bodies in one place */
			const double c = (double)(i % 7);
			for (int k = 0; k < 3; k++)
				x[k] = i % 3 ? 1e-7 * x[k] + sin(c + 3 * k) : 0.25;
		} else if (shape == POINT) {
			x[0] = 3, x[1] = -2, x[2] = 1e-3;
		} else if (shape == PLANE) {
			x[2] = 0;
		} else if (shape == LINE) {
			x[1] = x[2] = 7;
		} else if (shape == PAIRS) { /* keys of each pair differ in the last digit, if at all */
			for (int k = 0; k < 3; k++)
				x[k] = (floor(x[k] * 64) + (i % 2 ? 1e-6 : 0)) / 64;
		} else if (shape == NESTED) { /* ten cores, each a tenth of the one around it */
			for (int k = 0; k < 3; k++)
				x[k] = 0.3 + 0.1 * k + (x[k] - 0.5) * pow(0.1, (double)(i % 10));
		} else if (shape == DEEP_PLANE) { /* two cores, one on the origin, far below the last digit of a key */
			for (int k = 0; k < 2; k++)
				x[k] = i % 3 == 0 ? x[k] : i % 3 == 1 ? 1e-14 * x[k] : 0.7 + 1e-10 * x[k];
			x[2] = 0;
		}
	}
	return b;
}

/* Puts the bodies into the order of their keys, on the host; their cube, and the keys in that order. */
static inline void sort_bodies(struct bodies &b, struct nb_cube &cube, vector<uint64_t> &key)
{
	const size_t n = b.n;
	size_t bad;
	vector<uint32_t> perm(n);
	vector<double> pos(3 * n), mass(n);
	key.resize(n);
	OK(nb_morton_cube_cpu(n, b.pos.data(), b.dim, &cube, &bad));
	OK(nb_morton_keys_cpu(n, b.pos.data(), b.dim, &cube, key.data()));
	OK(nb_sort_keys_cpu(n, key.data(), perm.data()));
	OK(nb_sort_deep_cpu(n, key.data(), b.pos.data(), b.dim, perm.data()));
	OK(nb_permute_cpu(n, perm.data(), 24, b.pos.data(), pos.data()));
	OK(nb_permute_cpu(n, perm.data(), 8, b.mass.data(), mass.data()));
	b.pos = pos;
	b.mass = mass;
}

#endif
