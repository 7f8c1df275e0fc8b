/* What work takes in the memory of a device, and what is said where that is too little.
 *
 *   capacity          tests
 *   capacity table    the rows of the table in nb(7) */
#include "tools/filter/choose.h"

#include "tests/unit/filter/chains.h"
#include "tests/unit/filter/fake_body.h"

#include <unistd.h>

/* ---- a device ----------------------------------------------------------------------------------- */

static double room_bytes;
static int ncard = 1;

static int look(struct nb_device_speed *to, char *why)
{
	(void)why;
	*to = (struct nb_device_speed){1, 1};
	return NB_OK;
}

static int choose(const char *name, const struct nb_backend **backend, char *why)
{
	if (strcmp(name, "cpu") == 0)
		return nb_backend_choose(name, backend, why);
	*backend = &nb_fake_backend;
	return NB_OK;
}

static int room(const struct nb_backend *backend, struct nb_device_room *to)
{
	if (backend != &nb_fake_backend)
		return NB_EINVAL;
	*to = (struct nb_device_room){room_bytes, "device 0"};
	return NB_OK;
}

static int cards(void)
{
	return ncard;
}

/* ---- plans -------------------------------------------------------------------------------------- */

/* id, pos, vel and mass, as nb-gen writes them; dtype of the three. */
static void make_frame(struct nb_frame *frame, double n, const char *dtype)
{
	static const enum nb_field fields[] = {NB_POS, NB_VEL, NB_MASS};
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = (uint64_t)n;
	CHECK(nb_frame_add_field(frame, NB_ID, NULL, 0) != NULL);
	for (int i = 0; i < 3; i++)
		CHECK(nb_frame_add_field(frame, fields[i], dtype, 0) != NULL);
}

/* What a chain of commands takes; force: the force pipeline of the first, or NULL. */
static struct nb_plan_held plan_of(const char *commands, const char *force, double n, int dim, const char *dtype)
{
	struct chain chain;
	struct ring ring;
	struct nb_frame frame;
	struct nb_plan plan;
	make_chain(&chain, commands);
	if (force)
		make_ring(&ring, chain.run[0], force);
	make_frame(&frame, n, dtype);
	CHECK(nb_frame_set_attribute_f64(&frame, "dim", dim) == NB_OK);
	nb_plan_make(&plan, chain.run[0], &frame, &(struct nb_plan_case){n, {1, 1}, 0});
	nb_frame_clear(&frame);
	if (force)
		free_ring(&ring);
	free_chain(&chain);
	return plan.held[NB_ON_DEVICE];
}

#define STEP "nb-step -b cuda -d 0.1 -k 10 --every 0 force"
#define SORT "nb-sort-zorder -b cuda | "
#define TREE SORT "nb-build-tree -b cuda | "

static double in_step(const char *force)
{
	const double n = 1e8;
	return plan_of(STEP, force, n, 3, "<f8").most / n;
}

/* ---- the arithmetic ----------------------------------------------------------------------------- */

/* id 8, pos 24, vel 24, mass 8; vel stays in nb-step, with 4 for its own numbers of rows and 4 that are sent. */
enum { STATE = 64, ROWS = 8, KEY = 8, ACC = 24 };
static const double nodes = 3.8 / 16; /* of each body */
static const double groups = 4 + 20 / 32.0 + 16 / 65.0;

/* Of n bodies as they are here: lists for 1 GiB. */
static double regions(double bytes)
{
	return 0x1p30 / (bytes + 1024);
}

