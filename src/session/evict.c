/* SPDX-License-Identifier: MIT */
/* evict.c - take away bases nobody needs; see worktree.h.
 *
 * A base stays while a session's record names one of its layers, while another base lies over it,
 * while somebody holds its lock, and for a while after its last use. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "session/gitrun.h"
#include "session/owner.h"
#include "session/session.h"
#include "session/store.h"
#include "session/worktree.h"

#define REST_S 600	 /* a base used since stays, unless all shall go */
#define GIT_LAYERS_MAX 8 /* of one base; older ones go when nobody uses them */

struct found {
	char repo_id[17];
	char commit[GIT_ID_MAX + 1];
	struct ready ready;
	int64_t used;
	bool gone;
};

struct search {
	int state;
	const char *repo_id; /* of the directory at hand */
	struct found *bases;
	size_t n, room;
	int64_t rest_s;
	struct buf in_use; /* "REPO/COMMIT/git-DIGEST\n" and "REPO/COMMIT\n" of all records */
};

/* The part of a layer's path behind ".../base/", without its last component. */
static void note_layer(struct buf *in_use, const char *path)
{
	const char *at = path, *next, *end = strrchr(path, '/');

	while ((next = strstr(at, "/base/")))
		at = next + 6;
	if (at == path || !end || end <= at)
		return;
	buf_putc(in_use, '\n');
	buf_add(in_use, at, (size_t)(end - at));
	buf_putc(in_use, '\n');
}

static int note_session(const char *id, void *arg, struct err *e)
{
	struct search *s = arg;
	struct session *session = NULL;

	/* One that is just being made or removed has its bases locked. One whose record cannot be
	 * read might use any: then nothing may go. */
	if (session_open(s->state, id, false, &session, e) < 0)
		return e->code == ENOENT ? 0 : err_wrap(e, "session %s", id);
	for (char **l = session->record.layers_workspace; l && *l; l++)
		note_layer(&s->in_use, *l);
	session_close(session);
	return 0;
}

static bool is_in_use(const struct search *s, const char *what)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "\n%s\n", what);
	return strstr(buf_str(&s->in_use), line) != NULL;
}

static int note_base(int dir, const char *name, void *arg, struct err *e)
{
	struct search *s = arg;
	autoclose int fd = -1;
	struct found f = { 0 };
	struct stat st;

	if (!git_id_ok(name))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !store_read_ready(fd, &f.ready) || fstatat(fd, "ready", &st, 0) < 0)
		return 0;
	if (s->n == s->room) {
		struct found *grown = reallocarray(s->bases, s->room + 64, sizeof(*grown));

		if (!grown)
			return err_code(e, ENOMEM, "out of memory");
		s->bases = grown;
		s->room += 64;
	}
	(void)snprintf(f.repo_id, sizeof(f.repo_id), "%s", s->repo_id);
	(void)snprintf(f.commit, sizeof(f.commit), "%s", name);
	f.used = st.st_mtime;
	s->bases[s->n++] = f;
	return 0;
}

static int note_repo(int dir, const char *name, void *arg, struct err *e)
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct search *s = arg;

	if (fd < 0)
		return errno == ENOTDIR || errno == ENOENT ? 0
							   : err_errno(e, "open 'base/%s'", name);
	s->repo_id = name;
	return strlen(name) == 16 ? store_each(fd, note_base, s, e) : 0;
}

static bool is_below_another(const struct search *s, const struct found *f)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct found *other = &s->bases[i];

		if (other->gone || !str_eq(other->repo_id, f->repo_id))
			continue;
		for (unsigned t = 1; t < other->ready.n_trees; t++)
			if (str_eq(other->ready.trees[t], f->commit))
				return true;
	}
	return false;
}

static bool may_go(const struct search *s, const struct found *f)
{
	char what[128];

	(void)snprintf(what, sizeof(what), "%s/%s", f->repo_id, f->commit);
	return !f->gone && time(NULL) - f->used >= s->rest_s && !is_in_use(s, what) &&
	       !is_below_another(s, f);
}

