/* setenv and unsetenv change the list that other threads are reading; here they find either of two whole ones. */
#include "common/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static _Atomic(char **) own; /* NULL: environ */

/* A list with the text of its variable behind it.  A thread that has found it may read it later: none is freed. */
struct kept {
	struct kept *before;
	char *list[];
};
static struct kept *latest;

char **nb_environment(void)
{
	char **list = own;
	return list ? list : environ;
}

int nb_environment_with(const char *name, const char *value, void (*call)(void *), void *context)
{
	const size_t length = strlen(name), size = length + strlen(value) + 2;
	size_t n = 0, kept = 0;
	while (environ && environ[n])
		n++;
	struct kept *k = malloc(sizeof *k + (n + 2) * sizeof *k->list + size);
	if (!k)
		return NB_ENOMEM;
	char **list = k->list, *text = (char *)(list + n + 2);
	k->before = latest;
	latest = k;
	snprintf(text, size, "%s=%s", name, value);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], text, length + 1) != 0)
			list[kept++] = environ[i];
	list[kept] = text;
	list[kept + 1] = NULL;
	own = environ;
	environ = list;
	call(context);
	environ = own;
	own = NULL;
	return NB_OK;
}
