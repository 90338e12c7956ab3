/* SPDX-License-Identifier: MIT */
/* fuzz_zip.c - any bytes as an archive: what its directory says lies within it, and no name that is
 * called safe leads out. */
#include <string.h>

#include "sandbox/executor/zip.h"

#define CHECK(ok)                         \
	do {                              \
		if (!(ok))                \
			__builtin_trap(); \
	} while (0)

/* What a name leads to, part by part: never above where it began. */
static void stays_below(const char *name, size_t len)
{
	long depth = 0;
	size_t at = 0;

	CHECK(len && name[0] != '/');
	while (at < len) {
		size_t n = 0;

		while (at + n < len && name[at + n] != '/')
			n++;
		if (n == 2 && name[at] == '.' && name[at + 1] == '.')
			depth--;
		else if (n && !(n == 1 && name[at] == '.'))
			depth++;
		CHECK(depth >= 0);
		at += n + 1;
	}
}

static void look_at(const char *bytes, size_t size, const struct zip_entry *entry)
{
	struct err e = { 0 };
	long offset;

	CHECK(entry->name >= bytes && entry->name + entry->name_len <= bytes + size);
	CHECK(entry->name_len && entry->name_len <= ZIP_NAME_MAX);
	CHECK(!memchr(entry->name, '\0', entry->name_len));
	CHECK(entry->at <= size && size - entry->at >= ZIP_LOCAL_MIN);
	CHECK(entry->packed <= size - entry->at - ZIP_LOCAL_MIN);
	if (zip_name_is_safe(entry->name, entry->name_len))
		stays_below(entry->name, entry->name_len);
	offset = zip_data_offset(bytes + entry->at, entry, &e);
	CHECK(offset < 0 || (offset >= ZIP_LOCAL_MIN && offset <= ZIP_LOCAL_MIN + 2 * 65535));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct zip_entry entry;
	struct zip_end end;
	struct err e = { 0 };
	uint64_t at;

	if (zip_find_end(bytes, size, size, &end, &e) < 0)
		return 0;
	CHECK(end.directory_at <= size && end.directory_len <= size - end.directory_at);
	at = end.directory_at;
	for (uint64_t i = 0; i < end.entries; i++) {
		uint64_t left = end.directory_at + end.directory_len - at;
		long n = zip_next(bytes + at, (size_t)left, &end, &entry, &e);

		if (n <= 0)
			return 0;
		CHECK((uint64_t)n <= left && n <= ZIP_ENTRY_MAX);
		look_at(bytes, size, &entry);
		at += (uint64_t)n;
	}
	return 0;
}
