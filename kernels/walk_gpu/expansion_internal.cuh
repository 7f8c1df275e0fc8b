/* expansion_internal.cuh - local expansions of order 2, and their time derivative (walk_internal.cuh); those of orders
 * 3 and 4 are in high_internal.cuh. */
#ifndef NB_WALK_GPU_EXPANSION_INTERNAL_CUH
#define NB_WALK_GPU_EXPANSION_INTERNAL_CUH

#include "kernels/walk_gpu/interact_internal.cuh"

/* Index, among the components of a symmetric tensor of one order more, of component k with one more x, y or z (d). */
static __device__ constexpr int more2(int k, int d) /* of x y z: among xx xy xz yy yz zz */
{
	constexpr int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
	return at[k][d];
}
static __device__ constexpr int more3(int k, int d) /* among xxx xxy xxz xyy xyz xzz yyy yyz yzz zzz */
{
	constexpr int at[6][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}, {3, 6, 7}, {4, 7, 8}, {5, 8, 9}};
	return at[k][d];
}
static __device__ constexpr int more4(int k, int d) /* among xxxx xxxy xxxz xxyy .. */
{
	constexpr int at[10][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}, {3, 6, 7}, {4, 7, 8}, {5, 8, 9}, {6, 10, 11},
		{7, 11, 12}, {8, 12, 13}, {9, 13, 14}};
	return at[k][d];
}

