/* shan_cuda.cu - near field of uniform boxes in 2-D: Shan & Lei 2012, and the strategies that they compare with.
 *
 *   bpt     box per thread       (their reference 1, named in section I)
 *   ppt     particle per thread  (the same)
 *   bpb     box per block: section III B
 *   bpb-n3  box per block, Newton's third law: section III C, steps 1 to 7, which the comments below name
 *   bpb-n3 staggered, ours: the same, but in step 5 each thread begins with another body, so that no two threads of a
 *           warp add to the same counter-force at once; it shows what the atomics of the paper's sequence cost
 *
 * As published: 2-D and single precision; one thread a particle, n threads a block (largest box of the frame, rounded
 * up to whole warps; the others of a block are idle); bodies of three numbers in array A; counter-forces in array B;
 * each thread of the father box against the n - threadIdx.x - 1 bodies behind its own; a neighbour list of larger
 * Z-order indices, made by the set-up; atomics on B and on acc; a square root and a division for an interaction, which
 * the paper counts as 15 operations (its 4 additions are two of the sums, one of the squares and one of a softening).
 *
 * Where the code differs:
 *   - The paper adds up forces, this code accelerations, so that bodies without mass feel: w = 1 / r^3 is multiplied by
 *     the mass of the other body for d_acc and by the own one for B.
 *   - Step 4 sets B to zero behind the barrier, where another thread may have added to it already.  Here B is zero
 *     before the barrier.  The paper does not say when B is cleared for step 3; its table I counts the writes.
 *   - A box of more than 1024 bodies is done in rounds of 1024 targets, and its sources in chunks of 1024: in bpb-n3
 *     the later chunks of the father box are met as a neighbour is (steps 4 and 5).
 *   - Positions are scaled and taken from the middle of all bodies (cuda_internal.cuh), and acc is converted to
 *     the caller's units and to f64 by a kernel of its own.
 *
 * The order in which atomics add is left to the device, so the last bits of bpb-n3 vary from run to run: the paper
 * explains by its atomics why it is not twice as fast as bpb, and without them it would be another algorithm (ours:
 * kernels/gravity/near_cuda.cu, n3).  The other three give the same bytes on every run.
 *
 * Errors of f32 positions: 2^-25 of the extent of all bodies for each separation. */
#include <algorithm>

#include <string.h>

#include "kernels/papers/cuda_internal.cuh"
#include "kernels/papers/cuda_internal.h"

enum { SHAN_WARP = 32, SHAN_MOST = 1024, SHAN_BPT_THREADS = 64, SHAN_PPT_THREADS = 128, SHAN_SETUP_THREADS = 256 };
/* numbers of a body, and of an acceleration */
enum { SHAN_BODY = 3, SHAN_ACC = 2 };
/* columns of struct nb_shan_operations */
enum { GR, GW, SR, SW, RR, RW, CP, SHAN_OPERATIONS };

struct shan_body {
	float x, y, m;
};
struct shan_vec {
	float x, y;
};

/* The four arrays of section III A, and what else the kernels read. */
struct shan_field {
	size_t n, nbox;
	const struct shan_body *body; /* n */
	const uint64_t *first;	      /* boxIdx: nbox + 1 */
	const int32_t *neighbour;     /* nbox x width; -1 none; for bpb-n3 the larger ones only, and -1 ends them */
	struct shan_vec *acc;	      /* n */
	int width;
	const uint32_t *box_of; /* n, for ppt */
	const struct paper_units *units;
	unsigned long long *operations; /* of a counting build: procedures x SHAN_OPERATIONS */
};

/* What the set-up finds. */
struct shan_survey {
	unsigned long long interactions, largest; /* largest: bodies of a box */
	int status;
};

/* ---- set-up -------------------------------------------------------------------------------------------- */

/* Thread: a body. */
static __global__ void shan_pack_kernel(
	struct shan_field f, const double *pos, const double *mass, struct shan_body *body, uint32_t *box_of)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i >= f.n)
		return;
	body[i] = {(float)paper_coordinate(f.units, pos, i, 0), (float)paper_coordinate(f.units, pos, i, 1),
		(float)(mass[i] * f.units->scale.mass)};
	if (!box_of)
		return;
	size_t box = 0, high = f.nbox; /* the last box that begins at or before the body */
	while (high - box > 1) {
		const size_t middle = box + (high - box) / 2;
		if (f.first[middle] <= i)
			box = middle;
		else
			high = middle;
	}
	box_of[i] = (uint32_t)box;
}

