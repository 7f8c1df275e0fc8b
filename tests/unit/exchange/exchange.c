/* Formats of other programs: the table, parts of what is there, and nb-convert on frames in memory. */
#include "tests/unit/exchange/file.h"
#include "tests/unit/run.h"
#include "tools/filter/filter.h"

static const char three[] = "frame,time,id,mass,x,y\n0,0,7,1,2,3\n0,0,8,1,4,5\n1,0.5,7,1,6,7\n2,1,7,1,8,9\n";

static int file_is(const char *text)
{
	char got[1024] = "";
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(got, 1, sizeof got - 1, file) : 0;
	if (file)
		fclose(file);
	got[n] = '\0';
	return strcmp(got, text) == 0;
}

static void test_table(void)
{
	const struct nb_format *format;
	int before = -1, reads = 1, writes = 0;
	size_t k = 0;
	for (; (format = nb_format_number(k)) != NULL; k++) {
		CHECK(format->place >= before);
		CHECK(format_named(format->name) == format);
		CHECK(!format->frame == !format->holds && !format->open == !format->next &&
			!format->open == !format->close && (format->frame || format->open));
		CHECK(reads || !format->open);
		CHECK(format->frame || !writes);
		writes |= format->frame != NULL;
		reads = format->open != NULL;
		before = format->place;
	}
	CHECK(k >= 3);
	CHECK(format_named("npy") && format_named("csv") && format_named("princeton"));
}

/* field.def: a name for each component or none at all, and no name twice. */
static void test_csv_names(void)
{
	char all[2048] = " ";
	for (int f = 0; f < NB_NFIELD; f++) {
		char names[128], *rest = NULL;
		uint32_t n = 0;
		CHECK(strlen(nb_field_info[f].csv) < sizeof names);
		snprintf(names, sizeof names, "%s", nb_field_info[f].csv);
		for (char *word = strtok_r(names, " []", &rest); word; word = strtok_r(NULL, " []", &rest), n++) {
			char padded[64];
			snprintf(padded, sizeof padded, " %s ", word);
			CHECK(!strstr(all, padded));
			strcat(all, padded + 1);
		}
		CHECK(n == 0 || n == nb_field_info[f].ncomp);
	}
}

/* ---- parts -------------------------------------------------------------------------------------- */

static int all_but_mass(void *context, const char *name)
{
	++*(int *)context;
	return strcmp(name, "mass") != 0;
}

static double x_of(struct nb_frame *frame)
{
	struct nb_column *pos = nb_frame_field(frame, NB_POS);
	const double *x = pos && pos->rows ? nb_column_read(pos, &nb_space_host, NB_AS_F64) : NULL;
	return x ? x[0] : NAN;
}

static void test_subset(void)
{
	struct nb_import in;
	struct nb_frame frame;
	int asked = 0;
	nb_frame_init(&frame);
	write_file(three);
	const struct nb_subset one = {.first = 1, .count = 1, .wants = all_but_mass, .context = &asked};
	CHECK(nb_import_open(&in, format_named("csv"), 0, path, &one, NULL) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_FRAME);
	CHECK(frame.number == 1);
	CHECK_NEAR(x_of(&frame), 6, 0);
	CHECK(!nb_frame_field(&frame, NB_MASS) && nb_frame_field(&frame, NB_ID));
	CHECK(asked > 0);
	CHECK(nb_import_next(&in, &frame) == NB_END);
	CHECK(frame.ncolumn == 0);
	nb_import_close(&in);
	nb_import_close(&in);

	const struct nb_subset rest = {.first = 2};
	CHECK(nb_import_open(&in, format_named("csv"), 0, path, &rest, NULL) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_FRAME);
	CHECK_NEAR(x_of(&frame), 8, 0);
	CHECK(nb_import_next(&in, &frame) == NB_END);
	nb_import_close(&in);

	const struct nb_subset two = {.first = 1, .count = 2};
	CHECK(nb_import_open(&in, format_named("csv"), 0, path, &two, 0) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_FRAME && nb_import_next(&in, &frame) == NB_FRAME);
	CHECK(nb_import_next(&in, &frame) == NB_END);
	nb_import_close(&in);

	const struct nb_subset none = {.first = 3};
	CHECK(nb_import_open(&in, format_named("csv"), 0, path, &none, NULL) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_END);
	nb_import_close(&in);
	CHECK(nb_import_open(&in, format_named("csv"), 0, "/no/such/file", NULL, NULL) == -1);
	nb_frame_clear(&frame);
}

