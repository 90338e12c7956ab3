/* SPDX-License-Identifier: MIT */
/* index.c - write git's index; see index.h. Taking over from another is index_in.c. */
#include "git/index.h"

#include <endian.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/sha256.h"
#include "git/index_format.h"
#include "git/sha1.h"

void index_out_init(struct index_out *x, size_t id_bytes)
{
	*x = (struct index_out){ .id_bytes = id_bytes, .entries.limit = INDEX_MAX, .trees.limit = INDEX_MAX };
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

void index_tree(struct buf *out, const struct index_out *x, const char *name, uint32_t count, uint32_t children,
		const struct object_id *id, const struct buf *children_bytes)
{
	buf_add(out, name, strlen(name) + 1);
	buf_printf(out, "%u %u\n", count, children);
	buf_add(out, id->bytes, x->id_bytes);
	buf_add(out, buf_str(children_bytes), children_bytes->len);
}

static void add_checksum(struct buf *all, size_t id_bytes)
{
	uint8_t digest[SHA256_BYTES];
	struct sha256 s;

	if (id_bytes == SHA1_BYTES) {
		sha1(buf_str(all), all->len, digest);
	} else {
		sha256_init(&s);
		sha256_add(&s, buf_str(all), all->len);
		sha256_end(&s, digest);
	}
	buf_add(all, digest, id_bytes);
}

int index_write(struct index_out *x, int fd, struct err *e)
{
	autobuf struct buf all = { .limit = INDEX_MAX };
	uint8_t word[INDEX_HEADER_BYTES] = "DIRC";

	put32(word + 4, x->extended ? 3 : 2);
	put32(word + 8, x->count);
	buf_add(&all, word, sizeof(word));
	buf_add(&all, buf_str(&x->entries), x->entries.len);
	if (x->trees.len) {
		memcpy(word, "TREE", 4);
		put32(word + 4, (uint32_t)x->trees.len);
		buf_add(&all, word, 8);
		buf_add(&all, buf_str(&x->trees), x->trees.len);
	}
	add_checksum(&all, x->id_bytes);
	if (x->entries.failed || x->trees.failed)
		all.failed = true;
	if (buf_check(&all, e) < 0 || io_write_all(fd, all.data, all.len, e) < 0)
		return err_wrap(e, "write the index");
	return ftruncate(fd, (off_t)all.len) < 0 ? err_errno(e, "write the index") : 0;
}
