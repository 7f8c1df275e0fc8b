/* Snapshots of GADGET in HDF5 as GADGET-2 to GADGET-4, AREPO, GIZMO and SWIFT write them: a group Header, and a group
 * PartTypeN for each type that has bodies, with a dataset for each column.  There may be any number of types, a type
 * may have one mass for all (MassTable), and a snapshot may be several files NAME.0.hdf5, NAME.1.hdf5 ...
 *
 * Bodies stand in the order of types, and in a type in that of the files.  pos, vel, mass, pot, acc and eps become <f8,
 * ids <u8; other columns keep their type.  Bodies of a type without a dataset that others have get NaN, or 0 in
 * standard columns and those of whole numbers. gadget_hdf5_write_internal.c writes. */
#include "formats/exchange/gadget_hdf5_internal.h"
#include "formats/exchange/hdf5_internal.h"
#include "formats/exchange/subset_internal.h"

#include "common/mem.h"
#include "common/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 32, MOST_FILES = 1 << 16, MOST_COLUMNS = 512, PATH = 160, TEXT = 1 << 16 };

/* A column to be made. */
struct plan {
	char name[NB_NAME_SIZE + 1], dtype[NB_DTYPE_SIZE + 1], unit[NB_UNIT_SIZE + 1];
	uint64_t ncomp;
	int read;	/* its rows are read, not filled in */
	uint32_t types; /* bits of those that have a dataset for it in the present file */
	size_t rank;
};

struct gadget_hdf5_reader {
	struct nb_import *in;
	struct nb_h5_reader file; /* the present one */
	char *stem, *extension;	  /* of several files: STEM.k EXTENSION */
	char *name;		  /* of the present file, NULL: the one that was opened */
	unsigned nfile, ntype;
	uint64_t n[TYPES];    /* of all files */
	double mass[TYPES];   /* of all bodies of the type, 0: each has its own */
	uint64_t row[TYPES];  /* of the frame: the next one of the type */
	uint64_t seen[TYPES]; /* rows of the type in the files before */
	uint64_t bytes;	      /* of all files */
	struct plan plan[MOST_COLUMNS];
	size_t nplan;
	char unread[300];
	int done;
};

/* What failed in the present file becomes the error. */
static int failed(struct gadget_hdf5_reader *reader)
{
	snprintf(reader->in->error, sizeof reader->in->error, "%s", reader->file.error);
	return NB_EINVAL;
}

static int out_of_memory(struct gadget_hdf5_reader *reader)
{
	return nb_h5_fail(&reader->file, "out of memory");
}

static void note_unread(struct gadget_hdf5_reader *reader, const char *path)
{
	const size_t used = strlen(reader->unread);
	if (!strstr(reader->unread, path))
		snprintf(reader->unread + used, sizeof reader->unread - used, "%s%s", used ? ", " : "", path);
}

/* ---- files -------------------------------------------------------------------------------------- */

/* NAME.3.hdf5 is file 3 of several: what is before and behind the number. */
static int split_name(struct gadget_hdf5_reader *reader)
{
	const char *path = reader->in->path;
	if (!path)
		return nb_h5_fail(&reader->file, "this is one of %u files of a snapshot: give its path", reader->nfile);
	const char *base = strrchr(path, '/') ? strrchr(path, '/') : path, *end = path + strlen(path), *dot = NULL;
	for (const char *at = base; at < end; at++) {
		const size_t digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
		if (digits && (at[1 + digits] == '.' || !at[1 + digits]))
			dot = at;
	}
	if (!dot)
		return nb_h5_fail(&reader->file,
			"this is one of %u files of a snapshot, whose names should end in .0.hdf5, .1.hdf5 ...",
			reader->nfile);
	reader->stem = strndup(path, (size_t)(dot - path));
	reader->extension = strdup(dot + 1 + strspn(dot + 1, "0123456789"));
	return reader->stem && reader->extension ? NB_OK : out_of_memory(reader);
}

/* File k, which is the present one from then on. */
static int open_file(struct gadget_hdf5_reader *reader, unsigned k)
{
	nb_h5_close(&reader->file);
	free(reader->name);
	reader->name = NULL;
	if (!reader->stem) /* the only one, or the first look */
		return nb_h5_open(&reader->file, NULL, reader->in->bytes, nb_import_tail(reader->in));
	if (asprintf(&reader->name, "%s.%u%s", reader->stem, k, reader->extension) < 0) {
		reader->name = NULL;
		return out_of_memory(reader);
	}
	const struct nb_import named = {.name = reader->name};
	return nb_h5_open(&reader->file, reader->name, NULL, nb_import_tail(&named));
}

/* ---- what is there ------------------------------------------------------------------------------ */

