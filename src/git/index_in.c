/* SPDX-License-Identifier: MIT */
/* index_in.c - take unchanged entries over from an index of ours; see index.h. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "git/cached.h"
#include "git/index.h"
#include "git/index_format.h"

struct index_in {
	size_t id_bytes;
	uint32_t count, left; /* entries in all, and from the cursor on */
	struct buf all;
	size_t at; /* cursor */
	struct cached trees;
};

static uint32_t get32(const char *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return be32toh(value);
}

/* The entry at `at`: its path and whole length. 0, or -EINVAL. */
static int entry_at(const struct index_in *in, size_t at, const char **path, size_t *len)
{
	size_t head = INDEX_STAT_BYTES + in->id_bytes + 2, room = in->all.len - at, n;
	const char *p = in->all.data + at;
	uint8_t flags;

	if (at >= in->all.len || room < head + 8)
		return -EINVAL;
	flags = (uint8_t)p[head - 2];
	if (flags & (INDEX_EXTENDED >> 8))
		head += 2;
	n = strnlen(p + head, room - head);
	if (n > room - head || head + n + index_padding(head + n) > room)
		return -EINVAL;
	*path = p + head;
	*len = head + n + index_padding(head + n);
	return 0;
}

/* Where the extensions begin: behind the last entry. */
static int find_trees(struct index_in *in, struct err *e)
{
	size_t at = in->at, len;
	const char *path;

	for (uint32_t i = 0; i < in->count; i++) {
		if (entry_at(in, at, &path, &len) < 0)
			return err_code(e, EINVAL, "the index of the base below is damaged");
		at += len;
	}
	if (in->all.len - at >= 8 + in->id_bytes && memcmp(in->all.data + at, "TREE", 4) == 0) {
		len = get32(in->all.data + at + 4);
		if (len <= in->all.len - at - 8 - in->id_bytes)
			cached_parse(in->all.data + at + 8, len, in->id_bytes, &in->trees);
	}
	return 0;
}

static int load(struct index_in *in, int fd, struct err *e)
{
	struct stat st;
	ssize_t n;

	in->all.limit = INDEX_MAX;
	if (fstat(fd, &st) < 0)
		return err_errno(e, "stat the index of the base below");
	if (st.st_size <= 0 || (uint64_t)st.st_size > INDEX_MAX ||
	    !(in->all.data = malloc((size_t)st.st_size + 1)))
		return err_code(e, EFBIG, "the index of the base below has %lld bytes",
				(long long)st.st_size);
	in->all.room = (size_t)st.st_size + 1;
	n = lseek(fd, 0, SEEK_SET) < 0 ? -1 : io_read_full(fd, in->all.data, (size_t)st.st_size, e);
	if (n < 0)
		return err_errno(e, "read the index of the base below");
	in->all.len = (size_t)n;
	in->all.data[n] = '\0';
	if (in->all.len < INDEX_HEADER_BYTES + in->id_bytes ||
	    memcmp(in->all.data, "DIRC", 4) != 0 ||
	    (get32(in->all.data + 4) != 2 && get32(in->all.data + 4) != 3))
		return err_code(e, EINVAL, "the index of the base below is damaged");
	in->count = in->left = get32(in->all.data + 8);
	in->at = INDEX_HEADER_BYTES;
	return find_trees(in, e);
}

int index_read(int fd, size_t id_bytes, struct index_in **out, struct err *e)
{
	struct index_in *in = calloc(1, sizeof(*in));

	if (!in)
		return err_code(e, ENOMEM, "out of memory");
	in->id_bytes = id_bytes;
	if (load(in, fd, e) < 0) {
		index_in_free(in);
		return -e->code;
	}
	*out = in;
	return 0;
}

void index_in_free(struct index_in *in)
{
	if (!in)
		return;
	cached_clear(&in->trees);
	buf_clear(&in->all);
	free(in);
}

uint32_t index_in_count(const struct index_in *in)
{
	return in->count;
}

/* Copy `len` bytes of n entries at the cursor and go on. */
static void copy(struct index_in *in, struct index_out *x, size_t len, uint32_t n)
{
	buf_add(&x->entries, in->all.data + in->at, len);
	in->at += len;
	in->left -= n;
	x->count += n;
}

/* Go on to the first entry that is not before `path`. */
static int seek(struct index_in *in, const char *path, const char **found, size_t *len)
{
	for (; in->left; in->left--, in->at += *len) {
		if (entry_at(in, in->at, found, len) < 0)
			return -EINVAL;
		if (strcmp(*found, path) >= 0)
			return 0;
	}
	return -ENOENT;
}

int index_keep_file(struct index_in *in, const char *path, struct index_out *x, struct err *e)
{
	const char *found;
	size_t len;

	if (seek(in, path, &found, &len) < 0 || !str_eq(found, path))
		return err_code(e, ENOENT, "the index of the base below lacks '%s'", path);
	x->extended |= get32(in->all.data + 4) == 3;
	copy(in, x, len, 1);
	return 0;
}

int index_keep_dir(struct index_in *in, const char *path, const char *name, struct index_out *x,
		   struct buf *trees, struct err *e)
{
	autofree char *prefix = str_fmt(e, "%s/", path);
	const struct cached_node *node;
	size_t len, at, total = 0;
	const char *found;
	uint32_t n = 0;

	if (!prefix)
		return -e->code;
	/* A directory of nothing has no entry and may be the last. */
	if (seek(in, prefix, &found, &len) == -EINVAL)
		return err_code(e, EINVAL, "the index of the base below is damaged");
	for (at = in->at; n < in->left; n++, at += len, total += len) {
		if (entry_at(in, at, &found, &len) < 0)
			return err_code(e, EINVAL, "the index of the base below is damaged");
		if (!str_starts(found, prefix))
			break;
	}
	x->extended |= get32(in->all.data + 4) == 3;
	copy(in, x, total, n);
	buf_add(trees, name, strlen(name) + 1);
	node = cached_find(&in->trees, path);
	if (node && node->count == (int64_t)n)
		buf_add(trees, node->rest, (size_t)(node->end - node->rest));
	else
		buf_puts(trees, "-1 0\n"); /* not known: git fills it in */
	return (int)n;
}
