/* printable.h - text from a stream, a path or a command line, on its way to a terminal.
 *
 * A terminal obeys control characters, also those of one byte from 0x80 and of two bytes in UTF-8, and shows text in
 * another order after a bidirectional override.  What is left is UTF-8 without any of them. */
#ifndef NB_PRINTABLE_H
#define NB_PRINTABLE_H

#include <stddef.h>

/* Bytes of the UTF-8 character that text begins with, 1 to 4, and its number in *code; 0: there is none. */
size_t nb_utf8_character(const char *text, unsigned *code);
/* Whether a terminal may get the character of that number: no control, no line or paragraph separator, no mark,
 * embedding, override or isolate of the direction of writing. */
int nb_is_printable(unsigned code);
/* Puts '?' for each byte that is not UTF-8 and for each character that is not printable; in place. */
void nb_make_printable(char *text);

#endif
