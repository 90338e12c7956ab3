/* SPDX-License-Identifier: MIT */
/* layer_config.c - the configuration of a private git directory; see layer.h.
 *
 * Written anew. Of the repository's own only remotes, upstream branches and the identity are taken
 * over, by name of the key: no key that runs something, no header, no credential. */
#include <git2.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "git/gitlib.h"
#include "git/layer.h"

struct section {
	const char *prefix; /* of the key, with its dot */
	const char *name;   /* of the section */
	const char *const *keys;
};

static const char *const remote_keys[] = { "url", "fetch", "promisor", NULL };
static const char *const branch_keys[] = { "remote", "merge", "rebase", NULL };
static const struct section sections[] = {
	{ "remote.", "remote", remote_keys },
	{ "branch.", "branch", branch_keys },
};

static void add_quoted(struct buf *out, const char *text, size_t n)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\n') {
			buf_puts(out, "\\n");
			continue;
		}
		if (text[i] == '"' || text[i] == '\\')
			buf_putc(out, '\\');
		buf_putc(out, text[i]);
	}
	buf_putc(out, '"');
}

static void add_value(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "\t%s = ", key);
	add_quoted(out, value, strlen(value));
	buf_putc(out, '\n');
}

/* "https://user:token@host/path" without what is before the @. Of ssh the user stays. */
static void add_url(struct buf *out, const char *url)
{
	const char *host = strstr(url, "://"), *path, *at, *secret;
	autobuf struct buf plain = { 0 };

	if (host) {
		host += 3;
		path = host + strcspn(host, "/?#");
		at = memrchr(host, '@', (size_t)(path - host));
		if (at) {
			secret = str_starts(url, "ssh://") ? memchr(host, ':', (size_t)(at - host))
							   : host;
			buf_add(&plain, url, (size_t)((secret ? secret : at) - url));
			buf_puts(&plain, str_starts(url, "ssh://") ? at : at + 1);
			url = buf_str(&plain);
		}
	}
	add_value(out, "url", url);
}

struct taking {
	struct buf *out;
	char last[600]; /* section and subsection of the line before */
};

static bool is_listed(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (str_eq(*keys, key))
			return true;
	return false;
}

static int take_over(const git_config_entry *entry, void *arg)
{
	struct taking *t = arg;

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const struct section *s = &sections[i];
		const char *sub, *key;
		char head[600];
		int n;

		if (!str_starts(entry->name, s->prefix) || !entry->value)
			continue;
		sub = entry->name + strlen(s->prefix);
		key = strrchr(sub, '.');
		if (!key || key == sub || !is_listed(s->keys, key + 1) ||
		    memchr(sub, '\n', (size_t)(key - sub)))
			continue;
		n = snprintf(head, sizeof(head), "%s.%.*s", s->name, (int)(key - sub), sub);
		if (n < 0 || (size_t)n >= sizeof(head))
			continue;
		if (!str_eq(head, t->last)) {
			buf_printf(t->out, "[%s ", s->name);
			add_quoted(t->out, sub, (size_t)(key - sub));
			buf_puts(t->out, "]\n");
			memcpy(t->last, head, (size_t)n + 1);
		}
		if (str_eq(key + 1, "url"))
			add_url(t->out, entry->value);
		else
			add_value(t->out, key + 1, entry->value);
	}
	return 0;
}

/* The policy's, else the repository's own, else the host's. */
static void add_identity(struct buf *out, git_config *config, const char *key, const char *given,
			 const char *otherwise)
{
	autofree char *full = NULL;
	struct err ignored = { 0 };
	git_buf own = { 0 };

	full = str_fmt(&ignored, "user.%s", key);
	if (!given && full && git_config_get_string_buf(&own, config, full) == 0 && own.size)
		given = own.ptr;
	if (given || otherwise)
		add_value(out, key, given ? given : otherwise);
	git_buf_dispose(&own);
}

static void add_core(struct buf *out, const struct repo_format *format)
{
	bool extended = format->sha256 || format->promisor;

	/* checkStat, trustctime: device, inode and times of change are new in every session. */
	buf_printf(
		out,
		"[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = false\n"
		"\tlogallrefupdates = true\n\tautocrlf = false\n\tcheckStat = minimal\n\ttrustctime = false\n",
		extended);
	if (extended)
		buf_puts(out, "[extensions]\n");
	if (format->sha256)
		buf_puts(out, "\tobjectformat = sha256\n");
	if (format->promisor)
		buf_puts(out, "\tpartialClone = origin\n");
	/* Nothing goes on in the background of a session that it did not start. */
	buf_puts(out, "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
}

int layer_config(const struct layer *l, struct buf *out, struct err *e)
{
	autofree char *path = str_fmt(e, "%s/config", l->repo->common_path);
	struct taking taking = { .out = out };
	git_config *config = NULL;
	int n;

	if (!path)
		return -e->code;
	n = git_config_open_ondisk(&config, path);
	if (n < 0)
		return err_git(e, n, "read '%s'", path);
	add_core(out, l->format);
	buf_puts(out, "[user]\n");
	add_identity(out, config, "name", l->name, l->default_name);
	add_identity(out, config, "email", l->email, l->default_email);
	n = git_config_foreach(config, take_over, &taking);
	git_config_free(config);
	if (n < 0)
		return err_git(e, n, "read '%s'", path);
	return buf_check(out, e);
}
