/* binary.h - what the binary formats of other programs promise: a pipe gives what a file gives, a part of the bodies is
 * that part of all, and what was read is written, and reads back as the same file. */
#ifndef NB_FUZZ_BINARY_H
#define NB_FUZZ_BINARY_H

#include "tests/fuzz/exchange.h"
#include "tests/fuzz/words.h"

/* What a pipe gives, beside the n frames of the file.  strict: it must give them; else it may refuse what a file of
 * known size shows. */
static inline void fuzz_pipe_too(
	const struct nb_format *format, const void *data, size_t size, int strict, struct nb_frame *frame, int n)
{
	struct nb_frame other[FUZZ_FRAMES + 1];
	const int fd = fuzz_pipe(data, size);
	if (fd < 0)
		return;
	const int m = fuzz_import_from(format, fd, NULL, 0, other);
	REQUIRE(m == n || (m < 0 && !strict));
	for (int k = 0; k < m; k++)
		REQUIRE(fuzz_same_columns(&frame[k], &other[k]) && fuzz_same_attributes(&frame[k], &other[k]));
	fuzz_release(other, m);
}

/* Whether a body of the whole frame is wanted. */
static inline int fuzz_wants(const struct nb_subset *subset, struct nb_frame *all, size_t i)
{
	const double *pos = nb_column_read(nb_frame_field(all, NB_POS), &nb_space_host, NB_WIRE);
	double r2 = 0;
	int wants = !subset->row_step || (i >= subset->row_first && i <= subset->row_last &&
						 (i - subset->row_first) % subset->row_step == 0);
	if (subset->species[0]) {
		const unsigned char *s = nb_column_read(nb_frame_field(all, NB_SPECIES), &nb_space_host, NB_WIRE);
		wants &= (int)(subset->species[0] >> s[i] & 1);
	}
	for (int c = 0; c < 3 && subset->sphere; c++)
		r2 += (pos[3 * i + c] - subset->sphere[c]) * (pos[3 * i + c] - subset->sphere[c]);
	return wants && (!subset->sphere || r2 <= subset->sphere[3] * subset->sphere[3]);
}

/* types_differ: types that are left out change which columns there are, and their types of numbers. */
static inline void fuzz_same_part(
	const struct nb_subset *subset, int types_differ, struct nb_frame *all, struct nb_frame *part)
{
	size_t to = 0;
	REQUIRE(types_differ || all->ncolumn == part->ncolumn);
	for (size_t i = 0; i < all->rows[NB_PARTICLE]; i++) {
		if (!fuzz_wants(subset, all, i))
			continue;
		for (size_t c = 0; c < all->ncolumn; c++) {
			struct nb_column *a = &all->column[c], *b = nb_frame_find(part, a->name);
			if (types_differ && (!b || strcmp(b->dtype, a->dtype) != 0))
				continue;
			REQUIRE(b && b->rowsize == a->rowsize && to < b->rows);
			const char *from = nb_column_read(a, &nb_space_host, NB_WIRE);
			const char *got = nb_column_read(b, &nb_space_host, NB_WIRE);
			const int same = memcmp(got + to * b->rowsize, from + i * a->rowsize, a->rowsize) == 0;
			if (!same)
				fprintf(stderr, "row %zu of all, %zu of the part, of column %s %s\n", i, to, a->name,
					a->dtype);
			REQUIRE(same);
		}
		to++;
	}
	REQUIRE(to == part->rows[NB_PARTICLE]);
}

/* The bodies of a frame with species: by number, type, and place. */
static inline void fuzz_parts(const struct nb_format *format, const void *data, size_t size, struct nb_frame *frame)
{
	static const double sphere[] = {0, 0, 0, 1.5};
	static const struct nb_subset subsets[] = {
		{.row_first = 1, .row_last = UINT64_MAX, .row_step = 2, .keep_derived = 1},
		{.species = {0x12}, .keep_derived = 1},
		{.sphere = sphere, .keep_derived = 1},
		{.row_first = 0, .row_last = 5, .row_step = 1, .species = {0x13}, .sphere = sphere, .keep_derived = 1},
	};
	struct nb_frame part[FUZZ_FRAMES + 1];
	for (size_t k = 0; k < sizeof subsets / sizeof *subsets; k++) {
		const int n = fuzz_import_from(format, fuzz_file(data, size), &subsets[k], 0, part);
		const int types_differ = strcmp(format->name, "gadget-hdf5") == 0;
		size_t wanted = 0;
		for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
			wanted += (size_t)fuzz_wants(&subsets[k], frame, i);
		if (types_differ && n < 1 && wanted == 0) /* types without places alone are refused */
			continue;
		REQUIRE(n == 1);
		fuzz_same_part(&subsets[k], types_differ, frame, part);
		fuzz_release(part, n);
	}
}

/* Written by one format, read by another, and written again. */
static inline void fuzz_there_and_back(
	const char *writer, const struct nb_format *reader, struct nb_frame *frame, int n)
{
	struct nb_frame back[FUZZ_FRAMES + 1];
	const struct nb_format *format = fuzz_format(writer);
	size_t size, again_size;
	for (int k = 0; k < n; k++)
		if (!fuzz_has_needs(format, &frame[k]))
			return;
	char *file = fuzz_export(format, frame, (size_t)n, 0, &size);
	if (!file)
		return;
	const int m = fuzz_import(reader, file, size, 0, back);
	REQUIRE(m == n);
	char *again = fuzz_export(format, back, (size_t)m, 0, &again_size);
	REQUIRE(again && again_size == size && memcmp(again, file, size) == 0);
	fuzz_release(back, m);
	free(again);
	free(file);
}

#endif
