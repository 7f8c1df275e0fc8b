/* Lets calls of the C library fail in the programs of a pipeline: LD_PRELOAD=faults.so, and in the environment
 *
 *   NB_FAULT='nb-step write 7 EIO'     the 7th call of write() in programs of that name
 *   NB_FAULT='nb-step write 7+ EIO'    and all that follow
 *   NB_FAULT='nb-step short 1'         reads and writes of at most 1 byte
 *   NB_FAULT_COUNTS=FILE               how many calls of each kind programs of that name make (an array of long)
 *
 * calls.def lists the calls, which are counted from main() on: what libraries do before, such as the CUDA run time,
 * which notes every kernel and does not look at what malloc returns, is not the program's.  Those that the C library
 * makes for its own purposes are not seen; a message on standard error never fails, as it says what failed.  Programs
 * must be linked dynamically. */
#include "tests/torture/faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
	*__libc_memalign(size_t, size_t);

static struct {
	int wanted;  /* in this program */
	int on;	     /* and its main() has begun */
	int call;    /* enum call_kind, or -1 */
	long at;     /* 1 is the first call */
	int forever; /* and all after it */
	int error;
	size_t most;	       /* bytes of a read or write; 0: no limit */
	_Atomic long *counted; /* one for each kind, then how many failed */
} fault = {.call = -1};
static _Atomic long seen;

/* Of this library, which never fails. */
static long system_call(long number, long a, long b, long c, long d)
{
	static long (*real)(long, ...);
	if (!real)
		real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a, b, c, d);
}

/* The C library loads what ends a thread when the first thread ends, and aborts if there is no memory for that.  The
 * programs have it built in, when they are linked as they usually are. */
static void *end_thread(void *unused)
{
	pthread_exit(unused);
}

