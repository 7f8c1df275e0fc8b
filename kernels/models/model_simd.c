/* Random bodies, eight at a time: Plummer spheres, cubes, balls, boxes, and Gaussian velocities.
 *
 * The code is written once for vectors of LANES doubles.  It gives the same bytes for every instruction
 * set: bodies are handled in groups of eight whose lanes never mix, so the width does not matter; only
 * correctly rounded operations are used, and multiply and add are never fused (the pragma below), since the
 * plain set has no fused form.  Sine, cosine and logarithm are polynomials that interpolate at Chebyshev
 * nodes; errors are below 3e-16 absolute (sine, cosine) and 5e-16 relative to |log| + 1.
 *
 * Plummer sphere without a table or a rejection (units: scale radius 1, G M = 1):
 *   position   The mass fraction inside r is (r^2 / (1 + r^2))^(3/2), so p = x / sqrt(1 + r^2) is uniform in the unit
 *              ball: its radius is the largest of three uniforms, and x = p / sqrt(1 - p^2).
 *   velocity   f(E) ~ (-E)^(7/2) makes q = v / v_esc have q^2 ~ Beta(3/2, 9/2), which is the sum of the squares of
 * three coordinates of a random point on the unit sphere in 12 dimensions.  Four coordinates have a squared sum ~
 * Beta(2, 4), the second smallest of five uniforms, and a direction on the sphere in 4 dimensions, (sqrt(w) cos a,
 * sqrt(w) sin a, sqrt(1 - w) cos b, ...) with w uniform. Sources: Plummer 1911, MNRAS 71, 460; Aarseth, Henon & Wielen
 * 1974, A&A 37, 183, eq. A2 to A6, for the distribution; order statistics of uniforms are Beta distributed (David &
 * Nagaraja 2003, section 2.3).
 *
 * Signs: each distribution is symmetric about its centre, so x may be replaced by -x.  Each lane chooses the sign
 * that turns against the sum of what it has drawn in the block.  The sum then stays near the size of
 * one term where it would grow like the root of the count; what remains is divided over the block by
 * nb_model_shift.  So momentum and centre of mass vanish block by block, without a pass over all bodies, and a
 * block is shifted by about 1e-3 of a body's distance.
 *
 * Flops: about 250 vector operations a body position, 450 a velocity; all in registers.
 *
 * Sections: vectors and their functions (square root, sine and cosine, logarithm), random numbers (Philox), vectors of
 * a group, distributions, and the one function that is called from outside. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "kernels/models/models.h"
#include "kernels/models/part_internal.h"
#include "kernels/models/random_internal.h"

#include <math.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#elif defined(NB_ISA_neon)
#include <arm_neon.h>
#endif

#if defined(NB_ISA_avx512)
enum { LANES = 8 };
#elif defined(NB_ISA_avx2)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif
enum { GROUP = 8, NVEC = GROUP / LANES };

typedef double vd __attribute__((vector_size(8 * LANES)));
typedef uint64_t vu __attribute__((vector_size(8 * LANES)));
typedef int64_t vi __attribute__((vector_size(8 * LANES)));

#define INLINE static inline __attribute__((always_inline))

INLINE vd splat(double x)
{
	return (vd){0} + x;
}

INLINE vu splat_u(uint64_t x)
{
	return (vu){0} + x;
}

/* The only operations that vector extensions cannot say: product of the low words, square root, minimum. */
#ifdef __x86_64__
#if defined(NB_ISA_avx512)
#define MM(operation) _mm512_##operation
typedef __m512d mm_d;
typedef __m512i mm_i;
#elif defined(NB_ISA_avx2)
#define MM(operation) _mm256_##operation
typedef __m256d mm_d;
typedef __m256i mm_i;
#else
#define MM(operation) _mm_##operation
typedef __m128d mm_d;
typedef __m128i mm_i;
#endif
INLINE vu mul_low_words(vu a, vu b)
{
	return (vu)MM(mul_epu32)((mm_i)a, (mm_i)b);
}
INLINE vd vsqrt(vd x)
{
	return (vd)MM(sqrt_pd)((mm_d)x);
}
INLINE vd vmin(vd a, vd b)
{
	return (vd)MM(min_pd)((mm_d)a, (mm_d)b);
}
INLINE vd vmax(vd a, vd b)
{
	return (vd)MM(max_pd)((mm_d)a, (mm_d)b);
}
#else
INLINE vu mul_low_words(vu a, vu b)
{
#if defined(NB_ISA_neon)
	return (vu)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
	return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}
