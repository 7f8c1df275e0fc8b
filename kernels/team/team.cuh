/* team.cuh - how a kernel's host code shares its work among the devices of the team (team.h).
 *
 *   if (nb_team_size() > 1)
 *       return nb_team_run(parts, [&](struct nb_team_hand &hand) {
 *           nb_cuda_buffer<double> out;
 *           nb_team_copies copies(hand);
 *           NB_TRY(out.alloc(..));
 *           NB_TRY(copies.add(&in.pos, 3 * n));
 *           NB_TRY(copies.fetch());
 *           for (size_t part; hand.next(&part);) {
 *               kernel<<<.., hand.stream()>>>(in, part, ..);
 *               NB_TRY(hand.bring(home_out + .., out + .., bytes));
 *           }
 *           return hand.finish();
 *       });
 *
 * Each device has a host thread, that of home is the caller's; members that are more than the parts stay idle.  Member
 * k begins with part k; all others are dealt one by one to the member that asks first, so that devices that differ
 * share the work by what they get done.  Two parts of a member are under way at a time, on two streams, so that the end
 * of one overlaps the beginning of the next. */
#ifndef NB_TEAM_CUH
#define NB_TEAM_CUH

#include "kernels/device/device.cuh"
#include "kernels/team/team.h"

enum { NB_TEAM_MOST = 16, NB_TEAM_UNDER_WAY = 2, NB_TEAM_COPIES = 32 };

struct nb_team_round;

/* A member at work, in its own thread, with its device current. */
struct nb_team_hand {
	struct nb_team_round *round;
	int member; /* 0: home */
	int device, home_device;
	int lanes = NB_TEAM_UNDER_WAY; /* 1: its parts run one after the other, as they share memory */
	cudaStream_t work[NB_TEAM_UNDER_WAY];
	cudaEvent_t done[NB_TEAM_UNDER_WAY], made; /* of this device */
	cudaStream_t push, back;		   /* copies from home, on a stream of home, and to home */
	size_t parts = 0;			   /* that it was given */
	int status = NB_OK;			   /* of a call in next() that failed */
	double idle = 0;			   /* seconds until all was there to begin with */

	bool is_home() const
	{
		return member == 0;
	}

	/* The next part, once the one before the last is done; false if there is none, or if a member failed. */
	bool next(size_t *part);

	/* Where kernels of the part run; not on the default stream. */
	cudaStream_t stream() const
	{
		return work[(parts - 1) % (size_t)lanes];
	}

	/* Queues a copy to home's memory of what the part's stream has computed up to now; nothing if that is the same
	 * place. */
	NB_MUST_CHECK int bring(void *to, const void *from, size_t bytes);

	/* Lets the parts use memory that was allocated since fetch(). */
	NB_MUST_CHECK int settle();

	/* Waits for all that this member has under way; what went wrong in it, or in next(). */
	NB_MUST_CHECK int finish();
};

/* Copies in a member's memory of arrays at home; at home, the arrays themselves. */
struct nb_team_copies {
	struct nb_team_hand &hand;
	struct {
		void *here;
		const void *there;
		size_t bytes;
		bool owned;
	} row[NB_TEAM_COPIES];
	int n = 0;

	explicit nb_team_copies(struct nb_team_hand &h) : hand(h)
	{
	}
	nb_team_copies(const nb_team_copies &) = delete;
	nb_team_copies &operator=(const nb_team_copies &) = delete;
	/* Waits for what the member has under way: buffers that it uses are declared before, and so freed later. */
	~nb_team_copies();

	/* *array, of count elements at home, will be those of this member after fetch().  Null stays null. */
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

	/* Copies them, after all that the caller of nb_team_run had queued at home; returns when they are there.  Parts
	 * may use what this member has allocated up to now. */
	NB_MUST_CHECK int fetch();
};

/* What nb_team_run calls for each member. */
typedef int (*nb_team_work)(struct nb_team_hand *hand, void *context);

NB_MUST_CHECK int nb_team_run_with(size_t parts, nb_team_work work, void *context);

/* Has all members work on parts 0 .. parts - 1, after all that is queued on home's default stream; returns when all is
 * done, with the first failure, and what it said in nb_cuda_error_text.  One call runs at a time. */
template <class Work> NB_MUST_CHECK int nb_team_run(size_t parts, Work work)
{
	return nb_team_run_with(
		parts, [](struct nb_team_hand *hand, void *context) { return (*(Work *)context)(*hand); }, &work);
}

#endif
