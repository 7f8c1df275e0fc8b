#include "common/descriptor.h"
#include "common/system.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

int nb_system_event(int end[2])
{
	end[0] = end[1] = nb_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return end[0] < 0 ? -1 : 0;
}

size_t nb_system_memory(void)
{
	struct sysinfo info;
	return sysinfo(&info) ? SIZE_MAX : ((size_t)info.totalram + info.totalswap) * info.mem_unit;
}

int nb_system_program(char *path, size_t size)
{
	const ssize_t length = readlink("/proc/self/exe", path, size - 1);
	path[length > 0 ? length : 0] = '\0';
	return length > 0 ? 0 : -1;
}

const char *nb_system_program_file(void)
{
	return (const char *)getauxval(AT_EXECFN);
}

void nb_system_adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int nb_system_is_first_thread(void)
{
	return gettid() == getpid();
}

void nb_system_set_heap(size_t mapped, size_t trim, size_t pad)
{
	mallopt(M_MMAP_THRESHOLD, (int)mapped);
	mallopt(M_TRIM_THRESHOLD, (int)trim);
	mallopt(M_TOP_PAD, (int)pad);
}

/* Two threads that do so at once do no harm. */
void nb_system_widen_heap(size_t huge, size_t pad)
{
	static _Atomic(uintptr_t) asked;
	char *top = sbrk(0);
	const uintptr_t end = (uintptr_t)top, before = atomic_load_explicit(&asked, memory_order_relaxed);
	const uintptr_t begin = ((before ? before : end - pad) + huge - 1) / huge * huge;
	if (end == before)
		return;
	if (begin < end)
		madvise(top - (end - begin), end - begin, MADV_HUGEPAGE);
	atomic_store_explicit(&asked, end, memory_order_relaxed);
}

void nb_system_widen(void *p, size_t bytes)
{
	madvise(p, bytes, MADV_HUGEPAGE);
}

void nb_system_forget(void *p, size_t bytes)
{
	madvise(p, bytes, MADV_DONTNEED);
}
