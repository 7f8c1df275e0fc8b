/* A variable is there for one call, and nobody who looks meanwhile misses another one. */
#include "common/environment.h"

#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

extern char **environ;

static const char *seen;

static void look(void *name)
{
	seen = getenv(name);
	CHECK(strcmp(getenv("NB_TEST_OTHER"), "stays") == 0);
	CHECK(nb_environment() != environ);
	for (char **e = nb_environment(); *e; e++)
		CHECK(strcmp(*e, "NB_TEST_ONE=for this call") != 0);
}

static void only_during_the_call(const char *before)
{
	char **const list = environ;
	CHECK(nb_environment_with("NB_TEST_ONE", "for this call", look, "NB_TEST_ONE") == NB_OK);
	CHECK(seen && strcmp(seen, "for this call") == 0);
	CHECK(environ == list && nb_environment() == list);
	const char *after = getenv("NB_TEST_ONE");
	CHECK(before ? after && strcmp(after, before) == 0 : !after);
}

static atomic_int done;

static void *reads(void *misses)
{
	while (!done) {
		const char *other = getenv("NB_TEST_OTHER");
		*(int *)misses += !other || strcmp(other, "stays") != 0;
	}
	return NULL;
}

static void nothing(void *unused)
{
	(void)unused;
}

static void readers_miss_nothing(void)
{
	pthread_t thread;
	int misses = 0;
	CHECK(pthread_create(&thread, NULL, reads, &misses) == 0);
	for (int k = 0; k < 1000; k++)
		CHECK(nb_environment_with("NB_TEST_ONE", "", nothing, NULL) == NB_OK);
	done = 1;
	pthread_join(thread, NULL);
	CHECK(misses == 0);
}

int main(void)
{
	setenv("NB_TEST_OTHER", "stays", 1);
	only_during_the_call(NULL);
	setenv("NB_TEST_ONE", "given", 1);
	only_during_the_call("given");
	readers_miss_nothing();
	return unit_end();
}
