/* SPDX-License-Identifier: MIT */
/* rootfs_text.c - the files of the skeleton's /etc that are generated, not copied.
 *
 * passwd and group name root, the policy's user, nobody, and the host's system users: package
 * scripts give files to them. Their shells and real names stay out, and no password is any. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "session/rootfs_parts.h"

#define NAME_BYTES 64
#define SYSTEM_ID_MAX 999
#define HOST_FILE_BYTES_MAX ((size_t)4 << 20)
#define NOLOGIN "/usr/sbin/nologin"

/* Fields of one line, split at colons in place. */
struct entry {
	char *field[7];
	unsigned n;
	uint64_t id; /* the third field */
};

static bool entry_parse(char *line, struct entry *out)
{
	struct err ignored;

	*out = (struct entry) { 0 };
	for (char *rest = line; rest && out->n < ARRAY_LEN(out->field);)
		out->field[out->n++] = strsep(&rest, ":");
	return out->n >= 3 && str_is_name(out->field[0], NAME_BYTES) &&
	       str_u64(out->field[2], 0, UINT32_MAX, &out->id, &ignored) == 0;
}

/* Call `each` for every well-formed line; others (NIS markers, comments) are left out. */
static void each_entry(const char *text, void (*each)(const struct entry *x, void *arg), void *arg)
{
	for (const char *next; *text; text = next) {
		const char *end = strchrnul(text, '\n');
		autofree char *line = strndup(text, (size_t)(end - text));
		struct entry x;

		next = *end ? end + 1 : end;
		if (line && entry_parse(line, &x))
			each(&x, arg);
	}
}

struct listing {
	const struct policy_user *user;
	struct buf *lines, *locked;
	bool seen_user_gid;
};

static void add_user(const struct listing *l, const char *name, uid_t uid, gid_t gid,
		     const char *home, const char *shell)
{
	buf_printf(l->lines, "%s:x:%u:%u::%s:%s\n", name, uid, gid, home, shell);
	buf_printf(l->locked, "%s:*:1:0:99999:7:::\n", name);
}

static bool is_ours(const struct listing *l, const struct entry *x, uint32_t our_id)
{
	return x->id == 0 || x->id > SYSTEM_ID_MAX || x->id == our_id ||
	       str_eq(x->field[0], "root") || str_eq(x->field[0], "nobody") ||
	       str_eq(x->field[0], l->user->name);
}

static void system_user(const struct entry *x, void *arg)
{
	const struct listing *l = arg;
	uint64_t gid;
	struct err ignored;

	if (is_ours(l, x, l->user->uid) || x->n < 6 || x->field[5][0] != '/' ||
	    str_u64(x->field[3], 0, UINT32_MAX, &gid, &ignored) < 0)
		return;
	add_user(l, x->field[0], (uid_t)x->id, gid > SYSTEM_ID_MAX ? 65534 : (gid_t)gid,
		 x->field[5], NOLOGIN);
}

void rootfs_passwd(const char *host_text, const struct policy_user *user, struct buf *passwd,
		   struct buf *shadow)
{
	struct listing l = { .user = user, .lines = passwd, .locked = shadow };

	add_user(&l, "root", 0, 0, "/root", user->shell);
	if (user->uid != 0)
		add_user(&l, user->name, user->uid, user->gid, user->home, user->shell);
	each_entry(host_text, system_user, &l);
	add_user(&l, "nobody", 65534, 65534, "/nonexistent", NOLOGIN);
}

static void add_group(const struct listing *l, const char *name, gid_t gid)
{
	buf_printf(l->lines, "%s:x:%u:\n", name, gid);
	buf_printf(l->locked, "%s:*::\n", name);
}

static void system_group(const struct entry *x, void *arg)
{
	struct listing *l = arg;

	if (str_eq(x->field[0], "nogroup"))
		return;
	if (x->id == l->user->gid && x->id <= SYSTEM_ID_MAX && x->id != 0)
		l->seen_user_gid = true;
	else if (is_ours(l, x, UINT32_MAX))
		return;
	add_group(l, x->field[0], (gid_t)x->id);
}

