/* GADGET snapshots: as a file and through a pipe, whole and in part, written in both formats and back.  Counts before
 * and behind blocks are mostly made to agree, and often the sizes of blocks with the header. */
#include "tests/fuzz/binary.h"

enum mending { MEND_NOTHING, MEND_COUNTS, MEND_SIZES };
enum { HEADER = 256, TYPES = 6, FILES = 124, MOST_OF_TYPE = 64 };

/* The header's bodies, and (of masses) those of types without a mass there. */
static void mend_header(uint8_t *head, int big, uint64_t *rows, uint64_t *masses)
{
	*rows = *masses = 0;
	for (int t = 0; t < TYPES; t++) {
		uint32_t n = word_load(head + 4 * t, big);
		uint64_t mass;
		if (n > MOST_OF_TYPE)
			word_store(head + 4 * t, big, n %= 8);
		memcpy(&mass, head + 24 + 8 * t, sizeof mass);
		*rows += n;
		*masses += mass ? 0 : n;
	}
	if (word_load(head + FILES, big) > 1)
		word_store(head + FILES, big, 1);
}

/* Bytes of a block that the header asks for; 0: it does not say. */
static uint32_t size_of(const uint8_t *label, int block, uint64_t rows, uint64_t masses, uint32_t count)
{
	static const char labels[][5] = {"POS ", "VEL ", "ID  ", "MASS", "ACCE", "POT "};
	static const uint8_t ncomp[] = {3, 3, 1, 1, 3, 1};
	int k = label ? 0 : block;
	while (label && k < 6 && memcmp(label, labels[k], 4) != 0)
		k++;
	if (k > (label ? 5 : 3))
		return 0;
	const uint32_t numbers = (uint32_t)(k == 3 ? masses : rows) * ncomp[k];
	return count == 8 * numbers ? count : 4 * numbers;
}

static void mend(uint8_t *data, size_t size, enum mending what)
{
	const int big = size > 4 && data[0] == 0 && (data[2] || data[3]);
	const int labels = size > 4 && word_load(data, big) == 8;
	size_t at = labels ? 16 : 0;
	uint64_t rows = 0, masses = 0;
	if (what == MEND_NOTHING || size < at + HEADER + 8)
		return;
	word_store(data + at, big, HEADER);
	word_store(data + at + 4 + HEADER, big, HEADER);
	if (what == MEND_SIZES)
		mend_header(data + at + 4, big, &rows, &masses);
	at += HEADER + 8;
	for (int block = 0; size - at >= (labels ? 24 : 8); block++) {
		if (labels) {
			word_store(data + at, big, 8);
			word_store(data + at + 12, big, 8);
			at += 16;
		}
		uint32_t count = word_load(data + at, big);
		const uint32_t want = what == MEND_SIZES
					      ? size_of(labels ? data + at - 12 : NULL, block, rows, masses, count)
					      : 0;
		count = want ? want : count;
		count = count > size - at - 8 ? (uint32_t)(size - at - 8) : count;
		word_store(data + at, big, count);
		word_store(data + at + 4 + count, big, count);
		at += 8 + (size_t)count;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, max);
	mend(data, size, seed % 8 == 0 ? MEND_NOTHING : seed % 2 ? MEND_COUNTS : MEND_SIZES);
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1];
	const struct nb_format *gadget = fuzz_format("gadget");
	fuzz_silence();
	const int n = fuzz_import(gadget, data, size, 0, frame);
	fuzz_pipe_too(gadget, data, size, 1, frame, n);
	if (n <= 0)
		return 0;
	fuzz_parts(gadget, data, size, frame);
	fuzz_there_and_back("gadget", gadget, frame, n);
	fuzz_there_and_back("gadget2", gadget, frame, n);
	fuzz_release(frame, n);
	return 0;
}
