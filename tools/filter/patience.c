/* Waiting for the answer of a co-process. */
#include "tools/filter/coprocess.h"

#include "common/timer.h"
#include "tools/filter/input.h"

#include <poll.h>

/* Seconds in which an answer may come although the last program of the command has died. */
static const double GRACE = 0.5;

/* Whether there is something to read, an end included, within so many milliseconds. */
static int has_written(const struct nb_coprocess *co, int milliseconds)
{
	struct pollfd p = {co->ring.n ? nb_ring_first(&co->ring)->files.in : co->from.fd, POLLIN, 0};
	return poll(&p, 1, milliseconds) > 0;
}

/* Whether nobody can answer any more, although the output of the command is open. */
static int is_orphaned(const struct nb_coprocess *co)
{
	return co->ring.lost || (co->ring.n && !nb_is_alive(nb_ring_first(&co->ring)));
}

int nb_coprocess_is_broken(const struct nb_coprocess *co)
{
	return co->ring.lost && !has_written(co, 0);
}

int nb_coprocess_answers(struct nb_coprocess *co, double seconds)
{
	enum { LOOK = 100 }; /* milliseconds */
	const double start = nb_now();
	if (co->ring.nanswer)
		return 1;
	for (;;) {
		const double waited = nb_now() - start, left = seconds - waited;
		if (has_written(co, left > 1e-3 * LOOK ? LOOK : left > 0 ? (int)(left * 1000) + 1 : 0))
			return 1;
		if (is_orphaned(co) && waited > GRACE)
			return 1;
		if (left <= 0)
			return 0;
	}
}
