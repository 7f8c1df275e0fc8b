/* What is wrong with a text, in its own words; names and cells that need care; an export that cannot be written,
 * wherever in a row that is found out. */
#include "tests/unit/exchange/file.h"

#include <errno.h>

/* All frames; the last one is left in *frame.  NULL, or what is wrong. */
static const char *import(const char *format, const char *text, struct nb_frame *frame)
{
	static char error[NB_EXCHANGE_ERROR_SIZE];
	struct nb_import in;
	struct nb_frame next;
	enum nb_answer answer = NB_ERROR;
	nb_frame_init(frame);
	nb_frame_init(&next);
	write_file(text);
	if (nb_import_open(&in, format_named(format), 0, path, NULL, NULL) == NB_OK)
		while ((answer = nb_import_next(&in, &next)) == NB_FRAME) {
			nb_frame_clear(frame);
			CHECK(nb_frame_give(frame, &next, 1) == NB_OK);
		}
	snprintf(error, sizeof error, "%s", in.error);
	nb_import_close(&in);
	nb_frame_clear(&next);
	return answer == NB_END ? NULL : error;
}

static void refuses(const char *format, const char *text, const char *want)
{
	struct nb_frame frame;
	const char *got = import(format, text, &frame);
	unit_checked++;
	if (!got || !strstr(got, want)) {
		unit_failed++;
		fprintf(stderr, "%s: '%.60s': %s\n  want: %s\n", format, text, got ? got : "is taken", want);
	}
	nb_frame_clear(&frame);
}

static void test_bad_csv(void)
{
	char long_name[200], long_text[6000];
	static const char *const cases[][2] = {
		{"", "the file is empty"},
		{"# only a remark\n\n", "the file is empty"},
		{"x,,y,z\n", "column 2 has no name"},
		{"x,y,z,\n1,2,3,4\n", "'4' in column 4, which has no name in the header"},
		{"x,y,z,a\tb\n", "name of column 4 is not plain ASCII"},
		{"x,y,z,\"caf\xc3\xa9\"\n", "name of column 4 is not plain ASCII"},
		{"x,y,z,\"a\n", "a quoted name has no closing quote"},
		{"x,y,z,X\n", "column 'x' appears twice"},
		{"x,y,z,pos\n", "column 'pos' is not a single number per body"},
		{"x,z\n", "column 'y' is missing"},
		{"mass\n1\n", "column 'x' is missing"},
		{"x,y,vx,vy,vz\n", "there is a column 'vz' but no column 'z'"},
		{"x,y\n1\n", "1 cells (the header has 2)"},
		{"x,y\n1,2,3,4\n", "4 cells (the header has 2)"},
		{"x,y\n1,\n", "column 'y' is empty (want a finite number)"},
		{"x,y\n1,2x\n", "'2x' in column 'y' is not a finite number"},
		{"x,y\n1,inf\n", "'inf' in column 'y' is not a finite number"},
		{"x,y\n1,1e999\n", "is not a finite number"},
		{"x,y,mass\n1,2,-3\n", "mass -3 is negative"},
		{"x,y,\"a\"\n1,2,\"3\n", "a quoted cell has no closing quote"},
		{"x,y,\"a\"\n1,2,\"3\"4\n", "a quoted cell has no closing quote"},
		{"id,x,y\n-1,2,3\n", "'-1' in column 'id' is not a whole number from 0 to 18446744073709551615"},
		{"id,x,y\n1.5,2,3\n", "'1.5' in column 'id'"},
		{"id,x,y\n1e300,2,3\n", "'1e300' in column 'id'"},
		{"id,x,y\n7 a,2,3\n", "'7 a' in column 'id'"},
		{"id,x,y\nnone,2,3\n", "'none' in column 'id'"},
		{"id,x,y\n18446744073709551616,2,3\n", "'18446744073709551616' in column 'id'"},
		{"id,x,y\n99999999999999999999,2,3\n", "'99999999999999999999' in column 'id'"},
		{"species,x,y\n256,2,3\n", "'256' in column 'species' is not a whole number from 0 to 255"},
		{"frame,x,y\n1,2,3\n0,2,3\n", "frame 0 after frame 1 (sort the rows by frame)"},
		{"frame,time,x,y\n0,1,2,3\n0,2,2,3\n", "time 2 in a frame of time 1"},
		{"time,x,y\n1,2,3\n2,2,3\n", "(a column 'frame' is needed to begin another frame)"},
		{"x,y,a\n1,2,3\n1,2,word\n", "'word' in column 'a' is not a number (the first row has one)"},
		{"x,y,a\n1,2,3\n1,2,4x\n", "'4x' in column 'a' is not a number"},
		{"x,y\n1,2\n", NULL},
	};
	for (size_t k = 0; cases[k][1]; k++)
		refuses("csv", cases[k][0], cases[k][1]);
	memset(long_name, 'n', sizeof long_name);
	memcpy(long_name, "x,y,", 4);
	strcpy(long_name + 60, "\n1,2,3\n");
	refuses("csv", long_name, "is longer than 32 characters");
	memset(long_text, 't', sizeof long_text);
	memcpy(long_text, "x,y,a\n1,2,b\n1,2,", 16);
	strcpy(long_text + 5500, "\n");
	refuses("csv", long_text, "text in column 'a' is too long");
}

