/* xu_body.h - the loops of Xu, Xu & Chen in one precision.  Whoever includes it defines REAL, INTERACT and XU(name),
 * which are undefined behind it. */

/* BodyX of the first listing, whose size only matters in collisions */
struct XU(body) {
	REAL c[3], v[3], m, size;
};

struct XU(vect) {
	REAL v[3];
};

/* cs, vs, ms of the later listings; v NULL: no jerk */
struct XU(bodies) {
	size_t n;
	REAL eps2;
	struct XU(vect) * c, *v;
	REAL *m;
};

static void XU(store)(const struct nb_gravity_plan *plan, size_t i, const REAL *acc, const REAL *jerk)
{
	for (size_t c = 0; c < 3; c++) {
		plan->g->acc[3 * i + c] = (double)acc[c] * plan->scale.acc_out;
		if (plan->g->jerk)
			plan->g->jerk[3 * i + c] = (double)jerk[c] * plan->scale.jerk_out;
	}
}

static REAL XU(place)(const struct nb_gravity_plan *plan, size_t i, int c)
{
	return (REAL)(plan->g->pos[3 * i + (size_t)c] * plan->scale.length - plan->middle[c]);
}

static REAL XU(speed)(const struct nb_gravity_plan *plan, size_t i, int c)
{
	return (REAL)(plan->g->vel[3 * i + (size_t)c] * plan->scale.velocity);
}

/* ---- technique 1: an array of structures --------------------------------------------------------------- */

static int XU(sequential)(const struct nb_gravity_plan *plan)
{
	const struct nb_gravity *g = plan->g;
	const REAL eps2 = (REAL)(plan->eps * plan->eps);
	struct XU(body) *a = nb_alloc_zero(g->n, sizeof *a);
	if (!a)
		return NB_ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		for (int c = 0; c < 3; c++) {
			a[i].c[c] = XU(place)(plan, i, c);
			a[i].v[c] = g->jerk ? XU(speed)(plan, i, c) : 0;
		}
		a[i].m = (REAL)(g->mass[i] * plan->scale.mass);
	}
	for (size_t i = 0; i < g->n; i++) {
		REAL acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
		for (size_t j = 0; j < g->n; j++) {
			if (j == i)
				continue;
			REAL d[3], v[3];
			for (int c = 0; c < 3; c++) {
				d[c] = a[j].c[c] - a[i].c[c];
				v[c] = a[j].v[c] - a[i].v[c];
			}
			INTERACT(3, d, v, a[j].m, eps2, acc, g->jerk ? jerk : NULL);
		}
		XU(store)(plan, i, acc, jerk);
	}
	nb_free(a);
	return NB_OK;
}

/* ---- technique 3: arrays ------------------------------------------------------------------------------- */

/* what bodies first .. last-1 give body i */
static void XU(impulses)(const struct XU(bodies) * b, size_t i, size_t first, size_t last, REAL *acc, REAL *jerk)
{
	for (size_t j = first; j < last; j++) {
		if (j == i)
			continue;
		REAL d[3], v[3] = {0, 0, 0};
		for (int c = 0; c < 3; c++) {
			d[c] = b->c[j].v[c] - b->c[i].v[c];
			if (b->v)
				v[c] = b->v[j].v[c] - b->v[i].v[c];
		}
		INTERACT(3, d, v, b->m[j], b->eps2, acc, b->v ? jerk : NULL);
	}
}

/* "parallel in outer loop with manual batch split" */
static void XU(outer)(const struct XU(bodies) * b, const struct nb_gravity_plan *plan)
{
#pragma omp parallel
	{
		const size_t size = b->n / (size_t)omp_get_num_threads() + 1;
		const size_t start = (size_t)omp_get_thread_num() * size;
		const size_t end = start + size < b->n ? start + size : b->n;
		for (size_t i = start; i < end; i++) {
			REAL acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
			XU(impulses)(b, i, 0, b->n, acc, jerk);
			XU(store)(plan, i, acc, jerk);
		}
	}
}

/* "parallel in inner loop with parallel for": a parallel region for every body */
static void XU(inner)(const struct XU(bodies) * b, const struct nb_gravity_plan *plan)
{
	for (size_t i = 0; i < b->n; i++) {
		REAL part[SLICES][6];
#pragma omp parallel for schedule(static)
		for (int s = 0; s < SLICES; s++) {
			REAL sum[6] = {0, 0, 0, 0, 0, 0};
			XU(impulses)(b, i, b->n * (size_t)s / SLICES, b->n * (size_t)(s + 1) / SLICES, sum, sum + 3);
			memcpy(part[s], sum, sizeof sum);
		}
		REAL sum[6] = {0, 0, 0, 0, 0, 0};
		for (int s = 0; s < SLICES; s++)
			for (int c = 0; c < 6; c++)
				sum[c] += part[s][c];
		XU(store)(plan, i, sum, sum + 3);
	}
}

static int XU(parallel)(const struct nb_gravity_plan *plan, enum loop loop)
{
	const struct nb_gravity *g = plan->g;
	struct XU(bodies) b = {.n = g->n,
		.eps2 = (REAL)(plan->eps * plan->eps),
		.c = nb_alloc(g->n, sizeof *b.c),
		.v = g->jerk ? nb_alloc(g->n, sizeof *b.v) : NULL,
		.m = nb_alloc(g->n, sizeof *b.m)};
	const int status = b.c && b.m && (b.v || !g->jerk) ? NB_OK : NB_ENOMEM;
	if (!status) {
		for (size_t i = 0; i < g->n; i++) {
			for (int c = 0; c < 3; c++) {
				b.c[i].v[c] = XU(place)(plan, i, c);
				if (b.v)
					b.v[i].v[c] = XU(speed)(plan, i, c);
			}
			b.m[i] = (REAL)(g->mass[i] * plan->scale.mass);
		}
		if (loop == OUTER)
			XU(outer)(&b, plan);
		else
			XU(inner)(&b, plan);
	}
	nb_free_all(b.c, b.v, b.m);
	return status;
}

#undef REAL
#undef INTERACT
#undef XU
