/* SPDX-License-Identifier: MIT */
/* fuzz_sudo.c - what a process of a session may send to a monitor of `sudo`: any bytes, any number of
 * descriptors. What is taken must encode to the same bytes again.
 *
 * The first byte says how many descriptors came. They are numbers nobody has open. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/sudo.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void round_trip(const struct sudo_message *m, const unsigned char *data, size_t size)
{
	autobuf struct buf bytes = { 0 };
	int fds[WIRE_FDS_MAX];
	struct err e = { 0 };
	unsigned n;

	if (sudo_encode(m, &bytes, fds, &n, &e) < 0)
		abort();
	if (bytes.len != size || memcmp(bytes.data, data, size) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int fds[SUDO_FDS_MAX];
	struct sudo_message m;
	struct err e = { 0 };
	unsigned n;

	if (!size)
		return 0;
	n = data[0] % (SUDO_FDS_MAX + 1);
	for (unsigned i = 0; i < n; i++)
		fds[i] = 1000000 + (int)i;
	if (sudo_decode(data + 1, size - 1, fds, n, &m, &e) < 0)
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (fds[i] != -1)
			abort(); /* each is the message's now */
	round_trip(&m, data + 1, size - 1);
	sudo_message_clear(&m);
	return 0;
}
