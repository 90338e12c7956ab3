/* SPDX-License-Identifier: MIT */
/* rootfs.c - find, make and evict skeletons; see rootfs.h.
 *
 *	STATE/cache/root-<digest>/	a skeleton, complete: it gets its name last
 *	STATE/cache/root-<key>.index	which skeleton serves this key, and how the host's files looked
 *	STATE/cache/root.new/		one being made, under the lock
 *	STATE/cache/root.lock
 *
 * The key is over what the plan says, the digest over the key and the index. A start reads one
 * small file and looks at the files it names; nothing is digested but the key. Over a tree the files
 * are the tree's, and the key holds how the few of the host's looked. */
#include "session/rootfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/str.h"
#include "session/rootfs_parts.h"
#include "session/session.h"

#define FORMAT "ohsandbox root 3" /* change it when the making changes */
#define HEX 32
#define INDEX_BYTES_MAX ((size_t)4 << 20)
#define INDEXES_MAX 32
#define GRACE_SECONDS 600 /* between reading an index and noting the skeleton in a record */

/* The start of an index file; the stamps follow. */
struct index_head {
	char format[sizeof(FORMAT)];
	char digest[HEX + 1];
};

static void hex_of(struct sha256 *s, char out[HEX + 1])
{
	char all[SHA256_HEX_BYTES];

	sha256_end_hex(s, all);
	memcpy(out, all, HEX);
	out[HEX] = '\0';
}

static void add_text(struct sha256 *s, const char *text)
{
	sha256_add(s, text, strlen(text) + 1);
}

static void add_look(struct sha256 *s, const struct stat *st)
{
	const uint64_t look[] = { st->st_dev,  st->st_ino,
				  st->st_mode, (uint64_t)st->st_size,
				  st->st_uid,  (uint64_t)st->st_ctim.tv_sec,
				  st->st_gid,  (uint64_t)st->st_ctim.tv_nsec };

	sha256_add(s, look, sizeof(look));
}

/* Which tree, and what is put into it that is no part of it. What is missing looks like nothing. */
static void tree_key(const struct skeleton_spec *spec, int tree, struct sha256 *s)
{
	struct stat st = { 0 };

	if (fstat(tree, &st) == 0)
		sha256_add(s, &st.st_dev, sizeof(st.st_dev));
	sha256_add(s, &st.st_ino, sizeof(st.st_ino));
	for (char *const *c = spec->certificates; c && *c; c++) {
		memset(&st, 0, sizeof(st));
		if (stat(*c, &st) == 0)
			add_look(s, &st);
	}
	memset(&st, 0, sizeof(st));
	if (fstat(spec->sudo, &st) == 0)
		add_look(s, &st);
}

static void spec_key(const struct skeleton_spec *spec, int host, char key[HEX + 1])
{
	const struct policy_user *u = spec->user;
	uint32_t numbers[] = { u->uid, u->gid, spec->inside_owners, geteuid(), spec->resolvers.n };
	struct sha256 s;

	sha256_init(&s);
	add_text(&s, FORMAT);
	sha256_add(&s, numbers, sizeof(numbers));
	sha256_add(&s, spec->resolvers.address,
		   spec->resolvers.n * sizeof(spec->resolvers.address[0]));
	add_text(&s, u->name);
	add_text(&s, u->home);
	add_text(&s, u->shell);
	add_text(&s, spec->hostname);
	add_text(&s, spec->sudo_path);
	for (char *const *c = spec->certificates; c && *c; c++)
		add_text(&s, *c);
	if (spec->tree)
		tree_key(spec, host, &s);
	hex_of(&s, key);
}

static void index_name(const char *key, char out[64])
{
	(void)snprintf(out, 64, "root-%s.index", key);
}

/* The skeleton that serves this key, if the host still looks as it did. 1 or 0: whatever is wrong
 * with an index, a new one cures it. */
