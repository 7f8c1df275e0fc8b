/* A tool that reads no stream, in memory: nb-gen leaves the frames that its stream has, and two instances at a time do
 * not disturb each other. */
#include "tests/unit/run.h"
#include "tests/unit/unit.h"
#include "tools/filter/filter.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct nb_tool nb_tool_gen;

static char path[] = "/tmp/nb-unit-make-XXXXXX";

/* The frame in the stream of the tool. */
static void from_stream(int argc, char **argv, struct nb_frame *frame)
{
	int status = -1;
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		const int fd = open(path, O_WRONLY | O_TRUNC);
		_exit(dup2(fd, STDOUT_FILENO) < 0 ? 1 : nb_tool_main(&nb_tool_gen, argc, argv));
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	struct nb_reader reader;
	const int fd = open(path, O_RDONLY);
	nb_frame_init(frame);
	CHECK(nb_reader_open(&reader, fd) == NB_OK && nb_reader_next(&reader, frame) == NB_FRAME);
	struct nb_frame copy; /* the contents are in the mapped file */
	nb_frame_init(&copy);
	CHECK(nb_frame_share(&copy, frame) == NB_OK);
	for (size_t c = 0; c < copy.ncolumn; c++)
		CHECK(nb_column_update(&copy.column[c], &nb_space_host, NB_WIRE) != NULL);
	nb_frame_clear(frame);
	*frame = copy;
	nb_reader_close(&reader);
	close(fd);
}

static void check_same(const struct nb_frame *a, const struct nb_frame *b)
{
	CHECK(a->ncolumn == b->ncolumn && a->nattribute == b->nattribute);
	for (size_t k = 0; k < a->nattribute && k < b->nattribute; k++)
		CHECK(strcmp(a->attribute[k].key, b->attribute[k].key) == 0 &&
			strcmp(nb_frame_attribute_text(a, k), nb_frame_attribute_text(b, k)) == 0);
	for (size_t c = 0; c < a->ncolumn && c < b->ncolumn; c++) {
		struct nb_column *x = &a->column[c], *y = &b->column[c];
		CHECK(strcmp(x->name, y->name) == 0 && strcmp(x->dtype, y->dtype) == 0 && x->rows == y->rows);
		const void *p = nb_column_read(x, &nb_space_host, NB_WIRE);
		const void *q = nb_column_read(y, &nb_space_host, NB_WIRE);
		CHECK(p && q && memcmp(p, q, x->rows * x->rowsize) == 0);
	}
}

enum { MAX_ARGS = 12 };

static int count(char **argv)
{
	int n = 0;
	while (n < MAX_ARGS && argv[n])
		n++;
	return n;
}

static void test_frames(void)
{
	static char *commands[][MAX_ARGS] = {
		{"nb-gen", "-n", "10000"},
		{"nb-gen", "merger", "-n", "9001", "--precision", "f32", "--radius", "0.5"},
		{"nb-gen", "clusters", "--dim", "2", "-s", "7", "-n", "1", "--no-history"},
		{"nb-gen", "solar"},
		{"nb-gen", "uniform", "-n", "0"},
	};
	enum { N = sizeof commands / sizeof *commands };
	struct nb_run *run[N];
	struct nb_frame streamed[N], made;
	for (int k = 0; k < N; k++) /* before this process has threads, which a fork would leave behind */
		from_stream(count(commands[k]), commands[k], &streamed[k]);
	for (int k = 0; k < N; k++) /* all at a time */
		CHECK(run_create(&run[k], &nb_tool_gen, count(commands[k]), commands[k], NULL) == 0);
	for (int k = 0; k < N; k++) {
		int there;
		nb_frame_init(&made);
		CHECK(run_make(run[k], &made, &there) == 0 && there == 1);
		check_same(&made, &streamed[k]);
		CHECK(run_make(run[k], &made, &there) == 0 && there == 0); /* one frame */
		CHECK(nb_run_end(run[k]) == 0);
		nb_run_free(run[k]);
		nb_frame_clear(&made);
		nb_frame_clear(&streamed[k]);
	}
}

/* A refusal returns the exit status, after a message. */
static void test_refusal(void)
{
	char *command[] = {"nb-gen", "plummer", "--virial", "0.5", NULL};
	struct nb_run *run;
	const int err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
	dup2(null, STDERR_FILENO);
	CHECK(run_create(&run, &nb_tool_gen, count(command), command, NULL) == NB_EXIT_USAGE);
	dup2(err, STDERR_FILENO);
	close(err);
	close(null);
	nb_run_free(run);
}

/* What is made is sound, and nb-stats checks it in memory as it does in a stream. */
static void test_checked(void)
{
	char *make[] = {"nb-gen", "plummer", "-n", "100", NULL}, *look[] = {"nb-stats", "--check", NULL};
	struct nb_run *maker, *checker;
	struct nb_frame frame;
	int there;
	nb_frame_init(&frame);
	CHECK(run_create(&maker, &nb_tool_gen, count(make), make, NULL) == 0);
	CHECK(run_create(&checker, nb_tool_find("nb-stats"), count(look), look, NULL) == 0);
	CHECK(run_make(maker, &frame, &there) == 0 && there);
	CHECK(nb_run_frame(checker, &frame) == 0);
	CHECK(nb_run_end(checker) == 0);
	nb_run_free(checker);
	nb_run_free(maker);
	nb_frame_clear(&frame);
}

int main(void)
{
	const int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	test_frames();
	test_refusal();
	test_checked();
	unlink(path);
	return unit_end();
}
