#include "common/lap.h"

#include "common/timer.h"

#include <string.h>

static _Thread_local struct nb_laps *table;

/* More stages than there is room for are one with the last. */
static int find(struct nb_laps *laps, const char *stage)
{
	int k = 0;
	while (k < laps->n && laps->lap[k].stage != stage &&
		!(stage && laps->lap[k].stage && strcmp(laps->lap[k].stage, stage) == 0))
		k++;
	if (k == NB_LAPS)
		return k - 1;
	if (k == laps->n)
		laps->lap[laps->n++] = (struct nb_lap){.stage = stage};
	return k;
}

const char *nb_lap(const char *stage)
{
	if (!table)
		return NULL;
	const double now = nb_now();
	const char *before = table->lap[table->now].stage;
	table->lap[table->now].seconds += now - table->since;
	table->since = now;
	table->now = find(table, stage);
	return before;
}

struct nb_laps *nb_laps_begin(struct nb_laps *laps)
{
	struct nb_laps *before = table;
	nb_lap(NULL);
	table = laps;
	if (laps) {
		laps->now = find(laps, NULL);
		laps->since = nb_now();
	}
	return before;
}

void nb_lap_waited(double start, double busy, int threads)
{
	if (table)
		table->lap[table->now].waited += nb_now() - start - busy / threads;
}
