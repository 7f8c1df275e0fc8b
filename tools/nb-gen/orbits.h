/* orbits.h - the operand of model orbits. */
#ifndef NB_GEN_ORBITS_H
#define NB_GEN_ORBITS_H

#include "kernels/models/models.h"

/* The bodies that a text like 'm=1; m=1e-3 a=1 e=0.1' describes, and their number; what is wrong ends the tool. */
size_t nb_gen_read_orbits(const char *text, double G, struct nb_elements list[NB_ELEMENTS_MOST]);

#endif