static void stages(void)
{
	const double n = 1e8;
	const struct nb_plan_held held = plan_of(STEP, TREE "nb-force -b cuda -t 0.5 -e 0.1", n, 3, "<f8");
	const double lists = regions(16384) * 16584 / n;
	const double walk = STATE + ROWS + KEY + ACC + nodes * (144 + 68) + groups + lists;
	CHECK_NEAR(held.stage[NB_MEMORY_PERMUTE].bytes / n, STATE + ROWS + 12 + 24, 0.01);
	CHECK_NEAR(held.stage[NB_MEMORY_PLACE].bytes / n, STATE + ROWS + KEY + 4.1 + nodes * 12, 0.01);
	CHECK_NEAR(held.stage[NB_MEMORY_TREE].bytes / n, STATE + ROWS + KEY + nodes * 144, 0.01);
	CHECK_NEAR(held.stage[NB_MEMORY_WALK].bytes / n, walk, 0.01);
	CHECK_NEAR(held.stage[NB_MEMORY_RETURN].bytes / n, STATE + ROWS + ACC + 24, 0.01);
	CHECK(held.at == NB_MEMORY_WALK && held.most == held.stage[NB_MEMORY_WALK].bytes);
	CHECK(strcmp(held.stage[NB_MEMORY_WALK].tool, "nb-force") == 0);
	CHECK(strcmp(held.stage[NB_MEMORY_RETURN].tool, "nb-step") == 0);
	CHECK(held.stage[NB_MEMORY_DIRECT].bytes == 0);
	/* the same by nb-force's own account of a frame that comes from a pipe, without what stays in nb-step */
	CHECK_NEAR(plan_of(TREE "nb-force -b cuda -t 0.5", NULL, n, 3, "<f8").most / n, walk - ROWS, 0.01);
}

static void orders(void)
{
	const double walk = in_step(TREE "nb-force -b cuda -t 0.5");
	const double n = 1e8, lists = regions(16384) * 16584 / n, wide = regions(32768) * 33168 / n;
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -t 0.5 --precision f64") - walk, -lists, 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree --potential") - walk, 8, 0.01);
	CHECK_NEAR(in_step(SORT "nb-build-tree -b cuda -p 1 | nb-force -b cuda -m tree") - walk, -48 * nodes, 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree --mac acceleration") - walk, 24, 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree -p 3") - walk, nodes * (17 * 8 + 36 * 4), 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree -p 3 --precision f64") - walk,
		nodes * (17 + 36) * 8 + wide - lists, 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree -p 4") - walk, nodes * (32 * 8 + 64 * 4), 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree --softening-kernel spline") - walk, nodes * 40, 0.01);
	CHECK_NEAR(in_step(TREE "nb-force -b cuda -m tree --jerk") - walk, 24 + nodes * 104 - lists, 0.01);
	CHECK(in_step(SORT "nb-build-tree -b cuda -l 32 | nb-force -b cuda -m tree") < walk - 0.45 * nodes * 212);
}

/* Positions, velocities and masses of f32 come as such, and have a second form where they are computed with. */
static void narrow(void)
{
	const double n = 1e8, wide = plan_of("nb-force -b cuda", NULL, n, 3, "<f8").most;
	CHECK_NEAR(wide / n, 24 + 8 + ACC + 32 + 24 + 48, 0.01);
	CHECK_NEAR((plan_of("nb-force -b cuda", NULL, n, 3, "<f4").most - wide) / n, 12 + 4, 0.01);
	/* id 8, 7 numbers; pos and mass as f64 */
	CHECK_NEAR((plan_of(TREE "nb-force -b cuda -t 0.5", NULL, n, 3, "<f4").most -
			   plan_of(TREE "nb-force -b cuda -t 0.5", NULL, n, 3, "<f8").most) /
			   n,
		-7 * 4 + 24 + 8, 0.01);
}

/* The kernel that computes each pair once is not that of small boxes; 26 neighbours in space. */
static void near(void)
{
	const double n = 0x1p26;
	const char *flat = SORT "nb-build-tree -b cuda --kind boxes --level 9 | nb-force -b cuda --precision f32";
	const char *space = SORT "nb-build-tree -b cuda --kind boxes --level 6 | nb-force -b cuda --precision f32";
	const double frame = STATE + KEY + ACC, boxes = 1.0 / 256;
	CHECK_NEAR(plan_of(flat, NULL, n, 2, "<f8").most / n, frame + 16 + 24 + 8 * 12 + boxes * 76, 0.01);
	CHECK_NEAR(plan_of(space, NULL, n, 3, "<f8").most / n, frame + 16 + 24 + 26 * 12 + boxes * 148, 0.1);
	CHECK_NEAR(plan_of(flat, NULL, n / 8, 2, "<f8").most / (n / 8), frame + 20 + 72 / 32.0, 0.1);
}

