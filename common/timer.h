/* timer.h - wall-clock seconds from a monotonic clock. */
#ifndef NB_TIMER_H
#define NB_TIMER_H

#include <time.h>

double nb_now(void);
/* The same clock, some milliseconds late, for a fifth of the price. */
double nb_now_roughly(void);
/* Sleeps so many seconds, signals or not. */
void nb_pause(double seconds);
/* So many seconds from now, of CLOCK_MONOTONIC. */
struct timespec nb_time_after(double seconds);

#endif
