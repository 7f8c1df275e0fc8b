/* driver.c - the CUDA driver, made to fail: a library for LD_PRELOAD, x86-64.
 *
 * The CUDA runtime finds all functions of the driver through one, cuGetProcAddress, which it finds by dlsym.  Here
 * dlsym gives it another one, which hands out a stub for each function.  A stub counts the call, and then either jumps
 * to the function, with registers and stack as they came, or returns an error in its place: so it fits any function.
 *
 *   NB_DRIVER_FAIL=KIND:K       the K-th call of that kind fails, from 1, in each process
 *   NB_DRIVER_FAIL=KIND:K:from  that one and all later ones of the kind
 *   NB_DRIVER_FAIL=KIND:K:lost  that one and all later ones of every kind: the device is lost
 *   NB_DRIVER_ERROR=N           with this CUresult; default 2, CUDA_ERROR_OUT_OF_MEMORY
 *   NB_DRIVER_COUNT=FILE        at the end of a process a line "KIND CALLS" for each kind is added
 *   NB_DRIVER_REPORT=FILE       the name of the first function that failed is added
 *   NB_DRIVER_HELD=FILE         FILE.PID holds what the process has of device memory, as four integers of 64 bits in
 * the machine's order: blocks and bytes now, and the most there were of each; for this, allocating and freeing are done
 * in C and never fail on request KIND is one of the table below, or any. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A name is of the first kind whose prefix it begins with. */
static const struct {
	const char *prefix, *kind;
} kind_of[] = {
	{"cuGetErrorString", NULL}, /* a lost device does not stop these */
	{"cuGetErrorName", NULL},
	{"cuDriverGetVersion", NULL},
	{"cuGetExportTable", NULL},
	{"cuMemAlloc", "allocate"},
	{"cuMemHostAlloc", "allocate"},
	{"cuMemHostRegister", "allocate"},
	{"cuMemCreate", "allocate"},
	{"cuMemAddressReserve", "allocate"},
	{"cuMemPoolCreate", "allocate"},
	{"cuMemFree", "free"},
	{"cuMemHostUnregister", "free"},
	{"cuMemRelease", "free"},
	{"cuMemcpy", "copy"},
	{"cuMemset", "set"},
	{"cuLaunch", "launch"},
	{"cuCtxSynchronize", "wait"},
	{"cuStreamSynchronize", "wait"},
	{"cuStreamWaitEvent", "wait"},
	{"cuStreamQuery", "wait"},
	{"cuEventSynchronize", "wait"},
	{"cuEventQuery", "wait"},
	{"cuStream", "queue"},
	{"cuEvent", "queue"},
	{"cuInit", "context"},
	{"cuCtx", "context"},
	{"cuDevicePrimaryCtx", "context"},
	{"cuModule", "code"},
	{"cuLibrary", "code"},
	{"cuKernel", "code"},
	{"cuFunc", "code"},
	{"cuOccupancy", "code"},
	{"cu", "ask"},
};
enum { RULES = sizeof kind_of / sizeof *kind_of, SLOTS = 2048, ANY = RULES };

struct slot {
	void *real;
	char name[64];
	int kind; /* the first rule of that kind; -1: never fails */
};
static struct slot slots[SLOTS];
static int nslot;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_ullong calls[RULES + 1]; /* of the kind of each rule, of ANY */
static atomic_int reported, gone;
static int fail_kind = -1, fail_from, fail_lost;
static uint64_t fail_at, fail_error = 2;

/* ---- what fails ---------------------------------------------------------------------------------- */

