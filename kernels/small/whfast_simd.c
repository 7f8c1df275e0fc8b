/* whfast_simd.c - kicks and drifts of planets in the lanes of one vector, for one instruction set. */
#include "kernels/small/variation_body.h"
#include "kernels/small/whfast_internal.h"

#include "kernels/simd/simd.h"

#include <string.h>

/* The elements of a vector turned by k, and moved up by k behind zeros: what is in a lane is then beside what was k
 * lanes behind it, and k lanes before it. */
#define TURN4(a, k)                                                                    \
	{                                                                              \
		(a)[(k)&3], (a)[(1 + (k)) & 3], (a)[(2 + (k)) & 3], (a)[(3 + (k)) & 3] \
	}
#define TURN_OF_8(a, i, k) (a)[((i) + (k)) & 7]
#define TURN8(a, k)                                                                                                 \
	{                                                                                                           \
		TURN_OF_8(a, 0, k), TURN_OF_8(a, 1, k), TURN_OF_8(a, 2, k), TURN_OF_8(a, 3, k), TURN_OF_8(a, 4, k), \
			TURN_OF_8(a, 5, k), TURN_OF_8(a, 6, k), TURN_OF_8(a, 7, k)                                  \
	}
#define TURN_OF_16(a, i, k) (a)[((i) + (k)) & 15]
#define TURN16(a, k)                                                                                           \
	{                                                                                                      \
		TURN_OF_16(a, 0, k), TURN_OF_16(a, 1, k), TURN_OF_16(a, 2, k), TURN_OF_16(a, 3, k),            \
			TURN_OF_16(a, 4, k), TURN_OF_16(a, 5, k), TURN_OF_16(a, 6, k), TURN_OF_16(a, 7, k),    \
			TURN_OF_16(a, 8, k), TURN_OF_16(a, 9, k), TURN_OF_16(a, 10, k), TURN_OF_16(a, 11, k),  \
			TURN_OF_16(a, 12, k), TURN_OF_16(a, 13, k), TURN_OF_16(a, 14, k), TURN_OF_16(a, 15, k) \
	}

/* Lanes that a register holds.  Vectors of more would go through memory: what takes longest is made part by part, with
 * the same operations in the same order.  Without registers for 4 that would gain nothing. */
#if defined(NB_ISA_avx512)
#define PART 8
#elif defined(NB_ISA_avx2)
#define PART 4
#else
#define PART 16
#endif
#define PART_PASTE2(name, part) name##_##part
#define PART_PASTE(name, part) PART_PASTE2(name, part)
#define OF_PART(name) PART_PASTE(name, PART)

/* The last k elements of one part before the others of the next; all but the first k before those of the next. */
#define UP_OF(a, b, i, k) ((i) < (k) ? (a)[((i) - (k)) & (PART - 1)] : (b)[((i) - (k)) & (PART - 1)])
#define DOWN_OF(a, b, i, k) ((i) + (k) < PART ? (a)[((i) + (k)) & (PART - 1)] : (b)[((i) + (k)) & (PART - 1)])
#if PART == 8
#define EACH(OF, a, b, k)                                                                                       \
	{                                                                                                       \
		OF(a, b, 0, k), OF(a, b, 1, k), OF(a, b, 2, k), OF(a, b, 3, k), OF(a, b, 4, k), OF(a, b, 5, k), \
			OF(a, b, 6, k), OF(a, b, 7, k)                                                          \
	}
#define WITHIN(DO) DO(1) DO(2) DO(4)
#elif PART == 4
#define EACH(OF, a, b, k)                                                      \
	{                                                                      \
		OF(a, b, 0, k), OF(a, b, 1, k), OF(a, b, 2, k), OF(a, b, 3, k) \
	}
#define WITHIN(DO) DO(1) DO(2)
#endif

#define LANES 4
#define TURN(a, k) ((F(vec))TURN4(a, k))
#define PAIRS(DO) DO(1)
#define UP(DO) DO(1) DO(2)
#include "kernels/small/whfast_lanes_body.h"

#define LANES 8
#define TURN(a, k) ((F(vec))TURN8(a, k))
#define PAIRS(DO) DO(1) DO(2) DO(3)
#define UP(DO) DO(1) DO(2) DO(4)
#include "kernels/small/whfast_lanes_body.h"

#define LANES 16
#define TURN(a, k) ((F(vec))TURN16(a, k))
#define PAIRS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define UP(DO) DO(1) DO(2) DO(4) DO(8)
#include "kernels/small/whfast_lanes_body.h"

int NB_ISA(nb_whfast_run)(struct nb_whfast *w, double kick, double ahead, double drift, uint64_t times)
{
	return w->n <= 5   ? run_4(w, kick, ahead, drift, times)
	       : w->n <= 9 ? run_8(w, kick, ahead, drift, times)
			   : run_16(w, kick, ahead, drift, times);
}
