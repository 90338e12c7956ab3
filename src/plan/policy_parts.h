/* SPDX-License-Identifier: MIT */
/* policy_parts.h - pieces that reading a policy is made of; for src/plan alone. */
#pragma once

#include "base/json.h"
#include "plan/policy.h"

#define POLICY_BYTES_MAX ((size_t)1 << 20)
#define POLICY_RULES_MAX 1024
#define POLICY_LIST_MAX 1024 /* entries of any list */

/* Where a policy stands and what is read into. */
struct policy_reader {
	struct policy *p;
	const char *where; /* the file, for errors */
	bool base;	   /* this text is the one another extends: it may extend none */
	char *extends;
};

/* Fill `p` with what holds where a policy says nothing: no more than the names of things. */
must_check int policy_init(struct policy *p, struct err *e);

/* policy_parse() of texts that were read before. */
must_check int policy_parse_texts(const struct policy_texts *t, const char *where,
				  struct policy **out, struct err *e);

/* The sections: each takes its object, and a struct policy_reader. */
must_check int policy_parse_user(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_root(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_limits(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_degraded(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_network(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_environment(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_certificates(const struct json *value, void *reader, struct err *e);
must_check int policy_parse_mounts(const struct json *value, void *reader, struct err *e);

/* "cow" or "ro" into a struct policy_mount. */
must_check int policy_parse_mount_mode(const struct json *value, void *mount, struct err *e);

/* "seccomp": {...} into p->rules, p->default_error, p->seccomp_oci. */
must_check int policy_parse_seccomp(const struct json *value, void *reader, struct err *e);

/* The rules of an OCI profile, in place of p->rules. Pure. */
must_check int policy_parse_oci(const char *text, size_t len, const char *where, struct policy *p,
				struct err *e);

/* Take an own copy of `rule` (its calls are taken over) at the end of p->rules. */
must_check int policy_add_rule(struct policy *p, struct seccomp_rule *rule, struct err *e);
void policy_clear_rules(struct policy *p);

/* "why": a text, or several; kept out of the struct and so out of the digest. */
must_check int policy_why(const struct json *value, void *record, struct err *e);

/* Names of errors that a filter may answer. -1 for a name that is none; NULL for a number. */
int policy_errno(const char *name);
const char *policy_errno_name(unsigned error);

/* Capabilities that a session's root may be given. -1 for a name that is none of them. */
int policy_cap(const char *name);
const char *policy_cap_name(unsigned cap);

/* Fill both digests from what is in effect. */
must_check int policy_digest(struct policy *p, struct err *e);
