/* nb-convert: particle streams from and to the formats of other programs (formats/exchange). */
#include "tools/nb-convert/convert.h"

#include "common/parse.h"
#include "kernels/order/order.h"
#include "tools/filter/require.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------ */

/* "1; princeton: 6.67e-11" */
static void list_G(char *to, size_t size)
{
	const struct nb_format *format;
	size_t used = (size_t)snprintf(to, size, "1");
	for (size_t k = 0; (format = nb_format_number(k)) != NULL && used < size; k++)
		if (format->open && format->G != 1)
			used += (size_t)snprintf(to + used, size - used, "; %s: %g", format->name, format->G);
}

static const struct nb_option options[] = {
	{0, "columns", NB_TEXT(struct convert, columns), .arg = "LIST", .fallback = "a header line",
		.help = "csv: names of the columns of a table without header, - for one to skip"},
	{0, "frames", NB_TEXT(struct convert, chosen_text), .arg = "K", .fallback = "all",
		.help = "frame K only, counted from 0, or 'last'"},
	{0, "fields", NB_TEXT(struct convert, fields), .arg = "LIST", .fallback = "all",
		.help = "import these columns only"},
	{0, "files", NB_U64(struct convert, files), .min = 1, .max = NB_CONVERT_MOST_FILES, .arg = "N",
		.fallback = "as few as hold it", .help = "gadget: spread a frame over N files FILE.0, FILE.1 ..."},
	{0, "from", NB_TEXT(struct convert, from), .make_arg = nb_convert_list_from,
		.fallback = "a stream or what FILE is", .help = "read this format; auto: the one that the file has"},
	{0, "G", NB_REAL(struct convert, G), .arg = "G", .make_fallback = list_G,
		.help = "gravitational constant of the imported data"},
	{0, "keep-derived", NB_FLAG(struct convert, keep_derived),
		.help = "keep acc, pot and the like where bodies are left out"},
	{0, "no-comments", NB_FLAG(struct convert, plain),
		.help = "csv: no lines with attributes and types before the header"},
	{0, "omega0", NB_POSITIVE(struct convert, omega0), .max = 100, .arg = "X", .fallback = "no expansion",
		.help = "tipsy: FILE is of PKDGRAV or ChaNGa, in an expanding universe of this density of matter"},
	{0, "one-file", NB_FLAG(struct convert, subset.one_file),
		.help = "read FILE alone, although it is one of several files of a snapshot"},
	{0, "precision", NB_CHOICE(struct convert, precision), .arg = "f32|f64", .fallback = "f64 of pos and the like",
		.help = "width of the real columns that are imported"},
	{0, "rows", NB_TEXT(struct convert, rows), .arg = "FIRST:LAST:STEP", .fallback = "all",
		.help = "import these bodies only, counted from 0 as they stand in the file; ::10 is every tenth"},
	{0, "safe-cells", NB_FLAG(struct convert, safe),
		.help = "csv: an apostrophe before text that a spreadsheet would compute"},
	{0, "separator", NB_TEXT(struct convert, separator), .arg = "CHAR",
		.fallback = "a comma, or as the header has it",
		.help = "csv: what divides cells, a character such as ';', or tab, or space"},
	{0, "species", NB_TEXT(struct convert, species), .arg = "LIST", .fallback = "all",
		.help = "import bodies of these species (types of GADGET) only, such as 1,2"},
	{0, "sphere", NB_TEXT(struct convert, sphere), .arg = "X,Y,Z,RADIUS", .fallback = "all",
		.help = "import the bodies in this sphere only"},
	{0, "to", NB_TEXT(struct convert, to), .make_arg = nb_convert_list_to,
		.fallback = "by the suffix of -o, else a stream", .help = "write this format"},
};

/* --frames: a number, last, or -1, which is the last too */
static void parse_frame(struct convert *opt)
{
	opt->last = strcmp(opt->chosen_text, "last") == 0 || strcmp(opt->chosen_text, "-1") == 0;
	if (!opt->last && nb_parse_count(opt->chosen_text, 0, UINT64_MAX, &opt->chosen) != NB_PARSE_OK)
		nb_die(NB_EXIT_USAGE,
			"invalid frames '%s' (want a number from 0, or 'last'; 'nb-select --frames' takes lists)",
			opt->chosen_text);
}

