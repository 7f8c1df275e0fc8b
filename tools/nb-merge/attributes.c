/* The attributes of a merged frame: those of the first input, and what the others have besides. */
#include "common/mem.h"
#include "common/parse.h"
#include "tools/filter/cosmology.h"
#include "tools/filter/require.h"
#include "tools/nb-merge/merge.h"

#include <math.h>
#include <string.h>

/* What is not compared: it says what is no longer so, or has been seen to. */
static int is_left_out(const char *key)
{
	static const char *const keys[] = {"history", "model", "seed", "pending_kick", "key_cube", "time", "time_rest",
		"tree", "leaf_size", "order", "level", "etot0", "names"};
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		if (strcmp(key, keys[k]) == 0)
			return 1;
	return strncmp(key, "missing_", 8) == 0 || strncmp(key, "error_", 6) == 0 || strncmp(key, "accuracy", 8) == 0;
}

/* Of what is absent. */
static const char *default_of(const char *key)
{
	return strcmp(key, "G") == 0 ? "1" : strcmp(key, "dim") == 0 ? "3" : NULL;
}

static int same(const char *x, const char *y)
{
	double a, b;
	if (nb_parse_f64(x, &a) == NB_PARSE_OK && nb_parse_f64(y, &b) == NB_PARSE_OK)
		return a == b;
	return strcmp(x, y) == 0;
}

/* Bodies with another G are in other units. */
static void require_same_G(const struct merge *opt, const struct input *input)
{
	char a[NB_SOURCE_NAME], b[NB_SOURCE_NAME];
	const double G = nb_require_attribute(&input->frame, "G", 1);
	const double want = nb_require_attribute(&opt->input[0].frame, "G", 1);
	if (!(fabs(G - want) <= 0.01 * fabs(want)))
		nb_die(NB_EXIT_FAILED,
			"G is %g in %s and %g in %s: they are in different units (put 'nb-transform --units' before)",
			want, nb_source_name(&opt->input[0].source, a), G, nb_source_name(&input->source, b));
}

/* Nor are open and periodic bodies one system, or those of two boxes. */
static void require_same_box(const struct merge *opt, const struct input *input)
{
	char a[NB_SOURCE_NAME], b[NB_SOURCE_NAME];
	const double box = nb_box_of(&input->frame), want = nb_box_of(&opt->input[0].frame);
	if (box != want)
		nb_die(NB_EXIT_FAILED,
			"attribute box is %.17g in %s and %.17g in %s (want the same periodic box, or none: 0)", want,
			nb_source_name(&opt->input[0].source, a), box, nb_source_name(&input->source, b));
}

/* Nor are bodies of two universes: comoving positions and peculiar velocities of one mean nothing in the other.  What
 * is absent counts as what it stands for, and H0 then follows from the masses of both. */
static void require_same_universe(const struct merge *opt, const struct input *input)
{
	char a[NB_SOURCE_NAME], b[NB_SOURCE_NAME];
	const struct nb_frame *first = &opt->input[0].frame, *frame = &input->frame;
	if (!nb_is_cosmological(first) && !nb_is_cosmological(frame))
		return;
	const struct nb_cosmology want = nb_read_cosmology(first), is = nb_read_cosmology(frame);
	const int no_H0 = want.H0 == 0 || is.H0 == 0;
	/* frames that go on with an older one, and those with a time, are judged by nb_merge's comparison of times */
	const int dated = input->ended || opt->input[0].ended || nb_require_attribute(frame, "time", 0) != 0;
	const struct {
		const char *key;
		double want, is, scale;
	} all[] = {
		{"omega0", want.omega_m, is.omega_m, 1},
		{"omega_lambda", want.omega_l, is.omega_l, 1},
		{"omega_r", want.omega_r, is.omega_r, 1},
		{"w0", want.w0, is.w0, 1},
		{"wa", want.wa, is.wa, 1},
		{"H0", no_H0 ? 0 : want.H0, no_H0 ? 0 : is.H0, fabs(want.H0)},
		{"redshift", dated ? 0 : nb_require_attribute(first, "redshift", 0),
			dated ? 0 : nb_require_attribute(frame, "redshift", 0), 1},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!(fabs(all[i].is - all[i].want) <= 1e-6 * all[i].scale))
			nb_die(NB_EXIT_FAILED,
				"attribute %s is %.10g in %s and %.10g in %s (want the same universe; see "
				"nb-cosmology(7))",
				all[i].key, all[i].want, nb_source_name(&opt->input[0].source, a), all[i].is,
				nb_source_name(&input->source, b));
}

