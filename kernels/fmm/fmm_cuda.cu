/* fmm_cuda.cu - the fast multipole method over uniform boxes on the device.
 *
 * Boxes of all levels from 1 on are counted through ("flat" numbers, level after level, each in Z-order); those with
 * bodies have a row of coefficients, found by a scan.  Kernels (far_internal.cuh), in this order:
 *
 *   tensor   T of each pair of relative places and each level (of one level where eps is 0), in f64
 *   p2m      a block for each box of the finest level, a thread for each coefficient
 *   m2m      the same for each coarser level, from the finest to level 2
 *   m2l      all levels at once, see below: nearly all of the time
 *   l2l      a block for each box, from level 3 to the finest
 *   l2p      a thread for each body
 *
 * m2l: a block for a group of parents, 8 in 3-D and 16 in 2-D, whose 64 children are the targets.  A thread has one
 * coefficient of them all, 64 sums in registers.  For each child of each neighbour, T towards the 8 (4) children of a
 * parent and the multipoles of the 8 (16) sources are brought to shared memory.  A term of the sum then reads 8 + 8
 * (4 + 16) numbers for 64 multiply-adds: T of 16 bytes at a time in planes, so that threads next to each other read
 * next to each other; the multipoles are the same for all threads.  Nothing depends on the order at compile time.
 *
 * No sum is shared between threads: the same bytes on every run.  Expansions are in f32 or in f64 (real). */
#include <algorithm>

#include "kernels/fmm/far_internal.cuh"

/* Rows of the boxes with bodies, and where levels begin. */
struct rows {
	nb_cuda_buffer<uint32_t> before, box;

	int find(pyramid *p, int dim, const struct nb_boxes *boxes, struct outcome *d_outcome)
	{
		uint32_t count = 0;
		for (int l = 1; l <= p->level; l++) {
			p->flat[l] = count;
			count += (uint32_t)1 << dim * l;
		}
		p->flat[p->level + 1] = count;
		NB_TRY(before.alloc((size_t)count + 1));
		occupied_kernel<<<nb_cuda_blocks((size_t)count + 1, THREADS), THREADS>>>(
			*p, dim, boxes->box_first, before.ptr);
		NB_CUDA_LAUNCHED();
		NB_TRY(nb_scan_cuda((size_t)count + 1, before.ptr, before.ptr));
		NB_TRY(box.alloc(count));
		p->rows_before = before.ptr;
		p->box = box.ptr;
		list_kernel<<<nb_cuda_blocks(count, THREADS), THREADS>>>(*p, box.ptr, d_outcome);
		NB_CUDA_LAUNCHED();
		struct outcome outcome;
		NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome, sizeof outcome, cudaMemcpyDeviceToHost));
		for (int l = 1; l <= p->level + 1; l++)
			p->row[l] = outcome.row[l];
		return outcome.bad ? NB_EINVAL : NB_OK;
	}
};

template <int DIM, class real> struct far_field {
	typedef shape<DIM, real> S;
	nb_cuda_buffer<real> m, l, tables;
	nb_cuda_buffer<uint32_t> row_of_body;

	int tensors(const pyramid &p, double eps, size_t *stride)
	{
		const size_t size = tensor_size<DIM>(p);
		const unsigned levels = eps > 0 ? (unsigned)(p.level - NB_FMM_TOP + 1) : 1;
		*stride = eps > 0 ? size : 0;
		NB_TRY(tables.alloc(levels * size));
		const dim3 blocks(nb_cuda_blocks(S::NEIGHBOURS * S::CHILDREN * S::CHILDREN, THREADS), levels);
		tensor_kernel<DIM, real><<<blocks, THREADS>>>(p, eps, tables.ptr, *stride);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}

	int run(pyramid p, const struct nb_gravity *g, const struct nb_boxes *boxes, struct outcome *d_outcome)
	{
		const size_t size = (size_t)p.row[p.level + 1] * p.n;
		const unsigned threads = (unsigned)(p.n + 31) / 32 * 32;
		size_t stride;
		NB_TRY(m.alloc(size));
		NB_TRY(l.alloc(size));
		NB_TRY(row_of_body.alloc(g->n));
		NB_TRY(tensors(p, g->eps, &stride));
		p2m_kernel<DIM, real><<<p.row[p.level + 1] - p.row[p.level], threads>>>(
			p, boxes->box_first, g->pos, g->mass, row_of_body.ptr, m.ptr, d_outcome);
		NB_CUDA_LAUNCHED();
		for (int level = p.level - 1; level >= NB_FMM_TOP; level--) {
			m2m_kernel<DIM, real><<<p.row[level + 1] - p.row[level], threads>>>(p, level, m.ptr);
			NB_CUDA_LAUNCHED();
		}
		for (int level = 1; level <= p.level; level++) /* of parents; at p.level: the number of all */
			p.group[level] = level == 1 ? 0
						    : p.group[level - 1] +
							      nb_cuda_blocks(p.row[level] - p.row[level - 1], S::GROUP);
		const size_t shared = (size_t)(S::PLANES * p.ntensor * 16 + p.n * S::GROUP * (int)sizeof(real));
		m2l_kernel<DIM, real>
			<<<p.group[p.level], threads, shared>>>(p, tables.ptr, stride, m.ptr, l.ptr, d_outcome);
		NB_CUDA_LAUNCHED();
		for (int level = NB_FMM_TOP + 1; level <= p.level; level++) {
			l2l_kernel<DIM, real><<<p.row[level + 1] - p.row[level], threads>>>(p, level, l.ptr);
			NB_CUDA_LAUNCHED();
		}
		const unsigned blocks = nb_cuda_blocks(g->n, THREADS);
		if (g->pot)
			l2p_kernel<DIM, real, true><<<blocks, THREADS>>>(
				p, g->n, g->pos, row_of_body.ptr, l.ptr, g->G, d_outcome, g->acc, g->pot);
		else
			l2p_kernel<DIM, real, false><<<blocks, THREADS>>>(
				p, g->n, g->pos, row_of_body.ptr, l.ptr, g->G, d_outcome, g->acc, nullptr);
		NB_CUDA_LAUNCHED();
		return NB_OK;
	}
};

