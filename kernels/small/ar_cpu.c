/* ar_cpu.c - algorithmic regularisation of a few bodies. */
#include "kernels/small/small.h"
#include "kernels/small/small_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Leapfrogs of 2, 4, .. 2 ROWS steps go to a limit. */
enum { ROWS = 9, FEW = 6, MANY = 7, TRIALS = 500 };

/* Of a limit, as a fraction of a number. */
static const double TOLERANCE = 1e-15, ROUNDING = 1e-14;

/* The first step, as a fraction of the shortest time scale of a pair. */
static const double FIRST = 0.1;

/* Numbers of all links: x, y, z of one after the other, then velocities. */
static size_t links(const struct nb_ar *s)
{
	return s->n > 1 ? 3 * (s->n - 1) : 0;
}

static size_t numbers(const struct nb_ar *s)
{
	return 2 * links(s) + 2;
}

int nb_ar_begin(struct nb_ar *s, size_t n, const double *mass, double G)
{
	struct nb_small pairs;
	*s = (struct nb_ar){.n = n};
	if (n > NB_SMALL_MOST || (n > 1 && nb_small_begin(&pairs, n, mass, G, 0)))
		return NB_EUNSUPPORTED;
	for (size_t i = 0; i < n; i++) {
		s->gm[i] = G * mass[i];
		if (s->gm[i] < 0)
			return NB_EUNSUPPORTED;
		s->mean += s->gm[i] / (double)n;
	}
	s->is_free = n < 2 || s->mean == 0;
	return NB_OK;
}

/* ---- chain -------------------------------------------------------------------------------------- */

/* Positions or velocities of the bodies about the heaviest one, n x 3, by the numbers of links. */
static void unroll(const struct nb_ar *s, const size_t *chain, const double *link, double *to)
{
	size_t from = 0;
	for (size_t k = 1; k < s->n; k++)
		from = s->gm[chain[k]] > s->gm[chain[from]] ? k : from;
	for (size_t d = 0; d < 3; d++) {
		double ahead = to[3 * chain[from] + d] = 0, behind = 0;
		for (size_t k = from; k + 1 < s->n; k++)
			to[3 * chain[k + 1] + d] = ahead += link[3 * k + d];
		for (size_t k = from; k > 0; k--)
			to[3 * chain[k - 1] + d] = behind -= link[3 * (k - 1) + d];
	}
}

static double distance2(const double *x, size_t i, size_t j)
{
	double r2 = 0;
	for (size_t d = 0; d < 3; d++)
		r2 += (x[3 * j + d] - x[3 * i + d]) * (x[3 * j + d] - x[3 * i + d]);
	return r2;
}

/* The closest pair, and then at one end or the other the body that is closest to it. */
static void find_chain(size_t n, const double *x, size_t *chain)
{
	size_t list[2 * NB_SMALL_MOST] = {0}, first = NB_SMALL_MOST, last = first; /* of list */
	unsigned used = 0;
	double least = INFINITY;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (distance2(x, i, j) < least) {
				least = distance2(x, i, j);
				list[first] = i;
				list[first + 1] = j;
				last = first + 1;
			}
	for (size_t k = first; k <= last; k++)
		used |= 1u << list[k];
	while (last - first + 1 < n) {
		size_t best = n;
		int behind = 0;
		least = INFINITY;
		for (size_t i = 0; i < n; i++)
			for (int end = 0; end < 2 && !(used >> i & 1); end++) {
				const double r2 = distance2(x, list[end ? last : first], i);
				if (r2 < least || best == n) {
					least = r2;
					best = i;
					behind = end;
				}
			}
		list[behind ? ++last : --first] = best;
		used |= 1u << best;
	}
	memcpy(chain, &list[first], n * sizeof *chain);
}

/* The sum of the links from place i of a chain to place j. */
static void add_links(const double *link, size_t i, size_t j, double *to)
{
	const size_t low = i < j ? i : j, high = i < j ? j : i;
	for (size_t d = 0; d < 3; d++) {
		double sum = 0;
		for (size_t k = low; k < high; k++)
			sum += link[3 * k + d];
		to[d] = i < j ? sum : -sum;
	}
}