/* The group's local expansion: derivatives of sum m/r at its centre. */
struct expansion {
	enum {
		C0,
		C1 = 1,	 /* x y z */
		C2 = 4,	 /* xx xy xz yy yz zz */
		C3 = 10, /* xxx xxy xxz xyy xyz xzz yyy yyz yzz zzz */
		C4 = 20, /* xxxx xxxy xxxz xxyy xxyz xxzz xyyy xyyz xyzz xzzz yyyy yyyz yyzz yzzz zzzz */
		TERMS = 35
	};
	float c[TERMS];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < TERMS; k++)
			c[k] = 0;
	}

	/* A cell of mass m and half second moments s at (-x, -y, -z); t: what it adds to c.
	 * With g_0 = 1/r, g_k+1 = g_k'/r, and for the moments' potential g_2 x.s.x + g_1 tr s. */
	template <bool POT>
	__device__ __forceinline__ void add(
		float m, const float (&s)[6], float x, float y, float z, float eps2, float (&t)[TERMS])
	{
		const float x2 = x * x, y2 = y * y, z2 = z * z;
		const float rinv = inverse_root(x2 + y2 + z2 + eps2), rinv2 = rinv * rinv;
		const float g1 = -rinv * rinv2, g2 = -3 * g1 * rinv2, g3 = -5 * g2 * rinv2, g4 = -7 * g3 * rinv2;
		const float sx = s[0] * x + s[1] * y + s[2] * z;
		const float sy = s[1] * x + s[3] * y + s[4] * z;
		const float sz = s[2] * x + s[4] * y + s[5] * z;
		const float q = sx * x + sy * y + sz * z, trace = s[0] + s[3] + s[5];
		const float h2 = m * g2, h3 = m * g3, h4 = m * g4;
		const float a = m * g1 + (g3 * q + g2 * trace), b = 2 * g2;
		if constexpr (POT)
			t[C0] = m * rinv + (g2 * q + g1 * trace);
		t[C1 + 0] = a * x + b * sx;
		t[C1 + 1] = a * y + b * sy;
		t[C1 + 2] = a * z + b * sz;
		const float e = 0.5f * (h2 + (g4 * q + g3 * trace)), f = 2 * g3;
		const float ux = e * x + f * sx, uy = e * y + f * sy, uz = e * z + f * sz;
		t[C2 + 0] = a + b * s[0] + 2 * x * ux;
		t[C2 + 1] = b * s[1] + x * uy + y * ux;
		t[C2 + 2] = b * s[2] + x * uz + z * ux;
		t[C2 + 3] = a + b * s[3] + 2 * y * uy;
		t[C2 + 4] = b * s[4] + y * uz + z * uy;
		t[C2 + 5] = a + b * s[5] + 2 * z * uz;
		const float tx = h3 * x2, ty = h3 * y2, tz = h3 * z2;
		t[C3 + 0] = x * (tx + 3 * h2);
		t[C3 + 1] = y * (tx + h2);
		t[C3 + 2] = z * (tx + h2);
		t[C3 + 3] = x * (ty + h2);
		t[C3 + 4] = x * y * (h3 * z);
		t[C3 + 5] = x * (tz + h2);
		t[C3 + 6] = y * (ty + 3 * h2);
		t[C3 + 7] = z * (ty + h2);
		t[C3 + 8] = y * (tz + h2);
		t[C3 + 9] = z * (tz + 3 * h2);
		const float xy = x * y, xz = x * z, yz = y * z;
		const float px = h4 * x2 + h3, py = h4 * y2 + h3, pz = h4 * z2 + h3, h33 = 2 * h3;
		t[C4 + 0] = x2 * (px + 5 * h3) + 3 * h2;
		t[C4 + 1] = xy * (px + h33);
		t[C4 + 2] = xz * (px + h33);
		t[C4 + 3] = x2 * py + (ty + h2);
		t[C4 + 4] = yz * px;
		t[C4 + 5] = x2 * pz + (tz + h2);
		t[C4 + 6] = xy * (py + h33);
		t[C4 + 7] = xz * py;
		t[C4 + 8] = xy * pz;
		t[C4 + 9] = xz * (pz + h33);
		t[C4 + 10] = y2 * (py + 5 * h3) + 3 * h2;
		t[C4 + 11] = yz * (py + h33);
		t[C4 + 12] = y2 * pz + (tz + h2);
		t[C4 + 13] = yz * (pz + h33);
		t[C4 + 14] = z2 * (pz + 5 * h3) + 3 * h2;
#pragma unroll
		for (int k = POT ? 0 : 1; k < TERMS; k++)
			c[k] += t[k];
	}

	/* The sum over the lanes, in all of them. */
	template <bool POT> __device__ __forceinline__ void join()
	{
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
			for (int k = POT ? 0 : 1; k < TERMS; k++)
				c[k] += __shfl_xor_sync(0xffffffff, c[k], offset);
		}
	}

	/* (sum m/r, if wanted, and) its gradient at x, y, z: Horner's scheme, tensor by tensor. */
	template <bool POT>
	__device__ __forceinline__ void value(float x, float y, float z, float (&a)[3], float &u) const
	{
		float t3[10], t2[6], u3[10], u2[6];
#pragma unroll
		for (int k = 0; k < 10; k++) {
			const float d = c[C4 + more4(k, 0)] * x + c[C4 + more4(k, 1)] * y + c[C4 + more4(k, 2)] * z;
			t3[k] = c[C3 + k] + (1.0f / 3) * d;
			if constexpr (POT)
				u3[k] = c[C3 + k] + 0.25f * d;
		}
#pragma unroll
		for (int k = 0; k < 6; k++) {
			t2[k] = c[C2 + k] + 0.5f * (t3[more3(k, 0)] * x + t3[more3(k, 1)] * y + t3[more3(k, 2)] * z);
			if constexpr (POT)
				u2[k] = c[C2 + k] +
					(1.0f / 3) * (u3[more3(k, 0)] * x + u3[more3(k, 1)] * y + u3[more3(k, 2)] * z);
		}
#pragma unroll
		for (int k = 0; k < 3; k++)
			a[k] = c[C1 + k] + t2[more2(k, 0)] * x + t2[more2(k, 1)] * y + t2[more2(k, 2)] * z;
		if constexpr (POT) {
			float u1[3];
#pragma unroll
			for (int k = 0; k < 3; k++)
				u1[k] = c[C1 + k] +
					0.5f * (u2[more2(k, 0)] * x + u2[more2(k, 1)] * y + u2[more2(k, 2)] * z);
			u = c[C0] + u1[0] * x + u1[1] * y + u1[2] * z;
		}
	}
};

