/* Snapshots of NEMO with positions and velocities in two arrays; nemo.c reads both forms. */
#include "formats/exchange/nemo/nemo.h"

const struct nb_format nb_format_nemo_split = {
	.name = "nemo-split",
	.about = "a NEMO snapshot",
	.place = 105,
	.traits = NB_MANY_FRAMES | NB_ONLY_VALID | NB_FIXED_G | NB_LOSES_KICK | NB_HOLDS_SOFTENING,
	.G = 1,
	.begin = nb_nemo_begin,
	.frame = nb_nemo_frame,
	.holds = nb_nemo_holds,
};
