/* NEMO snapshots: as a file and through a pipe, written in both forms and back.  Bytes that were put into an item are
 * mostly taken out before the next one, which would not begin where it must otherwise. */
#include "tests/fuzz/binary.h"

/* Whether an item may begin here; its byte order. */
static int begins(const uint8_t *p, int *big)
{
	*big = p[1] == 0x92;
	return (p[0] == 0x92 && (p[1] == 9 || p[1] == 11)) || (*big && (p[0] == 9 || p[0] == 11));
}

/* Where the item ends that begins at `at`, or 0 if the file ends before. */
static size_t end_of(const uint8_t *data, size_t size, size_t at, int big)
{
	static const char types[] = "abcshifld", bytes[] = "111224488";
	const int is_array = data[at + !big] == 11;
	const char *type = data[at + 2] ? strchr(types, data[at + 2]) : NULL;
	size_t end = at + 4;
	uint64_t count = type ? (uint64_t)(bytes[type - types] - '0') : 0;
	if (data[at + 2] != ')') {
		const uint8_t *nul = end < size ? memchr(data + end, 0, size - end) : NULL;
		if (!nul)
			return 0;
		end = (size_t)(nul - data) + 1;
	}
	for (uint32_t dim = is_array; dim; end += 4) {
		if (end + 4 > size)
			return 0;
		dim = word_load(data + end, big);
		if (dim && count * dim > size)
			return 0;
		count *= dim ? dim : 1;
	}
	return count > size - end ? 0 : end + (size_t)count;
}

static size_t mend(uint8_t *data, size_t size)
{
	int big;
	for (size_t at = 0; at + 4 <= size;) {
		size_t next = at;
		while (next + 4 <= size && !begins(data + next, &big))
			next++;
		if (next + 4 > size)
			return at;
		memmove(data + at, data + next, size - next);
		size -= next - at;
		const size_t end = end_of(data, size, at, big);
		if (end == 0)
			return size;
		at = end;
	}
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, max);
	return seed % 4 == 0 ? size : mend(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_frame frame[FUZZ_FRAMES + 1];
	const struct nb_format *nemo = fuzz_format("nemo");
	fuzz_silence();
	const int n = fuzz_import(nemo, data, size, 0, frame);
	fuzz_pipe_too(nemo, data, size, 1, frame, n);
	if (n <= 0)
		return 0;
	fuzz_there_and_back("nemo", nemo, frame, n);
	fuzz_there_and_back("nemo-split", nemo, frame, n);
	fuzz_release(frame, n);
	return 0;
}
