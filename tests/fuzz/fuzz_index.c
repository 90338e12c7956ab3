/* SPDX-License-Identifier: MIT */
/* fuzz_index.c - the index of a base below, which its repository's owner may have meddled with. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "git/index.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	autoclose int fd = memfd_create("index", MFD_CLOEXEC);
	autobuf struct buf trees = { 0 };
	struct index_in *in = NULL;
	struct index_out out;
	struct err e = { 0 };
	int n;

	if (fd < 0 || io_write_all(fd, data, size, &e) < 0 || index_read(fd, 20, &in, &e) < 0)
		return 0;
	index_out_init(&out, 20);
	n = index_keep_file(in, "a", &out, &e);
	if (n == 0)
		n = index_keep_dir(in, "d", "d", &out, &trees, &e);
	if (n >= 0)
		n = index_keep_dir(in, "e/f", "f", &out, &trees, &e);
	index_out_clear(&out);
	index_in_free(in);
	return 0;
}
