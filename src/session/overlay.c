/* SPDX-License-Identifier: MIT */
/* overlay.c - see overlay.h. It is on every start's way: few system calls, no path is walked twice. */
#include "session/overlay.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"
#include "session/hidden.h"
#include "session/program.h"
#include "session/slot.h"

#define WORKSPACE "/workspace"
#define OBJECTS "/run/ohsandbox/objects"
#define DIR_PATH (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct job {
	struct plan *plan;
	const struct base *base;
	const char *skeleton;
	const struct session *session;
	int layers; /* fd of sessions/ID/layers */
};

static int add_lower(struct mount_step *step, int fd, enum mount_ids ids)
{
	step->lower[step->n_lower] = fd;
	step->lower_ids_each[step->n_lower++] = (unsigned char)ids;
	return 0;
}

/* A fresh directory of its own: an overlay needs one lower, and the skeleton has an empty one. */
static int add_empty(const struct job *j, struct mount_step *step, struct err *e)
{
	char path[4096];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s" WORKSPACE, j->skeleton) >= sizeof(path))
		return err_code(e, ENAMETOOLONG, "'%.60s...' is too long a path", j->skeleton);
	fd = openat(j->session->state, path, DIR_PATH);
	if (fd < 0)
		return err_errno(e, "layer of '%s': open '%s'", step->target, path);
	return add_lower(step, fd, MOUNT_IDS_SESSION);
}

/* Whoever owns a directory above what the caller named could have put a link to what is refused in its
 * place since it was looked at. */
static int open_source(const struct mount_step *step, int at, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = step->flags & MOUNT_GIVEN ? RESOLVE_NO_SYMLINKS : 0,
	};

	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

/* `path` is absolute or relative to STATE. */
static int add_dir(const struct job *j, struct mount_step *step, const char *path, struct err *e)
{
	int fd;

	if (step->n_lower == MOUNT_LOWERS_MAX)
		return err_code(e, E2BIG, "'%s' has more than %d layers", step->target,
				MOUNT_LOWERS_MAX);
	fd = open_source(step, j->session->state, path, DIR_PATH);
	if (fd < 0)
		return err_errno(e, "layer of '%s': open directory '%s'", step->target, path);
	return add_lower(step, fd, step->lower_ids);
}

static int add_hidden(const struct job *j, struct mount_step *step, struct err *e)
{
	autofree char *layer = NULL;

	if (hidden_up(j->session->state, step->source, step->layer, &layer, e) < 0)
		return -e->code;
	return layer ? add_dir(j, step, layer, e) : 0;
}

/* What the skeleton has at the place that is mounted over; it has it where the plan says so. */
static int add_skeleton(const struct job *j, struct mount_step *step, struct err *e)
{
	autofree char *path = str_fmt(e, "%s%s", j->skeleton, step->target);
	int fd = path ? openat(j->session->state, path, DIR_PATH) : -1;

	if (!path)
		return -e->code;
	if (fd < 0)
		return err_errno(e, "layer of '%s': open '%s'", step->target, path);
	return add_lower(step, fd, MOUNT_IDS_SESSION);
}

/* That a tree may be mapped was decided by its owner, who may have put another in its place since. */
static int check_owner(const struct job *j, const struct mount_step *step, struct err *e)
{
	struct stat st;

	if (j->plan->ids != IDS_ROOT || step->lower_ids == MOUNT_IDS_PLAIN)
		return 0;
	if (fstat(step->lower[step->n_lower - 1], &st) < 0)
		return err_errno(e, "layer of '/': '%s'", step->source);
	return st.st_uid == 0 ? 0
			      : err_code(e, ESTALE, "layer of '/': '%s' is no longer root's",
					 step->source);
}

/* The skeleton is ours, however the owners of a tree below it are read. */
static int open_root(const struct job *j, struct mount_step *step, struct err *e)
{
	if (add_dir(j, step, j->skeleton, e) < 0)
		return -e->code;
	step->lower_ids_each[0] = MOUNT_IDS_SESSION;
	if (!step->source)
		return 0;
	return add_dir(j, step, step->source, e) < 0 ? -e->code : check_owner(j, step, e);
}

