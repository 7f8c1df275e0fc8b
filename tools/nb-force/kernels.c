/* nb-force --kernel: the kernels of the papers, by name. */
#include "tools/filter/require.h"
#include "tools/nb-force/force.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *needs(const struct nb_paper_kernel *kernel)
{
	if (strcmp(kernel->backend, "cpu") == 0)
		return "";
	return kernel->run ? " (needs a GPU)" : " (needs a GPU, and a build with CUDA)";
}

void nb_force_list_kernels(struct nb_run *run)
{
	const struct nb_paper_kernel *k;
	for (size_t i = 0; (k = nb_paper_kernel_at(i)) != NULL; i++) {
		printf("%-22s %-4s  %s\n%30s%s%s%s%s\n", k->name, k->backend, k->about, "", k->paper->name,
			*k->where ? ", " : "", k->where, needs(k));
		for (int p = 0; p < NB_PAPER_PARAMETERS && k->parameter[p].name; p++) {
			const struct nb_paper_parameter *parameter = &k->parameter[p];
			printf("%30s%s=", "", parameter->name);
			for (int c = 0; c < NB_PAPER_CHOICES && parameter->choice[c]; c++)
				printf("%s%d", c ? "|" : "", parameter->choice[c]);
			printf(" (default %d)\n", parameter->fallback);
		}
	}
	nb_leave(run);
}

/* Of "auto": the device if the kernel runs there alone, or there too and there is one. */
static const char *auto_backend(const char *kernel)
{
	const struct nb_backend *backend;
	char unused[NB_BACKEND_WHY];
	if (nb_paper_known(kernel, "cuda") && !nb_paper_known(kernel, "cpu"))
		return "cuda";
	return nb_paper_runs(kernel, "cuda") && !nb_backend_choose("cuda", &backend, unused) ? "cuda" : "cpu";
}

/* Several devices share only our own kernels. */
static void require_one_device(const struct nb_paper_kernel *kernel, const char *name)
{
	static const char shared[] = "kernels/gravity/";
	struct nb_device_list list;
	char why[NB_BACKEND_WHY];
	if (nb_device_list_read(name, &list, why, sizeof why) == NB_OK && list.n != 1 &&
		strncmp(kernel->file, shared, strlen(shared)) != 0)
		nb_die(NB_EXIT_USAGE, "kernel %s runs on one device (want -b cuda:N)", kernel->name);
}

void nb_force_choose_kernel(struct nb_run *run, struct force *opt)
{
	char why[NB_PAPER_WHY];
	const char *name = run->common.backend;
	if (strcmp(name, "auto") == 0)
		name = auto_backend(opt->kernel_text);
	if (nb_paper_choose(opt->kernel_text, strncmp(name, "cuda", 4) == 0 ? "cuda" : "cpu", &opt->kernel,
		    opt->kernel_parameter, why))
		nb_die(NB_EXIT_USAGE, "%s", why);
	const struct nb_paper_kernel *kernel = opt->kernel;
	if (opt->method != METHOD_AUTO || opt->mac_given)
		nb_die(NB_EXIT_USAGE, "options '--method' and '--mac' contradict '--kernel'");
	if (opt->theta_given && !(kernel->traits & NB_PAPER_THETA))
		nb_die(NB_EXIT_USAGE, "kernel %s has no opening angle", kernel->name);
	if (opt->potential && !(kernel->traits & NB_PAPER_POT))
		nb_die(NB_EXIT_USAGE, "kernel %s offers no potential", kernel->name);
	if (opt->jerk && !(kernel->traits & NB_PAPER_JERK))
		nb_die(NB_EXIT_USAGE, "kernel %s offers no jerk", kernel->name);
	if (opt->precision != PRECISION_AUTO && !nb_paper_offers(kernel, (enum nb_precision)opt->precision))
		nb_die(NB_EXIT_USAGE, "kernel %s does not offer that precision", kernel->name);
	require_one_device(kernel, name);
	nb_choose_backend(run, name);
}

int nb_force_run_kernel(const struct force *opt, const struct nb_gravity *g, const struct nb_boxes *boxes,
	struct nb_gravity_count *count)
{
	struct nb_paper_job job = {.gravity = g, .boxes = boxes, .theta = opt->theta};
	memcpy(job.parameter, opt->kernel_parameter, sizeof job.parameter);
	return opt->kernel->run(&job, count);
}

void nb_force_require_plane(const struct nb_run *run, const char *what, const struct nb_frame *frame)
{
	const struct nb_backend *backend = run->backend;
	const struct nb_cube plane = {{0, 0, 0}, DBL_TRUE_MIN}; /* no number but 0 is in it */
	const size_t n = frame->rows[NB_PARTICLE];
	size_t bad;
	const double *pos = nb_require_f64(frame, NB_POS, backend->space);
	nb_require_done(run, backend->first_outside(n, pos, 2, 3, &plane, &bad), "plane of", frame);
	if (bad < n)
		nb_die(NB_EXIT_FAILED, "%s is 2-D: body %" PRIu64 " of frame %" PRIu64 " has z %g (want 0)", what,
			nb_body_id(frame, bad), frame->number,
			nb_require_f64(frame, NB_POS, &nb_space_host)[3 * bad + 2]);
}
