/* A tree that comes from outside: sound, or refused with a message; what is sound is walked, and gives finite forces or
 * a message. */
#include "tests/fuzz/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *force[] = {"nb-force", "--method", "tree", "-e", "0.01", "--potential", "-j", "1", NULL};
	struct nb_reader reader;
	struct nb_frame frame;
	fuzz_silence();
	const int fd = fuzz_file(data, size);
	nb_frame_init(&frame);
	REQUIRE(nb_reader_open(&reader, fd) == NB_OK);
	struct nb_run *run = NULL;
	while (nb_reader_next(&reader, &frame) == NB_FRAME) {
		if (!run)
			run = fuzz_run(nb_tool_find("nb-force"), 8, force);
		if (nb_run_frame(run, &frame))
			break;
		struct nb_column *acc = nb_frame_field(&frame, NB_ACC);
		REQUIRE(acc && nb_column_first_bad(acc, NB_BAD_NONFINITE) == acc->rows);
	}
	nb_run_free(run);
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
	close(fd);
	return 0;
}
