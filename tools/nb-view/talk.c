/* Messages between nb-view and the server of its page, and the first one of each stream. */
#include "tools/nb-view/view.h"

#include "common/decimal.h"
#include "common/printable.h"
#include "formats/image/image.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int send_bytes(int socket, const void *data, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes;) {
		const ssize_t n = send(socket, (const char *)data + at, bytes - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (uint64_t)n;
	}
	return 0;
}

int nb_talk_send(int socket, uint32_t kind, uint32_t client, const struct talk_part *part, size_t n)
{
	static const char zeros[8];
	struct talk_head head = {kind, client, 0};
	for (size_t k = 0; k < n; k++)
		head.bytes += n > 1 ? talk_padded(part[k].bytes) : part[k].bytes;
	if (send_bytes(socket, &head, sizeof head))
		return -1;
	for (size_t k = 0; k < n; k++)
		if (send_bytes(socket, part[k].data, part[k].bytes) ||
			(n > 1 && send_bytes(socket, zeros, talk_padded(part[k].bytes) - part[k].bytes)))
			return -1;
	return 0;
}

int nb_talk_receive(int socket, void *to, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes;) {
		const ssize_t n = recv(socket, (char *)to + at, bytes - at, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (uint64_t)n;
	}
	return 0;
}

/* ---- JSON --------------------------------------------------------------------------------------- */

void nb_talk_real(FILE *to, double x)
{
	char number[NB_DECIMAL_SIZE];
	nb_decimal_write(x, number);
	fputs(isfinite(x) ? number : "null", to);
}

/* 256 times red, green and blue, in base64. */
static void write_map(FILE *to, const uint32_t *table)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (int k = 0; k < NB_COLORMAP_SIZE; k++) /* 24 bits are four digits */
		for (int shift = 18; shift >= 0; shift -= 6)
			putc(digit[table[k] >> shift & 63], to);
}

static void write_colours(FILE *to, const char *name, unsigned n, uint32_t (*colour)(unsigned))
{
	fprintf(to, ",\"%s\":[", name);
	for (unsigned k = 0; k < n; k++)
		fprintf(to, "%s\"#%06x\"", k ? "," : "", colour(k));
	putc(']', to);
}

char *nb_view_hello(const struct nb_run *run, const struct view *view, size_t *bytes)
{
	static const char words[] = NB_COLORMAP_WORDS;
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);
	if (!to)
		nb_die(NB_EXIT_FAILED, "out of memory");
	const char *version = run->history + strlen(run->tool->name) + 1; /* "nb-view 0.2.0: nb-view run.nb" */
	const char *command = strstr(version, ": ");
	fprintf(to, "{\"version\":\"%.*s\",\"keep\":%" PRIu64 ",\"maps\":{", (int)strcspn(version, ":"), version,
		view->keep);
	const char *word = words;
	for (int map = 0; map < NB_NCOLORMAP; map++) {
		const size_t length = strcspn(word, "|");
		fprintf(to, "%s\"%.*s\":\"", map ? "," : "", (int)length, word);
		write_map(to, nb_colormap_table((enum nb_colormap)map));
		putc('"', to);
		word += length + (word[length] == '|');
	}
	putc('}', to);
	write_colours(to, "kinds", NB_HUE_KINDS, nb_hue_of_kind);
	write_colours(to, "components", 6, nb_hue_of_component);
	fputs(",\"command\":", to);
	nb_json_string(to, command ? command + 2 : run->tool->name);
	putc('}', to);
	if (fclose(to))
		nb_die(NB_EXIT_FAILED, "out of memory");
	return text;
}
