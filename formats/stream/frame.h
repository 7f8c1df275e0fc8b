/* frame.h - one time step: attributes and columns, wherever the columns live.
 *
 * A column has a wire form (its own dtype) and, when a tool asks, an f64 form (or u64, of unsigned integers); each may
 * exist on the host and on devices.  The frame copies and converts only when what is asked for is not there.
 * Library code: errors are returned, nothing is printed. */
#ifndef NB_STREAM_FRAME_H
#define NB_STREAM_FRAME_H

#include "common/space.h"
#include "common/status.h"
#include "formats/stream/field.h"

enum { NB_NAME_SIZE = 32, NB_DTYPE_SIZE = 8, NB_UNIT_SIZE = 24, NB_MAX_COPIES = 6, NB_MAX_COLUMNS = 1024 };

enum nb_form { NB_WIRE, NB_AS_F64, NB_AS_U64 /* to read columns of unsigned integers */ };

/* Memory that several columns use a part of, e.g. a mapped file.  Who takes the count to 0 calls release. */
struct nb_owner {
	_Atomic unsigned users;
	void (*release)(struct nb_owner *owner);
};

struct nb_copy {
	const struct nb_space *space; /* NULL: slot unused */
	enum nb_form form;
	int valid;
	struct nb_owner *owner; /* of the memory, NULL: the column */
	void *data;
	_Atomic unsigned *users; /* frames that share the memory (nb_frame_share); NULL: this one alone */
};

struct nb_column {
	char name[NB_NAME_SIZE + 1];
	char dtype[NB_DTYPE_SIZE + 1];
	char unit[NB_UNIT_SIZE + 1];
	enum nb_field field; /* NB_NFIELD: no standard one */
	enum nb_table table;
	uint32_t ncomp;
	uint32_t flags;
	size_t rows;	/* of its table when the column was added */
	size_t rowsize; /* bytes of one row in the wire form */
	int unrounded;	/* the f64 form was written and may hold more digits than the wire form can */
	unsigned never; /* what has been seen not to be there, bits of NB_BAD_... (space.h) */
	uint64_t state; /* another number after every change of the contents, of all columns of the process */
	struct nb_copy copy[NB_MAX_COPIES];
};

struct nb_attribute {
	char *key;   /* behind it is room for the text of the number */
	char *value; /* NULL: the number, which becomes text when somebody asks */
	double number;
	int is_number;	   /* number is what value says */
	size_t head, next; /* of a hash table of the keys: 1 more than a place in the array, 0: none */
};

/* What was found true of several columns together; true until one of them changes. */
enum nb_fact {
	NB_KEYS_CURRENT, /* key is sorted, and belongs to pos and the attributes key_cube and dim */
	NB_TREE_SOUND,	 /* the node table is one over these keys, positions and masses */
	NB_BOXES_SOUND,	 /* the box table is one over these keys */
	NB_EXTENT_KNOWN, /* extent is that of pos */
	NB_NFACT
};

struct nb_filler;
struct nb_frame {
	uint64_t rows[NB_NTABLE];
	struct nb_column *column;
	size_t ncolumn;
	struct nb_attribute *attribute; /* in order; "history" may appear many times, others once */
	size_t nattribute;
	uint64_t number;		/* of the frame in its stream, from 0: for messages */
	uint64_t fact[NB_NFACT];	/* state of the columns when the fact was noted, 0: never */
	double extent[6];		/* the largest -x, -y, -z, x, y, z, if that is known */
	const struct nb_filler *filler; /* makes the contents, which no column has (fill.h); NULL: they have */
};

void nb_frame_init(struct nb_frame *frame);
/* Releases everything; the frame is then as after nb_frame_init. */
void nb_frame_clear(struct nb_frame *frame);

/* ---- columns ------------------------------------------------------------------------------------
 * Pointers to columns stay valid until a column is added or dropped. */
struct nb_column *nb_frame_find(const struct nb_frame *frame, const char *name); /* NULL: not there */
struct nb_column *nb_frame_field(const struct nb_frame *frame, enum nb_field field);
/* Adds (or replaces) a column with undefined contents and the rows its table has now.
 * NULL: out of memory, a bad dtype, or more than NB_MAX_COLUMNS. */
struct nb_column *nb_frame_add(struct nb_frame *frame, const char *name, enum nb_table table, const char *dtype,
	uint32_t ncomp, const char *unit, uint32_t flags);
/* Adds a standard column as field.def has it. dtype NULL: the default one; ncomp 0: the default. */
struct nb_column *nb_frame_add_field(struct nb_frame *frame, enum nb_field field, const char *dtype, uint32_t ncomp);
void nb_frame_drop_field(struct nb_frame *frame, enum nb_field field);
void nb_frame_drop(struct nb_frame *frame, const char *name); /* nothing happens if it is not there */
/* Column name_a of *a and column name_b of *b change places; both must be there and have the same rows. */
void nb_frame_exchange(struct nb_frame *a, const char *name_a, struct nb_frame *b, const char *name_b);
void nb_frame_drop_table(struct nb_frame *frame, enum nb_table table); /* its columns; its rows become 0 */
/* Row k of a table becomes what row[k] was, k < n, in all its columns, whatever these hold; n may be smaller than the
 * rows that the table has.  row and the work are in that space; gather is the permutation of the backend that computes
 * there (nb_permute_cpu).  Returns 0, NB_ENOMEM, or what gather returns. */
typedef int nb_gather(size_t n, const uint32_t *row, size_t rowsize, const void *from, void *to);
nb_gather nb_gather_host; /* in host memory, by one thread */
NB_MUST_CHECK int nb_frame_gather(struct nb_frame *frame, enum nb_table table, size_t n, const uint32_t *row,
	const struct nb_space *space, nb_gather *gather);
