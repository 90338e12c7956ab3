/* SPDX-License-Identifier: MIT */
/* lex.c - see lex.h. */
#include "sandbox/executor/lex.h"

#include <string.h>

#include "base/auto.h"

bool lex_enter(struct lex *l)
{
	return ++l->depth <= LEX_DEPTH_MAX;
}

bool lex_leave(struct lex *l, bool parsed)
{
	l->depth--;
	return parsed;
}

char lex_peek(const struct lex *l, size_t n)
{
	return (size_t)(l->end - l->at) > n ? l->at[n] : '\0';
}

/* --- words ----------------------------------------------------------------------------------- */

static bool dollar(struct lex *l, bool in_quotes);

/* Behind this character; those with a backslash before them do not count where `escapes`. */
static bool skip_past(struct lex *l, char mark, bool escapes)
{
	while (l->at < l->end) {
		char c = *l->at++;

		if (c == mark)
			return true;
		if (c == '\\' && escapes && l->at < l->end)
			l->at++;
	}
	return false;
}

/* One character of what stands in double quotes or in braces, with all that it begins. */
bool lex_skip_quoted(struct lex *l)
{
	switch (*l->at) {
	case '\\':
		l->at += l->end - l->at > 1 ? 2 : 1;
		return true;
	case '$':
		return dollar(l, true);
	case '`':
		l->at++;
		return skip_past(l, '`', true);
	default:
		l->at++;
		return true;
	}
}

static bool skip_end(struct lex *l)
{
	if (l->at == l->end)
		return false;
	l->at++;
	return true;
}

static bool double_quotes(struct lex *l)
{
	l->at++;
	while (l->at < l->end && *l->at != '"')
		if (!lex_skip_quoted(l))
			return false;
	return skip_end(l);
}

/* ${...}, from behind its brace. Within double quotes a single one stands for itself. */
static bool braces(struct lex *l, bool in_quotes)
{
	while (l->at < l->end && *l->at != '}') {
		bool done;

		if (*l->at == '"') {
			done = double_quotes(l);
		} else if (*l->at == '\'' && !in_quotes) {
			l->at++;
			done = skip_past(l, '\'', false);
		} else {
			done = lex_skip_quoted(l);
		}
		if (!done)
			return false;
	}
	return skip_end(l);
}

static bool dollar(struct lex *l, bool in_quotes)
{
	char next = lex_peek(l, 1);

	l->at++;
	if (next == '(') {
		l->at++;
		return lex_peek(l, 0) != '(' && lex_enter(l) && lex_leave(l, l->inner(l));
	}
	if (next == '{') {
		l->at++;
		return lex_enter(l) && lex_leave(l, braces(l, in_quotes));
	}
	if (next == '\'' && !in_quotes) {
		l->at++;
		return skip_past(l, '\'', true);
	}
	if (next == '$') /* a number, whatever follows */
		l->at++;
	return true;
}

/* One character of a word, with all that it begins. */
static bool skip_in_word(struct lex *l)
{
	switch (*l->at) {
	case '\'':
		l->at++;
		return skip_past(l, '\'', false);
	case '"':
		return double_quotes(l);
	case '$':
		return dollar(l, false);
	case '<':
	case '>': /* <( and >( are parts of a word */
		l->at += 2;
		return lex_enter(l) && lex_leave(l, l->inner(l));
	case '\\':
		if (l->end - l->at == 1)
			return false; /* the line goes on, and there is none */
		l->at += 2;
		return true;
	default:
		return lex_skip_quoted(l);
	}
}

static bool ends_word(const struct lex *l)
{
	char c = *l->at;

	if (c == '<' || c == '>')
		return lex_peek(l, 1) != '(';
	return strchr(" \t\n;&|()", c) && c;
}

static enum lex_token take_word(struct lex *l)
{
	bool quoted = false;

	while (l->at < l->end && !ends_word(l)) {
		quoted = quoted || strchr("'\"$<>\\`", *l->at);
		if (!skip_in_word(l))
			return LEX_BAD;
	}
	l->quoted = quoted;
	return LEX_WORD;
}

/* --- here-documents -------------------------------------------------------------------------- */

/* Is the line the mark, once its quotes are taken off? */
static bool is_mark(const struct lex_here *h, struct lex_span line)
{
	const char *mark = h->mark.at;

	if (h->tabs)
		while (line.at < line.end && *line.at == '\t')
			line.at++;
	for (; mark < h->mark.end; mark++) {
		if (*mark == '\'' || *mark == '"')
			continue;
		if (*mark == '\\' && mark + 1 < h->mark.end)
			mark++;
		if (line.at == line.end || *line.at++ != *mark)
			return false;
	}
	return line.at == line.end;
}

