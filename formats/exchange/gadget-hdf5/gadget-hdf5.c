/* Snapshots of GADGET in HDF5 as GADGET-2 to GADGET-4, AREPO, GIZMO, SWIFT, OWLS and EAGLE write them: a group Header,
 * and a group PartTypeN for each type that has bodies, with a dataset for each column.  There may be any number of
 * types, a type may have one mass for all (MassTable), and a snapshot may be several files NAME.0.hdf5, NAME.1.hdf5 ...
 *
 * Bodies stand in the order of types, and in a type in that of the files.  pos, vel, mass, pot, acc and eps become <f8,
 * ids <u8; other columns keep their type.  Where only some types or files have a dataset, others get NaN if the column
 * may have it; otherwise the column is left out.  Types and columns that are not wanted decide nothing.
 * gadget-hdf5/write.c writes. */
#include "formats/exchange/gadget-hdf5/read.h"
#include "formats/exchange/subset.h"

#include "common/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TYPES = NB_GADGET_HDF5_TYPES, MOST_FILES = 1 << 16, PATH = NB_GADGET_HDF5_PATH };

/* What is wrong with a type is reported if it turns out to be wanted. */
static void put_off(struct nb_gadget_hdf5_reader *reader, unsigned type)
{
	if (!*reader->refusal[type])
		memcpy(reader->refusal[type], reader->file.error, sizeof reader->refusal[type]);
}

/* ---- what is there ------------------------------------------------------------------------------ */

/* A whole number of an attribute. */
static int whole(struct nb_gadget_hdf5_reader *reader, const char *path, size_t k, double most, uint64_t *n)
{
	const double x = nb_h5_number(&reader->file, path, k, 0);
	if (!(x >= 0) || x > most || x != floor(x))
		return nb_h5_fail(&reader->file, "%s has the number %g", strchr(path, '@') + 1, x);
	*n = (uint64_t)x;
	return NB_OK;
}

static int refuse_catalogue(struct nb_gadget_hdf5_reader *reader)
{
	return nb_h5_fail(&reader->file,
		"this is a catalogue of groups, which has no bodies (give the snapshot that it belongs to)");
}

/* Bodies of each type in the present file. */
static int count_bodies(struct nb_gadget_hdf5_reader *reader, uint64_t n[TYPES])
{
	const struct nb_h5_item *item = nb_h5_find(&reader->file, "Header@NumPart_ThisFile");
	uint64_t all = 0;
	if (nb_h5_is_blocked(&reader->file, "Header"))
		return NB_EINVAL;
	if ((!item || !item->number) && nb_h5_find(&reader->file, "Header@Ngroups_ThisFile"))
		return refuse_catalogue(reader);
	if (!item || !item->number)
		return nb_h5_fail(
			&reader->file, "this HDF5 file is no GADGET snapshot (it has no Header/NumPart_ThisFile)");
	if (item->count > TYPES)
		return nb_h5_fail(
			&reader->file, "Header/NumPart_ThisFile has %" PRIu64 " types (limit %d)", item->count, TYPES);
	memset(n, 0, TYPES * sizeof *n);
	for (unsigned t = 0; t < item->count; t++)
		if (whole(reader, item->path, t, (double)NB_MAX_ROWS, &n[t]))
			return NB_EINVAL;
		else
			all += n[t];
	if (all == 0 && nb_h5_find(&reader->file, "Header@Ngroups_ThisFile"))
		return refuse_catalogue(reader);
	if (reader->ntype < item->count)
		reader->ntype = (unsigned)item->count;
	return NB_OK;
}

/* The type and the name of a dataset of bodies: 1, or 0 if it is none. */
static int is_of_type(const struct nb_h5_item *item, unsigned *type, const char **name)
{
	int length = 0;
	if (item->is_attribute || sscanf(item->path, "PartType%2u/%n", type, &length) != 1 || !length || *type >= TYPES)
		return 0;
	*name = item->path + length;
	return 1;
}

static const char *text_of(
	const struct nb_gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *attribute)
{
	char path[PATH];
	snprintf(path, sizeof path, "%.120s@%s", item->path, attribute);
	const struct nb_h5_item *found = nb_h5_find(&reader->file, path);
	return found && found->text && *found->text ? found->text : NULL;
}

static void column_of(const struct nb_gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *dataset,
	char name[NB_NAME_SIZE + 1])
{
	const char *own = text_of(reader, item, "column");
	if (own && nb_h5_is_plain(own, 0))
		strcpy(name, own);
	else
		nb_gadget_column_name(dataset, name);
}

