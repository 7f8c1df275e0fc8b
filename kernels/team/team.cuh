/* team.cuh - how a kernel's host code shares its work among the devices of the team (team.h).
 *
 *   if (nb_team_size() > 1)
 *       return nb_team_run(parts, [&](struct nb_team_worker &worker) {
 *           nb_cuda_buffer<double> out;
 *           nb_team_copies copies(worker);
 *           NB_TRY(out.alloc(..));
 *           NB_TRY(copies.add(&in.pos, 3 * n));
 *           NB_TRY(copies.fetch());
 *           for (size_t part; worker.next(&part);) {
 *               kernel<<<.., worker.stream()>>>(in, part, ..);
 *               NB_TRY(worker.copy_back(primary_out + .., out + .., bytes));
 *           }
 *           return worker.finish();
 *       });
 *
 * Each device has a host thread, which stays for all rounds; that of the primary is the caller's.  Members that are
 * more than the parts stay idle.  Member k begins with part k; all others are dealt one by one to the member that asks
 * first, so that devices that differ share the work by what they get done.  Two or three parts of a member are under
 * way at a time, on as many streams, so that the end of one overlaps the beginning of the next.
 *
 * What members read may be on its way before a round: nb_team_send, called at the primary, starts copies in the order
 * of the calls, and the copies.add() of the round that follows find them.  Through members in a chain, piece by piece,
 * they cost the primary's links one copy, however many members there are.
 *
 * Where kernels of all members may use the primary's memory (nb_team_direct), with atomic operations too, they can be
 * given the primary's arrays: to read little of them, to write results, and to deal work by one counter. */
#ifndef NB_TEAM_CUH
#define NB_TEAM_CUH

#include "kernels/device/device.cuh"
#include "kernels/team/team.h"

enum {
	NB_TEAM_MOST = 16,
	NB_TEAM_UNDER_WAY = 2, /* parts of a member, if it says nothing else; */
	NB_TEAM_STREAMS = 3,   /* at most */
	NB_TEAM_COPIES = 32,
	NB_TEAM_NOTE = 64,	 /* bytes */
	NB_TEAM_EARLY = 2,	 /* arrays */
	NB_TEAM_BODIES = 1 << 16 /* of a tree: fewer are walked by the primary sooner than they are copied */
};

struct nb_team_round;

/* A member at work, in its own thread, with its device current. */
struct nb_team_worker {
	struct nb_team_round *round;
	int member; /* 0: the primary */
	int device, primary_device;
	int sharers; /* members in the round, of this device */
	int under_way = NB_TEAM_UNDER_WAY;
	int streams = NB_TEAM_UNDER_WAY; /* 1: its parts run one after the other, as they share memory */
	cudaStream_t work[NB_TEAM_STREAMS];
	cudaStream_t urgent;			 /* of high priority */
	cudaEvent_t done[NB_TEAM_STREAMS], made; /* of this device */
	cudaStream_t push, back;     /* copies from the primary, on a stream of the primary, and to the primary */
	cudaStream_t pass, watch;    /* of nb_team_send: its copies to this member, and their sums */
	cudaEvent_t pushed, arrived; /* the last of push; of pass */
	size_t parts = 0;	     /* that it was given */
	size_t drawn = 0;	     /* reported instead, if its kernels draw their work themselves, */
	/* here or by nb_team_drew after the round */
	const int *stopped;	  /* pinned: not 0 once a member has failed, for kernels that wait */
	void *note;		  /* NB_TEAM_NOTE bytes of pinned memory, for what comes to the host */
	unsigned long long *sums; /* pinned, 2 NB_TEAM_EARLY: of what was sent early, at the primary and here */
	bool quiet = false;	  /* nothing is under way */
	int status = NB_OK;	  /* of a call in next() that failed */
	double idle = 0;	  /* seconds until all was there to begin with */

	bool is_primary() const
	{
		return member == 0;
	}

	/* The next part, once the one before the last is done; false if there is none, or if a member failed. */
	bool next(size_t *part);

	/* Where kernels of the part run; not on the default stream. */
	cudaStream_t stream() const
	{
		return work[(parts - 1) % (size_t)streams];
	}

	/* The next work of the part may go to the stream urgent, behind what its own stream has: kernels that end a
	 * part, and would otherwise queue behind those of the next part. */
	NB_MUST_CHECK int begin_urgent();

	/* Queues a copy to the primary's memory of what the part's stream has computed up to now, and urgent; nothing
	 * if that is the same place. */
	NB_MUST_CHECK int copy_back(void *to, const void *from, size_t bytes);

	/* Lets the parts use memory that was allocated since fetch(). */
	NB_MUST_CHECK int follow_default();

	/* Waits for all that this member has under way; what went wrong in it, or in next(). */
	NB_MUST_CHECK int finish();
};

/* Copies in a member's memory of arrays at the primary; at the primary, the arrays themselves. */
struct nb_team_copies {
	struct nb_team_worker &worker;
	struct {
		void *here;
		const void *there;
		size_t bytes;
		bool owned;
		const struct nb_team_sent *sent; /* on its way already, or null */
	} row[NB_TEAM_COPIES];
	int n = 0, compared = 0; /* of them; whose sums are */
	bool later = false;

	explicit nb_team_copies(struct nb_team_worker &h) : worker(h)
	{
	}
	nb_team_copies(const nb_team_copies &) = delete;
	nb_team_copies &operator=(const nb_team_copies &) = delete;
	/* Waits for what the member has under way: buffers that it uses are declared before, and so freed later. */
	~nb_team_copies();

