/* tests/bench/papers.c with kernels that are wrong, to see that it refuses them.  Each computes what our direct sum
 * does and then spoils it:
 *   right         nothing is wrong           zeros         all accelerations are 0
 *   silent        nothing is written         last-missing  nothing is written for the last body
 *   double        one body of a hundred is pulled twice as much
 *   less          f32 instead of f64         slip          off by 2e-5
 *   jerk-zeros    all jerks are 0            jerk-sign     all jerks are reversed
 *   tree-right, tree-zeros, tree-rough       take theta; tree-rough is off by 0.2 theta
 *   a, b, c       right, and say on standard error that they were called */
#include "kernels/papers/papers.h"

static int choose_wrong(const char *text, const char *backend, const struct nb_paper_kernel **kernel,
	int parameter[NB_PAPER_PARAMETERS], char *why);

#define nb_paper_choose choose_wrong
#include "tests/bench/papers.c" /* the program as it is */

static int right(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	return nb_gravity_direct_cpu(job->gravity, count);
}

static void scale(const struct nb_paper_job *job, double *vector, size_t every, double by)
{
	for (size_t k = 0; vector && k < 3 * job->gravity->n; k++)
		if (k / 3 % every == 0)
			vector[k] *= by;
}

static int zeros(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const int status = right(job, count);
	scale(job, job->gravity->acc, 1, 0);
	return status;
}

static int silent(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	(void)job, (void)count;
	return NB_OK;
}

static int last_missing(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	double *last = job->gravity->acc + 3 * (job->gravity->n - 1), kept[3];
	memcpy(kept, last, sizeof kept);
	const int status = right(job, count);
	memcpy(last, kept, sizeof kept);
	return status;
}

static int doubled(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const int status = right(job, count);
	scale(job, job->gravity->acc, 100, 2);
	return status;
}

static int less(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	struct nb_gravity g = *job->gravity;
	g.precision = NB_F32;
	return nb_gravity_direct_cpu(&g, count);
}

static int slip(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const int status = right(job, count);
	scale(job, job->gravity->acc, 1, 1 + 2e-5);
	return status;
}

static int jerk_zeros(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const int status = right(job, count);
	scale(job, job->gravity->jerk, 1, 0);
	return status;
}

static int jerk_sign(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const int status = right(job, count);
	scale(job, job->gravity->jerk, 1, -1);
	return status;
}

static int tree_rough(const struct nb_paper_job *job, struct nb_gravity_count *count)
{
	const int status = right(job, count);
	scale(job, job->gravity->acc, 1, 1 + 0.2 * job->theta);
	return status;
}

#define TELLS(name)                                                                     \
	static int name(const struct nb_paper_job *job, struct nb_gravity_count *count) \
	{                                                                               \
		fprintf(stderr, #name " ");                                             \
		return right(job, count);                                               \
	}
TELLS(a)
TELLS(b)
TELLS(c)

enum { EVERYTHING = NB_PAPER_F32 | NB_PAPER_F64 | NB_PAPER_JERK, TREE = EVERYTHING | NB_PAPER_THETA };

static int choose_wrong(const char *text, const char *backend, const struct nb_paper_kernel **kernel,
	int parameter[NB_PAPER_PARAMETERS], char *why)
{
	static const struct nb_paper_kernel table[] = {
		{.name = "right", .traits = EVERYTHING, .run = right},
		{.name = "zeros", .traits = EVERYTHING, .run = zeros},
		{.name = "silent", .traits = EVERYTHING, .run = silent},
		{.name = "last-missing", .traits = EVERYTHING, .run = last_missing},
		{.name = "double", .traits = EVERYTHING, .run = doubled},
		{.name = "less", .traits = NB_PAPER_F64, .run = less},
		{.name = "slip", .traits = EVERYTHING, .run = slip},
		{.name = "jerk-zeros", .traits = EVERYTHING, .run = jerk_zeros},
		{.name = "jerk-sign", .traits = EVERYTHING, .run = jerk_sign},
		{.name = "tree-right", .traits = TREE, .run = right},
		{.name = "tree-zeros", .traits = TREE, .run = zeros},
		{.name = "tree-rough", .traits = TREE, .run = tree_rough},
		{.name = "a", .traits = EVERYTHING, .run = a},
		{.name = "b", .traits = EVERYTHING, .run = b},
		{.name = "c", .traits = EVERYTHING, .run = c},
	};
	(void)backend;
	memset(parameter, 0, NB_PAPER_PARAMETERS * sizeof *parameter);
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		if (strcmp(text, table[k].name) == 0) {
			*kernel = &table[k];
			return NB_OK;
		}
	snprintf(why, NB_PAPER_WHY, "no such kernel");
	return NB_EINVAL;
}
