/* What libgomp says when it has no memory or no thread, or does not understand a variable: as one line that begins with
 * the name of the program, like every other message; and the stacks of its threads, which OMP_STACKSIZE and
 * GOMP_STACKSIZE cannot make so small that a kernel runs beyond their end.  A static program has no plug-ins for
 * offloading.  libgomp is linked statically, so the linker can put these functions in the place of those that it calls
 * (--wrap in the Makefile). */
#include "common/cpu.h"
#include "common/die.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 400 };

_Noreturn void __wrap_gomp_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
void __wrap_gomp_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int __real_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
void *__wrap_dlopen(const char *name, int flags);

static void describe(char text[TEXT], const char *format, va_list ap)
{
	vsnprintf(text, TEXT, format, ap);
	text[0] = (char)tolower((unsigned char)text[0]);
}

void __wrap_gomp_fatal(const char *format, ...)
{
	char text[TEXT];
	va_list ap;
	va_start(ap, format);
	describe(text, format, ap);
	va_end(ap);
	const int thread = strncmp(text, "thread creation failed", 22) == 0;
	nb_die_at_once(NB_EXIT_FAILED, "%s%s", text,
		thread ? " (want fewer threads, such as -j 1, or more processes, see ulimit -u)" : "");
}

void __wrap_gomp_error(const char *format, ...)
{
	char text[TEXT];
	va_list ap;
	va_start(ap, format);
	describe(text, format, ap);
	va_end(ap);
	nb_warn("%s", text);
}

int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size)
{
	return __real_pthread_attr_setstacksize(attributes, size < NB_STACK_LEAST ? NB_STACK_LEAST : size);
}

void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL;
}
