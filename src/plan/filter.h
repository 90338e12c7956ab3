/* SPDX-License-Identifier: MIT */
/* filter.h - the workload's seccomp filter: a policy's rules as bytes for the kernel.
 *
 * Several programs in one. Refusals come first, so that no rule can allow what another refuses; then
 * the few calls whose arguments are always narrowed; then what the policy allows; then the answer
 * for the rest: default_error for calls that are known, ENOSYS for numbers that are not, so that
 * programs fall back to what is older. Foreign ABIs are killed.
 *
 * What holds whatever a policy says is in filter_walls(), each with its reason. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "plan/policy.h"

struct sock_filter;

enum seccomp_action {
	SECCOMP_ALLOW,	   /* where the conditions hold */
	SECCOMP_REFUSE,	   /* answer `error` where the conditions hold, whatever else allows it */
	SECCOMP_KILL,	   /* end the process where the conditions hold */
	SECCOMP_OTHERWISE, /* answer `error` where nothing allows it; no conditions */
	SECCOMP_ONLY, /* walls alone: without one of these conditions `error`, whatever allows it */
};

enum seccomp_op {
	SECCOMP_MASKED_EQ, /* (argument & mask) == value */
	SECCOMP_NE,	   /* all 64 bits; careful: the kernel looks at 32 of an int */
	SECCOMP_LT,
	SECCOMP_LE,
	SECCOMP_GE,
	SECCOMP_GT,
};

#define FILTER_INSTRUCTIONS_MAX 4096 /* the kernel's */

/* The filter as a sealed memfd of struct sock_filter[], out of `cache_dir` where it has been made
 * before (then libseccomp does no work), else made and put there. `cache_dir` may be -1.
 * `single_id`: executor and workload share one id; the filter then keeps signals from the server. */
must_check int filter_bytes(const struct policy *p, bool single_id, int cache_dir, int *memfd,
			    struct err *e);

/* Can a process under this filter (of filter_bytes) give a descriptor away? Where it cannot, nobody could
 * be told of what is refused to it. */
bool filter_lets_send(int memfd);

/* Make it, without cache. The caller frees *program. */
must_check int filter_build(const struct policy *p, bool single_id, struct sock_filter **program,
			    size_t *len, struct err *e);

enum filter_when {
	FILTER_ALWAYS,
	FILTER_UNLESS_NESTED, /* not where the policy allows namespaces inside */
	FILTER_SINGLE_ID,     /* where executor and workload share one id */
};

struct filter_wall {
	const char *calls; /* names, separated by spaces */
	enum seccomp_action action;
	unsigned error;
	struct seccomp_arg args[3];
	unsigned n_args;
	enum filter_when when;
	const char *why;
};

/* The rules that hold whatever the policy says. */
const struct filter_wall *filter_walls(size_t *n);

/* Call `each` for every name in the policy's rules that the library knows on no architecture: newer
 * than it, or a slip of the pen. */
void filter_each_unknown(const struct policy *p, void (*each)(const char *name, void *arg),
			 void *arg);

/* "libseccomp 2.5.4": what is cached depends on it. */
void filter_library(char *text, size_t size);
