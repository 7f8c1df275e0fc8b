/* Formats of other programs: the table, parts of what is there, and nb-convert on frames in memory. */
#include "formats/exchange/exchange.h"
#include "tests/unit/unit.h"
#include "tools/filter/filter.h"

#include <unistd.h>

static const char three[] = "frame,time,id,mass,x,y\n0,0,7,1,2,3\n0,0,8,1,4,5\n1,0.5,7,1,6,7\n2,1,7,1,8,9\n";
static char path[] = "/tmp/nb-unit-exchange-XXXXXX";

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0);
	CHECK(file && fclose(file) == 0);
}

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

static const struct nb_format *format_named(const char *name)
{
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

static void test_table(void)
{
	const struct nb_format *format;
	int before = 0, reads = 1;
	size_t k = 0;
	for (; (format = nb_format_number(k)) != NULL; k++) {
		CHECK(format->place >= before);
		CHECK(format_named(format->name) == format);
		CHECK(format->frame && format->holds && !format->open == !format->next &&
			!format->open == !format->close);
		CHECK(reads || !format->open);
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
	CHECK(asked == 3);
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

	const struct nb_subset none = {.first = 3};
	CHECK(nb_import_open(&in, format_named("csv"), 0, path, &none, NULL) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_END);
	nb_import_close(&in);
	CHECK(nb_import_open(&in, format_named("csv"), 0, "/no/such/file", NULL, NULL) == -1);
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
	char *argv[] = {"nb-convert", "-q", "--no-comments", "--to", "csv", path, NULL},
	     *chosen[] = {"nb-convert", "-q", "--no-comments", "--to", "csv", "--frame", "1", path, NULL};
	struct nb_run *run;
	struct nb_frame frame;
	nb_frame_init(&frame);
	/* one frame has no columns frame and time, several have */
	CHECK(nb_run_create(&run, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
	give(run, &frame, 0, 5);
	CHECK(nb_run_end(run) == 0);
	nb_run_free(run);
	CHECK(file_is("x,y,z\n5,0,0\n"));
	CHECK(nb_run_create(&run, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
	for (int k = 0; k < 3; k++)
		give(run, &frame, (uint64_t)k, k);
	CHECK(nb_run_end(run) == 0);
	nb_run_free(run);
	CHECK(file_is("frame,time,x,y,z\n0,0,0,0,0\n1,1,1,0,0\n2,2,2,0,0\n"));
	CHECK(nb_run_create(&run, nb_tool_find("nb-convert"), 8, chosen, NULL) == 0);
	for (int k = 0; k < 3; k++)
		give(run, &frame, (uint64_t)k, k);
	CHECK(nb_run_end(run) == 0);
	nb_run_free(run);
	CHECK(file_is("x,y,z\n1,0,0\n"));
	/* a frame that is held back and never written is released, and the file stays */
	CHECK(nb_run_create(&run, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
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
	CHECK(nb_run_create(&run, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
	CHECK(nb_run_create(&other, nb_tool_find("nb-convert"), 6, argv, NULL) == 0);
	CHECK(nb_run_make(other, &frame, &there) == 0 && there);
	while (nb_run_make(run, &frame, &there) == 0 && there) {
		CHECK(frame.number == (uint64_t)n);
		CHECK(nb_frame_attribute(&frame, "G") && strcmp(nb_frame_attribute(&frame, "G"), "2") == 0);
		CHECK(nb_frame_attribute(&frame, "history") != NULL);
		n++;
	}
	CHECK(n == 3);
	CHECK(nb_run_end(run) == 0);
	CHECK(nb_run_make(other, &frame, &there) == 0 && there);
	CHECK_NEAR(x_of(&frame), 6, 0);
	nb_run_free(run);
	nb_run_free(other);
	nb_frame_clear(&frame);
}

int main(void)
{
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	test_table();
	test_csv_names();
	test_subset();
	test_export_in_memory();
	test_import_in_memory();
	unlink(path);
	return unit_end();
}
