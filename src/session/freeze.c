/* SPDX-License-Identifier: MIT */
/* freeze.c - see freeze.h. */
#include "session/freeze.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/loop.h"
#include "base/str.h"
#include "sandbox/ctl.h"
#include "session/cgroup_tree.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define FROZEN_MS 5000 /* a process in the kernel is frozen when it comes out of it */
#define LOOK_MS 2
#define GROUP_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* What one group lists, a number a line; nothing where it is gone. */
static int listed(int group, struct buf *out, struct err *e)
{
	int r = io_read_file(group, "cgroup.procs", FILE_BYTES_MAX, out, e);

	return r < 0 && (e->code == ENOENT || e->code == ENODEV) ? 0 : r;
}

static bool lists(const struct buf *list, long pid)
{
	char line[24];
	int n = snprintf(line, sizeof(line), "%ld\n", pid);

	for (const char *at = buf_str(list); (at = strstr(at, line)); at += n)
		if (at == list->data || at[-1] == '\n')
			return true;
	return false;
}

/* The group that holds the workload and nothing else; every process of it is there or in a leaf below. In
 * a hierarchy that only bounds the CPU it is the session's own. */
static const char *work_group(const struct record *r)
{
	for (unsigned i = 0; i < r->n_groups; i++)
		if (str_ends(r->group[i], "/" CGROUP_WORK))
			return r->group[i];
	return r->n_groups ? r->group[0] : NULL;
}

