/* nb-transform: bodies shifted, boosted, rotated, scaled, in other units, or about another centre. */
#include "tools/nb-transform/transform.h"

#include "common/mem.h"
#include "tools/filter/require.h"

struct transform {
	struct nb_ordered given;
	struct operation *operation; /* of each of them */
};

/* In the order of enum kind. */
static const struct nb_option options[] = {
	[SHIFT] = {0, "shift", NB_ORDERED(struct transform, given), .arg = "X,Y,Z",
		.help = "add a vector to the positions"},
	[BOOST] = {0, "boost", NB_ORDERED(struct transform, given), .arg = "VX,VY,VZ",
		.help = "add a vector to the velocities"},
	[ROTATE] = {0, "rotate", NB_ORDERED(struct transform, given), .arg = "AXIS:DEGREES,...",
		.help = "rotate about the origin: z:30,x:60 about z, then about x; 1,1,0:45 about any axis"},
	[SCALE] = {0, "scale", NB_ORDERED(struct transform, given), .arg = "NAME=FACTOR,...",
		.help = "multiply length, mass, and velocity or time; velocity=virial keeps an equilibrium"},
	[FROM_UNITS] = {0, "from-units", NB_ORDERED(struct transform, given), .arg = "LENGTH,MASS[,VELOCITY]",
		.fallback = "the frame's", .help = "what one unit is, such as 2pc,1e4Msun, for a --units behind it"},
	[UNITS] = {0, "units", NB_ORDERED(struct transform, given), .arg = "LENGTH,MASS,VELOCITY",
		.help = "convert to units such as pc,Msun,km/s, and set G to its value in them"},
	[RECENTER] = {0, "recenter", NB_ORDERED(struct transform, given), .arg = "com|density",
		.help = "put the centre of mass, or the densest part, at rest at the origin"},
};

/* No option is read and then ignored. */
static void check(struct nb_run *run, void *self)
{
	struct transform *opt = self;
	const size_t n = opt->given.n;
	int stated = 0;
	(void)run;
	if (n == 0)
		nb_die(NB_EXIT_USAGE, "no operation given (see '%s --help')", nb_program());
	opt->operation = nb_require_memory(NULL, nb_alloc(n, sizeof *opt->operation));
	for (size_t k = 0; k < n; k++) {
		const enum kind kind = (enum kind)opt->given.given[k].row;
		opt->operation[k] = nb_transform_parse(kind, opt->given.given[k].text);
		if (kind == FROM_UNITS && stated)
			nb_die(NB_EXIT_USAGE, "two '--from-units' without a '--units' between them");
		if (kind == FROM_UNITS || kind == UNITS)
			stated = kind == FROM_UNITS;
	}
	if (stated)
		nb_die(NB_EXIT_USAGE, "option '--from-units' needs a '--units' behind it");
}

static void transform_frame(struct nb_run *run, void *self, struct nb_frame *frame)
{
	const struct transform *opt = self;
	struct nb_unit_system units = {.length = 0};
	(void)run;
	nb_require_valid(frame);
	for (size_t k = 0; k < opt->given.n; k++)
		nb_transform_apply(frame, &opt->operation[k], &units);
	nb_transform_require_finite(frame);
}

static void clear(void *self)
{
	struct transform *opt = self;
	nb_free(opt->operation);
}

const struct nb_tool nb_tool_transform = {
	.name = "nb-transform",
	.about = "shift, boost, rotate, scale, convert to units, recentre: in the order of the options",
	.operands = "[FILE ...]",
	.files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_HISTORY,
	.sorted_help = 1,
	.size = sizeof(struct transform),
	.streams = NB_READS | NB_WRITES,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.frame = transform_frame,
	.clear = clear,
};
