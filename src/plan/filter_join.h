/* SPDX-License-Identifier: MIT */
/* filter_join.h - several small programs for the kernel's filter machine become one. Pure. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bpf {
	struct sock_filter *at;
	size_t len, room;
};

void bpf_clear(struct bpf *b);

/* Append one instruction, or all of another program. */
must_check int bpf_add(struct bpf *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k,
		       struct err *e);
must_check int bpf_append(struct bpf *b, const struct bpf *more, struct err *e);

/* Every return of `value` from instruction `from` up to (not including) `to` becomes a jump to
 * `target`, which stands behind all of them. */
must_check int bpf_redirect(struct bpf *b, size_t from, size_t to, uint32_t value, size_t target,
			    struct err *e);

struct bpf_range {
	uint32_t first, last;
};

/* Allow the calls whose number is in one of the ranges (sorted), and go on with the others. */
must_check int bpf_add_allowed(struct bpf *b, const struct bpf_range *ranges, size_t n,
			       struct err *e);

struct bpf_answer {
	uint32_t nr;
	unsigned error;
};

/* Answers for calls by their number, `otherwise` for all that are not listed. */
must_check int bpf_add_answers(struct bpf *b, const struct bpf_answer *errors, size_t n,
			       unsigned otherwise, struct err *e);

/* The same for the whole table: each answer holds up to its number, from where the one before it
 * ended. `beyond` for all behind the last. */
must_check int bpf_add_table(struct bpf *b, const struct bpf_answer *up_to, size_t n,
			     unsigned beyond, struct err *e);

/* Jump to `inside` where the call's number is one of `nrs`, else to `outside`; both are counted from
 * the instruction behind the dispatch. */
must_check int bpf_add_dispatch(struct bpf *b, const uint32_t *nrs, size_t n, size_t inside,
				size_t outside, struct err *e);

/* What the machine answers, for tests: `data` is a struct seccomp_data. */
uint32_t bpf_run(const struct sock_filter *program, size_t len, const void *data, size_t size);
