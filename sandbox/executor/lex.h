/* SPDX-License-Identifier: MIT */
/* lex.h - the words and operators of bash, one after the other.
 *
 * A word reaches over its quotes and substitutions; what stands in $( ) is commands again, so who
 * knows the grammar parses that (`inner`). The bodies of here-documents are passed over at the end
 * of their line. Comments are blanks. Functions that return bool say whether it was there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum lex_limits {
	LEX_DEPTH_MAX = 200, /* of substitutions and compound commands; deeper is not parsed */
	LEX_HERE_MAX = 16,   /* here-documents that begin in one line; bash's own limit */
};

enum lex_token {
	LEX_END,
	LEX_BAD, /* no token: a quote without its end, and the like */
	LEX_WORD,
	LEX_NEWLINE,
	LEX_SEMICOLON,
	LEX_AMPERSAND,
	LEX_AND_OR, /* && || */
	LEX_PIPE,   /* | |& */
	LEX_OPEN,
	LEX_CLOSE,
	LEX_CLAUSE_END, /* ;; ;& ;;& */
	LEX_REDIRECT,	/* a word follows */
	LEX_HERE,	/* << <<- */
};

struct lex_span {
	const char *at, *end;
};

struct lex_here {
	struct lex_span mark; /* as written, with its quotes */
	bool quoted, tabs;
};

struct lex {
	const char *at, *end; /* what is left, behind the token in hand */
	enum lex_token token;
	struct lex_span text;
	bool quoted; /* it is a word with a quote or an expansion in it: never a reserved one */
	struct lex_here here[LEX_HERE_MAX];
	unsigned n_here, first_here; /* pending; those before the first are an outer text's */
	unsigned depth;
	/* Pass over what stands in a substitution, and over the parenthesis at its end. */
	bool (*inner)(struct lex *l);
};

/* Take the next token in hand. */
void lex_advance(struct lex *l);

/* Is the word in hand this one, without any quote? */
bool lex_is(const struct lex *l, const char *word);

/* Advance if this is in hand. */
bool lex_take(struct lex *l, enum lex_token token);
bool lex_take_text(struct lex *l, const char *word);

void lex_skip_newlines(struct lex *l);

/* The n-th byte behind the token in hand, NUL where there is none. */
char lex_peek(const struct lex *l, size_t n);

/* Pass over one character of what is quoted, with all that it begins. */
bool lex_skip_quoted(struct lex *l);

/* Around whatever recurses. */
bool lex_enter(struct lex *l);
bool lex_leave(struct lex *l, bool parsed);
