/* place_internal.cuh - the place, motion and units of the group that a warp walks for (walk_internal.cuh). */
#ifndef NB_WALK_GPU_PLACE_INTERNAL_CUH
#define NB_WALK_GPU_PLACE_INTERNAL_CUH

#include "kernels/walk_gpu/softening_internal.cuh"

/* Where the group is, how it moves, how strong the field is there, and the units that follow. */
template <class K> struct walker_place : walker_softening<K> {
	typedef walker_softening<K> base;
	typedef typename K::real real;
	typedef typename K::place_type place_type;
	using base::base;
	using base::w, base::mine, base::lane, base::first, base::num, base::target, base::local_rate, base::warp_min,
		base::warp_max, base::pop, base::push, base::extent_size, base::extent_mass, base::mass_of;

	/* Smallest old acceleration, in the cells' units. */
	__device__ __forceinline__ float least_acceleration() const
	{
		float least = INFINITY;
		const double factor = w.plan->mass / w.G * w.plan->unlength * w.plan->unlength;
		for (uint32_t t = lane; t < num; t += 32) {
			const double *a = w.acc_old + 3 * (size_t)(first + t);
			least = fminf(least, (float)(sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) * fabs(factor)));
		}
		return warp_min(least);
	}

	/* Strength of the field, sum m / (d^2 + radius^2 + eps^2), to some ten per cent. */
	__device__ __forceinline__ float field()
	{
		const float4 high = mine.high, low = mine.low;
		float eps = w.plan->eps;
		if constexpr (K::LAW != NB_LAW_COMMON)
			eps = mine.eps_high; /* for the target that feels the field least */
		const float near2 = low.w * low.w + eps * eps + 1e-30f;
		unsigned depth = 1;
		if (lane == 0)
			mine.top[0] = 0;
		float sum = 0;
		for (auto next = pop(depth); next.n; next = pop(depth)) {
			const float dx = next.a.x - high.x + (next.b.x - low.x),
				    dy = next.a.y - high.y + (next.b.y - low.y),
				    dz = next.a.z - high.z + (next.b.z - low.z), d2 = dx * dx + dy * dy + dz * dz;
			const uint32_t link = __float_as_uint(next.b.w);
			const float l = extent_size(next.extent), mass = mass_of(extent_mass(next.extent));
			const bool open = lane < next.n && !(link & LEAF) && d2 < l * l;
			/* bodies in the place of a group that is a point do not pull it */
			if (lane < next.n && !open && (d2 > 0 || low.w > 0))
				sum += mass / (d2 + near2);
			if (__any_sync(0xffffffff, open))
				push(link & 0x0fffffffu, open ? (link >> 28) + 1 : 0, depth);
		}
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, offset);
		return sum;
	}

	/* In group units.  In f64 the coordinates are only scaled, which rounds nothing. */
	__device__ __forceinline__ void set(place_type &at, const double *x) const
	{
		if constexpr (K::P == NB_F64)
			at.set(x[0] * mine.scale, x[1] * mine.scale, x[2] * mine.scale);
		else
			at.set((x[0] - mine.centre[0]) * mine.scale, (x[1] - mine.centre[1]) * mine.scale,
				(x[2] - mine.centre[2]) * mine.scale);
	}

	/* Velocities of the targets, relative to their mean. */
	__device__ __forceinline__ void begin_motion()
	{
		const double *origin = w.vel + 3 * (size_t)first;
		double v[SLOTS][3], mean[3];
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
#pragma unroll
			for (int k = 0; k < 3; k++)
				v[t][k] = w.vel[3 * i + k] - origin[k]; /* 0 where there is no target */
		}
#pragma unroll
		for (int k = 0; k < 3; k++) {
			mean[k] = v[0][k];
#pragma unroll
			for (int t = 1; t < SLOTS; t++)
				mean[k] += v[t][k];
#pragma unroll
			for (int offset = 16; offset > 0; offset /= 2)
				mean[k] += __shfl_xor_sync(0xffffffff, mean[k], offset);
			mean[k] = mean[k] / num + origin[k];
		}
		if (lane == 0) {
			mine.speed = w.plan->speed;
#pragma unroll
			for (int k = 0; k < 3; k++) {
				mine.velocity[k] = mean[k];
				mine.drift[k] = (float)((mean[k] - w.rates.velocity[k]) * w.plan->speed);
			}
		}
		__syncwarp();
