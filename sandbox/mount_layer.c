/* SPDX-License-Identifier: MIT */
/* mount_layer.c - what is seen of the host: layers under an overlay, and single directories and files.
 *
 * The host opened them in its own mount namespace, and the kernel takes layers from the caller's
 * alone: each is opened again by the name its descriptor has, through no link, and must be the same
 * file. Idmapped layers are clones of the mount they stand on, and staged. */
#include "sandbox/mount.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fs.h"

/* The kernel's limit for one value of fsconfig(2). */
#define VALUE_BYTES 256

static int same_file(int a, int b, const char *path, struct err *e)
{
	struct stat sa, sb;

	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0)
		return err_errno(e, "look at '%s'", path);
	if (sa.st_dev != sb.st_dev || sa.st_ino != sb.st_ino)
		return err_code(e, ESTALE, "'%s' is no longer what it was", path);
	return 0;
}

/* `fd` of the host's namespace, opened in ours. O_PATH. */
static int layer_reopen(const struct tree *t, int fd, struct err *e)
{
	char number[16], path[PATH_MAX];
	autoclose int own = -1;
	ssize_t n;

	(void)snprintf(number, sizeof(number), "%d", fd);
	n = readlink(number, path, sizeof(path)); /* we stand in /proc/self/fd */
	if (n < 0)
		return err_errno(e, "name of descriptor %d", fd);
	if (n == (ssize_t)sizeof(path))
		return err_code(e, ENAMETOOLONG, "the name of descriptor %d is too long", fd);
	path[n] = '\0';
	own = fs_open_beneath(t->host_root, mount_below_root(path), O_PATH | O_NOFOLLOW, 0,
			      RESOLVE_NO_SYMLINKS, e);
	if (own < 0 || same_file(fd, own, path, e) < 0)
		return -e->code;
	return take_fd(&own);
}

/* Through which namespace's ids a layer's owners are read; -1: as they are. */
static int ids_through(const struct inside *in, enum mount_ids ids)
{
	if (in->mode != IDS_ROOT || ids == MOUNT_IDS_PLAIN)
		return -1;
	return ids == MOUNT_IDS_OWNER && in->owner_userns >= 0 ? in->owner_userns : in->userns;
}

/* A detached mount of `own` with these attributes. An ordinary user's kernel clones a directory
 * only with all that is mounted below it, so that nothing covered comes to light. */
static int clone_mount(const struct inside *in, int own, uint64_t attrs, int userns, struct err *e)
{
	unsigned whole = in->mode == IDS_ROOT ? 0 : AT_RECURSIVE;
	struct mount_attr attr = { .attr_set = attrs };
	autoclose int mount = -1;

	if (userns >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns;
	}
	mount = open_tree(own, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | whole);
	if (mount < 0)
		return err_errno(e, "clone it");
	if (mount_setattr(mount, "", AT_EMPTY_PATH | whole, &attr, sizeof(attr)) < 0)
		return err_errno(
			e, userns < 0 ? "set its attributes"
				      : "map its ids (does its file system know idmapped mounts?)");
	return take_fd(&mount);
}

/* The descriptors whose numbers name the layers; open until the overlay is there. */
struct layers {
	int lower[MOUNT_LOWERS_MAX], upper, work;
	unsigned n_lower;
};

static void layers_close(struct layers *l)
{
	for (unsigned i = 0; i < l->n_lower; i++)
		drop_fd(&l->lower[i]);
	drop_fd(&l->upper);
	drop_fd(&l->work);
}

static int lower_open(const struct tree *t, int fd, enum mount_ids ids, struct err *e)
{
	int userns = ids_through(t->in, ids);
	autoclose int own = layer_reopen(t, fd, e);
	autoclose int mount = -1;

	if (own < 0 || userns < 0)
		return take_fd(&own);
	mount = clone_mount(t->in, own, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			    userns, e);
	if (mount < 0 || mount_stage(t, mount, e) < 0)
		return -e->code;
	return take_fd(&mount);
}

/* A directory of the scratch tmpfs. Its name is the layer's with a letter before it: "u-usr". */
static int scratch_dir(const struct tree *t, char letter, const char *layer, struct err *e)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof(name), "%c-%s", letter, layer);
	if (mkdirat(t->scratch, name, 0755) < 0)
		return err_errno(e, "make '%s'", name);
	if (mount_chown(t, t->scratch, name, e) < 0)
		return -e->code;
	fd = openat(t->scratch, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "open '%s'", name) : fd;
}

static int scratch_open(struct tree *t, const char *layer, struct layers *l, struct err *e)
{
	if (t->scratch < 0)
		t->scratch = mount_scratch(t, e);
	if (t->scratch < 0)
		return err_wrap(e, "scratch");
	l->upper = scratch_dir(t, 'u', layer, e);
	if (l->upper < 0)
		return l->upper;
	l->work = scratch_dir(t, 'w', layer, e);
	return l->work < 0 ? l->work : 0;
}

