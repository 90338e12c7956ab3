/* SPDX-License-Identifier: MIT */
/* fuzz_client.c - what a hostile executor answers: a head, then chunks. Every prefix that is called
 * whole must have been so, and what is given back lies within what was given. */
#include <stdint.h>
#include <stdlib.h>

#include "launch/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes;
	struct client_head h = { 0 };
	struct err e = { 0 };
	size_t at;

	if (client_parse_head(text, len, &h, &e) != 1)
		return 0;
	if (h.head_bytes > len || h.head_bytes < 4 || h.status > 999 || h.length > CLIENT_BODY_MAX)
		abort();
	for (at = h.head_bytes; h.chunked && at < len;) {
		const char *data = NULL;
		size_t n = 0, used = 0;
		int r = client_parse_chunk(text + at, len - at, &data, &n, &used, &e);

		if (r != 1)
			break;
		if (used > len - at || data < text + at || data + n > text + len)
			abort();
		at += used;
	}
	return 0;
}
