/* exchange.h - the formats of other programs: one row a format.
 *
 * A format is a constant struct nb_format nb_format_x in FOLDER/x.c; the Makefile finds it by that line.  Files of this
 * folder are what formats share, those of hdf5/ what the formats in HDF5 share.  A row says what the format is called,
 * what it can hold, and how it is read and written; whoever converts looks there and knows no format by name.
 *
 * A format reads from a path, or from a file descriptor that may be a pipe: one frame after the other, whether its file
 * holds one, several, or the frame is spread over several files.  It writes to a path or to a pipe.
 * Library code: nothing is printed, nothing exits. */
#ifndef NB_EXCHANGE_H
#define NB_EXCHANGE_H

#include "formats/stream/stream.h"

#include <stdio.h>

enum { NB_EXCHANGE_ERROR_SIZE = 640, NB_HEAD = 4096 };

/* Attribute of a frame: "gadget" where species are the particle types of GADGET, 0 gas, 1 halo, 2 disk, 3 bulge,
 * 4 stars, 5 black holes or boundary; elsewhere species are what a model has numbered. */
#define NB_TYPES "types"

struct nb_import;
struct nb_export;
struct nb_bytes;
struct nb_output;

enum nb_format_trait {
	NB_MANY_FRAMES = 1,	    /* a file holds several frames */
	NB_ONLY_VALID = 2,	    /* what is written must be what field.def says of it: finite, not negative */
	NB_LOSES_EMPTY = 4,	    /* of several frames, one without bodies leaves no trace */
	NB_LOSES_G = 8,		    /* attribute G; readers must be told it */
	NB_FIXED_G = 16,	    /* attribute G; readers take the G of the row */
	NB_LOSES_KICK = 32,	    /* attribute pending_kick */
	NB_LOSES_TIME = 64,	    /* attribute time */
	NB_LOSES_TIME_OF_ONE = 128, /* the same, where a file holds one frame only */
	NB_MANY_FILES = 512,	    /* a frame may be spread over several files */
	NB_JOINS_FILES = 2048,	    /* a file that is one of several is read with the others */
	NB_TEXT = 4096,		    /* lines that a terminal can show; all other formats are binary */
	NB_UNCHECKED = 8192,	    /* numbers of bodies that are wanted are looked at when they have been chosen */
	NB_HOLDS_SOFTENING = 1024,  /* attribute softening, which NB_LOSES_KICK would lose too, */
	NB_HOLDS_UNIVERSE = 16384,  /* and the box of a cosmological frame, with omega0 and omega_lambda */
	NB_OWN_UNIVERSE = 32768,    /* units of a cosmological frame are its own, and omega0 is not in the file */
	NB_TABLE = 256 /* text with named columns, which spreadsheets read: columns, safe, plain; if it is not plain,
			  it loses no attribute and no frame */
};

struct nb_format {
	const char *name;  /* as in --from csv */
	const char *about; /* in messages: "csv text" */
	/* Those of its files, "hdf5 h5", which also stand for the name if no other format has them before; or NULL. */
	const char *suffixes;
	int place;	 /* in lists: formats stand in ascending order */
	unsigned traits; /* what it can hold and what it loses */
	uint64_t needs;	 /* NB_NEED(...): fields without which no frame can be written; pos always is needed */
	double G;	 /* what is read has this gravitational constant, where the file itself says nothing */

	/* What this build lacks to read it, for a message; NULL: nothing. */
	const char *(*lacks)(void);

	/* 1 if a file is of this format that begins with these n bytes (all that it has, or NB_HEAD) and has so many
	 * bytes (0: that is not known, as of a pipe).  NULL: a file of this format cannot be told from others. */
	int (*recognises)(const unsigned char *head, size_t n, uint64_t size);

	/* Reading, if open is not NULL; formats without it stand behind the others, formats that are only read before
	 * them.  open and next return after they
	 * have set in->error; NB_ENOMEM needs none. */
	size_t import_size; /* of in->state, which is zero before open */
	int (*open)(struct nb_import *in);
	/* The next frame into one that is empty. */
	enum nb_answer (*next)(struct nb_import *in, struct nb_frame *frame);
	void (*close)(struct nb_import *in); /* releases what the state holds, whatever went before */

