/* Names: which ones mean the same in every process, and what is opened by those of another one. */
#include "common/named.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void touch(const char *path)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
}

static void check_shared(int fd)
{
	char path[64], too_long[600];
	static const char *const same[] = {
		"file", "./file", "folder/../file", "link", "missing", "1,2,5-9", "folder/none", ""};
	static const char *const other[] = {"folder", "fifo", "none/file", "to-fd", "to-link", "dangling", "/dev/fd/99",
		"/proc/self/status", "/proc/self/cwd/file", "/dev/null"};
	for (size_t k = 0; k < sizeof same / sizeof *same; k++)
		CHECK(nb_name_is_shared(same[k]));
	for (size_t k = 0; k < sizeof other / sizeof *other; k++)
		CHECK(!nb_name_is_shared(other[k]));
	static const char *const way[] = {"/dev/fd/%d", "//dev/fd/%d", "/proc/self/fd/%d", "/proc/thread-self/fd/%d"};
	for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
		snprintf(path, sizeof path, way[k], fd);
		CHECK(!nb_name_is_shared(path));
	}
	memset(too_long, '7', sizeof too_long - 1);
	too_long[sizeof too_long - 1] = '\0';
	CHECK(nb_name_is_shared(too_long));
}

static int opens(const char *path)
{
	const int fd = nb_open_named(path, O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(void)
{
	char folder[] = "/tmp/nb-named-XXXXXX", path[64];
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	touch("file");
	const int fd = open("file", O_RDONLY | O_CLOEXEC), here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	CHECK(mkdir("folder", 0700) == 0 && mkfifo("fifo", 0600) == 0 && symlink("file", "link") == 0);
	CHECK(symlink(path, "to-fd") == 0 && symlink("to-fd", "to-link") == 0 &&
		symlink("/dev/fd/99", "dangling") == 0);
	check_shared(fd);
	CHECK(opens(path) && opens("to-link") && opens("/proc/self/status"));
	/* the same names, typed for another process that is here, in one that is elsewhere */
	CHECK(chdir("/") == 0 && nb_names_of(here) == AT_FDCWD && nb_names_directory() == here);
	CHECK(opens("file") && opens("link"));
	errno = 0;
	CHECK(!opens(path) && errno == ELOOP);
	CHECK(!opens("to-link") && !opens("/proc/self/status"));
	CHECK(nb_names_of(AT_FDCWD) == here && !opens("file"));
	CHECK(fchdir(here) == 0 && unlink("file") == 0 && unlink("link") == 0 && unlink("fifo") == 0 &&
		unlink("to-fd") == 0);
	CHECK(unlink("to-link") == 0 && unlink("dangling") == 0 && rmdir("folder") == 0 && rmdir(folder) == 0);
	close(fd);
	close(here);
	return unit_end();
}
