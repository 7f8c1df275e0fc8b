#include "formats/exchange/rows.h"

#include "common/mem.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024, TEXT_STEP = 32, MAX_TEXT = 4096 };

void nb_rows_init(struct nb_rows *rows)
{
	memset(rows, 0, sizeof *rows);
}

void nb_rows_clear(struct nb_rows *rows)
{
	for (size_t c = 0; c < rows->ncolumn; c++)
		nb_free(rows->column[c].data);
	free(rows->column);
	nb_rows_init(rows);
}

int nb_rows_add(struct nb_rows *rows, size_t rowsize)
{
	if (rows->capacity == 0)
		rows->capacity = FIRST_CAPACITY;
	struct nb_rows_column *grown = realloc(rows->column, (rows->ncolumn + 1) * sizeof *grown);
	if (!grown)
		return NB_ENOMEM;
	rows->column = grown;
	unsigned char *data = nb_alloc(rows->capacity, rowsize);
	if (!data)
		return NB_ENOMEM;
	memset(data, 0, rows->n * rowsize);
	grown[rows->ncolumn++] = (struct nb_rows_column){data, rowsize};
	return NB_OK;
}

/* By all threads: most of the time it takes to clear new memory. */
static void copy(unsigned char *to, const unsigned char *from, size_t bytes)
{
	enum { PART = 1 << 20 };
	if (bytes <= PART) {
		memcpy(to, from, bytes);
		return;
	}
#pragma omp parallel for schedule(static)
	for (size_t at = 0; at < bytes; at += PART)
		memcpy(to + at, from + at, bytes - at < PART ? bytes - at : PART);
}

int nb_rows_reserve(struct nb_rows *rows, size_t more)
{
	if (more <= rows->capacity - rows->n)
		return NB_OK;
	size_t capacity = 2 * rows->capacity;
	while (capacity - rows->n < more)
		capacity *= 2;
	for (size_t c = 0; c < rows->ncolumn; c++) {
		struct nb_rows_column *column = &rows->column[c];
		unsigned char *data = nb_alloc(capacity, column->rowsize);
		if (!data)
			return NB_ENOMEM;
		copy(data, column->data, rows->n * column->rowsize);
		nb_free(column->data);
		column->data = data;
	}
	rows->capacity = capacity;
	return NB_OK;
}

int nb_rows_widen(struct nb_rows *rows, size_t c, size_t rowsize)
{
	struct nb_rows_column *column = &rows->column[c];
	unsigned char *data = nb_alloc(rows->capacity, rowsize);
	if (!data)
		return NB_ENOMEM;
	memset(data, 0, rows->n * rowsize);
	for (size_t i = 0; i < rows->n; i++)
		memcpy(data + i * rowsize, column->data + i * column->rowsize, column->rowsize);
	nb_free(column->data);
	*column = (struct nb_rows_column){data, rowsize};
	return NB_OK;
}

void *nb_rows_at(const struct nb_rows *rows, size_t column, size_t row)
{
	return rows->column[column].data + row * rows->column[column].rowsize;
}

void nb_rows_give(struct nb_rows *rows, size_t column, struct nb_column *to)
{
	nb_column_adopt(to, &nb_space_host, rows->column[column].data);
	rows->column[column].data = NULL;
}

int nb_rows_text(struct nb_rows *rows, size_t column, const char *text, size_t length)
{
	if (length > MAX_TEXT)
		return NB_ELIMIT;
	if (length > rows->column[column].rowsize) {
		int status = nb_rows_widen(rows, column, (length + TEXT_STEP - 1) / TEXT_STEP * TEXT_STEP);
		if (status)
			return status;
	}
	char *to = nb_rows_at(rows, column, rows->n);
	memcpy(to, text, length);
	memset(to + length, 0, rows->column[column].rowsize - length);
	return NB_OK;
}