/* Its time derivative, about a centre that moves, of first to third order; the expansion has the fourth. */
struct expansion_rate {
	enum { C1 = 0, C2 = 3, C3 = 9, TERMS = 19 };
	float c[TERMS];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < TERMS; k++)
			c[k] = 0;
	}

	/* The cell whose terms are t, half of whose second moments change by s; v: velocity of (x, y, z).  Second
	 * moments act up to the fourth derivative of 1/r, as in t. */
	__device__ __forceinline__ void add(const float (&t)[expansion::TERMS], const float (&s)[6], float x, float y,
		float z, const float (&v)[3], float eps2)
	{
		typedef struct expansion e;
#pragma unroll
		for (int k = 0; k < 3; k++)
			c[C1 + k] += t[e::C2 + more2(k, 0)] * v[0] + t[e::C2 + more2(k, 1)] * v[1] +
				     t[e::C2 + more2(k, 2)] * v[2];
#pragma unroll
		for (int k = 0; k < 6; k++)
			c[C2 + k] += t[e::C3 + more3(k, 0)] * v[0] + t[e::C3 + more3(k, 1)] * v[1] +
				     t[e::C3 + more3(k, 2)] * v[2];
#pragma unroll
		for (int k = 0; k < 10; k++)
			c[C3 + k] += t[e::C4 + more4(k, 0)] * v[0] + t[e::C4 + more4(k, 1)] * v[1] +
				     t[e::C4 + more4(k, 2)] * v[2];
		const float rinv = inverse_root(x * x + y * y + z * z + eps2), rinv2 = rinv * rinv;
		const float g2 = 3 * rinv * rinv2 * rinv2, g3 = -5 * g2 * rinv2, g4 = -7 * g3 * rinv2;
		const float sx = s[0] * x + s[1] * y + s[2] * z;
		const float sy = s[1] * x + s[3] * y + s[4] * z;
		const float sz = s[2] * x + s[4] * y + s[5] * z;
		const float q = sx * x + sy * y + sz * z, trace = s[0] + s[3] + s[5];
		const float a = g3 * q + g2 * trace, b = 2 * g2, f = 2 * g3, h = 0.5f * (g4 * q + g3 * trace);
		const float ux = h * x + f * sx, uy = h * y + f * sy, uz = h * z + f * sz;
		c[C1 + 0] += a * x + b * sx;
		c[C1 + 1] += a * y + b * sy;
		c[C1 + 2] += a * z + b * sz;
		c[C2 + 0] += a + b * s[0] + 2 * x * ux;
		c[C2 + 1] += b * s[1] + x * uy + y * ux;
		c[C2 + 2] += b * s[2] + x * uz + z * ux;
		c[C2 + 3] += a + b * s[3] + 2 * y * uy;
		c[C2 + 4] += b * s[4] + y * uz + z * uy;
		c[C2 + 5] += a + b * s[5] + 2 * z * uz;
	}

	/* The sum over the lanes, in all of them. */
	__device__ __forceinline__ void join()
	{
#pragma unroll
		for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
			for (int k = 0; k < TERMS; k++)
				c[k] += __shfl_xor_sync(0xffffffff, c[k], offset);
		}
	}

	/* Adds the jerk at x of a body that moves with velocity v relative to the centre. */
	__device__ __forceinline__ void value(
		const struct expansion &field, const float (&x)[3], const float (&v)[3], float (&jerk)[3]) const
	{
		typedef struct expansion e;
		float t3[10], t2[6]; /* third and second derivatives of the field */
#pragma unroll
		for (int k = 0; k < 10; k++)
			t3[k] = field.c[e::C3 + k] +
				0.5f * (field.c[e::C4 + more4(k, 0)] * x[0] + field.c[e::C4 + more4(k, 1)] * x[1] +
					       field.c[e::C4 + more4(k, 2)] * x[2]);
#pragma unroll
		for (int k = 0; k < 6; k++)
			t2[k] = field.c[e::C2 + k] + t3[more3(k, 0)] * x[0] + t3[more3(k, 1)] * x[1] +
				t3[more3(k, 2)] * x[2];
		float r2[6];
#pragma unroll
		for (int k = 0; k < 6; k++)
			r2[k] = c[C2 + k] + 0.5f * (c[C3 + more3(k, 0)] * x[0] + c[C3 + more3(k, 1)] * x[1] +
							   c[C3 + more3(k, 2)] * x[2]);
#pragma unroll
		for (int k = 0; k < 3; k++)
			jerk[k] += c[C1 + k] +
				   (r2[more2(k, 0)] * x[0] + r2[more2(k, 1)] * x[1] + r2[more2(k, 2)] * x[2]) +
				   (t2[more2(k, 0)] * v[0] + t2[more2(k, 1)] * v[1] + t2[more2(k, 2)] * v[2]);
	}
};
struct no_expansion_rate {
};

#endif
