/* Tools on frames in memory: the functions of all tools run on frames whose columns live in a place that host code
 * cannot read (fake.h), give the same bytes as on the host, and those that compute on a backend copy nothing to the
 * host. */
#include "tools/filter/filter.h"

#include "common/cpu.h"
#include "tests/unit/filter/frames.h"
#include "tests/unit/run.h"

/* ---- tools -------------------------------------------------------------------------------------- */

/* What a tool passed on last. */
static int keep(void *context, struct nb_frame *frame, int last)
{
	(void)last;
	struct bytes *bytes = context;
	free(bytes->data);
	*bytes = stream_of(frame);
	return 0;
}

/* Runs a tool on a frame; what it passes on goes to *out. */
static int run_tool(const char *command, const struct nb_backend *backend, struct nb_frame *frame, struct bytes *out)
{
	struct words words;
	struct nb_run *run;
	split(command, &words);
	const struct nb_tool *tool = nb_tool_find(words.word[0]);
	int status = run_create(&run, tool, words.n, words.word, backend);
	if (!status) {
		run->pass.put = keep;
		run->pass.context = out;
		status = nb_run_frame(run, frame);
	}
	if (!status)
		status = nb_run_end(run);
	nb_run_free(run);
	return status;
}

/* Bytes that a tool copied to the host, without those of writing what it passes on. */
static uint64_t copied;
static int count_and_keep(void *context, struct nb_frame *frame, int last)
{
	copied = nb_fake_count.to_host;
	return keep(context, frame, last);
}

static int run_away(const char *command, struct nb_frame *frame, struct bytes *out)
{
	struct words words;
	struct nb_run *run;
	split(command, &words);
	move_away(frame);
	nb_fake_count = (struct nb_fake_count){0, 0};
	copied = UINT64_MAX;
	int status = run_create(&run, nb_tool_find(words.word[0]), words.n, words.word, &nb_fake_backend);
	if (!status) {
		run->pass.put = count_and_keep;
		run->pass.context = out;
		status = nb_run_frame(run, frame);
	}
	if (copied == UINT64_MAX) /* nothing was passed on */
		copied = nb_fake_count.to_host;
	if (!status)
		status = nb_run_end(run);
	nb_run_free(run);
	return status;
}

/* Lines of history that a frame has. */
static size_t history_of(const struct nb_frame *frame)
{
	size_t lines = 0;
	for (size_t i = 0; i < frame->nattribute; i++)
		lines += strcmp(frame->attribute[i].key, "history") == 0;
	return lines;
}

/* Every share-th body wants a force. */
static void activate(struct nb_frame *frame, size_t share)
{
	unsigned char *active = nb_column_write(nb_frame_add_field(frame, NB_ACTIVE, NULL, 0), &nb_space_host, NB_WIRE);
	for (size_t i = 0; i < N; i++)
		active[i] = i % share == share - 1;
}

/* A chain of filters on the host and away: the same bytes after each, and nothing came to the host.  share: of the
 * active bodies; 0: there is no column of them. */
static void chain_of_some(const char *const *command, const char *real, int dim, size_t share)
{
	struct nb_frame here, away;
	struct bytes want = {NULL, 0}, got = {NULL, 0};
	const struct nb_backend *cpu;
	char why[NB_BACKEND_WHY];
	CHECK(nb_backend_choose("cpu", &cpu, why) == NB_OK);
	make_bodies(&here, real, dim);
	make_bodies(&away, real, dim);
	if (share) {
		activate(&here, share);
		activate(&away, share);
	}
	for (size_t k = 1; *command; command++, k++) {
		CHECK(run_tool(*command, cpu, &here, &want) == 0);
		CHECK(run_away(*command, &away, &got) == 0);
		CHECK(history_of(&here) == k && history_of(&away) == k);
		const int same = want.size == got.size && memcmp(want.data, got.data, want.size) == 0;
		if (strncmp(*command, "nb-transform", 12) == 0) /* which works on the host */
			copied = 0;
		if (!same || copied)
			fprintf(stderr, "%s (%s, %d-D): %s, %llu bytes copied to the host\n", *command, real, dim,
				same ? "same bytes" : "other bytes", (unsigned long long)copied);
		CHECK(same);
		CHECK(copied == 0);
	}
	free(want.data);
	free(got.data);
	nb_frame_clear(&here);
	nb_frame_clear(&away);
	nb_fake_reset();
}

