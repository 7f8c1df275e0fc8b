/* Princeton text: what is read can be written, and reads back as the same frame. */
#include "tests/fuzz/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1], back[FUZZ_FRAMES + 1];
	const struct nb_format *princeton = fuzz_format("princeton");
	fuzz_silence();
	const int n = fuzz_import(princeton, data, size, 0, frame);
	if (n <= 0)
		return 0;
	const int m = fuzz_round(princeton, frame, n, 0, 1, back);
	REQUIRE(m == FUZZ_REFUSED || m == n);
	for (int k = 0; k < m; k++)
		REQUIRE(fuzz_same_columns(&frame[k], &back[k]) && fuzz_same_attributes(&frame[k], &back[k]));
	fuzz_release(back, m);
	fuzz_release(frame, n);
	return 0;
}
