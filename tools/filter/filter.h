/* filter.h - the skeleton of every tool: a table of options, a page, and one function on a frame.
 *
 * A tool is a constant struct nb_tool.  An instance of it is a struct nb_run with a structure of the tool's own, which
 * holds its options and whatever it keeps from frame to frame; nothing of a tool is static, so a process may hold
 * any number of instances.  The skeleton does what all tools have in common, once: it parses the command line, chooses
 * the backend, opens the streams, reads frame after frame, calls the function, adds the history line, writes, and says
 * in messages which tool speaks and which frame it was.
 *
 * nb_tool_main runs a tool on its streams, as its own program.  nb_run_frame and nb_run_end run an instance on frames
 * that are in memory already, for another program of the suite: no particle stream is read from standard input
 * or written to standard output (a tool that prints, prints), and an error returns the exit status that the tool would
 * have had, after its message.
 *
 * No file of this folder calls one that calls it.  From the top they are
 *   the skeleton     filter.c, launch.c, help.c; instance.c, options.c; pass.c (a frame through an instance), relay.c;
 *                    input.c, files.c; leave.c (the end of an instance in the middle of its work)
 *   frame access     require.c, views.c, scope.c, expression.c, stale.c, kick.c, source.c, report.c
 *   other processes  folded: stage.c, watch.c; a command: coprocess.c, patience.c, ring.c, group.c, spawn.c;
 *                    signals: interrupt.c, running.c
 *   placing          choose.c, plan.c */
#ifndef NB_FILTER_H
#define NB_FILTER_H

#include "common/die.h"
#include "common/whole.h"
#include "formats/stream/stream.h"
#include "kernels/backend/backend.h"
#include "kernels/domain/domain.h"
#include "tools/filter/options.h"

#include <setjmp.h>

struct nb_plan;
struct nb_report;

struct nb_tool {
	const char *name;     /* "nb-force" */
	const char *about;    /* one line, e.g. "generate initial conditions" */
	const char *operands; /* for the usage line, e.g. "[MODEL]", or "" */
	int max_operands;
	/* How many of n operands are its own, if that depends on them; NULL: max_operands. */
	int (*own_operands)(int n, char **operand);
	int own_files; /* its own operands are files, which it opens */
	int files; /* operands behind these are FILEs, read one after the other as one stream instead of standard input
		    */
	const char *quoted; /* the operand is a command of several words, "the force pipeline"; NULL: it is not */
	const struct nb_option *options; /* own rows; the common rows are added */
	size_t noption;
	unsigned common;	 /* which of the rows that several tools share, NB_COMMON_... */
	const char *footer;	 /* more lines for --help, or NULL */
	int sorted_help;	 /* --help lists the own rows by letter and name, whatever their order in the table */
	void (*more_help)(void); /* prints more lines for --help, from another table; or NULL */

	size_t size;	      /* of the tool's own structure ... */
	const void *defaults; /* ... and its contents at the start; NULL: zeros */
	int ranks;	      /* its process may be one of several that share its work (launch.h) */
	unsigned streams;     /* which of NB_READS, NB_WRITES; what else it reads or writes it opens itself, in begin */
	int obeys_box;	   /* knows that attribute box makes a frame periodic, and refuses itself what it cannot do with
			      one; 0: such a frame ends it */
	int obeys_systems; /* the same of column system, if the frame has bodies of several systems, of a tool with
			      the function frame */
	int failed;	   /* exit status of a failure where 1 means something else; 0: NB_EXIT_FAILED */

	/* All get the instance and its structure.  NULL: nothing to do. */
	/* Options and operands, before anything is opened or computed: another process may do the work. */
	void (*check)(struct nb_run *run, void *self);
	void (*begin)(struct nb_run *run, void *self); /* before the first frame */
	/* Changes the frame in place; a tool that writes passes it on when the function returns.  A frame to be
	 * passed on before that: nb_emit. */
	void (*frame)(struct nb_run *run, void *self, struct nb_frame *frame);
	/* For a tool that reads no stream, instead: makes the next frame in one that is empty; 1, or 0 if there is
	 * none. */
	int (*make)(struct nb_run *run, void *self, struct nb_frame *frame);
	/* Whether a frame, which has no contents yet, shall be read at all; NULL: each.  One that comes in memory is
	 * not asked for. */
	int (*wants)(struct nb_run *run, void *self, const struct nb_frame *frame);
	void (*end)(struct nb_run *run, void *self); /* after the last frame, before the stream is closed */
	/* A program that fails ends without clear: takes back what would outlive it, such as half a file. */
	void (*abandon)(void *self);
	/* Frees what the structure holds, whatever went before. */
	void (*clear)(void *self);
	/* Says what it does with a frame (plan.h): without it, auto is the CPU, or where the frame is. */
	void (*work)(struct nb_run *run, void *self, struct nb_plan *plan);
	/* Of a tool that computes forces, or prepares them: adds to *law what it does to a frame of these attributes,
	 * for bodies that are spread over ranks (kernels/domain/domain.h).  NULL, or why that cannot be. */
	const char *(*spread)(
		const struct nb_run *run, const void *self, const struct nb_frame *frame, struct nb_domain_law *law);
	/* Of a tool that computes forces: NULL if what it does to a frame of these attributes, which it has returned,
	 * is no more than nb_small_force (kernels/small/small.h) with its G and softening; or what else it does. */
	const char *(*small)(const struct nb_run *run, const void *self, const struct nb_frame *frame);
	/* On streams instead of frame or make, for a tool that need not hold whole frames: run->in to run->out. */
	void (*stream)(struct nb_run *run, void *self);
};

