/* TIPSY files: as a file and through a pipe, whole and in part, written in both byte orders and back.  The counts of
 * the header are mostly made to agree with the size of the file. */
#include "tests/fuzz/binary.h"

enum { HEADER = 32, DIMENSIONS = 12 };

/* seed: whether the header is short, and positions are f8. */
static size_t mend(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const size_t record[] = {48, 36, 44};
	const size_t wide = seed >> 8 & 1, head = HEADER - 4 * (seed >> 9 & 1);
	size_t want = head;
	uint32_t total = 0;
	if (size < HEADER)
		return size;
	const int big = word_load(data + DIMENSIONS, 1) <= 3;
	if (word_load(data + DIMENSIONS, big) - 2 > 1)
		word_store(data + DIMENSIONS, big, 3);
	for (int k = 0; k < 3; k++) {
		const uint32_t n = word_load(data + 16 + 4 * k, big) % 16;
		word_store(data + 16 + 4 * k, big, n);
		total += n;
		want += n * (record[k] + 12 * wide);
	}
	word_store(data + 8, big, total);
	if (want > max)
		return size;
	if (size < want)
		memset(data + size, 0, want - size);
	if (head == HEADER)
		word_store(data + HEADER - 4, big, 0);
	return want;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, max);
	return seed % 8 == 0 ? size : mend(data, size, max, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1];
	const struct nb_format *tipsy = fuzz_format("tipsy");
	fuzz_silence();
	const int n = fuzz_import(tipsy, data, size, 0, frame);
	fuzz_pipe_too(tipsy, data, size, 0, frame, n);
	if (n <= 0)
		return 0;
	fuzz_parts(tipsy, data, size, frame);
	fuzz_there_and_back("tipsy", tipsy, frame, n);
	fuzz_there_and_back("tipsy-native", tipsy, frame, n);
	fuzz_release(frame, n);
	return 0;
}
