#include "common/die.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nb_verbosity;
static const char *program = "nb";

void nb_program_init(const char *argv0)
{
	if (!argv0 || !*argv0)
		return;
	const char *slash = strrchr(argv0, '/');
	program = slash ? slash + 1 : argv0;
}

const char *nb_program(void)
{
	return program;
}

/* One write, so that the lines of tools that share a terminal do not mix. */
static void message(const char *format, va_list ap)
{
	char line[1024];
	int error = errno;
	int len = snprintf(line, sizeof line, "%s: ", program);
	if (len < 0)
		return;
	int more = vsnprintf(line + len, sizeof line - (size_t)len, format, ap);
	if (more < 0)
		return;
	size_t used = strlen(line);
	if (used && line[used - 1] == ':')
		snprintf(line + used, sizeof line - used, " %s", strerror(error));
	/* a hostile file must not reach the terminal's control sequences */
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	fprintf(stderr, "%s\n", line);
	errno = error;
}

void nb_die(int status, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	message(format, ap);
	va_end(ap);
	exit(status);
}

void nb_warn(const char *format, ...)
{
	if (nb_verbosity < 0)
		return;
	va_list ap;
	va_start(ap, format);
	message(format, ap);
	va_end(ap);
}

void nb_verbose(const char *format, ...)
{
	if (nb_verbosity < 1)
		return;
	va_list ap;
	va_start(ap, format);
	message(format, ap);
	va_end(ap);
}
