/* The arguments of --ids, --sample and --sort. */
#include "tools/nb-select/select.h"

#include "common/mem.h"
#include "common/named.h"
#include "common/parse.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of bodies, which 1.0 is not: it looks like a part. */
static int parse_number(const char *text, uint64_t *number)
{
	const int is_real = strchr(text, '.') && !text[strspn(text, "0123456789.")];
	return !is_real && nb_parse_count(text, 1, UINT64_MAX, number) == NB_PARSE_OK;
}

void nb_select_parse_sample(struct select *s)
{
	const size_t length = strlen(s->sample);
	char text[64];
	const int percent = length > 0 && s->sample[length - 1] == '%';
	double x = -1;
	if (length < sizeof text) {
		memcpy(text, s->sample, length + 1);
		text[length - (size_t)percent] = '\0';
		if (!percent && parse_number(text, &s->number)) {
			s->sample_kind = SAMPLE_NUMBER;
			return;
		}
		if (nb_parse_f64(text, &x) != NB_PARSE_OK)
			x = -1;
	}
	s->part = percent ? x / 100 : x;
	if (!(s->part > 0) || !(percent ? s->part <= 1 : s->part < 1))
		nb_die(NB_EXIT_USAGE,
			"invalid sample '%s' (want a part > 0 and < 1, a percentage such as 10%%, or a number of "
			"bodies such as 500 or 10k)",
			s->sample);
	s->sample_kind = SAMPLE_PART;
}

/* "-NAME" is descending; "-a + b" is an expression. */
void nb_select_parse_order(struct select *s)
{
	const char *name = s->sort + 1;
	size_t length = 0;
	if (*s->sort == '-' && (isalpha((unsigned char)*name) || *name == '_'))
		while (isalnum((unsigned char)name[length]) || name[length] == '_')
			length++;
	s->descending = length > 0 && name[length] == '\0';
	s->order = nb_expression(s->descending ? name : s->sort);
}

static int by_first(const void *a, const void *b)
{
	const struct id_range *x = a, *y = b;
	return x->from != y->from ? x->from < y->from ? -1 : 1 : x->to < y->to ? -1 : x->to > y->to;
}

/* "7", "5-9" or "5:9"; of a range one end may be left out. */
static int parse_ids(const char *text, struct id_range *range)
{
	char first[32];
	const char *gap = nb_range_gap(text, text + strlen(text));
	const size_t length = (size_t)(gap - text);
	*range = (struct id_range){0, UINT64_MAX, 0};
	if (length >= sizeof first || (!*gap && length == 0) || (*gap && length == 0 && !gap[1]))
		return -1;
	memcpy(first, text, length);
	first[length] = '\0';
	if (length > 0 && nb_parse_u64(first, 0, UINT64_MAX, &range->from) != NB_PARSE_OK)
		return -1;
	if (!*gap)
		range->to = range->from;
	return gap[0] && gap[1] && nb_parse_u64(gap + 1, range->from, UINT64_MAX, &range->to) != NB_PARSE_OK ? -1 : 0;
}

static void add_ids(struct select *s, size_t *room, const struct id_range *range)
{
	if (nb_reserve(s->id, s->nid, s->nid + 1, *room))
		nb_die(NB_EXIT_FAILED, "out of memory for the ids");
	s->id[s->nid++] = *range;
}

static void read_list(struct select *s)
{
	size_t room = 0;
	struct id_range range;
	for (const char *at = s->ids;; at++) {
		char word[64];
		const size_t length = strcspn(at, ",");
		snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
		if (length >= sizeof word || parse_ids(word, &range))
			nb_die(NB_EXIT_USAGE, "invalid ids '%s' (want such as 1,2,5-9, or the name of a file)", s->ids);
		add_ids(s, &room, &range);
		at += length;
		if (!*at)
			return;
	}
}

/* An id or a range in each line; from '#' on it is a comment. */
static void read_file(struct select *s)
{
	const int fd = nb_open_named(s->ids, O_RDONLY);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL;
	size_t size = 0, room = 0, number = 0;
	struct id_range range;
	int wrong = 0;
	if (!file)
		nb_die(NB_EXIT_FAILED, "'%s':", s->ids);
	while (!wrong && getline(&line, &size, file) >= 0) {
		line[strcspn(line, "#\r\n")] = '\0';
		char *first = line + strspn(line, " \t"), *end = first + strlen(first);
		while (end > first && (end[-1] == ' ' || end[-1] == '\t'))
			*--end = '\0';
		number++;
		wrong = *first && parse_ids(first, &range);
		if (*first && !wrong)
			add_ids(s, &room, &range);
	}
	const int failed = ferror(file);
	fclose(file);
	char word[64];
	snprintf(word, sizeof word, "%.40s", line ? line : "");
	free(line);
	if (wrong)
		nb_die(NB_EXIT_FAILED, "'%s': line %zu: '%s' is no id (want a whole number, or a range such as 5-9)",
			s->ids, number, word);
	if (failed)
		nb_die(NB_EXIT_FAILED, "'%s': read error", s->ids);
}

void nb_select_read_ids(struct select *s)
{
	if (s->ids[strspn(s->ids, "0123456789,:-")])
		read_file(s);
	else
		read_list(s);
	if (s->nid > 0)
		qsort(s->id, s->nid, sizeof *s->id, by_first);
	/* ranges that overlap become one */
	size_t n = 0;
	for (size_t k = 0; k < s->nid; k++)
		if (n > 0 && s->id[k].from <= s->id[n - 1].to)
			s->id[n - 1].to = s->id[k].to > s->id[n - 1].to ? s->id[k].to : s->id[n - 1].to;
		else
			s->id[n++] = s->id[k];
	s->nid = n;
}
