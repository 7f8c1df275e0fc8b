/* --levels: how many bodies made block time steps of each length. */
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <string.h>

enum { LEVELS_OF_U1 = 256 };

static void add_level(struct nb_report *report, const struct nb_frame *frame, size_t level, uint64_t n)
{
	const double all = (double)frame->rows[NB_PARTICLE];
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", nb_require_attribute(frame, "time", 0));
	nb_report_integer(report, "level", 5, level);
	nb_report_integer(report, "n", 10, n);
	nb_report_real(report, "share", n ? (double)n / all : 0);
}

/* From level 0 to the last one that has bodies. */
static void levels(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct nb_report *report = &self->report;
	uint64_t count[LEVELS_OF_U1] = {0};
	size_t end = 0;
	(void)run;
	struct nb_column *column = nb_require_field(frame, NB_LEVEL);
	if (strcmp(column->dtype, "|u1") != 0 || column->ncomp != 1)
		nb_die(NB_EXIT_FAILED, "field 'level' of frame %" PRIu64 " has type '%s' (want |u1)", frame->number,
			column->dtype);
	const unsigned char *level = nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_WIRE));
	for (size_t i = 0; i < column->rows; i++) {
		count[level[i]]++;
		end = level[i] >= end ? level[i] + (size_t)1 : end;
	}
	if (!report->header_done) { /* also where there are no bodies */
		add_level(report, frame, 0, 0);
		nb_report_header(report);
	}
	for (size_t k = 0; k < end; k++) {
		add_level(report, frame, k, count[k]);
		nb_report_line(report);
	}
	nb_require_flushed();
}

const struct mode nb_stats_levels = {.option = "levels", .frame = levels, .work = nb_stats_work_by_host};
