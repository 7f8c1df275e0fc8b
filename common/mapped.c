#include "common/mapped.h"

#include "common/cpu.h"
#include "common/die.h"
#include "common/system.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* One that is not used any more waits for the next file, so that the handler can follow the list at any time. */
struct mapped {
	struct mapped *next;
	char *data; /* NULL: unused */
	size_t size;
	const char *program; /* that mapped it, ... */
	int voice;	     /* ... and where its messages go */
};

static struct mapped *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(int number, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;
	(void)context;
	for (struct mapped *m = __atomic_load_n(&all, __ATOMIC_ACQUIRE); info->si_code > 0 && m; m = m->next) {
		const char *data = __atomic_load_n(&m->data, __ATOMIC_ACQUIRE);
		if (!data || at < data || at >= data + m->size)
			continue;
		nb_speak_as(&(struct nb_voice){.program = m->program, .file = m->voice});
		nb_die_at_once(NB_EXIT_FAILED, "truncated stream: " NB_MAPPED_SHORTER);
	}
	signal(number, SIG_DFL);
	raise(number);
}

static void watch(void)
{
	const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &action, NULL);
}

void *nb_mapped_new(int fd, size_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return NULL;
	pthread_once(&once, watch);
	pthread_mutex_lock(&lock);
	struct mapped *m = all;
	while (m && m->data)
		m = m->next;
	if (!m && (m = calloc(1, sizeof *m))) {
		m->next = all;
		__atomic_store_n(&all, m, __ATOMIC_RELEASE);
	}
	if (m) {
		m->size = size;
		m->program = nb_program();
		m->voice = nb_voice_file();
		__atomic_store_n(&m->data, data, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (!m)
		munmap(data, size);
	return m ? data : NULL;
}

void nb_mapped_free(void *data)
{
	enum { PART = 16 << 20 };
	size_t size = 0;
	pthread_mutex_lock(&lock);
	for (struct mapped *m = all; m; m = m->next)
		if (m->data == data) {
			size = m->size;
			m->data = NULL;
		}
	pthread_mutex_unlock(&lock);
	/* one thread alone takes as long to let the pages go as several take to read them */
	if (size > PART && nb_cpu_threads() > 1) {
#pragma omp parallel for schedule(static)
		for (size_t at = 0; at < size; at += PART)
			nb_system_forget((char *)data + at, size - at < PART ? size - at : PART);
	}
	munmap(data, size);
}

void nb_mapped_forget(void *data, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = -(uintptr_t)data % page;
	char *at = (char *)data + skip;
	if (size < skip + page) /* no whole page */
		return;
	pthread_mutex_lock(&lock);
	for (const struct mapped *m = all; m; m = m->next)
		if (m->data && at >= m->data && at < m->data + m->size)
			nb_system_forget(at, (size - skip) / page * page);
	pthread_mutex_unlock(&lock);
}

void nb_mapped_require(const void *data, size_t size)
{
	enum { PAGE = 4096 };
	const volatile char *at = data;
	for (size_t k = 0; k < size; k += PAGE)
		(void)at[k];
	if (size)
		(void)at[size - 1];
}
