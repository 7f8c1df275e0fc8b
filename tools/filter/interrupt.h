/* interrupt.h - SIGINT, SIGTERM and SIGHUP in a pipeline with a run that shall not be lost.
 *
 * nb-step ends its run after the step that it is in, with a last frame and the end marker.  As Ctrl-C and a batch
 * system signal all processes of a pipeline, those behind nb-step must live until they have got that frame, and those
 * whose work another process does (stage.h) must leave it to that one to decide.  So the first of these signals is held
 * wherever a run is in progress or may be upstream; what holds it then comes to its end by itself, and the process ends
 * by the signal after that.  A second signal, or one where nothing holds it, ends the process at once, as do all if the
 * process was started with the signal ignored, which is left as it is. */
#ifndef NB_FILTER_INTERRUPT_H
#define NB_FILTER_INTERRUPT_H

/* From now on these signals come here; any number of calls. */
void nb_interrupt_watch(void);
/* What holds the first one from now on: nothing; a stream that may come from a run; or a run in this process, and one
 * whose user sits at the terminal is told that it goes on. */
enum nb_hold { NB_HOLD_NOTHING, NB_HOLD_INPUT, NB_HOLD_RUN, NB_HOLD_SHOWN_RUN };
void nb_interrupt_hold(enum nb_hold what);
enum nb_hold nb_interrupt_held(void);
/* Holds signals for a stream; 0: a run is held, and stays so. */
int nb_interrupt_hold_input(void);
/* Unless a run is held: a signal ends the process from now on, and if one has come already, it ends here. */
void nb_interrupt_let_go(void);
/* The same for a process that waits while another one does its work: it is told through this link. */
void nb_interrupt_tell(int link);
/* A process that waits has told that it got the signal.  1: it is held here; 0: that process shall end by it. */
int nb_interrupt_hear(int signal);

/* The signal that asks for an early end, of this process or of one that waits for it; 0: none. */
int nb_interrupted(void);
/* Readable once there is one, for poll(); -1: nothing. */
int nb_interrupt_file(void);
/* The process that waited has ended: its signal is none for others. */
void nb_interrupt_forget(void);
/* Passes the signal on to the program of this build that writes this FIFO.  0: there is none in the process group,
 * which is that of the pipeline; what nb-step ends with its force pipeline must not end nb-step. */
int nb_interrupt_pass_on(int fifo);
/* Ends this process by the signal that it got itself, or returns where it got none. */
void nb_interrupt_end(void);
/* By a signal, at once. */
_Noreturn void nb_interrupt_end_by(int signal);

#endif
