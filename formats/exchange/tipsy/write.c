/* Writing TIPSY: the kinds of bodies one after the other; numbers that are not those of the rows into FILE.iord.  And
 * what a record has. */
#include "common/mem.h"
#include "formats/exchange/comoving.h"
#include "formats/exchange/output.h"
#include "formats/exchange/tipsy/tipsy.h"
#include "formats/exchange/types.h"
#include "formats/exchange/wire.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PART = 1 << 11 }; /* records at once */

const char *const nb_tipsy_name[NB_TIPSY_NTAIL] = {
	"eps", "pot", "density", "temperature", "metallicity", "formation_time"};
const signed char nb_tipsy_place[NB_TIPSY_KINDS][NB_TIPSY_NTAIL] = {
	{2, 4, 0, 1, 3, -1}, {0, 1, -1, -1, -1, -1}, {2, 3, -1, -1, 0, 1}};
const unsigned char nb_tipsy_type[NB_TIPSY_KINDS] = {0, 1, 4};

size_t nb_tipsy_record(int kind, int wide)
{
	static const size_t words[NB_TIPSY_KINDS] = {12, 9, 11};
	return 4 * (words[kind] + 3 * (size_t)((wide & NB_TIPSY_WIDE_POS) + (wide >> 1)));
}

/* ---- what there is ------------------------------------------------------------------------------ */

/* Numbers of a column, or the same one for all bodies. */
struct numbers {
	const float *narrow;
	const double *wide;
	double same;
};

static double number(const struct numbers *from, size_t i)
{
	return from->wide ? from->wide[i] : from->narrow ? from->narrow[i] : from->same;
}

static int read_numbers(const struct nb_frame *frame, const char *name, uint32_t ncomp, struct numbers *numbers)
{
	struct nb_column *column = nb_frame_find(frame, name);
	*numbers = (struct numbers){0};
	if (!column || column->table != NB_PARTICLE || column->ncomp != ncomp || !nb_dtype_is_number(column->dtype))
		return NB_OK;
	if (strcmp(column->dtype, "<f4") == 0)
		numbers->narrow = nb_column_read(column, &nb_space_host, NB_WIRE);
	else
		numbers->wide = nb_column_read(column, &nb_space_host, NB_AS_F64);
	return numbers->narrow || numbers->wide || column->rows == 0 ? NB_OK : NB_ENOMEM;
}

/* What kind of body each species is: of types 0 and 4 gas and stars; of galaxies disks and bulges are stars; all others
 * are dark, and so are all if species are something else. */
struct kinds {
	const unsigned char *species;
	unsigned char of[256];
	enum nb_types_meaning meaning;
};

static int read_kinds(const struct nb_frame *frame, struct kinds *kinds)
{
	struct nb_types_map map;
	if (nb_types_make_map(frame, &map))
		return NB_ENOMEM;
	kinds->meaning = map.meaning;
	kinds->species = map.meaning == NB_TYPES_OF_MODEL ? NULL : map.species;
	for (int s = 0; s < 256; s++)
		kinds->of[s] = map.meaning == NB_TYPES_OF_GALAXY ? (map.type[s] == 1 ? 1 : 2)
			       : map.type[s] == nb_tipsy_type[0] ? 0
			       : map.type[s] == nb_tipsy_type[2] ? 2
								 : 1;
	return NB_OK;
}

static int kind_of(const struct kinds *kinds, size_t i)
{
	return kinds->species ? kinds->of[kinds->species[i]] : 1;
}

/* What a reader sees as types is what the bodies have, or out->warning says what becomes of them. */
static int keeps_types(const struct nb_frame *frame)
{
	struct kinds kinds;
	if (read_kinds(frame, &kinds) || !kinds.species)
		return 0;
	for (size_t i = 0; kinds.meaning == NB_TYPES_ARE_SPECIES && i < frame->rows[NB_PARTICLE]; i++)
		if (kinds.species[i] != nb_tipsy_type[kind_of(&kinds, i)])
			return 0;
	return 1;
}

/* Whether the bodies of other kinds than those that have this number have none: NaN, or 0. */
static int keeps_tail(const struct nb_frame *frame, int tail)
{
	struct numbers numbers;
	struct kinds kinds;
	if (read_kinds(frame, &kinds) || read_numbers(frame, nb_tipsy_name[tail], 1, &numbers))
		return 0;
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		if (nb_tipsy_place[kind_of(&kinds, i)][tail] < 0 && fabs(number(&numbers, i)) > 0)
			return 0;
	return 1;
}

