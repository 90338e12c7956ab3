/* SPDX-License-Identifier: MIT */
/* env.c - see env.h. The rules are those that people know: little is kept of the caller's, nothing
 * that a program would take orders from, unless -E asks for all of it. */
#include "sandbox/sudo/env.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#define COMMAND_BYTES_MAX 4096 /* of SUDO_COMMAND */

struct list {
	char **text;
	size_t n, room;
	bool failed;
};

void list_free(char **list)
{
	for (char **t = list; t && *t; t++)
		free(*t);
	free(list);
}

static size_t name_len(const char *entry)
{
	return strcspn(entry, "=");
}

/* For one more and the NULL at the end; a command line may have very many words. */
static bool has_room(struct list *l)
{
	size_t room = l->room ? 2 * l->room : 64;
	char **grown;

	if (l->n + 2 <= l->room)
		return true;
	grown = reallocarray(l->text, room, sizeof(*grown));
	if (!grown)
		return false;
	l->text = grown;
	l->room = room;
	return true;
}

/* Takes over `text`. */
static void add(struct list *l, char *text)
{
	if (!text || !has_room(l)) {
		free(text);
		l->failed = true;
		return;
	}
	l->text[l->n++] = text;
	l->text[l->n] = NULL;
}

/* Takes over `entry`; one of the same name makes way. */
static void put_text(struct list *l, char *entry)
{
	for (size_t i = 0; entry && i < l->n; i++)
		if (name_len(l->text[i]) == name_len(entry) &&
		    strncmp(l->text[i], entry, name_len(entry)) == 0) {
			free(l->text[i]);
			l->text[i] = entry;
			return;
		}
	add(l, entry);
}

static void put(struct list *l, const char *name, const char *value)
{
	struct err ignored;

	put_text(l, str_fmt(&ignored, "%s=%s", name, value));
}

static void put_number(struct list *l, const char *name, unsigned value)
{
	struct err ignored;

	put_text(l, str_fmt(&ignored, "%s=%u", name, value));
}

/* Kept, if the value names no file and holds no format: a program may open or expand it. */
static const char *const checked[] = { "COLORTERM", "LANG", "LANGUAGE", "LC_*", "LINGUAS", "TERM" };
static const char *const kept[] = {
	"COLORS", "DISPLAY", "HOSTNAME",   "KRB5CCNAME",     "LS_COLORS",
	"PS1",	  "PS2",     "XAUTHORITY", "XAUTHORIZATION", "XDG_CURRENT_DESKTOP",
};

static bool is_one_of(const char *entry, const char *const *names, size_t n)
{
	size_t len = name_len(entry);

	for (size_t i = 0; i < n; i++) {
		const char *star = strchr(names[i], '*');
		size_t prefix = star ? (size_t)(star - names[i]) : strlen(names[i]);

		if (star ? len >= prefix : len == prefix)
			if (strncmp(entry, names[i], prefix) == 0)
				return true;
	}
	return false;
}

/* A zone's name has slashes, and is one below the system's directory of them. */
static bool is_zone(const char *value)
{
	value += *value == ':';
	return *value != '/' && !strstr(value, "..");
}

/* Of the comma-separated names of --preserve-env=LIST. */
static bool is_named(const char *entry, const char *names)
{
	size_t len = name_len(entry);

	for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strcspn(at, ",") == len && strncmp(at, entry, len) == 0)
			return true;
	return false;
}

static bool is_kept(const struct options *o, const char *entry)
{
	if (!entry[name_len(entry)])
		return false;
	if (o->keep_all || is_named(entry, o->keep))
		return true;
	/* A function of bash's, which every bash below would define. */
	if (strncmp(entry + name_len(entry), "=() ", 4) == 0)
		return false;
	if (strncmp(entry, "TZ=", 3) == 0)
		return is_zone(entry + 3);
	if (is_one_of(entry, checked, ARRAY_LEN(checked)))
		return !strpbrk(entry + name_len(entry), "/%");
	return is_one_of(entry, kept, ARRAY_LEN(kept));
}

