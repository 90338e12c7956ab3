/* SPDX-License-Identifier: MIT */
/* keys.c - see keys.h. The names are those of the terminal multiplexer that clients' texts went
 * through, the bytes those of the terminal that TERM says this is (xterm's, mostly). */
#include "sandbox/executor/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"

/* Bits of the modifier's number, less one. */
enum modifiers { SHIFT = 1, META = 2, CONTROL = 4 };

/* Bytes alone; or with the final letter of a cursor key; or with the number of an editing key. */
static const struct {
	const char *name;
	const char *plain; /* NULL: of the other two forms */
	char final;
	bool cursor; /* with another form in application mode */
	int number;
} named[] = {
	{ .name = "Enter", .plain = "\r" },
	{ .name = "Tab", .plain = "\t" },
	{ .name = "Escape", .plain = "\033" },
	{ .name = "Space", .plain = " " },
	{ .name = "BSpace", .plain = "\177" },
	{ .name = "BTab", .plain = "\033[Z" },
	{ .name = "Up", .final = 'A', .cursor = true },
	{ .name = "Down", .final = 'B', .cursor = true },
	{ .name = "Right", .final = 'C', .cursor = true },
	{ .name = "Left", .final = 'D', .cursor = true },
	{ .name = "Home", .number = 1 },
	{ .name = "IC", .number = 2 },
	{ .name = "Insert", .number = 2 },
	{ .name = "DC", .number = 3 },
	{ .name = "Delete", .number = 3 },
	{ .name = "End", .number = 4 },
	{ .name = "PPage", .number = 5 },
	{ .name = "PageUp", .number = 5 },
	{ .name = "PgUp", .number = 5 },
	{ .name = "NPage", .number = 6 },
	{ .name = "PageDown", .number = 6 },
	{ .name = "PgDn", .number = 6 },
	{ .name = "F1", .final = 'P' },
	{ .name = "F2", .final = 'Q' },
	{ .name = "F3", .final = 'R' },
	{ .name = "F4", .final = 'S' },
	{ .name = "F5", .number = 15 },
	{ .name = "F6", .number = 17 },
	{ .name = "F7", .number = 18 },
	{ .name = "F8", .number = 19 },
	{ .name = "F9", .number = 20 },
	{ .name = "F10", .number = 21 },
	{ .name = "F11", .number = 23 },
	{ .name = "F12", .number = 24 },
};

static void put(struct key *k, const char *bytes, size_t len)
{
	memcpy(k->bytes + k->len, bytes, len);
	k->len += len;
}

/* What Ctrl makes of a character: the lower five bits, with a few of old. */
static char control_byte(char c)
{
	static const char from[] = "2345678?/- ", to[] = "\0\033\034\035\036\037\177\177\037\037";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		return to[at - from];
	c = (char)toupper((unsigned char)c);
	return c >= '@' && c <= '_' ? (char)(c - '@') : c;
}

static void put_named(struct key *k, size_t i, unsigned modifiers, bool application)
{
	int n;

	if (named[i].plain) {
		if (modifiers & META)
			put(k, "\033", 1);
		if (modifiers & CONTROL && *named[i].plain == ' ')
			put(k, "", 1);
		else
			put(k, named[i].plain, strlen(named[i].plain));
		return;
	}
	if (named[i].final && modifiers)
		n = snprintf(k->bytes, sizeof(k->bytes), "\033[1;%u%c", modifiers + 1,
			     named[i].final);
	else if (named[i].final)
		n = snprintf(k->bytes, sizeof(k->bytes), "\033%c%c",
			     named[i].cursor && !application ? '[' : 'O', named[i].final);
	else if (modifiers)
		n = snprintf(k->bytes, sizeof(k->bytes), "\033[%d;%u~", named[i].number,
			     modifiers + 1);
	else
		n = snprintf(k->bytes, sizeof(k->bytes), "\033[%d~", named[i].number);
	k->len = (size_t)n;
}

/* One character with Meta; what Shift makes of it, nobody knows. */
static bool put_char(struct key *k, const char *text, size_t len, unsigned modifiers)
{
	char byte;

	if (!(modifiers & META) || modifiers & SHIFT || utf8_sequence(text, len) != len)
		return false;
	put(k, "\033", 1);
	if (modifiers & CONTROL && len > 1)
		return false;
	byte = control_byte(*text);
	put(k, modifiers & CONTROL ? &byte : text, len);
	return true;
}

static bool find_control(const char *text, struct key *k)
{
	if (text[0] != 'C' || text[1] != '-' || (unsigned char)text[2] >= 0x80)
		return false;
	k->bytes[0] = control_byte(text[2]);
	k->len = 1;
	k->control = (char)toupper((unsigned char)text[2]);
	/* Those that a terminal makes signals of: interrupt, quit, stop. */
	k->signals = k->bytes[0] == 3 || k->bytes[0] == 28 || k->bytes[0] == 26;
	return true;
}

static unsigned take_modifiers(const char **text, size_t *len)
{
	static const char letters[] = "SMC";
	unsigned modifiers = 0;
	const char *at;

	while (*len > 2 && (*text)[1] == '-' && (at = strchr(letters, **text)) && *at) {
		modifiers |= 1u << (at - letters);
		*text += 2;
		*len -= 2;
	}
	return modifiers;
}

bool keys_find(const char *text, size_t len, bool application, struct key *key)
{
	unsigned modifiers;

	*key = (struct key) { .len = 0 };
	if (len == 3 && find_control(text, key))
		return true;
	modifiers = take_modifiers(&text, &len);
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (strlen(named[i].name) != len || memcmp(named[i].name, text, len) != 0)
			continue;
		put_named(key, i, modifiers, application);
		return true;
	}
	return len && put_char(key, text, len, modifiers);
}
