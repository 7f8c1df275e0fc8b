/* cuda_internal.h - the CUDA kernels of the papers by function; not for callers of papers.h. */
#ifndef NB_PAPERS_CUDA_INTERNAL_H
#define NB_PAPERS_CUDA_INTERNAL_H

#include "kernels/papers/papers.h"

NB_C_BEGIN

/* p, q, unroll */
NB_MUST_CHECK int nb_paper_gems3(const struct nb_paper_job *job, struct nb_gravity_count *count);
/* p, unroll */
NB_MUST_CHECK int nb_paper_gems3_leaves(const struct nb_paper_job *job, struct nb_gravity_count *count);

NB_MUST_CHECK int nb_paper_shan_bpt(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_shan_ppt(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_shan_bpb(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_shan_bpb_n3(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_shan_staggered(const struct nb_paper_job *job, struct nb_gravity_count *count);

/* unroll */
NB_MUST_CHECK int nb_paper_lecture_aos(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_lecture_soa(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_lecture_packed(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_lecture_shared_inner(const struct nb_paper_job *job, struct nb_gravity_count *count);
/* unroll, threads, blocks */
NB_MUST_CHECK int nb_paper_lecture_shared(const struct nb_paper_job *job, struct nb_gravity_count *count);
/* none */
NB_MUST_CHECK int nb_paper_lecture_forces(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_lecture_shuffle(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_direct_constant(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_lecture_constant(const struct nb_paper_job *job, struct nb_gravity_count *count);

/* threads */
NB_MUST_CHECK int nb_paper_gangavarapu_pairs_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_gangavarapu_tree_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_xu_pairs_global_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count);
NB_MUST_CHECK int nb_paper_xu_pairs_cuda(const struct nb_paper_job *job, struct nb_gravity_count *count);

NB_C_END
#endif
