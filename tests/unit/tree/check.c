/* What nb_tree_check_cpu refuses: a sound tree in which one number has been changed. */
#include "tests/unit/tree/bodies.h"
#include "tests/unit/tree/sound.h"

static const char box_text[] = "a node's box is not that of its bodies";

static const char *without_null(const char *text)
{
	return text ? text : "nothing";
}

/* The check says `want` as long as *number is `wrong`. */
static void refused(
	const struct nb_tree *tree, const struct bodies *b, uint32_t *number, uint32_t wrong, const char *want)
{
	const uint32_t was = *number;
	*number = wrong;
	const char *got = without_null(tree_fault(tree, b->n, b->pos, b->mass));
	unit_checked++;
	if (strcmp(got, want) != 0) {
		unit_failed++;
		fprintf(stderr, "tree check: %s, want: %s\n", got, want);
	}
	*number = was;
}

/* The same of a moment: by a factor, by nothing, and not a number. */
static void refused_moment(const struct nb_tree *tree, const struct bodies *b, double *number, const char *want)
{
	const double was = *number, wrong[] = {was * 1.001, 2 * was + 1e-9, -was - 1, 0, NAN, INFINITY, -INFINITY};
	for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
		if (wrong[k] == was)
			continue;
		*number = wrong[k];
		const char *got = without_null(tree_fault(tree, b->n, b->pos, b->mass));
		unit_checked++;
		if (strcmp(got, want) != 0) {
			unit_failed++;
			fprintf(stderr, "tree check, %g instead of %g: %s, want: %s\n", wrong[k], was, got, want);
		}
		*number = was;
	}
	*number = was * (1 + 1e-15); /* as a sum in another order */
	CHECK(want == box_text || tree_fault(tree, b->n, b->pos, b->mass) == NULL);
	*number = was;
}

/* n nodes, each of all bodies and the only child of the one before. */
static struct nb_tree make_chain(const struct bodies *b, size_t n)
{
	struct nb_tree whole = build(b, (int)b->n, 1), chain = whole;
	chain.nnode = n;
#define NB_NODE_COLUMN(type, member, components, order) \
	chain.member = whole.member ? nb_alloc(n, (components) * sizeof(type)) : NULL;
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
	for (size_t i = 0; i < n; i++) {
#define NB_NODE_COLUMN(type, member, components, order) \
	if (chain.member)                               \
		memcpy(chain.member + (components)*i, whole.member, (components) * sizeof(type));
#include "kernels/tree/node.def"
#undef NB_NODE_COLUMN
		chain.child[i] = i + 1 < n ? (uint32_t)i + 1 : 0;
		chain.nchild[i] = i + 1 < n;
	}
	nb_tree_free(&whole);
	return chain;
}

static void test_depth(const struct bodies *b)
{
	for (size_t depth = NB_TREE_LEVELS - 1; depth <= NB_TREE_LEVELS + 1; depth++) {
		struct nb_tree chain = make_chain(b, depth + 1);
		const char *got = without_null(tree_fault(&chain, b->n, b->pos, b->mass));
		CHECK(strcmp(got, depth <= NB_TREE_LEVELS
					  ? "nothing"
					  : "it has more levels than the positions of bodies can need") == 0);
		nb_tree_free(&chain);
	}
}

/* There are as many children as nodes that need a parent, but one has two of them. */
static void test_orphan(const struct bodies *b)
{
	struct nb_tree chain = make_chain(b, 4);
	CHECK(tree_fault(&chain, b->n, b->pos, b->mass) == NULL);
	refused(&chain, b, &chain.child[0], 2, "some nodes have no parent");
	refused(&chain, b, &chain.child[1], 3, "some nodes have no parent");
	nb_tree_free(&chain);
}

int main(void)
{
	struct bodies b = model(PLUMMER, 1000);
	struct nb_tree tree = build(&b, 8, 2);
	const uint32_t last = (uint32_t)tree.nnode - 1, child = tree.child[0];
	CHECK(tree_fault(&tree, b.n, b.pos, b.mass) == NULL && tree.nchild[0] >= 2 && tree.nchild[last] == 0);
	CHECK(strcmp(without_null(tree_fault(&tree, 0, b.pos, b.mass)), "there are nodes but no bodies") == 0);
	CHECK(strcmp(without_null(tree_fault(&tree, b.n + 1, b.pos, b.mass)), "the root does not hold all bodies") ==
		0);
	const struct nb_tree none = {0};
	CHECK(tree_fault(&none, 0, NULL, NULL) == NULL);
	CHECK(strcmp(without_null(tree_fault(&none, 1, b.pos, b.mass)), "the root does not hold all bodies") == 0);

	refused(&tree, &b, &tree.first[0], 1, "the root does not hold all bodies");
	refused(&tree, &b, &tree.count[0], 999, "the root does not hold all bodies");
	refused(&tree, &b, &tree.count[last], 0, "children do not partition their parent");
	refused(&tree, &b, &tree.first[last], UINT32_MAX, "children do not partition their parent");
	refused(&tree, &b, &tree.first[child], 1, "children do not partition their parent");
	refused(&tree, &b, &tree.count[child], tree.count[child] + 1, "children do not partition their parent");
	refused(&tree, &b, &tree.child[0], 0, "a node's children are out of range");
	refused(&tree, &b, &tree.child[0], last, "a node's children are out of range");
	refused(&tree, &b, &tree.child[0], UINT32_MAX, "a node's children are out of range");

	const size_t leaf = last, inner = child;
	CHECK(tree.nchild[inner] > 0);
	for (size_t k = 0; k < 2; k++) {
		const size_t node = k ? leaf : inner;
		for (size_t e = 0; e < 6; e++)
			refused_moment(&tree, &b, &tree.box[6 * node + e], box_text);
		refused_moment(&tree, &b, &tree.mass[node], "a node's mass is not the sum of its bodies' masses");
		for (size_t d = 0; d < 3; d++)
			refused_moment(&tree, &b, &tree.com[3 * node + d],
				"a node's centre of mass is not that of its bodies");
		for (size_t q = 0; q < 6; q++)
			refused_moment(&tree, &b, &tree.quad[6 * node + q],
				"a node's second moments are not those of its bodies");
	}
	b.mass[500] *= 1.001; /* the tree of other masses */
	CHECK(strcmp(without_null(tree_fault(&tree, b.n, b.pos, b.mass)),
		      "a node's mass is not the sum of its bodies' masses") == 0);
	test_depth(&b);
	test_orphan(&b);
	nb_tree_free(&tree);
	bodies_free(&b);
	return unit_end();
}
