/* SPDX-License-Identifier: MIT */
/* zip_write.c - see zip.h. */
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "sandbox/executor/zip.h"

enum {
	LOCAL_SIGN = 0x04034b50,
	DESCRIPTOR_SIGN = 0x08074b50,
	ENTRY_SIGN = 0x02014b50,
	END_SIGN = 0x06054b50,
	END64_SIGN = 0x06064b50,
	LOCATOR_SIGN = 0x07064b50,
	FLAG_FOLLOWS = 1 << 3,
	FLAG_UTF8 = 1 << 11,
	VERSION = 20,	/* of the format, that readers need: directories and descriptors */
	VERSION64 = 45, /* and for Zip64 */
	UNIX = 3 << 8,	/* who made it */
	EXTRA64 = 1,	/* id of the extra field of Zip64 */
};

#define FULL16 0xffffu
#define FULL32 0xffffffffu

static void put16(struct buf *out, uint64_t n)
{
	unsigned char bytes[2] = { (unsigned char)n, (unsigned char)(n >> 8) };

	buf_add(out, bytes, sizeof(bytes));
}

static void put32(struct buf *out, uint64_t n)
{
	put16(out, n & FULL16);
	put16(out, n >> 16 & FULL16);
}

static void put64(struct buf *out, uint64_t n)
{
	put32(out, n & FULL32);
	put32(out, n >> 32);
}

static bool is_large(const struct zip_member *m)
{
	return m->size >= FULL32;
}

static bool is_far(const struct zip_member *m)
{
	return m->at >= FULL32;
}

static uint64_t low32(uint64_t n, bool elsewhere)
{
	return elsewhere ? FULL32 : n;
}

/* The numbers of the extra field in the directory: both sizes or none, then the position. */
static uint64_t entry_extra_len(const struct zip_member *m)
{
	uint64_t numbers = (is_large(m) ? 16 : 0) + (is_far(m) ? 8 : 0);

	return numbers ? 4 + numbers : 0;
}

uint64_t zip_local_len(const struct zip_member *m)
{
	return 30u + m->name_len + (is_large(m) ? 20u : 0u);
}

uint64_t zip_descriptor_len(const struct zip_member *m)
{
	if (!m->crc_follows)
		return 0;
	return is_large(m) ? 24 : 16;
}

uint64_t zip_entry_len(const struct zip_member *m)
{
	return 46u + m->name_len + entry_extra_len(m);
}

static bool end_is_large(uint64_t entries, uint64_t at, uint64_t len)
{
	return entries >= FULL16 || at >= FULL32 || len >= FULL32;
}

uint64_t zip_end_len(uint64_t entries, uint64_t directory_at, uint64_t directory_len)
{
	return 22 + (end_is_large(entries, directory_at, directory_len) ? 56 + 20 : 0);
}

/* Names that are no UTF-8 are told as they are, and not said to be any. */
static unsigned flags_of(const struct zip_member *m)
{
	bool ascii = true;

	for (size_t i = 0; i < m->name_len; i++)
		ascii = ascii && !((unsigned char)m->name[i] & 0x80);
	return (m->crc_follows ? FLAG_FOLLOWS : 0) |
	       (!ascii && utf8_check(m->name, m->name_len) == m->name_len ? FLAG_UTF8 : 0);
}

/* The format knows the years 1980 to 2107, in steps of two seconds. */
static void put_time(struct buf *out, int64_t seconds)
{
	time_t clock = (time_t)(seconds < 315532800    ? 315532800
				: seconds > 4354819198 ? 4354819198
						       : seconds);
	struct tm t;

	(void)gmtime_r(&clock, &t); /* cannot fail within these years */
	put16(out, (uint64_t)(t.tm_hour << 11 | t.tm_min << 5 | t.tm_sec / 2));
	put16(out, (uint64_t)((t.tm_year - 80) << 9 | (t.tm_mon + 1) << 5 | t.tm_mday));
}

/* What the local header and the directory have in common, from the flags on. */
static void put_common(struct buf *out, const struct zip_member *m, bool numbers,
		       uint64_t extra_len)
{
	put16(out, flags_of(m));
	put16(out, ZIP_STORED);
	put_time(out, m->mtime);
	put32(out, numbers ? m->crc : 0);
	put32(out, low32(numbers ? m->size : 0, is_large(m)));
	put32(out, low32(numbers ? m->size : 0, is_large(m)));
	put16(out, m->name_len);
	put16(out, extra_len);
}

static unsigned version_of(const struct zip_member *m)
{
	return is_large(m) || is_far(m) ? VERSION64 : VERSION;
}

void zip_put_local(struct buf *out, const struct zip_member *m)
{
	put32(out, LOCAL_SIGN);
	put16(out, version_of(m));
	put_common(out, m, !m->crc_follows, is_large(m) ? 20 : 0);
	buf_add(out, m->name, m->name_len);
	if (!is_large(m))
		return;
	put16(out, EXTRA64);
	put16(out, 16);
	put64(out, m->crc_follows ? 0 : m->size);
	put64(out, m->crc_follows ? 0 : m->size);
}

void zip_put_descriptor(struct buf *out, const struct zip_member *m)
{
	void (*put)(struct buf *, uint64_t) = is_large(m) ? put64 : put32;

	if (!m->crc_follows)
		return;
	put32(out, DESCRIPTOR_SIGN);
	put32(out, m->crc);
	put(out, m->size);
	put(out, m->size);
}

void zip_put_entry(struct buf *out, const struct zip_member *m)
{
	uint64_t extra = entry_extra_len(m);

	put32(out, ENTRY_SIGN);
	put16(out, UNIX | version_of(m));
	put16(out, version_of(m));
	put_common(out, m, true, extra);
	put16(out, 0); /* no comment, */
	put16(out, 0); /* on the first disk, */
	put16(out, 0); /* of bytes that are no text for sure */
	put32(out, (uint64_t)m->mode << 16);
	put32(out, low32(m->at, is_far(m)));
	buf_add(out, m->name, m->name_len);
	if (!extra)
		return;
	put16(out, EXTRA64);
	put16(out, extra - 4);
	if (is_large(m)) {
		put64(out, m->size);
		put64(out, m->size);
	}
	if (is_far(m))
		put64(out, m->at);
}

static void put_end64(struct buf *out, uint64_t entries, uint64_t at, uint64_t len)
{
	put32(out, END64_SIGN);
	put64(out, 56 - 12); /* what follows of this record */
	put16(out, UNIX | VERSION64);
	put16(out, VERSION64);
	put32(out, 0);
	put32(out, 0);
	put64(out, entries);
	put64(out, entries);
	put64(out, len);
	put64(out, at);
	put32(out, LOCATOR_SIGN);
	put32(out, 0);
	put64(out, at + len);
	put32(out, 1);
}

void zip_put_end(struct buf *out, uint64_t entries, uint64_t directory_at, uint64_t directory_len)
{
	if (end_is_large(entries, directory_at, directory_len))
		put_end64(out, entries, directory_at, directory_len);
	put32(out, END_SIGN);
	put16(out, 0);
	put16(out, 0);
	put16(out, entries >= FULL16 ? FULL16 : entries);
	put16(out, entries >= FULL16 ? FULL16 : entries);
	put32(out, low32(directory_len, directory_len >= FULL32));
	put32(out, low32(directory_at, directory_at >= FULL32));
	put16(out, 0);
}
