/* Sets of particles that AMUSE (amusecode.org) has written with its format "amuse": each is a group such as
 * particles/0000000001 with a dataset keys and a group attributes, in which each attribute is a dataset with its unit,
 * an expression of the units of SI or of N-body units.  Each set becomes a frame; numbers become SI, or stay N-body
 * units; names of particles become the attribute names.  Attributes of other kinds are left out with a warning.  Only
 * read. */
#include "formats/exchange/bytes.h"
#include "formats/exchange/hdf5/hdf5.h"
#include "formats/exchange/subset.h"

#include "common/decimal.h"
#include "common/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 400, BLOCK = 16384, NBASE = 7, DEPTH = 50 };
#define G_SI 6.6743e-11

struct amuse_reader {
	struct nb_import *in;
	struct nb_h5_reader file;
	size_t next; /* item to go on from */
	int open;
};

/* ---- units -------------------------------------------------------------------------------------- */

static const char *const bases[NBASE] = {"length", "mass", "time", "thermodynamic temperature", "electric current",
	"luminous intensity", "amount of substance"};
static const char *const si[NBASE] = {"m", "kg", "s", "K", "A", "cd", "mol"};

enum system { NO_SYSTEM, SI, NBODY, OTHER_SYSTEM };

struct unit {
	double factor;
	double power[NBASE];
	enum system system;
};

/* What is left of the text; NULL: it is no unit. */
struct parser {
	const char *at;
	int depth;
};

static void skip(struct parser *p)
{
	while (p->at && *p->at == ' ')
		p->at++;
}

static int take(struct parser *p, const char *word)
{
	skip(p);
	const size_t n = strlen(word);
	if (!p->at || strncmp(p->at, word, n) != 0)
		return 0;
	p->at += n;
	return 1;
}

/* 'text' or "text" */
static void take_text(struct parser *p, char *to, size_t size)
{
	*to = '\0';
	const char quote = p->at ? *p->at : '\0',
		   *end = quote == '\'' || quote == '"' ? strchr(p->at + 1, quote) : NULL;
	if (end && (size_t)(end - p->at) <= size) {
		memcpy(to, p->at + 1, (size_t)(end - p->at) - 1);
		to[end - p->at - 1] = '\0';
	}
	p->at = end ? end + 1 : NULL;
}

static struct unit product(struct parser *p);

/* system.get('S.I.').base('mass'), a number, or an expression in brackets */
static struct unit atom(struct parser *p)
{
	struct unit unit = {.factor = 1};
	char text[40];
	if (++p->depth > DEPTH)
		p->at = NULL;
	if (take(p, "system.get(")) {
		take_text(p, text, sizeof text);
		unit.system = strcmp(text, "S.I.") == 0					   ? SI
			      : strcmp(text, "nbody") == 0 || strcmp(text, "generic") == 0 ? NBODY
											   : OTHER_SYSTEM;
		if (!take(p, ").base("))
			p->at = NULL;
		take_text(p, text, sizeof text);
		int known = 0;
		for (int k = 0; k < NBASE; k++)
			if (strcmp(text, bases[k]) == 0)
				known = (int)(unit.power[k] = 1);
		if (!known || !take(p, ")"))
			p->at = NULL;
	} else if (take(p, "core.none_unit") || take(p, "units.none") || take(p, "none")) {
		return unit;
	} else if (take(p, "(")) {
		unit = product(p);
		if (!take(p, ")"))
			p->at = NULL;
	} else {
		p->at = p->at ? nb_decimal_read(p->at, &unit.factor) : NULL;
	}
	p->depth--;
	return unit;
}

static struct unit power(struct parser *p)
{
	struct unit unit = atom(p);
	while (take(p, "**")) {
		const struct unit exponent = atom(p);
		unit.factor = pow(unit.factor, exponent.factor);
		for (int k = 0; k < NBASE; k++)
			unit.power[k] *= exponent.factor;
	}
	return unit;
}

