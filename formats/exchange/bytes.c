#include "formats/exchange/bytes.h"

#include "common/cpu.h"
#include "common/mem.h"
#include "formats/exchange/exchange.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A gap that is at most so large is read: that costs less than to go there. */
enum { NEAR = 64 << 10, FIRST_AHEAD = 4 << 10 };

int nb_bytes_open(struct nb_bytes *bytes, int fd)
{
	struct stat st;
	*bytes = (struct nb_bytes){.fd = fd};
	const off_t from = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	bytes->seekable = from >= 0;
	bytes->from = from;
	bytes->size = from >= 0 && st.st_size > from ? (uint64_t)(st.st_size - from) : 0;
	bytes->ahead = NB_BYTES_MOST;
	bytes->buffer = nb_alloc(NB_BYTES_MOST, 1);
	return bytes->buffer ? NB_OK : NB_ENOMEM;
}

static ssize_t read_some(int fd, void *to, size_t most)
{
	ssize_t got;
	do
		got = read(fd, to, most);
	while (got < 0 && errno == EINTR);
	return got;
}

const unsigned char *nb_bytes_peek(struct nb_bytes *bytes, size_t n, size_t *there)
{
	if (bytes->end - bytes->begin < n && bytes->begin) {
		memmove(bytes->buffer, bytes->buffer + bytes->begin, bytes->end - bytes->begin);
		bytes->end -= bytes->begin;
		bytes->begin = 0;
	}
	while (bytes->end - bytes->begin < n && !bytes->ended) {
		const size_t room = NB_BYTES_MOST - bytes->end, want = n - (bytes->end - bytes->begin),
			     most = want > bytes->ahead ? want : bytes->ahead;
		const ssize_t got = read_some(bytes->fd, bytes->buffer + bytes->end, room < most ? room : most);
		if (got < 0)
			return NULL;
		bytes->ahead = bytes->ahead < NB_BYTES_MOST / 2 ? 2 * bytes->ahead : NB_BYTES_MOST;
		bytes->ended = got == 0;
		bytes->end += (size_t)got;
	}
	*there = bytes->end - bytes->begin < n ? bytes->end - bytes->begin : n;
	return bytes->buffer + bytes->begin;
}

void nb_bytes_pass(struct nb_bytes *bytes, size_t n)
{
	bytes->begin += n;
	bytes->at += n;
}

int nb_bytes_are_ahead(const struct nb_bytes *bytes, uint64_t offset, void *to, size_t n)
{
	unsigned char *next = to;
	off_t at = bytes->from + (off_t)(bytes->at + offset);
	while (n) {
		const ssize_t got = pread(bytes->fd, next, n, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		next += got, at += got, n -= (size_t)got;
	}
	return 1;
}

/* As read_some, where the buffer is empty.  Of a regular file all threads read. */
static ssize_t read_shared(const struct nb_bytes *bytes, void *to, size_t most)
{
	const uint64_t left = bytes->at < bytes->size ? bytes->size - bytes->at : 0;
	const size_t n = left < most ? (size_t)left : most, worth = n / NEAR, threads = (size_t)nb_cpu_threads();
	const size_t pieces = worth < threads ? worth : threads;
	int good = 1;
	if (pieces < 2)
		return read_some(bytes->fd, to, most);
#pragma omp parallel for schedule(static, 1) reduction(&& : good)
	for (size_t p = 0; p < pieces; p++) {
		const size_t begin = n / pieces * p, end = p + 1 < pieces ? n / pieces * (p + 1) : n;
		good = good && nb_bytes_are_ahead(bytes, begin, (char *)to + begin, end - begin);
	}
	/* what cannot be shared is read by one thread, which says what is wrong */
	return good && lseek(bytes->fd, (off_t)n, SEEK_CUR) >= 0 ? (ssize_t)n : read_some(bytes->fd, to, most);
}

ssize_t nb_bytes_read(struct nb_bytes *bytes, void *to, size_t most)
{
	size_t n = bytes->end - bytes->begin;
	if (n == 0) {
		const ssize_t got = bytes->ended ? 0 : read_shared(bytes, to, most);
		bytes->ended |= got == 0 && most > 0;
		bytes->at += got > 0 ? (uint64_t)got : 0;
		return got;
	}
	if (n > most)
		n = most;
	memcpy(to, bytes->buffer + bytes->begin, n);
	nb_bytes_pass(bytes, n);
	return (ssize_t)n;
}

int nb_bytes_skip(struct nb_bytes *bytes, uint64_t n)
{
	const size_t held = bytes->end - bytes->begin;
	if (bytes->seekable && n > held + NEAR) {
		if (n > bytes->size || bytes->at > bytes->size - n)
			return 1;
		return nb_bytes_seek(bytes, bytes->at + n);
	}
	while (n) {
		size_t there;
		const size_t part = n < NB_BYTES_MOST / 4 ? (size_t)n : NB_BYTES_MOST / 4;
		if (!nb_bytes_peek(bytes, part, &there))
			return -1;
		nb_bytes_pass(bytes, there);
		n -= there;
		if (there < part)
			return 1;
	}
	return 0;
}

int nb_bytes_seek(struct nb_bytes *bytes, uint64_t at)
{
	/* the descriptor stands behind what the buffer holds */
	const off_t by = (off_t)at - (off_t)(bytes->at + (bytes->end - bytes->begin));
	if (lseek(bytes->fd, by, SEEK_CUR) < 0)
		return -1;
	bytes->begin = bytes->end = 0;
	bytes->ahead = FIRST_AHEAD;
	bytes->ended = 0;
	bytes->at = at;
	return 0;
}

void nb_bytes_close(struct nb_bytes *bytes)
{
	nb_free(bytes->buffer);
	bytes->buffer = NULL;
}

const char *nb_import_tail(const struct nb_import *in)
{
	enum { SHOWN = 200 };
	const size_t length = strlen(in->name);
	return length > SHOWN ? in->name + length - SHOWN : in->name;
}
