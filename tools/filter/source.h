/* source.h - streams that a tool reads from files named as operands, beside or instead of standard input. */
#ifndef NB_FILTER_SOURCE_H
#define NB_FILTER_SOURCE_H

#include "tools/filter/filter.h"

struct nb_source {
	const char *path; /* as given; "-": standard input */
	struct nb_reader reader;
	int is_open;
};

/* For check: the operands of a tool that are to be opened as sources.  "-" may stand there once. */
void nb_source_check(struct nb_run *run);
/* For begin.  Ends the tool if the file cannot be opened, or if it is a terminal. */
void nb_source_open(struct nb_run *run, struct nb_source *source, const char *path);
void nb_source_close(struct nb_source *source);

/* "'run.nb'", or "standard input". */
enum { NB_SOURCE_NAME = 128 };
const char *nb_source_name(const struct nb_source *source, char name[NB_SOURCE_NAME]);
/* As nb_reader_head, nb_reader_body and nb_reader_next: 1, or 0 at the end; ends the tool if there is neither. */
int nb_source_head(struct nb_source *source, struct nb_frame *frame);
void nb_source_body(struct nb_source *source, struct nb_frame *frame, nb_visit *visit, void *context);
int nb_source_next(struct nb_source *source, struct nb_frame *frame);

#endif
