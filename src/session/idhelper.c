/* SPDX-License-Identifier: MIT */
/* idhelper.c - see idhelper.h. */
#include "session/idhelper.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"

#define MAP_TEXT_BYTES 512
#define COMPLAINT_BYTES 300

/* Set-uid programs are run by a path of ours, never out of the caller's PATH. */
static const char *const program_dirs[] = { "/usr/bin", "/bin", "/usr/local/bin",
					    "/run/wrappers/bin" };

static int write_map(pid_t child, const char *file, const struct id_map *map, struct err *e)
{
	char text[MAP_TEXT_BYTES], path[64];

	_Static_assert(IDS_RANGES_MAX * 33 < MAP_TEXT_BYTES, "three numbers of ten digits a line");
	(void)ids_map_text(map, text, sizeof(text)); /* its length */
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", child, file);
	return io_write_text(AT_FDCWD, path, text, e);
}

static int find_program(const char *name, char *path, size_t size, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(program_dirs); i++) {
		if ((size_t)snprintf(path, size, "%s/%s", program_dirs[i], name) < size &&
		    access(path, X_OK) == 0)
			return 0;
	}
	return err_code(e, ENOENT, "%s is not installed: apt install uidmap", name);
}

/* newuidmap PID INSIDE OUTSIDE COUNT ... */
struct command {
	char text[2 + 3 * IDS_RANGES_MAX][16];
	char *argv[3 + 3 * IDS_RANGES_MAX];
};

static void command_make(struct command *c, const char *name, pid_t child, const struct id_map *map)
{
	unsigned n = 0;

	(void)snprintf(c->text[n++], sizeof(c->text[0]), "%s", name);
	(void)snprintf(c->text[n++], sizeof(c->text[0]), "%d", child);
	for (unsigned i = 0; i < map->n; i++) {
		(void)snprintf(c->text[n++], sizeof(c->text[0]), "%u", map->range[i].inside);
		(void)snprintf(c->text[n++], sizeof(c->text[0]), "%u", map->range[i].outside);
		(void)snprintf(c->text[n++], sizeof(c->text[0]), "%u", map->range[i].count);
	}
	for (unsigned i = 0; i < n; i++)
		c->argv[i] = c->text[i];
	c->argv[n] = NULL;
}

static int spawn_with_stderr(const char *path, char **argv, int complaint, pid_t *pid,
			     struct err *e)
{
	posix_spawn_file_actions_t actions;
	char *env[] = { NULL };
	int code;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return err_code(e, ENOMEM, "out of memory");
	code = posix_spawn_file_actions_adddup2(&actions, complaint, STDERR_FILENO);
	if (code == 0)
		code = posix_spawn(pid, path, &actions, NULL, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	return code ? err_code(e, code, "run '%s': %s", path, strerror(code)) : 0;
}

static int wait_for(pid_t pid, struct err *e)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "wait for a helper process");
	return status;
}

static int run_program(const char *name, pid_t child, const struct id_map *map, struct err *e)
{
	autoclose int read_end = -1, write_end = -1;
	char path[64], said[COMPLAINT_BYTES];
	struct command c;
	pid_t pid = -1;
	ssize_t n;
	int pair[2] = { -1, -1 }, status;

	if (find_program(name, path, sizeof(path), e) < 0)
		return -e->code;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_errno(e, "make a pipe");
	read_end = pair[0];
	write_end = pair[1];
	command_make(&c, name, child, map);
	if (spawn_with_stderr(path, c.argv, write_end, &pid, e) < 0)
		return -e->code;
	drop_fd(&write_end);
	n = io_read_full(read_end, said, sizeof(said) - 1, e);
	drop_fd(&read_end);
	status = wait_for(pid, e);
	if (n < 0 || status < 0)
		return -e->code;
	if (status == 0)
		return 0;
	said[n] = '\0';
	said[strcspn(said, "\n")] = '\0';
	return err_code(e, EPERM, "%s: %s: see /etc/subuid and /etc/subgid", name,
			*said ? said : "it failed");
}

