/* file.h - a file for each test program that reads and writes formats. */
#ifndef NB_UNIT_EXCHANGE_FILE_H
#define NB_UNIT_EXCHANGE_FILE_H

#include "formats/exchange/exchange.h"
#include "tests/unit/unit.h"

#include <unistd.h>

/* An empty file after make_path. */
static char path[] = "/tmp/nb-unit-exchange-XXXXXX";

static void make_path(void)
{
	const int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0);
	CHECK(file && fclose(file) == 0);
}

static const struct nb_format *format_named(const char *name)
{
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

#endif
