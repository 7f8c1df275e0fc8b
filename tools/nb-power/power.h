/* power.h - what the files of nb-power share. */
#ifndef NB_POWER_H
#define NB_POWER_H

#include "kernels/mesh/mesh.h"
#include "kernels/near/near.h"
#include "tools/filter/filter.h"
#include "tools/filter/report.h"
#include "tools/filter/source.h"

enum { NB_POWER_MESHES = 4, NB_POWER_FOLDS = 16 };

/* Bodies whose density is measured, where the backend computes. */
struct nb_power_bodies {
	size_t n;
	struct nb_reals pos;
	const double *mass; /* NULL: 1 each */
	double total, shot; /* sum m, sum m^2 / (sum m)^2 */
};

/* --pairs: what is counted. */
struct nb_power_pairs {
	const char *edges, *project, *randoms; /* as given, NULL: not */
	double edge[NB_PAIR_BINS + 1];
	struct nb_pair_bins bins;
	struct nb_near_bodies with; /* those of --randoms, and their pairs */
	uint64_t *rr;
};

struct nb_power {
	int cells, order, alone, fold, subtract;
	double box, limit;
	const char *cross;
	struct nb_report report;
	struct nb_power_pairs pairs;
	struct nb_source source; /* of --cross or --randoms, */
	struct nb_frame other;	 /* and its first frame */
	struct nb_power_bodies with;
	int loaded;		      /* they are there */
	const struct nb_space *space; /* of the meshes */
	void *mesh[NB_POWER_MESHES];  /* two of each density */
	struct nb_mesh_shell *shell;
	struct {
		double paint, transform, shells;
	} seconds;
};

/* The bodies of a frame, in the place of run->backend. */
struct nb_power_bodies nb_power_load(struct nb_run *run, const struct nb_frame *frame);
/* Meshes and shells, unless they are there. */
void nb_power_make_room(struct nb_run *run, struct nb_power *self);
void nb_power_release(struct nb_power *self);
/* Sums over shells of the box, folded `fold` times along each edge, as self->shell. */
void nb_power_measure(struct nb_run *run, struct nb_power *self, const struct nb_frame *frame,
	const struct nb_power_bodies *bodies, double box, int fold);

/* The option --pairs and those that need it, before anything is read. */
void nb_power_check_pairs(struct nb_power *self);
/* Prints the correlation function of a frame.  box 0: not periodic. */
void nb_power_find_pairs(struct nb_run *run, struct nb_power *self, struct nb_frame *frame, double box);

#endif
