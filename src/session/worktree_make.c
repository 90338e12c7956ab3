/* SPDX-License-Identifier: MIT */
/* worktree_make.c - make what a base lacks, with ohsandbox-git; see worktree.h.
 *
 * Under the repository's lock: of two starts at once one makes the base and the other finds it.
 * What is half made has no final name: a directory becomes what it is by a rename, the base
 * itself by the file "ready". */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "session/candidates.h"
#include "session/gitdir.h"
#include "session/gitrun.h"
#include "session/owner.h"
#include "session/store.h"
#include "session/worktree_find.h"

#define ARGS_MAX 60
#define TRIES 3
#define CAP_BYTES ((uint64_t)16 << 30) /* all bases together; the least recently used go */

struct making {
	const struct plan *plan;
	const struct repo *repo;
	const struct head *head;
	struct owner_ids ids;
	int state, dir, commit; /* fds: STATE, base/REPO, base/REPO/COMMIT */
	struct candidates over;
	/* the call */
	const char *argv[ARGS_MAX];
	unsigned argc;
	char text[16 + CANDIDATES_MAX][GIT_ID_MAX + 16]; /* numbers among the arguments */
	unsigned n_text;
	struct git_run run;
	bool tree, pack, layer; /* what is to be made */
	char git[GITDIR_NAME_BYTES];
};

static int add_word(struct making *m, const char *word, struct err *e)
{
	if (m->argc + 1 >= ARGS_MAX)
		return err_code(e, E2BIG, "too many arguments for ohsandbox-git");
	m->argv[m->argc++] = word;
	m->argv[m->argc] = NULL;
	return 0;
}

/* Pass a descriptor on: "--name 5", or "--over COMMIT:5". The call does not own it. */
static int add_fd(struct making *m, const char *name, const char *commit, int fd, struct err *e)
{
	char *text = m->text[m->n_text];

	if (m->n_text == ARRAY_LEN(m->text) || m->run.n_fds == GIT_RUN_FDS_MAX)
		return err_code(e, E2BIG, "too many descriptors for ohsandbox-git");
	(void)snprintf(text, sizeof(m->text[0]), "%s%s%u", commit ? commit : "", commit ? ":" : "",
		       GIT_RUN_FD(m->run.n_fds));
	m->n_text++;
	m->run.fds[m->run.n_fds++] = fd;
	return add_word(m, name, e) < 0 ? -e->code : add_word(m, text, e);
}

/* A directory of the owner's to be filled, empty. */
static int make_owned(struct making *m, int at, const char *name, struct err *e)
{
	autoclose int fd = -1;

	if (store_remove_owned(at, name, e) < 0)
		return -e->code;
	fd = fs_mkdir_open(at, name, 0755, e);
	if (fd < 0)
		return fd;
	if (geteuid() == 0 && fchown(fd, m->ids.uid, m->ids.gid) < 0)
		return err_errno(e, "give '%s' to uid %u", name, m->ids.uid);
	return take_fd(&fd);
}

static int open_index(struct making *m, bool anew, struct err *e)
{
	autoclose int fd = -1;

	if (anew && unlinkat(m->commit, "index", 0) < 0 && errno != ENOENT)
		return err_errno(e, "remove an unfinished index");
	fd = openat(m->commit, "index",
		    (anew ? O_CREAT | O_EXCL : 0) | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, "open the index of the base");
	if (anew && geteuid() == 0 && fchown(fd, m->ids.uid, m->ids.gid) < 0)
		return err_errno(e, "give the index to uid %u", m->ids.uid);
	return take_fd(&fd);
}

/* What is missing, and where ohsandbox-git is to put it. Unfinished parts are begun anew. */
struct places {
	int tree, index, pack, layer, layer_top;
};

static void close_places(struct places *at)
{
	auto_close(&at->tree);
	auto_close(&at->index);
	auto_close(&at->pack);
	auto_close(&at->layer);
	auto_close(&at->layer_top);
}

#define autoplaces __attribute__((cleanup(close_places)))

