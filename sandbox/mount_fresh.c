/* SPDX-License-Identifier: MIT */
/* mount_fresh.c - what begins empty: tmpfs, /proc, terminals, message queues; see mount.h. */
#include "sandbox/mount.h"

#include <inttypes.h>
#include <unistd.h>

#define TTY_GROUP 5 /* of every distribution; what login gives terminals to */

static int tmpfs_configure(const struct tree *t, int fs, const struct mount_step *s, struct err *e)
{
	/* Without a size tmpfs takes half of the memory; a size of 0 would mean no limit. */
	if (s->size_bytes && fsctx_set_number(fs, "size", s->size_bytes, "%" PRIu64, e) < 0)
		return -e->code;
	if (fsctx_set_number(fs, "mode", s->mode, "%" PRIo64, e) < 0 ||
	    fsctx_set_number(fs, "uid", ids_owner(&t->in->session_uids), "%" PRIu64, e) < 0)
		return -e->code;
	return fsctx_set_number(fs, "gid", ids_owner(&t->in->session_gids), "%" PRIu64, e);
}

int mount_tmpfs(struct tree *t, const struct mount_step *s, struct err *e)
{
	autoclose int fs = fsctx_open("tmpfs", e);
	autoclose int mount = -1;

	if (fs < 0 || tmpfs_configure(t, fs, s, e) < 0)
		return -e->code;
	mount = fsctx_mount(fs, mount_attrs(s), e);
	return mount < 0 ? mount : mount_attach(t, mount, s, true, e);
}

int mount_scratch(const struct tree *t, struct err *e)
{
	struct mount_step s = { .mode = 0755 };
	autoclose int fs = fsctx_open("tmpfs", e);
	autoclose int mount = -1;

	if (fs < 0 || tmpfs_configure(t, fs, &s, e) < 0)
		return -e->code;
	mount = fsctx_mount(fs, mount_attrs(&s), e);
	if (mount < 0 || mount_stage(t, mount, e) < 0)
		return -e->code;
	return take_fd(&mount);
}

int mount_proc(struct tree *t, const struct mount_step *s, struct err *e)
{
	autoclose int fs = fsctx_open("proc", e);
	autoclose int mount = -1;

	/* Of the processes of other ids, the executor's first of all, not even the numbers show. */
	if (fs < 0 || fsctx_set(fs, "hidepid", "invisible", e) < 0)
		return -e->code;
	mount = fsctx_mount(fs, mount_attrs(s), e);
	return mount < 0 ? mount : mount_attach(t, mount, s, true, e);
}

int mount_devpts(struct tree *t, const struct mount_step *s, struct err *e)
{
	autoclose int fs = fsctx_open("devpts", e);
	autoclose int mount = -1;
	uint32_t tty;

	if (fs < 0 || fsctx_set(fs, "newinstance", NULL, e) < 0 ||
	    fsctx_set(fs, "ptmxmode", "0666", e) < 0 ||
	    fsctx_set_number(fs, "mode", s->mode, "%" PRIo64, e) < 0)
		return -e->code;
	if (ids_outside(&t->in->session_gids, TTY_GROUP, &tty) &&
	    fsctx_set_number(fs, "gid", tty, "%" PRIu64, e) < 0)
		return -e->code;
	mount = fsctx_mount(fs, mount_attrs(s), e);
	return mount < 0 ? mount : mount_attach(t, mount, s, true, e);
}

int mount_mqueue(struct tree *t, const struct mount_step *s, struct err *e)
{
	autoclose int fs = fsctx_open("mqueue", e);
	autoclose int mount = -1;

	if (fs < 0)
		return fs;
	mount = fsctx_mount(fs, mount_attrs(s), e);
	return mount < 0 ? mount : mount_attach(t, mount, s, true, e);
}