static struct unit product(struct parser *p)
{
	struct unit unit = power(p);
	for (int over; p->at && ((over = take(p, "/")) || take(p, "*"));) {
		const struct unit other = power(p);
		unit.factor *= over ? 1 / other.factor : other.factor;
		for (int k = 0; k < NBASE; k++)
			unit.power[k] += over ? -other.power[k] : other.power[k];
		if (other.system && unit.system && other.system != unit.system)
			unit.system = OTHER_SYSTEM;
		else if (other.system)
			unit.system = other.system;
	}
	return unit;
}

/* The unit of a dataset: 0, or -1 if it cannot be understood. */
static int unit_of(const struct amuse_reader *reader, const char *path, struct unit *unit)
{
	char name[PATH + 8];
	snprintf(name, sizeof name, "%s@units", path);
	const struct nb_h5_item *item = nb_h5_find(&reader->file, name);
	*unit = (struct unit){.factor = 1};
	if (!item)
		return 0;
	if (!item->text)
		return -1;
	if (!*item->text)
		return 0;
	struct parser p = {.at = item->text};
	*unit = product(&p);
	skip(&p);
	return p.at && !*p.at && unit->system != OTHER_SYSTEM && isfinite(unit->factor) ? 0 : -1;
}

/* "kg*m^2/s^2" as "kg*m^2*s^-2" */
static void unit_text(const struct unit *unit, char to[NB_UNIT_SIZE + 1])
{
	size_t used = 0;
	*to = '\0';
	for (int k = 0; k < NBASE && unit->system == SI && used < NB_UNIT_SIZE; k++) {
		if (unit->power[k] == 0)
			continue;
		used += (size_t)snprintf(to + used, NB_UNIT_SIZE + 1 - used, "%s%s", used ? "*" : "", si[k]);
		if (unit->power[k] != 1 && used < NB_UNIT_SIZE)
			used += (size_t)snprintf(to + used, NB_UNIT_SIZE + 1 - used, "^%g", unit->power[k]);
	}
	if (used > NB_UNIT_SIZE)
		*to = '\0';
}

/* ---- one set ------------------------------------------------------------------------------------ */

/* Columns that are made of several attributes. */
static const struct vector {
	enum nb_field field;
	const char *part[3];
	double power[3]; /* of length, mass and time */
} vectors[] = {
	{NB_POS, {"x", "y", "z"}, {1, 0, 0}},
	{NB_VEL, {"vx", "vy", "vz"}, {1, 0, -1}},
	{NB_ACC, {"ax", "ay", "az"}, {1, 0, -2}},
	{NB_MASS, {"mass"}, {0, 1, 0}},
	{NB_RADIUS, {"radius"}, {1, 0, 0}},
};
enum { NVECTOR = sizeof vectors / sizeof *vectors };

struct set {
	char path[PATH]; /* of its group */
	uint64_t n;
	enum system system;
};

static int fail(struct amuse_reader *reader, const char *path, const char *what)
{
	return nb_h5_fail(&reader->file, "dataset '%.200s' %s", path, what);
}

static void leave_out(struct amuse_reader *reader, const char *path)
{
	const size_t used = strlen(reader->in->warning);
	snprintf(reader->in->warning + used, sizeof reader->in->warning - used, "%s %.60s",
		used ? "," : "not read:", path);
}

static int no_column(struct amuse_reader *reader, const struct nb_frame *frame)
{
	return frame->ncolumn < NB_MAX_COLUMNS
		       ? nb_h5_no_memory(&reader->file)
		       : nb_h5_fail(
				 &reader->file, "more than %d columns (choose some with '--fields')", NB_MAX_COLUMNS);
}

/* An attribute of the set; NULL: there is none. */
static const struct nb_h5_item *find(const struct amuse_reader *reader, const struct set *set, const char *name)
{
	char path[PATH + 60];
	snprintf(path, sizeof path, "%s/attributes/%s", set->path, name);
	return nb_h5_find(&reader->file, path);
}

