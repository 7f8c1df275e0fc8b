/* What a page says that it wants: bytes of a stranger. */
#include "tools/nb-view/server/server.h"

#include <math.h>
#include <string.h>

static int are_finite(const double *x, size_t n)
{
	while (n && isfinite(*x)) {
		x++;
		n--;
	}
	return n == 0;
}

/* A text that ends, and has no control characters; what is behind its end goes. */
static int is_text(char *text, size_t size)
{
	const size_t n = strnlen(text, size);
	for (size_t k = 0; k < n; k++)
		if ((unsigned char)text[k] < 32)
			return 0;
	memset(text + n, 0, size - n);
	return n < size;
}

int nb_want_read(struct talk_want *w, const char *bytes, size_t size)
{
	enum { SIZE_MOST = 8192 }; /* of a picture, pixels */
	if (size != sizeof *w)
		return -1;
	memcpy(w, bytes, sizeof *w);
	const int good = w->columns < 1u << TALK_COLUMNS && w->most <= TALK_MOST && w->width && w->width <= SIZE_MOST &&
			 w->height && w->height <= SIZE_MOST && are_finite(w->centre, 3) && are_finite(w->right, 3) &&
			 are_finite(w->up, 3) && are_finite(w->range, 2) && isfinite(w->scale) &&
			 (!w->draw || w->scale > 0) && is_text(w->by, sizeof w->by);
	if (!(w->range[0] >= 0 && w->range[0] < w->range[1]))
		w->range[0] = w->range[1] = 0;
	return good ? 0 : -1;
}
