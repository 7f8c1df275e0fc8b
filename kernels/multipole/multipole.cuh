/* multipole.cuh - the acceptance criterion of the device's walk: from how far a cell acts as a whole, on the bodies of
 * a box and on the local expansion about its centre.  The CPU's is in opening_body.h.  Host code may ask, too, as
 * tests/unit/multipole/opening_cuda.cu does.
 *
 * A cell of mass m and size l, the longest side of its box, leaves out a term of about m (l / d)^p / d^2, p its order
 * plus one.  That is below an error e at distances above
 *     influence * root,  influence = (m l^p)^(1 / (p + 2)) of the cell,  root = e^(-1 / (p + 2)) of the target;
 * by acceleration p is 2.  Whoever must know before what groups in a box may open (kernels/domain/send_cuda.cu) opens
 * what is not farther from the box than nb_mac_reach and nb_mac_eager of the largest region there. */
#ifndef NB_MULTIPOLE_CUH
#define NB_MULTIPOLE_CUH

#include "common/hd.h"
#include "kernels/multipole/multipole.h"

/* of_mass = 1 / (p + 2), of_size = p / (p + 2): l^p by itself would be out of range in a deep tree. */
static NB_HD float nb_mac_influence(float mass, float size, float of_mass, float of_size)
{
	return powf(mass, of_mass) * powf(size, of_size);
}

/* A cell acts on bodies if it is farther than this from their box. */
static NB_HD float nb_mac_reach(float size, float influence, float root)
{
	return fmaxf(NB_OPENING_LEAST_FAR * size, root * influence);
}

/* A cell acts on the local expansion of a sphere of that radius if it is farther than this from its centre.  extent:
 * how far it must be for what the sphere's extent leaves out. */
static NB_HD float nb_mac_edge(float reach, float radius, float extent)
{
	return fmaxf(reach + radius, fmaxf(NB_OPENING_LEAST_LOCAL * radius, extent));
}

/* The walk of a region of that radius opens cells that are farther than nb_mac_reach from its centre by up to this. */
static NB_HD float nb_mac_eager(float radius)
{
	return NB_OPENING_EAGER * radius;
}

#endif
