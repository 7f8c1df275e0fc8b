/* ring.h - the programs of a command that frames are sent through and come back from, folded into this process.
 *
 * The command's last program folds into this process, which reads its output, the one before into that one, and so on.
 * Where the first of them reads what this process sends, the ring is closed: a frame goes through all functions in
 * memory.  Where another program comes first, the ring is open: frames are sent to it as bytes, and the programs behind
 * it are folded. */
#ifndef NB_FILTER_RING_H
#define NB_FILTER_RING_H

#include "tools/filter/stage.h"

enum { NB_RING_MOST = 32 };

struct nb_ring {
	int n; /* stages, 0: nothing is folded */
	int closed;
	int lost; /* the command's last program was one of this build, and seemed to have died before it folded */
	char before[NB_HOLDER_NAME]; /* the program that writes into the ring if it is open, or "" */
	/* private */
	struct nb_stage *stage[NB_RING_MOST]; /* the last one first */
	struct nb_frame *answer;	      /* frames that have come back */
	size_t nanswer, room;
};

/* Collects the programs behind a FIFO, of which from is the read end, with a listener on it; to: the write end of the
 * FIFO that the command reads.  Waits for programs that are about to start, 20 ms at most for those that are not of
 * this build. */
void nb_ring_collect(struct nb_ring *ring, int listener, int from, int to);
/* Whether it is still true that the command's last program has died; from as above. */
int nb_ring_lost(const struct nb_ring *ring, int from);
/* The instance that gets a frame first, of a ring that is not empty. */
struct nb_run *nb_ring_first(const struct nb_ring *ring);
/* Passes a frame, which is empty then, through a closed ring.  0, or -1: a program has failed, after its messages; the
 * processes of all of them end. */
NB_MUST_CHECK int nb_ring_pass(struct nb_ring *ring, struct nb_frame *frame);
/* Reads one frame from the program before an open ring, unless an answer is there.  As nb_ring_pass. */
NB_MUST_CHECK int nb_ring_pull(struct nb_ring *ring);
/* Moves the first answer to frame: 1, or 0 if there is none. */
int nb_ring_answer(struct nb_ring *ring, struct nb_frame *frame);
/* After the last frame, when the input of the command is closed or about to be: the ends of all tools, in order.  As
 * nb_ring_pass. */
NB_MUST_CHECK int nb_ring_end(struct nb_ring *ring);
/* To be called while the first instance of an open ring works: ends that, and lets all others end, without a message.
 */
_Noreturn void nb_ring_leave(struct nb_ring *ring);
/* Its processes are about to be killed, which is no failure any more. */
void nb_ring_expect_end(struct nb_ring *ring);
/* Ends what is left, as if all had been interrupted. */
void nb_ring_clear(struct nb_ring *ring);

#endif
