/* lap.h - where the time of a thread goes: seconds by stage of its work, which sum to all of the time looked at.
 *
 * Kernels say at which stage they are; a program that wants to know begins a table.  Without one a call costs nothing.
 */
#ifndef NB_LAP_H
#define NB_LAP_H

enum { NB_LAPS = 24 };

struct nb_laps {
	int n; /* stages, in the order in which they came first */
	struct nb_lap {
		const char *stage;	/* NULL: none that was named */
		double seconds, waited; /* waited: of the seconds, the mean of what threads waited for the last one */
	} lap[NB_LAPS];
	/* private */
	int now;
	double since;
};

/* The time of this thread goes to this table from now on, as of no stage; NULL: to none.  Returns the table before. */
struct nb_laps *nb_laps_begin(struct nb_laps *laps);
/* The time that follows is that of a stage, a text that stays.  Returns the stage before, for the end of this one. */
const char *nb_lap(const char *stage);
/* Of the present stage: work that `threads` threads shared took them `busy` seconds together, since `start`. */
void nb_lap_waited(double start, double busy, int threads);

#endif