/* A message names the end of a long path. */
static void test_long_name(void)
{
	char name[300];
	memset(name, 'a', sizeof name);
	memcpy(name + sizeof name - 9, "/end.csv", 9);
	const struct nb_import in = {.name = name}, end = {.name = "end.csv"};
	CHECK(strlen(nb_import_tail(&in)) == 200 && strcmp(nb_import_tail(&in) + 193, "end.csv") == 0);
	CHECK(strcmp(nb_import_tail(&end), "end.csv") == 0);
}

/* Reading fails behind the first line, not at the end of the file. */
static void test_broken_header(void)
{
	struct nb_import in;
	struct nb_frame frame;
	FILE *file = fopen(path, "w");
	CHECK(file && fwrite("5\n\0\n", 1, 4, file) == 4 && fclose(file) == 0);
	nb_frame_init(&frame);
	CHECK(nb_import_open(&in, format_named("princeton"), 0, path, NULL, 0) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_ERROR && strstr(in.error, "has a NUL byte"));
	nb_import_close(&in);
	nb_frame_clear(&frame);
}

/* ---- frames that no file has -------------------------------------------------------------------- */

/* A column of bytes, all of them fill. */
static void add_column(struct nb_frame *frame, const char *name, const char *dtype, uint32_t ncomp, int fill)
{
	struct nb_column *column = nb_frame_add(frame, name, NB_PARTICLE, dtype, ncomp, "", 0);
	void *data = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
	CHECK(data != NULL);
	if (data)
		memset(data, fill, column->rows * column->rowsize);
}

static int export_to(const char *to, const char *format, int safe, const struct nb_frame *frame)
{
	struct nb_export out;
	CHECK(nb_export_open(&out, format_named(format), to) == NB_OK);
	out.safe = safe;
	out.plain = 1;
	int status = nb_export_frame(&out, frame);
	if (!status)
		status = nb_export_close(&out);
	nb_export_abandon(&out);
	return status;
}

static void begin_frame(struct nb_frame *frame, size_t rows)
{
	nb_frame_clear(frame);
	frame->rows[NB_PARTICLE] = rows;
}

