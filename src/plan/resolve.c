/* SPDX-License-Identifier: MIT */
/* resolve.c - what a decision needs of the file system and of the caller's environment is found
 * out once, and put into the request. Nothing is made or changed. */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/str.h"
#include "plan/plan.h"
#include "plan/refuse.h"
#include "plan/request.h"
#include "plan/root_dir.h"
#include "plan/strv.h"
#include "plan/toolchain.h"

#define BUNDLE_BYTES_MAX (8 << 20)
#define ID_DIGITS 12

static void mount_clear(struct policy_mount *mount)
{
	free(mount->host);
	free(mount->inside);
}

int request_take_mount(struct request *r, struct policy_mount *mount, struct err *e)
{
	struct policy_mount *grown = NULL;

	if (mount->host && mount->inside && r->n_mounts < REQUEST_MOUNTS_MAX)
		grown = reallocarray(r->mounts, r->n_mounts + 1, sizeof(*grown));
	if (!grown) {
		int code = r->n_mounts < REQUEST_MOUNTS_MAX ? ENOMEM : E2BIG;

		mount_clear(mount);
		return err_code(e, code, "request: no room for more than %u mounts", r->n_mounts);
	}
	grown[r->n_mounts++] = *mount;
	r->mounts = grown;
	return 0;
}

/* "~/x" of a policy is the caller's. */
static char *expand_home(const char *path, const struct host *h, struct err *e)
{
	if (path[0] != '~')
		return str_dup(path, e);
	if (path[1] == '/' && h->home)
		return str_fmt(e, "%s%s", h->home, path + 1);
	err_code(e, EINVAL, "mount %s: only '~/...' is taken, and only for a user with a home",
		 path);
	return NULL;
}

static int take_policy_mounts(struct request *r, const struct policy *p, const struct host *h,
			      struct err *e)
{
	for (unsigned i = 0; i < p->n_mounts; i++) {
		struct policy_mount mount = { .mode = p->mounts[i].mode };

		mount.host = expand_home(p->mounts[i].host, h, e);
		mount.inside = str_dup(p->mounts[i].inside, e);
		if (request_take_mount(r, &mount, e) < 0)
			return err_wrap(e, "policy '%s'", p->name);
	}
	return 0;
}

static int refuse_twice(const struct request *r, unsigned upto, struct err *e)
{
	for (unsigned i = 0; i < upto; i++)
		if (str_eq(r->mounts[i].inside, r->mounts[upto].inside))
			return err_code(e, EEXIST, "--mount: %s inside is given twice",
					r->mounts[upto].inside);
	return 0;
}

static int resolve_mount(struct policy_mount *mount, uid_t workspace_owner, const struct host *h,
			 const struct homes *homes, struct err *e)
{
	autofree char *canonical = realpath(mount->host, NULL);
	struct stat st;
	int is_file;

	if (!canonical)
		return err_errno(e, "--mount %s", mount->host);
	is_file = refuse_mount(canonical, h->state_dir, homes, e);
	if (is_file < 0 || refuse_target(mount->inside, e) < 0)
		return -e->code;
	if (stat(canonical, &st) < 0)
		return err_errno(e, "--mount %s", canonical);
	mount->is_file = is_file;
	mount->owner_ids = st.st_uid == workspace_owner;
	free(mount->host);
	mount->host = take_ptr(&canonical);
	return 0;
}

/* Who owns what the session works on; a mount of the same owner is read as the session's user. */
static uid_t workspace_owner(const struct request *r, const struct host *h)
{
	struct stat st;

	return r->path && stat(r->path, &st) == 0 ? st.st_uid : h->uid;
}

static int resolve_paths(struct request *r, const struct host *h, struct err *e)
{
	autohomes struct homes *homes = NULL;
	uid_t owner;

	if (r->kind != WORKSPACE_DIR && r->n_mounts == 0 && !r->rootfs)
		return 0;
	if (homes_read("/etc/passwd", h->home, &homes, e) < 0)
		return -e->code;
	if (r->kind == WORKSPACE_DIR && refuse_dir(r->path, h->state_dir, homes, e) < 0)
		return -e->code;
	if (r->rootfs && root_dir_resolve(r, h, homes, e) < 0)
		return -e->code;
	owner = workspace_owner(r, h);
	for (unsigned i = 0; i < r->n_mounts; i++)
		if (resolve_mount(&r->mounts[i], owner, h, homes, e) < 0 ||
		    refuse_twice(r, i, e) < 0)
			return -e->code;
	return 0;
}

static int put(struct request *r, const char *name, const char *value, struct err *e)
{
	autofree char *text = str_fmt(e, "%s=%s", name, value);

	return text ? strv_env_put(&r->host_env, text, e) : -e->code;
}

/* A time zone's name, not a path: "Europe/Berlin", "UTC", "CET-1CEST". */
static bool is_zone(const char *zone)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_+-,.:<>";

	return zone && *zone && *zone != '/' && *zone != ':' && strlen(zone) < 64 &&
	       !strstr(zone, "..") && zone[strspn(zone, allowed)] == '\0';
}

