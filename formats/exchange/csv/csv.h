/* csv/csv.h - csv text: what its reader and its writer share, names of columns and lines of comments.
 *
 * Lines that begin with # say what cells cannot (nb-convert(1)):
 *
 *     # nb-stream 1                     what follows is complete: nothing is added to the frame when it is read
 *     # frame 1 [anew]                  frame 1 begins, with what the one before had, or (anew) with nothing
 *     # key=value                       an attribute
 *     # column pos <f8 3 0 length       name, type, components, flags, unit of a column
 */
#ifndef NB_EXCHANGE_CSV_H
#define NB_EXCHANGE_CSV_H

#include "formats/exchange/lines.h"

enum { NB_CSV_NAME = NB_NAME_SIZE + 16, NB_CSV_VERSION = 1 };

/* ---- names -------------------------------------------------------------------------------------- */

/* The name of component k of a field, as field.def has it; *flat: it is not there where dim is 2.  0 if there is no
 * such component, or no name for it. */
int nb_csv_component(int field, uint32_t k, char name[NB_NAME_SIZE + 1], int *flat);
/* The name of component k of a column of bodies, and whether it is not there where dim is 2. */
void nb_csv_name(const struct nb_column *column, uint32_t k, char name[NB_CSV_NAME + 1], int *flat);
/* Whether the name, whatever its case, is one that csv has for a component, or frame or time; then it is in known. */
int nb_csv_known(const char *name, char known[NB_NAME_SIZE + 1]);
/* The same of other usual spellings, and with a unit in brackets: pos_x, x[kpc].  The unit is in unit, "" without;
 * NB_ELIMIT: it is longer than NB_UNIT_SIZE. */
int nb_csv_meant(const char *name, char known[NB_NAME_SIZE + 1], char unit[NB_UNIT_SIZE + 1]);

/* ---- cells -------------------------------------------------------------------------------------- */

/* What stands between the cells of this line: a comma, a tab, a semicolon, or a blank for any white space; the first
 * of these that is there outside quotes. */
char nb_csv_separator(const char *line);
/* The first character that is neither white space nor the separator. */
char *nb_csv_skip(char separator, const char *text);
/* Takes one cell off the line: *text, NUL-terminated and without quotes (*quoted says whether there were any) and outer
 * white space.  Returns where the next cell begins, or NULL behind the last; sets *bad for a quote that does not end.
 */
char *nb_csv_cell(char separator, char *p, char **text, int *quoted, int *bad);
/* Any number that a person or a program may write, or nothing: NaN.  0, or -1: it is none. */
int nb_csv_number(const char *text, double *x);

/* ---- comments ----------------------------------------------------------------------------------- */

/* Whether there is a place for the column: numbers and text; if there are comments, any type. */
int nb_csv_writes(const struct nb_column *column, int plain);

/* The lines of attributes and columns of a frame; from malloc, NULL: out of memory.  safe: nothing that a spreadsheet
 * would compute, wherever it divides the line, as by this separator. */
char *nb_csv_describe(const struct nb_frame *frame, int safe, char separator);
/* What of the lines (now) is not the same in those of the frame before: lines with the values of attributes that have
 * changed.  *anew: something else has changed, and these are all lines.  From malloc, NULL: out of memory. */
char *nb_csv_changes(const char *before, const char *now, int *anew);

/* What the comments say of a frame. */
struct nb_csv_said {
	int complete;	       /* there was a line "# nb-stream" */
	int again;	       /* attributes may replace those of the frame before */
	struct nb_frame frame; /* attributes, and columns without rows */
};

enum nb_csv_comment {
	NB_CSV_REMARK, /* nothing that is known */
	NB_CSV_TAKEN,
	NB_CSV_FRAME, /* another frame begins: *number, *anew */
	NB_CSV_BAD    /* the error is set */
};

/* Reads a line that begins with # (text is what follows).  late: a frame has rows already, to which nothing can be
 * added; where the text is complete that is an error, else a remark. */
enum nb_csv_comment nb_csv_comment(
	struct nb_lines *lines, struct nb_csv_said *said, const char *text, int late, uint64_t *number, int *anew);

/* ---- writing, as in exchange.h ------------------------------------------------------------------ */

struct nb_csv_writer {
	char *header;			/* what one frame was like, all are */
	char (*name)[NB_NAME_SIZE + 1]; /* of the columns in the header, whatever their order in later frames */
	size_t nname;
	char *said;	/* by the comments, of the frame before */
	uint64_t signs; /* bits of enum nb_field: third components that are written although dim is 2 */
};

int nb_csv_begin(struct nb_export *out, const struct nb_frame *first);
int nb_csv_frame(struct nb_export *out, const struct nb_frame *frame);
int nb_csv_none(struct nb_export *out);
void nb_csv_release(struct nb_export *out);
int nb_csv_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column);

#endif
