/* gadget-hdf5, written: one file that GADGET-4, yt, pynbody and gadgetviewer read.  Types come one after the other. */
#include "formats/exchange/comoving.h"
#include "formats/exchange/gadget-hdf5/gadget-hdf5.h"

#include "common/units.h"
#include "formats/exchange/gadget/gadget.h"
#include "formats/exchange/types.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names -------------------------------------------------------------------------------------- */

/* The first name of a column is the one that is written. */
static const char *const known[][2] = {
	{"pos", "Coordinates"},
	{"vel", "Velocities"},
	{"id", "ParticleIDs"},
	{"mass", "Masses"},
	{"pot", "Potential"},
	{"acc", "Acceleration"},
	{"eps", "Softenings"},
	{"formation_time", "StellarFormationTime"},
	{"density", "Density"},
	{"internal_energy", "InternalEnergy"},
	{"smoothing_length", "SmoothingLength"},
	{"temperature", "Temperature"},
	{"metallicity", "Metallicity"},
	/* of OWLS and EAGLE; of SWIFT, where black holes have two masses; of AREPO */
	{"vel", "Velocity"},
	{"mass", "Mass"},
	{"mass", "DynamicalMasses"},
	{"pot", "Potentials"},
	{"acc", "Accelerations"},
	{"density", "Densities"},
	{"internal_energy", "InternalEnergies"},
	{"smoothing_length", "SmoothingLengths"},
	{"temperature", "Temperatures"},
	{"metallicity", "MetalMassFractions"},
	{"metallicity", "GFM_Metallicity"},
	{"formation_time", "GFM_StellarFormationTime"},
};
enum { KNOWN = sizeof known / sizeof *known };

void nb_gadget_column_name(const char *dataset, char name[NB_NAME_SIZE + 1])
{
	for (size_t k = 0; k < KNOWN; k++)
		if (strcmp(dataset, known[k][1]) == 0) {
			strcpy(name, known[k][0]);
			return;
		}
	const int words = isupper((unsigned char)dataset[0]);
	size_t n = 0;
	for (size_t k = 0; dataset[k] && n < NB_NAME_SIZE; k++) {
		const unsigned char c = (unsigned char)dataset[k];
		const int begins = words && k && isupper(c) && dataset[k - 1] != '_' &&
				   (!isupper((unsigned char)dataset[k - 1]) || islower((unsigned char)dataset[k + 1]));
		if (begins)
			name[n++] = '_';
		if (n < NB_NAME_SIZE)
			name[n++] = !isgraph(c) ? '_' : words ? (char)tolower(c) : (char)c;
	}
	name[n] = '\0';
}

void nb_gadget_dataset_name(const char *column, char name[NB_GADGET_NAME])
{
	for (size_t k = 0; k < KNOWN; k++)
		if (strcmp(column, known[k][0]) == 0) {
			strcpy(name, known[k][1]);
			return;
		}
	size_t n = 0;
	for (size_t k = 0; column[k]; k++)
		if (column[k] != '_')
			name[n++] = k == 0 || column[k - 1] == '_' ? (char)toupper((unsigned char)column[k])
								   : column[k];
	name[n] = '\0';
	/* no two columns have the same dataset: a name that is read as another one gets a prefix of its own */
	char back[NB_NAME_SIZE + 1];
	nb_gadget_column_name(name, back);
	if (strcmp(back, column) == 0)
		return;
	nb_gadget_column_name(column, back);
	snprintf(name, NB_GADGET_NAME, "%s%s", strcmp(back, column) != 0 || strncmp(column, "nb_", 3) == 0 ? "nb_" : "",
		column);
}

int nb_gadget_hdf5_holds(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	(void)out;
	(void)frame;
	/* in HDF5 these are paths */
	if (strchr(column->name, '/') || strcmp(column->name, ".") == 0)
		return 0;
	return column->dtype[1] != 'c' && column->dtype[1] != 'V';
}

/* ---- header ------------------------------------------------------------------------------------- */

static void attribute_of(struct nb_h5_file *file, struct nb_h5_node *group, const char *name,
	const struct nb_frame *frame, const char *key, double fallback)
{
	double x;
	if (nb_frame_attribute_f64(frame, key, fallback, &x))
		x = fallback;
	nb_h5_attribute_f64(file, group, name, x);
}

