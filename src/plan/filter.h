/* SPDX-License-Identifier: MIT */
/* filter.h - the workload's seccomp filter: a policy's rules as bytes for the kernel.
 *
 * Three programs in one. Refusals come first, so that no rule can allow what another refuses; then
 * what is allowed; then the answer for the rest: default_error for calls that are known, ENOSYS for
 * numbers that are not, so that programs fall back to what is older. Foreign ABIs are killed.
 *
 * Besides the policy's rules some hold always; filter_walls() has them, each with its reason. */
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
must_check int filter_bytes(const struct policy *p, bool single_id, int cache_dir, int *memfd, struct err *e);

/* Make it, without cache. The caller frees *program. */
must_check int filter_build(const struct policy *p, bool single_id, struct sock_filter **program, size_t *len,
			    struct err *e);

/* The rules that hold whatever the policy says. Returns the number of them. */
struct filter_wall {
	const char *calls; /* names, separated by spaces */
	enum seccomp_action action;
	unsigned error;
	struct seccomp_arg args[3];
	unsigned n_args;
	unsigned only; /* of enum filter_when: 0 is always */
	const char *why;
};

enum filter_when {
	FILTER_UNLESS_NESTED = 1 << 0,
	FILTER_SINGLE_ID = 1 << 1,
};

const struct filter_wall *filter_walls(size_t *n);