/* Whether the list of a box has another one. */
static __device__ bool shan_lists(const struct shan_field &f, size_t box, size_t other)
{
	for (int k = 0; k < f.width; k++)
		if (f.neighbour[box * f.width + k] == (int64_t)other)
			return true;
	return false;
}

/* Thread: a box.  Counts interactions and finds the largest box.  larger (unless null): the neighbour list,
 * "simplified at first" (III C 2); f.neighbour is the full one, in which each must list the other. */
static __global__ void shan_boxes_kernel(struct shan_field f, int32_t *larger, struct shan_survey *survey)
{
	const size_t box = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	unsigned long long own = 0, interactions = 0;
	if (box < f.nbox) {
		unsigned long long around = 0;
		int kept = 0;
		own = f.first[box + 1] - f.first[box];
		for (int k = 0; k < f.width; k++) {
			const int32_t other = f.neighbour[box * f.width + k];
			if (other < 0)
				continue;
			around += f.first[other + 1] - f.first[other];
			if (larger && !shan_lists(f, (size_t)other, box))
				atomicMax(&survey->status, (int)NB_EINVAL);
			if (larger && (size_t)other > box)
				larger[box * f.width + kept++] = other;
		}
		if (larger && kept < f.width)
			larger[box * f.width + kept] = -1;
		interactions = own > 0 ? own * (own - 1 + around) : 0;
	}
	if (box == 0)
		atomicMax(&survey->status, f.units->status);
	for (int offset = SHAN_WARP / 2; offset > 0; offset /= 2) {
		interactions += __shfl_xor_sync(0xffffffff, interactions, offset);
		own = max(own, __shfl_xor_sync(0xffffffff, own, offset));
	}
	if (threadIdx.x % SHAN_WARP == 0 && own > 0) {
		atomicAdd(&survey->interactions, interactions);
		atomicMax(&survey->largest, own);
	}
}

/* acc in the caller's units. */
static __global__ void shan_store_kernel(struct shan_field f, double *acc)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < f.n)
		paper_store<float>(f.units, {f.acc[i].x, f.acc[i].y, 0}, acc, i);
}

/* ---- an interaction ------------------------------------------------------------------------------------- */

struct shan_pair {
	float dx, dy, w; /* w = 1 / r^3 */
};

static __device__ __forceinline__ shan_pair shan_pair_of(const shan_body &me, const shan_body &other, float eps2)
{
	shan_pair p = {other.x - me.x, other.y - me.y, 0};
	const float r2 = p.dy * p.dy + (p.dx * p.dx + eps2);
	float r;
	/* r2 and r^3 are normal numbers; as on the paper's hardware, neither is rounded correctly */
	asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(r2));
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(p.w) : "f"(r2 * r));
	return p;
}

static __device__ __forceinline__ void shan_pull(
	const shan_body &me, const shan_body &other, float eps2, shan_vec &d_acc)
{
	const shan_pair p = shan_pair_of(me, other, eps2);
	const float s = other.m * p.w;
	d_acc.x += s * p.dx;
	d_acc.y += s * p.dy;
}

/* ---- bpt, ppt ------------------------------------------------------------------------------------------- */

/* Body i of a box, with sources from global memory. */
static __device__ __forceinline__ void shan_around(const struct shan_field &f, size_t box, size_t i, float eps2)
{
	const shan_body me = f.body[i];
	shan_vec d_acc = {0, 0};
	for (size_t j = f.first[box]; j < i; j++)
		shan_pull(me, f.body[j], eps2, d_acc);
	for (size_t j = i + 1; j < f.first[box + 1]; j++)
		shan_pull(me, f.body[j], eps2, d_acc);
	for (int k = 0; k < f.width; k++) {
		const int32_t other = f.neighbour[box * f.width + k];
		if (other < 0)
			continue;
		const size_t end = f.first[other + 1];
		for (size_t j = f.first[other]; j < end; j++)
			shan_pull(me, f.body[j], eps2, d_acc);
	}
	f.acc[i] = d_acc;
}

