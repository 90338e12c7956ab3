/* SPDX-License-Identifier: MIT */
/* driver.c - replays a corpus through a fuzz target where libFuzzer is not the engine.
 *
 * Arguments are files and directories of files (one level). Each file also runs with its end cut
 * off at many places: the cheapest mutation, and the one that finds reads behind the end. The
 * bytes are handed over in a block of exactly their size, so that sanitizers see such a read. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/io.h"

#define CUTS_MAX 64

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static bool run_bytes(const char *bytes, size_t len)
{
	unsigned char *exact = malloc(len ? len : 1);

	if (!exact)
		return false;
	if (len)
		memcpy(exact, bytes, len);
	(void)LLVMFuzzerTestOneInput(exact, len); /* its result has no meaning but for libFuzzer */
	free(exact);
	return true;
}

static int run_file(int dir, const char *name)
{
	autobuf struct buf b = { 0 };
	struct err e = { 0 };
	size_t step;

	if (io_read_file(dir, name, 16 << 20, &b, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		return -1;
	}
	step = b.len / CUTS_MAX + 1;
	for (size_t cut = 0; cut <= b.len; cut += step)
		if (!run_bytes(b.data, cut))
			return -1;
	return run_bytes(b.data, b.len) ? 1 : -1;
}

static int run_directory(const char *path)
{
	autodir DIR *dir = opendir(path);
	struct dirent *d;
	int count = 0;

	if (!dir) {
		perror(path);
		return -1;
	}
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		if (run_file(dirfd(dir), d->d_name) < 0)
			return -1;
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		int n;

		if (argv[i][0] == '-')
			continue; /* an option of libFuzzer */
		if (stat(argv[i], &st) < 0) {
			perror(argv[i]);
			return 1;
		}
		n = S_ISDIR(st.st_mode) ? run_directory(argv[i]) : run_file(AT_FDCWD, argv[i]);
		if (n < 0)
			return 1;
		total += n;
	}
	(void)printf("%d inputs\n", total);
	return total ? 0 : 1;
}