/* The id of the body in row i, as bodies stand in the file: is it the number of its place? */
static int ids_follow(const struct nb_frame *frame, const uint64_t *id)
{
	struct kinds kinds;
	uint64_t place = 0;
	if (read_kinds(frame, &kinds))
		return 0;
	for (int k = 0; k < NB_TIPSY_KINDS; k++)
		for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
			if (kind_of(&kinds, i) == k && id[i] != place++)
				return 0;
	return 1;
}

/* Beside a file, not beside a pipe or a device. */
static int can_have_arrays(const char *path)
{
	return path && nb_whole_is_named(path);
}

int nb_tipsy_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	static const enum nb_field field[] = {NB_MASS, NB_POS, NB_VEL};
	for (size_t k = 0; k < sizeof field / sizeof *field; k++)
		if (column == nb_frame_field(frame, field[k]))
			return 1;
	for (int t = 0; t < NB_TIPSY_NTAIL; t++)
		if (strcmp(column->name, nb_tipsy_name[t]) == 0)
			return column->ncomp == 1 && nb_dtype_is_number(column->dtype) && keeps_tail(frame, t);
	if (column == nb_frame_field(frame, NB_ID)) {
		const uint64_t *id = nb_column_read(column, &nb_space_host, NB_AS_U64);
		return can_have_arrays(out->path) || (id && ids_follow(frame, id));
	}
	if (column == nb_frame_field(frame, NB_SPECIES))
		return keeps_types(frame);
	return (column->flags & NB_DERIVED) != 0 && column->field == NB_KEY;
}

/* ---- records ------------------------------------------------------------------------------------ */

struct source {
	struct numbers mass, pos, vel, tail[NB_TIPSY_NTAIL];
	struct kinds kinds;
	int wide, big;
};

static int read_source(struct nb_export *out, const struct nb_frame *frame, struct source *source)
{
	double softening;
	if (nb_frame_attribute_f64(frame, "softening", 0, &softening))
		return nb_export_fail(
			out, "attribute softening='%s' is not a number", nb_frame_attribute(frame, "softening"));
	if (read_kinds(frame, &source->kinds) || read_numbers(frame, "mass", 1, &source->mass) ||
		read_numbers(frame, "pos", 3, &source->pos) || read_numbers(frame, "vel", 3, &source->vel))
		return NB_ENOMEM;
	for (int t = 0; t < NB_TIPSY_NTAIL; t++)
		if (read_numbers(frame, nb_tipsy_name[t], 1, &source->tail[t]))
			return NB_ENOMEM;
	source->tail[NB_TIPSY_EPS].same = softening;
	const char *positions = nb_frame_attribute(frame, "tipsy_positions");
	source->wide = positions && strcmp(positions, "f8") == 0;
	source->big = strcmp(out->format->name, "tipsy") == 0;
	return NB_OK;
}

/* Numbers of rows first to first + n that f4 cannot hold. */
static int refuse_large(
	struct nb_export *out, const char *name, const struct numbers *numbers, size_t first, size_t n, size_t ncomp)
{
	const size_t at = first * ncomp,
		     bad = numbers->wide ? nb_wire_beyond_f4(n * ncomp, numbers->wide + at) : n * ncomp;
	if (bad < n * ncomp)
		return nb_export_fail(out, "row %zu of '%s' has %g, which single precision cannot hold",
			first + bad / ncomp, name, numbers->wide[at + bad]);
	return isfinite((float)numbers->same)
		       ? NB_OK
		       : nb_export_fail(out, "'%s' is %g, which single precision cannot hold", name, numbers->same);
}

static int refuse_rows(struct nb_export *out, const struct source *source, size_t first, size_t n)
{
	int status = refuse_large(out, "mass", &source->mass, first, n, 1);
	if (!status && !source->wide)
		status = refuse_large(out, "pos", &source->pos, first, n, 3);
	if (!status)
		status = refuse_large(out, "vel", &source->vel, first, n, 3);
	for (int t = 0; t < NB_TIPSY_NTAIL && !status; t++)
		status = refuse_large(out, nb_tipsy_name[t], &source->tail[t], first, n, 1);
	return status;
}

