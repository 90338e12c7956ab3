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
	uint16_t port; /* 0: on the host's loopback, whichever is free */
	uint16_t inside;
};

/* What the caller asked for; every member may be unset. Each has a row in request_json.c. */
struct request {
	enum workspace_kind kind;
	char *path;   /* canonical: the top of the work tree, or the directory */
	char *subdir; /* where the command starts below it; "" for the top */
	char *rev;    /* NULL: HEAD */
	bool dirty, trust_repo;
	char *workdir;	      /* absolute inside, or relative to the workspace */
	char **argv;	      /* NULL: start without a command */
	char **env;	      /* "K=V" */
	struct limits limits; /* LIMIT_NONE: not named */
	bool limit_named[8];  /* in the order of struct limits */
	int net;	      /* -1, or enum net_mode */
	char *user;	      /* NULL: the policy's */
	char *hostname;
	struct policy_mount *mounts;
	unsigned n_mounts;
	bool toolchains;
	char *rootfs; /* the directory that is "/" inside; NULL: the host's directories */
	struct publish *publish;
	unsigned n_publish;
	bool tty, keep, ends_with_us;
	char *term;
	char *name;    /* what the caller calls the session; see request_name_ok() */
	char *label;   /* JSON of the caller's that the session keeps for it, unread */
	bool persists; /* the session is paused, not over, when its processes end by themselves */
	bool shell_early; /* its shell is started before the first action asks for it */
	/* Filled by request_resolve(); `mounts` then holds the policy's and the toolchains' too, and
	 * `rootfs` is canonical. */
	bool resolved;
	bool rootfs_mapped; /* its owners are read through the session's ids */
	bool rootfs_fixed; /* its files can be read and not changed: their owner is nobody inside */
	char *rootfs_shell;    /* of the user, where the tree lacks the policy's */
	char **toolchain_path; /* PATH entries */
	char **host_env; /* "K=V" out of the caller's environment: what the policy passes, TZ */
};

#define REQUEST_NAME_MAX 64u
#define REQUEST_LABEL_MAX (64u << 10)

/* May a session be called so? 1 to 64 letters, digits, '.', '_' and '-'; none that is a directory's
 * own name, begins an option, or looks like a whole id. */
bool request_name_ok(const char *name);

/* Find out what a decision needs of the file system and of the caller's environment: --dir, --rootfs
 * and every mount's source are looked at and refused by name, toolchains and certificate bundles
 * found. Call it once, before plan_make(). */
must_check int request_resolve(struct request *r, const struct policy *p, const struct host *h,
			       struct err *e);

/* A request that names nothing: no workspace, no limit; the network is the policy's. */
void request_init(struct request *r);

/* Free what its members point to. */
void request_clear(struct request *r);

struct plan {
	char id[13]; /* 12 hexadecimal digits */
	enum ids_mode ids;
	struct policy_user user; /* who runs the command */
	bool as_root;
	struct limits limits; /* in effect */
	unsigned degraded;    /* what was given up, enum degraded */
	bool veth;
	enum net_mode net;
	const struct request *request;
	const struct policy *policy;
	const struct host *host;
	char *cwd;  /* inside */
	char **env; /* complete */
	char *hostname;
	struct mount_step *mounts; /* in order; "/" first */
	unsigned n_mounts;
	char **texts; /* private: the strings of `mounts` */
	unsigned n_texts;
	bool reachable_objects;
	bool keep;
	unsigned leaves; /* groups for one command each, in a session that stays */
};

/* Decide. The strings of r, p and h that the plan points to must live as long as it does. `id` is
 * empty: whoever makes the session draws it. */
must_check int plan_make(const struct request *r, const struct policy *p, const struct host *h,
			 struct plan **out, struct err *e);
void plan_free(struct plan *p);

/* Add a step at the end, with copies of its texts: for what only acting can find out (the object
 * directories of a repository). */
must_check int plan_add_mount(struct plan *p, const struct mount_step *step, struct err *e);

/* A step with no descriptor in it yet. */
struct mount_step mount_step_new(enum mount_kind kind, const char *target, const char *source);

/* The plan as JSON, for --dry-run. Values of environment variables are not shown. */
void plan_show(const struct plan *p, struct buf *out);
