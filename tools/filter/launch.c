#include "tools/filter/launch.h"

#include "common/cpu.h"
#include "common/descriptor.h"
#include "common/system.h"
#include "kernels/ranks/ranks.h"
#include "tools/filter/files.h"
#include "tools/filter/group.h"
#include "tools/filter/interrupt.h"
#include "tools/filter/spawn.h"
#include "tools/fold/holder.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the process that waits: host, process and a pipe of it, to which rank 0 writes its process number. */
#define FROM "NB_RANKS_FROM"
enum { NO_RANK = 113 }; /* exit status of what a launcher has started that is no rank */
enum { PATH = 64, HOST = 256 };

/* ---- ranks ---------------------------------------------------------------------------------------- */

/* Programs that this process starts, such as those of a force pipeline, are no ranks. */
static void forget_launcher(void)
{
	static const char *const start[] = {"OMPI_", "PMIX_", "PMI_", "ORTE_"};
	for (char **e = environ; *e;) {
		char name[HOST];
		const size_t length = strcspn(*e, "=");
		int ours = 0;
		for (size_t k = 0; k < sizeof start / sizeof *start; k++)
			ours |= strncmp(*e, start[k], strlen(start[k])) == 0;
		snprintf(name, sizeof name, "%.*s", (int)length, *e);
		if (!ours || strncmp(name, "OMPI_ALLOW_", strlen("OMPI_ALLOW_")) == 0 || length >= sizeof name ||
			unsetenv(name))
			e++;
	}
}

static _Noreturn void serve(void)
{
	char host[HOST] = "";
	(void)dup2(STDERR_FILENO, STDOUT_FILENO); /* nothing of this rank goes into the stream */
	const int status = nb_backend_serve();
	if (status) {
		(void)gethostname(host, sizeof host - 1);
		nb_warn("rank %d of %d, on %s: %s", nb_ranks_rank(), nb_ranks_size(), host, nb_status_text(status));
		nb_ranks_abort(NB_EXIT_FAILED);
	}
	nb_ranks_leave();
	exit(NB_EXIT_OK);
}

void nb_launch_join(const struct nb_tool *tool)
{
	if (!tool->ranks || !nb_ranks_launched())
		return;
	if (nb_ranks_join())
		nb_die(NB_EXIT_FAILED, "this MPI cannot be used by a program with threads");
	forget_launcher();
	/* bytes depend on the instructions: all have those of the poorest processor */
	const int isa = nb_ranks_least((int)nb_cpu_isa());
	if (isa < (int)nb_cpu_isa())
		(void)setenv("NB_SIMD", nb_cpu_isa_name((enum nb_isa)isa), 1);
	if (nb_ranks_rank() > 0)
		serve();
}

/* ---- the streams of rank 0 ------------------------------------------------------------------------ */

/* A process that has the standard input and output which rank 0 wants. */
struct source {
	pid_t pid;    /* 0: none is known */
	int is_front; /* it is the process that waits, not a launcher, which may read of its input */
};

static int is_launcher(pid_t pid)
{
	static const char *const name[] = {
		"mpirun", "mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"};
	char path[PATH], comm[PATH] = "";
	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file || !fgets(comm, sizeof comm, file))
		comm[0] = '\0';
	if (file)
		fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	/* a name is cut to 15 bytes there */
	for (size_t k = 0; k < sizeof name / sizeof *name; k++)
		if (strncmp(comm, name[k], 15) == 0)
			return 1;
	return 0;
}

/* Tells the process that waits which one rank 0 is, so that signals find it. */
static void say_hello(pid_t front, int pipe)
{
	char path[PATH], text[PATH];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)front, pipe);
	snprintf(text, sizeof text, "%d\n", (int)getpid());
	const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

static struct source find_source(void)
{
	const char *from = getenv(FROM);
	char here[HOST] = "", host[HOST] = "";
	int pid = 0, pipe = -1;
	if (!from)
		return (struct source){is_launcher(getppid()) ? getppid() : 0, 0};
	(void)gethostname(here, sizeof here - 1);
	if (sscanf(from, "%d:%d:%255s", &pid, &pipe, host) != 3 || strcmp(host, here) != 0 || pid <= 0 ||
		!nb_runs_this_program(pid))
		pid = 0;
	else
		say_hello(pid, pipe);
	unsetenv(FROM);
	return (struct source){pid, pid > 0};
}

