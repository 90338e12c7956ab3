/* SPDX-License-Identifier: MIT */
/* plan.c - request, policy and host become one decision, frozen before anything is touched.
 *
 * A limit or a wall that the caller named and that cannot be kept is refused by name; one of the
 * policy's is given up only where its allow_degraded says so. */
#include "plan/plan.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/plan_parts.h"
#include "plan/strv.h"
#include "sandbox/ctl.h"

/* The mount API's mount_setattr(), which makes trees read-only and idmapped, came with 5.12. */
#define KERNEL_MAJOR_MIN 5
#define KERNEL_MINOR_MIN 12

static int check_host(const struct policy *p, const struct host *h, struct plan *plan,
		      struct err *e)
{
	if (h->kernel_major < KERNEL_MAJOR_MIN ||
	    (h->kernel_major == KERNEL_MAJOR_MIN && h->kernel_minor < KERNEL_MINOR_MIN))
		return err_code(
			e, ENOSYS, "kernel %u.%u is too old: sessions need Linux %d.%d or later",
			h->kernel_major, h->kernel_minor, KERNEL_MAJOR_MIN, KERNEL_MINOR_MIN);
	if (!h->user_namespaces)
		return err_code(e, EPERM,
				"user namespaces are switched off on this host: "
				"'ohsandbox doctor' names the setting and the cure");
	if (h->without_pidfds)
		return err_code(
			e, ENOSYS,
			"pidfd_open and pidfd_send_signal, by which a session is ended, are refused here: "
			"run ohsandbox outside of the container or filter that does it");
	if (!str_eq(p->root_base, "host"))
		return err_code(e, ENOENT,
				"policy '%s': root base '%s' is unknown; there is 'host'", p->name,
				p->root_base);
	plan->ids = h->ids;
	if (h->ids != IDS_SINGLE)
		return 0;
	if (!(p->allow_degraded & DEGRADED_IDS))
		return err_code(
			e, EPERM,
			"user %s has no range in /etc/subuid and /etc/subgid that newuidmap would map, and policy "
			"'%s' does not allow degraded 'ids': run 'usermod --add-subuids 100000-165535 "
			"--add-subgids 100000-165535 %s' as root",
			h->user_name, p->name, h->user_name);
	plan->degraded |= DEGRADED_IDS;
	return 0;
}

static int copy_user(const struct policy_user *from, struct policy_user *to, struct err *e)
{
	*to = (struct policy_user) { .uid = from->uid, .gid = from->gid };
	to->name = str_dup(from->name, e);
	to->home = str_dup(from->home, e);
	to->shell = str_dup(from->shell, e);
	return to->name && to->home && to->shell ? 0 : -ENOMEM;
}

static int choose_user(const struct request *r, const struct policy *p, struct plan *plan,
		       struct err *e)
{
	struct policy_user root = { .name = (char[]) { "root" },
				    .home = (char[]) { "/root" },
				    .shell = p->user.shell };
	struct policy_user user = p->user;
	const char *asked = r->user ? r->user : p->user.name;

	if (r->rootfs_shell)
		root.shell = user.shell = r->rootfs_shell;
	if (str_eq(asked, p->user.name) || str_eq(asked, "agent"))
		return copy_user(&user, &plan->user, e);
	if (!str_eq(asked, "root"))
		return err_code(
			e, EINVAL,
			"--user %s: a session has the users '%s' (also called 'agent') and 'root'",
			asked, p->user.name);
	if (!p->root_allowed)
		return err_code(e, EPERM, "--user root: policy '%s' does not allow root", p->name);
	plan->as_root = true;
	return copy_user(&root, &plan->user, e);
}

/* One way out at most. An address of the session's own needs CAP_NET_ADMIN over the host's
 * network; without it the executor is reached by the host's loopback listener alone. */
