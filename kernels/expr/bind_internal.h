/* bind_internal.h - what binding an expression consists of: names and nodes (bind.c), and the instructions that
 * operators and functions become (emit.c); private. */
#ifndef NB_EXPR_BIND_INTERNAL_H
#define NB_EXPR_BIND_INTERNAL_H

#include "kernels/expr/expr_internal.h"

struct nb_expr_binder {
	struct nb_expr *expr;
	nb_expr_find *find;
	void *context;
	struct nb_expr_error *error;
	int status;
	uint32_t wanted; /* components of the result, 0: any */
	int nrandom;
	int depth; /* of formulas in each other */
};

/* ---- emit.c: each returns the number of an instruction, or -1 after a failure, which b->status and b->error tell ----
 */

/* The failure: `what`. */
int nb_expr_no_instr(struct nb_expr_binder *b, size_t at, const char *what);
/* An instruction without operands. */
struct nb_expr_instr nb_expr_empty_instr(enum nb_expr_op op, enum nb_expr_kind kind, size_t at);
/* The instruction, or one that computes the same. */
int nb_expr_add_instr(struct nb_expr_binder *b, const struct nb_expr_instr *instr);
/* The instruction, computed now if its operands are constants. */
int nb_expr_emit(struct nb_expr_binder *b, struct nb_expr_instr *instr);
int nb_expr_whole_constant(struct nb_expr_binder *b, nb_whole value, size_t at);
int nb_expr_real_constant(struct nb_expr_binder *b, double value, size_t at);
/* + - * / % of two instructions. */
int nb_expr_arithmetic(struct nb_expr_binder *b, int what, int x, int y, size_t at);
/* An operator or function (enum nb_apply) of one component of each operand; -1: there is none. */
int nb_expr_apply(struct nb_expr_binder *b, int what, int x, int y, int z, size_t at);

#endif