	/* Writing, if frame is not NULL.  All return NB_OK; NB_EINVAL after nb_export_fail; NB_ENOMEM; -1 with errno:
	 * writing failed. */
	size_t export_size; /* of out->state, which is zero before begin */
	/* What comes before the first frame (or frames: out->several), which looks like this.  NULL: nothing. */
	int (*begin)(struct nb_export *out, const struct nb_frame *first);
	int (*frame)(struct nb_export *out, const struct nb_frame *frame); /* writes nothing if it refuses */
	int (*end)(struct nb_export *out);  /* what comes behind the last frame.  NULL: nothing */
	int (*none)(struct nb_export *out); /* a stream without frames, unless it is plain.  NULL: it has no place */
	void (*release)(struct nb_export *out); /* what the state holds, whatever went before.  NULL: nothing */
	/* 1 if a reader gets this column of bodies back, from the file or because it follows from what is there. */
	int (*holds)(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column);
};

#define NB_NEED(field) ((uint64_t)1 << (field))

/* Format number k in the order of lists, NULL past the last. */
const struct nb_format *nb_format_number(size_t k);
/* The format of this name, or suffix, that can be read, or else written; NULL: there is none. */
const struct nb_format *nb_format_named(const char *word, int read);
/* The format in which a file of this name would be written; NULL: its suffix is that of none. */
const struct nb_format *nb_format_of_suffix(const char *path);
/* The format that recognises the regular file of this path, or the first of several of this stem; NULL: none does. */
const struct nb_format *nb_format_of_file(const char *path);

/* ---- reading ------------------------------------------------------------------------------------ */

/* Part of what is there; zeros: all.  A format that can skip the rest does (subset.h); what it reads all the
 * same is dropped for it, and may be wrong. */
struct nb_subset {
	uint64_t first, count; /* count frames (0: all) from number first */
	/* whether a column is wanted, NULL: all are */
	int (*wants)(void *context, const char *name);
	void *context;
	/* bodies, all of which must hold: of the rows of the frame, numbered from 0 in the order of the file, those
	 * from row_first to row_last, every row_step-th (0: all); */
	uint64_t row_first, row_last, row_step;
	uint64_t species[4];  /* those of species s: bit s % 64 of number s / 64; no bit: all */
	const double *sphere; /* those in a sphere x, y, z, radius, with its surface; NULL: all */
	int one_file;	      /* the file that is opened, alone, of several that belong together (NB_JOINS_FILES) */
	int keep_derived;     /* columns that follow from all bodies stay where bodies are left out */
};

/* Which bodies a format has left out of a frame, in this order: by rows, by species too, by all. */
enum nb_selected { NB_SELECTED_NONE, NB_SELECTED_ROWS, NB_SELECTED_SPECIES, NB_SELECTED_ALL };

struct nb_import {
	const struct nb_format *format;
	const char *path;	/* NULL: fd is all there is */
	const char *name;	/* of the file, for messages */
	int fd;			/* open for reading */
	struct nb_bytes *bytes; /* what it says, from the beginning (bytes.h) */
	struct nb_subset subset;
	enum nb_selected selected; /* set by the format with a frame */
	int usual_units;     /* set by the format: G and units of the frame are not from the file, but what is usual */
	double omega0;	     /* > 0: what is read is of an expanding universe with this attribute; of formats with
				NB_OWN_UNIVERSE, set before the first frame */
	int safe;	     /* the text was written with safe: see nb_export */
	const char *columns; /* names of the columns of a text without header, as "mass,x,y"; NULL: the text has one */
	char separator;	     /* of the cells of a text, ' ': any white space; 0: what divides its header line */
	int complete;	     /* set by the format: nothing is to be added to what the file says */
	char warning[NB_EXCHANGE_ERROR_SIZE]; /* set by the format with a frame that is not all that the file holds */
	uint64_t nframe;		      /* frames passed, wanted or not */
	char error[NB_EXCHANGE_ERROR_SIZE];
	char hint[128]; /* what the file seems to be if it is not of the format that was asked for */
	char *opened;	/* the path that was opened, where it is another than the one given */
	void *state;	/* of the format */
};

