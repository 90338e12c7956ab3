/* SPDX-License-Identifier: MIT */
/* rootfs_merge.c - passwd and group of a tree, with the session's user in them.
 *
 * The tree's lines stay as they are, whatever they hold: they were readable inside before. Ours have
 * no password in a shadow file ("*"), so that the tree's shadow need not be read at all. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "session/rootfs_parts.h"

#define NOBODY 65534u

/* A line of passwd or group. `id` is its third field; -1 where that is no number. */
struct line {
	const char *text;
	size_t len, name_len;
	int64_t id;
};

/* Behind the next colon; NULL where there is none before `end`. */
static const char *next_field(const char *at, const char *end)
{
	const char *colon = memchr(at, ':', (size_t)(end - at));

	return colon ? colon + 1 : NULL;
}

static struct line line_at(const char *text)
{
	struct line l = { .text = text, .len = strcspn(text, "\n"), .id = -1 };
	const char *end = text + l.len, *second = next_field(text, end);
	const char *field = second ? next_field(second, end) : NULL;
	char number[16] = "";
	struct err ignored;
	uint64_t id;

	l.name_len = strcspn(text, ":\n");
	if (!field || strcspn(field, ":\n") >= sizeof(number))
		return l;
	memcpy(number, field, strcspn(field, ":\n"));
	if (str_u64(number, 0, UINT32_MAX, &id, &ignored) == 0)
		l.id = (int64_t)id;
	return l;
}

static const char *after(const struct line *l)
{
	return l->text[l->len] ? l->text + l->len + 1 : l->text + l->len;
}

static bool is_called(const struct line *l, const char *name)
{
	return l->name_len == strlen(name) && memcmp(l->text, name, l->name_len) == 0;
}

/* The first line of this id. False where there is none. */
static bool find_id(const char *text, uint32_t id, struct line *out)
{
	while (*text) {
		*out = line_at(text);
		if (out->id == (int64_t)id)
			return true;
		text = after(out);
	}
	return false;
}

static void add_line(struct buf *out, const struct line *l)
{
	buf_add(out, l->text, l->len);
	buf_add(out, "\n", 1);
}

/* All lines but the one that was written first and those called as ours. */
static void add_rest(struct buf *out, const char *text, const char *first, const char *ours)
{
	while (*text) {
		struct line l = line_at(text);

		if (l.len && l.text != first && !(ours && is_called(&l, ours)))
			add_line(out, &l);
		text = after(&l);
	}
}

void rootfs_merge_passwd(const char *tree_text, const struct policy_user *user, struct buf *passwd)
{
	const char *ours = user->uid ? user->name : NULL;
	struct line root, nobody;
	bool has_root = find_id(tree_text, 0, &root);

	if (has_root)
		add_line(passwd, &root);
	else
		buf_printf(passwd, "root:*:0:0::/root:%s\n", user->shell);
	/* Before others of his id: what asks for the name of the id gets his. */
	if (ours)
		buf_printf(passwd, "%s:*:%u:%u::%s:%s\n", user->name, user->uid, user->gid,
			   user->home, user->shell);
	add_rest(passwd, tree_text, has_root ? root.text : NULL, ours);
	if (!find_id(tree_text, NOBODY, &nobody))
		buf_printf(passwd, "nobody:*:%u:%u::/nonexistent:/usr/sbin/nologin\n", NOBODY,
			   NOBODY);
}

void rootfs_merge_group(const char *tree_text, const struct policy_user *user, struct buf *group)
{
	struct line root, other;
	bool has_root = find_id(tree_text, 0, &root);
	bool is_new = user->gid != 0 && !find_id(tree_text, user->gid, &other);

	if (has_root)
		add_line(group, &root);
	else
		buf_printf(group, "root:*:0:\n");
	if (is_new)
		buf_printf(group, "%s:*:%u:\n", user->name, user->gid);
	add_rest(group, tree_text, has_root ? root.text : NULL, is_new ? user->name : NULL);
	if (user->gid != NOBODY && !find_id(tree_text, NOBODY, &other))
		buf_printf(group, "nogroup:*:%u:\n", NOBODY);
}
