/* The model lpt: its options, the table of its spectrum, and the attributes of its universe. */
#include "tools/nb-gen/gen.h"

#include "common/mem.h"
#include "common/named.h"
#include "common/parse.h"
#include "tools/filter/require.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 100000 };

/* ---- options ------------------------------------------------------------------------------------ */

void nb_gen_check_lpt(const struct gen *gen)
{
	const uint64_t n = gen->param.n;
	if (gen->param.kind != NB_MODEL_LPT || nb_lpt_edge(n) >= 0)
		return;
	uint64_t below = 0, above = 0;
	for (uint64_t m = 1; m <= NB_LPT_EDGE_MOST; m++) {
		if (nb_lpt_edge(m * m * m) < 0)
			continue;
		below = m * m * m < n ? m * m * m : below;
		above = m * m * m > n && !above ? m * m * m : above;
	}
	if (!above)
		nb_die(NB_EXIT_USAGE, "model 'lpt' has at most %" PRIu64 " bodies, not %" PRIu64, below, n);
	nb_die(NB_EXIT_USAGE,
		"model 'lpt' wants a cube of bodies, whose edge has no prime factor above 7, not %" PRIu64
		" (the nearest are %" PRIu64 " and %" PRIu64 ")",
		n, below, above);
}

/* ---- the table ---------------------------------------------------------------------------------- */

/* Room for one row more. */
static void grow(struct gen_spectrum *s)
{
	if (s->n < s->room)
		return;
	s->room = s->room ? 2 * s->room : 256;
	double *k = realloc(s->k, s->room * sizeof *k);
	s->k = k ? k : s->k;
	double *power = realloc(s->power, s->room * sizeof *power);
	s->power = power ? power : s->power;
	if (!k || !power)
		nb_die(NB_EXIT_FAILED, "out of memory");
}

/* The first two numbers of a line; further columns are left out.  How many there are, -1: one is no number. */
static int split(char *line, double number[2])
{
	int n = 0;
	line[strcspn(line, "#")] = '\0';
	char *next = NULL;
	for (char *word = strtok_r(line, " \t\r\n", &next); word && n < 2; word = strtok_r(NULL, " \t\r\n", &next))
		if (nb_parse_f64(word, &number[n++]) != NB_PARSE_OK)
			return -1;
	return n;
}

static void add_line(struct gen_spectrum *s, const char *path, char *line, size_t number)
{
	double pair[2] = {0, 0};
	const int n = split(line, pair);
	if (n == 0)
		return;
	if (n != 2)
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu does not begin with two numbers, k and P", path, number);
	if (!(pair[0] > 0 && pair[1] > 0 && isfinite(pair[0]) && isfinite(pair[1])))
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu: k is %g and P %g (want numbers > 0)", path, number, pair[0],
			pair[1]);
	if (s->n > 0 && !(pair[0] > s->k[s->n - 1]))
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu: k is %g after %g (want ascending k)", path, number, pair[0],
			s->k[s->n - 1]);
	if (s->n == MOST_ROWS)
		nb_die(NB_EXIT_FAILED, "'%.200s' line %zu: more than %d rows", path, number, MOST_ROWS);
	grow(s);
	s->k[s->n] = pair[0];
	s->power[s->n++] = pair[1];
}

static void read_rows(struct gen_spectrum *s, const char *path)
{
	size_t number = 0;
	const int fd = nb_open_named(path, O_RDONLY);
	s->file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!s->file)
		nb_die(NB_EXIT_FAILED, "'%.200s':", path);
	while (errno = 0, getline(&s->line, &s->line_size, s->file) >= 0) {
		if (strlen(s->line) > 4000) /* no text, as a stream */
			nb_die(NB_EXIT_FAILED, "'%.200s' line %zu does not begin with two numbers, k and P", path,
				number + 1);
		add_line(s, path, s->line, ++number);
	}
	if (ferror(s->file) || errno)
		nb_die(NB_EXIT_FAILED, "'%.200s':", path);
	fclose(s->file);
	s->file = NULL;
	if (s->n < 2)
		nb_die(NB_EXIT_FAILED, "'%.200s' has %zu row%s of k and P (want 2 or more)", path, s->n,
			s->n == 1 ? "" : "s");
}

/* Wave numbers from one to the other are in the table. */
static void require_range(const struct gen *gen, double from, double to, const char *of)
{
	const struct gen_spectrum *s = &gen->spectrum;
	if (!gen->param.extrapolate && !(s->k[0] <= from && s->k[s->n - 1] >= to))
		nb_die(NB_EXIT_FAILED,
			"'%.200s' has k from %g to %g, and %s %g to %g (want a longer table, or --extrapolate)",
			gen->param.spectrum, s->k[0], s->k[s->n - 1], of, from, to);
}

void nb_gen_read_spectrum(struct gen *gen)
{
	const struct nb_model_param *p = &gen->param;
	struct gen_spectrum *s = &gen->spectrum;
	if (p->kind != NB_MODEL_LPT || !p->spectrum)
		return;
	read_rows(s, p->spectrum);
	double k[2];
	if (nb_lpt_field_range(
		    &(struct nb_lpt_field){.m = nb_lpt_edge(p->n), .box = p->box, .sphere = p->in_sphere}, k))
		require_range(gen, k[0], k[1], "the modes of the box are from");
	if (p->sigma8 > 0)
		require_range(gen, 0.01, 1, "--sigma8 is of");
	s->table = (struct nb_lpt_table){.n = s->n, .k = s->k, .power = s->power};
	gen->param.table = &s->table;
}

void nb_gen_free_spectrum(struct gen_spectrum *s)
{
	if (s->file)
		fclose(s->file);
	free(s->k);
	free(s->power);
	free(s->line);
}

/* ---- the frame --------------------------------------------------------------------------------- */

void nb_gen_tell_lpt(const struct gen *gen)
{
	if (gen->param.kind == NB_MODEL_LPT)
		nb_verbose("lpt: sigma8 is %.6g today, by linear theory; bodies are %.3g spacings of the lattice from "
			   "their "
			   "places in it (rms)",
			nb_model_sigma8(gen->model), nb_model_displacement(gen->model));
}

void nb_gen_keep_inside(const struct gen *gen, size_t n, double *x)
{
	for (size_t k = 0; gen->param.kind == NB_MODEL_LPT && k < n; k++)
		x[k] = (float)x[k] < gen->param.box ? x[k] : 0;
}

void nb_gen_describe_lpt(const struct gen *gen, struct nb_frame *frame)
{
	const struct nb_model_param *p = &gen->param;
	if (p->kind != NB_MODEL_LPT)
		return;
	nb_set_attribute_f64(frame, "time", 1 / (1 + p->redshift));
	nb_set_attribute_f64(frame, "box", p->box);
	nb_set_attribute_f64(frame, "redshift", p->redshift);
	nb_set_attribute_f64(frame, "omega0", p->omega0);
	nb_set_attribute_f64(frame, "omega_lambda", p->omega_lambda < 0 ? 1 - p->omega0 - p->omega_r : p->omega_lambda);
	if (p->omega_r != 0)
		nb_set_attribute_f64(frame, "omega_r", p->omega_r);
	if (p->dark_w0 != -1)
		nb_set_attribute_f64(frame, "w0", p->dark_w0);
	if (p->dark_wa != 0)
		nb_set_attribute_f64(frame, "wa", p->dark_wa);
	nb_set_attribute_f64(frame, "H0", 100);
	nb_set_attribute_f64(frame, "hubble_param", p->hubble);
}
