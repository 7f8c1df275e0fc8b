/* princeton.h - the N-body text of Princeton's course COS 126, in which many data sets of small simulations come:
 * N, the radius of the universe, then N rows "px py vx vy mass rest", where the rest is a name or a colour "r g b" or
 * nothing.  2-D, SI units, G = 6.67e-11.  Library code: errors are returned. */
#ifndef NB_EXCHANGE_PRINCETON_H
#define NB_EXCHANGE_PRINCETON_H

#include "formats/exchange/text.h"

#define NB_PRINCETON_G 6.67e-11

/* Reads the whole text into *frame (cleared first): fields id (0 .. N-1), mass, pos, vel; column "colour" (3 x |u1) and
 * field species (distinct colours in order of appearance) where every row ends in a colour, else column "name" where
 * any row has a rest; attributes time, dim, G, units, universe_radius.  What follows row N is ignored unless its first
 * filled line is another row.  NB_OK, or lines->error says what is wrong in which line. */
NB_MUST_CHECK int nb_princeton_read(struct nb_lines *lines, struct nb_frame *frame);

/* Writes mass, pos and vel of a frame, which must have them, and the column name or else colour.  The radius is the
 * attribute universe_radius, else the largest |coordinate|.  NB_OK; NB_EINVAL: why (NB_TEXT_ERROR_SIZE bytes) says what
 * the text cannot hold, before anything is written; NB_ENOMEM; -1: writing failed, errno says how. */
NB_MUST_CHECK int nb_princeton_write(struct nb_text_out *out, const struct nb_frame *frame, char *why);

/* 1 if the text has a place for this column of the frame. */
int nb_princeton_holds(const struct nb_frame *frame, const struct nb_column *column);

#endif
