/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. */
#include "cli/options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define NAME_MAX_BYTES 40

/* Damerau-Levenshtein distance (neighbours swapped count once) of two short names. */
static unsigned distance(const char *a, const char *b)
{
	unsigned d[NAME_MAX_BYTES + 1][NAME_MAX_BYTES + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > NAME_MAX_BYTES || m > NAME_MAX_BYTES)
		return UINT32_MAX;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *nearest_name(const char *typed, const char *(*next)(const void *list, size_t i),
			 const void *list)
{
	/* A third of the letters may be wrong; more is another word. */
	unsigned best = (unsigned)strlen(typed) / 3 + 2;
	const char *found = NULL, *name;

	for (size_t i = 0; (name = next(list, i)) != NULL; i++) {
		unsigned d = distance(typed, name);

		/* What was cut short is meant, however much is missing. */
		if (strlen(typed) >= 3 && str_starts(name, typed))
			d = 1;
		if (d < best) {
			best = d;
			found = name;
		}
	}
	return found;
}

static const char *opt_name(const void *list, size_t i)
{
	return ((const struct opt *)list)[i].name;
}

static int take(const struct opt *o, void *into, const char *value, struct err *e)
{
	void *field = (char *)into + o->offset;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_TEXT:
		if (*(const char **)field)
			return err_code(e, EINVAL, "--%s is given twice", o->name);
		*(const char **)field = value;
		return 0;
	case OPT_CALL:
		if (o->call(into, value, e) < 0)
			return value ? err_wrap(e, "--%s", o->name) : -e->code;
		return 0;
	case OPT_END:
		break;
	}
	return err_code(e, EINVAL, "--%s cannot be given", o->name);
}

struct scan {
	const struct opt *table;
	char **argv;
	int argc, at;
	void *into;
};

static int take_with_value(struct scan *s, const struct opt *o, const char *attached, struct err *e)
{
	const char *value = attached;

	if (!o->value && attached)
		return err_code(e, EINVAL, "--%s takes no value", o->name);
	if (o->value && !value) {
		if (s->at >= s->argc)
			return err_code(e, EINVAL, "--%s wants %s behind it", o->name, o->value);
		value = s->argv[s->at++];
	}
	return take(o, s->into, value, e);
}

static int take_long(struct scan *s, const char *text, struct err *e)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	char name[NAME_MAX_BYTES + 1];
	const char *near;

	for (const struct opt *o = s->table; o->kind != OPT_END; o++)
		if (strlen(o->name) == len && memcmp(o->name, text, len) == 0)
			return take_with_value(s, o, equals ? equals + 1 : NULL, e);
	if (len == 4 && memcmp(text, "help", 4) == 0)
		return OPTS_HELP;
	(void)snprintf(name, sizeof(name), "%.*s",
		       (int)(len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES), text);
	near = nearest_name(name, opt_name, s->table);
	if (near)
		return err_code(e, EINVAL, "unknown option '--%s'; did you mean '--%s'?", name,
				near);
	return err_code(e, EINVAL, "unknown option '--%s'", name);
}

/* A cluster: "-qv", "-e K=V", "-eK=V". */
static int take_letters(struct scan *s, const char *text, struct err *e)
{
	while (*text) {
		const struct opt *o = s->table;
		char letter = *text++;
		int r;

		while (o->kind != OPT_END && o->letter != letter)
			o++;
		if (o->kind == OPT_END && letter == 'h')
			return OPTS_HELP;
		if (o->kind == OPT_END)
			return err_code(e, EINVAL, "unknown option '-%c'", letter);
		if (!o->value) {
			r = take(o, s->into, NULL, e);
		} else {
			r = take_with_value(s, o, *text ? text : NULL, e);
			text = "";
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int opts_parse(const struct opt *table, bool first_operand_ends, int argc, char **argv, void *into,
	       struct err *e)
{
	struct scan s = { .table = table, .argv = argv, .argc = argc, .at = 1, .into = into };
	struct err first = { 0 };
	int n = 0;

	while (s.at < argc) {
		char *word = argv[s.at++];
		struct err here = { 0 };
		int r = 0;

		if (word[0] != '-' || !word[1]) {
			argv[n++] = word;
			if (first_operand_ends)
				break;
		} else if (strcmp(word, "--") == 0) {
			break;
		} else if (word[1] == '-') {
			r = take_long(&s, word + 2, &here);
		} else {
			r = take_letters(&s, word + 1, &here);
		}
		if (r == OPTS_HELP)
			return r;
		if (r < 0)
			err_keep(&first, &here);
	}
	while (s.at < argc)
		argv[n++] = argv[s.at++];
	argv[n] = NULL;
	if (first.code) {
		*e = first;
		return -first.code;
	}
	return n;
}

void opts_describe(const struct opt *table, struct buf *out)
{
	for (const struct opt *o = table; o->kind != OPT_END; o++) {
		char left[80];

		(void)snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
			       o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			       o->value ? " " : "", o->value ? o->value : "");
		buf_printf(out, "  %-36s %s\n", left, o->help);
	}
	buf_puts(out, "  -h, --help                           show this\n");
}
