/* Tools on a device (fake.h) that has no memory left, fails once, or is lost: every call of every tool fails in turn.
 * The tool must pass on what it would have without, or fail with status 1 and one line that starts with its name and
 * says that memory is exhausted where it is, and else that the device failed. */
#define N 300
#include "tests/unit/filter/frames.h"
#include "tests/unit/run.h"

static char label[300];
static const char *real = "<f8"; /* what bodies are made of */

struct outcome {
	int status;
	struct bytes passed_on, said;
};

static int keep(void *context, struct nb_frame *frame, int last)
{
	(void)last;
	struct bytes *bytes = context;
	const struct nb_fake_fault fault = nb_fake_fault; /* for the tool alone */
	nb_fake_fault = (struct nb_fake_fault){0};
	free(bytes->data);
	*bytes = stream_of(frame);
	nb_fake_fault = fault;
	return 0;
}

static void read_all(int fd, struct bytes *bytes)
{
	struct stat st;
	CHECK(fstat(fd, &st) == 0);
	bytes->size = (size_t)st.st_size;
	bytes->data = malloc(bytes->size + 1);
	CHECK(pread(fd, bytes->data, bytes->size, 0) == (ssize_t)bytes->size);
	bytes->data[bytes->size] = '\0';
	close(fd);
}

static int hidden_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

/* Bodies through commands that prepare them, then through the one that is judged, away from the host. */
static struct outcome run(const char *const *prepare, const char *command, uint64_t at, int lost, int status)
{
	struct outcome outcome = {0};
	struct bytes unused = {NULL, 0};
	struct words words;
	struct nb_frame frame;
	struct nb_run *run;
	const int said = hidden_file(), out = dup(STDOUT_FILENO), printed = hidden_file();
	nb_fake_fault = (struct nb_fake_fault){0};
	nb_space_note_failure("");
	make_bodies(&frame, real, 3);
	for (; *prepare; prepare++) {
		split(*prepare, &words);
		CHECK(run_create(&run, nb_tool_find(words.word[0]), words.n, words.word, &nb_fake_backend) == 0);
		run->pass.put = keep;
		run->pass.context = &unused;
		CHECK(nb_run_frame(run, &frame) == 0);
		nb_run_free(run);
	}
	move_away(&frame);
	split(command, &words);
	CHECK(run_create(&run, nb_tool_find(words.word[0]), words.n, words.word, &nb_fake_backend) == 0);
	fflush(stdout);
	dup2(printed, STDOUT_FILENO);
	run->pass.put = keep;
	run->pass.context = &outcome.passed_on;
	run->voice.file = said;
	nb_fake_fault = (struct nb_fake_fault){0, at, lost, status};
	outcome.status = nb_run_frame(run, &frame);
	if (!outcome.status)
		outcome.status = nb_run_end(run);
	nb_run_free(run);
	nb_frame_clear(&frame);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	read_all(said, &outcome.said);
	if (outcome.passed_on.data)
		close(printed);
	else
		read_all(printed, &outcome.passed_on);
	free(unused.data);
	nb_fake_reset();
	return outcome;
}

static void forget(struct outcome *outcome)
{
	free(outcome->passed_on.data);
	free(outcome->said.data);
}

static int is_one_line_of(const char *command, const struct bytes *said)
{
	const size_t length = strcspn(command, " ");
	const char *end = memchr(said->data, '\n', said->size);
	return strncmp(said->data, command, length) == 0 && strncmp(said->data + length, ": ", 2) == 0 &&
	       end == said->data + said->size - 1;
}

/* A frame that is refused without a fault is never passed on with one. */
static void judge(const char *command, const struct outcome *want, const struct outcome *got, int status)
{
	if (want->status)
		WANT(got->status == NB_EXIT_FAILED && is_one_line_of(command, &got->said));
	if (want->status)
		return;
	if (!got->status) {
		WANT(got->passed_on.size == want->passed_on.size &&
			memcmp(got->passed_on.data, want->passed_on.data, want->passed_on.size) == 0);
		return;
	}
	const int before = unit_failed;
	WANT(got->status == NB_EXIT_FAILED);
	WANT(got->said.size > 0 && is_one_line_of(command, &got->said));
	/* nothing that a device lacks is blamed where it failed, and the other way round */
	WANT((strstr(got->said.data, "memory") != NULL) == (status == NB_ENOMEM));
	WANT((strstr(got->said.data, "the device failed") != NULL ||
		     strstr(got->said.data, "the fake is lost") != NULL) == (status == NB_EDEVICE));
	if (unit_failed != before)
		fprintf(stderr, "  it said: %s", got->said.data);
}

