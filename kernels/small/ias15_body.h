/* ias15_body.h - template: a step of ias15.h, on a processor, where STATE has all bodies of a system (ias15_cpu.c), and
 * on a device, where each lane has a body (ias15_cuda.cu).
 *
 * BODIES(s): how many are in s, and WIDE: the most numbers that they have, x of all bodies, then y, then z.  POWER and
 * INVERSE are those of struct nb_ias15.  force(s, at, rate, acc): accelerations at the positions `at`, which s
 * remembers, and with the velocities `rate`, if s HAS_VELOCITIES; not 0 where there is none.  find_pulls(s, pull): sums
 * of the sizes of all pulls on each body at those positions.  ANY, LARGEST, LEAST: of all bodies of the system;
 * SOME(it): whether it is so in any of the systems that go through this code together, which all call all functions.
 * TABLE: constants; UNROLL stands before loops whose indices a device must know. */
enum { B = NB_IAS15_B };

/* Where forces are computed: zeros of P_7(2s - 1) + P_8(2s - 1), with Legendre's polynomials, beside 0. */
TABLE double node[B + 1] = {0, 0.05626256053692214646565219103231, 0.18024069173689236498757994280918,
	0.35262471711316963737390777017124, 0.54715362633055538300144855765234, 0.73421017721541053152321060830661,
	0.88532094683909576809035976293248, 0.97752061356128750189117450042915};

TABLE double binomial[B][B] = {{1, 2, 3, 4, 5, 6, 7}, {0, 1, 3, 6, 10, 15, 21}, {0, 0, 1, 4, 10, 20, 35},
	{0, 0, 0, 1, 5, 15, 35}, {0, 0, 0, 0, 1, 6, 21}, {0, 0, 0, 0, 0, 1, 7}, {0, 0, 0, 0, 0, 0, 1}};

/* What the b of a step foretell for the next one, which is q times as long, corrected by how much the last foretelling
 * missed. */
HERE void foretell(const STATE *s, double q, double b[B][WIDE], double e[B][WIDE])
{
	double power = 1;
	UNROLL
	for (int k = 0; k < B; k++) {
		power *= q;
		UNROLL
		for (size_t i = 0; i < 3 * BODIES(s); i++) {
			double sum = 0;
			UNROLL
			for (int j = B - 1; j >= k; j--)
				sum += binomial[k][j] * s->b[j][i];
			e[k][i] = power * sum;
			b[k][i] = e[k][i] + (s->b[k][i] - s->e[k][i]);
		}
	}
}

/* Coefficients of Newton's polynomials from those of powers. */
HERE void divide(const STATE *s, double b[B][WIDE], double g[B][WIDE])
{
	UNROLL
	for (int k = B - 1; k >= 0; k--)
		UNROLL
	for (size_t i = 0; i < 3 * BODIES(s); i++) {
		double sum = b[k][i];
		UNROLL
		for (int n = k + 1; n < B; n++)
			sum -= POWER(s, n, k) * g[n][i];
		g[k][i] = sum;
	}
}

/* Velocities at the part s of a step. */
HERE void predict_velocities(const STATE *s, double h, double part, double b[B][WIDE], double *rate)
{
	UNROLL
	for (size_t k = 0; k < 3 * BODIES(s); k++) {
		double p = 0;
		UNROLL
		for (int j = B - 1; j >= 0; j--)
			p = (p + b[j][k] * (1.0 / (j + 2))) * part;
		rate[k] = s->v[k] + (s->rest_v[k] + (p + s->a0[k]) * (part * h));
	}
}

/* Positions at the part s of a step. */
HERE void predict(const STATE *s, double h, double part, double b[B][WIDE], double *at)
{
	UNROLL
	for (size_t k = 0; k < 3 * BODIES(s); k++) {
		double p = b[6][k] * (1.0 / 72);
		p = p * part + b[5][k] * (1.0 / 56);
		p = p * part + b[4][k] * (1.0 / 42);
		p = p * part + b[3][k] * (1.0 / 30);
		p = p * part + b[2][k] * (1.0 / 20);
		p = p * part + b[1][k] * (1.0 / 12);
		p = p * part + b[0][k] * (1.0 / 6);
		p = p * part + s->a0[k] / 2;
		at[k] = s->x[k] + (s->rest_x[k] + (p * (part * h) + s->v[k]) * (part * h));
	}
}

/* One node: the force there changes the divided difference of its order, and all b.  *changed: the largest change of
 * the difference; *largest: the largest acceleration. */
HERE void correct(const STATE *s, int n, const double *acc, double b[B][WIDE], double g[B][WIDE], double *changed,
	double *largest)
{
	*changed = *largest = 0;
	UNROLL
	for (size_t i = 0; i < 3 * BODIES(s); i++) {
		double difference = (acc[i] - s->a0[i]) * INVERSE(s, n, 0);
		UNROLL
		for (int k = 1; k < n; k++)
			difference = (difference - g[k - 1][i]) * INVERSE(s, n, k);
		const double by = difference - g[n - 1][i];
		g[n - 1][i] = difference;
		UNROLL
		for (int k = 0; k < n; k++)
			b[k][i] += by * POWER(s, n - 1, k);
		*changed = fabs(by) > *changed ? fabs(by) : *changed;
		*largest = fabs(acc[i]) > *largest ? fabs(acc[i]) : *largest;
	}
}