static double number_of(struct nb_frame *frame, const char *name, size_t row)
{
	struct nb_column *column = nb_frame_find(frame, name);
	const double *x = column ? nb_column_read(column, &nb_space_host, NB_AS_F64) : NULL;
	return x ? x[row] : -77;
}

static const char *text_in(struct nb_frame *frame, const char *name, size_t row)
{
	struct nb_column *column = nb_frame_find(frame, name);
	const char *text = column ? nb_column_read(column, &nb_space_host, NB_WIRE) : NULL;
	return text ? text + row * column->rowsize : "";
}

static void test_good_csv(void)
{
	struct nb_frame frame;
	CHECK(!import("csv",
		"\xef\xbb\xbf X , Y ,my name,free,\"with \"\"\",id\r\n"
		"# a remark\n"
		" 1 , 2 , one ,nan,1,18446744073709551615\n\n"
		"3,4,\"two, and \"\"three\"\"\",-Infinity,2,17.0\n"
		"5,6,,NA,3,0\n"
		"7,8,four,inf,4,1\n"
		"9,10,five,,5,2\n"
		"9,10,a name that is longer than thirty-two characters,+5e-1,6,3",
		&frame));
	CHECK(frame.rows[NB_PARTICLE] == 6);
	CHECK(number_of(&frame, "pos", 3) == 3 && number_of(&frame, "pos", 5) == 0);
	CHECK(strcmp(text_in(&frame, "my_name", 1), "two, and \"three\"") == 0);
	CHECK(strcmp(text_in(&frame, "my_name", 2), "") == 0);
	CHECK(strcmp(text_in(&frame, "my_name", 5), "a name that is longer than thirty-two characters") == 0);
	CHECK(isnan(number_of(&frame, "free", 0)) && number_of(&frame, "free", 1) == -INFINITY);
	CHECK(isnan(number_of(&frame, "free", 2)) && number_of(&frame, "free", 3) == INFINITY);
	CHECK(isnan(number_of(&frame, "free", 4)) && number_of(&frame, "free", 5) == 0.5);
	CHECK(number_of(&frame, "with_\"", 4) == 5);
	const uint64_t *id = nb_column_read(nb_frame_field(&frame, NB_ID), &nb_space_host, NB_WIRE);
	CHECK(id && id[0] == UINT64_MAX && id[1] == 17 && id[3] == 1);
	nb_frame_clear(&frame);
	/* a header alone is a frame without bodies, or with a column `frame` none at all */
	CHECK(!import("csv", "x,y,z,a\n", &frame));
	CHECK(frame.ncolumn == 3 && frame.rows[NB_PARTICLE] == 0 && nb_frame_find(&frame, "a"));
	nb_frame_clear(&frame);
	CHECK(!import("csv", "frame,x,y,z\n", &frame) && frame.ncolumn == 0);
	nb_frame_clear(&frame);
}

