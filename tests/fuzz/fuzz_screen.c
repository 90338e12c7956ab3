/* SPDX-License-Identifier: MIT */
/* fuzz_screen.c - any bytes on a terminal: what it shows is UTF-8, and the same whether they come
 * at once or one by one. */
#include <string.h>

#include "base/utf8.h"
#include "sandbox/executor/screen.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct screen at_once = { 0 }, slowly = { 0 };
	autobuf struct buf first = { 0 }, second = { 0 };

	screen_feed(&at_once, (const char *)data, size);
	for (size_t i = 0; i < size; i++)
		screen_feed(&slowly, (const char *)data + i, 1);
	(void)screen_text(&at_once, &first);
	(void)screen_text(&slowly, &second);
	if (first.len != second.len ||
	    (first.len && memcmp(first.data, second.data, first.len) != 0))
		__builtin_trap();
	if (utf8_check(buf_str(&first), first.len) != first.len)
		__builtin_trap();
	screen_clear(&at_once);
	screen_clear(&slowly);
	return 0;
}
