/* Which rows of a frame a part takes, and bytes that are looked at before they are read. */
#include "formats/exchange/bytes.h"
#include "formats/exchange/subset.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

static char path[] = "/tmp/nb-unit-part-XXXXXX";

/* Against row by row, for every begin and end; rows that begin where a file of several does. */
static void test_rows(void)
{
	for (uint64_t first = 0; first < 9; first++)
		for (uint64_t last = first; last < 14; last++)
			for (uint64_t step = 1; step < 6; step++)
				for (uint64_t begin = 0; begin < 12; begin++)
					for (uint64_t end = begin; end < 12; end++) {
						const struct nb_subset subset = {
							.row_first = first, .row_last = last, .row_step = step};
						uint64_t row, by, want = 0, found = 0;
						const uint64_t n = nb_subset_rows(&subset, begin, end, &row, &by);
						for (uint64_t i = begin; i < end; i++) {
							if (i < first || i > last || (i - first) % step)
								continue;
							found += want < n && row + want * by == i;
							want++;
						}
						CHECK(n == want && found == want);
					}
	/* numbers at the end of all numbers */
	const struct nb_subset far = {.row_first = 1, .row_last = UINT64_MAX, .row_step = UINT64_MAX};
	uint64_t row, by;
	CHECK(nb_subset_rows(&far, 0, 100, &row, &by) == 1 && row == 1);
	CHECK(nb_subset_rows(&far, 2, 100, &row, &by) == 0);
	const struct nb_subset all = {.row_first = 0, .row_last = UINT64_MAX, .row_step = 1};
	CHECK(nb_subset_rows(&all, 5, 100, &row, &by) == 95 && row == 5 && by == 1);
}

static void check_bytes(int fd, int seekable, size_t size)
{
	struct nb_bytes bytes;
	unsigned char got[64];
	size_t there;
	CHECK(nb_bytes_open(&bytes, fd) == NB_OK);
	CHECK(bytes.seekable == seekable && bytes.size == (seekable ? size : 0));
	const unsigned char *from = nb_bytes_peek(&bytes, 10, &there);
	CHECK(from && there == 10 && from[0] == 0 && from[9] == 9 && bytes.at == 0);
	CHECK(nb_bytes_read(&bytes, got, 5) == 5 && got[4] == 4 && bytes.at == 5);
	CHECK(nb_bytes_skip(&bytes, 300000) == 0 && bytes.at == 300005);
	CHECK(nb_bytes_read(&bytes, got, 1) == 1 && got[0] == 300005 % 251);
	CHECK(nb_bytes_skip(&bytes, 3) == 0);
	from = nb_bytes_peek(&bytes, NB_BYTES_MOST, &there);
	CHECK(from && there == NB_BYTES_MOST && from[there - 1] == (300009 + NB_BYTES_MOST - 1) % 251);
	CHECK(nb_bytes_skip(&bytes, size - bytes.at - 2) == 0);
	from = nb_bytes_peek(&bytes, 10, &there);
	CHECK(from && there == 2 && from[1] == (size - 1) % 251);
	CHECK(nb_bytes_skip(&bytes, 3) == 1);
	if (seekable) {
		CHECK(nb_bytes_seek(&bytes, 250) == 0 && nb_bytes_read(&bytes, got, 1) == 1 && got[0] == 250);
		CHECK(nb_bytes_skip(&bytes, size) == 1);
	}
	nb_bytes_close(&bytes);
}

static void test_bytes(void)
{
	enum { SIZE = 1000000 };
	unsigned char *data = malloc(SIZE);
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i % 251);
	FILE *file = fopen(path, "w");
	CHECK(file && fwrite(data, 1, SIZE, file) == SIZE && fclose(file) == 0);
	free(data);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	check_bytes(fd, 1, SIZE);
	close(fd);
	char command[128];
	snprintf(command, sizeof command, "cat %s", path);
	FILE *pipe = popen(command, "r");
	CHECK(pipe != NULL);
	check_bytes(fileno(pipe), 0, SIZE);
	pclose(pipe);
	/* a directory cannot be read */
	struct nb_bytes bytes;
	size_t there;
	const int folder = open("/", O_RDONLY | O_CLOEXEC);
	CHECK(nb_bytes_open(&bytes, folder) == NB_OK);
	CHECK(!nb_bytes_peek(&bytes, 1, &there) && nb_bytes_read(&bytes, command, 1) == -1 &&
		nb_bytes_skip(&bytes, 1) == -1);
	nb_bytes_close(&bytes);
	close(folder);
}

int main(void)
{
	close(mkstemp(path));
	test_rows();
	test_bytes();
	unlink(path);
	return unit_end();
}
