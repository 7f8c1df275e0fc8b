/* morton.h - one Morton key, written once for gcc and nvcc.
 *
 * Only a subtraction and a multiplication by a factor that the caller computes once are used, so that
 * both backends give the same key: there is nothing that a compiler could contract. */
#ifndef NB_ORDER_MORTON_H
#define NB_ORDER_MORTON_H

#include <stdint.h>

#include "common/hd.h"

/* Cell of coordinate x: floor((x - lo) * cells_per_length), clamped into 0 .. 2^bits - 1.
 * A NaN gives cell 0. */
static NB_HD uint64_t nb_morton_cell(double x, double lo, double cells_per_length, int bits)
{
	double top = (double)(((uint64_t)1 << bits) - 1);
	double cell = (x - lo) * cells_per_length;
	cell = cell > 0 ? cell : 0;
	cell = cell < top ? cell : top;
	return (uint64_t)(int64_t)cell;
}

/* Whether x is not in [lo, lo + size). */
static NB_HD int nb_morton_outside(double x, double lo, double size)
{
	const double d = x - lo;
	return !(d >= 0 && d < size);
}

/* Spreads the low 21 bits of v: bit i goes to bit 3i. */
static NB_HD uint64_t nb_morton_spread3(uint64_t v)
{
	v &= 0x1fffff;
	v = (v | v << 32) & 0x001f00000000ffffu;
	v = (v | v << 16) & 0x001f0000ff0000ffu;
	v = (v | v << 8) & 0x100f00f00f00f00fu;
	v = (v | v << 4) & 0x10c30c30c30c30c3u;
	v = (v | v << 2) & 0x1249249249249249u;
	return v;
}

/* Spreads the low 31 bits of v: bit i goes to bit 2i. */
static NB_HD uint64_t nb_morton_spread2(uint64_t v)
{
	v &= 0x7fffffff;
	v = (v | v << 16) & 0x0000ffff0000ffffu;
	v = (v | v << 8) & 0x00ff00ff00ff00ffu;
	v = (v | v << 4) & 0x0f0f0f0f0f0f0f0fu;
	v = (v | v << 2) & 0x3333333333333333u;
	v = (v | v << 1) & 0x5555555555555555u;
	return v;
}

/* The inverses. */
static NB_HD uint32_t nb_morton_gather3(uint64_t v)
{
	v &= 0x1249249249249249u;
	v = (v | v >> 2) & 0x10c30c30c30c30c3u;
	v = (v | v >> 4) & 0x100f00f00f00f00fu;
	v = (v | v >> 8) & 0x001f0000ff0000ffu;
	v = (v | v >> 16) & 0x001f00000000ffffu;
	v = (v | v >> 32) & 0x1fffff;
	return (uint32_t)v;
}

static NB_HD uint32_t nb_morton_gather2(uint64_t v)
{
	v &= 0x5555555555555555u;
	v = (v | v >> 1) & 0x3333333333333333u;
	v = (v | v >> 2) & 0x0f0f0f0f0f0f0f0fu;
	v = (v | v >> 4) & 0x00ff00ff00ff00ffu;
	v = (v | v >> 8) & 0x0000ffff0000ffffu;
	v = (v | v >> 16) & 0x7fffffff;
	return (uint32_t)v;
}

/* Keys from cells: x is the highest bit of each group. */
static NB_HD uint64_t nb_morton_key3(uint64_t x, uint64_t y, uint64_t z)
{
	return nb_morton_spread3(x) << 2 | nb_morton_spread3(y) << 1 | nb_morton_spread3(z);
}

static NB_HD uint64_t nb_morton_key2(uint64_t x, uint64_t y)
{
	return nb_morton_spread2(x) << 1 | nb_morton_spread2(y);
}

#endif
