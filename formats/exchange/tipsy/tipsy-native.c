/* TIPSY binary in the byte order of this machine, which is little-endian; tipsy.c reads both. */
#include "formats/exchange/tipsy/tipsy.h"

const struct nb_format nb_format_tipsy_native = {
	.name = "tipsy-native",
	.about = "a TIPSY file",
	.place = 104,
	.traits = NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_HOLDS_SOFTENING | NB_OWN_UNIVERSE,
	.needs = NB_NEED(NB_VEL) | NB_NEED(NB_MASS),
	.G = 1,
	.frame = nb_tipsy_frame,
	.holds = nb_tipsy_holds,
};
