/* Snapshots of GADGET (Springel 2005, MNRAS 364, 1105; the users' guide of GADGET-2, section 6): blocks of binary
 * numbers between two counts of their bytes, as Fortran writes them.  Format 1 has the blocks in a fixed order, format
 * 2 a label before each.  Both byte orders, f4 or f8, ids of 4 or 8 bytes, and snapshots of several files, NAME.0 and
 * on, are read, in one pass: POS of all files first, since a sphere decides by it which bodies are wanted; then the
 * other blocks, of which only wanted columns and rows are read where the file can be skipped in.
 *
 * Bodies stand in the order of the files, and in a file in the order of types. */
#include "formats/exchange/comoving.h"
#include "formats/exchange/gadget/read.h"
#include "formats/exchange/subset.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Beside those of blocks: id, mass, species. */
enum { MOST_COLUMNS = NB_MAX_COLUMNS - 3 };

/* ---- columns that follow from the header --------------------------------------------------------- */

static int wanted(const struct nb_gadget_reader *reader, enum nb_field field)
{
	return nb_subset_needs(&reader->in->subset, nb_field_info[field].name);
}

static int add_species(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	if (!wanted(reader, NB_SPECIES))
		return NB_OK;
	unsigned char *species = nb_column_write(
		nb_frame_add_field(frame, NB_SPECIES, NULL, 0), &nb_space_host, NB_WIRE);
	if (!species)
		return NB_ENOMEM;
	for (unsigned k = 0; k < reader->nfile; k++)
		for (size_t r = 0; r < reader->part[k].nrun; r++) {
			const struct nb_gadget_run *run = &reader->part[k].run[r];
			memset(species, (int)run->type, (size_t)run->count);
			species += run->count;
		}
	return NB_OK;
}

/* A file without ids: the bodies are numbered as they stand in it. */
static int number_bodies(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	uint64_t *id = nb_column_write(nb_frame_add_field(frame, NB_ID, NULL, 0), &nb_space_host, NB_WIRE);
	if (!id)
		return NB_ENOMEM;
	for (unsigned k = 0; k < reader->nfile; k++)
		for (size_t r = 0; r < reader->part[k].nrun; r++) {
			const struct nb_gadget_run *run = &reader->part[k].run[r];
			for (uint64_t i = 0; i < run->count; i++)
				*id++ = reader->part[k].from + run->first + i * run->step;
		}
	return NB_OK;
}

/* Masses of the header, 0 for those that are in a block. */
static void fill_masses(const struct nb_gadget_reader *reader, const struct nb_gadget_part *part, double *mass)
{
	for (size_t r = 0; r < part->nrun; r++)
		for (uint64_t i = 0; i < part->run[r].count; i++)
			*mass++ = reader->head.mass[part->run[r].type];
}

static int add_attributes(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	const struct nb_gadget_header *head = &reader->first;
	const int swap = reader->first_swap;
	double omega = 0, redshift = 0;
	int status = nb_frame_set_attribute_f64(frame, "time", head->time) ||
		     nb_frame_set_attribute(frame, "dim", "3") || nb_frame_set_attribute_f64(frame, "G", NB_GADGET_G) ||
		     nb_frame_set_attribute(frame, NB_TYPES, "gadget");
	for (size_t k = 0; k < nb_gadget_nattribute && !status; k++) {
		const struct nb_gadget_attribute *a = &nb_gadget_attributes[k];
		const unsigned char *from = head->raw + a->at;
		double x = a->kind == 'd' ? nb_wire_f64(from, swap) : (int32_t)nb_wire_u32(from, swap);
		if (a->kind == 'f')
			nb_wire_widen(1, from, swap, &x);
		if (strcmp(a->name, "omega0") == 0)
			omega = x;
		if (strcmp(a->name, "redshift") == 0)
			redshift = x;
		if (isfinite(x) && (x != 0 || (a->always && !head->is_translated)))
			status = nb_frame_set_attribute_f64(frame, a->name, x);
	}
	const int cosmological = omega > 0 || redshift > 0;
	if (!status && !cosmological)
		status = nb_frame_set_attribute(frame, "units", NB_GADGET_UNITS);
	double a = 0;
	if (!status)
		status = nb_comoving_read(frame, 0.5, &a);
	if (cosmological)
		nb_gadget_warn(reader,
			"%s is cosmological (omega0 = %g, redshift = %g): positions are comoving, lengths and masses "
			"have units of 1/h, and velocities %s",
			nb_gadget_name(reader), omega, redshift,
			a > 0 ? "are made peculiar"
			      : "lack a factor sqrt(a); nothing of that is converted, as time, redshift and box are "
				"not those of a periodic run");
	reader->in->usual_units = 1;
	return status ? NB_ENOMEM : NB_OK;
}

