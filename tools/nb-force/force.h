/* force.h - an instance of nb-force, for the files of the tool. */
#ifndef NB_FORCE_H
#define NB_FORCE_H

#include "kernels/papers/papers.h"
#include "kernels/treepm/treepm.h"
#include "tools/filter/filter.h"
#include "tools/filter/source.h"

enum method { METHOD_AUTO, METHOD_DIRECT, METHOD_TREE, METHOD_NEAR, METHOD_FMM, METHOD_TREEPM };
/* --precision: those of enum nb_precision, then auto */
enum { PRECISION_AUTO = NB_F64 + 1 };

struct force {
	int method, precision, mac, order;
	int potential, jerk, kernel_of_softening;
	double softening, theta, alpha, G;
	int theta_given, mac_given, order_given;
	int audit;		 /* bodies */
	double audited;		 /* what the 99th percentile of the errors of all bodies does not exceed */
	double accuracy;	 /* 0: not asked for */
	double box;		 /* edge of the periodic box of the frame; 0: none */
	int systems;		 /* the frame has column system */
	int mesh;		 /* --mesh; 0: not given */
	double split;		 /* --split; 0: not given */
	struct nb_treepm treepm; /* of this frame */
	struct nb_treepm_kept meshes;
	int attempts;
	int missed; /* frames whose errors stayed above it */
	int leaf_size;
	struct {
		struct nb_run *maker[2]; /* that make one; NULL: none is wanted */
		char size[12];		 /* of leaves, as an argument of one of them */
		int sorted, built;	 /* for this frame */
	} tree;
	struct { /* memory of a frame, while it is audited or some of its bodies are active */
		const struct nb_space *space;
		void *there[4]; /* in space ... */
		size_t nthere;
		void *here[5]; /* ... and on the host */
		size_t nhere;
	} scratch;

	const char *at_path; /* --at */
	struct {
		struct nb_source source;
		struct nb_frame now, next, out; /* points, those after them, and with forces */
		int several, more;		/* the file has several frames; next is one */
		uint64_t count;			/* frames of sources so far */
	} at;

	const char *kernel_text; /* --kernel */
	const struct nb_paper_kernel *kernel;
	int kernel_parameter[NB_PAPER_PARAMETERS];
};

/* ---- the method, and the order of its multipoles (method.c) ---- */

extern const char *const nb_method_name[];
/* For a frame with or without a tree, and boxes. */
enum method nb_force_method(const struct force *opt, int tree, int boxes);
/* With --at: METHOD_DIRECT or METHOD_TREE. */
enum method nb_force_at_method(const struct force *opt);
/* Ends the tool if -p does not go with the other options. */
void nb_force_check_order(const struct force *opt);
/* Ends it where the backend has no walk of that order. */
_Noreturn void nb_force_refuse_order(const struct nb_run *run, const struct force *opt, const struct nb_frame *frame);

/* ---- what to do (work.c) ---- */

/* Of fmm. */
int nb_force_order(const struct force *opt, int dim);
/* Of bodies that are spread over ranks; NULL, or why they cannot be. */
const char *nb_force_spread(
	const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law);
/* The hook small. */
const char *nb_force_small(const struct nb_run *run, const void *self, const struct nb_frame *frame);
void nb_force_work(struct nb_run *run, void *self, struct nb_plan *plan);

/* ---- trees that the frame does not have (tree.c) ---- */

/* Makes what will make them, if they may be wanted. */
void nb_force_tree_check(struct nb_run *run, struct force *opt);
void nb_force_tree_clear(struct force *opt);
/* Sorts the bodies of the frame and builds a tree of them, unless that has been done and none has moved since. */
void nb_force_tree_make(struct nb_run *run, struct force *opt, struct nb_frame *frame);
/* What that has added. */
void nb_force_tree_drop(struct force *opt, struct nb_frame *frame);
/* Adds the work of making one. */
void nb_force_tree_plan(struct nb_run *run, const struct force *opt, struct nb_plan *plan);
/* As the hook spread, for the programs that this one stands for. */
const char *nb_force_tree_spread(
	const struct nb_run *run, const struct force *opt, const struct nb_frame *frame, struct nb_domain_law *law);

/* ---- a periodic box (box.c) ---- */

/* --mesh and --split: what contradicts them ends the tool. */
void nb_force_box_check(const struct force *opt);
/* Of a frame with n bodies in a box, the method, where the one for other frames is this. */
enum method nb_force_box_method(const struct force *opt, enum method method, double n);
/* Its edge, 0: there is none, and the method.  Ends the tool where it cannot obey it, or bodies are outside; sums are
 * computed on the CPU from here on, unless a device has been asked for. */
double nb_force_box(struct nb_run *run, struct force *opt, enum method *method, struct nb_frame *frame);
/* The forces there, of all bodies or, as gravity_points of a backend, at points. */
int nb_force_box_forces(const struct nb_backend *backend, struct force *opt, enum method method,
	const struct nb_gravity *g, const struct nb_gravity_points *points, struct nb_gravity_count *count);
/* A softening that is too long for it ends the tool. */
void nb_force_check_box_softening(
	const struct force *opt, enum method method, struct nb_frame *frame, const struct nb_gravity *g);
