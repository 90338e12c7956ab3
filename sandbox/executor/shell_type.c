/* SPDX-License-Identifier: MIT */
/* shell_type.c - what is typed into the terminal of a shell; see shell.h.
 *
 * A key that becomes a signal is lost if it comes at the wrong moment, and nobody would press it again.
 * While bash reads the command it would cut the text in two; so it waits until the command has begun.
 * Between fork and exec a bash takes signals with the shell's handlers, and forgets them; so it waits until
 * who is in the foreground is no such. And where that was the shell itself, and then it was not, then the
 * program in the foreground never had the key, and it is typed once more. Where programs come and go so fast
 * that the key would reach one that has ended, the shell whose loop it is is interrupted, too. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "sandbox/executor/shell.h"

enum {
	TYPED_MAX = 1024 * 1024, /* into a terminal that nobody reads */
	BEGIN_MS = 1000,	 /* then it does not begin: it is stopped, or in a trap */
	SHELL_STEADY_MS = 3,	 /* in the foreground: it is not about to fork */
	STEADY_MS = 20,		 /* a program: it is not about to end, most likely */
	CHANGES_MAX = 5,	 /* then it never is */
	HUNTS_MAX = 10,		 /* then it bears it: it has a trap */
	LOOK_MS = 2,
	LOOKS_MS = 500, /* then it is no exec that it waits for: a shell's copy with a trap */
	AGAIN_MS = 10,	/* then it was not on its way to a program any more */
	WATCH_MS = 60,	/* whether it was too late: programs come and go still */
};

static void key_moves(struct timer *timer);

void shell_typing_init(struct shell *sh)
{
	sh->key.timer.fire = key_moves;
}

void shell_typing_stop(struct shell *sh)
{
	loop_disarm(sh->loop, &sh->key.timer);
	buf_clear(&sh->key.behind);
	sh->key = (struct shell_key) { .timer.fire = key_moves };
}

static int foreground(const struct shell *sh)
{
	int group;

	return ioctl(sh->terminal.fd, TIOCGPGRP, &group) < 0 ? 0 : group;
}

static bool has_flag(const struct shell *sh, tcflag_t flag)
{
	struct termios t;

	return tcgetattr(sh->terminal.fd, &t) == 0 && t.c_lflag & flag;
}

/* A program that takes keys one by one shows them itself, mostly. */
bool shell_echoes(const struct shell *sh)
{
	return has_flag(sh, ECHO) || !has_flag(sh, ICANON);
}

void shell_typing_done(struct shell *sh)
{
	struct termios t;

	/* The next command would read it. This flush is the one that works from this end. */
	if (sh->typed && sh->terminal.fd >= 0 && tcgetattr(sh->terminal.fd, &t) == 0)
		(void)tcsetattr(sh->terminal.fd, TCSAFLUSH,
				&t); /* then it is read, as on a terminal */
	buf_clear(&sh->to_terminal);
	shell_typing_stop(sh);
}

static void put(struct shell *sh, const char *bytes, size_t len)
{
	sh->typed = true;
	sh->to_terminal.limit = TYPED_MAX;
	shell_send(sh, &sh->terminal, &sh->to_terminal, bytes, len);
}

void shell_type(struct shell *sh, const char *bytes, size_t len)
{
	sh->key.behind.limit = TYPED_MAX;
	if (sh->terminal.fd < 0)
		return;
	if (sh->key.byte && !sh->key.again)
		buf_add(&sh->key.behind, bytes, len);
	else
		put(sh, bytes, len);
}

/* Programs come and go so fast that none would take the key, and the shell that starts them can. */
static bool hunts(const struct shell_key *k)
{
	return k->changes >= CHANGES_MAX && k->byte == 3 && k->hunts < HUNTS_MAX;
}

/* It may hit the shell where that reports: then the report is lost, and asked for once more. */
static void key_goes(struct shell *sh)
{
	struct shell_key *k = &sh->key;
	char byte = k->byte;

	if (!k->hunts)
		put(sh, &byte, 1);
	if (hunts(k)) {
		k->hunts++;
		procs_signal(sh->procs, &sh->proc, SIGINT, false);
	}
	put(sh, buf_str(&k->behind), k->behind.len);
	buf_clear(&k->behind);
	shell_ask(sh);
	k->again = has_flag(sh, ISIG);
	k->early = k->group == sh->pid && !k->hunts;
	k->changes = 0;
	k->since_ms = loop_time(sh->loop);
	if (k->again)
		loop_arm(sh->loop, &k->timer, k->since_ms + LOOK_MS);
	else
		k->byte = '\0';
}

