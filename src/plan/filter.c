/* SPDX-License-Identifier: MIT */
/* filter.c - a policy's rules become the workload's filter; libseccomp is behind this file alone.
 *
 * The parts, in the order a call goes through them:
 *	refusals	libseccomp, default "go on"
 *	dispatch	only for calls that the walls narrow
 *	narrowing	libseccomp, one of the walls' conditions must hold
 *	allowed		by number alone: most of them, in a tenth of the instructions that the
 *			library makes of them; the kernel translates each whenever a process starts
 *	allowances	those with conditions: libseccomp, default "go on"
 *	answers		by number alone */
#include "plan/filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "plan/filter_join.h"

/* What "go on" is while the parts are apart: values that mean nothing else here. */
#define GO_ON_ACTION SCMP_ACT_TRACE(0x0f5a)
#define GO_ON (SECCOMP_RET_TRACE | 0x0f5a)

#define NARROWED_MAX 16
/* No number of any architecture is beyond it; the library knows fewer. */
#define CALL_NR_MAX 1024

struct builder {
	const struct policy *p;
	bool single_id;
	scmp_filter_ctx ctx;
	uint32_t narrowed[NARROWED_MAX]; /* numbers of calls that walls narrow, with their error */
	struct bpf_answer narrowed_errors[NARROWED_MAX];
	size_t n_narrowed;
	bool allowed[CALL_NR_MAX]; /* without conditions */
};

/* A number of this architecture, or -1: names that are other architectures', or newer than the
 * library, are left out, and are answered like all that nothing allows. */
static int call_nr(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	return nr < 0 ? -1 : nr;
}

static struct scmp_arg_cmp to_scmp(const struct seccomp_arg *arg)
{
	static const enum scmp_compare ops[] = {
		[SECCOMP_MASKED_EQ] = SCMP_CMP_MASKED_EQ,
		[SECCOMP_NE] = SCMP_CMP_NE,
		[SECCOMP_LT] = SCMP_CMP_LT,
		[SECCOMP_LE] = SCMP_CMP_LE,
		[SECCOMP_GE] = SCMP_CMP_GE,
		[SECCOMP_GT] = SCMP_CMP_GT,
	};

	if (arg->op == SECCOMP_MASKED_EQ)
		return (struct scmp_arg_cmp) { arg->index, SCMP_CMP_MASKED_EQ, arg->mask,
					       arg->value };
	return (struct scmp_arg_cmp) { arg->index, ops[arg->op], arg->value, 0 };
}

static int add_rule(struct builder *b, uint32_t action, int nr, const struct seccomp_arg *args,
		    unsigned n_args, const char *name, struct err *e)
{
	struct scmp_arg_cmp compare[6];
	int ret;

	for (unsigned i = 0; i < n_args; i++)
		compare[i] = to_scmp(&args[i]);
	ret = seccomp_rule_add_array(b->ctx, action, nr, n_args, compare);
	/* A rule without conditions covers those with: nothing is lost. */
	if (ret < 0 && ret != -EEXIST)
		return err_code(e, -ret, "seccomp: the rule for '%s' is refused by libseccomp",
				name);
	return 0;
}

