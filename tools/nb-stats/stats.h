/* stats.h - an instance of nb-stats, and its modes, for the files of the tool. */
#ifndef NB_STATS_H
#define NB_STATS_H

#include "formats/stream/stream.h"
#include "kernels/measure/measure.h"
#include "tools/filter/filter.h"
#include "tools/filter/plan.h"
#include "tools/filter/report.h"
#include "tools/filter/systems.h"

struct stats;

/* What the tool does with a stream.  NULL: nothing to do. */
struct mode {
	const char *option; /* that asks for it */
	void (*begin)(struct nb_run *run, struct stats *self);
	void (*frame)(struct nb_run *run, struct stats *self, struct nb_frame *frame);
	/* reads the stream without holding frames; NULL: whole frames are read and given to frame */
	void (*stream)(struct nb_run *run, struct stats *self);
	void (*end)(struct nb_run *run, struct stats *self);
	void (*clear)(struct stats *self);
	void (*work)(struct stats *self, struct nb_plan *plan);
};

/* The work of a mode that the host does. */
static inline void nb_stats_work_by_host(struct stats *self, struct nb_plan *plan)
{
	(void)self;
	nb_plan_by_host(plan);
}

enum {
	MEASURE,
	ATTRIBUTES,
	CHECK,
	COMPARE,
	FIELDS,
	HEALPIX,
	HISTORY,
	LEVELS,
	ORBITS,
	PROFILE,
	TRANSITS,
	VELOCITY,
	NMODE
};
extern const struct mode nb_stats_measure, nb_stats_attributes, nb_stats_check, nb_stats_compare, nb_stats_fields,
	nb_stats_healpix, nb_stats_history, nb_stats_levels, nb_stats_orbits, nb_stats_profile, nb_stats_transits,
	nb_stats_velocity;

enum epot { EPOT_AUTO, EPOT_DIRECT, EPOT_NONE };
enum by { BY_ALL, BY_SPECIES };
enum spacing { SPACING_EQUAL, SPACING_LOG, SPACING_LINEAR };
enum axis { AXIS_ANGULAR, AXIS_X, AXIS_Y, AXIS_Z };
enum shape { SHAPE_REDUCED, SHAPE_UNREDUCED };
enum { MAX_RADII = 32, SPECIES = 256 };

/* Bodies of a frame that are measured together, where the backend computes. */
struct group {
	int species; /* -1: any */
	size_t begin, n;
	const double *mass, *pos, *vel, *pot; /* vel, pot: NULL where they cannot be computed */
	const double *pot_field;	      /* of an external field, NULL: there is none */
	const double *spin;		      /* n x 3, NULL: there is none */
};

struct stats {
	int wanted[NMODE]; /* by options; of HEALPIX, nside */
	const char *compare_path, *lagrangian, *center, *species, *range, *orbits, *each;
	uint64_t each_value; /* of the bodies that are the frame in hand */
	struct {
		int open;		      /* the frames are */
		struct nb_frame sorted, part; /* by the column; of one value */
		uint64_t *value;	      /* of each body, in order */
		uint32_t *perm, *row;
	} parts; /* of --each, while a frame is measured */
	int by, by_number, bins, spacing, axis, shape, bound, nfw, rings, stack; /* enums of these names, and numbers */
	int shape_given;
	int boxed; /* the frame in hand is all of a periodic box */
	int epot;  /* enum epot */
	double eps;
	int eps_given;
	struct nb_report report;
	const struct mode *mode;

	/* what the options say */
	struct body { /* one that is named */
		enum { BODY_HEAVIEST, BODY_ID, BODIES_BEFORE, BODIES_ALL } kind;
		uint64_t id;
	} orbit_of;
	struct {
		enum { CENTRE_ORIGIN, CENTRE_COM, CENTRE_DENSITY, CENTRE_POINT, CENTRE_ID } kind;
		double pos[3];
		uint64_t id;
	} centre;
	size_t nspecies; /* of --species, 0: not given */
	unsigned char species_of[SPECIES];
	double inner, outer; /* --range: 0 and INFINITY where it does not say */

	/* the frame in hand */
	struct {
		const struct nb_backend *backend;
		struct group all;
		int pot_has_field; /* pot is the sum of that of the bodies and pot_field */
		size_t ngroup;
		struct group group[SPECIES];
		uint32_t *row;	 /* of the frame, for each body of the groups one after the other; NULL: all in order */
		void *owned[12]; /* where the backend computes ... */
		size_t nowned;
		struct here *here; /* ... and copies on the host */
	} bodies;

