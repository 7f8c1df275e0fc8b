/* The particle stream: what is written comes back, and nothing damaged does. */
#include "formats/stream/stream.h"
#include "tests/unit/unit.h"

#include <libdeflate.h>
#include <unistd.h>

static char path[] = "/tmp/nb-unit-stream-XXXXXX";

static void make_frame(struct nb_frame *frame, size_t n, double time)
{
	nb_frame_init(frame);
	frame->rows[NB_PARTICLE] = n;
	CHECK(nb_frame_set_attribute_f64(frame, "time", time) == NB_OK);
	CHECK(nb_frame_set_attribute(frame, "note", "two\nlines, a \\ and = too") == NB_OK);
	CHECK(nb_frame_add_attribute(frame, "history", "one") == NB_OK);
	CHECK(nb_frame_add_attribute(frame, "history", "two") == NB_OK);
	uint64_t *id = nb_column_write(nb_frame_add_field(frame, NB_ID, NULL, 0), &nb_space_host, NB_WIRE);
	double *pos = nb_column_write(nb_frame_add_field(frame, NB_POS, "<f4", 0), &nb_space_host, NB_AS_F64);
	double *mass = nb_column_write(nb_frame_add_field(frame, NB_MASS, NULL, 0), &nb_space_host, NB_AS_F64);
	unsigned char *odd = nb_column_write(
		nb_frame_add(frame, "odd", NB_PARTICLE, "|V3", 5, "", 0), &nb_space_host, NB_WIRE);
	CHECK(id && pos && mass && odd);
	for (size_t i = 0; i < n; i++) {
		id[i] = 1000 + i;
		mass[i] = 1.0 / (double)(i + 1);
		for (int k = 0; k < 3; k++)
			pos[3 * i + k] = (double)i + 0.25 * k; /* exact in f4 */
		for (int k = 0; k < 15; k++)
			odd[15 * i + k] = (unsigned char)(i + k);
	}
	frame->rows[NB_BOX] = 2;
	int32_t *box = nb_column_write(nb_frame_add_field(frame, NB_BOX_NEIGHBOUR, NULL, 8), &nb_space_host, NB_WIRE);
	CHECK(box != NULL);
	memset(box, 0xff, 2 * 8 * sizeof *box);
}

static void check_frame(const struct nb_frame *frame, size_t n, double time)
{
	double t;
	CHECK(frame->rows[NB_PARTICLE] == n && frame->rows[NB_BOX] == 2 && frame->ncolumn == 5);
	CHECK(nb_frame_attribute_f64(frame, "time", -1, &t) == NB_OK && t == time);
	CHECK(strcmp(nb_frame_attribute(frame, "note"), "two\nlines, a \\ and = too") == 0);
	CHECK(frame->nattribute == 4 && strcmp(nb_frame_attribute_text(frame, 3), "two") == 0);
	const double *pos = nb_column_read(nb_frame_field(frame, NB_POS), &nb_space_host, NB_AS_F64);
	const double *mass = nb_column_read(nb_frame_field(frame, NB_MASS), &nb_space_host, NB_AS_F64);
	const unsigned char *odd = nb_column_read(nb_frame_find(frame, "odd"), &nb_space_host, NB_WIRE);
	CHECK(strcmp(nb_frame_field(frame, NB_POS)->dtype, "<f4") == 0);
	size_t wrong = 0;
	for (size_t i = 0; i < n; i++)
		wrong += pos[3 * i + 2] != (double)i + 0.5 || mass[i] != 1.0 / (double)(i + 1) ||
			 odd[15 * i + 14] != (unsigned char)(i + 14);
	CHECK(wrong == 0);
}

static size_t write_file(const size_t *n, int nframe)
{
	FILE *file = fopen(path, "wb");
	struct nb_writer writer;
	CHECK(nb_writer_open(&writer, dup(fileno(file))) == NB_OK);
	for (int f = 0; f < nframe; f++) {
		struct nb_frame frame;
		make_frame(&frame, n[f], 0.1 * f);
		CHECK(nb_writer_next(&writer, &frame) == 0);
		nb_frame_clear(&frame);
	}
	CHECK(nb_writer_close(&writer) == 0);
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	fclose(file);
	return (size_t)size;
}