static int open_lowers(const struct job *j, struct mount_step *step, struct err *e)
{
	if (strcmp(step->target, "/") == 0)
		return open_root(j, step, e);
	if (j->base && strcmp(step->target, WORKSPACE) == 0) {
		for (unsigned i = 0; i < j->base->n_layers; i++)
			if (add_dir(j, step, j->base->layers[i], e) < 0)
				return -e->code;
		return step->n_lower
			       ? 0
			       : err_code(e, EINVAL, "the base of '%s' has no layer", step->target);
	}
	if ((step->flags & MOUNT_SKELETON) && add_skeleton(j, step, e) < 0)
		return -e->code;
	if ((step->flags & MOUNT_PUBLIC) && add_hidden(j, step, e) < 0)
		return -e->code;
	if (!step->source && step->n_lower)
		return 0;
	return step->source ? add_dir(j, step, step->source, e) : add_empty(j, step, e);
}

/* The upper directory stands for the directory itself: whose is it, as the session sees it? */
static void upper_owner(const struct job *j, const struct mount_step *step, uid_t *uid, gid_t *gid)
{
	uid_t first = slot_uid_base(j->session->record.slot);
	bool of_user = step->lower_ids == MOUNT_IDS_OWNER || strcmp(step->target, WORKSPACE) == 0;

	*uid = first + (of_user ? j->plan->policy->user.uid : 0);
	*gid = first + (of_user ? j->plan->policy->user.gid : 0);
}

/* As in the layer it begins with, but never shut for its owner, and without set-id bits. A tree that
 * was unpacked into a private directory must not shut the session out: "/" is as the skeleton has it. */
static int upper_mode(const struct mount_step *step, mode_t *mode, struct err *e)
{
	unsigned first = strcmp(step->target, "/") == 0 ? 0 : step->n_lower - 1;
	struct stat st;

	if (fstat(step->lower[first], &st) < 0)
		return err_errno(e, "layer of '%s'", step->target);
	*mode = (st.st_mode & 01777) | 0700;
	return 0;
}

/* A spare one has the mode that its last session gave it. */
static int open_spare(const struct job *j, const char *path, mode_t mode, struct err *e)
{
	autoclose int fd = openat(j->layers, path, DIR_PATH | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "open layer '%s'", path);
	if ((st.st_mode & 07777) != mode && fchmodat(j->layers, path, mode, 0) < 0)
		return err_errno(e, "set the mode of layer '%s'", path);
	return take_fd(&fd);
}

/* Of a session that is brought back: as it left it, whatever owner and mode it gave it. */
static int open_again(const struct job *j, const char *path, struct err *e)
{
	int fd = openat(j->layers, path, DIR_PATH | O_NOFOLLOW);

	return fd < 0 ? err_errno(e, "open layer '%s'", path) : fd;
}

static int make_and_open(const struct job *j, const char *layer, const char *part, mode_t mode,
			 struct err *e)
{
	char path[80];
	int fd = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", layer, part) >= sizeof(path))
		return err_code(e, ENAMETOOLONG, "'%s' is too long a name of a layer", layer);
	if (mkdirat(j->layers, path, mode) == 0)
		fd = openat(j->layers, path, DIR_PATH | O_NOFOLLOW);
	else if (errno == EEXIST && j->session->again)
		return open_again(j, path, e);
	else if (errno == EEXIST && j->session->spare)
		return open_spare(j, path, mode, e);
	return fd < 0 ? err_errno(e, "make layer '%s'", path) : fd;
}

static int make_upper(const struct job *j, struct mount_step *step, struct err *e)
{
	bool spare = j->session->spare, again = j->session->again, there;
	mode_t mode = 0700;
	uid_t uid;
	gid_t gid;

	if (upper_mode(step, &mode, e) < 0)
		return -e->code;
	there = mkdirat(j->layers, step->layer, 0700) < 0;
	if (there && (errno != EEXIST || !(spare || again)))
		return err_errno(e, "make layer '%s'", step->layer);
	step->upper = make_and_open(j, step->layer, "upper", mode, e);
	step->work = step->upper < 0 ? -1 : make_and_open(j, step->layer, "work", 0700, e);
	if (step->work < 0)
		return -e->code;
	if (j->plan->ids != IDS_ROOT || (again && there))
		return 0; /* the caller's, which is the workload's user inside */
	upper_owner(j, step, &uid, &gid);
	if (fchownat(step->upper, "", uid, gid, AT_EMPTY_PATH) < 0)
		return err_errno(e, "layer '%s': give it to uid %u", step->layer, uid);
	return 0;
}