/* ---- other blocks -------------------------------------------------------------------------------- */

/* A block that is to be read: what it is, and which types have it. */
struct content {
	enum nb_gadget_number number; /* NB_GADGET_NBLOCK: none that is known */
	char column[NB_NAME_SIZE + 1];
	unsigned ncomp, width, mask;
};

static enum nb_field field_of(const struct content *content)
{
	return content->number < NB_GADGET_NBLOCK ? nb_gadget_blocks[content->number].field : NB_NFIELD;
}

/* Bodies of the present file whose types are in the mask. */
static uint64_t rows_of(const struct nb_gadget_reader *reader, unsigned mask)
{
	return nb_gadget_count(reader->head.n, mask);
}

static unsigned with_masses(const struct nb_gadget_reader *reader)
{
	return nb_gadget_with_masses(reader->head.n, reader->head.mass);
}

/* Whether the block has so many numbers of the types in the mask, and how wide. */
static int fits(const struct nb_gadget_reader *reader, struct content *content, unsigned mask, unsigned ncomp)
{
	const uint64_t rows = rows_of(reader, mask);
	content->mask = mask;
	content->ncomp = ncomp;
	content->width = rows ? nb_gadget_width(reader, rows, ncomp) : 0;
	if (rows == reader->head.rows)
		content->mask = NB_GADGET_ALL;
	return content->width != 0;
}

/* Whether two readings of a block are the same, as types without bodies change nothing. */
static int same_bodies(const struct nb_gadget_reader *reader, const struct content *a, const struct content *b)
{
	unsigned there = 0;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		there |= reader->head.n[t] ? 1u << t : 0;
	return a->ncomp == b->ncomp && (a->mask & there) == (b->mask & there);
}

/* Which types have a block that some may not have: the first of these sets that its size fits, with numbers as wide as
 * those of positions if that fits any. */
static int find_types(struct nb_gadget_reader *reader, struct content *content, int gas)
{
	static const unsigned sets[] = {NB_GADGET_ALL, 0x01, 0x10, 0x20, 0x11, 0x21, 0x31, 0x02, 0x04, 0x08};
	const unsigned least = content->ncomp ? content->ncomp : 1, most = content->ncomp ? content->ncomp : 3;
	struct content found = *content;
	found.width = 0;
	int several = 0;
	for (int any_width = 0; any_width < 2; any_width++) {
		if (gas && fits(reader, content, 0x01, least) && (any_width || content->width == reader->width))
			return 1;
		for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
			for (unsigned ncomp = least; ncomp <= most; ncomp += 2) {
				struct content other = *content;
				if (!fits(reader, &other, sets[s], ncomp) ||
					(!any_width && other.width != reader->width))
					continue;
				several |= found.width && !same_bodies(reader, &found, &other);
				found = found.width ? found : other;
			}
		if (found.width)
			break;
	}
	*content = found;
	if (several)
		nb_gadget_warn(reader,
			"%s block %d '%s' is taken for %s of %" PRIu64 " bodies%s, though its size fits others too",
			nb_gadget_name(reader), reader->block, content->column,
			content->ncomp == 1 ? "numbers" : "vectors", rows_of(reader, content->mask),
			content->mask == NB_GADGET_ALL ? ""
			: content->mask == 0x01	       ? ", gas"
			: content->mask == 0x10	       ? ", stars"
						       : " of some types");
	return found.width != 0;
}