static int new_context(struct builder *b, uint32_t default_action, struct err *e)
{
	b->ctx = seccomp_init(default_action);
	if (!b->ctx)
		return err_code(e, ENOMEM, "seccomp: libseccomp cannot be initialised");
	/* A balanced tree instead of a list: a call costs a few comparisons, not hundreds. */
	if (seccomp_attr_set(b->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
	    seccomp_attr_set(b->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2) < 0)
		return err_code(e, EINVAL, "seccomp: libseccomp is too old; 2.5 is needed");
	return 0;
}

/* The program of the context, which is let go. */
static int export(struct builder *b, struct bpf *out, struct err *e)
{
	autoclose int file = memfd_create("ohsandbox-filter-part", MFD_CLOEXEC);
	struct sock_filter part[FILTER_INSTRUCTIONS_MAX];
	struct bpf read = { .at = part };
	ssize_t bytes;
	int ret;

	if (file < 0)
		return err_errno(e, "seccomp: make a memory file");
	ret = seccomp_export_bpf(b->ctx, file);
	if (ret < 0)
		return err_code(e, -ret, "seccomp: libseccomp cannot build the filter");
	if (lseek(file, 0, SEEK_SET) < 0)
		return err_errno(e, "seccomp: rewind");
	bytes = io_read_full(file, part, sizeof(part), e);
	if (bytes < 0)
		return err_wrap(e, "seccomp");
	read.len = (size_t)bytes / sizeof(*part);
	return bpf_append(out, &read, e);
}

static void drop_context(struct builder *b)
{
	if (b->ctx)
		seccomp_release(b->ctx);
	b->ctx = NULL;
}

static bool holds(const struct builder *b, const struct filter_wall *wall)
{
	return wall->when == FILTER_ALWAYS ||
	       (wall->when == FILTER_UNLESS_NESTED && !b->p->nested_userns) ||
	       (wall->when == FILTER_SINGLE_ID && b->single_id);
}

static uint32_t refusal(int action, unsigned error)
{
	return action == SECCOMP_KILL ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(error);
}

/* Call `each` for every name of a wall. */
static int each_name(struct builder *b, const struct filter_wall *wall,
		     int (*each)(struct builder *b, const struct filter_wall *wall, int nr,
				 const char *name, struct err *e),
		     struct err *e)
{
	char names[256];
	char *rest = names;
	char *name;

	snprintf(names, sizeof(names), "%s", wall->calls);
	while ((name = strsep(&rest, " ")) != NULL) {
		int nr = call_nr(name);

		if (nr >= 0 && each(b, wall, nr, name, e) < 0)
			return -e->code;
	}
	return 0;
}

static int refuse_by_wall(struct builder *b, const struct filter_wall *wall, int nr,
			  const char *name, struct err *e)
{
	return add_rule(b, refusal(wall->action, wall->error), nr, wall->args, wall->n_args, name,
			e);
}

static int narrow_by_wall(struct builder *b, const struct filter_wall *wall, int nr,
			  const char *name, struct err *e)
{
	size_t i = 0;

	while (i < b->n_narrowed && b->narrowed[i] != (uint32_t)nr)
		i++;
	if (i == b->n_narrowed) {
		if (i == NARROWED_MAX)
			return err_code(e, E2BIG, "seccomp: more than %d calls are narrowed",
					NARROWED_MAX);
		b->narrowed[i] = (uint32_t)nr;
		b->narrowed_errors[i] = (struct bpf_answer) { (uint32_t)nr, wall->error };
		b->n_narrowed++;
	}
	return add_rule(b, SCMP_ACT_ALLOW, nr, wall->args, wall->n_args, name, e);
}

static int add_walls(struct builder *b, bool narrowing, struct err *e)
{
	size_t n;
	const struct filter_wall *walls = filter_walls(&n);

	for (size_t i = 0; i < n; i++)
		if (holds(b, &walls[i]) && (walls[i].action == SECCOMP_ONLY) == narrowing &&
		    each_name(b, &walls[i], narrowing ? narrow_by_wall : refuse_by_wall, e) < 0)
			return -e->code;
	return 0;
}

/* Those without conditions first: libseccomp wants it so. */
static int add_policy_rules(struct builder *b, bool refusals, bool with_conditions, struct err *e)
{
	for (unsigned i = 0; i < b->p->n_rules; i++) {
		const struct seccomp_rule *rule = &b->p->rules[i];
		bool refuses = rule->action == SECCOMP_REFUSE || rule->action == SECCOMP_KILL;
		uint32_t action = refuses ? refusal(rule->action, rule->error) : SCMP_ACT_ALLOW;

		if (rule->action == SECCOMP_OTHERWISE || refuses != refusals ||
		    (rule->n_args > 0) != with_conditions)
			continue;
		for (char **name = rule->calls; *name; name++) {
			int nr = call_nr(*name);

			if (nr >= 0 &&
			    add_rule(b, action, nr, rule->args, rule->n_args, *name, e) < 0)
				return -e->code;
		}
	}
	return 0;
}

static int build_refusals(struct builder *b, struct bpf *out, struct err *e)
{
	if (new_context(b, GO_ON_ACTION, e) < 0 || add_policy_rules(b, true, false, e) < 0 ||
	    add_walls(b, false, e) < 0 || add_policy_rules(b, true, true, e) < 0)
		return -e->code;
	return export(b, out, e);
}

static int build_narrowing(struct builder *b, struct bpf *out, struct err *e)
{
	if (new_context(b, GO_ON_ACTION, e) < 0 || add_walls(b, true, e) < 0)
		return -e->code;
	return export(b, out, e);
}

/* Call `each` for every number of the rules without conditions that do this. */
static void each_plain_nr(const struct builder *b, int action,
			  void (*each)(void *arg, int nr, unsigned error), void *arg)
{
	for (unsigned i = 0; i < b->p->n_rules; i++) {
		const struct seccomp_rule *rule = &b->p->rules[i];

		if (rule->action != action || rule->n_args)
			continue;
		for (char **name = rule->calls; *name; name++) {
			int nr = call_nr(*name);

			if (nr >= 0 && nr < CALL_NR_MAX)
				each(arg, nr, rule->error);
		}
	}
}

static void allow_nr(void *arg, int nr, unsigned error)
{
	(void)error;
	((bool *)arg)[nr] = true;
}

static int build_allowed(struct builder *b, struct bpf *out, struct err *e)
{
	struct bpf_range ranges[CALL_NR_MAX / 2] = { 0 };
	size_t n = 0;

	each_plain_nr(b, SECCOMP_ALLOW, allow_nr, b->allowed);
	for (uint32_t nr = 0; nr < CALL_NR_MAX; nr++) {
		if (!b->allowed[nr])
			continue;
		if (n == 0 || ranges[n - 1].last + 1 != nr)
			ranges[n++].first = nr;
		ranges[n - 1].last = nr;
	}
	return bpf_add_allowed(out, ranges, n, e);
}

static int build_allowances(struct builder *b, struct bpf *out, struct err *e)
{
	if (new_context(b, GO_ON_ACTION, e) < 0 || add_policy_rules(b, false, true, e) < 0)
		return -e->code;
	return export(b, out, e);
}

static void answer_nr(void *arg, int nr, unsigned error)
{
	((unsigned *)arg)[nr] = error;
}

/* Which numbers the library knows on this architecture: a call newer than it answers ENOSYS, as on
 * an older kernel, and programs know what to do. */
static bool is_known(uint32_t nr)
{
	autofree char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)nr);

	return name != NULL;
}