/* A whole number of an attribute. */
static int whole(struct gadget_hdf5_reader *reader, const char *path, size_t k, double most, uint64_t *n)
{
	const double x = nb_h5_number(&reader->file, path, k, 0);
	if (!(x >= 0) || x > most || x != floor(x))
		return nb_h5_fail(&reader->file, "%s has the number %g", strchr(path, '@') + 1, x);
	*n = (uint64_t)x;
	return NB_OK;
}

static int refuse_catalogue(struct gadget_hdf5_reader *reader)
{
	return nb_h5_fail(&reader->file,
		"this is a catalogue of groups, which has no bodies (give the snapshot that it belongs to)");
}

/* Bodies of each type in the present file. */
static int count_bodies(struct gadget_hdf5_reader *reader, uint64_t n[TYPES])
{
	const struct nb_h5_item *item = nb_h5_find(&reader->file, "Header@NumPart_ThisFile");
	uint64_t all = 0;
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
	return !strchr(*name, '/');
}

static const char *text_of(
	const struct gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *attribute)
{
	char path[PATH];
	snprintf(path, sizeof path, "%.120s@%s", item->path, attribute);
	const struct nb_h5_item *found = nb_h5_find(&reader->file, path);
	return found && found->text && *found->text ? found->text : NULL;
}

static void column_of(const struct gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *dataset,
	char name[NB_NAME_SIZE + 1])
{
	const char *own = text_of(reader, item, "column");
	if (own && nb_h5_is_plain(own, 0))
		strcpy(name, own);
	else
		nb_gadget_column_name(dataset, name);
}

static struct plan *find_plan(struct gadget_hdf5_reader *reader, const char *name)
{
	for (size_t k = 0; k < reader->nplan; k++)
		if (strcmp(reader->plan[k].name, name) == 0)
			return &reader->plan[k];
	return NULL;
}

/* How a dataset is to be read: as the standard column of this name, or as what it is.  -1: not at all. */
static int make_plan(const struct gadget_hdf5_reader *reader, const struct nb_h5_item *item, struct plan *plan)
{
	const struct nb_field_info *field = nb_field_find(plan->name);
	const char *own = text_of(reader, item, "dtype"), *unit = text_of(reader, item, "unit");
	plan->ncomp = nb_h5_width(item);
	if (nb_h5_dtype(item, plan->dtype) || item->rank == 0 || plan->ncomp == 0 || plan->ncomp > 4096)
		return -1;
	if (own && strcmp(own, "|b1") == 0 && strcmp(plan->dtype, "|u1") == 0)
		strcpy(plan->dtype, own);
	if (unit && nb_h5_is_plain(unit, 1))
		strcpy(plan->unit, unit);
	if (!field)
		return 0;
	const int ids = strcmp(field->dtype, "<u8") == 0;
	if (field->table != NB_PARTICLE || field->ncomp != plan->ncomp || field == &nb_field_info[NB_SPECIES] ||
		item->kind == 'S' || (ids && item->kind == 'f'))
		return -1;
	strcpy(plan->dtype, field->dtype);
	return 0;
}

/* Takes a dataset into the plan. */
static int plan_dataset(struct gadget_hdf5_reader *reader, const struct nb_h5_item *item, const char *dataset,
	const uint64_t n[TYPES], unsigned type)
{
	struct plan plan = {.read = 1};
	column_of(reader, item, dataset, plan.name);
	if (!nb_subset_needs(&reader->in->subset, plan.name))
		return NB_OK;
	const uint64_t rows = item->rank ? item->dim[0] : 0;
	if (rows != n[type] && nb_field_find(plan.name))
		return nb_h5_fail(&reader->file,
			"dataset '%.200s' has %" PRIu64 " rows, but Header/NumPart_ThisFile says %" PRIu64
			" bodies of type %u",
			item->path, rows, n[type], type);
	const int usable = make_plan(reader, item, &plan) == 0;
	static const char *const vital[] = {"pos", "vel", "id", "mass"};
	for (size_t k = 0; !usable && k < sizeof vital / sizeof *vital; k++)
		if (strcmp(plan.name, vital[k]) == 0)
			return nb_h5_fail(&reader->file, "dataset '%.200s' has a shape or a type that %s cannot have",
				item->path, vital[k]);
	struct plan *same = find_plan(reader, plan.name);
	if (rows != n[type] || !usable || (same && same->ncomp != plan.ncomp) ||
		(same && (same->dtype[1] == 'S') != (plan.dtype[1] == 'S'))) {
		note_unread(reader, item->path);
		return NB_OK;
	}
	if (same && strcmp(same->dtype, plan.dtype) != 0) {
		if (plan.dtype[1] == 'S')
			note_unread(reader, item->path);
		else
			strcpy(same->dtype, "<f8");
	}
	if (nb_h5_check(&reader->file, item))
		return NB_EINVAL;
	if (!same && reader->nplan == MOST_COLUMNS)
		return nb_h5_fail(&reader->file, "more than %d different datasets", MOST_COLUMNS);
	if (!same)
		reader->plan[reader->nplan++] = plan;
	return NB_OK;
}

