/* The tables of GADGET's binary snapshots: numbers of the header, and blocks. */
#include "formats/exchange/gadget/gadget.h"

#include <float.h>
#include <math.h>

const struct nb_gadget_attribute nb_gadget_attributes[] = {
	{"redshift", 80, 'd', 0, 0},
	{"flag_sfr", 88, 'i', 0, 0},
	{"flag_feedback", 92, 'i', 0, 0},
	{"flag_cooling", NB_GADGET_COOLING, 'i', 0, 0},
	{"box_size", NB_GADGET_BOX, 'd', 0, 0},
	{"omega0", 136, 'd', 0, 0},
	{"omega_lambda", 144, 'd', 0, 0},
	{"hubble_param", 152, 'd', 1, 1},
	{"flag_stellarage", 160, 'i', 0, 0},
	{"flag_metals", 164, 'i', 0, 0},
	{"flag_entropy_instead_u", 192, 'i', 0, 0},
	{"flag_lpt_ics", 200, 'i', 0, 0},
	{"lpt_scalingfactor", 204, 'f', 0, 0},
};
const size_t nb_gadget_nattribute = sizeof nb_gadget_attributes / sizeof *nb_gadget_attributes;

const struct nb_gadget_block nb_gadget_blocks[NB_GADGET_NBLOCK] = {
	[NB_GADGET_POS] = {"POS ", "pos", NB_POS, 3, 0},
	[NB_GADGET_VEL] = {"VEL ", "vel", NB_VEL, 3, 0},
	[NB_GADGET_ID] = {"ID  ", "id", NB_ID, 1, 0},
	[NB_GADGET_MASSES] = {"MASS", "mass", NB_MASS, 1, 0},
	[NB_GADGET_U] = {"U   ", "internal_energy", NB_NFIELD, 1, 1},
	[NB_GADGET_RHO] = {"RHO ", "density", NB_NFIELD, 1, 1},
	[NB_GADGET_NE] = {"NE  ", "ne", NB_NFIELD, 1, 1},
	[NB_GADGET_NH] = {"NH  ", "nh", NB_NFIELD, 1, 1},
	[NB_GADGET_HSML] = {"HSML", "smoothing_length", NB_NFIELD, 1, 1},
	[NB_GADGET_POT] = {"POT ", "pot", NB_POT, 1, 0},
	[NB_GADGET_ACCE] = {"ACCE", "acc", NB_ACC, 3, 0},
};

uint64_t nb_gadget_count(const uint64_t n[NB_NTYPE], unsigned mask)
{
	uint64_t rows = 0;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		rows += mask >> t & 1 ? n[t] : 0;
	return rows;
}

unsigned nb_gadget_with_masses(const uint64_t n[NB_NTYPE], const double mass[NB_NTYPE])
{
	unsigned mask = 0;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		mask |= n[t] && mass[t] == 0 ? 1u << t : 0;
	return mask;
}

enum nb_gadget_number nb_gadget_by_place(
	unsigned from, unsigned seen, int cooling, const uint64_t n[NB_NTYPE], unsigned masses, uint64_t numbers)
{
	for (unsigned b = from; b < NB_GADGET_NBLOCK; b++) {
		const struct nb_gadget_block *block = &nb_gadget_blocks[b];
		const uint64_t rows = nb_gadget_count(n, b == NB_GADGET_MASSES ? masses : block->gas ? 1 : ~0u);
		if (!(seen >> b) && rows && numbers == rows * block->ncomp &&
			(cooling || (b != NB_GADGET_NE && b != NB_GADGET_NH)))
			return (enum nb_gadget_number)b;
	}
	return NB_GADGET_NBLOCK;
}

int nb_gadget_possible(enum nb_gadget_number block, size_t n, const double *x)
{
	const int signs = block <= NB_GADGET_VEL || block == NB_GADGET_ACCE || block == NB_GADGET_POT;
	const double most = block == NB_GADGET_POT  ? -FLT_MIN
			    : block == NB_GADGET_NE ? 2 /* electrons per hydrogen nucleus, with helium */
			    : block == NB_GADGET_NH ? 1
						    : HUGE_VAL;
	int any = 0;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]) || x[i] > most || (x[i] < 0 && !signs) || (x[i] == 0 && block == NB_GADGET_HSML) ||
			(x[i] != 0 && fabs(x[i]) < FLT_MIN))
			return 0;
		any |= x[i] != 0;
	}
	return any || (block >= NB_GADGET_U && block <= NB_GADGET_NH) ? 2 : 1;
}
