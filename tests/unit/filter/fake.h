/* fake.h - a second place for arrays, and a backend that computes there, to prove that tools leave columns where they
 * are: its memory is unreadable (mprotect) except while one of its own functions runs, so host code that looks at it
 * dies, and it counts the bytes that are copied to and from the host.  The backend computes as the CPU does.  Any of
 * its calls can be made to fail. */
#ifndef NB_FILTER_FAKE_H
#define NB_FILTER_FAKE_H

#include "kernels/backend/backend.h"

struct nb_fake_count {
	uint64_t to_host, from_host; /* bytes */
};

/* Calls of the place and of the backend are counted; call `at` (from 1; 0: none) fails with this status, and with
 * `lost` all after it too. */
struct nb_fake_fault {
	uint64_t calls, at;
	int lost, status;
};

extern struct nb_fake_count nb_fake_count;
extern struct nb_fake_fault nb_fake_fault;
extern const struct nb_backend nb_fake_backend;

/* Frees all that was allocated there. */
void nb_fake_reset(void);

#endif
