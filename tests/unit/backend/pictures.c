/* Pictures: the CUDA backend against that of the CPU, to the bytes where the header promises them, and the same bytes
 * on every run.  Exit status 77: there is no device. */
#include "common/mem.h"
#include "tests/unit/backend/there.h"

enum { W = 320, H = 200 };

static const struct nb_camera camera = {{0.1, 0.2, 0.3}, {0.6, 0.8, 0}, {0, 0, 1}, 40, W, H};

/* ---- bodies --------------------------------------------------------------------------------------- */

struct bodies {
	size_t n;
	double *mass, *pos, *vel, *species;
	void *d_mass, *d_pos, *d_vel, *d_species;
};

/* Dense in the middle, a few far away, some massless, and species that are none. */
static struct bodies make_bodies(size_t n)
{
	struct bodies b = {n, nb_alloc(n, 8), nb_alloc(n, 24), nb_alloc(n, 24), nb_alloc(n, 8), 0, 0, 0, 0};
	uint64_t state = 23;
	for (size_t i = 0; i < n; i++) {
		const double r = i % 101 == 50 ? 1e9 : 0.2 / (0.05 + uniform(&state));
		b.mass[i] = i % 7 == 3 ? 0 : 0.01 / (0.001 + uniform(&state));
		b.species[i] = i % 11 == 5 ? -1 : i % 11 == 6 ? NAN : i % 11 == 7 ? 300 : floor(6 * uniform(&state));
		for (size_t k = 3 * i; k < 3 * i + 3; k++) {
			b.pos[k] = r * (uniform(&state) - 0.45);
			b.vel[k] = uniform(&state) - 0.3;
		}
	}
	b.d_mass = there(b.mass, 8 * n);
	b.d_pos = there(b.pos, 24 * n);
	b.d_vel = there(b.vel, 24 * n);
	b.d_species = there(b.species, 8 * n);
	return b;
}

static void free_bodies(struct bodies *b)
{
	drop(b->d_mass);
	drop(b->d_pos);
	drop(b->d_vel);
	drop(b->d_species);
	nb_free(b->mass);
	nb_free(b->pos);
	nb_free(b->vel);
	nb_free(b->species);
}

/* Arrays of floats, as the CPU and as the device made them. */
struct floats {
	size_t count;
	float *want, *got;
	void *d; /* the device's; released by compare */
};

static struct floats floats(size_t count)
{
	struct floats f = {count, nb_alloc(count, 4), nb_alloc(count, 4), NULL};
	for (size_t i = 0; i < count; i++)
		f.want[i] = f.got[i] = 7;
	f.d = there(f.got, 4 * count);
	return f;
}

/* Largest difference, as a share of the largest number; infinite where one is NaN and not the other. */
static double difference(struct floats *f)
{
	double most = 0, largest = 0;
	CHECK(cuda->space->to_host(cuda->space, f->got, f->d, 4 * f->count) == NB_OK);
	for (size_t i = 0; i < f->count; i++) {
		const double a = f->want[i], b = f->got[i], d = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
		most = d <= most ? most : isnan(d) ? INFINITY : d;
		largest = fabs(a) > largest ? fabs(a) : largest;
	}
	return most > 0 ? most / largest : 0;
}

static void free_floats(struct floats *f)
{
	drop(f->d);
	nb_free(f->want);
	nb_free(f->got);
}

/* ---- the scene ------------------------------------------------------------------------------------ */