static int choose_net(const struct request *r, const struct policy *p, const struct host *h,
		      struct plan *plan, struct err *e)
{
	plan->net = r->net >= 0 ? (enum net_mode)r->net : p->net;
	plan->veth = h->ids == IDS_ROOT && h->privileged && h->net_admin;
	if (plan->veth || plan->net == NET_NONE)
		return 0;
	if (r->net >= 0)
		return err_code(
			e, EPERM,
			"--net nat: a way out needs CAP_NET_ADMIN on the host, which user %s lacks",
			h->user_name);
	if (!(p->allow_degraded & DEGRADED_NETWORK))
		return err_code(
			e, EPERM,
			"policy '%s' asks for network 'nat', which needs CAP_NET_ADMIN on the host, and does not "
			"allow degraded 'network'",
			p->name);
	plan->net = NET_NONE;
	plan->degraded |= DEGRADED_NETWORK;
	return 0;
}

static int choose_hostname(const struct request *r, const struct policy *p, struct plan *plan,
			   struct err *e)
{
	const char *name = r->hostname ? r->hostname : p->hostname;

	if (!plan_hostname_ok(name))
		return err_code(e, EINVAL,
				"hostname '%s': letters, digits and inner hyphens, 1 to 63 of them",
				name);
	plan->hostname = str_dup(name, e);
	return plan->hostname ? 0 : -e->code;
}

bool plan_hostname_ok(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	size_t len = strlen(name);

	return len >= 1 && len <= 63 && strspn(name, allowed) == len && name[0] != '-' &&
	       name[len - 1] != '-';
}

static bool has_dotdot(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len;
		path += strspn(path, "/");
	}
	return false;
}

static int choose_cwd(const struct request *r, struct plan *plan, struct err *e)
{
	const char *dir = r->workdir ? r->workdir : r->subdir;

	if (dir && has_dotdot(dir))
		return err_code(e, EINVAL,
				"--workdir %s: '..' is not taken, name the directory inside", dir);
	if (!dir || !*dir)
		plan->cwd = str_dup("/workspace", e);
	else if (dir[0] == '/')
		plan->cwd = str_dup(dir, e);
	else
		plan->cwd = str_fmt(e, "/workspace/%s", dir);
	return plan->cwd ? 0 : -e->code;
}

/* Alternates show every object of the repository, other branches and stashes included: where
 * there is a way out, the session gets its revision's history alone. */
static bool want_reachable(const struct policy *p, const struct plan *plan)
{
	if (p->git_objects == GIT_OBJECTS_AUTO)
		return plan->net != NET_NONE;
	return p->git_objects == GIT_OBJECTS_REACHABLE;
}

/* A session that stays does many commands, each to be counted and bounded by itself; there is nothing
 * to tell apart in one that does a single command. */
static unsigned plan_leaves(const struct request *r, const struct host *h)
{
	return !r->argv && (h->controller[CONTROLLER_MEMORY].usable ||
			    h->controller[CONTROLLER_PIDS].usable)
		       ? CTL_LEAVES
		       : 0;
}

static int fill_plan(struct plan *plan, struct err *e)
{
	const struct request *r = plan->request;
	const struct policy *p = plan->policy;
	const struct host *h = plan->host;

	if (check_host(p, h, plan, e) < 0 || choose_user(r, p, plan, e) < 0 ||
	    plan_limits(plan, e) < 0 || choose_net(r, p, h, plan, e) < 0 ||
	    choose_hostname(r, p, plan, e) < 0 || choose_cwd(r, plan, e) < 0 ||
	    plan_env(plan, e) < 0)
		return -e->code;
	plan->reachable_objects = want_reachable(p, plan);
	plan->keep = r->keep;
	plan->leaves = plan_leaves(r, h);
	return plan_mounts(plan, e);
}

int plan_make(const struct request *r, const struct policy *p, const struct host *h,
	      struct plan **out, struct err *e)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return err_code(e, ENOMEM, "plan: no memory");
	plan->request = r;
	plan->policy = p;
	plan->host = h;
	if (fill_plan(plan, e) < 0) {
		plan_free(plan);
		return -e->code;
	}
	*out = plan;
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	free(p->user.name);
	free(p->user.home);
	free(p->user.shell);
	free(p->cwd);
	free(p->hostname);
	strv_free(p->env);
	free(p->mounts);
	for (unsigned i = 0; i < p->n_texts; i++)
		free(p->texts[i]);
	free(p->texts);
	free(p);
}
