/* SPDX-License-Identifier: MIT */
/* tree.c - see tree.h. */
#include "git/tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define ENTRIES_MAX 1000000

/* Bytes of an ignorable code point that HFS+ leaves out of names, or 0. */
static size_t ignorable(const unsigned char *p)
{
	if (p[0] == 0xe2 && p[1] == 0x80 &&
	    ((p[2] >= 0x8c && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae)))
		return 3;
	if (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xaa && p[2] <= 0xaf)
		return 3;
	return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
}

/* Does some file system read this name as ".git"? */
static bool is_dot_git(const char *name)
{
	char plain[16];
	size_t n = 0, skip;

	for (const unsigned char *p = (const unsigned char *)name; *p && n + 1 < sizeof(plain);
	     p++) {
		skip = ignorable(p);
		if (skip)
			p += skip - 1;
		else
			plain[n++] = (char)*p;
	}
	plain[n] = '\0';
	n = strcspn(plain, ":");
	while (n && (plain[n - 1] == ' ' || plain[n - 1] == '.'))
		n--;
	plain[n] = '\0';
	return strcasecmp(plain, ".git") == 0 || strcasecmp(plain, "git~1") == 0;
}

bool tree_name_ok(const char *name, size_t len)
{
	if (!len || len > 255 || strlen(name) != len || memchr(name, '/', len))
		return false;
	return !str_eq(name, ".") && !str_eq(name, "..") && !is_dot_git(name);
}

/* Old versions of git wrote modes such as 100664. */
static unsigned normal_mode(unsigned mode)
{
	switch (mode & 0170000) {
	case 0040000:
		return TREE_MODE_DIR;
	case 0100000:
		return mode & 0100 ? TREE_MODE_EXEC : TREE_MODE_FILE;
	case 0120000:
		return TREE_MODE_LINK;
	case 0160000:
		return TREE_MODE_SUBMODULE;
	default:
		return 0;
	}
}

/* "<octal mode> <name>\0<id>" at `at`. The object is followed by a NUL, so names always end. */
static int parse_entry(struct objects *o, const struct object *object, size_t *at,
		       struct tree_entry *out, struct err *e)
{
	const char *p = (const char *)object->data + *at,
		   *end = (const char *)object->data + object->size;
	unsigned mode = 0;

	for (; *p >= '0' && *p <= '7' && mode < 0200000; p++)
		mode = mode << 3 | (unsigned)(*p - '0');
	out->mode = normal_mode(mode);
	if (*p != ' ' || !out->mode)
		return err_code(e, EINVAL, "a tree has an entry of unknown kind");
	out->name = p + 1;
	out->len = strlen(out->name);
	p = out->name + out->len + 1;
	if (p > end || (size_t)(end - p) < objects_id_bytes(o))
		return err_code(e, EINVAL, "a tree ends within an entry");
	if (!tree_name_ok(out->name, out->len))
		return err_code(e, EINVAL,
				"a tree has an entry named '%.80s', which no work tree may have",
				out->name);
	if (out->mode == TREE_MODE_LINK && strcasecmp(out->name, ".gitmodules") == 0)
		return err_code(
			e, EINVAL,
			"a tree has a symbolic link '.gitmodules', which no work tree may have");
	out->id = (struct object_id) { 0 };
	memcpy(out->id.bytes, p, objects_id_bytes(o));
	*at = (size_t)(p + objects_id_bytes(o) - (const char *)object->data);
	return 0;
}

/* git sorts directories as if their names ended in a slash. */
static int git_order(const struct tree_entry *a, const struct tree_entry *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->name, b->name, n);
	unsigned char x, y;

	if (order)
		return order;
	x = a->len > n ? (unsigned char)a->name[n] : (a->mode == TREE_MODE_DIR ? '/' : '\0');
	y = b->len > n ? (unsigned char)b->name[n] : (b->mode == TREE_MODE_DIR ? '/' : '\0');
	return x < y ? -1 : x > y;
}

static int parse_all(struct objects *o, struct tree *t, struct err *e)
{
	size_t room = 0;

	for (size_t at = 0; at < t->object.size;) {
		if (t->n == room) {
			struct tree_entry *grown;

			room = room ? room * 2 : 32;
			grown = room > ENTRIES_MAX ? NULL
						   : reallocarray(t->entries, room, sizeof(*grown));
			if (!grown)
				return err_code(e, EFBIG, "a directory has too many entries");
			t->entries = grown;
		}
		if (parse_entry(o, &t->object, &at, &t->entries[t->n], e) < 0)
			return -e->code;
		if (t->n && git_order(&t->entries[t->n - 1], &t->entries[t->n]) >= 0)
			return err_code(e, EINVAL, "a tree is not sorted at its entry '%.80s'",
					t->entries[t->n].name);
		t->attributes |= str_eq(t->entries[t->n].name, ".gitattributes");
		t->n++;
	}
	return 0;
}

int tree_read(struct objects *o, const struct object_id *id, struct tree *out, struct err *e)
{
	struct tree t = { 0 };
	int r = object_read(o, id, &t.object, e);

	if (r == 0 && t.object.kind != OBJECT_TREE)
		r = err_code(e, EINVAL, "an object that should be a tree is none");
	if (r == 0)
		r = parse_all(o, &t, e);
	if (r < 0) {
		tree_clear(&t);
		return r;
	}
	*out = t;
	return 0;
}

void tree_clear(struct tree *t)
{
	object_clear(&t->object);
	free(t->entries);
	*t = (struct tree) { 0 };
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tree_entry *)a)->name, ((const struct tree_entry *)b)->name);
}

void tree_sort(struct tree *t)
{
	if (t->n)
		qsort(t->entries, t->n, sizeof(*t->entries), by_name);
}

const struct tree_entry *tree_find(const struct tree *sorted, const char *name)
{
	struct tree_entry key = { .name = name };

	return sorted->n ? bsearch(&key, sorted->entries, sorted->n, sizeof(key), by_name) : NULL;
}
