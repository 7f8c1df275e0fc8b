/* device.h - the device as a place for arrays. Plain C; used by backend.c alone. */
#ifndef NB_DEVICE_H
#define NB_DEVICE_H

#include <stddef.h>

#include "common/space.h"
#include "common/status.h"

NB_C_BEGIN

/* This process needs devices 0 .. count - 1: those after them are not started, which takes 0.2 s for each.  Without any
 * such call all are, with INT_MAX too.  0: too late, as the driver has been started for fewer. */
int nb_cuda_show(int count);
/* How many there are, of those that are shown; starts the driver.  NB_ENODEV where there is none; why (size bytes) then
 * says what the runtime said. */
NB_MUST_CHECK int nb_cuda_count(int *count, char *why, size_t size);

/* Makes device number `device` current and *space its memory, which stays the same for all later calls.  NB_ENODEV
 * where there is none of that number, or no driver: then *space is as before, and why (size bytes) says what the
 * runtime said. */
NB_MUST_CHECK int nb_cuda_open(int device, const struct nb_space **space, char *why, size_t size);

/* Its rates in f32 and f64 against those of an H200, by its multiprocessors and their clock, without a context.
 * As nb_cuda_open. */
NB_MUST_CHECK int nb_cuda_look(int device, double *f32, double *f64, char *why, size_t size);

/* Makes the device of a space current in this thread. */
NB_MUST_CHECK int nb_cuda_enter(const struct nb_space *space);

/* Bytes of its memory, without a context. */
NB_MUST_CHECK int nb_cuda_memory(int device, double *bytes);

/* What the process has done with device 0 .. up to now, as a line: its name, and the memory of arrays at most. */
NB_MUST_CHECK int nb_cuda_report(int device, char *line, size_t size);

/* What the last failing call of this thread said, "" if none failed or that was not with this status. */
const char *nb_cuda_error(int status);

/* Waits until the device has finished all work, and returns what went wrong in it. */
NB_MUST_CHECK int nb_cuda_finish(void);

NB_C_END
#endif
