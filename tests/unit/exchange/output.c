/* A file takes its name when it is complete: also where the file system has no files without names, and where a name
 * beside it is taken. */
#include "formats/exchange/output_internal.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse_unnamed;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if ((flags & O_TMPFILE) == O_TMPFILE && refuse_unnamed) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_open(path, flags, mode);
}

static size_t files(void)
{
	DIR *folder = opendir(".");
	size_t n = 0;
	while (readdir(folder))
		n++;
	closedir(folder);
	return n - 2;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

static int holds(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");
	if (!file)
		return 0;
	found[fread(found, 1, sizeof found - 1, file)] = '\0';
	fclose(file);
	return strcmp(found, text) == 0;
}

static void replaced(void)
{
	struct nb_output out;
	char taken[64];
	put("file", "old");
	chmod("file", 0604);
	snprintf(taken, sizeof taken, ".nb-%ld-0", (long)getpid());
	put(taken, "of another");
	for (int failing = 1; failing >= 0; failing--) {
		CHECK(nb_output_open(&out, -1, "file") == NB_OK);
		for (int i = 0; i < 40000; i++) /* more than is buffered */
			CHECK(nb_output_text(&out, failing ? "half " : i ? "" : "new") == 0);
		if (failing)
			nb_output_abandon(&out);
		else
			CHECK(nb_output_close(&out) == 0);
		CHECK(holds("file", failing ? "old" : "new"));
		CHECK(holds(taken, "of another"));
		CHECK(files() == 2);
	}
	struct stat st;
	CHECK(stat("file", &st) == 0 && (st.st_mode & 07777) == 0604);
	CHECK(unlink(taken) == 0 && unlink("file") == 0);
}

static void made(void)
{
	struct nb_output out;
	CHECK(nb_output_open(&out, -1, "./made") == NB_OK && nb_output_text(&out, "all") == 0);
	CHECK(files() == 0);
	CHECK(nb_output_close(&out) == 0 && holds("made", "all") && files() == 1);
	CHECK(unlink("made") == 0);
	CHECK(nb_output_open(&out, -1, "no/folder") == NB_OK && nb_output_text(&out, "all") == 0);
	CHECK(nb_output_close(&out) == -1 && errno == ENOENT);
	nb_output_abandon(&out);
	CHECK(files() == 0);
}

int main(void)
{
	char folder[] = "/tmp/nb-output-XXXXXX";
	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	for (refuse_unnamed = 0; refuse_unnamed < 2; refuse_unnamed++) {
		replaced();
		made();
	}
	CHECK(rmdir(folder) == 0);
	return unit_end();
}