#pragma unroll
		for (int t = 0; t < SLOTS; t++) {
			const size_t i = first + (t * 32 + lane < num ? t * 32 + lane : 0);
			set_velocity(target[t].vel, w.vel + 3 * i);
#pragma unroll
			for (int k = 0; k < 3; k++)
				target[t].jerk[k] = 0;
		}
		if constexpr (K::P != NB_F64)
			local_rate.clear();
	}

	/* Scaled, relative to the group. */
	__device__ __forceinline__ void set_velocity(real (&v)[3], const double *from) const
	{
#pragma unroll
		for (int k = 0; k < 3; k++)
			v[k] = (real)((from[k] - mine.velocity[k]) * mine.speed);
	}

	/* Box of the bodies, of which each lane has some: from what they span, relative to *origin. */
	__device__ __forceinline__ void set_box(
		const double *origin, float (&lo)[3], float (&hi)[3], double (&centre)[3], float (&half)[3])
	{
#pragma unroll
		for (int k = 0; k < 3; k++) {
			lo[k] = warp_min(lo[k]);
			hi[k] = warp_max(hi[k]);
			centre[k] = origin[k] + (double)(0.5f * (lo[k] + hi[k])) * w.plan->unlength;
			half[k] = 0.5f * (hi[k] - lo[k]) * (1 + 0x1p-20f);
		}
	}

	static __device__ __forceinline__ float distance2(const double *x, const double (&centre)[3], double length)
	{
		float d2 = 0;
#pragma unroll
		for (int k = 0; k < 3; k++) {
			const float d = (float)((x[k] - centre[k]) * length);
			d2 += d * d;
		}
		return d2;
	}

	/* Where the bodies are, and from how strong the field is there, what is far, and the unit of length; r2: the
	 * largest squared distance from the centre. */
	__device__ __forceinline__ void set_place(const double (&centre)[3], const float (&half)[3], float r2)
	{
		const double length = w.plan->length;
		float high[3], low[3];
#pragma unroll
		for (int k = 0; k < 3; k++) {
			const double c = (centre[k] - w.plan->origin[k]) * length;
			high[k] = (float)c;
			low[k] = (float)(c - high[k]);
		}
		const float radius = sqrtf(warp_max(r2)) * (1 + 0x1p-20f);
		__syncwarp();
		if (lane == 0) {
#pragma unroll
			for (int k = 0; k < 3; k++)
				mine.centre[k] = centre[k];
			mine.high = make_float4(high[0], high[1], high[2], 1);
			mine.low = make_float4(low[0], low[1], low[2], radius);
			mine.half = make_float4(half[0], half[1], half[2], 0);
		}
		__syncwarp();
	}

	__device__ __forceinline__ void set_units()
	{
		const double length = w.plan->length;
		const float radius = mine.low.w;
		const float old = w.alpha > 0 ? least_acceleration() : 0;
		const float now = w.alpha > 0 && radius >= 1 ? 0 : field();
		const float strength = w.alpha > 0 ? old : now;
		const float error = (w.alpha > 0 ? w.alpha : w.error) * strength;
		/* 2^-e, 2^e <= radius < 2^(e+1), e >= 0; but e < 0 in the depth of a tree, where the mass of the whole
		 * would be as strong as the field from less than 2^12 away: units stay so small that powers of
		 * distances are in the range of f32, near and far.  The field is looked at even if the caller has
		 * accelerations: they may cancel, or be older than a close neighbour. */
		const float least = fminf(1, rsqrtf(fmaxf(old, now)) * 0x1p-12f);
		const float unit = __uint_as_float(
			(254u << 23) - (__float_as_uint(fmaxf(radius, least)) & 0x7f800000u));
		const double scale = length * (double)unit, eps = K::LAW == NB_LAW_COMMON ? w.eps * scale : 0;
		if (lane == 0) {
			mine.scale = scale;
			mine.high.w = unit;
			mine.beyond = BEYOND / unit;
			mine.eps2 = K::P == NB_F64 ? (real)nb_pair_eps2_f64(eps) : (real)nb_pair_eps2_f32(eps);
			if constexpr (K::LAW != NB_LAW_COMMON)
				mine.error = w.soft.error * strength;
			constexpr int power = K::order::LOCAL;
			mine.half.w = powf(error, w.alpha > 0 ? -0.25f : -1.0f / K::order::FAR);
			const float spread = (w.alpha > 0 ? LOCAL_FAR_2 : K::order::local_far()) * radius;
			mine.spread = w.alpha > 0 ? powf(spread, 0.5f) * mine.half.w
						  : powf(spread, (float)power / (power + 2)) *
							    powf(error, -1.0f / (power + 2));
		}
		__syncwarp();
	}
};

#endif