static bool is_own_id(const struct id_map *map, uint32_t id)
{
	return map->n == 1 && map->range[0].count == 1 && map->range[0].outside == id;
}

static int deny_setgroups(pid_t child, struct err *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/setgroups", child);
	return io_write_text(AT_FDCWD, path, "deny", e);
}

int idhelper_map(pid_t child, const struct id_map *uids, const struct id_map *gids, struct err *e)
{
	bool root = geteuid() == 0;

	if (root || is_own_id(uids, geteuid())) {
		if (write_map(child, "uid_map", uids, e) < 0)
			return -e->code;
	} else if (run_program("newuidmap", child, uids, e) < 0) {
		return -e->code;
	}
	if (!root && !is_own_id(gids, getegid()))
		return run_program("newgidmap", child, gids, e);
	/* An own group alone is let in only when groups that deny something cannot be dropped. */
	if (!root && deny_setgroups(child, e) < 0)
		return -e->code;
	return write_map(child, "gid_map", gids, e);
}

struct answer {
	int result;
	struct err err;
};

/* The child: wait for the maps, work, tell. */
static void helper_main(int fd, int (*work)(void *arg, struct err *e), void *arg)
	__attribute__((noreturn));
static void helper_main(int fd, int (*work)(void *arg, struct err *e), void *arg)
{
	struct answer a = { 0 };
	char go;

	/* A killed parent's work is taken up by the next command: two must not do it at once. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
	if (recv(fd, &go, 1, 0) != 1)
		_exit(1);
	a.result = work(arg, &a.err);
	_exit(send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) ? 0 : 1);
}

static int receive_answer(int fd, struct answer *a, struct err *e)
{
	ssize_t n;

	do {
		n = recv(fd, a, sizeof(*a), 0);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*a))
		return err_code(e, ECHILD,
				"a helper process in a user namespace died without an answer");
	return 0;
}

/* Close our end, by which a helper that still waits ends, and reap it. */
static int reap(struct idhelper *h, struct err *e)
{
	drop_fd(&h->fd);
	return wait_for(h->child, e);
}

int idhelper_start(const struct id_map *uids, const struct id_map *gids,
		   int (*work)(void *arg, struct err *e), void *arg, struct idhelper *out,
		   struct err *e)
{
	struct idhelper h = { .child = -1, .fd = -1 };
	autoclose int theirs = -1;
	struct err later;
	int pair[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "make a socket pair");
	h.fd = pair[0];
	theirs = pair[1];
	h.child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (h.child == 0) {
		drop_fd(&h.fd);
		helper_main(theirs, work, arg);
	}
	if (h.child < 0) {
		(void)err_errno(e, "make a user namespace");
		drop_fd(&h.fd);
		return -e->code;
	}
	drop_fd(&theirs);
	if (idhelper_map(h.child, uids, gids, e) == 0) {
		if (send(h.fd, "g", 1, MSG_NOSIGNAL) == 1) {
			*out = h;
			return 0;
		}
		(void)err_errno(e, "start a helper process");
	}
	(void)reap(&h, &later); /* the first error counts */
	return -e->code;
}

int idhelper_finish(struct idhelper *h, struct err *e)
{
	struct answer a = { 0 };
	struct err later;
	int result = receive_answer(h->fd, &a, e);

	if (result < 0) {
		(void)reap(h, &later); /* the first error counts */
		return result;
	}
	if (reap(h, e) < 0)
		return -e->code;
	if (a.result < 0)
		*e = a.err;
	return a.result;
}

int idhelper_run(const struct id_map *uids, const struct id_map *gids,
		 int (*work)(void *arg, struct err *e), void *arg, struct err *e)
{
	struct idhelper h = { .child = -1, .fd = -1 };

	if (idhelper_start(uids, gids, work, arg, &h, e) < 0)
		return -e->code;
	return idhelper_finish(&h, e);
}
