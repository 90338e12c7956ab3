/* SPDX-License-Identifier: MIT */
/* rootfs_index.c - stamps of the host's files. A start compares all of them, so a stamp is bytes
 * that are compared as they are. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "session/rootfs_parts.h"

#define PATH_BYTES 4096

/* All zero for what is missing. The time of the last change of the inode: a chmod counts too, and
 * nobody can set it back. */
struct stamp {
	uint64_t inode, size;
	int64_t seconds;
	uint32_t nanoseconds, mode, owner, path_len;
};

static struct stamp look(int host, const char *path, size_t len)
{
	struct stamp s = { .path_len = (uint32_t)len };
	struct stat st;

	if (fstatat(host, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return s;
	s.inode = st.st_ino;
	s.size = (uint64_t)st.st_size;
	s.seconds = st.st_ctim.tv_sec;
	s.nanoseconds = (uint32_t)st.st_ctim.tv_nsec;
	s.mode = st.st_mode;
	s.owner = st.st_uid;
	return s;
}

static bool is_missing(const struct stamp *s)
{
	return !s->mode;
}

/* Where the path of the entry at `at` is, or NULL behind the last or at what is no entry. */
static const char *entry_path(const char *bytes, size_t len, size_t at, struct stamp *stamp)
{
	if (len - at < sizeof(*stamp))
		return NULL;
	memcpy(stamp, bytes + at, sizeof(*stamp));
	at += sizeof(*stamp);
	if (stamp->path_len >= PATH_BYTES || stamp->path_len >= len - at ||
	    bytes[at + stamp->path_len] != '\0')
		return NULL;
	return bytes + at;
}

static bool index_has(const struct buf *index, const char *path)
{
	struct stamp s;
	const char *found;

	for (size_t at = 0; (found = entry_path(index->data, index->len, at, &s));
	     at += sizeof(s) + s.path_len + 1)
		if (strcmp(found, path) == 0)
			return true;
	return false;
}

void index_add(struct buf *index, int host, const char *path)
{
	size_t len = strlen(path);
	struct stamp s = look(host, path, len);
	char parent[PATH_BYTES];
	const char *slash = strrchr(path, '/');

	if (is_missing(&s) && strcmp(path, ".") != 0 && len < sizeof(parent)) {
		/* It cannot appear without a change of the directory above, which many share. */
		if (!slash || slash == path)
			return index_add(index, host, ".");
		memcpy(parent, path, (size_t)(slash - path));
		parent[slash - path] = '\0';
		return index_add(index, host, parent);
	}
	if (index_has(index, path))
		return;
	buf_add(index, &s, sizeof(s));
	buf_add(index, path, len + 1);
}

bool index_holds(const char *bytes, size_t len, int host)
{
	size_t at = 0;

	while (at < len) {
		struct stamp was, is;
		const char *path = entry_path(bytes, len, at, &was);

		if (!path)
			return false;
		is = look(host, path, was.path_len);
		if (memcmp(&was, &is, sizeof(is)) != 0)
			return false;
		at += sizeof(was) + was.path_len + 1;
	}
	return true;
}
