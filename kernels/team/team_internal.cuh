/* team_internal.cuh - what the parts of the team know of each other: the members (team_cuda.cu), what is sent to them
 * (send_cuda.cu), a round (round_cuda.cu); private. */
#ifndef NB_TEAM_INTERNAL_CUH
#define NB_TEAM_INTERNAL_CUH

#include <atomic>
#include <chrono>
#include <mutex>

#include "kernels/team/team.cuh"

struct nb_team_member {
	int device;
	bool peer;   /* copies between it and the primary need no way through the host */
	bool direct; /* its kernels may use the primary's memory */
	int from;    /* the member that passes on to it what is sent */
	cudaStream_t work[NB_TEAM_STREAMS], urgent, push, back;
	cudaEvent_t done[NB_TEAM_STREAMS], made;
	void *note;
	cudaStream_t watch;  /* of this device: sums of what was sent */
	cudaEvent_t room;    /* of this device: there is memory for what is sent */
	cudaEvent_t pushed;  /* of the primary: the last of push */
	cudaStream_t pass;   /* of from's device */
	cudaEvent_t arrived; /* of from's device: up to here it was sent */
	/* up to now: */
	size_t parts;
	double worked, waited; /* s */
};

extern struct nb_team_state {
	int n;
	char name[5 + 11 * NB_TEAM_MOST];
	struct nb_team_member member[NB_TEAM_MOST];
	cudaEvent_t ready;     /* of the primary: what the parts read is there */
	cudaEvent_t begun;     /* of the primary: what is sent is there */
	volatile int *stopped; /* pinned, for kernels: round.stop */
	bool direct, mutual, may_direct;
	std::mutex lock;
} nb_team;

/* An array at the primary, and its copies at the other members, followed by their sums if it was sent early. */
struct nb_team_sent {
	const void *there;
	size_t bytes;
	void *here[NB_TEAM_MOST];
	bool early, asked;	 /* early: is to be compared; asked: for the next round */
	unsigned long long *sum; /* of an early one: at the primary */
};

/* For the next round. */
extern struct nb_team_queue {
	int n;
	struct nb_team_sent row[NB_TEAM_COPIES];
	std::mutex lock;
} nb_team_ahead;

struct nb_team_round {
	size_t parts;
	int members;
	nb_team_work work;
	void *context;
	std::atomic<size_t> dealt;
	std::atomic<bool> stop;
	int nsent;
	struct nb_team_sent sent[NB_TEAM_COPIES];

	/* Takes what was sent for it; drops it at its end, when all members are done. */
	nb_team_round(size_t p, int m, nb_team_work w, void *c);
	~nb_team_round();
	nb_team_round(const nb_team_round &) = delete;
	nb_team_round &operator=(const nb_team_round &) = delete;
};

/* s */
static inline double nb_team_now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* All that is queued up to now in `by` comes before what will be queued in `to`. */
int nb_team_follow(const struct nb_team_worker &worker, cudaStream_t by, cudaStream_t to);
/* A round will begin soon: members' threads wake up, which takes 50 us, and look for it. */
void nb_team_rouse(void);
/* Gives the memory of copies back, once nothing uses it; the primary is current. */
void nb_team_drop(int n, struct nb_team_sent *sent);

#endif
