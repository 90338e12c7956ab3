/* SPDX-License-Identifier: MIT */
/* plan.h - request, policy and host become the one frozen decision.
 *
 * plan_make() touches nothing: the same three inputs give the same plan, so it can be shown
 * (`run --dry-run`) and tested for made-up hosts. What only acting can find out (the slot, the
 * commit, descriptors) is in struct session. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/host.h"
#include "plan/policy.h"
#include "sandbox/inside.h"

enum workspace_kind { WORKSPACE_REPO, WORKSPACE_DIR, WORKSPACE_EMPTY };

struct publish {
	char *address; /* of the host; "127.0.0.1" where none was given */
	uint16_t port, inside;
};

/* What the caller asked for; every member may be unset. */
struct request {
	enum workspace_kind kind;
	char *path;		/* canonical: the top of the work tree, or the directory */
	char *subdir;		/* where the command starts below it; "" for the top */
	char *rev;		/* NULL: HEAD */
	bool dirty, trust_repo;
	char *workdir;		/* absolute inside, or relative to the workspace */
	char **argv;		/* NULL: start without a command */
	char **env;		/* "K=V" */
	struct limits limits;	/* LIMIT_NONE: not named */
	bool limit_named[8];	/* in the order of struct limits */
	int net;		/* -1, or enum net_mode */
	char *user;		/* NULL: the policy's */
	char *hostname;
	struct policy_mount *mounts;
	unsigned n_mounts;
	bool toolchains;
	struct publish *publish;
	unsigned n_publish;
	bool tty, keep, ends_with_us;
	char *term;
};

struct plan {
	char id[13];		/* 12 hexadecimal digits */
	enum ids_mode ids;
	struct policy_user user; /* who runs the command */
	bool as_root;
	struct limits limits;	/* in effect */
	unsigned degraded;	/* what was given up, enum degraded */
	bool veth;
	enum net_mode net;
	const struct request *request;
	const struct policy *policy;
	const struct host *host;
	char *cwd;		/* inside */
	char **env;		/* complete */
	char *hostname;
	char **path_dirs;	/* host directories of --toolchains, mounted read-only */
	struct mount_step *mounts; /* in order; "/" first */
	unsigned n_mounts;
	bool reachable_objects;
	bool keep;
};

must_check int plan_make(const struct request *r, const struct policy *p, const struct host *h, struct plan **out,
			 struct err *e);
void plan_free(struct plan *p);

/* The plan as JSON, for --dry-run. Values of environment variables are not shown. */
void plan_show(const struct plan *p, struct buf *out);
