/* gadget-hdf5, read: attributes of the frame, units and softenings, from what the last file says. */
#include "formats/exchange/comoving.h"
#include "formats/exchange/gadget-hdf5/read.h"

#include "common/mem.h"
#include "common/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- attributes --------------------------------------------------------------------------------- */

/* Those that nb has written. */
static int take_own(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	const struct nb_h5_item *item = nb_h5_find(&reader->file, "nb/Attributes");
	if (!item || item->is_attribute || item->kind != 'S' || item->rank != 1 || item->size > (64 << 20))
		return NB_OK;
	if (nb_h5_check(&reader->file, item))
		return NB_EINVAL;
	const uint64_t lines = item->dim[0];
	char *text = nb_alloc(lines + 1, item->size + 1);
	int status = text ? nb_h5_read_texts(&reader->file, item, text) : nb_h5_no_memory(&reader->file);
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
			status = nb_h5_no_memory(&reader->file);
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

static int take_header(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, int own)
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

static int take_units(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame)
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
		       ? nb_h5_no_memory(&reader->file)
		       : NB_OK;
}

/* What GADGET-4 has in Parameters alone. */
static int take_parameters(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	static const char *const known[][2] = {{"omega0", "Parameters@Omega0"},
		{"omega_lambda", "Parameters@OmegaLambda"}, {"hubble_param", "Parameters@HubbleParam"}};
	double scale;
	int status = NB_OK;
	for (size_t k = 0; !status && is_cosmological(&reader->file, &scale) && k < 3; k++) {
		const double x = nb_h5_number(&reader->file, known[k][1], 0, NAN);
		if (isfinite(x) && !nb_frame_attribute(frame, known[k][0]))
			status = nb_frame_set_attribute_f64(frame, known[k][0], x);
	}
	return status;
}

/* SWIFT has the universe in a group of its own, and its times are no scale factors. */
static int take_cosmology(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame)
{
	static const struct {
		const char *key, *path;
		double usual;
	} known[] = {{"time", "Cosmology@Scale-factor", NAN}, {"redshift", "Cosmology@Redshift", 0},
		{"omega0", "Cosmology@Omega_m", 0}, {"omega_lambda", "Cosmology@Omega_lambda", 0},
		{"omega_r", "Cosmology@Omega_r", 0}, {"w0", "Cosmology@w_0", -1}, {"wa", "Cosmology@w_a", 0},
		{"H0", "Cosmology@H0 [internal units]", 0}};
	double scale;
	int status = NB_OK;
	if (!is_swift(&reader->file) || !is_cosmological(&reader->file, &scale) ||
		!nb_h5_find(&reader->file, "Cosmology@Scale-factor"))
		return NB_OK;
	for (size_t k = 0; !status && k < sizeof known / sizeof *known; k++)
		status = set_number(
			frame, known[k].key, nb_h5_number(&reader->file, known[k].path, 0, NAN), known[k].usual);
	return status;
}

/* v = u a^x: where a dataset says so, as those of SWIFT, EAGLE, AREPO and GADGET-4 do, else that of GADGET. */
static double velocity_exponent(const struct nb_h5_reader *file)
{
	static const char *const name[] = {"Velocities", "Velocity"}, *const attribute[] = {"a_scaling",
									      "a-scale exponent",
									      "aexp-scale-exponent"};
	char path[NB_GADGET_HDF5_PATH];
	for (unsigned type = 0; type < NB_GADGET_HDF5_TYPES; type++)
		for (size_t n = 0; n < 2; n++)
			for (size_t k = 0; k < 3; k++) {
				snprintf(path, sizeof path, "PartType%u/%s@%s", type, name[n], attribute[k]);
				const double x = nb_h5_number(file, path, 0, NAN);
				if (isfinite(x))
					return x;
			}
	return is_swift(file) ? 0 : 0.5;
}

int nb_gadget_hdf5_universe(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, int own)
{
	const double exponent = velocity_exponent(&reader->file);
	double a = own ? nb_comoving_scale_factor(frame) : 0;
	int status = a > 0 ? nb_comoving_scale_velocities(frame, sqrt(a)) : NB_OK;
	if (!own)
		status = nb_comoving_read(frame, exponent, &a);
	if (!own && a > 0)
		snprintf(reader->in->warning, sizeof reader->in->warning,
			"%s is cosmological: positions are comoving, at a scale factor of %g, and velocities are %s%s",
			reader->file.name, a, exponent == 0 ? "peculiar" : "made peculiar",
			nb_h5_number(&reader->file, "Cosmology@Omega_nu_0", 0, 0) > 0
				? "; its massive neutrinos are left out"
				: "");
	return status ? nb_h5_no_memory(&reader->file) : NB_OK;
}

double nb_gadget_hdf5_softening(const struct nb_h5_reader *file, unsigned type)
{
	static const char *const old[] = {"Gas", "Halo", "Disk", "Bulge", "Stars", "Bndry"};
	static const char *const spelling[][2] = {{"Class", "Class"}, {"Type", "Type"}};
	char path[NB_GADGET_HDF5_PATH];
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

int nb_gadget_hdf5_attributes(struct nb_gadget_hdf5_reader *reader, struct nb_frame *frame, int own)
{
	if (own && take_own(reader, frame))
		return NB_EINVAL;
	const struct nb_h5_item *meaning = nb_h5_find(&reader->file, "nb@" NB_GADGET_SPECIES);
	const int types = !own || (meaning && meaning->text && strcmp(meaning->text, "types") == 0);
	reader->in->complete = own;
	/* a cosmological frame has other attributes than the header, which follow from them */
	const int is_header_new = !own || nb_comoving_scale_factor(frame) == 0;
	if ((!own && nb_frame_set_attribute(frame, "dim", "3")) || (is_header_new && take_header(reader, frame, own)) ||
		(!own && (take_parameters(reader, frame) || take_cosmology(reader, frame))) ||
		(types && nb_frame_set_attribute(frame, NB_TYPES, "gadget")))
		return nb_h5_no_memory(&reader->file);
	return own ? NB_OK : take_units(reader, frame);
}