/* What is allowed has gone by now: it can share its neighbour's answer. */
static int build_answers(struct builder *b, struct bpf *out, struct err *e)
{
	struct bpf_answer up_to[CALL_NR_MAX] = { 0 };
	unsigned errors[CALL_NR_MAX];
	size_t n = 0;

	for (uint32_t nr = 0; nr < CALL_NR_MAX; nr++)
		errors[nr] = is_known(nr) ? b->p->default_error : ENOSYS;
	each_plain_nr(b, SECCOMP_OTHERWISE, answer_nr, errors);
	for (uint32_t nr = 0; nr < CALL_NR_MAX; nr++) {
		bool same = n > 0 && (b->allowed[nr] || errors[nr] == up_to[n - 1].error);

		if (!same)
			up_to[n++].error = errors[nr];
		up_to[n - 1].nr = nr;
	}
	return bpf_add_table(out, up_to, n, ENOSYS, e);
}

struct parts {
	struct bpf refusals, dispatch, narrowing, narrowed_answers, allowed, allowances, answers;
};

/* Put them one behind the other and let each "go on" lead to the next. */
static int join(const struct parts *parts, struct bpf *out, struct err *e)
{
	size_t refusals_end, narrowing_from, narrowing_end, allowed_from, allowances_from;
	size_t allowances_end;

	if (bpf_append(out, &parts->refusals, e) < 0)
		return -e->code;
	refusals_end = out->len;
	if (bpf_append(out, &parts->dispatch, e) < 0)
		return -e->code;
	narrowing_from = out->len;
	if (bpf_append(out, &parts->narrowing, e) < 0)
		return -e->code;
	narrowing_end = out->len;
	if (bpf_append(out, &parts->narrowed_answers, e) < 0)
		return -e->code;
	allowed_from = out->len;
	if (bpf_append(out, &parts->allowed, e) < 0)
		return -e->code;
	allowances_from = out->len;
	if (bpf_append(out, &parts->allowances, e) < 0)
		return -e->code;
	allowances_end = out->len;
	if (bpf_append(out, &parts->answers, e) < 0 ||
	    bpf_redirect(out, 0, refusals_end, GO_ON, refusals_end, e) < 0 ||
	    bpf_redirect(out, narrowing_from, narrowing_end, SECCOMP_RET_ALLOW, allowed_from, e) <
		    0 ||
	    bpf_redirect(out, narrowing_from, narrowing_end, GO_ON, narrowing_end, e) < 0)
		return -e->code;
	return bpf_redirect(out, allowances_from, allowances_end, GO_ON, allowances_end, e);
}