static void scene(const struct bodies *b)
{
	double want[3], got[3], size[2], slow[2], fast[2];
	struct nb_mass_scale scale[2];
	CHECK(cpu->splat_centre(b->n, b->pos, b->mass, want) == NB_OK);
	CHECK(cuda->splat_centre(b->n, b->d_pos, b->d_mass, got) == NB_OK);
	for (int k = 0; k < 3; k++)
		CHECK(agree(want[k], got[k], b->n > 100 ? 1 : 1e9));
	CHECK(cpu->camera_size(b->n, b->pos, want, &size[0]) == NB_OK);
	CHECK(cuda->camera_size(b->n, b->d_pos, want, &size[1]) == NB_OK);
	CHECK(agree(size[0], size[1], size[0]));
	CHECK(cpu->exposure_masses(b->n, b->mass, &scale[0]) == NB_OK);
	CHECK(cuda->exposure_masses(b->n, b->d_mass, &scale[1]) == NB_OK);
	CHECK(scale[0].unit == scale[1].unit && scale[0].massless == scale[1].massless &&
		scale[0].heavy == scale[1].heavy);
	CHECK(cpu->exposure_speeds(b->n, b->vel, &slow[0], &fast[0]) == NB_OK);
	CHECK(cuda->exposure_speeds(b->n, b->d_vel, &slow[1], &fast[1]) == NB_OK);
	CHECK(agree(slow[0], slow[1], fast[0]) && agree(fast[0], fast[1], fast[0]));
}

static void visible(const struct bodies *b)
{
	static const unsigned char hidden[NB_PICTURE_SPECIES] = {[0] = 1, [3] = 1};
	uint32_t *want = nb_alloc(b->n, sizeof *want), *got = nb_alloc(b->n, sizeof *got);
	void *d_got = there(got, b->n * sizeof *got);
	size_t count = 0, found = 1;
	CHECK(cpu->splat_visible(b->n, b->species, hidden, want, &count) == NB_OK);
	CHECK(cuda->splat_visible(b->n, b->d_species, hidden, d_got, &found) == NB_OK);
	back(got, d_got, b->n * sizeof *got);
	CHECK(count == found && memcmp(want, got, count * sizeof *want) == 0);
	nb_free(want);
	nb_free(got);
}

/* ---- what each body gets -------------------------------------------------------------------------- */

static void weights(const struct bodies *b)
{
	const struct nb_mass_scale scale[2] = {{3, 0, 5}, {1, 1, INFINITY}};
	uint32_t colour[NB_PICTURE_SPECIES];
	for (uint32_t k = 0; k < NB_PICTURE_SPECIES; k++)
		colour[k] = 0x10305 * k;
	for (int massless = 0; massless < 2; massless++) {
		struct floats w = floats(4 * b->n);
		for (int nchannel = 1; nchannel <= 4; nchannel += 3) {
			CHECK(cpu->splat_weights(b->n, b->mass, &scale[massless], 4, nchannel, w.want) == NB_OK);
			CHECK(cuda->splat_weights(b->n, b->d_mass, &scale[massless], 4, nchannel, w.d) == NB_OK);
			CHECK(difference(&w) == 0);
		}
		CHECK(cpu->splat_colour_weights(b->n, b->species, colour, w.want) == NB_OK);
		CHECK(cuda->splat_colour_weights(b->n, b->d_species, colour, w.d) == NB_OK);
		CHECK(difference(&w) == 0);
		CHECK(cpu->splat_speed_weights(b->n, b->vel, 0.1, 0.5, 4, w.want) == NB_OK);
		CHECK(cuda->splat_speed_weights(b->n, b->d_vel, 0.1, 0.5, 4, w.d) == NB_OK);
		CHECK(difference(&w) < 1e-6);
		CHECK(cpu->splat_disc_radii(b->n, b->mass, &scale[massless], b->mass, 3, 4, w.want) == NB_OK);
		CHECK(cuda->splat_disc_radii(b->n, b->d_mass, &scale[massless], b->d_mass, 3, 4, w.d) == NB_OK);
		CHECK(difference(&w) < 1e-6);
		free_floats(&w);
	}
	struct floats r = floats(b->n);
	CHECK(cpu->splat_sharpen(b->n, b->mass, 0.5, 1.5f, r.want) == NB_OK);
	CHECK(cuda->splat_sharpen(b->n, b->d_mass, 0.5, 1.5f, r.d) == NB_OK);
	CHECK(difference(&r) == 0);
	free_floats(&r);
}

