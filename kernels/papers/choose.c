/* Kernels of the papers by name and parameters. */
#include "kernels/papers/papers.h"

#include "common/nearest.h"
#include "common/parse.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct nb_paper_kernel *find(const char *text, const char *backend)
{
	const size_t length = strcspn(text, ":");
	const struct nb_paper_kernel *kernel;
	for (size_t k = 0; (kernel = nb_paper_kernel_at(k)) != NULL; k++)
		if (strlen(kernel->name) == length && memcmp(kernel->name, text, length) == 0 &&
			strcmp(kernel->backend, backend) == 0)
			return kernel;
	return NULL;
}

int nb_paper_known(const char *text, const char *backend)
{
	return find(text, backend) != NULL;
}

int nb_paper_runs(const char *text, const char *backend)
{
	const struct nb_paper_kernel *kernel = find(text, backend);
	return kernel && kernel->run;
}

static void list_choices(const struct nb_paper_parameter *parameter, char *out, size_t size)
{
	size_t used = 0;
	for (int k = 0; k < NB_PAPER_CHOICES && parameter->choice[k] && used < size; k++)
		used += (size_t)snprintf(out + used, size - used, "%s%d", k ? "|" : "", parameter->choice[k]);
}

/* One KEY=N of length bytes. */
static int take(const struct nb_paper_kernel *kernel, const char *text, size_t length, int *parameter, char *why)
{
	char item[64];
	if (length < sizeof item) {
		memcpy(item, text, length);
		item[length] = '\0';
		char *equal = strchr(item, '=');
		for (int k = 0; equal && k < NB_PAPER_PARAMETERS; k++) {
			const struct nb_paper_parameter *p = &kernel->parameter[k];
			if (!p->name || strlen(p->name) != (size_t)(equal - item) ||
				memcmp(p->name, item, (size_t)(equal - item)) != 0)
				continue;
			uint64_t value = 0;
			if (nb_parse_u64(equal + 1, 1, INT_MAX, &value) == NB_PARSE_OK)
				for (int c = 0; c < NB_PAPER_CHOICES && p->choice[c]; c++)
					if ((uint64_t)p->choice[c] == value) {
						parameter[k] = (int)value;
						return NB_OK;
					}
			char choices[80];
			list_choices(p, choices, sizeof choices);
			snprintf(why, NB_PAPER_WHY, "kernel %s: invalid %s '%s' (want %s)", kernel->name, p->name,
				equal + 1, choices);
			return NB_EINVAL;
		}
	}
	snprintf(why, NB_PAPER_WHY, "kernel %s on %s: no parameter in '%.60s' (see '--kernel help')", kernel->name,
		kernel->backend, text);
	return NB_EINVAL;
}

static struct nb_nearest nearest(const char *text, int length)
{
	struct nb_nearest to = nb_nearest_to(text, (size_t)length);
	const struct nb_paper_kernel *kernel;
	for (size_t k = 0; (kernel = nb_paper_kernel_at(k)) != NULL; k++)
		nb_nearest_offer(&to, kernel->name, strlen(kernel->name));
	return to;
}

int nb_paper_choose(const char *text, const char *backend, const struct nb_paper_kernel **kernel,
	int parameter[NB_PAPER_PARAMETERS], char *why)
{
	const struct nb_paper_kernel *k = *kernel = find(text, backend);
	const int length = (int)strcspn(text, ":");
	if (!k) {
		const char *other = strcmp(backend, "cpu") == 0 ? "cuda" : "cpu";
		if (find(text, other))
			snprintf(why, NB_PAPER_WHY, "kernel %.*s runs on %s, not on %s", length, text, other, backend);
		else
			snprintf(why, NB_PAPER_WHY, "unknown kernel '%.*s' (%s'--kernel help' lists all)",
				length < 60 ? length : 60, text, nearest(text, length).hint);
		return NB_EINVAL;
	}
	if (!k->run) {
		snprintf(why, NB_PAPER_WHY, "kernel %s needs a GPU, and this program was built without CUDA", k->name);
		return NB_EINVAL;
	}
	for (int p = 0; p < NB_PAPER_PARAMETERS; p++)
		parameter[p] = k->parameter[p].fallback;
	const char *next = text + length;
	while (*next) {
		next++; /* ':' or ',' */
		const size_t item = strcspn(next, ",");
		if (take(k, next, item, parameter, why))
			return NB_EINVAL;
		next += item;
	}
	if (k->largest_block && parameter[0] * parameter[1] > k->largest_block) {
		snprintf(why, NB_PAPER_WHY, "kernel %s: %s=%d times %s=%d exceeds %d threads", k->name,
			k->parameter[0].name, parameter[0], k->parameter[1].name, parameter[1], k->largest_block);
		return NB_EINVAL;
	}
	return NB_OK;
}

int nb_paper_offers(const struct nb_paper_kernel *kernel, enum nb_precision precision)
{
	return (kernel->traits & (unsigned)(precision == NB_F32	    ? NB_PAPER_F32
					    : precision == NB_MIXED ? NB_PAPER_MIXED
								    : NB_PAPER_F64)) != 0;
}

enum nb_precision nb_paper_precision(const struct nb_paper_kernel *kernel)
{
	return kernel->traits & NB_PAPER_F32 ? NB_F32 : kernel->traits & NB_PAPER_MIXED ? NB_MIXED : NB_F64;
}