static void lower(char *to, const char *label)
{
	size_t n = strlen(label);
	while (n && label[n - 1] == ' ')
		n--;
	for (size_t k = 0; k < n; k++)
		to[k] = isalnum((unsigned char)label[k]) ? (char)tolower((unsigned char)label[k]) : '_';
	to[n] = '\0';
}

/* What the present block is.  NB_OK; PASS: nothing that is to be read; or after fail. */
enum { PASS = -2 };
static int identify(struct nb_gadget_reader *reader, struct nb_gadget_part *part, struct content *content)
{
	unsigned b = 0;
	if (reader->labels || reader->block <= NB_GADGET_ID + 1)
		while (b < NB_GADGET_NBLOCK && !nb_gadget_is_label(reader, nb_gadget_blocks[b].label))
			b++;
	else
		b = nb_gadget_guess(reader, part);
	content->number = (enum nb_gadget_number)b;
	if (b == NB_GADGET_NBLOCK) {
		content->ncomp = 0;
		if (nb_gadget_is_label(reader, "INFO") || reader->block_size == 0)
			return PASS;
		if (*reader->label)
			lower(content->column, reader->label);
		else
			snprintf(content->column, sizeof content->column, "block_%d", reader->block);
		if (!*content->column || nb_field_find(content->column))
			strcat(content->column, "_block");
	} else {
		if (part->seen >> b & 1)
			return nb_gadget_fail(reader, "there is another block of this kind before it");
		part->seen |= 1u << b;
		strcpy(reader->label, nb_gadget_blocks[b].label);
		snprintf(content->column, sizeof content->column, "%s", nb_gadget_blocks[b].column);
		content->ncomp = nb_gadget_blocks[b].ncomp;
	}
	if (!nb_subset_needs(&reader->in->subset, content->column))
		return PASS;
	if (b == NB_GADGET_MASSES) /* the types without masses in the header have them, or all; as wide as positions if
				      possible */
		for (int any_width = 0; any_width < 2; any_width++)
			for (int all = 0; all < 2; all++)
				if (fits(reader, content, all ? NB_GADGET_ALL : with_masses(reader), 1) &&
					(any_width || content->width == reader->width))
					return NB_OK;
	if (b <= NB_GADGET_MASSES) {
		const unsigned mask = b == NB_GADGET_MASSES ? with_masses(reader) : NB_GADGET_ALL;
		if (!fits(reader, content, mask, content->ncomp) && reader->block_size + rows_of(reader, mask))
			return nb_gadget_wrong_size(reader, rows_of(reader, mask), content->ncomp);
		return content->width ? NB_OK : PASS;
	}
	if (!find_types(reader, content, b < NB_GADGET_NBLOCK && nb_gadget_blocks[b].gas)) {
		if (reader->block_size)
			nb_gadget_warn(reader,
				"%s block %d '%s' is left out: its %" PRIu32 " bytes fit no types of bodies",
				nb_gadget_name(reader), reader->block, *reader->label ? reader->label : content->column,
				reader->block_size);
		return PASS;
	}
	return NB_OK;
}

/* The bodies of a column that no block has are NaN. */
static void fill_missing(struct nb_column *column, void *to)
{
	const size_t n = column->rows * column->ncomp;
	if (strcmp(column->dtype, "<f4") == 0)
		for (size_t i = 0; i < n; i++)
			((float *)to)[i] = NAN;
	else
		for (size_t i = 0; i < n; i++)
			((double *)to)[i] = NAN;
}

