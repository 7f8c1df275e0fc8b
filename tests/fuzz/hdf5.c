/* GADGET's and AMUSE's HDF5 files, from what the process that runs libhdf5 says is in them.
 *
 * That library is not linked in here: it breaks down on hostile files, which is why it runs in a process of its own,
 * and its faults would be all that is found.  So there is no process; the input says what it answers, a line for each
 * thing in the file, with tabs between the words:
 *
 *   Header@MassTable   <f8   6      0 0.5 0 0 0 0     an attribute: type, count, numbers
 *   Header@Code        |S6   1      SWIFT             of text
 *   PartType1/Masses   >f4   4 3    @ 64 2            a dataset: type, dimensions, layout, offset, rows of a chunk
 *
 * Layouts: @ in place; # by the library, ~ which refuses to read it, ^ which gives another size, $ which ends then;
 * digits are those of enum nb_h5_layout.  The file has small numbers, and then the bytes of the input again and again.
 * An input that begins with a zero byte is the list itself. */
#include "tests/fuzz/binary.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FILE_BYTES = 16384, NUMBERS = 512, MOST_LINES = 400, MOST_NUMBERS = 4096 };

/* As in formats/exchange/hdf5/hdf5.h, which is private there; a list that is no longer understood is noticed by
 * check_list. */
struct record {
	const char *no_path;
	char kind;
	int big;
	uint64_t size;
	unsigned rank;
	uint64_t dim[4];
	int is_attribute;
	uint64_t count;
	const void *no_number, *no_text;
	int layout;
	uint64_t offset, chunk, chunk_bytes, k;
	uint64_t path_bytes, text_bytes;
};

static struct {
	const uint8_t *input;
	size_t size;
	int channel;		       /* where answers are put, and read by the suite */
	struct record set[MOST_LINES]; /* datasets */
	char how[MOST_LINES];
	size_t nset;
	uint8_t file[FILE_BYTES];
} world;

/* ---- the process that is not there --------------------------------------------------------------- */

int __wrap_socketpair(int domain, int type, int protocol, int pair[2]);
int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
	const posix_spawnattr_t *attributes, char *const *argv, char *const *environment);
int __wrap_kill(pid_t pid, int signal);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags);

static void say(const void *data, size_t n)
{
	struct stat s;
	REQUIRE(fstat(world.channel, &s) == 0);
	REQUIRE(pwrite(world.channel, data, n, s.st_size) == (ssize_t)n);
}

static void answer(int failed, const void *data, uint64_t bytes)
{
	const uint64_t head[2] = {(uint64_t)failed, bytes};
	say(head, sizeof head);
	say(data, bytes);
}

/* One end holds what was said so far, the other is nobody's. */
int __wrap_socketpair(int domain, int type, int protocol, int pair[2])
{
	(void)domain, (void)type, (void)protocol;
	pair[0] = world.channel = memfd_create("channel", MFD_CLOEXEC);
	pair[1] = dup(pair[0]);
	REQUIRE(pair[0] >= 0 && pair[1] >= 0);
	return 0;
}

int __wrap_kill(pid_t pid, int signal)
{
	(void)pid, (void)signal;
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	(void)options;
	if (status)
		*status = world.size % 3 == 0 ? SIGXCPU : world.size % 3 == 1 ? SIGSEGV : 1 << 8;
	return pid;
}

/* Rows of a dataset are asked for. */
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags)
{
	static uint8_t rows[8 << 20];
	uint64_t request[3], row;
	(void)fd, (void)flags;
	REQUIRE(n == sizeof request);
	memcpy(request, data, n);
	REQUIRE(request[0] < world.nset);
	const struct record *set = &world.set[request[0]];
	row = set->size;
	for (unsigned k = 1; k < set->rank; k++)
		row *= set->dim[k];
	REQUIRE(request[2] * row <= sizeof rows && request[1] + request[2] <= set->dim[0]);
	for (size_t i = 0; i < request[2] * row; i++)
		rows[i] = world.file[(request[1] * row + i) % FILE_BYTES];
	switch (world.how[request[0]]) {
	case '~': answer(1, "cannot be read: no reason", 25); break;
	case '^': answer(0, rows, request[2] * row - 1); break;
	case '$': break;
	default: answer(0, rows, request[2] * row);
	}
	return (ssize_t)n;
}

/* ---- the list ------------------------------------------------------------------------------------ */

static void put(FILE *list, struct record *record, const char *path, const double *number, const char *text)
{
	static const char zero[8];
	record->path_bytes = strlen(path) + 1;
	record->text_bytes = text ? strlen(text) + 1 : 0;
	fwrite(record, sizeof *record, 1, list);
	if (number)
		fwrite(number, sizeof *number, record->count, list);
	fwrite(path, 1, record->path_bytes, list);
	if (text)
		fwrite(text, 1, record->text_bytes, list);
	fwrite(zero, 1, (8 - (record->path_bytes + record->text_bytes) % 8) % 8, list);
}

static void put_attribute(FILE *list, struct record *record, const char *path, const char *dimensions, const char *rest)
{
	static double number[MOST_NUMBERS];
	char *at = (char *)rest;
	record->is_attribute = 1;
	record->rank = 1;
	record->count = record->dim[0] = strtoul(dimensions, NULL, 10) % MOST_NUMBERS;
	for (uint64_t k = 0; k < record->count; k++)
		number[k] = strtod(at, &at);
	put(list, record, path, record->kind == 'S' ? NULL : number, record->kind == 'S' ? rest : NULL);
}

