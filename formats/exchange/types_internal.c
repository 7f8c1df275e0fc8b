#include "formats/exchange/types_internal.h"

#include "common/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int are_types(const struct nb_frame *frame)
{
	const char *text = nb_frame_attribute(frame, NB_TYPES);
	return text && strcmp(text, "gadget") == 0;
}

/* NULL: there are none, or (*status) they cannot be read. */
static const unsigned char *species_of(const struct nb_frame *frame, int *status)
{
	struct nb_column *column = nb_frame_field(frame, NB_SPECIES);
	*status = NB_OK;
	if (!column || strcmp(column->dtype, "|u1") != 0)
		return NULL;
	const unsigned char *species = nb_column_read(column, &nb_space_host, NB_WIRE);
	*status = species || column->rows == 0 ? NB_OK : NB_ENOMEM;
	return species;
}

/* Row of the first body whose species is above this, n if there is none; *least, *most of all. */
static uint64_t first_above(uint64_t n, const unsigned char *species, unsigned limit, unsigned *least, unsigned *most)
{
	unsigned char low = 255, high = 0;
	for (uint64_t i = 0; i < n; i++) {
		low = species[i] < low ? species[i] : low;
		high = species[i] > high ? species[i] : high;
	}
	*least = low;
	*most = high;
	uint64_t i = 0;
	while (high > limit && species[i] <= limit)
		i++;
	return high > limit ? i : n;
}

int nb_types_hold_species(const struct nb_frame *frame)
{
	int status;
	unsigned least, most;
	const uint64_t n = frame->rows[NB_PARTICLE];
	const unsigned char *species = species_of(frame, &status);
	return n == 0 ||
	       (species && first_above(n, species, NB_NTYPE - 2 + (unsigned)are_types(frame), &least, &most) == n);
}

/* Bodies of one type stay in the order that they have. */
static int sort(uint64_t n, const unsigned char *species, unsigned shift, struct nb_types *types)
{
	uint64_t at[NB_NTYPE] = {0};
	int sorted = 1;
	for (uint64_t i = 0; i < n; i++) {
		types->n[species[i] + shift]++;
		sorted &= i == 0 || species[i] >= species[i - 1];
	}
	if (sorted)
		return NB_OK;
	types->row = nb_alloc(n, sizeof *types->row);
	if (!types->row)
		return NB_ENOMEM;
	for (int t = 1; t < NB_NTYPE; t++)
		at[t] = at[t - 1] + types->n[t - 1];
	for (uint64_t i = 0; i < n; i++)
		types->row[at[species[i] + shift]++] = (uint32_t)i;
	return NB_OK;
}

int nb_types_find(struct nb_export *out, const struct nb_frame *frame, struct nb_types *types)
{
	const uint64_t n = frame->rows[NB_PARTICLE];
	const unsigned shift = !are_types(frame);
	unsigned least, most;
	int status;
	*types = (struct nb_types){.row = NULL};
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	const unsigned char *species = species_of(frame, &status);
	if (status)
		return status;
	const uint64_t above = species ? first_above(n, species, NB_NTYPE - 1 - shift, &least, &most) : 0;
	if (species && above < n && !shift)
		return nb_export_fail(out, "body %" PRIu64 " is of species %d, but types are 0 to %d", above,
			species[above], NB_NTYPE - 1);
	types->from_species = species && above == n;
	if (!types->from_species) {
		types->n[1] = n;
		return NB_OK;
	}
	if (n && shift)
		snprintf(out->warning, sizeof out->warning,
			"species %u to %u become types %u to %u, since type 0 is gas", least, most, least + 1,
			most + 1);
	return sort(n, species, shift, types);
}

void nb_types_clear(struct nb_types *types)
{
	nb_free(types->row);
	types->row = NULL;
}
