/* Binary formats: a file that is cut anywhere, or in which any byte is another, is read or refused with a reason. */
#include "tests/unit/exchange/bodies.h"
#include "tests/unit/exchange/file.h"

#include <fcntl.h>

enum { MOST = 4096 };

static size_t make_file(const char *format, const struct nb_frame *frame, unsigned char *to)
{
	struct nb_export out;
	CHECK(nb_export_open(&out, format_named(format), path) == NB_OK);
	CHECK(nb_export_frame(&out, frame) == NB_OK && nb_export_close(&out) == NB_OK);
	nb_export_abandon(&out);
	FILE *file = fopen(path, "r");
	const size_t n = file ? fread(to, 1, MOST, file) : 0;
	CHECK(file && n > 100 && n < MOST && fclose(file) == 0);
	return n;
}

/* Bodies that are read, -1: refused with a reason; from a file or a pipe. */
static int bodies_of(const struct nb_format *format, const unsigned char *data, size_t n, int piped)
{
	struct nb_import in;
	struct nb_frame frame;
	enum nb_answer answer = NB_ERROR;
	int fd, end[2], bodies = 0;
	if (piped) {
		CHECK(pipe(end) == 0 && write(end[1], data, n) == (ssize_t)n && close(end[1]) == 0);
		fd = end[0];
	} else {
		fd = open(path, O_RDWR | O_TRUNC);
		CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
	}
	nb_frame_init(&frame);
	const int status = nb_import_open(&in, format, fd, NULL, NULL, NULL);
	while (!status && (answer = nb_import_next(&in, &frame)) == NB_FRAME)
		bodies += (int)frame.rows[NB_PARTICLE];
	const int refused = status || answer == NB_ERROR;
	CHECK(refused == (*in.error != '\0'));
	nb_import_close(&in);
	nb_frame_clear(&frame);
	close(fd);
	return refused ? -1 : bodies;
}

static void test_format(const char *written, const char *read, int several)
{
	unsigned char whole[MOST], bad[MOST];
	const struct nb_format *format = format_named(read);
	struct nb_frame frame;
	make_bodies(&frame);
	const size_t n = make_file(written, &frame, whole);
	int refused = 0;
	CHECK(format->recognises(whole, n, n) && format->recognises(whole, n, 0));
	CHECK(bodies_of(format, whole, n, 0) == 2 && bodies_of(format, whole, n, 1) == 2);
	for (int piped = 0; piped < 2; piped++) {
		for (size_t k = 0; k < n; k++)
			CHECK(bodies_of(format, whole, k, piped) == -1);
		for (size_t k = 0; k < 8 * n; k++) {
			memcpy(bad, whole, n);
			bad[k / 8] ^= (unsigned char)(1 << k % 8);
			refused += bodies_of(format, bad, n, piped) == -1;
			format->recognises(bad, n, piped ? 0 : n);
		}
		for (size_t k = 0; k + 4 <= n; k++) { /* the largest count, the smallest */
			memcpy(bad, whole, n);
			memset(bad + k, k % 2 ? 0xff : 0, 4);
			refused += bodies_of(format, bad, n, piped) == -1;
		}
	}
	CHECK(refused > 100);
	for (size_t k = 0; k < 64; k++)
		format->recognises(whole, k, 0);
	/* two files in one */
	memcpy(bad, whole, n);
	memcpy(bad + n, whole, n);
	CHECK(2 * n <= MOST && bodies_of(format, bad, 2 * n, 1) == (several ? 4 : -1));
	nb_frame_clear(&frame);
}

/* Text is none of them. */
static void test_text(void)
{
	static const char text[] = "x,y,z\n1,2,3\n4,5,6\n7,8,9\n";
	write_file("");
	CHECK(bodies_of(format_named("tipsy"), (const unsigned char *)text, sizeof text - 1, 0) == -1);
	CHECK(bodies_of(format_named("nemo"), (const unsigned char *)text, sizeof text - 1, 1) == -1);
	CHECK(!format_named("tipsy")->recognises((const unsigned char *)text, sizeof text - 1, 0));
	CHECK(!format_named("nemo")->recognises((const unsigned char *)text, sizeof text - 1, 0));
}

int main(void)
{
	make_path();
	test_text();
	test_format("tipsy", "tipsy", 0);
	test_format("tipsy-native", "tipsy", 0);
	test_format("nemo", "nemo", 1);
	test_format("nemo-split", "nemo", 1);
	char ids[sizeof path + 8];
	snprintf(ids, sizeof ids, "%s.iord", path);
	unlink(ids);
	unlink(path);
	return unit_end();
}