/* A better chain, if there is one: its links are sums of those before. */
static void change_chain(const struct nb_ar *s, struct nb_ar_state *now)
{
	const size_t n = s->n;
	double x[3 * NB_SMALL_MOST];
	size_t place[NB_SMALL_MOST];
	struct nb_ar_state old = *now;
	unroll(s, old.chain, old.y, x);
	find_chain(n, x, now->chain);
	for (size_t k = 0; k < n; k++)
		place[old.chain[k]] = k;
	for (size_t k = 0; k + 1 < n; k++) {
		const size_t i = place[now->chain[k]], j = place[now->chain[k + 1]];
		add_links(old.y, i, j, &now->y[3 * k]);
		add_links(old.rest, i, j, &now->rest[3 * k]);
		add_links(old.y + links(s), i, j, &now->y[links(s) + 3 * k]);
		add_links(old.rest + links(s), i, j, &now->rest[links(s) + 3 * k]);
	}
}

/* ---- a leapfrog --------------------------------------------------------------------------------- */

/* At the positions of a chain: W, and accelerations of links; with mean velocities of links, one product each is the
 * change of the part of W that bodies without mass have, and the work of forces beside gravity. */
struct pull {
	double w, acc[3 * NB_SMALL_MOST];
	double massless, slope[3 * NB_SMALL_MOST];
	double power[3 * NB_SMALL_MOST];
};

/* Sums of what bodies have up to each link, with the other sign. */
static void sum_links(size_t n, const double *of_body, double *to)
{
	for (size_t d = 0; d < 3; d++) {
		double sum = 0;
		for (size_t k = 0; k + 1 < n; k++)
			to[3 * k + d] = -(sum += of_body[3 * k + d]);
	}
}

static void add_extra(const struct nb_ar *s, const size_t *chain, const double *y, double *acc, double *power)
{
	double x[3 * NB_SMALL_MOST], a[3 * NB_SMALL_MOST] = {0}, work[3 * NB_SMALL_MOST];
	unroll(s, chain, y, x);
	nb_extra_add(s->extra, s->n, s->gm, x, NULL, a, NULL);
	for (size_t k = 0; k < s->n; k++)
		for (size_t d = 0; d < 3; d++) {
			acc[3 * k + d] += a[3 * chain[k] + d];
			work[3 * k + d] = s->gm[chain[k]] * a[3 * chain[k] + d];
		}
	sum_links(s->n, work, power);
}

/* NB_EUNSUPPORTED: two bodies are so close, or so far, that numbers leave their range. */
static int find_pull(const struct nb_ar *s, const size_t *chain, const double *y, struct pull *p)
{
	const size_t n = s->n;
	double acc[3 * NB_SMALL_MOST] = {0}, slope[3 * NB_SMALL_MOST] = {0};
	int fine = 1;
	p->w = p->massless = 0;
	for (size_t i = 0; i < n; i++) {
		const double mi = s->gm[chain[i]];
		double d[3] = {0};
		for (size_t j = i + 1; j < n; j++) {
			const double mj = s->gm[chain[j]], lone = mi * mj > 0 ? 0 : s->mean * (mi + mj);
			for (size_t c = 0; c < 3; c++)
				d[c] += y[3 * (j - 1) + c];
			const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], by = 1 / (r2 * sqrt(r2));
			fine &= (r2 >= nb_small_least) & (r2 <= nb_small_most);
			p->w += mi * mj * (r2 * by);
			p->massless += lone * (r2 * by);
			for (size_t c = 0; c < 3; c++) {
				acc[3 * i + c] += mj * by * d[c];
				acc[3 * j + c] -= mi * by * d[c];
				slope[3 * i + c] += lone * by * d[c];
				slope[3 * j + c] -= lone * by * d[c];
			}
		}
	}
	p->w += p->massless;
	sum_links(n, slope, p->slope);
	if (s->extra)
		add_extra(s, chain, y, acc, p->power);
	for (size_t k = 0; k + 1 < n; k++)
		for (size_t c = 0; c < 3; c++)
			p->acc[3 * k + c] = acc[3 * (k + 1) + c] - acc[3 * k + c];
	p->w = s->is_free ? 1 : p->w;
	return fine ? NB_OK : NB_EUNSUPPORTED;
}

