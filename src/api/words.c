/* SPDX-License-Identifier: MIT */
/* words.c - see words.h; the rules are those of POSIX.1-2017, XCU 2.2 and 2.3. */
#include "api/words.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "plan/strv.h"

struct reader {
	const char *at, *end;
	struct buf word;
	bool begun; /* "" is a word, too */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void take(struct reader *r, char c)
{
	buf_putc(&r->word, c);
	r->begun = true;
}

/* What stands behind a backslash. A line that is continued leaves nothing. */
static int escaped(struct reader *r, struct err *e)
{
	if (r->at == r->end)
		return err_code(e, EINVAL, "ends with a backslash");
	if (*r->at != '\n')
		take(r, *r->at);
	r->at++;
	return 0;
}

static int single_quoted(struct reader *r, struct err *e)
{
	const char *quote = memchr(r->at, '\'', (size_t)(r->end - r->at));

	if (!quote)
		return err_code(e, EINVAL, "has a ' that is not closed");
	buf_add(&r->word, r->at, (size_t)(quote - r->at));
	r->at = quote + 1;
	return 0;
}

/* In double quotes a backslash is one, but before what would mean something there. */
static int double_quoted(struct reader *r, struct err *e)
{
	while (r->at < r->end && *r->at != '"') {
		char c = *r->at++;

		if (c == '\\' && r->at < r->end && strchr("$`\"\\\n", *r->at)) {
			if (escaped(r, e) < 0)
				return -e->code;
		} else {
			take(r, c);
		}
	}
	if (r->at == r->end)
		return err_code(e, EINVAL, "has a \" that is not closed");
	r->at++;
	return 0;
}

/* Up to the blank behind it, or to the end. */
static int read_word(struct reader *r, struct err *e)
{
	while (r->at < r->end && !is_blank(*r->at)) {
		char c = *r->at++;
		int result = 0;

		if (c == '\\') {
			result = escaped(r, e);
		} else if (c == '\'' || c == '"') {
			r->begun = true;
			result = c == '"' ? double_quoted(r, e) : single_quoted(r, e);
		} else {
			take(r, c);
		}
		if (result < 0)
			return result;
	}
	return buf_check(&r->word, e);
}

static int split_into(struct reader *r, size_t max, char ***words, struct err *e)
{
	size_t n = 0;

	for (;;) {
		while (r->at < r->end && is_blank(*r->at))
			r->at++;
		if (r->at == r->end)
			return 0;
		buf_reset(&r->word);
		r->begun = false;
		if (read_word(r, e) < 0)
			return -e->code;
		if (!r->begun)
			continue; /* nothing but a continued line */
		if (n++ == max)
			return err_code(e, E2BIG, "has more than %zu words", max);
		if (strv_add(words, buf_str(&r->word), e) < 0)
			return -e->code;
	}
}

int words_split(const char *text, size_t len, size_t max, char ***words, struct err *e)
{
	struct reader r = { .at = text, .end = text + len };
	autostrv char **list = NULL;
	int result;

	if (len && memchr(text, '\0', len))
		return err_code(e, EINVAL, "holds a NUL");
	result = split_into(&r, max, &list, e);
	buf_clear(&r.word);
	if (result == 0)
		*words = take_ptr(&list);
	return result;
}
