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

void index_add(struct buf *index, int host, const char *path)
{
	size_t len = strlen(path);
	struct stamp s = look(host, path, len);

	buf_add(index, &s, sizeof(s));
	buf_add(index, path, len + 1);
}

bool index_holds(const char *bytes, size_t len, int host)
{
	while (len) {
		struct stamp was, is;
		const char *path = bytes + sizeof(was);

		if (len < sizeof(was))
			return false;
		memcpy(&was, bytes, sizeof(was));
		len -= sizeof(was);
		if (was.path_len >= PATH_BYTES || was.path_len >= len || path[was.path_len] != '\0')
			return false;
		is = look(host, path, was.path_len);
		if (memcmp(&was, &is, sizeof(is)) != 0)
			return false;
		bytes = path + was.path_len + 1;
		len -= was.path_len + 1;
	}
	return true;
}
