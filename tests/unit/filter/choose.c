/* -b auto: what chains of instances choose, with a device that is none (fake.h). */
#include "tools/filter/choose.h"

#include "tests/unit/filter/chains.h"
#include "tests/unit/filter/fake_body.h"
#include "tools/filter/plan.h"

/* ---- a device ----------------------------------------------------------------------------------- */

static int looked, opened, missing;
static struct nb_device_speed speed;

static int look(struct nb_device_speed *to, char *why)
{
	looked++;
	*to = speed;
	snprintf(why, NB_BACKEND_WHY, "it was sold");
	return missing ? NB_ENODEV : NB_OK;
}

static int choose(const char *name, const struct nb_backend **backend, char *why)
{
	if (strcmp(name, "cpu") == 0)
		return nb_backend_choose(name, backend, why);
	opened++;
	*backend = &nb_fake_backend;
	return NB_OK;
}

static void reset_device(void)
{
	nb_devices = (struct nb_devices){look, choose, NULL, nb_backend_members, nb_backend_cards};
	speed = (struct nb_device_speed){1, 1};
	looked = opened = missing = 0;
}

/* ---- chains ------------------------------------------------------------------------------------- */

static int is_device(const struct nb_run *run)
{
	return run->backend && run->backend->space->device >= 0;
}

/* n bodies without contents: only the choice is made. */
static void empty_frame(struct nb_frame *frame, double n)
{
	static const enum nb_field fields[] = {NB_POS, NB_MASS, NB_VEL};
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = (uint64_t)n;
	for (int i = 0; i < 3; i++)
		CHECK(nb_frame_add_field(frame, fields[i], "<f8", 0) != NULL);
}

/* 1 if all of the chain computes on the device, 0 on the CPU, -1 if they do not agree. */
static int chosen(const char *commands, double n)
{
	struct chain chain;
	struct nb_frame frame;
	int devices = 0;
	make_chain(&chain, commands);
	empty_frame(&frame, n);
	nb_require_backend(chain.run[0], &frame);
	for (int i = 0; i < chain.n; i++) {
		nb_require_backend(chain.run[i], &frame);
		devices += is_device(chain.run[i]);
	}
	const int result = devices == 0 ? 0 : devices == chain.n ? 1 : -1;
	nb_frame_clear(&frame);
	free_chain(&chain);
	return result;
}

/* ---- choices ------------------------------------------------------------------------------------ */

#define TREE "nb-sort-zorder -j 16 | nb-build-tree -j 16 | nb-force -j 16 -t 0.5"

/* A device is not even looked for where the CPU wins. */
static void one_pass(void)
{
	reset_device();
	CHECK(chosen("nb-force -j 1", 1e3) == 0);
	CHECK(chosen("nb-force -j 1", 0) == 0);
	CHECK(chosen(TREE, 1e4) == 0);
	CHECK(chosen(TREE " | nb-stats -j 16", 1e4) == 0);
	CHECK(looked == 0 && opened == 0);
	CHECK(chosen("nb-force -j 16", 2e6) == 1);
	CHECK(looked == 1 && opened == 1);
	CHECK(chosen(TREE " | nb-stats -j 16", 1e9) == 1);
	CHECK(chosen(TREE " | nb-stats -j 16 --epot direct", 1e7) == 1);
	CHECK(chosen("nb-step -j 16 -d 0.1", 1e9) == 0); /* alone, it costs more to copy than to move */
	CHECK(chosen("nb-build-tree -j 16", 1e9) == 0);
	CHECK(chosen("nb-stats -j 16", 1e9) == 0);
	CHECK(chosen("nb-stats -j 1", 65536) == 1); /* a direct sum */
	CHECK(chosen("nb-power -j 16 --periodic 1 --mesh 32", 1e4) == 0);
	CHECK(chosen("nb-power -j 16 --periodic 1 --mesh 32", 1e8) == 1);
	CHECK(chosen("nb-power -j 16 --periodic 1 --mesh 1024", 1e4) == 1);
	CHECK(chosen("nb-power -j 16 --periodic 1 --pairs 0.1,0.2", 1e8) == 0); /* the host alone counts pairs */
}

/* What an option makes of the work: precision, angle, number of threads. */
static void options(void)
{
	reset_device();
	CHECK(chosen("nb-force -j 16", 3e5) == 1);
	CHECK(chosen("nb-force -j 2048", 3e5) == 0);
	CHECK(chosen("nb-force -j 64 -t 1", 3e6) == 0 && chosen("nb-force -j 64 -t 0.05", 3e6) == 1);
	CHECK(chosen("nb-force -j 16 --G 0", 3e6) == 0);
}

/* A force pipeline of another process hears how many frames come. */
static void other_process(void)
{
	for (int frames = 1; frames <= 1000; frames *= 1000) {
		struct chain chain;
		struct nb_frame frame;
		reset_device();
		make_chain(&chain, TREE);
		empty_frame(&frame, 1e5);
		CHECK(nb_frame_set_attribute_f64(&frame, NB_PLAN_TO_COME, frames) == NB_OK);
		nb_require_backend(chain.run[0], &frame);
		CHECK(is_device(chain.run[0]) == (frames > 1));
		nb_frame_clear(&frame);
		free_chain(&chain);
	}
}