/* A type has a mass for all, or each body has one. */
static int check_type(struct gadget_hdf5_reader *reader, unsigned type, const uint64_t n[TYPES])
{
	char path[PATH];
	const double mass = nb_h5_number(&reader->file, "Header@MassTable", type, 0);
	snprintf(path, sizeof path, "PartType%u/Coordinates", type);
	const struct nb_h5_item *places = nb_h5_find(&reader->file, path);
	if (n[type] && !places)
		return nb_h5_fail(&reader->file,
			"Header/NumPart_ThisFile says %" PRIu64 " bodies of type %u, but there is no %s", n[type], type,
			path);
	if (n[type] && (places->rank != 2 || places->dim[0] != n[type] || places->dim[1] != 3))
		return nb_h5_fail(&reader->file,
			"dataset '%s' has %" PRIu64 " rows of %" PRIu64
			" numbers, but Header/NumPart_ThisFile says %" PRIu64 " bodies of type %u",
			path, places->rank ? places->dim[0] : 0, nb_h5_width(places), n[type], type);
	if (n[type] && nb_h5_check(&reader->file, places))
		return NB_EINVAL;
	snprintf(path, sizeof path, "PartType%u/Masses", type);
	const int own = nb_h5_find(&reader->file, path) != NULL;
	if (n[type] && !own && !(mass > 0))
		return nb_h5_fail(
			&reader->file, "there is neither %s nor a mass of type %u in Header/MassTable", path, type);
	if (own)
		return NB_OK;
	if (n[type] && reader->mass[type] > 0 && reader->mass[type] != mass)
		return nb_h5_fail(
			&reader->file, "Header/MassTable has another mass of type %u than the files before", type);
	if (n[type])
		reader->mass[type] = mass;
	return NB_OK;
}

static int survey(struct gadget_hdf5_reader *reader)
{
	uint64_t n[TYPES];
	if (count_bodies(reader, n))
		return NB_EINVAL;
	reader->bytes += reader->file.size;
	for (unsigned t = 0; t < TYPES; t++) {
		if (check_type(reader, t, n))
			return NB_EINVAL;
		reader->n[t] += n[t];
	}
	for (size_t k = 0; k < reader->file.nitem; k++) {
		unsigned type;
		const char *name;
		const struct nb_h5_item *item = &reader->file.item[k];
		if (is_of_type(item, &type, &name) && plan_dataset(reader, item, name, n, type))
			return NB_EINVAL;
	}
	return NB_OK;
}

/* What the header says of all files. */
static int check_totals(struct gadget_hdf5_reader *reader)
{
	const struct nb_h5_item *low = nb_h5_find(&reader->file, "Header@NumPart_Total");
	for (unsigned t = 0; low && low->number && t < low->count && t < TYPES; t++) {
		uint64_t total = 0, high = 0;
		if (whole(reader, low->path, t, 0x1p62, &total) ||
			whole(reader, "Header@NumPart_Total_HighWord", t, 0x1p30, &high))
			return NB_EINVAL;
		total += high << 32;
		if (total != reader->n[t] && total != 0)
			return nb_h5_fail(&reader->file,
				"Header/NumPart_Total says %" PRIu64 " bodies of type %u, but %s %" PRIu64, total, t,
				reader->nfile > 1 ? "the files have" : "this is one file with", reader->n[t]);
	}
	return NB_OK;
}

static int survey_files(struct gadget_hdf5_reader *reader)
{
	uint64_t nfile = 1;
	if (open_file(reader, 0))
		return NB_EINVAL;
	if (nb_h5_find(&reader->file, "Header@NumFilesPerSnapshot") &&
		whole(reader, "Header@NumFilesPerSnapshot", 0, MOST_FILES, &nfile))
		return NB_EINVAL;
	reader->nfile = nfile > 1 ? (unsigned)nfile : 1;
	if (reader->nfile > 1 && split_name(reader))
		return NB_EINVAL;
	for (unsigned k = 0; k < reader->nfile; k++)
		if ((reader->stem && open_file(reader, k)) || survey(reader))
			return NB_EINVAL;
	return check_totals(reader);
}

/* ---- attributes --------------------------------------------------------------------------------- */

