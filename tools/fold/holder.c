#include "tools/fold/holder.h"

#include "common/timer.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PROC_PATH = 64 };

/* A file without asking a server, which may not answer. */
static int cached_stat(int dir, const char *path, struct statx *st)
{
	return statx(dir, path, AT_STATX_DONT_SYNC, STATX_INO, st);
}

static int same_file(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* ---- one process ------------------------------------------------------------------------------- */

int nb_fifo_of(struct nb_fifo *fifo, int fd)
{
	struct stat st;
	char path[PROC_PATH];
	if (fd < 0 || fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(path, fifo->link, sizeof fifo->link - 1);
	if (n <= 0 || n >= (ssize_t)sizeof fifo->link - 1)
		return -1;
	fifo->link[n] = '\0';
	fifo->device = st.st_dev;
	fifo->inode = st.st_ino;
	return 0;
}

/* Whether descriptor `name` in the folder /proc/PID/fd is this end of the FIFO.  Links are compared first: to ask the
 * file itself may take for ever if a server has gone. */
static int is_end(int dir, const char *name, const struct nb_fifo *fifo, enum nb_fifo_end end)
{
	char link[PATH_MAX];
	struct stat own;
	struct statx st;
	const size_t length = strlen(fifo->link);
	const ssize_t n = readlinkat(dir, name, link, sizeof link);
	if (n < 0 || (size_t)n != length || memcmp(link, fifo->link, length) != 0)
		return 0;
	if (fstatat(dir, name, &own, AT_SYMLINK_NOFOLLOW) || !(own.st_mode & (mode_t)end))
		return 0;
	if (link[0] != '/')
		return 1;
	return cached_stat(dir, name, &st) == 0 && st.stx_ino == fifo->inode &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == fifo->device;
}

static int open_descriptors(pid_t pid)
{
	char path[PROC_PATH];
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int usual(enum nb_fifo_end end)
{
	return end == NB_READ_END ? STDIN_FILENO : STDOUT_FILENO;
}

int nb_fifo_held_at(pid_t pid, int fd, const struct nb_fifo *fifo, enum nb_fifo_end end)
{
	char path[PROC_PATH];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	return is_end(AT_FDCWD, path, fifo, end);
}

int nb_fifo_held(pid_t pid, const struct nb_fifo *fifo, enum nb_fifo_end end, double until)
{
	int held = nb_fifo_held_at(pid, usual(end), fifo, end);
	const int fd = held ? -1 : open_descriptors(pid);
	if (fd < 0)
		return held;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return 0;
	}
	const struct dirent *entry;
	while (!held && (entry = readdir(dir)) != NULL && nb_now() < until)
		if (isdigit((unsigned char)entry->d_name[0]))
			held = is_end(fd, entry->d_name, fifo, end);
	closedir(dir);
	return held;
}

static int program_of(pid_t pid, struct statx *st)
{
	char path[PROC_PATH];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return cached_stat(AT_FDCWD, path, st);
}

int nb_runs_this_program(pid_t pid)
{
	struct statx it, self;
	return program_of(pid, &it) == 0 && program_of(getpid(), &self) == 0 && same_file(&it, &self);
}

/* ---- what a holder may become ------------------------------------------------------------------- */

static void keep_name(const char *text, char name[NB_HOLDER_NAME])
{
	snprintf(name, NB_HOLDER_NAME, "%.*s", NB_HOLDER_NAME - 1, text);
	for (char *c = name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

/* The name of its program, or "" */
static void name_of(pid_t pid, char name[NB_HOLDER_NAME])
{
	char path[PROC_PATH], link[PATH_MAX];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	const ssize_t n = readlink(path, link, sizeof link - 1);
	link[n > 0 ? n : 0] = '\0';
	const char *slash = strrchr(link, '/');
	keep_name(slash ? slash + 1 : link, name);
}

/* Shells, and what only prepares the start of another program. */
static int starts_others(const char *name)
{
	static const char names[][8] = {"sh", "dash", "bash", "zsh", "ksh", "ksh93", "mksh", "lksh", "yash", "fish",
		"busybox", "ash", "tcsh", "csh", "env", "timeout", "time", "nice", "nohup", "setsid", "stdbuf",
		"taskset", "numactl"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return 1;
	return 0;
}

/* What a file of /proc/PID says, up to the end of the first line; "" if nothing. */
static void read_line(pid_t pid, const char *file, char *text, size_t size)
{
	char path[PROC_PATH];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/* All tools are one file: the name of the tool, or what there was before.  */
static void name_as_started(pid_t pid, char name[NB_HOLDER_NAME])
{
	char text[NB_HOLDER_NAME];
	read_line(pid, "comm", text, sizeof text);
	if (*text)
		keep_name(text, name);
}

/* As proc(5) has it, "S" asleep, "Z" a zombie; 0: the process is gone. */
static char state_of(pid_t pid, pid_t *parent)
{
	char text[512], state = 0;
	read_line(pid, "stat", text, sizeof text);
	const char *after = strrchr(text, ')'); /* the name may hold anything */
	*parent = 0;
	return after && sscanf(after + 1, " %c %d", &state, parent) == 2 ? state : 0;
}

static pid_t parent_of(pid_t pid)
{
	pid_t parent;
	state_of(pid, &parent);
	return parent;
}

static enum nb_holder kind_of(pid_t pid, char name[NB_HOLDER_NAME])
{
	struct statx it, self, parent;
	name_of(pid, name);
	if (program_of(pid, &it) || program_of(getpid(), &self))
		return NB_HOLDER_MAYBE;
	if (same_file(&it, &self)) {
		name_as_started(pid, name);
		return NB_HOLDER_OURS;
	}
	if (starts_others(name) || (program_of(parent_of(pid), &parent) == 0 && same_file(&it, &parent)))
		return NB_HOLDER_MAYBE;
	return NB_HOLDER_OTHER;
}

/* ---- all processes ------------------------------------------------------------------------------ */

struct search {
	const struct nb_fifo *fifo;
	enum nb_fifo_end end;
	double until;
	enum nb_holder best;
	char *name;
	pid_t pid;
};

static void found(struct search *s, pid_t pid)
{
	char name[NB_HOLDER_NAME];
	const enum nb_holder kind = kind_of(pid, name);
	if (kind > s->best) {
		s->best = kind;
		s->pid = pid;
		memcpy(s->name, name, sizeof name);
	}
}

static void look_at(struct search *s, pid_t pid, int anywhere)
{
	if (pid <= 0 || pid == getpid())
		return;
	if (anywhere ? nb_fifo_held(pid, s->fifo, s->end, s->until)
		     : nb_fifo_held_at(pid, usual(s->end), s->fifo, s->end))
		found(s, pid);
}

/* The parent and its children, where a shell's pipeline is.  The parent first: a shell holds the end until it has
 * forked the child that shall have it. */
static void look_near(struct search *s)
{
	char path[PROC_PATH];
	const pid_t parent = getppid();
	look_at(s, parent, 1);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
	FILE *children = fopen(path, "re");
	int pid;
	while (children && s->best != NB_HOLDER_OURS && nb_now() < s->until && fscanf(children, "%d", &pid) == 1)
		look_at(s, (pid_t)pid, 1);
	if (children)
		fclose(children);
}

static void look_everywhere(struct search *s, int anywhere)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	if (!dir)
		return;
	while (s->best != NB_HOLDER_OURS && nb_now() < s->until && (entry = readdir(dir)) != NULL)
		look_at(s, (pid_t)strtol(entry->d_name, NULL, 10), anywhere);
	closedir(dir);
}

static struct search look(const struct nb_fifo *fifo, enum nb_fifo_end end, double until, char name[NB_HOLDER_NAME])
{
	struct search s = {fifo, end, until, NB_HOLDER_NONE, name, 0};
	name[0] = '\0';
	look_near(&s);
	for (int anywhere = 0; anywhere < 2 && s.best == NB_HOLDER_NONE; anywhere++)
		look_everywhere(&s, anywhere);
	return s;
}

pid_t nb_fifo_partner(const struct nb_fifo *fifo, enum nb_fifo_end end, double until)
{
	char name[NB_HOLDER_NAME];
	const struct search s = look(fifo, end, until, name);
	return s.best == NB_HOLDER_OURS ? s.pid : 0;
}

enum nb_holder nb_fifo_holder(const struct nb_fifo *fifo, enum nb_fifo_end end, double until, char name[NB_HOLDER_NAME])
{
	const struct search s = look(fifo, end, until, name);
	if (s.best == NB_HOLDER_OURS || nb_now() < until)
		return s.best;
	name[0] = '\0'; /* one that promises more may be among those that there was no time for */
	return NB_HOLDER_MAYBE;
}

/* ---- a command that has lost its last program ---------------------------------------------------- */

/* Whether a process sleeps in a function of the kernel with such a name, which may be "anon_pipe_read". */
static int sleeps_in(pid_t pid, const char *what)
{
	char function[64];
	read_line(pid, "wchan", function, sizeof function);
	return strstr(function, what) != NULL;
}

/* Whether a process, of the group of the shell, is dead or waits for input; *reads: for what is sent. */
static int only_reads(pid_t pid, const struct nb_fifo *sent, double until, int *reads)
{
	pid_t parent;
	const char state = state_of(pid, &parent);
	if (state == 0 || state == 'Z')
		return 1;
	*reads |= nb_runs_this_program(pid) && nb_fifo_held(pid, sent, NB_READ_END, until);
	return state == 'S' && (nb_runs_this_program(pid) || sleeps_in(pid, "pipe_read"));
}

/* others: holders of the write end are looked for outside the group, too. */
static int is_left(pid_t shell, const struct nb_fifo *answer, const struct nb_fifo *sent, double until, int others)
{
	int left = 1, reads = 0;
	const struct dirent *entry;
	DIR *dir = opendir("/proc");
	while (dir && left && nb_now() < until && (entry = readdir(dir)) != NULL) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0 || pid == shell || pid == getpid())
			continue;
		const int member = getpgid(pid) == shell;
		left = (!member || only_reads(pid, sent, until, &reads)) &&
		       !((member || others) && nb_fifo_held(pid, answer, NB_WRITE_END, until));
	}
	if (dir)
		closedir(dir);
	return dir && left && reads && nb_now() < until;
}

int nb_fifo_is_left(pid_t shell, const struct nb_fifo *answer, const struct nb_fifo *sent, double until)
{
	char name[NB_HOLDER_NAME];
	name_of(shell, name);
	return starts_others(name) && sleeps_in(shell, "do_wait") && nb_fifo_held(shell, answer, NB_WRITE_END, until) &&
	       is_left(shell, answer, sent, until, 0) && is_left(shell, answer, sent, until, 1);
}
