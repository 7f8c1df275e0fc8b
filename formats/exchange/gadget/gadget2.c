/* GADGET's binary snapshots with a label before each block, format 2; gadget.c reads them too. */
#include "formats/exchange/gadget/gadget.h"

const struct nb_format nb_format_gadget2 = {
	.name = "gadget2",
	.about = "a GADGET snapshot with labels",
	.suffixes = "gadget2 g2",
	.place = 21,
	.traits = NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_HOLDS_UNIVERSE | NB_MANY_FILES,
	.needs = NB_NEED(NB_VEL) | NB_NEED(NB_MASS),
	.G = NB_GADGET_G,
	.export_size = sizeof(struct nb_gadget_export),
	.frame = nb_gadget_write_labels,
	.holds = nb_gadget_holds,
};
