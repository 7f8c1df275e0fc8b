/* What nb_tree_check_cpu refuses: a sound tree in which one number has been changed. */
#include "tests/unit/tree/bodies.h"
#include "tests/unit/tree/sound.h"

static const char *without_null(const char *text)
{
	return text ? text : "nothing";
}

/* The check says `want` as long as *number is `wrong`. */
static void refused(const struct nb_tree *tree, size_t n, uint32_t *number, uint32_t wrong, const char *want)
{
	const uint32_t was = *number;
	*number = wrong;
	const char *got = without_null(tree_fault(tree, n));
	unit_checked++;
	if (strcmp(got, want) != 0) {
		unit_failed++;
		fprintf(stderr, "tree check: %s, want: %s\n", got, want);
	}
	*number = was;
}

int main(void)
{
	struct bodies b = model(PLUMMER, 1000);
	struct nb_tree tree = build(&b, 8, 2);
	const uint32_t last = (uint32_t)tree.nnode - 1, child = tree.child[0];
	CHECK(tree_fault(&tree, b.n) == NULL && tree.nchild[0] >= 2 && tree.nchild[last] == 0);
	CHECK(strcmp(without_null(tree_fault(&tree, 0)), "there are nodes but no bodies") == 0);
	CHECK(strcmp(without_null(tree_fault(&tree, b.n + 1)), "the root does not hold all bodies") == 0);
	const struct nb_tree none = {0};
	CHECK(tree_fault(&none, 0) == NULL);
	CHECK(strcmp(without_null(tree_fault(&none, 1)), "the root does not hold all bodies") == 0);

	refused(&tree, b.n, &tree.first[0], 1, "the root does not hold all bodies");
	refused(&tree, b.n, &tree.count[0], 999, "the root does not hold all bodies");
	refused(&tree, b.n, &tree.count[last], 0, "children do not partition their parent");
	refused(&tree, b.n, &tree.first[last], UINT32_MAX, "children do not partition their parent");
	refused(&tree, b.n, &tree.first[child], 1, "children do not partition their parent");
	refused(&tree, b.n, &tree.count[child], tree.count[child] + 1, "children do not partition their parent");
	refused(&tree, b.n, &tree.child[0], 0, "a node's children are out of range");
	refused(&tree, b.n, &tree.child[0], last, "a node's children are out of range");
	refused(&tree, b.n, &tree.child[0], UINT32_MAX, "a node's children are out of range");
	nb_tree_free(&tree);
	bodies_free(&b);
	return unit_end();
}
