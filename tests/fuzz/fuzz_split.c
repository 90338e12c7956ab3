/* SPDX-License-Identifier: MIT */
/* fuzz_split.c - any text as commands: where they begin lies inside of the text, in order and behind
 * a line's end, and a line that is certainly a command of its own makes one more. */
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/split.h"

#define STARTS_MAX 64

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int holds)
{
	if (!holds)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const char one_more[] = "\nls";
	size_t starts[STARTS_MAX], again[STARTS_MAX];
	const char *text = (const char *)data;
	unsigned n = split_commands(text, size, starts, STARTS_MAX), n_more;
	char *longer = malloc(size + sizeof(one_more));

	if (!longer)
		return 0;
	for (unsigned i = 0; i < n && i < STARTS_MAX; i++) {
		check(starts[i] <= size && (i == 0 || starts[i] > starts[i - 1]));
		check(i == 0 ||
		      memchr(text + starts[i - 1], '\n', starts[i] - starts[i - 1]) != NULL);
	}
	if (size)
		memcpy(longer, text, size);
	memcpy(longer + size, one_more, sizeof(one_more));
	n_more = split_commands(longer, size + strlen(one_more), again, STARTS_MAX);
	/* It is added to a text that can be parsed and has a command. */
	if (n && starts[0] < size && n < STARTS_MAX) {
		check(n_more == n + 1);
		check(memcmp(starts, again, n * sizeof(*starts)) == 0);
	}
	free(longer);
	return 0;
}
