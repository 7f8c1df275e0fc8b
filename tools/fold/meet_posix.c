/* Of a build with POSIX=1: programs do not find each other, and pass bytes. */
#include "tools/fold/holder.h"
#include "tools/fold/meet.h"

#include <stdio.h>

int nb_meet_listen(int fd)
{
	(void)fd;
	return -1;
}

int nb_meet_hand_over(int fd, const struct nb_handover *offer, int *link, char why[NB_WHY_SIZE])
{
	(void)fd, (void)offer, (void)link;
	snprintf(why, NB_WHY_SIZE, "built for POSIX alone");
	return 0;
}

int nb_meet_wait(int link, void (*before_end)(void))
{
	(void)link, (void)before_end;
	return NB_MEET_BROKEN;
}

int nb_meet_signalled(int link, int signal)
{
	(void)link, (void)signal;
	return -1;
}

int nb_meet_accept(int listener, int fifo, struct nb_handover *h, char why[NB_WHY_SIZE])
{
	(void)listener, (void)fifo, (void)h, (void)why;
	return -1;
}

void nb_meet_stop(int listener, int fifo)
{
	(void)listener, (void)fifo;
}

int nb_meet_take(struct nb_handover *h)
{
	(void)h;
	return -1;
}

void nb_meet_refuse(struct nb_handover *h, const char *why)
{
	(void)h, (void)why;
}

void nb_meet_tell(struct nb_handover *h, int status, int signal)
{
	(void)h, (void)status, (void)signal;
}

int nb_meet_hear(int link)
{
	(void)link;
	return 0;
}

void nb_meet_be_deaf(int link)
{
	(void)link;
}

void nb_meet_dismiss(int link, int signal)
{
	(void)link, (void)signal;
}

void nb_meet_clear(struct nb_handover *h)
{
	(void)h;
}

enum nb_holder nb_meet_writers(int fifo, char name[NB_HOLDER_NAME])
{
	(void)fifo;
	*name = '\0';
	return NB_HOLDER_OTHER;
}

enum nb_holder nb_meet_readers(int fifo, char name[NB_HOLDER_NAME])
{
	return nb_meet_writers(fifo, name);
}

int nb_meet_is_left(pid_t shell, int from, int to)
{
	(void)shell, (void)from, (void)to;
	return 0;
}

pid_t nb_meet_writer(int fifo)
{
	(void)fifo;
	return 0;
}

int nb_runs_this_program(pid_t pid)
{
	(void)pid;
	return 0;
}
