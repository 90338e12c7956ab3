/* SPDX-License-Identifier: MIT */
/* split.c - see split.h. Every function takes what it names off the text, and says whether it was
 * there. */
#include "sandbox/executor/split.h"

#include <string.h>

#include "base/auto.h"
#include "sandbox/executor/lex.h"

static bool and_or(struct lex *l);

static const char *const closers[] = { "then", "elif", "else", "fi", "do", "done", "esac", "}" };

static bool begins_command(const struct lex *l)
{
	for (size_t i = 0; i < ARRAY_LEN(closers); i++)
		if (lex_is(l, closers[i]))
			return false;
	return l->token == LEX_WORD || l->token == LEX_OPEN || l->token == LEX_REDIRECT ||
	       l->token == LEX_HERE;
}

/* What stands between the words of a compound command. */
static bool list(struct lex *l, bool may_be_empty)
{
	lex_skip_newlines(l);
	if (!begins_command(l))
		return may_be_empty;
	while (begins_command(l)) {
		if (!and_or(l))
			return false;
		if (l->token != LEX_SEMICOLON && l->token != LEX_AMPERSAND &&
		    l->token != LEX_NEWLINE)
			break;
		lex_advance(l);
		lex_skip_newlines(l);
	}
	return true;
}

/* $(...) and the like, from behind the parenthesis up to behind its end. */
static bool substitution(struct lex *l)
{
	unsigned outer = l->first_here;
	bool parsed;

	l->first_here = l->n_here;
	lex_advance(l);
	parsed = list(l, true) && l->token == LEX_CLOSE && l->n_here == l->first_here;
	l->first_here = outer;
	return parsed;
}

static bool redirection(struct lex *l)
{
	bool here = l->token == LEX_HERE, tabs = here && l->text.end[-1] == '-';

	lex_advance(l);
	if (l->token != LEX_WORD || (here && l->n_here == LEX_HERE_MAX))
		return false;
	if (here)
		l->here[l->n_here++] =
			(struct lex_here) { .mark = l->text, .quoted = l->quoted, .tabs = tabs };
	return lex_take(l, LEX_WORD);
}

/* A number or {name} that belongs to the redirection right behind it. */
static bool is_descriptor(const struct lex *l)
{
	if (l->token != LEX_WORD || (lex_peek(l, 0) != '<' && lex_peek(l, 0) != '>'))
		return false;
	return (*l->text.at >= '0' && *l->text.at <= '9') || *l->text.at == '{';
}

static bool redirections(struct lex *l)
{
	for (;;) {
		if (is_descriptor(l))
			lex_advance(l);
		if (l->token != LEX_REDIRECT && l->token != LEX_HERE)
			return true;
		if (!redirection(l))
			return false;
	}
}

static bool if_command(struct lex *l)
{
	lex_advance(l);
	do {
		if (!list(l, false) || !lex_take_text(l, "then") || !list(l, false))
			return false;
	} while (lex_take_text(l, "elif"));
	if (lex_take_text(l, "else") && !list(l, false))
		return false;
	return lex_take_text(l, "fi");
}

static bool do_done(struct lex *l)
{
	return lex_take_text(l, "do") && list(l, false) && lex_take_text(l, "done");
}

static bool brace_group(struct lex *l)
{
	lex_advance(l);
	return list(l, false) && lex_take_text(l, "}");
}

static bool loop_command(struct lex *l)
{
	lex_advance(l);
	return list(l, false) && do_done(l);
}

static bool for_command(struct lex *l)
{
	lex_advance(l);
	if (!lex_take(l, LEX_WORD))
		return false;
	if (!lex_take(l, LEX_SEMICOLON)) {
		lex_skip_newlines(l);
		if (lex_take_text(l, "in")) {
			while (l->token == LEX_WORD)
				lex_advance(l);
			if (l->token != LEX_NEWLINE && !lex_take(l, LEX_SEMICOLON))
				return false;
		}
	}
	lex_skip_newlines(l);
	return lex_is(l, "{") ? brace_group(l) : do_done(l);
}

static bool case_pattern(struct lex *l)
{
	(void)lex_take(l, LEX_OPEN); /* it may stand there */
	do {
		if (!lex_take(l, LEX_WORD))
			return false;
	} while (lex_take(l, LEX_PIPE));
	return lex_take(l, LEX_CLOSE);
}

static bool case_command(struct lex *l)
{
	lex_advance(l);
	if (!lex_take(l, LEX_WORD))
		return false;
	lex_skip_newlines(l);
	if (!lex_take_text(l, "in"))
		return false;
	lex_skip_newlines(l);
	while (!lex_is(l, "esac")) {
		if (!case_pattern(l) || !list(l, true))
			return false;
		if (!lex_take(l, LEX_CLAUSE_END))
			break;
		lex_skip_newlines(l);
	}
	return lex_take_text(l, "esac");
}

