/* interrupt.h - SIGINT and SIGTERM in a pipeline with a run that shall not be lost.
 *
 * nb-step ends its run after the step that it is in, with a last frame and the end marker.  As Ctrl-C and a batch system
 * signal all processes of a pipeline, those behind nb-step must live until they have got that frame, and those whose
 * work another process does (stage.h) must leave it to that one to decide.  So the first of these signals is held
 * wherever a run is in progress or may be upstream; what holds it then comes to its end by itself, and the process ends
 * by the signal after that.  A second signal, or one where nothing holds it, ends the process at once, as do all if the
 * process was started with the signal ignored, which is left as it is. */
#ifndef NB_FILTER_INTERRUPT_H
#define NB_FILTER_INTERRUPT_H

/* From now on both signals come here; any number of calls. */
void nb_interrupt_watch(void);
/* Whether the first one is held, until the next call. */
void nb_interrupt_hold(int on);
/* The same for a process that waits while another one does its work: it is told through this link. */
void nb_interrupt_tell(int link);
/* A process that waits has told that it got the signal.  1: it is held here; 0: that process shall end by it. */
int nb_interrupt_hear(int signal);

/* The signal that asks for an early end, of this process or of one that waits for it; 0: none. */
int nb_interrupted(void);
/* Ends this process by the signal that it got itself, or returns where it got none. */
void nb_interrupt_end(void);
/* By a signal, at once. */
_Noreturn void nb_interrupt_end_by(int signal);

#endif