/* For an audit, in host memory: the accelerations, and as strength the root mean square of them. */
int nb_force_box_exact(const struct nb_gravity *g, double box, const struct nb_gravity_points *points);

/* ---- many systems (systems.c) ---- */

/* Whether the frame has column system.  Ends the tool where it cannot keep systems apart; else it computes on the CPU
 * from here on. */
int nb_force_has_systems(struct nb_run *run, const struct force *opt, enum method method, const struct nb_frame *frame);
/* The forces of the bodies of each system on each other. */
int nb_force_systems(struct nb_frame *frame, const struct nb_gravity *g, struct nb_gravity_count *count);

/* ---- measured errors (audit.c) ---- */

/* Memory of a frame on the host, count times size bytes, until nb_force_scratch_clear; ends the tool if there is none.
 */
void *nb_force_here(struct force *opt, const struct nb_frame *frame, size_t count, size_t size);
/* The same in opt->scratch.space. */
void *nb_force_there(struct force *opt, const struct nb_frame *frame, size_t count, size_t size);
void nb_force_scratch_clear(struct force *opt);

enum { NB_FORCE_ERRORS = 160 };
/* A method whose forces are not those of all bodies cannot be audited: ends the tool. */
void nb_force_audit_check(const struct force *opt, enum method method, const struct nb_frame *frame);
/* Compares accelerations of some bodies with direct sums: the attributes of the frame, and text for people; drops those
 * of earlier forces.  text is "" without --audit. */
void nb_force_audit(struct nb_run *run, struct force *opt, struct nb_frame *frame, const struct nb_gravity *g,
	char text[NB_FORCE_ERRORS]);

/* Finite bodies may have a result that is not: ends the tool.  column NULL: it was not asked for. */
void nb_force_require_in_range(
	struct nb_run *run, const char *name, struct nb_frame *frame, struct nb_column *column, const char *what);

/* ---- forces on some bodies (active.c) ---- */

enum { NB_FORCE_ACTIVE = 80 };
/* Computes the forces on the bodies whose column active is not 0, where that is less work than all of them; the others
 * have 0.  Returns 0 if all forces are to be computed, else 1 with *status.  text is for people: how many they are, or
 * why all are computed; "" without the column. */
int nb_force_active(struct nb_run *run, struct force *opt, enum method method, struct nb_frame *frame,
	const struct nb_gravity *g, struct nb_gravity_count *count, int *status, char text[NB_FORCE_ACTIVE]);

/* ---- errors that are asked for (accuracy.c) ---- */

enum { NB_FORCE_AUDITED = 1024 }; /* bodies, unless --audit says another number */
void nb_force_accuracy_check(const struct nb_run *run, struct force *opt);
/* The angle whose errors are about these. */
double nb_force_angle(double accuracy);
enum nb_precision nb_force_precision(const struct force *opt, enum method method);
/* What the options ask of the walk of a tree, by NB_MAC_GEOMETRIC. */
struct nb_tree_walk nb_force_walk(const struct nb_run *run, const struct force *opt);
/* Before the forces of a frame: sets the angle. */
void nb_force_aim(struct force *opt, enum method method, struct nb_frame *frame);
/* After them and their audit: leaves the angle of the next frame in this one, and sets it; whether the forces are to be
 * computed again with it. */
int nb_force_missed(struct force *opt, enum method method, struct nb_frame *frame);

/* ---- forces at points (points.c) ---- */

/* What contradicts --at ends the tool. */
void nb_force_at_check(struct nb_run *run, const struct force *opt);
void nb_force_at_begin(struct nb_run *run, struct force *opt);
/* Makes a frame of sources the frame of the points, with the field there. */
void nb_force_at(struct nb_run *run, struct force *opt, struct nb_frame *frame);
/* Points that no sources have come for are an error. */
void nb_force_at_end(const struct force *opt);
void nb_force_at_clear(struct force *opt);

/* ---- kernels of the papers (kernels.c) ---- */

/* Finds the kernel asked for and its backend, and refuses options that it does not have. */
void nb_force_choose_kernel(struct nb_run *run, struct force *opt);
/* --kernel help: prints all kernels, also those that this build cannot run, and ends the tool. */
_Noreturn void nb_force_list_kernels(struct nb_run *run);
int nb_force_run_kernel(const struct force *opt, const struct nb_gravity *g, const struct nb_boxes *boxes,
	struct nb_gravity_count *count);

/* ---- G and softening (softening.c) ---- */

double nb_force_constant(const struct nb_run *run, const struct force *opt, const struct nb_frame *frame);
/* Before pointers into the frame are taken: column eps says what -e says. */
void nb_force_spread_softening(struct nb_run *run, const struct force *opt, struct nb_frame *frame);
/* What the options and the frame say of it.  who: the method or kernel, which only_common says has one Plummer
 * softening for all bodies. */
void nb_force_soften(struct nb_run *run, const struct force *opt, struct nb_frame *frame, struct nb_gravity *g,
	const char *who, int only_common);
/* Says in the frame what law of force g was; drops what a run under another law has left there. */
void nb_force_note_law(struct nb_run *run, const struct force *opt, struct nb_frame *frame, const struct nb_gravity *g);

/* What ("kernel NAME", "method fmm") is 2-D and the frame is not: ends the tool. */
void nb_force_require_plane(const struct nb_run *run, const char *what, const struct nb_frame *frame);

#endif
