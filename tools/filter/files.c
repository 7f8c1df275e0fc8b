#include "tools/filter/files.h"

#include "common/descriptor.h"
#include "common/named.h"
#include "tools/filter/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_standard(const char *path)
{
	return strcmp(path, "-") == 0;
}

void nb_files_check(const struct nb_run *run)
{
	int standard = 0;
	for (int i = 0; i < run->from.n; i++)
		standard += is_standard(run->from.path[i]);
	if (standard > 1)
		nb_die(NB_EXIT_USAGE, "standard input ('-') is given as operand %d times", standard);
	if (run->common.output && !*run->common.output)
		nb_die(NB_EXIT_USAGE, "invalid output '' (want the name of a file)");
}

/* ---- input -------------------------------------------------------------------------------------- */

static _Noreturn void cannot_open(const char *path)
{
	nb_die(NB_EXIT_FAILED, "'%s':", path);
}

/* The work begins only if there is something to read at every path. */
void nb_files_prepare(struct nb_run *run)
{
	const struct nb_operands *from = &run->from;
	for (int i = 0; i < from->n; i++)
		if (!is_standard(from->path[i]) && faccessat(AT_FDCWD, from->path[i], R_OK, AT_EACCESS))
			cannot_open(from->path[i]);
	if (from->n != 1 || is_standard(from->path[0]))
		return;
	const int fd = nb_open_named(from->path[0], O_RDONLY);
	if (fd < 0)
		cannot_open(from->path[0]);
	if (fd == STDIN_FILENO ? fcntl(fd, F_SETFD, 0) : dup2(fd, STDIN_FILENO) < 0 || close(fd))
		nb_die(NB_EXIT_FAILED, "standard input:");
}

static const char *not_shared(int n, char *const *path)
{
	for (int i = 0; i < n; i++)
		if (!is_standard(path[i]) && !nb_name_is_shared(path[i]))
			return path[i];
	return NULL;
}

void nb_files_will_open(struct nb_run *run, const char *path)
{
	if (!nb_name_is_shared(path))
		run->needs.private_file = path;
}

const char *nb_files_of_this_process(const struct nb_run *run)
{
	const struct nb_tool *tool = run->tool;
	const char *path = run->needs.private_file;
	for (size_t k = 0; k < tool->noption && !path; k++)
		if (tool->options[k].kind == NB_OPT_FILE && (run->given[k / 64] >> k % 64 & 1))
			path = not_shared(1, (char **)((char *)run->self + tool->options[k].at));
	if (!path && tool->own_files)
		path = not_shared(run->noperand, run->operand);
	return path || run->from.n < 2 ? path : not_shared(run->from.n, run->from.path);
}

/* Counts the frames of a file from where it is now, and goes back there: 0, or -1 if that cannot be done. */
static int count_frames(struct nb_run *run, int fd, uint64_t *count)
{
	struct stat st;
	struct nb_reader reader;
	struct nb_frame frame;
	enum nb_answer answer;
	const off_t start = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	if (start < 0)
		return -1;
	if (nb_reader_open(&reader, fd))
		nb_die(NB_EXIT_FAILED, "out of memory");
	nb_frame_init(&frame);
	while ((answer = nb_reader_head(&reader, &frame)) == NB_FRAME)
		if (nb_reader_skip(&reader, &frame) == NB_ERROR) {
			answer = NB_ERROR;
			break;
		}
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
	*count += reader.nframe;
	if (answer == NB_ERROR) {
		memcpy(run->in.error, reader.error, sizeof reader.error);
		nb_fail_input(run);
	}
	return lseek(fd, start, SEEK_SET) == start ? 0 : -1;
}

int nb_files_count_frames(struct nb_run *run, uint64_t *count)
{
	struct nb_operands *from = &run->from;
	const int next = from->next;
	int status = 0;
	*count = 0;
	if (from->n < 2)
		return count_frames(run, run->files.in, count);
	for (from->next = 1; from->next <= from->n && !status; from->next++) {
		const char *path = from->path[from->next - 1];
		const int fd = is_standard(path) ? from->standard_input : nb_open_named(path, O_RDONLY);
		if (fd < 0)
			cannot_open(path);
		status = count_frames(run, fd, count);
		if (!is_standard(path))
			close(fd);
	}
	from->next = next;
	return status;
}

int nb_files_next(struct nb_run *run)
{
	struct nb_operands *from = &run->from;
	run->voice.place = NULL;
	if (from->n < 2 || from->next == from->n)
		return 0;
	if (from->next == 0)
		from->standard_input = run->files.in;
	nb_files_close(run);
	const char *path = from->path[from->next++];
	nb_interrupt_let_go(); /* a FIFO may be one that nobody opens to write */
	if (!is_standard(path))
		run->files.in = nb_open_named(path, O_RDONLY);
	if (run->files.in < 0 && !is_standard(path))
		cannot_open(path);
	from->first = run->in.nframe;
	nb_verbose("from frame %" PRIu64 " on: '%s'", from->first, path);
	return 1;
}

