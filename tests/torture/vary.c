/* Every cut and every flipped bit of streams, for every program that reads them:
 *
 *   vary --cuts|--flips [--sample N] [--workers N] [--seconds S] [--findings DIR] FILE...
 *
 * A cut stream must be refused, unless the cut is behind an end marker within the file.  A stream with a flipped bit
 * must be refused, or give the output of the whole one, as in the padding.  Files of other programs have no checksums:
 * a flipped bit may give another stream with its end marker, and so may a cut where commands.h says so.  Each case
 * comes as a file and through a pipe.  Programs that do not take a whole file are left out. */
#include "tests/torture/run.h"

#include "tests/torture/commands.h"

#include <getopt.h>

/* A file and a program that takes it. */
struct work {
	const char *path;
	struct line line;
	struct bytes in, want;
	int foreign;  /* of foreign_commands, -1: a particle stream */
	size_t first; /* of its cases in all */
};

static struct work **work;
static size_t nwork, ncase;
static int flips;
static const char *findings;

static int input(const char *at, size_t n, int through_pipe)
{
	int fd, end[2];
	if (!through_pipe) {
		fd = memory_file();
		if (pwrite(fd, at, n, 0) != (ssize_t)n)
			give_up("no file in memory");
		return fd;
	}
	if (pipe2(end, O_CLOEXEC) || fcntl(end[1], F_SETPIPE_SZ, (int)n + 4096) < 0 ||
		write(end[1], at, n) != (ssize_t)n)
		give_up("no pipe for %zu bytes", n);
	close(end[1]);
	return end[0];
}

static struct outcome run_on(const struct line *line, const char *at, size_t n, int through_pipe)
{
	const int in = input(at, n, through_pipe);
	struct how how = {NULL, NULL, in, PATIENCE};
	struct outcome o = run_line(line, &how);
	close(in);
	return o;
}

/* Where it can be seen again: the damaged stream, and the command. */
static void keep(const struct work *w, enum verdict v, const struct outcome *o, const char *at, size_t n, size_t which,
	int through_pipe)
{
	char path[4096];
	const char *name = strrchr(w->path, '/');
	snprintf(path, sizeof path, "%s/%s-%s-%zu", findings, name ? name + 1 : w->path, flips ? "bit" : "cut", which);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, at, n) != (ssize_t)n)
		give_up("cannot write '%s'", path);
	close(fd);
	tell(v, o, "%s%s %s%s", through_pipe ? "cat " : "<", path, through_pipe ? "| " : "", w->line.source);
}

/* Whether a damaged file of another program may be taken. */
static int may_be_whole(const struct work *w, size_t n)
{
	for (size_t k = 0; !flips && k < sizeof foreign_commands->whole / sizeof(size_t); k++)
		if (n && foreign_commands[w->foreign].whole[k] == n)
			return 1;
	return flips;
}

static enum verdict judge_foreign(const struct work *w, const struct outcome *o, size_t n)
{
	const enum verdict v = judge(&w->line, o, flips ? &w->want : NULL);
	return v == SILENT && o->status[0] == 0 && may_be_whole(w, n) && ends_with_marker(o->out) ? TAKEN : v;
}

static void vary(struct tally *t, size_t k)
{
	size_t low = 0, high = nwork;
	while (high - low > 1) {
		const size_t middle = (low + high) / 2;
		if (work[middle]->first <= k)
			low = middle;
		else
			high = middle;
	}
	const struct work *w = work[low];
	const int through_pipe = (k - w->first) % 2 != 0;
	const size_t which = (k - w->first) / 2, n = flips ? w->in.n : which;
	char *damaged = malloc(w->in.n + 1);
	if (!damaged)
		give_up("out of memory");
	memcpy(damaged, w->in.at, w->in.n);
	if (flips)
		damaged[which / 8] ^= (char)(1 << which % 8);
	struct outcome o = run_on(&w->line, damaged, n, through_pipe);
	const int whole = !flips && w->foreign < 0 && ends_with_marker((struct bytes){damaged, n});
	enum verdict v = w->foreign < 0 ? judge(&w->line, &o,
						  flips	  ? &w->want
						  : whole ? &o.out
							  : NULL)
					: judge_foreign(w, &o, n);
	if (whole && v == LATE) /* the marker was not all there */
		v = REFUSED;
	if (count_run(t, v, &o))
		keep(w, v, &o, damaged, n, which, through_pipe);
	clear_outcome(&o);
	free(damaged);
}

static void prepare(const char *path, const struct bytes *in, const char *command, int foreign)
{
	struct work *w = calloc(1, sizeof *w);
	work = realloc(work, (nwork + 1) * sizeof *work);
	if (!work || !w)
		give_up("out of memory");
	parse_line(&w->line, command);
	struct outcome o = run_on(&w->line, in->at, in->n, 0);
	if (judge(&w->line, &o, &o.out) != RIGHT) {
		if (foreign >= 0)
			give_up("'%s' does not take %s: %s", command, path, o.err.at);
		return;
	}
	w->path = path;
	w->foreign = foreign;
	w->in = *in;
	w->want = o.out;
	w->first = ncase;
	ncase += 2 * (flips ? 8 * in->n : in->n);
	work[nwork++] = w;
}

int main(int argc, char **argv)
{
	static const struct option table[] = {{"cuts", 0, NULL, 'c'}, {"flips", 0, NULL, 'b'}, {"sample", 1, NULL, 'n'},
		{"workers", 1, NULL, 'w'}, {"seconds", 1, NULL, 's'}, {"findings", 1, NULL, 'f'}, {0}};
	size_t sample = 1;
	int workers = 4;
	double seconds = 0;
	for (int o; (o = getopt_long(argc, argv, "", table, NULL)) != -1;)
		switch (o) {
		case 'c': flips = 0; break;
		case 'b': flips = 1; break;
		case 'n': sample = strtoul(optarg, NULL, 10); break;
		case 'w': workers = atoi(optarg); break;
		case 's': seconds = atof(optarg); break;
		case 'f': findings = optarg; break;
		default: return 2;
		}
	if (sample < 1 || workers < 1 || !findings || optind == argc)
		give_up("usage: vary --cuts|--flips --findings DIR FILE...");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setenv("OMP_NUM_THREADS", "1", 1);
	for (int i = optind; i < argc; i++) {
		const struct bytes in = bytes_of_file(argv[i]);
		const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
		int foreign = 0;
		while (foreign < FOREIGN_COMMANDS && strcmp(foreign_commands[foreign].file, name) != 0)
			foreign++;
		if (foreign < FOREIGN_COMMANDS)
			prepare(argv[i], &in, foreign_commands[foreign].command, foreign);
		for (int c = 0; foreign == FOREIGN_COMMANDS && c < PLAIN_COMMANDS; c++)
			prepare(argv[i], &in, stream_commands[c], -1);
	}
	printf("torture %s: %d files, %zu programs on files, %zu cases, of which 1 in %zu\n", flips ? "flips" : "cuts",
		argc - optind, nwork, ncase, sample);
	struct tally *t = new_tally(seconds);
	run_all(t, workers, ncase, sample, vary);
	return end_tally(t, flips ? "flips" : "cuts");
}