static bool has(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (name_len(l->text[i]) == strlen(name) &&
		    strncmp(l->text[i], name, strlen(name)) == 0)
			return true;
	return false;
}

static void put_command(struct list *l, char *const *words)
{
	autobuf struct buf text = { .limit = COMMAND_BYTES_MAX };

	/* A longer one ends where a whole word does. */
	for (; *words && text.len + strlen(*words) + 1 < COMMAND_BYTES_MAX; words++)
		buf_printf(&text, "%s%s", text.len ? " " : "", *words);
	put(l, "SUDO_COMMAND", buf_str(&text));
}

static void put_target(struct list *l, const struct options *o, const struct person *target)
{
	struct err ignored;

	put(l, "PATH", ENV_PATH);
	put(l, "LOGNAME", target->name);
	put(l, "USER", target->name);
	if (o->login || o->set_home || !has(l, "HOME"))
		put(l, "HOME", target->home);
	if (o->login || !has(l, "SHELL"))
		put(l, "SHELL", target->shell);
	if (o->login || !has(l, "MAIL"))
		put_text(l, str_fmt(&ignored, "MAIL=/var/mail/%s", target->name));
	if (!has(l, "TERM"))
		put(l, "TERM", "unknown");
}

char **env_make(const struct env_case *c, struct err *e)
{
	struct list l = { .n = 0 };

	for (char *const *v = c->from; *v; v++)
		if (is_kept(c->options, *v))
			put_text(&l, strdup(*v));
	put_target(&l, c->options, c->target);
	put_command(&l, c->words);
	put(&l, "SUDO_USER", c->caller->name);
	put_number(&l, "SUDO_UID", c->caller->uid);
	put_number(&l, "SUDO_GID", c->caller->gid);
	for (char *const *a = c->options->assignments; *a; a++)
		put_text(&l, strdup(*a));
	if (!l.failed)
		return l.text;
	list_free(l.text);
	(void)err_code(e, ENOMEM, "no memory");
	return NULL;
}

/* One word that a shell splits into these again. */
static char *quoted(char *const *words, struct err *e)
{
	autobuf struct buf text = { 0 };

	for (; *words; words++) {
		if (text.len)
			buf_putc(&text, ' ');
		for (const char *c = *words; *c; c++) {
			/* "$" stays: who asks for a shell has variables expanded by it. */
			if (*c == '\n')
				buf_puts(&text, "'\n'");
			else if (isalnum((unsigned char)*c) || strchr("_-$", *c))
				buf_putc(&text, *c);
			else
				buf_printf(&text, "\\%c", *c);
		}
	}
	return buf_check(&text, e) < 0 ? NULL : buf_take(&text);
}

static const char *value_of(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* A login shell knows itself by the dash before its name. */
static void add_shell(struct list *l, const struct options *o, const char *shell)
{
	const char *slash = strrchr(shell, '/');
	struct err ignored;

	add(l,
	    str_fmt(&ignored, "%s%s", o->login ? "-" : "", o->login && slash ? slash + 1 : shell));
	if (!*o->command)
		return;
	add(l, strdup("-c"));
	add(l, quoted(o->command, &ignored));
}

int words_make(const struct options *o, char *const *from, const struct person *caller,
	       const struct person *target, struct words *out, struct err *e)
{
	const char *shell = o->login ? target->shell : value_of(from, "SHELL");
	struct list l = { .n = 0 };
	const char *first;
	char *program;

	if (!shell || !*shell)
		shell = caller->shell;
	first = o->login || o->shell ? shell : *o->command;
	if (o->login || o->shell)
		add_shell(&l, o, shell);
	for (char *const *w = o->command; *w && !o->login && !o->shell; w++)
		add(&l, strdup(*w));
	program = first ? strdup(first) : NULL; /* options without a command ask for a shell */
	if (l.failed || !program) {
		list_free(l.text);
		free(program);
		return err_code(e, ENOMEM, "no memory");
	}
	*out = (struct words) { .program = program, .argv = l.text };
	return 0;
}

void words_clear(struct words *w)
{
	free(w->program);
	list_free(w->argv);
	*w = (struct words) { .program = NULL };
}
