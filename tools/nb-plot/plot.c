/* nb-plot: curves, points, histograms and maps of the columns of tables and particle streams. */
#include "tools/nb-plot/plot.h"

#include "common/mem.h"
#include "tools/filter/files.h"
#include "tools/filter/require.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct nb_option options[] = {
	{0, "bins", NB_INT(struct plot, bins), .min = 1, .max = 1000, .arg = "N", .fallback = "40; of a map 128",
		.help = "bins of a histogram, or of a map along x"},
	{0, "by", NB_TEXT(struct plot, by), .arg = "COLUMN", .help = "a curve for each value of this column"},
	{0, "format", NB_CHOICE(struct plot, format), .arg = "auto|text|png|svg|pdf|sixel|kitty", .fallback = "auto",
		.help = "what is written; auto: by the suffix of --output, or what the terminal shows"},
	{0, "frames", NB_CHOICE(struct plot, which), .arg = "auto|last|all", .fallback = "auto",
		.help = "frames whose bodies are drawn; auto: all if x or y is the same for all bodies, else the last"},
	{'H', "height", NB_INT(struct plot, height), .min = 8, .max = 16384, .arg = "N",
		.fallback = "800; of SVG, PDF 400", .help = "height in pixels, points (SVG, PDF) or lines (text)"},
	{0, "log", NB_CHOICE(struct plot, log), .arg = "auto|none|x|y|xy", .fallback = "auto",
		.help = "logarithmic axes; auto: those of the preset"},
	{0, "rows", NB_CHOICE(struct plot, rows), .arg = "auto|bodies|frames", .fallback = "auto",
		.help = "what a point of a particle stream is: a body, or a frame as nb-stats measures it"},
	{0, "style", NB_CHOICE(struct plot, style), .arg = "auto|line|points|histogram|map", .fallback = "auto",
		.help = "how points are drawn; map: how many there are, as colours"},
	{0, "title", NB_TEXT(struct plot, title), .arg = "TEXT", .help = "a title above the picture"},
	{'W', "width", NB_INT(struct plot, width), .min = 16, .max = 16384, .arg = "N",
		.fallback = "1200; of SVG, PDF 600", .help = "width in pixels, points (SVG, PDF) or characters (text)"},
	{'x', "x", NB_TEXT(struct plot, x_text), .arg = "EXPRESSION", .fallback = "time, or the first column",
		.help = "what goes to the right"},
	{0, "x-label", NB_TEXT(struct plot, x_label), .arg = "TEXT", .fallback = "the expression and its unit",
		.help = "what is written below the x axis"},
	{0, "x-range", NB_TEXT(struct plot, x_range), .arg = "A:B", .fallback = "all", .help = "ends of the x axis"},
	{'y', "y", NB_TEXT(struct plot, y_text), .arg = "LIST", .fallback = "other columns; with --x: a histogram",
		.help = "what goes up: expressions with ',' between curves and ';' between panels"},
	{0, "y-label", NB_TEXT(struct plot, y_label), .arg = "TEXT", .fallback = "the expression and its unit",
		.help = "what is written beside the y axis"},
	{0, "y-range", NB_TEXT(struct plot, y_range), .arg = "A:B", .fallback = "all", .help = "ends of the y axis"},
};

static void list_presets(void)
{
	const struct preset *preset;
	puts("presets:");
	for (size_t k = 0; (preset = nb_plot_preset(k)); k++)
		printf("  %-16s %s\n", preset->name, preset->about);
}

/* ---- the command line --------------------------------------------------------------------------- */

static int format_of(const struct nb_run *run)
{
	static const struct {
		const char *suffix;
		enum format format;
	} known[] = {{".png", FORMAT_PNG}, {".svg", FORMAT_SVG}, {".pdf", FORMAT_PDF}, {".txt", FORMAT_TEXT}};
	const char *path = run->common.output, *dot = path ? strrchr(path, '.') : NULL;
	for (size_t k = 0; dot && k < sizeof known / sizeof *known; k++)
		if (strcasecmp(dot, known[k].suffix) == 0)
			return known[k].format;
	if (nb_output_is_file(run) && nb_whole_is_named(path))
		nb_die(NB_EXIT_USAGE,
			"output '%s' has no suffix of a picture (want .png, .svg, .pdf or .txt, or --format)", path);
	return isatty(STDOUT_FILENO) ? nb_plot_terminal_format() : FORMAT_TEXT;
}