	/* *array, of count elements at the primary, will be those of this member after fetch().  Null stays null. */
	template <class T> NB_MUST_CHECK int add(T **array, size_t count)
	{
		void *place = (void *)*array;
		NB_TRY(add_bytes(&place, count * sizeof(T)));
		*array = (T *)place;
		return NB_OK;
	}
	NB_MUST_CHECK int add_bytes(void **array, size_t bytes);
	/* The same into memory that the member's device has already, such as a __device__ variable. */
	NB_MUST_CHECK int put(void *here, const void *there, size_t bytes);

	/* Copies them, after all that the caller of nb_team_run had queued at the primary; returns when they are there.
	 * Parts may use what this member has allocated up to now. */
	NB_MUST_CHECK int fetch();
	/* The same in two calls.  Kernels in stream(), and what follows them in urgent and back, come after the copies;
	 * then the host waits for these, which is idle time.  compare_later: what was sent early is taken whether or
	 * not it has changed since; after finish(), differ() says whether the parts must be done again for that. */
	NB_MUST_CHECK int queue(bool compare_later = false);
	NB_MUST_CHECK int differ(bool *wrong);
	NB_MUST_CHECK int wait();
};

/* The part that a member had in the round that was last was so many, which its kernels have drawn. */
void nb_team_drew(int member, size_t parts);

/* Starts copies of an array at the primary to all other members, after all that is queued on the primary's default
 * stream; copies of the next round have it.  It must stay as it is until the end of that round.  Without memory for it
 * nothing is sent, and members copy by themselves. */
NB_MUST_CHECK int nb_team_send(const void *array, size_t bytes, size_t least = 0, bool marked = false);
/* least: arrays of fewer bytes are sent only if they were early (nb_team_early).
 * marked: only after what was queued there when nb_team_mark was called last. */
NB_MUST_CHECK int nb_team_mark(void);
/* For a caller that fails before the round. */
void nb_team_unsend(void);

/* The same for an array that may be asked for: the next round takes what was sent if nb_team_send is called for it, and
 * copies anew if it has changed.  bytes: a multiple of 8.  What was sent early before, and not used, is dropped. */
struct nb_team_early {
	const struct {
		const void *there;
		size_t bytes;
	} array[NB_TEAM_EARLY];
	const bool wanted;
	bool sent = false;

	nb_team_early(bool want, const void *one, size_t bytes, const void *other, size_t other_bytes)
	    : array{{one, bytes}, {other, other_bytes}}, wanted(want)
	{
	}
	/* Sends them if that is wanted, and a team can: best when the primary has work, as it takes the host a while.
	 */
	void begin();
	/* What is queued on the primary's default stream from here on comes after the copies. */
	~nb_team_early();
	nb_team_early(const nb_team_early &) = delete;
	nb_team_early &operator=(const nb_team_early &) = delete;
};

NB_MUST_CHECK int nb_team_alloc(void **of, size_t bytes, size_t zeros);
void nb_team_release(void **of);

/* An array in the memory of each member, made and given back by the primary's thread between rounds. */
template <class T> struct nb_team_buffer {
	T *of[NB_TEAM_MOST] = {};

	nb_team_buffer() = default;
	nb_team_buffer(const nb_team_buffer &) = delete;
	nb_team_buffer &operator=(const nb_team_buffer &) = delete;
	~nb_team_buffer()
	{
		nb_team_release((void **)of);
	}
	/* Room for n > 0 elements, once, of which the first `zeros` are 0.  What the primary queues on its default
	 * stream may use all of it. */
	NB_MUST_CHECK int alloc(size_t n, size_t zeros = 0)
	{
		return nb_team_alloc((void **)of, n * sizeof(T), zeros * sizeof(T));
	}
};

/* Whether kernels of all members may use the primary's memory. */
bool nb_team_direct(void);
/* The same, and they may use that of each other, with atomic operations, too, and those of the primary as well. */
bool nb_team_mutual(void);
/* For tests: from now on they may if they can, or not. */
void nb_team_let_direct(bool may);

/* Flags between kernels of members that may use each other's memory: bits of words that are 0 before.  What a thread
 * wrote before it set bits, and what others wrote before a barrier with it, is seen by those who find them set.  A
 * kernel may only wait for one that runs, or is done, whatever becomes of the kernel that waits. */
static __device__ __forceinline__ void nb_team_flag_set(uint32_t *flag, uint32_t bits)
{
	asm volatile("red.release.sys.global.or.b32 [%0], %1;" : : "l"(flag), "r"(bits) : "memory");
}
/* Waits until all these bits, one at least, are set, and returns the word; 0 if a member has failed
 * (nb_team_worker::stopped, or null). */
static __device__ __forceinline__ uint32_t nb_team_flag_wait(const uint32_t *flag, uint32_t bits, const int *stopped)
{
	enum { LOOK_EVERY = 1 << 14 }; /* at stopped, which is in the host's memory: every few ms */
	for (unsigned k = 1;; k++) {
		uint32_t value;
		asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
		if ((value & bits) == bits) {
			/* drops what the multiprocessor has in its cache: not before it is needed */
			asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
			return value;
		}
		if (stopped && k % LOOK_EVERY == 0 && *(const volatile int *)stopped)
			return 0;
		__nanosleep(200);
	}
}

/* What nb_team_run calls for each member. */
typedef int (*nb_team_work)(struct nb_team_worker *worker, void *context);

NB_MUST_CHECK int nb_team_run_with(size_t parts, nb_team_work work, void *context);

/* Has all members work on parts 0 .. parts - 1, after all that is queued on the primary's default stream; returns when
 * all is done, with the first failure, and what it said in nb_cuda_error_text.  One call runs at a time. */
template <class Work> NB_MUST_CHECK int nb_team_run(size_t parts, Work work)
{
	return nb_team_run_with(
		parts, [](struct nb_team_worker *worker, void *context) { return (*(Work *)context)(*worker); }, &work);
}

#endif
