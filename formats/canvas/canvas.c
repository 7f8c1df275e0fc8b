/* A canvas: drawings go to the process of cairo.c, or to cells.c. */
#include "formats/canvas/canvas_internal.h"

#include "common/held.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

NB_HELD_PROGRAM(nb_cairo_program, NB_CAIRO_PROGRAM);

/* It has gone; what it may have said of the reason comes before anything else. */
static void fail(struct nb_canvas *canvas, const char *why)
{
	if (!*canvas->why)
		snprintf(canvas->why, sizeof canvas->why, "%s", why);
}

static void send_all(struct nb_canvas *canvas, const void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes && !*canvas->why;) {
		const ssize_t n = send(canvas->socket, (const char *)data + at, bytes - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			fail(canvas, "the process that draws by cairo has broken down");
		at += n > 0 ? (size_t)n : 0;
	}
}

static void receive(struct nb_canvas *canvas, void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes && !*canvas->why;) {
		const ssize_t n = read(canvas->socket, (char *)data + at, bytes - at);
		if (n == 0 || (n < 0 && errno != EINTR))
			fail(canvas, "the process that draws by cairo has broken down");
		at += n > 0 ? (size_t)n : 0;
	}
}

/* An answer: a message of so many bytes if something has failed, else bytes, which are to be freed. */
static void *answer(struct nb_canvas *canvas, uint64_t *size)
{
	uint64_t head[2] = {0};
	char why[NB_CANVAS_WHY] = "";
	receive(canvas, head, sizeof head);
	if (head[0] && !*canvas->why) {
		receive(canvas, why, head[1] < sizeof why ? head[1] : sizeof why - 1);
		fail(canvas, why);
	}
	void *data = *canvas->why ? NULL : malloc(head[1] + 1);
	if (!data)
		fail(canvas, "out of memory");
	else
		receive(canvas, data, head[1]);
	*size = head[1];
	return data;
}

void nb_canvas_draw(struct nb_canvas *canvas, const struct nb_drawing *drawing, const void *data)
{
	if (*canvas->why)
		return;
	if (canvas->cells) {
		nb_cells_draw(canvas->cells, drawing, data);
		return;
	}
	send_all(canvas, drawing, sizeof *drawing);
	send_all(canvas, data, nb_drawing_bytes(drawing));
}

float nb_canvas_text_width(struct nb_canvas *canvas, float size, const char *text)
{
	uint64_t got;
	float width = 0;
	if (canvas->cells)
		return 2 * (float)nb_cells_width(canvas->cells, text);
	nb_canvas_draw(
		canvas, &(struct nb_drawing){.what = NB_DRAW_WIDTH, .n = (uint32_t)strlen(text), .size = size}, text);
	float *data = answer(canvas, &got);
	if (!*canvas->why && got == sizeof width)
		width = *data;
	free(data);
	return width;
}

void nb_canvas_keep_ascii(struct nb_canvas *canvas)
{
	if (canvas->cells)
		nb_cells_keep_ascii(canvas->cells);
}

int nb_canvas_open(struct nb_canvas *canvas, enum nb_canvas_format format, int width, int height, int colors)
{
	const int text = format == NB_CANVAS_TEXT;
	uint64_t unused;
	*canvas = (struct nb_canvas){format, text ? 2 * width : width, text ? 4 * height : height, .socket = -1};
	if (text) {
		canvas->cells = nb_cells_new(width, height, colors);
		if (!canvas->cells)
			fail(canvas, "out of memory");
		return canvas->cells ? NB_OK : NB_ENOMEM;
	}
	const int error = nb_held_start(
		"nb-cairo", nb_cairo_program, nb_cairo_program_size, -1, &canvas->socket, &canvas->process);
	if (error) {
		canvas->process = 0;
		const char *hint = error == ENOENT ? " (is /proc there, and a loader of shared libraries?)" : "";
		snprintf(canvas->why, sizeof canvas->why, "cannot start the process that draws by cairo: %s%s",
			strerror(error), error == ENOSYS ? " (a build with POSIX=1 draws text alone)" : hint);
		return NB_EUNSUPPORTED;
	}
	nb_canvas_draw(canvas,
		&(struct nb_drawing){.what = NB_DRAW_OPEN, .columns = format, .w = (float)width, .h = (float)height},
		NULL);
	free(answer(canvas, &unused));
	return *canvas->why ? NB_EUNSUPPORTED : NB_OK;
}

void nb_canvas_drop(struct nb_canvas *canvas)
{
	if (canvas->process) {
		kill(canvas->process, SIGKILL);
		while (waitpid(canvas->process, NULL, 0) < 0 && errno == EINTR)
			;
		close(canvas->socket);
	}
	canvas->process = 0;
	nb_cells_free(canvas->cells);
	canvas->cells = NULL;
}

int nb_canvas_close(struct nb_canvas *canvas, void **bytes, size_t *size)
{
	uint64_t got = 0;
	*bytes = NULL;
	if (canvas->cells) {
		*bytes = nb_cells_text(canvas->cells, size);
	} else if (!*canvas->why) {
		nb_canvas_draw(canvas, &(struct nb_drawing){.what = NB_DRAW_END}, NULL);
		*bytes = answer(canvas, &got);
		*size = got;
	}
	if (!*bytes)
		fail(canvas, "out of memory");
	nb_canvas_drop(canvas);
	if (!*canvas->why)
		return NB_OK;
	free(*bytes);
	*bytes = NULL;
	return NB_EUNSUPPORTED;
}
