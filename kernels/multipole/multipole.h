/* multipole.h - cells as sources and as targets: which are opened, their moments and local expansions.
 *
 * What an opening angle means is in opening.h.  The formulas are templates, which a walk includes with its own types
 * and widths: opening_body.h (the acceptance criterion; the device's is in multipole.cuh), multipole_body.h (orders 1
 * and 2, and local expansions), high_body.h (orders 3 and 4). */
#ifndef NB_MULTIPOLE_H
#define NB_MULTIPOLE_H

#include "kernels/multipole/opening.h"

#endif