/* Columns whose names are known, but not their types. */
static void test_strange_columns(void)
{
	struct nb_frame frame;
	nb_frame_init(&frame);
	begin_frame(&frame, 1);
	add_column(&frame, "pos", "<f8", 2, 0);
	add_column(&frame, "vel", "<i8", 3, 0);
	CHECK(nb_frame_set_attribute(&frame, "dim", "2") == NB_OK);
	CHECK(export_to(path, "csv", 0, &frame) == NB_OK);
	CHECK(file_is("pos_0,pos_1,vx,vy\n0,0,0,0\n"));
	/* princeton text: contents that were never written, one after the other */
	static const char *const name[] = {"pos", "vel", "mass", "name"};
	for (int there = 0; there <= 4; there++) {
		begin_frame(&frame, 1);
		for (int c = 0; c < 4; c++) {
			const char *dtype = c == 3 ? "|S2" : "<f8";
			if (c < there)
				add_column(&frame, name[c], dtype, c < 2 ? 3 : 1, c == 3 ? 'a' : 0);
			else
				CHECK(nb_frame_add(&frame, name[c], NB_PARTICLE, dtype, c < 2 ? 3 : 1, "", 0) != NULL);
		}
		CHECK(export_to(path, "princeton", 0, &frame) == (there == 4 ? NB_OK : NB_ENOMEM));
	}
	CHECK(file_is("1\n0\n0 0 0 0 0 aa\n")); /* a name as wide as its column */
	for (int kind = 0; kind < 4; kind++) {	/* no colour, no name; a colour that was never written */
		begin_frame(&frame, 1);
		for (int c = 0; c < 3; c++)
			add_column(&frame, name[c], "<f8", c < 2 ? 3 : 1, 0);
		if (kind == 0)
			add_column(&frame, "colour", "|u1", 4, 0);
		else if (kind == 1)
			add_column(&frame, "colour", "<u2", 3, 0);
		else if (kind == 2)
			add_column(&frame, "name", "|S2", 2, 'a');
		else
			CHECK(nb_frame_add(&frame, "colour", NB_PARTICLE, "|u1", 3, "", 0) != NULL);
		CHECK(export_to(path, "princeton", 0, &frame) == (kind < 3 ? NB_OK : NB_ENOMEM));
		CHECK(kind == 3 || file_is("1\n0\n0 0 0 0 0\n"));
	}
	/* species follow from colours, where there is no name */
	begin_frame(&frame, 1);
	add_column(&frame, "species", "|u1", 1, 0);
	CHECK(!format_named("princeton")->holds(NULL, &frame, nb_frame_field(&frame, NB_SPECIES)));
	add_column(&frame, "colour", "|u1", 3, 0);
	CHECK(format_named("princeton")->holds(NULL, &frame, nb_frame_field(&frame, NB_SPECIES)));
	add_column(&frame, "name", "|S2", 1, 'a');
	CHECK(!format_named("princeton")->holds(NULL, &frame, nb_frame_field(&frame, NB_SPECIES)));
	nb_frame_clear(&frame);
}

/* The disk is full at each place of a row in turn. */
static void test_full_disk(void)
{
	enum { ROWS = 9000, SHIFT = 32 };
	struct nb_frame frame;
	nb_frame_init(&frame);
	for (size_t shift = 0; shift < SHIFT; shift++) {
		begin_frame(&frame, ROWS);
		for (int c = 0; c < 2; c++) {
			struct nb_column *text = nb_frame_add(&frame, c ? "b" : "a", NB_PARTICLE, "|S40", 1, "", 0);
			char *to = text ? nb_column_write(text, &nb_space_host, NB_WIRE) : NULL;
			if (to)
				memset(to, 0, 40 * ROWS);
			for (size_t i = 0; to && i < ROWS; i++)
				memcpy(to + 40 * i, "=\"\"", 4);
			if (to && c == 0)
				memset(to, 'a', shift);
		}
		CHECK(export_to("/dev/full", "csv", 1, &frame) == -1);
		begin_frame(&frame, ROWS);
		add_column(&frame, "pos", "<f8", 3, 0);
		add_column(&frame, "vel", "<f8", 3, 0);
		add_column(&frame, "colour", "|u1", 3, 255);
		struct nb_column *mass = nb_frame_add_field(&frame, NB_MASS, NULL, 0);
		double *m = mass ? nb_column_write(mass, &nb_space_host, NB_WIRE) : NULL;
		for (size_t i = 0; m && i < ROWS; i++)
			m[i] = i ? 2.2250738585072014e-308 : pow(10, (double)(shift % 16));
		CHECK(nb_frame_set_attribute(&frame, "universe_radius", shift < 16 ? "1" : "1e-200") == NB_OK);
		CHECK(export_to("/dev/full", "princeton", 0, &frame) == -1);
	}
	nb_frame_clear(&frame);
}

/* ---- the tool ----------------------------------------------------------------------------------- */

