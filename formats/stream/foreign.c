/* What a file is that is no particle stream, by its first bytes. */
#include "formats/stream/stream.h"

#include <string.h>

static const unsigned char stream_magic[8] = {0x89, 'N', 'B', 'S', '\r', '\n', 0x1a, '\n'};

static const struct {
	const char *magic;
	size_t n;
	const char *what;
} kinds[] = {
	{"\x1f\x8b", 2, "this is gzip: put 'gzip -dc' before"},
	{"\x28\xb5\x2f\xfd", 4, "this is zstd: put 'zstd -dc' before"},
	{"\xfd\x37zXZ\0", 6, "this is xz: put 'xz -dc' before"},
	{"BZh", 3, "this is bzip2: put 'bzip2 -dc' before"},
	{"\x04\"M\x18", 4, "this is lz4: put 'lz4 -dc' before"},
	{"PK\x03\x04", 4, "this is a zip archive: put 'unzip -p FILE' before"},
	{"\x89HDF\r\n\x1a\n", 8, "this is HDF5: put 'nb-convert --from auto' before"},
	{"\x93NUMPY", 6, "this is a NumPy array: nb-stream(5) has a writer of streams in NumPy"},
	{"\x92\x0b", 2, "this is a NEMO snapshot: put 'nb-convert --from nemo' before"},
	{"\x92\x09", 2, "this is a NEMO snapshot: put 'nb-convert --from nemo' before"},
	{"\x0b\x92", 2, "this is a NEMO snapshot: put 'nb-convert --from nemo' before"},
	{"\x09\x92", 2, "this is a NEMO snapshot: put 'nb-convert --from nemo' before"},
	{"\0\1\0\0", 4, "this looks like a GADGET snapshot: put 'nb-convert --from gadget' before"},
	{"\0\0\1\0", 4, "this looks like a GADGET snapshot: put 'nb-convert --from gadget' before"},
	{"\10\0\0\0HEAD", 8, "this is a GADGET snapshot: put 'nb-convert --from gadget' before"},
	{"\0\0\0\10HEAD", 8, "this is a GADGET snapshot: put 'nb-convert --from gadget' before"},
	{"SIMPLE  =", 9, "this is FITS, which is not read: TOPCAT and astropy write the table as CSV"},
	{"P6\n", 3, "this is a PPM picture"},
	{"\x89PNG", 4, "this is a PNG picture"},
	{"\xff\xd8\xff", 3, "this is a JPEG picture"},
	{"\xff\xfe", 2, "this is UTF-16 text: put 'iconv -f UTF-16 -t UTF-8' before"},
	{"\xfe\xff", 2, "this is UTF-16 text: put 'iconv -f UTF-16 -t UTF-8' before"},
};

const char *nb_foreign(const void *head, size_t n)
{
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (n >= kinds[k].n && memcmp(head, kinds[k].magic, kinds[k].n) == 0)
			return kinds[k].what;
	return NULL;
}

const char *nb_foreign_text(const void *head, size_t n)
{
	const unsigned char *c = head;
	const size_t mark = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	for (size_t i = mark; i < n; i++)
		if (c[i] > 0x7e || (c[i] < 0x20 && !(c[i] >= '\t' && c[i] <= '\r')))
			return NULL;
	return n == 0 ? NULL
		      : "this looks like text: put 'nb-convert --from csv' or 'nb-convert --from princeton' before";
}

int nb_is_stream(const void *head, size_t n)
{
	return memcmp(head, stream_magic, n < sizeof stream_magic ? n : sizeof stream_magic) == 0;
}
