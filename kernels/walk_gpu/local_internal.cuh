/* local_internal.cuh - the local expansion of what a warp walks for: M2L, sums over lanes, L2P (walk_internal.cuh). */
#ifndef NB_WALK_GPU_LOCAL_INTERNAL_CUH
#define NB_WALK_GPU_LOCAL_INTERNAL_CUH

#include "kernels/walk_gpu/place_internal.cuh"

/* The local expansion of the group, or of a region. */
template <class K> struct walker_local : walker_place<K> {
	typedef walker_place<K> base;
	typedef typename K::real real;
	typedef typename K::target_type target_type;
	typedef typename K::far_field far_field;
	using base::base;
	using base::w, base::mine, base::lane, base::first, base::region, base::nfar, base::expanded, base::m2l,
		base::local, base::local_rate;

	__device__ __forceinline__ void clear_local()
	{
		if constexpr (K::HIGH) {
#pragma unroll 4
			for (int k = 0; k < far_field::TERMS; k++)
				mine.sums[32 * k + lane] = 0;
		} else {
			local.clear();
		}
		expanded = false;
		nfar = 0;
	}

	/* A row of N numbers; in 16 bytes at once. */
	template <int N> __device__ __forceinline__ void load_row(const void *rows, size_t j, real (&r)[N]) const
	{
		if constexpr (K::P == NB_F64) {
			const double2 *from = (const double2 *)rows + N / 2 * j;
#pragma unroll
			for (int k = 0; k < N / 2; k++) {
				const double2 v = __ldg(from + k);
				r[2 * k] = v.x, r[2 * k + 1] = v.y;
			}
		} else {
			const float4 *from = (const float4 *)rows + N / 4 * j;
#pragma unroll
			for (int k = 0; k < N / 4; k++) {
				const float4 v = __ldg(from + k);
				r[4 * k] = v.x, r[4 * k + 1] = v.y, r[4 * k + 2] = v.z, r[4 * k + 3] = v.w;
			}
		}
	}
	/* Mass of node j; size of a node, whose s is given, in group units. */
	__device__ __forceinline__ real mass_at(size_t j) const
	{
		if constexpr (K::P == NB_F64)
			return w.tree.mass[j] * w.plan->mass;
		else
			return __ldg(&w.moment[2 * j]).x;
	}
	__device__ __forceinline__ real size_of(real s) const
	{
		if constexpr (K::P == NB_F64)
			return s * mine.scale;
		else
			return s * mine.high.w;
	}

	/* The sums of all lanes, and of a harmonic field what follows from them: all terms at the beginning of
	 * sums. */
	__device__ __forceinline__ void join_high()
	{
		constexpr int TURNS = (far_field::TERMS + 31) / 32;
		real sum[TURNS];
		__syncwarp();
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++) {
			const int t = min(32 * turn + (int)lane, far_field::TERMS - 1);
			sum[turn] = 0;
#pragma unroll 8
			for (unsigned k = 0; k < 32; k++)
				sum[turn] += mine.sums[32 * t + (k + lane) % 32];
		}
		__syncwarp();
#pragma unroll
		for (int turn = 0; turn < TURNS; turn++)
			if (32 * turn + (int)lane < far_field::TERMS)
				mine.sums[nb_monomial_kept(32 * turn + (int)lane, K::HARMONIC).place()] = sum[turn];
		__syncwarp();
		for (int k = 2; K::HARMONIC && k <= far_field::L; k++) {
			for (int t = (int)lane; t < far_field::ALL; t += 32)
				if (nb_monomial_of(t).k == k)
					far_field::complete(mine.sums, nb_monomial_of(t));
			__syncwarp();
		}
	}

	__device__ __forceinline__ void take_far_high(unsigned n)
	{
		__syncwarp();
		if (lane < n) {
			const size_t j = __float_as_uint(mine.far_queue[nfar - n + lane].w);
			real d[3], eps2 = mine.eps2;
#pragma unroll
			for (int k = 0; k < 3; k++)
				d[k] = (real)((mine.centre[k] - w.tree.com[3 * j + k]) * mine.scale);
			if constexpr (K::LAW == NB_LAW_PLUMMER) {
				const real eps = (real)mine.high.w *
						 (real)fmaxf(__ldg(&w.soft.terms[j]).y, mine.eps_mean);
				eps2 += eps * eps;
			}
			real r[nb_high_far_row(K::ORDER, K::HARMONIC)];
			load_row(w.high.far_rows, j, r);
			far_field::template add<K::POT>(mass_at(j), r,
				size_of(r[nb_high_far_moments(K::ORDER, K::HARMONIC)]), d,
				inverse_root(squared(d[0], d[1], d[2], eps2)), mine.sums + lane);
		}
		__syncwarp(); /* whoever writes next may write where others have just read */
		nfar -= n;
		expanded = true;
		if constexpr (K::COUNT)
			m2l += n;
	}

	__device__ __forceinline__ void take_far_2(unsigned n)
	{
		if constexpr (K::P != NB_F64) {
			__syncwarp();
			if (lane < n) {
				const float4 at = mine.far_queue[nfar - n + lane];
				const size_t j = __float_as_uint(at.w);
				const float4 m = __ldg(&w.moment[2 * j]), s = __ldg(&w.moment[2 * j + 1]);
				const float unit = mine.high.w, f = unit * unit;
				const float half_moments[6] = {f * m.y, f * m.z, f * m.w, f * s.x, f * s.y, f * s.z};
				const float x = -unit * at.x, y = -unit * at.y, z = -unit * at.z;
				float terms[expansion::TERMS], eps2 = mine.eps2;
				if constexpr (K::LAW == NB_LAW_PLUMMER) {
					const float eps = unit * fmaxf(__ldg(&w.soft.terms[j]).y, mine.eps_mean);
					eps2 += eps * eps;
				}
				local.template add<K::POT>(m.x, half_moments, x, y, z, eps2, terms);
				if constexpr (K::JERK) {
					const float4 a = __ldg(&w.motion[2 * j]), b = __ldg(&w.motion[2 * j + 1]);
					const float v[3] = {
						mine.drift[0] - a.x, mine.drift[1] - a.y, mine.drift[2] - a.z};
					const float half_rates[6] = {
						unit * a.w, unit * b.x, unit * b.y, unit * b.z, unit * b.w, unit * s.w};
					local_rate.add(terms, half_rates, x, y, z, v, eps2);
				}
			}
			__syncwarp(); /* whoever writes next may write where others have just read */
			nfar -= n;
			expanded = true;
			if constexpr (K::COUNT)
				m2l += n;
		}
	}

	/* The last n cells of the queue go into the local expansion. */
	__device__ __forceinline__ void take_far(unsigned n)
	{
		if constexpr (K::HIGH)
			take_far_high(n);
		else
			take_far_2(n);
	}

	__device__ __forceinline__ void join_local()
	{
		if constexpr (K::HIGH) {
			join_high();
		} else {
			local.template join<K::POT>();
			if constexpr (K::JERK)
				local_rate.join();
		}
	}

	/* What the local expansion does to the target at x from its centre, in units of the group: f
	 * times its own. */
	__device__ __forceinline__ void take_local(target_type &to, const real (&x)[3], real f) const
	{
		real a[3], u = 0;
		if constexpr (K::HIGH) {
			far_field::template value<K::POT>(mine.sums, x, a, u);
		} else {
			local.template value<K::POT>(x[0], x[1], x[2], a, u);
		}
#pragma unroll
		for (int k = 0; k < 3; k++)
			to.acc[k] += f * f * a[k];
		if constexpr (K::POT)
			to.pot[0] += f * u;
		to.sums.keep(to.acc, to.pot);
	}

	/* After join_local. */
	template <int N> __device__ __forceinline__ void store_local(real *terms) const
	{
		if constexpr (K::HIGH) {
			for (int k = (int)lane; k < N; k += 32)
				terms[k] = mine.sums[k];
		} else {
#pragma unroll
			for (int k = K::POT ? 0 : 1; k < N; k++)
				if ((int)lane == k % 32)
					terms[k] = local.c[k];
		}
	}

	/* The local expansion of the region in the place of the group's. */
	__device__ __forceinline__ void load_region()
	{
		const real *terms = (const real *)w.region.terms + (size_t)region * (int)K::TERMS;
		__syncwarp();
		if constexpr (K::HIGH) {
			for (int k = (int)lane; k < (int)K::TERMS; k += 32)
				mine.sums[k] = __ldcg(terms + k);
		} else {
#pragma unroll
			for (int k = K::POT ? 0 : 1; k < expansion::TERMS; k++)
				local.c[k] = __ldcg(terms + k);
		}
		__syncwarp();
	}
};

#endif
