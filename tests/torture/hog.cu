/* hog: takes the memory of the device, for run-gpu.
 *
 *   hog leave MIB      allocates until so many MiB are left, says what is left, and keeps all until its input ends
 *   hog used COUNT S   says every S seconds, COUNT times, how many bytes of the device are in use, by all programs */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t left_of(size_t *all)
{
	size_t left;
	const cudaError_t error = cudaMemGetInfo(&left, all);
	if (error != cudaSuccess) {
		fprintf(stderr, "hog: %s\n", cudaGetErrorString(error));
		exit(1);
	}
	return left;
}

static void leave(size_t bytes)
{
	size_t all, piece = (size_t)16 << 30;
	while (piece >= (size_t)2 << 20) {
		void *unused;
		if (left_of(&all) < bytes + piece || cudaMalloc(&unused, piece) != cudaSuccess)
			piece /= 2;
	}
	(void)cudaGetLastError();
	printf("%zu MiB left\n", left_of(&all) >> 20);
	fflush(stdout);
	char c;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static void used(long count, long seconds)
{
	for (long k = 0; k < count; k++) {
		size_t all;
		const size_t left = left_of(&all);
		printf("%zu\n", all - left);
		fflush(stdout);
		sleep((unsigned)seconds);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "leave") == 0)
		leave((size_t)atol(argv[2]) << 20);
	else if (argc == 4 && strcmp(argv[1], "used") == 0)
		used(atol(argv[2]), atol(argv[3]));
	else {
		fprintf(stderr, "usage: hog leave MIB | hog used COUNT SECONDS\n");
		return 2;
	}
	return 0;
}