/* Kinetic energy about the centre of mass, of velocities of links that are the sums of two. */
static double kinetic(const struct nb_ar *s, const size_t *chain, const double *v0, const double *v)
{
	double sum = 0, all = 0;
	for (size_t i = 0; i < s->n; i++) {
		double u[3] = {0};
		all += s->gm[i];
		for (size_t j = i + 1; j < s->n; j++) {
			for (size_t c = 0; c < 3; c++)
				u[c] += v0[3 * (j - 1) + c] + v[3 * (j - 1) + c];
			sum += s->gm[chain[i]] * s->gm[chain[j]] * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
		}
	}
	return all > 0 ? sum / (2 * all) : 0;
}

/* By so many steps, of h together, from a state with the part of W that bodies without mass have: what the numbers
 * change by. */
static int leapfrog(
	struct nb_ar *s, const struct nb_ar_state *from, double massless, double h, int steps, double *change)
{
	const size_t n = links(s), *chain = from->chain;
	const double *v0 = from->y + n;
	double y[NB_AR_NUMBERS], *v = change + n, *time = v + n, *energy = time + 1;
	struct pull p;
	memset(change, 0, numbers(s) * sizeof *change);
	h /= steps;
	for (int k = 0;; k++) {
		const double w = s->is_free ? 1 : kinetic(s, chain, v0, v) + (from->y[2 * n + 1] + *energy) + massless;
		const double drift = (k == 0 || k == steps ? h / 2 : h) / w;
		if (!(w > 0))
			return NB_EUNSUPPORTED;
		for (size_t i = 0; i < n; i++)
			change[i] += drift * (v0[i] + v[i]);
		*time += drift;
		if (k == steps)
			break;
		for (size_t i = 0; i < n; i++)
			y[i] = from->y[i] + change[i];
		if (find_pull(s, chain, y, &p))
			return NB_EUNSUPPORTED;
		const double kick = h / p.w;
		for (size_t i = 0; i < n; i++) {
			const double add = kick * p.acc[i], mean = v0[i] + (v[i] + add / 2);
			massless += kick * (p.slope[i] * mean);
			*energy -= s->extra ? kick * (p.power[i] * mean) : 0;
			v[i] += add;
		}
	}
	s->forces += (uint64_t)steps;
	return NB_OK;
}

/* ---- the limit ---------------------------------------------------------------------------------- */

/* Largest difference of two changes of links or of the time, as a fraction of the sizes of these. */
static double error_of(const struct nb_ar *s, const struct nb_ar_state *from, const double *change, const double *other)
{
	const size_t n = links(s);
	double most = fabs((change[2 * n] - other[2 * n]) / change[2 * n]);
	for (size_t k = 0; k < 2 * n; k += 3) {
		double off = 0, before = 0, after = 0;
		for (size_t d = k; d < k + 3; d++) {
			const double end = from->y[d] + change[d];
			off += (change[d] - other[d]) * (change[d] - other[d]);
			before += from->y[d] * from->y[d];
			after += end * end;
		}
		const double size = before < after ? before : after, error = off > 0 ? sqrt(off / size) : 0;
		most = error <= most ? most : error; /* NaN, too */
	}
	return most;
}

