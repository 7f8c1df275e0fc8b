/* The judgement of the benchmark of the papers (tests/bench/judge.h), and its order of calls (shuffle.h). */
#include "tests/bench/judge.h"
#include "tests/bench/shuffle.h"
#include "tests/unit/unit.h"

enum { N = 100 };

static double want[3 * N], got[3 * N], error[N];
static size_t target[N];

/* Accelerations of many sizes, all right. */
static void reset(void)
{
	for (size_t k = 0; k < 3 * N; k++)
		got[k] = want[k] = (double)(k % 7 + 1) * (k % 2 ? 1 : -1);
	for (size_t i = 0; i < N; i++)
		target[i] = i;
}

static int accepted(int f64, double theta)
{
	return judge_accepts(judge(N, got, N, target, want, error), judge_bound(f64, theta, 0, 0));
}

static void test_exact(void)
{
	reset();
	CHECK(accepted(1, 0));
	got[7] *= 1 + 1e-9; /* one body by that */
	CHECK(accepted(0, 0));
	CHECK(!accepted(1, 0));
	got[7] *= 1.01;
	CHECK(!accepted(0, 0));
	memset(got, 0, sizeof got);
	CHECK(!accepted(0, 0));
	CHECK(!accepted(0, 0.5));
	CHECK(!accepted(0, 100));
}

static void test_trees(void)
{
	reset();
	for (size_t k = 0; k < 3 * N; k++)
		got[k] *= 1.04;
	CHECK(accepted(0, 0.5)); /* 0.04 < 0.1 theta */
	CHECK(!accepted(0, 0.3));
	for (size_t k = 0; k < 3 * N; k++)
		got[k] = 1.2 * want[k];
	CHECK(!accepted(0, 100)); /* no angle is large enough */
	/* a third of the bodies wrong: the median does not see it, rms does */
	reset();
	for (size_t i = 0; i < N / 3; i++)
		got[3 * i] = -got[3 * i];
	CHECK(judge(N, got, N, target, want, error).median == 0);
	CHECK(!accepted(0, 0.5));
}

static void test_not_numbers(void)
{
	const double odd[] = {NAN, INFINITY, -INFINITY};
	for (int k = 0; k < 3; k++) {
		reset();
		got[50] = odd[k];
		CHECK(!accepted(0, 0));
		CHECK(!accepted(0, 0.5));
		/* also of a body that is not in the sample, and where the sample is empty */
		target[0] = 99;
		const struct judgement j = judge(N, got, 1, target, want + 3 * 99, error);
		CHECK(j.bad == 1 && j.rms == 0 && !judge_accepts(j, judge_bound(0, 0.5, 0, 0)));
		CHECK(!judge_accepts(judge(N, got, 0, target, want, error), judge_bound(0, 0, 0, 0)));
	}
	const struct judgement bad = {NAN, 0, 0}, worse = {0, NAN, 0};
	CHECK(!judge_accepts(bad, judge_bound(0, 0, 0, 0)) && !judge_accepts(worse, judge_bound(0, 0, 0, 0)));
}

static void test_nothing(void)
{
	reset(); /* the sample */
	/* bodies that feel nothing */
	memset(want, 0, sizeof want);
	memset(got, 0, sizeof got);
	CHECK(accepted(1, 0));
	got[0] = 1e-100;
	CHECK(!accepted(0, 0));
	CHECK(!accepted(0, 1));
}

static void test_bounds(void)
{
	CHECK_NEAR(judge_bound(0, 0, 0, 1000), 1e-5, 1e-18); /* few bodies cost nothing */
	CHECK_NEAR(judge_bound(0, 0, 0, 40000), 40000 / 134217728., 1e-15);
	CHECK_NEAR(judge_bound(1, 0, 0, 40000), 1e-12, 1e-25);
	CHECK_NEAR(judge_bound(0, 0, 1, 0), 1e-4, 1e-18);
	CHECK_NEAR(judge_bound(1, 0, 1, 0), 1e-11, 1e-25);
	CHECK_NEAR(judge_bound(0, 0.5, 1, 0), 0.15, 1e-15);
	CHECK_NEAR(judge_bound(0, 0.5, 0, 0), 0.05, 1e-15);
	CHECK_NEAR(judge_bound(0, 7, 0, 0), 0.1, 1e-15);
}

/* Every order of four comes about as often: 24 orders, chi^2 with 23 degrees of freedom. */
static void test_shuffle(void)
{
	enum { ORDERS = 256, RUNS = 24000 };
	static int count[ORDERS];
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		size_t thing[4] = {0, 1, 2, 3}, again[4] = {0, 1, 2, 3};
		shuffle(4, thing, seed);
		shuffle(4, again, seed);
		CHECK(memcmp(thing, again, sizeof thing) == 0);
		CHECK((1 << thing[0] | 1 << thing[1] | 1 << thing[2] | 1 << thing[3]) == 15);
		count[thing[0] | thing[1] << 2 | thing[2] << 4 | thing[3] << 6]++;
	}
	double chi2 = 0;
	int orders = 0;
	for (int k = 0; k < ORDERS; k++)
		if (count[k]) {
			orders++;
			chi2 += pow(count[k] - RUNS / 24., 2) / (RUNS / 24.);
		}
	CHECK(orders == 24);
	CHECK(chi2 < 60);
	size_t one = 5;
	shuffle(0, &one, 1);
	shuffle(1, &one, 1);
	CHECK(one == 5);
}

int main(void)
{
	test_exact();
	test_trees();
	test_not_numbers();
	test_nothing();
	test_bounds();
	test_shuffle();
	return unit_end();
}
