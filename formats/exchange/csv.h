/* csv.h - comma-separated values: a header line of names, then a line a body.
 *
 * Names: id, mass, pot, key, radius, species; x y z (pos), vx vy vz (vel), ax ay az (acc), jx jy jz (jerk); frame and
 * time where there are several frames; NAME for any other column of one component, NAME_0, NAME_1 ... for one of more.
 * Library code: errors are returned. */
#ifndef NB_EXCHANGE_CSV_H
#define NB_EXCHANGE_CSV_H

#include "formats/exchange/text.h"
#include "formats/stream/stream.h"

struct nb_csv_reader {
	struct nb_lines *lines;
	/* private */
	struct nb_csv_cell *cell; /* what each cell of a line is */
	size_t ncell;
	struct nb_rows rows;
	int *field; /* of each column of rows: an enum nb_field, or -1 */
	int dim;
	int has_frame, has_time, has_id;
	int first_row_seen;
	int frames_begun;      /* frames given out or begun */
	int carried;	       /* row 0 belongs to the next frame already */
	uint64_t frame_number; /* of the frame that is being filled */
	double time;
	int ended;
};

/* Reads the header line. Blank lines and lines that begin with # are skipped.  NB_OK, or lines->error says why. */
NB_MUST_CHECK int nb_csv_open(struct nb_csv_reader *reader, struct nb_lines *lines);
/* The rows up to the next frame number as *frame (cleared first), with attributes dim and time.  Known columns get
 * their field's type; unknown ones become <f8 ("nan", "inf" and nothing at all are numbers there), or text if their
 * first cell is quoted or no number.  Without a column id, ids count from 0.  On NB_ERROR lines->error says why. */
enum nb_answer nb_csv_next(struct nb_csv_reader *reader, struct nb_frame *frame);
void nb_csv_close(struct nb_csv_reader *reader);

/* The layout of the rows written: made from one frame, then used for all. */
struct nb_csv_writer {
	struct nb_text_out *out;
	/* private */
	char *header;
	int with_frame;
};

/* Writes the header line for frames like this one; with_frame: columns frame and time come first.  NB_OK; NB_EINVAL:
 * why (NB_TEXT_ERROR_SIZE bytes) says why there is no such header; NB_ENOMEM; -1: writing failed, errno says how. */
NB_MUST_CHECK int nb_csv_begin(
	struct nb_csv_writer *writer, struct nb_text_out *out, const struct nb_frame *frame, int with_frame, char *why);
/* Writes the rows of a frame, nothing if it is refused.  Returns as nb_csv_begin does. */
NB_MUST_CHECK int nb_csv_write(struct nb_csv_writer *writer, const struct nb_frame *frame, uint64_t number, char *why);
void nb_csv_end(struct nb_csv_writer *writer);

/* 1 if a line has a place for this column: numbers and text of bodies. */
int nb_csv_holds(const struct nb_column *column);

#endif
