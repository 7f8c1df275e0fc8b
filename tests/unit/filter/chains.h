/* chains.h - instances of tools in a row, as folded pipelines have them, and force pipelines of nb-step. */
#ifndef NB_UNIT_FILTER_CHAINS_H
#define NB_UNIT_FILTER_CHAINS_H

#include "tests/unit/unit.h"
#include "tools/nb-step/step.h"

enum { MOST = 8 };

struct chain {
	char text[400];
	char *word[MOST][16];
	struct nb_run *run[MOST];
	int n;
};

static int drop(void *context, struct nb_frame *frame, int last)
{
	(void)context;
	(void)frame;
	(void)last;
	return NB_EXIT_OK;
}

static void take_wish(struct nb_run *run, void *context)
{
	(void)context;
	if (strcmp(run->common.backend, "auto") != 0)
		nb_choose_backend(run, run->common.backend);
}

/* Commands with bars between them; a word between quotes is the rest of its command. */
static void make_chain(struct chain *chain, const char *commands)
{
	char *command, *rest = chain->text;
	chain->n = 0;
	snprintf(chain->text, sizeof chain->text, "%s", commands);
	while ((command = strsep(&rest, "|"))) {
		int n = 0;
		for (char *word; (word = strsep(&command, " "));)
			if (*word)
				chain->word[chain->n][n++] = word;
		chain->word[chain->n][n] = NULL;
		struct nb_run *run = nb_run_new(nb_tool_find(chain->word[chain->n][0]));
		CHECK(nb_run_prepare(run, n, chain->word[chain->n]) == 0);
		CHECK(nb_run_do(run, take_wish, NULL) == 0);
		chain->run[chain->n++] = run;
	}
	for (int i = 0; i < chain->n; i++) {
		chain->run[i]->next = i + 1 < chain->n ? chain->run[i + 1] : NULL;
		chain->run[i]->pass.put = i + 1 < chain->n ? nb_run_feed : drop;
		chain->run[i]->pass.context = chain->run[i]->next;
	}
}

static void free_chain(struct chain *chain)
{
	for (int i = 0; i < chain->n; i++)
		nb_run_free(chain->run[i]);
}

/* The force pipeline of an instance of nb-step, folded. */
struct ring {
	struct chain chain;
	struct nb_stage stage[MOST];
	struct nb_coprocess force;
	struct step *step;
};

/* commands NULL: it is not folded. */
static void make_ring(struct ring *ring, struct nb_run *step, const char *commands)
{
	memset(ring, 0, sizeof *ring);
	ring->step = step->self;
	ring->step->force.process = &ring->force;
	ring->force.looked = 1;
	if (commands)
		make_chain(&ring->chain, commands);
	for (int i = 0; i < ring->chain.n; i++) {
		ring->stage[i].run = ring->chain.run[i];
		ring->force.ring.stage[ring->chain.n - 1 - i] = &ring->stage[i];
	}
	ring->force.ring.n = ring->chain.n;
	ring->force.ring.closed = ring->chain.n > 0;
}

static void free_ring(struct ring *ring)
{
	ring->step->force.process = NULL;
	free_chain(&ring->chain);
}

#endif