/* A device that is missing, or one that is slow in f64. */
static void other_devices(void)
{
	reset_device();
	missing = 1;
	CHECK(chosen("nb-force -j 16", 2e6) == 0);
	CHECK(looked == 1 && opened == 0);
	reset_device();
	speed = (struct nb_device_speed){1, 1.0 / 64};
	CHECK(chosen("nb-force -j 256", 2e6) == 0);
	CHECK(looked == 1 && opened == 0);
	CHECK(chosen("nb-force -j 256 --precision f32", 3e6) == 1);
}

/* Where an instance has a context already, the others take part in it. */
static void wishes(void)
{
	struct chain chain;
	struct nb_frame frame;
	reset_device();
	CHECK(chosen("nb-sort-zorder -b cuda | nb-build-tree -j 16 | nb-force -j 16 -t 0.5", 1e6) == 1);
	CHECK(looked == 0 && opened == 1);
	make_chain(&chain, "nb-sort-zorder | nb-build-tree -b cpu | nb-force -b cuda");
	empty_frame(&frame, 1e6);
	for (int i = 0; i < chain.n; i++)
		nb_require_backend(chain.run[i], &frame);
	CHECK(!is_device(chain.run[1]) && is_device(chain.run[2]));
	nb_frame_clear(&frame);
	free_chain(&chain);
	make_chain(&chain, "nb-force -j 16 -b cpu | nb-stats -j 16");
	empty_frame(&frame, 1e7);
	for (int i = 0; i < chain.n; i++)
		nb_require_backend(chain.run[i], &frame);
	CHECK(!is_device(chain.run[0]) && !is_device(chain.run[1]));
	nb_frame_clear(&frame);
	free_chain(&chain);
}

/* ---- rings -------------------------------------------------------------------------------------- */

/* nb-step with a force pipeline that is folded, or is not (commands is NULL).  1 if all compute on the device, 0 on the
 * CPU, -1 if they do not agree. */
static int chosen_of_ring(const char *step, const char *commands, double n)
{
	struct chain chain;
	struct ring ring;
	struct nb_frame frame;
	make_chain(&chain, step);
	make_ring(&ring, chain.run[0], commands);
	empty_frame(&frame, n);
	nb_require_backend(chain.run[0], &frame);
	int devices = 0;
	for (int i = 0; i < chain.n; i++)
		devices += is_device(chain.run[i]);
	for (int i = 0; i < ring.chain.n; i++) {
		CHECK(ring.chain.run[i]->backend != NULL);
		devices += is_device(ring.chain.run[i]);
	}
	const int members = chain.n + ring.chain.n;
	nb_frame_clear(&frame);
	free_ring(&ring);
	free_chain(&chain);
	return devices == 0 ? 0 : devices == members ? 1 : -1;
}

static void rings(void)
{
	static const char step[] = "nb-step -j 16 -d 0.01";
	char text[200];
	int before = 0;
	reset_device();
	for (int k = 1; k <= 100000; k *= 10) {
		snprintf(text, sizeof text, "%s -k %d force", step, k);
		const int device = chosen_of_ring(text, TREE, 1e5);
		CHECK(device >= before); /* more steps never bring it back */
		before = device;
	}
	CHECK(before == 1);
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 -k 10 force", TREE, 1e4) == 0);
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 -k 1000 force", TREE, 0x1p20) == 1);
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 --until 0.1 force", TREE, 0x1p14) == 0);
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 --until 2.2 force", TREE, 0x1p14) == 1);
	/* as many steps as --until needs, or a guess where they are not known */
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 --until 10 force", TREE, 0x1p20) == 1);
	CHECK(chosen_of_ring("nb-step -j 16 -d -0.01 --until -10 force", TREE, 0x1p20) == 1);
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 --until -10 force", TREE, 1e5) == 0);
	CHECK(chosen_of_ring("nb-step -j 16 --eta 0.01 --until 10 force", TREE, 1e5) == 1);
	CHECK(chosen_of_ring("nb-step -j 16 --eta 0.01 --until -10 force", TREE, 1e5) == 1);
	CHECK(chosen_of_ring("nb-step -j 16 --eta 0.01 --until 0.01 force", TREE, 1e5) == 0);
	CHECK(chosen_of_ring("nb-step -j 16 -d 5 --eta 0.01 --until 10000 force", TREE, 0x1p20) == 1);
	/* by pipes, and where bodies collide on the host */
	CHECK(chosen_of_ring("nb-step -j 1 -d 0.01 -k 100000 force", NULL, 1e7) == 0);
	/* a ring that is told where to compute, and a step that is */
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 -k 10 --every 0 force", "nb-force -b cuda", 1e4) == 1);
	CHECK(chosen_of_ring("nb-step -b cuda -d 0.01 -k 10 force", TREE, 1e5) == 1);
	CHECK(chosen_of_ring("nb-step -b cpu -d 0.01 -k 10 force", TREE, 1e4) == 0);
	/* what comes before and behind takes part */
	CHECK(chosen_of_ring("nb-step -j 16 -d 0.01 -k 1000 force | nb-stats -j 16", TREE, 0x1p20) == 1);
}

