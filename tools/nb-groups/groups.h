/* groups.h - what the files of nb-groups share. */
#ifndef NB_GROUPS_TOOL_H
#define NB_GROUPS_TOOL_H

#include "formats/stream/stream.h"
#include "kernels/groups/groups.h"
#include "tools/filter/source.h"

/* How groups are found, and measured. */
enum { NB_GROUPS_DENSITIES = 5 };
struct nb_groups_law {
	double length, box;
	double a, flow;	 /* lengths are comoving: scale factor, and a H; 1 and 0 where nothing expands */
	size_t ndensity; /* of spheres; 0: none are wanted */
	double density[NB_GROUPS_DENSITIES];
	const char *name[NB_GROUPS_DENSITIES]; /* of columns: "m" and "r" come before it */
	const double *pot;		       /* of --bound: that of the members of a group alone */
};

/* Adds the expansion of a cosmological frame, and with the option --cosmology of any. */
void nb_groups_add_expansion(const struct nb_frame *frame, int option, struct nb_groups_law *law);
/* Adds a density; and those of --cosmology, from the attributes of the frame. */
void nb_groups_add_density(struct nb_groups_law *law, const char *name, double density);
void nb_groups_add_cosmology(const struct nb_frame *frame, struct nb_groups_law *law);

/* All bodies, in the precision that they are there in. */
struct nb_groups_reals nb_groups_reals_of(const struct nb_frame *frame);
/* The bodies of the frame become the groups, with what each group amounts to; all other tables go. */
void nb_groups_make_catalogue(struct nb_frame *frame, const struct nb_groups *groups, const struct nb_groups_law *law);

/* A new column of the table, on the host, to be filled. */
void *nb_groups_add_column(
	struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp, const char *unit);

/* The first frame of the file of --match; one of zeros is closed. */
struct nb_groups_other {
	struct nb_source source;
	struct nb_frame frame;
	size_t n;
	const uint64_t *group, *id; /* n */
	uint32_t *size;		    /* n + 1: bodies of each group */
};

void nb_groups_open_match(struct nb_run *run, struct nb_groups_other *other, const char *path);
void nb_groups_close_match(struct nb_groups_other *other);

/* The group of the other frame with the largest merit, shared^2 / (bodies here x bodies there). */
struct nb_groups_match {
	double merit;
	uint32_t group, shared; /* 0: no body is in a group there */
};

/* Of each group; group: those of the bodies of the frame.  To be released with nb_free. */
struct nb_groups_match *nb_groups_find_match(const struct nb_groups_other *other, const struct nb_frame *frame,
	const struct nb_groups *groups, const uint32_t *group);
/* Adds them to the table of the groups. */
void nb_groups_add_match(struct nb_frame *frame, const struct nb_groups_match *match);

#endif