static __global__ void __launch_bounds__(SHAN_BPT_THREADS) shan_bpt_kernel(struct shan_field f)
{
	const size_t box = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	const float eps2 = paper_eps2<float>(f.units);
	if (box < f.nbox)
		for (size_t i = f.first[box]; i < f.first[box + 1]; i++)
			shan_around(f, box, i, eps2);
}

static __global__ void __launch_bounds__(SHAN_PPT_THREADS) shan_ppt_kernel(struct shan_field f)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < f.n)
		shan_around(f, f.box_of[i], i, paper_eps2<float>(f.units));
}

/* ---- bpb, bpb-n3 ------------------------------------------------------------------------------------------ */

/* Accesses and interactions of a thread, in a counting build. */
template <bool COUNT> struct shan_tally {
	unsigned long long did[COUNT ? NB_SHAN_PROCEDURES * SHAN_OPERATIONS : 1];

	__device__ __forceinline__ void clear()
	{
		if constexpr (COUNT)
			for (int k = 0; k < NB_SHAN_PROCEDURES * SHAN_OPERATIONS; k++)
				did[k] = 0;
	}

	__device__ __forceinline__ void add(int procedure, int operation, unsigned numbers)
	{
		if constexpr (COUNT)
			did[procedure * SHAN_OPERATIONS + operation] += numbers;
	}

	__device__ __forceinline__ void give(unsigned long long *operations) const
	{
		if constexpr (COUNT)
			for (int k = 0; k < NB_SHAN_PROCEDURES * SHAN_OPERATIONS; k++)
				atomicAdd(operations + k, did[k]);
	}
};

/* A thread of a block that does a box, and its target of this round.  Every access that table I counts is a function
 * here. */
template <bool COUNT> struct shan_thread {
	const struct shan_field &f;
	struct shan_body *const a; /* array A: blockDim.x bodies in shared memory */
	struct shan_vec *const b;  /* array B: as many counter-forces; bpb has none */
	const float eps2;
	shan_body me;
	shan_vec d_acc; /* in registers */
	shan_tally<COUNT> tally;

	/* `count` bodies into array A, and B to zero; this thread's body. */
	template <int PROCEDURE> __device__ __forceinline__ shan_body load(uint64_t first, unsigned count)
	{
		shan_body mine = {0, 0, 0};
		if (threadIdx.x < count) {
			mine = f.body[first + threadIdx.x];
			tally.add(PROCEDURE, GR, SHAN_BODY);
			a[threadIdx.x] = mine;
			tally.add(PROCEDURE, SW, SHAN_BODY);
			if (b) {
				b[threadIdx.x] = {0, 0};
				tally.add(PROCEDURE, SW, SHAN_ACC);
			}
		}
		return mine;
	}

	/* What body j of array A does to mine; and, both ways, what mine does to it. */
	template <int PROCEDURE, bool BOTH_WAYS> __device__ __forceinline__ void interact(unsigned j)
	{
		const shan_body other = a[j];
		tally.add(PROCEDURE, SR, SHAN_BODY);
		const shan_pair p = shan_pair_of(me, other, eps2);
		tally.add(PROCEDURE, CP, 1);
		const float s = other.m * p.w;
		d_acc.x += s * p.dx;
		d_acc.y += s * p.dy;
		tally.add(PROCEDURE, RW, SHAN_ACC);
		if constexpr (BOTH_WAYS) {
			const float back = -me.m * p.w;
			atomicAdd(&b[j].x, back * p.dx);
			atomicAdd(&b[j].y, back * p.dy);
			tally.add(PROCEDURE, SW, SHAN_ACC);
		}
	}

	/* Array B to the accelerations of the `count` bodies it belongs to. */
	template <int PROCEDURE> __device__ __forceinline__ void add_counter_forces(uint64_t first, unsigned count)
	{
		if (threadIdx.x >= count)
			return;
		const shan_vec mine = b[threadIdx.x];
		tally.add(PROCEDURE, SR, SHAN_ACC);
		atomicAdd(&f.acc[first + threadIdx.x].x, mine.x);
		atomicAdd(&f.acc[first + threadIdx.x].y, mine.y);
		tally.add(PROCEDURE, GW, SHAN_ACC);
	}

	__device__ __forceinline__ void count_return()
	{
		tally.add(NB_SHAN_RETURN, RR, SHAN_ACC);
		tally.add(NB_SHAN_RETURN, GW, SHAN_ACC);
	}
};