static void load_all(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, end_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

__attribute__((constructor)) static void look(void)
{
	static _Atomic long here[CALL_KINDS + 1];
	char program[32], call[48], count[24], error[24];
	const char *wanted = getenv("NB_FAULT"), *counts = getenv("NB_FAULT_COUNTS");
	if (!wanted)
		return;
	const int words = sscanf(wanted, "%31s %47s %23s %23s", program, call, count, error);
	if (words < 1 || strcmp(program, program_invocation_short_name) != 0)
		return;
	load_all();
	if (words == 3 && strcmp(call, "short") == 0)
		fault.most = strtoul(count, NULL, 10);
	if (words == 4) {
		char *end;
		fault.call = call_of(call);
		fault.at = strtol(count, &end, 10);
		fault.forever = *end == '+';
		fault.error = error_of(error);
	}
	fault.counted = here;
	const int fd = counts ? (int)system_call(SYS_openat, AT_FDCWD, (long)counts, O_RDWR, 0) : -1;
	if (fd >= 0) {
		void *map = mmap(NULL, sizeof here, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			fault.counted = map;
		close(fd);
	}
	fault.wanted = 1;
}

typedef int main_function(int, char **, char **);

static main_function *program_main;

static int main_with_faults(int argc, char **argv, char **environment)
{
	fault.on = fault.wanted;
	return program_main(argc, argv, environment);
}

int __libc_start_main(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

/* What begins every program calls this with its main(). */
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
	void (*rtld_fini)(void), void *stack_end)
{
	int (*real)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *) = dlsym(
		RTLD_NEXT, "__libc_start_main");
	program_main = main;
	return real(main_with_faults, argc, argv, init, fini, rtld_fini, stack_end);
}

#ifdef NB_COVERAGE
static void no_more(void)
{
	fault.on = 0;
}

/* How often branches were taken is written when a program ends: that must not fail, and its calls are not counted. This
 * is called first when the C library has begun, so that what it does comes before that. */
static void stop_at_the_end(void)
{
	static atomic_flag known = ATOMIC_FLAG_INIT;
	if (!atomic_flag_test_and_set(&known))
		atexit(no_more);
}
#else
static void stop_at_the_end(void)
{
}
#endif

static int strikes(int call)
{
	if (!fault.on)
		return 0;
	stop_at_the_end();
	atomic_fetch_add(&fault.counted[call], 1);
	if (call != fault.call)
		return 0;
	const long k = atomic_fetch_add(&seen, 1) + 1;
	if (k < fault.at || (k > fault.at && !fault.forever))
		return 0;
	atomic_fetch_add(&fault.counted[CALL_KINDS], 1);
	return 1;
}

/* A read or write of so many bytes.  One of MiB, as of the program that reads HDF5, would take too long byte by byte.
 */
static size_t shorter(size_t n)
{
	enum { MANY = 1 << 18 };
	if (!fault.on || !fault.most || n <= fault.most)
		return n;
	atomic_fetch_add(&fault.counted[CALL_KINDS], 1);
	return n > MANY ? n / 64 : fault.most;
}

/* What a failed write leaves in a file of stdio. */
static int spoiled(FILE *file, int failure)
{
	file->_flags |= 0x20; /* ferror() */
	return failure;
}

/* Whether a write is a message. */
static int is_message(const void *p, size_t n)
{
	return n > 3 && memcmp(p, "nb-", 3) == 0;
}

/* The function that a call means: dlsym itself allocates, so those that allocate have another name. */
static void *real_function(int call)
{
	switch (call) {
	case CALL_malloc: return (void *)__libc_malloc;
	case CALL_calloc: return (void *)__libc_calloc;
	case CALL_realloc: return (void *)__libc_realloc;
	case CALL_aligned_alloc: return (void *)__libc_memalign;
	case CALL_memalign: return (void *)__libc_memalign;
	default: return dlsym(RTLD_NEXT, calls[call].name);
	}
}

#define CALL(type, name, parameters, arguments, failure, errors) \
	type name parameters                                     \
	{                                                        \
		static type(*real) parameters;                   \
		if (!real)                                       \
			real = real_function(CALL_##name);       \
		if (strikes(CALL_##name)) {                      \
			const int error = fault.error;           \
			type result = failure;                   \
			errno = error;                           \
			return result;                           \
		}                                                \
		return real arguments;                           \
	}
#define CALL_VARIADIC(name, errors)
#include "tests/torture/calls.def"

/* ---- arguments of no fixed number ---------------------------------------------------------------- */

static int fails(int call)
{
	if (!strikes(call))
		return 0;
	errno = fault.error;
	return 1;
}

int openat(int at, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	return fails(CALL_openat) ? -1 : (int)system_call(SYS_openat, at, (long)path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	return fails(CALL_open) ? -1 : (int)system_call(SYS_openat, AT_FDCWD, (long)path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
	va_list ap;
	va_start(ap, command);
	const long argument = va_arg(ap, long);
	va_end(ap);
	/* what only looks at a descriptor cannot fail */
	const int looks = command == F_GETFD || command == F_SETFD || command == F_GETFL;
	return !looks && fails(CALL_fcntl) ? -1 : (int)system_call(SYS_fcntl, fd, command, argument, 0);
}

int asprintf(char **to, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	const int n = fails(CALL_asprintf) ? -1 : vasprintf(to, format, ap);
	va_end(ap);
	return n;
}

int printf(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	const int n = fails(CALL_printf) ? spoiled(stdout, -1) : vprintf(format, ap);
	va_end(ap);
	return n;
}

int fprintf(FILE *file, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	const int n = file != stderr && fails(CALL_fprintf) ? spoiled(file, -1) : vfprintf(file, format, ap);
	va_end(ap);
	return n;
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list ap;
	if (!real)
		real = real_function(CALL_syscall);
	va_start(ap, number);
	for (int k = 0; k < 6; k++)
		a[k] = va_arg(ap, long);
	va_end(ap);
	return fails(CALL_syscall) ? -1 : real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
