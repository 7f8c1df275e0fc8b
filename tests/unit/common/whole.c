/* Files that are written whole or not at all: what a process leaves that is killed while a name changes hands. */
#include "common/whole.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int deadly, meddling;

static int write_file(const char *path, const char *text)
{
	struct nb_whole file;
	CHECK(nb_whole_open(&file, path) == 0);
	CHECK(write(file.fd, text, strlen(text)) == (ssize_t)strlen(text));
	return nb_whole_close(&file);
}

/* The one that common/whole.c calls. */
int rename(const char *from, const char *to)
{
	if (deadly)
		raise(SIGKILL);
	if (meddling) {
		meddling = 0;
		CHECK(write_file(to, "of another writer") == 0);
	}
	return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

static int is_killed(const char *path, const char *text)
{
	int status = 0;
	const pid_t child = fork();
	if (child == 0) {
		deadly = 1;
		_exit(write_file(path, text) != 0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status);
}

static int says(const char *path, const char *text)
{
	char line[64] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && read(fd, line, sizeof line - 1) >= 0);
	close(fd);
	return strcmp(line, text) == 0;
}

static int files(void)
{
	int n = 0;
	DIR *folder = opendir(".");
	CHECK(folder != NULL);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(folder);
	return n;
}

int main(void)
{
	char folder[] = "/tmp/nb-whole-XXXXXX";
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	const int unnamed = open(".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (unnamed >= 0) {
		close(unnamed);
		CHECK(!is_killed("file", "first")); /* there is no moment with two names */
		CHECK(says("file", "first") && files() == 1);
		CHECK(is_killed("file", "second") && says("file", "first") && files() == 2);
		CHECK(is_killed("file", "third") && says("file", "first") && files() == 2);
	}
	CHECK(write_file("file", "fourth") == 0 && says("file", "fourth") && files() == 1);
	meddling = unnamed >= 0;
	CHECK(write_file("file", "fifth") == 0 && files() == 1);
	CHECK(says("file", unnamed >= 0 ? "of another writer" : "fifth")); /* which came later */
	CHECK(!meddling && unlink("file") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
	return unit_end();
}
