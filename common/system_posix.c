#include "common/descriptor.h"
#include "common/system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- system.h ------------------------------------------------------------------------------------- */

int nb_system_event(int end[2])
{
	if (pipe2(end, O_CLOEXEC | O_NONBLOCK))
		return -1;
	for (int i = 0; i < 2; i++)
		end[i] = nb_above_standard(end[i]);
	return end[0] < 0 || end[1] < 0 ? -1 : 0;
}

size_t nb_system_memory(void)
{
#ifdef _SC_PHYS_PAGES
	const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	if (pages > 0 && size > 0)
		return (size_t)pages * (size_t)size;
#endif
	return SIZE_MAX;
}

int nb_system_program(char *path, size_t size)
{
	(void)size;
	*path = '\0';
	errno = ENOSYS;
	return -1;
}

const char *nb_system_program_file(void)
{
	return NULL;
}

void nb_system_adopt(void)
{
}

static pthread_t first;

__attribute__((constructor)) static void note_first(void)
{
	first = pthread_self();
}

int nb_system_is_first_thread(void)
{
	return pthread_equal(pthread_self(), first);
}

void nb_system_set_heap(size_t mapped, size_t trim, size_t pad)
{
	(void)mapped, (void)trim, (void)pad;
}

void nb_system_widen_heap(size_t huge, size_t pad)
{
	(void)huge, (void)pad;
}

void nb_system_widen(void *p, size_t bytes)
{
	(void)p, (void)bytes;
}

void nb_system_forget(void *p, size_t bytes)
{
	(void)p, (void)bytes;
}

/* ---- posix.h -------------------------------------------------------------------------------------- */

void *memmem(const void *in, size_t n, const void *what, size_t length)
{
	const unsigned char *from = in, *first_byte = what, *end = from + n;
	if (!length)
		return (void *)(uintptr_t)from;
	while ((size_t)(end - from) >= length) {
		const unsigned char *at = memchr(from, *first_byte, (size_t)(end - from) - length + 1);
		if (!at || memcmp(at, what, length) == 0)
			return (void *)(uintptr_t)at;
		from = at + 1;
	}
	return NULL;
}

int asprintf(char **text, const char *format, ...)
{
	va_list ap, again;
	va_start(ap, format);
	va_copy(again, ap);
	const int length = vsnprintf(NULL, 0, format, ap);
	*text = length < 0 ? NULL : malloc((size_t)length + 1);
	const int written = *text ? vsnprintf(*text, (size_t)length + 1, format, again) : -1;
	va_end(again);
	va_end(ap);
	return written;
}

/* Of this thread, while it sorts. */
static _Thread_local int (*order)(const void *, const void *, void *);
static _Thread_local void *order_context;

static int in_order(const void *a, const void *b)
{
	return order(a, b, order_context);
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *context)
{
	order = compare;
	order_context = context;
	qsort(base, n, size, in_order);
}

static _Thread_local int (*entry_order)(const struct dirent **, const struct dirent **);

static int entries_in_order(const void *a, const void *b)
{
	const struct dirent *x = *(struct dirent *const *)a, *y = *(struct dirent *const *)b;
	return entry_order(&x, &y);
}

/* Adds a copy of an entry to a list of n: 0, or -1. */
static int add_entry(struct dirent ***list, int n, const struct dirent *entry)
{
	const size_t size = offsetof(struct dirent, d_name) + strlen(entry->d_name) + 1;
	struct dirent **longer = realloc(*list, ((size_t)n + 1) * sizeof *longer);
	*list = longer ? longer : *list;
	struct dirent *copy = longer ? malloc(size > sizeof *copy ? size : sizeof *copy) : NULL;
	if (!copy)
		return -1;
	memcpy(copy, entry, size);
	longer[n] = copy;
	return 0;
}

int scandirat(int directory, const char *path, struct dirent ***list, int (*select)(const struct dirent *),
	int (*compare)(const struct dirent **, const struct dirent **))
{
	const int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int n = 0, failed = 0;
	*list = NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (struct dirent *entry; !failed && (entry = readdir(dir));)
		if (!select || select(entry)) {
			failed = add_entry(list, n, entry);
			n += !failed;
		}
	closedir(dir);
	while (failed && n > 0)
		free((*list)[--n]);
	if (failed) {
		free(*list);
		return -1;
	}
	entry_order = compare;
	if (n > 1)
		qsort(*list, (size_t)n, sizeof **list, entries_in_order);
	return n;
}

int pipe2(int end[2], int flags)
{
	if (pipe(end))
		return -1;
	for (int i = 0; i < 2; i++)
		if (((flags & O_CLOEXEC) && fcntl(end[i], F_SETFD, FD_CLOEXEC)) ||
			((flags & O_NONBLOCK) && fcntl(end[i], F_SETFL, O_NONBLOCK))) {
			close(end[0]);
			close(end[1]);
			return -1;
		}
	return 0;
}

/* To the next millisecond; the signals that are blocked stay so. */
int ppoll(struct pollfd *file, nfds_t n, const struct timespec *timeout, const sigset_t *blocked)
{
	(void)blocked;
	return poll(file, n, timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000) : -1);
}

/* Somebody who sets the clock meanwhile makes the wait longer or shorter. */
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until)
{
	struct timespec now, t;
	clock_gettime(clock, &now);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += until->tv_sec - now.tv_sec;
	t.tv_nsec += until->tv_nsec - now.tv_nsec;
	if (t.tv_nsec < 0 || t.tv_nsec >= 1000000000) {
		t.tv_sec += t.tv_nsec < 0 ? -1 : 1;
		t.tv_nsec += t.tv_nsec < 0 ? 1000000000 : -1000000000;
	}
	return pthread_cond_timedwait(c, lock, &t);
}

int posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t *actions, int directory)
{
	(void)actions, (void)directory;
	return ENOSYS;
}

int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from)
{
	const long most = sysconf(_SC_OPEN_MAX);
	int error = 0;
	for (int fd = from; !error && fd < (most > 0 && most < 4096 ? (int)most : 4096); fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			error = posix_spawn_file_actions_addclose(actions, fd);
	return error;
}

int memfd_create(const char *name, unsigned flags)
{
	char path[] = "/tmp/nb-XXXXXX";
	const int fd = mkstemp(path);
	(void)name, (void)flags;
	if (fd >= 0) {
		(void)unlink(path);
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	return fd;
}
