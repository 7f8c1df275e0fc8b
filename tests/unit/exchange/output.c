/* A file takes its name when it is complete, and until then has the ending .part. */
#include "formats/exchange/output.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What another has left under the name of the part stays as a backup. */
static void replaced(void)
{
	struct nb_output out;
	put("file", "old");
	chmod("file", 0604);
	put("file.part", "of a run that was stopped");
	for (int failing = 1; failing >= 0; failing--) {
		CHECK(nb_output_open(&out, -1, "file") == NB_OK);
		for (int i = 0; i < 40000; i++) /* more than is buffered */
			CHECK(nb_output_text(&out, failing ? "half " : i ? "" : "new") == 0);
		if (failing) {
			CHECK(files() == 3);
			nb_output_abandon(&out);
		} else
			CHECK(nb_output_close(&out) == 0);
		CHECK(holds("file", failing ? "old" : "new"));
		CHECK(holds("file.part~", "of a run that was stopped"));
		CHECK(files() == 2);
	}
	struct stat st;
	CHECK(stat("file", &st) == 0 && (st.st_mode & 07777) == 0604);
	CHECK(unlink("file.part~") == 0 && unlink("file") == 0);
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

/* What is open for reading only is replaced as any other file. */
static void replaced_while_read(void)
{
	struct nb_output out;
	put("file", "old");
	const int fd = open("file", O_RDONLY);
	CHECK(nb_output_open(&out, -1, "file") == NB_OK && nb_output_text(&out, "new") == 0);
	CHECK(nb_output_close(&out) == 0 && holds("file", "new"));
	char found[4] = "";
	CHECK(fd >= 0 && read(fd, found, 3) == 3 && strcmp(found, "old") == 0);
	close(fd);
	CHECK(unlink("file") == 0);
}

/* The owner stays, where this process may give files away. */
static void owned(void)
{
	struct nb_output out;
	struct stat st;
	put("file", "old");
	if (chown("file", 1, 1) == 0) {
		CHECK(nb_output_open(&out, -1, "file") == NB_OK && nb_output_text(&out, "new") == 0);
		CHECK(nb_output_close(&out) == 0 && stat("file", &st) == 0 && st.st_uid == 1 && st.st_gid == 1);
		CHECK(chown("file", geteuid(), 1) == 0);
		CHECK(nb_output_open(&out, -1, "file") == NB_OK && nb_output_text(&out, "newer") == 0);
		CHECK(nb_output_close(&out) == 0 && stat("file", &st) == 0 && st.st_gid == 1 && holds("file", "newer"));
	}
	CHECK(unlink("file") == 0);
}

/* The folder goes, or a folder takes the name, while the file is written. */
static void hindered(void)
{
	struct nb_output out;
	for (int gone = 0; gone < 2; gone++) {
		CHECK(mkdir("sub", 0777) == 0);
		CHECK(nb_output_open(&out, -1, "sub/file") == NB_OK);
		for (int i = 0; i < 40000; i++) /* more than is buffered */
			CHECK(nb_output_text(&out, "text") == 0);
		CHECK(gone ? rename("sub", "other") == 0 : mkdir("sub/file", 0777) == 0);
		CHECK(nb_output_close(&out) == -1 && errno == (gone ? ENOENT : EISDIR));
		nb_output_abandon(&out);
		CHECK(gone ? unlink("other/file.part") == 0 : rmdir("sub/file") == 0);
		CHECK(rmdir(gone ? "other" : "sub") == 0);
	}
}

/* A terminal gets a line without an end, too, with what it would obey as '?'; and nothing. */
static void tamed(void)
{
	struct nb_output out;
	char got[64] = "";
	const int master = posix_openpt(O_RDWR | O_NOCTTY);
	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	for (int some = 0; some < 2; some++) {
		CHECK(nb_output_open(&out, open(ptsname(master), O_RDWR | O_NOCTTY), NULL) == NB_OK);
		CHECK(isatty(out.fd) && nb_output_text(&out, some ? "one\n\033[1mtwo" : "") == 0);
		const int held = dup(out.fd); /* else what was written is lost with the last that has it open */
		CHECK(nb_output_close(&out) == 0);
		if (some)
			CHECK(read(master, got, sizeof got - 1) > 0);
		close(held);
	}
	CHECK(strcmp(got, "one\r\n?[1mtwo") == 0);
	close(master);
}

int main(void)
{
	char folder[] = "/tmp/nb-output-XXXXXX";
	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	replaced();
	made();
	replaced_while_read();
	owned();
	hindered();
	tamed();
	CHECK(rmdir(folder) == 0);
	return unit_end();
}