static int build_part(struct builder *b,
		      int (*build)(struct builder *b, struct bpf *out, struct err *e),
		      struct bpf *out, struct err *e)
{
	int ret = build(b, out, e);

	drop_context(b);
	return ret;
}

static int build_parts(struct builder *b, struct parts *parts, struct err *e)
{
	if (build_part(b, build_refusals, &parts->refusals, e) < 0 ||
	    build_part(b, build_narrowing, &parts->narrowing, e) < 0 ||
	    build_part(b, build_allowed, &parts->allowed, e) < 0 ||
	    build_part(b, build_allowances, &parts->allowances, e) < 0 ||
	    build_part(b, build_answers, &parts->answers, e) < 0)
		return -e->code;
	if (bpf_add_answers(&parts->narrowed_answers, b->narrowed_errors, b->n_narrowed, EPERM, e) <
	    0)
		return -e->code;
	return bpf_add_dispatch(&parts->dispatch, b->narrowed, b->n_narrowed, 0,
				parts->narrowing.len + parts->narrowed_answers.len, e);
}

static void parts_clear(struct parts *parts)
{
	bpf_clear(&parts->refusals);
	bpf_clear(&parts->dispatch);
	bpf_clear(&parts->narrowing);
	bpf_clear(&parts->narrowed_answers);
	bpf_clear(&parts->allowed);
	bpf_clear(&parts->allowances);
	bpf_clear(&parts->answers);
}

int filter_build(const struct policy *p, bool single_id, struct sock_filter **program, size_t *len,
		 struct err *e)
{
	struct builder *b = calloc(1, sizeof(*b));
	struct parts parts = { 0 };
	struct bpf whole = { 0 };
	int ret;

	if (!b)
		return err_code(e, ENOMEM, "seccomp: no memory");
	b->p = p;
	b->single_id = single_id;
	ret = build_parts(b, &parts, e);
	if (ret == 0)
		ret = join(&parts, &whole, e);
	parts_clear(&parts);
	free(b);
	if (ret < 0) {
		bpf_clear(&whole);
		return ret;
	}
	*program = whole.at;
	*len = whole.len;
	return 0;
}

void filter_library(char *text, size_t size)
{
	const struct scmp_version *v = seccomp_version();

	snprintf(text, size, "libseccomp %u.%u.%u", v->major, v->minor, v->micro);
}

void filter_each_unknown(const struct policy *p, void (*each)(const char *name, void *arg),
			 void *arg)
{
	for (unsigned i = 0; i < p->n_rules; i++)
		for (char **name = p->rules[i].calls; *name; name++)
			if (seccomp_syscall_resolve_name(*name) == __NR_SCMP_ERROR)
				each(*name, arg);
}
