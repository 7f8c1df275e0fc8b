/* Work that may end an instance in its middle, and that end. */
#include "common/cpu.h"
#include "common/named.h"
#include "tools/filter/filter.h"

#include <stdlib.h>
#include <string.h>

int nb_run_do(struct nb_run *run, void (*act)(struct nb_run *run, void *context), void *context)
{
	struct nb_voice *const voice = nb_speak_as(&run->voice);
	const int threads = nb_cpu_threads(), names = nb_names_of(run->files.directory);
	jmp_buf outer; /* of a call that this one is inside of */
	memcpy(&outer, &run->failed, sizeof outer);
	nb_cpu_set_threads(run->common.threads);
	run->status = NB_EXIT_OK;
	if (setjmp(run->failed) == 0)
		act(run, context);
	memcpy(&run->failed, &outer, sizeof outer);
	nb_speak_as(voice);
	nb_names_of(names);
	nb_cpu_set_threads(threads);
	return run->status;
}

void nb_stop(struct nb_run *run, int status)
{
	if (run->voice.leave)
		run->voice.leave(&run->voice, status);
	exit(status);
}

void nb_require_flushed(void)
{
	if (fflush(stdout) || ferror(stdout))
		nb_die(NB_EXIT_FAILED, "write error:");
}

void nb_leave(struct nb_run *run)
{
	nb_require_flushed();
	nb_stop(run, NB_EXIT_OK);
}
