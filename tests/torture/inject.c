/* Lets each call of each program fail, one in each run, and judges what the pipeline does:
 *
 *   inject --bin DIR --library faults.so --seeds DIR [--sample N] [--workers N] [--seconds S] [--only TEXT]
 *
 * DIR: programs that are linked dynamically; seeds: the files of seeds.txt.  --sample: one case in N, more of calls
 * that do not ask for memory; --only: commands that have TEXT.  First each command runs once without a fault, and once
 * for each of its programs to count the calls.  A case is then a call, the k-th or all from the k-th on, and an error;
 * or short reads and writes. */
#include "tests/torture/run.h"

#include "tests/torture/commands.h"
#include "tests/torture/faults.h"

#include <getopt.h>

enum { COMMANDS = sizeof fault_commands / sizeof *fault_commands, RUNS_MOST = 2 * COMMANDS };

/* A command, folded or not. */
struct command {
	struct line line;
	const char *fold; /* NB_FOLD */
	char in[64];
	struct bytes want;
};

struct fault {
	int command, program; /* of its names */
	char what[64];	      /* "write 7+ EIO", "short 1" */
};

static struct {
	char bin[4096], library[4096];
	const char *only;
	size_t sample;
	int workers;
	double seconds;
} options = {.only = "", .sample = 1, .workers = 4};
static struct command command[RUNS_MOST];
static int ncommand;
static struct fault *fault;
static size_t nfault, room, npossible, sample;

/* Nine calls in ten ask for memory; the others are worth more of a sample. */
enum { WORTH = 8 };

