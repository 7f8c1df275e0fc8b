/* Which frames: --frames and --time. */
#include "tools/nb-select/select.h"

#include "common/parse.h"
#include "tools/filter/files.h"
#include "tools/filter/kick.h"
#include "tools/filter/require.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST = INT64_MAX / 2;

/* ---- numbers ------------------------------------------------------------------------------------ */

static size_t count_items(const char *list)
{
	size_t n = 1;
	for (; *list; list++)
		n += *list == ',';
	return n;
}

/* Part of an item up to where it is divided; *at moves there.  1; 0: it is empty; -1: it is no number. */
static int take_number(const char **at, const char *end, int64_t *number)
{
	char word[32];
	const size_t length = (size_t)(nb_range_gap(*at, end) - *at);
	if (length >= sizeof word)
		return -1;
	memcpy(word, *at, length);
	word[length] = '\0';
	*at += length;
	if (length == 0)
		return 0;
	if (strcmp(word, "last") == 0) {
		*number = -1;
		return 1;
	}
	uint64_t count;
	const int is_signed = *word == '-' || *word == '+';
	if (word[is_signed] == '-' || nb_parse_count(word + is_signed, 0, MOST, &count) != NB_PARSE_OK)
		return -1;
	*number = *word == '-' ? -(int64_t)count : (int64_t)count;
	return 1;
}

/* FIRST, FIRST:LAST or FIRST:LAST:STEP, each of which may be empty in a range. */
static int parse_range(const char *at, const char *end, struct frame_range *range)
{
	int64_t step = 1;
	*range = (struct frame_range){.from = 0, .to = -1, .step = 1, .text = at, .length = (int)(end - at)};
	const int first = take_number(&at, end, &range->from);
	if (first < 0 || (at == end && first == 0))
		return -1;
	if (at == end) {
		range->to = range->from;
		range->single = 1;
		return 0;
	}
	at++;
	if (take_number(&at, end, &range->to) < 0)
		return -1;
	if (at < end) {
		at++;
		if (take_number(&at, end, &step) < 0 || at < end || step < 1)
			return -1;
		range->step = (uint64_t)step;
	}
	return (range->from < 0) == (range->to < 0) && range->from > range->to ? -1 : 0;
}

void nb_select_parse_frames(struct select *s)
{
	const char *at = s->frames;
	s->frame = nb_require_memory(NULL, calloc(count_items(at), sizeof *s->frame));
	for (;;) {
		const char *end = at + strcspn(at, ",");
		if (parse_range(at, end, &s->frame[s->nframe]))
			nb_die(NB_EXIT_USAGE,
				"invalid frames '%s' (want numbers and ranges FIRST:LAST:STEP, such as 0:100:10, 7 or "
				"last)",
				s->frames);
		s->nframe++;
		if (!*end)
			return;
		at = end + 1;
	}
}

/* Whether the number must be known of each frame, counted from the end. */
static int counts_from_end(const struct frame_range *range)
{
	return range->from < -1 || range->to < -2;
}

/* Whether it must be known of each frame whether it is the last. */
static int asks_for_last(const struct frame_range *range)
{
	return range->from == -1 || range->to == -2;
}

void nb_select_count_frames(struct nb_run *run, struct select *s)
{
	int count = 0;
	for (size_t k = 0; k < s->nframe; k++) {
		count |= counts_from_end(&s->frame[k]);
		s->holds |= asks_for_last(&s->frame[k]);
	}
	if (!count && !s->holds)
		return;
	/* what is damaged cannot be counted without being read */
	if (!s->recover && run->in_open && nb_files_count_frames(run, &s->total) == 0) {
		s->holds = 0;
		return;
	}
	s->total = UINT64_MAX;
	for (size_t k = 0; k < s->nframe; k++)
		if (counts_from_end(&s->frame[k]))
			nb_die(NB_EXIT_FAILED,
				"frames '%.*s': only the last frame of %s can be told from the end (want a FILE%s)",
				s->frame[k].length, s->frame[k].text, s->recover ? "a damaged stream" : "a pipe",
				s->recover ? " without '--recover'" : "");
}

/* A number from the end as one from the start, -1 if it is before the first frame; total is known. */
static int64_t resolved(int64_t number, uint64_t total)
{
	if (number >= 0)
		return number;
	return (uint64_t)-number <= total ? (int64_t)(total - (uint64_t)-number) : -1;
}

static int has_number(const struct frame_range *range, uint64_t number, uint64_t total)
{
	const int64_t to = resolved(range->to, total), first = resolved(range->from, total);
	const uint64_t from = first < 0 ? 0 : (uint64_t)first;
	if (to < 0 || (range->single && first < 0))
		return 0;
	return number >= from && number <= (uint64_t)to && (number - from) % range->step == 0;
}

/* The same where the number of frames is not known: whether it can be so, for any of them. */
static int may_have_number(const struct frame_range *range, uint64_t number)
{
	if (range->from < 0)
		return range->to < 0 || (int64_t)number <= range->to;
	return (int64_t)number >= range->from && (range->to < 0 || (int64_t)number <= range->to) &&
	       (number - (uint64_t)range->from) % range->step == 0;
}

/* ---- times -------------------------------------------------------------------------------------- */