/* All attributes are of one system. */
static int take_system(struct amuse_reader *reader, struct set *set, const char *path, struct unit *unit)
{
	if (unit_of(reader, path, unit) || (set->system && unit->system && set->system != unit->system))
		return fail(reader, path, "has a unit that is neither of SI nor of N-body units");
	if (unit->system)
		set->system = unit->system;
	return NB_OK;
}

/* One that is a part of a column has a number for each body, and a unit of the column. */
static int check_part(struct amuse_reader *reader, struct set *set, const struct vector *vector,
	const struct nb_h5_item *item, struct unit *unit)
{
	if (nb_h5_reason(item))
		return nb_h5_check(&reader->file, item);
	if (item->rank != 1 || item->dim[0] != set->n || item->kind == '?' || item->kind == 'S')
		return fail(reader, item->path, "has not a number for each particle");
	if (nb_h5_check(&reader->file, item) || take_system(reader, set, item->path, unit))
		return NB_EINVAL;
	for (int b = 0; unit->system && b < 3; b++)
		if (unit->power[b] != vector->power[b])
			return fail(reader, item->path, "has the unit of something else");
	return NB_OK;
}

/* The parts of a column that is wanted; *there: how many. */
static int check_vector(struct amuse_reader *reader, struct set *set, const struct vector *vector,
	const struct nb_h5_item *item[3], double factor[3], uint32_t *there)
{
	const struct nb_field_info *info = &nb_field_info[vector->field];
	for (uint32_t k = 0; k < info->ncomp; k++) {
		struct unit unit;
		item[k] = find(reader, set, vector->part[k]);
		if (item[k] && check_part(reader, set, vector, item[k], &unit))
			return NB_EINVAL;
		*there += item[k] != NULL;
		factor[k] = item[k] ? unit.factor : 1;
	}
	return *there == 0 || *there == info->ncomp
		       ? NB_OK
		       : nb_h5_fail(&reader->file, "'%.200s' has %s incomplete ('--fields' chooses columns)", set->path,
				 info->name);
}

static int read_vector(
	struct amuse_reader *reader, struct set *set, const struct vector *vector, struct nb_frame *frame)
{
	const struct nb_field_info *info = &nb_field_info[vector->field];
	const int vital = vector->field == NB_POS || vector->field == NB_VEL || vector->field == NB_MASS;
	const struct nb_h5_item *item[3] = {NULL};
	double factor[3];
	uint32_t there = 0;
	if (!nb_subset_needs(&reader->in->subset, info->name))
		return NB_OK;
	int status = check_vector(reader, set, vector, item, factor, &there);
	if (status && !vital) {
		leave_out(reader, item[0] ? item[0]->path : info->name);
		return NB_OK;
	}
	if (status || !there)
		return status;
	double *to = nb_column_write(nb_frame_add_field(frame, vector->field, NULL, 0), &nb_space_host, NB_WIRE),
	       *block = nb_alloc(BLOCK, sizeof *block);
	if (!to || !block)
		status = nb_h5_no_memory(&reader->file);
	for (uint64_t at = 0; !status && at < set->n; at += BLOCK)
		for (uint32_t k = 0; !status && k < info->ncomp; k++) {
			const uint64_t part = set->n - at < BLOCK ? set->n - at : BLOCK;
			status = nb_h5_read(&reader->file, item[k], at, part, "<f8", block);
			for (uint64_t i = 0; !status && i < part; i++)
				to[(at + i) * info->ncomp + k] = block[i] * factor[k];
		}
	nb_free(block);
	return status;
}