/* Those that nb has written. */
static int take_own(struct gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	const struct nb_h5_item *item = nb_h5_find(&reader->file, "nb/Attributes");
	if (!item || item->is_attribute || item->kind != 'S' || item->rank != 1 || item->size > (64 << 20))
		return NB_OK;
	if (nb_h5_check(&reader->file, item))
		return NB_EINVAL;
	const uint64_t lines = item->dim[0];
	char *text = nb_alloc(lines + 1, item->size + 1);
	int status = text ? nb_h5_read_texts(&reader->file, item, text) : out_of_memory(reader);
	for (uint64_t k = 0; !status && k < lines; k++) {
		char *line = text + k * (item->size + 1), *value = strchr(line, '=');
		if (!value)
			continue;
		*value = '\0';
		if (strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != strlen(line) ||
			!*line)
			continue;
		if (strcmp(line, "history") == 0 ? nb_frame_add_attribute(frame, line, value + 1)
						 : nb_frame_set_attribute(frame, line, value + 1))
			status = out_of_memory(reader);
	}
	nb_free(text);
	return status;
}

/* The key of an attribute of the header; 0: it is about the file, or has a meaning of its own here. */
static int key_of(const char *name, char key[NB_NAME_SIZE + 1])
{
	static const char *const not [] = {"MassTable", "NumFilesPerSnapshot", "NumFilesWritten",
		"Flag_DoublePrecision"},
				     *const taken[] = {"dim", "softening", "units", "history", "pending_kick", "types",
					     "key_cube"};
	if (strncmp(name, "NumPart_", 8) == 0 || strncmp(name, "Unit", 4) == 0 || strlen(name) > 24)
		return 0;
	for (size_t k = 0; k < sizeof not / sizeof *not ; k++)
		if (strcmp(name, not [k]) == 0)
			return 0;
	nb_gadget_column_name(name, key);
	if (strncmp(name, "Flag_", 5) == 0)
		for (size_t k = 0; k <= strlen(name); k++)
			key[k] = (char)tolower((unsigned char)name[k]);
	for (char *c = key; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
		if (strcmp(key, taken[k]) == 0)
			return 0;
	return 1;
}

static int set_number(struct nb_frame *frame, const char *key, double x, double usual)
{
	double before;
	const int there = nb_frame_attribute(frame, key) && nb_frame_attribute_f64(frame, key, 0, &before) == NB_OK;
	if ((there && before == x) || (!there && x == usual) || !isfinite(x))
		return NB_OK;
	return nb_frame_set_attribute_f64(frame, key, x);
}

static int take_header(struct gadget_hdf5_reader *reader, struct nb_frame *frame, int own)
{
	int status = NB_OK;
	for (size_t k = 0; !status && k < reader->file.nitem; k++) {
		const struct nb_h5_item *item = &reader->file.item[k];
		char key[NB_NAME_SIZE + 1];
		if (!item->is_attribute || strncmp(item->path, "Header@", 7) != 0 || !key_of(item->path + 7, key))
			continue;
		const int same = item->count == 3 && item->number && item->number[0] == item->number[1] &&
				 item->number[0] == item->number[2];
		if (item->number && (item->count == 1 || same))
			status = set_number(frame, key, item->number[0],
				strcmp(key, "time") == 0	   ? own ? 0 : NAN
				: strcmp(key, "hubble_param") == 0 ? 1
								   : 0);
		else if (item->text && !own)
			status = nb_frame_set_attribute(frame, key, item->text);
	}
	return status;
}

/* ---- units -------------------------------------------------------------------------------------- */

struct file_units {
	double length, mass, velocity; /* in cm, g, cm/s */
	double G;		       /* of the code in cgs */
};

static double first_of(const struct nb_h5_reader *file, const char *const paths[], size_t n)
{
	double x = 0;
	for (size_t k = 0; k < n && !(x > 0 && isfinite(x)); k++)
		x = nb_h5_number(file, paths[k], 0, 0);
	return x > 0 && isfinite(x) ? x : 0;
}
#define FIRST_OF(file, paths) first_of(file, paths, sizeof paths / sizeof *paths)

static int is_swift(const struct nb_h5_reader *file)
{
	const struct nb_h5_item *code = nb_h5_find(file, "Header@Code");
	return code && code->text && strncmp(code->text, "SWIFT", 5) == 0;
}

/* 1, or 0 if the file says nothing. */
static int units_of(const struct nb_h5_reader *file, struct file_units *units)
{
	static const char *const length[] = {"Units@UnitLength_in_cm", "Units@Unit length in cgs (U_L)",
		"Parameters@UnitLength_in_cm", "Header@UnitLength_in_cm", "Header@UnitLength_In_CGS"};
	static const char *const mass[] = {"Units@UnitMass_in_g", "Units@Unit mass in cgs (U_M)",
		"Parameters@UnitMass_in_g", "Header@UnitMass_in_g", "Header@UnitMass_In_CGS"};
	static const char *const velocity[] = {"Units@UnitVelocity_in_cm_per_s", "Parameters@UnitVelocity_in_cm_per_s",
		"Header@UnitVelocity_in_cm_per_s", "Header@UnitVelocity_In_CGS"};
	units->length = FIRST_OF(file, length);
	units->mass = FIRST_OF(file, mass);
	units->velocity = FIRST_OF(file, velocity);
	const double time = nb_h5_number(file, "Units@Unit time in cgs (U_t)", 0, 0);
	if (units->velocity == 0 && time > 0)
		units->velocity = units->length / time;
	units->G = is_swift(file) ? NB_G_SWIFT
		   : nb_h5_find(file, "Parameters@UnitLength_in_cm") || nb_h5_find(file, "Header@UnitLength_in_cm")
			   ? NB_G_GADGET4
			   : NB_G_GADGET2;
	return units->length > 0 && units->mass > 0 && units->velocity > 0;
}

/* Whether lengths expand with the universe, and its scale. */
static int is_cosmological(const struct nb_h5_reader *file, double *scale)
{
	const double comoving = nb_h5_number(file, "Parameters@ComovingIntegrationOn", 0, NAN),
		     swift = nb_h5_number(file, "Cosmology@Cosmological run", 0, NAN),
		     redshift = nb_h5_number(file, "Header@Redshift", 0, 0),
		     lambda = nb_h5_number(
			     file, "Header@OmegaLambda", 0, nb_h5_number(file, "Parameters@OmegaLambda", 0, 0));
	*scale = 1 / (1 + redshift);
	if (!isnan(swift) || !isnan(comoving))
		return swift == 1 || comoving == 1;
	return redshift != 0 || lambda > 0;
}

static double h_of(const struct nb_h5_reader *file)
{
	const double h = nb_h5_number(
		file, "Header@HubbleParam", 0, nb_h5_number(file, "Parameters@HubbleParam", 0, 1));
	return is_swift(file) || !(h > 0) || !isfinite(h) ? 1 : h;
}

static int take_units(struct gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	static const char *const constants[] = {
		"Parameters@GravityConstantInternal", "Header@Gravitational_Constant_In_Code_Inits"};
	struct file_units units;
	char text[NB_UNIT_SYSTEM_TEXT];
	double scale, G = FIRST_OF(&reader->file, constants), h = 1;
	const int known = units_of(&reader->file, &units), cosmological = is_cosmological(&reader->file, &scale);
	if (cosmological)
		h = h_of(&reader->file);
	if (!known)
		units = (struct file_units){.length = 3.085678e21, .mass = 1.989e43, .velocity = 1e5};
	if (G == 0)
		G = known ? units.G * units.mass / (units.length * units.velocity * units.velocity)
			  : reader->in->format->G;
	if (!isfinite(G))
		return nb_h5_fail(&reader->file, "its units give no gravitational constant");
	reader->in->usual_units = !known;
	nb_unit_system_name(units.length / 100, units.mass / 1000, units.velocity / 100, h, text);
	if (cosmological)
		snprintf(reader->in->warning, sizeof reader->in->warning,
			"%s is cosmological: positions are comoving, at a scale factor of %g; nothing has been "
			"converted",
			reader->file.name, scale);
	return nb_frame_set_attribute_f64(frame, "G", G) || nb_frame_set_attribute(frame, "units", text)
		       ? out_of_memory(reader)
		       : NB_OK;
}

/* The softening of a type as a Plummer length; -1: the file says none. */
static double softening_of(const struct nb_h5_reader *file, unsigned type)
{
	static const char *const old[] = {"Gas", "Halo", "Disk", "Bulge", "Stars", "Bndry"};
	static const char *const spelling[][2] = {{"Class", "Class"}, {"Type", "Type"}};
	char path[PATH];
	for (size_t k = 0; k < 2; k++) {
		snprintf(path, sizeof path, "Parameters@Softening%sOfPartType%u", spelling[k][0], type);
		const double class = nb_h5_number(file, path, 0, -1);
		if (class < 0)
			continue;
		snprintf(path, sizeof path, "Parameters@SofteningComoving%s%.0f", spelling[k][1], class);
		return nb_h5_number(file, path, 0, -1);
	}
	if (type >= sizeof old / sizeof *old)
		return -1;
	snprintf(path, sizeof path, "Parameters@Softening%s", old[type]);
	return nb_h5_number(file, path, 0, -1);
}

/* ---- columns ------------------------------------------------------------------------------------ */

/* A column that no dataset has. */
static void plan_fill(struct gadget_hdf5_reader *reader, enum nb_field field)
{
	const struct nb_field_info *info = &nb_field_info[field];
	if (!nb_subset_needs(&reader->in->subset, info->name) || find_plan(reader, info->name) ||
		reader->nplan == MOST_COLUMNS)
		return;
	struct plan *plan = &reader->plan[reader->nplan++];
	*plan = (struct plan){.ncomp = 1};
	strcpy(plan->name, info->name);
	strcpy(plan->dtype, info->dtype);
}

/* Where it stands: standard columns first, in their order, or as nb has written them. */
static size_t rank(const struct gadget_hdf5_reader *reader, const struct plan *plan)
{
	const struct nb_h5_item *order = nb_h5_find(&reader->file, "nb@" NB_GADGET_COLUMNS);
	const struct nb_field_info *field = nb_field_find(plan->name);
	const size_t length = strlen(plan->name);
	for (const char *at = order ? order->text : NULL, *end; at && (end = strchr(at, ' ')); at = end + 1)
		if ((size_t)(end - at) == length && strncmp(at, plan->name, length) == 0)
			return (size_t)(at - order->text);
	return (order && order->text ? TEXT : 0) + (field ? (size_t)(field - nb_field_info) : NB_NFIELD);
}

/* All of them. */
static void complete_plan(struct gadget_hdf5_reader *reader, int own)
{
	const struct nb_h5_item *meaning = nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES);
	int softened = 0;
	for (unsigned t = 0; t < TYPES; t++)
		softened |= reader->n[t] && softening_of(&reader->file, t) >= 0;
	plan_fill(reader, NB_ID);
	plan_fill(reader, NB_MASS);
	if (softened && !own)
		plan_fill(reader, NB_EPS);
	if (!(meaning && meaning->text && strcmp(meaning->text, NB_GADGET_NO_SPECIES) == 0))
		plan_fill(reader, NB_SPECIES);
	for (size_t k = 0; k < reader->nplan; k++)
		reader->plan[k].rank = rank(reader, &reader->plan[k]);
	for (size_t k = 1; k < reader->nplan; k++)
		for (size_t i = k; i > 0 && reader->plan[i].rank < reader->plan[i - 1].rank; i--) {
			const struct plan plan = reader->plan[i];
			reader->plan[i] = reader->plan[i - 1];
			reader->plan[i - 1] = plan;
		}
}

