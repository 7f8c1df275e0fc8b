/* What a system amounts to: energies and radii, as nb-stats measures them. */
#include "tools/filter/report.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"
#include "tools/nb-view/view.h"

#include <string.h>

/* Bodies for which a direct sum takes no time, and those that the first picture waits for. */
enum { FEW = 4096, SOME = 1 << 18 };

static void take_line(void *context, const struct nb_report *line)
{
	struct host *host = context;
	static const struct {
		const char *name;
		size_t at;
	} known[] = {
		{"drift", offsetof(struct quantities, drift)},
		{"virial", offsetof(struct quantities, virial)},
		{"etot", offsetof(struct quantities, etot)},
		{"r10", offsetof(struct quantities, radius[0])},
		{"r50", offsetof(struct quantities, radius[1])},
		{"r90", offsetof(struct quantities, radius[2])},
	};
	for (size_t i = 0; i < line->n; i++)
		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			if (strcmp(line->value[i].name, known[k].name) == 0)
				*(double *)(void *)((char *)&host->quantities + known[k].at) = line->value[i].real;
	host->quantities.number = host->number + 1;
}

static void start(struct nb_run *run, void *context)
{
	(void)context;
	nb_run_start(run);
}

void nb_view_start_stats(struct host *host)
{
	char *argv[] = {"nb-stats", "-q", NULL};
	struct nb_run *run = nb_require_memory(NULL, nb_run_new(nb_tool_find("nb-stats")));
	host->stats = run;
	run->take_line = take_line;
	run->line_context = host;
	if (nb_run_prepare(run, 2, argv) || nb_run_do(run, start, NULL))
		nb_view_stop_stats(host);
}

void nb_view_stop_stats(struct host *host)
{
	nb_run_free(host->stats);
	host->stats = NULL;
}

void nb_view_measure(struct host *host)
{
	struct nb_frame *frame = &host->frame;
	const size_t n = frame->rows[NB_PARTICLE];
	struct nb_run *run = host->stats;
	if (!run || !host->now || n == 0 || (host->needs.most < SOME && n > SOME) ||
		host->quantities.number == host->number + 1)
		return;
	((struct stats *)run->self)->epot = nb_frame_field(frame, NB_POT) || n <= FEW ? EPOT_AUTO : EPOT_NONE;
	run->backend = host->now;
	run->voice.file = host->voice.file; /* that of nb_view_try: what is wrong is no news */
	if (nb_run_frame(run, frame))
		nb_view_stop_stats(host); /* which cannot go on */
}