/* GADGET-4 has these in Parameters, its forerunners in Header. */
static void describe_cosmology(struct nb_h5_file *file, struct nb_h5_node *group, const struct nb_frame *frame)
{
	attribute_of(file, group, "BoxSize", frame, "box_size", 0);
	attribute_of(file, group, "Omega0", frame, "omega0", 0);
	attribute_of(file, group, "OmegaLambda", frame, "omega_lambda", 0);
	attribute_of(file, group, "HubbleParam", frame, "hubble_param", 1);
}

static void describe_header(
	struct nb_h5_file *file, struct nb_h5_node *root, const struct nb_frame *frame, const struct nb_types *types)
{
	static const char *const flags[][2] = {{"Flag_Sfr", "flag_sfr"}, {"Flag_Cooling", "flag_cooling"},
		{"Flag_StellarAge", "flag_stellarage"}, {"Flag_Metals", "flag_metals"},
		{"Flag_Feedback", "flag_feedback"}};
	const double masses[NB_NTYPE] = {0};
	const uint32_t high[NB_NTYPE] = {0};
	uint32_t n[NB_NTYPE];
	for (unsigned k = 0; k < NB_NTYPE; k++)
		n[k] = (uint32_t)types->n[k];
	struct nb_h5_node *header = nb_h5_group(file, root, "Header");
	nb_h5_attribute(file, header, "NumPart_ThisFile", "<u4", NB_NTYPE, n);
	nb_h5_attribute(file, header, "NumPart_Total", "<u4", NB_NTYPE, n);
	nb_h5_attribute(file, header, "NumPart_Total_HighWord", "<u4", NB_NTYPE, high);
	nb_h5_attribute(file, header, "MassTable", "<f8", NB_NTYPE, masses);
	nb_h5_attribute_int(file, header, "NumFilesPerSnapshot", 1);
	attribute_of(file, header, "Time", frame, "time", 0);
	attribute_of(file, header, "Redshift", frame, "redshift", 0);
	describe_cosmology(file, header, frame);
	nb_h5_attribute_int(
		file, header, "Flag_DoublePrecision", strcmp(nb_frame_field(frame, NB_POS)->dtype, "<f8") == 0);
	for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
		double x;
		if (nb_frame_attribute_f64(frame, flags[k][1], 0, &x) || !(fabs(x) < INT32_MAX))
			x = 0;
		nb_h5_attribute_int(file, header, flags[k][0], (int64_t)x);
	}
}

/* The units of the frame; without, those that its G is known by; else none are written, as nobody knows them. */
static int find_units(const struct nb_frame *frame, double G, struct nb_unit_system *units)
{
	const char *text = nb_frame_attribute(frame, "units");
	return (text && nb_unit_system_known(text, units) == 0) ||
	       (fabs(G / NB_GADGET_G - 1) < 0.01 && nb_unit_system_known(NB_GADGET_UNITS, units) == 0);
}

static void describe_units(struct nb_export *out, struct nb_h5_node *root, const struct nb_frame *frame)
{
	struct nb_h5_file *file = &((struct nb_gadget_hdf5_writer *)out->state)->file;
	struct nb_unit_system units;
	double G, softening, omega0;
	if (nb_frame_attribute_f64(frame, "G", 1, &G))
		G = 1;
	if (nb_frame_attribute_f64(frame, "softening", 0, &softening))
		softening = 0;
	const int has_units = find_units(frame, G, &units);
	const size_t used = strlen(out->warning);
	if (!has_units)
		snprintf(out->warning + used, sizeof out->warning - used,
			"%sG is %g, but the units are not known: none are written, and readers take their usual ones "
			"(put 'nb-transform --units' before)",
			used ? "; " : "", G);
	struct nb_h5_node *group[2] = {nb_h5_group(file, root, "Parameters"), nb_h5_group(file, root, "Units")};
	for (int k = 0; k < 2 && has_units; k++) {
		nb_h5_attribute_f64(file, group[k], "UnitLength_in_cm", 100 * units.length);
		nb_h5_attribute_f64(file, group[k], "UnitMass_in_g", 1000 * units.mass);
		nb_h5_attribute_f64(file, group[k], "UnitVelocity_in_cm_per_s", 100 * units.velocity);
	}
	nb_h5_attribute_f64(file, group[0], "GravityConstantInternal", G);
	/* HubbleParam is there for pynbody a reason to take numbers for comoving ones */
	if (nb_frame_attribute_f64(frame, "omega0", 0, &omega0) || omega0 != 0)
		describe_cosmology(file, group[0], frame);
	if (softening > 0 && !nb_frame_field(frame, NB_EPS)) {
		nb_h5_attribute_f64(file, group[0], "SofteningComovingClass0", softening);
		nb_h5_attribute_f64(file, group[0], "SofteningMaxPhysClass0", softening);
		for (int k = 0; k < NB_NTYPE; k++) {
			char name[40];
			snprintf(name, sizeof name, "SofteningClassOfPartType%d", k);
			nb_h5_attribute_int(file, group[0], name, 0);
		}
	}
}

