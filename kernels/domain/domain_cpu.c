/* Bodies that are spread over ranks (domain.h): what rank 0 says and what all do. */
#include "kernels/domain/domain_internal.h"

#include "common/mem.h"
#include "common/space.h"
#include "kernels/motion/motion.h"
#include "kernels/order/order.h"
#include "kernels/pair/pair.h"
#include "kernels/ranks/ranks.h"

#include <math.h>
#include <string.h>

enum what { BEGIN, MOVE, FORCE, GATHER, END };

/* The same for all ranks. */
struct command {
	enum what what;
	struct nb_domain_law law;
	size_t n, rest_size;
	double kick, drift;
	int wanted[6]; /* GATHER: pos, vel, mass, acc, pot, rest */
};

/* ---- in which memory ---------------------------------------------------------------------------- */

/* So many rows of own bodies; NULL: memory is exhausted. */
static void *rows_alloc(const struct nb_domain *d, size_t n, size_t rowsize)
{
	void *p = NULL;
	if (!d->law.device)
		return nb_alloc(n, rowsize);
	return nb_domain_devices()->alloc(&p, n * rowsize + 1) ? NULL : p; /* no rows have an address, too */
}

static void rows_free(const struct nb_domain *d, void *rows)
{
	if (d->law.device && rows)
		nb_domain_devices()->release(rows);
	else
		nb_free(rows);
}

static void domain_free(struct nb_domain *d)
{
	if (!d)
		return;
	void *const rows[] = {d->key, d->pos, d->vel, d->mass, d->acc, d->pot, d->rest};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		rows_free(d, rows[k]);
	nb_free_all(d->cost, d->share, d->bound, d->cut, d);
}

/* ---- there and back ----------------------------------------------------------------------------- */

/* Memory for n bodies, whose costs are not known. */
static int allocate(struct nb_domain *d)
{
	const size_t size = (size_t)d->size;
	d->bound = nb_alloc(size + 1, sizeof *d->bound);
	d->cut = nb_alloc(size + 1, sizeof *d->cut);
	if (!d->bound || !d->cut)
		return NB_ENOMEM;
	if (d->law.device) {
		d->share = nb_alloc_zero(size, sizeof *d->share);
		if (!d->share)
			return NB_ENOMEM;
		const int status = nb_domain_devices() ? nb_domain_devices()->open(d->law.device - 1) : NB_ENODEV;
		if (status)
			return status;
	} else {
		d->cost = nb_alloc_zero(d->n, sizeof *d->cost);
	}
	d->pos = rows_alloc(d, d->n, 3 * sizeof *d->pos);
	d->vel = rows_alloc(d, d->n, 3 * sizeof *d->vel);
	d->mass = rows_alloc(d, d->n, sizeof *d->mass);
	d->rest = rows_alloc(d, d->n, d->rest_size);
	if (!d->law.device)
		return d->pos && d->vel && d->mass && d->cost && d->rest ? NB_OK : NB_ENOMEM;
	return d->pos && d->vel && d->mass && d->rest ? NB_OK : nb_space_status();
}

/* Rows of rank 0 to the ranks that bound says, or back; *bytes has room for 2 (size + 1). */
static int pass(const struct nb_domain *d, int back, size_t rowsize, void *own, void *all, size_t *bytes)
{
	size_t *one = bytes, *each = bytes + d->size + 1;
	void *here = d->law.device ? nb_alloc(d->n, rowsize) : own; /* where MPI finds them */
	int status = here ? NB_OK : NB_ENOMEM;
	for (int k = 0; k <= d->size; k++) {
		one[k] = k > 0 ? d->n * rowsize : 0; /* all to or from rank 0 */
		each[k] = d->rank == 0 ? d->bound[k] * rowsize : 0;
	}
	if (!status && d->law.device && back)
		status = nb_domain_devices()->to_host(here, own, d->n * rowsize);
	status = nb_domain_agree(status);
	if (!status && back)
		nb_ranks_exchange(here, one, all, each);
	else if (!status)
		nb_ranks_exchange(all, each, here, one);
	nb_ranks_wait_all();
	if (!status && d->law.device && !back)
		status = nb_domain_devices()->to_device(own, here, d->n * rowsize);
	if (d->law.device)
		nb_free(here);
	return nb_domain_agree(status);
}

static int pass_all(struct nb_domain *d, int back, const int *wanted, const struct nb_domain_bodies *all)
{
	static const struct nb_domain_bodies none = {.n = 0};
	size_t *bytes = nb_alloc(2 * ((size_t)d->size + 1), sizeof *bytes);
	int status = bytes ? NB_OK : NB_ENOMEM;
	all = all ? all : &none;
	const struct {
		size_t rowsize;
		void *own, *all;
	} column[6] = {{3 * sizeof *d->pos, d->pos, all->pos}, {3 * sizeof *d->vel, d->vel, all->vel},
		{sizeof *d->mass, d->mass, all->mass}, {3 * sizeof *d->acc, d->acc, all->acc},
		{sizeof *d->pot, d->pot, all->pot}, {d->rest_size, d->rest, all->rest}};
	if (!status && d->law.device)
		status = nb_domain_devices()->open(d->law.device - 1);
	status = nb_domain_agree(status);
	for (int c = 0; c < 6 && !status; c++)
		if (wanted[c])
			status = pass(d, back, column[c].rowsize, column[c].own, column[c].all, bytes);
	nb_free(bytes);
	return status;
}

