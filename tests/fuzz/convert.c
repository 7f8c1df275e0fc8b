/* Frames of a particle stream, in each format and back, and again: the text stays the same. */
#include "tests/fuzz/exchange.h"
#include "tests/fuzz/mend.h"

#include <strings.h>

/* Would csv take the name of this column for one that it knows, or change it? */
static int is_taken(const char *name)
{
	int taken = strchr(name, ' ') || strcasecmp(name, "frame") == 0 || strcasecmp(name, "time") == 0;
	for (int f = 0; f < NB_NFIELD; f++) {
		char words[128], *rest = NULL;
		snprintf(words, sizeof words, "%s", nb_field_info[f].csv);
		for (char *word = strtok_r(words, " []", &rest); word; word = strtok_r(NULL, " []", &rest))
			taken |= strcasecmp(name, word) == 0;
	}
	return taken;
}

/* Does the text not change on the way back?  Bodies without ids have some then, whole numbers of columns that no one
 * knows become f64, and columns that have another type than field.def says get that one. */
static int is_exact(const struct nb_frame *frame)
{
	int ids = 0;
	for (size_t c = 0; c < frame->ncolumn; c++) {
		const struct nb_column *column = &frame->column[c];
		const int known = column->field < NB_NFIELD && column->ncomp == nb_field_info[column->field].ncomp;
		if (column->table != NB_PARTICLE)
			continue;
		if (known ? column->dtype[1] != nb_field_info[column->field].dtype[1]
			  : (column->dtype[2] == '8' && column->dtype[1] != 'f') || is_taken(column->name))
			return 0;
		ids |= column->field == NB_ID && nb_dtype_is_number(column->dtype);
	}
	return ids;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1], back[FUZZ_FRAMES + 1], again[FUZZ_FRAMES + 1];
	struct nb_reader reader;
	int n = 0;
	fuzz_silence();
	const int fd = fuzz_file(data, size);
	REQUIRE(nb_reader_open(&reader, fd) == NB_OK);
	for (; n < FUZZ_FRAMES; n++) {
		nb_frame_init(&frame[n]);
		if (nb_reader_next(&reader, &frame[n]) != NB_FRAME || !nb_frame_field(&frame[n], NB_POS))
			break;
	}
	const struct nb_format *format;
	for (size_t k = 0; (format = nb_format_number(k)) != NULL; k++) {
		const int most = format->traits & NB_MANY_FRAMES ? n : n < 1 ? n : 1;
		const int needs = format->open && format->frame && (most < 1 || fuzz_has_needs(format, &frame[0]));
		for (int way = 0; needs && most > 0 && way <= (format->traits & NB_TABLE ? 3 : 0); way++) {
			const int safe = way & 1;
			fuzz_plain = way >> 1;
			/* binary formats order bodies, round numbers, and name columns, so only what came back is
			 * exact */
			const int exact = format->traits & NB_TABLE
						  ? !fuzz_plain || is_exact(&frame[0])
						  : strcmp(format->name, "princeton") == 0 && is_exact(&frame[0]);
			const int m = fuzz_round(format, frame, most, safe, exact, back);
			const int l = m > 0 ? fuzz_round(format, back, m, safe, 1, again) : 0;
			REQUIRE(l != FUZZ_LOST || fuzz_plain);
			fuzz_release(again, l);
			fuzz_release(back, m);
		}
	}
	fuzz_release(frame, n);
	nb_frame_clear(&frame[n]);
	nb_reader_close(&reader);
	close(fd);
	return 0;
}
