/* clang.h - what gcc has and clang 14 has not, for the build under ThreadSanitizer. */
#ifndef NB_TEST_CLANG_H
#define NB_TEST_CLANG_H

/* __builtin_shuffle: lanes of one vector, or of two. */
#define NB_SHUFFLE_TWO(a, b, lanes)                                                            \
	({                                                                                     \
		const __typeof__(a) a_ = (a), b_ = (b);                                        \
		const __typeof__(lanes) lane_ = (lanes);                                       \
		enum { LANES_ = sizeof lane_ / sizeof lane_[0] };                              \
		__typeof__(+(a)) to_; /* not const */                                          \
		for (int k_ = 0; k_ < LANES_; k_++) {                                          \
			const int from_ = (int)((unsigned long long)lane_[k_] % (2 * LANES_)); \
			to_[k_] = from_ < LANES_ ? a_[from_] : b_[from_ - LANES_];             \
		}                                                                              \
		to_;                                                                           \
	})
#define NB_SHUFFLE_ONE(a, lanes) NB_SHUFFLE_TWO(a, a, lanes)
#define NB_SHUFFLE_OF(a, b, c, which, ...) which
#define __builtin_shuffle(...) NB_SHUFFLE_OF(__VA_ARGS__, NB_SHUFFLE_TWO, NB_SHUFFLE_ONE)(__VA_ARGS__)

#endif
