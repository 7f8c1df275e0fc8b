#include "tools/filter/choose.h"

#include "kernels/ranks/ranks.h"
#include "tools/filter/plan.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

struct nb_devices nb_devices = {
	nb_backend_look, nb_backend_choose, nb_backend_room, nb_backend_members, nb_backend_cards};

void nb_choose_backend(struct nb_run *run, const char *name)
{
	char why[NB_BACKEND_WHY];
	int status = nb_devices.choose(name, &run->backend, why);
	if (status)
		nb_die(status == NB_EINVAL ? NB_EXIT_USAGE : NB_EXIT_FAILED, "backend '%s': %s", name, why);
}

void nb_require_done(const struct nb_run *run, int status, const char *what, const struct nb_frame *frame)
{
	const struct nb_backend *backend = run->backend;
	if (status && backend)
		nb_die(NB_EXIT_FAILED, "%s frame %" PRIu64 " on backend %s: %s", what, frame->number, backend->name,
			nb_backend_error(backend, status));
	if (status)
		nb_die(NB_EXIT_FAILED, "%s frame %" PRIu64 ": %s", what, frame->number, nb_status_text(status));
}

/* ---- memory of a device ------------------------------------------------------------------------- */

/* Frames of which the work fits are looked for by trial, as what it takes is not quite a multiple of the bodies. */
static double bodies_that_fit(const struct nb_plan *plan, struct nb_run *first, enum nb_place undecided, double room)
{
	struct nb_plan trial;
	double n = plan->n, most = plan->held[undecided].most;
	for (int k = 0; k < 100 && most > room; k++) {
		n *= fmin(room / most, 0.999);
		nb_plan_make(&trial, first, plan->frame, &(struct nb_plan_case){n, plan->machine.device, plan->alone});
		most = trial.held[undecided].most;
	}
	if (most > room || n < 1)
		return 0;
	const double unit = pow(10, floor(log10(n)) - 2);
	return n > 1000 ? floor(n / unit) * unit : floor(n);
}

/* Whether the bodies of a run can be spread, as far as nb-step and its force pipeline tell. */
static int are_spread(const struct nb_plan *plan)
{
	struct nb_domain_law law = {.dim = 3};
	int i = 0;
	while (i < plan->nmember && strcmp(plan->member[i]->tool->name, "nb-step") != 0)
		i++;
	if (i == plan->nmember ||
		plan->member[i]->tool->spread(plan->member[i], plan->member[i]->self, plan->frame, &law))
		return 0;
	const struct nb_run *behind = plan->member[i]->next; /* the force pipeline comes before it */
	for (size_t k = 0;; k++) {
		const struct nb_run *run = ++i < plan->nmember && plan->member[i] != behind ? plan->member[i] : NULL;
		if (nb_spread_stage(run, k, plan->frame, &law))
			return 0;
		if (!run)
			return 1;
	}
}

int nb_spread_owners(void)
{
	const int ranks = nb_ranks_size();
	return ranks > 1 ? ranks : nb_devices.members();
}

int nb_spread_pays(uint64_t n)
{
	enum { LEAST_OF_RANKS = 8192 /* fewer are moved sooner than they are sent */ };
	return nb_ranks_size() > 1 ? n >= LEAST_OF_RANKS : n >= NB_SPREAD_LEAST / (uint64_t)nb_devices.members();
}

/* So many devices have a part of the bodies each. */
static int parts(const struct nb_plan *plan)
{
	const int ranks = nb_ranks_size();
	if (!plan->frame || nb_spread_owners() < 2 || !nb_spread_pays((uint64_t)plan->n) ||
		(ranks < 2 && nb_ranks_built()) || !are_spread(plan))
		return 1;
	return ranks > 1 ? ranks : nb_devices.cards();
}