static void check(struct nb_run *run, void *self)
{
	struct plot *plot = self;
	plot->preset = run->noperand > 0 ? nb_plot_preset_named(run->operand[0]) : NULL;
	if (plot->preset) {
		run->operand++;
		run->noperand--;
		plot->by = plot->by ? plot->by : plot->preset->by;
	}
	if (plot->preset && (plot->x_text || plot->y_text || plot->rows))
		nb_die(NB_EXIT_USAGE, "preset '%s' and option '--%s' exclude each other", plot->preset->name,
			plot->x_text   ? "x"
			: plot->y_text ? "y"
				       : "rows");
	if (plot->style == STYLE_HISTOGRAM && (plot->y_text || plot->preset))
		nb_die(NB_EXIT_USAGE, "'--style histogram' counts the values of --x alone");
	if (plot->style != STYLE_AUTO && plot->style != STYLE_HISTOGRAM && plot->x_text && !plot->y_text)
		nb_die(NB_EXIT_USAGE, "option '--style' needs --y, or is histogram");
	plot->asks_for_stream = plot->rows != ROWS_AUTO;
	nb_plot_parse(plot, NULL, NULL);
	nb_source_check(run);
	plot->by_locale = plot->format == FORMAT_AUTO;
	if (plot->by_locale)
		plot->format = format_of(run);
	if (plot->format == FORMAT_PNG || plot->format == FORMAT_PDF)
		nb_output_refuse_terminal(
			run->common.output, "the picture is binary (give --output FILE, or --format text)");
	if (run->noperand > 0)
		run->streams = 0;
}

/* ---- input -------------------------------------------------------------------------------------- */

static void name_input(struct plot *plot, const char *name)
{
	const char **grown = nb_require_memory(NULL, realloc(plot->input, ((size_t)plot->ninput + 1) * sizeof *grown));
	plot->input = grown;
	grown[plot->ninput] = name;
}

static void frame_in_memory(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct plot *plot = self;
	name_input(plot, "standard input");
	nb_plot_frame(run, plot, frame);
}

static void read_standard_input(struct nb_run *run, struct plot *plot)
{
	name_input(plot, "standard input");
	if (!plot->asks_for_stream && !nb_reader_is_stream(&run->in)) {
		nb_plot_read_table(plot, &run->in, "standard input");
		return;
	}
	while (nb_next_frame(run, &plot->frame_read))
		nb_run_pass(run, &plot->frame_read);
}

static void read_file(struct nb_run *run, struct plot *plot, const char *path)
{
	struct nb_source *source = &plot->source;
	char name[NB_SOURCE_NAME];
	name_input(plot, strcmp(path, "-") == 0 ? "standard input" : path);
	nb_source_open(run, source, path);
	if (!plot->asks_for_stream && !nb_reader_is_stream(&source->reader))
		nb_plot_read_table(plot, &source->reader, nb_source_name(source, name));
	else
		while (nb_source_next(source, &plot->frame_read))
			nb_plot_frame(run, plot, &plot->frame_read);
	nb_source_close(source);
}

static void stream(struct nb_run *run, void *self)
{
	struct plot *plot = self;
	if (run->noperand == 0)
		read_standard_input(run, plot);
	for (int k = 0; k < run->noperand; k++) {
		read_file(run, plot, run->operand[k]);
		nb_plot_end_input(plot);
	}
}

/* ---- output ------------------------------------------------------------------------------------- */