static unsigned char *load(size_t size)
{
	unsigned char *bytes = malloc(size + 1);
	FILE *file = fopen(path, "rb");
	CHECK(fread(bytes, 1, size + 1, file) == size);
	fclose(file);
	return bytes;
}

static void save(const unsigned char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");
	CHECK(fwrite(bytes, 1, size, file) == size);
	fclose(file);
}

/* Reads to the end; how many frames, and the last answer. mapped 0: through a pipe. */
static enum nb_answer read_all(int mapped, int *nframe, char *error)
{
	struct nb_reader reader;
	struct nb_frame frame;
	FILE *file = mapped ? fopen(path, "rb") : NULL, *pipe = NULL;
	if (!mapped) {
		char command[64];
		snprintf(command, sizeof command, "cat %s", path);
		pipe = popen(command, "r");
	}
	CHECK(nb_reader_open(&reader, fileno(mapped ? file : pipe)) == NB_OK);
	nb_frame_init(&frame);
	*nframe = 0;
	enum nb_answer answer;
	while ((answer = nb_reader_next(&reader, &frame)) == NB_FRAME)
		++*nframe;
	strcpy(error, reader.error);
	nb_frame_clear(&frame);
	nb_reader_close(&reader);
	if (mapped)
		fclose(file);
	else
		pclose(pipe);
	return answer;
}

/* What is behind the new end of a file that is cut while it is mapped is read as zeros up to the end of the page: the
 * error is the file's, whatever those zeros look like. */
static void test_cut_while_mapped(void)
{
	const size_t n[] = {3}, size = write_file(n, 1);
	CHECK(size < 4096);			      /* one page: all that is gone would raise SIGBUS */
	for (size_t to = 1; to < size - 192; to += 7) /* before the checksums, which are behind all else of the frame */
		for (int begun = 0; begun < 2; begun++) {
			struct nb_reader reader;
			struct nb_frame frame;
			write_file(n, 1);
			FILE *file = fopen(path, "rb+");
			nb_frame_init(&frame);
			CHECK(nb_reader_open(&reader, fileno(file)) == NB_OK && reader.map);
			CHECK(!begun || nb_reader_head(&reader, &frame) == NB_FRAME);
			CHECK(ftruncate(fileno(file), (off_t)to) == 0);
			enum nb_answer answer = begun ? nb_reader_columns(&reader, &frame, SIZE_MAX)
						      : nb_reader_next(&reader, &frame);
			CHECK(answer == NB_ERROR && strstr(reader.error, "shorter while it was read"));
			nb_frame_clear(&frame);
			nb_reader_close(&reader);
			fclose(file);
		}
}

static void test_round_trip(void)
{
	const size_t n[] = {0, 1, 257, 100003};
	size_t size = write_file(n, 4);
	CHECK(size % 64 == 0);
	for (int mapped = 0; mapped < 2; mapped++) {
		struct nb_reader reader;
		struct nb_frame frame;
		char command[64];
		snprintf(command, sizeof command, "cat %s", path);
		FILE *file = mapped ? fopen(path, "rb") : popen(command, "r");
		CHECK(nb_reader_open(&reader, fileno(file)) == NB_OK);
		nb_frame_init(&frame);
		for (int f = 0; f < 4; f++) {
			CHECK(nb_reader_next(&reader, &frame) == NB_FRAME);
			check_frame(&frame, n[f], 0.1 * f);
		}
		CHECK(nb_reader_next(&reader, &frame) == NB_END);
		nb_frame_clear(&frame);
		nb_reader_close(&reader);
		if (mapped)
			fclose(file);
		else
			pclose(file);
	}
}