INLINE vd vsqrt(vd x)
{
	for (int k = 0; k < LANES; k++)
		x[k] = sqrt(x[k]);
	return x;
}
INLINE vd vmin(vd a, vd b)
{
	const vi m = a < b;
	return (vd)(((vi)a & m) | ((vi)b & ~m));
}
INLINE vd vmax(vd a, vd b)
{
	const vi m = a > b;
	return (vd)(((vi)a & m) | ((vi)b & ~m));
}
#endif

/* What the distributions below are drawn for. */
struct job {
	const struct nb_model_part *part;
	uint64_t seed;
};

/* draw numbers: positions from 0, velocities from 16 on */
enum { DRAW_VEL = 16, MAX_DRAWS = 4 };

/* ---- random numbers ----------------------------------------------------------------------------- */

/* nb_random_bits of kernels/models/random_internal.h for bodies index + lane, count draws at once: a round waits for
 * the one before, so several side by side keep the processor busy.  Words live in the low halves of 64-bit lanes; the
 * high halves hold rubbish that no operation looks at. */
INLINE void random_bits(const struct job *job, vu index, const uint32_t *draw, int count, vu *first, vu *second)
{
	const vu m0 = splat_u(NB_PHILOX_M0), m1 = splat_u(NB_PHILOX_M1), low = splat_u(0xffffffff);
	vu c0[MAX_DRAWS], c1[MAX_DRAWS], c2[MAX_DRAWS], c3[MAX_DRAWS];
	uint32_t k0 = (uint32_t)job->seed, k1 = (uint32_t)(job->seed >> 32);
#pragma GCC unroll 4
	for (int d = 0; d < count; d++) {
		c0[d] = index;
		c1[d] = index >> 32;
		c2[d] = splat_u(draw[d]);
		c3[d] = splat_u(job->part->stream);
	}
#pragma GCC unroll 10
	for (int round = 0; round < NB_PHILOX_ROUNDS; round++) {
#pragma GCC unroll 4
		for (int d = 0; d < count; d++) {
			const vu p0 = mul_low_words(m0, c0[d]), p1 = mul_low_words(m1, c2[d]);
			c0[d] = (p1 >> 32) ^ c1[d] ^ splat_u(k0);
			c1[d] = p1;
			c2[d] = (p0 >> 32) ^ c3[d] ^ splat_u(k1);
			c3[d] = p0;
		}
		k0 += NB_PHILOX_W0;
		k1 += NB_PHILOX_W1;
	}
#pragma GCC unroll 4
	for (int d = 0; d < count; d++) {
		first[d] = c0[d] << 32 | (c1[d] & low);
		second[d] = c2[d] << 32 | (c3[d] & low);
	}
}

/* The low 52 bits behind the exponent of 1, in [1, 2), less 1 - half a cell: the midpoint of a cell. */
INLINE vd midpoint(vu bits, double cell)
{
	return (vd)(bits | splat_u(0x3ff0000000000000)) - (1 - cell / 2);
}

/* A draw as two uniforms, or as three: nb_random2 and nb_random3. */
INLINE void two_of(vu first, vu second, vd u[2])
{
	u[0] = midpoint(first >> 12, 0x1p-52);
	u[1] = midpoint(second >> 12, 0x1p-52);
}

