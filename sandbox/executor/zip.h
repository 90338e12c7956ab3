/* SPDX-License-Identifier: MIT */
/* zip.h - the records of a zip archive: written, and read where they are foreign. Pure: bytes in,
 * bytes out, no I/O. The bytes of members are others' to move (see tree_zip.c, tree_unzip.c).
 *
 * The records grow by those of Zip64 where a number asks for it, and not else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum zip_limits {
	ZIP_NAME_MAX = 65535,
	ZIP_END_MAX = 65535 + 22 + 20 + 56, /* how far before its end an archive says what it is */
	ZIP_LOCAL_MIN = 30,		    /* bytes of a local header without name and extra */
	ZIP_ENTRY_MAX = 46 + 3 * 65535,	    /* bytes of a directory entry at most */
};

/* --- the bytes of members -------------------------------------------------------------------- */

/* The checksum of bytes, going on from that of those before them (0 at the start). */
uint32_t zip_crc(uint32_t crc, const void *bytes, size_t len);

/* What unpacks deflated bytes; one for many members. */
struct zip_inflate;

struct zip_inflate *zip_inflate_new(void); /* NULL: no memory */
void zip_inflate_free(struct zip_inflate *z);
void zip_inflate_restart(struct zip_inflate *z);

/* Take packed bytes, as far as `out` has room for what comes of them. Both lengths become what was
 * used and what was made. Returns 1 at the end of the member, 0 for more, -EINVAL where the bytes
 * are malformed, -ENOMEM. */
must_check int zip_inflate(struct zip_inflate *z, const void *packed, size_t *packed_len, void *out,
			   size_t *out_len);

/* --- writing: members are stored, one behind the other --------------------------------------- */

struct zip_member {
	const char *name; /* relative, "/" between its parts */
	uint16_t name_len;
	uint32_t mode; /* as stat gives it */
	int64_t mtime; /* seconds; told in UTC */
	uint64_t size, at;
	uint32_t crc;
	bool crc_follows; /* it is not known before the bytes, and stands behind them */
};

/* Bytes of the records, which depend on the sizes and `at` alone. */
uint64_t zip_local_len(const struct zip_member *m);
uint64_t zip_descriptor_len(const struct zip_member *m); /* 0 where nothing follows the bytes */
uint64_t zip_entry_len(const struct zip_member *m);
uint64_t zip_end_len(uint64_t entries, uint64_t directory_at, uint64_t directory_len);

/* The records: before a member's bytes, behind them, in the directory, and the last. */
void zip_put_local(struct buf *out, const struct zip_member *m);
void zip_put_descriptor(struct buf *out, const struct zip_member *m);
void zip_put_entry(struct buf *out, const struct zip_member *m);
void zip_put_end(struct buf *out, uint64_t entries, uint64_t directory_at, uint64_t directory_len);

/* --- reading --------------------------------------------------------------------------------- */

/* Where the directory is. */
struct zip_end {
	uint64_t entries, directory_at, directory_len;
	uint64_t shift; /* bytes before the archive, which positions in it do not count */
};

/* Find the end of an archive of `size` bytes in the last `len` of them (all of them, or at least
 * ZIP_END_MAX). */
must_check int zip_find_end(const char *bytes, size_t len, uint64_t size, struct zip_end *end,
			    struct err *e);

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_entry {
	const char *name; /* in the bytes; not terminated, without NUL */
	size_t name_len;
	uint16_t flags, method;
	uint32_t crc;
	uint64_t packed, size;
	uint64_t at;   /* of the local header, in the file */
	uint32_t mode; /* of Unix; 0 where the archive says none */
};

/* The directory entry at the start of these bytes. Returns its length, 0 where it goes on behind
 * them, or a negative errno. */
must_check long zip_next(const char *bytes, size_t len, const struct zip_end *end,
			 struct zip_entry *entry, struct err *e);

/* How far behind entry->at its bytes begin, by the first ZIP_LOCAL_MIN bytes there. */
must_check long zip_data_offset(const char *bytes, const struct zip_entry *entry, struct err *e);

/* Is it a name that stays below where it is unpacked? Not empty, not absolute, without "..". */
bool zip_name_is_safe(const char *name, size_t len);
