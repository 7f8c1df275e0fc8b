/* papers.h - the force kernels of five publications, by name and as published, for comparison.
 *
 *   gems3         Nyland, Harris & Prins 2007, GPU Gems 3, chapter 31
 *   shan          Shan & Lei 2012, near field of uniform boxes
 *   lecture8      Shekofteh, GPU Computing, lecture 8, after Wilt's CUDA Handbook
 *   gangavarapu   Gangavarapu, Pal, Prakash, Hegde & Geetha: all pairs and Barnes-Hut in 2-D
 *   xu            Xu, Xu & Chen: multi-body gravity
 *
 * A kernel follows its source in what it does in which order on how many threads.  It differs where the source would
 * give wrong or varying results: units are scaled (pair.h), any n works, and sums that the source leaves to a race are
 * added in a fixed order, so that a kernel gives the same bytes on every run and for any number of threads.  Two are
 * excepted (NB_PAPER_VARIES): the source of shan-bpb-n3 explains its speed by the atomics in which it adds, so they are
 * kept, in near-n3-atomic too, which is derived from it, and with them sums whose last bits vary.  The suite's own
 * kernels are in the list beside them.  nb-papers(7) has every deviation. */
#ifndef NB_PAPERS_H
#define NB_PAPERS_H

#include "kernels/gravity/gravity.h"

NB_C_BEGIN

enum { NB_PAPER_PARAMETERS = 3, NB_PAPER_CHOICES = 8 };

/* What to compute.  All arrays live where the kernel computes. */
struct nb_paper_job {
	const struct nb_gravity *gravity;
	const struct nb_boxes *boxes; /* for kernels with NB_PAPER_BOXES, else NULL */
	double theta; /* for kernels with NB_PAPER_THETA: a cell of edge l at distance D counts as a whole
			 where l / D < theta */
	int parameter[NB_PAPER_PARAMETERS];
};

/* traits of a kernel */
enum {
	NB_PAPER_BOXES = 1, /* near field: needs boxes */
	NB_PAPER_THETA = 2, /* builds a tree of its own and opens it by theta */
	NB_PAPER_PLANE = 4, /* 2-D: needs z = 0 everywhere */
	NB_PAPER_POT = 8,   /* offers potentials */
	NB_PAPER_JERK = 16, /* offers jerks */
	NB_PAPER_F32 = 32,  /* arithmetic that it offers; the first of these is the source's, and the default */
	NB_PAPER_MIXED = 64,
	NB_PAPER_F64 = 128,
	NB_PAPER_VARIES = 256, /* adds by atomics, in an order that varies: the last bits differ from run to run */
	NB_PAPER_RUNNING = 512 /* all sources go to a single sum, one after another: in f32 its error grows with n */
};

/* A number that a kernel takes, out of a few. */
struct nb_paper_parameter {
	const char *name; /* NULL: none */
	int fallback;
	int choice[NB_PAPER_CHOICES]; /* 0 ends the list */
};

struct nb_paper {
	const char *name; /* "Shan & Lei 2012"; "nb" for our own kernels */
	const char *title;
};

struct nb_paper_kernel {
	const char *name;    /* "gems3"; unique on a backend */
	const char *backend; /* "cpu" or "cuda" */
	const struct nb_paper *paper;
	const char *where; /* section, algorithm or listing; "" for our own */
	const char *file;  /* the source, from the top of the tree */
	const char *about; /* one line */
	unsigned traits;
	struct nb_paper_parameter parameter[NB_PAPER_PARAMETERS];
	int largest_block; /* the first two parameters make a block of threads: at most so many; 0: they do not */
	/* Returns 0 or an enum nb_status: of the contract in gravity.h for what the traits offer.
	 * NULL: this program was built without CUDA. */
	int (*run)(const struct nb_paper_job *job, struct nb_gravity_count *count);
};

/* Kernel number k of all backends, those of a paper side by side (kernel.def); NULL past the last. */
const struct nb_paper_kernel *nb_paper_kernel_at(size_t k);

/* The kernel that text asks for, "NAME" or "NAME:KEY=N,KEY=N", on a backend ("cpu", "cuda"), and its parameters.
 * 0, or NB_EINVAL with a phrase of at most NB_PAPER_WHY bytes in why ("unknown kernel 'x'"). */
enum { NB_PAPER_WHY = 200 };
NB_MUST_CHECK int nb_paper_choose(const char *text, const char *backend, const struct nb_paper_kernel **kernel,
	int parameter[NB_PAPER_PARAMETERS], char *why);
/* 1 if there is a kernel of that name for a backend, and if this program has it (what follows a ':' in text does not
 * count). */
int nb_paper_known(const char *text, const char *backend);
int nb_paper_runs(const char *text, const char *backend);
/* The precision that a kernel computes in unless told otherwise. */
enum nb_precision nb_paper_precision(const struct nb_paper_kernel *kernel);
int nb_paper_offers(const struct nb_paper_kernel *kernel, enum nb_precision precision);

/* ---- Shan & Lei 2012, tables I and II: operations of bpb and bpb-n3, 2-D ------------------------------ */

enum { NB_SHAN_FATHER, NB_SHAN_NEIGHBOUR, NB_SHAN_RETURN, NB_SHAN_PROCEDURES };

/* Accesses count numbers, of which a body has three, position and mass, and an acceleration two. */
struct nb_shan_operations {
	int64_t gr, gw; /* global memory, read and written */
	int64_t sr, sw; /* shared memory */
	int64_t rr, rw; /* registers: the sum of a thread */
	int64_t cp;	/* interactions computed */
};

/* Accesses and interactions of the kernels shan-bpb, or improved shan-bpb-n3, on the current device: the kernels
 * themselves, compiled with counters.  Arguments, arrays and errors as of those kernels; g->acc is their result.  A box
 * of more bodies than a block has threads (1024) is loaded in several parts, of which each is counted.
 * NB_ENODEV in a build without CUDA. */
NB_MUST_CHECK int nb_shan_count_cuda(const struct nb_gravity *g, const struct nb_boxes *boxes, int improved,
	struct nb_shan_operations out[NB_SHAN_PROCEDURES]);

/* ---- Xu, Xu & Chen, technique 1: collisions at the end of a step ----------------------------------------- */

/* n bodies and what the step would do to them; all arrays on the host, n x 3 or n. */
struct nb_xu_step {
	size_t n;
	double *pos, *vel; /* before the step; on return after it */
	double *dx, *dv;   /* what the step adds; on return 0 for bodies that touched another */
	const double *mass, *radius;
};

/* As published: each pair is looked at once, in the order of the bodies, O(n^2), on one thread.  Two that touch where
 * the step takes them bounce: v changes as in an elastic collision along the line of their centres before the step,
 * whether they approach or not, and dx = dv = 0 for both, so that they stay where they are until the next step.  Pairs
 * that are looked at later see what has become of the bodies.  Then pos += dx and vel += dv. Bodies that pass through
 * each other within the step are not seen; of two bodies that still overlap after the next step the velocities turn
 * round again.  (kernels/motion/collide.h follows the bodies instead.) contacts: pairs that touched.  NB_ENONFINITE or
 * NB_EINVAL (a mass or radius is negative or not finite), with the positions as they were. */
NB_MUST_CHECK int nb_xu_collide(const struct nb_xu_step *step, uint64_t *contacts);

NB_C_END
#endif
