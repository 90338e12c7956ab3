/* SPDX-License-Identifier: MIT */
/* shell_lines.c - see shell_lines.h. */
#include "sandbox/executor/shell_lines.h"

#include <string.h>

#include "base/str.h"

/* The functions. They must bear whatever a command has set: -e, -u, -x, traps, names that are read-
 * only. Nothing they say may depend on the terminal or on descriptors other than 0, which is the
 * socket. __ohs is an array, because those are never exported: 0 what is to be run, 1 and 3 the status
 * and last argument of the last command, 2 its number, 4 and 5 those of what came before a report.
 *
 * __ohs_quiet: no prompt is shown. PS1 is not empty, because files like ~/.bashrc look at that.
 *   PROMPT_COMMAND is for what changes it and is interrupted.
 * __ohs_begin SEQUENCE TEXT BEFORE BEHIND: returns the status of the last command.
 * __ohs_event ... EVENT: the same, for a text that may hold one of the history.
 * __ohs_after SEQUENCE LAST [STATUS]: the first time is the one that counts.
 * __ohs_wrote SEQUENCE: the kernel adds up what all wrote that were waited for.
 * __ohs_say SEQUENCE
 * __ohs_report SEQUENCE LAST say|wrote wrote|say: fails where one of these functions is gone. */
static const char functions[] =
	"__ohs_quiet() { builtin unset -v PROMPT_COMMAND PS0 || builtin true; "
	"builtin printf -v PS2 '' || builtin true; "
	"if builtin printf -v PS1 '\\\\[\\\\]' && [[ $- != *x* ]]; then "
	"builtin printf -v PROMPT_COMMAND '%s' 'PS1=\"\\[\\]\" PS2=' || builtin true; fi; }; "

	"__ohs_begin() { builtin printf 'b\\0%s\\0' \"$1\" >&0; __ohs[0]=$3$2$4; "
	"builtin history -s -- \"$2\" || builtin true; builtin return \"${__ohs[1]-0}\"; }; "

	"__ohs_event() { builtin local t=\"$2\"; builtin printf 'b\\0%s\\0' \"$1\" >&0; "
	"if [[ $- != *H* ]]; then __ohs[0]=$3$2$4; "
	"elif t=$(builtin history -p -- \"$2\" 2>/dev/null); then "
	"if [[ $t = \"$2\" ]]; then __ohs[0]=$3$2$4; "
	"else __ohs[0]=$3$t; builtin printf '%s\\n' \"$t\" >/dev/tty; fi; "
	"else builtin printf 'bash: %s: event not found\\n' \"$6\" >/dev/tty; "
	"t= __ohs[0]= __ohs[2]=$1; fi; "
	"if [[ $t ]]; then builtin history -s -- \"$t\" || builtin true; fi; "
	"builtin return \"${__ohs[1]-0}\"; }; "

	"__ohs_after() { builtin local s=\"${3-$?}\"; if [[ ${__ohs[2]-} != \"$1\" ]]; then "
	"__ohs=('' \"$s\" \"$1\" \"$2\"); __ohs_quiet; fi; }; "

	"__ohs_wrote() { builtin local w=; builtin read -rd '' w </proc/self/io || builtin true; "
	"builtin printf 'w\\0%s\\0%s\\0' \"$1\" \"$w\" >&0; }; "

	"__ohs_say() { builtin local p= d=\"${PWD-}\"; "
	"if builtin hash python; then p=${BASH_CMDS[python]-}; fi; "
	"if [[ ! $d -ef . ]]; then d=$(builtin pwd) || builtin true; fi; "
	"builtin printf 'e\\0%s\\0%s\\0%s\\0%s\\0%s\\0%s\\0' \"$1\" \"${__ohs[1]-0}\" \"${!-}\" "
	"\"$-\" \"$d\" \"$p\" >&0; }; "

	"__ohs_report() { __ohs_after \"$1\" \"${__ohs[5]-}\" \"${__ohs[4]-1}\" && "
	"__ohs_$2 \"$1\" && __ohs_$3 \"$1\"; }\n";

void shell_lines_start(struct buf *out)
{
	buf_puts(out, "alias git='git --no-pager'; ");
	buf_puts(out, functions);
}

/* As $'...': one line, whatever the text holds. */
static void quote(struct buf *out, const char *text, size_t len)
{
	buf_puts(out, "$'");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			buf_puts(out, "\\n");
		else if (text[i] == '\'' || text[i] == '\\')
			buf_add(out, (char[]) { '\\', text[i] }, 2);
		else if (text[i]) /* a NUL would end the word; no command can hold one */
			buf_putc(out, text[i]);
	}
	buf_puts(out, "' ");
}

