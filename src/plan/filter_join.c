/* SPDX-License-Identifier: MIT */
/* filter_join.c - several small programs for the kernel's filter machine become one.
 *
 * Jumps of the machine are relative and go forward, so a program can be moved as it is, and a return
 * in it can become a jump to what was put behind it. */
#include "plan/filter_join.h"

#include <linux/seccomp.h>
#include <string.h>

#include "plan/filter.h"

void bpf_clear(struct bpf *b)
{
	free(b->at);
	*b = (struct bpf) { 0 };
}

int bpf_add(struct bpf *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k, struct err *e)
{
	struct bpf one = { .at = &(struct sock_filter) { .code = code, .jt = jt, .jf = jf, .k = k },
			   .len = 1 };

	return bpf_append(b, &one, e);
}

int bpf_append(struct bpf *b, const struct bpf *more, struct err *e)
{
	if (b->len + more->len > FILTER_INSTRUCTIONS_MAX)
		return err_code(
			e, E2BIG,
			"seccomp: the filter has more than %d instructions: the policy has too many "
			"rules with conditions",
			FILTER_INSTRUCTIONS_MAX);
	if (b->len + more->len > b->room) {
		size_t room = (b->len + more->len) * 2;
		struct sock_filter *grown = reallocarray(b->at, room, sizeof(*grown));

		if (!grown)
			return err_code(e, ENOMEM, "seccomp: no memory");
		b->at = grown;
		b->room = room;
	}
	memcpy(b->at + b->len, more->at, more->len * sizeof(*more->at));
	b->len += more->len;
	return 0;
}

int bpf_redirect(struct bpf *b, size_t from, size_t to, uint32_t value, size_t target,
		 struct err *e)
{
	if (to > b->len || target < to)
		return err_code(e, EINVAL, "seccomp: a filter cannot jump back");
	for (size_t i = from; i < to; i++)
		if (b->at[i].code == (BPF_RET | BPF_K) && b->at[i].k == value)
			b->at[i] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA,
								(uint32_t)(target - i - 1));
	return 0;
}

static int add_load_nr(struct bpf *b, struct err *e)
{
	return bpf_add(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr), e);
}

static int add_return(struct bpf *b, unsigned error, struct err *e)
{
	return bpf_add(b, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA), e);
}

int bpf_add_allowed(struct bpf *b, const struct bpf_range *ranges, size_t n, struct err *e)
{
	if (add_load_nr(b, e) < 0)
		return -e->code;
	for (size_t i = 0; i < n; i++) {
		bool one = ranges[i].first == ranges[i].last;

		if (one ? bpf_add(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ranges[i].first, e) < 0
			: bpf_add(b, BPF_JMP | BPF_JGE | BPF_K, 0, 2, ranges[i].first, e) < 0 ||
				    bpf_add(b, BPF_JMP | BPF_JGT | BPF_K, 1, 0, ranges[i].last, e) <
					    0)
			return -e->code;
		if (bpf_add(b, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW, e) < 0)
			return -e->code;
	}
	return 0;
}

int bpf_add_answers(struct bpf *b, const struct bpf_answer *errors, size_t n, unsigned otherwise,
		    struct err *e)
{
	if (add_load_nr(b, e) < 0)
		return -e->code;
	for (size_t i = 0; i < n; i++)
		if (bpf_add(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, errors[i].nr, e) < 0 ||
		    add_return(b, errors[i].error, e) < 0)
			return -e->code;
	return add_return(b, otherwise, e);
}

int bpf_add_table(struct bpf *b, const struct bpf_answer *up_to, size_t n, unsigned beyond,
		  struct err *e)
{
	if (add_load_nr(b, e) < 0)
		return -e->code;
	for (size_t i = 0; i < n; i++)
		if (bpf_add(b, BPF_JMP | BPF_JGT | BPF_K, 1, 0, up_to[i].nr, e) < 0 ||
		    add_return(b, up_to[i].error, e) < 0)
			return -e->code;
	return add_return(b, beyond, e);
}

int bpf_add_dispatch(struct bpf *b, const uint32_t *nrs, size_t n, size_t inside, size_t outside,
		     struct err *e)
{
	if (add_load_nr(b, e) < 0)
		return -e->code;
	for (size_t i = 0; i < n; i++) {
		size_t behind =
			2 * (n - i - 1) + 1; /* instructions of the dispatch after the jump */

		if (bpf_add(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, nrs[i], e) < 0 ||
		    bpf_add(b, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(behind + inside), e) < 0)
			return -e->code;
	}
	return bpf_add(b, BPF_JMP | BPF_JA, 0, 0, (uint32_t)outside, e);
}

static bool jump_taken(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	default:
		return a & k; /* BPF_JSET */
	}
}

uint32_t bpf_run(const struct sock_filter *program, size_t len, const void *data, size_t size)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < len; pc++) {
		const struct sock_filter *f = &program[pc];

		if (f->code == (BPF_LD | BPF_W | BPF_ABS) && size >= sizeof(a) &&
		    f->k <= size - sizeof(a))
			memcpy(&a, (const char *)data + f->k, sizeof(a));
		else if (f->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= f->k;
		else if (f->code == (BPF_RET | BPF_K))
			return f->k;
		else if (f->code == (BPF_JMP | BPF_JA))
			pc += f->k;
		else if (BPF_CLASS(f->code) == BPF_JMP && BPF_SRC(f->code) == BPF_K)
			pc += jump_taken(f->code, a, f->k) ? f->jt : f->jf;
		else
			break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}
