/* SPDX-License-Identifier: MIT */
/* toolchain.c - compilers and interpreters that live in somebody's home. */
#include "plan/toolchain.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "plan/request.h"
#include "plan/strv.h"

#define PATH_ENTRIES_MAX 200

/* What is mounted for a PATH entry: the entry itself or the directory above, and what else the
 * programs in it need. */
static const struct toolchain {
	const char *pattern;
	bool above;
	const char *mark;     /* file that must be in the directory above */
	const char *variable; /* names the directory above, or `sibling` */
	const char *sibling;  /* directory beside the one above; mounted too */
} toolchains[] = {
	{ "*/.cargo/bin", false, NULL, "RUSTUP_HOME", ".rustup" },
	{ "*/.pyenv/shims", true, NULL, "PYENV_ROOT", NULL },
	{ "*/.pyenv/bin", true, NULL, "PYENV_ROOT", NULL },
	{ "*/.nvm/versions/node/*/bin", true, NULL, NULL, NULL },
	{ "*/go*/bin", true, "VERSION", NULL,
	  NULL },				 /* a Go distribution, wherever it was unpacked */
	{ "*/go/bin", false, NULL, NULL, NULL }, /* what `go install` built */
};

static bool is_visible_already(const struct request *r, const char *dir, const struct host *h)
{
	bool mapped = h->ids == IDS_ROOT && h->idmapped_mounts;

	if (r->rootfs)
		return false; /* nothing of the host's is */

	for (unsigned i = 0; host_dir(i); i++)
		if ((h->dirs & 1u << i) && fs_is_beneath(host_dir(i)->path, dir))
			return mapped ||
			       (!fs_is_beneath("/usr/local", dir) && !fs_is_beneath("/opt", dir));
	return false;
}

static int add_dir(struct request *r, const char *dir, const struct host *h, struct err *e)
{
	struct policy_mount mount = { .mode = MOUNT_MODE_RO, .plain_ids = true };

	if (is_visible_already(r, dir, h))
		return 0;
	for (unsigned i = 0; i < r->n_mounts; i++)
		if (fs_is_beneath(r->mounts[i].inside, dir))
			return 0;
	mount.host = str_dup(dir, e);
	mount.inside = str_dup(dir, e);
	return request_take_mount(r, &mount, e);
}

static bool matches(const struct toolchain *t, const char *entry, const char *above)
{
	autofree char *mark = NULL;

	if (fnmatch(t->pattern, entry, 0) != 0)
		return false;
	return !t->mark ||
	       (asprintf(&mark, "%s/%s", above, t->mark) > 0 && access(mark, R_OK) == 0);
}

static int add_sibling(struct request *r, const struct toolchain *t, const char *above,
		       const struct host *h, struct err *e)
{
	autofree char *beside =
		str_fmt(e, "%.*s/%s", (int)(strrchr(above, '/') - above), above, t->sibling);
	autofree char *variable = NULL;

	if (!beside)
		return -e->code;
	if (access(beside, X_OK) < 0)
		return 0; /* cargo without rustup */
	variable = str_fmt(e, "%s=%s", t->variable, beside);
	if (!variable || strv_env_put(&r->host_env, variable, e) < 0)
		return -e->code;
	return add_dir(r, beside, h, e);
}

static int add_toolchain(struct request *r, const struct toolchain *t, const char *entry,
			 const char *above, const struct host *h, struct err *e)
{
	autofree char *variable = NULL;

	if (add_dir(r, t->above ? above : entry, h, e) < 0)
		return -e->code;
	if (t->sibling && add_sibling(r, t, above, h, e) < 0)
		return -e->code;
	if (t->variable && !t->sibling) {
		variable = str_fmt(e, "%s=%s", t->variable, above);
		if (!variable || strv_env_put(&r->host_env, variable, e) < 0)
			return -e->code;
	}
	return strv_has(r->toolchain_path, entry) ? 0 : strv_add(&r->toolchain_path, entry, e);
}

static int try_entry(struct request *r, const char *entry, const struct host *h, struct err *e)
{
	autofree char *canonical = entry[0] == '/' ? realpath(entry, NULL) : NULL;
	autofree char *above = NULL;

	/* A PATH may name what is not there, and a colon cannot be said in one. */
	if (!canonical || strchr(canonical, ':') || strrchr(canonical, '/') == canonical)
		return 0;
	above = str_fmt(e, "%.*s", (int)(strrchr(canonical, '/') - canonical), canonical);
	if (!above)
		return -e->code;
	for (size_t i = 0; i < ARRAY_LEN(toolchains); i++)
		if (matches(&toolchains[i], canonical, above))
			return add_toolchain(r, &toolchains[i], canonical, above, h, e);
	return 0;
}

int toolchain_find(struct request *r, const char *path, const struct host *h, struct err *e)
{
	autofree char *copy = str_dup(path ? path : "", e);
	char *rest = copy;
	char *entry;

	if (!copy)
		return -e->code;
	for (unsigned n = 0; n < PATH_ENTRIES_MAX && (entry = strsep(&rest, ":")) != NULL; n++)
		if (try_entry(r, entry, h, e) < 0)
			return -e->code;
	return 0;
}