/* ---- all attributes, as they are: lines key=value, which only nb reads --------------------------- */

static size_t width_of(const struct nb_frame *frame)
{
	size_t width = 1;
	for (size_t k = 0; k < frame->nattribute; k++) {
		const char *value = nb_frame_attribute_text(frame, k);
		const size_t n = value ? strlen(frame->attribute[k].key) + 1 + strlen(value) : 0;
		width = n > width ? n : width;
	}
	return width;
}

static int put_attributes(struct nb_h5_file *file, struct nb_h5_node *dataset, const struct nb_frame *frame)
{
	const size_t width = width_of(frame);
	char *line = malloc(width + 1);
	int status = line ? NB_OK : NB_ENOMEM;
	for (size_t k = 0; !status && k < frame->nattribute; k++) {
		const char *value = nb_frame_attribute_text(frame, k);
		memset(line, 0, width + 1);
		if (value)
			snprintf(line, width + 1, "%s=%s", frame->attribute[k].key, value);
		status = value ? nb_h5_put(file, dataset, line, width) : NB_ENOMEM;
	}
	free(line);
	return status;
}

/* Their names in order, with a blank behind each; those that a header cannot hold come last when they are read. */
static void describe_order(struct nb_h5_file *file, struct nb_h5_node *own, const struct nb_frame *frame)
{
	enum { MOST = 60000 };
	char *names = malloc(MOST);
	size_t used = 0;
	for (size_t c = 0; names && c < frame->ncolumn; c++)
		if (frame->column[c].table == NB_PARTICLE && used + NB_NAME_SIZE + 2 < MOST)
			used += (size_t)snprintf(names + used, MOST - used, "%s ", frame->column[c].name);
	if (names)
		nb_h5_attribute_text(file, own, NB_GADGET_COLUMNS, used ? names : "");
	else
		file->failed = 1;
	free(names);
}

/* ---- bodies ------------------------------------------------------------------------------------- */

/* The rows of count bodies from number first on in the order of types, those together that stand together. */
static int put_rows(struct nb_h5_file *file, struct nb_h5_node *dataset, const struct nb_types *types, uint64_t first,
	uint64_t count, const unsigned char *data, size_t rowsize)
{
	if (!types->row)
		return nb_h5_put(file, dataset, data + first * rowsize, count * rowsize);
	for (uint64_t k = first, end; k < first + count; k = end) {
		const uint64_t row = types->row[k];
		for (end = k + 1; end < first + count && types->row[end] == row + (end - k);)
			end++;
		const int status = nb_h5_put(file, dataset, data + row * rowsize, (end - k) * rowsize);
		if (status)
			return status;
	}
	return NB_OK;
}

/* Numbers for bodies without ids. */
static int put_numbers(struct nb_h5_file *file, struct nb_h5_node *dataset, const struct nb_types *types,
	uint64_t first, uint64_t count)
{
	int status = NB_OK;
	for (uint64_t k = first; !status && k < first + count; k++) {
		const uint64_t number = types->row ? types->row[k] : k;
		status = nb_h5_put(file, dataset, &number, sizeof number);
	}
	return status;
}

static int is_written(const struct nb_export *out, const struct nb_frame *frame, struct nb_column *column)
{
	if (column->field == NB_SPECIES && strcmp(column->dtype, "|u1") == 0) { /* types, unless they are a model's */
		const char *types = nb_frame_attribute(frame, NB_TYPES);
		return !(types && strcmp(types, "gadget") == 0);
	}
	return column->table == NB_PARTICLE && nb_gadget_hdf5_holds(out, frame, column);
}

