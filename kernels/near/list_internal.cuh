/* list_internal.cuh - a search on the device, and the list of neighbours of a lane. */
#ifndef NB_NEAR_LIST_INTERNAL_CUH
#define NB_NEAR_LIST_INTERNAL_CUH

#include "kernels/device/device.cuh"
#include "kernels/near/near_internal.h"

struct search {
	struct nb_near_job job;
	const uint32_t *run; /* first body of each run, and n */
	uint32_t nrun;
	uint32_t *next;	 /* run to be taken */
	uint32_t *stack; /* of each warp NB_NEAR_STACK nodes beyond STACK */
	double *d2;	 /* of each warp 32 k; neighbours that are not in registers */
	uint32_t *body;
};

/* Up to K neighbours, in order, in registers. */
template <int K> struct register_list {
	enum { BLOCKS = K <= 8 ? 5 : 4 /* of a multiprocessor */, GUESSED = K };
	double d2[K];
	uint32_t body[K];

	__device__ register_list(const struct search &s, size_t)
	{
#pragma unroll
		for (int e = 0; e < K; e++) {
			d2[e] = e < K - s.job.nearest.k ? -1 : INFINITY; /* those before all others are not wanted */
			body[e] = 0;
		}
	}

	__device__ double last2() const
	{
		return d2[K - 1];
	}

	__device__ void insert(const struct nb_near_job &job, double new2, uint32_t j)
	{
		int at = 0;
		uint32_t ties = 0;
#pragma unroll
		for (int e = 0; e < K; e++) {
			at += d2[e] < new2;
			ties |= (uint32_t)(d2[e] == new2) << e;
		}
		while (ties) {
			const int last = 31 - __clz((int)ties);
			uint32_t other = 0;
#pragma unroll
			for (int e = 0; e < K; e++)
				other = e == last ? body[e] : other;
			at += nb_near_before(&job, other, j);
			ties ^= 1u << last;
		}
#pragma unroll
		for (int e = K - 1; e >= 0; e--) {
			if (e > 0 && e > at) {
				d2[e] = d2[e - 1];
				body[e] = body[e - 1];
			} else if (e == at) {
				d2[e] = new2;
				body[e] = j;
			}
		}
	}

	__device__ void sort(const struct nb_near_job &)
	{
	}

	/* Each comes to the first place, so that there is one visit in the code, and goes to the last one. */
	template <class Visit> __device__ void each(const Visit &visit)
	{
#pragma unroll 1
		for (int n = 0; n < K; n++) {
			const double first2 = d2[0];
			const uint32_t first = body[0];
			if (first2 >= 0)
				visit(first, first2);
#pragma unroll
			for (int e = 0; e < K - 1; e++) {
				d2[e] = d2[e + 1];
				body[e] = body[e + 1];
			}
			d2[K - 1] = first2;
			body[K - 1] = first;
		}
	}

	__device__ double farthest2() const
	{
		return d2[K - 1];
	}
};

/* A heap, the farthest on top. */
struct memory_list {
	enum { BLOCKS = 6, GUESSED = 0 };
	double *d2;
	uint32_t *body;
	int have, k;

	__device__ memory_list(const struct search &s, size_t warp) : have(0), k(s.job.nearest.k)
	{
		d2 = s.d2 + 32 * (size_t)k * warp + threadIdx.x % 32;
		body = s.body + 32 * (size_t)k * warp + threadIdx.x % 32;
	}

	__device__ double last2() const
	{
		return have < k ? INFINITY : d2[0];
	}

	__device__ bool farther(const struct nb_near_job &job, double a2, uint32_t a, double b2, uint32_t b) const
	{
		return a2 > b2 || (a2 == b2 && nb_near_before(&job, b, a));
	}

	/* In a heap of n, from the top. */
	__device__ void sift(const struct nb_near_job &job, int n, double new2, uint32_t j)
	{
		int at = 0;
		for (int below = 1; below < n; below = 2 * at + 1) {
			if (below + 1 < n && farther(job, d2[32 * below + 32], body[32 * below + 32], d2[32 * below],
						     body[32 * below]))
				below++;
			if (!farther(job, d2[32 * below], body[32 * below], new2, j))
				break;
			d2[32 * at] = d2[32 * below];
			body[32 * at] = body[32 * below];
			at = below;
		}
		d2[32 * at] = new2;
		body[32 * at] = j;
	}

	__device__ void insert(const struct nb_near_job &job, double new2, uint32_t j)
	{
		if (have == k) {
			if (farther(job, d2[0], body[0], new2, j))
				sift(job, k, new2, j);
			return;
		}
		int at = have++;
		for (int above; at > 0 && farther(job, new2, j, d2[32 * (above = (at - 1) / 2)], body[32 * above]);
			at = above) {
			d2[32 * at] = d2[32 * above];
			body[32 * at] = body[32 * above];
		}
		d2[32 * at] = new2;
		body[32 * at] = j;
	}

	__device__ void sort(const struct nb_near_job &job)
	{
		for (int end = have - 1; end > 0; end--) {
			const double end2 = d2[32 * end];
			const uint32_t j = body[32 * end];
			d2[32 * end] = d2[0];
			body[32 * end] = body[0];
			sift(job, end, end2, j);
		}
	}

	__device__ double farthest2() const
	{
		return d2[32 * (k - 1)];
	}

	template <class Visit> __device__ void each(const Visit &visit) const
	{
		for (int e = 0; e < have; e++)
			visit(body[32 * e], d2[32 * e]);
	}
};

#endif
