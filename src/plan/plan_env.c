/* SPDX-License-Identifier: MIT */
/* plan_env.c - the environment of the workload. It starts empty: nothing is inherited. */
#include "plan/plan_parts.h"

#include <string.h>

#include "base/str.h"
#include "plan/strv.h"

#define ENV_COUNT_MAX 1024
#define ENV_BYTES_MAX (96u * 1024) /* together; a message to the executor holds them */

static const char path_tail[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/* A name as shells and libc can handle it; the value is free. */
static int check_assignment(const char *text, struct err *e)
{
	size_t len = strcspn(text, "=");

	if (!text[len])
		return err_code(e, EINVAL, "environment '%s': no '=' in it", text);
	if (len == 0 ||
	    strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") < len)
		return err_code(e, EINVAL, "environment: '%.*s' is not a name of a variable",
				(int)len, text);
	return 0;
}

static int put(char ***env, struct err *e, const char *name, const char *value)
{
	autofree char *text = str_fmt(e, "%s=%s", name, value);

	return text ? strv_env_put(env, text, e) : -e->code;
}

static int put_all(char ***env, char *const *more, struct err *e)
{
	for (size_t i = 0; more && more[i]; i++)
		if (check_assignment(more[i], e) < 0 || strv_env_put(env, more[i], e) < 0)
			return -e->code;
	return 0;
}

/* What the user installs comes first, then the toolchains, then the system. */
static int put_path(struct plan *plan, char ***env, struct err *e)
{
	autobuf struct buf path = { 0 };

	buf_printf(&path, "%s/.local/bin", plan->user.home);
	for (char **dir = plan->request->toolchain_path; dir && *dir; dir++)
		buf_printf(&path, ":%s", *dir);
	buf_printf(&path, ":%s", path_tail);
	if (buf_check(&path, e) < 0)
		return -e->code;
	return put(env, e, "PATH", buf_str(&path));
}

/* git takes a tree of another user's for foreign, but for root it also asks who became root. */
static int put_sudo_ids(const struct policy_user *user, char ***env, struct err *e)
{
	autofree char *uid = str_fmt(e, "SUDO_UID=%u", user->uid);
	autofree char *gid = str_fmt(e, "SUDO_GID=%u", user->gid);

	if (!uid || !gid || strv_env_put(env, uid, e) < 0)
		return -e->code;
	return strv_env_put(env, gid, e);
}

static int check_size(char *const *env, struct err *e)
{
	size_t bytes = 0;

	for (size_t i = 0; env[i]; i++)
		bytes += strlen(env[i]) + 1;
	if (strv_len(env) > ENV_COUNT_MAX || bytes > ENV_BYTES_MAX)
		return err_code(e, E2BIG,
				"environment: %zu variables of %zu bytes; at most %d of %u",
				strv_len(env), bytes, ENV_COUNT_MAX, ENV_BYTES_MAX);
	return 0;
}

int plan_env(struct plan *plan, struct err *e)
{
	const struct request *r = plan->request;
	char ***env = &plan->env;

	if (put_path(plan, env, e) < 0 || put(env, e, "HOME", plan->user.home) < 0 ||
	    put(env, e, "USER", plan->user.name) < 0 ||
	    put(env, e, "SHELL", plan->user.shell) < 0 || put(env, e, "LANG", "C.UTF-8") < 0 ||
	    put(env, e, "TERM", r->term && *r->term ? r->term : "dumb") < 0 ||
	    put(env, e, "TZ", "UTC") < 0)
		return -e->code;
	if (plan->as_root && put_sudo_ids(&plan->policy->user, env, e) < 0)
		return -e->code;
	if (put_all(env, r->host_env, e) < 0 || put_all(env, plan->policy->env, e) < 0 ||
	    put_all(env, r->env, e) < 0)
		return -e->code;
	return check_size(*env, e);
}