void rootfs_group(const char *host_text, const struct policy_user *user, struct buf *group,
		  struct buf *gshadow)
{
	struct listing l = { .user = user, .lines = group, .locked = gshadow };

	add_group(&l, "root", 0);
	each_entry(host_text, system_group, &l);
	if (user->gid != 0 && user->gid != 65534 && !l.seen_user_gid)
		add_group(&l, user->name, user->gid);
	add_group(&l, "nogroup", 65534);
}

static int host_file(struct skeleton *k, const char *path, struct buf *out, struct err *e)
{
	index_add(k->index, k->host, path);
	if (faccessat(k->host, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* a host without one has no system users */
	return io_read_file(k->host, path, HOST_FILE_BYTES_MAX, out, e);
}

static int write_buf(struct skeleton *k, const char *path, const struct buf *b, mode_t mode,
		     struct err *e)
{
	if (buf_check(b, e) < 0)
		return err_wrap(e, "'%s'", path);
	return skeleton_write(k, path, buf_str(b), b->len, mode, e);
}

static int write_users(struct skeleton *k, struct err *e)
{
	autobuf struct buf users = { 0 }, passwd = { 0 }, shadow = { 0 };

	if (host_file(k, "etc/passwd", &users, e) < 0)
		return -e->code;
	rootfs_passwd(buf_str(&users), k->spec->user, &passwd, &shadow);
	if (write_buf(k, "etc/passwd", &passwd, 0644, e) < 0)
		return -e->code;
	return write_buf(k, "etc/shadow", &shadow, 0600, e);
}

static int write_groups(struct skeleton *k, struct err *e)
{
	autobuf struct buf groups = { 0 }, group = { 0 }, gshadow = { 0 };

	if (host_file(k, "etc/group", &groups, e) < 0)
		return -e->code;
	rootfs_group(buf_str(&groups), k->spec->user, &group, &gshadow);
	if (write_buf(k, "etc/group", &group, 0644, e) < 0)
		return -e->code;
	return write_buf(k, "etc/gshadow", &gshadow, 0600, e);
}

static int write_in(struct skeleton *k, const char *dir, const char *name, const struct buf *b,
		    struct err *e)
{
	autofree char *path = str_fmt(e, "%s/%s", dir, name);

	return path ? write_buf(k, path, b, 0644, e) : -e->code;
}

int skeleton_names(struct skeleton *k, const char *etc, struct err *e)
{
	autobuf struct buf hosts = { 0 }, name = { 0 }, resolv = { 0 };

	/* There is no IPv6 inside: a ::1 would be tried first, and in vain. */
	buf_printf(&hosts, "127.0.0.1\tlocalhost %s\n", k->spec->hostname);
	buf_printf(&name, "%s\n", k->spec->hostname);
	resolvers_text(&k->spec->resolvers, &resolv);
	if (write_in(k, etc, "hosts", &hosts, e) < 0 || write_in(k, etc, "hostname", &name, e) < 0)
		return -e->code;
	return write_in(k, etc, "resolv.conf", &resolv, e);
}

/* What else a host asks (sssd, systemd) is not inside. */
const char rootfs_nsswitch[] =
	"passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\n"
	"networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n";

static const struct {
	const char *path, *text;
} fixed[] = {
	{ "etc/nsswitch.conf", rootfs_nsswitch },
	/* The same in every session: it tells of no host. */
	{ "etc/machine-id", "6f68736e64626f786f68736e64626f78\n" },
	{ "etc/environment", "" },
	{ "etc/fstab", "" },
	{ "etc/motd", "" },
};

int skeleton_texts(struct skeleton *k, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (skeleton_write(k, fixed[i].path, fixed[i].text, strlen(fixed[i].text), 0644,
				   e) < 0)
			return -e->code;
	if (write_users(k, e) < 0 || write_groups(k, e) < 0)
		return -e->code;
	return skeleton_names(k, "etc", e);
}