/* Where several devices share the pairs of a periodic box; all may be one. */
static void shared(void)
{
	static const char *const backend[] = {"cuda", "cuda:all", "cuda:0,1", "cuda:all"};
	const double n = 1e8;
	double one[2] = {0, 0};
	for (int k = 0; k < 4; k++)
		for (int pot = 0; pot < 2; pot++) {
			char line[100];
			ncard = 1 + k / 2;
			snprintf(
				line, sizeof line, "nb-force -b %s -m treepm%s", backend[k], pot ? " --potential" : "");
			const double bytes = plan_of(line, NULL, n, 3, "<f8").most / n;
			if (k == 0)
				one[pot] = bytes;
			CHECK_NEAR(bytes - one[pot], ncard == 1 ? 0 : 28 + 8 * pot, 0.01);
		}
	ncard = 1;
}

/* Nothing on the CPU is counted; a sort on streams leaves the other columns on the host. */
static void elsewhere(void)
{
	CHECK(plan_of("nb-sort-zorder -b cpu | nb-build-tree -b cpu | nb-force -b cpu", NULL, 1e9, 3, "<f8").most == 0);
	struct chain chain;
	struct nb_frame frame;
	struct nb_plan plan;
	make_chain(&chain, "nb-sort-zorder -b cuda");
	make_frame(&frame, 1e9, "<f8");
	nb_plan_make(&plan, chain.run[0], &frame, &(struct nb_plan_case){1e9, {1, 1}, 0});
	CHECK_NEAR(plan.held[NB_ON_CPU].most / 1e9, STATE + 12 + 24, 0.01);
	nb_frame_clear(&frame);
	free_chain(&chain);
}

/* More of anything never takes less. */
static void monotone(void)
{
	static const double count[NB_MEMORY_UNITS] = {1, 1, 1, 1, 1, 1};
	for (int stage = 0; stage < NB_MEMORY_STAGES; stage++)
		for (int trait = 0; trait < 15; trait++)
			for (int unit = 0; unit < NB_MEMORY_UNITS; unit++) {
				struct nb_memory_job less = {.traits = 0}, more;
				memcpy(less.count, count, sizeof count);
				more = less;
				more.traits |= 1u << trait;
				more.count[unit] *= 2;
				CHECK(nb_memory_of((enum nb_memory_stage)stage, &more) >=
					nb_memory_of((enum nb_memory_stage)stage, &less));
			}
	for (double leaf = 1; leaf < 100; leaf++)
		CHECK(nb_memory_nodes(1e6, leaf) >= nb_memory_nodes(1e6, leaf + 1));
	CHECK(nb_memory_regions(1e6, 16384, 0) > nb_memory_regions(1e6, 16384, 1));
	CHECK(nb_memory_regions(1e9, 16384, 0) < nb_memory_regions(1e9, 16384, 1));
	CHECK(nb_memory_nodes(1e6, 16) == 237500 && nb_memory_nodes(0, 16) == 0);
}

/* ---- what is said ------------------------------------------------------------------------------- */

static void require(struct nb_run *run, void *frame)
{
	nb_require_backend(run, frame);
}

/* The status of the first instance with a frame of n bodies, and what it says. */
static int status_of(struct chain *chain, double n, char text[1000])
{
	struct nb_frame frame;
	FILE *said = tmpfile();
	make_frame(&frame, n, "<f8");
	chain->run[0]->voice.file = fileno(said);
	const int status = nb_run_do(chain->run[0], require, &frame);
	rewind(said);
	text[fread(text, 1, 999, said)] = '\0';
	fclose(said);
	nb_frame_clear(&frame);
	return status;
}

static int said_of(const char *commands, double n, char text[1000])
{
	struct chain chain;
	make_chain(&chain, commands);
	const int status = status_of(&chain, n, text);
	free_chain(&chain);
	return status;
}