/* A number that is too large is found when it is written, where a file that is not whole gets no name. */
static int is_late(const struct nb_export *out, const struct source *source)
{
	return out->path && !source->kinds.species;
}

static int refuse(struct nb_export *out, const struct nb_frame *frame, const struct source *source)
{
	const uint64_t n = frame->rows[NB_PARTICLE];
	if (n > INT32_MAX)
		return nb_export_fail(out, "%" PRIu64 " bodies, but a TIPSY file counts to %d", n, INT32_MAX);
	return is_late(out, source) ? NB_OK : refuse_rows(out, source, 0, n);
}

static unsigned char *put_f4(unsigned char *to, double x, int big)
{
	const float narrow = (float)x;
	uint32_t bits;
	memcpy(&bits, &narrow, sizeof bits);
	bits = big ? __builtin_bswap32(bits) : bits;
	memcpy(to, &bits, sizeof bits);
	return to + sizeof bits;
}

static unsigned char *put_f8(unsigned char *to, double x, int big)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	bits = big ? __builtin_bswap64(bits) : bits;
	memcpy(to, &bits, sizeof bits);
	return to + sizeof bits;
}

static unsigned char *put_u4(unsigned char *to, uint64_t x, int big)
{
	const uint32_t bits = big ? __builtin_bswap32((uint32_t)x) : (uint32_t)x;
	memcpy(to, &bits, sizeof bits);
	return to + sizeof bits;
}

/* Bodies of one kind for a part of the file: these rows, or (NULL) those from first on. */
struct chosen {
	const uint32_t *row;
	size_t first, count;
};

/* The numbers of a column, one every stride bytes.  Copies, since what is written could be what from points to. */
static inline __attribute__((always_inline)) void put_each(const struct numbers *from, const struct chosen *bodies,
	size_t ncomp, int f8, int big, size_t stride, unsigned char *to)
{
	const struct numbers numbers = *from;
	const struct chosen chosen = *bodies;
	for (size_t i = 0; i < chosen.count; i++, to += stride) {
		const size_t row = chosen.row ? chosen.row[i] : chosen.first + i;
		for (size_t k = 0; k < ncomp; k++)
			if (f8)
				put_f8(to + 8 * k, number(&numbers, row * ncomp + k), big);
			else
				put_f4(to + 4 * k, number(&numbers, row * ncomp + k), big);
	}
}

static inline __attribute__((always_inline)) void put_columns(
	const struct source *source, int kind, const struct chosen *bodies, int wide, int big, unsigned char *to)
{
	const size_t stride = nb_tipsy_record(kind, wide), vel_at = wide ? 28 : 16;
	put_each(&source->mass, bodies, 1, 0, big, stride, to);
	put_each(&source->pos, bodies, 3, wide, big, stride, to + 4);
	put_each(&source->vel, bodies, 3, 0, big, stride, to + vel_at);
	for (int t = 0; t < NB_TIPSY_NTAIL; t++)
		if (nb_tipsy_place[kind][t] >= 0)
			put_each(&source->tail[t], bodies, 1, 0, big, stride,
				to + vel_at + 12 + 4 * nb_tipsy_place[kind][t]);
}

static int put_part(struct nb_output *out, const struct source *source, int kind, const struct chosen *bodies,
	unsigned char *buffer)
{
	if (source->wide)
		put_columns(source, kind, bodies, 1, source->big, buffer);
	else if (source->big)
		put_columns(source, kind, bodies, 0, 1, buffer);
	else
		put_columns(source, kind, bodies, 0, 0, buffer);
	return nb_output_bytes(out, buffer, bodies->count * nb_tipsy_record(kind, source->wide)) ? -1 : NB_OK;
}

static int put_kind(struct nb_export *out, const struct source *source, int kind, size_t n, unsigned char *buffer)
{
	uint32_t row[PART];
	struct chosen bodies = {.row = source->kinds.species ? row : NULL};
	int status = NB_OK;
	for (size_t i = 0; i < n && !status && (source->kinds.species || kind == 1);) {
		bodies.first = i;
		for (bodies.count = 0; i < n && bodies.count < PART; i++) {
			row[bodies.count] = (uint32_t)i;
			bodies.count += kind_of(&source->kinds, i) == kind;
		}
		if (is_late(out, source))
			status = refuse_rows(out, source, bodies.first, bodies.count);
		if (!status)
			status = put_part(out->output, source, kind, &bodies, buffer);
	}
	return status;
}

