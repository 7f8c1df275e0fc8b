/* stats.h - an instance of nb-stats, and its modes, for the files of the tool. */
#ifndef NB_STATS_H
#define NB_STATS_H

#include "formats/stream/stream.h"
#include "tools/filter/filter.h"
#include "tools/filter/report.h"

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

enum { MEASURE, ATTRIBUTES, CHECK, COMPARE, FIELDS, HISTORY, NMODE };
extern const struct mode nb_stats_measure, nb_stats_attributes, nb_stats_check, nb_stats_compare, nb_stats_fields,
	nb_stats_history;

enum epot { EPOT_AUTO, EPOT_DIRECT, EPOT_NONE };
enum { MAX_RADII = 32 };

struct stats {
	int wanted[NMODE]; /* by options */
	const char *compare_path, *lagrangian;
	int epot; /* enum epot */
	double eps;
	int eps_given;
	struct nb_report report;
	const struct mode *mode;

	/* what the modes keep from frame to frame */
	struct {
		size_t nradius;
		double percent[MAX_RADII], fraction[MAX_RADII];
		int started; /* a frame has been measured */
		double first_etot;
		int warned_of_epot, warned_of_velocities;
	} measure;
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

/* The head of the next frame, and its contents block by block to visit (NULL: nobody): 1, or 0 at the end. */
int nb_stats_next(struct nb_run *run, struct nb_frame *frame, nb_visit *visit, void *context);
/* Ends the tool if something failed with a frame. */
void nb_stats_require_ok(int status, const struct nb_frame *frame);
/* Ends the tool if an id of the frame, of the file where (NULL: standard input), appears twice. */
void nb_stats_require_unique(size_t n, const uint64_t *id, const struct nb_frame *frame, const char *where);

#endif
