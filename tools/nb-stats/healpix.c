/* --healpix: how many bodies, and how much mass, a sky has in each of its pixels. */
#include "kernels/measure/measure.h"
#include "tools/filter/require.h"
#include "tools/nb-stats/stats.h"

#include "common/mem.h"

#include <math.h>

static void add_pixel(struct nb_report *report, const struct nb_frame *frame, size_t pixel, uint64_t n, double mass)
{
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", nb_require_attribute(frame, "time", 0));
	nb_report_integer(report, "pixel", 9, pixel);
	nb_report_integer(report, "n", 10, n);
	nb_report_real(report, "mass", mass);
}

static void healpix(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	struct nb_report *report = &self->report;
	const size_t pixels = 12 * (size_t)self->wanted[HEALPIX] * (size_t)self->wanted[HEALPIX];
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host),
		     *mass = nb_require_f64(frame, NB_MASS, &nb_space_host);
	uint64_t *count = nb_require_memory(frame, nb_alloc_zero(pixels, sizeof *count));
	double *sum = nb_require_memory(frame, nb_alloc_zero(pixels, sizeof *sum));
	(void)run;
	for (size_t i = 0; i < frame->rows[NB_PARTICLE]; i++) {
		const double *x = pos + 3 * i, r = hypot(hypot(x[0], x[1]), x[2]);
		if (!(r >= self->inner && r < self->outer))
			continue;
		const uint32_t pixel = nb_healpix_ring(self->wanted[HEALPIX], x);
		count[pixel]++;
		sum[pixel] += mass[i];
	}
	if (!report->header_done) { /* also where there are no bodies */
		add_pixel(report, frame, 0, 0, 0);
		nb_report_header(report);
	}
	for (size_t k = 0; k < pixels; k++)
		if (count[k]) {
			add_pixel(report, frame, k, count[k], sum[k]);
			nb_report_line(report);
		}
	nb_free_all(count, sum);
	nb_require_flushed();
}

const struct mode nb_stats_healpix = {.option = "healpix", .frame = healpix, .work = nb_stats_work_by_host};