static void give(struct nb_run *run, struct nb_frame *frame, uint64_t number, double x)
{
	nb_frame_clear(frame);
	frame->rows[NB_PARTICLE] = 1;
	frame->number = number;
	CHECK(nb_frame_set_attribute_f64(frame, "time", (double)number) == NB_OK);
	struct nb_column *pos = nb_frame_add_field(frame, NB_POS, NULL, 0);
	double *to = pos ? nb_column_write(pos, &nb_space_host, NB_WIRE) : NULL;
	if (to)
		memcpy(to, (double[3]){x, 0, 0}, 3 * sizeof *to);
	CHECK(nb_run_frame(run, frame) == 0);
}

static void test_export_in_memory(void)
{
	char *argv[] = {"nb-convert", "-q", "--no-comments", "--to", "csv", "-o", path, NULL},
	     *chosen[] = {"nb-convert", "-q", "--no-comments", "--to", "csv", "--frame", "1", "-o", path, NULL};
	struct nb_run *run;
	struct nb_frame frame;
	nb_frame_init(&frame);
	/* one frame has no columns frame and time, several have */
	CHECK(run_create(&run, nb_tool_find("nb-convert"), 7, argv, NULL) == 0);
	give(run, &frame, 0, 5);
	CHECK(nb_run_end(run) == 0);
	nb_run_free(run);
	CHECK(file_is("x,y,z\n5,0,0\n"));
	CHECK(run_create(&run, nb_tool_find("nb-convert"), 7, argv, NULL) == 0);
	for (int k = 0; k < 3; k++)
		give(run, &frame, (uint64_t)k, k);
	CHECK(nb_run_end(run) == 0);
	nb_run_free(run);
	CHECK(file_is("frame,time,x,y,z\n0,0,0,0,0\n1,1,1,0,0\n2,2,2,0,0\n"));
	CHECK(run_create(&run, nb_tool_find("nb-convert"), 9, chosen, NULL) == 0);
	for (int k = 0; k < 3; k++)
		give(run, &frame, (uint64_t)k, k);
	CHECK(nb_run_end(run) == 0);
	nb_run_free(run);
	CHECK(file_is("x,y,z\n1,0,0\n"));
	/* a frame that is held back and never written is released, and the file stays */
	CHECK(run_create(&run, nb_tool_find("nb-convert"), 7, argv, NULL) == 0);
	give(run, &frame, 0, 5);
	nb_run_free(run);
	CHECK(file_is("x,y,z\n1,0,0\n"));
	nb_frame_clear(&frame);
}

static void test_import_in_memory(void)
{
	char *argv[] = {"nb-convert", "--from", "csv", "--G", "2", path, NULL};
	struct nb_run *run, *other;
	struct nb_frame frame;
	int there, n = 0;
	nb_frame_init(&frame);
	write_file(three);
	/* two instances do not disturb each other */
	CHECK(run_create(&run, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
	CHECK(run_create(&other, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
	CHECK(run_make(other, &frame, &there) == 0 && there);
	while (run_make(run, &frame, &there) == 0 && there) {
		CHECK(frame.number == (uint64_t)n);
		CHECK(nb_frame_attribute(&frame, "G") && strcmp(nb_frame_attribute(&frame, "G"), "2") == 0);
		CHECK(nb_frame_attribute(&frame, "history") != NULL);
		n++;
	}
	CHECK(n == 3);
	CHECK(nb_run_end(run) == 0);
	CHECK(run_make(other, &frame, &there) == 0 && there);
	CHECK_NEAR(x_of(&frame), 6, 0);
	nb_run_free(run);
	nb_run_free(other);
	nb_frame_clear(&frame);
}

int main(void)
{
	make_path();
	test_table();
	test_csv_names();
	test_subset();
	test_long_name();
	test_broken_header();
	test_strange_columns();
	test_full_disk();
	test_export_in_memory();
	test_import_in_memory();
	unlink(path);
	return unit_end();
}