struct nb_table_text {
	int safe;
	const char *columns;
	char separator;
};

/* The format of a file that begins with these n bytes: the first, in the order of lists, that recognises it; size as
 * for struct nb_format.  NULL: none does. */
const struct nb_format *nb_format_recognised(const unsigned char *head, size_t n, uint64_t size);

/* Begins to read the file of this path, or (NULL) standard input, which is fd; format NULL: the one that recognises it;
 * subset NULL: all of it; table: as in struct nb_import, NULL: zeros.  If there is no such file, but PATH.0 or
 * PATH.0.hdf5, the first of several files, that is read.  NB_OK; -1 with errno: the file cannot be opened; else
 * in->error says why. */
NB_MUST_CHECK int nb_import_open(struct nb_import *in, const struct nb_format *format, int fd, const char *path,
	const struct nb_subset *subset, const struct nb_table_text *table);
/* The next frame (*frame is cleared first), which gets its number and, without an attribute G, that of the format.  On
 * NB_ERROR in->error says why. */
enum nb_answer nb_import_next(struct nb_import *in, struct nb_frame *frame);
/* Releases what is held.  Nothing happens to one that is zero, or closed already. */
void nb_import_close(struct nb_import *in);
/* The name for a message: of a very long path the end, so that the reason still fits. */
const char *nb_import_tail(const struct nb_import *in);

/* ---- writing ------------------------------------------------------------------------------------ */

struct nb_export {
	const struct nb_format *format;
	const char *path; /* NULL: standard output */
	int several;	  /* more than one frame will come: set before the first is written */
	/* Text that a spreadsheet would compute gets an apostrophe before it, and so does text that begins with one, so
	 * that reading with safe gives the same text back; for formats with NB_TABLE, set before the first frame. */
	int safe;
	int plain;			      /* no comments: for formats with NB_TABLE, set before the first frame */
	char separator;			      /* of cells, 0: a comma; for formats with NB_TABLE */
	unsigned files;			      /* files that a frame is to be spread over; 0: as many as it needs */
	uint64_t nframe;		      /* frames written */
	char warning[NB_EXCHANGE_ERROR_SIZE]; /* set by the format with a frame of which something is changed */
	char error[NB_EXCHANGE_ERROR_SIZE];
	struct nb_output *output; /* where bytes go (output.h) */
	struct nb_beside *beside; /* further files, the last first */
	int only_beside;	  /* set by the format: they are all there is, output stays empty and gets no name */
	void *state;		  /* of the format */
};

/* Prepares to write a file of this path, or (NULL) standard output.  A regular file gets its name when it is closed, so
 * that a failure leaves an older one as it was (output.h).  NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_export_open(struct nb_export *out, const struct nb_format *format, const char *path);
/* Both: NB_OK; NB_EINVAL: the format cannot hold that, out->error says why; NB_ENOMEM; -1 with errno: writing failed.
 * Closing writes what is buffered, and checks; if it fails, nb_export_abandon must follow. */
NB_MUST_CHECK int nb_export_frame(struct nb_export *out, const struct nb_frame *frame);
NB_MUST_CHECK int nb_export_close(struct nb_export *out);
/* Releases what is held, and drops the file, after a failure.  Nothing happens to one that is zero, or closed already.
 */
void nb_export_abandon(struct nb_export *out);
/* For formats: a further file of this path, which gets its name when all are written.  NULL: out of memory. */
struct nb_output *nb_export_beside(struct nb_export *out, const char *path);
/* For formats: closes what open_memstream has given; the text, NULL: out of memory. */
char *nb_export_text(FILE *to, char **text);
/* For formats: sets out->error; returns NB_EINVAL. */
int nb_export_fail(struct nb_export *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
