/* spring.h - what the filters for the tests of nb-step share: the acceleration of a spring, and changes of frames. */
#ifndef NB_TESTS_SPRING_H
#define NB_TESTS_SPRING_H

#include "common/die.h"
#include "tools/filter/filter.h"
#include "tools/filter/require.h"

#include <string.h>

/* acc = -pos, and jerk = -vel where there is vel. */
static inline void spring(struct nb_frame *frame)
{
	const size_t count = 3 * frame->rows[NB_PARTICLE];
	nb_new_f64(frame, NB_ACC, NULL, &nb_space_host);
	const double *pos = nb_require_f64(frame, NB_POS, &nb_space_host);
	double *acc = nb_column_write(nb_frame_field(frame, NB_ACC), &nb_space_host, NB_AS_F64);
	for (size_t i = 0; i < count; i++)
		acc[i] = -pos[i];
	if (nb_frame_field(frame, NB_VEL)) {
		nb_new_f64(frame, NB_JERK, NULL, &nb_space_host);
		const double *vel = nb_require_f64(frame, NB_VEL, &nb_space_host);
		double *jerk = nb_column_write(nb_frame_field(frame, NB_JERK), &nb_space_host, NB_AS_F64);
		for (size_t i = 0; i < count; i++)
			jerk[i] = -vel[i];
	}
	nb_set_attribute_f64(frame, "softening", 0.25);
	if (nb_frame_add_attribute(frame, "history", "spring"))
		nb_die(1, "out of memory");
}

/* The contents of a column, to be changed.  Without it the program ends. */
static inline void *update(struct nb_column *column)
{
	void *data = column ? nb_column_update(column, &nb_space_host, NB_WIRE) : NULL;
	if (!data)
		nb_die(1, "no such column, or no memory");
	return data;
}

/* The same frame with other numbers of bodies: the first ones, or the last one doubled. */
static inline void resize(struct nb_frame *frame, size_t n)
{
	struct nb_frame other;
	nb_frame_init(&other);
	if (nb_frame_share(&other, frame))
		nb_die(1, "out of memory");
	frame->rows[NB_PARTICLE] = n;
	for (size_t c = 0; c < other.ncolumn; c++) {
		const struct nb_column *from = &other.column[c];
		struct nb_column *to = nb_frame_add(
			frame, from->name, from->table, from->dtype, from->ncomp, from->unit, from->flags);
		char *data = nb_column_write(to, &nb_space_host, NB_WIRE);
		const char *old = from->copy[0].data;
		for (size_t i = 0; i < n; i++)
			memcpy(data + i * from->rowsize, old + (i < from->rows ? i : from->rows - 1) * from->rowsize,
				from->rowsize);
	}
	nb_frame_clear(&other);
}

#endif