/* How a dataset is to be read: as the standard column of this name, or as what it is.  -1: not at all. */
static int make_plan(
	struct nb_gadget_hdf5_reader *reader, const struct nb_h5_item *item, struct nb_gadget_hdf5_column *plan)
{
	const struct nb_field_info *field = nb_field_find(plan->name);
	const char *own = text_of(reader, item, "dtype"), *unit = text_of(reader, item, "unit");
	plan->ncomp = nb_h5_width(item);
	if (nb_h5_check(&reader->file, item) || nb_h5_dtype(item, plan->dtype) || item->rank == 0 || plan->ncomp == 0 ||
		plan->ncomp > 4096)
		return -1;
	if (own && strcmp(own, "|b1") == 0 && strcmp(plan->dtype, "|u1") == 0)
		strcpy(plan->dtype, own);
	if (unit && nb_h5_is_plain(unit, 1))
		strcpy(plan->unit, unit);
	if (!field)
		return 0;
	const int ids = strcmp(field->dtype, "<u8") == 0, species = field == &nb_field_info[NB_SPECIES];
	/* species are the types, except those of a model that nb has written */
	if (species && (strcmp(plan->dtype, "|u1") != 0 || !nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES)))
		return -1;
	if (field->table != NB_PARTICLE || field->ncomp != plan->ncomp || item->kind == 'S' ||
		(ids && item->kind == 'f'))
		return -1;
	strcpy(plan->dtype, field->dtype);
	return 0;
}

/* A dataset that a body cannot do without, or is of no use with another: the error says what is wrong. */
static int check_vital(struct nb_gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *name,
	uint64_t rows, unsigned type)
{
	static const char *const vital[] = {"pos", "vel", "id", "mass"};
	struct nb_gadget_hdf5_column plan = {.read = 1};
	strcpy(plan.name, name);
	if (!nb_h5_reason(item) && nb_field_find(name) && (item->rank == 0 || item->dim[0] != rows))
		return nb_h5_fail(&reader->file,
			"dataset '%.200s' has %" PRIu64 " rows, but Header/NumPart_ThisFile says %" PRIu64
			" bodies of type %u",
			item->path, item->rank ? item->dim[0] : 0, rows, type);
	for (size_t k = 0; k < sizeof vital / sizeof *vital; k++) {
		if (strcmp(name, vital[k]) != 0)
			continue;
		if (item->kind != '?' || nb_h5_reason(item))
			if (nb_h5_check(&reader->file, item))
				return NB_EINVAL;
		if (make_plan(reader, item, &plan))
			return nb_h5_fail(&reader->file, "dataset '%.200s' has a shape or a type that %s cannot have%s",
				item->path, name, k == 2 ? " ('--fields' without id leaves it out)" : "");
	}
	return NB_OK;
}

/* Takes a dataset of a type that may be wanted into the list of its columns. */
static int plan_dataset(struct nb_gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *dataset,
	uint64_t rows, unsigned type)
{
	struct nb_gadget_hdf5_column plan = {.type = type, .read = 1, .file = reader->present};
	char path[PATH];
	if (strchr(dataset, '/')) { /* of a group of datasets, which is named as a whole */
		snprintf(path, sizeof path, "%.*s", (int)(strchr(dataset, '/') - item->path + 1), item->path);
		if (!reader->in->subset.wants)
			nb_gadget_hdf5_note(reader->unread[type], path, NULL);
		return NB_OK;
	}
	column_of(reader, item, dataset, plan.name);
	if (!nb_subset_needs(&reader->in->subset, plan.name))
		return NB_OK;
	if (check_vital(reader, item, plan.name, rows, type))
		return NB_EINVAL;
	struct nb_gadget_hdf5_column *same = nb_gadget_hdf5_find(&reader->set, plan.name, type);
	if (item->rank == 0 || item->dim[0] != rows || make_plan(reader, item, &plan) ||
		(same && (same->file == reader->present || !nb_gadget_hdf5_fits(&plan, same)))) {
		nb_gadget_hdf5_note(reader->unread[type], item->path, nb_h5_reason(item));
		return NB_OK;
	}
	plan.rows = rows;
	if (same) {
		nb_gadget_hdf5_widen(same, plan.dtype);
		same->rows += rows;
		same->file = reader->present;
		return NB_OK;
	}
	size_t columns = 0;
	for (size_t k = 0; k < reader->set.n; k++)
		columns += reader->set.of[k].type == type;
	if (columns == NB_MAX_COLUMNS)
		return nb_h5_fail(&reader->file, "type %u has more than %d datasets (choose some with '--fields')",
			type, NB_MAX_COLUMNS);
	return nb_gadget_hdf5_add(&reader->set, &plan) ? NB_OK : nb_h5_no_memory(&reader->file);
}

