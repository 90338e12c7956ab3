/* SPDX-License-Identifier: MIT */
/* policy.c - find a policy by its name or path, read it, forget it. */
#include "plan/policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "plan/filter.h"
#include "plan/policy_parts.h"
#include "plan/strv.h"

#ifndef OHS_SYSCONFDIR
#define OHS_SYSCONFDIR "/etc/ohsandbox"
#endif
#ifndef OHS_POLICY_DATADIR
#define OHS_POLICY_DATADIR "/usr/share/ohsandbox/policy"
#endif

/* Out of a build tree the policies lie beside the program. */
static int add_beside_program(char ***list, struct err *e)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n <= 0)
		return 0; /* no /proc: the other places remain */
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	return strv_take(list, str_fmt(e, "%s/policy", path), e);
}

int policy_dirs(char ***dirs, struct err *e)
{
	const char *own = getenv("OHS_POLICY_DIR");
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	autostrv char **list = NULL;

	if (own && *own && strv_add(&list, own, e) < 0)
		return -e->code;
	if (config && config[0] == '/' &&
	    strv_take(&list, str_fmt(e, "%s/ohsandbox/policy", config), e) < 0)
		return -e->code;
	if ((!config || config[0] != '/') && home && home[0] == '/' &&
	    strv_take(&list, str_fmt(e, "%s/.config/ohsandbox/policy", home), e) < 0)
		return -e->code;
	if (strv_add(&list, OHS_SYSCONFDIR "/policy", e) < 0 ||
	    strv_add(&list, OHS_POLICY_DATADIR, e) < 0 || add_beside_program(&list, e) < 0)
		return -e->code;
	*dirs = take_ptr(&list);
	return 0;
}

static int read_file(int fd, const char *path, struct buf *text, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, "policy %s", path);
	if (!S_ISREG(st.st_mode))
		return err_code(e, EINVAL, "policy %s: no regular file", path);
	if (io_read_all(fd, POLICY_BYTES_MAX, text, e) < 0)
		return err_wrap(e, "policy %s", path);
	return 0;
}

static int no_such_policy(const char *name, char *const *dirs, struct err *e)
{
	autobuf struct buf places = { 0 };

	for (; dirs && *dirs; dirs++)
		buf_printf(&places, " %s", *dirs);
	return err_code(e, ENOENT,
			"no policy '%s' in%s; 'ohsandbox policy list' shows what there is", name,
			buf_str(&places));
}

/* The first that is there wins. */
static int find_file(const char *name, struct buf *text, char **path, struct err *e)
{
	autostrv char **dirs = NULL;

	if (!str_is_name(name, 200) || strchr(name, '/') || name[0] == '.')
		return err_code(e, EINVAL, "'%s' is no name of a policy; a path has a '/' in it",
				name);
	if (policy_dirs(&dirs, e) < 0)
		return -e->code;
	for (char **dir = dirs; dir && *dir; dir++) {
		autofree char *file = str_fmt(e, "%s/%s.json", *dir, name);
		autoclose int fd = file ? open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

		if (!file)
			return -e->code;
		if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			continue;
		if (fd < 0)
			return err_errno(e, "policy %s", file);
		if (read_file(fd, file, text, e) < 0)
			return -e->code;
		*path = take_ptr(&file);
		return 0;
	}
	return no_such_policy(name, dirs, e);
}

static int find_extended(const char *name, struct buf *text, struct err *e)
{
	autofree char *path = NULL;

	return find_file(name, text, &path, e);
}

static int open_path(const char *path, struct buf *text, char **out, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_errno(e, "policy %s", path);
	if (read_file(fd, path, text, e) < 0)
		return -e->code;
	*out = str_dup(path, e);
	return *out ? 0 : -e->code;
}

/* "dir/strict.json" is "strict". */
static char *name_of(const char *path, struct err *e)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = strlen(base);

	return str_fmt(e, "%.*s", (int)(str_ends(base, ".json") ? len - 5 : len), base);
}

/* A profile named without a leading '/' stands beside the policy. */
static int read_oci(struct policy *p, struct err *e)
{
	autofree char *path = NULL;
	autobuf struct buf text = { 0 };
	autofree char *opened = NULL;

	if (p->seccomp_oci[0] == '/' || !strrchr(p->path, '/'))
		path = str_dup(p->seccomp_oci, e);
	else
		path = str_fmt(e, "%.*s/%s", (int)(strrchr(p->path, '/') - p->path), p->path,
			       p->seccomp_oci);
	if (!path || open_path(path, &text, &opened, e) < 0)
		return -e->code;
	if (strlen(buf_str(&text)) != text.len)
		return err_code(e, EINVAL, "%s: a byte of zero", path);
	p->texts.oci = buf_take(&text);
	return 0;
}

