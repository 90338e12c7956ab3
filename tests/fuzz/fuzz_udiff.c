/* SPDX-License-Identifier: MIT */
/* fuzz_udiff.c - the diff of any two texts, divided by a byte of 0xff. Whoever follows it line by
 * line comes from the one to the other, but for the blanks at the end of lines. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/udiff.h"

#define MUST(condition)                   \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* A text, line by line. */
struct lines {
	struct text rest;
	unsigned long at; /* of the next one, from 1 */
	bool over;
};

static struct text next(struct lines *l)
{
	const char *lf = l->rest.len ? memchr(l->rest.at, '\n', l->rest.len) : NULL;
	struct text line = { l->rest.at, lf ? (size_t)(lf - l->rest.at) : l->rest.len };

	MUST(!l->over);
	l->rest.at += line.len + (lf != NULL);
	l->rest.len -= line.len + (lf != NULL);
	l->over = !lf;
	l->at++;
	return line;
}

/* Lines that both have, up to a line of the first. */
static void same_until(struct lines *before, struct lines *after, unsigned long line)
{
	while (before->at < line)
		MUST(text_eq(next(before), next(after)));
}

static unsigned long number(const char **at)
{
	char *end;
	unsigned long n;

	MUST(isdigit((unsigned char)**at));
	n = strtoul(*at, &end, 10);
	*at = end;
	return n;
}

static unsigned long range(const char **at, unsigned long *first)
{
	unsigned long n = 1;

	*first = number(at);
	if (**at == ',') {
		++*at;
		n = number(at);
		MUST(n != 1);
	}
	if (n == 0)
		++*first; /* the line before it was named */
	return n;
}

static void take(struct lines *diff, struct lines *side, char sign, unsigned long n)
{
	for (; n; n--) {
		struct text line = next(diff);

		MUST(line.len && line.at[0] == sign);
		line.at++;
		line.len--;
		MUST(text_eq(line, text_rstrip(next(side))));
	}
}

static void follow(struct lines *diff, struct lines *before, struct lines *after)
{
	unsigned long first[2], n[2];
	struct text head = next(diff);
	const char *at = head.at;

	MUST(head.len > 4 && memcmp(at, "@@ -", 4) == 0);
	at += 4;
	n[0] = range(&at, &first[0]);
	MUST(memcmp(at, " +", 2) == 0);
	at += 2;
	n[1] = range(&at, &first[1]);
	MUST(at + 3 == head.at + head.len && memcmp(at, " @@", 3) == 0);
	MUST(n[0] + n[1] > 0);
	same_until(before, after, first[0]);
	MUST(before->at == first[0] && after->at == first[1]);
	take(diff, before, '-', n[0]);
	take(diff, after, '+', n[1]);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const unsigned char *end = size ? memchr(data, 0xff, size) : NULL;
	size_t half = end ? (size_t)(end - data) : size;
	struct text a = { (const char *)data, half },
		    b = { (const char *)data + half, size - half };
	struct lines before = { .rest = a, .at = 1 }, after, diff = { .at = 1 };
	autobuf struct buf out = { 0 };

	if (end) {
		b.at++;
		b.len--;
	}
	after = (struct lines) { .rest = b, .at = 1 };
	udiff(text_of("f"), a, b, &out);
	MUST(!out.len == text_eq(a, b));
	if (!out.len)
		return 0;
	diff.rest = (struct text) { buf_str(&out), out.len };
	MUST(text_eq(next(&diff), text_of("--- f")));
	MUST(text_eq(next(&diff), text_of("+++ f")));
	while (!diff.over)
		follow(&diff, &before, &after);
	while (!before.over && !after.over)
		MUST(text_eq(next(&before), next(&after)));
	MUST(before.over && after.over);
	return 0;
}
