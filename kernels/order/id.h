/* id.h - the hash of an id, for both backends. */
#ifndef NB_ORDER_ID_H
#define NB_ORDER_ID_H

#include <stdint.h>

#include "common/hd.h"

/* a finaliser in the manner of splitmix64 */
static NB_HD uint64_t nb_id_hash(uint64_t x)
{
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

#endif
