/* SPDX-License-Identifier: MIT */
/* plan_mounts.c - the session's tree, mount by mount, in the order they are made.
 *
 * As root the host's directories are lowers of overlays, read through the session's ids, so that
 * packages can be installed. Without idmapped mounts host root has no id inside: they are bound
 * read-only, and /usr/local and /opt are fresh. Programs of ours come out of the skeleton. */
#include "plan/plan_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Steps are large, and there are about fifty: not to be moved for each. */
#define GROW_BY 64

#define LOCAL_BIN "/usr/local/bin"
#define HOST_SUDO "/usr/bin/sudo"

#define RUN_BYTES ((uint64_t)64 << 20)
#define DEV_BYTES ((uint64_t)64 << 10)

/* Small and fixed: a row a step. */
struct row {
	enum mount_kind kind;
	const char *target, *source;
	unsigned flags;
	uint64_t size_bytes;
	mode_t mode;
};

static const struct row run_rows[] = {
	{ MOUNT_TMPFS, "/run", NULL, 0, RUN_BYTES, 0755 },
	{ MOUNT_DIR, "/run/lock", NULL, 0, 0, 01777 },
	{ MOUNT_DIR, "/run/ohsandbox", NULL, 0, 0, 0755 },
	{ MOUNT_DIR, "/run/ohsandbox/objects", NULL, 0, 0, 0755 },
	{ MOUNT_DIR, "/run/ohsandbox/certificates", NULL, 0, 0, 0755 },
};