/* ---- frames on the device ----------------------------------------------------------------------- */

enum { N = 20000 };

static void fill(struct nb_column *column)
{
	static uint64_t state = 1;
	double *x = nb_column_write(column, &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < column->rows * column->ncomp; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		x[i] = (double)(state >> 11) * 0x1p-53;
	}
}

/* A frame that is on a device stays there from the first program to the last. */
static void stays(void)
{
	struct chain chain;
	struct nb_frame frame;
	reset_device();
	make_chain(&chain, "nb-sort-zorder -j 2 | nb-build-tree -j 2 | nb-force -j 2 -t 0.5 -e 0.1");
	empty_frame(&frame, N);
	for (size_t c = 0; c < frame.ncolumn; c++) {
		fill(&frame.column[c]);
		CHECK(nb_column_update(&frame.column[c], nb_fake_backend.space, NB_WIRE) != NULL);
	}
	nb_fake_count = (struct nb_fake_count){0, 0};
	for (int i = 0; i < chain.n; i++) {
		chain.run[i]->pass.put = drop;
		CHECK(nb_run_frame(chain.run[i], &frame) == 0);
		CHECK(is_device(chain.run[i]));
	}
	CHECK(looked == 0 || opened == 1);
	CHECK(nb_fake_count.to_host == 0);
	free_chain(&chain);
	nb_frame_clear(&frame);
	nb_fake_reset();
}

static int claims(const char *commands)
{
	struct chain chain;
	make_chain(&chain, commands);
	const int claimed = nb_claim_device(chain.run[0]);
	free_chain(&chain);
	return claimed;
}

/* The first one that is named is that of the process, by tools that compute and by those that only look. */
static void one_device(void)
{
	reset_device();
	CHECK(claims("nb-force") && claims("nb-stats -b cpu") && claims("nb-gen"));
	CHECK(claims("nb-stats -b cuda"));
	CHECK(claims("nb-force -b cuda:0") && claims("nb-force -b cuda") && claims("nb-stats -b cpu"));
	CHECK(!claims("nb-force -b cuda:1") && !claims("nb-render-ppm -b cuda:7"));
	CHECK(!claims("nb-force -b cuda:0,1") && !claims("nb-force -b cuda:all"));
	CHECK(claims("nb-force -b cuda:x")); /* which is no name: found later */
}

/* ---- measured times ------------------------------------------------------------------------------ */

/* The force of a row of auto-h200.tsv with so many threads. */
static void commands_of(char text[400], int cores, const char *work)
{
	const char *last = strrchr(work, ' ') + 1;
	if (strstr(work, "direct"))
		snprintf(text, 400, "nb-force -j %d -e 0.01", cores);
	else
		snprintf(text, 400, "nb-sort-zorder -j %d | nb-build-tree -j %d | nb-force -j %d -e 0.01 %s %s", cores,
			cores, cores, strstr(work, "theta") ? "-t" : "--accuracy", last);
}

/* Milliseconds, INFINITY where a run was ended. */
static double time_of(const char *text)
{
	return strcmp(text, "-") == 0 ? INFINITY : atof(text);
}

/* What auto chooses took at most 1.2 times as long as the other place, in the table of tests/bench/run-auto. */
static void recorded(const char *path)
{
	char line[400], work[100], cpu[20], cuda[20], commands[400], step[100];
	FILE *file = fopen(path, "r");
	int cores, rows = 0;
	double n;
	CHECK(file != NULL);
	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "%d\t%99[^\t]\t%lf\t%19s\t%19s", &cores, work, &n, cpu, cuda) != 5)
			continue;
		reset_device();
		commands_of(commands, cores, work);
		snprintf(step, sizeof step, "nb-step -j %d -d 0.001 -k 20 --every 0 force", cores);
		const int device = *work == 'p' ? chosen(commands, n) : chosen_of_ring(step, commands, n);
		const double took = time_of(device ? cuda : cpu), other = time_of(device ? cpu : cuda);
		if (!(took <= 1.2 * other))
			printf("%s: %s\n", device ? "device" : "CPU", line);
		CHECK(took <= 1.2 * other);
		rows++;
	}
	CHECK(rows > 40);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	if (argc > 1) { /* of processors with AVX-512 */
		if (nb_cpu_isa() == NB_ISA_PLAIN + 2)
			recorded(argv[1]);
		return unit_end();
	}
	setenv("NB_SIMD", "plain", 1); /* the same on every processor */
	one_pass();
	options();
	other_process();
	other_devices();
	wishes();
	rings();
	stays();
	one_device();
	return unit_end();
}
