/* shot.h - a frame in the making, for the files that make it. */
#ifndef NB_VIEW_SHOT_H
#define NB_VIEW_SHOT_H

#include "kernels/expr/expr.h"
#include "tools/nb-view/view.h"

/* largest number of 16 bits; points that scales are found from */
enum { SHOT_STEP = 65535, SHOT_JUDGED = 1 << 14 };

struct shot {
	struct host *host;
	struct nb_frame sample;
	struct talk_frame head;
	size_t n;
	int speed, others; /* what views want: velocities; any column */
	int galaxy;	   /* of nb-gen */
	const double *pos, *mass, *species;
	double centre[3], densest[3], com[3], size, origin[3], edge, heaviest;
	size_t outside, of_species[256];
	unsigned char *block[TALK_VIEWS + TALK_COLUMNS + 1]; /* the columns, of malloc */
	uint64_t bytes[TALK_VIEWS + TALK_COLUMNS + 1];
	int nblock;
	char *json[TALK_VIEWS];
	size_t njson[TALK_VIEWS];
	/* of the view in hand: its text, the numbers, and what they are computed with */
	const char *by;
	double *value;
	struct nb_expr *expr;
	char unit[NB_EXPR_UNIT];
};

/* Which body is point i, for i < count: a fair sample, whatever the order of the bodies, and so is each beginning of
 * it.  The same for frames of the same n. */
void nb_shot_choose_rows(struct host *host, size_t n, size_t count);
/* Whether pages hide body i at first, as nb-render-ppm does: those of the halos of nb-gen's galaxies. */
static inline int shot_hides(const struct shot *shot, size_t i)
{
	return shot->galaxy && (shot->species[i] == 2 || shot->species[i] == 5);
}

/* Memory for another column, or nb_die. */
void *nb_shot_block(struct shot *shot, uint64_t bytes);
/* Whether a view by this text has values: density and species have none. */
int nb_shot_has_values(const char *by);
/* View k of the needs: its values, if it has any, and its description; or nb_die. */
void nb_shot_view(struct shot *shot, uint32_t k);
void nb_shot_release_view(struct shot *shot);
/* What is known of the numbers of a text that clients need, NULL: nothing. */
const struct note *nb_shot_note(const struct host *host, const char *by);
/* The frame of these rows alone, of the columns that wanted says, made where the frame is; or nb_die. */
void nb_shot_rows(struct host *host, size_t count, const uint32_t *rows, int (*wanted)(void *context, const char *name),
	void *context, struct nb_frame *to);
/* What is to be known of the frame and a view, NULL: it has no values; wrong: why.  JSON, to be freed; or nb_die. */
char *nb_shot_describe(const struct shot *shot, const struct note *note, const char *wrong, size_t *bytes);

#endif