static void test_damage(void)
{
	const size_t n[] = {3, 2};
	size_t size = write_file(n, 2);
	unsigned char *bytes = load(size);
	int nframe, wrong = 0, silent = 0;
	char error[NB_ERROR_SIZE];
	/* cut anywhere: never a clean end; mapped at every byte, through a pipe at every 37th */
	for (size_t cut = 0; cut < size; cut++) {
		save(bytes, cut);
		for (int mapped = cut % 37 != 0; mapped < 2; mapped++) {
			wrong += read_all(mapped, &nframe, error) != NB_ERROR;
			silent += error[0] == '\0' || !strstr(error, "truncated");
		}
	}
	CHECK(wrong == 0);
	CHECK(silent == 0);
	/* flip one bit anywhere but in padding: never accepted with other contents */
	int accepted = 0;
	for (size_t at = 0; at < size; at++) {
		bytes[at] ^= 0x10;
		save(bytes, size);
		if (read_all(1, &nframe, error) != NB_ERROR) {
			accepted++;
			CHECK(bytes[at] == 0x10); /* it was padding between columns, always 0 */
		}
		bytes[at] ^= 0x10;
	}
	CHECK(accepted < 700);
	/* a frame lost, a frame duplicated */
	size_t second = 0;
	for (size_t at = 64; at < size && !second; at += 64)
		if (memcmp(bytes + at, bytes, 8) == 0)
			second = at;
	save(bytes + second, size - second);
	CHECK(read_all(1, &nframe, error) == NB_ERROR && strstr(error, "missing or duplicated"));
	/* cat a b */
	unsigned char *twice = malloc(2 * size);
	memcpy(twice, bytes, size);
	memcpy(twice + size, bytes, size);
	save(twice, 2 * size);
	CHECK(read_all(0, &nframe, error) == NB_END && nframe == 4);
	CHECK(read_all(1, &nframe, error) == NB_END && nframe == 4);
	free(twice);
	free(bytes);
}

static void store(unsigned char *to, uint64_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (unsigned char)(x >> 8 * i);
}

/* A header with sound CRC but absurd sizes must be refused before any allocation. */
static void test_absurd_sizes(void)
{
	const size_t n[] = {3};
	size_t size = write_file(n, 1);
	unsigned char *bytes = load(size);
	uint32_t attribute_bytes = bytes[56] | (uint32_t)bytes[57] << 8;
	size_t head = 128 + (attribute_bytes + 63) / 64 * 64 + 5 * 128;
	static const struct {
		int at, bytes;
		uint64_t value;
		const char *text;
	} change[] = {
		{8, 2, 2, "version 2.0"},
		{12, 4, 0xffffffff, "impossible sizes"},
		{16, 4, 7, "impossible sizes"},
		{32, 8, UINT64_MAX, "claims"},
		{32, 8, (uint64_t)1 << 39, " bytes (want 4398046511104)"},
		{56, 8, UINT64_MAX / 2, "impossible sizes"},
		{64, 4, 0x7fffffff, "impossible sizes"},
		{68, 4, 1, "impossible sizes"},
		{72, 8, 12345, "does not match its columns"},
	};
	for (size_t c = 0; c < sizeof change / sizeof *change; c++) {
		unsigned char *damaged = malloc(size);
		int nframe;
		char error[NB_ERROR_SIZE];
		memcpy(damaged, bytes, size);
		store(damaged + change[c].at, change[c].value, change[c].bytes);
		store(damaged + 20, 0, 4);
		store(damaged + 20, libdeflate_crc32(0, damaged, head), 4);
		save(damaged, size);
		for (int mapped = 0; mapped < 2; mapped++) {
			CHECK(read_all(mapped, &nframe, error) == NB_ERROR);
			CHECK(strstr(error, change[c].text) != NULL);
			if (!strstr(error, change[c].text))
				fprintf(stderr, "case %zu: %s\n", c, error);
		}
		free(damaged);
	}
	/* rows and bytes agree and are absurd: more than the machine has */
	unsigned char *first = bytes + head - 5 * 128;
	store(bytes + 32, (uint64_t)1 << 39, 8);
	store(first + 88, (uint64_t)8 << 39, 8);
	store(bytes + 20, 0, 4);
	store(bytes + 20, libdeflate_crc32(0, bytes, head), 4);
	save(bytes, size);
	int nframe;
	char error[NB_ERROR_SIZE];
	CHECK(read_all(0, &nframe, error) == NB_ERROR && strstr(error, "more than this machine's memory"));
	free(bytes);
}

