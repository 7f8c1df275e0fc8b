/* nb-render-ppm: where pictures go: one after the other to standard output, each to a file of its own, or to ffmpeg,
 * which makes a film. */
#include "common/child.h"
#include "common/mem.h"
#include "common/nearest.h"
#include "tools/filter/files.h"
#include "tools/filter/interrupt.h"
#include "tools/nb-render-ppm/render.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUALITY = 92, EFFORT = 4, MAX_WORDS = 16 };

/* ---- what a name promises ------------------------------------------------------------------------- */

static int encode_jpeg(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *size)
{
	return nb_jpeg_encode(width, height, rgb, QUALITY, bytes, size);
}

static int encode_webp(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *size)
{
	return nb_webp_encode(width, height, rgb, QUALITY, EFFORT, bytes, size);
}

#define YUV                                                                                                        \
	"-vf", "scale=out_color_matrix=bt709,format=yuv420p", "-colorspace", "bt709", "-color_primaries", "bt709", \
		"-color_trc", "bt709"
#define PALETTE "-filter_complex", "split[a][b];[a]palettegen[p];[b][p]paletteuse"

struct kind {
	const char *ending, *name;
	int (*encode)(int width, int height, const uint8_t *rgb, uint8_t **bytes, size_t *size);
	const char *library;	     /* Debian package */
	int most;		     /* pixels of an edge */
	const char *film[MAX_WORDS]; /* what ffmpeg wants to know */
};
static const struct kind kinds[] = {
	{".png", "PNG", nb_png_encode, NULL, NB_SPLAT_MAX_SIZE, {NULL}},
	{".jpg", "JPEG", encode_jpeg, "libjpeg-dev", NB_SPLAT_MAX_SIZE, {NULL}},
	{".jpeg", "JPEG", encode_jpeg, "libjpeg-dev", NB_SPLAT_MAX_SIZE, {NULL}},
	{".webp", "WebP", encode_webp, "libwebp-dev", 16383, {NULL}},
	{".mp4", "MP4", NULL, NULL, 0, {"-f", "mp4", "-movflags", "+faststart", "-crf", "18", YUV}},
	{".mov", "MOV", NULL, NULL, 0, {"-f", "mov", "-movflags", "+faststart", "-crf", "18", YUV}},
	{".mkv", "Matroska", NULL, NULL, 0, {"-f", "matroska", "-crf", "18", YUV}},
	{".webm", "WebM", NULL, NULL, 0, {"-f", "webm", "-crf", "24", "-b:v", "0", YUV}},
	{".avi", "AVI", NULL, NULL, 0, {"-f", "avi", "-q:v", "3", YUV}},
	{".gif", "GIF", NULL, NULL, 0, {"-f", "gif", PALETTE}},
};

static const struct kind *kind_of(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;
	for (size_t k = 0; dot && k < sizeof kinds / sizeof *kinds; k++)
		if (strcasecmp(dot, kinds[k].ending) == 0)
			return &kinds[k];
	return NULL;
}

/* Where the number goes: behind so many characters of the path, of which it takes the place of length.  Returns whether
 * the path has a place for it. */
static int find_number(const char *path, size_t *at, size_t *length, int *digits)
{
	const char *percent = strchr(path, '%');
	int n = 0;
	*digits = 6;
	*length = 0;
	*at = (size_t)(strrchr(path, '.') - path);
	if (!percent)
		return 0;
	*at = (size_t)(percent - path);
	*digits = 1;
	if (percent[1] == 'd')
		*length = 2;
	else if (sscanf(percent, "%%0%1dd%n", digits, &n) == 1)
		*length = (size_t)n;
	if (*length == 0 || strchr(percent + *length, '%'))
		nb_die(NB_EXIT_USAGE,
			"invalid output '%s' (want one %%d or %%06d, where the number of the picture is to be)", path);
	return 1;
}

/* ---- ffmpeg --------------------------------------------------------------------------------------- */

/* Where PATH leads. */
static int find_program(char *const *environment, const char *name, char path[PATH_MAX])
{
	const char *at = "/usr/bin:/bin";
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			at = *environment + 5;
	for (size_t n; *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		if (n && snprintf(path, PATH_MAX, "%.*s/%s", (int)n, at, name) < PATH_MAX && access(path, X_OK) == 0)
			return 1;
	}
	return 0;
}

static _Noreturn void cannot_write(const char *path)
{
	if (nb_whole_why(errno))
		nb_die(NB_EXIT_FAILED, "'%s' %s", path, nb_whole_why(errno));
	nb_die(NB_EXIT_FAILED, "'%s':", path);
}

