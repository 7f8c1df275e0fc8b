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

static int deadly;

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

/* Two at once, and a part that is none. */
static void refused(void)
{
	struct nb_whole first, second;
	CHECK(nb_whole_open(&first, "file") == 0 && nb_whole_open(&second, "file") == -1 && errno == EBUSY);
	nb_whole_drop(&second);
	CHECK(files() == 2 && nb_whole_why(EBUSY) && !nb_whole_why(EIO));
	CHECK(nb_whole_close(&first) == 0 && says("file", "") && files() == 1);
	CHECK(nb_whole_open(&first, "file") == 0);
	nb_whole_leave(&first);
	CHECK(files() == 2 && unlink("file.part") == 0 && symlink("file", "file.part") == 0);
	CHECK(nb_whole_open(&first, "file") == -1 && errno == ELOOP);
	CHECK(unlink("file.part") == 0 && mkfifo("file.part", 0666) == 0);
	CHECK(nb_whole_open(&first, "file") == -1 && errno == ENXIO);
	CHECK(unlink("file.part") == 0);
}

int main(void)
{
	char folder[] = "/tmp/nb-whole-XXXXXX";
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	CHECK(is_killed("file", "first") && files() == 1 && says("file.part", "first"));
	CHECK(write_file("file", "second") == 0 && files() == 2 && says("file", "second"));
	CHECK(says("file.part~", "first"));
	CHECK(is_killed("file", "third") && says("file", "second") && says("file.part", "third"));
	CHECK(write_file("file", "fourth") == 0 && files() == 2 && says("file", "fourth"));
	CHECK(says("file.part~", "third") && unlink("file.part~") == 0);
	refused();
	CHECK(unlink("file") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
	return unit_end();
}
