#include "kernels/backend/list.h"

#include "common/nearest.h"
#include "common/parse.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The number of a device in the first length bytes of text. */
static int read_number(const char *text, size_t length, int *number)
{
	char digits[16];
	uint64_t value;
	if (length == 0 || length >= sizeof digits)
		return NB_EINVAL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (nb_parse_u64(digits, 0, INT_MAX, &value) != NB_PARSE_OK)
		return NB_EINVAL;
	*number = (int)value;
	return NB_OK;
}

/* N, or N-N. */
static int read_range(const char *text, size_t length, int *first, int *last)
{
	const char *dash = memchr(text, '-', length);
	const size_t before = dash ? (size_t)(dash - text) : length;
	if (read_number(text, before, first))
		return NB_EINVAL;
	*last = *first;
	return dash ? read_number(dash + 1, length - before - 1, last) || *last < *first : NB_OK;
}

static int read_numbers(const char *text, struct nb_device_list *list, char *why, size_t size)
{
	for (;; text++) {
		const size_t length = strcspn(text, ",");
		int first, last;
		if (read_range(text, length, &first, &last)) {
			snprintf(why, size,
				"'%.*s' is not the number of a device (want cuda:N, cuda:N,N, cuda:N-N or cuda:all)",
				(int)(length < 40 ? length : 40), text);
			return NB_EINVAL;
		}
		if (last - first >= NB_DEVICES_MOST - list->n) {
			snprintf(why, size, "more than %d devices", NB_DEVICES_MOST);
			return NB_EINVAL;
		}
		for (int k = 0; k <= last - first; k++)
			list->id[list->n++] = first + k;
		text += length;
		if (!*text)
			return NB_OK;
	}
}

int nb_device_list_read(const char *name, struct nb_device_list *list, char *why, size_t size)
{
	static const char prefix[] = "cuda:";
	list->n = 0;
	if (strcmp(name, "cuda") == 0) {
		list->id[list->n++] = 0;
		return NB_OK;
	}
	if (strncmp(name, prefix, strlen(prefix)) != 0) {
		snprintf(why, size, "%swant auto, cpu, cuda, cuda:N, cuda:N,N, cuda:N-N or cuda:all",
			nb_nearest_in(name, strlen(name), "auto|cpu|cuda", "|").hint);
		return NB_EINVAL;
	}
	if (strcmp(name, "cuda:all") == 0)
		return NB_OK;
	return read_numbers(name + strlen(prefix), list, why, size);
}

int nb_device_list_equal(const struct nb_device_list *a, const struct nb_device_list *b)
{
	return a->n == b->n && memcmp(a->id, b->id, (size_t)a->n * sizeof *a->id) == 0;
}
