/* SPDX-License-Identifier: MIT */
/* index.c - write git's index; see index.h. Taking over from another is index_in.c. */
#include "git/index.h"

#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sha256.h"
#include "git/index_format.h"
#include "session/sha1.h"

void index_out_init(struct index_out *x, size_t id_bytes)
{
	*x = (struct index_out) { .id_bytes = id_bytes,
				  .entries.limit = INDEX_MAX,
				  .trees.limit = INDEX_MAX };
}

void index_out_clear(struct index_out *x)
{
	buf_clear(&x->entries);
	buf_clear(&x->trees);
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, 4);
}

void index_add(struct index_out *x, const struct index_entry *entry)
{
	uint8_t fixed[INDEX_STAT_BYTES + 32 + 4] = { 0 };
	static const char zeros[8];
	size_t len = strlen(entry->path), head = INDEX_STAT_BYTES + x->id_bytes + 2;
	uint16_t flags = (uint16_t)(len < INDEX_NAME_MASK ? len : INDEX_NAME_MASK);

	/* ctime and mtime; device, inode, uid and gid differ in every session and stay 0. */
	put32(fixed, entry->mtime);
	put32(fixed + 8, entry->mtime);
	put32(fixed + 24, entry->mode);
	put32(fixed + 36, entry->size);
	memcpy(fixed + INDEX_STAT_BYTES, entry->id.bytes, x->id_bytes);
	if (entry->skip) {
		flags |= INDEX_EXTENDED;
		fixed[head] = INDEX_SKIP_WORKTREE >> 8;
		head += 2;
		x->extended = true;
	}
	fixed[INDEX_STAT_BYTES + x->id_bytes] = (uint8_t)(flags >> 8);
	fixed[INDEX_STAT_BYTES + x->id_bytes + 1] = (uint8_t)flags;
	buf_add(&x->entries, fixed, head);
	buf_add(&x->entries, entry->path, len);
	buf_add(&x->entries, zeros, index_padding(head + len));
	x->count++;
}

void index_tree(struct buf *out, const struct index_out *x, const char *name, uint32_t count,
		uint32_t children, const struct object_id *id, const struct buf *children_bytes)
{
	buf_add(out, name, strlen(name) + 1);
	buf_printf(out, "%u %u\n", count, children);
	buf_add(out, id->bytes, x->id_bytes);
	buf_add(out, buf_str(children_bytes), children_bytes->len);
}

/* SHA-1 or SHA-256, by the length of the repository's ids. */
struct checksum {
	size_t bytes;
	struct sha1 sha1;
	struct sha256 sha256;
};

static int put(struct checksum *sum, int fd, const void *bytes, size_t len, struct err *e)
{
	if (sum->bytes == SHA1_BYTES)
		sha1_add(&sum->sha1, bytes, len);
	else
		sha256_add(&sum->sha256, bytes, len);
	return io_write_all(fd, bytes, len, e);
}

static int put_checksum(struct checksum *sum, int fd, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	if (sum->bytes == SHA1_BYTES)
		sha1_end(&sum->sha1, digest);
	else
		sha256_end(&sum->sha256, digest);
	return io_write_all(fd, digest, sum->bytes, e);
}

static int put_trees(struct checksum *sum, int fd, const struct buf *trees, struct err *e)
{
	uint8_t head[8] = "TREE";

	put32(head + 4, (uint32_t)trees->len);
	if (!trees->len)
		return 0;
	if (put(sum, fd, head, sizeof(head), e) < 0)
		return -e->code;
	return put(sum, fd, trees->data, trees->len, e);
}

int index_write(struct index_out *x, int fd, struct err *e)
{
	struct checksum sum = { .bytes = x->id_bytes };
	uint8_t head[INDEX_HEADER_BYTES] = "DIRC";

	if (buf_check(&x->entries, e) < 0 || buf_check(&x->trees, e) < 0)
		return err_wrap(e, "write the index");
	sha1_init(&sum.sha1);
	sha256_init(&sum.sha256);
	put32(head + 4, x->extended ? 3 : 2);
	put32(head + 8, x->count);
	if (put(&sum, fd, head, sizeof(head), e) < 0 ||
	    put(&sum, fd, buf_str(&x->entries), x->entries.len, e) < 0 ||
	    put_trees(&sum, fd, &x->trees, e) < 0 || put_checksum(&sum, fd, e) < 0)
		return err_wrap(e, "write the index");
	return 0;
}