/* --separator: a character that is part of no number and has no other meaning in a table */
static void parse_separator(struct convert *opt)
{
	static const char taken[] = "\"'#+-._\\";
	const char *text = opt->separator;
	opt->divider = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t'
		       : strcmp(text, "space") == 0			    ? ' '
		       : *text && !text[1]				    ? *text
									    : '\0';
	const char c = opt->divider;
	if (c != '\t' && (c < ' ' || c > '~' || isalnum((unsigned char)c) || strchr(taken, c)))
		nb_die(NB_EXIT_USAGE, "invalid separator '%s' (want a character such as ; or |, or 'tab', or 'space')",
			text);
}

static void check(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	nb_convert_choose_ways(run, opt);
	if (opt->chosen_text)
		parse_frame(opt);
	if (opt->separator)
		parse_separator(opt);
	nb_convert_parse_part(opt);
	opt->one = opt->writes && (opt->chosen_text || !(opt->writes->traits & NB_MANY_FRAMES));
	run->streams = (opt->imports ? 0 : NB_READS) | (opt->writes ? 0 : NB_WRITES);
}

static void begin_import(struct nb_run *run, struct convert *opt)
{
	const struct nb_table_text table = {.safe = opt->safe, .columns = opt->columns, .separator = opt->divider};
	const int status = nb_import_open(&opt->in, opt->reads, run->files.in, opt->source, &opt->subset, &table);
	if (status == -1)
		nb_die(NB_EXIT_FAILED, "'%s':", opt->source);
	if (status)
		nb_die(NB_EXIT_FAILED, "%s", opt->in.error);
	if (opt->subset.one_file && !(opt->in.format->traits & NB_JOINS_FILES))
		nb_die(NB_EXIT_USAGE, "option '--one-file' needs '--from gadget' or '--from gadget-hdf5'");
	if (opt->omega0 > 0 && !(opt->in.format->traits & NB_OWN_UNIVERSE))
		nb_die(NB_EXIT_USAGE,
			"option '--omega0' needs '--from tipsy' (other formats say it themselves, or want nb-calc "
			"'@omega0 = %g')",
			opt->omega0);
	opt->in.omega0 = opt->omega0;
	if (!opt->reads)
		nb_verbose("%s is %s: --from %s", opt->in.name, opt->in.format->about, opt->in.format->name);
}

static void begin(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	if (opt->imports)
		begin_import(run, opt);
	if (!opt->writes)
		return;
	if (nb_export_open(&opt->out, opt->writes, opt->path))
		nb_die(NB_EXIT_FAILED, "out of memory");
	opt->out.safe = opt->safe;
	opt->out.plain = opt->plain;
	opt->out.separator = opt->divider;
	opt->out.files = (unsigned)opt->files;
}

/* What has been written of a file goes; the rest ends with the process. */
static void abandon(void *self)
{
	nb_export_abandon(&((struct convert *)self)->out);
}

static void clear(void *self)
{
	struct convert *opt = self;
	nb_import_close(&opt->in);
	nb_export_abandon(&opt->out);
	nb_frame_clear(&opt->frame);
	nb_frame_clear(&opt->next);
}

/* ---- import ------------------------------------------------------------------------------------- */

static int next_frame(struct convert *opt, struct nb_frame *frame)
{
	const enum nb_answer answer = nb_import_next(&opt->in, frame);
	if (answer == NB_ERROR)
		nb_die(NB_EXIT_FAILED, "%s", opt->in.error);
	if (answer == NB_FRAME && *opt->in.warning && strcmp(opt->in.warning, opt->warned) != 0)
		nb_warn("%s", strcpy(opt->warned, opt->in.warning));
	return answer == NB_FRAME;
}

/* The last frame; 0 if there is none, or it has been taken. */
static int last_frame(struct convert *opt, struct nb_frame *frame)
{
	int there = 0;
	while (next_frame(opt, &opt->next)) {
		nb_frame_clear(frame);
		*frame = opt->next;
		nb_frame_init(&opt->next);
		there = 1;
	}
	return there;
}

/* Ids of a snapshot of GADGET that repeat, as of gas that GIZMO has split, are kept in another column, and the bodies
 * numbered; elsewhere, or where columns are chosen, they are an error that names the way round. */
