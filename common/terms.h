/* terms.h - a text of terms, "NAME KEY=VALUE ...; NAME:KEY=VALUE,...", by tables of the names and keys that there are.
 */
#ifndef NB_TERMS_H
#define NB_TERMS_H

#include <stddef.h>

#include "common/status.h"

NB_C_BEGIN

enum nb_term_sign {
	NB_TERM_ANY,
	NB_TERM_NOT_NEGATIVE,
	NB_TERM_POSITIVE,
	NB_TERM_SLOPE, /* 0 or more and below 3 */
	NB_TERM_ID     /* whole, from 0 to below 2^53 */
};
struct nb_term_key {
	const char *name;
	enum nb_term_sign sign;
	double fallback;
};

/* keys: divided by blanks; "k?" may be left out, of "k|l" one must be given.  The value of a key "file" is a path. */
struct nb_term_kind {
	const char *name, *keys, *formula;
};

enum { NB_TERMS_MOST = 16, NB_TERM_KEYS_MOST = 32, NB_TERM_WHY = 400 };

struct nb_term_language {
	const char *noun; /* what a term is, for messages: "potential" */
	int nkind, nkey;
	const struct nb_term_kind *kind;
	const struct nb_term_key *key;
	const char *common;		 /* keys of all kinds */
	int positive_kind, positive_key; /* a key that must be positive in this kind; -1: there is none */
};

struct nb_term {
	int kind;
	double value[NB_TERM_KEYS_MOST]; /* by key, defaults included */
	unsigned given;			 /* which keys were: bits */
	const char *file;		 /* value of key file in the text, not ended; NULL: none */
	size_t file_length;
};

/* At most NB_TERMS_MOST terms; 0, or NB_EINVAL and a phrase in why. */
NB_MUST_CHECK int nb_terms_parse(const struct nb_term_language *language, const char *text,
	struct nb_term term[NB_TERMS_MOST], int *n, char why[NB_TERM_WHY]);
/* The text with single blanks, as a frame carries it; to be freed.  NULL: memory is exhausted. */
char *nb_terms_squeeze(const char *text);

NB_C_END
#endif
