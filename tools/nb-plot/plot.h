/* plot.h - an instance of nb-plot, for the files of the tool. */
#ifndef NB_PLOT_H
#define NB_PLOT_H

#include "formats/canvas/canvas.h"
#include "tools/filter/expression.h"
#include "tools/filter/filter.h"
#include "tools/filter/report.h"
#include "tools/filter/source.h"

enum style { STYLE_AUTO, STYLE_LINE, STYLE_POINTS, STYLE_HISTOGRAM, STYLE_MAP };
enum format { FORMAT_AUTO, FORMAT_TEXT, FORMAT_PNG, FORMAT_SVG, FORMAT_PDF, FORMAT_SIXEL, FORMAT_KITTY };
enum rows { ROWS_AUTO, ROWS_BODIES, ROWS_FRAMES };
enum which { WHICH_AUTO, WHICH_LAST, WHICH_ALL };
enum logarithmic { LOG_AUTO, LOG_NONE, LOG_X, LOG_Y, LOG_XY };
enum { CURVES = 64, PICKED = 6, LABEL = 160, BLACK = 0x1a1a1a };

/* What people draw daily, by a name. */
struct preset {
	const char *name, *about;
	const char *x, *y; /* expressions */
	const char *stats; /* options of nb-stats, which then measures the frames; BODIES: the rows are bodies; NULL:
			      those of a table */
	const char *by;	   /* NULL: nothing */
	const char *x_label, *y_label; /* NULL: the expression */
	enum logarithmic log;
	enum style style;
	const char *sign; /* a column: a table that has it is drawn so where nothing else is asked for; NULL: none is */
};
#define BODIES "bodies"

/* Numbers in columns: a text that is read, or the lines of nb-stats. */
struct table {
	size_t n, room, ncolumn;
	struct column {
		char name[NB_EXPR_NAME], unit[NB_EXPR_UNIT];
		int wanted, is_text; /* text: value is a number of plot.group */
		double *value;
	} * column;
};

/* The points of one curve, from one input. */
struct series {
	int input, y, group;
	size_t n, room;
	double *x, *y_value;
	char label[LABEL];
	size_t color;
	int open; /* drawn by dashes and open points */
};

struct axis {
	int log;
	double low, high;   /* what is shown, the logarithm of it where log */
	double start, stop; /* where these are in the picture */
	int power;	    /* labels are of numbers divided by 10^power */
	int ntick, most;    /* most: of those with labels */
	struct tick {
		double at;
		int minor; /* has no label */
		char label[24];
	} tick[128];
};

struct plot {
	/* options */
	const char *x_text, *y_text, *by, *title, *x_label, *y_label, *x_range, *y_range;
	int bins, style, format, log, rows, which, width, height;
	int by_locale; /* nobody has asked for text in Braille patterns */

	const struct preset *preset;
	struct nb_expr *x, *y[CURVES], *by_expr;
	char *y_name[CURVES]; /* the text of each; NULL: there is no y, and the rows are counted */
	int panel[CURVES];    /* from the top */
	char picked_x[NB_EXPR_NAME], picked[PICKED * (NB_EXPR_NAME + 1)]; /* expressions of no option or preset */
	int ny, npanel;
	char x_unit[NB_EXPR_UNIT], y_unit[CURVES][NB_EXPR_UNIT], units[80]; /* of the first frame */

	const char **input; /* names */
	int ninput, has_stream, asks_for_stream;
	char no_bodies[NB_EXPR_MESSAGE]; /* why rows are frames: a name that bodies do not have */
	struct table table;
	size_t frame_column; /* of frames of which only the last counts, from 1; 0: none */
	double frame;
	struct nb_run *run, *stats; /* stats measures the frames of this input; NULL: it does not */
	char *group[CURVES];	    /* values of by, as text */
	int ngroup;
	struct series *series;
	size_t nseries;
	double *work; /* of a frame */
	char *line;   /* of a table */
	struct panel *panels;
	struct nb_frame frame_read; /* of a file */
	struct nb_source source;    /* the file that is read */
	struct nb_canvas canvas;
};

/* ---- presets.c ---- */
const struct preset *nb_plot_preset(size_t k); /* NULL past the last */
const struct preset *nb_plot_preset_named(const char *name);
/* Whether its rows are bins of each frame, of which the last one is drawn. */
int nb_plot_is_profile(const struct plot *plot);
/* Expressions of the preset, and of the options before it. */
void nb_plot_parse(struct plot *plot, const char *x, const char *y);
/* What is drawn of a table where the command line does not say: is_number of its columns, in the first row. */
void nb_plot_choose(struct plot *plot, const unsigned char *is_number);