/* What all bodies of a type have, unless it is read. */
static double usual(const struct gadget_hdf5_reader *reader, const struct nb_column *column, unsigned type)
{
	const struct nb_h5_item *meaning = nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES);
	const int finite = column->field < NB_NFIELD && nb_field_info[column->field].traits;
	if (column->field == NB_SPECIES)
		return meaning && meaning->text && strcmp(meaning->text, NB_GADGET_MODEL) == 0 ? type - 1.0 : type;
	if (column->field == NB_EPS)
		return fmax(softening_of(&reader->file, type), 0);
	if (column->field == NB_MASS)
		return reader->mass[type];
	return column->dtype[1] == 'f' && !finite ? NAN : 0;
}

/* Bodies of a type all get the same. */
static void fill(const struct gadget_hdf5_reader *reader, const struct nb_column *column, unsigned type, uint64_t n,
	unsigned char *to)
{
	const double x = usual(reader, column, type);
	const uint64_t numbers = n * column->ncomp;
	const size_t size = column->rowsize / column->ncomp;
	if (x == 0 || column->field == NB_SPECIES)
		memset(to, (int)x, n * column->rowsize);
	else if (size == sizeof(double))
		for (uint64_t i = 0; i < numbers; i++)
			((double *)(void *)to)[i] = x;
	else /* all bits: a NaN of any width */
		memset(to, 0xff, n * column->rowsize);
}

