/* Rows of csv text by all threads: those of one frame whose lines have been read from the file already. */
#include "common/cpu.h"
#include "formats/exchange/csv/read.h"

enum { LEAST = 16 << 10 /* bytes that are worth a thread */, FEW = 256, MOST = 64 };

/* Whole lines.  Those before behind are rows or blank. */
struct piece {
	char *text, *end, *behind;
	size_t nrow, nline;		  /* before behind */
	size_t rows_before, lines_before; /* in the pieces before */
};

/* The first character that is no blank. */
static char first_of(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return *text == '\r' && text[1] == '\n' ? '\n' : *text;
}

/* Up to the first line that is neither a row nor blank, or has a NUL byte. */
static void count_lines(struct piece *piece)
{
	char *at = piece->text;
	while (at < piece->end) {
		const char first = first_of(at);
		char *newline = memchr(at, '\n', (size_t)(piece->end - at));
		if (first != '\n' && (first <= ' ' || first == '#' || memchr(at, '\0', (size_t)(newline - at))))
			break;
		at = newline + 1;
		piece->nrow += first != '\n';
		piece->nline++;
	}
	piece->behind = at;
}

/* Cuts a text of lines, and counts what is in its pieces.  How many there are, up to the first that has other lines. */
static size_t cut(char *text, size_t bytes, struct piece piece[MOST])
{
	const size_t worth = bytes / LEAST + 1, threads = (size_t)nb_cpu_threads();
	size_t n = worth < threads ? worth : threads;
	n = n < MOST ? n : MOST;
	for (size_t p = 0; p < n; p++) {
		char *from = p ? piece[p - 1].end : text, *least = text + bytes / n * (p + 1), *end = text + bytes;
		if (p + 1 < n)
			end = least > from ? (char *)memchr(least - 1, '\n', (size_t)(end - least) + 1) + 1 : from;
		piece[p] = (struct piece){.text = from, .end = end};
	}
	if (n == 1) { /* threads need memory */
		count_lines(&piece[0]);
		return 1;
	}
#pragma omp parallel for schedule(static, 1)
	for (size_t p = 0; p < n; p++)
		count_lines(&piece[p]);
	for (size_t p = 0; p < n; p++)
		if (piece[p].behind < piece[p].end)
			return p + 1;
	return n;
}

/* Rows behind those that there are, unless one before number *good of them is wrong. */
static void read_piece(struct csv_reader *reader, const struct piece *piece, size_t *good)
{
	struct nb_import *in = reader->lines.in, mine = *in;
	struct csv_reader copy = *reader;
	char *line = piece->text, *end;
	size_t row = piece->rows_before;
	copy.lines.in = &mine;
	*mine.error = '\0';
	for (size_t k = 1; k <= piece->nline; k++, line = end + 1) {
		struct row_time when = {reader->frame_number, reader->time};
		end = memchr(line, '\n', (size_t)(piece->end - line));
		if (first_of(line) == '\n')
			continue;
		copy.rows.n = reader->rows.n + row;
		copy.lines.number = reader->lines.number + piece->lines_before + k;
		end[end[-1] == '\r' ? -1 : 0] = '\0';
		if (nb_csv_read_row(&copy, line, &when) || nb_csv_refuse_time(&copy, &when))
			break;
		row++;
	}
	if (row == piece->rows_before + piece->nrow)
		return;
#pragma omp critical
	if (row < *good) {
		*good = row;
		memcpy(in->error, mine.error, sizeof in->error);
	}
}

/* The number of rows before the first that is wrong, whose error is set. */
static size_t read_pieces(struct csv_reader *reader, struct piece *piece, size_t npiece)
{
	for (size_t p = 1; p < npiece; p++) {
		piece[p].rows_before = piece[p - 1].rows_before + piece[p - 1].nrow;
		piece[p].lines_before = piece[p - 1].lines_before + piece[p - 1].nline;
	}
	size_t good = piece[npiece - 1].rows_before + piece[npiece - 1].nrow;
	if (nb_rows_reserve(&reader->rows, good)) {
		no_memory(reader);
		return 0;
	}
	if (npiece == 1) {
		read_piece(reader, &piece[0], &good);
		return good;
	}
#pragma omp parallel for schedule(static, 1)
	for (size_t p = 0; p < npiece; p++)
		read_piece(reader, &piece[p], &good);
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
	struct piece piece[MOST];
	size_t bytes, used = 0;
	if (!may_read(reader))
		return NB_OK;
	char *text = nb_lines_whole(&reader->lines, reader->ahead, &bytes);
	if (bytes) {
		size_t n = cut(text, bytes, piece);
		used = (size_t)(piece[n - 1].behind - text);
		if (used && used < bytes)
			n = cut(text, used, piece); /* as much for each thread again */
		reader->rows.n += read_pieces(reader, piece, n);
		nb_lines_pass(&reader->lines, used, piece[n - 1].lines_before + piece[n - 1].nline);
	}
	/* what follows other lines has been looked at in vain, and they may come as often again */
	if (used < bytes)
		reader->ahead = used + FEW;
	else if (reader->ahead < NB_MAX_LINE)
		reader->ahead *= 2;
	return nb_lines_failed(&reader->lines) ? NB_EINVAL : NB_OK;
}