static void check_ids(const struct convert *opt, struct nb_frame *frame)
{
	const size_t n = frame->rows[NB_PARTICLE];
	const int may = !opt->fields && (opt->in.format->traits & NB_JOINS_FILES) != 0;
	size_t first, second;
	const uint64_t *id = nb_repeated_ids(frame, &first, &second);
	if (!id)
		return;
	if (!may)
		nb_die(NB_EXIT_FAILED,
			"%s: id %" PRIu64 " appears twice in frame %" PRIu64
			" (bodies %zu and %zu): '--fields' without id numbers them",
			nb_import_tail(&opt->in), id[first], frame->number, first, second);
	nb_warn("%s: id %" PRIu64 " appears twice (bodies %zu and %zu), so bodies are numbered, and the ids of the "
		"file are column file_id",
		nb_import_tail(&opt->in), id[first], first, second);
	uint64_t *to = nb_require_memory(frame,
		nb_column_write(nb_frame_add(frame, "file_id", NB_PARTICLE, "<u8", 1, "", 0), &nb_space_host, NB_WIRE));
	memcpy(to, nb_require_ids(frame, &nb_space_host), n * sizeof *to);
	to = nb_require_memory(frame, nb_column_write(nb_new_column(frame, NB_ID, NULL, 0), &nb_space_host, NB_WIRE));
	for (size_t i = 0; i < n; i++)
		to[i] = i;
}

static int import(struct nb_run *run, void *self, struct nb_frame *frame)
{
	struct convert *opt = self;
	const int there = opt->last ? last_frame(opt, frame) : next_frame(opt, frame);
	if (!there && opt->subset.count && opt->in.nframe <= opt->subset.first)
		nb_die(NB_EXIT_FAILED, "%s has no frame %" PRIu64 " (it has %" PRIu64 ")", opt->in.name, opt->chosen,
			opt->in.nframe);
	if (!there)
		return 0;
	nb_convert_require_fields(opt, frame);
	nb_convert_set_precision(opt, frame);
	nb_require_valid(frame);
	check_ids(opt, frame);
	if (nb_given(run, &opt->G)) {
		nb_set_attribute_f64(frame, "G", opt->G);
		if (opt->in.usual_units)
			nb_frame_drop_attribute(frame, "units");
	}
	nb_verbose("frame %" PRIu64 ": %" PRIu64 " bodies", frame->number, frame->rows[NB_PARTICLE]);
	return 1;
}

/* ---- export ------------------------------------------------------------------------------------- */

static void take_next(struct nb_run *run, void *self, struct nb_frame *frame)
{
	(void)run;
	nb_convert_expect(self);
	nb_convert_take(self, frame);
}

static void end(struct nb_run *run, void *self)
{
	(void)run;
	if (((struct convert *)self)->writes)
		nb_convert_end(self);
}

/* ---- on streams --------------------------------------------------------------------------------- */

/* What is known once the head of a frame has come need not wait for the rest. */
static void convert_stream(struct nb_run *run, void *self)
{
	struct convert *opt = self;
	struct nb_frame frame;
	nb_frame_init(&frame);
	if (opt->imports)
		while (import(run, opt, &frame)) {
			if (!opt->writes) {
				nb_emit(run, &frame);
				continue;
			}
			nb_add_history(run, &frame);
			take_next(run, opt, &frame);
		}
	else
		while (nb_next_head(run, &frame)) {
			nb_convert_expect(opt);
			nb_next_columns(run, &frame, SIZE_MAX);
			nb_convert_take(opt, &frame);
		}
	nb_frame_clear(&frame);
}

/* Formats that this build lacks something for. */
static void list_lacking(void)
{
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++)
		if (format->lacks && format->lacks())
			printf("--from %s is %s.\n", format->name, format->lacks());
}

const struct nb_tool nb_tool_convert = {
	.name = "nb-convert",
	.about = "convert particle streams from and to other formats",
	.operands = "[FILE]",
	.max_operands = 1,
	.own_files = 1,
	.options = options,
	.noption = sizeof options / sizeof *options,
	.common = NB_COMMON_HISTORY | NB_COMMON_THREADS | NB_COMMON_OUTPUT,
	.footer =
		"FILE, or standard input, is read.  Without --from it is a stream, or of the format that its contents\n"
		"show.  Without --to the suffix of -o FILE decides, such as .csv or .hdf5; else a stream is written.\n",
	.more_help = list_lacking,
	.size = sizeof(struct convert),
	.defaults = &(const struct convert){.precision = NB_CONVERT_AS_READ},
	.obeys_box = 1,
	.obeys_systems = 1,
	.check = check,
	.begin = begin,
	.make = import,
	.frame = take_next,
	.end = end,
	.stream = convert_stream,
	.abandon = abandon,
	.clear = clear,
};
