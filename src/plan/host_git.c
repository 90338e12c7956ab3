/* SPDX-License-Identifier: MIT */
/* host_git.c - the caller's name and address for commits, out of his git configuration. Two keys are
 * worth no library: what stands here is read, includes are not followed. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "plan/host_parts.h"

#define IDENTITY_MAX 200

/* The value behind "=": quotes, escapes and comments as git has them. False for what is too long
 * or spans lines. */
static bool parse_value(const char *text, char *out, size_t size)
{
	bool quoted = false;
	size_t len = 0;
	size_t kept = 0; /* up to the last byte that is not white space outside of quotes */

	text += strspn(text, " \t");
	for (; *text && *text != '\r' && (quoted || (*text != '#' && *text != ';')); text++) {
		char c = *text;

		if (c == '"') {
			quoted = !quoted;
			kept = len;
			continue;
		}
		if (c == '\\' && (c = *++text) != '"' && c != '\\')
			return false;
		if (len + 1 >= size || (unsigned char)c < ' ')
			return false;
		out[len++] = c;
		if (quoted || c != ' ')
			kept = len;
	}
	out[kept] = '\0';
	return !quoted && kept > 0;
}

static bool is_user_section(const char *line)
{
	return strncasecmp(line, "[user]", 6) == 0;
}

static int take(const char *line, const char *key, char **into, struct err *e)
{
	char value[IDENTITY_MAX];
	size_t len = strlen(key);

	if (strncasecmp(line, key, len) != 0)
		return 0;
	line += len + strspn(line + len, " \t");
	if (*line != '=' || !parse_value(line + 1, value, sizeof(value)))
		return 0;
	free(*into);
	*into = str_dup(value, e);
	return *into ? 0 : -e->code;
}

int host_parse_git(const char *text, char **name, char **email, struct err *e)
{
	autofree char *copy = str_dup(text, e);
	char *rest = copy;
	bool inside = false;
	char *line;

	if (!copy)
		return -e->code;
	while ((line = strsep(&rest, "\n")) != NULL) {
		line += strspn(line, " \t");
		if (*line == '[') {
			inside = is_user_section(line);
			line += strcspn(line, "]");
			line += *line == ']';
			line += strspn(line, " \t");
		}
		if (inside &&
		    (take(line, "name", name, e) < 0 || take(line, "email", email, e) < 0))
			return -e->code;
	}
	return 0;
}

static int read_file(const struct host_source *s, const char *dir, const char *file, struct host *h,
		     struct err *e)
{
	autofree char *path = str_fmt(e, "%s/%s", dir, file);
	autobuf struct buf text = { 0 };

	if (!path)
		return -e->code;
	/* What cannot be read gives no identity, and a session without one is no failure. */
	if (host_file(s, path, &text, e) < 0)
		return 0;
	return host_parse_git(buf_str(&text), &h->git_name, &h->git_email, e);
}

/* The later file wins, as it does for git. */
int host_read_git(const struct host_source *s, struct host *h, struct err *e)
{
	if (read_file(s, "/etc", "gitconfig", h, e) < 0)
		return -e->code;
	if (!h->home)
		return 0;
	if (read_file(s, h->home, ".config/git/config", h, e) < 0)
		return -e->code;
	return read_file(s, h->home, ".gitconfig", h, e);
}