/* Where the block goes; a new column if it is the first of its kind.  NB_OK, PASS, or a status. */
static int prepare(struct nb_gadget_reader *reader, struct nb_frame *frame, const struct content *content,
	struct nb_gadget_sink *sink)
{
	const enum nb_field field = field_of(content);
	const char *dtype = content->width == 4 ? "<f4" : "<f8";
	struct nb_column *column = nb_frame_find(frame, content->column);
	const int is_new = !column;
	*sink = (struct nb_gadget_sink){.take = nb_gadget_take_as(field, content->width), .ncomp = content->ncomp};
	if (is_new && frame->ncolumn >= MOST_COLUMNS)
		return nb_gadget_fail(
			reader, "there are more than %d columns (choose some with '--fields')", MOST_COLUMNS);
	if (is_new)
		column = field != NB_NFIELD
				 ? nb_frame_add_field(frame, field, NULL, 0)
				 : nb_frame_add(frame, content->column, NB_PARTICLE, dtype, content->ncomp, "", 0);
	else if (field == NB_NFIELD && (strcmp(column->dtype, dtype) != 0 || column->ncomp != content->ncomp))
		return nb_gadget_fail(reader, "it has other numbers than a block of the same name before it");
	if (!column)
		return NB_ENOMEM;
	sink->to = is_new ? nb_column_write(column, &nb_space_host, NB_WIRE)
			  : nb_column_update(column, &nb_space_host, NB_WIRE);
	sink->rowsize = column->rowsize;
	if (!sink->to)
		return NB_ENOMEM;
	if (is_new && field == NB_NFIELD && (content->mask != NB_GADGET_ALL || reader->several))
		fill_missing(column, sink->to);
	return NB_OK;
}

/* Blocks of bodies that were chosen among others say nothing that follows from all of them. */
static int is_stale(const struct nb_gadget_reader *reader, const struct content *content, const struct nb_frame *frame)
{
	const enum nb_field field = field_of(content);
	return field != NB_NFIELD && (nb_field_info[field].flags & NB_DERIVED) && !reader->in->subset.keep_derived &&
	       (frame->rows[NB_PARTICLE] < reader->rows || reader->nfile < reader->first.files);
}

/* Masses in a block of types that have them in the header: those of the header are taken. */
static void settle_masses(struct nb_gadget_reader *reader, const struct nb_gadget_part *part, double *mass)
{
	double other = 0;
	unsigned type = NB_NTYPE;
	for (size_t r = 0; r < part->nrun; r++)
		for (uint64_t i = 0; i < part->run[r].count; i++, mass++) {
			const double in_header = reader->head.mass[part->run[r].type];
			if (in_header == 0)
				continue;
			if (type == NB_NTYPE && !nb_gadget_same_mass(*mass, in_header)) {
				type = part->run[r].type;
				other = *mass;
			}
			*mass = in_header;
		}
	if (type < NB_NTYPE)
		nb_gadget_warn(reader,
			"%s has other masses of type %u in block 'MASS' (%g) than in the header (%g), which are taken",
			nb_gadget_name(reader), type, other, reader->head.mass[type]);
}

/* All blocks behind POS of the present file. */
static int read_blocks(struct nb_gadget_reader *reader, struct nb_gadget_part *part, struct nb_frame *frame)
{
	struct content content;
	struct nb_gadget_sink sink;
	int there;
	part->seen = 1u << NB_GADGET_POS;
	while ((there = nb_gadget_next_block(reader)) == 1) {
		int status = identify(reader, part, &content);
		if (!status && is_stale(reader, &content, frame))
			status = PASS;
		if (!status && content.mask != NB_GADGET_ALL && content.number >= NB_GADGET_POT &&
			content.number < NB_GADGET_NBLOCK) {
			nb_gadget_warn(reader, "%s block '%s' is left out: not all types have it",
				nb_gadget_name(reader), reader->label);
			status = PASS;
		}
		if (!status)
			status = prepare(reader, frame, &content, &sink);
		if (!status) {
			sink.row = part->begin;
			status = nb_gadget_take_block(
				reader, part, content.mask, (size_t)content.ncomp * content.width, &sink);
			if (!status && content.number == NB_GADGET_MASSES)
				settle_masses(reader, part, (double *)(void *)sink.to + part->begin);
		} else if (status == PASS) {
			status = nb_gadget_skip_block(reader);
		}
		if (status)
			return status;
	}
	return there < 0 ? NB_EINVAL : NB_OK;
}

