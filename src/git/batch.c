/* SPDX-License-Identifier: MIT */
/* batch.c - see batch.h. */
#include "git/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "git/plumbing.h"

struct batch {
	const struct repo *repo;
	struct plumbing git;
	size_t from, to; /* what is read but not used of buffer */
	char buffer[65536];
};

static int start(struct batch *b, struct err *e)
{
	static const char *const args[] = { "cat-file", "--batch", NULL };

	b->from = b->to = 0;
	return plumbing_start(b->repo, args, &b->git, e);
}

int batch_open(const struct repo *r, struct batch **out, struct err *e)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b)
		return err_code(e, ENOMEM, "out of memory");
	b->repo = r;
	b->git = PLUMBING_NONE;
	if (start(b, e) < 0) {
		free(b);
		return -e->code;
	}
	*out = b;
	return 0;
}

void batch_close(struct batch *b)
{
	if (!b)
		return;
	(void)plumbing_end(&b->git);
	free(b);
}

/* Copy up to `len` bytes of the answer. 0 at its end, or a negative errno. */
static ssize_t take(struct batch *b, char *into, size_t len, struct err *e)
{
	size_t n = b->to - b->from;

	if (!n) {
		ssize_t got = read(b->git.out, b->buffer, sizeof(b->buffer));

		if (got < 0)
			return err_errno(e, "read from git");
		b->from = 0;
		b->to = n = (size_t)got;
	}
	if (n > len)
		n = len;
	memcpy(into, b->buffer + b->from, n);
	b->from += n;
	return (ssize_t)n;
}

static int take_all(struct batch *b, char *into, size_t len, struct err *e)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = take(b, into + got, len - got, e);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return err_code(e, EIO, "git ended too early");
		got += (size_t)n;
	}
	return 0;
}

/* A line without its end. 0 when git is gone. */
static int take_line(struct batch *b, char *line, size_t size, struct err *e)
{
	for (size_t n = 0; n < size; n++) {
		ssize_t got = take(b, line + n, 1, e);

		if (got <= 0)
			return (int)got;
		if (line[n] == '\n') {
			line[n] = '\0';
			return 1;
		}
	}
	return err_code(e, EPROTO, "git answers with too long a line");
}

static enum object_kind kind_of(const char *name)
{
	static const char *const names[] = { NULL, "commit", "tree", "blob", "tag" };

	for (unsigned i = 1; i < ARRAY_LEN(names); i++)
		if (str_eq(name, names[i]))
			return (enum object_kind)i;
	return 0;
}

static int take_object(struct batch *b, char *header, size_t max, struct object *out, struct err *e)
{
	char *save = NULL, *id = strtok_r(header, " ", &save), *kind = strtok_r(NULL, " ", &save);
	char *size = strtok_r(NULL, " ", &save), *bytes;
	uint64_t len;

	if (!id || !kind || !size || !kind_of(kind))
		return err_code(e, ENOENT, "git has no such object");
	if (str_u64(size, 0, max, &len, e) < 0)
		return err_wrap(e, "size of the object");
	bytes = malloc(len + 1);
	if (!bytes)
		return err_code(e, ENOMEM, "out of memory");
	/* One newline follows the object. */
	if (take_all(b, bytes, len + 1, e) < 0) {
		free(bytes);
		return -e->code;
	}
	bytes[len] = '\0';
	*out = (struct object) { .kind = kind_of(kind),
				 .data = (uint8_t *)bytes,
				 .size = len,
				 .heap = bytes };
	return 0;
}

int batch_read(struct batch *b, const char *hex, size_t max, struct object *out, struct err *e)
{
	char line[256];
	int n;

	if (b->git.pid <= 0 && start(b, e) < 0)
		return -e->code;
	n = snprintf(line, sizeof(line), "%.64s\n", hex);
	n = io_write_all(b->git.in, line, (size_t)n, e) < 0 ? 0
							    : take_line(b, line, sizeof(line), e);
	if (n < 0)
		return n;
	if (n == 0) {
		/* It ends where it would have to fetch an object. The next read starts another. */
		int status = plumbing_end(&b->git);

		if (status == 127)
			return plumbing_missing(e);
		return err_code(e, ENOENT, "git gave up with status %d", status);
	}
	return take_object(b, line, max, out, e);
}
