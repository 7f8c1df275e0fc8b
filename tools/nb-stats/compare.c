/* --compare: errors of the accelerations of each frame against those of another stream. */
#include "common/mem.h"
#include "common/named.h"
#include "kernels/measure/measure.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"
#include "tools/filter/views.h"
#include "tools/nb-stats/stats.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

/* ---- the reference ------------------------------------------------------------------------------ */

static int next_reference(struct stats *self, struct nb_frame *frame)
{
	struct nb_reader *file = &self->compare.file;
	enum nb_answer answer = nb_reader_next(file, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "'%s': %s", self->compare_path, file->error);
	return answer == NB_FRAME;
}

static void begin(struct nb_run *run, struct stats *self)
{
	(void)run;
	const int fd = nb_open_named(self->compare_path, O_RDONLY);
	if (fd < 0)
		nb_die(NB_EXIT_FAILED, "'%s':", self->compare_path);
	self->compare.opened = 1;
	if (nb_reader_open(&self->compare.file, fd))
		nb_die(NB_EXIT_FAILED, "out of memory");
	if (!next_reference(self, &self->compare.ref))
		nb_die(NB_EXIT_FAILED, "'%s' has no frames to compare with", self->compare_path);
	self->compare.more = self->compare.several = next_reference(self, &self->compare.next);
}

/* Moves on to the next frame of the file, if it has several. */
static void advance(struct stats *self)
{
	if (self->compare.count == 0 || !self->compare.several)
		return;
	if (!self->compare.more)
		nb_die(NB_EXIT_FAILED, "'%s' has %" PRIu64 " frames, but the stream has more", self->compare_path,
			self->compare.count);
	struct nb_frame swap = self->compare.ref;
	self->compare.ref = self->compare.next;
	self->compare.next = swap;
	self->compare.more = next_reference(self, &self->compare.next);
}

static void end(struct nb_run *run, struct stats *self)
{
	(void)run;
	if (self->compare.more && self->compare.count > 0)
		nb_die(NB_EXIT_FAILED, "'%s' has more frames than the %" PRIu64 " of the stream", self->compare_path,
			self->compare.count);
}

static void clear(struct stats *self)
{
	nb_frame_clear(&self->compare.ref);
	nb_frame_clear(&self->compare.next);
	nb_free(self->compare.row);
	if (self->compare.opened) {
		nb_reader_close(&self->compare.file);
		close(self->compare.file.fd);
	}
}

/* ---- a frame ------------------------------------------------------------------------------------ */

/* Forces at other places are no errors of a method. */
static void warn_if_moved(struct stats *self, const struct nb_frame *frame, const uint32_t *row)
{
	const struct nb_frame *ref = &self->compare.ref;
	if (self->compare.warned_of_places || !nb_frame_field(frame, NB_POS) || !nb_frame_field(ref, NB_POS))
		return;
	const double *x = nb_require_f64(frame, NB_POS, &nb_space_host);
	const double *y = nb_require_f64(ref, NB_POS, &nb_space_host);
	double largest = 0;
	for (size_t i = 0; i < 3 * ref->rows[NB_PARTICLE]; i++)
		largest = fmax(largest, fabs(y[i]));
	for (size_t k = 0; k < ref->rows[NB_PARTICLE]; k++)
		for (int c = 0; c < 3; c++)
			if (!(fabs(x[3 * (size_t)row[k] + c] - y[3 * k + c]) <= 1e-6 * largest)) { /* f32 rounds less */
				nb_warn("the body with id %" PRIu64 " is elsewhere in '%s' than in frame %" PRIu64,
					nb_require_ids(ref, &nb_space_host)[k], self->compare_path, frame->number);
				self->compare.warned_of_places = 1;
				return;
			}
}

