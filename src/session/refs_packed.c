/* SPDX-License-Identifier: MIT */
/* refs_packed.c - find one line of packed-refs, which may have a million of them.
 *
 * Read with pread and never mapped: who owns the file may cut it short meanwhile. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "session/refs.h"

#define LINE_MAX_BYTES (GIT_REF_MAX + GIT_ID_MAX + 2)
#define WINDOW (32 * 1024)
#define SCAN_MAX ((off_t)64 << 20) /* of a file that is not sorted */

/* Find " name\n" behind a full id at the start of a line within text. */
static int scan_window(const char *text, size_t len, const char *name, char id[GIT_ID_MAX + 1])
{
	char pattern[GIT_REF_MAX + 3];
	size_t n = (size_t)snprintf(pattern, sizeof(pattern), " %s\n", name);
	const char *from = text, *hit;

	while ((hit = memmem(from, len - (size_t)(from - text), pattern, n))) {
		size_t digits = 0;

		while (digits < GIT_ID_MAX && hit - digits > text &&
		       hit[-1 - (ssize_t)digits] != '\n')
			digits++;
		memcpy(id, hit - digits, digits);
		id[digits] = '\0';
		if (git_id_ok(id) && (hit - digits == text || hit[-1 - (ssize_t)digits] == '\n'))
			return 1;
		from = hit + 1;
	}
	return 0;
}

static int scan(int fd, off_t from, off_t to, const char *name, char id[GIT_ID_MAX + 1])
{
	char text[WINDOW];

	while (from < to) {
		ssize_t n = pread(fd, text, sizeof(text), from);

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		if (scan_window(text, (size_t)n, name, id) > 0)
			return 1;
		if (n < (ssize_t)sizeof(text))
			return 0;
		/* A line may lie across the end of this window. */
		from += n - LINE_MAX_BYTES;
	}
	return 0;
}

/* Compare the first whole reference line behind `at` with name; *start is where it starts. */
static int compare_at(int fd, off_t at, off_t to, const char *name, int *order, off_t *start)
{
	char text[4 * LINE_MAX_BYTES + 1];
	ssize_t n = pread(fd, text, sizeof(text) - 1, at);
	const char *line, *space, *end;

	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (line = memchr(text, '\n', (size_t)n); line; line = strchr(line + 1, '\n'))
		if (line[1] != '^' && line[1] != '#')
			break;
	if (!line || !line[1] || at + (line - text) + 1 >= to)
		return 0;
	line++;
	end = strchr(line, '\n');
	space = strchr(line, ' ');
	if (!end || !space || space > end)
		return -EINVAL;
	*start = at + (line - text);
	*order = strncmp(space + 1, name, (size_t)(end - space - 1));
	if (*order == 0 && name[end - space - 1])
		*order = -1;
	return 1;
}

/* Halve [*from, *to) by the sorted names until a scan of it is short. */
static int narrow(int fd, off_t *from, off_t *to, const char *name)
{
	while (*to - *from > WINDOW) {
		off_t middle = *from + (*to - *from) / 2, start = 0;
		int order = 0, r = compare_at(fd, middle, *to, name, &order, &start);

		if (r < 0)
			return r;
		if (r == 0)
			break;
		if (order <= 0)
			*from = start;
		else
			*to = start;
	}
	return 0;
}

int git_packed_find(int common, const char *name, char id[GIT_ID_MAX + 1])
{
	autoclose int fd = openat(common, "packed-refs",
				  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char first[256];
	struct stat st;
	off_t from = 0, to;
	ssize_t n;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	to = st.st_size;
	if (to > WINDOW) {
		n = pread(fd, first, sizeof(first) - 1, 0);
		if (n < 0)
			return -errno;
		first[n] = '\0';
		first[strcspn(first, "\n")] = '\0';
		if (str_starts(first, "# pack-refs") && strstr(first, " sorted")) {
			r = narrow(fd, &from, &to, name);
			if (r < 0)
				return r;
		} else if (to > SCAN_MAX) {
			return -EFBIG;
		}
	}
	return scan(fd, from, to, name, id);
}