static int find(int cache, int host, const char *key, char digest[HEX + 1])
{
	autobuf struct buf bytes = { 0 };
	struct index_head head;
	struct err ignored;
	char name[64];

	index_name(key, name);
	if (io_read_file(cache, name, INDEX_BYTES_MAX, &bytes, &ignored) < 0 ||
	    bytes.len < sizeof(head))
		return 0;
	memcpy(&head, bytes.data, sizeof(head));
	if (memcmp(head.format, FORMAT, sizeof(FORMAT)) != 0 ||
	    strnlen(head.digest, HEX + 1) != HEX || strspn(head.digest, "0123456789abcdef") != HEX)
		return 0;
	if (!index_holds(bytes.data + sizeof(head), bytes.len - sizeof(head), host))
		return 0;
	(void)snprintf(name, sizeof(name), "root-%s", head.digest);
	if (faccessat(cache, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	memcpy(digest, head.digest, HEX + 1);
	return 1;
}

/* ---- eviction: under the lock, when a new one has been made ---- */

struct eviction {
	int state, cache;
	struct buf named; /* names in use, a NUL behind each */
	struct timespec now;
};

static bool is_named(const struct eviction *v, const char *name)
{
	size_t n = strlen(name) + 1;

	return v->named.len && memmem(v->named.data, v->named.len, name, n);
}

static int note_layers(const char *id, void *arg, struct err *e)
{
	struct eviction *v = arg;
	struct session *s = NULL;

	if (session_open(v->state, id, false, &s, e) < 0) {
		/* Gone meanwhile; or unreadable, and then nothing is known to be unused. */
		return e->code == ENOENT ? 0 : -e->code;
	}
	for (char **l = s->record.layers_root; l && *l; l++) {
		const char *name = strrchr(*l, '/');

		buf_add(&v->named, name ? name + 1 : *l, strlen(name ? name + 1 : *l) + 1);
	}
	session_close(s);
	return 0;
}

/* Keep what an index names; forget indexes that were not used for long where there are many. */
static int note_index(struct eviction *v, const char *name, unsigned *count)
{
	autoclose int fd = openat(v->cache, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct index_head head;
	struct stat st;
	struct err ignored;
	char dir[64];

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (++*count > INDEXES_MAX && st.st_mtim.tv_sec + GRACE_SECONDS < v->now.tv_sec)
		return unlinkat(v->cache, name, 0);
	if (io_read_full(fd, &head, sizeof(head), &ignored) != sizeof(head) ||
	    strnlen(head.digest, HEX + 1) != HEX)
		return unlinkat(v->cache, name, 0);
	(void)snprintf(dir, sizeof(dir), "root-%s", head.digest);
	buf_add(&v->named, dir, strlen(dir) + 1);
	return 0;
}

static int each_name(int cache, int (*each)(struct eviction *v, const char *name, struct err *e),
		     struct eviction *v, struct err *e)
{
	int copy = openat(cache, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the cache directory");
	}
	while ((d = readdir(dir)))
		if (str_starts(d->d_name, "root-") && each(v, d->d_name, e) < 0)
			return -e->code;
	return 0;
}

static int note_indexes(struct eviction *v, struct err *e)
{
	int copy = openat(v->cache, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;
	unsigned count = 0;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the cache directory");
	}
	while ((d = readdir(dir)))
		if (str_starts(d->d_name, "root-") && str_ends(d->d_name, ".index") &&
		    note_index(v, d->d_name, &count) < 0)
			return err_errno(e, "remove '%s'", d->d_name);
	return 0;
}

/* A start may have read the index a moment ago and not have its record yet: what is found unused
 * for the first time gets a mark of the time, and is removed when that is old. */
static int evict_one(struct eviction *v, const char *name, struct err *e)
{
	char mark[80];
	struct stat st;

	if (strlen(name) != strlen("root-") + HEX)
		return 0;
	(void)snprintf(mark, sizeof(mark), "unused-%s", name);
	if (is_named(v, name))
		return unlinkat(v->cache, mark, 0) < 0 && errno != ENOENT
			       ? err_errno(e, "remove '%s'", mark)
			       : 0;
	if (fstatat(v->cache, mark, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return io_replace_file(v->cache, mark, "", 0, 0600, e);
	if (st.st_mtim.tv_sec + GRACE_SECONDS > v->now.tv_sec)
		return 0;
	if (fs_remove_tree(v->cache, name, e) < 0)
		return -e->code;
	return unlinkat(v->cache, mark, 0) < 0 ? err_errno(e, "remove '%s'", mark) : 0;
}

static int evict(int state, int cache, struct err *e)
{
	struct eviction v = { .state = state, .cache = cache };
	int result;

	(void)clock_gettime(CLOCK_REALTIME, &v.now); /* cannot fail for this clock */
	result = note_indexes(&v, e);
	if (result == 0)
		result = session_each(state, note_layers, &v, e);
	if (result == 0)
		result = buf_check(&v.named, e);
	if (result == 0)
		result = each_name(cache, evict_one, &v, e);
	buf_clear(&v.named);
	return result;
}

/* ---- making ---- */

static int publish(int cache, const char *key, const struct buf *stamps, char digest[HEX + 1],
		   struct err *e)
{
	struct index_head head = { .format = FORMAT };
	autobuf struct buf bytes = { 0 };
	struct sha256 s;
	char name[64];

	sha256_init(&s);
	add_text(&s, key);
	sha256_add(&s, stamps->data, stamps->len);
	hex_of(&s, head.digest);
	(void)snprintf(name, sizeof(name), "root-%s", head.digest);
	if (renameat(cache, "root.new", cache, name) < 0) {
		/* The host looks again as it did before: the old one is the same. */
		if ((errno != EEXIST && errno != ENOTEMPTY) ||
		    fs_remove_tree(cache, "root.new", e) < 0)
			return err_errno(e, "rename a skeleton to '%s'", name);
	}
	buf_add(&bytes, &head, sizeof(head));
	buf_add(&bytes, stamps->data, stamps->len);
	index_name(key, name);
	if (buf_check(&bytes, e) < 0 ||
	    io_replace_file(cache, name, bytes.data, bytes.len, 0600, e) < 0)
		return -e->code;
	memcpy(digest, head.digest, HEX + 1);
	return 0;
}

static int make(int cache, int host, const struct skeleton_spec *spec, const char *key,
		char digest[HEX + 1], struct err *e)
{
	autobuf struct buf stamps = { 0 };
	struct skeleton k = { .spec = spec, .host = host, .index = &stamps };
	autoclose int root = -1;
	mode_t old;
	int result;

	if (fs_remove_tree(cache, "root.new", e) < 0)
		return -e->code;
	old = umask(0); /* every mode is meant as it stands */
	root = fs_mkdir_open(cache, "root.new", 0755, e);
	k.root = root;
	result = root < 0 ? root : skeleton_make(&k, e);
	(void)umask(old); /* cannot fail */
	if (result < 0 || (result = buf_check(&stamps, e)) < 0)
		return result;
	return publish(cache, key, &stamps, digest, e);
}

static int make_locked(int state, int cache, int host, const struct skeleton_spec *spec,
		       const char *key, char digest[HEX + 1], struct err *e)
{
	autoclose int lock =
		openat(cache, "root.lock", O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct err cleanup = { 0 };
	int result;

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_errno(e, "lock the cache of root file systems");
	if (find(cache, host, key, digest)) /* another start was faster */
		return 0;
	result = make(cache, host, spec, key, digest, e);
	if (result < 0) {
		if (fs_remove_tree(cache, "root.new", &cleanup) < 0)
			log_debug("%s", cleanup.text);
		return result;
	}
	/* The start has what it needs; what could not be evicted is tried again at the next making. */
	if (evict(state, cache, &cleanup) < 0)
		log_debug("evict unused root file systems: %s", cleanup.text);
	return 0;
}

/* What the skeleton is over. The tree was looked at: no link may be on its way now. */
static int open_below(const struct plan *p, struct err *e)
{
	const char *tree = p->request->rootfs;
	int fd;

	if (tree)
		return fs_open_absolute(tree, O_PATH | O_DIRECTORY, e);
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_errno(e, "open '/'") : fd;
}

int rootfs_up(const struct plan *p, int state, int sudo, char **skeleton, struct err *e)
{
	struct policy_user user = p->policy->user;
	struct skeleton_spec spec = {
		.user = &user,
		.hostname = p->hostname,
		.certificates = p->policy->certificates,
		.inside_owners = p->ids == IDS_ROOT,
		.tree = p->request->rootfs,
	};
	char key[HEX + 1], digest[HEX + 1];
	autofree char *sudo_path = fs_path_of(sudo, e);
	autoclose int cache = sudo_path ? fs_mkdir_open(state, "cache", 0700, e) : -1;
	autoclose int host = cache < 0 ? -1 : open_below(p, e);

	if (host < 0)
		return -e->code;
	user.shell = p->user.shell;
	if (resolvers_find(p->policy->resolvers, &spec.resolvers, e) < 0)
		return -e->code;
	spec.sudo = sudo;
	spec.sudo_path = sudo_path;
	spec_key(&spec, host, key);
	if (!find(cache, host, key, digest) &&
	    make_locked(state, cache, host, &spec, key, digest, e) < 0)
		return -e->code;
	*skeleton = str_fmt(e, "cache/root-%s", digest);
	return *skeleton ? 0 : -e->code;
}
