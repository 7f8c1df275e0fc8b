/* Progress of a run whose messages go to a file, by a clock that the test sets. */
#include "tests/unit/unit.h"
#include "tools/nb-step/step.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static double now;

double __wrap_nb_now(void);
double __wrap_nb_now_roughly(void);

double __wrap_nb_now(void)
{
	return now;
}

double __wrap_nb_now_roughly(void)
{
	return now;
}

/* Steps of 7 s up to so many seconds; all that is written. */
static void run(int verbosity, int seconds, char *text, size_t size)
{
	int ends[2];
	struct nb_voice voice = {.program = "nb-step", .verbosity = verbosity};
	struct step s = {.opt = {.steps = 100, .until_given = 1, .until = 10}};
	CHECK(pipe(ends) == 0);
	voice.file = ends[1];
	struct nb_voice *before = nb_speak_as(&voice);
	now = 1000;
	nb_step_progress_start(&s);
	for (uint64_t k = 1; 7 * k <= (uint64_t)seconds; k++) {
		now += 7;
		s.clock.now.time = 0.1 * (double)k;
		nb_step_progress_show(&s, k);
	}
	nb_step_progress_clear(&s.progress);
	nb_speak_as(before);
	close(ends[1]);
	const ssize_t n = read(ends[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(ends[0]);
}

int main(void)
{
	char text[1000];
	run(0, 59, text, sizeof text);
	CHECK(strcmp(text, "") == 0);
	run(-1, 700, text, sizeof text);
	CHECK(strcmp(text, "") == 0);
	run(0, 130, text, sizeof text);
	CHECK(strcmp(text, "nb-step: step 9 of 100, t = 0.9, 0.143 steps/s, 0:10:37 left\n"
			   "nb-step: step 18 of 100, t = 1.8, 0.143 steps/s, 0:09:34 left\n") == 0);
	return unit_end();
}
