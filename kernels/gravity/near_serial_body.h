/* near_serial_body.h - the serial algorithm of the near field for one precision; included by near_cpu.c once for each,
 * with NAME      suffix of the functions PAIR(f)   the function f of pair.h that belongs to REAL COORD     type of
 * coordinates REAL      type of the arithmetic ROOT      its square root */

#define PASTE2(f, name) f##_##name
#define PASTE(f, name) PASTE2(f, name)
#define T(f) PASTE(f, NAME)

struct T(body) {
	COORD x, y, z;
	REAL m, vx, vy, vz;
};

/* Body i of the plan, in the units of the plan. */
static void T(load)(const struct nb_gravity_plan *plan, size_t i, struct T(body) * b)
{
	const struct nb_gravity *g = plan->g;
	const double length = plan->scale.length, speed = plan->scale.velocity;
	const double shift = sizeof(COORD) == sizeof(float) ? 1 : 0;
	b->x = (COORD)(g->pos[3 * i] * length - shift * plan->middle[0]);
	b->y = (COORD)(g->pos[3 * i + 1] * length - shift * plan->middle[1]);
	b->z = (COORD)(g->pos[3 * i + 2] * length - shift * plan->middle[2]);
	b->m = (REAL)(g->mass[i] * plan->scale.mass);
	b->vx = g->jerk ? (REAL)(g->vel[3 * i] * speed) : 0;
	b->vy = g->jerk ? (REAL)(g->vel[3 * i + 1] * speed) : 0;
	b->vz = g->jerk ? (REAL)(g->vel[3 * i + 2] * speed) : 0;
}

/* Adds to body i what bodies first..last-1 do to it. */
static void T(serial)(
	const struct nb_gravity_plan *plan, const struct T(body) * body, size_t i, size_t first, size_t last)
{
	const struct nb_gravity *g = plan->g;
	const REAL eps2 = PAIR(eps2)(plan->eps), none = plan->eps > 0 ? -1 : eps2;
	REAL ax = 0, ay = 0, az = 0, pot = 0, jx = 0, jy = 0, jz = 0;
	for (size_t j = first; j < last; j++) {
		const REAL dx = (REAL)(body[j].x - body[i].x);
		const REAL dy = (REAL)(body[j].y - body[i].y);
		const REAL dz = (REAL)(body[j].z - body[i].z);
		const REAL r2 = PAIR(r2)(dx, dy, dz, eps2);
		if (j == i || !(r2 > none))
			continue;
		const REAL rinv = 1 / ROOT(r2), rinv2 = rinv * rinv, w = body[j].m * (rinv * rinv2);
		PAIR(add)(w, dx, dy, dz, &ax, &ay, &az);
		pot -= body[j].m * rinv;
		if (g->jerk) {
			REAL vx = body[j].vx - body[i].vx, vy = body[j].vy - body[i].vy;
			REAL vz = body[j].vz - body[i].vz;
			PAIR(jerk)(rinv2, dx, dy, dz, &vx, &vy, &vz);
			PAIR(add)(w, vx, vy, vz, &jx, &jy, &jz);
		}
	}
	const REAL acc[3] = {ax, ay, az}, jerk[3] = {jx, jy, jz};
	for (int d = 0; d < 3; d++)
		g->acc[3 * i + d] += (double)acc[d];
	if (g->pot)
		g->pot[i] += (double)pot;
	for (int d = 0; g->jerk && d < 3; d++)
		g->jerk[3 * i + d] += (double)jerk[d];
}

/* All bodies, box after box; room for g->n records.  Returns the interactions. */
static uint64_t T(serial_boxes)(const struct nb_gravity_plan *plan, const struct nb_boxes *boxes, void *room)
{
	struct T(body) *body = room;
	uint64_t p2p = 0;
	for (size_t i = 0; i < plan->g->n; i++)
		T(load)(plan, i, &body[i]);
	for (size_t box = 0; box < boxes->nbox; box++)
		for (size_t i = boxes->box_first[box]; i < boxes->box_first[box + 1]; i++) {
			p2p += boxes->box_first[box + 1] - boxes->box_first[box] - 1;
			T(serial)(plan, body, i, boxes->box_first[box], boxes->box_first[box + 1]);
			const int32_t *next = boxes->neighbour + box * (size_t)boxes->nneighbour;
			for (int k = 0; k < boxes->nneighbour; k++) {
				if (next[k] < 0)
					continue;
				const size_t first = boxes->box_first[next[k]];
				const size_t last = boxes->box_first[next[k] + 1];
				p2p += last - first;
				T(serial)(plan, body, i, first, last);
			}
		}
	return p2p;
}

#undef T
#undef PASTE
#undef PASTE2
#undef NAME
#undef PAIR
#undef COORD
#undef REAL
#undef ROOT