static bool subshell(struct lex *l)
{
	lex_advance(l);
	return list(l, false) && lex_take(l, LEX_CLOSE);
}

/* ((...)): up to two parentheses that belong to the first two. */
static bool arithmetic(struct lex *l)
{
	unsigned open = 2;

	l->at++;
	while (l->at < l->end) {
		char c = *l->at;

		if (c == '(') {
			open++;
		} else if (c == ')' && --open == 0) {
			bool ended = l->at[-1] == ')';

			l->at++;
			lex_advance(l);
			return ended;
		}
		if (!lex_skip_quoted(l))
			return false;
	}
	return false;
}

static bool function_body(struct lex *l);

static bool function_command(struct lex *l)
{
	lex_advance(l);
	if (!lex_take(l, LEX_WORD))
		return false;
	if (lex_take(l, LEX_OPEN) && !lex_take(l, LEX_CLOSE))
		return false;
	return function_body(l);
}

/* NULL: not parsed here. */
static const struct {
	const char *word;
	bool (*parse)(struct lex *l);
} reserved[] = {
	{ "if", if_command },
	{ "for", for_command },
	{ "while", loop_command },
	{ "until", loop_command },
	{ "case", case_command },
	{ "{", brace_group },
	{ "[[", NULL },
	{ "function", function_command },
	{ "select", NULL },
	{ "coproc", NULL },
	{ "time", NULL },
};

/* 1: a compound command was parsed, 0: there is none, -1: it could not be. */
static int compound(struct lex *l)
{
	bool parsed;

	if (l->token == LEX_OPEN) {
		parsed = lex_peek(l, 0) == '(' ? arithmetic(l) : subshell(l);
		return parsed && redirections(l) ? 1 : -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (lex_is(l, reserved[i].word))
			return reserved[i].parse && reserved[i].parse(l) && redirections(l) ? 1
											    : -1;
	return 0;
}

static bool function_body(struct lex *l)
{
	lex_skip_newlines(l);
	return compound(l) > 0;
}

static bool simple(struct lex *l)
{
	bool named = l->token == LEX_WORD;

	if (lex_take(l, LEX_WORD) && lex_take(l, LEX_OPEN))
		return lex_take(l, LEX_CLOSE) && function_body(l);
	if (!named && !redirection(l))
		return false;
	while (l->token == LEX_WORD || l->token == LEX_REDIRECT || l->token == LEX_HERE) {
		if (l->token == LEX_WORD)
			lex_advance(l);
		else if (!redirection(l))
			return false;
	}
	return true;
}

static bool command(struct lex *l)
{
	int made;

	if (!lex_enter(l) || !begins_command(l))
		return lex_leave(l, false);
	made = compound(l);
	return lex_leave(l, made ? made > 0 : simple(l));
}

/* "!" stands before a whole pipeline, or alone. */
static bool pipeline(struct lex *l)
{
	bool negated = lex_is(l, "!");

	while (lex_is(l, "!"))
		lex_advance(l);
	if (negated && (l->token == LEX_SEMICOLON || l->token == LEX_NEWLINE))
		return true;
	do {
		if (lex_is(l, "!") || !command(l))
			return false;
		if (l->token != LEX_PIPE)
			return true;
		lex_advance(l);
		lex_skip_newlines(l);
	} while (true);
}

static bool and_or(struct lex *l)
{
	while (pipeline(l)) {
		if (l->token != LEX_AND_OR)
			return true;
		lex_advance(l);
		lex_skip_newlines(l);
	}
	return false;
}

/* What bash reads before it runs something: up to the end of a line. */
static bool complete_command(struct lex *l)
{
	for (;;) {
		if (!and_or(l))
			return false;
		if (l->token != LEX_SEMICOLON && l->token != LEX_AMPERSAND)
			break;
		lex_advance(l);
		if (!begins_command(l))
			break;
	}
	return l->token == LEX_NEWLINE || l->token == LEX_END;
}

static void note(size_t offset, size_t *starts, unsigned max, unsigned *n)
{
	if (*n < max)
		starts[*n] = offset;
	++*n;
}

unsigned split_commands(const char *text, size_t len, size_t *starts, unsigned max)
{
	struct lex l = { .at = text, .end = text + len, .inner = substitution };
	size_t first = 0;
	unsigned n = 0;

	while (first < len && strchr(" \t\n", text[first]) && text[first])
		first++;
	lex_advance(&l);
	lex_skip_newlines(&l);
	if (first < len && text[first] == '#')
		note(first, starts, max, &n);
	else if (l.token == LEX_END)
		note(len, starts, max, &n); /* nothing is one command, too */
	while (l.token != LEX_END) {
		note((size_t)(l.text.at - text), starts, max, &n);
		if (!complete_command(&l))
			return 0;
		lex_skip_newlines(&l);
	}
	return n;
}
