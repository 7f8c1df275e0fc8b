/* watch.h - the processes whose work is done in this one.
 *
 * An instance looks from frame to frame, and a run from step to step, whether its process is alive.  Work on a single
 * frame may take longer than somebody who has killed a process wants to wait: a thread sees it, and ends this process
 * if the instance has not noticed within a second. */
#ifndef NB_FILTER_WATCH_H
#define NB_FILTER_WATCH_H

#include "common/status.h"

enum { NB_WATCH_MOST = 64 };

/* From now on, and no more; link: a descriptor that is at its end once the process has died.  1; or 0: there are
 * NB_WATCH_MOST already, and this process can do the work of no other one. */
NB_MUST_CHECK int nb_watch(int link);
void nb_watch_no_more(int link);
/* 1 if that is so now. */
int nb_link_is_at_end(int link);

#endif
