/* The tree that a text becomes, and the instructions that a tree becomes when it is bound. */
#ifndef NB_EXPR_INTERNAL_H
#define NB_EXPR_INTERNAL_H

#include "kernels/expr/expr.h"

typedef __int128 nb_whole;

enum {
	NB_EXPR_DEPTH = 100,		/* parentheses in each other */
	NB_EXPR_NODES = 4096,		/* of a tree */
	NB_EXPR_INSTRS = 8192,		/* of a bound expression */
	NB_EXPR_ROWS = 512,		/* of a block */
	NB_EXPR_SLOT = NB_EXPR_ROWS * 8 /* bytes; whole numbers take two */
};

/* ---- tree ---------------------------------------------------------------------------------------
 * Nodes are in an order in which the operands of a node come before it; the root is the last. */

enum nb_node_kind { NB_NODE_REAL, NB_NODE_WHOLE, NB_NODE_TEXT, NB_NODE_NAME, NB_NODE_APPLY };

struct nb_expr_node {
	enum nb_node_kind kind;
	int what;      /* of APPLY: an enum nb_apply; of NAME: the component, -1: not given */
	int arg[3];    /* nodes, -1: none */
	size_t at;     /* in the text */
	size_t text;   /* of NAME, TEXT: in the names */
	size_t length; /* of TEXT */
	double real;
	nb_whole whole;
};

/* Operators and functions. */
enum nb_apply {
#define NB_OPERATOR(id, symbol) NB_DO_##id,
#define NB_FUNCTION(id, name, least, most) NB_DO_##id,
#include "kernels/expr/function.def"
#undef NB_OPERATOR
#undef NB_FUNCTION
	NB_NAPPLY
};

struct nb_expr_tree {
	struct nb_expr_node *node;
	int nnode, room;
	char *names; /* each with its NUL; texts too */
	size_t names_used, names_room;
	int nrandom; /* calls of random() and normal() */
};

/* The tree of an expression; of an assignment if target is not NULL. */
int nb_expr_tree_parse(
	struct nb_expr_tree *tree, const char *text, struct nb_expr_target *target, struct nb_expr_error *error);
void nb_expr_tree_clear(struct nb_expr_tree *tree);

/* ---- units --------------------------------------------------------------------------------------
 * Products of powers of words; velocity and acceleration are length/time and length/time^2. */

enum { NB_UNIT_BASES = 6, NB_UNIT_WORD = 24 };

struct nb_expr_units {
	int unknown;
	int n; /* bases; 0: none, a pure number */
	struct {
		char word[NB_UNIT_WORD + 1];
		double power;
	} base[NB_UNIT_BASES];
};

struct nb_expr_units nb_units_parse(const char *text);
/* a^x b^y */
struct nb_expr_units nb_units_product(const struct nb_expr_units *a, double x, const struct nb_expr_units *b, double y);
int nb_units_equal(const struct nb_expr_units *a, const struct nb_expr_units *b);
/* As text, "" if there is none, or none that fits. */
void nb_units_text(const struct nb_expr_units *units, char *to, size_t size);

/* ---- instructions -------------------------------------------------------------------------------
 * An instruction computes one value for each row from those before it. */

enum nb_expr_op {
	NB_OP_CONST,
	NB_OP_LOAD,
	NB_OP_ROW,
	NB_OP_TO_REAL,	     /* of a whole number */
	NB_OP_TO_WHOLE,	     /* of a condition */
	NB_OP_APPLY,	     /* what: on operands of one kind */
	NB_OP_COMPARE_MIXED, /* whole with real */
	NB_OP_SELECT
};

union nb_expr_scalar {
	double real;
	nb_whole whole;
	uint64_t condition; /* all bits, or none */
};

struct nb_expr_instr {
	enum nb_expr_op op;
	int what;		/* enum nb_apply */
	enum nb_expr_kind kind; /* of the result */
	enum nb_expr_kind of;	/* of the operands */
	int arg[3];
	int is_unsigned;
	int given;		    /* a constant that is not finite is not the result of finite ones */
	uint64_t stream;	    /* of random numbers */
	size_t at;		    /* in the text */
	union nb_expr_scalar value; /* of CONST */
	/* of LOAD, and of every text */
	enum nb_expr_item item;
	const char *data;
	size_t stride, width;
	struct nb_expr_units units;
};

/* Instructions that compute one of them, and where their results are while they are at work. */
struct nb_expr_pass {
	int *order; /* n instructions */
	int n;
	int *place; /* of each: its slot, in units of NB_EXPR_SLOT bytes; -1: the column itself */
	int nslot;
	int result; /* instruction */
};

struct nb_expr {
	char *text;
	struct nb_expr_tree tree;
	uint64_t seed;
	/* bound: */
	size_t n;
	struct nb_expr_instr *instr;
	int ninstr, room;
	uint32_t ncomp;
	int result[NB_EXPR_COMPONENTS];
	struct nb_expr_pass pass[NB_EXPR_COMPONENTS];
	char unit[NB_EXPR_UNIT], doubt[NB_EXPR_UNIT * 2 + 40];
};

/* The lesser or greater one; either, if it is NaN. */
#define NB_EXPR_LEAST(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))
#define NB_EXPR_GREATEST(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))

/* Runs an instruction on n rows; arg: the values of its operands.  Returns the first row that has no value, or n. */
size_t nb_expr_run(const struct nb_expr *expr, const struct nb_expr_instr *instr, size_t first, size_t n,
	const void *const arg[3], void *result);
/* The error of such a row: NB_EINVAL. */
int nb_expr_no_value(const struct nb_expr_instr *instr, struct nb_expr_error *error);
/* Rows first .. first + n - 1 of the column of a LOAD. */
void nb_expr_load(const struct nb_expr_instr *instr, size_t first, size_t n, void *restrict to);
/* Bytes of a text of at most `width`. */
size_t nb_expr_text_length(const char *text, size_t width);
/* Plans the computation of an instruction: NB_OK or NB_ENOMEM. */
int nb_expr_plan(const struct nb_expr *expr, int result, struct nb_expr_pass *pass);
void nb_expr_pass_clear(struct nb_expr_pass *pass);
/* An instruction on constants: NB_OK, or NB_EINVAL and the reason. */
int nb_expr_fold(const struct nb_expr *expr, struct nb_expr_instr *instr, struct nb_expr_error *error);
/* what: NB_DO_SUM, NB_DO_MIN, NB_DO_MAX, NB_DO_COUNT of an instruction over all rows. */
int nb_expr_reduce(const struct nb_expr *expr, int what, int arg, union nb_expr_scalar *to, int *given,
	struct nb_expr_error *error);

/* Sets the message and returns NB_EINVAL.  at: in the text, SIZE_MAX: no place. */
int nb_expr_fail(struct nb_expr_error *error, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
int nb_expr_no_memory(struct nb_expr_error *error);

#endif
