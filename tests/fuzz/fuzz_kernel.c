/* SPDX-License-Identifier: MIT */
/* fuzz_kernel.c - what a Python says over its channel, cut where the reads cut it: each reply lies
 * within the bytes, is whole with its last byte and not before, and is the same wherever the cut is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/kernel_wire.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(const char *at, size_t left, long n, const struct kernel_reply *r)
{
	struct kernel_reply again;

	if ((size_t)n > left || r->text.at != at + KERNEL_HEAD_BYTES ||
	    r->text.len != (size_t)n - KERNEL_HEAD_BYTES)
		abort();
	if (kernel_reply_decode(at, (size_t)n - 1, &again) != 0 ||
	    kernel_reply_decode(at, (size_t)n, &again) != n || again.said != r->said)
		abort();
	if (r->said == KERNEL_SAID_DONE && again.sequence != r->sequence)
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct kernel_reply r = { 0 };
	/* Of that size exactly: what is read beyond is found. */
	char *bytes = malloc(size ? size : 1), *at = bytes;
	size_t left = size;
	long n;

	memcpy(bytes, data, size);
	while ((n = kernel_reply_decode(at, left, &r)) > 0) {
		check(at, left, n, &r);
		at += n;
		left -= (size_t)n;
	}
	free(bytes);
	return 0;
}
