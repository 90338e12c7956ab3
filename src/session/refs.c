/* SPDX-License-Identifier: MIT */
/* refs.c - see refs.h. */
#include "session/refs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define SYMBOLIC_DEPTH 5

bool git_id_ok(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return text[n] == '\0' && (n == 40 || n == 64);
}

bool git_ref_ok(const char *name)
{
	size_t n = strlen(name);

	if (!n || n >= GIT_REF_MAX || name[0] == '/' || name[0] == '-' || name[n - 1] == '/' ||
	    name[n - 1] == '.')
		return false;
	if (strstr(name, "..") || strstr(name, "//") || strstr(name, "@{") || strstr(name, "/.") ||
	    name[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] <= 0x20 || name[i] == 0x7f ||
		    strchr("~^:?*[\\", name[i]))
			return false;
	return !str_ends(name, ".lock");
}

int git_read_small(int dir, const char *path, char *text, size_t size)
{
	/* Not blocking: it may be a fifo. */
	autoclose int fd =
		openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	do {
		n = read(fd, text, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -EFBIG;
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		n--;
	text[n] = '\0';
	return memchr(text, '\0', (size_t)n) ? -EINVAL : (int)n;
}

/* References of one work tree alone are in its own directory, the others are shared. */
static bool is_per_worktree(const char *name)
{
	return !str_starts(name, "refs/") || str_starts(name, "refs/bisect/") ||
	       str_starts(name, "refs/worktree/") || str_starts(name, "refs/rewritten/");
}

int git_ref_find(int git, int common, const char *name, char id[GIT_ID_MAX + 1])
{
	char text[GIT_REF_MAX + 16], next[GIT_REF_MAX + 16];
	int n;

	for (int depth = 0; depth < SYMBOLIC_DEPTH; depth++) {
		if (!git_ref_ok(name))
			return -EINVAL;
		n = git_read_small(is_per_worktree(name) ? git : common, name, text, sizeof(text));
		/* A directory where the file would be: only longer names are loose. */
		if (n == -ENOENT || n == -ENOTDIR || n == -EINVAL)
			return git_packed_find(common, name, id);
		if (n < 0)
			return n;
		if (git_id_ok(text)) {
			memcpy(id, text, (size_t)n + 1);
			return 1;
		}
		if (!str_starts(text, "ref: "))
			return -EINVAL;
		memcpy(next, text + 5, (size_t)n - 4);
		name = next;
	}
	return -ELOOP;
}