/* The change of the numbers in a step h from a state.  Returns the row that is good enough, 0: there is none. */
static int find_limit(struct nb_ar *s, const struct nb_ar_state *from, double h, double *change)
{
	double table[ROWS][NB_AR_NUMBERS], last = INFINITY;
	struct pull p;
	const size_t n = numbers(s);
	if (find_pull(s, from->chain, from->y, &p))
		return 0;
	for (int row = 0; row < ROWS; row++) {
		double above[NB_AR_NUMBERS], next[NB_AR_NUMBERS];
		/* table[k] is that of k extrapolations, of the row before */
		if (leapfrog(s, from, p.massless, h, 2 * (row + 1), next))
			return 0;
		for (int k = 0; k < row; k++) {
			const double ratio = (double)(row + 1) / (row - k), by = 1 / (ratio * ratio - 1);
			memcpy(above, table[k], n * sizeof *above);
			memcpy(table[k], next, n * sizeof *next);
			for (size_t i = 0; i < n; i++)
				next[i] += (next[i] - above[i]) * by;
		}
		memcpy(table[row], next, n * sizeof *next);
		if (row == 0)
			continue;
		const double error = error_of(s, from, table[row], table[row - 1]);
		if (error <= TOLERANCE || (error <= ROUNDING && !(error < last))) {
			memcpy(change, table[row], n * sizeof *change);
			return row + 1;
		}
		last = error;
	}
	return 0;
}

static void add(const struct nb_ar *s, struct nb_ar_state *now, const double *change)
{
	for (size_t i = 0; i < numbers(s); i++) {
		const double by = change[i] + now->rest[i], sum = now->y[i] + by;
		now->rest[i] = by - (sum - now->y[i]);
		now->y[i] = sum;
	}
}

int nb_ar_step(struct nb_ar *s)
{
	double change[NB_AR_NUMBERS];
	const size_t time = 2 * links(s);
	for (int trial = 0; trial < TRIALS; trial++, s->repeated++) {
		const int row = find_limit(s, &s->now, s->next, change);
		if (!row || !(fabs(change[time]) <= s->longest)) {
			s->next /= 2;
			continue;
		}
		s->before = s->now;
		s->last = change[time];
		s->step = s->next;
		add(s, &s->now, change);
		if (s->n > 2)
			change_chain(s, &s->now);
		if (row < FEW && fabs(s->last) <= s->longest / 2)
			s->next *= 1.5;
		else if (row > MANY)
			s->next *= 0.75;
		return isfinite(s->now.y[time]) ? NB_OK : NB_EUNSUPPORTED;
	}
	return NB_EUNSUPPORTED;
}

/* ---- to and from bodies ------------------------------------------------------------------------- */

int nb_ar_load(struct nb_ar *s, const double *pos, const double *vel, double longest, int way)
{
	struct nb_ar_state *now = &s->now;
	struct pull p;
	double least = INFINITY;
	const double still[3 * NB_SMALL_MOST] = {0};
	memset(now, 0, sizeof *now);
	nb_small_centre(s->n, s->gm, pos, s->centre);
	nb_small_centre(s->n, s->gm, vel, s->drift);
	if (s->n > 1)
		find_chain(s->n, pos, now->chain);
	for (size_t k = 0; k + 1 < s->n; k++)
		for (size_t d = 0; d < 3; d++) {
			const size_t from = 3 * now->chain[k] + d, to = 3 * now->chain[k + 1] + d;
			now->y[3 * k + d] = pos[to] - pos[from];
			now->y[links(s) + 3 * k + d] = vel[to] - vel[from];
		}
	s->longest = longest;
	s->last = s->step = 0;
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = 0; j < i; j++) {
			const double r2 = distance2(pos, i, j), gm = s->gm[i] + s->gm[j];
			least = gm > 0 ? fmin(least, r2 * sqrt(r2) / gm) : least;
		}
	if (find_pull(s, now->chain, now->y, &p))
		return NB_EUNSUPPORTED;
	now->y[2 * links(s) + 1] = p.w - p.massless - kinetic(s, now->chain, now->y + links(s), still);
	s->before = *now;
	/* nothing that moves has a step of its own */
	const double first = isfinite(least) ? FIRST * sqrt(least) : 1;
	s->next = way * p.w * fmin(first, isfinite(longest) ? longest : first);
	return NB_OK;
}

static void place(const struct nb_ar *s, const struct nb_ar_state *now, double *pos, double *vel)
{
	const size_t n = s->n, time = 2 * links(s);
	const double *from[2] = {now->y, now->y + links(s)};
	double *const to[2] = {pos, vel};
	for (int c = 0; c < 2 && n > 0; c++) {
		double mean[3];
		unroll(s, now->chain, from[c], to[c]);
		nb_small_centre(n, s->gm, to[c], mean);
		for (size_t k = 0; k < 3 * n; k++) {
			const size_t d = k % 3;
			to[c][k] = (to[c][k] - mean[d]) +
				   (c ? s->drift[d] : s->centre[d] + s->drift[d] * (now->y[time] + now->rest[time]));
		}
	}
}