static int layers_open(struct tree *t, const struct mount_step *s, struct layers *l, struct err *e)
{
	while (l->n_lower < s->n_lower) {
		unsigned i = l->n_lower;

		l->lower[i] = lower_open(t, s->lower[i], (enum mount_ids)s->lower_ids_each[i], e);
		if (l->lower[i] < 0)
			return err_wrap(e, "layer %u", i);
		l->n_lower++;
	}
	if (s->flags & MOUNT_SCRATCH)
		return scratch_open(t, s->layer, l, e);
	if (s->upper < 0)
		return 0;
	l->upper = layer_reopen(t, s->upper, e);
	if (l->upper < 0)
		return err_wrap(e, "upper layer");
	l->work = layer_reopen(t, s->work, e);
	return l->work < 0 ? err_wrap(e, "work directory") : 0;
}

/* "12:13:14", uppermost first. */
static int set_lowers(int fs, const struct layers *l, struct err *e)
{
	char text[VALUE_BYTES];
	size_t len = 0;

	for (unsigned i = 0; i < l->n_lower; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d", i ? ":" : "",
					l->lower[i]);
		if (len >= sizeof(text))
			return err_code(e, E2BIG, "the names of %u layers do not fit", l->n_lower);
	}
	return fsctx_set(fs, "lowerdir", text, e);
}

struct option {
	const char *key, *value;
};

/* As root: a directory of a lower layer can be renamed. The others are said because a module
 * parameter of the host may have them otherwise, and what we read of upper layers counts on them. */
static const struct option root_options[] = {
	{ "redirect_dir", "on" },
	{ "metacopy", "off" },
	{ "index", "off" },
	{ NULL, NULL },
};

/* In a user namespace the trusted attributes are out of reach, and with them renamed directories. */
static const struct option user_options[] = {
	{ "userxattr", NULL },
	{ NULL, NULL },
};

static int overlay_new(const struct tree *t, const struct mount_step *s, const struct layers *l,
		       struct err *e)
{
	const struct option *o = t->in->mode == IDS_ROOT ? root_options : user_options;
	autoclose int fs = fsctx_open("overlay", e);

	if (fs < 0 || set_lowers(fs, l, e) < 0)
		return -e->code;
	if (l->upper >= 0 &&
	    (fsctx_set_number(fs, "upperdir", (unsigned)l->upper, "%" PRIu64, e) < 0 ||
	     fsctx_set_number(fs, "workdir", (unsigned)l->work, "%" PRIu64, e) < 0))
		return -e->code;
	for (; o->key; o++)
		if (fsctx_set(fs, o->key, o->value, e) < 0)
			return -e->code;
	if (s->flags & MOUNT_VOLATILE && fsctx_set(fs, "volatile", NULL, e) < 0)
		return -e->code;
	return fsctx_mount(fs, mount_attrs(s), e);
}

/* A volatile overlay leaves a mark in its work directory, and the kernel refuses the layers from
 * then on, since after a power failure they may be torn. Whether they may be used again is the
 * session's decision, and made: it would not ask for this mount otherwise. */
static bool mark_removed(const struct layers *l)
{
	if (l->work < 0 ||
	    (unlinkat(l->work, "work/incompat/volatile/dirty", 0) < 0 && errno != ENOENT))
		return false;
	return unlinkat(l->work, "work/incompat/volatile", AT_REMOVEDIR) == 0;
}

static int overlay_mount(const struct tree *t, const struct mount_step *s, const struct layers *l,
			 struct err *e)
{
	int mount = overlay_new(t, s, l, e);

	if (mount < 0 && mark_removed(l))
		mount = overlay_new(t, s, l, e);
	return mount;
}

int mount_overlay(struct tree *t, const struct mount_step *s, struct err *e)
{
	__attribute__((cleanup(layers_close))) struct layers layers = { .upper = -1, .work = -1 };
	autoclose int mount = -1;

	if (layers_open(t, s, &layers, e) < 0)
		return -e->code;
	/* An overlay over nothing is its upper layer. */
	if (!layers.n_lower)
		mount = clone_mount(t->in, layers.upper, mount_attrs(s), -1, e);
	else
		mount = overlay_mount(t, s, &layers, e);
	return mount < 0 ? mount : mount_attach(t, mount, s, true, e);
}

/* As root a node of our own is quicker than a mount, and one mount less to take down. */
static int make_node(struct tree *t, const struct mount_step *s, dev_t device, struct err *e)
{
	const char *name;
	int parent = mount_parent(t, s->target, true, &name, e);

	if (parent < 0)
		return parent;
	if (mknodat(parent, name, S_IFCHR | 0666, device) < 0)
		return err_errno(e, "make device %u:%u", major(device), minor(device));
	return 0;
}

int mount_bind(struct tree *t, const struct mount_step *s, struct err *e)
{
	autoclose int own = -1, mount = -1;
	struct stat st;

	if (s->n_lower != 1)
		return err_code(e, EINVAL, "%u layers for what takes one", s->n_lower);
	if (fstat(s->lower[0], &st) < 0)
		return err_errno(e, "look at '%s'", s->source);
	if (t->in->mode == IDS_ROOT && S_ISCHR(st.st_mode) && s->flags & MOUNT_DEV)
		return make_node(t, s, st.st_rdev, e);
	own = layer_reopen(t, s->lower[0], e);
	if (own < 0)
		return own;
	mount = clone_mount(t->in, own, mount_attrs(s),
			    ids_through(t->in, (enum mount_ids)s->lower_ids_each[0]), e);
	return mount < 0 ? mount : mount_attach(t, mount, s, S_ISDIR(st.st_mode), e);
}
