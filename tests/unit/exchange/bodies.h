/* bodies.h - a frame for each format that holds more than positions. */
#ifndef NB_UNIT_EXCHANGE_BODIES_H
#define NB_UNIT_EXCHANGE_BODIES_H

#include "formats/exchange/exchange.h"
#include "tests/unit/unit.h"

/* Two bodies with all that the formats hold. */
static void make_bodies(struct nb_frame *frame)
{
	static const struct {
		const char *name, *dtype;
		uint32_t ncomp;
	} columns[] = {{"id", "<u8", 1}, {"mass", "<f8", 1}, {"pos", "<f8", 3}, {"vel", "<f8", 3}, {"eps", "<f8", 1},
		{"density", "<f4", 1}, {"species", "|u1", 1}};
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = 2;
	CHECK(nb_frame_set_attribute(frame, "time", "0.5") == NB_OK);
	CHECK(nb_frame_set_attribute(frame, NB_TYPES, "gadget") == NB_OK);
	CHECK(nb_frame_set_attribute(frame, "history", "a line") == NB_OK);
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		struct nb_column *column = nb_frame_add(
			frame, columns[c].name, NB_PARTICLE, columns[c].dtype, columns[c].ncomp, "", 0);
		unsigned char *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		CHECK(data != NULL);
		for (size_t i = 0; data && i < column->rows * column->ncomp; i++)
			if (columns[c].dtype[1] == 'f' && columns[c].dtype[2] == '8')
				memcpy(data + 8 * i, &(double){1.5 + (double)i}, 8);
			else if (columns[c].dtype[1] == 'f')
				memcpy(data + 4 * i, &(float){2.5f}, 4);
			else if (columns[c].dtype[2] == '8')
				memcpy(data + 8 * i, &(uint64_t){7 - i}, 8);
			else
				data[i] = (unsigned char)(i == 0 ? 0 : 4);
	}
}

#endif