static int far(
	const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm, struct outcome *d_outcome)
{
	const int dim = fmm->dim;
	pyramid p = {};
	struct rows rows;
	p.level = fmm->level;
	p.order = fmm->order;
	p.n = nb_fmm_below(dim, p.order + 1);
	p.ntensor = nb_fmm_below(dim, p.order + 3);
	for (int d = 0; d < 3; d++)
		p.lo[d] = fmm->cube.lo[d];
	p.size = fmm->cube.size;
	NB_TRY(rows.find(&p, dim, boxes, d_outcome));
	const unsigned blocks = nb_cuda_blocks(g->n, THREADS), most = 1024;
	mass_kernel<<<std::min(blocks, most), THREADS>>>(g->n, g->mass, d_outcome);
	NB_CUDA_LAUNCHED();
	/* T_n of a large softening is beyond the range of f32 */
	const bool wide = g->precision == NB_F64 || g->eps > 0x1p20 * ldexp(p.size, -p.level);
	if (dim == 3)
		return wide ? far_field<3, double>().run(p, g, boxes, d_outcome)
			    : far_field<3, float>().run(p, g, boxes, d_outcome);
	return wide ? far_field<2, double>().run(p, g, boxes, d_outcome)
		    : far_field<2, float>().run(p, g, boxes, d_outcome);
}

int nb_gravity_fmm_cuda(const struct nb_gravity *g, const struct nb_boxes *boxes, const struct nb_fmm *fmm,
	struct nb_gravity_count *count)
{
	if (g->jerk || g->body_eps || g->softening != NB_PLUMMER)
		return NB_EUNSUPPORTED;
	if (!nb_fmm_sound(boxes, fmm))
		return NB_EINVAL;
	nb_cuda_buffer<struct outcome> d_outcome;
	struct outcome outcome;
	NB_TRY(d_outcome.alloc(1));
	NB_CUDA_TRY(cudaMemsetAsync(d_outcome.ptr, 0, sizeof outcome, 0));
	sound_kernel<<<nb_cuda_blocks(boxes->nbox, THREADS), THREADS>>>(
		*boxes, g->n, fmm->dim, fmm->level, d_outcome.ptr);
	NB_CUDA_LAUNCHED();
	NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome.ptr, sizeof outcome, cudaMemcpyDeviceToHost));
	if (outcome.bad) /* before anything follows the lists */
		return NB_EINVAL;
	NB_TRY(nb_gravity_near_cuda(g, boxes, count));
	if (g->n > 0 && fmm->level >= NB_FMM_TOP)
		NB_TRY(far(g, boxes, fmm, d_outcome.ptr));
	NB_CUDA_TRY(cudaMemcpy(&outcome, d_outcome.ptr, sizeof outcome, cudaMemcpyDeviceToHost));
	if (outcome.bad)
		return NB_EINVAL;
	if (count)
		count->m2l += outcome.m2l;
	return NB_OK;
}
