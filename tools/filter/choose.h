/* choose.h - where an instance computes if -b is auto. */
#ifndef NB_FILTER_CHOOSE_H
#define NB_FILTER_CHOOSE_H

#include "tools/filter/filter.h"

/* Chooses run->backend for frames like this one, unless that is done already or the tool has none.  Work that does not
 * fit into the memory of a device that was asked for ends the tool before it begins, also if a later frame is larger.
 * The first instance of a chain chooses for all that are free to, by what the whole work costs (plan.h): the choice is
 * the same for all of them, and the others find it made.  A looker without the hook work computes where the frame is.
 */
void nb_require_backend(struct nb_run *run, const struct nb_frame *frame);

/* Where a device is found, as by nb_backend_look, nb_backend_choose and nb_backend_room; a test puts in another one. */
struct nb_devices {
	int (*look)(struct nb_device_speed *speed, char *why);
	int (*choose)(const char *name, const struct nb_backend **backend, char *why);
	int (*room)(const struct nb_backend *backend, struct nb_device_room *room);
	int (*members)(void); /* as nb_backend_members and nb_backend_cards, once a device has been chosen */
	int (*cards)(void);
};
extern struct nb_devices nb_devices;

/* The same devices serve all of a process: those that an instance named first, by -b cuda, -b cuda:N or a list.  0 if
 * this one has named others; else 1, and its devices, if it names any, are those of the process. */
int nb_claim_device(const struct nb_run *run);

/* Bodies times devices of one process.  Below this, the devices finish sooner if they share only the walk than if each
 * sorts and builds a tree of its own.  One H200 that does the work of two and of four suggests the number. */
enum { NB_SPREAD_LEAST = 1 << 25 };

/* How many ranks or, without them, devices there are for a part of the bodies each; and whether n bodies are enough. */
int nb_spread_owners(void);
int nb_spread_pays(uint64_t n);

/* Bodies that are spread over ranks go through a force pipeline of certain programs: NULL, or why run, which is number
 * k in it, from 0, does not let them.  NULL for a run: the pipeline ends before k. */
const char *nb_spread_stage(
	const struct nb_run *run, size_t k, const struct nb_frame *frame, struct nb_domain_law *law);

/* For the hook spread (filter.h): where an instance computes, as law.device of kernels/domain/domain.h; first: it is
 * the first one that is asked, else *device is what those before have said, and must be the same.  NULL, or why bodies
 * cannot be spread. */
const char *nb_spread_device(const struct nb_run *run, int first, int *device);

#endif
