/* Rows of csv text by all threads: those of one frame whose lines have been read from the file already. */
#include "common/cpu.h"
#include "formats/exchange/csv/read.h"

enum { LEAST = 64, MOST = 4096 };

/* Whether the next line is in memory, and is neither blank nor a comment. */
static int is_row(const struct nb_lines *lines)
{
	const char *text = nb_lines_peek(lines);
	while (text && (*text == ' ' || *text == '\t'))
		text++;
	return text && *text > ' ' && *text != '#';
}

/* Lines that are rows, as many as there are. */
static size_t take_lines(struct nb_lines *lines, char *line[MOST])
{
	size_t n = 0;
	while (n < MOST && is_row(lines) && (line[n] = nb_lines_next(lines)) != NULL)
		n++;
	return n;
}

/* The lines become rows n and on.  The number of those before the first that is wrong, whose error is set. */
static size_t read_lines(struct csv_reader *reader, size_t n, char *const line[])
{
	struct nb_import *in = reader->lines.in;
	const uint64_t number = reader->lines.number - n - nb_lines_failed(&reader->lines);
	size_t good = n;
	if (n == 0)
		return 0;
#pragma omp parallel if (n >= LEAST)
	{
		struct nb_import mine = *in;
		struct csv_reader copy = *reader;
		copy.lines.in = &mine;
		*mine.error = '\0';
#pragma omp for
		for (size_t i = 0; i < n; i++) {
			struct row_time when = {reader->frame_number, reader->time};
			copy.rows.n = reader->rows.n + i;
			copy.lines.number = number + i + 1;
			if (!nb_csv_read_row(&copy, line[i], &when) && !nb_csv_refuse_time(&copy, &when))
				continue;
#pragma omp critical
			if (i < good) {
				good = i;
				memcpy(in->error, mine.error, sizeof in->error);
			}
			*mine.error = '\0';
		}
	}
	return good;
}

/* Rows that may begin another frame, or make a column wider, come one after the other. */
static int may_read(const struct csv_reader *reader)
{
	int can = reader->open && reader->rows.n > 0 && reader->first_row_seen && !reader->has_frame &&
		  !reader->pending && !reader->next_begins && nb_cpu_threads() > 1;
	for (size_t c = 0; can && c < reader->rows.ncolumn; c++)
		can = !reader->target[c].widens;
	return can;
}

int nb_csv_read_ahead(struct csv_reader *reader)
{
	char *line[MOST];
	const size_t n = may_read(reader) ? take_lines(&reader->lines, line) : 0;
	if (n > 0 && nb_rows_reserve(&reader->rows, n))
		return no_memory(reader);
	reader->rows.n += read_lines(reader, n, line);
	return nb_lines_failed(&reader->lines) ? NB_EINVAL : NB_OK;
}
