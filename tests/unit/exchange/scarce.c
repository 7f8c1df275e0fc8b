/* Import and export when memory runs out: each call that fails is reported, and nothing is left. */
#include "tests/unit/scarce.h"

#include "tests/unit/exchange/file.h"

#include <errno.h>

static char to[] = "/tmp/nb-unit-scarce-XXXXXX";

struct work {
	const struct nb_format *format;
	struct nb_frame *frame; /* to be exported */
	size_t rows;
};

static int import(void *context)
{
	const struct work *work = context;
	struct nb_import in;
	struct nb_frame frame;
	size_t rows = 0;
	enum nb_answer answer = NB_ERROR;
	nb_frame_init(&frame);
	if (nb_import_open(&in, work->format, 0, path, NULL, NULL) == NB_OK)
		while ((answer = nb_import_next(&in, &frame)) == NB_FRAME)
			rows += frame.rows[NB_PARTICLE];
	const int status = answer == NB_END		       ? (rows == work->rows ? 0 : -1)
			   : strstr(in.error, "out of memory") ? NB_ENOMEM
							       : -1;
	nb_import_close(&in);
	nb_frame_clear(&frame);
	return status;
}

static int export(void *context)
{
	const struct work *work = context;
	struct nb_export out;
	int status = nb_export_open(&out, work->format, to);
	if (!status) {
		out.several = strcmp(work->format->name, "csv") == 0;
		status = nb_export_frame(&out, work->frame);
		if (!status)
			status = nb_export_close(&out);
	}
	if (status == -1 && errno == ENOMEM)
		status = NB_ENOMEM;
	nb_export_abandon(&out);
	return status;
}

/* Reads the text, then writes what it holds; both with each call failing. */
static void test_format(const char *name, const char *text, size_t rows)
{
	struct nb_import in;
	struct nb_frame frame;
	struct work work = {.format = format_named(name), .rows = rows, .frame = &frame};
	write_file(text);
	CHECK(scarce_each(name, import, &work, NB_ENOMEM) > 10);
	nb_frame_init(&frame);
	CHECK(nb_import_open(&in, work.format, 0, path, NULL, NULL) == NB_OK);
	CHECK(nb_import_next(&in, &frame) == NB_FRAME);
	nb_import_close(&in);
	CHECK(scarce_each(name, export, &work, NB_ENOMEM) > 2);
	nb_frame_clear(&frame);
}

int main(void)
{
	static char many[200000];
	const int other = mkstemp(to);
	CHECK(other >= 0);
	close(other);
	make_path();
	test_format("csv", "frame,time,id,x,y,a,word\n0,0,7,1,2,3,one\n0,0,8,1,2,4,two\n1,1,7,1,2,3,three\n", 3);
	test_format("csv", "x,y,z,a\n", 0);
	test_format(
		"csv", "x,y,z,species,word\n1,2,3,4,a\n1,2,3,5,a word that is longer than thirty-two characters\n", 2);
	/* more rows than there is room for in the beginning */
	int used = snprintf(many, sizeof many, "x,y,z,a\n");
	for (int i = 0; i < 1500; i++)
		used += snprintf(many + used, sizeof many - (size_t)used, "%d,2,3,4\n", i);
	test_format("csv", many, 1500);
	used = snprintf(many, sizeof many, "1500 5\n");
	for (int i = 0; i < 1500; i++)
		used += snprintf(many + used, sizeof many - (size_t)used, "%d 2 3 4 5\n", i);
	test_format("princeton", many, 1500);
	test_format("princeton", "2 5\n1 2 3 4 5 1 2 3\n1 2 3 4 5 3 4 5\n", 2);
	test_format("princeton", "3 5\n1 2 3 4 5 1 2 3\n1 2 3 4 5 moon\n1 2 3 4 5 sun\n", 3);
	test_format("princeton", "2 5\n1 2 3 4 5 sun\n1 2 3 4 5 a name that is longer than thirty-two characters\n", 2);
	unlink(path);
	unlink(to);
	return unit_end();
}