static int resolve_zone(struct request *r, struct err *e)
{
	static const char mark[] = "/zoneinfo/";
	const char *zone = getenv("TZ");
	char link[PATH_MAX] = "";
	char *name;

	if (is_zone(zone))
		return put(r, "TZ", zone, e);
	/* A plain file says no name, and a host without one is on UTC: the plan's default. */
	if (readlink("/etc/localtime", link, sizeof(link) - 1) < 0)
		return 0;
	name = strstr(link, mark);
	if (!name || !is_zone(name + strlen(mark)))
		return 0;
	return put(r, "TZ", name + strlen(mark), e);
}

static int pass_variables(struct request *r, const struct policy *p, struct err *e)
{
	for (char **name = p->pass_env; name && *name; name++) {
		const char *value = getenv(*name);

		if (value && put(r, *name, value, e) < 0)
			return -e->code;
	}
	return 0;
}

/* Where a bundle is inside; the mounts before it may hold it already. */
static int add_bundle(struct request *r, char *canonical, const char **inside, struct err *e)
{
	autofree char *host = canonical;
	struct policy_mount mount = { .mode = MOUNT_MODE_RO, .is_file = true, .plain_ids = true };

	for (unsigned i = 0; i < r->n_mounts; i++)
		if (str_eq(r->mounts[i].host, host) &&
		    str_starts(r->mounts[i].inside, "/run/ohsandbox/")) {
			*inside = r->mounts[i].inside;
			return 0;
		}
	mount.host = take_ptr(&host);
	mount.inside = str_fmt(e, "/run/ohsandbox/certificates/%u.pem", r->n_mounts);
	if (request_take_mount(r, &mount, e) < 0)
		return -e->code;
	*inside = r->mounts[r->n_mounts - 1].inside;
	return 0;
}

static int pass_bundle(struct request *r, const char *name, const char *file, struct err *e)
{
	char *canonical = realpath(file, NULL);
	const char *inside = NULL;
	struct stat st;

	/* Certificates are public: what not everybody may read is something else. */
	if (!canonical || stat(canonical, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & S_IROTH) || st.st_size > BUNDLE_BYTES_MAX) {
		log_warn(
			"%s is not passed on: '%s' is no certificate bundle that everybody can read",
			name, file);
		free(canonical);
		return 0;
	}
	if (add_bundle(r, canonical, &inside, e) < 0)
		return -e->code;
	return put(r, name, inside, e);
}

/* Without a way out there is nobody whose certificate could be checked. */
static int pass_bundles(struct request *r, const struct policy *p, struct err *e)
{
	enum net_mode net = r->net >= 0 ? (enum net_mode)r->net : p->net;

	for (char **name = p->certificate_env; net != NET_NONE && name && *name; name++) {
		const char *file = getenv(*name);

		if (file && *file && pass_bundle(r, *name, file, e) < 0)
			return -e->code;
	}
	return 0;
}

int request_resolve(struct request *r, const struct policy *p, const struct host *h, struct err *e)
{
	if (r->resolved)
		return 0;
	if (take_policy_mounts(r, p, h, e) < 0 || resolve_paths(r, h, e) < 0 ||
	    resolve_zone(r, e) < 0 || pass_variables(r, p, e) < 0 || pass_bundles(r, p, e) < 0)
		return -e->code;
	if (r->rootfs && root_dir_shell(r, p->user.shell, e) < 0)
		return -e->code;
	if (r->toolchains && toolchain_find(r, getenv("PATH"), h, e) < 0)
		return err_wrap(e, "--toolchains");
	r->resolved = true;
	return 0;
}

bool request_name_ok(const char *name)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);

	return len >= 1 && len <= REQUEST_NAME_MAX && strspn(name, allowed) == len &&
	       !str_eq(name, ".") && !str_eq(name, "..") && name[0] != '-' &&
	       (len != ID_DIGITS || strspn(name, "0123456789abcdef") != len);
}

void request_clear(struct request *r)
{
	for (unsigned i = 0; i < r->n_mounts; i++)
		mount_clear(&r->mounts[i]);
	for (unsigned i = 0; i < r->n_publish; i++)
		free(r->publish[i].address);
	free(r->mounts);
	free(r->publish);
	free(r->path);
	free(r->subdir);
	free(r->rev);
	free(r->workdir);
	strv_free(r->argv);
	strv_free(r->env);
	free(r->user);
	free(r->hostname);
	free(r->rootfs);
	free(r->rootfs_shell);
	free(r->term);
	free(r->name);
	free(r->label);
	strv_free(r->toolchain_path);
	strv_free(r->host_env);
	request_init(r);
}

void request_init(struct request *r)
{
	*r = (struct request) { .net = -1,
				.limits = { LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE,
					    LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE } };
}
