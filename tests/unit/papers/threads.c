/* How many threads the kernels of the papers on the CPU run on: a kernel that calls itself sequential on one, the
 * others on as many as there are to be.  Each runs in a process of its own, where the threads of a parallel region
 * stay: they are counted after the run, so it does not matter how busy the machine is. */
#include "common/cpu.h"
#include "common/mem.h"
#include "kernels/backend/backend.h"
#include "kernels/papers/papers.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <omp.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BODIES = 2000, LEVEL = 3, THREADS = 3 };

/* ---- tasks ------------------------------------------------------------------------------------------ */

static int task_team; /* threads of the largest team that was given a task */

typedef void task_function(void *);
typedef void copy_function(void *, void *);

/* Makefile: the linker has calls of GOMP_task come here */
#define TASK_PARAMETERS                                                                                             \
	task_function *task, void *data, copy_function *copy, long size, long align, bool deferred, unsigned flags, \
		void **depend, int priority, void *detach
void __real_GOMP_task(TASK_PARAMETERS);
void __wrap_GOMP_task(TASK_PARAMETERS);
void __wrap_GOMP_task(TASK_PARAMETERS)
{
	const int team = omp_get_num_threads();
#pragma omp critical
	task_team = deferred && team > task_team ? team : task_team;
	__real_GOMP_task(task, data, copy, size, align, deferred, flags, depend, priority, detach);
}

/* ---- a run ------------------------------------------------------------------------------------------ */

static int threads_here(void)
{
	int count = 0;
	DIR *tasks = opendir("/proc/self/task");
	for (const struct dirent *entry; tasks && (entry = readdir(tasks));)
		count += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return count;
}

static double pos[3 * BODIES], vel[3 * BODIES], mass[BODIES], acc[3 * BODIES];
static uint64_t box_first[(1 << 2 * LEVEL) + 1];
static int32_t neighbour[8 << 2 * LEVEL];

/* In a plane, sorted, in boxes: any kernel takes them. */
static void make_bodies(void)
{
	static double unsorted[3 * BODIES];
	static uint64_t key[BODIES];
	static uint32_t perm[BODIES];
	struct nb_cube cube;
	size_t bad;
	for (size_t i = 0; i < BODIES; i++) {
		for (size_t c = 0; c < 2; c++) {
			unsorted[3 * i + c] = uniform();
			vel[3 * i + c] = uniform();
		}
		mass[i] = 1;
	}
	CHECK(nb_morton_cube_cpu(BODIES, unsorted, 2, &cube, &bad) == NB_OK);
	CHECK(nb_morton_keys_cpu(BODIES, unsorted, 2, &cube, key) == NB_OK);
	CHECK(nb_sort_keys_cpu(BODIES, key, perm) == NB_OK);
	CHECK(nb_boxes_build_cpu(BODIES, key, 2, LEVEL, box_first, neighbour) == NB_OK);
	for (size_t i = 0; i < BODIES; i++)
		memcpy(pos + 3 * i, unsorted + 3 * perm[i], 3 * sizeof *pos);
}

static int run(const struct nb_paper_kernel *kernel)
{
	const struct nb_gravity g = {.n = BODIES,
		.pos = pos,
		.vel = vel,
		.mass = mass,
		.acc = acc,
		.eps = 0.01,
		.G = 1,
		.precision = nb_paper_precision(kernel)};
	const struct nb_boxes boxes = {(size_t)1 << 2 * LEVEL, box_first, neighbour, 8};
	struct nb_paper_job job = {.gravity = &g, .boxes = &boxes, .theta = 0.5};
	for (int p = 0; p < NB_PAPER_PARAMETERS; p++)
		job.parameter[p] = kernel->parameter[p].fallback;
	struct nb_gravity_count count = {0};
	return kernel->run(&job, &count) == NB_OK;
}

static int is_sequential(const struct nb_paper_kernel *kernel)
{
	return strstr(kernel->about, "sequential") || strstr(kernel->about, "one thread");
}

static void test(const struct nb_paper_kernel *kernel)
{
	const int sequential = is_sequential(kernel);
	const int tasks = strstr(kernel->about, "mass distribution") != NULL;
	const int before = threads_here();
	nb_cpu_set_threads(THREADS);
	CHECK(run(kernel));
	const int more = threads_here() - before;
	CHECK(before == 1 && more == (sequential ? 0 : THREADS - 1));
	CHECK(task_team == (tasks ? THREADS : 0));
	if (unit_failed)
		fprintf(stderr, "  kernel %s (%s): %d threads of %d, tasks for %d\n", kernel->name, kernel->about,
			1 + more, THREADS, task_team);
}

int main(void)
{
	const struct nb_paper_kernel *kernel;
	int sequential = 0, parallel = 0;
	nb_cpu_set_threads(1);
	make_bodies();
	for (size_t k = 0; (kernel = nb_paper_kernel_at(k)) != NULL; k++) {
		if (strcmp(kernel->backend, "cpu") != 0)
			continue;
		fflush(NULL);
		const pid_t child = fork();
		if (child == 0) {
			unit_failed = 0;
			test(kernel);
			_exit(unit_failed != 0);
		}
		int status = -1;
		CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
		*(is_sequential(kernel) ? &sequential : &parallel) += 1;
	}
	CHECK(sequential >= 5 && parallel >= 5);
	return unit_end();
}
