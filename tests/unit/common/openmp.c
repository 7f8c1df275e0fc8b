/* What libgomp says is one line with the name of the program. */
#include "common/die.h"

#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

/* of libgomp; the linker puts those of the suite in their place */
_Noreturn void gomp_fatal(const char *format, ...);
void gomp_error(const char *format, ...);

/* What a child says and how it ends. */
static int child(void (*act)(void), char *said, size_t size)
{
	int fd[2], status = -1;
	CHECK(pipe(fd) == 0);
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(fd[1], STDERR_FILENO);
		act();
		_exit(77);
	}
	close(fd[1]);
	const ssize_t n = read(fd[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	close(fd[0]);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void leave(struct nb_voice *voice, int status)
{
	(void)voice;
	(void)status;
	_exit(99); /* libgomp must not be left in its middle */
}

static void lack_memory(void)
{
	struct nb_voice voice = {"nb-force", 0, STDERR_FILENO, leave, NULL, NULL};
	nb_speak_as(&voice);
	gomp_fatal("Out of memory allocating %lu bytes", 12ul);
}

static void lack_memory_in_a_thread_without_name(void)
{
	gomp_fatal("Out of memory");
}

static void complain(void)
{
	gomp_error("Invalid value for environment variable %s", "OMP_NUM_THREADS");
}

int main(void)
{
	char said[200];
	CHECK(child(lack_memory, said, sizeof said) == NB_EXIT_FAILED);
	CHECK(strcmp(said, "nb-force: out of memory allocating 12 bytes\n") == 0);
	CHECK(child(lack_memory_in_a_thread_without_name, said, sizeof said) == NB_EXIT_FAILED);
	CHECK(strcmp(said, "openmp: out of memory\n") == 0);
	CHECK(child(complain, said, sizeof said) == 77);
	CHECK(strcmp(said, "openmp: invalid value for environment variable OMP_NUM_THREADS\n") == 0);
	return unit_end();
}