static void open_canvas(struct plot *plot)
{
	static const enum nb_canvas_format formats[] = {[FORMAT_TEXT] = NB_CANVAS_TEXT,
		[FORMAT_PNG] = NB_CANVAS_PNG,
		[FORMAT_SVG] = NB_CANVAS_SVG,
		[FORMAT_PDF] = NB_CANVAS_PDF,
		[FORMAT_SIXEL] = NB_CANVAS_PIXELS,
		[FORMAT_KITTY] = NB_CANVAS_PNG};
	const int points = plot->format == FORMAT_SVG || plot->format == FORMAT_PDF,
		  in_text = plot->format == FORMAT_TEXT;
	const int on_terminal = in_text && isatty(STDOUT_FILENO), screen = plot->format >= FORMAT_SIXEL;
	struct winsize size = {24, 80, 0, 0};
	if (on_terminal && (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 16 || size.ws_row < 8))
		size = (struct winsize){24, 80, 0, 0};
	const int width = plot->width ? plot->width : in_text ? size.ws_col : points ? 600 : screen ? 900 : 1200;
	const int height = plot->height ? plot->height : in_text ? size.ws_row - 1 : points ? 400 : screen ? 600 : 800;
	const int colors = on_terminal && !getenv("NO_COLOR") &&
			   !(getenv("TERM") && strcmp(getenv("TERM"), "dumb") == 0);
	if (in_text && (width > 1000 || height > 1000))
		nb_die(NB_EXIT_USAGE, "a plot of characters has at most 1000 lines and columns");
	if (nb_canvas_open(&plot->canvas, formats[plot->format], width, height, colors))
		nb_die(NB_EXIT_FAILED, "%s", plot->canvas.why);
	if (plot->by_locale && nb_plot_locale_is_ascii())
		nb_canvas_keep_ascii(&plot->canvas);
}

/* No option is read and then ignored. */
static void require_effects(struct plot *plot)
{
	if (plot->style == STYLE_AUTO)
		plot->style = plot->preset		  ? (int)plot->preset->style
			      : plot->ny == 0		  ? STYLE_HISTOGRAM
			      : plot->rows == ROWS_BODIES ? STYLE_POINTS
							  : STYLE_LINE;
	if (plot->bins && plot->style < STYLE_HISTOGRAM)
		nb_die(NB_EXIT_USAGE, "option '--bins' needs a histogram or a map");
	if (plot->which && plot->rows != ROWS_BODIES)
		nb_die(NB_EXIT_USAGE, "option '--frames' needs bodies of a particle stream");
	if (plot->by && plot->style == STYLE_MAP)
		nb_die(NB_EXIT_USAGE, "option '--by' has no effect on a map");
}

static void end(struct nb_run *run, void *self)
{
	struct plot *plot = self;
	void *bytes;
	size_t size;
	if (plot->input && run->noperand == 0)
		nb_plot_end_input(plot);
	require_effects(plot);
	open_canvas(plot);
	nb_plot_draw(plot);
	if (nb_canvas_close(&plot->canvas, &bytes, &size))
		nb_die(NB_EXIT_FAILED, "%s", plot->canvas.why);
	if (plot->format == FORMAT_KITTY)
		nb_plot_put_kitty(bytes, size);
	else if (plot->format == FORMAT_SIXEL)
		nb_plot_put_sixel(bytes, plot->canvas.width, plot->canvas.height);
	else
		fwrite(bytes, 1, size, stdout);
	free(bytes);
	nb_require_flushed();
}

static void clear(void *self)
{
	struct plot *plot = self;
	nb_expr_free(plot->x);
	nb_expr_free(plot->by_expr);
	for (int y = 0; y < plot->ny; y++) {
		nb_expr_free(plot->y[y]);
		free(plot->y_name[y]);
	}
	for (size_t k = 0; k < plot->nseries; k++)
		nb_free_all(plot->series[k].x, plot->series[k].y_value);
	for (int k = 0; k < plot->ngroup; k++)
		free(plot->group[k]);
	for (size_t c = 0; c < plot->table.ncolumn; c++)
		nb_free(plot->table.column[c].value);
	free(plot->table.column);
	free(plot->series);
	free(plot->input);
	nb_free(plot->work);
	nb_frame_clear(&plot->frame_read);
	nb_source_close(&plot->source);
	nb_free(plot->line);
	nb_run_free(plot->stats);
	nb_canvas_drop(&plot->canvas);
}

const struct nb_tool nb_tool_plot = {
	.name = "nb-plot",
	.about = "draw curves, points, histograms and maps of tables and particle streams",
	.operands = "[PRESET] [FILE ...]",
	.max_operands = INT_MAX,
	.own_files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_THREADS | NB_COMMON_OUTPUT,
	.more_help = list_presets,
	.size = sizeof(struct plot),
	.streams = NB_READS,
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.frame = frame_in_memory,
	.end = end,
	.clear = clear,
	.stream = stream,
};