static int check_places(
	struct nb_gadget_hdf5_reader *reader, const struct nb_h5_item *places, unsigned type, uint64_t n)
{
	if (nb_h5_check(&reader->file, places))
		return NB_EINVAL;
	if (places->rank == 2 && places->dim[0] == n && places->dim[1] == 3)
		return NB_OK;
	return nb_h5_fail(&reader->file,
		"dataset '%s' has %" PRIu64 " rows of %" PRIu64 " numbers, but Header/NumPart_ThisFile says %" PRIu64
		" bodies of type %u",
		places->path, places->rank ? places->dim[0] : 0, nb_h5_width(places), n, type);
}

/* A type has a mass for all, or each body has one. */
static int take_mass(struct nb_gadget_hdf5_reader *reader, unsigned type, uint64_t n)
{
	const double mass = nb_h5_number(&reader->file, "Header@MassTable", type, 0);
	const struct nb_gadget_hdf5_column *own = nb_gadget_hdf5_find(&reader->set, "mass", type);
	const int each = own && own->file == reader->present;
	if (each || mass > 0)
		reader->massive[type] += n;
	if (each || !(mass > 0) || !nb_subset_needs(&reader->in->subset, "mass"))
		return NB_OK;
	if (reader->mass[type] > 0 && reader->mass[type] != mass)
		return nb_h5_fail(
			&reader->file, "Header/MassTable has another mass of type %u than the files before", type);
	reader->mass[type] = mass;
	return NB_OK;
}

/* What the present file has of a type. */
static int survey_type(struct nb_gadget_hdf5_reader *reader, unsigned type, uint64_t n)
{
	char path[PATH];
	snprintf(path, sizeof path, "PartType%u/Coordinates", type);
	const struct nb_h5_item *places = nb_h5_find(&reader->file, path);
	reader->counted[type] += n;
	if (n && !places)
		return nb_h5_is_blocked(&reader->file, path) ? NB_EINVAL : NB_OK;
	reader->n[type] += n;
	if (n == 0 || !nb_subset_species(&reader->in->subset, type))
		return NB_OK;
	if (check_places(reader, places, type, n))
		return NB_EINVAL;
	for (size_t k = 0; k < reader->file.nitem; k++) {
		unsigned of;
		const char *name;
		const struct nb_h5_item *item = &reader->file.item[k];
		if (is_of_type(item, &of, &name) && of == type && plan_dataset(reader, item, name, n, type))
			return NB_EINVAL;
	}
	return take_mass(reader, type, n);
}

static int survey(struct nb_gadget_hdf5_reader *reader)
{
	uint64_t n[TYPES];
	if (count_bodies(reader, n))
		return NB_EINVAL;
	reader->bytes += reader->file.size;
	for (unsigned t = 0; t < TYPES; t++)
		if (survey_type(reader, t, n[t]))
			put_off(reader, t);
	return NB_OK;
}

/* What the header says of all files. */
static int check_totals(struct nb_gadget_hdf5_reader *reader)
{
	const struct nb_h5_item *low = nb_h5_find(&reader->file, "Header@NumPart_Total");
	for (unsigned t = 0; !reader->in->subset.one_file && low && low->number && t < low->count && t < TYPES; t++) {
		uint64_t total = 0, high = 0;
		if (!nb_subset_species(&reader->in->subset, t))
			continue;
		if (whole(reader, low->path, t, 0x1p62, &total) ||
			whole(reader, "Header@NumPart_Total_HighWord", t, 0x1p30, &high))
			return NB_EINVAL;
		total += high << 32;
		if (total != reader->counted[t] && total != 0)
			return nb_h5_fail(&reader->file,
				"Header/NumPart_Total says %" PRIu64 " bodies of type %u, but %s %" PRIu64
				" ('--one-file' takes a file as it is)",
				total, t, reader->nfile > 1 ? "the files have" : "this is one file with",
				reader->counted[t]);
	}
	return NB_OK;
}

