/* The strings of a command line and of an environment in a file in memory, see message.h. */
#include "tools/fold/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* The kernel gives a program at most 6 MiB of strings. */
enum { HEAD = 2 * sizeof(uint32_t), STRINGS_MOST = 8 << 20 };
static const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

static size_t count_of(char *const *list, size_t *bytes)
{
	size_t n = 0;
	for (; list[n]; n++)
		*bytes += strlen(list[n]) + 1;
	return n;
}

static char *append(char *at, char *const *list)
{
	for (; *list; list++) {
		const size_t size = strlen(*list) + 1;
		memcpy(at, *list, size);
		at += size;
	}
	return at;
}

static int write_all(int fd, const char *at, size_t size)
{
	while (size) {
		const ssize_t n = write(fd, at, size);
		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int nb_strings_pack(int argc, char *const *argv, char *const *environment)
{
	size_t size = HEAD;
	uint32_t head[2];
	if (count_of(argv, &size) != (size_t)argc)
		return -1;
	head[0] = (uint32_t)argc;
	head[1] = (uint32_t)count_of(environment, &size);
	char *text = size <= STRINGS_MOST ? malloc(size) : NULL;
	if (!text)
		return -1;
	memcpy(text, head, HEAD);
	append(append(text + HEAD, argv), environment);
	int fd = memfd_create("nb-fold", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("nb-fold", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fd = nb_above_standard(fd);
	if (fd >= 0 && (write_all(fd, text, size) || fcntl(fd, F_ADD_SEALS, seals))) {
		close(fd);
		fd = -1;
	}
	free(text);
	return fd;
}

/* The whole file, *size bytes of which the last is 0.  Only a file in memory has seals: reading another could wait, or
 * it could change meanwhile. */
static char *read_sealed(int fd, size_t *size)
{
	struct stat st;
	const int set = fcntl(fd, F_GET_SEALS);
	if (set < 0 || (set & seals) != seals || fstat(fd, &st) || st.st_size <= HEAD || st.st_size > STRINGS_MOST)
		return NULL;
	*size = (size_t)st.st_size;
	char *text = malloc(*size);
	for (size_t done = 0; text && done < *size;) {
		const ssize_t n = pread(fd, text + done, *size - done, (off_t)done);
		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			free(text);
			text = NULL;
		}
	}
	if (text && text[*size - 1] != '\0') {
		free(text);
		text = NULL;
	}
	return text;
}

int nb_strings_unpack(int fd, struct nb_handover *h)
{
	size_t size = 0;
	uint32_t head[2];
	char *text = read_sealed(fd, &size);
	if (!text)
		return -1;
	memcpy(head, text, HEAD);
	/* each string has at least its NUL */
	const size_t argc = head[0], n = argc + head[1];
	char **list = argc >= 1 && n <= size - HEAD ? malloc((n + 2) * sizeof *list) : NULL;
	char *at = text + HEAD, *end = text + size;
	size_t k = 0;
	for (; list && k < n && at < end; k++) {
		list[k + (k >= argc)] = at;
		at += strlen(at) + 1;
	}
	if (!list || k < n || at != end) {
		free(list);
		free(text);
		return -1;
	}
	list[argc] = list[n + 1] = NULL;
	h->argc = (int)argc;
	h->argv = list;
	h->environment = list + argc + 1;
	h->text = text;
	return 0;
}