/* The last part of the way, by less than rounding makes. */
static void creep(const struct nb_ar *s, struct nb_ar_state *now, double time, const struct pull *p)
{
	const size_t n = links(s);
	for (size_t i = 0; i < n; i++) {
		now->y[i] += time * now->y[n + i];
		now->y[n + i] += time * p->acc[i];
	}
	now->y[2 * n] += time;
}

int nb_ar_at(const struct nb_ar *s, double time, double *pos, double *vel)
{
	enum { OFTEN = 16 };
	struct nb_ar work = *s;
	struct nb_ar_state *from = &work.before, end = *from;
	struct pull p;
	double change[NB_AR_NUMBERS], low = 0, high = s->step, h = s->last != 0 ? high * (time / s->last) : 0;
	int halved = 0;
	if (time == s->last || time == 0) {
		place(s, time == 0 ? from : &s->now, pos, vel);
		return NB_OK;
	}
	for (int trial = 0; trial < TRIALS; trial++) {
		if (!find_limit(&work, from, h, change)) {
			halved = 1;
			h /= 2;
			continue;
		}
		const double off = change[2 * links(s)] - time, least = (trial < OFTEN ? 4 : 1000) * DBL_EPSILON;
		const int is_short = (off < 0) != (time < 0);
		end = *from;
		add(s, &end, change);
		if (find_pull(s, end.chain, end.y, &p))
			return NB_EUNSUPPORTED;
		if (fabs(off) <= least * fabs(time)) {
			creep(s, &end, -off, &p);
			place(s, &end, pos, vel);
			return NB_OK;
		}
		if (is_short && halved) { /* as far as that, and then on */
			*from = end;
			time = -off;
			high -= h;
			low = halved = 0;
			h = time * p.w;
		} else {
			*(is_short ? &low : &high) = h;
			h -= off * p.w;
		}
		if (!((h > low) == (h < high)) || h == low || h == high)
			h = low + (high - low) / 2;
	}
	return NB_EUNSUPPORTED;
}

double nb_ar_elapsed(const struct nb_ar *s)
{
	return s->now.y[2 * links(s)];
}

static int carry_state(const struct nb_ar *s, struct nb_ar_state *state, struct nb_carry *c)
{
	unsigned used = 0;
	for (size_t k = 0; k < s->n; k++) {
		double body = (double)state->chain[k];
		nb_carry_numbers(c, &body, 1);
		if (!(body >= 0 && body < (double)s->n))
			return NB_EUNSUPPORTED;
		state->chain[k] = (size_t)body;
		used |= 1u << state->chain[k];
	}
	nb_carry_numbers(c, state->y, numbers(s));
	nb_carry_numbers(c, state->rest, numbers(s));
	return s->n < 2 || used == (1u << s->n) - 1 ? NB_OK : NB_EUNSUPPORTED;
}

int nb_ar_carry(struct nb_ar *s, struct nb_carry *c)
{
	const double before = s->next;
	double gm[NB_SMALL_MOST]; /* from which B has come */
	memcpy(gm, s->gm, sizeof gm);
	nb_carry_numbers(c, gm, s->n);
	if (memcmp(gm, s->gm, sizeof gm) != 0)
		return NB_EUNSUPPORTED;
	const int status = carry_state(s, &s->now, c) || carry_state(s, &s->before, c);
	nb_carry_numbers(c, s->centre, 3);
	nb_carry_numbers(c, s->drift, 3);
	nb_carry_numbers(c, &s->next, 1);
	nb_carry_numbers(c, &s->last, 1);
	nb_carry_numbers(c, &s->step, 1);
	return status == NB_OK && isfinite(s->next) && (s->next > 0) == (before > 0) && s->next != 0 &&
			       isfinite(s->last)
		       ? NB_OK
		       : NB_EUNSUPPORTED;
}
