/* require.h - the stream for the main() of a tool: what cannot be had ends the tool with one clear line.
 * The only part of formats/ that may call nb_die. */
#ifndef NB_FILTER_REQUIRE_H
#define NB_FILTER_REQUIRE_H

#include "formats/stream/stream.h"

/* Opens stdin; a terminal is refused with a hint. */
void nb_require_input(struct nb_reader *reader);
/* The next frame: 1, or 0 after a clean end. */
int nb_require_frame(struct nb_reader *reader, struct nb_frame *frame);
/* The same in two pieces (nb_reader_head, nb_reader_columns): 1, or 0 after a clean end. */
int nb_require_head(struct nb_reader *reader, struct nb_frame *frame);
void nb_require_columns(struct nb_reader *reader, struct nb_frame *frame, size_t count);
/* Opens stdout; a terminal is refused. */
void nb_require_output(struct nb_writer *writer);
/* Writes a frame and flushes it, so that a co-process that waits for it can go on. */
void nb_require_written(struct nb_writer *writer, const struct nb_frame *frame);
void nb_require_closed(struct nb_writer *writer);

/* The columns of the frame that was read last (nframe - 1 in messages). */
struct nb_column *nb_require_field(const struct nb_frame *frame, enum nb_field field, uint64_t nframe);
/* Contents of a field as f64 in that place, to read; exits when missing or memory is exhausted. */
const double *nb_require_f64(
	const struct nb_frame *frame, enum nb_field field, const struct nb_space *space, uint64_t nframe);
/* Adds a field (dtype NULL: default) and returns its f64 contents to be written in that place. */
double *nb_require_new_f64(
	struct nb_frame *frame, enum nb_field field, const char *dtype, const struct nb_space *space);
/* Exits with the body's id if the column (NULL: nothing happens), of <f8 or <f4, has a value that is not finite. */
void nb_require_finite_column(const struct nb_frame *frame, struct nb_column *column, uint64_t nframe);
/* Exits with the body's id if a position, velocity, mass or radius that the frame has is not finite, or a mass or
 * radius < 0. */
void nb_require_finite(const struct nb_frame *frame, uint64_t nframe);
/* The id of particle i, for messages; i itself where there are no ids. */
uint64_t nb_require_body_id(const struct nb_frame *frame, size_t i);
/* Numeric attribute, fallback where absent; exits where it is no number. */
double nb_require_attribute(const struct nb_frame *frame, const char *key, double fallback, uint64_t nframe);
/* Attribute dim: 2 or 3 (default). */
int nb_require_dim(const struct nb_frame *frame, uint64_t nframe);
/* Attribute key_cube, the cube of the keys, as x, y, z of its low corner and edge; exits where it is not there (with
 * what to put before) or has other contents. */
void nb_require_key_cube(const struct nb_frame *frame, uint64_t nframe, double cube[4]);
/* Exit on NB_ENOMEM. */
void nb_require_attribute_set(struct nb_frame *frame, const char *key, const char *value);
void nb_require_attribute_set_f64(struct nb_frame *frame, const char *key, double value);
/* Adds the history line of this tool unless --no-history. */
void nb_require_history(struct nb_frame *frame);
/* The dtype ("<f8" or "<f4") that a new real column should have to match the width of pos. */
const char *nb_real_dtype(const struct nb_frame *frame);

#endif
