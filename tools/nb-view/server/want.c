/* What a page says that it wants: JSON of a stranger, with numbers, texts, and lists and objects of them. */
#include "tools/nb-view/server/server.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 300, SIZE_MOST = 8192 /* of a picture, pixels */ };

struct text {
	const char *at, *end;
	struct talk_want *want;
	double number[NUMBERS];
	size_t n;
	char word[TALK_TEXT];
};

static int next(struct text *t)
{
	while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
		t->at++;
	return t->at < t->end ? *t->at : 0;
}

static int take(struct text *t, char wanted)
{
	if (next(t) != wanted)
		return 0;
	t->at++;
	return 1;
}

static unsigned hex(const char *digits)
{
	unsigned code = 0;
	for (int k = 0; k < 4; k++) {
		if (!isxdigit((unsigned char)digits[k]))
			return 0;
		code = 16 * code + (unsigned)(digits[k] <= '9' ? digits[k] - '0' : (digits[k] | 32) - 'a' + 10);
	}
	return code;
}

/* A text of at most TALK_TEXT - 1 bytes, without control characters.  Of \u only ASCII: pages write other characters as
 * they are. */
static int take_text(struct text *t, char *to)
{
	size_t n = 0;
	if (!take(t, '"'))
		return 0;
	while (t->at < t->end && *t->at != '"') {
		unsigned c = (unsigned char)*t->at++;
		if (c == '\\' && t->end - t->at > 0) {
			c = (unsigned char)*t->at++;
			if (c == 'u' && t->end - t->at >= 4) {
				c = hex(t->at);
				t->at += 4;
			} else if (!strchr("\"\\/", (int)c)) {
				return 0;
			}
			if (c > 126)
				return 0;
		}
		if (c < 32 || n + 1 >= TALK_TEXT)
			return 0;
		to[n++] = (char)c;
	}
	to[n] = '\0';
	return take(t, '"');
}

static int take_number(struct text *t)
{
	char digits[40];
	size_t n = 0;
	while (t->at < t->end && n + 1 < sizeof digits && *t->at && strchr("+-.0123456789eE", *t->at))
		digits[n++] = *t->at++;
	digits[n] = '\0';
	char *end;
	const double x = strtod(digits, &end);
	if (n == 0 || *end || !isfinite(x) || t->n == NUMBERS)
		return 0;
	t->number[t->n++] = x;
	return 1;
}

static int copy(double *to, const struct text *t, size_t n)
{
	if (t->n != n)
		return 0;
	memcpy(to, t->number, n * sizeof *to);
	return 1;
}

static int whole(const struct text *t, uint64_t most, uint64_t *to)
{
	if (t->n != 1 || !(t->number[0] >= 0 && t->number[0] <= (double)most))
		return 0;
	*to = (uint64_t)t->number[0];
	return 1;
}

static int small(const struct text *t, uint32_t most, uint32_t *to)
{
	uint64_t x;
	if (!whole(t, most, &x))
		return 0;
	*to = (uint32_t)x;
	return 1;
}

/* A word of lower-case letters. */
static int plain(const char *word, char *to, size_t size)
{
	const size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz");
	if (word[n] || n == 0 || n >= size)
		return 0;
	memcpy(to, word, n + 1);
	return 1;
}

/* One member of the object; names that nobody knows are passed over. */
static int set(struct text *t, const char *name)
{
	struct talk_want *w = t->want;
	if (strcmp(name, "number") == 0)
		return small(t, UINT32_MAX, &w->number);
	if (strcmp(name, "columns") == 0)
		return small(t, (1u << TALK_COLUMNS) - 1, &w->columns);
	if (strcmp(name, "draw") == 0)
		return small(t, 1, &w->draw);
	if (strcmp(name, "most") == 0)
		return whole(t, TALK_MOST, &w->most);
	if (strcmp(name, "size") == 0) {
		const int good = t->n == 2 && t->number[0] >= 1 && t->number[0] <= SIZE_MOST && t->number[1] >= 1 &&
				 t->number[1] <= SIZE_MOST;
		w->width = good ? (uint32_t)t->number[0] : 0;
		w->height = good ? (uint32_t)t->number[1] : 0;
		return good;
	}
	if (strcmp(name, "hidden") == 0) {
		memset(w->hidden, 0, sizeof w->hidden);
		for (size_t k = 0; k < t->n; k++) {
			if (!(t->number[k] >= 0 && t->number[k] < (double)sizeof w->hidden))
				return 0;
			w->hidden[(size_t)t->number[k]] = 1;
		}
		return 1;
	}
	if (strcmp(name, "centre") == 0)
		return copy(w->centre, t, 3);
	if (strcmp(name, "right") == 0)
		return copy(w->right, t, 3);
	if (strcmp(name, "up") == 0)
		return copy(w->up, t, 3);
	if (strcmp(name, "range") == 0)
		return t->n == 2 && (!(t->number[0] >= 0 && t->number[0] < t->number[1]) || copy(w->range, t, 2));
	if (strcmp(name, "scale") == 0)
		return t->n == 1 && copy(&w->scale, t, 1) && w->scale > 0;
	if (strcmp(name, "stretch") == 0)
		return plain(t->word, w->stretch, sizeof w->stretch);
	if (strcmp(name, "map") == 0)
		return plain(t->word, w->map, sizeof w->map);
	if (strcmp(name, "by") == 0)
		memcpy(w->by, t->word, sizeof w->by);
	return 1;
}

static int take_value(struct text *t)
{
	t->n = 0;
	t->word[0] = '\0';
	if (next(t) == '"')
		return take_text(t, t->word);
	if (!take(t, '['))
		return take_number(t);
	if (take(t, ']'))
		return 1;
	do
		if (!next(t) || !take_number(t))
			return 0;
	while (take(t, ','));
	return take(t, ']');
}

/* camera is an object, whose members have names of their own. */
static int take_object(struct text *t, int depth)
{
	char name[TALK_TEXT];
	if (!take(t, '{'))
		return 0;
	if (take(t, '}'))
		return 1;
	do {
		if (!take_text(t, name) || !take(t, ':'))
			return 0;
		if (next(t) == '{' ? depth > 0 || !take_object(t, depth + 1) : !take_value(t) || !set(t, name))
			return 0;
	} while (take(t, ','));
	return take(t, '}');
}

int nb_want_read(struct talk_want *want, const char *json, size_t bytes)
{
	struct text t = {.at = json, .end = json + bytes, .want = want};
	*want = (struct talk_want){.by = "density", .most = 1 << 20, .stretch = "asinh", .map = "inferno"};
	return take_object(&t, 0) && !next(&t) && t.at == t.end ? 0 : -1;
}
