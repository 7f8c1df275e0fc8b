/* CSV text: what is read is written, and what is written is read as the same columns. */
#include "tests/fuzz/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1], back[FUZZ_FRAMES + 1];
	const struct nb_format *csv = fuzz_format("csv");
	fuzz_silence();
	for (int safe = 0; safe < 2; safe++) {
		const int n = fuzz_import(csv, data, size, safe, frame);
		if (n <= 0)
			continue;
		const int m = fuzz_round(csv, frame, n, safe, 1, back);
		int bodies = 1; /* in every frame: one without leaves no trace among several */
		for (int k = 0; k < n; k++)
			bodies &= n == 1 || frame[k].rows[NB_PARTICLE] > 0;
		REQUIRE(m == FUZZ_REFUSED || m == n || !bodies);
		for (int k = 0; k < m && m == n; k++)
			REQUIRE(fuzz_same_columns(&frame[k], &back[k]));
		fuzz_release(back, m);
		fuzz_release(frame, n);
	}
	return 0;
}
