/* The list of kernels on the device. */
#include "kernels/gravity_cuda.h"
#include "kernels/paper_device.h"

template <enum nb_direct_kernel KERNEL>
static int direct(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_direct_cuda_with(job->gravity, KERNEL, count);
}

template <enum nb_near_kernel KERNEL>
static int near(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_near_cuda_with(job->gravity, job->boxes, KERNEL, count);
}

enum {
	F32 = NB_PAPER_F32,
	F64 = NB_PAPER_F64,
	EVERYTHING = NB_PAPER_F32 | NB_PAPER_MIXED | NB_PAPER_F64 | NB_PAPER_POT | NB_PAPER_JERK
};

#define NONE {{nullptr, 0, {0}}, {nullptr, 0, {0}}, {nullptr, 0, {0}}}, 0

const struct nb_paper_kernel nb_paper_cuda[] = {
	{"shan-bpt", "cuda", "Shan & Lei 2012, I (their earlier work)", "near field, a box per thread",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_BPT>},
	{"shan-ppt", "cuda", "Shan & Lei 2012, I (their earlier work)", "near field, a particle per thread",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_PPT>},
	{"shan-bpb", "cuda", "Shan & Lei 2012, III B", "near field, a box per block, sources in shared memory",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_BPB>},
	{"shan-bpb-n3", "cuda", "Shan & Lei 2012, III C", "near field, a box per block, half the neighbours, counter-forces",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_BPB_N3>},
	{"direct", "cuda", "nb, kernels/gravity_direct_cuda.cu", "our direct sum, the fastest variant", EVERYTHING, NONE,
		direct<NB_DIRECT_AUTO>},
	{"direct-tiled", "cuda", "nb, kernels/gravity_direct_cuda.cu", "our direct sum, a target per thread", EVERYTHING,
		NONE, direct<NB_DIRECT_TILED>},
	{"direct-blocked", "cuda", "nb, kernels/gravity_direct_cuda.cu", "our direct sum, several targets per thread",
		EVERYTHING, NONE, direct<NB_DIRECT_BLOCKED>},
	{"direct-symmetric", "cuda", "nb, kernels/gravity_direct_cuda.cu", "our direct sum, each pair once", EVERYTHING,
		NONE, direct<NB_DIRECT_SYMMETRIC>},
	{"near", "cuda", "nb, kernels/gravity_near_cuda.cu", "our near field, the fastest variant",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_AUTO>},
	{"near-warp", "cuda", "nb, kernels/gravity_near_cuda.cu", "our near field, a warp per slice of a box",
		NB_PAPER_BOXES | EVERYTHING, NONE, near<NB_NEAR_WARP>},
	{nullptr, nullptr, nullptr, nullptr, 0, NONE, nullptr},
};
