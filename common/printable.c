#include "common/printable.h"

#include <string.h>

size_t nb_utf8_character(const char *text, unsigned *code)
{
	const unsigned char *c = (const unsigned char *)text;
	const size_t n = c[0] < 0x80		       ? 1
			 : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
			 : (c[0] & 0xf0) == 0xe0       ? 3
			 : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
						       : 0;
	if (n < 2) {
		*code = c[0];
		return n;
	}
	*code = c[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (c[i] & 0x3f);
	}
	/* overlong forms, surrogates, beyond the last character */
	if ((n == 3 && *code < 0x800) || (n == 4 && *code < 0x10000) || *code >> 11 == 0x1b || *code > 0x10ffff)
		return 0;
	return n;
}

int nb_is_printable(unsigned code)
{
	const int control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	const int separator = code == 0x2028 || code == 0x2029;
	const int direction = code == 0x061c || code == 0x200e || code == 0x200f ||
			      (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
	return !control && !separator && !direction;
}

void nb_make_printable(char *text)
{
	char *to = text;
	while (*text) {
		unsigned code;
		const size_t n = nb_utf8_character(text, &code);
		if (n && nb_is_printable(code)) {
			memmove(to, text, n);
			to += n;
		} else {
			*to++ = '?';
		}
		text += n ? n : 1;
	}
	*to = '\0';
}
