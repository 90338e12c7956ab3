/* SPDX-License-Identifier: MIT */
/* fuzz_command.c - any text as the `command` of a start, split and as JSON: words that are quoted again
 * are the same words, and what is understood is one kind and whole. */
#include <stdlib.h>
#include <string.h>

#include "api/command.h"
#include "api/words.h"
#include "base/buf.h"
#include "plan/strv.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int holds)
{
	if (!holds)
		__builtin_trap();
}

/* As a shell would read it back: each word in single quotes. */
static void quote(char *const *words, struct buf *out)
{
	for (size_t i = 0; words && words[i]; i++) {
		buf_puts(out, " '");
		for (const char *p = words[i]; *p; p++)
			if (*p == '\'')
				buf_puts(out, "'\\''");
			else
				buf_putc(out, *p);
		buf_putc(out, '\'');
	}
}

static void check_command(const struct start_command *c)
{
	check((c->kind == COMMAND_PROGRAM) == (c->argv != NULL));
	check((c->kind == COMMAND_EXECUTOR) == (c->username != NULL));
	check((c->kind == COMMAND_NATIVE) == (c->port == 0));
	check(!c->working_dir || (c->kind == COMMAND_EXECUTOR && c->working_dir[0] == '/'));
	check(!c->browser_words || c->browser);
	check(c->kind != COMMAND_PROGRAM || c->argv[0][0]);
	check(c->kind != COMMAND_PROGRAM || c->has_port || c->port == COMMAND_PORT_DEFAULT);
}

static void as_text(const char *text, size_t size)
{
	autostrv char **words = NULL, **again = NULL;
	autobuf struct buf quoted = { 0 };
	struct start_command c = { 0 };
	struct err e = { 0 };
	size_t n;

	if (words_split(text, size, COMMAND_WORDS_MAX, &words, &e) < 0) {
		check(!words && e.code);
		return;
	}
	quote(words, &quoted);
	check(words_split(buf_str(&quoted), quoted.len, COMMAND_WORDS_MAX, &again, &e) == 0);
	n = strv_len(words);
	check(n == strv_len(again));
	for (size_t i = 0; i < n; i++)
		check(strcmp(words[i], again[i]) == 0);
	if (command_of_words(words, &c, &e) == 0)
		check_command(&c);
	command_clear(&c);
}

static void as_json(const char *text, size_t size)
{
	struct json_limits limits = JSON_LIMITS_DEFAULT;
	autojson struct json_doc *doc = NULL;
	struct start_command c = { 0 };
	struct err e = { 0 };

	if (json_parse(text, size, &limits, &doc, &e) < 0)
		return;
	if (command_parse(json_root(doc), &c, &e) == 0)
		check_command(&c);
	command_clear(&c);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	as_text((const char *)data, size);
	as_json((const char *)data, size);
	return 0;
}
