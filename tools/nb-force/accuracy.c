/* nb-force --accuracy: the opening angle, the order and the precision that give the error that was asked for, held to
 * what --audit measures. */
#include "tools/filter/require.h"
#include "tools/nb-force/force.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What errors angles give: the 99th percentile of |da| / f, the middle of Plummer, King, Hernquist and uniform spheres
 * and disks of 100,000 bodies, which differ by 1.6 at most; from 0.05 on it falls with the power POWER. */
static const struct {
	double theta, error;
} known[] = {{1.6, 4e-3}, {1, 1.8e-3}, {0.5, 1.4e-4}, {0.2, 8e-6}, {0.1, 8.2e-7}, {0.05, 1.3e-7}};
enum { KNOWN = sizeof known / sizeof *known, ATTEMPTS = 4 };
static const double POWER = 2.7;

/* The share of what is asked for that is aimed at, by the table and after an audit, whose bound is above the
 * percentile; less than PAID, the next frame gets a larger angle. */
static const double AIM = 0.6, AIM_AUDITED = 0.8, PAID = 0.4;
/* What each arithmetic can give; a direct sum in f32 is no choice. */
static const double LEAST_TREE_F32 = 5e-7, LEAST_TREE_MIXED = 2e-7, LEAST_DIRECT_MIXED = 1e-6;

double nb_force_angle(double accuracy)
{
	const double error = AIM * accuracy;
	int k = 0;
	if (error >= known[0].error)
		return known[0].theta;
	while (k < KNOWN - 1 && error < known[k + 1].error)
		k++;
	if (k == KNOWN - 1)
		return known[k].theta * pow(error / known[k].error, 1 / POWER);
	const double power = log(known[k].error / known[k + 1].error) / log(known[k].theta / known[k + 1].theta);
	return known[k].theta * pow(error / known[k].error, 1 / power);
}

static enum nb_precision accurate_precision(const struct force *opt, enum method method)
{
	if (method == METHOD_TREE && opt->accuracy >= LEAST_TREE_F32)
		return NB_F32;
	return opt->accuracy < (method == METHOD_TREE ? LEAST_TREE_MIXED : LEAST_DIRECT_MIXED) ? NB_F64 : NB_MIXED;
}

enum nb_precision nb_force_precision(const struct force *opt, enum method method)
{
	if (method == METHOD_TREEPM)
		return opt->precision == NB_MIXED ? NB_MIXED : NB_F64;
	if (opt->precision != PRECISION_AUTO)
		return (enum nb_precision)opt->precision;
	if (opt->kernel)
		return nb_paper_precision(opt->kernel);
	if (opt->accuracy > 0)
		return accurate_precision(opt, method);
	return method == METHOD_TREE || method == METHOD_FMM ? NB_F32 : NB_F64;
}

static int order_of_walk(const struct nb_run *run, const struct force *opt)
{
	if (opt->order_given)
		return opt->order;
	if (!run->backend) /* before it is known where, nobody asks */
		return 0;
	const int cpu = strcmp(run->backend->name, "cpu") == 0;
	/* in f64 a device's second order has no local expansions */
	const int slow = !cpu && nb_force_precision(opt, METHOD_TREE) == NB_F64 && opt->mac == NB_MAC_GEOMETRIC;
	if (opt->jerk || (opt->accuracy == 0 && !slow))
		return 0;
	if (opt->theta > (cpu ? 0.5 : 0.4) && !slow)
		return cpu ? 2 : 0;	  /* on a device second order comes with the tree or not at all */
	return opt->theta > 0.22 ? 3 : 4; /* the fastest, nb-force(1) */
}

struct nb_tree_walk nb_force_walk(const struct nb_run *run, const struct force *opt)
{
	return (struct nb_tree_walk){.theta = opt->theta, .alpha = opt->alpha, .order = order_of_walk(run, opt)};
}

void nb_force_accuracy_check(const struct nb_run *run, struct force *opt)
{
	if (opt->accuracy == 0)
		return;
	if (opt->theta_given || opt->mac_given)
		nb_die(NB_EXIT_USAGE, "options '--theta' and '--mac' contradict '--accuracy', which sets the angle");
	if (opt->kernel_text || opt->method == METHOD_NEAR || opt->method == METHOD_FMM)
		nb_die(NB_EXIT_USAGE, "option '--accuracy' belongs to the methods tree and direct, not %s%s",
			opt->kernel_text ? "kernel " : "",
			opt->kernel_text ? opt->kernel_text : nb_method_name[opt->method]);
	if (!nb_given(run, &opt->audit))
		opt->audit = NB_FORCE_AUDITED;
	opt->theta = nb_force_angle(opt->accuracy);
}

void nb_force_aim(struct force *opt, enum method method, struct nb_frame *frame)
{
	if (opt->accuracy == 0)
		return;
	opt->attempts = 0;
	opt->theta = nb_force_angle(opt->accuracy);
	/* what the frame before has taught */
	if (method == METHOD_TREE && nb_require_attribute(frame, "accuracy", 0) == opt->accuracy) {
		const double theta = nb_require_attribute(frame, "accuracy_theta", opt->theta);
		opt->theta = fmin(fmax(theta, opt->theta / 4), 4 * opt->theta);
	}
}

/* The angle at which the error is `share` of what is asked for. */
static double angle_for(const struct force *opt, double share)
{
	return opt->theta * pow(share * opt->accuracy / opt->audited, 1 / POWER);
}

int nb_force_missed(struct force *opt, enum method method, struct nb_frame *frame)
{
	const double error = opt->audited, theta = opt->theta;
	const int missed = opt->accuracy > 0 && error > opt->accuracy;
	const int again = missed && method == METHOD_TREE && ++opt->attempts < ATTEMPTS;
	if (missed && !again && !opt->missed++)
		nb_warn("frame %" PRIu64
			": one body in a hundred may have an error of %.3g, more than '--accuracy %g'%s",
			frame->number, error, opt->accuracy,
			opt->precision < NB_F64 ? " (want '--precision f64')" : "");
	if (opt->accuracy == 0 || method != METHOD_TREE)
		return 0;
	nb_set_attribute_f64(frame, "accuracy", opt->accuracy);
	if (opt->audit == 0 || frame->rows[NB_PARTICLE] == 0) {
		nb_set_attribute_f64(frame, "accuracy_theta", theta);
		return 0;
	}
	if (error > opt->accuracy)
		opt->theta = fmax(angle_for(opt, AIM_AUDITED), theta / 2);
	else if (error < PAID * opt->accuracy)
		opt->theta = error > 0 ? fmin(angle_for(opt, AIM_AUDITED), 1.5 * theta) : theta;
	opt->theta = fmin(opt->theta, known[0].theta);
	nb_set_attribute_f64(frame, "accuracy_theta", opt->theta);
	return again;
}
