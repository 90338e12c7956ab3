/* SPDX-License-Identifier: MIT */
/* fresh.c - see fresh.h. */
#include "api/fresh.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "session/head.h"

/* What is not there counts as well: it may come. */
static void add_stat(struct sha256 *s, int dir, const char *name, int flags)
{
	struct stat st = { 0 };
	int64_t words[6] = { 0 };

	if (fstatat(dir, name, &st, flags) == 0) {
		words[0] = (int64_t)st.st_dev;
		words[1] = (int64_t)st.st_ino;
		words[2] = (int64_t)st.st_size;
		words[3] = st.st_mtim.tv_sec;
		words[4] = st.st_mtim.tv_nsec;
		words[5] = st.st_mode;
	}
	sha256_add_text(s, name);
	sha256_add(s, words, sizeof(words));
}

static void add_places(struct sha256 *s, int root, const char *const *places)
{
	for (; *places; places++)
		add_stat(s, root, *places, AT_SYMLINK_NOFOLLOW);
}

/* Where installing, removing and upgrading leave their marks. Of the host a session has a copy of what it
 * needs below /etc; that somebody else there has got an account makes no session stale. */
static int add_root(struct sha256 *s, const char *rootfs, struct err *e)
{
	static const char *const software[] = {
		"bin",
		"opt",
		"usr",
		"usr/bin",
		"usr/sbin",
		"usr/lib",
		"usr/local/bin",
		"usr/local/lib",
		"etc/ld.so.cache",
		"var/lib/rpm",
		"var/lib/dpkg/status",
		"lib/apk/db/installed",
		NULL,
	};
	static const char *const own[] = { ".", "etc", "etc/passwd", "etc/group", NULL };
	autoclose int root = open(rootfs ? rootfs : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_errno(e, "'%s'", rootfs ? rootfs : "/");
	add_places(s, root, software);
	if (rootfs)
		add_places(s, root, own);
	add_stat(s, AT_FDCWD, "/etc/resolv.conf", 0);
	return 0;
}

static int add_policy(struct sha256 *s, const char *name, struct err *e)
{
	struct policy *p = NULL;
	int r = policy_load(name ? name : POLICY_DEFAULT, &p, e);

	if (r < 0)
		return r;
	sha256_add_text(s, p->digest);
	for (char *const *file = p->certificates; file && *file; file++)
		add_stat(s, AT_FDCWD, *file, 0);
	policy_free(p);
	return 0;
}

/* A revision that only git can read is told by what it would be read from. */
static int add_repository(struct sha256 *s, const struct request *q, struct err *e)
{
	autorepo struct repo r = REPO_CLOSED;
	char references[HEAD_FINGERPRINT_BYTES];
	struct head head = { 0 };

	if (q->kind != WORKSPACE_REPO)
		return 0;
	if (repo_open(q->path, q->trust_repo, &r, e) < 0 ||
	    head_fingerprint(&r, references, e) < 0 || head_read(&r, q->rev, &head, e) < 0)
		return -e->code;
	sha256_add_text(s, r.id);
	sha256_add_text(s, references);
	sha256_add_text(s, head.commit);
	sha256_add_text(s, head.ref);
	add_stat(s, r.git, "HEAD", AT_SYMLINK_NOFOLLOW);
	return 0;
}

int fresh_digest(const struct config *c, const struct request *q, const char *policy,
		 char out[SHA256_HEX_BYTES], struct err *e)
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add_text(&s, PACKAGE_VERSION);
	add_stat(&s, AT_FDCWD, "/proc/self/exe", 0); /* an upgrade */
	sha256_add_text(&s, c->digest);
	sha256_add_text(&s, q->path);
	if (add_policy(&s, policy, e) < 0 || add_repository(&s, q, e) < 0 ||
	    add_root(&s, q->rootfs, e) < 0)
		return -e->code;
	sha256_end_hex(&s, out);
	return 0;
}
