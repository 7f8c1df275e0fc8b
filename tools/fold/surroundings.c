#include "tools/fold/surroundings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const namespaces[] = {"mnt", "pid", "net", "user", "ipc", "uts", "cgroup", "time"};
enum { NAMESPACES = sizeof namespaces / sizeof *namespaces };

/* Lines of /proc/PID/status */
static const struct {
	const char *key, *phrase;
	enum nb_likeness likeness;
} lines[] = {
	{"\nUid:", "another user", NB_SAME_RIGHTS},
	{"\nGid:", "another group", NB_SAME_RIGHTS},
	{"\nGroups:", "other groups", NB_SAME_RIGHTS},
	{"\nCapInh:", "other capabilities", NB_SAME_RIGHTS},
	{"\nCapPrm:", "other capabilities", NB_SAME_RIGHTS},
	{"\nCapEff:", "other capabilities", NB_SAME_RIGHTS},
	{"\nCapBnd:", "other capabilities", NB_SAME_RIGHTS},
	{"\nCapAmb:", "other capabilities", NB_SAME_RIGHTS},
	{"\nNoNewPrivs:", "another sandbox", NB_SAME_RIGHTS},
	{"\nSeccomp:", "another sandbox", NB_SAME_RIGHTS},
	{"\nSeccomp_filters:", "another sandbox", NB_SAME_RIGHTS},
	{"\nUmask:", "another umask", NB_SAME_ALL},
	{"\nSigIgn:", "other ignored signals", NB_SAME_ALL},
	{"\nCpus_allowed:", "other processors allowed", NB_SAME_ALL},
	{"\nMems_allowed:", "other memory nodes allowed", NB_SAME_ALL},
};

/* A text that cannot be read is empty. */
struct surroundings {
	int complete; /* nothing is missing that every process has */
	char space[NAMESPACES][32];
	struct statx root;
	char status[8192], group[4096], limits[4096], label[512];
	int nice, policy, io;
};

static struct surroundings own;
static pid_t noted; /* by this process; a fork notes its own */

/* The whole of a file; 0, or -1 if it is longer or cannot be read. */
static int read_text(int process, const char *name, char *text, size_t size)
{
	const int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = -1;
	if (fd >= 0) {
		while (length < size && ((n = read(fd, text + length, size - length)) > 0 || (n < 0 && errno == EINTR)))
			length += n > 0 ? (size_t)n : 0;
		close(fd);
	}
	if (n != 0)
		length = 0;
	text[length] = '\0';
	return n == 0 ? 0 : -1;
}

/* Signals 32 and 33 belong to the C library, which ignores them in what it starts. */
static void drop_internal_signals(char *status)
{
	static const char key[] = "\nSigIgn:\t";
	char *digits = strstr(status, key), *end;
	if (!digits)
		return;
	digits += strlen(key);
	const unsigned long long ignored = strtoull(digits, &end, 16) & ~(3ull << 31);
	const char after = *end;
	snprintf(digits, (size_t)(end - digits) + 1, "%0*llx", (int)(end - digits), ignored);
	*end = after;
}

/* What NB_SAME_ALL alone compares is not read for less, as somebody waits. */
static void look(struct surroundings *s, pid_t pid, enum nb_likeness likeness)
{
	char path[64];
	struct statx program;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	const int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->complete = 0;
	if (process < 0)
		return;
	for (int i = 0; i < NAMESPACES; i++) {
		snprintf(path, sizeof path, "ns/%s", namespaces[i]);
		const ssize_t n = readlinkat(process, path, s->space[i], sizeof s->space[i] - 1);
		s->space[i][n > 0 ? n : 0] = '\0';
	}
	s->complete = s->space[0][0] != '\0' && statx(process, "root", AT_STATX_DONT_SYNC, STATX_INO, &s->root) == 0 &&
		      read_text(process, "status", s->status, sizeof s->status) == 0;
	drop_internal_signals(s->status);
	read_text(process, "cgroup", s->group, sizeof s->group);
	read_text(process, "attr/current", s->label, sizeof s->label);
	if (likeness == NB_SAME_ALL) {
		errno = 0;
		s->nice = getpriority(PRIO_PROCESS, (id_t)pid);
		s->complete = s->complete && errno == 0 &&
			      read_text(process, "limits", s->limits, sizeof s->limits) == 0;
		s->policy = sched_getscheduler(pid);
		s->io = (int)syscall(SYS_ioprio_get, 1 /* of a process */, pid);
	}
	/* one that ends meanwhile has lost its program first: what was read after that does not count */
	s->complete = s->complete && statx(process, "exe", AT_STATX_DONT_SYNC, STATX_INO, &program) == 0;
	close(process);
}