/* Which rows of a type of the present file are wanted: how many. */
static uint64_t wanted(
	const struct gadget_hdf5_reader *reader, unsigned type, uint64_t n, uint64_t *first, uint64_t *step)
{
	uint64_t before = reader->seen[type];
	for (unsigned t = 0; t < type; t++)
		before += reader->n[t];
	*first = before;
	*step = 1;
	if (!nb_subset_species(&reader->in->subset, type))
		return 0;
	const uint64_t count = nb_subset_rows(&reader->in->subset, before, before + n, first, step);
	*first -= before;
	return count;
}

/* Bodies without ids are numbered as they stand in the files, wanted or not. */
static void number_bodies(const struct gadget_hdf5_reader *reader, uint64_t *id)
{
	uint64_t before = 0;
	for (unsigned t = 0; t < TYPES; before += reader->n[t++]) {
		uint64_t first, step;
		const uint64_t count = wanted(reader, t, reader->n[t], &first, &step);
		for (uint64_t i = 0; i < count; i++)
			*id++ = before + first + i * step;
	}
}

/* Types that lack a dataset get what fills a column, at most about as many bytes as the files could hold. */
static int check_memory(struct gadget_hdf5_reader *reader, const struct nb_frame *frame)
{
	enum { ALWAYS = 64 << 20 };
	double bytes = 0;
	for (size_t k = 0; k < reader->nplan; k++)
		bytes += (double)frame->rows[NB_PARTICLE] * (double)reader->plan[k].ncomp *
			 (double)nb_dtype_size(reader->plan[k].dtype);
	return bytes <= ALWAYS + 2.0 * NB_H5_MOST_RATIO * (double)reader->bytes
		       ? NB_OK
		       : nb_h5_fail(&reader->file,
				 "the columns of all bodies have %.3g bytes, which files of %" PRIu64
				 " bytes cannot hold (choose some with '--fields' or '--species')",
				 bytes, reader->bytes);
}

