#include "kernels/models/imf_internal.h"

#include <math.h>

void nb_imf_init(struct nb_imf *imf, enum nb_imf_kind kind, double low, double high)
{
	static const double kroupa_edge[] = {0, 0.08, 0.5, INFINITY}, kroupa_alpha[] = {0.3, 1.3, 2.3};
	static const double salpeter_edge[] = {0, INFINITY}, salpeter_alpha[] = {2.35};
	const int parts = kind == NB_IMF_KROUPA ? 3 : 1;
	const double *edge = kind == NB_IMF_KROUPA ? kroupa_edge : salpeter_edge;
	const double *alpha = kind == NB_IMF_KROUPA ? kroupa_alpha : salpeter_alpha;
	double height = 1; /* dN/dm = height (m / edge)^-alpha from the lower edge of the part in the range on */
	imf->nparts = 0;
	imf->edge[0] = low;
	imf->below[0] = 0;
	for (int i = 0; i < parts; i++) {
		if (edge[i + 1] <= low || edge[i] >= high)
			continue;
		const int k = imf->nparts++;
		const double from = imf->edge[k], to = fmin(edge[i + 1], high), power = 1 - alpha[i];
		imf->alpha[k] = alpha[i];
		imf->edge[k + 1] = to;
		imf->below[k + 1] = imf->below[k] + height * from * (pow(to / from, power) - 1) / power;
		height *= pow(to / from, -alpha[i]);
	}
	const double all = imf->below[imf->nparts];
	for (int k = 1; k <= imf->nparts; k++)
		imf->below[k] /= all;
}

double nb_imf_mass(const struct nb_imf *imf, double u)
{
	int k = 0;
	while (k < imf->nparts - 1 && u > imf->below[k + 1])
		k++;
	const double part = (u - imf->below[k]) / (imf->below[k + 1] - imf->below[k]), power = 1 - imf->alpha[k];
	const double end = pow(imf->edge[k + 1] / imf->edge[k], power);
	return imf->edge[k] * pow(1 + part * (end - 1), 1 / power);
}