/* "G=0.0043 M=2000", as nb-gen says: the masses are those of the bodies, and G is compared for itself. */
static int is_model_units(const char *key, const char *text)
{
	static const char henon[] = "Henon: ";
	const size_t skip = strncmp(text, henon, sizeof henon - 1) == 0 ? sizeof henon - 1 : 0;
	return strcmp(key, "units") == 0 && strncmp(text + skip, "G=", 2) == 0;
}

/* Of several models the constant remains. */
static void join_model_units(struct nb_frame *frame)
{
	char text[NB_F64_TEXT + 2] = "G=";
	(void)nb_format_f64(nb_require_attribute(frame, "G", 1), text + 2);
	nb_set_attribute(frame, "units", text);
}

/* The text of an input's attribute against that of the frame so far. */
static void compare(
	struct merge *opt, struct nb_frame *frame, const struct input *input, const char *key, const char *text)
{
	char a[NB_SOURCE_NAME], b[NB_SOURCE_NAME];
	const char *known = nb_frame_attribute(frame, key), *first = known ? known : default_of(key);
	if (strcmp(key, "G") == 0)
		require_same_G(opt, input);
	if (known && strcmp(key, "redshift") == 0) /* it goes with the time, which is that of one input */
		return;
	if (!first || same(first, text)) {
		if (!known)
			nb_set_attribute(frame, key, text);
		if (!first && nb_report_once(&opt->reported, key))
			nb_warn("attribute %s is %s in %s and absent in %s: it is kept", key, text,
				nb_source_name(&input->source, b), nb_source_name(&opt->input[0].source, a));
		return;
	}
	if (is_model_units(key, first) && is_model_units(key, text)) {
		join_model_units(frame);
		return;
	}
	const int larger = strcmp(key, "dim") == 0 && strcmp(text, "3") == 0;
	if (nb_report_once(&opt->reported, key))
		nb_warn("attribute %s is %s in %s and %s in %s: %s is taken", key, first,
			nb_source_name(&opt->input[0].source, a), text, nb_source_name(&input->source, b),
			larger ? text : first);
	if (larger)
		nb_set_attribute(frame, key, text);
}

static void take_others(struct merge *opt, struct nb_frame *frame)
{
	for (int k = 1; k < opt->ninput; k++) {
		const struct input *input = &opt->input[k];
		const struct nb_frame *from = &input->frame;
		require_same_box(opt, input);
		require_same_universe(opt, input);
		for (size_t i = 0; i < from->nattribute; i++)
			if (!is_left_out(from->attribute[i].key))
				compare(opt, frame, input, from->attribute[i].key, nb_frame_attribute_text(from, i));
		/* what only the first has */
		static const char *const with_default[] = {"G", "dim"};
		for (size_t i = 0; i < sizeof with_default / sizeof *with_default; i++)
			if (nb_frame_attribute(frame, with_default[i]) && !nb_frame_attribute(from, with_default[i]))
				compare(opt, frame, input, with_default[i], default_of(with_default[i]));
	}
}

static void take_history(struct nb_frame *frame, const struct nb_frame *from)
{
	for (size_t i = 0; i < from->nattribute; i++)
		if (strcmp(from->attribute[i].key, "history") == 0 &&
			nb_frame_add_attribute(frame, "history", nb_frame_attribute_text(from, i)))
			nb_out_of_memory(frame);
}

/* What all inputs are: a model, or galaxies, if they are disks and mergers; NULL: nothing.  Species that are numbered
 * anew are not those of galaxies. */