const char *nb_files_path(const struct nb_run *run)
{
	const struct nb_operands *from = &run->from;
	const int k = from->n == 1 ? 0 : from->next - 1;
	return from->n == 0 || k < 0 || is_standard(from->path[k]) ? NULL : from->path[k];
}

void nb_files_note_frame(struct nb_run *run, uint64_t number)
{
	struct nb_operands *from = &run->from;
	if (from->n < 2)
		return;
	snprintf(from->place, sizeof from->place, "frame %" PRIu64 " of '%.256s'", number - from->first,
		from->path[from->next - 1]);
	run->voice.place = from->place;
}

void nb_files_close(struct nb_run *run)
{
	if (run->from.n < 2 || run->from.next == 0)
		return;
	if (run->files.in >= 0 && run->files.in != run->from.standard_input)
		close(run->files.in);
	run->files.in = run->from.standard_input;
}

int nb_file_is_stream(const char *path)
{
	struct stat st;
	return fstatat(nb_names_directory(), path, &st, 0) == 0 && S_ISREG(st.st_mode) && nb_file_may_be_stream(path);
}

int nb_file_may_be_stream(const char *path)
{
	char head[8];
	struct stat st;
	if (fstatat(nb_names_directory(), path, &st, 0) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return errno != ENOENT;
	const int fd = S_ISREG(st.st_mode) ? nb_open_named(path, O_RDONLY) : -1;
	if (fd < 0)
		return 0;
	const ssize_t n = pread(fd, head, sizeof head, 0);
	close(fd);
	return n == (ssize_t)sizeof head && nb_is_stream(head, sizeof head);
}

/* ---- output ------------------------------------------------------------------------------------- */

int nb_output_is_file(const struct nb_run *run)
{
	const char *path = run->common.output;
	return path && !is_standard(path) && strcmp(path, "/dev/stdout") != 0;
}

void nb_output_refuse_terminal(const char *path, const char *why)
{
	struct stat s;
	const int named = path && !is_standard(path);
	if (named && (stat(path, &s) || !S_ISCHR(s.st_mode)))
		return;
	const int fd = named ? nb_open_named(path, O_WRONLY | O_NOCTTY | O_NONBLOCK) : STDOUT_FILENO,
		  refused = isatty(fd);
	if (named && fd >= 0)
		close(fd);
	if (refused && named)
		nb_die(NB_EXIT_USAGE, "'%s' is a terminal and %s", path, why);
	if (refused)
		nb_die(NB_EXIT_USAGE, "standard output is a terminal and %s", why);
}

/* The output, if it is also one of several files to be read, opened to be read; -1: it is not. */
static int open_same(const struct nb_run *run)
{
	struct stat out, in;
	for (int i = 0; i < run->from.n && stat(run->common.output, &out) == 0; i++)
		if (stat(run->from.path[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino &&
			S_ISREG(in.st_mode))
			return nb_open_named(run->from.path[i], O_RDONLY);
	return -1;
}

void nb_output_begin(struct nb_run *run)
{
	if (!nb_output_is_file(run))
		return;
	const int same = open_same(run); /* nb_whole_open would rather fail than empty it */
	if (same >= 0 && !(run->tool->streams & NB_WRITES))
		nb_die(NB_EXIT_USAGE, "'--output' is '%s', a file that is read, and would be lost", run->common.output);
	const int failed = nb_whole_open(&run->file, run->common.output);
	if (failed && nb_whole_why(errno))
		nb_die(NB_EXIT_FAILED, "'%s' %s", run->common.output, nb_whole_why(errno));
	if (failed)
		cannot_open(run->common.output);
	if (same >= 0)
		close(same);
	run->file.fd = nb_above_standard(run->file.fd);
	if (run->file.fd < 0 || dup2(run->file.fd, STDOUT_FILENO) < 0)
		nb_die(NB_EXIT_FAILED, "standard output:");
}

void nb_output_end(struct nb_run *run)
{
	if (run->file.path && nb_whole_close(&run->file))
		nb_die(NB_EXIT_FAILED, "write error: '%s':", run->common.output);
}

void nb_output_drop(struct nb_run *run)
{
	if (run->out_open && run->out.nframe > 1)
		nb_whole_leave(&run->file);
	else
		nb_whole_drop(&run->file);
}

/* That the stream of a program is cut which got the same signal is no news. */
void nb_fail_input(struct nb_run *run)
{
	nb_interrupt_end();
	run->voice.place = NULL;
	const char *path = nb_files_path(run);
	if (path)
		nb_die(NB_EXIT_FAILED, "'%s': %s", path, run->in.error);
	nb_die(NB_EXIT_FAILED, "%s", run->in.error);
}