/* The same of the directory: what one entry says must fit what the others and the header say. */
static void test_absurd_columns(void)
{
	const size_t n[] = {3};
	const size_t size = write_file(n, 1);
	unsigned char *bytes = load(size), *damaged = malloc(size);
	const uint32_t attribute_bytes = bytes[56] | (uint32_t)bytes[57] << 8;
	const size_t directory = 128 + (attribute_bytes + 63) / 64 * 64, head = directory + 5 * 128;
	static const struct {
		int at, bytes; /* in the second entry; 0: the name of the first */
		uint64_t value;
		const char *text;
	} change[] = {
		{0, 32, 0, "appears twice"},
		{0, 1, 0, "is not plain text"},
		{32, 1, '>', "want a little-endian"},
		{40, 4, 3, "unknown table 3"},
		{44, 4, 0, "has 0 components"},
		{44, 4, 65537, "has 65537 components"},
		{80, 8, 64, "is at the wrong offset"},
		{80, 8, UINT64_MAX - 63, "is at the wrong offset"},
		{88, 8, 64, " has 64 bytes (want "},
	};
	for (size_t c = 0; c < sizeof change / sizeof *change; c++) {
		int nframe;
		char error[NB_ERROR_SIZE];
		memcpy(damaged, bytes, size);
		unsigned char *entry = damaged + directory + 128;
		if (change[c].bytes == 32)
			memcpy(entry, entry - 128, 32);
		else
			store(entry + change[c].at, change[c].value, change[c].bytes);
		store(damaged + 20, 0, 4);
		store(damaged + 20, libdeflate_crc32(0, damaged, head), 4);
		save(damaged, size);
		for (int mapped = 0; mapped < 2; mapped++) {
			const int refused = read_all(mapped, &nframe, error) == NB_ERROR &&
					    strstr(error, change[c].text);
			CHECK(refused);
			if (!refused)
				fprintf(stderr, "case %zu: %s\n", c, error);
		}
	}
	free(damaged);
	free(bytes);
}

static void test_blocks(void)
{
	struct nb_frame frame;
	struct nb_writer writer;
	nb_frame_init(&frame);
	frame.rows[NB_PARTICLE] = 100000;
	CHECK(nb_frame_add_field(&frame, NB_ID, NULL, 0) && nb_frame_add_field(&frame, NB_MASS, NULL, 0));
	FILE *file = fopen(path, "wb");
	CHECK(nb_writer_open(&writer, dup(fileno(file))) == NB_OK);
	CHECK(nb_writer_begin(&writer, &frame) == 0);
	for (uint64_t i = 0; i < 200000; i += 625) {
		uint64_t block[625];
		for (int k = 0; k < 625; k++)
			block[k] = i + (uint64_t)k;
		CHECK(nb_writer_block(&writer, block, sizeof block) == 0);
	}
	CHECK(nb_writer_block(&writer, "x", 1) == -1); /* one byte too many */
	nb_writer_abandon(&writer);
	fclose(file);
	CHECK(nb_writer_open(&writer, dup(1)) == NB_OK);
	nb_writer_abandon(&writer);
	nb_frame_clear(&frame);
}

static void test_attributes(void)
{
	struct nb_frame frame;
	double value;
	nb_frame_init(&frame);
	CHECK(nb_frame_set_attribute(&frame, "time", "abc") == NB_OK);
	CHECK(nb_frame_attribute_f64(&frame, "time", 0, &value) == NB_EINVAL);
	CHECK(nb_frame_attribute_f64(&frame, "none", 7, &value) == NB_OK && value == 7);
	CHECK(nb_frame_set_attribute_f64(&frame, "time", 0.1) == NB_OK);
	CHECK(strcmp(nb_frame_attribute(&frame, "time"), "0.1") == 0);
	nb_frame_drop_attribute(&frame, "time");
	CHECK(nb_frame_attribute(&frame, "time") == NULL);
	nb_frame_clear(&frame);
}

static void test_dtypes(void)
{
	CHECK(nb_dtype_size("<f8") == 8 && nb_dtype_size("|u1") == 1 && nb_dtype_size("|S32") == 32);
	CHECK(nb_dtype_size("<i4") == 4 && nb_dtype_size("<c16") == 16);
	CHECK(!nb_dtype_size(">f8") && !nb_dtype_size("f8") && !nb_dtype_size("<f") && !nb_dtype_size("<O8"));
	CHECK(!nb_dtype_size("|f8") && !nb_dtype_size("<u1") && !nb_dtype_size("<f0") && !nb_dtype_size("<f8x"));
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	test_round_trip();
	test_cut_while_mapped();
	test_damage();
	test_absurd_sizes();
	test_absurd_columns();
	test_blocks();
	test_attributes();
	test_dtypes();
	unlink(path);
	return unit_end();
}
