/* measure.c - runs a command as it is and appends what it took to a file.
 *
 *     measure FILE COMMAND [ARGUMENT ...]
 *
 * One line: seconds of wall clock, seconds of processor, largest resident memory in bytes, page faults, command.
 * Processes that the command waited for count as its own.  Standard input and output are the command's own, so it can
 * stand anywhere in a pipeline.  Exits as the command does. */
#include "common/timer.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: measure FILE COMMAND [ARGUMENT ...]\n");
		return 2;
	}
	double start = nb_now();
	pid_t child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	int status;
	struct rusage usage;
	if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
		perror("measure");
		return 1;
	}
	double seconds = nb_now() - start;
	double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		     1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	FILE *file = fopen(argv[1], "a");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	fprintf(file, "%.6f %.6f %.0f %ld", seconds, cpu, 1024.0 * (double)usage.ru_maxrss, usage.ru_minflt);
	for (int i = 2; i < argc; i++)
		fprintf(file, " %s", argv[i]);
	fprintf(file, "\n");
	if (fclose(file))
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