/* ---- the frame ----------------------------------------------------------------------------------- */

static int set_masses(struct nb_gadget_reader *reader, const struct nb_gadget_part *part, struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_field(frame, NB_MASS);
	if (!column)
		return NB_OK;
	double *mass = part == reader->part ? nb_column_write(column, &nb_space_host, NB_WIRE)
					    : nb_column_update(column, &nb_space_host, NB_WIRE);
	if (!mass)
		return NB_ENOMEM;
	fill_masses(reader, part, mass + part->begin);
	return NB_OK;
}

/* The bodies of a type have masses in the header, or in a block, or no body has a mass. */
static int check_masses(struct nb_gadget_reader *reader, struct nb_gadget_part *part, struct nb_frame *frame,
	unsigned *without, unsigned *with)
{
	const unsigned in_block = with_masses(reader);
	const int has_block = part->seen >> NB_GADGET_MASSES & 1;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		if (reader->head.n[t])
			*(has_block || !(in_block >> t & 1) ? with : without) |= 1u << t;
	reader->block = 0;
	if (*without && *with) {
		unsigned t = 0;
		while (!(*without >> t & 1))
			t++;
		return nb_gadget_fail(
			reader, "bodies of type %u have no mass, neither in the header nor in a block MASS", t);
	}
	if (*without)
		nb_frame_drop_field(frame, NB_MASS);
	return NB_OK;
}

/* Without labels, what every body has must be there. */
static int check_end(struct nb_gadget_reader *reader, const struct nb_gadget_part *part)
{
	for (unsigned b = NB_GADGET_VEL; b <= NB_GADGET_MASSES && !reader->labels; b++)
		if (!(part->seen >> b & 1) && (b < NB_GADGET_MASSES ? reader->head.rows > 0 : with_masses(reader) > 0))
			return nb_gadget_fail(reader, "the file ends before block '%s'", nb_gadget_blocks[b].label);
	return NB_OK;
}

/* All files have the same blocks of what every body has. */
static int check_blocks(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	static const enum nb_gadget_number all[] = {NB_GADGET_VEL, NB_GADGET_ID, NB_GADGET_POT, NB_GADGET_ACCE};
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		unsigned some = 0, lack = 0, first = 0;
		for (unsigned f = 0; f < reader->nfile; f++) {
			const struct nb_gadget_part *part = &reader->part[f];
			const uint64_t end = f + 1 < reader->nfile ? part[1].from : reader->rows;
			if (part->from == end)
				continue;
			const unsigned has = part->seen >> all[k] & 1;
			first = !has && !lack ? f : first;
			some |= has;
			lack |= !has;
		}
		if (!some && lack && all[k] < NB_GADGET_POT)
			nb_gadget_warn(reader, "%s has no block '%s'%s", nb_import_tail(reader->in),
				nb_gadget_blocks[all[k]].label,
				all[k] == NB_GADGET_ID ? ": ids are the numbers of rows" : "");
		if (!some || !lack)
			continue;
		if (all[k] < NB_GADGET_POT)
			return nb_gadget_fail(reader, "file %u of the snapshot has no block '%s', but others have",
				first, nb_gadget_blocks[all[k]].label);
		nb_frame_drop(frame, nb_gadget_blocks[all[k]].column);
		nb_gadget_warn(reader, "block '%s' is left out: not all files have it", nb_gadget_blocks[all[k]].label);
	}
	return NB_OK;
}

