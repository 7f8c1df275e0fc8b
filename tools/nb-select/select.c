/* nb-select: frames, bodies and columns of a particle stream. */
#include "tools/nb-select/select.h"

#include "common/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct nb_option options[] = {
	{0, "drop", NB_TEXT(struct select, drop), .arg = "LIST", .help = "columns to leave out"},
	{0, "drop-table", NB_CHOICE(struct select, drop_table), .min = 1 + NB_NODE, .arg = "node|box",
		.help = "leave out a tree, or boxes"},
	{0, "fields", NB_TEXT(struct select, fields), .arg = "LIST",
		.help = "columns of the bodies to keep, no others"},
	{0, "frames", NB_TEXT(struct select, frames), .arg = "LIST",
		.help = "numbers and ranges FIRST:LAST:STEP, from 0; -1 or last: the last one; to thin a run out: "
			"::10"},
	{0, "ids", NB_FILE(struct select, ids), .arg = "LIST|FILE",
		.help = "bodies with these ids, such as 1,2,5-9; or those in FILE, one a line"},
	{0, "keep-derived", NB_FLAG(struct select, keep_derived),
		.help = "keep acc, pot and the like where bodies are left out"},
	{0, "light", NB_POSITIVE(struct select, light), .arg = "C", .fallback = "that of the attribute units",
		.help = "with --light-cone: the speed of light in units of the frame"},
	{0, "light-cone", NB_TEXT(struct select, cone), .arg = "X,Y,Z",
		.help = "what an observer sees there today of a run with --cosmology: bodies where they cross the "
			"light "
			"cone between two frames"},
	{0, "recover", NB_FLAG(struct select, recover),
		.help = "all whole frames of a stream that is cut or damaged; exit status 3 if any is lost"},
	{0, "sample", NB_TEXT(struct select, sample), .arg = "PART|N",
		.help = "a random part of the bodies, such as 0.1 or 10%, or N of them"},
	{'s', "seed", NB_U64(struct select, seed), .arg = "SEED", .fallback = "0",
		.help = "for --sample, and for random() and normal() in --where and --sort"},
	{0, "sort", NB_TEXT(struct select, sort), .arg = "[-]COLUMN",
		.help = "order of the bodies: by a column or an expression, ascending; -COLUMN: descending"},
	{0, "time", NB_TEXT(struct select, times), .arg = "LIST", .help = "frames of times and ranges FIRST:LAST"},
	{0, "where", NB_TEXT(struct select, where_text), .arg = "CONDITION",
		.help = "bodies for which this holds, such as 'species == 0 && r < 2', or of a slice 'abs(z) < 0.1'"},
};

char **nb_select_words(const char *option, const char *list)
{
	const size_t last = strlen(list);
	size_t n = 1;
	for (const char *c = list; *c; c++)
		n += *c == ',';
	if (!*list || *list == ',' || list[last - 1] == ',' || strstr(list, ",,"))
		nb_die(NB_EXIT_USAGE, "invalid %s '%s' (want names of columns, separated by commas)", option, list);
	char **words = calloc(n + 1, sizeof *words);
	int failed = !words;
	for (size_t k = 0; k < n && !failed; k++) {
		const size_t length = strcspn(list, ",");
		words[k] = strndup(list, length);
		failed = !words[k];
		list += length + 1;
	}
	if (failed) {
		nb_select_free_words(words);
		nb_die(NB_EXIT_FAILED, "out of memory");
	}
	return words;
}

void nb_select_free_words(char **words)
{
	for (size_t k = 0; words && words[k]; k++)
		free(words[k]);
	free(words);
}

/* Of the expressions. */
static void seed(struct nb_run *run, struct select *s)
{
	struct nb_expr *const random[] = {s->where, s->order};
	int used = s->sample != NULL;
	for (size_t k = 0; k < sizeof random / sizeof *random; k++)
		if (random[k] && nb_expr_is_random(random[k])) {
			nb_expression_seed(random[k], run->tool->name, k, s->seed);
			used = 1;
		}
	if (nb_given(run, &s->seed) && !used)
		nb_die(NB_EXIT_USAGE, "option '--seed' needs '--sample', or random() in '--where' or '--sort'");
}

static void check(struct nb_run *run, void *self)
{
	struct select *s = self;
	if (s->fields && s->drop)
		nb_die(NB_EXIT_USAGE, "options '--fields' and '--drop' exclude each other");
	if (s->fields && s->drop_table)
		nb_die(NB_EXIT_USAGE, "option '--drop-table' has no effect with '--fields', which leaves out tables");
	if (s->frames)
		nb_select_parse_frames(s);
	if (s->times)
		nb_select_parse_times(s);
	if (s->where_text)
		s->where = nb_expression(s->where_text);
	if (s->sample)
		nb_select_parse_sample(s);
	if (s->sort)
		nb_select_parse_order(s);
	seed(run, s);
	nb_select_check_cone(run, s);
	if (s->fields)
		s->field = nb_select_words("fields", s->fields);
	if (s->drop)
		s->dropped = nb_select_words("drop", s->drop);
	if (s->keep_derived && !s->where && !s->ids && !s->sample)
		nb_die(NB_EXIT_USAGE, "option '--keep-derived' needs '--where', '--ids' or '--sample'");
	run->needs.whole_stream = s->recover;
	run->stream = s->recover			       ? nb_select_recover
		      : s->cone || nb_select_touches_bodies(s) ? NULL /* frame by frame */
							       : nb_select_copy;
}

static void begin(struct nb_run *run, void *self)
{
	struct select *s = self;
	if (s->ids)
		nb_select_read_ids(s);
	nb_select_count_frames(run, s);
	if (s->holds)
		run->stream = s->recover ? run->stream : NULL;
}

static void take(struct nb_run *run, void *self, struct nb_frame *frame)
{
	if (((struct select *)self)->cone)
		nb_select_cross(run, self, frame);
	else
		nb_select_take(run, self, frame);
	run->passed_on = 1;
}

static void end(struct nb_run *run, void *self)
{
	struct select *s = self;
	if (s->cone && s->has_before && run->in.nframe == 1)
		nb_die(NB_EXIT_FAILED, "option '--light-cone' needs two frames or more, and there is one");
	if (!s->recover) /* also those that nobody wanted */
		s->nseen = run->in.nframe;
	nb_select_emit_held(run, s, s->held.number + 1 == s->nseen);
	nb_select_require_found(s);
}

static void clear(void *self)
{
	struct select *s = self;
	nb_select_free_words(s->field);
	nb_select_free_words(s->dropped);
	nb_expr_free(s->where);
	nb_expr_free(s->order);
	nb_frame_clear(&s->held);
	nb_frame_clear(&s->before);
	nb_select_release(s, 0);
	free(s->frame);
	free(s->time);
	nb_free(s->id);
}

const struct nb_tool nb_tool_select = {
	.name = "nb-select",
	.about = "select frames, bodies and columns of a particle stream",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.footer = "Both ends of a range are included: --frames 0:100:10 is 0, 10, ... 100, and --frames -3:-1 the last "
		  "three.\nThe language of CONDITION is described in nb-calc(1).\n",
	.size = sizeof(struct select),
	.defaults = &(const struct select){.total = UINT64_MAX},
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.frame = take,
	.wants = nb_select_wants,
	.end = end,
	.clear = clear,
};