/* ---- columns.c ---- */
void nb_plot_reserve(struct table *table);		/* room for one row more */
int nb_plot_group(struct plot *plot, const char *text); /* the number of a value of by */
/* Binds all expressions to n rows of the table, and notes which columns they want. */
void nb_plot_bind(struct plot *plot, size_t n);

/* ---- table.c ---- */
void nb_plot_read_table(struct plot *plot, struct nb_reader *in, const char *name);

/* ---- rows.c ---- */
void nb_plot_frame(struct nb_run *run, struct plot *plot, struct nb_frame *frame);
/* Points of what has been read of an input, the next of which follows. */
void nb_plot_end_input(struct plot *plot);
/* ---- axis.c ---- */
/* Ticks at 1, 2 or 5 times powers of ten, at most so many with labels. */
void nb_axis_ticks(struct axis *axis, int most);
double nb_axis_place(const struct axis *axis, double x); /* in the picture; NaN: nowhere */
/* A number as in print: with a minus sign, powers of ten by raised digits. */
void nb_plot_superscript(char *to, size_t size, const char *text);

/* ---- draw.c ---- */
void nb_plot_draw(struct plot *plot);

/* ---- curve.c ---- */
enum { BUSY = 48, MARKED = 30 }; /* so many points on a line have dots */
/* Axes and what is between them. */
struct panel {
	struct plot *plot;
	int number; /* from the top */
	struct axis x, y;
	float em, wide; /* height and width of letters */
	int style;
	double *count; /* of bins: of a histogram columns for each series, of a map rows of columns; NULL: neither */
	double most;   /* of these */
	size_t columns, rows;
	unsigned char busy[BUSY][BUSY]; /* fields in which there is something; from the top */
	int dry;			/* only busy is wanted */
};
/* Counts points in the bins between the ends of the axes. */
void nb_panel_count(struct panel *panel);
/* Pixels in rows of columns, between the ends of the y axis. */
void nb_panel_image(struct panel *panel, const uint32_t *pixel, size_t n, size_t columns, double x, double wide);
void nb_panel_map(struct panel *panel);
void nb_panel_curve(struct panel *panel, size_t k); /* series k of the plot */
int nb_panel_has(const struct panel *panel, size_t k);

/* ---- names.c ---- */
uint32_t nb_plot_color(size_t k); /* of a curve */
/* Text at a place, as struct nb_drawing has it, and how wide it is. */
void nb_panel_text(
	struct panel *panel, double x, double y, float ax, float ay, float turn, uint32_t color, const char *utf8);
double nb_panel_width(const struct panel *panel, const char *utf8);
/* own: by an option; then by the preset; else the expression, with its unit. */
void nb_plot_name_axis(const struct plot *plot, const struct axis *axis, const char *own, const char *of_preset,
	const char *expression, const char *unit, char *to, size_t size);
void nb_panel_name_y(const struct panel *panel, char *to, size_t size);
void nb_plot_name_series(struct plot *plot);

/* ---- ranges.c ---- */
/* The range also has these n values, as far as they and the others are places on their axes. */
void nb_axis_widen(double range[2], const double *value, const double *other, const struct axis *axis,
	const struct axis *cross, size_t n);
/* What is shown: what is asked for, or else all, with some room (a part of it) around. */
void nb_axis_range(struct axis *axis, const double all[2], const char *asked, const char *option, double room);
/* The bins of a histogram or map, and the range of y. */
void nb_panel_measure(struct panel *panel);

/* ---- legend.c ---- */
struct legend {
	double left, top, wide, high, line;
	int n, beside; /* curves; it stands to the right of the panel */
};
/* Its size, and the emptiest of the corners and edges: 1 if there is nothing in it. */
int nb_legend_place(struct panel *panel, struct legend *legend);
void nb_legend_draw(struct panel *panel, const struct legend *legend);
/* Where colours may not be seen, letters on curve k of the plot. */
void nb_legend_letters(struct panel *panel, size_t k);

/* ---- terminal.c ---- */
int nb_plot_terminal_format(void);
/* Whether the locale is one without UTF-8; if none is said, it is not. */
int nb_plot_locale_is_ascii(void);
void nb_plot_put_sixel(const uint32_t *pixel, int width, int height);
void nb_plot_put_kitty(const unsigned char *png, size_t size);

#endif