/* Does a backslash join the next line to this one? */
static bool goes_on(const struct lex_here *h, struct lex_span line)
{
	bool odd = false;

	while (!h->quoted && line.end > line.at && *--line.end == '\\')
		odd = !odd;
	return odd;
}

static struct lex_span take_line(struct lex *l)
{
	const char *feed = memchr(l->at, '\n', (size_t)(l->end - l->at));
	struct lex_span line = { .at = l->at, .end = feed ? feed : l->end };

	l->at = feed ? feed + 1 : l->end;
	return line;
}

static bool skip_body(struct lex *l, const struct lex_here *h)
{
	bool joined = false;

	while (l->at < l->end) {
		struct lex_span line = take_line(l);

		if (!joined && is_mark(h, line))
			return true;
		joined = goes_on(h, line);
	}
	return false;
}

static enum lex_token take_newline(struct lex *l)
{
	l->at++;
	for (unsigned i = l->first_here; i < l->n_here; i++)
		if (!skip_body(l, &l->here[i]))
			return LEX_BAD;
	l->n_here = l->first_here;
	return LEX_NEWLINE;
}

/* --- tokens ---------------------------------------------------------------------------------- */

/* The longest that fits comes first. */
static const struct {
	const char *text;
	enum lex_token token;
} operators[] = {
	{ ";;&", LEX_CLAUSE_END }, { ";;", LEX_CLAUSE_END }, { ";&", LEX_CLAUSE_END },
	{ ";", LEX_SEMICOLON },	   { "&&", LEX_AND_OR },     { "&>>", LEX_REDIRECT },
	{ "&>", LEX_REDIRECT },	   { "&", LEX_AMPERSAND },   { "||", LEX_AND_OR },
	{ "|&", LEX_PIPE },	   { "|", LEX_PIPE },	     { "(", LEX_OPEN },
	{ ")", LEX_CLOSE },	   { "<<<", LEX_REDIRECT },  { "<<-", LEX_HERE },
	{ "<<", LEX_HERE },	   { "<&", LEX_REDIRECT },   { "<>", LEX_REDIRECT },
	{ "<", LEX_REDIRECT },	   { ">>", LEX_REDIRECT },   { ">&", LEX_REDIRECT },
	{ ">|", LEX_REDIRECT },	   { ">", LEX_REDIRECT },
};

static enum lex_token take_operator(struct lex *l)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		size_t len = strlen(operators[i].text);

		if ((size_t)(l->end - l->at) < len || memcmp(l->at, operators[i].text, len) != 0)
			continue;
		l->at += len;
		return operators[i].token;
	}
	return LEX_BAD;
}

static void skip_blanks(struct lex *l)
{
	for (;;) {
		if (lex_peek(l, 0) == ' ' || lex_peek(l, 0) == '\t')
			l->at++;
		else if (lex_peek(l, 0) == '\\' && lex_peek(l, 1) == '\n')
			l->at += 2;
		else
			break;
	}
	if (lex_peek(l, 0) == '#')
		while (l->at < l->end && *l->at != '\n')
			l->at++;
}

void lex_advance(struct lex *l)
{
	const char *start;

	skip_blanks(l);
	start = l->at;
	if (l->at == l->end)
		l->token = l->n_here > l->first_here ? LEX_BAD : LEX_END;
	else if (*l->at == '\n')
		l->token = take_newline(l);
	else if (ends_word(l))
		l->token = take_operator(l);
	else
		l->token = take_word(l);
	l->text = (struct lex_span) { .at = start, .end = l->at };
}

bool lex_is(const struct lex *l, const char *word)
{
	size_t len = (size_t)(l->text.end - l->text.at);

	return l->token == LEX_WORD && !l->quoted && strlen(word) == len &&
	       memcmp(l->text.at, word, len) == 0;
}

bool lex_take(struct lex *l, enum lex_token token)
{
	if (l->token != token)
		return false;
	lex_advance(l);
	return true;
}

bool lex_take_text(struct lex *l, const char *word)
{
	return lex_is(l, word) && lex_take(l, LEX_WORD);
}

void lex_skip_newlines(struct lex *l)
{
	while (l->token == LEX_NEWLINE)
		lex_advance(l);
}