/* Block: a box.  Shared memory: array A. */
template <bool COUNT> static __global__ void __launch_bounds__(SHAN_MOST, 1) shan_bpb_kernel(struct shan_field f)
{
	extern __shared__ __align__(16) unsigned char shared[];
	const unsigned threads = blockDim.x, thread = threadIdx.x;
	const size_t box = blockIdx.x;
	const uint64_t begin = f.first[box], end = f.first[box + 1];
	shan_thread<COUNT> t = {f, (struct shan_body *)shared, nullptr, paper_eps2<float>(f.units), {}, {}, {}};
	t.tally.clear();
	for (uint64_t round = begin; round < end; round += threads) {
		const unsigned n = (unsigned)min(end - round, (uint64_t)threads);
		t.d_acc = {0, 0};
		t.me = t.template load<NB_SHAN_FATHER>(round, n);
		__syncthreads();
		if (thread < n) {
#pragma unroll 8
			for (unsigned j = 0; j < n; j++)
				if (j != thread)
					t.template interact<NB_SHAN_FATHER, false>(j);
		}
		__syncthreads();
		/* k = -1: what else a box of more bodies than threads has */
		for (int k = -1; k < f.width; k++) {
			const int64_t other = k < 0 ? (int64_t)box : f.neighbour[box * f.width + k];
			if (other < 0)
				continue;
			const uint64_t stop = f.first[other + 1];
			for (uint64_t chunk = f.first[other]; chunk < stop; chunk += threads) {
				if (k < 0 && chunk == round)
					continue;
				const unsigned m = (unsigned)min(stop - chunk, (uint64_t)threads);
				t.template load<NB_SHAN_NEIGHBOUR>(chunk, m);
				__syncthreads();
				if (thread < n) {
#pragma unroll 8
					for (unsigned j = 0; j < m; j++)
						t.template interact<NB_SHAN_NEIGHBOUR, false>(j);
				}
				__syncthreads();
			}
		}
		if (thread < n) {
			f.acc[round + thread] = t.d_acc;
			t.count_return();
		}
	}
	t.tally.give(f.operations);
}

/* Block: a box.  f.acc is zero at the start. */
template <bool COUNT, bool STAGGERED>
static __global__ void __launch_bounds__(SHAN_MOST, 1) shan_bpb_n3_kernel(struct shan_field f)
{
	extern __shared__ __align__(16) unsigned char shared[];
	const unsigned threads = blockDim.x, thread = threadIdx.x;
	const size_t box = blockIdx.x;
	const uint64_t begin = f.first[box], end = f.first[box + 1];
	/* step 1: arrays A and B in shared memory */
	struct shan_body *const a = (struct shan_body *)shared;
	shan_thread<COUNT> t = {f, a, (struct shan_vec *)(a + threads), paper_eps2<float>(f.units), {}, {}, {}};
	t.tally.clear();
	for (uint64_t round = begin; round < end; round += threads) {
		const unsigned n = (unsigned)min(end - round, (uint64_t)threads);
		/* step 2: the bodies of the box to A */
		t.me = t.template load<NB_SHAN_FATHER>(round, n);
		__syncthreads();
		/* step 3: each thread with the n - threadIdx.x - 1 bodies behind its own; B to acc */
		t.d_acc = {0, 0};
		for (unsigned j = thread + 1; j < n; j++)
			t.template interact<NB_SHAN_FATHER, true>(j);
		__syncthreads();
		t.template add_counter_forces<NB_SHAN_FATHER>(round, n);
		__syncthreads();
		/* step 6: box after box of the list; k = -1: what follows in a box of more bodies than threads */
		for (int k = -1; k < f.width; k++) {
			const int64_t other = k < 0 ? (int64_t)box : f.neighbour[box * f.width + k];
			if (other < 0)
				break;
			const uint64_t stop = f.first[other + 1];
			for (uint64_t chunk = k < 0 ? round + threads : f.first[other]; chunk < stop;
				chunk += threads) {
				const unsigned m = (unsigned)min(stop - chunk, (uint64_t)threads);
				/* step 4: the neighbour's bodies to A, B to zero */
				t.template load<NB_SHAN_NEIGHBOUR>(chunk, m);
				__syncthreads();
				/* step 5: each thread with all of them, in sequence; B to acc */
				if (thread < n) {
					const unsigned start = STAGGERED ? thread % m : 0;
					for (unsigned k = 0; k < m; k++) {
						const unsigned j = start + k;
						t.template interact<NB_SHAN_NEIGHBOUR, true>(j < m ? j : j - m);
					}
				}
				__syncthreads();
				t.template add_counter_forces<NB_SHAN_NEIGHBOUR>(chunk, m);
				__syncthreads();
			}
		}
		/* step 7: d_acc to acc */
		if (thread < n) {
			atomicAdd(&f.acc[round + thread].x, t.d_acc.x);
			atomicAdd(&f.acc[round + thread].y, t.d_acc.y);
			t.count_return();
		}
	}
	t.tally.give(f.operations);
}

