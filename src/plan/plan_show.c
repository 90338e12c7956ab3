/* SPDX-License-Identifier: MIT */
/* plan_show.c - the plan as JSON, for `run --dry-run`. */
#include <string.h>

#include "base/json_out.h"
#include "plan/plan.h"
#include "plan/show.h"

static const char *const ids_names[] = { "slice", "subordinate", "single" };
static const char *const kind_names[] = { "overlay", "bind", "tmpfs",	  "proc",    "devpts",
					  "mqueue",  "mask", "read-only", "symlink", "directory" };
static const char *const mount_ids_names[] = { "plain", "session", "owner" };
static const char *const workspace_names[] = { "repository", "directory", "empty" };

static void show_workspace(struct json_out *o, const struct request *r)
{
	jo_object(o, "workspace");
	jo_string(o, "kind", workspace_names[r->kind]);
	jo_string(o, "path", r->path);
	if (r->kind == WORKSPACE_REPO) {
		jo_string(o, "revision", r->rev ? r->rev : "HEAD");
		jo_bool(o, "dirty", r->dirty);
	}
	jo_end_object(o);
}

static void show_command(struct json_out *o, const struct plan *p)
{
	jo_array(o, "command");
	for (char **arg = p->request->argv; arg && *arg; arg++)
		jo_string(o, NULL, *arg);
	jo_end_array(o);
	jo_string(o, "directory", p->cwd);
	/* Names alone: a value may be a secret. */
	jo_array(o, "environment");
	for (char **env = p->env; env && *env; env++)
		jo_string_n(o, NULL, *env, strcspn(*env, "="));
	jo_end_array(o);
}

static void show_user(struct json_out *o, const struct plan *p)
{
	jo_object(o, "user");
	jo_string(o, "name", p->user.name);
	jo_u64(o, "uid", p->user.uid);
	jo_u64(o, "gid", p->user.gid);
	jo_string(o, "home", p->user.home);
	jo_string(o, "ids", ids_names[p->ids]);
	jo_end_object(o);
}

static void show_network(struct json_out *o, const struct plan *p)
{
	jo_object(o, "network");
	jo_string(o, "mode", show_net_name(p->net));
	jo_bool(o, "veth", p->veth);
	jo_array(o, "publish");
	for (unsigned i = 0; i < p->request->n_publish; i++) {
		const struct publish *publish = &p->request->publish[i];

		jo_object(o, NULL);
		jo_string(o, "address", publish->address);
		jo_u64(o, "port", publish->port);
		jo_u64(o, "inside", publish->inside);
		jo_end_object(o);
	}
	jo_end_array(o);
	jo_end_object(o);
}

static void show_flags(struct json_out *o, unsigned flags)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = { { MOUNT_RO, "ro" },
		      { MOUNT_NOEXEC, "noexec" },
		      { MOUNT_DEV, "dev" },
		      { MOUNT_VOLATILE, "volatile" } };

	jo_array(o, "flags");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (flags & names[i].bit)
			jo_string(o, NULL, names[i].name);
	jo_end_array(o);
}

static void show_mount(struct json_out *o, const struct mount_step *step)
{
	jo_object(o, NULL);
	jo_string(o, "target", step->target);
	jo_string(o, "kind", kind_names[step->kind]);
	if (step->source)
		jo_string(o, "source", step->source);
	if (step->layer)
		jo_string(o, "layer", step->layer);
	if (step->kind == MOUNT_OVERLAY || step->kind == MOUNT_BIND)
		jo_string(o, "ids", mount_ids_names[step->lower_ids]);
	if (step->size_bytes)
		jo_u64(o, "size_bytes", step->size_bytes);
	if (step->flags)
		show_flags(o, step->flags);
	jo_end_object(o);
}

void plan_show(const struct plan *p, struct buf *out)
{
	struct json_out o = { .buf = out, .pretty = true };

	jo_object(&o, NULL);
	show_workspace(&o, p->request);
	show_command(&o, p);
	show_user(&o, p);
	jo_string(&o, "hostname", p->hostname);
	jo_string(&o, "rootfs", p->request->rootfs);
	jo_string(&o, "policy", p->policy->name);
	jo_string(&o, "policy_digest", p->policy->digest);
	show_limits(&o, "limits", &p->limits);
	show_degraded(&o, "degraded", p->degraded);
	show_network(&o, p);
	jo_string(&o, "git_objects", p->reachable_objects ? "reachable" : "all");
	jo_bool(&o, "keep", p->keep);
	jo_array(&o, "mounts");
	for (unsigned i = 0; i < p->n_mounts; i++)
		show_mount(&o, &p->mounts[i]);
	jo_end_array(&o);
	jo_end_object(&o);
	buf_putc(out, '\n');
}