static int begin(const struct command *c, const struct nb_domain_bodies *all, struct nb_domain **domain)
{
	static const int wanted[6] = {1, 1, 1, 0, 0, 1};
	struct nb_domain *d = nb_alloc_zero(1, sizeof *d);
	if (nb_domain_agree(d ? NB_OK : NB_ENOMEM)) {
		nb_free(d);
		return NB_ENOMEM;
	}
	const size_t size = (size_t)nb_ranks_size(), rank = (size_t)nb_ranks_rank();
	d->law = c->law;
	d->rank = (int)rank;
	d->size = (int)size;
	d->n_all = c->n;
	d->rest_size = c->rest_size;
	/* (n k / size, without an overflow) */
	const size_t part = c->n / size, more = c->n % size;
	d->n = part + (rank < more);
	int status = nb_domain_agree(allocate(d));
	for (size_t k = 0; !status && k <= size; k++)
		d->bound[k] = part * k + (k < more ? k : more);
	if (!status)
		status = pass_all(d, 0, wanted, all);
	if (status) {
		domain_free(d);
		d = NULL;
	}
	*domain = d;
	return status;
}

/* ---- steps -------------------------------------------------------------------------------------- */

static int move_here(struct nb_domain *d, double kick, double drift, int *finite)
{
	int status = kick != 0 ? nb_kick_cpu(d->n, d->vel, d->acc, kick) : NB_OK;
	if (!status && drift != 0)
		status = nb_drift_cpu(d->n, d->pos, d->vel, drift);
	double test = 0;
#pragma omp parallel for schedule(static) reduction(+ : test) if (drift != 0)
	for (size_t i = 0; i < (drift != 0 ? 3 * d->n : 0); i++)
		test += d->pos[i] - d->pos[i]; /* 0 unless it is infinite or NaN */
	*finite = test == 0;
	return status;
}

static int move(struct nb_domain *d, const struct command *c, int *finite)
{
	double found[2] = {0, 0};
	*finite = 1;
	found[0] = d->law.device ? nb_domain_devices()->move(d, c->kick, c->drift, finite)
				 : move_here(d, c->kick, c->drift, finite);
	found[1] = !*finite;
	nb_ranks_fold(NB_RANKS_MOST, found, 2);
	*finite = found[1] == 0;
	return (int)found[0];
}

static void fold_tally(struct nb_domain *d, double *largest)
{
	struct nb_gravity_count *count = &d->tally.count;
	double most[7] = {d->tally.bodies, d->tally.asked, d->tally.bytes, isfinite(*largest) ? *largest : INFINITY,
		d->tally.cells, d->tally.all_cells, d->tally.rounds};
	double sum[4] = {(double)count->p2p, (double)count->m2p, (double)count->m2l, (double)count->groups};
	nb_ranks_fold(NB_RANKS_MOST, most, 7);
	nb_ranks_fold(NB_RANKS_SUM, sum, 4);
	d->tally.bodies = most[0];
	d->tally.asked = most[1];
	d->tally.bytes = most[2];
	*largest = most[3];
	d->tally.cells = most[4];
	d->tally.all_cells = most[5];
	d->tally.rounds = most[6];
	*count = (struct nb_gravity_count){(uint64_t)sum[0], (uint64_t)sum[1], (uint64_t)sum[2], (uint64_t)sum[3]};
}

/* Memory for what a force gives. */
int nb_domain_make_room(struct nb_domain *d)
{
	d->acc = rows_alloc(d, d->n, 3 * sizeof *d->acc);
	d->pot = rows_alloc(d, d->law.potential ? d->n : 0, sizeof *d->pot);
	return nb_domain_agree(d->acc && d->pot ? NB_OK : d->law.device ? nb_space_status() : NB_ENOMEM);
}

static int force_here(struct nb_domain *d, double *largest)
{
	struct nb_domain_tree tree = {.nslot = 0};
	int status = nb_domain_sort(d);
	if (!status)
		status = nb_domain_make_room(d);
	if (!status && d->n_all > 0)
		status = nb_domain_grow(d, &tree);
	if (!status && d->n_all > 0)
		status = nb_domain_walk_cpu(d, &tree);
	nb_domain_tree_free(&tree);
	return status ? status : nb_domain_agree(nb_largest_acc_cpu(d->n, d->acc, largest));
}