/* ---- host --------------------------------------------------------------------------------------------------- */

enum shan_strategy { SHAN_BPT, SHAN_PPT, SHAN_BPB, SHAN_BPB_N3, SHAN_STAGGERED };

struct shan_call {
	struct paper_call units;
	nb_cuda_buffer<struct shan_body> body;
	nb_cuda_buffer<struct shan_vec> acc;
	nb_cuda_buffer<uint32_t> box_of;
	nb_cuda_buffer<int32_t> larger;
	nb_cuda_buffer<struct shan_survey> d_survey;
	struct shan_survey survey;
	struct shan_field f = {};

	/* Bodies, lists and the largest box; waits for them. */
	NB_MUST_CHECK int prepare(const struct nb_gravity *g, const struct nb_boxes *boxes, enum shan_strategy strategy)
	{
		if (boxes->nbox == 0 || boxes->nneighbour < 0)
			return NB_EINVAL;
		if (boxes->nbox > INT32_MAX)
			return NB_ELIMIT;
		const size_t lists = boxes->nbox * (size_t)boxes->nneighbour;
		NB_TRY(body.alloc(g->n));
		NB_TRY(acc.alloc(g->n));
		NB_TRY(box_of.alloc(strategy == SHAN_PPT ? g->n : 0));
		NB_TRY(larger.alloc(strategy >= SHAN_BPB_N3 ? lists : 0));
		NB_TRY(d_survey.alloc(1));
		f.n = g->n;
		f.nbox = boxes->nbox;
		f.body = body.ptr;
		f.first = boxes->box_first;
		f.neighbour = boxes->neighbour;
		f.acc = acc.ptr;
		f.width = boxes->nneighbour;
		f.box_of = box_of.ptr;
		f.units = units.units.ptr;
		shan_pack_kernel<<<nb_cuda_blocks(g->n, SHAN_SETUP_THREADS), SHAN_SETUP_THREADS>>>(
			f, g->pos, g->mass, body.ptr, box_of.ptr);
		NB_CUDA_LAUNCHED();
		NB_CUDA_TRY(cudaMemsetAsync(d_survey.ptr, 0, sizeof survey, 0));
		shan_boxes_kernel<<<nb_cuda_blocks(f.nbox, SHAN_SETUP_THREADS), SHAN_SETUP_THREADS>>>(
			f, larger.ptr, d_survey.ptr);
		NB_CUDA_LAUNCHED();
		if (strategy >= SHAN_BPB_N3) {
			NB_CUDA_TRY(cudaMemsetAsync(acc.ptr, 0, g->n * sizeof(struct shan_vec), 0));
			f.neighbour = larger.ptr;
		}
		NB_CUDA_TRY(cudaMemcpy(&survey, d_survey.ptr, sizeof survey, cudaMemcpyDeviceToHost));
		return survey.status;
	}