/* Position and flags of an open file of a process. */
static void look_at(pid_t pid, int fd, long long *position, int *flags)
{
	char path[PATH];
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, fd);
	FILE *file = fopen(path, "re");
	*position = 0;
	*flags = 0;
	if (file && fscanf(file, "pos: %lld flags: %o", position, (unsigned *)flags) != 2)
		*position = *flags = 0;
	if (file)
		fclose(file);
}

/* Makes standard input (0) or output (1) of another process that of this one. */
static void take(const struct source *source, int fd)
{
	static const char *const name[] = {"input", "output"};
	char path[PATH];
	struct stat st;
	long long position;
	int flags;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)source->pid, fd);
	look_at(source->pid, fd, &position, &flags);
	const int opened = open(path, (fd == 0 ? O_RDONLY : O_WRONLY | (flags & O_APPEND)) | O_NOCTTY | O_CLOEXEC);
	if (opened < 0 || fstat(opened, &st))
		nb_die(NB_EXIT_FAILED, "standard %s of process %d:", name[fd], (int)source->pid);
	/* a launcher may have read of a file, which begins where it was opened */
	if (S_ISREG(st.st_mode) && (fd == 1 || source->is_front) && lseek(opened, position, SEEK_SET) < 0)
		nb_die(NB_EXIT_FAILED, "standard %s:", name[fd]);
	if (dup2(opened, fd) < 0)
		nb_die(NB_EXIT_FAILED, "standard %s:", name[fd]);
	close(opened);
}

static int is_null(int fd)
{
	struct stat st, null;
	return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == null.st_rdev;
}