static const char *joined_model(struct merge *opt)
{
	const char *model = nb_frame_attribute(&opt->input[0].frame, "model");
	int same_model = model != NULL, galaxies = 1;
	for (int k = 0; k < opt->ninput; k++) {
		const char *other = nb_frame_attribute(&opt->input[k].frame, "model");
		same_model = same_model && other && strcmp(model, other) == 0;
		const int galaxy = nb_frame_is_galaxy(&opt->input[k].frame);
		galaxies = galaxies && galaxy;
		if (galaxy && opt->species && nb_report_once(&opt->reported, "species"))
			nb_warn("disk, bulge and halo are lost, as --species numbers the files (--origin keeps them)");
	}
	return opt->species && galaxies ? NULL : same_model ? model : galaxies ? "merger" : NULL;
}

/* Those of the first input, in their order; the time is that of the first input that goes on. */
static void take_first(struct merge *opt, struct nb_frame *frame)
{
	static const char *const clock[] = {"time", "time_rest", "redshift"};
	const struct nb_frame *first = &opt->input[0].frame;
	int moving = 0;
	while (moving + 1 < opt->ninput && opt->input[moving].ended)
		moving++;
	const struct nb_frame *at = &opt->input[moving].frame;
	for (size_t i = 0; i < first->nattribute; i++) {
		const char *key = first->attribute[i].key;
		const int is_clock = strcmp(key, clock[0]) == 0 || strcmp(key, clock[1]) == 0 ||
				     strcmp(key, clock[2]) == 0;
		const int says_how_made = strcmp(key, "seed") == 0;
		const int is_model = strcmp(key, "model") == 0;
		const char *text = is_clock   ? nb_frame_attribute(at, key)
				   : is_model ? joined_model(opt)
					      : nb_frame_attribute_text(first, i);
		if (text && (is_clock || is_model || !is_left_out(key) || (says_how_made && opt->ninput == 1)))
			nb_set_attribute(frame, key, text);
	}
	for (size_t i = 0; i < sizeof clock / sizeof *clock; i++)
		if (nb_frame_attribute(at, clock[i]))
			nb_set_attribute(frame, clock[i], nb_frame_attribute(at, clock[i]));
}

/* Adds the names of an input, with the ids that its bodies have now. */
static void add_names(struct merge *opt, struct nb_frame *frame, int k)
{
	const char *known = nb_frame_attribute(frame, "names"),
		   *more = nb_frame_attribute(&opt->input[k].frame, "names");
	const uint64_t offset = opt->ids == IDS_OFFSET ? opt->input[k].offset : 0;
	struct nb_names before, here;
	if (nb_names_read(&before, known) || nb_names_read(&here, more))
		nb_out_of_memory(frame);
	struct nb_name *all = nb_require_memory(frame, nb_alloc(before.n + here.n, sizeof *all));
	size_t n = before.n;
	if (n > 0)
		memcpy(all, before.of, n * sizeof *all);
	for (size_t i = 0; i < here.n; i++)
		if (here.of[i].id <= UINT64_MAX - offset && !nb_names_find(&before, here.of[i].id + offset))
			all[n++] = (struct nb_name){here.of[i].id + offset, here.of[i].text};
	char *text = nb_require_memory(frame, nb_names_text(n, all));
	nb_set_attribute(frame, "names", text);
	nb_names_free(&before);
	nb_names_free(&here);
	nb_free_all(all, text);
}

static void join_names(struct merge *opt, struct nb_frame *frame)
{
	for (int k = 0; k < opt->ninput; k++) {
		if (!nb_frame_attribute(&opt->input[k].frame, "names"))
			continue;
		if (opt->ids != IDS_RENUMBER)
			add_names(opt, frame, k);
		else if (nb_report_once(&opt->reported, "names"))
			nb_warn("attribute names is left out, as bodies get other ids (--ids keep or offset keeps it)");
	}
}

void nb_merge_attributes(struct merge *opt, struct nb_frame *frame)
{
	take_first(opt, frame);
	take_others(opt, frame);
	join_names(opt, frame);
	for (int k = 0; k < opt->ninput; k++)
		take_history(frame, &opt->input[k].frame);
}
