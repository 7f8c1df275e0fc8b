#include "tools/fold/message.h"

#include "common/timer.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char magic[8] = "nbfold1";

/* ---- names ------------------------------------------------------------------------------------- */

socklen_t nb_fold_address(struct sockaddr_un *address, const struct nb_fifo *fifo)
{
	memset(address, 0, sizeof *address);
	address->sun_family = AF_UNIX;
	/* the first byte is 0: a name without a file */
	const int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "nb-fold-%lu-%llx-%llx",
		(unsigned long)geteuid(), (unsigned long long)fifo->device, (unsigned long long)fifo->inode);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Looks for the note with the build id in the program itself, which comes first. */
static int read_build(struct dl_phdr_info *info, size_t size, void *build)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_NOTE)
			continue;
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
		while (at + sizeof(ElfW(Nhdr)) <= end) {
			ElfW(Nhdr) note;
			memcpy(&note, at, sizeof note);
			const char *name = at + sizeof note, *id = name + ((note.n_namesz + 3) & ~3U);
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
				memcpy(build, id, note.n_descsz < NB_BUILD_SIZE ? note.n_descsz : NB_BUILD_SIZE);
			at = id + ((note.n_descsz + 3) & ~3U);
		}
	}
	return 1;
}

void nb_record_init(struct nb_record *record, enum nb_says says, uint32_t value)
{
	memset(record, 0, sizeof *record);
	memcpy(record->magic, magic, sizeof magic);
	dl_iterate_phdr(read_build, record->build);
	record->says = says;
	record->value = value;
}

/* ---- records ----------------------------------------------------------------------------------- */

union control {
	char bytes[CMSG_SPACE(NB_OFFERED * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr header;
};

static struct cmsghdr *attach(struct msghdr *m, int type, const void *data, size_t size)
{
	struct cmsghdr *c = (struct cmsghdr *)((char *)m->msg_control + m->msg_controllen);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
	m->msg_controllen += CMSG_SPACE(size);
	return c;
}

int nb_record_send(int link, const struct nb_record *record, const int *fd, int n, int introduce)
{
	union control control;
	struct iovec bytes = {(void *)(uintptr_t)record, sizeof *record};
	struct msghdr m = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.bytes};
	const struct ucred self = {getpid(), geteuid(), getegid()};
	memset(&control, 0, sizeof control);
	if (n)
		attach(&m, SCM_RIGHTS, fd, (size_t)n * sizeof *fd);
	if (introduce)
		attach(&m, SCM_CREDENTIALS, &self, sizeof self);
	ssize_t sent;
	while ((sent = sendmsg(link, &m, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR)
		;
	return sent == (ssize_t)sizeof *record ? 0 : -1;
}

/* Takes over what came beside a record; 1, or 0 if some of it was lost. */
static int detach(struct msghdr *m, int *fd, int *n, pid_t *pid)
{
	int whole = !(m->msg_flags & (MSG_CTRUNC | MSG_TRUNC));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof *fd;
			for (size_t i = 0; i < count; i++) {
				int got;
				memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
				got = nb_above_standard(got);
				if (got < 0)
					whole = 0;
				else if (*n < NB_OFFERED)
					fd[(*n)++] = got;
				else
					close(got);
			}
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred peer;
			memcpy(&peer, CMSG_DATA(c), sizeof peer);
			*pid = peer.pid;
		}
	}
	return whole;
}

/* Waits until there is something to receive: 1, or 0 when the time is over, or -1. */
static int ready(int link, double until)
{
	struct pollfd p = {link, POLLIN, 0};
	for (;;) {
		const double left = until - nb_now();
		const int milliseconds = until < 0 ? -1 : left > 0 ? (int)(left * 1000) + 1 : 0;
		const int got = poll(&p, 1, milliseconds);
		if (got > 0)
			return 1;
		if (got == 0 || errno != EINTR)
			return got;
	}
}

/* The size of a record; 0 at the end of the link or of the time; -1 */
static ssize_t receive(int link, struct msghdr *m, size_t control_size, double until)
{
	for (int resets = 0, comes; (comes = ready(link, until)) != 0;) {
		if (comes < 0)
			return -1;
		m->msg_controllen = control_size;
		const ssize_t got = recvmsg(link, m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (got >= 0)
			return got;
		/* a peer that closes before it has read all resets the connection; what it said is still there */
		if (errno == ECONNRESET && resets++ == 0)
			continue;
		if (errno == ECONNRESET)
			return 0;
		if (errno != EINTR && errno != EAGAIN)
			return -1;
	}
	return 0;
}

int nb_record_receive(int link, struct nb_record *record, int *fd, int *n, pid_t *pid, double until)
{
	union control control;
	struct nb_record self;
	struct iovec bytes = {record, sizeof *record};
	struct msghdr m = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.bytes};
	int came[NB_OFFERED], count = 0;
	pid_t who = 0;
	const ssize_t got = receive(link, &m, sizeof control, until);
	if (got <= 0)
		return got ? NB_RECORD_UNHEARD : 0;
	nb_record_init(&self, NB_SAYS_HELLO, 0);
	int fine = detach(&m, came, &count, &who);
	fine = fine && got == (ssize_t)sizeof *record && memcmp(record->magic, self.magic, sizeof self.magic) == 0 &&
	       memcmp(record->build, self.build, sizeof self.build) == 0 && (n || count == 0);
	if (!fine) {
		for (int i = 0; i < count; i++)
			close(came[i]);
		return -1;
	}
	record->text[sizeof record->text - 1] = '\0';
	if (n) {
		memcpy(fd, came, sizeof came);
		*n = count;
	}
	if (pid)
		*pid = who;
	return 1;
}
