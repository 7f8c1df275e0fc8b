#include "formats/stream/names.h"

#include "common/mem.h"
#include "common/parse.h"
#include "common/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
	const uint64_t x = ((const struct nb_name *)a)->id, y = ((const struct nb_name *)b)->id;
	return (x > y) - (x < y);
}

int nb_names_read(struct nb_names *names, const char *attribute)
{
	size_t most = 1;
	memset(names, 0, sizeof *names);
	if (!attribute)
		return NB_OK;
	for (const char *at = attribute; *at; at++)
		most += *at == ',';
	names->memory = nb_alloc(strlen(attribute) + 1, 1);
	names->of = nb_alloc(most, sizeof *names->of);
	if (!names->memory || !names->of) {
		nb_names_free(names);
		return NB_ENOMEM;
	}
	char *at = strcpy(names->memory, attribute);
	while (at) {
		char *next = strchr(at, ',');
		if (next)
			*next++ = '\0';
		at += strspn(at, " ");
		char *blank = strchr(at, ' ');
		struct nb_name *name = &names->of[names->n];
		if (blank && blank[1]) {
			*blank = '\0';
			name->text = blank + 1;
			names->n += nb_parse_u64(at, 0, UINT64_MAX, &name->id) == NB_PARSE_OK;
		}
		at = next;
	}
	qsort(names->of, names->n, sizeof *names->of, by_id);
	return NB_OK;
}

void nb_names_free(struct nb_names *names)
{
	nb_free_all(names->of, names->memory);
	memset(names, 0, sizeof *names);
}

const char *nb_names_find(const struct nb_names *names, uint64_t id)
{
	const struct nb_name key = {id, NULL};
	const struct nb_name *name = names->n ? bsearch(&key, names->of, names->n, sizeof key, by_id) : NULL;
	return name ? name->text : NULL;
}

char *nb_names_text(size_t n, const struct nb_name *of)
{
	enum { BESIDE = 24 }; /* digits of an id, blanks and a comma */
	size_t size = 1;
	for (size_t k = 0; k < n; k++)
		size += BESIDE + strlen(of[k].text);
	char *text = nb_alloc(size, 1), *to = text;
	if (!text)
		return NULL;
	*to = '\0';
	for (size_t k = 0; k < n; k++) {
		to += sprintf(to, "%s%" PRIu64 " ", k ? ", " : "", of[k].id);
		for (const char *from = of[k].text; *from; from++)
			*to++ = *from == ',' || (unsigned char)*from < ' ' || *from == 127 ? ' ' : *from;
		*to = '\0';
	}
	return text;
}