/* 1 if the work fits into the memory of the backend's devices, or nobody knows that; else 0 and why not. */
static int fits(const struct nb_plan *plan, struct nb_run *first, const struct nb_backend *backend,
	enum nb_place undecided, char *why)
{
	const struct nb_plan_held *held = &plan->held[undecided];
	struct nb_device_room room;
	if (held->most == 0 || !nb_devices.room || nb_devices.room(backend, &room))
		return 1;
	const int n = parts(plan);
	const double left = (room.bytes - nb_memory_context()) * n;
	char where[80];
	if (held->most <= left)
		return 1;
	if (n > 1)
		snprintf(where, sizeof where, "%d devices of %.1f GiB", n, room.bytes / 0x1p30);
	else
		snprintf(where, sizeof where, "the %.1f GiB of %s", room.bytes / 0x1p30, room.name);
	const char *tool = held->stage[held->at].tool, *stage = nb_memory_stage_name(held->at);
	const double would = bodies_that_fit(plan, first, undecided, left);
	if (would == 0 && left > 0) /* a mesh, say, takes it all */
		snprintf(why, NB_BACKEND_WHY, "%.3g GB are needed (%s, %s), however few the bodies: more than %s",
			held->most / 1e9, tool, stage, where);
	else
		snprintf(why, NB_BACKEND_WHY, "%.0f bodies do not fit into %s (%s, %s: %.0f bytes a body): %.0f would",
			plan->n, where, tool, stage, held->most / plan->n, would);
	return 0;
}

static void report_memory(const struct nb_plan *plan, const struct nb_backend *backend, enum nb_place undecided)
{
	const struct nb_plan_held *held = &plan->held[undecided];
	if (held->most > 0)
		nb_verbose("memory of %s: about %.4g GB at most (%s, %s: %.0f bytes a body)", backend->name,
			held->most / 1e9, held->stage[held->at].tool, nb_memory_stage_name(held->at),
			held->most / plan->n);
}

static void require_fits(
	const struct nb_plan *plan, struct nb_run *first, const struct nb_backend *backend, enum nb_place undecided)
{
	char why[NB_BACKEND_WHY];
	if (!backend || backend->space->device < 0 || plan->n == 0)
		return;
	report_memory(plan, backend, undecided);
	if (!fits(plan, first, backend, undecided, why))
		nb_die(NB_EXIT_FAILED, "%s", why);
}

/* ---- auto --------------------------------------------------------------------------------------- */

/* What was chosen, and why. */
struct choice {
	const struct nb_backend *backend;
	double cpu, device;	  /* s */
	char why[NB_BACKEND_WHY]; /* a device would be faster, but; "" */
};

static int device_wins(const struct nb_plan *plan)
{
	return plan->seconds[NB_ON_DEVICE] < plan->seconds[NB_ON_CPU];
}

/* The device, if there is one and it wins; a device that nobody has asked for yet takes time to ask. */
static const struct nb_backend *find_device(
	struct nb_plan *plan, struct nb_run *first, const struct nb_frame *frame, char *why)
{
	const struct nb_backend *backend = NULL;
	struct nb_device_speed speed;
	if (plan->device)
		return fits(plan, first, plan->device, NB_ON_DEVICE, why) ? plan->device : NULL;
	if (nb_devices.look(&speed, why))
		return NULL;
	nb_plan_make(plan, first, frame, &(struct nb_plan_case){plan->n, speed, 0});
	if (!device_wins(plan) || nb_devices.choose(plan->space ? plan->space->name : "cuda", &backend, why))
		return NULL;
	return fits(plan, first, backend, NB_ON_DEVICE, why) ? backend : NULL;
}

static void choose(struct nb_plan *plan, struct nb_run *first, const struct nb_frame *frame, struct choice *choice)
{
	char unused[NB_BACKEND_WHY];
	choice->why[0] = '\0';
	choice->backend = device_wins(plan) ? find_device(plan, first, frame, choice->why) : NULL;
	choice->cpu = plan->seconds[NB_ON_CPU];
	choice->device = plan->seconds[NB_ON_DEVICE];
	if (!choice->backend && nb_devices.choose("cpu", &choice->backend, unused))
		nb_die(NB_EXIT_FAILED, "backend 'cpu': %s", unused);
}

static void report(const struct nb_run *run, const struct choice *choice)
{
	const int device = choice->backend->space->device >= 0;
	struct nb_voice voice = run->voice, *before = nb_speak_as(&voice);
	nb_verbose("backend %s: about %.2g s, %.2g s on %s%s%s", choice->backend->name,
		device ? choice->device : choice->cpu, device ? choice->cpu : choice->device,
		device ? "the CPU" : "a device", *choice->why ? ", but: " : "", choice->why);
	nb_speak_as(before);
}

