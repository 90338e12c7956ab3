/* SPDX-License-Identifier: MIT */
/* worktree.c - find the base of a repository's revision; see worktree.h. On the path of every
 * start: a few small files are read, no process is started. */
#include "session/worktree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"
#include "session/gitdir.h"
#include "session/head.h"
#include "session/store.h"
#include "session/worktree_find.h"

void base_clear(struct base *b)
{
	for (unsigned i = 0; i < b->n_layers; i++)
		free(b->layers[i]);
	for (unsigned i = 0; i < b->n_objects; i++) {
		free(b->objects[i]);
		auto_close(&b->object_fds[i]);
	}
	auto_close(&b->lock);
	*b = BASE_NONE;
}

static int add_layer(struct base *b, char *path, struct err *e)
{
	if (!path)
		return -e->code;
	b->layers[b->n_layers++] = path;
	return 0;
}

/* The objects of the repository, or with "reachable" the base's own pack of them. 0 when there is
 * no such pack yet. */
static int open_objects(const struct plan *p, const struct repo *r, struct base *b, struct err *e)
{
	int n;

	if (p->reachable_objects) {
		b->object_fds[0] =
			openat(b->lock, "objects", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (b->object_fds[0] < 0)
			return errno == ENOENT ? 0 : err_errno(e, "open the pack of the base");
		n = 1;
	} else {
		n = repo_objects(r, b->object_fds, BASE_OBJECTS_MAX, e);
		if (n < 0)
			return n;
	}
	b->n_objects = (unsigned)n;
	for (unsigned i = 0; i < b->n_objects; i++) {
		b->objects[i] = fs_path_of(b->object_fds[i], e);
		if (!b->objects[i])
			return -e->code;
	}
	return 1;
}

/* The git layer, then the trees. 0 when the git layer is not there yet. */
static int name_layers(const struct repo *r, const struct ready *ready, const char *git,
		       struct base *b, struct err *e)
{
	autofree char *dir = fs_path_of(b->lock, e);
	char *repo_dir_end;

	if (!dir)
		return -e->code;
	if (faccessat(b->lock, git, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "look for '%s/%s'", dir, git);
	if (add_layer(b, str_fmt(e, "%s/%s/layer", dir, git), e) < 0)
		return -e->code;
	repo_dir_end = strrchr(dir, '/');
	if (!repo_dir_end)
		return err_code(e, EINVAL, "base of '%s' has no path", r->path);
	*repo_dir_end = '\0';
	for (unsigned i = 0; i < ready->n_trees; i++)
		if (add_layer(b, str_fmt(e, "%s/%s/tree", dir, ready->trees[i]), e) < 0)
			return -e->code;
	return 1;
}

static int fill(const struct plan *p, const struct repo *r, const struct head *h, struct base *b,
		struct err *e)
{
	char git[GITDIR_NAME_BYTES];
	struct ready ready;
	struct stat st;
	int n;

	if (!store_read_ready(b->lock, &ready))
		return 0;
	if (fstatat(b->lock, "tree", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(e, "stat the tree of base %s", h->commit);
	b->owner = st.st_uid;
	b->group = st.st_gid;
	memcpy(b->repo_id, r->id, sizeof(b->repo_id));
	memcpy(b->commit, h->commit, sizeof(b->commit));
	n = open_objects(p, r, b, e);
	if (n <= 0)
		return n;
	if (gitdir_name(p, r, h, b->object_fds, b->n_objects, git, e) < 0)
		return -e->code;
	n = name_layers(r, &ready, git, b, e);
	if (n > 0)
		store_touch(b->lock);
	return n;
}

int worktree_try(const struct plan *p, int state, const struct repo *r, const struct head *h,
		 struct base *out, struct err *e)
{
	struct base b = BASE_NONE;
	int n;

	b.lock = store_open(state, r->id, h->commit, e);
	if (b.lock < 0)
		return b.lock == -ENOENT || b.lock == -EBUSY ? 0 : b.lock;
	n = fill(p, r, h, &b, e);
	if (n > 0)
		*out = b;
	else
		base_clear(&b);
	return n;
}

int worktree_find(const struct plan *p, int state, struct base *out, struct err *e)
{
	autorepo struct repo r = REPO_CLOSED;
	struct head h;
	int n;

	if (repo_open(p->request->path, p->request->trust_repo, &r, e) < 0)
		return -e->code;
	n = head_read(&r, p->request->rev, &h, e);
	return n > 0 ? worktree_try(p, state, &r, &h, out, e) : n;
}

static int fill_again(const struct plan *p, const struct repo *r, const struct record *record,
		      struct base *b, struct err *e)
{
	struct stat st;
	int n;

	if (fstatat(b->lock, "tree", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_errno(e, "stat the tree of base %s", record->commit);
	b->owner = st.st_uid;
	b->group = st.st_gid;
	(void)snprintf(b->repo_id, sizeof(b->repo_id), "%s", record->repo_id);
	(void)snprintf(b->commit, sizeof(b->commit), "%s", record->commit);
	n = open_objects(p, r, b, e);
	if (n < 0)
		return n;
	if (n == 0)
		return err_code(e, ENOENT, "the objects of base %s are gone", record->commit);
	for (char **l = record->layers_workspace; l && *l && b->n_layers < MOUNT_LOWERS_MAX; l++)
		if (add_layer(b, str_dup(*l, e), e) < 0)
			return -e->code;
	store_touch(b->lock);
	return 0;
}

int worktree_again(const struct plan *p, int state, const struct record *r, struct base *out,
		   struct err *e)
{
	autorepo struct repo repo = REPO_CLOSED;
	struct base b = BASE_NONE;

	if (!r->repo_id || !r->commit)
		return err_code(e, EINVAL, "session %s: its record names no base", r->id);
	if (repo_open(p->request->path, p->request->trust_repo, &repo, e) < 0)
		return -e->code;
	if (!str_eq(repo.id, r->repo_id))
		return err_code(e, ESTALE,
				"'%s' is another repository than the session was started on",
				p->request->path);
	b.lock = store_open(state, r->repo_id, r->commit, e);
	if (b.lock < 0)
		return err_wrap(e, "session %s: its base", r->id);
	if (fill_again(p, &repo, r, &b, e) < 0) {
		base_clear(&b);
		return -e->code;
	}
	*out = b;
	return 0;
}
