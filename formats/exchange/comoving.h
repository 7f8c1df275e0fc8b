/* comoving.h - snapshots of runs in an expanding universe.  GADGET and its kin write velocities u = v / sqrt(a), where
 * a is the scale factor and v the peculiar velocity a dx/dt, which frames have; Springel 2005, MNRAS 364, 1105, sec. 2,
 * and the users' guide of GADGET-2, sec. 6.  PKDGRAV, Gasoline and ChaNGa write dx/dt into files of TIPSY, in a box of
 * edge 1 around 0 and in units where G = 1 and H0 = sqrt(8 pi / 3); Stadel 2001, thesis (PKDGRAV), and testcosmo of
 * ChaNGa. */
#ifndef NB_EXCHANGE_COMOVING_H
#define NB_EXCHANGE_COMOVING_H

#include "formats/stream/stream.h"

struct nb_export;

/* The scale factor of a cosmological frame: it has attributes box > 0 and omega0 > 0, and its time is the scale factor
 * of its redshift, if it has one; where time is 0 it is that of the redshift.  0: it is another frame, or the two do
 * not agree. */
double nb_comoving_scale_factor(const struct nb_frame *frame);
/* A frame with the attributes of a header: if it is a snapshot of such a run, with box_size > 0, omega0 > 0, and a time
 * that is the scale factor of its redshift (0 without), it becomes a cosmological one.  v = u a^exponent, box is that
 * size and all positions are inside, omega_lambda and redshift stand there even if they are 0, and accelerations and
 * potentials, of which codes have several kinds, are left out.  *a: its scale factor; 0: the frame stays as it is.
 * NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_comoving_read(struct nb_frame *frame, double exponent, double *a);
/* A cosmological frame as such a snapshot has it, into one that is empty: with time, box_size, omega_lambda, redshift,
 * and velocities u.  Other frames are shared as they are.  NB_OK; NB_ENOMEM; NB_EINVAL after nb_export_fail: time and
 * redshift do not agree. */
NB_MUST_CHECK int nb_comoving_write(struct nb_export *out, const struct nb_frame *frame, struct nb_frame *snapshot);
/* The same for files of TIPSY.  Reading: the frame has what the file says, and its time is the scale factor; softenings
 * of splines become those of nb, which end at 2.8 times their length, not at twice.  NB_EINVAL: time is not positive,
 * or a position is neither in a box of edge 1 around 0 nor in one beside it; row: of the body, SIZE_MAX: the time.
 * Writing: the units follow from H0, or if the frame has none, from the masses; other frames are shared as they are;
 * NB_EINVAL after nb_export_fail: there are no such units, or time and redshift do not agree. */
NB_MUST_CHECK int nb_comoving_read_tipsy(struct nb_frame *frame, double omega0, size_t *row);
NB_MUST_CHECK int nb_comoving_write_tipsy(
	struct nb_export *out, const struct nb_frame *frame, struct nb_frame *snapshot);
/* Multiplies all velocities.  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_comoving_scale_velocities(struct nb_frame *frame, double factor);

#endif
