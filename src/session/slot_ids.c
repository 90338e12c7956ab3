/* SPDX-License-Identifier: MIT */
/* slot_ids.c - see slot_ids.h. */
#include "session/slot_ids.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/io.h"
#include "session/slot.h"

#define FILE_MAX ((size_t)64 << 20)

static const struct {
	const char *path;
	bool subid;
} id_files[SLOT_ID_FILES] = {
	{ "/etc/subuid", true },
	{ "/etc/subgid", true },
	{ "/etc/passwd", false },
	{ "/etc/group", false },
};

static void block(struct slot_id_facts *facts, uint64_t first, uint64_t count)
{
	uint64_t begin = SLOT_UID_FIRST, end = begin + (uint64_t)SLOT_COUNT * SLOT_IDS;

	if (!count || first >= end || first + count <= begin)
		return;
	if (first < begin) {
		count -= begin - first;
		first = begin;
	}
	if (first + count > end)
		count = end - first;
	for (uint64_t slot = (first - begin) / SLOT_IDS;
	     slot <= (first + count - 1 - begin) / SLOT_IDS; slot++)
		facts->blocked[slot / 8] |= (uint8_t)(1u << (slot % 8));
}

/* The number at the start of a field; fields that begin with no digit are none. */
static bool field_number(const char *field, uint64_t *value)
{
	if (!field || *field < '0' || *field > '9')
		return false;
	*value = strtoull(field, NULL, 10);
	return *value <= UINT32_MAX;
}

/* The n-th field of a line that ends at `end`; NULL where there is none. */
static const char *line_field(const char *line, const char *end, unsigned n)
{
	while (n--) {
		line = memchr(line, ':', (size_t)(end - line));
		if (!line)
			return NULL;
		line++;
	}
	return line;
}

void slot_ids_parse(struct slot_id_facts *facts, const char *text, bool subid)
{
	while (*text) {
		const char *end = text + strcspn(text, "\n");
		uint64_t first, count = 1;

		if (field_number(line_field(text, end, subid ? 1 : 2), &first) &&
		    (!subid || field_number(line_field(text, end, 2), &count)))
			block(facts, first, count);
		text = *end ? end + 1 : end;
	}
}

/* Note how the file looks now. Returns whether it looks different from before. */
static int file_look(struct slot_id_facts *facts, unsigned i, struct err *e)
{
	struct stat st = { 0 };
	int64_t mtime_ns, ctime_ns;
	bool same;

	if (stat(id_files[i].path, &st) < 0 && errno != ENOENT)
		return err_errno(e, "stat '%s'", id_files[i].path);
	mtime_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	ctime_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
	same = facts->seen[i].inode == st.st_ino && facts->seen[i].size == (uint64_t)st.st_size &&
	       facts->seen[i].mtime_ns == mtime_ns && facts->seen[i].ctime_ns == ctime_ns;
	facts->seen[i].inode = st.st_ino;
	facts->seen[i].size = (uint64_t)st.st_size;
	facts->seen[i].mtime_ns = mtime_ns;
	facts->seen[i].ctime_ns = ctime_ns;
	return !same;
}

int slot_ids_refresh(struct slot_id_facts *facts, struct err *e)
{
	bool changed = !facts->known;

	for (unsigned i = 0; i < SLOT_ID_FILES; i++) {
		int r = file_look(facts, i, e);

		if (r < 0)
			return r;
		changed |= r;
	}
	if (!changed)
		return 0;
	facts->known = false;
	memset(facts->blocked, 0, sizeof(facts->blocked));
	for (unsigned i = 0; i < SLOT_ID_FILES; i++) {
		autobuf struct buf text = { 0 };

		if (!facts->seen[i].inode)
			continue;
		if (io_read_file(AT_FDCWD, id_files[i].path, FILE_MAX, &text, e) < 0)
			return -e->code;
		slot_ids_parse(facts, buf_str(&text), id_files[i].subid);
	}
	facts->known = true;
	return 0;
}

bool slot_ids_blocked(const struct slot_id_facts *facts, uint32_t slot)
{
	return facts->blocked[slot / 8] & (1u << (slot % 8));
}
