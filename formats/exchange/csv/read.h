/* csv/read.h - what the reader of csv text is made of: the header line (header.c), what its names mean and the columns
 * of the frame to be (columns.c), rows (row.c), many of them (ahead.c), frames (csv.c).  Functions return NB_OK, or an
 * enum nb_status after the error is set. */
#ifndef NB_EXCHANGE_CSV_READ_H
#define NB_EXCHANGE_CSV_READ_H

#include "formats/exchange/csv/csv.h"
#include "formats/exchange/rows.h"
#include "formats/exchange/subset.h"

#include <string.h>

enum { SHOWN = 40 /* characters of a text in an error */ };

enum cell_kind {
	CELL_UNKNOWN, /* the first row decides */
	CELL_REAL,    /* a finite number of a known field */
	CELL_WHOLE,
	CELL_FREE, /* any number, or nothing */
	CELL_TEXT,
	CELL_BYTES, /* as hexadecimal digits */
	CELL_FRAME,
	CELL_TIME,
	CELL_UNWANTED, /* of a column that is there, so as not to be missed, and dropped */
	CELL_SKIPPED
};

#define NONE SIZE_MAX

struct cell {
	char raw[NB_CSV_NAME + 1];  /* as in the header */
	char name[NB_CSV_NAME + 1]; /* as it is meant */
	char unit[NB_UNIT_SIZE + 1];
	char known[2][NB_NAME_SIZE + 1]; /* what raw could mean, and what it is; "": nothing */
	enum cell_kind kind;
	int not_negative;
	char type;     /* of a whole number: 'u', 'i', 'b' */
	size_t size;   /* bytes of a number, or of one text of several */
	size_t column; /* in rows, or NONE */
	size_t offset; /* in the row */
};

/* A column of the frame to be. */
struct target {
	char name[NB_NAME_SIZE + 1];
	char dtype[NB_DTYPE_SIZE + 1];
	char unit[NB_UNIT_SIZE + 1];
	uint32_t ncomp, flags;
	int widens; /* one text for each body, as long as the longest */
};

struct csv_reader {
	struct nb_lines lines;
	struct nb_csv_said said;
	char separator;
	char shown[4];	   /* the same in quotes */
	char *pending;	   /* a line that has been read and not been used */
	struct cell *cell; /* of each cell of a line */
	size_t ncell;
	int trailing; /* the header ends with a separator */
	int by_list;  /* names come from the caller */
	struct nb_rows rows;
	struct target *target; /* of each column of rows */
	int dim;
	int has_frame, has_time, has_id;
	int has_gaps;			      /* components without a cell, which are 0 */
	int laid_out;			      /* cells, rows and targets belong to what was said */
	int first_row_seen;		      /* of this layout */
	char refused[NB_EXCHANGE_ERROR_SIZE]; /* what is wrong with a row that may be unwanted; "": nothing */
	int open;			      /* a frame has begun */
	double carried_time;
	int carried;	       /* row 0 belongs to the next frame already */
	uint64_t frame_number; /* of the frame that is being filled */
	double time;
	int next_begins; /* a comment has begun the next frame ... */
	uint64_t next_number;
	int next_anew;
	int ended;
	size_t ahead; /* bytes of text in which rows are looked for at once */
};

/* What frame and time say about the row that has just been read. */
struct row_time {
	uint64_t frame;
	double time;
};

static inline int no_memory(struct csv_reader *reader)
{
	return nb_lines_fail(&reader->lines, "out of memory");
}

static inline int too_many(struct csv_reader *reader)
{
	return nb_lines_fail(&reader->lines, "more than %d columns (choose some with '--fields')", NB_MAX_COLUMNS);
}

/* Behind the apostrophe that --safe-cells put there. */
static inline char *without_guard(const struct csv_reader *reader, char *text)
{
	return text + (reader->lines.in->safe && *text == '\'');
}

/* The names, from the header line, a comment before it, or the list of the caller. */
int nb_csv_read_header(struct csv_reader *reader);
/* The next line of data; comments are read.  NULL: the end, a failure, or a frame that a comment begins. */
char *nb_csv_next_line(struct csv_reader *reader);
/* What each cell of a line becomes, from what the header and the comments say. */
int nb_csv_lay_out(struct csv_reader *reader);
/* Without a column id they count from 0, unless the text is complete and says nothing of ids. */
int nb_csv_adds_ids(const struct csv_reader *reader);
/* The first row decides whether a column that no one knows is a number or text. */
int nb_csv_place_unknown(struct csv_reader *reader, struct cell *cell, const char *text, int quoted);
/* One line into row n. */
int nb_csv_read_row(struct csv_reader *reader, char *line, struct row_time *when);
/* Another time than that of the rows of the frame before. */
int nb_csv_refuse_time(struct csv_reader *reader, const struct row_time *when);
/* Rows of the frame, as many as are in memory, where that is faster than one after the other; perhaps none. */
int nb_csv_read_ahead(struct csv_reader *reader);

#endif
