/* SPDX-License-Identifier: MIT */
/* tree_ask.h - the process that moves files, in a scratch directory, and what it answers. */
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/io.h"
#include "sandbox/executor/transfer_wire.h"
#include "sandbox/executor/tree.h"
#include "unit.h"

/* Whose ids it has; root's tests give it somebody's for whom permissions count. */
static uid_t tree_as;

/* One that was asked for something. */
struct asked {
	int socket;
	pid_t pid;
	struct transfer_answer answer;
	char text[TRANSFER_TEXT_MAX + 1];
};

static inline void tree_begin(struct asked *a, enum transfer_op op, const char *path,
			      const char *name)
{
	struct transfer_ask ask = { .op = op,
				    .path_len = (uint32_t)strlen(path),
				    .name_len = (uint32_t)strlen(name) };
	struct err e = { 0 };
	int pair[2];

	*a = (struct asked) { .socket = -1 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	a->pid = fork();
	if (a->pid == 0) {
		(void)close(pair[0]);
		(void)umask(022);
		if (tree_as && setresuid(tree_as, tree_as, tree_as) < 0)
			_exit(9);
		tree_main(pair[1]);
	}
	(void)close(pair[1]);
	a->socket = pair[0];
	(void)signal(SIGPIPE, SIG_IGN);
	assert_ok(io_write_all(a->socket, &ask, sizeof(ask), &e));
	assert_ok(io_write_all(a->socket, path, ask.path_len, &e));
	assert_ok(io_write_all(a->socket, name, ask.name_len, &e));
}

/* Bytes that are uploaded; one that has failed may have stopped reading. */
static inline void tree_upload(struct asked *a, const void *bytes, size_t len)
{
	uint32_t piece = (uint32_t)len;
	struct err e = { 0 };

	if (len && io_write_all(a->socket, &piece, sizeof(piece), &e) == 0)
		(void)!io_write_all(a->socket, bytes, len, &e);
}

static inline void tree_whole(struct asked *a)
{
	uint32_t end = 0;
	struct err e = { 0 };

	(void)!io_write_all(a->socket, &end, sizeof(end), &e);
}

/* The head of its answer. Returns the length of the body, or -1 with the error in a->text. */
static inline int64_t tree_hear(struct asked *a)
{
	struct err e = { 0 };

	assert_int_equal(io_read_full(a->socket, &a->answer, sizeof(a->answer), &e),
			 sizeof(a->answer));
	assert_true(a->answer.text_len <= TRANSFER_TEXT_MAX);
	assert_int_equal(io_read_full(a->socket, a->text, a->answer.text_len, &e),
			 a->answer.text_len);
	a->text[a->answer.text_len] = '\0';
	return a->answer.failed ? -1 : (int64_t)a->answer.body_len;
}

static inline void tree_end(struct asked *a)
{
	int status;

	(void)close(a->socket);
	assert_int_equal(waitpid(a->pid, &status, 0), a->pid);
	assert_true(WIFEXITED(status));
}

/* Upload all of it. Returns "" or the error. */
static inline const char *tree_give(enum transfer_op op, const char *path, const char *name,
				    const void *bytes, size_t len)
{
	static struct asked a;

	tree_begin(&a, op, path, name);
	tree_upload(&a, bytes, len);
	tree_whole(&a);
	(void)tree_hear(&a);
	tree_end(&a);
	return a.text;
}

/* Everything that it gives. Returns whether all of it came that was announced. */
static inline bool tree_take(enum transfer_op op, const char *path, struct buf *out)
{
	struct asked a;
	struct err e = { 0 };
	int64_t len;

	tree_begin(&a, op, path, "");
	len = tree_hear(&a);
	if (len < 0)
		buf_puts(out, a.text);
	else
		assert_ok(io_read_all(a.socket, 64 << 20, out, &e));
	tree_end(&a);
	return len >= 0 && out->len == (size_t)len;
}

/* A name below the scratch directory, as an absolute path. */
static inline const char *below(const struct scratch *s, const char *name)
{
	static char paths[4][4200];
	static unsigned next;
	char *path = paths[next++ % ARRAY_LEN(paths)];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", s->path, name);
	return path;
}

static inline void make(const struct scratch *s, const char *name, const char *text)
{
	int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	struct err e = { 0 };

	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, text, strlen(text), &e));
	(void)close(fd);
}

static inline void has(const struct scratch *s, const char *name, const char *text)
{
	autobuf struct buf out = { 0 };
	struct err e = { 0 };

	assert_ok(io_read_file(s->dir, name, 1 << 20, &out, &e));
	assert_string_equal(buf_str(&out), text);
}

static inline void has_not(const struct scratch *s, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW), -1);
}

static inline mode_t mode_of(const struct scratch *s, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode;
}

/* How many entries a directory has. */
static inline int count(const struct scratch *s, const char *name)
{
	int fd = openat(s->dir, name, O_RDONLY | O_DIRECTORY), n = -2;
	DIR *dir = fdopendir(fd);

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n;
}