static int force(struct nb_domain *d, double *largest)
{
	rows_free(d, d->acc);
	rows_free(d, d->pot);
	d->acc = d->pot = NULL;
	*largest = 0;
	memset(&d->tally, 0, sizeof d->tally);
	const int status = d->law.device ? nb_domain_devices()->force(d, largest) : force_here(d, largest);
	if (!status)
		fold_tally(d, largest);
	return status;
}

/* ---- rank 0 ------------------------------------------------------------------------------------- */

static int claimed;

int nb_domain_claim(void)
{
	int none = 0;
	return __atomic_compare_exchange_n(&claimed, &none, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* A rank that fails alone leaves the others waiting: rank 0 then ends with the job begun, and all end with it. */
static int call(const struct command *c)
{
	struct command copy = *c;
	if (!nb_ranks_call(NB_RANKS_DOMAIN))
		return NB_ENODEV;
	nb_ranks_broadcast(&copy, sizeof copy);
	nb_ranks_wait_all();
	return NB_OK;
}

/* NB_EFAR as nb_tree_build_cuda, which no rank can say of its own bodies alone. */
static int find_far(int dim, const struct nb_domain_bodies *all)
{
	struct nb_cube cube;
	size_t bad;
	int status = all->n ? nb_morton_cube_cpu(all->n, all->pos, dim, &cube, &bad) : NB_OK;
	if (!status && all->n && nb_pair_typical(all->n, all->pos, cube.size) < cube.size * NB_TREE_NEAREST)
		status = NB_EFAR;
	return status;
}

int nb_domain_begin(struct nb_domain **domain, const struct nb_domain_law *law, const struct nb_domain_bodies *all)
{
	const struct command c = {.what = BEGIN, .law = *law, .n = all->n, .rest_size = all->rest_size};
	*domain = NULL;
	if ((law->dim != 2 && law->dim != 3) || law->leaf_size < 1 || law->tree_order < 1 || law->tree_order > 2 ||
		law->walk.mac != NB_MAC_GEOMETRIC || law->walk.order < 0 || law->walk.order > 4 ||
		!(law->walk.theta >= 0 && isfinite(law->walk.theta)) || !(law->eps >= 0 && isfinite(law->eps)) ||
		!isfinite(law->G))
		return NB_EINVAL;
	if (all->n > UINT32_MAX / 2)
		return NB_ELIMIT;
	int status = law->device ? find_far(law->dim, all) : NB_OK;
	if (!status)
		status = call(&c);
	if (status)
		return status;
	status = begin(&c, all, domain);
	nb_ranks_done();
	return status;
}

int nb_domain_kick_drift(struct nb_domain *domain, double kick, double drift, int *finite)
{
	const struct command c = {.what = MOVE, .kick = kick, .drift = drift};
	int status = call(&c);
	if (status)
		return status;
	status = move(domain, &c, finite);
	nb_ranks_done();
	return status;
}

int nb_domain_force(struct nb_domain *domain, double *largest, struct nb_domain_tally *tally)
{
	const struct command c = {.what = FORCE};
	int status = call(&c);
	if (status)
		return status;
	status = force(domain, largest);
	nb_ranks_done();
	if (tally)
		*tally = domain->tally;
	return status;
}

int nb_domain_gather(struct nb_domain *domain, const struct nb_domain_bodies *all)
{
	const struct command c = {.what = GATHER,
		.wanted = {all->pos != NULL, all->vel != NULL, all->mass != NULL, all->acc != NULL && domain->acc,
			all->pot != NULL && domain->pot, all->rest != NULL}};
	int status = all->n == domain->n_all ? call(&c) : NB_EINVAL;
	if (status)
		return status;
	status = pass_all(domain, 1, c.wanted, all);
	nb_ranks_done();
	return status;
}

const struct nb_domain_usage *nb_domain_usage_of(const struct nb_domain *domain, int k)
{
	return domain->share && k >= 0 && k < domain->size ? &domain->share[k] : NULL;
}

void nb_domain_end(struct nb_domain *domain)
{
	const struct command c = {.what = END};
	if (!domain)
		return;
	if (call(&c) == NB_OK)
		nb_ranks_done();
	domain_free(domain);
	__atomic_store_n(&claimed, 0, __ATOMIC_SEQ_CST);
}

/* ---- others ------------------------------------------------------------------------------------- */

int nb_domain_serve(void)
{
	static _Thread_local struct nb_domain *mine; /* until rank 0 ends it */
	struct command c;
	double largest;
	int finite;
	nb_ranks_broadcast(&c, sizeof c);
	nb_ranks_wait_all();
	/* what goes wrong all ranks know, and rank 0 says */
	switch (c.what) {
	case BEGIN: (void)!begin(&c, NULL, &mine); break;
	case MOVE: (void)!move(mine, &c, &finite); break;
	case FORCE: (void)!force(mine, &largest); break;
	case GATHER: (void)!pass_all(mine, 1, c.wanted, NULL); break;
	case END: domain_free(mine); mine = NULL;
	}
	return NB_OK;
}