	/* Threads of a block: one for each body of the largest box. */
	unsigned threads() const
	{
		const unsigned long long whole = (survey.largest + SHAN_WARP - 1) / SHAN_WARP * SHAN_WARP;
		return (unsigned)std::min<unsigned long long>(
			std::max<unsigned long long>(whole, SHAN_WARP), SHAN_MOST);
	}

	template <bool COUNT> NB_MUST_CHECK int launch(enum shan_strategy strategy) const
	{
		constexpr size_t PER_THREAD = sizeof(struct shan_body) + sizeof(struct shan_vec);
		const unsigned block = threads(), boxes = (unsigned)f.nbox;
		switch (strategy) {
		case SHAN_BPT:
			shan_bpt_kernel<<<nb_cuda_blocks(f.nbox, SHAN_BPT_THREADS), SHAN_BPT_THREADS>>>(f);
			break;
		case SHAN_PPT: shan_ppt_kernel<<<nb_cuda_blocks(f.n, SHAN_PPT_THREADS), SHAN_PPT_THREADS>>>(f); break;
		case SHAN_BPB: shan_bpb_kernel<COUNT><<<boxes, block, block * sizeof(struct shan_body)>>>(f); break;
		case SHAN_BPB_N3: shan_bpb_n3_kernel<COUNT, false><<<boxes, block, block * PER_THREAD>>>(f); break;
		case SHAN_STAGGERED: shan_bpb_n3_kernel<COUNT, true><<<boxes, block, block * PER_THREAD>>>(f); break;
		}
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}

	NB_MUST_CHECK int store(double *out) const
	{
		shan_store_kernel<<<nb_cuda_blocks(f.n, SHAN_SETUP_THREADS), SHAN_SETUP_THREADS>>>(f, out);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
};

static int shan(const struct nb_paper_job *job, struct nb_gravity_count *count, enum shan_strategy strategy)
{
	const struct nb_gravity *g = job->gravity;
	struct shan_call call;
	NB_TRY(call.units.begin(g));
	if (g->n == 0)
		return NB_OK;
	NB_TRY(call.prepare(g, job->boxes, strategy));
	if (count)
		count->p2p += call.survey.interactions;
	NB_TRY(call.launch<false>(strategy));
	return call.store(g->acc);
}

extern "C" int nb_paper_shan_bpt(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return shan(job, count, SHAN_BPT);
}

extern "C" int nb_paper_shan_ppt(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return shan(job, count, SHAN_PPT);
}

extern "C" int nb_paper_shan_bpb(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return shan(job, count, SHAN_BPB);
}

extern "C" int nb_paper_shan_bpb_n3(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return shan(job, count, SHAN_BPB_N3);
}

extern "C" int nb_paper_shan_staggered(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return shan(job, count, SHAN_STAGGERED);
}

extern "C" int nb_shan_count_cuda(const struct nb_gravity *g, const struct nb_boxes *boxes, int improved,
	struct nb_shan_operations out[NB_SHAN_PROCEDURES])
{
	static_assert(sizeof *out == SHAN_OPERATIONS * sizeof(unsigned long long), "the counters in their order");
	const enum shan_strategy strategy = improved ? SHAN_BPB_N3 : SHAN_BPB;
	struct shan_call call;
	nb_cuda_buffer<unsigned long long> operations;
	const size_t bytes = NB_SHAN_PROCEDURES * sizeof *out;
	memset(out, 0, bytes);
	NB_TRY(call.units.begin(g));
	if (g->n == 0)
		return NB_OK;
	NB_TRY(operations.alloc(NB_SHAN_PROCEDURES * SHAN_OPERATIONS));
	NB_CUDA_TRY(cudaMemsetAsync(operations.ptr, 0, bytes, 0));
	call.f.operations = operations.ptr;
	NB_TRY(call.prepare(g, boxes, strategy));
	NB_TRY(call.launch<true>(strategy));
	NB_TRY(call.store(g->acc));
	NB_CUDA_TRY(cudaMemcpy(out, operations.ptr, bytes, cudaMemcpyDeviceToHost));
	return NB_OK;
}
