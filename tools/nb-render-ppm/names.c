/* nb-render-ppm: letters, lines and numbers; names of bodies, and of species of one body. */
#include "tools/filter/require.h"
#include "tools/nb-render-ppm/render.h"

#include "common/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NOT_SEEN, ONE_BODY, BODIES };

static uint64_t id_of(const struct render *r, size_t i)
{
	return nb_body_id(r->bodies.frame, r->bodies.row ? r->bodies.row[i] : i);
}

void nb_render_note_kinds(struct render *r)
{
	struct scene *scene = &r->scene;
	double *species = nb_render_numbers(r, nb_require_field(r->bodies.frame, NB_SPECIES));
	for (size_t i = 0; i < r->bodies.n; i++) {
		const unsigned kind = nb_render_kind(species[i]);
		if (scene->kinds[kind] == NOT_SEEN) {
			scene->kinds[kind] = ONE_BODY;
			scene->body[kind] = id_of(r, i);
		} else if (scene->kinds[kind] == ONE_BODY && scene->body[kind] != id_of(r, i)) {
			scene->kinds[kind] = BODIES;
		}
	}
	nb_free(species);
}

/* NULL: none that the letters can write. */
static const char *name_of(const struct render *r, uint64_t id)
{
	const char *name = nb_names_find(&r->names, id);
	return name && nb_text_possible(name) ? name : NULL;
}

void nb_render_name_kind(const struct render *r, unsigned kind, char text[NB_LABEL_SIZE])
{
	const char *name = r->scene.kinds[kind] == ONE_BODY ? name_of(r, r->scene.body[kind]) : NULL;
	if (name)
		snprintf(text, NB_LABEL_SIZE, "%s", name);
	else
		snprintf(text, NB_LABEL_SIZE, "%u", kind);
}

void nb_render_names(struct render *r)
{
	const int dot = nb_render_dot(r), high = (NB_TEXT_HEIGHT + 2) * dot;
	const struct bodies *b = &r->bodies;
	struct box {
		int left, top, right, bottom;
	} * drawn;
	if (b->n > 0 && r->names.n == 0)
		nb_die(NB_EXIT_FAILED, "no names to label in frame %" PRIu64 " (nb-calc '@names = \"0 Sun, 1 Earth\"')",
			b->frame->number);
	double *pos = nb_render_numbers(r, nb_require_field(b->frame, NB_POS));
	drawn = nb_alloc(b->n, sizeof *drawn);
	if (!drawn && b->n)
		nb_out_of_memory(b->frame);
	for (size_t i = 0, n = 0; i < b->n; i++) {
		const char *name = name_of(r, id_of(r, i));
		float x, y;
		size_t k = 0;
		if (!name || nb_splat_project_cpu(1, &pos[3 * i], &r->scene.camera, &x, &y) ||
			!(x >= 0 && x < (float)r->width && y >= 0 && y < (float)r->height))
			continue;
		const int left = (int)x + 6 * dot, top = (int)y - high / 2;
		const int right = left + nb_text_width(name, dot), bottom = top + high;
		while (k < n && (drawn[k].left >= right || drawn[k].right <= left || drawn[k].top >= bottom ||
					drawn[k].bottom <= top))
			k++;
		if (k < n)
			continue;
		nb_text_draw(r->canvas.rgb, r->width, r->height, left, top, dot, name, nb_render_ink(r));
		drawn[n++] = (struct box){left, top, right, bottom};
	}
	nb_free_all(drawn, pos);
}

const uint8_t *nb_render_ink(const struct render *r)
{
	static const uint8_t ink[2][3] = {{225, 225, 225}, {32, 36, 46}};
	return ink[r->light_sky];
}

int nb_render_dot(const struct render *r)
{
	const int smaller = r->width < r->height ? r->width : r->height;
	return smaller >= 480 ? smaller / 360 + (smaller % 360 >= 120) : 1;
}

void nb_render_write(struct render *r, int x, int y, const char *text)
{
	nb_text_draw(r->canvas.rgb, r->width, r->height, x, y, nb_render_dot(r), text, nb_render_ink(r));
}

void nb_render_fill(struct render *r, int x, int y, int width, int height, const uint8_t colour[3])
{
	const int right = x + width < r->width ? x + width : r->width;
	const int bottom = y + height < r->height ? y + height : r->height;
	for (int row = y > 0 ? y : 0; row < bottom; row++)
		for (int column = x > 0 ? x : 0; column < right; column++)
			memcpy(&r->canvas.rgb[3 * ((size_t)row * (size_t)r->width + (size_t)column)], colour, 3);
}

double nb_render_round_length(double x)
{
	const double ten = pow(10, floor(log10(x))), digit = x / ten;
	return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * ten;
}
