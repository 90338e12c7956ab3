/* SPDX-License-Identifier: MIT */
/* zip_read.c - see zip.h. The directory at the end is what counts, as for every common reader; a
 * local header is looked at for its length alone. */
#include <string.h>

#include "sandbox/executor/zip.h"

enum {
	LOCAL_SIGN = 0x04034b50,
	ENTRY_SIGN = 0x02014b50,
	END_SIGN = 0x06054b50,
	END64_SIGN = 0x06064b50,
	LOCATOR_SIGN = 0x07064b50,
	ENTRY_MIN = 46,
	END_MIN = 22,
	END64_MIN = 56,
	LOCATOR_LEN = 20,
	EXTRA64 = 1,
	MADE_BY_UNIX = 3,
	MADE_BY_MAC = 19,
	FLAG_ENCRYPTED = 1 << 0,
	FLAG_PATCH = 1 << 5,
	FLAG_STRONG = 1 << 6,
	FLAG_MASKED = 1 << 13,
};

#define FULL16 0xffffu
#define FULL32 0xffffffffu

static uint16_t get16(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return (uint16_t)(b[0] | b[1] << 8);
}

static uint32_t get32(const char *at)
{
	return (uint32_t)get16(at) | (uint32_t)get16(at + 2) << 16;
}

static uint64_t get64(const char *at)
{
	return (uint64_t)get32(at) | (uint64_t)get32(at + 4) << 32;
}

static int broken(struct err *e, const char *what)
{
	return err_code(e, EINVAL, "the archive %s", what);
}

/* The end record whose comment reaches to the last byte; NULL where there is none. */
static const char *find_end_record(const char *bytes, size_t len)
{
	for (size_t back = END_MIN; back <= len && back <= END_MIN + FULL16; back++) {
		const char *at = bytes + len - back;

		if (get32(at) == END_SIGN && get16(at + 20) == back - END_MIN)
			return at;
	}
	return NULL;
}

/* The record of Zip64 right before its locator. Returns it, or NULL with *e. */
static const char *find_end64(const char *bytes, const char *locator, struct err *e)
{
	const char *at = locator - END64_MIN;

	if (get32(locator + 4) || get32(locator + 16) > 1) {
		(void)broken(e, "is in several parts");
		return NULL;
	}
	if (locator - bytes < END64_MIN || get32(at) != END64_SIGN ||
	    get64(at + 4) != END64_MIN - 12) {
		(void)broken(e, "has no readable end");
		return NULL;
	}
	return at;
}

static int read_end64(const char *at, struct zip_end *end, struct err *e)
{
	if (get32(at + 16) || get32(at + 20) || get64(at + 24) != get64(at + 32))
		return broken(e, "is in several parts");
	end->entries = get64(at + 32);
	end->directory_len = get64(at + 40);
	end->directory_at = get64(at + 48);
	return 0;
}

static int read_end(const char *at, struct zip_end *end, struct err *e)
{
	if (get16(at + 4) || get16(at + 6) || get16(at + 8) != get16(at + 10))
		return broken(e, "is in several parts");
	end->entries = get16(at + 10);
	end->directory_len = get32(at + 12);
	end->directory_at = get32(at + 16);
	return 0;
}

/* The directory ends where the end records begin, at `ends` of the file. */
static int place(struct zip_end *end, uint64_t ends, struct err *e)
{
	uint64_t at;

	if (end->directory_len > ends)
		return broken(e, "has a directory larger than itself");
	at = ends - end->directory_len;
	if (end->directory_at > at)
		return broken(e, "has a directory behind its end");
	end->shift = at - end->directory_at;
	end->directory_at = at;
	if (end->entries > end->directory_len / ENTRY_MIN)
		return broken(e, "has fewer entries than it says");
	return 0;
}

int zip_find_end(const char *bytes, size_t len, uint64_t size, struct zip_end *end, struct err *e)
{
	const char *at = find_end_record(bytes, len), *locator;

	if (!at)
		return broken(e, "has no end");
	*end = (struct zip_end) { .entries = 0 };
	locator = at - LOCATOR_LEN;
	if (at - bytes >= LOCATOR_LEN && get32(locator) == LOCATOR_SIGN) {
		at = find_end64(bytes, locator, e);
		if (!at || read_end64(at, end, e) < 0)
			return -EINVAL;
	} else if (read_end(at, end, e) < 0) {
		return -EINVAL;
	}
	return place(end, size - len + (uint64_t)(at - bytes), e);
}