/* ---- onto pixels ---------------------------------------------------------------------------------- */

/* The same picture, drawn twice by the device; some: a share of the brightest pixel. */
static void same_picture(const struct nb_splat *host, const struct nb_splat *device, double some)
{
	const size_t pixels = (size_t)host->width * (size_t)host->height;
	struct floats f = floats(pixels * (size_t)host->nchannel);
	struct nb_splat s = *host, d = *device;
	float *again = nb_alloc(f.count, sizeof *again), lo[2], hi[2];
	s.image = f.want;
	d.image = f.d;
	CHECK(cpu->splat(&s) == NB_OK);
	CHECK(cuda->splat(&d) == NB_OK);
	CHECK(cuda->space->to_host(cuda->space, again, f.d, 4 * f.count) == NB_OK);
	CHECK(cuda->splat(&d) == NB_OK);
	const double found = difference(&f);
	CHECK(found <= some);
	if (!(found <= some))
		fprintf(stderr, "%zu bodies, %d channels: pictures differ by %g\n", s.n, s.nchannel, found);
	CHECK(memcmp(again, f.got, 4 * f.count) == 0);
	for (int stretch = NB_STRETCH_ASINH; stretch <= NB_STRETCH_LINEAR; stretch++) {
		CHECK(cpu->exposure_range(s.n, s.x, s.y, s.width, s.height, s.image, (enum nb_stretch)stretch, &lo[0],
			      &hi[0]) == NB_OK);
		CHECK(cuda->exposure_range(d.n, d.x, d.y, d.width, d.height, d.image, (enum nb_stretch)stretch, &lo[1],
			      &hi[1]) == NB_OK);
		CHECK_NEAR(lo[1], lo[0], some * hi[0]);
		CHECK_NEAR(hi[1], hi[0], some * hi[0]);
	}
	nb_free(again);
	free_floats(&f);
}

/* Bodies with these radii, of 1 to 4 channels and both shapes. */
static void splat(struct bodies *b, struct floats *x, struct floats *y, struct floats *radius)
{
	struct floats w = floats(4 * b->n);
	uint64_t state = 31;
	for (size_t i = 0; i < 4 * b->n; i++)
		w.want[i] = (float)(uniform(&state) - (i % 4 ? 0.3 : 0));
	CHECK(cuda->space->from_host(cuda->space, w.d, w.want, 4 * w.count) == NB_OK);
	CHECK(cuda->space->from_host(cuda->space, radius->d, radius->want, 4 * b->n) == NB_OK);
	for (int nchannel = 1; nchannel <= 4; nchannel++)
		for (int shape = NB_SPLAT_SMOOTH; shape <= NB_SPLAT_DISC; shape++) {
			const struct nb_splat host = {b->n, x->want, y->want, radius->want, w.want, nchannel,
				(enum nb_splat_shape)shape, W, H, NULL};
			struct nb_splat device = host;
			device.x = x->d;
			device.y = y->d;
			device.radius = radius->d;
			device.weight = w.d;
			same_picture(&host, &device, b->n <= NB_SPLAT_SEGMENT ? 0 : 3e-5);
		}
	free_floats(&w);
}