static int put_header(struct nb_export *out, const struct nb_frame *frame, const struct source *source)
{
	const char *dim = nb_frame_attribute(frame, "dim");
	uint64_t count[NB_TIPSY_KINDS] = {0};
	unsigned char header[NB_TIPSY_HEADER] = {0};
	double time;
	if (nb_frame_attribute_f64(frame, "time", 0, &time))
		return nb_export_fail(out, "attribute time='%s' is not a number", nb_frame_attribute(frame, "time"));
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++)
		count[kind_of(&source->kinds, i)]++;
	unsigned char *to = put_f8(header, time, source->big);
	to = put_u4(to, frame->rows[NB_PARTICLE], source->big);
	to = put_u4(to, dim && strcmp(dim, "2") == 0 ? 2 : 3, source->big);
	for (int k = 0; k < NB_TIPSY_KINDS; k++)
		to = put_u4(to, count[k], source->big);
	return nb_output_bytes(out->output, header, sizeof header) ? -1 : NB_OK;
}

/* ---- FILE.iord ---------------------------------------------------------------------------------- */

/* The file of ids, if there must be one: they do not follow from the rows, or there is such a file already, which
 * would then belong to other bodies.  *to is NULL if not. */
static int begin_ids(struct nb_export *out, const struct nb_frame *frame, const uint64_t *id, struct nb_output **to)
{
	struct stat about;
	*to = NULL;
	if (!can_have_arrays(out->path))
		return NB_OK;
	char *path = malloc(strlen(out->path) + sizeof ".iord");
	if (!path)
		return NB_ENOMEM;
	sprintf(path, "%s.iord", out->path);
	const int wanted = (id && !ids_follow(frame, id)) || stat(path, &about) == 0;
	*to = wanted ? nb_export_beside(out, path) : NULL;
	free(path);
	return wanted && !*to ? NB_ENOMEM : NB_OK;
}

static int put_id(struct nb_output *out, uint64_t id)
{
	char text[24], *at = text + sizeof text;
	*--at = '\n';
	do
		*--at = (char)('0' + id % 10);
	while (id /= 10);
	return nb_output_bytes(out, at, (size_t)(text + sizeof text - at));
}

static int put_ids(struct nb_export *out, const struct nb_frame *frame, const struct source *source)
{
	struct nb_column *column = nb_frame_field(frame, NB_ID);
	const size_t n = frame->rows[NB_PARTICLE];
	const uint64_t *id = column ? nb_column_read(column, &nb_space_host, NB_AS_U64) : NULL;
	struct nb_output *to;
	uint64_t place = 0;
	if (column && !id && n)
		return NB_ENOMEM;
	if (begin_ids(out, frame, id, &to))
		return NB_ENOMEM;
	if (to && put_id(to, n))
		return -1;
	for (int k = 0; k < NB_TIPSY_KINDS && to; k++)
		for (size_t i = 0; i < n; i++)
			if (kind_of(&source->kinds, i) == k && put_id(to, id ? id[i] : place++))
				return -1;
	return NB_OK;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int write_file(struct nb_export *out, const struct nb_frame *frame)
{
	struct source source;
	int status = read_source(out, frame, &source);
	if (!status)
		status = refuse(out, frame, &source);
	unsigned char *buffer = status ? NULL : nb_alloc(PART, nb_tipsy_record(0, 1));
	if (!status && !buffer)
		status = NB_ENOMEM;
	if (!status)
		status = put_header(out, frame, &source);
	for (int k = 0; k < NB_TIPSY_KINDS && !status; k++)
		status = put_kind(out, &source, k, frame->rows[NB_PARTICLE], buffer);
	if (!status && source.kinds.species && source.kinds.meaning == NB_TYPES_OF_GALAXY && frame->rows[NB_PARTICLE])
		snprintf(out->warning, sizeof out->warning,
			"disks and bulges, species 0, 1, 3 and 4, become stars, and halos, 2 and 5, dark bodies");
	nb_free(buffer);
	return status ? status : put_ids(out, frame, &source);
}

int nb_tipsy_frame(struct nb_export *out, const struct nb_frame *frame)
{
	struct nb_frame snapshot;
	nb_frame_init(&snapshot);
	int status = nb_comoving_write_tipsy(out, frame, &snapshot);
	if (!status)
		status = write_file(out, &snapshot);
	nb_frame_clear(&snapshot);
	return status;
}