	/* what the modes keep from frame to frame */
	struct {
		size_t nradius;
		double percent[MAX_RADII], fraction[MAX_RADII];
		int started; /* frames that have been measured */
		int audited; /* the first one has errors */
		double first_etot;
		double last_time, way; /* of the frame before; from the one before that to it, 0: it began a run */
		int warned_of_epot, warned_of_velocities, warned_of_shape;
		unsigned char *bound_bodies; /* NULL: not known */
		const double *mutual_pot;    /* potentials that the bodies give each other, on the host */
		double *own_pot;
	} measure;
	struct {
		double *edge;
		struct nb_profile_bin *bin,
			*height; /* height: means and dispersions of the third coordinate of rings */
	} profile;
	struct nb_orbit *orbit;
	int named; /* orbits, transits and velocities have a column for names, as the first frame has some */
	struct {
		int axis, many; /* many: frames have systems */
		struct nb_systems systems;
	} velocity;
	struct {
		int axis, many, warned; /* many: frames have systems */
		struct nb_systems systems;
		struct passing {
			uint64_t id, system, count; /* transits so far */
			double time;		    /* of the state */
			struct nb_relative at;
		} * before, *now; /* of the bodies of the frame before, */
		size_t n;
		double time; /* and when that was */
	} transits;
	struct {
		struct nb_reader file;
		int opened;
		struct nb_frame ref, next; /* to compare with; the one after it */
		int several, more;	   /* the file has several frames; next is one */
		uint64_t count;		   /* frames compared so far */
		uint32_t *row;		   /* where the bodies of ref are in the frame */
		int warned_of_law, warned_of_places;
	} compare;
	struct {
		struct nb_frame before; /* without contents */
		int started;
	} list;
	struct {
		uint64_t nframe, nbody; /* seen so far */
		/* the first body of the frame that something is wrong with */
		struct fault {
			const char *field, *what; /* what is NULL: none */
			size_t row;
		} fault;
		/* the ids of the frame: from first_id on one by one, or as kept */
		uint64_t first_id, *id;
		size_t room; /* of id */
		int kept;
	} check;
};

/* ---- bodies.c: the bodies of a frame, and groups of them ---- */

/* Masses, positions and velocities of the frame where the backend computes, into self->bodies.all; a body without mass
 * or position ends the tool. */
void nb_stats_load(
	const struct nb_run *run, struct stats *self, struct nb_frame *frame, const struct nb_backend *backend);
/* Divides them into those that are measured together, by --species and --by. */
void nb_stats_divide(const struct nb_run *run, struct stats *self, struct nb_frame *frame);
/* Memory for count numbers where the backend computes, and contents of such memory on the host, both until the frame is
 * done. */
double *nb_stats_there(struct stats *self, size_t count, const struct nb_frame *frame);
const double *nb_stats_here(struct stats *self, const double *there, size_t count, const struct nb_frame *frame);
/* Forgets the bodies, and frees what was made of them. */
void nb_stats_release(struct stats *self);
/* The backend of the host. */
const struct nb_backend *nb_stats_host(void);

/* ---- potential.c ---- */

/* Potentials of all bodies into self->bodies.all, or NULL there if they cannot be computed. */
void nb_stats_potentials(struct nb_run *run, struct stats *self, struct nb_frame *frame);
void nb_stats_potentials_work(const struct stats *self, struct nb_plan *plan);

/* ---- bound.c ---- */

/* Which bodies of the frame are bound to each other, where they have velocities and potentials. */
void nb_stats_find_bound(
	struct nb_run *run, struct stats *self, const struct nb_frame *frame, const struct nb_centre *centre);
/* Their number and mass in the group, as numbers of the line; if that is the frame, their energies and radii too. */
void nb_stats_add_bound(struct nb_run *run, struct stats *self, const struct group *group, const struct nb_frame *frame,
	const struct nb_centre *centre);

/* ---- centre.c ---- */

/* The options --center, --orbits, --species and --range; a bad one ends the tool. */
void nb_stats_parse(struct stats *self);
/* The row of a body, which must be there: option is the one that names it. */
size_t nb_stats_row(const struct nb_frame *frame, uint64_t id, const char *option);
/* The centre of the frame in hand, whose moments these are; its velocity is 0 where there is none. */
struct nb_centre nb_stats_centre(
	const struct nb_run *run, struct stats *self, const struct nb_frame *frame, const struct nb_moments *moments);

/* ---- each.c ---- */

/* The mode's work for each value of the column, instead of the frame.  mixes: what of it would take bodies of several
 * systems as one, in words; NULL: nothing. */
void nb_stats_each(struct nb_run *run, struct stats *self, struct nb_frame *frame, const char *mixes);
/* Frees what nb_stats_each has, also where an error has ended it. */
void nb_stats_release_each(struct stats *self);
/* For all bodies of a periodic box: they are at the images that are nearest to the centre, if --center says where that
 * is, else to the mean of their places on the circles that the edges are.  What would be computed as in open space is
 * refused. */
void nb_stats_open_box(const struct stats *self, struct nb_frame *frame);
/* That value as a number of the line. */
void nb_stats_add_each(struct stats *self);

/* ---- common.c ---- */

/* The name of a body as the last text of the line, if named. */
void nb_stats_add_name(struct stats *self, const struct nb_names *names, uint64_t id);
/* For each body, when the state of its system was, as one that nb-step has ended is older than the frame; NULL: all are
 * of the time of the frame. */
const double *nb_stats_times(struct nb_frame *frame);
/* The row of the heaviest body of system k, the first of several; it has one. */
size_t nb_stats_heaviest(const struct nb_systems *of, size_t k, const double *mass);
/* Lagrangian radii as numbers of the line, whose names end with these words. */
void nb_stats_add_radii(struct stats *self, const double *radius, const char *of);
/* The head of the next frame, and its contents block by block to visit (NULL: nobody): 1, or 0 at the end. */
int nb_stats_next(struct nb_run *run, struct nb_frame *frame, nb_visit *visit, void *context);
/* Ends the tool if an id of the frame, of the file where (NULL: standard input), appears twice. */
void nb_stats_require_unique(size_t n, const uint64_t *id, const struct nb_frame *frame, const char *where);

#endif