static int is_regular(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* mpirun reads a pipe by itself, unless it is told not to: its ranks then have no standard input. */
static void require_unread(pid_t mpirun)
{
	char path[PATH];
	struct stat st;
	snprintf(path, sizeof path, "/proc/%d/fd/0", (int)mpirun);
	if (is_null(STDIN_FILENO) || stat(path, &st) || (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
		return;
	nb_die(NB_EXIT_FAILED, "standard input is a pipe, of which mpirun takes bytes (want mpirun --stdin none ..., "
			       "or nb-step --mpi 'mpirun ...')");
}

static int reads_standard_input(const struct nb_run *run)
{
	int standard = run->from.n == 0;
	for (int i = 0; i < run->from.n; i++)
		standard |= strcmp(run->from.path[i], "-") == 0;
	return (run->streams & NB_READS) && standard;
}

static void take_streams(struct nb_run *run, void *context)
{
	const struct source source = find_source();
	const int in = reads_standard_input(run), out = (run->streams & NB_WRITES) && !nb_output_is_file(run);
	(void)context;
	nb_verbose("rank 0 of %d, with %d threads", nb_ranks_size(), nb_cpu_threads());
	if (source.pid) {
		if (in && !source.is_front)
			require_unread(source.pid);
		if (in)
			take(&source, STDIN_FILENO);
		if (out)
			take(&source, STDOUT_FILENO);
		return;
	}
	/* rank 0 is not where its streams are; files of its own may have been given */
	if (in && !is_regular(STDIN_FILENO))
		nb_die(NB_EXIT_FAILED, "rank 0 does not find its standard input (give FILE operands, or start it on "
				       "the host of the launcher)");
	if (out && !is_regular(STDOUT_FILENO) && !is_null(STDOUT_FILENO))
		nb_die(NB_EXIT_FAILED, "rank 0 does not find its standard output (give --output, or start it on the "
				       "host of the launcher)");
}

/* ---- the process that waits ----------------------------------------------------------------------- */

static void add_quoted(FILE *to, const char *word)
{
	fputs(" '", to);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", to);
		else
			fputc(*word, to);
	fputc('\'', to);
}

/* The launcher with this program and its arguments; to be freed. */
static char *full_command(const struct nb_run *run, int argc, char **argv)
{
	char program[PATH_MAX], *command = NULL;
	size_t size;
	FILE *to = nb_system_program(program, sizeof program) == 0 ? open_memstream(&command, &size) : NULL;
	if (!to)
		nb_die(NB_EXIT_FAILED, "cannot find the program:");
	fputs(run->needs.launcher, to);
	add_quoted(to, program);
	add_quoted(to, run->tool->name);
	for (int k = 1; k < argc; k++)
		add_quoted(to, argv[k]);
	if (fclose(to))
		nb_die(NB_EXIT_FAILED, "out of memory");
	return command;
}

/* Rank 0, once it has said so; 0: not yet. */
static pid_t hear(int pipe)
{
	char text[PATH];
	const ssize_t n = read(pipe, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	return (pid_t)strtol(text, NULL, 10);
}

/* Starts the command with no standard input, and its output where errors go. */
static void start(const struct nb_run *run, const char *command, struct nb_group *group, int *pipe)
{
	char from[HOST + PATH], host[HOST] = "";
	int end[2];
	const int null = nb_above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
	(void)gethostname(host, sizeof host - 1);
	if (null < 0 || nb_spawn_pipe(end) || fcntl(end[0], F_SETFL, O_NONBLOCK))
		nb_die(NB_EXIT_FAILED, "cannot start '%s':", run->needs.launcher);
	snprintf(from, sizeof from, "%d:%d:%s", (int)getpid(), end[1], host);
	/* unless the user says otherwise, Open MPI is silent, and does not bind a rank to one processor, and Slurm's
	 * srun does not leave the others waiting when a rank dies */
	if (setenv(FROM, from, 1) || setenv("OMPI_MCA_orte_execute_quiet", "1", 0) ||
		setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0) || setenv("SLURM_KILL_BAD_EXIT", "1", 0))
		nb_die(NB_EXIT_FAILED, "out of memory");
	const int error = nb_group_start(group, command, environ, null, STDERR_FILENO, STDERR_FILENO, NULL);
	if (error)
		nb_die(NB_EXIT_FAILED, "cannot start '%s': %s", run->needs.launcher, strerror(error));
	close(null);
	*pipe = end[0];
}

/* The exit status of the work; ends this process as a signal ended rank 0. */
static int judge(const struct nb_run *run, const struct nb_group *group, pid_t rank0)
{
	const int number = group->signal ? group->signal : group->status > 128 ? group->status - 128 : 0;
	if (number && number == nb_interrupted())
		nb_interrupt_end_by(number);
	if (number == SIGPIPE && rank0)
		nb_interrupt_end_by(SIGPIPE);
	if (number)
		nb_die(NB_EXIT_FAILED, "'%s': a rank ended by signal %d (%s)", run->needs.launcher, number,
			strsignal(number));
	if (!rank0 && group->status == NO_RANK)
		nb_die(NB_EXIT_FAILED, "'%s' starts no ranks of MPI (want mpirun -n 4)", run->needs.launcher);
	if (!rank0)
		nb_die(NB_EXIT_FAILED, "'%s' ended with status %d, and has started no rank on this host",
			run->needs.launcher, group->status);
	return group->status;
}

static void wait_for_ranks(struct nb_run *run, void *context)
{
	char *command = context;
	struct nb_group group;
	pid_t rank0 = 0, passed = 0;
	int pipe;
	if (!nb_ranks_built())
		nb_die(NB_EXIT_FAILED, "option '--mpi': this program was built without MPI (make MPI=1)");
	nb_interrupt_watch();
	nb_interrupt_hold(NB_HOLD_RUN); /* from before the start on: ranks that are not known yet would stay behind */
	start(run, command, &group, &pipe);
	nb_group_guard(&group, environ);
	while (!nb_group_has_exited(&group, 0.02)) {
		rank0 = rank0 ? rank0 : hear(pipe);
		const pid_t to = rank0 ? rank0 : group.id;
		if (nb_interrupted() && passed != to && kill(to, nb_interrupted()) == 0)
			passed = to;
	}
	rank0 = rank0 ? rank0 : hear(pipe);
	if (!nb_group_is_gone(&group, 1))
		nb_group_end(&group);
	if (is_regular(STDOUT_FILENO)) /* what others write there comes after the stream */
		(void)lseek(STDOUT_FILENO, 0, SEEK_END);
	run->status = judge(run, &group, rank0);
}

int nb_launch(struct nb_run *run, int argc, char **argv)
{
	if (run->tool->ranks && nb_ranks_launched()) {
		const int status = nb_run_do(run, take_streams, NULL);
		return status ? status : NB_LAUNCH_HERE;
	}
	if (!run->needs.launcher)
		return NB_LAUNCH_HERE;
	if (getenv(FROM)) /* started by a launcher of this kind, and no rank: it would start itself without end */
		return NO_RANK;
	char *command = full_command(run, argc, argv);
	const int status = nb_run_do(run, wait_for_ranks, command);
	free(command);
	return status;
}