/* The node and box tables, and the attributes that describe them and the keys' cube. */
void nb_frame_drop_tree(struct nb_frame *frame);
/* All that sorting and tree building add: these, the keys and their cube. */
void nb_frame_drop_order(struct nb_frame *frame);
int nb_attribute_is_of_tree(const char *key); /* whether it is one of these attributes, without that of the cube */
/* What a tool that moved bodies calls: drops all columns flagged NB_DERIVED, the node and box tables, and the
 * attributes that describe them. */
void nb_frame_drop_derived(struct nb_frame *frame);

/* ---- contents -----------------------------------------------------------------------------------
 * read: contents valid in that place.  write: contents undefined, all other copies become invalid.
 * update: contents valid, all other copies become invalid.  lend: contents valid, in memory that no other frame uses:
 * for who changes them for a while, and puts them back before anybody else looks.  NULL: out of memory or device
 * failure, a form that the column does not have, or no column to write (a new one: out of memory). */
const void *nb_column_read(struct nb_column *column, const struct nb_space *space, enum nb_form form);
void *nb_column_write(struct nb_column *column, const struct nb_space *space, enum nb_form form);
void *nb_column_update(struct nb_column *column, const struct nb_space *space, enum nb_form form);
void *nb_column_lend(struct nb_column *column, const struct nb_space *space, enum nb_form form);
/* Bytes of memory that lending takes on the host: 0 if the contents are in memory of this frame alone. */
size_t nb_column_lend_bytes(struct nb_column *column, enum nb_form form);
/* Contents written as f64 become what the columns' types can hold, as if the frame had been written and read; where
 * they live.  NB_OK or NB_ENOMEM (also: the device failed). */
NB_MUST_CHECK int nb_frame_round(struct nb_frame *frame);
/* Its numbers in another real type, "<f4" or "<f8".  NB_OK, NB_ENOMEM. */
NB_MUST_CHECK int nb_column_set_real(struct nb_column *column, const char *dtype);
/* The contents of a column of <f4, if they are on the host like that; else NULL. */
const float *nb_column_single(struct nb_column *column);
/* Frees copies other than the one valid copy that is cheapest to write out. */
void nb_column_trim(struct nb_column *column);
/* Replaces the contents, in wire form, by memory of space->alloc, which the column then owns. */
void nb_column_adopt(struct nb_column *column, const struct nb_space *space, void *data);
/* The same with a part of the host memory of an owner, which lives until the last of its users is gone. */
void nb_column_borrow(struct nb_column *column, struct nb_owner *owner, void *data);
void nb_owner_release(struct nb_owner *owner);

/* ---- attributes ---------------------------------------------------------------------------------
 * Keys: [A-Za-z0-9_]+.  Values: any text without NUL. */
const char *nb_frame_attribute(const struct nb_frame *frame, const char *key); /* NULL: not there */
const char *nb_frame_attribute_text(const struct nb_frame *frame, size_t k);   /* of number k */
NB_MUST_CHECK int nb_frame_set_attribute(struct nb_frame *frame, const char *key, const char *value);
NB_MUST_CHECK int nb_frame_set_attribute_f64(struct nb_frame *frame, const char *key, double value);
/* The same, and moves it behind all others; of several of this key one is left. */
NB_MUST_CHECK int nb_frame_set_last_attribute_f64(struct nb_frame *frame, const char *key, double value);
NB_MUST_CHECK int nb_frame_add_attribute(struct nb_frame *frame, const char *key, const char *value); /* repeats */
void nb_frame_drop_attribute(struct nb_frame *frame, const char *key);
/* The attributes error_..., which nb-force --audit leaves with acc: for who changes it.  They also go when it is
 * dropped. */
void nb_frame_drop_errors(struct nb_frame *frame);
/* Numeric attribute; fallback where absent. NB_EINVAL if present and no finite number. */
NB_MUST_CHECK int nb_frame_attribute_f64(const struct nb_frame *frame, const char *key, double fallback, double *value);

/* Whether the species are those of nb-gen's galaxies: disk, bulge and halo of one, 0 to 2, then of another, 3 to 5. */
int nb_frame_is_galaxy(const struct nb_frame *frame);

/* Number, rows, attributes and columns of another frame, without contents.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_frame_copy_head(struct nb_frame *to, const struct nb_frame *from);
/* Attributes of the same keys and values, columns of the same names and contents.  Contents are not copied, wherever
 * they are: both frames use the same memory until one of them changes it, which then gets its own.  The two may go to
 * different threads.  0 or NB_ENOMEM. */
NB_MUST_CHECK int nb_frame_share(struct nb_frame *to, struct nb_frame *from);
/* Gives the frame away: all that *from has, which is empty then (last), or a share of it. */
NB_MUST_CHECK int nb_frame_give(struct nb_frame *to, struct nb_frame *from, int last);

/* Index of the first row of a column of <f4 or <f8 (any other has none) that holds a number which is what (space.h):
 * NaN or infinite, negative; rows if there is none.  Looked for where the column lives.  SIZE_MAX: out of memory, or
 * the device failed. */
size_t nb_column_first_bad(struct nb_column *column, unsigned what);

/* ---- facts --------------------------------------------------------------------------------------
 * So that what a tool has made or checked is not checked again by the next one in the same process. */
void nb_frame_note(struct nb_frame *frame, enum nb_fact fact);
int nb_frame_knows(const struct nb_frame *frame, enum nb_fact fact);
/* The extent of pos as it is now, of <f8. */
void nb_frame_note_extent(struct nb_frame *frame, const double extent[6]);

/* "id, mass, pos" into buffer, cut with "..." if too long. Returns buffer. */
const char *nb_frame_list(const struct nb_frame *frame, char *buffer, size_t size);

#endif