INLINE void three_of(vu first, vu second, vd u[3])
{
	u[0] = midpoint(first >> 22 << 10, 0x1p-42);
	u[1] = midpoint(second >> 22 << 10, 0x1p-42);
	u[2] = midpoint((first & 0x1fffff) << 31 | (second & 0x1fffff) << 10, 0x1p-42);
}

/* sine and cosine of 2 pi u, |u| < 2^20: quarter turns by the low bits of a rounded sum, the rest by polynomials */
INLINE void sincos_turn(vd u, vd *sine, vd *cosine)
{
	const vd round = splat(0x1.8p52);
	const vd shifted = u * 4 + round;
	const vd f = u * 4 - (shifted - round); /* exact, in [-1/2, 1/2] */
	const vd s = f * f;
	/* sin(pi/2 f) / f and cos(pi/2 f) side by side */
	vd p = splat(5.6339337815378539538e-8), q = splat(4.6552961874867621506e-7);
	p = p * s + -3.598643352982309702e-6;
	q = q * s + -0.000025200135264284791372;
	p = p * s + 0.00016044115074219091052;
	q = q * s + 0.00091925995004166091679;
	p = p * s + -0.0046817541323409759917;
	q = q * s + -0.020863480734946568947;
	p = p * s + 0.079692626246043003134;
	q = q * s + 0.2536695078998647314;
	p = p * s + -0.64596409750624431573;
	q = q * s + -1.2337005501361513411;
	p = p * s + 1.5707963267948966143;
	q = q * s + 0.99999999999999995284;
	p = p * f;
	const vu quarter = (vu)shifted;
	const vi swap = -(vi)(quarter & 1);
	const vu sign = splat_u(0x8000000000000000);
	*sine = (vd)((((vu)p & ~(vu)swap) | ((vu)q & (vu)swap)) ^ (quarter << 62 & sign));
	*cosine = (vd)((((vu)q & ~(vu)swap) | ((vu)p & (vu)swap)) ^ ((quarter + 1) << 62 & sign));
}

/* sin(pi f), |f| <= 1/2 */
INLINE vd sin_half_turn(vd f)
{
	const vd s = f * f;
	vd p = splat(-0.000021133627352052970404);
	p = p * s + 0.00046598701580433779334;
	p = p * s + -0.0073703643265304156755;
	p = p * s + 0.082145878816310426917;
	p = p * s + -0.59926452882522400508;
	p = p * s + 2.5501640398618676297;
	p = p * s + -5.1677127800497858227;
	p = p * s + 3.1415926535897928787;
	return p * f;
}

/* natural logarithm of a normal number > 0: exponent and 2 artanh of the rest */
INLINE vd log_vector(vd x)
{
	const vu bits = (vu)x;
	/* mantissa into [1/sqrt(2), sqrt(2)), carrying into the exponent above sqrt(2) */
	const vu moved = bits - 0x3fe6a09e667f3bcd;
	const vi exponent = (vi)moved >> 52;
	const vd m = (vd)(bits - ((vu)exponent << 52));
	vd e = (vd)((vu)exponent + 0x4338000000000000) - 0x1.8p52; /* integer to double */
	const vd t = (m - 1) / (m + 1), s = t * t;
	vd p = splat(0.1461644968504340586);
	p = p * s + 0.15331721600556041269;
	p = p * s + 0.1818288912526172208;
	p = p * s + 0.22222211134795079855;
	p = p * s + 0.28571428625975484921;
	p = p * s + 0.3999999999989950449;
	p = p * s + 0.66666666666666696862;
	return e * 0x1.62e42fefa39efp-1 + (t * s * p + t * 2);
}

/* ---- vectors of a group ------------------------------------------------------------------------- */

struct vec3 {
	vd x, y, z;
};

/* running sums of a block, by lane of the group */
struct balance {
	struct vec3 sum[NVEC];
};