static void attack_judged(const char *const *prepare, const char *command, int refused)
{
	static const struct {
		int lost, status;
		const char *text;
	} fault[] = {{0, NB_ENOMEM, "memory"}, {0, NB_EDEVICE, "failure"}, {1, NB_EDEVICE, "loss"}};
	struct outcome want = run(prepare, command, 0, 0, 0);
	const uint64_t calls = nb_fake_fault.calls;
	CHECK(want.status == refused && calls > 0);
	for (uint64_t at = 1; at <= calls; at++)
		for (size_t f = 0; f < sizeof fault / sizeof *fault; f++) {
			snprintf(label, sizeof label, "%s: %s at call %d of %d", command, fault[f].text, (int)at,
				(int)calls);
			struct outcome got = run(prepare, command, at, fault[f].lost, fault[f].status);
			judge(command, &want, &got, fault[f].status);
			forget(&got);
		}
	forget(&want);
}

static void attack(const char *const *prepare, const char *command)
{
	attack_judged(prepare, command, NB_EXIT_OK);
}

int main(void)
{
	static const char *const nothing[] = {NULL}, *const sorted[] = {"nb-sort-zorder", NULL},
				 *const tree[] = {"nb-sort-zorder", "nb-build-tree", NULL},
				 *const boxes[] = {"nb-sort-zorder", "nb-build-tree --kind boxes --level 2", NULL},
				 *const some[] = {"nb-calc active=id%30==5", NULL},
				 *const wide[] = {"nb-calc --dtype u2 active=256*(id%30==5)", NULL},
				 *const forces[] = {"nb-force --jerk --potential -e 0.1", NULL};
	attack(nothing, "nb-sort-zorder");
	attack(nothing, "nb-sort-zorder --cube -1,-1,-1,4");
	attack(sorted, "nb-build-tree -l 8");
	attack(sorted, "nb-build-tree --kind boxes --level 2");
	attack(nothing, "nb-force -e 0.1 --potential --jerk");
	attack(some, "nb-force -e 0.1 --potential --jerk");
	attack(wide, "nb-force -e 0.1");
	attack(tree, "nb-force -t 0.6 -e 0.1 --potential");
	attack(tree, "nb-force -t 0.6 -e 0.1 --mac acceleration");
	attack(boxes, "nb-force -e 0.1");
	attack(boxes, "nb-force -m fmm -p 3 -e 0.1");
	attack(nothing, "nb-force --G 0");
	attack(forces, "nb-field nfw:m=1,rs=0.5;disk:m=1,a=1,b=0.1,vx=1");
	attack(nothing, "nb-field --alone log:v0=1,rc=1");
	real = "<f4";
	attack_judged(nothing, "nb-force --G 1e300", NB_EXIT_FAILED); /* accelerations overflow */
	real = "<f8";
	attack(forces, "nb-step -d 0.01");
	attack(forces, "nb-step -d 0.01 --integrator taylor");
	attack(forces, "nb-step -d 0.01 --integrator euler --eta 0.1");
	attack(forces, "nb-step -d 0.01 --collide merge");
	attack(forces, "nb-stats --format json");
	attack(forces, "nb-stats --by species --center density --by-number --bound --shape reduced --format tsv");
	attack(nothing, "nb-stats --epot direct --format tsv");
	attack(nothing, "nb-convert --to csv");
	attack(nothing, "nb-render-ppm -W 64 -H 64");
	attack(nothing, "nb-render-ppm -W 64 -H 64 --by species --hide 1,3");
	attack(nothing, "nb-render-ppm -W 64 -H 64 --by speed --draw discs");
	return unit_end();
}
