/* views.h - between a frame and what a kernel wants: sorted keys, a tree, boxes.
 *
 * What a view needs and the frame does not have, or has no more, ends the tool with a message that names the tools to
 * put before.  All arrays are where the backend computes, and all checks are made there. */
#ifndef NB_FILTER_VIEWS_H
#define NB_FILTER_VIEWS_H

#include "formats/stream/stream.h"
#include "kernels/backend/backend.h"

/* The keys of a sorted frame. */
struct nb_keys {
	const uint64_t *key; /* n, ascending */
	struct nb_cube cube; /* that they refer to */
	int dim;
};

/* Sorted, and no body has moved since.  what is sorted, for messages: "order", "tree", "boxes"; before: the tools to
 * put before, "nb-sort-zorder". */
struct nb_keys nb_require_keys(
	struct nb_frame *frame, const struct nb_backend *backend, const char *what, const char *before);
/* Whether nb_require_keys would return. */
int nb_keys_are_current(struct nb_frame *frame, const struct nb_backend *backend);
/* x,y,z,edge as text; 0, or -1 where it is none. */
NB_MUST_CHECK int nb_parse_cube(const char *text, struct nb_cube *cube);
void nb_set_cube(struct nb_frame *frame, const struct nb_cube *cube); /* attribute key_cube */
/* Gives n sorted keys in the backend's space to the frame, which then owns them. */
void nb_store_keys(struct nb_frame *frame, const struct nb_space *space, uint64_t *key);

/* The tree of a frame that has one, which is sound and over the bodies as they are now. */
struct nb_tree nb_require_tree(struct nb_frame *frame, const struct nb_backend *backend);
/* Gives the tree to the frame, which then owns its arrays; *tree is empty afterwards. */
void nb_store_tree(struct nb_frame *frame, const struct nb_backend *backend, struct nb_tree *tree);

/* The tools to put before for boxes. */
#define NB_BEFORE_BOXES "nb-sort-zorder | nb-build-tree --kind boxes"

/* Sound boxes over the bodies as they are now.  release them with nb_release_boxes. */
struct nb_boxes nb_require_boxes(struct nb_frame *frame, const struct nb_backend *backend);
void nb_release_boxes(const struct nb_backend *backend, struct nb_boxes *boxes);
/* Divides the cube of the keys into boxes of a level, and gives them to the frame. */
void nb_store_boxes(struct nb_frame *frame, const struct nb_backend *backend, const struct nb_keys *keys, int level);

/* Moves bodies of a periodic box that are outside it to their images in [0, edge), as the numbers of their column will
 * be when they are written.  backend NULL: the CPU does. */
void nb_wrap_positions(struct nb_frame *frame, const struct nb_backend *backend);
/* Bodies outside a periodic box end the tool. */
void nb_require_inside(struct nb_frame *frame, const struct nb_backend *backend);

/* The softening kernels by name, in the order of enum nb_softening: "plummer", "spline", NULL. */
extern const char *const nb_softening_name[];
/* How the frame says that its forces are softened: g->softening by attribute softening_kernel; g->body_eps is column
 * eps, or g->eps attribute softening. */
void nb_require_softening(struct nb_frame *frame, const struct nb_space *space, struct nb_gravity *g);
/* Attribute softening_kernel; without it it is that of Plummer. */
enum nb_softening nb_require_softening_kernel(const struct nb_frame *frame);

#endif