static void test_bad_princeton(void)
{
	char text[6000];
	static const char *const cases[][2] = {
		{"", "the file is empty"},
		{"x\n1\n", "'x' is not a number of bodies"},
		{"-1\n1\n", "'-1' is not a number of bodies"},
		{"99999999999999999999\n1\n", "99999999999999999999 bodies (limit"},
		{"9999999999999\n1\n", "9999999999999 bodies (limit"},
		{"1\n", "the file ends before the radius of the universe"},
		{"1\n-5\n", "'-5' is not the radius of the universe"},
		{"1\ninf\n", "'inf' is not the radius of the universe"},
		{"1\n1e999\n", "'1e999' is not the radius of the universe"},
		{"1\n5m\n", "'5m' is not the radius of the universe"},
		{"1 5 6\n", "unexpected '6' after the radius"},
		{"1\n5\n", "the file ends after 0 bodies, but line 1 promises 1"},
		{"1 5\n1 2 3\n", "3 numbers (want at least 5)"},
		{"1 5\n1 2 3 4\n", "4 numbers (want at least 5)"},
		{"1 5\n1 2 3 4 word\n", "4 numbers (want at least 5)"},
		{"1 5\n1 2 3 4 -nan\n", "'-nan' is not a finite number"},
		{"1 5\n1 2 3 4 +inf\n", "'+inf' is not a finite number"},
		{"1 5\n1 2 3 4 5x\n", "'5x' is not a finite number"},
		{"1 5\n1 2 3 4 .x\n", "'.x' is not a finite number"},
		{"1 5\n1 2 3 4 -5\n", "mass -5 is negative"},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		refuses("princeton", cases[k][0], cases[k][1]);
	memset(text, 't', sizeof text);
	memcpy(text, "1 5\n1 2 3 4 5 ", 14);
	strcpy(text + 5500, "\n");
	refuses("princeton", text, "name of 5486 characters is too long");
}

static void test_good_princeton(void)
{
	struct nb_frame frame;
	/* colours, then a name, then nothing: all of it text; the prose at the end is no body */
	CHECK(!import("princeton", "3 5\n1 2 3 4 5  1 22  255 \n1 2 3 4 5 sun.gif\n1 2 3 4 5\nthe end\n\n", &frame));
	CHECK(strcmp(text_in(&frame, "name", 0), "1 22 255") == 0);
	CHECK(strcmp(text_in(&frame, "name", 1), "sun.gif") == 0 && strcmp(text_in(&frame, "name", 2), "") == 0);
	nb_frame_clear(&frame);
	/* a name, then a colour */
	CHECK(!import("princeton", "2\n5\n1 2 3 4 5 moon\n1 2 3 4 5 7 8 9\n", &frame));
	CHECK(strcmp(text_in(&frame, "name", 1), "7 8 9") == 0 && !nb_frame_find(&frame, "colour"));
	nb_frame_clear(&frame);
	/* what is almost a colour */
	CHECK(!import(
		"princeton", "4 5\n1 2 3 4 5 7 8\n1 2 3 4 5 7 8 256\n1 2 3 4 5 7 8 9x\n1 2 3 4 5 7 8 9 10\n", &frame));
	CHECK(strcmp(text_in(&frame, "name", 1), "7 8 256") == 0 && strcmp(text_in(&frame, "name", 2), "7 8 9x") == 0);
	CHECK(strcmp(text_in(&frame, "name", 3), "7 8 9 10") == 0);
	nb_frame_clear(&frame);
	/* colours become species, in their order */
	CHECK(!import("princeton", "3 5\n1 2 3 4 5 9 9 9\n1 2 3 4 5 1 1 1\n1 2 3 4 5 9 9 9\n", &frame));
	CHECK(number_of(&frame, "species", 0) == 0 && number_of(&frame, "species", 1) == 1);
	CHECK(number_of(&frame, "species", 2) == 0 && number_of(&frame, "colour", 3) == 1);
	nb_frame_clear(&frame);
}

/* More colours than a byte counts are no species. */
static void test_many_colours(void)
{
	struct nb_frame frame;
	static char text[300 * 32];
	int used = snprintf(text, sizeof text, "257 5\n");
	for (int i = 0; i < 257; i++)
		used += snprintf(text + used, sizeof text - (size_t)used, "0 0 0 0 1 0 %d %d\n", i / 16, i % 16);
	CHECK(!import("princeton", text, &frame));
	CHECK(!nb_frame_find(&frame, "species") && number_of(&frame, "colour", 3 * 256 + 1) == 16);
	nb_frame_clear(&frame);
}

/* ---- writing --------------------------------------------------------------------------------------- */

/* The text of row 0 is so long that each of the following bytes stands at another place of the buffer; those of many
 * rows are longer than a number, before which the buffer is emptied. */
static void make(struct nb_frame *frame, size_t n, size_t shift, int with_colour)
{
	static const struct {
		enum nb_field field;
		size_t width;
	} columns[] = {{NB_POS, 3}, {NB_VEL, 3}, {NB_MASS, 1}};
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = n;
	CHECK(nb_frame_set_attribute(frame, "dim", "2") == NB_OK);
	for (size_t c = 0; c < 3; c++) {
		struct nb_column *column = nb_frame_add_field(frame, columns[c].field, NULL, 0);
		double *x = column ? nb_column_write(column, &nb_space_host, NB_WIRE) : NULL;
		CHECK(x != NULL);
		for (size_t i = 0; x && i < columns[c].width * n; i++)
			x[i] = columns[c].width == 3 && i % 3 == 2 ? 0 : 1.25;
	}
	struct nb_column *text = nb_frame_add(frame, with_colour ? "colour" : "name", NB_PARTICLE,
		with_colour ? "|u1" : "|S64", with_colour ? 3 : 1, "", 0);
	char *to = text ? nb_column_write(text, &nb_space_host, NB_WIRE) : NULL;
	CHECK(to != NULL);
	if (!to)
		return;
	memset(to, with_colour ? 7 : 0, n * text->rowsize);
	for (size_t i = 0; !with_colour && i < n; i++)
		memset(to + 64 * i, i ? '"' : 'x', i == 0 ? shift : n < 100 ? 3 : 60);
	if (with_colour) /* one digit more in so many numbers */
		for (size_t i = 0; i < shift; i++)
			to[i] = 77;
	int64_t *number = nb_column_write(
		nb_frame_add(frame, "number", NB_PARTICLE, "<i8", 1, "", 0), &nb_space_host, NB_WIRE);
	CHECK(number != NULL);
	for (size_t i = 0; number && i < n; i++)
		number[i] = -(int64_t)i;
}

static int export_to(const char *where, const char *format, const struct nb_frame *frame, int several, char *error)
{
	struct nb_export out;
	int status = nb_export_open(&out, format_named(format), where);
	out.several = several;
	out.plain = strcmp(format, "csv") == 0;
	if (!status)
		status = nb_export_frame(&out, frame);
	if (!status && several)
		status = nb_export_frame(&out, frame);
	int code = errno;
	if (error)
		snprintf(error, NB_EXCHANGE_ERROR_SIZE, "%s", out.error);
	if (!status) {
		status = nb_export_close(&out);
		code = errno;
	}
	nb_export_abandon(&out);
	errno = code;
	return status;
}

/* Wherever the first bytes that go out end. */
static void test_full(void)
{
	struct nb_frame frame;
	for (int colour = 0; colour < 2; colour++)
		for (size_t shift = 0; shift < 60; shift++) {
			make(&frame, 5000, shift, colour);
			errno = 0;
			CHECK(export_to("/dev/full", "csv", &frame, shift % 2, NULL) == -1 && errno == ENOSPC);
			errno = 0;
			CHECK(export_to("/dev/full", "princeton", &frame, 0, NULL) == -1 && errno == ENOSPC);
			nb_frame_clear(&frame);
		}
	make(&frame, 1, 1, 0); /* only when it is closed */
	CHECK(export_to("/dev/full", "csv", &frame, 0, NULL) == -1 && errno == ENOSPC);
	CHECK(export_to("/no/such/folder/x", "csv", &frame, 0, NULL) == -1 && errno == ENOENT);
	nb_frame_clear(&frame);
}

static const char *exported(const char *format, const struct nb_frame *frame, int several)
{
	static char text[NB_EXCHANGE_ERROR_SIZE];
	const int status = export_to(path, format, frame, several, text);
	if (status)
		return text;
	FILE *file = fopen(path, "r");
	const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
	text[n] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void test_csv_cells(void)
{
	struct nb_frame frame;
	make(&frame, 2, 1, 0);
	CHECK(strcmp(exported("csv", &frame, 0), "x,y,vx,vy,mass,name,number\n1.25,1.25,1.25,1.25,1.25,\"x\",0\n"
						 "1.25,1.25,1.25,1.25,1.25,\"\"\"\"\"\"\"\",-1\n") == 0);
	/* names with the signs of csv in them, columns that have no place in a line, components of unknown ones */
	struct nb_column *odd = nb_frame_add(&frame, "a,\"b\"", NB_PARTICLE, "<i2", 2, "", 0);
	int16_t *to = odd ? nb_column_write(odd, &nb_space_host, NB_WIRE) : NULL;
	CHECK(to != NULL);
	for (int i = 0; to && i < 4; i++)
		to[i] = (int16_t)(i - 2);
	odd = nb_frame_add(&frame, "raw", NB_PARTICLE, "|V3", 1, "", 0);
	CHECK(odd && nb_column_write(odd, &nb_space_host, NB_WIRE));
	frame.rows[NB_NODE] = 1;
	odd = nb_frame_add_field(&frame, NB_NODE_MASS, NULL, 0);
	CHECK(odd && nb_column_write(odd, &nb_space_host, NB_WIRE));
	nb_frame_drop(&frame, "name");
	nb_frame_drop_field(&frame, NB_VEL);
	CHECK(strcmp(exported("csv", &frame, 0), "x,y,mass,number,\"a,\"\"b\"\"_0\",\"a,\"\"b\"\"_1\"\n"
						 "1.25,1.25,1.25,0,-2,-1\n1.25,1.25,1.25,-1,0,1\n") == 0);
	/* what is not written because dim is 2 must be 0 */
	double *pos = nb_column_update(nb_frame_field(&frame, NB_POS), &nb_space_host, NB_WIRE);
	pos[5] = 3;
	CHECK(strstr(exported("csv", &frame, 0), "attribute dim is 2, but row 1 of 'pos' has a third component 3"));
	pos[5] = 0;
	CHECK(nb_frame_set_attribute(&frame, "time", "noon") == NB_OK);
	CHECK(strstr(exported("csv", &frame, 1), "attribute time='noon' is not a number"));
	CHECK(nb_frame_set_attribute(&frame, "time", "0") == NB_OK);
	odd = nb_frame_add(&frame, "x", NB_PARTICLE, "<f8", 1, "", 0);
	CHECK(odd && nb_column_write(odd, &nb_space_host, NB_WIRE));
	CHECK(strstr(exported("csv", &frame, 0), "two columns would be called 'x' in csv"));
	nb_frame_clear(&frame);
}

/* Two frames of a file have the same columns. */
static void test_csv_frames(void)
{
	struct nb_frame frame;
	struct nb_export out;
	make(&frame, 2, 1, 0);
	CHECK(nb_export_open(&out, format_named("csv"), path) == NB_OK);
	out.several = 1;
	CHECK(nb_export_frame(&out, &frame) == NB_OK);
	nb_frame_drop(&frame, "number");
	CHECK(nb_export_frame(&out, &frame) == NB_EINVAL);
	CHECK(strstr(out.error, "its columns differ from those of the frames before"));
	nb_export_abandon(&out);
	nb_export_abandon(&out);
	nb_frame_clear(&frame);
}

static void test_princeton_rows(void)
{
	struct nb_frame frame;
	make(&frame, 2, 3, 0);
	nb_frame_drop(&frame, "number");
	CHECK(strcmp(exported("princeton", &frame, 0),
		      "2\n1.25\n1.25 1.25 1.25 1.25 1.25 xxx\n1.25 1.25 1.25 1.25 1.25 \"\"\"\n") == 0);
	const struct nb_format *format = format_named("princeton");
	CHECK(format->holds(NULL, &frame, nb_frame_find(&frame, "name")));
	char *name = nb_column_update(nb_frame_find(&frame, "name"), &nb_space_host, NB_WIRE);
	name[1] = '\n';
	CHECK(strstr(exported("princeton", &frame, 0), "the name in row 0 has a control character"));
	name[1] = 'y';
	double *vel = nb_column_update(nb_frame_field(&frame, NB_VEL), &nb_space_host, NB_WIRE);
	vel[2] = 5;
	CHECK(strstr(exported("princeton", &frame, 0), "row 0 has z = 0 and vz = 5, but princeton text is 2-D"));
	vel[2] = 0;
	CHECK(nb_frame_set_attribute(&frame, "universe_radius", "far") == NB_OK);
	CHECK(strstr(exported("princeton", &frame, 0), "attribute universe_radius='far' is not a number"));
	nb_frame_clear(&frame);
	make(&frame, 0, 0, 1);
	CHECK(strcmp(exported("princeton", &frame, 0), "0\n1\n") == 0);
	nb_frame_clear(&frame);
	make(&frame, 2, 1, 1);
	CHECK(strcmp(exported("princeton", &frame, 0),
		      "2\n1.25\n1.25 1.25 1.25 1.25 1.25 77 7 7\n1.25 1.25 1.25 1.25 1.25 7 7 7\n") == 0);
	/* what comes back, and what does not */
	struct nb_column *id = nb_frame_add_field(&frame, NB_ID, NULL, 0);
	uint64_t *ids = id ? nb_column_write(id, &nb_space_host, NB_WIRE) : NULL;
	CHECK(ids != NULL);
	ids[0] = 0, ids[1] = 1;
	CHECK(format->holds(NULL, &frame, id));
	ids[1] = 2;
	CHECK(!format->holds(NULL, &frame, id));
	CHECK(format->holds(NULL, &frame, nb_frame_find(&frame, "colour")));
	CHECK(format->holds(NULL, &frame, nb_frame_field(&frame, NB_POS)));
	CHECK(!format->holds(NULL, &frame, nb_frame_find(&frame, "number")));
	id = nb_frame_add_field(&frame, NB_ID, "<u4", 0);
	CHECK(id && nb_column_write(id, &nb_space_host, NB_WIRE) && !format->holds(NULL, &frame, id));
	CHECK(format->holds(NULL, &frame, nb_frame_add_field(&frame, NB_SPECIES, NULL, 0)));
	CHECK(format->holds(NULL, &frame, nb_frame_add_field(&frame, NB_ACC, NULL, 0)));
	CHECK(nb_frame_add(&frame, "name", NB_PARTICLE, "<f8", 1, "", 0) != NULL); /* no text */
	CHECK(!format->holds(NULL, &frame, nb_frame_find(&frame, "name")));
	CHECK(!format->holds(NULL, &frame, nb_frame_field(&frame, NB_SPECIES)));
	nb_frame_clear(&frame);
}

int main(void)
{
	make_path();
	test_bad_csv();
	test_good_csv();
	test_bad_princeton();
	test_good_princeton();
	test_many_colours();
	test_full();
	test_csv_cells();
	test_csv_frames();
	test_princeton_rows();
	unlink(path);
	return unit_end();
}