INLINE struct vec3 balanced(struct balance *balance, int k, struct vec3 a)
{
	struct vec3 *sum = &balance->sum[k];
	const vd along = sum->x * a.x + sum->y * a.y + sum->z * a.z;
	const vu flip = ~(vu)along & 0x8000000000000000; /* where along >= 0 */
	a.x = (vd)((vu)a.x ^ flip);
	a.y = (vd)((vu)a.y ^ flip);
	a.z = (vd)((vu)a.z ^ flip);
	sum->x += a.x;
	sum->y += a.y;
	sum->z += a.z;
	return a;
}

/* LANES rows of x, y, z */
INLINE void store_rows(double *out, struct vec3 a)
{
#if defined(NB_ISA_avx512)
	const vu xy0 = {0, 8, 0, 1, 9, 0, 2, 10}, z0 = {0, 1, 8, 3, 4, 9, 6, 7};
	const vu xy1 = {0, 3, 11, 0, 4, 12, 0, 5}, z1 = {10, 1, 2, 11, 4, 5, 12, 7};
	const vu xy2 = {13, 0, 6, 14, 0, 7, 15, 0}, z2 = {0, 13, 2, 3, 14, 5, 6, 15};
	const vd r0 = __builtin_shuffle(__builtin_shuffle(a.x, a.y, xy0), a.z, z0);
	const vd r1 = __builtin_shuffle(__builtin_shuffle(a.x, a.y, xy1), a.z, z1);
	const vd r2 = __builtin_shuffle(__builtin_shuffle(a.x, a.y, xy2), a.z, z2);
	memcpy(out, &r0, sizeof r0);
	memcpy(out + 8, &r1, sizeof r1);
	memcpy(out + 16, &r2, sizeof r2);
#else
	for (int k = 0; k < LANES; k++) {
		out[3 * k] = a.x[k];
		out[3 * k + 1] = a.y[k];
		out[3 * k + 2] = a.z[k];
	}
#endif
}

/* ---- distributions ------------------------------------------------------------------------------ */

/* radius times a random direction */
INLINE struct vec3 on_sphere(vd radius, vd u, vd turn)
{
	const vd z = u * 2 - 1, ring = vsqrt((1 - z) * (1 + z)) * radius;
	vd s, c;
	sincos_turn(turn, &s, &c);
	return (struct vec3){ring * c, ring * s, radius * z};
}

INLINE struct vec3 plummer_pos(const struct job *job, vu index)
{
	const uint32_t draw[] = {0, 1};
	vu a[2], b[2];
	vd u[3], d[2];
	random_bits(job, index, draw, 2, a, b);
	three_of(a[0], b[0], u);
	two_of(a[1], b[1], d);
	const vd p = vmax(u[0], vmax(u[1], u[2])) * job->part->mu;
	const vd r = p * job->part->length / vsqrt((1 - p) * (1 + p));
	return on_sphere(r, d[0], d[1]);
}

INLINE struct vec3 plummer_vel(const struct job *job, vu index)
{
	const uint32_t draw[] = {0, DRAW_VEL, DRAW_VEL + 1, DRAW_VEL + 2};
	vu a[4], b[4];
	vd u[3], v[6], turn[2];
	random_bits(job, index, draw, 4, a, b);
	three_of(a[0], b[0], u); /* the radius again */
	three_of(a[1], b[1], v);
	three_of(a[2], b[2], v + 3);
	two_of(a[3], b[3], turn);
	const vd p = vmax(u[0], vmax(u[1], u[2])) * job->part->mu;
	/* second smallest of v[0..4] */
	const vd low0 = vmin(v[0], v[1]), high0 = vmax(v[0], v[1]), low1 = vmin(v[2], v[3]), high1 = vmax(v[2], v[3]);
	const vd first = vmin(low0, low1), second = vmin(vmax(low0, low1), vmin(high0, high1));
	const vd beta = vmin(second, vmax(first, v[4]));
	/* v_esc = sqrt(2) (1 - p^2)^(1/4); the constant is in speed */
	const vd speed2 = vsqrt((1 - p) * (1 + p)) * beta;
	vd s, c;
	sincos_turn(turn[0], &s, &c);
	const vd ring = vsqrt(v[5] * speed2) * job->part->speed;
	const vd height = vsqrt((1 - v[5]) * speed2) * job->part->speed;
	return (struct vec3){ring * c, ring * s, height * sin_half_turn(turn[1] - 0.5)};
}

