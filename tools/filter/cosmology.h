/* cosmology.h - the expanding universe that the attributes of a frame describe; nb-cosmology(7) has their meaning. */
#ifndef NB_FILTER_COSMOLOGY_H
#define NB_FILTER_COSMOLOGY_H

#include "formats/stream/stream.h"
#include "kernels/cosmology/cosmology.h"

/* Whether the frame is cosmological: it has a periodic box and omega0 > 0, and its time is the scale factor. */
int nb_is_cosmological(const struct nb_frame *frame);
/* omega0 (0), omega_lambda (1 - omega0 - omega_r), omega_r (0), w0 (-1), wa (0) and H0 (0), as they are; in parentheses
 * what they are where the frame does not have them. */
struct nb_cosmology nb_read_cosmology(const struct nb_frame *frame);
/* The scale factor of a cosmological frame: attribute time, or where that is 0, of redshift; NaN if that is none, or if
 * the two do not agree.  1 of any other frame. */
double nb_scale_factor(const struct nb_frame *frame);
/* The same of a cosmological frame: attributes that do not agree or give none end the tool. */
double nb_require_scale_factor(const struct nb_frame *frame);
/* The universe of a cosmological frame, for what the option says; H0 is that of the masses in the box where the frame
 * has none.  Returns its scale factor, of attributes time and redshift.  What does not describe a universe, or masses
 * that are not the matter of it, end the tool; of masses that are a little off it warns. */
double nb_require_cosmology(const struct nb_frame *frame, const char *option, struct nb_cosmology *cosmology);
/* 1 / a - 1; a number with few digits if one stands for the same scale factor to the last bit. */
double nb_redshift_of(double a);

#endif
