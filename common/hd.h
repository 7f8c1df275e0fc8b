/* hd.h - NB_HD marks a function that both gcc and nvcc compile, for the host and for the device:
 * formulas are written once.  Use as "static NB_HD float f(float x)". */
#ifndef NB_HD_H
#define NB_HD_H

#ifndef NB_HD
#ifdef __CUDACC__
#define NB_HD __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define NB_HD inline __attribute__((always_inline))
#else
#define NB_HD inline
#endif
#endif

#endif