static void refused(void)
{
	char text[1000], what[200];
	room_bytes = 16e9;
	CHECK(said_of(TREE "nb-force -b cuda -t 0.5", 1e9, text) == NB_EXIT_FAILED);
	const char *colon = strrchr(text, ':');
	const double most = colon ? strtod(colon + 1, NULL) : 0;
	snprintf(what, sizeof what,
		"nb-sort-zorder: 1000000000 bodies do not fit into the 14.9 GiB of device 0 (nb-force, tree walk: 152 "
		"bytes a body): %.0f would\n",
		most);
	CHECK(strcmp(text, what) == 0);
	CHECK_NEAR(most, (15.4e9 - regions(16384) * 16584) / (STATE + KEY + ACC + nodes * 212 + groups), 2e5);
	/* which is true */
	CHECK(said_of(TREE "nb-force -b cuda -t 0.5", most, text) == NB_EXIT_OK && !*text);
	CHECK(said_of(TREE "nb-force -b cuda -t 0.5", most * 1.003, text) == NB_EXIT_FAILED);
	/* what meshes take does not depend on the bodies */
	CHECK(said_of("nb-power -b cuda --mesh 2048 --periodic 1", 1e6, text) == NB_EXIT_FAILED);
	CHECK(strstr(text,
		"137 GB are needed (nb-power, meshes), however few the bodies: more than the 14.9 GiB of device 0\n"));
	/* none where there is no room for anything */
	room_bytes = 1e8;
	CHECK(said_of("nb-force -b cuda", 1e6, text) == NB_EXIT_FAILED && strstr(text, "): 0 would\n"));
	CHECK(said_of("nb-force -b cuda", 0, text) == NB_EXIT_OK);
	CHECK(said_of("nb-force -b cpu", 1e6, text) == NB_EXIT_OK);
}

/* A later frame is looked at if it is larger than those before. */
static void later(void)
{
	char text[1000];
	struct chain chain;
	room_bytes = 16e9;
	make_chain(&chain, TREE "nb-force -b cuda -t 0.5");
	CHECK(status_of(&chain, 1e6, text) == NB_EXIT_OK);
	CHECK(status_of(&chain, 1e8, text) == NB_EXIT_OK);
	CHECK(status_of(&chain, 1e9, text) == NB_EXIT_FAILED && strstr(text, "do not fit"));
	free_chain(&chain);
}

/* What is free to choose takes the CPU, and -v says why. */
static void automatic(void)
{
	static const char commands[] = "nb-sort-zorder -v -j 2 | nb-build-tree -j 2 | nb-force -j 2 -t 0.5";
	char text[1000];
	struct chain chain;
	for (int large = 0; large < 2; large++) {
		room_bytes = large ? 100e9 : 10e9;
		make_chain(&chain, commands);
		CHECK(status_of(&chain, 1e8, text) == NB_EXIT_OK);
		for (int i = 0; i < chain.n; i++)
			CHECK(chain.run[i]->backend->space->device == (large ? nb_fake_backend.space->device : -1));
		CHECK(large == (strstr(text, "memory of ") != NULL));
		CHECK(large != (strstr(text, "on a device, but: 100000000 bodies do not fit") != NULL));
		free_chain(&chain);
	}
	/* where one instance is on the device already, the others leave it the memory */
	room_bytes = 12e9;
	make_chain(&chain, "nb-sort-zorder -b cuda | nb-build-tree -j 2 | nb-force -j 2 -t 0.5");
	CHECK(status_of(&chain, 1e8, text) == NB_EXIT_OK);
	CHECK(chain.run[0]->backend == &nb_fake_backend && chain.run[2]->backend->space->device < 0);
	free_chain(&chain);
}

/* Several devices have a part of the bodies each, whatever stands behind nb-step. */
static void parts(void)
{
	static const char *const commands[] = {STEP, STEP " | nb-select", "nb-select | " STEP " | nb-select"};
	char text[1000];
	room_bytes = 40e9;
	for (int k = 0; k < 6; k++) {
		struct chain chain;
		struct ring ring;
		ncard = k % 2 ? 4 : 1;
		make_chain(&chain, commands[k / 2]);
		make_ring(&ring, chain.run[k / 4], TREE "nb-force -b cuda -t 0.5");
		CHECK(status_of(&chain, 7e8, text) == (ncard > 1 ? NB_EXIT_OK : NB_EXIT_FAILED));
		if (k < 4) { /* else nb-step sees the second frame later */
			CHECK(status_of(&chain, 2e9, text) == NB_EXIT_FAILED);
			CHECK(strstr(text, ncard > 1 ? " do not fit into 4 devices of 37.3 GiB (" : " of device 0 ("));
		}
		free_ring(&ring);
		free_chain(&chain);
	}
	ncard = 1;
}

