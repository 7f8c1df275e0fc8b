#include "tools/filter/blame.h"

#include "tools/filter/patience.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Seconds that a command has to exit which has closed its output, and which has ended its stream or is given up. */
static const double GRACE = 2, SHORT_GRACE = 0.1;

int nb_blame(struct nb_coprocess *co, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(co->error, sizeof co->error, format, ap);
	va_end(ap);
	return -1;
}

int nb_judge_exit(struct nb_coprocess *co)
{
	const struct nb_group *group = &co->group;
	if (group->error)
		return nb_blame(co, "cannot be waited for: %s", strerror(group->error));
	if (group->signal)
		return nb_blame(co, "was ended by signal %d (%s)", group->signal, strsignal(group->signal));
	if (group->status == 127) /* of the shell; a link that was moved without its file is one, too */
		return nb_blame(co, "ended with status 127 (the shell has not found a program; those of nb are links "
				    "to one file, which also runs as 'nb NAME')");
	return group->status ? nb_blame(co, "ended with status %d", group->status) : 0;
}

int nb_blame_end(struct nb_coprocess *co, const char *why)
{
	const char *open = why ? " (" : "", *close = why ? ")" : "";
	const int error = nb_write_error(co);
	if (co->gave_up == NB_GAVE_UP_LATE && !error)
		return nb_blame(co, "exceeded the patience of %g s (%s)", co->patience, nb_awaited_text(co->awaited));
	if (co->gave_up == NB_GAVE_UP_CONVERTED)
		return nb_blame(co, "cannot answer: nb-convert waits for the end of its input before it converts a "
				    "frame (want programs that read and write the stream, see nb-filter(7))");
	if (co->gave_up == NB_GAVE_UP_HASTILY && !error)
		return nb_blame(co, "did not let the run end within %g s after a signal (%s)", co->haste,
			nb_awaited_text(co->awaited));
	if (error && error != EPIPE)
		return nb_blame(co, "cannot be written to: %s", strerror(error));
	if (!nb_group_has_exited(&co->group, co->gave_up ? SHORT_GRACE : GRACE))
		return !co->gave_up
			       ? nb_blame(co, "closed its output before it answered%s%s%s", open, why ? why : "", close)
		       : error ? nb_blame(co, "stopped reading its input")
			       : nb_blame(co, "lost its last program before it answered");
	if (nb_judge_exit(co))
		return -1;
	return nb_blame(co, "ended with status 0 before it answered%s%s%s", open, why ? why : "", close);
}

int nb_is_at_end(const struct nb_coprocess *co)
{
	struct pollfd p = {co->from.fd, POLLIN, 0};
	while (poll(&p, 1, 0) < 0 && errno == EINTR)
		;
	return p.revents && !(p.revents & POLLIN);
}

int nb_blame_early_end(struct nb_coprocess *co)
{
	/* the exit status may say more */
	if (nb_group_has_exited(&co->group, SHORT_GRACE) && nb_judge_exit(co))
		return -1;
	return nb_blame(co, "ended its stream before it answered");
}
