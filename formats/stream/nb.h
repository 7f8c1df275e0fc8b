/* nb.h - the particle stream of nb for programs of your own: frames are read, changed, made and written.
 *
 *     cc -o filter filter.c $(pkg-config --cflags --libs nb)
 *
 * nb-filter(7) has a filter to start from and says what is expected of one; nb-stream(5) describes the stream, the
 * standard columns with their units, and the attributes.
 *
 * Errors: a function that returns int returns 0, or another number if it failed.  One that returns a pointer returns
 * NULL.  Nothing is printed, and nothing ends the process, with one exception: a regular file is mapped into memory,
 * and if another program makes it shorter meanwhile, the process ends with status 1 and one line on standard error.
 * The text of an error is one phrase in lower case without a full stop.
 *
 * Threads: different readers, writers and frames may be used by different threads at the same time.  One reader, writer
 * or frame, const functions included, is used by one thread at a time.
 *
 * Everything that begins with nb_ or NB_ belongs to this library. */
#ifndef NB_H
#define NB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nb_reader;
struct nb_writer;
struct nb_frame;

/* ---- reading ------------------------------------------------------------------------------------ */

enum nb_answer { NB_FRAME = 1, NB_END = 0, NB_ERROR = -1 };

/* A reader of an open file, pipe or socket, such as 0, standard input.  NULL: out of memory. */
struct nb_reader *nb_reader_new(int fd);
/* Reads the next frame in place of what *frame holds, checksums verified.  NB_END: the input has ended with an end
 * marker; streams one after the other are read as one.  NB_ERROR: it is truncated, damaged or no stream, or could not
 * be read, or memory is exhausted; the reader must not be used further, except to say why. */
enum nb_answer nb_reader_next(struct nb_reader *reader, struct nb_frame *frame);
const char *nb_reader_error(const struct nb_reader *reader);
/* Does not close the file.  NULL: nothing happens. */
void nb_reader_free(struct nb_reader *reader);

/* ---- writing ------------------------------------------------------------------------------------ */

/* A writer into an open file, pipe or socket, such as 1, standard output.  NULL: out of memory. */
struct nb_writer *nb_writer_new(int fd);
/* Writes the frame, all of it, before it returns: who waits for the frame has it. */
int nb_writer_send(struct nb_writer *writer, const struct nb_frame *frame);
/* Writes the end marker and closes the file.  Without it, a reader takes the stream as truncated: leave it out after a
 * failure. */
int nb_writer_close(struct nb_writer *writer);
const char *nb_writer_error(const struct nb_writer *writer);
/* Writes nothing and closes nothing.  NULL: nothing happens. */
void nb_writer_free(struct nb_writer *writer);

/* ---- frames ------------------------------------------------------------------------------------- */

/* A frame of so many bodies without columns and attributes.  NULL: out of memory. */
struct nb_frame *nb_frame_new(uint64_t bodies);
void nb_frame_free(struct nb_frame *frame); /* NULL: nothing happens */
uint64_t nb_frame_bodies(const struct nb_frame *frame);

/* ---- columns ------------------------------------------------------------------------------------
 * A column has one row of one number or more for each body; that of a tree or of boxes has one for each of these.
 * The numbers of a row lie one after the other.  Pointers to numbers are valid until the column is asked for in another
 * way, made again or dropped, and until the frame is read again. */

struct nb_column_shape {
	const char *name;
	const char *type; /* as in NumPy: "<f8", "<u8", "|S16" */
	const char *unit; /* may be "" */
	uint64_t rows;
	uint32_t components; /* numbers in a row */
	int derived;	     /* follows from positions */
	int of_bodies;	     /* 0: a column of tree nodes or boxes */
};

/* The k-th column, k = 0, 1, ...: 1, or 0 if there are k or fewer.  The texts are valid until a column is added or
 * dropped. */
int nb_frame_shape(const struct nb_frame *frame, size_t k, struct nb_column_shape *shape);

/* Numbers to be read, rows x components of them, as double whatever number type the column has.  NULL: there is no such
 * column of bodies with so many components, it has no numbers, or memory is exhausted. */
const double *nb_frame_get_f64(struct nb_frame *frame, const char *name, uint32_t components);
/* The same of unsigned integers, such as id, all digits kept. */
const uint64_t *nb_frame_get_u64(struct nb_frame *frame, const char *name, uint32_t components);
/* Numbers to be changed.  Those of a column of <f4 are rounded when the frame is written.  NULL: as above, or the
 * column has integers. */
double *nb_frame_change_f64(struct nb_frame *frame, const char *name, uint32_t components);
/* The bytes of any column, of any table, as its type says, to be changed.  NULL: no such column, or out of memory. */
void *nb_frame_change(struct nb_frame *frame, const char *name);
/* Why one of these returned NULL, with what the program before has left as a reason, such as "field 'vel' missing
 * (nb-step keeps it unless --send-velocities is given)".  Valid until the next call of this thread. */
const char *nb_frame_lacks(const struct nb_frame *frame, const char *name, uint32_t components);

/* Adds a column of bodies, or replaces that of the same name, which keeps its place; the bytes are undefined and are to
 * be written.  unit: "" if none is known.  derived: not 0 if it follows from positions.  A standard column must have
 * the type and components that nb-stream(5) allows.  NULL: out of memory, a name or type that no stream may carry, or
 * too many columns. */
void *nb_frame_make(
	struct nb_frame *frame, const char *name, const char *type, uint32_t components, const char *unit, int derived);
void nb_frame_drop(struct nb_frame *frame, const char *name); /* nothing happens if it is not there */
/* For a filter that has moved bodies or changed their masses: drops what follows from these, columns and trees. */
void nb_frame_drop_derived(struct nb_frame *frame);
/* Body k becomes what body row[k] was, k < n, in all columns; the others are left out, and so are trees and boxes. */
int nb_frame_select(struct nb_frame *frame, size_t n, const uint32_t *row);

/* ---- attributes ---------------------------------------------------------------------------------
 * Keys are letters, digits and '_'; values are any text. */

const char *nb_frame_attribute(const struct nb_frame *frame, const char *key); /* NULL: not there */
/* A number; fallback if the key is not there.  Fails if the value is no finite number. */
int nb_frame_attribute_f64(const struct nb_frame *frame, const char *key, double fallback, double *value);
int nb_frame_set_attribute(struct nb_frame *frame, const char *key, const char *value);
int nb_frame_set_attribute_f64(struct nb_frame *frame, const char *key, double value);
/* Another value of the same key, which only "history" may have. */
int nb_frame_add_attribute(struct nb_frame *frame, const char *key, const char *value);
void nb_frame_drop_attribute(struct nb_frame *frame, const char *key);

#ifdef __cplusplus
}
#endif

#endif