static bool has_begun(const struct shell *sh)
{
	return sh->begun || loop_time(sh->loop) >= sh->key.asked_ms + BEGIN_MS;
}

static void key_waits(struct shell *sh)
{
	struct shell_key *k = &sh->key;
	uint64_t now = loop_time(sh->loop), steady;
	int group;

	if (!has_begun(sh)) {
		loop_arm(sh->loop, &k->timer, k->asked_ms + BEGIN_MS);
		return;
	}
	group = foreground(sh);
	if (group != k->group) {
		k->group = group;
		k->since_ms = now;
		k->changes++;
		k->is_program = group == sh->pid || !sh->look;
	}
	steady = k->since_ms + (group == sh->pid ? SHELL_STEADY_MS : STEADY_MS);
	if (k->changes >= CHANGES_MAX)
		key_goes(sh);
	else if (!k->is_program)
		sh->look(sh, group);
	else if (now < steady)
		loop_arm(sh->loop, &k->timer, now + LOOK_MS);
	else
		key_goes(sh);
}

void shell_looked(struct shell *sh, int group, bool between)
{
	struct shell_key *k = &sh->key;
	uint64_t now = loop_time(sh->loop);

	if (!k->byte || k->again || group != k->group || sh->terminal.fd < 0 || !has_begun(sh))
		return; /* it has gone, or waits for something else */
	k->is_program = !between || now >= k->since_ms + LOOKS_MS;
	loop_arm(sh->loop, &k->timer, now + LOOK_MS);
}

/* The number of this field of /proc/PID/stat, counted as in proc(5). The second is a name that may hold
 * anything, and ends with the last parenthesis. */
static unsigned long field_of(const char *stat, unsigned field)
{
	const char *at = strrchr(stat, ')');

	for (unsigned i = 2; at && i < field; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtoul(at, NULL, 10) : 0;
}

bool shell_stat_is_between(const char *stat)
{
	enum { FLAGS = 9, CAUGHT = 34, FORKED_NO_EXEC = 0x40 };

	return field_of(stat, FLAGS) & FORKED_NO_EXEC &&
	       field_of(stat, CAUGHT) & 1ul << (SIGINT - 1);
}

/* It was typed, and the command goes on. */
static void key_watches(struct shell *sh)
{
	struct shell_key *k = &sh->key;
	uint64_t now = loop_time(sh->loop);
	int group = foreground(sh);

	if (group != k->group)
		k->changes++;
	k->group = group;
	if (hunts(k)) {
		key_goes(sh);
	} else if (k->early && group != sh->pid && now >= k->since_ms + AGAIN_MS) {
		k->again = false;
		k->group = 0;
		k->changes = 0;
		key_waits(sh);
	} else if (now < k->since_ms + WATCH_MS) {
		k->early = k->early && now < k->since_ms + AGAIN_MS;
		loop_arm(sh->loop, &k->timer, now + LOOK_MS);
	} else {
		/* It may have cut off a line of ours. */
		k->again = false;
		k->byte = '\0';
		shell_ask(sh);
	}
}

static void key_moves(struct timer *timer)
{
	struct shell *sh = container_of(timer, struct shell, key.timer);

	if (!sh->key.byte || sh->terminal.fd < 0)
		return;
	if (sh->key.again)
		key_watches(sh);
	else
		key_waits(sh);
}

void shell_typing_begun(struct shell *sh)
{
	key_moves(&sh->key.timer);
}

void shell_type_signal(struct shell *sh, char byte)
{
	struct shell_key *k = &sh->key;

	if (sh->terminal.fd < 0)
		return;
	/* Who stopped it does not matter: nobody else would let it go on. */
	procs_signal(sh->procs, &sh->proc, SIGCONT, false);
	if (k->byte && !k->again) {
		shell_type(sh, &byte, 1);
		return;
	}
	loop_disarm(sh->loop, &k->timer);
	*k = (struct shell_key) { .timer = k->timer,
				  .byte = byte,
				  .asked_ms = loop_time(sh->loop) };
	key_waits(sh);
}