/* Bodies are spread where devices times bodies are enough. */
static void enough(void)
{
	char text[1000];
	for (ncard = 2; ncard <= 4; ncard += 2)
		for (int less = 0; less < 2; less++) {
			struct chain chain;
			struct ring ring;
			const double n = NB_SPREAD_LEAST / ncard - less;
			room_bytes = nb_memory_context() + 260 * n / ncard;
			make_chain(&chain, STEP);
			make_ring(&ring, chain.run[0], TREE "nb-force -b cuda -t 0.5");
			CHECK(status_of(&chain, n, text) == (less ? NB_EXIT_FAILED : NB_EXIT_OK));
			free_ring(&ring);
			free_chain(&chain);
		}
	ncard = 1;
}

/* ---- the table ---------------------------------------------------------------------------------- */

struct work {
	const char *name, *step, *force;
	int dim, stage; /* -1: the one that takes most */
};

#define WALK TREE "nb-force -b cuda -m tree -e 0.1"
#define BOXES(level) SORT "nb-build-tree -b cuda --kind boxes --level " level " | nb-force -b cuda --precision f32 "

static const struct work work[] = {
	{"keys and sort", STEP, WALK, 3, NB_MEMORY_SORT},
	{"permutation", STEP, WALK, 3, NB_MEMORY_PERMUTE},
	{"tree", STEP, WALK, 3, NB_MEMORY_TREE},
	{"tree walk", STEP, WALK, 3, NB_MEMORY_WALK},
	{"back to nb-step", STEP, WALK, 3, NB_MEMORY_RETURN},
	{"step, leaves of 32", STEP, SORT "nb-build-tree -b cuda -l 32 | nb-force -b cuda -m tree", 3, -1},
	{"step, leaves of 64", STEP, SORT "nb-build-tree -b cuda -l 64 | nb-force -b cuda -m tree", 3, -1},
	{"step, order 3", STEP, WALK " -p 3", 3, -1},
	{"step, order 4", STEP, WALK " -p 4", 3, -1},
	{"step, order 4, f64", STEP, WALK " -p 4 --precision f64", 3, -1},
	{"step, spline", STEP, WALK " --softening-kernel spline", 3, -1},
	{"step, hermite", "nb-step -b cuda -d 0.1 --integrator hermite --every 0 force", WALK " --jerk", 3, -1},
	{"step, direct f32", STEP, "nb-force -b cuda --precision f32", 3, -1},
	{"step, direct f64", STEP, "nb-force -b cuda --precision f64", 3, -1},
	{"step, near, 3-D", STEP, BOXES("6"), 3, -1},
	{"step, near, 2-D", STEP, BOXES("9"), 2, -1},
};

/* A body, where there are n. */
static double bytes_of(const struct work *w, double n)
{
	const struct nb_plan_held held = plan_of(w->step, w->force, n, w->dim, "<f8");
	return (w->stage < 0 ? held.most : held.stage[w->stage].bytes) / n;
}

/* Millions of bodies as they fit; cards in 10^9 bytes. */
static void print_table(void)
{
	static const double card[] = {8, 16, 24, 48, 80, 141}, n = 0x1p28;
	for (size_t k = 0; k < sizeof work / sizeof *work; k++) {
		const struct work *w = &work[k];
		printf(".It %s Ta %.0f", w->name, bytes_of(w, n));
		for (size_t c = 0; c < sizeof card / sizeof *card; c++) {
			const double room = card[c] * 1e9 - nb_memory_context();
			double fits = n;
			for (int turn = 0; turn < 30; turn++)
				fits = room / bytes_of(w, fits);
			printf(" Ta %.0f", floor(fits / 1e6));
		}
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	const int table = argc > 1 && strcmp(argv[1], "table") == 0;
	nb_devices = (struct nb_devices){look, choose, room, cards, cards};
	setenv("NB_SIMD", "plain", 1); /* the same on every processor */
	if (table) {
		print_table();
		return unit_failed;
	}
	stages();
	orders();
	narrow();
	near();
	shared();
	elsewhere();
	monotone();
	refused();
	later();
	automatic();
	parts();
	enough();
	return unit_end();
}
