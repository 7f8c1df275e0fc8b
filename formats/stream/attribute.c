/* The attributes of a frame. */
#include "formats/stream/frame_internal.h"

#include "common/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_key(const char *a, const char *b)
{
	return a[0] == b[0] && a[1] == b[1] && strcmp(a, b) == 0;
}

/* Few are looked through; more have a hash table, whose heads and links are members of their array, which has room for
 * a power of 2. */
enum { FEW = 8 };

static size_t room_for(size_t n)
{
	size_t room = FEW;
	while (room < n)
		room *= 2;
	return room;
}

static size_t *head_of(const struct nb_frame *frame, const char *key)
{
	size_t hash = 5381;
	for (; *key; key++)
		hash = 33 * hash ^ (unsigned char)*key;
	hash *= 0x9E3779B97F4A7C15u;
	return &frame->attribute[(hash ^ hash >> 32) & (room_for(frame->nattribute) - 1)].head;
}

static void enter(struct nb_frame *frame, size_t i)
{
	size_t *head = head_of(frame, frame->attribute[i].key);
	frame->attribute[i].next = *head;
	*head = i + 1;
}

static void enter_all(struct nb_frame *frame)
{
	if (frame->nattribute <= FEW)
		return;
	for (size_t i = 0; i < room_for(frame->nattribute); i++)
		frame->attribute[i].head = 0;
	for (size_t i = 0; i < frame->nattribute; i++)
		enter(frame, i);
}

/* The first of that key. */
static struct nb_attribute *find_attribute(const struct nb_frame *frame, const char *key)
{
	struct nb_attribute *found = NULL;
	if (frame->nattribute <= FEW) {
		for (size_t i = frame->nattribute; i-- > 0;)
			if (is_key(frame->attribute[i].key, key))
				found = &frame->attribute[i];
		return found;
	}
	for (size_t i = *head_of(frame, key); i; i = frame->attribute[i - 1].next)
		if (is_key(frame->attribute[i - 1].key, key))
			found = &frame->attribute[i - 1]; /* those that came later are met before it */
	return found;
}

void nb_frame_drop_attributes(
	struct nb_frame *frame, size_t kept, int (*goes)(const char *key, const char *context), const char *context)
{
	const size_t n = frame->nattribute;
	for (size_t i = kept; i < n; i++) {
		struct nb_attribute *attribute = &frame->attribute[i];
		if (!goes(attribute->key, context)) {
			frame->attribute[kept++] = *attribute;
		} else {
			free(attribute->key);
			free(attribute->value);
		}
	}
	frame->nattribute = kept;
	if (kept < n)
		enter_all(frame);
}

/* Room for the text of a number, behind the key: "" until somebody asks.  So every attribute can be written, whether or
 * not there is memory. */
static char *digits_of(const struct nb_attribute *attribute)
{
	return attribute->key + strlen(attribute->key) + 1;
}

static const char *text_of(const struct nb_attribute *attribute)
{
	if (attribute->value)
		return attribute->value;
	char *digits = digits_of(attribute);
	if (!*digits)
		nb_format_f64(attribute->number, digits);
	return digits;
}

const char *nb_frame_attribute_text(const struct nb_frame *frame, size_t k)
{
	return text_of(&frame->attribute[k]);
}

const char *nb_frame_attribute(const struct nb_frame *frame, const char *key)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	return attribute ? text_of(attribute) : NULL;
}

/* value NULL: the number. */
static int append(struct nb_frame *frame, const char *key, const char *value, double number)
{
	const size_t n = frame->nattribute, room = room_for(n + 1), grows = n == 0 || room > room_for(n);
	struct nb_attribute *grown = grows ? realloc(frame->attribute, room * sizeof *grown) : frame->attribute;
	if (!grown)
		return NB_ENOMEM;
	frame->attribute = grown;
	const size_t size = strlen(key) + 1;
	char *k = malloc(size + NB_F64_TEXT), *v = value ? strdup(value) : NULL;
	if (!k || (value && !v)) {
		free(k);
		free(v);
		return NB_ENOMEM;
	}
	memcpy(k, key, size);
	k[size] = '\0';
	struct nb_attribute *new = &grown[frame->nattribute++];
	new->key = k;
	new->value = v;
	new->number = number;
	new->is_number = !v;
	if (grows)
		enter_all(frame);
	else if (frame->nattribute > FEW)
		enter(frame, n);
	return NB_OK;
}

int nb_frame_add_attribute(struct nb_frame *frame, const char *key, const char *value)
{
	return append(frame, key, value, 0);
}

int nb_frame_set_attribute(struct nb_frame *frame, const char *key, const char *value)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	if (!attribute)
		return append(frame, key, value, 0);
	char *v = strdup(value);
	if (!v)
		return NB_ENOMEM;
	free(attribute->value);
	attribute->value = v;
	attribute->is_number = 0;
	return NB_OK;
}

static void set_number(struct nb_attribute *attribute, double value)
{
	free(attribute->value);
	attribute->value = NULL;
	*digits_of(attribute) = '\0';
	attribute->number = value;
	attribute->is_number = 1;
}

int nb_frame_set_attribute_f64(struct nb_frame *frame, const char *key, double value)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	if (!attribute)
		return append(frame, key, NULL, value);
	set_number(attribute, value);
	return NB_OK;
}

int nb_frame_set_last_attribute_f64(struct nb_frame *frame, const char *key, double value)
{
	struct nb_attribute *first = find_attribute(frame, key);
	if (!first)
		return append(frame, key, NULL, value);
	const struct nb_attribute moved = *first;
	const size_t at = (size_t)(first - frame->attribute);
	memmove(first, first + 1, (frame->nattribute - at - 1) * sizeof *first);
	frame->nattribute--;
	nb_frame_drop_attributes(frame, at, is_key, key);
	frame->attribute[frame->nattribute++] = moved; /* where it was, or one that has been dropped */
	set_number(&frame->attribute[frame->nattribute - 1], value);
	enter_all(frame);
	return NB_OK;
}

void nb_frame_drop_attribute(struct nb_frame *frame, const char *key)
{
	const struct nb_attribute *first = find_attribute(frame, key);
	if (first)
		nb_frame_drop_attributes(frame, (size_t)(first - frame->attribute), is_key, key);
}

int nb_frame_is_galaxy(const struct nb_frame *frame)
{
	const char *model = nb_frame_attribute(frame, "model");
	return model && (strcmp(model, "disk") == 0 || strcmp(model, "merger") == 0);
}

int nb_frame_attribute_f64(const struct nb_frame *frame, const char *key, double fallback, double *value)
{
	struct nb_attribute *attribute = find_attribute(frame, key);
	*value = fallback;
	if (!attribute)
		return NB_OK;
	if (!attribute->is_number) {
		if (nb_parse_f64(attribute->value, &attribute->number) != NB_PARSE_OK)
			return NB_EINVAL;
		attribute->is_number = 1;
	}
	*value = attribute->number;
	return isfinite(attribute->number) ? NB_OK : NB_EINVAL;
}

int nb_frame_copy_attributes(struct nb_frame *to, const struct nb_frame *from)
{
	for (size_t i = 0; i < from->nattribute; i++) {
		const struct nb_attribute *attribute = &from->attribute[i];
		int status = append(to, attribute->key, attribute->value, attribute->number);
		if (status)
			return status;
	}
	return NB_OK;
}