/* Runs a command with a fault, or counts its calls if that names only a program. */
static struct outcome run_command(const struct command *c, const char *faulty, int counts)
{
	char path[4200], preload[4200], fold[32], spec[128], file[64];
	char *environment[] = {"LC_ALL=C", "OMP_NUM_THREADS=2", path, preload, fold, spec, file, NULL};
	snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", options.bin);
	snprintf(preload, sizeof preload, "LD_PRELOAD=%s", options.library);
	snprintf(fold, sizeof fold, "NB_FOLD=%s", c->fold);
	snprintf(spec, sizeof spec, "NB_FAULT=%s", faulty);
	snprintf(file, sizeof file, "NB_FAULT_COUNTS=/proc/%d/fd/%d", getpid(), counts);
	const int in = open(*c->in ? c->in : "/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0)
		give_up("cannot open '%s'", c->in);
	struct how how = {options.bin, environment, in, PATIENCE};
	struct outcome o = run_line(&c->line, &how);
	close(in);
	return o;
}

static void add(int c, int program, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(int c, int program, const char *format, ...)
{
	va_list ap;
	if (!is_in_sample(npossible++, sample))
		return;
	if (nfault == room) {
		room = 2 * room + 1000;
		fault = realloc(fault, room * sizeof *fault);
		if (!fault)
			give_up("out of memory");
	}
	fault[nfault].command = c;
	fault[nfault].program = program;
	va_start(ap, format);
	vsnprintf(fault[nfault].what, sizeof fault->what, format, ap);
	va_end(ap);
	nfault++;
}

static void add_faults(int c, int program, const long *counted)
{
	sample = 1;
	for (int most = 1; most <= 4096; most = most == 1 ? 7 : most == 7 ? 4096 : 5000)
		add(c, program, "short %d", most);
	for (int call = 0; call < CALL_KINDS; call++) {
		const int asks = call <= CALL_setenv;
		sample = asks ? options.sample : (options.sample + WORTH - 1) / WORTH;
		for (const char *at = calls[call].errors; *at; at += strspn(at, " ")) {
			const int size = (int)strcspn(at, " ");
			const int passes = strncmp(at, "EINTR", 5) == 0 || strncmp(at, "EAGAIN", 6) == 0;
			for (long k = 1; k <= counted[call]; k++) {
				add(c, program, "%s %ld %.*s", calls[call].name, k, size, at);
				if (!passes || call == CALL_posix_spawn || call == CALL_pthread_create)
					add(c, program, "%s %ld+ %.*s", calls[call].name, k, size, at);
			}
			at += size;
		}
	}
}

/* A command as it is without a fault, and the faults that it can have. */
static void prepare(int c)
{
	const int counts = memory_file();
	long counted[CALL_KINDS + 1];
	struct outcome o = run_command(&command[c], "none", counts);
	command[c].want = o.out;
	if (judge(&command[c].line, &o, &o.out) != RIGHT)
		give_up("'%s' fails without a fault: %s", command[c].line.source, o.err.at);
	free(o.err.at);
	if (c > 0 && command[c].line.source == command[c - 1].line.source && !same(o.out, command[c - 1].want))
		give_up("'%s' gives something else with NB_FOLD=off", command[c].line.source);
	for (int p = 0; p < (int)command[c].line.nname; p++) {
		if (ftruncate(counts, 0) || ftruncate(counts, sizeof counted))
			give_up("no file in memory");
		o = run_command(&command[c], command[c].line.name[p], counts);
		if (pread(counts, counted, sizeof counted, 0) != sizeof counted)
			give_up("cannot read the counts");
		if (counted[CALL_malloc] == 0)
			give_up("faults.so sees no call of %s in '%s'", command[c].line.name[p],
				command[c].line.source);
		add_faults(c, p, counted);
		clear_outcome(&o);
	}
	close(counts);
}

static void inject(struct tally *t, size_t k)
{
	static int counts = -1;
	long struck;
	char spec[128];
	const struct fault *f = &fault[k];
	const struct command *c = &command[f->command];
	if (counts < 0)
		counts = memory_file();
	if (ftruncate(counts, 0) || ftruncate(counts, (CALL_KINDS + 1) * sizeof(long)))
		give_up("no file in memory");
	snprintf(spec, sizeof spec, "%s %s", c->line.name[f->program], f->what);
	struct outcome o = run_command(c, spec, counts);
	if (pread(counts, &struck, sizeof struck, CALL_KINDS * sizeof(long)) == sizeof struck && struck)
		t->struck++;
	const enum verdict v = judge(&c->line, &o, &c->want);
	if (count_run(t, v, &o))
		tell(v, &o, "NB_FOLD=%s NB_FAULT='%s' LD_PRELOAD=%s PATH=%s:$PATH bash -c \"%s%s%s\"", c->fold, spec,
			options.library, options.bin, c->line.source, *c->in ? " <" : "", c->in);
	clear_outcome(&o);
}

static void absolute(char path[4096], const char *name)
{
	if (!realpath(name, path))
		give_up("no '%s'", name);
}

int main(int argc, char **argv)
{
	static const struct option table[] = {{"bin", 1, NULL, 'b'}, {"library", 1, NULL, 'l'}, {"seeds", 1, NULL, 'd'},
		{"sample", 1, NULL, 'n'}, {"workers", 1, NULL, 'w'}, {"seconds", 1, NULL, 's'}, {"only", 1, NULL, 'o'},
		{0}};
	const char *seeds = ".";
	for (int o; (o = getopt_long(argc, argv, "", table, NULL)) != -1;)
		switch (o) {
		case 'b': absolute(options.bin, optarg); break;
		case 'l': absolute(options.library, optarg); break;
		case 'd': seeds = optarg; break;
		case 'n': options.sample = strtoul(optarg, NULL, 10); break;
		case 'w': options.workers = atoi(optarg); break;
		case 's': options.seconds = atof(optarg); break;
		case 'o': options.only = optarg; break;
		default: return 2;
		}
	if (!*options.bin || !*options.library || options.sample < 1 || options.workers < 1 || chdir(seeds))
		give_up("usage: inject --bin DIR --library FILE --seeds DIR");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t k = 0; k < 2 * COMMANDS; k++) {
		struct command *c = &command[ncommand];
		const char *in = fault_commands[k / 2].in;
		const char *text = fault_commands[k / 2].line;
		c->fold = k % 2 ? "off" : "on";
		snprintf(c->in, sizeof c->in, "%s%s", in ? in : "", !in || strchr(in, '.') ? "" : ".nb");
		parse_line(&c->line, text);
		if (strstr(text, options.only) && (k % 2 == 0 || c->line.nprogram > 1))
			prepare(ncommand++);
	}
	printf("torture faults: %d commands, %zu of %zu faults\n", ncommand, nfault, npossible);
	struct tally *t = new_tally(options.seconds);
	run_all(t, options.workers, nfault, 1, inject);
	return end_tally(t, "faults");
}
