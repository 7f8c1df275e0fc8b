#include "tools/filter/source.h"

#include "common/named.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_standard_input(const char *path)
{
	return strcmp(path, "-") == 0;
}

void nb_source_check(struct nb_run *run)
{
	int standard = 0;
	for (int k = 0; k < run->noperand; k++)
		standard += is_standard_input(run->operand[k]);
	if (standard > 1)
		nb_die(NB_EXIT_USAGE, "standard input can be read only once (operand '-' is given %d times)", standard);
}

/* A reader of stdout that goes away ends the wait. */
static int wait_for_input(void *context)
{
	nb_wait_for_input(context);
	return 1;
}

void nb_source_open(struct nb_run *run, struct nb_source *source, const char *path)
{
	source->path = path;
	const int standard = is_standard_input(path);
	const int fd = standard ? run->files.in : nb_open_named(path, O_RDONLY);
	if (fd < 0 && !standard)
		nb_die(NB_EXIT_FAILED, "'%s':", path);
	source->is_open = 1;
	source->reader.fd = fd;
	if (isatty(fd))
		nb_die(NB_EXIT_USAGE, "%s is a terminal (want a particle stream)", standard ? "standard input" : path);
	if (nb_reader_open(&source->reader, fd))
		nb_die(NB_EXIT_FAILED, "out of memory");
	source->reader.wait = wait_for_input;
	source->reader.context = &source->reader;
}

void nb_source_close(struct nb_source *source)
{
	if (!source->is_open)
		return;
	nb_reader_close(&source->reader);
	if (!is_standard_input(source->path))
		close(source->reader.fd);
	source->is_open = 0;
}

const char *nb_source_name(const struct nb_source *source, char name[NB_SOURCE_NAME])
{
	if (is_standard_input(source->path))
		snprintf(name, NB_SOURCE_NAME, "standard input");
	else
		snprintf(name, NB_SOURCE_NAME, "'%.120s'", source->path);
	return name;
}

static _Noreturn void fail(const struct nb_source *source)
{
	if (is_standard_input(source->path))
		nb_die(NB_EXIT_FAILED, "%s", source->reader.error);
	nb_die(NB_EXIT_FAILED, "'%s': %s", source->path, source->reader.error);
}

int nb_source_head(struct nb_source *source, struct nb_frame *frame)
{
	const enum nb_answer answer = nb_reader_head(&source->reader, frame);
	if (answer == NB_ERROR)
		fail(source);
	return answer == NB_FRAME;
}

void nb_source_body(struct nb_source *source, struct nb_frame *frame, nb_visit *visit, void *context)
{
	if (nb_reader_body(&source->reader, frame, visit, context) == NB_ERROR)
		fail(source);
}

int nb_source_next(struct nb_source *source, struct nb_frame *frame)
{
	const enum nb_answer answer = nb_reader_next(&source->reader, frame);
	if (answer == NB_ERROR)
		fail(source);
	return answer == NB_FRAME;
}