static void chain(const char *const *command, const char *real, int dim)
{
	chain_of_some(command, real, dim, 0);
}

/* Tools that look at frames on the host, and steps of solid bodies, which are made there, run on a frame that is away
 * and say the same. */
static void lookers(void)
{
	static const char *const command[] = {"nb-stats --format json", "nb-stats --epot direct --format tsv",
		"nb-stats --fields",
		"nb-stats --format tsv --by species --center density --by-number --bound --shape reduced",
		"nb-stats --format tsv --center id:8", "nb-stats --format tsv --profile --by species",
		"nb-stats --format tsv --orbits heaviest", "nb-convert --to csv", "nb-render-ppm -W 64 -H 64",
		"nb-render-ppm -W 64 -H 64 --by species --hide 1,3",
		"nb-render-ppm -W 64 -H 64 --by speed --draw discs", "nb-step -d 0.01 --collide merge"};
	enum { SEEN = 3 * N * sizeof(double) };
	static const uint64_t most[] = {0, 0, 0, UINT64_MAX, 6 * sizeof(double) + N * sizeof(uint64_t), UINT64_MAX,
		UINT64_MAX, UINT64_MAX, 64 * 64 * 4 + N + SEEN, 64 * 64 * 16 + N + N * sizeof(uint32_t) + SEEN,
		64 * 64 * 8 + N + 3 * N * sizeof(double) + SEEN,
		UINT64_MAX}; /* bytes to the host; species, |u1, are widened there, and so are the rows that are drawn;
				the range of speeds is found there in the first frame, and of
				a sample whether it is in the picture */
	const struct nb_backend *cpu;
	char why[NB_BACKEND_WHY];
	CHECK(nb_backend_choose("cpu", &cpu, why) == NB_OK);
	for (size_t k = 0; k < sizeof command / sizeof *command; k++) {
		struct bytes want = {NULL, 0}, got = {NULL, 0}, none = {NULL, 0};
		char name[2][32] = {"", ""};
		for (int there = 0; there < 2; there++) {
			struct nb_frame frame;
			make_bodies(&frame, "<f8", 3);
			CHECK(run_tool("nb-force -e 0.01", cpu, &frame, &none) == 0);
			fflush(stdout);
			const int out = dup(STDOUT_FILENO);
			snprintf(name[there], sizeof name[there], "/tmp/nb-places-XXXXXX");
			const int file = mkstemp(name[there]);
			dup2(file, STDOUT_FILENO);
			CHECK((there ? run_away(command[k], &frame, &got) : run_tool(command[k], cpu, &frame, &want)) ==
				0);
			if (there && copied > most[k])
				fprintf(stderr, "%s: %llu bytes copied to the host\n", command[k],
					(unsigned long long)copied);
			CHECK(!there || copied <= most[k]);
			fflush(stdout);
			dup2(out, STDOUT_FILENO);
			struct bytes *printed = there ? &got : &want;
			struct stat st;
			if (!printed->data && fstat(file, &st) == 0) {
				printed->size = (size_t)st.st_size;
				printed->data = malloc(printed->size + 1);
				CHECK(pread(file, printed->data, printed->size, 0) == (ssize_t)printed->size);
			}
			close(out);
			close(file);
			unlink(name[there]);
			nb_frame_clear(&frame);
		}
		if (want.size != got.size || memcmp(want.data, got.data, want.size) != 0)
			fprintf(stderr, "%s says something else\n", command[k]);
		CHECK(want.size > 0 && want.size == got.size && memcmp(want.data, got.data, want.size) == 0);
		free(want.data);
		free(got.data);
		free(none.data);
		nb_fake_reset();
	}
}

