/* tree_body.h - mass distribution and forces of the papers' trees in one precision.  Whoever includes it defines REAL,
 * ROOT, INTERACT and TREE(name), which are undefined behind it. */

/* What a node has after the mass distribution; vel is that of the centre of mass. */
struct TREE(cell) {
	REAL com[3], vel[3], mass;
};

/* scaled copies of the bodies */
struct TREE(bodies) {
	REAL *pos, *vel, *mass;	  /* n x 3, n x 3 or NULL, n */
	struct TREE(cell) * cell; /* of each node */
	REAL eps2, theta;
};

static void TREE(gather)(struct TREE(cell) * cell, REAL mass, const REAL *com, const REAL *vel)
{
	cell->mass += mass;
	for (int c = 0; c < 3; c++) {
		cell->com[c] += mass * com[c];
		if (vel)
			cell->vel[c] += mass * vel[c];
	}
}

/* tasks: divide the work of cells above this depth among the threads */
static void TREE(distribute)(const struct nb_paper_tree *tree, const struct TREE(bodies) * b, int32_t at, int tasks)
{
	const struct nb_paper_node *node = &tree->node[at];
	struct TREE(cell) *cell = &b->cell[at];
	if (nb_paper_leaf(node)) {
		for (int32_t i = node->body; i != NB_PAPER_NONE; i = tree->next[i])
			TREE(gather)(cell, b->mass[i], b->pos + 3 * (size_t)i, b->vel ? b->vel + 3 * (size_t)i : NULL);
	} else {
		for (int q = 0; q < 1 << tree->dim; q++)
			if (node->child[q] != NB_PAPER_NONE) {
#pragma omp task if (node->depth < tasks)
				TREE(distribute)(tree, b, node->child[q], tasks);
			}
#pragma omp taskwait
		for (int q = 0; q < 1 << tree->dim; q++)
			if (node->child[q] != NB_PAPER_NONE) {
				const struct TREE(cell) *child = &b->cell[node->child[q]];
				TREE(gather)(cell, child->mass, child->com, b->vel ? child->vel : NULL);
			}
	}
	if (!(cell->mass > 0)) {
		for (int c = 0; c < 3; c++)
			cell->com[c] = (REAL)node->middle[c];
		return;
	}
	/* a child's sums were divided already, so that they count as those of one body */
	for (int c = 0; c < 3; c++) {
		cell->com[c] /= cell->mass;
		cell->vel[c] /= cell->mass;
	}
}

static void TREE(calculate_force)(const struct nb_paper_tree *tree, const struct TREE(bodies) * b, int32_t at,
	int32_t target, REAL *acc, REAL *jerk, struct nb_gravity_count *count)
{
	const struct nb_paper_node *node = &tree->node[at];
	const struct TREE(cell) *cell = &b->cell[at];
	const REAL *x = b->pos + 3 * (size_t)target, *vel = b->vel ? b->vel + 3 * (size_t)target : NULL;
	REAL d[3], v[3] = {0, 0, 0}, D2 = 0;
	if (nb_paper_leaf(node)) {
		for (int32_t j = node->body; j != NB_PAPER_NONE; j = tree->next[j]) {
			if (j == target)
				continue;
			for (int c = 0; c < 3; c++) {
				d[c] = b->pos[3 * (size_t)j + (size_t)c] - x[c];
				if (vel)
					v[c] = b->vel[3 * (size_t)j + (size_t)c] - vel[c];
			}
			INTERACT(tree->dim, d, v, b->mass[j], b->eps2, acc, jerk);
			count->p2p++;
		}
		return;
	}
	for (int c = 0; c < tree->dim; c++) {
		d[c] = cell->com[c] - x[c];
		D2 += d[c] * d[c];
	}
	if ((REAL)node->edge < b->theta * ROOT(D2)) {
		for (int c = 0; vel && c < 3; c++)
			v[c] = cell->vel[c] - vel[c];
		INTERACT(tree->dim, d, v, cell->mass, b->eps2, acc, jerk);
		count->m2p++;
		return;
	}
	for (int q = 0; q < 1 << tree->dim; q++)
		if (node->child[q] != NB_PAPER_NONE)
			TREE(calculate_force)(tree, b, node->child[q], target, acc, jerk, count);
}

static void TREE(row)(const struct nb_paper_tree *tree, const struct TREE(bodies) * b,
	const struct nb_gravity_plan *plan, size_t i, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = plan->g;
	REAL acc[3] = {0, 0, 0}, jerk[3] = {0, 0, 0};
	TREE(calculate_force)(tree, b, 0, (int32_t)i, acc, g->jerk ? jerk : NULL, count);
	for (size_t c = 0; c < 3; c++) {
		g->acc[3 * i + c] = (double)acc[c] * plan->scale.acc_out;
		if (g->jerk)
			g->jerk[3 * i + c] = (double)jerk[c] * plan->scale.jerk_out;
	}
}

static void TREE(mass_and_force)(const struct nb_gravity_plan *plan, const struct nb_paper_tree *tree,
	const struct TREE(bodies) * b, struct scheme scheme, struct nb_gravity_count *count)
{
	const size_t n = plan->g->n;
	uint64_t p2p = 0, m2p = 0;
	if (scheme.parallel_mass) {
#pragma omp parallel
#pragma omp single
		TREE(distribute)(tree, b, 0, TASK_DEPTH);
	} else {
		TREE(distribute)(tree, b, 0, 0);
	}
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : p2p, m2p) if (scheme.parallel_force)
	for (size_t i = 0; i < n; i++) {
		struct nb_gravity_count did = {0, 0, 0, 0};
		TREE(row)(tree, b, plan, i, &did);
		p2p += did.p2p;
		m2p += did.m2p;
	}
	if (count) {
		count->p2p += p2p;
		count->m2p += m2p;
	}
}

/* pos: scaled, n x 3 */
static int TREE(solve)(const struct nb_paper_job *job, const struct nb_gravity_plan *plan,
	const struct nb_paper_tree *tree, const double *pos, struct scheme scheme, struct nb_gravity_count *count)
{
	const struct nb_gravity *g = plan->g;
	const struct TREE(bodies) b = {.pos = nb_alloc(g->n, 3 * sizeof(REAL)),
		.vel = g->jerk ? nb_alloc(g->n, 3 * sizeof(REAL)) : NULL,
		.mass = nb_alloc(g->n, sizeof(REAL)),
		.cell = nb_alloc_zero(tree->nnode, sizeof *b.cell),
		.eps2 = (REAL)(plan->eps * plan->eps),
		.theta = (REAL)job->theta};
	const int status = b.pos && b.mass && b.cell && (b.vel || !g->jerk) ? NB_OK : NB_ENOMEM;
	if (!status) {
		for (size_t k = 0; k < 3 * g->n; k++) {
			b.pos[k] = (REAL)pos[k];
			if (b.vel)
				b.vel[k] = (REAL)(g->vel[k] * plan->scale.velocity);
		}
		for (size_t i = 0; i < g->n; i++)
			b.mass[i] = (REAL)(g->mass[i] * plan->scale.mass);
		TREE(mass_and_force)(plan, tree, &b, scheme, count);
	}
	nb_free_all(b.pos, b.vel, b.mass, b.cell);
	return status;
}

#undef REAL
#undef ROOT
#undef INTERACT
#undef TREE
