/* What the modes have in common. */
#include "common/parse.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include <inttypes.h>
#include <string.h>

int nb_stats_next(struct nb_run *run, struct nb_frame *frame, nb_visit *visit, void *context)
{
	if (!nb_next_head(run, frame))
		return 0;
	if (nb_reader_body(&run->in, frame, visit, context) == NB_ERROR)
		nb_fail_input(run);
	return 1;
}

void nb_stats_require_unique(size_t n, const uint64_t *id, const struct nb_frame *frame, const char *where)
{
	size_t first, second;
	nb_require_ok(nb_ids_unique(n, id, &first, &second), frame);
	if (first < n)
		nb_die(NB_EXIT_FAILED, "id %" PRIu64 " appears twice in frame %" PRIu64 "%s%s%s (bodies %zu and %zu)",
			id[first], frame->number, where ? " of '" : "", where ? where : "", where ? "'" : "", first,
			second);
}

void nb_stats_add_name(struct stats *self, const struct nb_names *names, uint64_t id)
{
	const char *name = nb_names_find(names, id);
	if (self->named)
		nb_report_text(&self->report, "name", -1, name ? name : "");
}

const double *nb_stats_times(struct nb_frame *frame)
{
	struct nb_column *column = nb_frame_find(frame, "system_time");
	if (!column || column->table != NB_PARTICLE || column->ncomp != 1 || strcmp(column->dtype, "<f8") != 0 ||
		frame->rows[NB_PARTICLE] == 0)
		return NULL;
	return nb_require_memory(frame, nb_column_read(column, &nb_space_host, NB_AS_F64));
}

size_t nb_stats_heaviest(const struct nb_systems *of, size_t k, const double *mass)
{
	size_t heaviest = of->row[of->first[k]];
	for (size_t i = of->first[k]; i < of->first[k + 1]; i++)
		heaviest = mass[of->row[i]] > mass[heaviest] ? of->row[i] : heaviest;
	return heaviest;
}

void nb_stats_add_radii(struct stats *self, const double *radius, const char *of)
{
	for (size_t i = 0; i < self->measure.nradius; i++) {
		char name[NB_F64_TEXT + 10] = "r";
		nb_format_f64(self->measure.percent[i], name + 1);
		strcat(name, of);
		nb_report_real(&self->report, name, radius[i]);
	}
}