static int survey_files(struct nb_gadget_hdf5_reader *reader)
{
	uint64_t nfile = 1;
	if (nb_gadget_hdf5_open_file(reader, 0))
		return NB_EINVAL;
	if (!reader->in->subset.one_file && nb_h5_find(&reader->file, "Header@NumFilesPerSnapshot") &&
		whole(reader, "Header@NumFilesPerSnapshot", 0, MOST_FILES, &nfile))
		return NB_EINVAL;
	reader->nfile = nfile > 1 ? (unsigned)nfile : 1;
	if (reader->nfile > 1 && nb_gadget_hdf5_find_files(reader))
		return NB_EINVAL;
	for (unsigned k = 0; k < reader->nfile; k++)
		if ((reader->stem && nb_gadget_hdf5_open_file(reader, k)) || survey(reader))
			return NB_EINVAL;
	return NB_OK;
}

/* ---- what is wanted ----------------------------------------------------------------------------- */

/* Bodies of each type that the frame gets; the row of the first of each.  Types of which it gets some decide, or if it
 * gets none, those that it could get. */
static int count_wanted(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, uint64_t n[TYPES])
{
	uint64_t all = 0, rows = 0, bare = 0;
	uint32_t could = 0;
	for (unsigned t = 0; t < TYPES; t++) {
		uint64_t first, step;
		const uint32_t bit = (uint32_t)1 << t;
		all += reader->n[t];
		n[t] = nb_gadget_hdf5_wanted(reader, t, reader->n[t], &first, &step);
		reader->row[t] = rows;
		rows += n[t];
		reader->chosen |= n[t] ? bit : 0;
		if (!nb_subset_species(&reader->in->subset, t))
			continue;
		could |= reader->n[t] ? bit : 0;
		bare += reader->counted[t] - reader->n[t];
		if (!*reader->refusal[t] && reader->n[t] && reader->counted[t] != reader->n[t])
			return nb_h5_fail(&reader->file, "there is no PartType%u/Coordinates in one of the files", t);
		if (*reader->refusal[t] && (n[t] || reader->counted[t] != reader->n[t])) {
			snprintf(reader->file.error, sizeof reader->file.error, "%s", reader->refusal[t]);
			return NB_EINVAL;
		}
		if (reader->counted[t] != reader->n[t])
			snprintf(reader->unread[t], sizeof reader->unread[t],
				"type %u (%" PRIu64 " bodies without Coordinates)", t, reader->counted[t]);
	}
	if (bare && !could)
		return nb_h5_fail(&reader->file,
			"Header/NumPart_ThisFile says %" PRIu64 " bodies, but there is no PartType%s/Coordinates", bare,
			"N");
	if (all > NB_MAX_ROWS)
		return nb_h5_fail(&reader->file, "%" PRIu64 " bodies (limit %" PRIu64 ")", all, NB_MAX_ROWS);
	if (!reader->chosen)
		reader->chosen = could;
	frame->rows[NB_PARTICLE] = rows;
	return NB_OK;
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* Decides as plan_dataset did. */
static int read_dataset(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, size_t k, const uint64_t n[TYPES])
{
	const struct nb_h5_item *item = &reader->file.item[k];
	unsigned type;
	const char *dataset;
	uint64_t first, step;
	struct nb_gadget_hdf5_column own = {.read = 1};
	if (!is_of_type(item, &type, &dataset) || strchr(dataset, '/') || item->rank == 0 || item->dim[0] != n[type])
		return NB_OK;
	const uint64_t count = nb_gadget_hdf5_wanted(reader, type, n[type], &first, &step);
	column_of(reader, item, dataset, own.name);
	struct nb_gadget_hdf5_column *set = count ? nb_gadget_hdf5_find(&reader->set, own.name, type) : NULL;
	struct nb_column *column = set && set->read ? nb_frame_find(frame, own.name) : NULL;
	if (!column || set->file == reader->present || make_plan(reader, item, &own) || !nb_gadget_hdf5_fits(&own, set))
		return NB_OK;
	set->file = reader->present;
	unsigned char *to = nb_column_update(column, &nb_space_host, NB_WIRE);
	if (!to)
		return nb_h5_no_memory(&reader->file);
	const struct nb_gadget_hdf5_rows rows = {
		item, first, step, count, column, to + reader->row[type] * column->rowsize, NULL};
	return nb_gadget_hdf5_plan_rows(reader, &rows);
}

static int read_file(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	uint64_t n[TYPES];
	if (count_bodies(reader, n))
		return NB_EINVAL;
	for (unsigned t = 0; t < TYPES; t++) {
		n[t] = reader->n[t] ? n[t] : 0;
		if (n[t] > reader->n[t] - reader->seen[t])
			return nb_h5_fail(&reader->file, "the file has changed");
	}
	for (size_t k = 0; k < reader->file.nitem; k++)
		if (read_dataset(reader, frame, k, n))
			return NB_EINVAL;
	for (unsigned t = 0; t < TYPES; t++) {
		uint64_t first, step;
		reader->row[t] += nb_gadget_hdf5_wanted(reader, t, n[t], &first, &step);
		reader->seen[t] += n[t];
	}
	return NB_OK;
}

/* ---- the frame ---------------------------------------------------------------------------------- */

static int read_snapshot(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	uint64_t n[TYPES];
	if (survey_files(reader) || count_wanted(reader, frame, n) || check_totals(reader))
		return NB_EINVAL;
	const int own = nb_h5_find(&reader->file, "nb/Attributes") != NULL;
	if (nb_gadget_hdf5_choose(reader, frame, own) || nb_gadget_hdf5_attributes(reader, frame, own) ||
		nb_gadget_hdf5_make(reader, frame, n))
		return NB_EINVAL;
	for (size_t k = 0; k < reader->set.n; k++)
		reader->set.of[k].file = 0;
	for (unsigned k = 0; k < reader->nfile; k++)
		if ((reader->stem && nb_gadget_hdf5_open_file(reader, k)) || read_file(reader, frame))
			return NB_EINVAL;
	if (nb_gadget_hdf5_read_rows(reader))
		return NB_EINVAL;
	reader->in->selected = NB_SELECTED_SPECIES;
	return nb_gadget_hdf5_universe(reader, frame, own);
}

/* What is not all that the files hold, in one line. */
static void tell(struct nb_import *in, const char *what, const char *list, const char *advice)
{
	const size_t used = strlen(in->warning);
	if (*list)
		snprintf(in->warning + used, sizeof in->warning - used, "%s%s %s: %s%s", used ? "" : nb_import_tail(in),
			used ? ";" : ":", what, list, advice);
}

static void warn(struct nb_gadget_hdf5_reader *reader)
{
	char unread[NB_EXCHANGE_ERROR_SIZE] = "";
	tell(reader->in, "left out, as not all types or files have it", reader->partial,
		" ('--species' chooses types)");
	for (unsigned t = 0; t < TYPES; t++) {
		const size_t used = strlen(unread);
		if (*reader->unread[t] && nb_subset_species(&reader->in->subset, t) &&
			(nb_gadget_hdf5_is_chosen(reader, t) || reader->n[t] == 0))
			snprintf(unread + used, sizeof unread - used, "%s%s", used ? ", " : "", reader->unread[t]);
	}
	tell(reader->in, "not read", unread, "");
}

static int open_snapshot(struct nb_import *in)
{
	struct nb_gadget_hdf5_reader *reader = in->state;
	reader->in = in;
	return NB_OK;
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct nb_gadget_hdf5_reader *reader = in->state;
	if (reader->done)
		return NB_END;
	reader->done = 1;
	if (read_snapshot(reader, frame)) {
		snprintf(in->error, sizeof in->error, "%s", reader->file.error);
		return NB_ERROR;
	}
	warn(reader);
	return NB_FRAME;
}

static void close_snapshot(struct nb_import *in)
{
	struct nb_gadget_hdf5_reader *reader = in->state;
	nb_gadget_hdf5_close_files(reader);
	nb_free_all(reader->set.of, reader->column.of);
}

static int recognises(const unsigned char *head, size_t n, uint64_t size)
{
	(void)size;
	return nb_h5_recognises(head, n);
}

const struct nb_format nb_format_gadget_hdf5 = {
	.name = "gadget-hdf5",
	.about = "GADGET HDF5",
	.suffixes = "hdf5 h5",
	.place = 5,
	.traits = NB_JOINS_FILES | NB_UNCHECKED,
	.needs = NB_NEED(NB_MASS),
	.G = 43007.1,
	.lacks = nb_h5_lacks,
	.recognises = recognises,
	.import_size = sizeof(struct nb_gadget_hdf5_reader),
	.open = open_snapshot,
	.next = next,
	.close = close_snapshot,
	.export_size = sizeof(struct nb_gadget_hdf5_writer),
	.frame = nb_gadget_hdf5_write,
	.release = nb_gadget_hdf5_release,
	.holds = nb_gadget_hdf5_holds,
};
