/* nb-convert --from: which frames, bodies and columns are imported. */
#include "tools/nb-convert/convert.h"

#include "common/nearest.h"
#include "common/parse.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A number up to where a range is divided, or the end; *at moves there.  1; 0: there is none; -1: it is no number. */
static int take_number(const char **at, uint64_t *number)
{
	char word[32];
	const size_t length = (size_t)(nb_range_gap(*at, *at + strlen(*at)) - *at);
	if (length >= sizeof word)
		return -1;
	memcpy(word, *at, length);
	word[length] = '\0';
	*at += length;
	return length == 0 ? 0 : nb_parse_u64(word, 0, UINT64_MAX, number) == NB_PARSE_OK ? 1 : -1;
}

/* FIRST, FIRST:LAST or FIRST:LAST:STEP, each of which may be empty in a range. */
static int parse_rows(const char *at, struct nb_subset *part)
{
	part->row_first = 0;
	part->row_last = UINT64_MAX;
	part->row_step = 1;
	const int first = take_number(&at, &part->row_first);
	if (first < 0 || (first == 0 && !*at))
		return -1;
	if (!*at) {
		part->row_last = part->row_first;
		return 0;
	}
	at++;
	if (take_number(&at, &part->row_last) < 0)
		return -1;
	if (*at) {
		at++;
		if (take_number(&at, &part->row_step) < 0 || *at)
			return -1;
	}
	return part->row_step > 0 && part->row_first <= part->row_last ? 0 : -1;
}

/* "0,1,4-6" */
static int parse_species(const char *text, struct nb_subset *part)
{
	unsigned char list[256];
	size_t count;
	if (nb_parse_species(text, list, &count) != NB_PARSE_OK)
		return -1;
	for (size_t k = 0; k < count; k++)
		part->species[list[k] / 64] |= (uint64_t)1 << list[k] % 64;
	return 0;
}

static int wants(void *context, const char *name)
{
	return nb_has_word(((const struct convert *)context)->fields, name);
}

void nb_convert_parse_part(struct convert *opt)
{
	struct nb_subset *part = &opt->subset;
	size_t n;
	if (opt->rows && parse_rows(opt->rows, part))
		nb_die(NB_EXIT_USAGE, "invalid rows '%s' (want FIRST:LAST:STEP, such as ::10 or 0:999)", opt->rows);
	if (opt->species && parse_species(opt->species, part))
		nb_die(NB_EXIT_USAGE,
			"invalid species '%s' (want numbers from 0 to 255, each once, such as 1,2 or 0-3)",
			opt->species);
	if (opt->sphere &&
		(nb_parse_f64_list(opt->sphere, 4, opt->ball, &n) != NB_PARSE_OK || n != 4 || !(opt->ball[3] >= 0)))
		nb_die(NB_EXIT_USAGE, "invalid sphere '%s' (want X,Y,Z,RADIUS, such as 0,0,0,10)", opt->sphere);
	if (opt->keep_derived && !opt->rows && !opt->species && !opt->sphere && !part->one_file)
		nb_die(NB_EXIT_USAGE,
			"option '--keep-derived' needs '--rows', '--species', '--sphere' or '--one-file'");
	part->keep_derived = opt->keep_derived;
	part->sphere = opt->sphere ? opt->ball : NULL;
	if (opt->fields) {
		part->wants = wants;
		part->context = opt;
	}
	if (opt->chosen_text && !opt->last) {
		part->first = opt->chosen;
		part->count = 1;
	}
}

/* Bodies of a periodic box that were rounded up to its wall are at the other one. */
static void keep_inside(const struct nb_frame *frame, struct nb_column *pos)
{
	const double box = nb_box_of(frame);
	const float wall = (float)box;
	if (box == 0 || wall < box || isinf(wall)) /* infinite ones are refused */
		return;
	float *x = nb_update_wire(frame, pos);
	for (size_t i = 0; i < pos->rows * pos->ncomp; i++)
		x[i] = x[i] == wall ? 0 : x[i];
}

void nb_convert_set_precision(const struct convert *opt, struct nb_frame *frame)
{
	static const char *const type[] = {[NB_CONVERT_F32] = "<f4", [NB_CONVERT_F64] = "<f8"};
	const int other = opt->precision == NB_CONVERT_F32 ? NB_CONVERT_F64 : NB_CONVERT_F32;
	for (size_t c = 0; opt->precision != NB_CONVERT_AS_READ && c < frame->ncolumn; c++)
		if (strcmp(frame->column[c].dtype, type[other]) == 0) {
			nb_require_ok(nb_column_set_real(&frame->column[c], type[opt->precision]), frame);
			if (opt->precision == NB_CONVERT_F32 && &frame->column[c] == nb_frame_field(frame, NB_POS))
				keep_inside(frame, &frame->column[c]);
		}
}

void nb_convert_require_fields(const struct convert *opt, const struct nb_frame *frame)
{
	char word[NB_NAME_SIZE + 1], list[400];
	for (const char *at = opt->fields; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const size_t length = strcspn(at, ",");
		memcpy(word, at, length < sizeof word ? length : sizeof word - 1);
		word[length < sizeof word ? length : sizeof word - 1] = '\0';
		if (nb_frame_find(frame, word))
			continue;
		nb_frame_list(frame, list, sizeof list);
		nb_die(NB_EXIT_FAILED, "column '%s' missing in frame %" PRIu64 " of %s (%sof '--fields' it has: %s)",
			word, frame->number, opt->in.name, nb_nearest_in(word, strlen(word), list, ", ").hint, list);
	}
}
