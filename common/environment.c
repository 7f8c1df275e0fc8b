/* setenv and unsetenv change the list that other threads are reading; here they find either of two whole ones. */
#include "common/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static _Atomic(char **) own; /* NULL: environ */

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
	/* a thread that has found the list may read it later: neither is freed */
	char **list = malloc((n + 2) * sizeof *list), *text = malloc(size);
	if (!list || !text) {
		free(list);
		free(text);
		return NB_ENOMEM;
	}
	snprintf(text, size, "%s=%s", name, value);
	for (size_t k = 0; k < n; k++)
		if (strncmp(environ[k], text, length + 1) != 0)
			list[kept++] = environ[k];
	list[kept] = text;
	list[kept + 1] = NULL;
	own = environ;
	environ = list;
	call(context);
	environ = own;
	own = NULL;
	return NB_OK;
}