static void append(const char *variable, const char *text)
{
	const char *path = getenv(variable);
	const int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

static int first_of_kind(const char *kind)
{
	for (int i = 0; i < RULES; i++)
		if (kind_of[i].kind && strcmp(kind_of[i].kind, kind) == 0)
			return i;
	return strcmp(kind, "any") == 0 ? ANY : -1;
}

static int kind_of_name(const char *name)
{
	for (int i = 0; i < RULES; i++)
		if (strncmp(name, kind_of[i].prefix, strlen(kind_of[i].prefix)) == 0)
			return kind_of[i].kind ? first_of_kind(kind_of[i].kind) : -1;
	return -1;
}

__attribute__((constructor)) static void begin(void)
{
	const char *fail = getenv("NB_DRIVER_FAIL"), *error = getenv("NB_DRIVER_ERROR");
	char kind[16], how[8] = "";
	unsigned long long at;
	if (error)
		fail_error = strtoull(error, NULL, 10);
	if (!fail)
		return;
	if (sscanf(fail, "%15[a-z]:%llu:%7s", kind, &at, how) < 2 || at < 1 || (fail_kind = first_of_kind(kind)) < 0 ||
		(*how && strcmp(how, "from") != 0 && strcmp(how, "lost") != 0)) {
		fprintf(stderr, "driver: NB_DRIVER_FAIL='%s' (want KIND:K, KIND:K:from or KIND:K:lost)\n", fail);
		_exit(99);
	}
	fail_at = at;
	fail_from = strcmp(how, "from") == 0;
	fail_lost = strcmp(how, "lost") == 0;
}

__attribute__((destructor)) static void end(void)
{
	char text[1024] = "";
	size_t used = 0;
	for (int i = 0; i <= ANY && calls[ANY]; i++)
		if (i == ANY || (kind_of[i].kind && first_of_kind(kind_of[i].kind) == i))
			used += (size_t)snprintf(text + used, sizeof text - used, "%s %llu\n",
				i == ANY ? "any" : kind_of[i].kind, (unsigned long long)calls[i]);
	append("NB_DRIVER_COUNT", text);
}

/* Where a stub jumps to, NULL: it returns error. */
struct verdict {
	void *real;
	uint64_t error;
};

__attribute__((used)) struct verdict nb_driver_judge(uint64_t number);
struct verdict nb_driver_judge(uint64_t number)
{
	const struct slot *slot = &slots[number];
	const struct verdict pass = {slot->real, 0}, fail = {NULL, fail_error};
	if (slot->kind < 0)
		return pass;
	const uint64_t of_kind = atomic_fetch_add(&calls[slot->kind], 1) + 1,
		       of_all = atomic_fetch_add(&calls[ANY], 1) + 1;
	const uint64_t now = fail_kind == ANY ? of_all : of_kind;
	if (fail_kind == ANY || fail_kind == slot->kind)
		if (now == fail_at || (fail_from && now > fail_at)) {
			char line[80];
			snprintf(line, sizeof line, "%s\n", slot->name);
			if (!atomic_exchange(&reported, 1))
				append("NB_DRIVER_REPORT", line);
			if (fail_lost)
				atomic_store(&gone, 1);
			return fail;
		}
	return atomic_load(&gone) ? fail : pass;
}

/* ---- stubs --------------------------------------------------------------------------------------- */

/* A stub is 16 bytes: its number is pushed below the return address.  All registers that can hold arguments are kept.
 */
__asm__(".text\n"
	".balign 16\n"
	"nb_driver_stubs:\n"
	".set number, 0\n"
	".rept 2048\n"
	".balign 16\n"
	"	pushq $number\n"
	"	jmp nb_driver_call\n"
	".set number, number + 1\n"
	".endr\n"
	"nb_driver_call:\n"
	"	pushq %rax\n"
	"	pushq %rdi\n"
	"	pushq %rsi\n"
	"	pushq %rdx\n"
	"	pushq %rcx\n"
	"	pushq %r8\n"
	"	pushq %r9\n"
	"	subq $136, %rsp\n"
	"	movups %xmm0, (%rsp)\n"
	"	movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp)\n"
	"	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n"
	"	movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp)\n"
	"	movups %xmm7, 112(%rsp)\n"
	"	movq 192(%rsp), %rdi\n"
	"	call nb_driver_judge@PLT\n"
	"	movq %rax, %r11\n"
	"	movq %rdx, %r10\n"
	"	movups (%rsp), %xmm0\n"
	"	movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2\n"
	"	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n"
	"	movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6\n"
	"	movups 112(%rsp), %xmm7\n"
	"	addq $136, %rsp\n"
	"	popq %r9\n"
	"	popq %r8\n"
	"	popq %rcx\n"
	"	popq %rdx\n"
	"	popq %rsi\n"
	"	popq %rdi\n"
	"	popq %rax\n"
	"	addq $8, %rsp\n"
	"	testq %r11, %r11\n"
	"	jz 1f\n"
	"	jmp *%r11\n"
	"1:	movl %r10d, %eax\n"
	"	ret\n");
extern char nb_driver_stubs[];

static void *stub_of(const char *name, void *real)
{
	void *stub = real; /* where there are more functions than stubs: none fails */
	pthread_mutex_lock(&slots_lock);
	int i = 0;
	while (i < nslot && (slots[i].real != real || strncmp(slots[i].name, name, sizeof slots[i].name - 1) != 0))
		i++;
	if (i == nslot && i < SLOTS) {
		slots[i].real = real;
		snprintf(slots[i].name, sizeof slots[i].name, "%s", name);
		slots[i].kind = kind_of_name(name);
		nslot++;
	}
	if (i < nslot)
		stub = nb_driver_stubs + (size_t)16 * (size_t)i;
	pthread_mutex_unlock(&slots_lock);
	return stub;
}

/* ---- what is held --------------------------------------------------------------------------------- */

struct held {
	uint64_t blocks, bytes, most_blocks, most_bytes;
};
enum { BLOCKS = 1 << 16 };
static struct held *held; /* of this process; NULL: nobody asked */
static struct {
	uint64_t at, bytes; /* at 0: free */
} block_of[BLOCKS];
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

typedef int alloc_function(uint64_t *at, size_t bytes, void *stream);
typedef int free_function(uint64_t at, void *stream);
static alloc_function *real_alloc;
static free_function *real_free;

/* Maps the process's file, once it uses the device. */
static void begin_held(void)
{
	char path[512];
	const char *stem = getenv("NB_DRIVER_HELD");
	if (!stem || held)
		return;
	snprintf(path, sizeof path, "%s.%d", stem, (int)getpid());
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *p = fd < 0 || ftruncate(fd, sizeof *held)
			  ? MAP_FAILED
			  : mmap(NULL, sizeof *held, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "driver: cannot map '%s'\n", path);
		_exit(99);
	}
	close(fd);
	held = p;
}

