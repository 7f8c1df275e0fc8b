/* require.h - what a tool needs of a frame, or the end of the tool with one clear line that names the frame. */
#ifndef NB_FILTER_REQUIRE_H
#define NB_FILTER_REQUIRE_H

#include "common/reals.h"
#include "formats/stream/stream.h"

_Noreturn void nb_out_of_memory(const struct nb_frame *frame);
/* What an enum nb_status says of the frame ends the tool, unless it is NB_OK. */
void nb_require_ok(int status, const struct nb_frame *frame);
/* The pointer p; NULL ends the tool, as there is no memory for this frame (NULL: for something else). */
#define nb_require_memory(frame, p) ((__typeof__(p))nb_require_pointer(frame, p))
static inline void *nb_require_pointer(const struct nb_frame *frame, const void *p)
{
	if (!p)
		nb_out_of_memory(frame);
	return (void *)(uintptr_t)p;
}
/* The work of a tool on the host takes so many bytes for each body beside the frame.  Where fewer are left, that is
 * said before it begins, and ends the tool.  work: "the neighbours". */
void nb_require_room(const struct nb_frame *frame, const char *work, double row);
/* Where there was no memory for something on a device: dies of what the device said, if it was no want of memory. */
void nb_blame_device(void);

/* ---- columns ------------------------------------------------------------------------------------ */

struct nb_column *nb_require_field(const struct nb_frame *frame, enum nb_field field);
/* Contents of a field as f64 in that place, to read. */
const double *nb_require_f64(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space);
/* The same on the host, in single precision if they are there like that: without a copy. */
struct nb_reals nb_require_reals(const struct nb_frame *frame, enum nb_field field);
/* The ids, of whatever width, in that place; NULL where the frame has none. */
const uint64_t *nb_require_ids(const struct nb_frame *frame, const struct nb_space *space);
/* The same for who changes them and puts them back (nb_column_lend); NULL where the frame has none. */
double *nb_lend_f64(const struct nb_frame *frame, enum nb_field field, const struct nb_space *space);
uint64_t *nb_lend_ids(const struct nb_frame *frame, const struct nb_space *space);
/* The same on the host, if they are there in single precision; else NULL. */
float *nb_lend_f32(const struct nb_frame *frame, enum nb_field field);
/* Bytes a body that lending these fields takes on the host, in single precision if they are there like
 * that, for nb_require_room; fields end with NB_NFIELD. */
double nb_lend_row(const struct nb_frame *frame, const enum nb_field *fields);
/* Adds a field (dtype NULL, ncomp 0: default) without contents. */
struct nb_column *nb_new_column(struct nb_frame *frame, enum nb_field field, const char *dtype, uint32_t ncomp);
/* Adds a field (dtype NULL: default) and returns its f64 contents to be written in that place. */
double *nb_new_f64(struct nb_frame *frame, enum nb_field field, const char *dtype, const struct nb_space *space);
/* The contents of a column as they are in the stream, on the host, to be changed. */
void *nb_update_wire(const struct nb_frame *frame, struct nb_column *column);
/* The dtype ("<f8" or "<f4") that a new real column should have to match the width of pos. */
const char *nb_real_dtype(const struct nb_frame *frame);

/* ---- contents ----------------------------------------------------------------------------------- */

/* Whether a column of <f8 or <f4 has a bad number (NB_BAD_..., common/space.h): what says "field 'mass' of the body
 * with id 3 is -1", and want "" or " (want a number >= 0)". */
enum { NB_BAD_TEXT = 160 };
int nb_find_bad(const struct nb_frame *frame, struct nb_column *column, unsigned bad, char what[NB_BAD_TEXT],
	const char **want);
/* Every number of the column (NULL: nothing happens), of <f8 or <f4, is finite; where the column lives. */
void nb_require_finite(const struct nb_frame *frame, struct nb_column *column);
/* Every field that the frame has is what its traits in field.def say: finite, not negative. */
void nb_require_valid(const struct nb_frame *frame);
/* What is bad (NB_BAD_..., common/space.h) in a column of these traits, whatever the tool does with it. */
unsigned nb_bad_by_traits(unsigned traits);
/* The ids, where one of them appears twice: in bodies *first and *second; else NULL. */
const uint64_t *nb_repeated_ids(const struct nb_frame *frame, size_t *first, size_t *second);
/* No two bodies have the same id: programs that compare or collide them would confuse two.  where: "" or the file, for
 * the message.  Returns the ids; NULL: the frame has none. */
const uint64_t *nb_require_unique_ids(const struct nb_frame *frame, const char *where);
/* The id of body i, for messages; i itself where there are no ids. */
uint64_t nb_body_id(const struct nb_frame *frame, size_t i);

/* ---- attributes --------------------------------------------------------------------------------- */

/* Numeric attribute, fallback where absent. */
double nb_require_attribute(const struct nb_frame *frame, const char *key, double fallback);
/* Attribute that is an integer from least to most, at most 2^53; fallback where absent. */
int64_t nb_require_integer_attribute(
	const struct nb_frame *frame, const char *key, int64_t least, int64_t most, int64_t fallback);
/* Attribute dim: 2 or 3 (default). */
int nb_require_dim(const struct nb_frame *frame);
/* Edge of the periodic box: given, from option --periodic, unless that is 0; else attribute box; 0: there is none, of
 * which a frame that has box_size is warned once. */
double nb_require_box(const struct nb_frame *frame, double given);
/* The edge that attribute box says; 0: there is no periodic box. */
double nb_box_of(const struct nb_frame *frame);
/* What does not obey a periodic box ends the tool where the frame has one.  want: what does, or "". */
void nb_refuse_box(const struct nb_frame *frame, const char *what, const char *want);
/* What a run of nb-step has left about itself, e.g. its first energy (etot0): for a tool that makes another system of
 * the bodies, by other masses, positions, velocities, units or another law of force, by fewer bodies or more. */
void nb_drop_run_attributes(struct nb_frame *frame);
/* Whether something of that name is to be reported, which it is once; its names are kept as attributes of this frame.
 */
int nb_report_once(struct nb_frame *reported, const char *what);
void nb_set_attribute(struct nb_frame *frame, const char *key, const char *value);
void nb_set_attribute_f64(struct nb_frame *frame, const char *key, double value);

#endif
