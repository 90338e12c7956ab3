/* SPDX-License-Identifier: MIT */
/* policy.h - what a session may do, from a JSON file; ohsandbox-policy(5).
 *
 * A policy may extend one other, which may not extend again. Every key has a default; unknown
 * keys, wrong types and ranges are errors that name key and line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define LIMIT_NONE UINT64_MAX
#define POLICY_DEFAULT "default" /* where nobody names one */

struct limits {
	uint64_t memory_bytes, swap_bytes; /* swap is what may be used besides memory */
	uint64_t cpu_milli;		   /* thousandths of a CPU */
	uint64_t pids;
	uint64_t timeout_ms;
	uint64_t nofile, fsize_bytes; /* rlimits of every process */
	uint64_t tmp_bytes;	      /* size of /tmp */
};

/* The limits and walls a host may lack; bits of allow_degraded and of what was given up. */
enum degraded {
	DEGRADED_MEMORY = 1 << 0,
	DEGRADED_SWAP = 1 << 1,
	DEGRADED_CPUS = 1 << 2,
	DEGRADED_PIDS = 1 << 3,
	DEGRADED_NETWORK =
		1 << 4,	       /* no veth: the executor is reached by the loopback listener alone */
	DEGRADED_IDS = 1 << 5, /* one id only */
};

/* "memory", "swap", ... The table both directions use. NULL behind the last. */
const char *degraded_name(unsigned bit);

enum net_mode { NET_NONE, NET_NAT };
enum git_objects { GIT_OBJECTS_AUTO, GIT_OBJECTS_ALL, GIT_OBJECTS_REACHABLE };
enum mount_mode { MOUNT_MODE_COW, MOUNT_MODE_RO };

struct policy_mount {
	char *host, *inside;
	enum mount_mode mode;
	/* Filled by request_resolve(). */
	bool is_file;	/* a single file is bound read-only: an overlay has directories alone */
	bool owner_ids; /* its owner is the workspace's: read as the session's user */
	bool plain_ids; /* no ids are translated: what is not readable by everybody stays shut */
};

struct policy_user {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid;
};

/* Seccomp: which calls, and conditions on their arguments. Built by filter.h. */
struct seccomp_arg {
	unsigned index; /* argument 0..5 */
	int op;		/* enum seccomp_op */
	uint64_t value, mask;
};

struct seccomp_rule {
	char **calls;	/* NULL-terminated names; names unknown here are skipped */
	int action;	/* enum seccomp_action */
	unsigned error; /* for SECCOMP_REFUSE and SECCOMP_OTHERWISE; 0: pretend success */
	struct seccomp_arg args[6];
	unsigned n_args;
};

/* What a policy was read from. */
struct policy_texts {
	char *own;
	char *extended; /* NULL: it extends none */
	char *oci;	/* NULL: its rules are its own */
};

struct policy {
	char *name, *path, *description;
	char digest[65]; /* SHA-256 of the effective policy, hexadecimal */
	struct policy_user user;
	bool root_allowed;
	uint64_t root_caps;
	struct limits limits;
	uint64_t memory_percent; /* of the host's RAM: the default limit is no more than this */
	unsigned allow_degraded;
	enum net_mode net;
	char **resolvers;	/* addresses; NULL: the host's */
	char **env;		/* "K=V" */
	char **pass_env;	/* names passed through where the caller has them */
	char **certificates;	/* host files of certificate bundles copied into /etc */
	char **certificate_env; /* variables that name a bundle: passed with the file they name */
	struct policy_mount *mounts;
	unsigned n_mounts;
	char *hostname;
	char *root_base; /* "host" */
	enum git_objects git_objects;
	char *git_name, *git_email; /* NULL: the host's identity */
	bool nested_userns;
	struct seccomp_rule *rules;
	unsigned n_rules;
	unsigned default_error; /* errno of a known call that no rule allows */
	char *seccomp_oci;     /* the rules were taken from this OCI profile; NULL: they are ours */
	char rules_digest[65]; /* of the seccomp part alone: the name of the cached filter */
	struct policy_texts texts;
};

/* Where policies are looked for by name, first to last: OHS_POLICY_DIR, the caller's, the system's,
 * those that ship. The caller frees the list. */
must_check int policy_dirs(char ***dirs, struct err *e);

/* Load by name (looked up in OHS_POLICY_DIR, ~/.config/ohsandbox/policy, the sysconf and the data
 * directory) or by path (it has a slash). The caller frees it. */
must_check int policy_load(const char *name_or_path, struct policy **out, struct err *e);
void policy_free(struct policy *p);

/* The policy that was loaded from `path` once, of the texts it had then: what its files say by now does
 * not matter. */
must_check int policy_reload(const char *path, const struct policy_texts *texts,
			     struct policy **out, struct err *e);
void policy_texts_clear(struct policy_texts *t);

/* The same from bytes: `find` gives the text of the policy it extends. Pure: for tests and fuzzing. */
must_check int policy_parse(const char *text, size_t len, const char *where,
			    int (*find)(const char *name, struct buf *text, struct err *e),
			    struct policy **out, struct err *e);

/* What is in effect, every default filled in, as JSON. */
void policy_show(const struct policy *p, struct buf *out);