static int add_columns(struct gadget_hdf5_reader *reader, struct nb_frame *frame, const uint64_t n[TYPES])
{
	for (size_t k = 0; k < reader->nplan; k++) {
		const struct plan *plan = &reader->plan[k];
		const struct nb_field_info *field = nb_field_find(plan->name);
		struct nb_column *column = field ? nb_frame_add_field(
							   frame, (enum nb_field)(field - nb_field_info), NULL, 0)
						 : nb_frame_add(frame, plan->name, NB_PARTICLE, plan->dtype,
							   (uint32_t)plan->ncomp, plan->unit, 0);
		unsigned char *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		if (!data)
			return out_of_memory(reader);
		const int numbered = column->field == NB_ID && !plan->read;
		if (numbered)
			number_bodies(reader, (uint64_t *)(void *)data);
		for (unsigned t = 0; !numbered && t < TYPES; data += n[t++] * column->rowsize)
			fill(reader, column, t, n[t], data);
	}
	return NB_OK;
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* count rows from first on, every step-th, at to. */
static int read_rows(struct nb_h5_reader *file, const struct nb_h5_item *item, uint64_t first, uint64_t step,
	uint64_t count, const struct nb_column *column, unsigned char *to)
{
	enum { SPAN = 4096 };
	const char *dtype = strcmp(column->dtype, "|b1") == 0 ? "|u1" : column->dtype;
	if (step == 1)
		return nb_h5_read(file, item, first, count, dtype, to);
	const uint64_t at_once = step < SPAN ? SPAN / step : 1;
	unsigned char *span = nb_alloc((at_once - 1) * (step < SPAN ? step : 0) + 1, column->rowsize);
	int status = span ? NB_OK : nb_h5_fail(file, "out of memory");
	for (uint64_t k = 0; !status && k < count; k += at_once) {
		const uint64_t n = count - k < at_once ? count - k : at_once;
		status = nb_h5_read(file, item, first + k * step, (n - 1) * step + 1, dtype, span);
		for (uint64_t i = 0; !status && i < n; i++)
			memcpy(to + (k + i) * column->rowsize, span + i * step * column->rowsize, column->rowsize);
	}
	nb_free(span);
	return status;
}

static int read_dataset(struct gadget_hdf5_reader *reader, struct nb_frame *frame, size_t k, const uint64_t n[TYPES])
{
	const struct nb_h5_item *item = &reader->file.item[k];
	unsigned type;
	const char *dataset;
	struct plan own = {.read = 1};
	if (!is_of_type(item, &type, &dataset) || item->rank == 0 || item->dim[0] != n[type])
		return NB_OK;
	column_of(reader, item, dataset, own.name);
	struct plan *plan = find_plan(reader, own.name);
	struct nb_column *column = plan ? nb_frame_find(frame, own.name) : NULL;
	if (!column || make_plan(reader, item, &own) || own.ncomp != column->ncomp ||
		(own.dtype[1] == 'S' && strcmp(own.dtype, column->dtype) != 0))
		return NB_OK;
	if (plan->types >> type & 1) { /* another dataset is the column of this type */
		note_unread(reader, item->path);
		return NB_OK;
	}
	plan->types |= (uint32_t)1 << type;
	uint64_t first, step;
	const uint64_t count = wanted(reader, type, n[type], &first, &step);
	unsigned char *to = nb_column_update(column, &nb_space_host, NB_WIRE);
	if (!to)
		return out_of_memory(reader);
	return count ? read_rows(&reader->file, item, first, step, count, column,
			       to + reader->row[type] * column->rowsize)
		     : NB_OK;
}

static int read_file(struct gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	uint64_t n[TYPES];
	if (count_bodies(reader, n))
		return NB_EINVAL;
	for (unsigned t = 0; t < TYPES; t++)
		if (n[t] > reader->n[t] - reader->seen[t])
			return nb_h5_fail(&reader->file, "the file has changed");
	for (size_t k = 0; k < reader->nplan; k++)
		reader->plan[k].types = 0;
	for (size_t k = 0; k < reader->file.nitem; k++)
		if (read_dataset(reader, frame, k, n))
			return NB_EINVAL;
	for (unsigned t = 0; t < TYPES; t++) {
		uint64_t first, step;
		reader->row[t] += wanted(reader, t, n[t], &first, &step);
		reader->seen[t] += n[t];
	}
	return NB_OK;
}

/* ---- the frame ---------------------------------------------------------------------------------- */

/* Bodies of each type that the frame gets; the row of the first of each. */
static int count_wanted(struct gadget_hdf5_reader *reader, struct nb_frame *frame, uint64_t n[TYPES])
{
	uint64_t all = 0, rows = 0;
	memset(reader->seen, 0, sizeof reader->seen);
	for (unsigned t = 0; t < TYPES; t++) {
		uint64_t first, step;
		all += reader->n[t];
		n[t] = wanted(reader, t, reader->n[t], &first, &step);
		reader->row[t] = rows;
		rows += n[t];
	}
	if (all > NB_MAX_ROWS)
		return nb_h5_fail(&reader->file, "%" PRIu64 " bodies (limit %" PRIu64 ")", all, NB_MAX_ROWS);
	frame->rows[NB_PARTICLE] = rows;
	return NB_OK;
}

/* What every program asks of a column. */
static int check_values(struct gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		const unsigned traits = column->field < NB_NFIELD ? nb_field_info[column->field].traits : 0,
			       what = ((traits & NB_FINITE) ? NB_BAD_NONFINITE : 0u) |
				      ((traits & NB_NOT_NEGATIVE) ? NB_BAD_NEGATIVE : 0u);
		const size_t bad = what ? nb_column_first_bad(column, what) : column->rows;
		if (bad < column->rows)
			return nb_h5_fail(&reader->file, "%s of body %zu is %s", column->name, bad,
				(traits & NB_NOT_NEGATIVE) ? "negative or not finite" : "not finite");
	}
	return NB_OK;
}

