/* SPDX-License-Identifier: MIT */
/* patch.c - see patch.h. The form of what is sent is in src/git/patch.c. */
#include "session/patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "session/gitrun.h"

#define NOBODY 65534
#define NAME_MAX_BYTES 20000

struct patch {
	const char *argv[3];
	struct owner_ids nobody;
	struct git_run run;
	struct git_job job;
	int to;
};

int patch_new(bool summary, int out, struct patch **result, struct err *e)
{
	struct patch *p = calloc(1, sizeof(*p));
	int ends[2], r;

	if (!p)
		return err_code(e, ENOMEM, "out of memory");
	/* A socket and not a pipe: writing to one that has died must raise no signal. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		free(p);
		return err_errno(e, "make a socket pair");
	}
	p->argv[0] = "patch";
	p->argv[1] = summary ? "--summary" : NULL;
	p->nobody = (struct owner_ids) { .uid = NOBODY, .gid = NOBODY };
	p->run = (struct git_run) { .argv = p->argv, .in = ends[1], .out = out };
	p->run.ids = geteuid() == 0 ? &p->nobody : NULL;
	r = git_start(&p->run, &p->job, e);
	(void)close(ends[1]);
	if (r < 0) {
		(void)close(ends[0]);
		free(p);
		return r;
	}
	p->to = ends[0];
	*result = p;
	return 0;
}

static int send_all(struct patch *p, const void *bytes, size_t len, struct err *e)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = send(p->to, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "send a change to ohsandbox-git");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Exactly `size` bytes, whatever the file does meanwhile. */
static int send_file(struct patch *p, int fd, uint64_t size, struct err *e)
{
	static const char zeros[4096];
	char chunk[65536];
	off_t at = 0;

	while (size) {
		size_t want = size < sizeof(chunk) ? (size_t)size : sizeof(chunk);
		ssize_t n = pread(fd, chunk, want, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "read a changed file");
		if (n == 0)
			break;
		if (send_all(p, chunk, (size_t)n, e) < 0)
			return -e->code;
		at += n;
		size -= (uint64_t)n;
	}
	for (; size; size -= size < sizeof(zeros) ? size : sizeof(zeros))
		if (send_all(p, zeros, size < sizeof(zeros) ? (size_t)size : sizeof(zeros), e) < 0)
			return -e->code;
	return 0;
}

struct side {
	unsigned mode;
	uint64_t size;
	int fd;
	const char *link;
};

/* What git would keep of a file's mode. What it has no place for (devices, pipes) is left out. */
static int measure(mode_t mode, int fd, const char *link, struct side *s, struct err *e)
{
	struct stat st;

	*s = (struct side) { .fd = -1 };
	if (link) {
		*s = (struct side) { .mode = 0120000,
				     .size = strlen(link),
				     .fd = -1,
				     .link = link };
	} else if (fd >= 0 && S_ISREG(mode)) {
		if (fstat(fd, &st) < 0)
			return err_errno(e, "stat a changed file");
		*s = (struct side) { .mode = mode & 0100 ? 0100755 : 0100644,
				     .size = (uint64_t)st.st_size,
				     .fd = fd };
	}
	return 0;
}

static int send_side(struct patch *p, const struct side *s, struct err *e)
{
	if (s->link)
		return send_all(p, s->link, s->size, e);
	return s->fd >= 0 ? send_file(p, s->fd, s->size, e) : 0;
}

int patch_add(struct patch *p, const struct change *c, struct err *e)
{
	struct side before, after;
	char numbers[128];
	int n;

	if (strlen(c->path) >= NAME_MAX_BYTES)
		return err_code(e, ENAMETOOLONG, "'%.60s...' is too long a path to show", c->path);
	if (measure(c->mode_before, c->before, c->link_before, &before, e) < 0 ||
	    measure(c->kind == CHANGE_DELETED ? 0 : c->mode, c->after, c->link_after, &after, e) <
		    0)
		return err_wrap(e, "'%.200s'", c->path);
	if (!before.mode && !after.mode)
		return 0;
	n = snprintf(numbers, sizeof(numbers), "%o %llu %o %llu", before.mode,
		     (unsigned long long)before.size, after.mode, (unsigned long long)after.size);
	if (send_all(p, c->path, strlen(c->path) + 1, e) < 0 ||
	    send_all(p, numbers, (size_t)n + 1, e) < 0 || send_side(p, &before, e) < 0 ||
	    send_side(p, &after, e) < 0)
		return err_wrap(e, "'%.200s'", c->path);
	return 0;
}

int patch_end(struct patch *p, struct err *e)
{
	struct json_doc *answer = NULL;
	int r;

	(void)close(p->to);
	r = git_finish(&p->job, &answer, e);
	json_free(answer);
	free(p);
	return r;
}