/* As seen by the camera at this scale; 0.01: all in a few tiles. */
static void draw(struct bodies *b, double pixels_per_length)
{
	struct nb_camera c = camera;
	struct floats x = floats(b->n), y = floats(b->n), radius = floats(b->n);
	c.pixels_per_length = pixels_per_length;
	CHECK(cpu->splat_project(b->n, b->pos, &c, x.want, y.want) == NB_OK);
	CHECK(cuda->splat_project(b->n, b->d_pos, &c, x.d, y.d) == NB_OK);
	CHECK(difference(&x) == 0 && difference(&y) == 0);
	for (int neighbours = 0; neighbours <= 64; neighbours += 32) {
		CHECK(cpu->splat_radii(b->n, x.want, y.want, W, H, neighbours, radius.want) == NB_OK);
		CHECK(cuda->splat_radii(b->n, x.d, y.d, W, H, neighbours, radius.d) == NB_OK);
		CHECK(difference(&radius) <= (neighbours ? 1e-5 : 0));
		splat(b, &x, &y, &radius);
	}
	CHECK(cuda->splat_radii(b->n, x.d, y.d, W, H, NAN, radius.d) == NB_EINVAL);
	CHECK(cuda->splat_radii(b->n, x.d, y.d, 0, H, 5, radius.d) == NB_EINVAL);
	c.pixels_per_length = 0;
	CHECK(cuda->splat_project(b->n, b->d_pos, &c, x.d, y.d) == NB_EINVAL);
	free_floats(&x);
	free_floats(&y);
	free_floats(&radius);
}

/* Bodies whose positions are no numbers, or too large, are nowhere. */
static void not_numbers(struct bodies *b)
{
	b->pos[3 * (b->n / 2)] = NAN;
	b->pos[3 * (b->n / 3) + 1] = INFINITY;
	b->pos[3 * (b->n / 5) + 2] = -1e308;
	CHECK(cuda->space->from_host(cuda->space, b->d_pos, b->pos, 24 * b->n) == NB_OK);
	draw(b, 40);
}

/* More than 2^26 tiles and bodies: lists are made and summed in parts. */
static void long_lists(void)
{
	enum { N = 4200, SIZE = 4096 };
	struct floats x = floats(N), y = floats(N), radius = floats(N), weight = floats(N);
	uint64_t state = 41;
	for (size_t i = 0; i < N; i++) {
		x.want[i] = (float)(1100 + 1800 * uniform(&state));
		y.want[i] = (float)(1100 + 1800 * uniform(&state));
		radius.want[i] = 1024;
		weight.want[i] = (float)uniform(&state);
	}
	struct floats *const all[] = {&x, &y, &radius, &weight};
	for (int k = 0; k < 4; k++)
		CHECK(cuda->space->from_host(cuda->space, all[k]->d, all[k]->want, 4 * N) == NB_OK);
	const struct nb_splat host = {
		N, x.want, y.want, radius.want, weight.want, 1, NB_SPLAT_SMOOTH, SIZE, SIZE, NULL};
	const struct nb_splat device = {N, x.d, y.d, radius.d, weight.d, 1, NB_SPLAT_SMOOTH, SIZE, SIZE, NULL};
	same_picture(&host, &device, 3e-5);
	for (int k = 0; k < 4; k++)
		free_floats(all[k]);
}

static void limits(void)
{
	struct nb_splat s = {0, NULL, NULL, NULL, NULL, 1, NB_SPLAT_SMOOTH, W, H, NULL};
	s.nchannel = NB_SPLAT_MAX_CHANNEL + 1;
	CHECK(cuda->splat(&s) == NB_EINVAL);
	s.nchannel = 1;
	s.width = NB_SPLAT_MAX_SIZE + 1;
	CHECK(cuda->splat(&s) == NB_EINVAL);
	s.width = W;
	s.n = (size_t)UINT32_MAX + 1;
	CHECK(cuda->splat(&s) == NB_ELIMIT);
}

int main(void)
{
	static const size_t counts[] = {0, 1, 2, 100, 101, 1000, 4097, 100000};
	if (!both_backends())
		return 77;
	for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
		struct bodies b = make_bodies(counts[k]);
		if (b.n)
			scene(&b);
		visible(&b);
		weights(&b);
		draw(&b, 40);
		draw(&b, 0.01);
		if (b.n > 5)
			not_numbers(&b);
		free_bodies(&b);
	}
	long_lists();
	limits();
	return unit_end();
}
