/* files.h - FILE operands, and the file of --output.
 *
 * A single FILE becomes standard input before anything else is done, as by a redirection, so that all the rest is the
 * same: a regular file is mapped, and the program that writes a pipe folds.  Several are opened one after the other;
 * "-" is standard input.  The file of --output becomes standard output. */
#ifndef NB_FILTER_FILES_H
#define NB_FILTER_FILES_H

#include "tools/filter/filter.h"

/* ---- input -------------------------------------------------------------------------------------- */

/* Looks at the operands as such: wrong usage ends the tool. */
void nb_files_check(const struct nb_run *run);
/* In the process that they were given to: all can be read, and a single one is standard input from now on. */
void nb_files_prepare(struct nb_run *run);
/* For check: the tool will open this path (nb_open_named), which is neither an operand nor that of an option. */
void nb_files_will_open(struct nb_run *run, const char *path);
/* A path that the tool will open and another process would not find; NULL if there is none. */
const char *nb_files_of_this_process(const struct nb_run *run);
/* The number of frames of all that is to be read, before any is.  0; or -1: it can be read only once, as a pipe. */
NB_MUST_CHECK int nb_files_count_frames(struct nb_run *run, uint64_t *count);
/* Makes run->files.in the next of several files: 1, or 0 if there is none. */
int nb_files_next(struct nb_run *run);
/* The path of the file that is read, NULL: standard input. */
const char *nb_files_path(const struct nb_run *run);
/* For messages about frames of several files: this one of the stream is read. */
void nb_files_note_frame(struct nb_run *run, uint64_t number);
void nb_files_close(struct nb_run *run);
/* Whether there is a regular file of this name that begins as a particle stream does. */
int nb_file_is_stream(const char *path);
/* The same, or a pipe of this name, whose contents nobody knows. */
int nb_file_may_be_stream(const char *path);

/* ---- output ------------------------------------------------------------------------------------- */

/* Whether --output names another file than standard output. */
int nb_output_is_file(const struct nb_run *run);
/* Ends the tool if binary data would go to a terminal; path: NULL, "-" or the one of --output; why: "the stream is
 * binary", with what to do about it. */
void nb_output_refuse_terminal(const char *path, const char *why);
/* That file becomes standard output ... */
void nb_output_begin(struct nb_run *run);
/* ... and takes its name, after standard output has been closed. */
void nb_output_end(struct nb_run *run);
/* ... or after a failure does not; if it has two frames or more, they stay in FILE.part. */
void nb_output_drop(struct nb_run *run);

#endif
