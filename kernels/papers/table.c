/* The kernels of kernel.def as a table. */
#include "kernels/papers/cpu_internal.h"
#include "kernels/papers/papers.h"
#ifdef NB_CUDA
#include "kernels/papers/cuda_internal.h"
#endif

static int nb_paper_direct(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_direct_cpu(job->gravity, count);
}

static int nb_paper_near(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_near_cpu(job->gravity, job->boxes, count);
}

#ifdef NB_CUDA
#define DIRECT(name, kernel)                                                            \
	static int name(const struct nb_paper_job *job, struct nb_gravity_count *count) \
	{                                                                               \
		return nb_gravity_direct_cuda_with(job->gravity, kernel, count);        \
	}
#define NEAR(name, kernel)                                                                 \
	static int name(const struct nb_paper_job *job, struct nb_gravity_count *count)    \
	{                                                                                  \
		return nb_gravity_near_cuda_with(job->gravity, job->boxes, kernel, count); \
	}
DIRECT(nb_paper_direct_cuda, NB_DIRECT_AUTO)
DIRECT(nb_paper_direct_tiled_cuda, NB_DIRECT_TILED)
DIRECT(nb_paper_direct_blocked_cuda, NB_DIRECT_BLOCKED)
DIRECT(nb_paper_direct_symmetric_cuda, NB_DIRECT_SYMMETRIC)
NEAR(nb_paper_near_cuda, NB_NEAR_AUTO)
NEAR(nb_paper_near_n3_cuda, NB_NEAR_N3)
NEAR(nb_paper_near_warp_cuda, NB_NEAR_WARP)
#define CUDA_RUN(run) (run)
#else
#define CUDA_RUN(run) NULL

int nb_shan_count_cuda(const struct nb_gravity *g, const struct nb_boxes *boxes, int improved,
	struct nb_shan_operations out[NB_SHAN_PROCEDURES])
{
	(void)g, (void)boxes, (void)improved, (void)out;
	return NB_ENODEV;
}
#endif

enum {
	F32 = NB_PAPER_F32,
	F64 = NB_PAPER_F64,
	EVERYTHING = NB_PAPER_F32 | NB_PAPER_MIXED | NB_PAPER_F64 | NB_PAPER_POT | NB_PAPER_JERK
};

enum {
#define NB_PAPER(key, name, title) key,
#define NB_PAPER_CPU(...)
#define NB_PAPER_CUDA(...)
#include "kernels/papers/kernel.def"
#undef NB_PAPER
#undef NB_PAPER_CPU
#undef NB_PAPER_CUDA
};

static const struct nb_paper paper[] = {
#define NB_PAPER(key, name, title) {name, title},
#define NB_PAPER_CPU(...)
#define NB_PAPER_CUDA(...)
#include "kernels/papers/kernel.def"
#undef NB_PAPER
#undef NB_PAPER_CPU
#undef NB_PAPER_CUDA
};

#define NONE .largest_block = 0
#define UNROLL(...) .parameter = {{"unroll", 1, {__VA_ARGS__}}}
#define THREADS(fallback) .parameter = {{"threads", fallback, {32, 64, 128, 256, 512, 1024}}}
#define TILES                                                                                  \
	.parameter = {{"p", 256, {16, 32, 64, 128, 256, 512}}, {"q", 1, {1, 2, 4, 8, 16, 32}}, \
		{"unroll", 4, {1, 2, 4, 8, 16, 32}}},                                          \
	.largest_block = 1024
#define LEAVES .parameter = {{"p", 256, {16, 32, 64, 128, 256, 512}}, {"unroll", 4, {1, 2, 4, 8, 16, 32}}}
#define SHARED                                                                                 \
	.parameter = {{"unroll", 32, {1, 2, 3, 4, 32}}, {"threads", 256, {64, 128, 256, 512}}, \
		{"blocks", 65535, {2, 300, 65535}}}

static const struct nb_paper_kernel table[] = {
#define NB_PAPER(...)
#define NB_PAPER_CPU(key, called, function, of, source, what, trait) \
	{.name = called,                                             \
		.backend = "cpu",                                    \
		.paper = &paper[key],                                \
		.where = of,                                         \
		.file = source,                                      \
		.about = what,                                       \
		.traits = trait,                                     \
		.run = function},
#define NB_PAPER_CUDA(key, called, function, of, source, what, trait, ...) \
	{.name = called,                                                   \
		.backend = "cuda",                                         \
		.paper = &paper[key],                                      \
		.where = of,                                               \
		.file = source,                                            \
		.about = what,                                             \
		.traits = trait,                                           \
		.run = CUDA_RUN(function),                                 \
		__VA_ARGS__},
#include "kernels/papers/kernel.def"
};

const struct nb_paper_kernel *nb_paper_kernel_at(size_t k)
{
	return k < sizeof table / sizeof *table ? &table[k] : NULL;
}
