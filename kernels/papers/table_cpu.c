/* The list of kernels on the CPU. */
#include "kernels/papers/cpu_internal.h"

int nb_paper_direct(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_direct_cpu(job->gravity, count);
}

int nb_paper_near(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_near_cpu(job->gravity, job->boxes, count);
}

int nb_paper_shan_serial(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_near_serial(job->gravity, job->boxes, count);
}

enum {
	EVERY_PRECISION = NB_PAPER_F32 | NB_PAPER_MIXED | NB_PAPER_F64,
	EVERYTHING = EVERY_PRECISION | NB_PAPER_POT | NB_PAPER_JERK
};

const struct nb_paper_kernel nb_paper_cpu[] = {
	{.name = "shan-serial",
		.backend = "cpu",
		.source = "Shan & Lei 2012, II B",
		.about = "near field box by box, one thread, no SIMD",
		.traits = NB_PAPER_BOXES | EVERYTHING,
		.run = nb_paper_shan_serial},
	{.name = "lecture8-naive",
		.backend = "cpu",
		.source = "lecture 8, optimized CPU implementation",
		.about = "all pairs, one thread, no SIMD",
		.traits = NB_PAPER_F32,
		.run = nb_paper_lecture_naive},
	{.name = "lecture8-simd",
		.backend = "cpu",
		.source = "lecture 8, optimized CPU implementation",
		.about = "all pairs, one thread, SIMD over the sources",
		.traits = NB_PAPER_F32,
		.run = nb_paper_lecture_simd},
	{.name = "lecture8-threads",
		.backend = "cpu",
		.source = "lecture 8, optimized CPU implementation",
		.about = "all pairs, all threads, SIMD over the sources",
		.traits = NB_PAPER_F32,
		.run = nb_paper_lecture_threads},
	{.name = "gangavarapu-pairs",
		.backend = "cpu",
		.source = "Gangavarapu et al., algorithm 1",
		.about = "all pairs in 2-D, sequential",
		.traits = NB_PAPER_F64 | NB_PAPER_PLANE,
		.run = nb_paper_gangavarapu_pairs},
	{.name = "gangavarapu-pairs-omp",
		.backend = "cpu",
		.source = "Gangavarapu et al., algorithm 3",
		.about = "all pairs in 2-D, OpenMP over the bodies",
		.traits = NB_PAPER_F64 | NB_PAPER_PLANE,
		.run = nb_paper_gangavarapu_pairs_omp},
	{.name = "gangavarapu-tree",
		.backend = "cpu",
		.source = "Gangavarapu et al., insertion and recursive calculations",
		.about = "Barnes-Hut in 2-D, sequential",
		.traits = NB_PAPER_F64 | NB_PAPER_PLANE | NB_PAPER_THETA,
		.run = nb_paper_gangavarapu_tree},
	{.name = "gangavarapu-tree-omp",
		.backend = "cpu",
		.source = "Gangavarapu et al., algorithms 5 and 6",
		.about = "Barnes-Hut in 2-D, OpenMP in force and mass distribution",
		.traits = NB_PAPER_F64 | NB_PAPER_PLANE | NB_PAPER_THETA,
		.run = nb_paper_gangavarapu_tree_omp},
	{.name = "xu-pairs",
		.backend = "cpu",
		.source = "Xu, Xu & Chen, technique 1",
		.about = "all pairs with jerk, sequential",
		.traits = NB_PAPER_F64 | NB_PAPER_JERK,
		.run = nb_paper_xu_pairs},
	{.name = "xu-outer",
		.backend = "cpu",
		.source = "Xu, Xu & Chen, technique 3.1",
		.about = "all pairs with jerk, OpenMP over the outer loop in batches",
		.traits = NB_PAPER_F64 | NB_PAPER_JERK,
		.run = nb_paper_xu_outer},
	{.name = "xu-inner",
		.backend = "cpu",
		.source = "Xu, Xu & Chen, technique 3.2",
		.about = "all pairs with jerk, OpenMP over the inner loop",
		.traits = NB_PAPER_F64 | NB_PAPER_JERK,
		.run = nb_paper_xu_inner},
	{.name = "xu-tree",
		.backend = "cpu",
		.source = "Xu, Xu & Chen, technique 2",
		.about = "octree with threshold and jerk, sequential",
		.traits = NB_PAPER_F64 | NB_PAPER_JERK | NB_PAPER_THETA,
		.run = nb_paper_xu_tree},
	{.name = "xu-tree-omp",
		.backend = "cpu",
		.source = "Xu, Xu & Chen, technique 2",
		.about = "octree with threshold and jerk, OpenMP over the bodies",
		.traits = NB_PAPER_F64 | NB_PAPER_JERK | NB_PAPER_THETA,
		.run = nb_paper_xu_tree_omp},
	{.name = "direct",
		.backend = "cpu",
		.source = "nb, kernels/gravity/direct_cpu.c",
		.about = "our direct sum: SIMD, threads, each pair once",
		.traits = EVERYTHING,
		.run = nb_paper_direct},
	{.name = "near",
		.backend = "cpu",
		.source = "nb, kernels/gravity/near_cpu.c",
		.about = "our near field: SIMD, threads",
		.traits = NB_PAPER_BOXES | EVERYTHING,
		.run = nb_paper_near},
	{.name = NULL},
};