static size_t line(const char *status, const char *key, const char **start)
{
	*start = strstr(status, key);
	if (!*start)
		return 0;
	*start += 1; /* the end of the line before, with which keys begin */
	return strcspn(*start, "\n");
}

static int same_line(const char *a, const char *b, const char *key)
{
	const char *in_a, *in_b;
	const size_t n = line(a, key, &in_a);
	return line(b, key, &in_b) == n && (n == 0 || memcmp(in_a, in_b, n) == 0);
}

static const char *compare(const struct surroundings *a, const struct surroundings *b, enum nb_likeness likeness)
{
	if (!a->complete || !b->complete)
		return "surroundings that cannot be read";
	for (int i = 0; i < NAMESPACES; i++)
		if (strcmp(a->space[i], b->space[i]) != 0)
			return "another namespace";
	if (a->root.stx_ino != b->root.stx_ino || a->root.stx_dev_major != b->root.stx_dev_major ||
		a->root.stx_dev_minor != b->root.stx_dev_minor)
		return "another root directory";
	if (strcmp(a->group, b->group) != 0)
		return "another control group";
	if (strcmp(a->label, b->label) != 0)
		return "another security label";
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (lines[i].likeness <= likeness && !same_line(a->status, b->status, lines[i].key))
			return lines[i].phrase;
	if (likeness == NB_SAME_RIGHTS)
		return NULL;
	if (strcmp(a->limits, b->limits) != 0)
		return "other resource limits";
	if (a->nice != b->nice)
		return "another niceness";
	return a->policy != b->policy || a->io != b->io ? "another scheduling policy" : NULL;
}

void nb_surroundings_note(void)
{
	if (noted != getpid())
		look(&own, getpid(), NB_SAME_ALL);
	noted = getpid();
}

const char *nb_surroundings_differ(pid_t pid, enum nb_likeness likeness)
{
	struct surroundings other;
	nb_surroundings_note();
	look(&other, pid, likeness);
	return compare(&own, &other, likeness);
}

/* ---- open files -------------------------------------------------------------------------------- */

/* Those above standard error that are not closed on exec, by what /proc says of them. */
int nb_inherits_same(pid_t pid)
{
	char path[64], own_file[PATH_MAX], other_file[PATH_MAX];
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int same = dir != NULL;
	while (same && (entry = readdir(dir)) != NULL) {
		const int fd = (int)strtol(entry->d_name, NULL, 10), flags = fcntl(fd, F_GETFD);
		if (fd <= STDERR_FILENO || flags < 0 || flags & FD_CLOEXEC)
			continue;
		const ssize_t n = readlinkat(dirfd(dir), entry->d_name, own_file, sizeof own_file);
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
		same = n > 0 && readlink(path, other_file, sizeof other_file) == n &&
		       memcmp(own_file, other_file, (size_t)n) == 0;
	}
	if (dir)
		closedir(dir);
	return same;
}

/* ---- environment ------------------------------------------------------------------------------- */

/* Whether a variable counts: a row that ends in '_' stands for all that begin so. */
static int counts(const char *variable, size_t length)
{
	static const char *const rows[] = {"CUDA_", "NVIDIA_", "OMP_", "GOMP_", "KMP_", "NB_", "LD_", "MALLOC_", "LC_",
		"GLIBC_TUNABLES", "LANG", "LANGUAGE", "TZ"};
	if (length == strlen("NB_FOLD") && memcmp(variable, "NB_FOLD", length) == 0)
		return 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const size_t n = strlen(rows[i]);
		if (length >= n && memcmp(variable, rows[i], n) == 0 && (length == n || rows[i][n - 1] == '_'))
			return 1;
	}
	return 0;
}

/* Whether the first variable of this name has the same value; a list without it has none. */
static int has(char *const *list, const char *variable, size_t length)
{
	for (; *list; list++)
		if (strncmp(*list, variable, length) == 0 && ((*list)[length] == '=' || !(*list)[length]))
			return strcmp(*list, variable) == 0;
	return 0;
}

const char *nb_environment_differs(char *const *a, char *const *b)
{
	for (int turn = 0; turn < 2; turn++) {
		char *const *from = turn ? b : a, *const *to = turn ? a : b;
		for (; *from; from++) {
			const size_t length = strcspn(*from, "=");
			if (counts(*from, length) && !has(to, *from, length))
				return *from;
		}
	}
	return NULL;
}