/* Node by node: nothing of the host's devices but these. */
static const struct row dev_rows[] = {
	{ MOUNT_TMPFS, "/dev", NULL, MOUNT_DEV | MOUNT_NOEXEC, DEV_BYTES, 0755 },
	{ MOUNT_BIND, "/dev/null", "/dev/null", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/zero", "/dev/zero", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/full", "/dev/full", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/random", "/dev/random", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/urandom", "/dev/urandom", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/tty", "/dev/tty", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_DEVPTS, "/dev/pts", NULL, MOUNT_DEV | MOUNT_NOEXEC, 0, 0620 },
	{ MOUNT_SYMLINK, "/dev/ptmx", "pts/ptmx", 0, 0, 0 },
	{ MOUNT_SYMLINK, "/dev/fd", "/proc/self/fd", 0, 0, 0 },
	{ MOUNT_SYMLINK, "/dev/stdin", "/proc/self/fd/0", 0, 0, 0 },
	{ MOUNT_SYMLINK, "/dev/stdout", "/proc/self/fd/1", 0, 0, 0 },
	{ MOUNT_SYMLINK, "/dev/stderr", "/proc/self/fd/2", 0, 0, 0 },
	{ MOUNT_MQUEUE, "/dev/mqueue", NULL, MOUNT_NOEXEC, 0, 01777 },
};

/* Files of /proc that tell everybody of the host's hardware, kernel and other users, or would take
 * orders for it. What only host root can read (slabinfo, kpagecount and the like) needs no mask:
 * that id is nobody's inside. The classical ones have one all the same, in case a kernel forgets a
 * check. What is missing on a kernel is skipped. */
static const struct row proc_rows[] = {
	{ MOUNT_PROC, "/proc", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/sys", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/bus", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/fs", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/irq", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_MASK, "/proc/acpi", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/asound", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/config.gz", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/driver", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/interrupts", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/iomem", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/ioports", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/kallsyms", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/kcore", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/key-users", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/keys", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/kmsg", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/latency_stats", NULL, 0, 0, 0 },
	/* Locks of open files are shown whoever holds them: one for each session of the host. */
	{ MOUNT_MASK, "/proc/locks", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/modules", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/mtrr", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/sched_debug", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/scsi", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/sysrq-trigger", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/timer_list", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/timer_stats", NULL, 0, 0, 0 },
};

/* After everything that is put into them. */
static const struct row last_rows[] = {
	{ MOUNT_READONLY, "/dev", NULL, MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
};

struct mount_step mount_step_new(enum mount_kind kind, const char *target, const char *source)
{
	struct mount_step step = { .kind = kind,
				   .target = target,
				   .source = source,
				   .upper = -1,
				   .work = -1 };

	for (size_t i = 0; i < MOUNT_LOWERS_MAX; i++)
		step.lower[i] = -1;
	return step;
}

/* The plan owns a copy: a step's texts may come from a base that is forgotten earlier. */
static int own_text(struct plan *p, const char **text, struct err *e)
{
	char **grown;
	char *copy;

	if (!*text)
		return 0;
	if (p->n_texts % GROW_BY == 0) {
		grown = reallocarray(p->texts, p->n_texts + GROW_BY, sizeof(*grown));
		if (!grown)
			return err_code(e, ENOMEM, "plan: no memory");
		p->texts = grown;
	}
	copy = str_dup(*text, e);
	if (!copy)
		return -e->code;
	p->texts[p->n_texts++] = copy;
	*text = copy;
	return 0;
}

int plan_add_mount(struct plan *p, const struct mount_step *step, struct err *e)
{
	struct mount_step own = *step;

	if (p->n_mounts % GROW_BY == 0) {
		struct mount_step *grown =
			reallocarray(p->mounts, p->n_mounts + GROW_BY, sizeof(*grown));

		if (!grown)
			return err_code(e, ENOMEM, "plan: no memory");
		p->mounts = grown;
	}
	memset(own.lower_ids_each, own.lower_ids, sizeof(own.lower_ids_each));
	if (own_text(p, &own.target, e) < 0 || own_text(p, &own.source, e) < 0 ||
	    own_text(p, &own.layer, e) < 0)
		return -e->code;
	p->mounts[p->n_mounts++] = own;
	return 0;
}

static int add_rows(struct plan *p, const struct row *rows, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct mount_step step =
			mount_step_new(rows[i].kind, rows[i].target, rows[i].source);

		step.flags = rows[i].flags;
		step.size_bytes = rows[i].size_bytes;
		step.mode = rows[i].mode;
		if (plan_add_mount(p, &step, e) < 0)
			return -e->code;
	}
	return 0;
}

static int add_overlay(struct plan *p, const char *target, const char *source, const char *layer,
		       enum mount_ids ids, struct err *e)
{
	struct mount_step step = mount_step_new(MOUNT_OVERLAY, target, source);

	step.layer = layer;
	step.lower_ids = ids;
	/* Otherwise the end of a session syncs the host's whole file system. */
	step.flags = p->request->keep ? 0 : MOUNT_VOLATILE;
	return plan_add_mount(p, &step, e);
}

static int add_read_only(struct plan *p, const char *target, const char *source, enum mount_ids ids,
			 struct err *e)
{
	struct mount_step step = mount_step_new(MOUNT_BIND, target, source);

	step.flags = MOUNT_RO;
	step.lower_ids = ids;
	return plan_add_mount(p, &step, e);
}

static int add_tmpfs(struct plan *p, const char *target, uint64_t bytes, unsigned flags,
		     struct err *e)
{
	struct mount_step step = mount_step_new(MOUNT_TMPFS, target, NULL);

	step.size_bytes = bytes;
	step.mode = 01777;
	step.flags = flags;
	return plan_add_mount(p, &step, e);
}

/* Without idmapped layers these are not the host's but fresh, so that they can be written. */
static bool is_fresh_without_ids(const char *path)
{
	return str_eq(path, "/opt") || str_starts(path, "/var/");
}

/* Only root can write there. A `run` as somebody else has a root by `sudo` alone, and without a way
 * out there is nothing that it could install: a layer each would cost a third of its time. */
static bool host_dirs_are_written(const struct plan *p)
{
	bool installs = p->policy->root_allowed && p->net != NET_NONE;

	return p->as_root || !p->request->ends_with_us || installs;
}

/* A directory of the host as a lower that the session's root reads with host root's eyes. */
static int add_public(struct plan *p, const char *dir, const char *layer, struct err *e)
{
	if (add_overlay(p, dir, dir, layer, MOUNT_IDS_SESSION, e) < 0)
		return -e->code;
	p->mounts[p->n_mounts - 1].flags |= MOUNT_PUBLIC |
					    (str_eq(dir, "/usr") ? MOUNT_SKELETON : 0);
	return 0;
}

/* A directory of programs as it is, with those of the skeleton above. No upper layer: it costs no
 * inode. */
static int add_local_bin(struct plan *p, struct err *e)
{
	struct mount_step step = mount_step_new(MOUNT_OVERLAY, LOCAL_BIN, LOCAL_BIN);

	step.lower_ids = MOUNT_IDS_PLAIN;
	step.flags = MOUNT_RO | MOUNT_SKELETON;
	return plan_add_mount(p, &step, e);
}

/* `sudo`, and `python` where the host has only a python3, are in the skeleton. In a /usr that is
 * written they are where people look for them; else they are the first that PATH finds. */
static int add_programs(struct plan *p, bool mapped, struct err *e)
{
	if (mapped && p->host->local_bin && add_local_bin(p, e) < 0)
		return -e->code;
	if (!mapped) {
		if (add_overlay(p, "/usr/local", NULL, "usr-local", MOUNT_IDS_SESSION, e) < 0)
			return -e->code;
		p->mounts[p->n_mounts - 1].flags |= MOUNT_SKELETON;
	}
	if (!p->host->sudo)
		return 0;
	/* The host's has the name, and no power here. */
	if (add_read_only(p, HOST_SUDO, "sudo", MOUNT_IDS_PLAIN, e) < 0)
		return -e->code;
	p->mounts[p->n_mounts - 1].flags |= MOUNT_PROGRAM;
	return 0;
}

static int add_host_dirs(struct plan *p, struct err *e)
{
	bool mapped = p->ids == IDS_ROOT && p->host->idmapped_mounts;
	bool written = mapped && host_dirs_are_written(p);

	for (unsigned i = 0; host_dir(i); i++) {
		const struct host_dir *dir = host_dir(i);
		int ret;

		if (!(p->host->dirs & 1u << i))
			continue;
		if (written)
			ret = add_public(p, dir->path, dir->layer, e);
		else if (!mapped && is_fresh_without_ids(dir->path))
			continue;
		else /* their owners mean nobody inside: what is not everybody's is not ours */
			ret = add_read_only(p, dir->path, dir->path, MOUNT_IDS_PLAIN, e);
		if (ret < 0)
			return ret;
	}
	return written ? 0 : add_programs(p, mapped, e);
}

/* The host's directories, or the one that the caller named, whole: then "/" is one overlay, and
 * nothing of the host is seen. Without a mapping its owners are nobody inside. */
static int add_root(struct plan *p, struct err *e)
{
	const struct request *r = p->request;
	enum mount_ids ids = r->rootfs && !r->rootfs_mapped ? MOUNT_IDS_PLAIN : MOUNT_IDS_SESSION;

	if (add_overlay(p, "/", r->rootfs, "root", ids, e) < 0)
		return -e->code;
	if (!r->rootfs)
		return add_host_dirs(p, e);
	p->mounts[p->n_mounts - 1].flags |= MOUNT_GIVEN;
	return 0;
}

static int add_workspace(struct plan *p, struct err *e)
{
	const struct request *r = p->request;

	if (add_overlay(p, "/workspace", r->kind == WORKSPACE_EMPTY ? NULL : r->path, "workspace",
			r->kind == WORKSPACE_EMPTY ? MOUNT_IDS_SESSION : MOUNT_IDS_OWNER, e) < 0)
		return -e->code;
	p->mounts[p->n_mounts - 1].flags |= MOUNT_GIVEN;
	return 0;
}

static uint64_t half_of_memory(const struct plan *p)
{
	uint64_t memory = p->host->memory_bytes;

	if (p->limits.memory_bytes != LIMIT_NONE && p->limits.memory_bytes < memory)
		memory = p->limits.memory_bytes;
	return memory / 2;
}

static int add_tmpfses(struct plan *p, struct err *e)
{
	uint64_t tmp = p->limits.tmp_bytes != LIMIT_NONE ? p->limits.tmp_bytes : half_of_memory(p);

	if (add_tmpfs(p, "/tmp", tmp, 0, e) < 0 ||
	    add_rows(p, run_rows, ARRAY_LEN(run_rows), e) < 0 ||
	    add_rows(p, dev_rows, ARRAY_LEN(dev_rows), e) < 0)
		return -e->code;
	return add_tmpfs(p, "/dev/shm", half_of_memory(p), MOUNT_NOEXEC, e);
}

static int add_extra(struct plan *p, const struct policy_mount *m, unsigned number, struct err *e)
{
	enum mount_ids ids = m->plain_ids   ? MOUNT_IDS_PLAIN
			     : m->owner_ids ? MOUNT_IDS_OWNER
					    : MOUNT_IDS_SESSION;
	char layer[24];
	int ret;

	snprintf(layer, sizeof(layer), "mount-%u", number);
	ret = m->is_file || m->mode == MOUNT_MODE_RO
		      ? add_read_only(p, m->inside, m->host, ids, e)
		      : add_overlay(p, m->inside, m->host, layer, ids, e);
	/* Toolchains are found, not named: there may be a link where one is. */
	if (ret == 0 && !m->plain_ids)
		p->mounts[p->n_mounts - 1].flags |= MOUNT_GIVEN;
	return ret;
}

int plan_mounts(struct plan *p, struct err *e)
{
	const struct request *r = p->request;

	if (add_root(p, e) < 0 || add_workspace(p, e) < 0 || add_tmpfses(p, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < r->n_mounts; i++)
		if (add_extra(p, &r->mounts[i], i, e) < 0)
			return -e->code;
	if (add_rows(p, proc_rows, ARRAY_LEN(proc_rows), e) < 0)
		return -e->code;
	return add_rows(p, last_rows, ARRAY_LEN(last_rows), e);
}
