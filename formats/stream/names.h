/* names.h - names of bodies: attribute names of nb-stream(5), "0 Sun, 1 Mercury, 2 Venus". */
#ifndef NB_STREAM_NAMES_H
#define NB_STREAM_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct nb_name {
	uint64_t id;
	const char *text;
};

struct nb_names {
	size_t n;
	struct nb_name *of; /* in ascending order of id */
	char *memory;
};

/* The names that the text of an attribute gives (NULL: none); what is no id with a name in it is passed over.
 * NB_OK or NB_ENOMEM; names is overwritten, and to be freed. */
int nb_names_read(struct nb_names *names, const char *attribute);
void nb_names_free(struct nb_names *names);

/* NULL: the body has none. */
const char *nb_names_find(const struct nb_names *names, uint64_t id);

/* The text of the attribute, of n names in any order, in memory of nb_alloc; NULL: out of memory.  A comma or a control
 * character in a name becomes a blank. */
char *nb_names_text(size_t n, const struct nb_name *of);

#endif