/* Without columns of either system the units of places and masses that are not wanted say which it is. */
static void guess_system(struct amuse_reader *reader, struct set *set)
{
	static const char *const telling[] = {"x", "mass", "vx"};
	struct unit unit;
	for (size_t k = 0; k < sizeof telling / sizeof *telling && !set->system; k++) {
		const struct nb_h5_item *item = find(reader, set, telling[k]);
		if (item && unit_of(reader, item->path, &unit) == 0)
			set->system = unit.system;
	}
}

static int is_part(const char *name)
{
	for (size_t v = 0; v < NVECTOR; v++)
		for (size_t k = 0; k < 3 && vectors[v].part[k]; k++)
			if (strcmp(vectors[v].part[k], name) == 0)
				return 1;
	return 0;
}

static int read_other(struct amuse_reader *reader, struct set *set, const struct nb_h5_item *item, const char *name,
	struct nb_frame *frame)
{
	struct unit unit;
	char text[NB_UNIT_SIZE + 1], dtype[NB_DTYPE_SIZE + 1];
	if (nb_h5_check(&reader->file, item) || take_system(reader, set, item->path, &unit)) {
		leave_out(reader, item->path);
		return NB_OK;
	}
	const int as_is = unit.factor == 1 || item->kind == 'S';
	if (!as_is)
		strcpy(dtype, "<f8");
	else if (nb_h5_dtype(item, dtype)) {
		leave_out(reader, item->path);
		return NB_OK;
	}
	unit_text(&unit, text);
	struct nb_column *column = nb_frame_add(frame, name, NB_PARTICLE, dtype, (uint32_t)nb_h5_width(item), text, 0);
	void *to = nb_column_write(column, &nb_space_host, NB_WIRE);
	if (!to)
		return no_column(reader, frame);
	const int status = nb_h5_read(&reader->file, item, 0, set->n, dtype, to);
	for (uint64_t i = 0; !status && !as_is && i < set->n * column->ncomp; i++)
		((double *)to)[i] *= unit.factor;
	return status;
}

static int read_ids(struct amuse_reader *reader, const struct set *set, struct nb_frame *frame)
{
	char path[PATH + 8];
	snprintf(path, sizeof path, "%s/keys", set->path);
	const struct nb_h5_item *item = nb_h5_find(&reader->file, path);
	if (!nb_subset_needs(&reader->in->subset, "id"))
		return NB_OK;
	uint64_t *id = nb_column_write(nb_frame_add_field(frame, NB_ID, NULL, 0), &nb_space_host, NB_WIRE);
	if (!id)
		return nb_h5_no_memory(&reader->file);
	if (item && (item->rank != 1 || item->dim[0] != set->n))
		return fail(reader, path, "has not a number for each particle");
	if (item)
		return nb_h5_read(&reader->file, item, 0, set->n, "<u8", id);
	for (uint64_t i = 0; i < set->n; i++)
		id[i] = i;
	return NB_OK;
}

/* Characters of 4 bytes, big-endian, as UTF-8, which takes no more bytes. */
static void to_utf8(const unsigned char *from, uint64_t bytes, char *to)
{
	for (uint64_t k = 0; k + 3 < bytes; k += 4) {
		const uint32_t c = (uint32_t)from[k] << 24 | (uint32_t)from[k + 1] << 16 | (uint32_t)from[k + 2] << 8 |
				   from[k + 3];
		if (c == 0 || c > 0x10ffff)
			break;
		if (c < 0x80)
			*to++ = (char)c;
		else {
			const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
			*to++ = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | c >> 6 * more);
			for (int m = more; m-- > 0;)
				*to++ = (char)(0x80 | (c >> 6 * m & 0x3f));
		}
	}
	*to = '\0';
}

