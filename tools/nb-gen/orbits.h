/* orbits.h - the operand of model orbits. */
#ifndef NB_GEN_ORBITS_H
#define NB_GEN_ORBITS_H

#include "kernels/expr/expr.h"
#include "kernels/models/models.h"

enum { NB_ORBITS_VARIED_MOST = 256 /* expressions */ };

/* Bodies, and what of them is another number in each of many systems. */
struct orbits {
	size_t n;
	struct nb_elements list[NB_ELEMENTS_MOST];
	size_t nvaried;
	struct {
		size_t body, at; /* of a double in its elements */
		struct nb_expr *expr;
		double *value; /* in each system */
	} varied[NB_ORBITS_VARIED_MOST];
};

/* The bodies that a text like 'm=1; m=1e-3 a=1 e=0.1' describes; with many systems numbers may be expressions of
 * system.  What is wrong ends the tool. */
void nb_gen_read_orbits(const char *text, double G, int many, struct orbits *to);
int nb_gen_orbits_are_random(const struct orbits *o);
/* Computes the expressions for so many systems, at least for one; a value that is wrong ends the tool. */
void nb_gen_vary_orbits(struct orbits *o, size_t systems, uint64_t seed, double G);
/* The bodies of system k; to may be o->list. */
void nb_gen_orbits_of(const struct orbits *o, size_t k, struct nb_elements to[NB_ELEMENTS_MOST]);
void nb_gen_free_orbits(struct orbits *o);

#endif