static void put_dataset(FILE *list, struct record *record, const char *path, const char *dimensions, const char *rest)
{
	char *at = (char *)dimensions;
	while (record->rank < 4 && *at) {
		char *end;
		const uint64_t dim = strtoull(at, &end, 10);
		if (end == at)
			break;
		record->dim[record->rank++] = dim;
		at = end;
	}
	const char how = *rest;
	record->layout = how == '@' ? 0 : how >= '0' && how <= '9' ? (how - '0') % 10 : 1;
	at = (char *)rest + (*rest != '\0');
	record->offset = strtoull(at, &at, 10);
	record->chunk = strtoull(at, &at, 10);
	record->chunk += record->chunk == 0;
	record->chunk_bytes = record->chunk * record->size;
	record->k = world.nset;
	world.set[world.nset] = *record;
	world.how[world.nset++] = how;
	put(list, record, path, NULL, NULL);
}

/* Splits off a word that ends at a tab. */
static char *word(char **at)
{
	char *begin = *at, *tab = strchr(begin, '\t');
	*at = tab ? tab + 1 : begin + strlen(begin);
	if (tab)
		*tab = '\0';
	return begin;
}

static void put_line(FILE *list, char *line)
{
	char *path = word(&line), *type = word(&line), *dimensions = word(&line);
	struct record record = {.kind = type[0] ? type[1] : '?', .big = type[0] == '>'};
	if (type[0] && type[1])
		record.size = strtoull(type + 2, NULL, 10);
	if (!memchr("fiuS", record.kind ? record.kind : '?', 4))
		record.kind = '?';
	/* other sizes the program calls '?' */
	if (record.kind != 'S' && record.size != 2 && record.size != 4 && record.size != 8 &&
		(record.kind == 'f' || record.size != 1))
		record.kind = '?';
	if (strchr(path, '@') && record.kind != '?')
		put_attribute(list, &record, path, dimensions, line);
	else if (world.nset < MOST_LINES)
		put_dataset(list, &record, path, dimensions, line);
}

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
	const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
	char *bytes = NULL, *copy = strndup((const char *)world.input, world.size), *rest = copy;
	size_t n = 0;
	FILE *list = open_memstream(&bytes, &n);
	(void)path, (void)files, (void)attributes, (void)argv, (void)environment;
	REQUIRE(copy && list);
	world.nset = 0;
	for (int k = 0; k < MOST_LINES && *rest; k++) {
		char *line = rest, *end = strchr(rest, '\n');
		rest = end ? end + 1 : rest + strlen(rest);
		if (end)
			*end = '\0';
		put_line(list, line);
	}
	REQUIRE(fclose(list) == 0);
	if (world.size && world.input[0] == 0)
		answer(0, world.input + 1, world.size - 1);
	else
		answer(0, bytes, n);
	free(bytes);
	free(copy);
	*pid = 1;
	return 0;
}

/* ---- the target ---------------------------------------------------------------------------------- */

static void set_world(const uint8_t *data, size_t size)
{
	world.input = data;
	world.size = size;
	for (int k = 0; k < NUMBERS; k++)
		memcpy(world.file + 8 * k, &(double){k}, 8);
	for (size_t at = 8 * NUMBERS; at < FILE_BYTES; at++)
		world.file[at] = size ? data[at % size] : 0;
}

/* A snapshot of two bodies is one, unless the list is no longer as it is made here. */
static void check_list(const struct nb_format *format)
{
	static const char good[] = "Header@NumPart_ThisFile\t<i4\t2\t0 2\nHeader@MassTable\t<f8\t2\t0 1\n"
				   "PartType1/Coordinates\t<f8\t2 3\t@ 8 1\nPartType1/Velocities\t<f8\t2 3\t# 0 2\n";
	struct nb_frame frame[FUZZ_FRAMES + 1];
	set_world((const uint8_t *)good, strlen(good));
	const int n = fuzz_import_from(format, fuzz_file(world.file, FILE_BYTES), NULL, 0, frame);
	REQUIRE(n == 1 && frame[0].rows[NB_PARTICLE] == 2 && nb_frame_field(&frame[0], NB_VEL));
	fuzz_release(frame, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int checked;
	struct nb_frame frame[FUZZ_FRAMES + 1];
	const struct nb_format *format[] = {fuzz_format("gadget-hdf5"), fuzz_format("amuse")};
	fuzz_silence();
	if (format[0]->lacks()) /* a build without libhdf5 */
		return 0;
	if (!checked)
		check_list(format[0]);
	checked = 1;
	set_world(data, size);
	for (int k = 0; k < 2; k++) {
		const int n = fuzz_import_from(format[k], fuzz_file(world.file, FILE_BYTES), NULL, 0, frame);
		if (n == 1 && k == 0 && nb_frame_field(&frame[0], NB_SPECIES) && nb_frame_field(&frame[0], NB_POS))
			fuzz_parts(format[k], world.file, FILE_BYTES, &frame[0]);
		fuzz_release(frame, n);
	}
	return 0;
}