static int list_workload(const struct record *r, struct buf *out, struct err *e)
{
	autoclose int group = cgroup_open(r, work_group(r), e);
	char name[12];

	if (group < 0 || listed(group, out, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < CTL_LEAVES; i++) {
		autoclose int leaf = -1;

		(void)snprintf(name, sizeof(name), "%u", i);
		leaf = openat(group, name, GROUP_FLAGS);
		if (leaf >= 0 && listed(leaf, out, e) < 0)
			return -e->code;
	}
	return 0;
}

/* --- v2 -------------------------------------------------------------------------------------- */

static bool is_v2(int group)
{
	return faccessat(group, "cgroup.freeze", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int wait_frozen(int group, struct err *e)
{
	uint64_t until = loop_now() + FROZEN_MS;

	for (;;) {
		autoclose int events = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
		struct pollfd p = { .fd = events, .events = POLLPRI };
		autobuf struct buf text = { 0 };
		uint64_t now = loop_now();

		/* Read first: what changes after that wakes the wait. */
		if (events < 0 || io_read_all(events, FILE_BYTES_MAX, &text, e) < 0)
			return err_code(e, EIO, "the group's events cannot be read");
		if (strstr(buf_str(&text), "frozen 1"))
			return 0;
		if (now >= until)
			return err_code(e, ETIMEDOUT, "its processes do not stand still");
		(void)poll(&p, 1, (int)(until - now)); /* whatever it was, it is looked at again */
	}
}

/* --- v1 -------------------------------------------------------------------------------------- */

/* Only a name of the form that name_group() gives is touched, whatever a record says. */
static int open_freezer(const struct record *r, struct err *e)
{
	char tail[64];
	int fd;

	(void)snprintf(tail, sizeof(tail), "/" CGROUP_SHARED "/%s", r->id);
	if (r->freezer[0] != '/' || strstr(r->freezer, "/../") || !str_ends(r->freezer, tail))
		return err_code(e, EINVAL, "'%s' is not a group of session %s", r->freezer, r->id);
	fd = open(r->freezer, GROUP_FLAGS);
	return fd < 0 ? err_errno(e, "open group '%s'", r->freezer) : fd;
}

static int cannot(const struct session *s, const char *why, struct err *e)
{
	return err_code(e, EOPNOTSUPP,
			"session %s cannot be frozen: %s; 'ohsandbox pause --to-disk %s' ends its "
			"processes and keeps all else",
			s->record.id, why, s->record.id);
}

static int name_group(struct session *s, struct err *e)
{
	autofree char *parent = NULL;

	/* One that was cut off half-way is taken again; else it may be another login's by now. */
	if (s->record.freezer && access(s->record.freezer, F_OK) == 0)
		return 0;
	if (host_freezer(&parent, e) < 0)
		return -e->code;
	if (!parent)
		return cannot(s, "you may not make a group in this host's freezer", e);
	return session_note(s, e, "freezer %s/" CGROUP_SHARED "/%s", parent, s->record.id);
}

static int make_group(const struct record *r, struct err *e)
{
	autofree char *shared =
		str_fmt(e, "%.*s", (int)(strrchr(r->freezer, '/') - r->freezer), r->freezer);

	if (!shared)
		return -e->code;
	if ((mkdir(shared, 0755) < 0 && errno != EEXIST) ||
	    (mkdir(r->freezer, 0755) < 0 && errno != EEXIST))
		return err_errno(e, "make group '%s'", r->freezer);
	return open_freezer(r, e);
}

/* 1 where it was moved, 0 where it has ended. */
static int move_one(int group, long pid, struct err *e)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%ld", pid);
	if (io_write_text(group, "cgroup.procs", text, e) == 0)
		return 1;
	return e->code == ESRCH ? 0 : -e->code;
}

/* Move those that `from` lists and `except` does not. How many. */
static int move_all(int group, const struct buf *from, const struct buf *except, struct err *e)
{
	int moved = 0, r;

	for (const char *at = buf_str(from); *at; at += *at == '\n') {
		long pid = strtol(at, NULL, 10);

		at += strcspn(at, "\n");
		if (lists(except, pid))
			continue;
		if (pid <= 0)
			return err_code(e, EOPNOTSUPP,
					"its processes cannot be seen from this pid namespace");
		r = move_one(group, pid, e);
		if (r < 0)
			return r;
		moved += r;
	}
	return moved;
}

static int open_parent(const struct record *r, struct err *e)
{
	autofree char *path = str_dup(r->freezer, e);
	int fd;

	if (!path)
		return -e->code;
	*strrchr(path, '/') = '\0';
	*strrchr(path, '/') = '\0';
	fd = open(*path ? path : "/", GROUP_FLAGS);
	return fd < 0 ? err_errno(e, "open group '%s'", path) : fd;
}

/* Those that have come into being meanwhile too. A number may have gone to another's process since it was
 * listed: what the workload's groups do not list is put back. */
static int move_in(const struct record *r, int group, struct err *e)
{
	autoclose int parent = open_parent(r, e);
	uint64_t until = loop_now() + FROZEN_MS;
	int moved = parent < 0 ? -e->code : 1;

	while (moved > 0) {
		autobuf struct buf work = { 0 }, in = { 0 }, again = { 0 };

		if (list_workload(r, &work, e) < 0 || listed(group, &in, e) < 0)
			return -e->code;
		moved = move_all(group, &work, &in, e);
		buf_reset(&in);
		if (moved < 0 || list_workload(r, &again, e) < 0 || listed(group, &in, e) < 0 ||
		    move_all(parent, &in, &again, e) < 0)
			return -e->code;
		if (loop_now() > until)
			return err_code(e, ETIMEDOUT, "its processes do not come to an end");
	}
	return moved;
}

static int wait_frozen_v1(int group, struct err *e)
{
	uint64_t until = loop_now() + FROZEN_MS;

	for (;;) {
		autobuf struct buf state = { 0 };

		if (io_read_file(group, "freezer.state", 64, &state, e) < 0)
			return -e->code;
		if (str_starts(buf_str(&state), "FROZEN"))
			return 0;
		if (loop_now() > until)
			return err_code(e, ETIMEDOUT, "its processes do not stand still");
		(void)poll(NULL, 0, LOOK_MS); /* nothing tells when it has changed */
	}
}

static int freeze_v1(struct session *s, struct err *e)
{
	autoclose int group = -1;

	if (name_group(s, e) < 0)
		return -e->code;
	group = make_group(&s->record, e);
	/* What comes into a frozen group is frozen: nobody can run away from being moved. */
	if (group < 0 || io_write_text(group, "freezer.state", "FROZEN", e) < 0 ||
	    move_in(&s->record, group, e) < 0)
		return -e->code;
	return wait_frozen_v1(group, e);
}

int freeze(struct session *s, struct err *e)
{
	const char *path = work_group(&s->record);
	autoclose int group = -1;

	if (!path)
		return cannot(s, "it has no group of its own on this host", e);
	group = cgroup_open(&s->record, path, e);
	if (group < 0)
		return group;
	if (!is_v2(group))
		return freeze_v1(s, e);
	if (io_write_text(group, "cgroup.freeze", "1", e) < 0)
		return cannot(s, e->text, e);
	return wait_frozen(group, e);
}

/* --- and back -------------------------------------------------------------------------------- */

void freeze_let_die(const struct record *r)
{
	struct err ignored;
	autoclose int group = r->freezer ? open_freezer(r, &ignored) : -1;

	/* Where it fails the wait for their death says so. */
	if (group >= 0 && io_write_text(group, "freezer.state", "THAWED", &ignored) < 0)
		return;
}

static int end_v2(const struct record *r, struct err *e)
{
	const char *path = work_group(r);
	autoclose int group = path ? cgroup_open(r, path, e) : -1;

	if (group < 0)
		return !path || e->code == ENOENT ? 0 : group;
	return is_v2(group) ? io_write_text(group, "cgroup.freeze", "0", e) : 0;
}

static int remove_group(const struct record *r, int group, struct err *e)
{
	autoclose int parent = open_parent(r, e);
	uint64_t until = loop_now() + FROZEN_MS;

	if (parent < 0)
		return parent;
	while (rmdir(r->freezer) < 0 && errno != ENOENT) {
		autobuf struct buf in = { 0 }, nobody = { 0 };

		if (errno != EBUSY || loop_now() > until)
			return err_errno(e, "remove group '%s'", r->freezer);
		/* What they forked meanwhile is born here. */
		if (listed(group, &in, e) < 0 || move_all(parent, &in, &nobody, e) < 0)
			return -e->code;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return 0;
}

static int end_v1(const struct record *r, struct err *e)
{
	autoclose int group = r->freezer ? open_freezer(r, e) : -1;

	if (group < 0)
		return !r->freezer || e->code == ENOENT ? 0 : group;
	if (io_write_text(group, "freezer.state", "THAWED", e) < 0)
		return -e->code;
	return remove_group(r, group, e);
}

int freeze_end(const struct record *r, struct err *e)
{
	return end_v2(r, e) < 0 ? -e->code : end_v1(r, e);
}

int freeze_down(const struct record *r, struct err *e)
{
	return end_v1(r, e);
}
