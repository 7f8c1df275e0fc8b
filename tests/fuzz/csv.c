/* CSV text: what is read is written, and what is written is read as the same columns and attributes. */
#include "tests/fuzz/exchange.h"

/* Then the third components of a frame other than the first lose the sign of a zero. */
static int is_flat(const struct nb_frame *frame)
{
	const char *dim = nb_frame_attribute(frame, "dim");
	return dim && strcmp(dim, "2") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1], back[FUZZ_FRAMES + 1];
	const struct nb_format *csv = fuzz_format("csv");
	fuzz_silence();
	for (int way = 0; way < 4; way++) {
		const int safe = way & 1;
		fuzz_plain = way >> 1;
		const int n = fuzz_import(csv, data, size, safe, frame);
		if (n <= 0)
			continue;
		const int m = fuzz_round(csv, frame, n, safe, !fuzz_plain, back);
		int bodies = 1; /* in every frame: one without leaves no trace among several if there are no comments */
		for (int k = 0; k < n; k++)
			bodies &= n == 1 || frame[k].rows[NB_PARTICLE] > 0;
		REQUIRE(m == FUZZ_REFUSED || m == n || (fuzz_plain && (m == FUZZ_LOST || !bodies)));
		for (int k = 0; k < m && m == n && !fuzz_plain; k++)
			REQUIRE(fuzz_same_attributes(&frame[k], &back[k]) &&
				(is_flat(&frame[k]) || fuzz_same_columns(&frame[k], &back[k])));
		fuzz_release(back, m);
		fuzz_release(frame, n);
	}
	return 0;
}
