/* queue_internal.cuh - what is queued in a warp's walk, bodies and cells, acts on its targets (walk_internal.cuh). */
#ifndef NB_WALK_GPU_QUEUE_INTERNAL_CUH
#define NB_WALK_GPU_QUEUE_INTERNAL_CUH

#include "kernels/walk_gpu/local_internal.cuh"

/* Bodies and cells that are queued act on the targets: 32 are staged in shared memory, then every target takes each. */
template <class K> struct walker_queue : walker_local<K> {
	typedef walker_local<K> base;
	typedef typename K::real real;
	typedef typename K::place_type place_type;
	typedef typename K::source_type source_type;
	typedef typename K::pole_type pole_type;
	using base::base;
	using base::w, base::mine, base::lane, base::first, base::num, base::target, base::nbody, base::ncell,
		base::p2p, base::m2p, base::set, base::set_velocity, base::load_row, base::mass_at, base::size_of;

	/* The last n bodies of the queue act on the targets. */
	__device__ __forceinline__ void take_bodies(unsigned n)
	{
		__syncwarp();
		if (lane < n) {
			size_t i = mine.body_queue[nbody - n + lane];
			const double *mass = &w.mass[i], *vel = nullptr;
			if constexpr (K::JERK)
				vel = w.vel + 3 * i;
			if (i & LEAF) { /* all bodies of a node */
				const size_t j = i & ~(size_t)LEAF;
				mass = &w.tree.mass[j];
				if constexpr (K::JERK)
					vel = w.rates.velocity + 3 * j;
				i = w.tree.first[j];
			}
			source_type s;
			set(s.at, w.pos + 3 * i);
			if constexpr (K::LAW != NB_LAW_COMMON)
				s.soft = (real)nb_soft_of<K::LAW == NB_LAW_SPLINE>(
					w.soft.body_eps ? w.soft.body_eps[i] : w.eps, mine.scale,
					K::P == NB_F64 ? NB_PAIR_FLOOR_F64 : (double)NB_PAIR_FLOOR_F32);
			s.mass = (real)(*mass * w.plan->mass);
			if constexpr (K::JERK)
				set_velocity(s.vel, vel);
			mine.body[lane] = s;
			if constexpr (K::POT)
				mine.body_index[lane] = (uint32_t)i - first;
		} else {
			mine.body[lane] = source_type();
			if constexpr (K::POT)
				mine.body_index[lane] = UINT_MAX;
		}
		__syncwarp();
		if (num > 32)
			staged_bodies<2>();
		else
			staged_bodies<1>();
		nbody -= n;
		if constexpr (K::COUNT)
			p2p += (unsigned long long)n * num;
	}

	template <int T> __device__ __forceinline__ void staged_bodies()
	{
		const real eps2 = mine.eps2, guard = w.eps > 0 ? (real)-1 : eps2;
#pragma unroll 4
		for (unsigned k = 0; k < 32; k++) {
			const source_type s = mine.body[k];
			uint32_t index = 0;
			if constexpr (K::POT)
				index = mine.body_index[k];
#pragma unroll
			for (int t = 0; t < T; t++)
				target[t].take(s, eps2, guard, K::POT && index == t * 32 + lane);
		}
		keep<T>();
	}

	/* What a batch has given. */
	template <int T> __device__ __forceinline__ void keep()
	{
#pragma unroll
		for (int t = 0; t < T; t++)
			target[t].sums.keep(target[t].acc, target[t].pot);
	}

	/* Velocity relative to the group and rates of second moments of node j, in group units. */
	__device__ __forceinline__ void set_motion(pole_type &c, size_t j) const
	{
		if constexpr (K::P == NB_F64) {
			const double unit = w.plan->mass * mine.scale * mine.speed;
			set_velocity(c.vel, w.rates.velocity + 3 * j);
#pragma unroll
			for (int k = 0; k < 6; k++)
				c.rate[k] = w.tree.quad ? w.rates.quad[6 * j + k] * unit : 0;
		} else {
			const float4 a = __ldg(&w.motion[2 * j]), b = __ldg(&w.motion[2 * j + 1]);
			const float f = 2 * mine.high.w;
			c.vel[0] = a.x - mine.drift[0], c.vel[1] = a.y - mine.drift[1], c.vel[2] = a.z - mine.drift[2];
			c.rate[0] = f * a.w, c.rate[1] = f * b.x, c.rate[2] = f * b.y, c.rate[3] = f * b.z;
			c.rate[4] = f * b.w, c.rate[5] = f * __ldg(&w.moment[2 * j + 1].w);
		}
	}

	__device__ __forceinline__ void stage_high(unsigned slot)
	{
		const size_t j = __float_as_uint(mine.cell_queue[slot].w);
		pole_type c;
		place_type com;
		set(com, w.tree.com + 3 * j);
		c.x = com.x, c.y = com.y, c.z = com.z;
		constexpr size_t far_row = nb_high_far_row(K::ORDER, K::HARMONIC),
				 s = nb_high_far_moments(K::ORDER, K::HARMONIC);
		real r[nb_high_body_row(K::ORDER)];
		load_row(w.high.body_rows, j, r);
		c.mass = mass_at(j);
		nb_high_set<K::ORDER, K::HARMONIC, real>(
			c, r, size_of(__ldg((const real *)w.high.far_rows + far_row * j + s)));
		if constexpr (K::LAW == NB_LAW_PLUMMER) {
			const double eps = w.soft.node_eps[3 * j + 1] * mine.scale;
			c.eps2 = (real)(eps * eps);
		}
		mine.cell[lane] = c;
	}

	__device__ __forceinline__ void stage_2(unsigned slot)
	{
		const float4 at = mine.cell_queue[slot];
		const size_t j = __float_as_uint(at.w);
		pole_type c;
		constexpr int times = K::JERK ? 1 : 3;
		if constexpr (K::P == NB_F64) {
			place_type com;
			set(com, w.tree.com + 3 * j);
			c.x = com.x, c.y = com.y, c.z = com.z;
			c.mass = w.tree.mass[j] * w.plan->mass;
			const double f = times * w.plan->mass * mine.scale * mine.scale;
#pragma unroll
			for (int k = 0; k < 6; k++)
				c.moment[k] = w.tree.quad ? w.tree.quad[6 * j + k] * f : 0;
		} else {
			const float4 m = __ldg(&w.moment[2 * j]), s = __ldg(&w.moment[2 * j + 1]);
			const float unit = mine.high.w, f = 2 * times * unit * unit;
			c.x = unit * at.x, c.y = unit * at.y, c.z = unit * at.z;
			c.mass = m.x;
			c.moment[0] = f * m.y, c.moment[1] = f * m.z, c.moment[2] = f * m.w;
			c.moment[3] = f * s.x, c.moment[4] = f * s.y, c.moment[5] = f * s.z;
		}
		c.trace = (real)0.5 * (c.moment[0] + c.moment[3] + c.moment[5]);
		c.eps2 = 0;
		if constexpr (K::LAW == NB_LAW_PLUMMER) {
			const double eps = w.soft.node_eps[3 * j + 1] * mine.scale;
			c.eps2 = (real)(eps * eps);
		}
		if constexpr (K::JERK)
			set_motion(c, j);
		mine.cell[lane] = c;
	}

	__device__ __forceinline__ void stage_cell(unsigned slot)
	{
		if constexpr (K::HIGH)
			stage_high(slot);
		else
			stage_2(slot);
	}

	__device__ __forceinline__ void take_cells(unsigned n)
	{
		__syncwarp();
		if (lane < n)
			stage_cell(ncell - n + lane);
		__syncwarp();
		if (num > 32)
			staged_cells<2>(n);
		else
			staged_cells<1>(n);
		ncell -= n;
		if constexpr (K::COUNT)
			m2p += (unsigned long long)n * num;
	}

	template <int T> __device__ __forceinline__ void staged_cells(unsigned n)
	{
		const real eps2 = mine.eps2;
#pragma unroll 1
		for (unsigned k = 0; k < n; k++) {
			const auto c = mine.cell[k];
#pragma unroll
			for (int t = 0; t < T; t++)
				target[t].take(c, eps2);
		}
		keep<T>();
	}
};

#endif