/* Pictures go to its standard input, a socket, since writing to that tells of its end without a signal.  It writes to
 * its standard output, which is the file.  In a process group of its own: Ctrl-C ends a run with its last frame, which
 * is part of the film. */
static void start_ffmpeg(struct render *r)
{
	struct output *out = &r->output;
	char path[PATH_MAX], size[32], rate[32], *argv[16 + MAX_WORDS];
	int n = 0, pair[2];
	if (nb_whole_open(&out->file, out->path))
		cannot_write(out->path);
	snprintf(size, sizeof size, "%dx%d", r->width, r->height);
	snprintf(rate, sizeof rate, "%.12g", r->fps);
	const char *const input[] = {"ffmpeg", "-nostdin", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt",
		"rgb24", "-s", size, "-framerate", rate, "-i", "pipe:0"};
	for (size_t k = 0; k < sizeof input / sizeof *input; k++)
		argv[n++] = (char *)(uintptr_t)input[k];
	for (size_t k = 0; out->kind->film[k]; k++)
		argv[n++] = (char *)(uintptr_t)out->kind->film[k];
	argv[n++] = (char *)(uintptr_t) "/dev/fd/1";
	argv[n] = NULL;
	if (!find_program(out->environment, "ffmpeg", path))
		nb_die(NB_EXIT_FAILED, "there is no ffmpeg any more");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		nb_die(NB_EXIT_FAILED, "cannot start ffmpeg:");
	const struct nb_child child = {path, argv, out->environment, {pair[1], out->file.fd, nb_voice_file()}, 3,
		.has_no_others = 1, .leads_group = 1, .ignores_none = 1};
	errno = nb_child_start(&child, &out->ffmpeg);
	close(pair[1]);
	out->socket = pair[0];
	if (errno) {
		out->ffmpeg = 0;
		nb_die(NB_EXIT_FAILED, "cannot start ffmpeg:");
	}
}

/* Its exit status, 0 if there is none. */
static int end_ffmpeg(struct output *out)
{
	int status = 0;
	if (!out->ffmpeg)
		return 0;
	close(out->socket);
	while (waitpid(out->ffmpeg, &status, 0) < 0 && errno == EINTR)
		;
	out->ffmpeg = 0;
	return status;
}