enum { NB_READS = 1, NB_WRITES = 2 };

/* What an instance has of the process whose work it does: this one, or one that has handed it over. */
struct nb_files {
	int in;	       /* standard input */
	int listener;  /* where programs that fold connect, -1: nowhere */
	int link;      /* to the process whose work this is, at its end when that has died; -1: this one */
	int directory; /* where paths of FILE operands begin; AT_FDCWD: the one that this process is in */
};

/* FILE operands (files.h). */
enum { NB_PLACE_SIZE = 320 };
struct nb_operands {
	int n;
	char **path;
	int next;	    /* the one to be opened next */
	int standard_input; /* while files.in is one of several files */
	uint64_t first;	    /* number in the stream of the first frame of this one */
	char place[NB_PLACE_SIZE];
};

/* What check says of the instance, for the skeleton. */
struct nb_needs {
	int whole_stream;	  /* wants the bytes of a stream, which frames in memory do not have */
	int parts;		  /* holds no frame: one from memory may come with a filler in place of contents;
				     what it would take in a stream counts as read (run->in.nbyte) */
	int own_backend;	  /* begin chooses it */
	const char *launcher;	  /* a command that starts ranks, which do the work; NULL: none */
	const char *private_file; /* a file that only its own process can open; NULL: none */
};

/* What has been found out about placing, for this instance and those behind it (choose.c). */
struct nb_placed {
	int decided;   /* what auto is; */
	uint64_t fits; /* and that frames of so many bodies fit into a device */
};

/* What happens while an instance waits for input (input.c). */
struct nb_waiting {
	int by_fifo;  /* the input comes through a pipe, perhaps from a run ... */
	int heeds;    /* ... that has heard of a signal which came here */
	int is_plain; /* the frame in hand is none of a run that may go on */
	int copied; /* it comes from a program that copies, such as cat: 1; 0: not, or not known; -1: not looked for */
	double looked; /* when it was last seen that the processes are alive (nb_now) */
};

/* Where frames go (pass.c). */
struct nb_pass {
	/* Who gets what is passed on, NULL: nobody.  0, or the exit status with which the instance shall end.  After
	 * the last use of a frame (last) it may take the contents. */
	int (*put)(void *context, struct nb_frame *frame, int last);
	void *context;
	uint64_t npassed;	/* frames passed on */
	int relays;		/* frames that are not the last may be taken by a thread while the work goes on ... */
	struct nb_relay *relay; /* ... this one (relay.h), NULL: not yet */
};

/* An instance of a tool. */
struct nb_run {
	const struct nb_tool *tool;
	void *self;					/* the tool's structure */
	unsigned streams;				/* those of the tool, unless check says otherwise; */
	void (*stream)(struct nb_run *run, void *self); /* this too */
	struct nb_needs needs;
	struct nb_voice voice;
	struct nb_files files;
	char **environment; /* for commands that it runs */
	struct nb_common_options common;
	uint64_t given[2]; /* which options appeared, by row */
	char *history;	   /* "nb-force 0.1.0: nb-force -t 0.5": version and command without the silent options */
	int noperand;	   /* operands of its own, max_operands at most */
	char **operand;
	struct nb_operands from;
	const struct nb_backend *backend; /* of tools with NB_COMMON_BACKEND or _LOOKER, from the first frame on */
	int is_program;			  /* it is what this process was started for: where it ends, the process does */
	struct nb_placed placed;

	/* Who gets the lines of a tool that reports (report.h), instead of standard output; NULL: nobody. */
	void (*take_line)(void *context, const struct nb_report *line);
	void *line_context;

	int interrupted; /* set by a frame function that a signal has led to an early end: it gets no more frames */
	int passed_on;	 /* set by a frame function that has passed on all there is with nb_emit */