static int load_oci(struct policy *p, struct err *e)
{
	if (!p->seccomp_oci)
		return 0;
	if (!p->texts.oci && read_oci(p, e) < 0)
		return -e->code;
	if (!p->texts.oci ||
	    policy_parse_oci(p->texts.oci, strlen(p->texts.oci), p->seccomp_oci, p, e) < 0)
		return -e->code;
	return policy_digest(p, e);
}

/* Such a session could not even start its command, and the reason would be hard to see. */
static int check_rules(const struct policy *p, struct err *e)
{
	for (unsigned i = 0; i < p->n_rules; i++)
		if (p->rules[i].action == SECCOMP_ALLOW && strv_has(p->rules[i].calls, "execve"))
			return 0;
	return err_code(
		e, EINVAL,
		"%s: 'seccomp' allows no execve: extend a policy such as 'default', or name an OCI profile",
		p->path);
}

/* What a parsed one lacks. Frees it on failure. */
static int complete(struct policy *p, const char *path, struct policy **out, struct err *e)
{
	free(p->name);
	free(p->path);
	p->name = name_of(path, e);
	p->path = str_dup(path, e);
	if (!p->name || !p->path || load_oci(p, e) < 0 || check_rules(p, e) < 0) {
		policy_free(p);
		return -e->code;
	}
	*out = p;
	return 0;
}

int policy_load(const char *name_or_path, struct policy **out, struct err *e)
{
	bool is_path = strchr(name_or_path, '/') != NULL;
	autobuf struct buf text = { 0 };
	autofree char *path = NULL;
	struct policy *p = NULL;
	int ret = is_path ? open_path(name_or_path, &text, &path, e)
			  : find_file(name_or_path, &text, &path, e);

	if (ret < 0 || !path)
		return ret;
	if (policy_parse(buf_str(&text), text.len, path, find_extended, &p, e) < 0)
		return -e->code;
	return complete(p, path, out, e);
}

int policy_reload(const char *path, const struct policy_texts *texts, struct policy **out,
		  struct err *e)
{
	struct policy *p = NULL;

	if (policy_parse_texts(texts, path, &p, e) < 0)
		return -e->code;
	if (texts->oci) {
		p->texts.oci = str_dup(texts->oci, e);
		if (!p->texts.oci) {
			policy_free(p);
			return -e->code;
		}
	}
	return complete(p, path, out, e);
}

int policy_init(struct policy *p, struct err *e)
{
	p->limits = (struct limits) { LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE,
				      LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE };
	p->memory_percent = 75;
	p->default_error = EPERM;
	p->user.uid = 1000;
	p->user.name = str_dup("openhands", e);
	p->user.home = str_dup("/home/openhands", e);
	p->user.shell = str_dup("/bin/bash", e);
	p->hostname = str_dup("ohsandbox", e);
	p->root_base = str_dup("host", e);
	p->name = str_dup("", e);
	p->path = str_dup("", e);
	p->description = str_dup("", e);
	return p->user.name && p->user.home && p->user.shell && p->hostname && p->root_base &&
			       p->name && p->path && p->description
		       ? 0
		       : -ENOMEM;
}

void policy_texts_clear(struct policy_texts *t)
{
	free(t->own);
	free(t->extended);
	free(t->oci);
	*t = (struct policy_texts) { 0 };
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	free(p->name);
	free(p->path);
	free(p->description);
	free(p->user.name);
	free(p->user.home);
	free(p->user.shell);
	strv_free(p->resolvers);
	strv_free(p->env);
	strv_free(p->pass_env);
	strv_free(p->certificates);
	strv_free(p->certificate_env);
	for (unsigned i = 0; i < p->n_mounts; i++) {
		free(p->mounts[i].host);
		free(p->mounts[i].inside);
	}
	free(p->mounts);
	free(p->hostname);
	free(p->root_base);
	free(p->git_name);
	free(p->git_email);
	free(p->seccomp_oci);
	policy_texts_clear(&p->texts);
	policy_clear_rules(p);
	free(p);
}
