#include "common/mem.h"
#include "kernels/cosmology/cosmology.h"

#include <math.h>

/* An image of the box: so many edges away. */
struct image {
	double edges[3];
};

/* What is the same for all bodies. */
struct range {
	const struct nb_cosmology *c;
	const struct nb_cone *cone;
	double a0, a1, far, near; /* distances of the cone then */
	double drift;
	struct image *image;
	size_t nimage;
};

double nb_cone_distance(const struct nb_cosmology *c, const struct nb_cone *cone, double a)
{
	return a < 1 ? cone->light * nb_cosmology_kick(c, a, 1) : 0;
}

/* A coordinate in the image of the box that is so many edges away, from the observer. */
static double seen(const struct nb_cone *cone, double x, double edges, int k)
{
	return x + (edges * cone->box - cone->observer[k]);
}

/* Squares of the least and the largest distance of an image from the observer. */
static void reach(const struct nb_cone *cone, const struct image *image, double *least, double *most)
{
	*least = *most = 0;
	for (int k = 0; k < 3; k++) {
		const double lo = seen(cone, 0, image->edges[k], k), hi = lo + cone->box, gap = fmax(fmax(lo, -hi), 0),
			     far = fmax(-lo, hi);
		*least += gap * gap;
		*most += far * far;
	}
}

/* The images from which bodies may cross; no body goes farther than half the diagonal of the box. */
static int find_images(struct range *r)
{
	const double box = r->cone->box, begin = fmax(r->near - 0.9 * box, 0);
	const double side = 2 * ceil(r->far / box) + 3;
	if (!(side * side * side < 0x1p31))
		return NB_ELIMIT;
	const long half = lround(side) / 2;
	for (int pass = 0; pass < 2; pass++) {
		r->nimage = 0;
		for (long x = -half; x <= half; x++)
			for (long y = -half; y <= half; y++)
				for (long z = -half; z <= half; z++) {
					const struct image image = {{(double)x, (double)y, (double)z}};
					double least, most;
					reach(r->cone, &image, &least, &most);
					if (least > r->far * r->far || most < begin * begin)
						continue;
					if (pass)
						r->image[r->nimage] = image;
					r->nimage++;
				}
		if (!pass && !(r->image = nb_alloc(r->nimage, sizeof *r->image)))
			return NB_ENOMEM;
	}
	return NB_OK;
}

/* Positions of a body in an image, at both ends: that of the second is the image where it is then, so that it has the
 * bits that the next range begins with. */
static int crosses(const struct range *r, const struct image *image, const double *x0, const double *x1, double from[3],
	double to[3])
{
	double before = 0, after = 0;
	for (int k = 0; k < 3; k++) {
		const double turns = rint((x1[k] - x0[k]) / r->cone->box);
		from[k] = seen(r->cone, x0[k], image->edges[k], k);
		to[k] = seen(r->cone, x1[k], image->edges[k] - turns, k);
		before += from[k] * from[k];
		after += to[k] * to[k];
	}
	return before < r->far * r->far && after >= r->near * r->near;
}

/* Newton's method, kept within what is known. */
static void find(const struct range *r, const double from[3], const double to[3], struct nb_crossing *found)
{
	double least = r->a0, most = fmin(r->a1, 1), a = most;
	for (int k = 0; k < 100; k++) {
		const double way = nb_cosmology_drift(r->c, r->a0, a) / r->drift, H = nb_cosmology_hubble(r->c, a);
		double distance = 0, rate = 0;
		for (int d = 0; d < 3; d++) {
			found->pos[d] = from[d] + way * (to[d] - from[d]);
			distance += found->pos[d] * found->pos[d];
			rate += found->pos[d] * (to[d] - from[d]);
		}
		distance = sqrt(distance);
		found->a = a;
		found->way = way;
		const double beyond = distance - nb_cone_distance(r->c, r->cone, a);
		if (beyond < 0)
			least = a;
		else
			most = a;
		rate = (distance > 0 ? rate / distance / (a * a * a * H * r->drift) : 0) + r->cone->light / (a * a * H);
		double next = a - beyond / rate;
		if (!(next > least && next < most))
			next = (least + most) / 2;
		if (fabs(next - a) <= 4e-16 * a || beyond == 0)
			return;
		a = next;
	}
}

/* Crossings of a body; NULL: only how many. */
static size_t cross(const struct range *r, size_t body, const double *x0, const double *x1, struct nb_crossing *found)
{
	double from[3], to[3];
	size_t count = 0;
	for (size_t k = 0; k < r->nimage; k++) {
		if (!crosses(r, &r->image[k], x0 + 3 * body, x1 + 3 * body, from, to))
			continue;
		if (found) {
			found[count].body = (uint32_t)body;
			find(r, from, to, &found[count]);
		}
		count++;
	}
	return count;
}

int nb_cone_cross(const struct nb_cosmology *c, const struct nb_cone *cone, double a0, double a1, size_t n,
	const double *x0, const double *x1, struct nb_crossing **crossing, size_t *count)
{
	struct range r = {.c = c,
		.cone = cone,
		.a0 = a0,
		.a1 = a1,
		.far = nb_cone_distance(c, cone, a0),
		.near = nb_cone_distance(c, cone, a1),
		.drift = nb_cosmology_drift(c, a0, a1)};
	*crossing = NULL;
	*count = 0;
	if (!(a0 > 0 && a1 > a0 && a0 < 1 && cone->light > 0 && cone->box > 0 && isfinite(r.far)))
		return NB_EINVAL;
	int status = n > UINT32_MAX ? NB_ELIMIT : find_images(&r);
	size_t *begin = status ? NULL : nb_alloc(n + 1, sizeof *begin);
	if (!status && !begin)
		status = NB_ENOMEM;
	if (!status) {
#pragma omp parallel for schedule(static)
		for (size_t i = 0; i < n; i++)
			begin[i] = cross(&r, i, x0, x1, NULL);
		for (size_t i = 0; i < n; i++) {
			const size_t here = begin[i];
			begin[i] = *count;
			*count += here;
		}
		begin[n] = *count;
		*crossing = nb_alloc(*count, sizeof **crossing);
		status = *crossing ? NB_OK : NB_ENOMEM;
	}
	if (!status) {
#pragma omp parallel for schedule(dynamic, 256)
		for (size_t i = 0; i < n; i++)
			if (begin[i + 1] > begin[i])
				cross(&r, i, x0, x1, *crossing + begin[i]);
	}
	nb_free_all(r.image, begin);
	return status;
}