/* Numbers that no stream may hold. */
static int check_numbers(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	for (unsigned b = 0; b < NB_GADGET_NBLOCK; b++) {
		const enum nb_field field = nb_gadget_blocks[b].field;
		struct nb_column *column = field == NB_NFIELD || field == NB_ID ? NULL : nb_frame_field(frame, field);
		const double *pot = column && b == NB_GADGET_POT && !reader->labels
					    ? nb_column_read(column, &nb_space_host, NB_AS_F64)
					    : NULL;
		size_t i = 0;
		while (pot && i < column->rows && pot[i] < 0)
			i++;
		if (pot && i < column->rows) {
			nb_gadget_warn(reader, "%s: what seemed to be potentials is left out: body %zu has %g",
				nb_gadget_name(reader), i, pot[i]);
			nb_frame_drop_field(frame, NB_POT);
			continue;
		}
		const size_t row = column ? nb_column_first_bad(
						    column, NB_BAD_NONFINITE | (field == NB_MASS ? NB_BAD_NEGATIVE : 0))
					  : 0;
		if (!column || row >= column->rows || !nb_subset_needs(&reader->in->subset, column->name))
			continue;
		nb_gadget_close_file(reader);
		reader->block = 0;
		return nb_gadget_fail(reader, "block '%s': body %zu has a number that is not finite%s",
			nb_gadget_blocks[b].label, row, field == NB_MASS ? ", or a negative mass" : "");
	}
	return NB_OK;
}

static int read_rest(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	unsigned without = 0, with = 0;
	int status = !wanted(reader, NB_MASS) || nb_frame_add_field(frame, NB_MASS, NULL, 0) ? NB_OK : NB_ENOMEM;
	for (unsigned k = 0; k < reader->nfile && !status; k++) {
		struct nb_gadget_part *part = &reader->part[k];
		status = nb_gadget_open_file(reader, k);
		if (!status && reader->several && nb_bytes_seek(reader->bytes, part->behind))
			return nb_gadget_fail_read(reader);
		reader->block = 1;
		reader->width = part->width;
		if (!status)
			status = set_masses(reader, part, frame);
		if (!status)
			status = read_blocks(reader, part, frame);
		if (!status)
			status = check_end(reader, part);
		if (!status)
			status = check_masses(reader, part, frame, &without, &with);
	}
	if (!status && without)
		nb_gadget_warn(reader, "%s has no masses", nb_import_tail(reader->in));
	nb_gadget_warn_guesses(reader);
	return status ? status : check_blocks(reader, frame);
}

static int read_snapshot(struct nb_gadget_reader *reader, struct nb_frame *frame)
{
	int status = nb_gadget_read_places(reader, frame);
	if (!status)
		status = read_rest(reader, frame);
	if (!status)
		status = check_numbers(reader, frame);
	if (!status && reader->rows == 0 && wanted(reader, NB_VEL) && /* a file without bodies may have no blocks */
		!nb_column_write(nb_frame_add_field(frame, NB_VEL, NULL, 0), &nb_space_host, NB_WIRE))
		status = NB_ENOMEM;
	if (!status && wanted(reader, NB_ID) && !nb_frame_field(frame, NB_ID))
		status = number_bodies(reader, frame);
	if (!status)
		status = add_species(reader, frame);
	return status ? status : add_attributes(reader, frame);
}

static enum nb_answer next(struct nb_import *in, struct nb_frame *frame)
{
	struct nb_gadget_reader *reader = in->state;
	if (reader->done)
		return NB_END;
	reader->done = 1;
	in->selected = NB_SELECTED_ALL;
	const int status = read_snapshot(reader, frame);
	if (status == NB_ELIMIT)
		nb_gadget_fail(reader, "there are too many bodies");
	return status ? NB_ERROR : NB_FRAME;
}
const struct nb_format nb_format_gadget = {
	.name = "gadget",
	.about = "a GADGET snapshot",
	.suffixes = "gadget gad",
	.place = 3,
	.traits = NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_HOLDS_UNIVERSE | NB_MANY_FILES | NB_JOINS_FILES,
	.needs = NB_NEED(NB_VEL) | NB_NEED(NB_MASS),
	.G = NB_GADGET_G,
	.recognises = nb_gadget_recognises,
	.import_size = sizeof(struct nb_gadget_reader),
	.open = nb_gadget_open,
	.next = next,
	.close = nb_gadget_close,
	.export_size = sizeof(struct nb_gadget_export),
	.frame = nb_gadget_write,
	.holds = nb_gadget_holds,
};