/* Forces with another softening or another G are no errors of a method. */
static void warn_if_other_law(struct stats *self, const struct nb_frame *frame)
{
	static const char *const key[] = {"softening", "G"};
	static const double absent[] = {0, 1};
	for (size_t k = 0; k < sizeof key / sizeof *key && !self->compare.warned_of_law; k++) {
		const double x = nb_require_attribute(frame, key[k], absent[k]);
		const double y = nb_require_attribute(&self->compare.ref, key[k], absent[k]);
		self->compare.warned_of_law = x != y;
		if (x != y)
			nb_warn("%s is %g in frame %" PRIu64 " and %g in '%s'", key[k], x, frame->number, y,
				self->compare_path);
	}
	const int has = nb_frame_field(frame, NB_EPS) != NULL;
	if (!self->compare.warned_of_law && has != (nb_frame_field(&self->compare.ref, NB_EPS) != NULL)) {
		self->compare.warned_of_law = 1;
		nb_warn("frame %" PRIu64 " has %s column 'eps', unlike '%s'", frame->number, has ? "a" : "no",
			self->compare_path);
	}
	const enum nb_softening kernel = nb_require_softening_kernel(frame),
				other = nb_require_softening_kernel(&self->compare.ref);
	if (!self->compare.warned_of_law && kernel != other) {
		self->compare.warned_of_law = 1;
		nb_warn("the softening kernel is %s in frame %" PRIu64 " and %s in '%s'", nb_softening_name[kernel],
			frame->number, nb_softening_name[other], self->compare_path);
	}
}

/* Both frames have what is needed. */
static void require_comparable(const struct stats *self, const struct nb_frame *frame)
{
	const struct nb_frame *ref = &self->compare.ref;
	if (!nb_frame_field(ref, NB_ACC) || !nb_frame_field(ref, NB_ID))
		nb_die(NB_EXIT_FAILED, "field '%s' missing in frame %" PRIu64 " of '%s'",
			nb_frame_field(ref, NB_ACC) ? "id" : "acc", ref->number, self->compare_path);
	nb_require_finite(frame, nb_require_field(frame, NB_ACC));
	nb_require_finite(ref, nb_frame_field(ref, NB_ACC));
	nb_require_field(frame, NB_ID);
	if (frame->rows[NB_PARTICLE] > 0 && ref->rows[NB_PARTICLE] == 0)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " of '%s' has no bodies to compare with", ref->number,
			self->compare_path);
}

/* The rows in the frame of the bodies of the reference. */
static const uint32_t *match(struct stats *self, const struct nb_frame *frame)
{
	const struct nb_frame *ref = &self->compare.ref;
	const size_t n = frame->rows[NB_PARTICLE], count = ref->rows[NB_PARTICLE];
	const uint64_t *id = nb_require_ids(frame, &nb_space_host), *ref_id = nb_require_ids(ref, &nb_space_host);
	size_t missing;
	nb_free(self->compare.row);
	self->compare.row = nb_require_memory(frame, nb_alloc(count, sizeof *self->compare.row));
	nb_stats_require_unique(n, id, frame, NULL);
	nb_stats_require_unique(count, ref_id, ref, self->compare_path);
	int status = nb_ids_match(n, id, count, ref_id, self->compare.row, &missing);
	if (status == NB_EINVAL)
		nb_die(NB_EXIT_FAILED, "frame %" PRIu64 " has no body with the id %" PRIu64 " of '%s'", frame->number,
			ref_id[missing], self->compare_path);
	nb_require_ok(status, frame);
	return self->compare.row;
}

static void compare(struct nb_run *run, struct stats *self, struct nb_frame *frame)
{
	const struct nb_frame *ref = &self->compare.ref;
	struct nb_report *report = &self->report;
	struct nb_vector_error error;
	(void)run;
	advance(self);
	require_comparable(self, frame);
	const size_t n = frame->rows[NB_PARTICLE], count = ref->rows[NB_PARTICLE];
	const uint32_t *row = match(self, frame);
	warn_if_moved(self, frame, row);
	warn_if_other_law(self, frame);
	nb_require_ok(nb_vector_find_error(count, nb_require_f64(frame, NB_ACC, &nb_space_host), row,
			      nb_require_f64(ref, NB_ACC, &nb_space_host), &error),
		frame);
	self->compare.count++;

	const double time = nb_require_attribute(frame, "time", 0);
	nb_report_integer(report, "frame", 5, frame->number);
	nb_report_real(report, "time", time);
	nb_report_real(report, "n", (double)n);
	nb_report_real(report, "compared", (double)count);
	nb_report_real(report, "median", error.median);
	nb_report_real(report, "rms", error.rms);
	nb_report_real(report, "p99", error.p99);
	nb_report_real(report, "max", error.max);
	nb_report_real(report, "rms_ratio", error.rms_ratio);
	nb_report_line(report);
}

const struct mode nb_stats_compare = {
	.option = "compare", .begin = begin, .frame = compare, .end = end, .clear = clear};