/* Two instances of a tool at once, and a failure that names the tool and leaves the process alone. */
static void instances(void)
{
	struct words a, b;
	struct nb_run *first, *second;
	struct nb_frame frame;
	split("nb-force -e 0.5 -j 1", &a);
	split("nb-force -m near --no-history -q", &b);
	CHECK(run_create(&first, nb_tool_find("nb-force"), a.n, a.word, NULL) == 0);
	CHECK(run_create(&second, nb_tool_find("nb-force"), b.n, b.word, NULL) == 0);
	CHECK(strcmp(first->history, "nb-force " NB_VERSION ": nb-force -e 0.5") == 0);
	CHECK(first->common.no_history == 0 && second->common.no_history == 1);
	const int threads = nb_cpu_threads();
	make_bodies(&frame, "<f8", 3);
	CHECK(nb_run_frame(first, &frame) == 0);
	CHECK(nb_cpu_threads() == threads);
	CHECK(nb_run_frame(second, &frame) == NB_EXIT_FAILED); /* no boxes */
	CHECK(nb_run_frame(first, &frame) == 0);
	nb_run_free(first);
	nb_run_free(second);
	nb_frame_clear(&frame);
	split("nb-force --no-such-option", &a);
	CHECK(run_create(&first, nb_tool_find("nb-force"), a.n, a.word, NULL) == NB_EXIT_USAGE);
	nb_run_free(first);
	split("nb-force --version", &a); /* prints it */
	CHECK(run_create(&first, nb_tool_find("nb-force"), a.n, a.word, NULL) == NB_RUN_LEFT);
	nb_run_free(first);
	split("nb-gen figure8", &a);
	CHECK(run_create(&first, nb_tool_find("nb-gen"), a.n, a.word, NULL) == 0);
	nb_frame_init(&frame);
	CHECK(nb_run_frame(first, &frame) == NB_EXIT_FAILED); /* it makes frames */
	nb_frame_clear(&frame);
	nb_run_free(first);
}

/* A field of nodes for each column of a tree, and the other way round. */
static void node_fields(void)
{
	size_t fields = 0, columns = 0;
	for (int f = 0; f < NB_NFIELD; f++)
		fields += nb_field_info[f].table == NB_NODE;
#define NB_NODE_COLUMN(type, member, components, order)                                                   \
	for (int f = 0; f < NB_NFIELD; f++)                                                               \
		if (strcmp(nb_field_info[f].name, "node_" #member) == 0) {                                \
			columns++;                                                                        \
			CHECK(nb_field_info[f].table == NB_NODE && nb_field_info[f].ncomp == components); \
			CHECK(nb_dtype_size(nb_field_info[f].dtype) == sizeof(type));                     \
		}
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	CHECK(columns == fields && fields > 0);
}

int main(void)
{
	static const char *const tree[] = {"nb-sort-zorder", "nb-build-tree -l 8",
		"nb-force -t 0.6 -e 0.01 --potential", "nb-step -d 0.01", "nb-sort-zorder", "nb-build-tree -p 1",
		"nb-force -t 0.6 --mac acceleration", NULL};
	static const char *const direct[] = {"nb-sort-zorder --cube -1,-1,-1,4", "nb-force --jerk -e 0.1",
		"nb-field nfw:m=1,rs=0.5;bar:m=1,a=1,b=0.1,c=0.2,omega=1", "nb-step --integrator taylor -d 0.01",
		"nb-force -e 0.1", "nb-field --alone disk:m=1,a=1,b=0.1", "nb-step --integrator euler --eta 0.1", NULL};
	static const char *const near[] = {
		"nb-sort-zorder", "nb-build-tree --kind boxes --level 3", "nb-force -e 0.01", "nb-step -d 0.01", NULL};
	static const char *const fmm[] = {"nb-sort-zorder", "nb-build-tree --kind boxes --level 3",
		"nb-force -m fmm -p 3 -e 0.01", "nb-step -d 0.01", NULL};
	static const char *const some[] = {"nb-force --jerk --potential -e 0.1", "nb-sort-zorder",
		"nb-force --potential --softening-kernel spline", "nb-force", NULL};
	static const char *const in_box[] = {"nb-calc @box=2", "nb-transform --shift 1,1,1",
		"nb-force -m treepm --mesh 18 -e 0.01 --potential", "nb-step -d 0.5", NULL};
	for (int f = 0; f < 2; f++) {
		const char *real = f ? "<f4" : "<f8";
		chain(tree, real, 3);
		chain(tree, real, 2);
		chain(direct, real, 3);
		chain(near, real, 3);
		chain(near, real, 2);
		chain(fmm, real, 3);
		chain(fmm, real, 2);
		chain(in_box, real, 3);
		for (size_t share = 1; share < 10 * N; share *= 10)
			chain_of_some(some, real, 3, share);
	}
	lookers();
	instances();
	node_fields();
	return unit_end();
}