/* The datasets of a type with n bodies, in the order of the columns. */
static void describe_type(struct nb_export *out, const struct nb_frame *frame, struct nb_h5_node *group, uint64_t n,
	struct nb_h5_node **dataset)
{
	struct nb_h5_file *file = &((struct nb_gadget_hdf5_writer *)out->state)->file;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		char name[NB_GADGET_NAME], back[NB_NAME_SIZE + 1];
		if (!is_written(out, frame, column))
			continue;
		const int is_bool = strcmp(column->dtype, "|b1") == 0;
		nb_gadget_dataset_name(column->name, name);
		nb_gadget_column_name(name, back);
		*dataset = nb_h5_dataset(file, group, name, is_bool ? "|u1" : column->dtype,
			column->ncomp > 1 ? column->ncomp : 0, n, 0);
		if (strcmp(back, column->name) != 0)
			nb_h5_attribute_text(file, *dataset, "column", column->name);
		if (is_bool)
			nb_h5_attribute_text(file, *dataset, "dtype", column->dtype);
		if (column->field == NB_NFIELD && *column->unit)
			nb_h5_attribute_text(file, *dataset, "unit", column->unit);
		dataset++;
	}
	if (!nb_frame_field(frame, NB_ID))
		*dataset = nb_h5_dataset(file, group, "ParticleIDs", "<u8", 0, n, 0);
}

static int put_type(struct nb_export *out, const struct nb_frame *frame, const struct nb_types *types, uint64_t first,
	uint64_t n, struct nb_h5_node **dataset)
{
	struct nb_h5_file *file = &((struct nb_gadget_hdf5_writer *)out->state)->file;
	int status = NB_OK;
	for (size_t c = 0; !status && c < frame->ncolumn; c++) {
		struct nb_column *column = &frame->column[c];
		if (!is_written(out, frame, column))
			continue;
		const void *data = nb_column_read(column, &nb_space_host, NB_WIRE);
		status = data ? put_rows(file, *dataset++, types, first, n, data, column->rowsize) : NB_ENOMEM;
	}
	return status || nb_frame_field(frame, NB_ID) ? status : put_numbers(file, *dataset, types, first, n);
}

/* The frame as a snapshot has it, and all attributes of the original. */
static int write_snapshot(struct nb_export *out, const struct nb_frame *frame, const struct nb_frame *original)
{
	struct nb_h5_file *file = &((struct nb_gadget_hdf5_writer *)out->state)->file;
	const size_t most = frame->ncolumn + 1; /* datasets of a type */
	struct nb_types types;
	int status = nb_types_find(out, frame, &types);
	if (status)
		return status;
	struct nb_h5_node **dataset = calloc(NB_NTYPE * most, sizeof *dataset), *root = nb_h5_root(file, out->output);
	describe_header(file, root, frame, &types);
	describe_units(out, root, frame);
	char dtype[24];
	snprintf(dtype, sizeof dtype, "|S%zu", width_of(original));
	struct nb_h5_node *own = nb_h5_group(file, root, "nb");
	struct nb_h5_node *attributes = nb_h5_dataset(file, own, "Attributes", dtype, 0, original->nattribute, 0);
	describe_order(file, own, frame);
	nb_h5_attribute_text(file, own, NB_GADGET_SPECIES,
		types.meaning != NB_TYPES_ARE_SPECIES || !types.from_species ? NB_GADGET_NO_SPECIES : "types");
	for (unsigned t = 0; dataset && t < NB_NTYPE; t++) {
		char name[24];
		snprintf(name, sizeof name, "PartType%u", t);
		/* one type is there, with datasets, in a file without bodies too */
		if (types.n[t] || (t == 1 && frame->rows[NB_PARTICLE] == 0))
			describe_type(out, frame, nb_h5_group(file, root, name), types.n[t], dataset + t * most);
	}
	status = dataset ? nb_h5_begin(file, 0) : NB_ENOMEM;
	if (!status)
		status = put_attributes(file, attributes, original);
	uint64_t first = 0;
	for (unsigned t = 0; !status && t < NB_NTYPE; first += types.n[t++])
		if (types.n[t])
			status = put_type(out, frame, &types, first, types.n[t], dataset + t * most);
	free(dataset);
	nb_types_clear(&types);
	return status ? status : nb_h5_end(file);
}

int nb_gadget_hdf5_write(struct nb_export *out, const struct nb_frame *frame)
{
	struct nb_frame snapshot;
	nb_frame_init(&snapshot);
	int status = nb_comoving_write(out, frame, &snapshot);
	if (!status)
		status = write_snapshot(out, &snapshot, frame);
	nb_frame_clear(&snapshot);
	return status;
}

void nb_gadget_hdf5_release(struct nb_export *out)
{
	nb_h5_clear(&((struct nb_gadget_hdf5_writer *)out->state)->file);
}