/* The user's repository forgets the base. It may be gone itself, or not be writable any more. */
static void unregister(int repo_dir, int base)
{
	autofree char *base_path = NULL, *tree = NULL;
	autojson struct json_doc *answer = NULL;
	autobuf struct buf path = { 0 };
	struct owner_ids ids = { 0 };
	struct err e = { 0 };
	struct stat st;

	base_path = fs_path_of(base, &e);
	tree = base_path ? str_fmt(&e, "%s/tree", base_path) : NULL;
	if (!tree || fstatat(base, "tree", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    io_read_file(repo_dir, "path", 4096, &path, &e) < 0)
		return;
	const char *const argv[] = { "unregister",  "--repo", buf_str(&path),
				     "--tree-path", tree,     NULL };
	struct git_run run = { .argv = argv, .in = -1, .out = -1 };

	if (geteuid() == 0) {
		if (owner_lookup(st.st_uid, &ids, &e) < 0)
			return;
		run.ids = &ids;
	}
	if (git_run(&run, &answer, &e) < 0)
		log_debug("base of '%s' stays registered: %s", buf_str(&path), e.text);
	owner_ids_clear(&ids);
}

static int remove_part(int dir, const char *name, void *arg, struct err *e)
{
	struct stat st;

	(void)arg;
	/* "git-DIGEST" is ours and holds one directory of the owner's. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	    str_starts(name, "git")) {
		autoclose int fd =
			openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return err_errno(e, "open '%s'", name);
		if (store_remove_owned(fd, "layer", e) < 0)
			return -e->code;
		return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? err_errno(e, "remove '%s'", name)
							     : 0;
	}
	return store_remove_owned(dir, name, e);
}

/* 1: gone; 0: somebody uses it after all. */
static int remove_base(const struct search *s, const struct found *f, struct err *e)
{
	autoclose int repo = -1, lock = -1, base = -1;
	char path[128];
	struct stat st;

	(void)snprintf(path, sizeof(path), "base/%s", f->repo_id);
	repo = openat(s->state, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	lock = repo < 0 ? -1 : openat(repo, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	base = lock < 0 ? -1
			: openat(repo, f->commit, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (base < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open '%s/%s'", path, f->commit);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0 || flock(base, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : err_errno(e, "lock '%s/%s'", path, f->commit);
	/* Used between our look and the lock? */
	if (fstatat(base, "ready", &st, 0) < 0 || st.st_mtime != f->used)
		return 0;
	unregister(repo, base);
	if (unlinkat(base, "ready", 0) < 0)
		return err_errno(e, "remove '%s/%s/ready'", path, f->commit);
	if (store_each(base, remove_part, NULL, e) < 0)
		return err_wrap(e, "'%s/%s'", path, f->commit);
	return unlinkat(repo, f->commit, AT_REMOVEDIR) < 0
		       ? err_errno(e, "remove '%s/%s'", path, f->commit)
		       : 1;
}

static struct found *oldest(const struct search *s)
{
	struct found *best = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (may_go(s, &s->bases[i]) && (!best || s->bases[i].used < best->used))
			best = &s->bases[i];
	return best;
}

static int shrink(struct search *s, uint64_t cap_bytes, struct err *e)
{
	uint64_t total = 0;
	struct found *f;
	int removed = 0, n;

	for (size_t i = 0; i < s->n; i++)
		total += s->bases[i].ready.bytes;
	while (total > cap_bytes && (f = oldest(s))) {
		n = remove_base(s, f, e);
		if (n < 0)
			return n;
		removed += n;
		total -= f->ready.bytes;
		f->gone = true;
	}
	return removed;
}

struct git_layers {
	const struct search *search;
	const struct found *base;
	unsigned n;
	char name[64]; /* of the oldest that nobody uses */
	int64_t age;
};

static int look_at_layer(int dir, const char *name, void *arg, struct err *e)
{
	struct git_layers *l = arg;
	char what[160];
	struct stat st;

	(void)e;
	if (!str_starts(name, "git-") || strlen(name) >= sizeof(l->name) ||
	    fstatat(dir, name, &st, 0) < 0)
		return 0;
	l->n++;
	(void)snprintf(what, sizeof(what), "%s/%s/%s", l->base->repo_id, l->base->commit, name);
	if (is_in_use(l->search, what) || time(NULL) - st.st_mtime < l->search->rest_s ||
	    (l->name[0] && st.st_mtime >= l->age))
		return 0;
	l->age = st.st_mtime;
	memcpy(l->name, name, strlen(name) + 1);
	return 0;
}

/* Every change of a reference makes another git layer of the same base. */
static int thin_layers(const struct search *s, const struct found *f, struct err *e)
{
	char path[128];
	autoclose int base = -1;

	(void)snprintf(path, sizeof(path), "base/%s/%s", f->repo_id, f->commit);
	base = openat(s->state, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* A session that starts right now may have chosen any of them. */
	if (base < 0 || flock(base, LOCK_EX | LOCK_NB) < 0)
		return 0;
	for (;;) {
		struct git_layers l = { .search = s, .base = f };

		if (store_each(base, look_at_layer, &l, e) < 0)
			return -e->code;
		if (l.n <= GIT_LAYERS_MAX || !l.name[0])
			return 0;
		if (remove_part(base, l.name, NULL, e) < 0)
			return err_wrap(e, "'%s'", path);
	}
}

/* What was never finished, of a repository whose lock we hold. */
static int remove_unfinished(int dir, const char *name, void *arg, struct err *e)
{
	autoclose int base = -1;
	struct ready ready;

	if (!git_id_ok(name))
		return 0;
	base = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (base < 0)
		return err_errno(e, "open base '%s'", name);
	if (store_read_ready(base, &ready) || flock(base, LOCK_EX | LOCK_NB) < 0) {
		*(bool *)arg = true;
		return 0;
	}
	if (store_each(base, remove_part, NULL, e) < 0)
		return err_wrap(e, "unfinished base '%s'", name);
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? err_errno(e, "remove base '%s'", name) : 0;
}

/* A repository's directory goes with the last of its bases. Who waits for the lock sees that it is
 * a file without a name, and makes the directory anew. */
static int tidy_repo(int dir, const char *name, void *arg, struct err *e)
{
	autoclose int repo = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autoclose int lock = repo < 0 ? -1 : openat(repo, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	bool holds_some = false;

	(void)arg;
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		return 0;
	if (store_each(repo, remove_unfinished, &holds_some, e) < 0)
		return err_wrap(e, "'base/%s'", name);
	if (holds_some)
		return 0;
	if (unlinkat(repo, "path", 0) < 0 && errno != ENOENT)
		return err_errno(e, "remove 'base/%s/path'", name);
	if (unlinkat(repo, "lock", 0) < 0 || unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_errno(e, "remove 'base/%s'", name);
	return 0;
}

int worktree_evict(int state, uint64_t cap_bytes, struct err *e)
{
	struct search s = { .state = state,
			    .in_use.limit = (size_t)16 << 20,
			    .rest_s = cap_bytes ? REST_S : 0 };
	autoclose int base = openat(state, "base", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int n;

	if (base < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open 'base'");
	n = session_each(state, note_session, &s, e);
	if (n >= 0)
		n = buf_check(&s.in_use, e);
	if (n >= 0)
		n = store_each(base, note_repo, &s, e);
	if (n >= 0)
		n = shrink(&s, cap_bytes, e);
	for (size_t i = 0; n >= 0 && i < s.n; i++)
		if (!s.bases[i].gone && thin_layers(&s, &s.bases[i], e) < 0)
			n = -e->code;
	if (n >= 0 && store_each(base, tidy_repo, NULL, e) < 0)
		n = -e->code;
	free(s.bases);
	buf_clear(&s.in_use);
	return n;
}
