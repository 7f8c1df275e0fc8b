#include "common/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Words that mean the same, or nearly so: names of nb, and those that people know from elsewhere. */
static const char *const classes[] = {
	"galaxy disk spiral milkyway milky-way",
	"kepler binary twobody",
	"whfast wh wisdom-holman wisdomholman",
	"ias15 radau gauss-radau everhart",
	"trace mercurius mercury hybrid symba",
	"solar planets solarsystem",
	"uniform cube random",
	"lpt cosmology cosmological zeldovich 2lpt music grafic n-genic",
	"sphere ball homogeneous",
	"render-ppm film movie video mp4 png picture image animate draw plot visualize",
	"stats statistics energy measure analyse analyze info",
	"lagrangian radii percentiles quantiles",
	"profile rotcurve rotation-curve vcirc",
	"origin source parent",
	"step integrate evolve simulate run",
	"force gravity acceleration",
	"convert import export",
	"gen generate create init ic",
	"select filter cut slice subset",
	"merge join concatenate",
	"diff compare cmp",
	"transform rotate shift boost",
	"calc compute evaluate",
	"until tend tmax tstop t-end t-max tfinal end-time stop-time",
	"resume restart checkpoint interrupt",
	"omega0 omega-m omegam omega-matter",
	"fields columns cols",
	"shift translate move offset",
	"rscale scale-radius scale-length",
	"log ln",
	"norm length magnitude",
	"mass m",
	"softening eps epsilon soft",
	"dt timestep time-step tstep",
	"count number nbody nbodies bodies particles npart",
	"threads nthreads jobs cores ncpu",
	"backend device gpu cuda",
	"output out outfile",
	"leaf-size leaf ncrit bucket",
	"csv tsv ascii text txt",
	"npy numpy",
	"vtp vtk",
	"gadget-hdf5 hdf5 h5 swift arepo gizmo tng eagle",
	"tree barnes-hut barneshut bh octree",
	"fmm multipole",
	"direct brute bruteforce allpairs all-pairs",
	"vel velocity v",
	"pos position r",
	"acc acceleration accel a",
	"pot potential phi",
};
enum { NCLASS = sizeof classes / sizeof *classes };

int nb_has_word(const char *list, const char *word)
{
	const size_t length = strlen(word);
	for (const char *at = list; length && at && (at = strstr(at, word)) != NULL; at += length)
		if ((at == list || strchr(", ", at[-1])) && strchr(", ", at[length]))
			return 1;
	return 0;
}

static void copy_lower(char to[NB_NEAREST_WORD], const char *from, size_t length)
{
	size_t n = length < NB_NEAREST_WORD ? length : 0;
	for (size_t i = 0; i < n; i++)
		to[i] = (char)tolower((unsigned char)from[i]);
	to[n] = '\0';
}

int nb_has_suffix(const char *list, const char *path)
{
	char suffix[NB_NEAREST_WORD];
	const char *dot = strrchr(path, '.');
	copy_lower(suffix, dot ? dot + 1 : "", dot ? strlen(dot + 1) : 0);
	return nb_has_word(list, suffix);
}

int nb_synonym(const char *word, size_t k, char to[NB_NEAREST_WORD])
{
	char lower[NB_NEAREST_WORD];
	copy_lower(lower, word, strlen(word));
	for (int c = 0; c < NCLASS; c++) {
		if (!nb_has_word(classes[c], lower))
			continue;
		for (const char *at = classes[c]; *at; at += strspn(at, " ")) {
			const size_t length = strcspn(at, " ");
			copy_lower(to, at, length);
			if (strcmp(to, lower) != 0 && k-- == 0)
				return 1;
			at += length;
		}
	}
	return 0;
}

/* Letters to change, add, leave out, or exchange with their neighbour. */
static int distance(const char *a, const char *b)
{
	int row[3][NB_NEAREST_WORD + 1];
	const int n = (int)strlen(a), m = (int)strlen(b);
	for (int j = 0; j <= m; j++)
		row[0][j] = j;
	for (int i = 1; i <= n; i++) {
		int *now = row[i % 3], *before = row[(i + 2) % 3], *first = row[(i + 1) % 3];
		now[0] = i;
		for (int j = 1; j <= m; j++) {
			int best = before[j - 1] + (a[i - 1] != b[j - 1]);
			best = before[j] + 1 < best ? before[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && first[j - 2] + 1 < best)
				best = first[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[n % 3][m];
}

static int are_synonyms(const char *a, const char *b)
{
	for (int c = 0; c < NCLASS; c++)
		if (nb_has_word(classes[c], a) && nb_has_word(classes[c], b))
			return 1;
	return 0;
}

/* Whether the word has this part, between hyphens or underscores. */
static int has_part(const char *word, const char *part)
{
	const size_t length = strlen(part);
	for (const char *at = word; *at; at += at[strcspn(at, "-_")] ? 1 : 0) {
		const size_t n = strcspn(at, "-_");
		if (n == length && strncmp(at, part, n) == 0)
			return 1;
		at += n;
	}
	return 0;
}

/* How far a word is from the given one: 0 nearest, INT_MAX too far. */
static int cost_of(const char *given, const char *word)
{
	enum { SAME, PART, START, LETTERS };
	const size_t length = strlen(given), n = strlen(word), least = length < n ? length : n;
	const int most = length < 3 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3;
	if (strcmp(given, word) == 0 || are_synonyms(given, word))
		return SAME;
	if (length >= 3 && (has_part(word, given) || (n >= 3 && has_part(given, word))))
		return PART;
	if (least >= 3 && strncmp(given, word, least) == 0 && least == length)
		return START;
	const int letters = distance(given, word);
	return letters <= most ? LETTERS + letters : INT_MAX;
}

struct nb_nearest nb_nearest_to(const char *word, size_t length)
{
	struct nb_nearest nearest = {.before = "", .cost = INT_MAX};
	copy_lower(nearest.given, word, length);
	return nearest;
}

void nb_nearest_offer(struct nb_nearest *nearest, const char *word, size_t length)
{
	char lower[NB_NEAREST_WORD];
	copy_lower(lower, word, length);
	const int cost = *nearest->given && *lower ? cost_of(nearest->given, lower) : INT_MAX;
	if (cost >= nearest->cost)
		return;
	nearest->cost = cost;
	snprintf(nearest->hint, sizeof nearest->hint, "did you mean '%s%.*s'? ", nearest->before, (int)length, word);
}

struct nb_nearest nb_nearest_in(const char *word, size_t length, const char *list, const char *dividers)
{
	struct nb_nearest nearest = nb_nearest_to(word, length);
	for (const char *at = list; *at; at += strspn(at, dividers)) {
		const size_t n = strcspn(at, dividers);
		nb_nearest_offer(&nearest, at, n);
		at += n;
	}
	return nearest;
}
