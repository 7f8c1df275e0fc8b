/* holder.h - who holds the other end of a FIFO, as /proc tells.  Private to tools/fold, except enum nb_holder.
 * Only processes of this user are seen (root sees all).  Nothing here waits: links are read, and what is asked of a
 * file system is answered from its cache. */
#ifndef NB_FOLD_HOLDER_H
#define NB_FOLD_HOLDER_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

/* In the order of what they promise. */
enum nb_holder {
	NB_HOLDER_NONE,	 /* nobody that can be seen */
	NB_HOLDER_OTHER, /* another program: plain bytes */
	NB_HOLDER_MAYBE, /* a shell or a fork that may become a program of this build in a moment */
	NB_HOLDER_OURS,	 /* a program of this build */
};
enum { NB_HOLDER_NAME = 32 };

/* An end of a FIFO; the value is the bit in the mode of /proc/PID/fd/N */
enum nb_fifo_end { NB_READ_END = S_IRUSR, NB_WRITE_END = S_IWUSR };

struct nb_fifo {
	dev_t device;
	ino_t inode;
	char link[PATH_MAX]; /* what /proc/PID/fd/N says: "pipe:[INODE]", or the path of a FIFO with a name */
};

/* The FIFO behind a descriptor: 0, or -1 if it is none. */
int nb_fifo_of(struct nb_fifo *fifo, int fd);
/* Whether a process holds this end of it; the search ends at the time `until` (nb_now). */
int nb_fifo_held(pid_t pid, const struct nb_fifo *fifo, enum nb_fifo_end end, double until);
/* The same of one descriptor. */
int nb_fifo_held_at(pid_t pid, int fd, const struct nb_fifo *fifo, enum nb_fifo_end end);
/* Who holds this end of it, other than this process: of several the one that promises most.  Ends at the time `until`
 * (nb_now): NB_HOLDER_MAYBE and "" if no program of this build has been found by then, as the others may be one. */
enum nb_holder nb_fifo_holder(
	const struct nb_fifo *fifo, enum nb_fifo_end end, double until, char name[NB_HOLDER_NAME]);
/* The one of this build, or 0. */
pid_t nb_fifo_partner(const struct nb_fifo *fifo, enum nb_fifo_end end, double until);
/* Whether of a command in a process group, which reads `sent` and shall write `answer`, nobody is left who would: only
 * its shell holds the write end, and waits for a child; and all others of the group wait for a pipe, or are programs of
 * this build, asleep, one of which reads.  0 also where the system does not tell, or time is up. */
int nb_fifo_is_left(pid_t shell, const struct nb_fifo *answer, const struct nb_fifo *sent, double until);
/* Whether a process runs the very file that this one runs. */
int nb_runs_this_program(pid_t pid);

#endif
