/* select.h - an instance of nb-select, for the files of the tool. */
#ifndef NB_SELECT_H
#define NB_SELECT_H

#include "kernels/cosmology/cosmology.h"
#include "tools/filter/expression.h"
#include "tools/filter/filter.h"

enum { NB_SELECT_SCRATCH = 8 };

/* Frames from to to, both included, every step-th; negative: from the end, -1 is the last. */
struct frame_range {
	int64_t from, to;
	uint64_t step;
	int single, found;
	const char *text; /* where it begins in the option, of so many characters */
	int length;
};

/* Times, both included. */
struct time_range {
	double from, to;
	int single, found;
};

struct id_range {
	uint64_t from, to;
	int found; /* in the present frame */
};

enum sample_kind { SAMPLE_ALL, SAMPLE_PART, SAMPLE_NUMBER };

struct select {
	/* options */
	const char *frames, *times, *where_text, *ids, *sample, *fields, *drop, *sort;
	uint64_t seed;
	const char *cone;
	double light;
	int drop_table; /* 1 + enum nb_table */
	int keep_derived, recover;

	/* the same, parsed */
	struct frame_range *frame;
	size_t nframe;
	struct time_range *time;
	size_t ntime;
	struct id_range *id;
	size_t nid;
	char **field, **dropped; /* names, NULL-terminated; NULL: not given */
	struct nb_expr *where, *order;
	void *scratch[NB_SELECT_SCRATCH]; /* memory for one frame */
	int nscratch;
	int descending;
	enum sample_kind sample_kind;
	double part;
	uint64_t number;

	double observer[3];	/* of --light-cone; */
	struct nb_frame before; /* the frame before, its universe and scale factor, */
	struct nb_cosmology law;
	double a;
	int has_before; /* if there is one */

	/* what is known of the frames */
	int holds;	      /* a frame is held until it is known whether it is the last */
	uint64_t total;	      /* how many there are, UINT64_MAX: not known */
	struct nb_frame held; /* the last one, */
	int is_held;	      /* if there is one */
	uint64_t nseen;	      /* frames */
	int warned_of_ids;
};

/* The words of a list, "a,b,c", NULL-terminated; wrong usage ends the tool. */
char **nb_select_words(const char *option, const char *list);
void nb_select_free_words(char **words);

/* ---- frames.c: which frames ---- */

void nb_select_parse_frames(struct select *s);
void nb_select_parse_times(struct select *s);
/* Finds out how many frames there are, if that is needed and can be known before they have been read. */
void nb_select_count_frames(struct nb_run *run, struct select *s);
/* Whether a frame may be selected, as its number and its attributes tell. */
int nb_select_wants(struct nb_run *run, void *self, const struct nb_frame *frame);
/* Whether it is, once it is known whether it is the last. */
int nb_select_wants_now(const struct select *s, const struct nb_frame *frame, int is_last);
/* A frame that may be selected, on the way to nb_emit; and the one that is held until it is known whether it is the
 * last. */
void nb_select_take(struct nb_run *run, struct select *s, struct nb_frame *frame);
void nb_select_emit_held(struct nb_run *run, struct select *s, int is_last);
/* After the last frame: what was asked for by number or time and has not come ends the tool. */
void nb_select_require_found(struct select *s);

/* ---- cone.c: --light-cone ---- */

/* Of the options. */
void nb_select_check_cone(struct nb_run *run, struct select *s);
/* What crosses the cone between the frame before and this one goes out. */
void nb_select_cross(struct nb_run *run, struct select *s, struct nb_frame *frame);

/* ---- arguments.c ---- */

void nb_select_parse_sample(struct select *s);
void nb_select_parse_order(struct select *s);
/* Of the list, or of the file. */
void nb_select_read_ids(struct select *s);

/* ---- bodies.c: which bodies, and in which order ---- */

/* Whether any body of a frame may be left out, or change its place. */
int nb_select_touches_bodies(const struct select *s);
/* These, of the columns that nb_select_columns leaves. */
void nb_select_bodies(struct nb_run *run, struct select *s, struct nb_frame *frame);
/* Releases the memory for a frame but the first so many blocks. */
void nb_select_release(struct select *s, int kept);

/* ---- columns.c: which columns ---- */

/* Whether the accelerations go, and with them what could complete a kick (tools/filter/kick.h). */
int nb_select_drops_acc(const struct select *s);
/* Drops the columns that the options leave out. */
void nb_select_columns(const struct select *s, struct nb_frame *frame);
/* Whether --fields names it. */
int nb_select_names(const struct select *s, const char *name);

/* ---- stream.c: on streams ---- */

/* Frames that are copied as they come, without being held. */
void nb_select_copy(struct nb_run *run, void *self);
/* All whole frames of an input that may be cut or damaged. */
void nb_select_recover(struct nb_run *run, void *self);

#endif