static void take(uint64_t at, uint64_t bytes)
{
	pthread_mutex_lock(&held_lock);
	for (uint64_t k = 0, i = at >> 8; k < BLOCKS; k++, i++)
		if (!block_of[i % BLOCKS].at) {
			block_of[i % BLOCKS].at = at;
			block_of[i % BLOCKS].bytes = bytes;
			break;
		}
	if (++held->blocks > held->most_blocks)
		held->most_blocks = held->blocks;
	if ((held->bytes += bytes) > held->most_bytes)
		held->most_bytes = held->bytes;
	pthread_mutex_unlock(&held_lock);
}

static void give(uint64_t at)
{
	pthread_mutex_lock(&held_lock);
	for (uint64_t k = 0, i = at >> 8; k < BLOCKS; k++, i++)
		if (block_of[i % BLOCKS].at == at) { /* any place may have become free, so all are looked at */
			held->blocks--;
			held->bytes -= block_of[i % BLOCKS].bytes;
			block_of[i % BLOCKS].at = 0;
			break;
		}
	pthread_mutex_unlock(&held_lock);
}

static int held_alloc(uint64_t *at, size_t bytes, void *stream)
{
	const int status = real_alloc(at, bytes, stream);
	if (!status)
		take(*at, bytes);
	return status;
}

static int held_free(uint64_t at, void *stream)
{
	give(at);
	return real_free(at, stream);
}

/* ---- the way in ---------------------------------------------------------------------------------- */

typedef int get_v1(const char *name, void **function, int version, uint64_t flags);
typedef int get_v2(const char *name, void **function, int version, uint64_t flags, int *found);
static get_v1 *real_v1;
static get_v2 *real_v2;

static int wrapped_v1(const char *name, void **function, int version, uint64_t flags);
static int wrapped_v2(const char *name, void **function, int version, uint64_t flags, int *found);

static void *wrapped(const char *name, void *real, int v2)
{
	if (!real)
		return NULL;
	begin_held();
	if (held && strcmp(name, "cuMemAllocAsync") == 0) {
		real_alloc = (alloc_function *)(uintptr_t)real;
		return (void *)(uintptr_t)held_alloc;
	}
	if (held && strcmp(name, "cuMemFreeAsync") == 0) {
		real_free = (free_function *)(uintptr_t)real;
		return (void *)(uintptr_t)held_free;
	}
	if (strcmp(name, "cuGetProcAddress") != 0)
		return stub_of(name, real);
	if (v2)
		real_v2 = (get_v2 *)(uintptr_t)real;
	else
		real_v1 = (get_v1 *)(uintptr_t)real;
	return v2 ? (void *)(uintptr_t)wrapped_v2 : (void *)(uintptr_t)wrapped_v1;
}

static int wrapped_v1(const char *name, void **function, int version, uint64_t flags)
{
	const int status = real_v1(name, function, version, flags);
	if (!status && function)
		*function = wrapped(name, *function, version >= 12000);
	return status;
}

static int wrapped_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
	const int status = real_v2(name, function, version, flags, found);
	if (!status && function)
		*function = wrapped(name, *function, version >= 12000);
	return status;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*real)(void *, const char *);
	if (!real)
		real = (void *(*)(void *, const char *))(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!real)
		real = (void *(*)(void *, const char *))(uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	void *found = real(handle, name);
	const int v2 = strcmp(name, "cuGetProcAddress_v2") == 0;
	return v2 || strcmp(name, "cuGetProcAddress") == 0 ? wrapped("cuGetProcAddress", found, v2) : found;
}