	/* running on streams */
	struct nb_reader in;
	struct nb_writer out;
	struct nb_whole file; /* of --output, which is standard output then */
	int in_open, out_open;
	struct nb_waiting waiting;
	struct nb_pass pass;
	struct nb_run *next;   /* the instance that put gives its frames to, NULL: none of this process */
	struct nb_frame taken; /* what another instance has passed on to this one */
	jmp_buf failed;
	int status;
	int verdict; /* exit status after work that has been done to its end */
};

/* Statuses beside those of enum in die.h: something of the input is lost, and the output is whole; there is nobody any
 * more who wants the work, as after SIGPIPE. */
enum { NB_EXIT_LOST = 3, NB_RUN_BROKEN = 128 + 13 };

/* ---- for tools ---------------------------------------------------------------------------------- */

/* Passes a frame on, with this tool's history line; the frame stays as it is but for that line. */
void nb_emit(struct nb_run *run, struct nb_frame *frame);
/* Adds the history line of this tool unless --no-history. */
void nb_add_history(struct nb_run *run, struct nb_frame *frame);
/* The next frame of run->in: 1, or 0 after a clean end.  Ends the tool where there is neither. */
int nb_next_frame(struct nb_run *run, struct nb_frame *frame);
/* The same in two pieces (nb_reader_head, nb_reader_columns). */
int nb_next_head(struct nb_run *run, struct nb_frame *frame);
int nb_next_wanted(struct nb_run *run, struct nb_frame *frame); /* the head of one that the tool wants */
/* Ends the tool with what the reader says. */
_Noreturn void nb_fail_input(struct nb_run *run);
void nb_next_columns(struct nb_run *run, struct nb_frame *frame, size_t count);
/* After the last frame, for a tool that otherwise would print nothing: a warning if there was none. */
void nb_warn_of_no_frames(const struct nb_run *run);
/* Waits for input.  A reader of stdout that goes away meanwhile ends the program, as a write would: in a pipeline that
 * is kept waiting for more, the programs before one that failed must not stay for ever. */
void nb_wait_for_input(const struct nb_reader *reader);
/* For work that takes long: ends it if the process whose work it is has died, or one behind it. */
void nb_require_alive(struct nb_run *run);
/* Chooses run->backend by name, or ends the tool. */
void nb_choose_backend(struct nb_run *run, const char *name);
/* With -v, a line for each of several devices: what it has done in this process. */
void nb_report_devices(const struct nb_run *run);
/* Ends the tool if its backend, or the host where it has none, failed while it did what, e.g. "sorting", with a frame.
 */
void nb_require_done(const struct nb_run *run, int status, const char *what, const struct nb_frame *frame);
/* Ends the tool with status 0, after it has printed what was asked for instead of its work, as --help. */
_Noreturn void nb_leave(struct nb_run *run);
/* Flushes stdout, for tools that print; a full disk ends the tool. */
void nb_require_flushed(void);
/* Ends the instance without a message. */
_Noreturn void nb_stop(struct nb_run *run, int status);

/* ---- for programs ------------------------------------------------------------------------------- */

/* Runs a tool on standard input and output.  Returns, or exits with, its exit status. */
int nb_tool_main(const struct nb_tool *tool, int argc, char **argv);

/* The same in pieces.  An instance, NULL: out of memory ... */
struct nb_run *nb_run_new(const struct nb_tool *tool);
/* ... its options and operands, looked at: 0, or its exit status, or NB_RUN_LEFT ... */
NB_MUST_CHECK int nb_run_prepare(struct nb_run *run, int argc, char **argv);
/* ... backend and begin, for frames in memory ... */
void nb_run_start(struct nb_run *run);
/* ... or the same and the input; must be allowed to end the instance, as all that follow ... */
void nb_run_begin(struct nb_run *run);
/* Does something that may end the instance, in its name.  Returns run->status: 0, or its exit status. */
int nb_run_do(struct nb_run *run, void (*act)(struct nb_run *run, void *context), void *context);
/* A frame through the tool's function, and on. */
void nb_run_pass(struct nb_run *run, struct nb_frame *frame);
/* A put for an instance whose frames go to the instance to. */
int nb_run_feed(void *to, struct nb_frame *frame, int last);

/* status of an instance after --help and the like */
enum { NB_RUN_LEFT = -1 };
/* Runs its function on a frame.  0, or the exit status after a message; the frame is then undefined, and only
 * nb_run_free may follow. */
NB_MUST_CHECK int nb_run_frame(struct nb_run *run, struct nb_frame *frame);
/* After the last frame. */
NB_MUST_CHECK int nb_run_end(struct nb_run *run);
void nb_run_free(struct nb_run *run);

/* The tools of this program: number k, NULL past the last; and by name. */
const struct nb_tool *nb_tool_number(size_t k);
const struct nb_tool *nb_tool_find(const char *name);

#endif