static int prepare_tree(struct making *m, struct places *at, struct err *e)
{
	at->tree = make_owned(m, m->commit, "tree", e);
	if (at->tree < 0)
		return at->tree;
	if (candidates_find(m->dir, m->head->commit, &m->over, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < m->over.n; i++)
		if (add_fd(m, "--over", m->over.base[i].commit, m->over.base[i].index, e) < 0)
			return -e->code;
	return add_fd(m, "--tree", NULL, at->tree, e);
}

static int prepare_pack(struct making *m, struct places *at, struct err *e)
{
	if (!m->plan->reachable_objects)
		return 0;
	at->pack = m->pack ? make_owned(m, m->commit, "objects.new", e)
			   : openat(m->commit, "objects",
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at->pack < 0)
		return m->pack ? at->pack : err_errno(e, "open the pack of the base");
	return add_fd(m, "--pack", NULL, at->pack, e);
}

static int prepare_layer(struct making *m, struct places *at, struct err *e)
{
	if (store_remove_owned(m->commit, "git.new", e) < 0)
		return -e->code;
	at->layer_top = fs_mkdir_open(m->commit, "git.new", 0700, e);
	if (at->layer_top < 0)
		return at->layer_top;
	at->layer = make_owned(m, at->layer_top, "layer", e);
	if (at->layer < 0 || add_fd(m, "--layer", NULL, at->layer, e) < 0)
		return -e->code;
	return gitdir_arguments(m->plan, m->head, m->argv, ARGS_MAX, e);
}

static bool is_there(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The name the git layer will have: over the object directories as they are now. */
static int name_git(struct making *m, struct err *e)
{
	int fds[BASE_OBJECTS_MAX], n = 0, r;
	autoclose int own = -1;

	if (m->plan->reachable_objects) {
		own = openat(m->commit, "objects", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (own < 0)
			return err_errno(e, "open the pack of the base");
		return gitdir_name(m->plan, m->repo, m->head, &own, 1, m->git, e);
	}
	n = repo_objects(m->repo, fds, ARRAY_LEN(fds), e);
	if (n < 0)
		return n;
	r = gitdir_name(m->plan, m->repo, m->head, fds, (unsigned)n, m->git, e);
	while (n)
		(void)close(fds[--n]);
	return r;
}

static int look(struct making *m, struct err *e)
{
	struct ready ready;

	m->tree = !store_read_ready(m->commit, &ready);
	m->pack = m->plan->reachable_objects && (m->tree || !is_there(m->commit, "objects"));
	m->layer = true;
	/* A pack that is to be made has no place yet that could be part of the name. */
	if (m->pack)
		return 0;
	if (name_git(m, e) < 0)
		return -e->code;
	m->layer = !is_there(m->commit, m->git);
	return 0;
}

static int prepare(struct making *m, struct places *at, struct err *e)
{
	static const char *const words[] = { "base", "--repo" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (add_word(m, words[i], e) < 0)
			return -e->code;
	if (add_word(m, m->repo->path, e) < 0 || add_word(m, "--commit", e) < 0 ||
	    add_word(m, m->head->commit, e) < 0)
		return -e->code;
	at->index = open_index(m, m->tree, e);
	if (at->index < 0 || add_fd(m, "--index", NULL, at->index, e) < 0)
		return -e->code;
	if (m->tree && prepare_tree(m, at, e) < 0)
		return -e->code;
	if (prepare_pack(m, at, e) < 0)
		return -e->code;
	return m->layer ? prepare_layer(m, at, e) : 0;
}

static void show_warnings(const struct json_doc *answer)
{
	const struct json *list = json_get(json_root(answer), "warnings");

	if (!list || list->type != JSON_ARRAY)
		return;
	for (const struct json *w = list->list.first; w; w = w->next)
		if (w->type == JSON_STRING)
			log_warn("%.400s", w->string.bytes);
}

static uint64_t answer_number(const struct json_doc *answer, const char *key)
{
	const struct json *value = json_get(json_root(answer), key);

	return value && value->type == JSON_INT && value->integer > 0 ? (uint64_t)value->integer
								      : 0;
}

/* The base's own tree, then those of the base it was laid over. */
static int finish_tree(struct making *m, const struct json_doc *answer, struct err *e)
{
	struct ready r = { .n_trees = 1,
			   .bytes = answer_number(answer, "bytes"),
			   .entries = answer_number(answer, "entries") };
	const struct json *over = json_get(json_root(answer), "over");
	const struct ready *below;

	memcpy(r.trees[0], m->head->commit, sizeof(r.trees[0]));
	if (over && over->type == JSON_STRING) {
		below = candidates_get(&m->over, over->string.bytes);
		if (!below)
			return err_code(e, EPROTO,
					"ohsandbox-git laid the base over one it was not given");
		for (unsigned i = 0; i < below->n_trees; i++)
			memcpy(r.trees[r.n_trees++], below->trees[i], sizeof(r.trees[0]));
	}
	return store_write_ready(m->commit, &r, e);
}

static int rename_part(struct making *m, const char *from, const char *to, struct err *e)
{
	if (renameat(m->commit, from, m->commit, to) < 0)
		return err_errno(e, "rename '%s' of the base", from);
	return 0;
}

static int finish(struct making *m, const struct json_doc *answer, struct err *e)
{
	show_warnings(answer);
	/* A pack is older than "ready" and goes with it: see look(). */
	if (m->pack && (store_remove_owned(m->commit, "objects", e) < 0 ||
			rename_part(m, "objects.new", "objects", e) < 0))
		return -e->code;
	if (m->tree && finish_tree(m, answer, e) < 0)
		return -e->code;
	if (!m->layer)
		return 0;
	if (m->pack && name_git(m, e) < 0)
		return -e->code;
	return is_there(m->commit, m->git) ? 0 : rename_part(m, "git.new", m->git, e);
}

static int call(struct making *m, struct err *e)
{
	autoplaces struct places at = { -1, -1, -1, -1, -1 };
	autofree char *what = str_fmt(e, "laying the base of commit %.12s", m->head->commit);
	autofree char *commit_path = fs_path_of(m->commit, e), *tree_path = NULL;
	autojson struct json_doc *answer = NULL;
	struct owner_ids *ids = geteuid() == 0 ? &m->ids : NULL;

	tree_path = commit_path ? str_fmt(e, "%s/tree", commit_path) : NULL;
	if (!what || !tree_path)
		return -e->code;
	if (prepare(m, &at, e) < 0)
		return -e->code;
	m->argc = 0;
	while (m->argv[m->argc])
		m->argc++;
	if (add_word(m, "--tree-path", e) < 0 || add_word(m, tree_path, e) < 0)
		return -e->code;
	m->run.argv = m->argv;
	m->run.ids = ids;
	m->run.in = m->run.out = -1;
	m->run.what = what;
	if (git_run(&m->run, &answer, e) < 0)
		return -e->code;
	return finish(m, answer, e);
}

/* base/REPO with its lock held. "path" tells whose it is. */
static int open_repo_dir_once(int state, const struct repo *r, int *lock, struct err *e)
{
	autoclose int base = fs_mkdir_open(state, "base", 0700, e);
	autoclose int dir = -1;

	if (base < 0)
		return base;
	dir = fs_mkdir_open(base, r->id, 0700, e);
	if (dir < 0)
		return dir;
	drop_fd(lock);
	*lock = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*lock < 0)
		return err_errno(e, "open the lock of the bases of '%s'", r->path);
	if (flock(*lock, LOCK_EX) < 0)
		return err_errno(e, "wait for another start that lays a base of '%s'", r->path);
	return take_fd(&dir);
}

/* An eviction that had the lock before us may have taken the directory away with it. */
static int open_repo_dir(int state, const struct repo *r, int *lock, struct err *e)
{
	struct stat st;

	for (int i = 0; i < TRIES; i++) {
		autoclose int dir = open_repo_dir_once(state, r, lock, e);

		if (dir < 0)
			return dir;
		if (fstat(*lock, &st) < 0)
			return err_errno(e, "stat the lock of the bases of '%s'", r->path);
		if (!st.st_nlink)
			continue;
		if (!is_there(dir, "path") &&
		    io_replace_file(dir, "path", r->path, strlen(r->path), 0600, e) < 0)
			return -e->code;
		return take_fd(&dir);
	}
	return err_code(e, EAGAIN, "the bases of '%s' are being removed: try again", r->path);
}

/* With the lock held. References may change while we look at them: then once more. */
static int make_all(const struct plan *p, int state, const struct repo *r, const struct head *h,
		    int dir, struct base *out, struct err *e)
{
	int n = worktree_try(p, state, r, h, out, e);

	for (int i = 0; n == 0 && i < TRIES; i++) {
		struct making m = { .plan = p,
				    .repo = r,
				    .head = h,
				    .state = state,
				    .dir = dir,
				    .commit = -1 };

		n = owner_lookup(r->owner, &m.ids, e);
		if (n == 0)
			n = m.commit = fs_mkdir_open(dir, h->commit, 0700, e);
		if (n >= 0)
			n = look(&m, e);
		if (n == 0)
			n = call(&m, e);
		if (n == 0)
			n = worktree_try(p, state, r, h, out, e);
		candidates_clear(&m.over);
		owner_ids_clear(&m.ids);
		auto_close(&m.commit);
	}
	if (n == 0)
		return err_code(
			e, EAGAIN,
			"the references of '%s' change faster than they can be read: try again",
			r->path);
	return n;
}

static int resolve(const struct repo *r, const char *rev, struct head *out, struct err *e)
{
	const char *const argv[] = {
		"resolve", "--repo", r->path, "--rev", rev ? rev : "HEAD", NULL
	};
	struct git_run run = { .argv = argv, .in = -1, .out = -1 };
	autojson struct json_doc *answer = NULL;
	struct owner_ids ids = { 0 };
	const char *commit, *ref;
	int n = 0;

	if (geteuid() == 0) {
		n = owner_lookup(r->owner, &ids, e);
		run.ids = &ids;
	}
	if (n == 0)
		n = git_run(&run, &answer, e);
	owner_ids_clear(&ids);
	if (n < 0)
		return n;
	commit = git_answer_string(answer, "commit", e);
	ref = commit ? git_answer_string(answer, "ref", e) : NULL;
	if (!ref)
		return -e->code;
	if (!git_id_ok(commit) || (ref[0] && !git_ref_ok(ref)))
		return err_code(e, EPROTO, "ohsandbox-git answers with no commit");
	*out = (struct head) { 0 };
	memcpy(out->commit, commit, strlen(commit) + 1);
	memcpy(out->ref, ref, strlen(ref) + 1);
	return 0;
}

/* The commit for certain: also a full id is asked for, which may be a tag's or nobody's. */
static int find_head(const struct repo *r, const char *rev, struct head *out, struct err *e)
{
	int n = rev && git_id_ok(rev) ? 0 : head_read(r, rev, out, e);

	return n == 0 ? resolve(r, rev, out, e) : n;
}

int worktree_make(const struct plan *p, int state, struct base *out, struct err *e)
{
	autorepo struct repo r = REPO_CLOSED;
	autoclose int lock = -1, dir = -1;
	struct err ignored = { 0 };
	struct head h;
	int n;

	if (repo_open(p->request->path, p->request->trust_repo, &r, e) < 0 ||
	    find_head(&r, p->request->rev, &h, e) < 0)
		return -e->code;
	dir = open_repo_dir(state, &r, &lock, e);
	if (dir < 0)
		return dir;
	n = make_all(p, state, &r, &h, dir, out, e);
	if (n < 0)
		return n;
	drop_fd(&lock);
	/* Room for the next is worth no refusal of this one. */
	if (worktree_evict(state, CAP_BYTES, &ignored) < 0)
		log_warn("old bases are not removed: %s", ignored.text);
	return 0;
}