/* The attribute name of particles is the attribute names of the frame, by their keys. */
static int read_names(
	struct amuse_reader *reader, const struct set *set, const struct nb_h5_item *item, struct nb_frame *frame)
{
	const size_t size = item->size + 1;
	struct nb_column *ids = nb_frame_field(frame, NB_ID);
	const uint64_t *id = ids ? nb_column_read(ids, &nb_space_host, NB_AS_U64) : NULL;
	char *raw = nb_alloc(set->n, size), *text = nb_alloc(set->n, size), *all = NULL;
	struct nb_name *name = nb_alloc(set->n, sizeof *name);
	size_t n = 0;
	int status = raw && text && name && (id || set->n == 0) ? nb_h5_read_texts(&reader->file, item, raw)
								: nb_h5_no_memory(&reader->file);
	for (uint64_t i = 0; !status && i < set->n; i++) {
		to_utf8((unsigned char *)raw + i * size, item->size, text + i * size);
		if (text[i * size])
			name[n++] = (struct nb_name){id[i], text + i * size};
	}
	if (!status && !(all = nb_names_text(n, name)))
		status = nb_h5_no_memory(&reader->file);
	if (!status && strlen(all) > NB_MAX_ATTRIBUTE_BYTES / 2)
		leave_out(reader, item->path);
	else if (!status && *all && nb_frame_set_attribute(frame, "names", all))
		status = nb_h5_no_memory(&reader->file);
	nb_free_all(raw, text, name, all);
	return status;
}

/* Text that AMUSE has written: "name" of each particle. */
static int are_names(const struct amuse_reader *reader, const struct nb_h5_item *item, const char *name)
{
	char path[PATH + 8];
	snprintf(path, sizeof path, "%.*s@units", PATH, item->path);
	const struct nb_h5_item *unit = nb_h5_find(&reader->file, path);
	return strcmp(name, "name") == 0 && item->kind == 'S' && unit && unit->text &&
	       strcmp(unit->text, "UNICODE") == 0;
}

static int read_others(struct amuse_reader *reader, struct set *set, struct nb_frame *frame)
{
	char before[PATH + 16];
	const int length = snprintf(before, sizeof before, "%s/attributes/", set->path);
	int status = NB_OK;
	for (size_t k = 0; !status && k < reader->file.nitem; k++) {
		const struct nb_h5_item *item = &reader->file.item[k];
		const char *name = item->path + length;
		if (item->is_attribute || strncmp(item->path, before, (size_t)length) != 0 || strchr(name, '/') ||
			is_part(name))
			continue;
		const int names = are_names(reader, item, name);
		if (!nb_subset_needs(&reader->in->subset, names ? "id" : name))
			continue;
		if (nb_field_find(name) || !nb_h5_is_plain(name, 0) || item->kind == '?' || item->rank == 0 ||
			item->dim[0] != set->n || nb_h5_width(item) == 0 || nb_h5_width(item) > 4096)
			leave_out(reader, item->path);
		else
			status = names && item->rank == 1 ? read_names(reader, set, item, frame)
							  : read_other(reader, set, item, name, frame);
	}
	return status;
}

static int set_attributes(struct amuse_reader *reader, const struct set *set, struct nb_frame *frame)
{
	static const char *const names[] = {"timestamp", "time"};
	double time = NAN;
	for (size_t k = 0; k < 2 && isnan(time); k++) {
		char path[PATH + 32];
		snprintf(path, sizeof path, "%s@%s", set->path, names[k]);
		time = nb_h5_number(&reader->file, path, 0, NAN);
		snprintf(path, sizeof path, "%s@%s_unit", set->path, names[k]);
		const struct nb_h5_item *item = nb_h5_find(&reader->file, path);
		struct parser p = {.at = item && item->text ? item->text : NULL};
		const struct unit unit = p.at ? product(&p) : (struct unit){.factor = 1};
		time *= p.at || !item ? unit.factor : NAN;
	}
	int status = nb_frame_set_attribute(frame, "dim", "3");
	if (!status && isfinite(time))
		status = nb_frame_set_attribute_f64(frame, "time", time);
	if (!status)
		status = nb_frame_set_attribute_f64(frame, "G", set->system == SI ? G_SI : 1);
	if (!status && set->system == SI)
		status = nb_frame_set_attribute(frame, "units", "SI");
	return status ? nb_h5_no_memory(&reader->file) : NB_OK;
}

