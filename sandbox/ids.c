/* SPDX-License-Identifier: MIT */
/* ids.c - maps as text, and user namespaces that live by a descriptor; see ids.h. */
#include "sandbox/ids.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

size_t ids_map_text(const struct id_map *map, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < map->n && len < size; i++) {
		const struct id_range *r = &map->range[i];

		len += (size_t)snprintf(text + len, size - len, "%u %u %u\n", r->inside, r->outside,
					r->count);
	}
	return len < size ? len : size - 1;
}

bool ids_outside(const struct id_map *map, uint32_t inside, uint32_t *outside)
{
	for (unsigned i = 0; i < map->n; i++) {
		const struct id_range *r = &map->range[i];

		if (inside < r->inside || inside - r->inside >= r->count)
			continue;
		*outside = r->outside + (inside - r->inside);
		return true;
	}
	return false;
}

uint32_t ids_owner(const struct id_map *map)
{
	uint32_t id;

	return ids_outside(map, 0, &id) ? id : map->range[0].outside;
}

/* What the thread is, to be put back. */
struct creds {
	uid_t euid;
	int dumpable;
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
};

static int caps_effective(struct creds *c, bool all)
{
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	memcpy(caps, c->caps, sizeof(caps));
	for (size_t i = 0; all && i < ARRAY_LEN(caps); i++)
		caps[i].effective = caps[i].permitted;
	return (int)syscall(SYS_capset, &c->head, caps);
}

/* Raw: glibc's would tell other threads, and none of this may outlive this function. */
static int set_euid(uid_t euid)
{
	return (int)syscall(SYS_setresuid, -1, euid, -1);
}

/* The namespace belongs to the effective uid of who clones it. Leaving uid 0 drops the effective
 * capabilities; some hosts want one to make a user namespace at all, so they are raised again. */
static int become_owner(struct creds *c, uid_t owner, struct err *e)
{
	*c = (struct creds) { .euid = geteuid(),
			      .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	if (syscall(SYS_capget, &c->head, c->caps) < 0)
		return err_errno(e, "ids: read capabilities");
	if (c->euid == owner)
		return 0;
	c->dumpable = prctl(PR_GET_DUMPABLE);
	if (set_euid(owner) < 0)
		return err_errno(e, "ids: become uid %u for a user namespace", owner);
	if (caps_effective(c, true) < 0)
		return err_errno(e, "ids: keep capabilities as uid %u", owner);
	return 0;
}

static int become_oneself(struct creds *c, uid_t owner, struct err *e)
{
	if (c->euid == owner)
		return 0;
	if (set_euid(c->euid) < 0)
		return err_errno(e, "ids: become uid %u again", c->euid);
	if (caps_effective(c, false) < 0)
		return err_errno(e, "ids: restore capabilities");
	/* A change of uid makes a process non-dumpable, and its files in /proc host root's: an
	 * ordinary user could not write the map of a child that shares this memory. */
	if (c->dumpable == 1 && prctl(PR_SET_DUMPABLE, 1) < 0)
		return err_errno(e, "ids: be dumpable again");
	return 0;
}

/* Runs in the new namespace, in the memory of the caller: touches nothing of it. */
static int hold(void *arg)
{
	pid_t *parent = arg;

	/* Die with the caller; the second look is for one that died before. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == *parent)
		(void)pause();
	return 0;
}

/* A process in a new user namespace. It shares our memory, so nothing is copied; with signals
 * blocked (it inherits that) no handler of ours ever runs in it. No exit signal: whoever waits
 * for our other children does not see it. */
#define HOLDER_FLAGS (CLONE_NEWUSER | CLONE_VM | CLONE_FILES)

static int hold_one(struct ids_userns *ns, pid_t *self, struct err *e)
{
	char *top = ns->stack + sizeof(ns->stack) - 16;
	pid_t pid = clone(hold, top, HOLDER_FLAGS, self);

	if (pid < 0)
		return err_errno(e, "ids: make a user namespace");
	ns->holder = pid;
	return 0;
}

static int write_map(int proc, pid_t pid, const char *file, const struct id_map *map, struct err *e)
{
	char path[40], text[IDS_MAP_TEXT_BYTES];
	size_t len = ids_map_text(map, text, sizeof(text));
	autoclose int fd = -1;

	(void)snprintf(path, sizeof(path), "%d/%s", pid, file);
	fd = openat(proc, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "ids: open /proc/%s", path);
	/* The kernel takes a map in one write, once. */
	if (write(fd, text, len) != (ssize_t)len)
		return err_errno(e, "ids: write '%.60s' to %s of a user namespace", text, file);
	return 0;
}

static int map_and_open(int proc, struct ids_userns *ns, struct err *e)
{
	char path[40];

	if (write_map(proc, ns->holder, "uid_map", ns->uids, e) < 0 ||
	    write_map(proc, ns->holder, "gid_map", ns->gids, e) < 0)
		return -e->code;
	(void)snprintf(path, sizeof(path), "%d/ns/user", ns->holder);
	ns->fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	return ns->fd < 0 ? err_errno(e, "ids: open /proc/%s", path) : 0;
}

static int make_held(int proc, struct ids_userns *ns, unsigned n, uid_t owner, struct err *e)
{
	pid_t self = getpid();
	struct err later;
	struct creds creds;
	int ret = 0;

	if (become_owner(&creds, owner, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < n && ret == 0; i++)
		ret = hold_one(&ns[i], &self, e);
	/* Maps are written with our own ids: they have the capabilities that many ranges need. */
	if (become_oneself(&creds, owner, ret < 0 ? &later : e) < 0 && ret == 0)
		ret = -e->code;
	for (unsigned i = 0; i < n && ret == 0; i++)
		ret = map_and_open(proc, &ns[i], e);
	for (unsigned i = 0; i < n; i++)
		if (ns[i].holder)
			(void)kill(ns[i].holder,
				   SIGKILL); /* our child, not waited for: it is there */
	return ret;
}

int ids_make(int proc, struct ids_userns *ns, unsigned n, uid_t owner, struct err *e)
{
	sigset_t all, before;
	int ret;

	for (unsigned i = 0; i < n; i++) {
		ns[i].fd = -1;
		ns[i].holder = 0;
	}
	(void)sigfillset(&all); /* neither can fail with these arguments */
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	ret = make_held(proc, ns, n, owner, e);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	for (unsigned i = 0; i < n && ret < 0; i++)
		drop_fd(&ns[i].fd);
	return ret;
}

void ids_reap(struct ids_userns *ns, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		/* By its number it cannot be missed, nor can the wait be for another. */
		while (ns[i].holder && waitpid(ns[i].holder, NULL, __WALL) < 0 && errno == EINTR)
			;
		ns[i].holder = 0;
	}
}
