/* What nb.h adds to the functions of the room that it declares once more: objects whose insides nobody sees. */
#include "formats/stream/nb.h"

#include "formats/stream/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nb_reader *nb_reader_new(int fd)
{
	struct nb_reader *reader = malloc(sizeof *reader);
	if (reader && nb_reader_open(reader, fd)) {
		free(reader);
		return NULL;
	}
	return reader;
}

const char *nb_reader_error(const struct nb_reader *reader)
{
	return reader->error;
}

void nb_reader_free(struct nb_reader *reader)
{
	if (reader)
		nb_reader_close(reader);
	free(reader);
}

struct nb_writer *nb_writer_new(int fd)
{
	struct nb_writer *writer = malloc(sizeof *writer);
	if (writer && nb_writer_open(writer, fd)) {
		free(writer);
		return NULL;
	}
	return writer;
}

int nb_writer_send(struct nb_writer *writer, const struct nb_frame *frame)
{
	return nb_writer_next(writer, frame) || nb_writer_flush(writer) ? -1 : 0;
}

const char *nb_writer_error(const struct nb_writer *writer)
{
	return writer->error;
}

void nb_writer_free(struct nb_writer *writer)
{
	if (writer)
		nb_writer_abandon(writer);
	free(writer);
}

struct nb_frame *nb_frame_new(uint64_t bodies)
{
	struct nb_frame *frame = malloc(sizeof *frame);
	if (frame) {
		nb_frame_init(frame);
		frame->rows[NB_PARTICLE] = bodies;
	}
	return frame;
}

void nb_frame_free(struct nb_frame *frame)
{
	if (frame)
		nb_frame_clear(frame);
	free(frame);
}

uint64_t nb_frame_bodies(const struct nb_frame *frame)
{
	return frame->rows[NB_PARTICLE];
}

int nb_frame_shape(const struct nb_frame *frame, size_t k, struct nb_column_shape *shape)
{
	if (k >= frame->ncolumn)
		return 0;
	const struct nb_column *c = &frame->column[k];
	*shape = (struct nb_column_shape){
		c->name, c->dtype, c->unit, c->rows, c->ncomp, c->flags & NB_DERIVED, c->table == NB_PARTICLE};
	return 1;
}

/* A column of bodies whose type is of one of these kinds, or NULL. */
static struct nb_column *find(const struct nb_frame *frame, const char *name, uint32_t components, const char *kinds)
{
	struct nb_column *c = nb_frame_find(frame, name);
	return c && c->table == NB_PARTICLE && c->ncomp == components && nb_dtype_is_number(c->dtype) &&
			       strchr(kinds, c->dtype[1])
		       ? c
		       : NULL;
}

const double *nb_frame_get_f64(struct nb_frame *frame, const char *name, uint32_t components)
{
	struct nb_column *c = find(frame, name, components, "iuf");
	return c ? nb_column_read(c, &nb_space_host, NB_AS_F64) : NULL;
}

const uint64_t *nb_frame_get_u64(struct nb_frame *frame, const char *name, uint32_t components)
{
	struct nb_column *c = find(frame, name, components, "u");
	return c ? nb_column_read(c, &nb_space_host, NB_AS_U64) : NULL;
}

double *nb_frame_change_f64(struct nb_frame *frame, const char *name, uint32_t components)
{
	struct nb_column *c = find(frame, name, components, "f");
	return c ? nb_column_update(c, &nb_space_host, NB_AS_F64) : NULL;
}

void *nb_frame_change(struct nb_frame *frame, const char *name)
{
	struct nb_column *c = nb_frame_find(frame, name);
	return c ? nb_column_update(c, &nb_space_host, NB_WIRE) : NULL;
}

const char *nb_frame_lacks(const struct nb_frame *frame, const char *name, uint32_t components)
{
	static _Thread_local char text[NB_ERROR_SIZE];
	const struct nb_column *c = nb_frame_find(frame, name);
	char key[64], list[128];
	snprintf(key, sizeof key, "missing_%.40s", name);
	const char *why = nb_frame_attribute(frame, key);
	if (!c && why)
		snprintf(text, sizeof text, "field '%.32s' missing (%.150s)", name, why);
	else if (!c)
		snprintf(text, sizeof text, "field '%.32s' missing (stream has: %s)", name,
			nb_frame_list(frame, list, sizeof list));
	else if (c->table == NB_PARTICLE && c->ncomp == components && find(frame, name, components, "iuf"))
		snprintf(text, sizeof text, "out of memory, or field '%s' of type '%s' does not fit", name, c->dtype);
	else
		snprintf(text, sizeof text, "field '%s' of the %s table has type '%s' and %u components", name,
			nb_table_name[c->table], c->dtype, c->ncomp);
	return text;
}

void *nb_frame_make(
	struct nb_frame *frame, const char *name, const char *type, uint32_t components, const char *unit, int derived)
{
	const struct nb_field_info *info = nb_field_find(name);
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			return NULL;
	if (!name[0] || (info && info->table != NB_PARTICLE))
		return NULL;
	return nb_column_write(nb_frame_add(frame, name, NB_PARTICLE, type, components, unit,
				       info	 ? info->flags
				       : derived ? NB_DERIVED
						 : 0),
		&nb_space_host, NB_WIRE);
}

int nb_frame_select(struct nb_frame *frame, size_t n, const uint32_t *row)
{
	for (size_t k = 0; k < n; k++)
		if (row[k] >= frame->rows[NB_PARTICLE])
			return NB_EINVAL;
	nb_frame_drop_order(frame);
	return nb_frame_gather(frame, NB_PARTICLE, n, row, &nb_space_host, nb_gather_host);
}