/* Finds the b of a step h.  Not 0: there is no force on the way. */
HERE int fit(STATE *s, int goes, double h, double b[B][WIDE])
{
	enum { ROUNDS_MOST = 12 };
	double g[B][WIDE], at[WIDE], rate[WIDE] = {0}, acc[WIDE], off = INFINITY, before, changed = 0, largest = 0;
	int lost = 0;
	divide(s, b, g);
	for (int round = 1; round <= ROUNDS_MOST && SOME(goes); round++) {
		UNROLL
		for (int n = 1; n <= B && SOME(goes); n++) {
			predict(s, h, node[n], b, at);
			if (HAS_VELOCITIES(s))
				predict_velocities(s, h, node[n], b, rate);
			const int no_force = force(s, at, rate, acc);
			s->forces += goes && s->n > 1;
			lost |= ANY(goes && no_force);
			goes = goes && !lost;
			if (goes)
				correct(s, n, acc, b, g, &changed, &largest);
		}
		before = off;
		changed = LARGEST(changed);
		largest = LARGEST(largest);
		off = largest > 0 ? changed / largest : 0;
		goes = goes && off > 1e-16 && (round < 3 || off < before);
	}
	return lost;
}

/* Square of the shortest time scale of a body at the end of a step h; INFINITY: there is none.  Where pulls cancel, as
 * on a body between two others, what is left would be too short a measure: all of them together take its place. */
HERE double time_scale2(const STATE *s, double h, double b[B][WIDE])
{
	double least = INFINITY, pull[WIDE / 3];
	find_pulls(s, pull);
	for (size_t i = 0; i < BODIES(s); i++) {
		double jerk2 = 0, snap2 = 0;
		UNROLL
		for (size_t k = i; k < 3 * BODIES(s); k += BODIES(s)) {
			double jerk = 0, snap = 0;
			UNROLL
			for (int j = 0; j < B; j++) {
				jerk += (j + 1) * b[j][k];
				snap += (j + 1) * j * b[j][k];
			}
			jerk2 += jerk * jerk;
			snap2 += snap * snap;
		}
		const double scale2 = 2 * pull[i] * pull[i] / (jerk2 + pull[i] * sqrt(snap2)) * h * h;
		if (pull[i] > 0 && !(scale2 > least))
			least = scale2;
	}
	return LEAST(least);
}

HERE void add(double *sum, double *rest, double x)
{
	const double y = x + *rest, t = *sum + y;
	*rest = y - (t - *sum);
	*sum = t;
}

HERE void end_step(STATE *s, double h, double b[B][WIDE])
{
	UNROLL
	for (size_t i = 0; i < 3 * BODIES(s); i++) {
		double x = 0, v = 0;
		UNROLL
		for (int k = B - 1; k >= 0; k--) {
			x += b[k][i] * (1.0 / ((k + 2) * (k + 3)));
			v += b[k][i] * (1.0 / (k + 2));
		}
		s->x0[i] = s->x[i];
		s->v0[i] = s->v[i];
		add(&s->x[i], &s->rest_x[i], h * h * (x + s->a0[i] / 2));
		add(&s->x[i], &s->rest_x[i], h * s->v0[i]);
		add(&s->v[i], &s->rest_v[i], h * v);
		add(&s->v[i], &s->rest_v[i], h * s->a0[i]);
	}
	add(&s->elapsed, &s->rest, h);
	s->last = h;
}

enum trial { TRIAL_MADE, TRIAL_TOO_LONG, TRIAL_NO_FORCE };

/* Makes a step of length s->next, or shortens that; not goes: this system does nothing. */
HERE enum trial try_step(STATE *s, int goes)
{
	const double shortest = 0.25, longest = 4; /* of one step to the next */
	const double h = s->next, size = fabs(h);
	double b[B][WIDE], e[B][WIDE];
	const int no_force = ANY(force(s, s->x, s->v, s->a0));
	s->forces += goes && s->n > 1;
	goes = goes && !no_force;
	/* nothing is foretold for the first step, as all b and e are 0 */
	foretell(s, s->last != 0 ? h / s->last : 0, b, e);
	const int lost = fit(s, goes, h, b);
	const double scale2 = time_scale2(s, h, b), next = lost ? 0 : s->eta * sqrt(scale2);
	if (!goes)
		return TRIAL_NO_FORCE;
	if (lost || !(next >= shortest * size)) {
		s->next *= next > shortest * shortest * size ? next / size : shortest * shortest;
		s->repeated++;
		return TRIAL_TOO_LONG;
	}
	end_step(s, h, b);
	UNROLL
	for (int k = 0; k < B; k++)
		UNROLL
	for (size_t i = 0; i < 3 * BODIES(s); i++) {
		s->b[k][i] = b[k][i];
		s->e[k][i] = e[k][i];
	}
	const double most = size * longest < s->longest ? size * longest : s->longest;
	s->next = copysign(next < most ? next : most, h);
	return TRIAL_MADE;
}

/* A number a time after the beginning of the last step, which is this part of it, without the motion of the centre. */
HERE void number_at(const STATE *s, size_t i, double time, double part, double *at, double *rate)
{
	double x = 0, v = 0;
	UNROLL
	for (int k = B - 1; k >= 0; k--) {
		x = (x + s->b[k][i] * (1.0 / ((k + 2) * (k + 3)))) * part;
		v = (v + s->b[k][i] * (1.0 / (k + 2))) * part;
	}
	*at = part == 1 ? s->x[i] : s->x0[i] + time * (s->v0[i] + time * (s->a0[i] / 2 + x));
	*rate = part == 1 ? s->v[i] : s->v0[i] + time * (s->a0[i] + v);
}