/* The numbers that did not fit, in the order in which the field has them. */
static int read_extra64(const char *field, size_t len, struct zip_entry *entry, struct err *e)
{
	uint64_t *const numbers[] = { &entry->size, &entry->packed, &entry->at };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (*numbers[i] != FULL32)
			continue;
		if (len < 8)
			return broken(e, "has an entry without its sizes");
		*numbers[i] = get64(field);
		field += 8;
		len -= 8;
	}
	return 0;
}

static int read_extra(const char *extra, size_t len, struct zip_entry *entry, struct err *e)
{
	while (len >= 4) {
		size_t n = get16(extra + 2);

		if (n > len - 4)
			return broken(e, "has a malformed extra field");
		if (get16(extra) == EXTRA64)
			return read_extra64(extra + 4, n, entry, e);
		extra += 4 + n;
		len -= 4 + n;
	}
	return 0;
}

/* Only the last byte before the directory can be the last of a member. */
static int check_place(const struct zip_end *end, struct zip_entry *entry, struct err *e)
{
	uint64_t room;

	if (entry->at > end->directory_at - end->shift)
		return broken(e, "has an entry behind its end");
	entry->at += end->shift;
	room = end->directory_at - entry->at;
	if (room < ZIP_LOCAL_MIN || entry->packed > room - ZIP_LOCAL_MIN)
		return broken(e, "has an entry larger than itself");
	if (entry->method == ZIP_STORED && entry->packed != entry->size)
		return broken(e, "has a stored entry of two sizes");
	return 0;
}

static int check_kind(const struct zip_entry *entry, struct err *e)
{
	if (entry->flags & (FLAG_ENCRYPTED | FLAG_PATCH | FLAG_STRONG | FLAG_MASKED))
		return broken(e, "is encrypted");
	if (entry->method != ZIP_STORED && entry->method != ZIP_DEFLATED)
		return err_code(e, EINVAL,
				"the archive is compressed by method %u, which is not known",
				entry->method);
	if (!entry->name_len || memchr(entry->name, '\0', entry->name_len))
		return broken(e, "has an entry without a name");
	return 0;
}

static uint32_t mode_of(const char *bytes)
{
	unsigned made_by = get16(bytes + 4) >> 8;

	return made_by == MADE_BY_UNIX || made_by == MADE_BY_MAC ? get32(bytes + 38) >> 16 : 0;
}

long zip_next(const char *bytes, size_t len, const struct zip_end *end, struct zip_entry *entry,
	      struct err *e)
{
	size_t name_len, extra_len, whole;

	if (len < ENTRY_MIN)
		return 0;
	if (get32(bytes) != ENTRY_SIGN)
		return broken(e, "has a malformed directory");
	name_len = get16(bytes + 28);
	extra_len = get16(bytes + 30);
	whole = ENTRY_MIN + name_len + extra_len + get16(bytes + 32);
	if (len < whole)
		return 0;
	*entry = (struct zip_entry) { .name = bytes + ENTRY_MIN,
				      .name_len = name_len,
				      .flags = get16(bytes + 8),
				      .method = get16(bytes + 10),
				      .crc = get32(bytes + 16),
				      .packed = get32(bytes + 20),
				      .size = get32(bytes + 24),
				      .at = get32(bytes + 42),
				      .mode = mode_of(bytes) };
	if (check_kind(entry, e) < 0 ||
	    read_extra(bytes + ENTRY_MIN + name_len, extra_len, entry, e) < 0 ||
	    check_place(end, entry, e) < 0)
		return -EINVAL;
	return (long)whole;
}

long zip_data_offset(const char *bytes, const struct zip_entry *entry, struct err *e)
{
	if (get32(bytes) != LOCAL_SIGN)
		return err_code(e, EINVAL, "the archive has no bytes for '%.*s'",
				(int)(entry->name_len < 200 ? entry->name_len : 200), entry->name);
	return ZIP_LOCAL_MIN + get16(bytes + 26) + get16(bytes + 28);
}

bool zip_name_is_safe(const char *name, size_t len)
{
	const char *end = name + len;

	if (!len || *name == '/')
		return false;
	while (name < end) {
		const char *slash = memchr(name, '/', (size_t)(end - name));
		size_t part = (size_t)((slash ? slash : end) - name);

		if (part == 2 && memcmp(name, "..", 2) == 0)
			return false;
		name += part + 1;
	}
	return true;
}