/* Sockets, fifos and devices of the host would be ways out: only files, directories, and of /dev
 * what the plan lists. */
static int open_bind(struct mount_step *step, struct err *e)
{
	bool device = step->flags & MOUNT_DEV;
	struct stat st;
	int fd;

	if (step->n_lower)
		return 0;
	fd = step->flags & MOUNT_PROGRAM
		     ? program_open(step->source, e)
		     : open_source(step, AT_FDCWD, step->source, O_PATH | O_CLOEXEC);
	if (fd < 0 && step->flags & MOUNT_PROGRAM)
		return -e->code;
	if (fd < 0)
		return err_errno(e, "mount '%s' at '%s'", step->source, step->target);
	(void)add_lower(step, fd, step->lower_ids); /* the step owns it from here on */
	if (fstat(fd, &st) < 0)
		return err_errno(e, "mount '%s' at '%s'", step->source, step->target);
	if (device ? S_ISCHR(st.st_mode) : S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
		return 0;
	return err_code(e, EINVAL, "mount '%s' at '%s': it is %s", step->source, step->target,
			device ? "no character device" : "neither a directory nor a regular file");
}

/* Where git's alternates of the private git directory point to. */
static int add_objects(struct plan *p, const struct base *base, struct err *e)
{
	for (unsigned i = 0; i < base->n_objects; i++) {
		struct mount_step step;
		char target[64];
		int fd;

		(void)snprintf(target, sizeof(target), OBJECTS "/%u", i);
		step = mount_step_new(MOUNT_BIND, target, base->objects[i]);
		step.flags = MOUNT_RO | MOUNT_NOEXEC;
		step.lower_ids = MOUNT_IDS_OWNER;
		if (plan_add_mount(p, &step, e) < 0)
			return -e->code;
		fd = fcntl(base->object_fds[i], F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return err_errno(e, "objects of the repository: '%s'", base->objects[i]);
		(void)add_lower(&p->mounts[p->n_mounts - 1], fd,
				MOUNT_IDS_OWNER); /* the step owns it */
	}
	return 0;
}

static int fill_steps(const struct job *j, struct err *e)
{
	for (unsigned i = 0; i < j->plan->n_mounts; i++) {
		struct mount_step *step = &j->plan->mounts[i];

		if (step->kind == MOUNT_BIND && open_bind(step, e) < 0)
			return -e->code;
		if (step->kind == MOUNT_OVERLAY &&
		    (open_lowers(j, step, e) < 0 ||
		     (!(step->flags & MOUNT_RO) && make_upper(j, step, e) < 0)))
			return -e->code;
	}
	return 0;
}

int overlay_up(struct plan *p, const struct base *base, const char *skeleton, struct session *s,
	       struct err *e)
{
	autoclose int layers = -1;
	struct job j = { .plan = p, .base = base, .skeleton = skeleton, .session = s };
	mode_t old;
	int result;

	layers = fs_mkdir_open(s->dir, "layers", 0700, e);
	if (layers < 0 || (base && add_objects(p, base, e) < 0))
		return err_wrap(e, "session %s", s->record.id);
	j.layers = layers;
	/* Every mode here is meant as it stands, and a chmod for each would cost a call for each. */
	old = umask(0);
	result = fill_steps(&j, e);
	(void)umask(old); /* cannot fail */
	return result < 0 ? err_wrap(e, "session %s", s->record.id) : 0;
}

void overlay_close(struct plan *p)
{
	for (unsigned i = 0; i < p->n_mounts; i++) {
		struct mount_step *step = &p->mounts[i];

		while (step->n_lower)
			drop_fd(&step->lower[--step->n_lower]);
		if (step->kind == MOUNT_OVERLAY) {
			drop_fd(&step->upper);
			drop_fd(&step->work);
		}
	}
}
