/* timer.h - wall-clock seconds from a monotonic clock. */
#ifndef NB_TIMER_H
#define NB_TIMER_H

double nb_now(void);

#endif
