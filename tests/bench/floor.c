/* SPDX-License-Identifier: MIT */
/* floor.c - what the kernel alone needs for the namespaces, mounts and groups of an idle session.
 *
 *	floor COUNT WORK-DIR MOUNTS ID GROUP...
 *
 * MOUNTS is "overlay=2,tmpfs=5,bind=20": how many of each a session has. GROUP are the directories of
 * one session's groups, ID the part of their names that is its own. Makes all of that COUNT times, with
 * one process each that does nothing, says their pids on a line, and takes it away when its standard
 * input ends. What links them to a bridge is the caller's to make. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_MAX 1000
#define NAMESPACES \
	(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static void die(const char *what)
{
	fprintf(stderr, "bench: floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		die(path);
}

/* GROUP with this floor's number in the place of ID. */
static void group_of(const char *group, const char *id, unsigned number, char *out, size_t size)
{
	const char *at = strstr(group, id);

	if (!at) {
		errno = EINVAL;
		die(group);
	}
	(void)snprintf(out, size, "%.*sfloor-%u%s", (int)(at - group), group, number,
		       at + strlen(id));
}

static void groups_make(char **groups, const char *id, unsigned number)
{
	char path[1024];

	for (; *groups; groups++) {
		group_of(*groups, id, number, path, sizeof(path));
		make_dir(path);
	}
}

/* Innermost last, as they were given. */
static void groups_remove(char **groups, const char *id, unsigned number)
{
	char path[1024];
	size_t n = 0;

	while (groups[n])
		n++;
	while (n-- > 0) {
		group_of(groups[n], id, number, path, sizeof(path));
		(void)rmdir(path);
	}
}

/* A user namespace that lives by a descriptor: a session has two. */
static void userns_hold(void)
{
	char path[64];
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0)
			_exit(1);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, WUNTRACED) != pid)
		die("fork");
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (open(path, O_RDONLY) < 0)
		die(path);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* Upper and work directories are made by the caller: one set a floor. */
static void mount_one(const char *type, const char *work, unsigned number, unsigned k)
{
	char options[1024], at[64];

	(void)snprintf(at, sizeof(at), "m%u", k);
	if (mkdir(at, 0755) < 0)
		die(at);
	if (strcmp(type, "bind") == 0) {
		if (mount("m0", at, NULL, MS_BIND, NULL) < 0)
			die("bind");
		return;
	}
	options[0] = '\0';
	if (strcmp(type, "overlay") == 0) {
		char dir[256];

		(void)snprintf(dir, sizeof(dir), "%.200s/%u-%u", work, number, k);
		make_dir(dir);
		(void)snprintf(options, sizeof(options),
			       "lowerdir=/usr,upperdir=%s/u,workdir=%s/w,volatile", dir, dir);
		(void)strcat(dir, "/u");
		make_dir(dir);
		dir[strlen(dir) - 1] = 'w';
		make_dir(dir);
	}
	if (mount("none", at, type, 0, options) < 0)
		die(type);
}

static void mounts_make(const char *spec, const char *work, unsigned number)
{
	char text[256], *rest = text, *item, root[256];
	unsigned k = 0;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("private mounts");
	(void)snprintf(root, sizeof(root), "%s/root", work);
	make_dir(root);
	if (mount("none", root, "tmpfs", 0, NULL) < 0 || chdir(root) < 0)
		die(root);
	if (mkdir("m0", 0755) < 0)
		die("m0");
	(void)snprintf(text, sizeof(text), "%s", spec);
	while ((item = strsep(&rest, ","))) {
		char *count = strchr(item, '=');

		if (!count)
			continue;
		*count++ = '\0';
		for (unsigned n = (unsigned)strtoul(count, NULL, 10); n; n--)
			mount_one(item, work, number, ++k);
	}
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		die("pivot_root");
}

static pid_t floor_make(const char *work, const char *mounts, const char *id, char **groups,
			unsigned number)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) < 0)
		die("pipe");
	groups_make(groups, id, number);
	pid = (pid_t)syscall(SYS_clone, (unsigned long)NAMESPACES | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		die("clone");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		userns_hold();
		userns_hold();
		mounts_make(mounts, work, number);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		(void)close(ready[0]);
		(void)close(ready[1]);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		errno = ECHILD;
		die("a floor");
	}
	(void)close(ready[0]);
	return pid;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 5 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	pid_t pids[COUNT_MAX];
	char byte;

	if (!count || count > COUNT_MAX) {
		fprintf(stderr, "usage: floor COUNT WORK-DIR MOUNTS ID GROUP...\n");
		return 2;
	}
	for (unsigned i = 0; i < count; i++)
		pids[i] = floor_make(argv[2], argv[3], argv[4], argv + 5, i);
	for (unsigned i = 0; i < count; i++)
		printf("%d%s", (int)pids[i], i + 1 < count ? " " : "\n");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	for (unsigned i = 0; i < count; i++)
		(void)kill(pids[i], SIGKILL);
	for (unsigned i = 0; i < count; i++) {
		(void)waitpid(pids[i], NULL, 0);
		groups_remove(argv + 5, argv[4], i);
	}
	return 0;
}
