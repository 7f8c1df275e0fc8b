/* Items of the structured files of NEMO: their heads, and numbers and sets as a whole. */
#include "formats/exchange/bytes.h"
#include "formats/exchange/nemo/nemo.h"
#include "formats/exchange/wire.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

static size_t size_of(char type)
{
	static const char types[] = "abcshifld";
	static const unsigned char size[] = {1, 1, 1, 2, 2, 4, 4, 8, 8};
	const char *at = type ? strchr(types, type) : NULL;
	return at ? size[at - types] : 0;
}

int nb_nemo_recognises(const unsigned char *head, size_t n, uint64_t size)
{
	(void)size;
	if (n < 5 || head[3] != '\0' || !isalpha(head[4]))
		return 0;
	const unsigned magic = head[0] == 0x92 ? head[0] | head[1] << 8 : head[0] << 8 | head[1];
	return (magic == NB_NEMO_ONE || magic == NB_NEMO_ARRAY) && (size_of((char)head[2]) || head[2] == '(');
}

/* A text with its NUL, of at most most bytes without it. */
static int take_text(struct nb_import *in, const struct item *item, char *to, size_t most, const char *what)
{
	for (size_t i = 0; i <= most; i++) {
		const unsigned char *c = nb_wire_take(in, 1, what);
		if (!c)
			return NB_EINVAL;
		to[i] = (char)*c;
		if (*c == '\0')
			return NB_OK;
		if (*c <= ' ' || *c > '~')
			break;
	}
	return nb_wire_fail(
		in, "%s of the item at byte %" PRIu64 " is no word of at most %zu letters", what, item->at, most);
}

static int take_dimensions(struct nb_import *in, struct item *item)
{
	for (;;) {
		const unsigned char *from = nb_wire_take(in, 4, "the dimensions of an item");
		if (!from)
			return NB_EINVAL;
		const uint32_t dim = nb_wire_u32(from, item->big);
		if (dim == 0)
			break;
		if (item->ndim == NB_NEMO_DIMENSIONS || dim > INT32_MAX ||
			__builtin_mul_overflow(item->count, dim, &item->count) || item->count > NB_MAX_ROWS)
			return nb_wire_fail(
				in, "item '%s' at byte %" PRIu64 " has impossible dimensions", item->tag, item->at);
		item->dim[item->ndim++] = dim;
	}
	return NB_OK;
}

int nb_nemo_next_item(struct nb_import *in, struct item *item)
{
	const unsigned char *from;
	char type[2];
	*item = (struct item){.at = in->bytes->at, .count = 1};
	const size_t have = nb_wire_look(in, 2, &from);
	if (have == 0 || have == SIZE_MAX)
		return have ? -1 : 0;
	from = nb_wire_take(in, 2, "an item");
	if (!from)
		return -1;
	item->big = from[1] == 0x92;
	const unsigned magic = item->big ? from[0] << 8 | from[1] : from[1] << 8 | from[0];
	if (magic != NB_NEMO_ONE && magic != NB_NEMO_ARRAY) {
		nb_wire_fail(in, "no item of a NEMO file begins at byte %" PRIu64, item->at);
		return -1;
	}
	if (take_text(in, item, type, 1, "the type"))
		return -1;
	item->type = type[0];
	item->size = size_of(item->type);
	if (item->type != ')' && take_text(in, item, item->tag, NB_NEMO_TAG, "the tag"))
		return -1;
	if (magic == NB_NEMO_ARRAY && take_dimensions(in, item))
		return -1;
	if (!item->size && (magic == NB_NEMO_ARRAY || (item->type != '(' && item->type != ')'))) {
		nb_wire_fail(in, "item '%s' at byte %" PRIu64 " has the type '%s', which is not known", item->tag,
			item->at, type);
		return -1;
	}
	return 1;
}

int nb_nemo_next_in_set(struct nb_import *in, struct item *item, const char *set)
{
	const int got = nb_nemo_next_item(in, item);
	if (got == 0)
		nb_wire_fail(in, "the file ends at byte %" PRIu64 ", in the set %s", in->bytes->at, set);
	return got == 1 ? item->type != ')' : -1;
}

int nb_nemo_skip(struct nb_import *in, struct item item)
{
	if (item.type != '(')
		return nb_wire_skip(in, item.count * item.size, item.tag);
	for (int depth = 1; depth > 0;) {
		struct item inner;
		const int got = nb_nemo_next_in_set(in, &inner, item.tag);
		if (got < 0)
			return NB_EINVAL;
		depth += got == 0 ? -1 : inner.type == '(';
		if (depth > MAX_DEPTH)
			return nb_wire_fail(
				in, "more than %d sets in one another at byte %" PRIu64, MAX_DEPTH, inner.at);
		if (got == 1 && inner.type != '(' && nb_wire_skip(in, inner.count * inner.size, inner.tag))
			return NB_EINVAL;
	}
	return NB_OK;
}

int nb_nemo_take_number(struct nb_import *in, const struct item *item, double *x)
{
	const unsigned char *from = item->count == 1 ? nb_wire_take(in, item->size, item->tag) : NULL;
	unsigned char wire[8];
	const char dtype[] = {'<', item->type == 'f' || item->type == 'd' ? 'f' : 'i', (char)('0' + item->size), '\0'};
	if (!from && *in->error)
		return NB_EINVAL;
	if (!from || !strchr("silfd", item->type))
		return nb_wire_fail(in, "item '%s' at byte %" PRIu64 " is not a number", item->tag, item->at);
	nb_wire_order(1, item->size, from, item->big, wire);
	nb_dtype_to_f64(dtype, 1, wire, x);
	return NB_OK;
}
