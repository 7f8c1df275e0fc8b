/* rows.h - tables that grow row by row, for formats that say how long they are at the end. */
#ifndef NB_EXCHANGE_ROWS_H
#define NB_EXCHANGE_ROWS_H

#include "formats/stream/stream.h"

struct nb_rows {
	size_t n; /* rows filled: the caller counts */
	size_t capacity;
	size_t ncolumn;
	struct nb_rows_column {
		unsigned char *data;
		size_t rowsize;
	} * column;
};

void nb_rows_init(struct nb_rows *rows);
void nb_rows_clear(struct nb_rows *rows);
/* Adds a column, zero in the rows that are filled; its number is rows->ncolumn - 1. NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_rows_add(struct nb_rows *rows, size_t rowsize);
/* Room for `more` rows from row n on, undefined; all columns grow together, geometrically. NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_rows_reserve(struct nb_rows *rows, size_t more);
/* Makes the filled rows of a column longer, padded with zeros. NB_OK or NB_ENOMEM. */
NB_MUST_CHECK int nb_rows_widen(struct nb_rows *rows, size_t column, size_t rowsize);
void *nb_rows_at(const struct nb_rows *rows, size_t column, size_t row);
/* Hands the memory of a column over to a frame's column of n rows of that size. */
void nb_rows_give(struct nb_rows *rows, size_t column, struct nb_column *to);

/* Stores length bytes of text, padded with NULs, in row n of a column of text, which widens to a multiple of 32 bytes
 * where that is needed. NB_OK, NB_ENOMEM, or NB_ELIMIT: longer than a stream's column can be (4096). */
NB_MUST_CHECK int nb_rows_text(struct nb_rows *rows, size_t column, const char *text, size_t length);

#endif