/* The first "!" that bash might take for an event of the history; NULL: there is none. */
static const char *find_mark(const char *at, const char *end)
{
	bool quoted = false;

	for (; at < end; at++) {
		if (*at == '\'' && !quoted)
			at = memchr(at + 1, '\'', (size_t)(end - at - 1));
		else if (*at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (*at == '!' && at + 1 < end && !strchr(" \t\n\r=(\"", at[1]))
			return at;
		if (!at)
			break;
	}
	return NULL;
}

/* Where an event may stand, and its length as bash says it when there is none such. Bash itself
 * decides what it stands for. */
static const char *find_event(const struct shell_line *l, size_t *len)
{
	const char *end = l->text + l->len, *at = l->text;

	/* Bash reads the body of a here-document past its history, which it cannot do from a text. */
	if (memmem(l->text, l->len, "<<", 2))
		return NULL;
	if (!l->len || *at != '^')
		at = find_mark(at, end);
	for (*len = 0; at && at + *len < end && !strchr(" \t\n:;&()|<>\"'", at[*len]); ++*len)
		;
	return at;
}

/* A condition is what neither `set -e` nor a trap on errors looks at: the status of the last command
 * goes from there to $? of this one. What is behind the text within its eval sees its $_. */
void shell_lines_run(struct buf *out, const struct shell_line *l)
{
	static const char x_off[] = "{ builtin set +x; } 2>&-; ", x_on[] = "{ set -x; } 2>&-\n";
	size_t event_len = 0;
	const char *event = find_event(l, &event_len);

	if (l->traced)
		buf_puts(out, x_off);
	buf_printf(out, "if __ohs_%s %u ", event ? "event" : "begin", l->sequence);
	quote(out, l->text, l->len);
	quote(out, x_on, l->traced ? sizeof(x_on) - 1 : 0);
	if (l->whole)
		buf_printf(out, "$'\\n{ __ohs_after %u \"$_\"; } 2>&-' ", l->sequence);
	else
		buf_puts(out, "'' ");
	if (event) {
		buf_puts(out, "'' ");
		quote(out, event, event_len);
	}
	buf_printf(out,
		   "\"${__ohs[3]-}\"; then eval -- \"${__ohs[0]-}\" 0<>%s; "
		   "else eval -- \"${__ohs[0]-}\" 0<>%s; fi",
		   l->tty, l->tty);
	if (!l->whole)
		buf_printf(out, "; { __ohs_after %u \"$_\"; } 2>&-", l->sequence);
}

/* The shell reads no terminal, so a key is what it would do there. All others leave the status as it was. */
void shell_lines_key(struct buf *out, char key, uint32_t sequence)
{
	if (key == 3)
		buf_puts(out, "builtin kill -INT $$");
	else if (key == 4)
		buf_puts(out, "builtin exit");
	else
		buf_printf(out, "{ __ohs[2]=%u; } 2>&-", sequence);
}

/* The empty line ends whatever state a syntax error left the parser in; and a line of its own is read
 * also after one that was interrupted. There is no quote in it: a signal may cut off its beginning, and
 * what is left must not open one. */
void shell_lines_report(struct buf *out, uint32_t sequence, bool counts_first)
{
	buf_printf(out,
		   "\n\n{ __ohs[4]=$? __ohs[5]=${_-}; __ohs_report %u %s || "
		   "builtin printf l\\\\0%%s\\\\0 %u >&0; } 2>&-\n",
		   sequence, counts_first ? "wrote say" : "say wrote", sequence);
}

/* A status that was lost is no success. */
void shell_lines_again(struct buf *out, uint32_t sequence)
{
	buf_puts(out, "\n\n");
	buf_puts(out, functions);
	buf_printf(out, "{ __ohs[4]=1; __ohs_report %u say wrote; } 2>&-\n", sequence);
}

/* --- what is heard --------------------------------------------------------------------------- */

static unsigned fields_of(char kind)
{
	switch (kind) {
	case 'b':
	case 'l':
		return 2;
	case 'w':
		return 3;
	case 'e':
		return SHELL_FIELDS_MAX;
	default:
		return 0;
	}
}

long shell_lines_said(const struct buf *heard, struct shell_said *said)
{
	const char *at = buf_str(heard), *end = at + heard->len;
	uint64_t sequence;
	struct err e;
	unsigned n;

	if (at == end)
		return 0;
	*said = (struct shell_said) { .kind = *at };
	n = fields_of(*at);
	if (!n)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (!nul)
			return 0;
		said->field[i] = at;
		at = nul + 1;
	}
	if (said->field[0][1] || str_u64(said->field[1], 0, UINT32_MAX, &sequence, &e) < 0)
		return -1;
	said->sequence = (uint32_t)sequence;
	return at - buf_str(heard);
}