/* The next set of particles: 1, 0 if there is none, -1 after an error. */
static int next_set(struct amuse_reader *reader, struct set *set)
{
	static const char ending[] = "@number_of_particles";
	for (; reader->next < reader->file.nitem; reader->next++) {
		const struct nb_h5_item *item = &reader->file.item[reader->next];
		const size_t length = strlen(item->path), more = sizeof ending - 1;
		/* a group that cannot be opened might be one */
		if (item->layout == NB_H5_UNKNOWN && length && !strstr(item->path, "/attributes/") &&
			nb_h5_check(&reader->file, item))
			return -1;
		if (!item->is_attribute || length < more || strcmp(item->path + length - more, ending) != 0)
			continue;
		reader->next++;
		if (length - more >= PATH || !item->number || !(item->number[0] >= 0) ||
			item->number[0] > (double)NB_MAX_ROWS || item->number[0] != floor(item->number[0])) {
			nb_h5_fail(&reader->file, "'%.200s' is no number of particles", item->path);
			return -1;
		}
		*set = (struct set){.n = (uint64_t)item->number[0]};
		memcpy(set->path, item->path, length - more);
		return 1;
	}
	return 0;
}

static int read_set(struct amuse_reader *reader, struct set *set, struct nb_frame *frame)
{
	if (!find(reader, set, "x"))
		return nb_h5_fail(&reader->file, "'%.200s' has no positions", set->path);
	frame->rows[NB_PARTICLE] = set->n;
	int status = read_ids(reader, set, frame);
	for (size_t v = 0; !status && v < NVECTOR; v++)
		status = read_vector(reader, set, &vectors[v], frame);
	if (!status)
		status = read_others(reader, set, frame);
	guess_system(reader, set);
	return status ? status : set_attributes(reader, set, frame);
}

/* ---- the format --------------------------------------------------------------------------------- */

static int open_sets(struct nb_import *in)
{
	struct amuse_reader *reader = in->state;
	reader->in = in;
	return NB_OK;
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct amuse_reader *reader = in->state;
	struct set set;
	int status = NB_OK, there = 0;
	*in->warning = '\0';
	if (!reader->open) {
		status = nb_h5_open(&reader->file, NULL, in->bytes, nb_import_tail(in));
		reader->open = 1;
	}
	if (!status) {
		there = next_set(reader, &set);
		if (there == 0 && in->nframe == 0)
			status = nb_h5_fail(&reader->file, "this HDF5 file has no particles of AMUSE");
		else if (there > 0)
			status = read_set(reader, &set, frame);
	}
	if (status || there < 0) {
		snprintf(in->error, sizeof in->error, "%s", reader->file.error);
		return NB_ERROR;
	}
	return there ? NB_FRAME : NB_END;
}

static void close_sets(struct nb_import *in)
{
	nb_h5_close(&((struct amuse_reader *)in->state)->file);
}

/* AMUSE calls the group of all sets "particles"; GADGET has none of that name, but a Header. */
static int recognises(const unsigned char *head, size_t n, uint64_t size)
{
	static const char name[] = "particles", other[] = "Header";
	(void)size;
	return nb_h5_recognises(head, n) && memmem(head, n, name, sizeof name) && !memmem(head, n, other, sizeof other);
}

const struct nb_format nb_format_amuse = {
	.name = "amuse",
	.about = "AMUSE HDF5",
	.place = -1,
	.traits = NB_MANY_FRAMES | NB_UNCHECKED,
	.G = 1,
	.lacks = nb_h5_lacks,
	.recognises = recognises,
	.import_size = sizeof(struct amuse_reader),
	.open = open_sets,
	.next = next,
	.close = close_sets,
};