INLINE struct vec3 cube_pos(const struct job *job, vu index)
{
	const uint32_t draw = 0;
	vu bits0, bits1;
	vd u[3];
	random_bits(job, index, &draw, 1, &bits0, &bits1);
	three_of(bits0, bits1, u);
	const double edge = job->part->length;
	struct vec3 a = {(u[0] - 0.5) * edge, (u[1] - 0.5) * edge, (u[2] - 0.5) * edge};
	if (job->part->dim == 2)
		a.z = splat(0);
	return a;
}

INLINE struct vec3 ball_pos(const struct job *job, vu index)
{
	const uint32_t draw[] = {0, 1};
	vu a[2], b[2];
	vd u[3], d[2], s, c;
	random_bits(job, index, draw, 2, a, b);
	three_of(a[0], b[0], u);
	two_of(a[1], b[1], d);
	if (job->part->dim == 3)
		return on_sphere(vmax(u[0], vmax(u[1], u[2])) * job->part->length, d[0], d[1]);
	const vd r = vmax(u[0], u[1]) * job->part->length;
	sincos_turn(d[1], &s, &c);
	return (struct vec3){r * c, r * s, splat(0)};
}

/* every second bit, packed: the inverse of spreading for a Morton code of 31 bits a dimension */
INLINE vu even_bits(vu x)
{
	x &= 0x5555555555555555;
	x = (x | x >> 1) & 0x3333333333333333;
	x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
	x = (x | x >> 4) & 0x00ff00ff00ff00ff;
	x = (x | x >> 8) & 0x0000ffff0000ffff;
	return (x | x >> 16) & 0x00000000ffffffff;
}

/* Body i lies in box i mod 4^level, counted in Z-order with x in the higher bit. */
INLINE struct vec3 boxes_pos(const struct job *job, vu index)
{
	const uint32_t draw = 0;
	vu bits0, bits1;
	vd u[2];
	random_bits(job, index, &draw, 1, &bits0, &bits1);
	two_of(bits0, bits1, u);
	const int level = job->part->level;
	const uint64_t nbox = (uint64_t)1 << 2 * level;
	const vu box = index & (nbox - 1);
	const double edge = ldexp(1, -level), room = edge - 2 * NB_MODEL_BOX_MARGIN;
	const vd exact = splat(0x1p52); /* integers below 2^52 to doubles through the mantissa */
	const vd column = (vd)(even_bits(box >> 1) | (vu)exact) - exact, row = (vd)(even_bits(box) | (vu)exact) - exact;
	vd x = column * edge + (u[0] * room + NB_MODEL_BOX_MARGIN);
	vd y = row * edge + (u[1] * room + NB_MODEL_BOX_MARGIN);
	if (level > 0) {
		/* the anchors: body 0 in the lowest corner of the square, the last box's first body in the highest */
		const vi inner = (index != 0) & (index != nbox - 1);
		const vi top = (index == nbox - 1) & (vi)splat(1 - 0x1p-30);
		x = (vd)(((vi)x & inner) | top);
		y = (vd)(((vi)y & inner) | top);
	}
	return (struct vec3){x, y, splat(0)};
}

