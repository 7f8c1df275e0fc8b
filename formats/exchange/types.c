#include "formats/exchange/types.h"

#include "common/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int nb_types_make_map(const struct nb_frame *frame, struct nb_types_map *map)
{
	static const unsigned char galaxy[] = {2, 3, 1, 2, 3, 1};
	struct nb_column *column = nb_frame_field(frame, NB_SPECIES);
	const char *types = nb_frame_attribute(frame, NB_TYPES);
	*map = (struct nb_types_map){.meaning = types && strcmp(types, "gadget") == 0 ? NB_TYPES_ARE_SPECIES
						: nb_frame_is_galaxy(frame)	      ? NB_TYPES_OF_GALAXY
										      : NB_TYPES_OF_MODEL};
	if (column && strcmp(column->dtype, "|u1") == 0) {
		map->species = nb_column_read(column, &nb_space_host, NB_WIRE);
		if (!map->species && column->rows)
			return NB_ENOMEM;
	}
	for (uint64_t i = 0; map->species && map->meaning == NB_TYPES_OF_GALAXY && i < column->rows; i++)
		if (map->species[i] >= sizeof galaxy)
			map->meaning = NB_TYPES_OF_MODEL;
	for (unsigned s = 0; s < 256; s++) {
		const unsigned type = map->meaning == NB_TYPES_ARE_SPECIES ? s
				      : map->meaning == NB_TYPES_OF_MODEL  ? s + 1
				      : s < sizeof galaxy		   ? galaxy[s]
									   : NB_NTYPE;
		map->type[s] = (unsigned char)(type < NB_NTYPE ? type : NB_NTYPE);
	}
	return NB_OK;
}

/* Row of the first body whose species is no type, n if there is none; *least, *most of all. */
static uint64_t first_above(uint64_t n, const struct nb_types_map *map, unsigned *least, unsigned *most)
{
	unsigned char low = 255, high = 0;
	for (uint64_t i = 0; i < n; i++) {
		low = map->species[i] < low ? map->species[i] : low;
		high = map->species[i] > high ? map->species[i] : high;
	}
	*least = low;
	*most = high;
	uint64_t i = 0;
	while (i < n && map->type[map->species[i]] < NB_NTYPE)
		i++;
	return i;
}

/* Bodies of one type stay in the order that they have. */
static int sort(uint64_t n, const struct nb_types_map *map, struct nb_types *types)
{
	uint64_t at[NB_NTYPE] = {0};
	int sorted = 1;
	for (uint64_t i = 0; i < n; i++) {
		const unsigned type = map->type[map->species[i]];
		types->n[type]++;
		sorted &= i == 0 || type >= map->type[map->species[i - 1]];
	}
	if (sorted)
		return NB_OK;
	types->row = nb_alloc(n, sizeof *types->row);
	if (!types->row)
		return NB_ENOMEM;
	for (int t = 1; t < NB_NTYPE; t++)
		at[t] = at[t - 1] + types->n[t - 1];
	for (uint64_t i = 0; i < n; i++)
		types->row[at[map->type[map->species[i]]]++] = (uint32_t)i;
	return NB_OK;
}

static void warn(struct nb_export *out, enum nb_types_meaning meaning, unsigned least, unsigned most)
{
	if (meaning == NB_TYPES_OF_GALAXY)
		snprintf(out->warning, sizeof out->warning,
			"disk, bulge and halo, species 0, 1 and 2, become types 2, 3 and 1%s",
			most > 2 ? ", and those of the second galaxy, 3 to 5, too" : "");
	else if (meaning == NB_TYPES_OF_MODEL)
		snprintf(out->warning, sizeof out->warning,
			"species %u to %u become types %u to %u, since type 0 is gas", least, most, least + 1,
			most + 1);
}

int nb_types_find(struct nb_export *out, const struct nb_frame *frame, struct nb_types *types)
{
	const uint64_t n = frame->rows[NB_PARTICLE];
	struct nb_types_map map;
	unsigned least, most;
	*types = (struct nb_types){.row = NULL};
	if (n > UINT32_MAX)
		return NB_ELIMIT;
	if (nb_types_make_map(frame, &map))
		return NB_ENOMEM;
	const uint64_t above = map.species ? first_above(n, &map, &least, &most) : 0;
	types->meaning = map.meaning;
	if (map.species && above < n && map.meaning == NB_TYPES_ARE_SPECIES)
		return nb_export_fail(out, "body %" PRIu64 " is of species %d, but types are 0 to %d", above,
			map.species[above], NB_NTYPE - 1);
	types->from_species = map.species && above == n;
	if (!types->from_species) {
		types->n[1] = n;
		return NB_OK;
	}
	if (n)
		warn(out, map.meaning, least, most);
	return sort(n, &map, types);
}

void nb_types_clear(struct nb_types *types)
{
	nb_free(types->row);
	types->row = NULL;
}