static int parse_time(const char *at, const char *end, struct time_range *range)
{
	double ends[2] = {-INFINITY, INFINITY};
	char word[64];
	*range = (struct time_range){.single = nb_range_gap(at, end) == end};
	if (range->single) {
		snprintf(word, sizeof word, "%.*s", (int)(end - at), at);
		if ((size_t)(end - at) >= sizeof word || nb_parse_f64(word, &ends[0]) != NB_PARSE_OK)
			return -1;
		ends[1] = ends[0];
	} else if (nb_parse_range(at, end, ends) != NB_PARSE_OK) {
		return -1;
	}
	range->from = ends[0];
	range->to = ends[1];
	return ends[0] <= ends[1] ? 0 : -1;
}

void nb_select_parse_times(struct select *s)
{
	const char *at = s->times;
	s->time = nb_require_memory(NULL, calloc(count_items(at), sizeof *s->time));
	for (;;) {
		const char *end = at + strcspn(at, ",");
		if (parse_time(at, end, &s->time[s->ntime]))
			nb_die(NB_EXIT_USAGE,
				"invalid time '%s' (want times and ranges FIRST:LAST, such as 2:5 or 1.5:)", s->times);
		s->ntime++;
		if (!*end)
			return;
		at = end + 1;
	}
}

/* Times are sums of steps: the last digits are not those of a bound as it is written. */
static int has_time(const struct time_range *range, double time)
{
	const double least = 1e-12 * fmax(fabs(time), fmin(fabs(range->from), fabs(range->to)));
	return time >= range->from - least && time <= range->to + least;
}

static int wants_time(struct select *s, const struct nb_frame *frame)
{
	int wanted = s->ntime == 0;
	if (wanted)
		return 1;
	const double time = nb_require_attribute(frame, "time", 0) + nb_require_attribute(frame, "time_rest", 0);
	for (size_t k = 0; k < s->ntime; k++)
		if (has_time(&s->time[k], time))
			wanted = s->time[k].found = 1;
	return wanted;
}

/* ---- both --------------------------------------------------------------------------------------- */

int nb_select_wants(struct nb_run *run, void *self, const struct nb_frame *frame)
{
	struct select *s = self;
	int wanted = s->nframe == 0;
	(void)run;
	if (s->is_held && !nb_select_wants_now(s, &s->held, 0)) { /* it was not the last, and makes room for this one */
		nb_frame_clear(&s->held);
		s->is_held = 0;
	}
	for (size_t k = 0; k < s->nframe && !wanted; k++)
		wanted = s->total == UINT64_MAX ? may_have_number(&s->frame[k], frame->number)
						: has_number(&s->frame[k], frame->number, s->total);
	return wanted && wants_time(s, frame);
}

int nb_select_wants_now(const struct select *s, const struct nb_frame *frame, int is_last)
{
	/* with ranges that tell the last frame from the others only, any number behind it stands for all */
	const uint64_t total = s->total < UINT64_MAX ? s->total : is_last ? frame->number + 1 : (uint64_t)MOST;
	int wanted = s->nframe == 0;
	for (size_t k = 0; k < s->nframe && !wanted; k++)
		wanted = has_number(&s->frame[k], frame->number, total);
	return wanted;
}

void nb_select_require_found(struct select *s)
{
	for (size_t k = 0; k < s->nframe; k++) {
		const struct frame_range *range = &s->frame[k];
		const int64_t number = resolved(range->from, s->nseen);
		if (range->single && s->recover && range->from >= 0 && !range->found)
			nb_die(NB_EXIT_FAILED, "frame %.*s is not among those that are whole", range->length,
				range->text);
		if (range->single && (number < 0 || (uint64_t)number >= s->nseen))
			nb_die(NB_EXIT_FAILED, "the stream has no frame %.*s (it has %" PRIu64 ")", range->length,
				range->text, s->nseen);
	}
	for (size_t k = 0; k < s->ntime; k++)
		if (s->time[k].single && !s->time[k].found)
			nb_die(NB_EXIT_FAILED, "the stream has no frame of time %g", s->time[k].from);
}

static void emit(struct nb_run *run, struct select *s, struct nb_frame *frame)
{
	for (size_t k = 0; k < s->nframe; k++)
		s->frame[k].found |= s->frame[k].from == (int64_t)frame->number;
	if (nb_select_drops_acc(s))
		nb_complete_kick(frame);
	if (nb_select_touches_bodies(s))
		nb_select_bodies(run, s, frame);
	else
		nb_select_columns(s, frame);
	nb_emit(run, frame);
}

void nb_select_emit_held(struct nb_run *run, struct select *s, int is_last)
{
	if (s->is_held && nb_select_wants_now(s, &s->held, is_last))
		emit(run, s, &s->held);
	nb_frame_clear(&s->held);
	s->is_held = 0;
}

void nb_select_take(struct nb_run *run, struct select *s, struct nb_frame *frame)
{
	const int may_be = nb_select_wants(run, s, frame);
	s->nseen = frame->number + 1;
	if (s->holds) {
		nb_select_emit_held(run, s, 0);
		if (!may_be)
			return;
		s->held = *frame;
		s->is_held = 1;
		nb_frame_init(frame);
	} else if (may_be && nb_select_wants_now(s, frame, frame->number + 1 == s->total)) {
		emit(run, s, frame);
	}
}