/* Gaussians by Box & Muller */
INLINE struct vec3 gauss_vel(const struct job *job, vu index)
{
	const uint32_t draw[] = {DRAW_VEL, DRAW_VEL + 1};
	vu a[2], b[2];
	vd u[2], v[2], s, c, s1, c1;
	random_bits(job, index, draw, 2, a, b);
	two_of(a[0], b[0], u);
	two_of(a[1], b[1], v);
	const vd r = vsqrt(log_vector(u[0]) * -2) * job->part->speed;
	sincos_turn(u[1], &s, &c);
	if (job->part->dim == 2)
		return (struct vec3){r * c, r * s, splat(0)};
	const vd r1 = vsqrt(log_vector(v[0]) * -2) * job->part->speed;
	sincos_turn(v[1], &s1, &c1);
	return (struct vec3){r * c, r * s, r1 * c1};
}

typedef struct vec3 distribution(const struct job *job, vu index);

/* The loop over a block, inlined for each distribution. */
INLINE void fill(const struct nb_model_part *part, uint64_t seed, uint64_t start, size_t count, int balance,
	double *out, distribution *sample)
{
	const struct job job = {part, seed};
	struct balance sums;
	memset(&sums, 0, sizeof sums);
	vu lane;
	for (int k = 0; k < LANES; k++)
		lane[k] = (uint64_t)k;
	for (size_t i = 0; i < count; i += GROUP) {
		double rest[3 * GROUP];
		double *to = i + GROUP <= count ? out + 3 * i : rest;
		for (int k = 0; k < NVEC; k++) {
			struct vec3 a = sample(&job, lane + (start + i + (size_t)(k * LANES)));
			if (balance)
				a = balanced(&sums, k, a);
			store_rows(to + 3 * k * LANES, a);
		}
		if (to == rest)
			memcpy(out + 3 * i, rest, 3 * (count - i) * sizeof *out);
	}
}

void NB_ISA(nb_model_draw_block)(
	const struct nb_model_part *part, uint64_t seed, int vel, uint64_t start, size_t count, double *out)
{
	if (vel && part->speed == 0)
		memset(out, 0, 3 * count * sizeof *out);
	else if (vel && part->sampler == NB_SAMPLE_PLUMMER)
		fill(part, seed, start, count, 1, out, plummer_vel);
	else if (vel)
		fill(part, seed, start, count, 1, out, gauss_vel);
	else if (part->sampler == NB_SAMPLE_PLUMMER)
		fill(part, seed, start, count, 1, out, plummer_pos);
	else if (part->sampler == NB_SAMPLE_BALL)
		fill(part, seed, start, count, 1, out, ball_pos);
	else if (part->sampler == NB_SAMPLE_CUBE)
		fill(part, seed, start, count, 0, out, cube_pos);
	else
		fill(part, seed, start, count, 0, out, boxes_pos);
}

/* Sums by place in the group of eight rows, then in index order: the same for every width. */
void NB_ISA(nb_model_shift)(size_t count, int centred, const double shift[3], double *out)
{
	enum { PLACES = 3 * GROUP };
	double add[PLACES];
	const size_t total = 3 * count, whole = total / PLACES * PLACES;
	double move[3] = {shift[0], shift[1], shift[2]};
	if (centred) {
		double sum[PLACES] = {0}, mean[3] = {0};
		for (size_t i = 0; i < whole; i += PLACES)
			for (int k = 0; k < PLACES; k++)
				sum[k] += out[i + (size_t)k];
		for (size_t i = whole; i < total; i++)
			sum[i - whole] += out[i];
		for (int k = 0; k < PLACES; k++)
			mean[k % 3] += sum[k];
		for (int c = 0; c < 3; c++)
			move[c] -= mean[c] / (double)count;
	}
	if (move[0] == 0 && move[1] == 0 && move[2] == 0)
		return;
	for (int k = 0; k < PLACES; k++)
		add[k] = move[k % 3];
	for (size_t i = 0; i < whole; i += PLACES)
		for (int k = 0; k < PLACES; k++)
			out[i + (size_t)k] += add[k];
	for (size_t i = whole; i < total; i++)
		out[i] += add[i - whole];
}