static void decide(struct nb_run *first, const struct nb_frame *frame)
{
	const struct nb_plan_case suppose = {(double)frame->rows[NB_PARTICLE], {1, 1}, 0};
	struct nb_plan plan;
	struct choice choice = {.backend = NULL};
	nb_plan_make(&plan, first, frame, &suppose);
	if (plan.undecided)
		choose(&plan, first, frame, &choice);
	const int device = choice.backend && choice.backend->space->device >= 0;
	require_fits(&plan, first, device ? choice.backend : plan.device, device ? NB_ON_DEVICE : NB_ON_CPU);
	for (int i = 0; i < plan.nmember; i++) {
		struct nb_run *run = plan.member[i];
		run->placed.decided = 1;
		run->placed.fits = frame->rows[NB_PARTICLE];
		if (!nb_plan_is_undecided(run))
			continue;
		report(run, &choice);
		/* a looker takes a frame from the CPU and from a device */
		if (run->tool->common & NB_COMMON_BACKEND || choice.backend->space->device >= 0)
			run->backend = choice.backend;
	}
}

/* The choice stays; those behind this instance look for themselves. */
static void decide_again(struct nb_run *first, const struct nb_frame *frame)
{
	const struct nb_plan_case suppose = {(double)frame->rows[NB_PARTICLE], {1, 1}, 1};
	struct nb_plan plan;
	nb_plan_make(&plan, first, frame, &suppose);
	require_fits(&plan, first, plan.device, NB_ON_CPU);
	for (int i = 0; i < plan.nmember; i++)
		plan.member[i]->placed.fits = frame->rows[NB_PARTICLE];
}

void nb_require_backend(struct nb_run *run, const struct nb_frame *frame)
{
	if (!run->placed.decided)
		decide(run, frame);
	else if (frame->rows[NB_PARTICLE] > run->placed.fits)
		decide_again(run, frame);
	if (run->backend || !(run->tool->common & NB_COMMON_PLACE))
		return;
	const struct nb_space *space = nb_plan_space(frame);
	nb_choose_backend(run, space ? space->name : "cpu");
}

/* ---- bodies that are spread over ranks --------------------------------------------------------- */

const char *nb_spread_device(const struct nb_run *run, int first, int *device)
{
	const int own = run->backend ? run->backend->space->device + 1 : 0;
	if (own > 0 && nb_ranks_size() > 1 && nb_backend_members() > 1)
		return "each rank has one device (want -b cuda)";
	if (first)
		*device = own;
	return *device == own ? NULL : "not all of the force pipeline computes in the same place";
}

const char *nb_spread_stage(const struct nb_run *run, size_t k, const struct nb_frame *frame, struct nb_domain_law *law)
{
	static const char *const want[] = {"nb-sort-zorder", "nb-build-tree", "nb-force"};
	const size_t n = sizeof want / sizeof *want;
	/* nb-force by itself does what the others do */
	const int alone = run ? k == 0 && strcmp(run->tool->name, want[n - 1]) == 0 : k == 1 && law->leaf_size > 0;
	if (!alone && (run ? k >= n || strcmp(run->tool->name, want[k]) != 0 : k < n))
		return "the force pipeline is not nb-sort-zorder | nb-build-tree | nb-force";
	return run ? run->tool->spread(run, run->self, frame, law) : NULL;
}

/* ---- the same devices for all -------------------------------------------------------------------- */

int nb_claim_device(const struct nb_run *run)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct nb_device_list claimed;
	static int is_claimed;
	struct nb_device_list list;
	char why[NB_BACKEND_WHY];
	/* a name that is none is found when it is looked for */
	if (!(run->tool->common & NB_COMMON_PLACE) || nb_device_list_read(run->common.backend, &list, why, sizeof why))
		return 1;
	pthread_mutex_lock(&lock);
	const int reached = is_claimed || nb_backend_reach(&list); /* unless auto has started fewer */
	if (!is_claimed && reached)
		claimed = list;
	is_claimed = is_claimed || reached;
	const int same = reached && nb_device_list_equal(&claimed, &list);
	pthread_mutex_unlock(&lock);
	return same;
}

void nb_report_devices(const struct nb_run *run)
{
	char line[NB_BACKEND_REPORT];
	for (int k = 0; run->backend && nb_backend_report(run->backend, k, line) == NB_OK; k++)
		nb_verbose("%s", line);
}
