/* The list of kernels on the device. */
#include "kernels/gravity/gravity.h"
#include "kernels/papers/cuda_internal.h"

template <enum nb_direct_kernel KERNEL>
static int direct(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_direct_cuda_with(job->gravity, KERNEL, count);
}

template <enum nb_near_kernel KERNEL> static int near(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_near_cuda_with(job->gravity, job->boxes, KERNEL, count);
}

enum {
	F32 = NB_PAPER_F32,
	F64 = NB_PAPER_F64,
	EVERYTHING = NB_PAPER_F32 | NB_PAPER_MIXED | NB_PAPER_F64 | NB_PAPER_POT | NB_PAPER_JERK
};

/* parameters, and the largest block of threads that the first two may make */
#define UNROLL(...) {{"unroll", 1, {__VA_ARGS__}}, {nullptr, 0, {0}}, {nullptr, 0, {0}}}, 0
#define THREADS(fallback) \
	{{"threads", fallback, {32, 64, 128, 256, 512, 1024}}, {nullptr, 0, {0}}, {nullptr, 0, {0}}}, 0
#define NONE {{nullptr, 0, {0}}, {nullptr, 0, {0}}, {nullptr, 0, {0}}}, 0

const struct nb_paper_kernel nb_paper_cuda[] = {
	{"gems3", "cuda", "Nyland, Harris & Prins 2007, 31.3 and 31.4.1",
		"all pairs in tiles of p bodies, q threads per body", F32 | F64,
		{{"p", 256, {16, 32, 64, 128, 256, 512}}, {"q", 1, {1, 2, 4, 8, 16, 32}},
			{"unroll", 4, {1, 2, 4, 8, 16, 32}}},
		1024, nb_paper_gems3},
	{"lecture8-aos", "cuda", "lecture 8, arrays of structures",
		"all pairs from global memory, structures of 7 floats", F32, UNROLL(1, 2, 16), nb_paper_lecture_aos},
	{"lecture8-soa", "cuda", "lecture 8, structure of arrays",
		"all pairs from global memory, one array per quantity", F32, UNROLL(1, 2, 16), nb_paper_lecture_soa},
	{"lecture8-packed", "cuda", "lecture 8, naive GPU implementation",
		"all pairs from global memory, packed float4", F32, UNROLL(1, 2, 16), nb_paper_lecture_packed},
	{"lecture8-shared", "cuda", "lecture 8, optimized GPU implementation", "all pairs through shared memory", F32,
		UNROLL(1, 2, 3, 4), nb_paper_lecture_shared},
	{"lecture8-shuffle", "cuda", "lecture 8, summary", "all pairs, sources passed within a warp by shuffles", F32,
		NONE, nb_paper_lecture_shuffle},
	{"lecture8-constant", "cuda", "lecture 8, summary", "all pairs, sources in constant memory", F32, NONE,
		nb_paper_lecture_constant},
	{"gangavarapu-pairs", "cuda", "Gangavarapu et al., algorithm 4", "all pairs in 2-D, one launch per body",
		F64 | NB_PAPER_PLANE, THREADS(256), nb_paper_gangavarapu_pairs_cuda},
	{"gangavarapu-tree", "cuda", "Gangavarapu et al., key contributions",
		"Barnes-Hut in 2-D, tree built on the host, masses and forces on the device",
		F64 | NB_PAPER_PLANE | NB_PAPER_THETA, NONE, nb_paper_gangavarapu_tree_cuda},
	{"xu-pairs", "cuda", "Xu, Xu & Chen, technique 4", "all pairs with jerk, one launch per body",
		F64 | NB_PAPER_JERK, THREADS(1024), nb_paper_xu_pairs_cuda},
	{"shan-bpt", "cuda", "Shan & Lei 2012, I (their earlier work)", "near field, one box per thread",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_BPT>},
	{"shan-ppt", "cuda", "Shan & Lei 2012, I (their earlier work)", "near field, one particle per thread",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_PPT>},
	{"shan-bpb", "cuda", "Shan & Lei 2012, III B", "near field, one box per block, sources in shared memory",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_BPB>},
	{"shan-bpb-n3", "cuda", "Shan & Lei 2012, III C",
		"near field, one box per block, each pair of boxes once, with the reaction forces",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_BPB_N3>},
	{"direct", "cuda", "nb, kernels/gravity/direct_cuda.cu", "our direct sum, the fastest variant", EVERYTHING,
		NONE, direct<NB_DIRECT_AUTO>},
	{"direct-tiled", "cuda", "nb, kernels/gravity/direct_cuda.cu", "our direct sum, one target per thread",
		EVERYTHING, NONE, direct<NB_DIRECT_TILED>},
	{"direct-blocked", "cuda", "nb, kernels/gravity/direct_cuda.cu", "our direct sum, several targets per thread",
		EVERYTHING, NONE, direct<NB_DIRECT_BLOCKED>},
	{"direct-symmetric", "cuda", "nb, kernels/gravity/direct_cuda.cu", "our direct sum, each pair once", EVERYTHING,
		NONE, direct<NB_DIRECT_SYMMETRIC>},
	{"near", "cuda", "nb, kernels/gravity/near_cuda.cu", "our near field, the fastest variant",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_AUTO>},
	{"near-warp", "cuda", "nb, kernels/gravity/near_cuda.cu", "our near field, one warp per slice of a box",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_WARP>},
	{nullptr, nullptr, nullptr, nullptr, 0, NONE, nullptr},
};
