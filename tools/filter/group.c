#include "tools/filter/group.h"

#include "common/system.h"
#include "common/timer.h"
#include "tools/filter/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds to react to SIGTERM, and between the first two looks. */
static const double GRACE = 2, FIRST_PAUSE = 1e-4, LAST_PAUSE = 0.01;

static pthread_mutex_t guarding = PTHREAD_MUTEX_INITIALIZER;

void nb_group_guard(struct nb_group *group, char **environment)
{
	int end[2];
	pthread_mutex_lock(&guarding);
	if (!group->unguarded && nb_spawn_pipe(end) == 0) {
		if (nb_spawn_guardian(group->id, environment, end[0], &group->guardian)) {
			group->guardian = 0;
			close(end[1]);
		}
		close(end[0]);
		group->lifeline = end[1];
	}
	pthread_mutex_unlock(&guarding);
}

static void dismiss_guardian(struct nb_group *group)
{
	pthread_mutex_lock(&guarding);
	if (group->guardian > 0) {
		kill(group->guardian, SIGKILL);
		while (waitpid(group->guardian, NULL, 0) < 0 && errno == EINTR)
			;
		close(group->lifeline);
	}
	group->guardian = 0;
	group->unguarded = 1;
	pthread_mutex_unlock(&guarding);
}

int nb_group_start(struct nb_group *group, const char *command, char **environment, int in, int out, int err,
	const sigset_t *blocked)
{
	*group = (struct nb_group){.id = 0};
	nb_system_adopt(); /* see is_empty */
	const int error = nb_spawn(command, environment, in, out, err, blocked, &group->id);
	if (error)
		group->id = 0;
	return error;
}

int nb_group_has_exited(struct nb_group *group, double seconds)
{
	const double start = nb_now();
	for (double pause = FIRST_PAUSE; group->id > 0 && !group->exited;
		pause = pause < LAST_PAUSE ? 2 * pause : pause) {
		siginfo_t info = {.si_pid = 0};
		if (waitid(P_PID, (id_t)group->id, &info, WEXITED | WNOHANG | WNOWAIT) && errno != EINTR) {
			group->error = errno;
			group->exited = 1;
		} else if (info.si_pid > 0) {
			group->status = info.si_code == CLD_EXITED ? info.si_status : 0;
			group->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
			group->exited = 1;
		} else if (nb_now() - start >= seconds) {
			break;
		} else {
			nb_pause(pause);
		}
	}
	return group->exited;
}

/* All that has ended: children whose parent has ended are those of this process, which nb_group_start asks for.  Where
 * nobody else took care of them, they would count as members of the group for ever.  Once the shell has exited. */
static int is_empty(const struct nb_group *group)
{
	while (waitpid(-group->id, NULL, WNOHANG) > 0)
		;
	/* as long as one of its processes is left, no other group gets the number */
	return kill(-group->id, 0) && errno == ESRCH;
}

int nb_group_is_gone(struct nb_group *group, double seconds)
{
	const double start = nb_now();
	if (group->id <= 0)
		return 1;
	if (!nb_group_has_exited(group, seconds))
		return 0;
	for (double pause = FIRST_PAUSE; !is_empty(group); pause *= 2) {
		if (nb_now() - start >= seconds)
			return 0;
		nb_pause(pause < LAST_PAUSE ? pause : LAST_PAUSE);
	}
	dismiss_guardian(group);
	group->id = 0;
	return 1;
}

void nb_group_end(struct nb_group *group)
{
	if (group->id <= 0)
		return;
	kill(-group->id, SIGTERM);
	kill(-group->id, SIGCONT); /* a stopped process must run to die */
	if (nb_group_is_gone(group, GRACE))
		return;
	kill(-group->id, SIGKILL); /* what ignored SIGTERM, be it the shell or a child that outlived it */
	if (nb_group_is_gone(group, GRACE))
		return;
	dismiss_guardian(group); /* the system holds on to a process */
	group->id = 0;
}
