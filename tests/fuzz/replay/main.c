/* main.c - hands each file of the folders that are named to a target, once, as libFuzzer does with -runs=0: for builds
 * without libFuzzer.  What begins with '-' is left out.  The last name on standard error is that of the input that
 * ended the target. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
	(void)data;
	return size < max ? size : max;
}

int main(int argc, char **argv)
{
	static uint8_t data[1 << 16];
	size_t done = 0;
	for (int i = 1; i < argc; i++) {
		struct dirent **names = NULL;
		const int n = argv[i][0] == '-' ? 0 : scandir(argv[i], &names, NULL, alphasort);
		REQUIRE(n >= 0);
		for (int k = 0; k < n; k++) {
			char path[4096];
			snprintf(path, sizeof path, "%s/%s", argv[i], names[k]->d_name);
			FILE *f = names[k]->d_name[0] == '.' ? NULL : fopen(path, "rb");
			free(names[k]);
			if (!f)
				continue;
			const size_t size = fread(data, 1, sizeof data, f);
			REQUIRE(size < sizeof data);
			fclose(f);
			fprintf(stderr, "input %s\n", path);
			uint8_t *exact = malloc(size + !size); /* so that AddressSanitizer sees where it ends */
			REQUIRE(exact);
			memcpy(exact, data, size);
			alarm(20); /* what takes longer hangs */
			LLVMFuzzerTestOneInput(exact, size);
			free(exact);
			done++;
		}
		free(names);
	}
	fprintf(stderr, "stat::number_of_executed_units: %zu\n", done);
	return done == 0;
}