static _Noreturn void ffmpeg_failed(struct output *out, int status)
{
	nb_whole_drop(&out->file);
	nb_die(NB_EXIT_FAILED, "ffmpeg, which makes '%s', ended with %s %d", out->path,
		WIFSIGNALED(status) ? "signal" : "exit status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void feed_ffmpeg(struct render *r)
{
	struct output *out = &r->output;
	const size_t size = 3 * (size_t)r->width * (size_t)r->height;
	if (out->count == 0)
		start_ffmpeg(r);
	for (size_t at = 0; at < size;) {
		const ssize_t n = send(out->socket, r->canvas.rgb + at, size - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			ffmpeg_failed(out, end_ffmpeg(out));
		at += n > 0 ? (size_t)n : 0;
	}
}

/* ---- files of their own --------------------------------------------------------------------------- */

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
	struct nb_whole file;
	if (nb_whole_open(&file, path))
		cannot_write(path);
	for (size_t at = 0; at < size;) {
		const ssize_t n = write(file.fd, bytes + at, size - at);
		if (n < 0 && errno != EINTR) {
			nb_whole_drop(&file);
			cannot_write(path);
		}
		at += n > 0 ? (size_t)n : 0;
	}
	if (nb_whole_close(&file)) {
		nb_whole_drop(&file);
		cannot_write(path);
	}
}

static void write_numbered(const struct output *out, uint64_t number, const uint8_t *bytes, size_t size)
{
	char path[PATH_MAX];
	size_t at, length;
	int digits;
	const int placed = find_number(out->path, &at, &length, &digits);
	if (snprintf(path, sizeof path, "%.*s%s%0*" PRIu64 "%s", (int)at, out->path, placed ? "" : "-", digits, number,
		    out->path + at + length) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		cannot_write(out->path);
	}
	write_file(path, bytes, size);
}

/* The first one waits: if no other follows it has the name as it is. */
static void write_own(struct render *r)
{
	struct output *out = &r->output;
	uint8_t *bytes;
	size_t size;
	const int status = out->kind->encode(r->width, r->height, r->canvas.rgb, &bytes, &size);
	if (status)
		nb_die(NB_EXIT_FAILED, "cannot write picture %" PRIu64 ": %s", out->count, nb_status_text(status));
	if (out->count == 0 && !strchr(out->path, '%')) {
		out->first = bytes;
		out->first_size = size;
		return;
	}
	if (out->first)
		write_numbered(out, 0, out->first, out->first_size);
	nb_free(out->first);
	out->first = NULL;
	write_numbered(out, out->count, bytes, size);
	nb_free(bytes);
}

/* ---- for all -------------------------------------------------------------------------------------- */

void nb_render_choose_output(struct nb_run *run, struct render *r)
{
	struct output *out = &r->output;
	const char *path = run->common.output;
	const struct kind *kind = kind_of(path);
	static const uint8_t black[3];
	static const char others[] = "bmp tif tiff svg pdf eps ps exr avif m4v mpg mpeg wmv ogv";
	char program[PATH_MAX];
	uint8_t *bytes = NULL;
	size_t size, at, length;
	int digits;
	out->environment = run->environment;
	if (path && nb_has_suffix(others, path))
		nb_die(NB_EXIT_USAGE,
			"output '%s': no such pictures are written (want .png, .jpg, .webp, .ppm or .mp4)", path);
	if (!kind) {
		nb_output_refuse_terminal(path, "pictures are binary (-o FILE.png or FILE.mp4, or redirect them)");
		if (nb_given(run, &r->fps))
			nb_die(NB_EXIT_USAGE, "option '--fps' needs a film ('-o FILE.mp4')");
		return;
	}
	out->path = path;
	out->kind = kind;
	run->common.output = NULL; /* it is not written to as standard output is */
	if (kind->encode && nb_given(run, &r->fps))
		nb_die(NB_EXIT_USAGE, "option '--fps' needs a film ('-o FILE.mp4'; '%s' is a picture)", path);
	if (!kind->encode && !find_program(run->environment, "ffmpeg", program))
		nb_die(NB_EXIT_FAILED,
			"'%s' needs ffmpeg, which is not there (install ffmpeg, or write FILE-%%06d.png)", path);
	if (kind->encode && kind->encode(1, 1, black, &bytes, &size) == NB_EUNSUPPORTED)
		nb_die(NB_EXIT_FAILED, "'%s': %s is not built in: install %s, and build nb again", path, kind->name,
			kind->library);
	nb_free(bytes);
	if (kind->encode && (r->width > kind->most || r->height > kind->most))
		nb_die(NB_EXIT_USAGE, "'%s': a %s has at most %d x %d pixels", path, kind->name, kind->most,
			kind->most);
	if (kind->encode)
		(void)find_number(path, &at, &length, &digits);
}

void nb_render_put(struct render *r)
{
	struct output *out = &r->output;
	if (!out->kind && nb_ppm_write(stdout, r->width, r->height, r->canvas.rgb))
		nb_die(NB_EXIT_FAILED, "cannot write picture %" PRIu64 ":", out->count);
	if (out->kind && out->kind->encode)
		write_own(r);
	else if (out->kind)
		feed_ffmpeg(r);
	out->count++;
}

/* Of a film that is over before anybody has seen it. */
static void warn_if_short(const struct render *r)
{
	const struct output *out = &r->output;
	const double seconds = (double)out->count / r->fps;
	if (nb_interrupted())
		return;
	if (out->count == 1 && !r->pictures)
		nb_warn("'%s' is a film of one picture, as the stream has one frame (nb-step --every 1 writes more, "
			"--pictures goes round one)",
			out->path);
	else if (seconds < 1)
		nb_warn("'%s' lasts %.2g seconds: %" PRIu64
			" pictures, %g in a second (%s draws more, --fps shows each for longer)",
			out->path, seconds, out->count, r->fps, r->pictures ? "--pictures" : "--between");
}

void nb_render_end_output(struct render *r)
{
	struct output *out = &r->output;
	if (!out->kind)
		return;
	if (out->count == 0)
		nb_die(NB_EXIT_FAILED, "there is no frame, and so no '%s'", out->path);
	if (out->first)
		write_file(out->path, out->first, out->first_size);
	const int status = end_ffmpeg(out);
	if (status)
		ffmpeg_failed(out, status);
	if (out->file.path && nb_whole_close(&out->file))
		cannot_write(out->path);
	if (!out->kind->encode)
		warn_if_short(r);
}

void nb_render_drop_output(struct render *r)
{
	struct output *out = &r->output;
	nb_free(out->first);
	out->first = NULL;
	if (end_ffmpeg(out) == 0 && out->count > 1)
		nb_whole_leave(&out->file);
	else
		nb_whole_drop(&out->file);
}
