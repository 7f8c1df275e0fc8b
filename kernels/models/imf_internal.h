/* imf_internal.h - initial mass functions: dN/dm ~ m^-alpha, with another alpha in each part of the range.
 *   SALPETER  alpha = 2.35 (Salpeter 1955, ApJ 121, 161)
 *   KROUPA    alpha = 0.3 below 0.08, 1.3 to 0.5, 2.3 above (Kroupa 2001, MNRAS 322, 231, eq. 2) */
#ifndef NB_MODELS_IMF_INTERNAL_H
#define NB_MODELS_IMF_INTERNAL_H

enum nb_imf_kind { NB_IMF_NONE, NB_IMF_KROUPA, NB_IMF_SALPETER, NB_IMF_NKIND };

struct nb_imf {
	int nparts;
	double edge[4];	 /* between the parts, and the ends of the range */
	double alpha[3]; /* not 1 */
	double below[4]; /* share of the bodies with less mass than edge[i]: 0 ... 1 */
};

/* 0 < low < high, in solar masses; kind is not NONE. */
void nb_imf_init(struct nb_imf *imf, enum nb_imf_kind kind, double low, double high);
/* Mass below which the share u of the bodies is, u in [0, 1]. */
double nb_imf_mass(const struct nb_imf *imf, double u);

#endif