static int take_attributes(struct gadget_hdf5_reader *reader, struct nb_frame *frame, int own)
{
	if (own && take_own(reader, frame))
		return NB_EINVAL;
	const struct nb_h5_item *meaning = nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES);
	const int types = !own || (meaning && meaning->text && strcmp(meaning->text, "types") == 0);
	reader->in->complete = own;
	if ((!own && nb_frame_set_attribute(frame, "dim", "3")) || take_header(reader, frame, own) ||
		(types && nb_frame_set_attribute(frame, NB_TYPES, "gadget")))
		return out_of_memory(reader);
	return own ? NB_OK : take_units(reader, frame);
}

static int read_snapshot(struct gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	uint64_t n[TYPES];
	if (survey_files(reader) || count_wanted(reader, frame, n))
		return NB_EINVAL;
	const int own = nb_h5_find(&reader->file, "nb/Attributes") != NULL;
	complete_plan(reader, own);
	if (take_attributes(reader, frame, own) || check_memory(reader, frame) || add_columns(reader, frame, n))
		return NB_EINVAL;
	for (unsigned k = 0; k < reader->nfile; k++)
		if ((reader->stem && open_file(reader, k)) || read_file(reader, frame))
			return NB_EINVAL;
	reader->in->selected = NB_SELECTED_SPECIES;
	return check_values(reader, frame);
}

static int open_snapshot(struct nb_import *in)
{
	struct gadget_hdf5_reader *reader = in->state;
	reader->in = in;
	return NB_OK;
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct gadget_hdf5_reader *reader = in->state;
	if (reader->done)
		return NB_END;
	reader->done = 1;
	if (read_snapshot(reader, frame)) {
		failed(reader);
		return NB_ERROR;
	}
	const size_t used = strlen(in->warning);
	if (*reader->unread)
		snprintf(in->warning + used, sizeof in->warning - used, "%s not read: %s",
			used ? ";" : nb_import_tail(in), reader->unread);
	return NB_FRAME;
}

static void close_snapshot(struct nb_import *in)
{
	struct gadget_hdf5_reader *reader = in->state;
	nb_h5_close(&reader->file);
	free(reader->stem);
	free(reader->extension);
	free(reader->name);
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
	.needs = NB_NEED(NB_MASS),
	.G = 43007.1,
	.lacks = nb_h5_lacks,
	.recognises = recognises,
	.import_size = sizeof(struct gadget_hdf5_reader),
	.open = open_snapshot,
	.next = next,
	.close = close_snapshot,
	.export_size = sizeof(struct nb_gadget_hdf5_writer),
	.frame = nb_gadget_hdf5_write,
	.release = nb_gadget_hdf5_release,
	.holds = nb_gadget_hdf5_holds,
};
