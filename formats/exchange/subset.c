#include "formats/exchange/subset.h"

#include "common/mem.h"

#include <stdio.h>
#include <string.h>

uint64_t nb_subset_rows(const struct nb_subset *subset, uint64_t first, uint64_t end, uint64_t *row, uint64_t *step)
{
	*row = first;
	*step = 1;
	if (subset->row_step == 0)
		return end - first;
	*step = subset->row_step;
	if (subset->row_last < UINT64_MAX && subset->row_last + 1 < end)
		end = subset->row_last + 1;
	if (subset->row_first >= first)
		*row = subset->row_first;
	else { /* the next one of the series, which may lie beyond all numbers */
		const uint64_t past = (first - subset->row_first) % *step, by = past ? *step - past : 0;
		*row = by <= UINT64_MAX - first ? first + by : end;
	}
	return *row < end ? (end - 1 - *row) / *step + 1 : 0;
}

int nb_subset_row(const struct nb_subset *subset, uint64_t row)
{
	uint64_t first, step;
	return nb_subset_rows(subset, row, row + 1, &first, &step) > 0;
}

static int some_species(const struct nb_subset *subset)
{
	return (subset->species[0] | subset->species[1] | subset->species[2] | subset->species[3]) != 0;
}

int nb_subset_has_all(const struct nb_subset *subset)
{
	return !subset->row_step && !some_species(subset) && !subset->sphere;
}

int nb_subset_species(const struct nb_subset *subset, unsigned species)
{
	return !some_species(subset) || (subset->species[species / 64] >> species % 64 & 1);
}

int nb_subset_place(const struct nb_subset *subset, const double pos[3])
{
	const double *sphere = subset->sphere;
	if (!sphere)
		return 1;
	const double x = pos[0] - sphere[0], y = pos[1] - sphere[1], z = pos[2] - sphere[2];
	return x * x + y * y + z * z <= sphere[3] * sphere[3];
}

int nb_subset_needs(const struct nb_subset *subset, const char *name)
{
	if (!subset->wants || subset->wants(subset->context, name))
		return 1;
	return (subset->sphere && strcmp(name, "pos") == 0) || (some_species(subset) && strcmp(name, "species") == 0);
}

/* ---- of a frame that has all bodies --------------------------------------------------------------- */

static void drop_derived(struct nb_frame *frame)
{
	for (size_t c = frame->ncolumn; c-- > 0;)
		if (frame->column[c].flags & NB_DERIVED)
			nb_frame_drop(frame, frame->column[c].name);
}

int nb_subset_apply(
	const struct nb_subset *subset, enum nb_selected selected, struct nb_frame *frame, char *error, size_t size)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const int by_rows = selected < NB_SELECTED_ROWS && subset->row_step,
		  by_species = selected < NB_SELECTED_SPECIES && some_species(subset),
		  by_place = selected < NB_SELECTED_ALL && subset->sphere;
	const unsigned char *species = NULL;
	const double *pos = NULL;
	if (!by_rows && !by_species && !by_place)
		return NB_OK;
	struct nb_column *column = nb_frame_field(frame, NB_SPECIES);
	if (by_species && !column) {
		snprintf(error, size, "the bodies have no species to choose by");
		return NB_EINVAL;
	}
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	if (by_species && !(species = nb_column_read(column, &nb_space_host, NB_WIRE)) && n)
		return NB_ENOMEM;
	column = nb_frame_field(frame, NB_POS);
	if (by_place && (!column || !(pos = nb_column_read(column, &nb_space_host, NB_AS_F64))) && n)
		return NB_ENOMEM;
	uint64_t first = 0, step = 1, count = n;
	if (by_rows)
		count = nb_subset_rows(subset, 0, n, &first, &step);
	uint32_t *row = nb_alloc(count, sizeof *row);
	size_t left = 0;
	if (!row)
		return NB_ENOMEM;
	for (uint64_t k = 0, i = first; k < count; k++, i += step) {
		row[left] = (uint32_t)i;
		left += (!species || nb_subset_species(subset, species[i])) &&
			(!pos || nb_subset_place(subset, &pos[3 * i]));
	}
	int status = NB_OK;
	if (left < n && !subset->keep_derived)
		drop_derived(frame);
	if (left < n)
		status = nb_frame_gather(frame, NB_PARTICLE, left, row, &nb_space_host, nb_gather_host);
	nb_free(row);
	return status;
}
