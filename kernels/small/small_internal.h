/* small_internal.h - what forces on a processor and on a device share. */
#ifndef NB_SMALL_INTERNAL_H
#define NB_SMALL_INTERNAL_H

/* Squares of distances, and G m, outside these are left to forces that scale: within them no product of r^-3, r and G m
 * leaves the range of normal numbers. */
static const double nb_small_least = 0x1p-400, nb_small_most = 0x1p400;

#endif
