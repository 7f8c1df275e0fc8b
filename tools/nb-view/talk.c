/* Messages between nb-view and the server of its page, and the first one of each stream. */
#include "tools/nb-view/view.h"

#include "common/decimal.h"
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

char *nb_view_hello(const struct nb_run *run, const struct view *view, size_t *bytes)
{
	static const char words[] = NB_COLORMAP_WORDS;
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);
	if (!to)
		nb_die(NB_EXIT_FAILED, "out of memory");
	const char *command = strstr(run->history, ": "), *word = words; /* "nb-view 0.2.0: nb-view run.nb" */
	fprintf(to, "{\"keep\":%" PRIu64 ",\"maps\":{", view->keep);
	for (int map = 0; map < NB_NCOLORMAP; map++) {
		const size_t length = strcspn(word, "|");
		fprintf(to, "%s\"%.*s\":\"", map ? "," : "", (int)length, word);
		for (int k = 0; k < NB_COLORMAP_SIZE; k++)
			fprintf(to, "%06x", nb_colormap_table((enum nb_colormap)map)[k]);
		putc('"', to);
		word += length + (word[length] == '|');
	}
	putc('}', to);
	fputs(",\"command\":", to);
	nb_json_string(to, command ? command + 2 : run->tool->name);
	putc('}', to);
	if (fclose(to) || !text)
		nb_die(NB_EXIT_FAILED, "out of memory");
	return text;
}
