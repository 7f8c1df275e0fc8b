/* Names of GADGET's blocks without labels: by size, where the numbers do not contradict. */
#include "formats/exchange/gadget/read.h"
#include "formats/exchange/subset.h"

#include <stdio.h>

enum { SAMPLE = 8192, TENTATIVE = 1, REPLACED };

/* Numbers of the beginning of the present block, as wide as positions; how many. */
static size_t look(struct nb_gadget_reader *reader, double *x)
{
	size_t there;
	const size_t all = reader->block_size / reader->width, most = (all < SAMPLE ? all : SAMPLE) * reader->width;
	const unsigned char *from = nb_bytes_peek(reader->bytes, most, &there);
	const size_t n = from ? there / reader->width : 0;
	if (reader->width == 4)
		nb_wire_widen(n, from, reader->swap, x);
	else if (n)
		nb_wire_order(n, sizeof *x, from, reader->swap, x);
	return n;
}

/* Numbers of all bodies of which those whose mass is in the header, if there are such, are this mass. */
static int are_masses(const struct nb_gadget_reader *reader, size_t n, const double *x)
{
	size_t known = 0, i = 0;
	for (unsigned t = 0; t < NB_NTYPE; t++)
		for (uint64_t end = i + reader->head.n[t]; i < end && i < n; i++) {
			if (reader->head.mass[t] == 0)
				continue;
			if (!nb_gadget_same_mass(x[i], reader->head.mass[t]))
				return 0;
			known++;
		}
	return known > 0 && nb_gadget_possible(NB_GADGET_MASSES, n, x) == 2;
}

static void note(struct nb_gadget_reader *reader, enum nb_gadget_number b)
{
	char text[64], own[16];
	snprintf(own, sizeof own, "block_%d", reader->block);
	if (!nb_subset_needs(&reader->in->subset, b < NB_GADGET_NBLOCK ? nb_gadget_blocks[b].column : own))
		return;
	snprintf(text, sizeof text, "%d is %s", reader->block,
		b < NB_GADGET_NBLOCK ? nb_gadget_blocks[b].column : "unknown");
	const size_t used = strlen(reader->guess);
	if (!strstr(reader->guess, text) && used + strlen(text) + 3 < sizeof reader->guess)
		snprintf(reader->guess + used, sizeof reader->guess - used, "%s%s", used ? ", " : "", text);
}

enum nb_gadget_number nb_gadget_guess(struct nb_gadget_reader *reader, struct nb_gadget_part *part)
{
	double x[SAMPLE];
	const struct nb_gadget_header *head = &reader->head;
	const unsigned masses = nb_gadget_with_masses(head->n, head->mass), bit = 1u << NB_GADGET_MASSES;
	const int cooling = nb_wire_u32(head->raw + NB_GADGET_COOLING, 0) != 0;
	const uint64_t numbers = reader->block_size / reader->width;
	const size_t n = look(reader, x);
	unsigned b = NB_GADGET_MASSES;
	if (part->seen >> (NB_GADGET_MASSES + 1) == 0 && part->zeros == TENTATIVE)
		part->seen &= ~bit; /* those may have been something else */
	const int due = masses && !(part->seen & bit);
	const int again = !(part->seen >> NB_GADGET_MASSES) && numbers == head->rows && are_masses(reader, n, x);
	const int before = part->zeros;
	while (!again && b < NB_GADGET_NBLOCK) {
		b = nb_gadget_by_place(b, part->seen, cooling, head->n, masses, numbers);
		const int possible = b < NB_GADGET_NBLOCK ? nb_gadget_possible((enum nb_gadget_number)b, n, x) : 2;
		if (possible == 2)
			break;
		if (b == NB_GADGET_MASSES && !part->zeros && possible == 1) {
			part->zeros = TENTATIVE;
			break;
		}
		b++;
	}
	if (due && !part->zeros &&
		b > NB_GADGET_MASSES) /* what comes before masses has no name, unless it must be them */
		b = numbers && numbers % head->rows == 0 ? NB_GADGET_NBLOCK : NB_GADGET_MASSES;
	if ((b > NB_GADGET_MASSES || reader->block > NB_GADGET_MASSES + 1 || again) && reader->block_size)
		note(reader, (enum nb_gadget_number)b);
	if (before == TENTATIVE && b == NB_GADGET_MASSES)
		part->zeros = REPLACED;
	else if (before == TENTATIVE) /* as long as nothing else is found */
		part->seen |= bit;
	return (enum nb_gadget_number)b;
}

void nb_gadget_warn_guesses(struct nb_gadget_reader *reader)
{
	if (*reader->guess)
		nb_gadget_warn(reader, "%s has no labels, so blocks are named by size and numbers: %s",
			nb_gadget_name(reader), reader->guess);
}
