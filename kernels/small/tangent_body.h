/* tangent_body.h - template: how the end of a Kepler orbit changes with its beginning, for one orbit or for one in each
 * lane of V.  F(name): name of a function for V; INLINE: what stands before one; V: as in whfast_body.h.
 *
 * All that the motion is made of (kepler_body.h) is differentiated, the time equation for X.  Stumpff's functions give
 * dG_n/dX = G_(n-1) and dG_n/dbeta = (n G_(n+2) - X G_(n+1)) / 2. */

/* The motion from the position q and the velocity v to f q + g v and f' q + g' v. */
struct F(arc) {
	V mu, inverse_r, r, eta, beta, zeta, X, inverse_end; /* r, end: distances before and after */
	V g0, g1, g2, g3, g4, g5;			     /* G_n(X) */
	V f, g, rate, last;				     /* f - 1, g, f' and g' - 1 */
	V less;						     /* d h / d beta, of whole periods that are not made */
};

INLINE void F(vary)(const struct F(arc) * o, const V *q, const V *v, V *dq, V *dv)
{
	const V dr = (q[0] * dq[0] + q[1] * dq[1] + q[2] * dq[2]) * o->inverse_r;
	const V deta = (q[0] * dv[0] + q[1] * dv[1] + q[2] * dv[2]) + (v[0] * dq[0] + v[1] * dq[1] + v[2] * dq[2]);
	const V dbeta = -2 * (o->mu * o->inverse_r * o->inverse_r * dr + (v[0] * dv[0] + v[1] * dv[1] + v[2] * dv[2]));
	const V dzeta = -(dbeta * o->r + o->beta * dr);
	const V b1 = 0.5 * (o->g3 - o->X * o->g2), b2 = o->g4 - 0.5 * o->X * o->g3;
	const V b3 = 1.5 * o->g5 - 0.5 * o->X * o->g4, dh = o->less * dbeta;
	const V dX = o->inverse_end *
		     (dh - (o->X * dr + o->g2 * deta + o->g3 * dzeta + (o->eta * b2 + o->zeta * b3) * dbeta));
	const V dg1 = o->g0 * dX + b1 * dbeta, dg2 = o->g1 * dX + b2 * dbeta, dg3 = o->g2 * dX + b3 * dbeta;
	const V dend = (dr + (deta * o->g1 + o->eta * dg1) + (dzeta * o->g2 + o->zeta * dg2)) * o->inverse_end;
	const V df = -(o->mu * dg2 + o->f * dr) * o->inverse_r, dg = dh - o->mu * dg3;
	const V drate = -(o->mu * dg1 * o->inverse_r * o->inverse_end + o->rate * (dr * o->inverse_r + dend));
	const V dlast = -(o->mu * dg2 * o->inverse_end + o->last * dend);
	for (int k = 0; k < 3; k++) {
		const V was = dq[k];
		dq[k] += (o->f * was + o->g * dv[k]) + (df * q[k] + dg * v[k]);
		dv[k] += (o->rate * was + o->last * dv[k]) + (drate * q[k] + dlast * v[k]);
	}
}
