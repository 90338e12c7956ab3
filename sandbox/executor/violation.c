/* SPDX-License-Identifier: MIT */
/* violation.c - see violation.h. */
#include "sandbox/executor/violation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/auto.h"
#include "sandbox/executor/syscalls.h"

static bool same(const struct violation *a, const struct violation *b)
{
	return a->kind == b->kind && a->call == b->call;
}

void violations_add(struct violations *all, const struct violation *more)
{
	struct violation *grown;

	for (unsigned i = 0; i < all->n; i++)
		if (same(&all->list[i], more)) {
			all->list[i].count += more->count;
			return;
		}
	/* A power of two at a time; without memory it is counted with the unlisted. */
	grown = all->list;
	if (all->n < VIOLATIONS_MAX && (all->n & (all->n - 1)) == 0)
		grown = reallocarray(all->list, all->n ? 2 * (size_t)all->n : 1, sizeof(*grown));
	if (!grown || all->n == VIOLATIONS_MAX) {
		all->unlisted += more->count;
		return;
	}
	all->list = grown;
	all->list[all->n++] = *more;
}

void violations_clear(struct violations *all)
{
	free(all->list);
	*all = (struct violations) { 0 };
}

/* --- words ------------------------------------------------------------------------------------ */

static void bytes(struct buf *out, uint64_t n)
{
	if (n == UINT64_MAX)
		buf_puts(out, "no limit");
	else
		buf_printf(out, "%" PRIu64 " bytes", n);
}

static void memory_what(const struct violation *v, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " process%s killed for want of memory", v->count,
		   v->count == 1 ? "" : "es");
}

static void memory_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	(void)v;
	buf_puts(out, "one command may use ");
	bytes(out, b->leaf_memory);
	buf_puts(out, ", a little less than all of the session's together");
}

static void pids_what(const struct violation *v, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " new process%s refused; those it had were ended", v->count,
		   v->count == 1 ? "" : "es");
}

static void pids_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	(void)v;
	buf_printf(out,
		   "one command may have %" PRIu64
		   " processes and threads at once, a little fewer than all of the session's "
		   "together",
		   b->leaf_pids);
}

static void pids_above_what(const struct violation *v, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " new process%s refused, to this or another command", v->count,
		   v->count == 1 ? "" : "es");
}

static void pids_above_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	(void)v;
	(void)b;
	buf_puts(out, "all commands of the session together reached its limit of processes");
}

static void cpu_what(const struct violation *v, struct buf *out)
{
	buf_printf(out, "held back for %" PRIu64 " ms", v->count / 1000);
}

static void cpu_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	(void)v;
	buf_printf(out, "the session may use %" PRIu64 ".%03" PRIu64 " CPUs", b->cpu_milli / 1000,
		   b->cpu_milli % 1000);
}

static void no_route_what(const struct violation *v, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " time%s there was no way to an address", v->count,
		   v->count == 1 ? "" : "s");
}

static void no_route_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	(void)v;
	buf_puts(out, b->way_out ? "the address is of a kind that sessions have no route to"
				 : "the session's network is 'none': it reaches nobody, and looks "
				   "up no names");
}

static void unreachable_what(const struct violation *v, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " answer%s that a destination cannot be reached", v->count,
		   v->count == 1 ? "" : "s");
}

static void unreachable_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	(void)v;
	(void)b;
	buf_puts(out, "said by the network outside of the session");
}

static void filter_what(const struct violation *v, struct buf *out)
{
	const char *name = syscall_name(v->call);

	if (name)
		buf_printf(out, "system call %s", name);
	else
		buf_printf(out, "system call number %u", v->call);
	buf_printf(out, "(%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", ...) refused", v->args[0],
		   v->args[1], v->args[2]);
	if (v->count > 1)
		buf_printf(out, ", and %" PRIu64 " more of it", v->count - 1);
	buf_puts(out, ": EPERM");
}

#define NAMESPACES                                                                     \
	"a new namespace opens parts of the kernel that only root reaches otherwise",  \
		"do without: programs with a sandbox of their own have an option for " \
		"that (--no-sandbox); or start the session with a policy that has "    \
		"nested namespaces (--policy nested)"
#define MOUNTS                                  \
	"file systems are the host's to mount", \
		"let the host mount it, when the session is started (--mount HOST:INSIDE)"
#define OTHERS                                                                       \
	"it was about another process than the caller, and might be the executor's", \
		"do it in the process itself, before it starts the other"
#define CORES                                                                         \
	"with a limit of 0 a crash could still run a program of the host's, as root", \
		"leave the limit as it is: no core is written"

/* What is refused for a reason of its own, and what to do instead. The first that fits. */
static const struct reason {
	uint32_t call;
	bool narrow; /* only where args[arg] is `value` */
	unsigned arg;
	uint64_t value;
	const char *why, *remedy;
} reasons[] = {
	{ SYS_unshare, false, 0, 0, NAMESPACES },
	{ SYS_clone, false, 0, 0, NAMESPACES },
	{ SYS_setns, false, 0, 0, NAMESPACES },
	{ SYS_mount, false, 0, 0, MOUNTS },
	{ SYS_umount2, false, 0, 0, MOUNTS },
	{ SYS_pivot_root, false, 0, 0, MOUNTS },
	{ SYS_fsopen, false, 0, 0, MOUNTS },
	{ SYS_open_tree, false, 0, 0, MOUNTS },
	{ SYS_move_mount, false, 0, 0, MOUNTS },
	{ SYS_setrlimit, true, 0, RLIMIT_CORE, CORES },
	{ SYS_prlimit64, true, 1, RLIMIT_CORE, CORES },
	{ SYS_prlimit64, false, 0, 0, OTHERS },
	{ SYS_setpriority, false, 0, 0, OTHERS },
	{ SYS_ioprio_set, false, 0, 0, OTHERS },
	{ SYS_sched_setscheduler, false, 0, 0, OTHERS },
	{ SYS_sched_setparam, false, 0, 0, OTHERS },
	{ SYS_sched_setattr, false, 0, 0, OTHERS },
	{ SYS_sched_setaffinity, false, 0, 0, OTHERS },
};

static const struct reason *reason_of(const struct violation *v)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].call == v->call &&
		    (!reasons[i].narrow || v->args[reasons[i].arg] == reasons[i].value))
			return &reasons[i];
	return NULL;
}

static void filter_why(const struct violation *v, const struct ctl_boot *b, struct buf *out)
{
	const struct reason *r = reason_of(v);

	(void)b;
	buf_puts(out, r ? r->why : "the session's policy does not allow it with these arguments");
}

static void filter_remedy(const struct violation *v, struct buf *out)
{
	const char *name = syscall_name(v->call);
	const struct reason *r = reason_of(v);

	if (r)
		buf_puts(out, r->remedy);
	else
		buf_printf(
			out,
			"do without it, or start the session with a policy whose seccomp section "
			"allows %s",
			name ? name : "it");
}

static void memory_remedy(const struct violation *v, struct buf *out)
{
	(void)v;
	buf_puts(out, "use less at once, or start the session with a larger --memory");
}

static void pids_remedy(const struct violation *v, struct buf *out)
{
	(void)v;
	buf_puts(out, "start fewer at once, or start the session with larger --pids");
}

static void cpu_remedy(const struct violation *v, struct buf *out)
{
	(void)v;
	buf_puts(out, "give it more time, or start the session with more --cpus");
}

static void network_remedy(const struct violation *v, struct buf *out)
{
	(void)v;
	buf_puts(out, "start the session with a way out (--net nat), or bring along what it needs "
		      "(upload_file, --mount)");
}

static void unreachable_remedy(const struct violation *v, struct buf *out)
{
	(void)v;
	buf_puts(out, "private, link-local and metadata addresses are closed to every session: use "
		      "a public one");
}

static const struct {
	const char *layer;
	void (*what)(const struct violation *v, struct buf *out);
	void (*why)(const struct violation *v, const struct ctl_boot *b, struct buf *out);
	void (*remedy)(const struct violation *v, struct buf *out);
} kinds[VIOLATED_KINDS] = {
	[VIOLATED_MEMORY] = { "memory", memory_what, memory_why, memory_remedy },
	[VIOLATED_PIDS] = { "pids", pids_what, pids_why, pids_remedy },
	[VIOLATED_PIDS_ABOVE] = { "pids", pids_above_what, pids_above_why, pids_remedy },
	[VIOLATED_CPU] = { "cpu", cpu_what, cpu_why, cpu_remedy },
	[VIOLATED_FILTER] = { "filter", filter_what, filter_why, filter_remedy },
	[VIOLATED_NO_ROUTE] = { "network", no_route_what, no_route_why, network_remedy },
	[VIOLATED_UNREACHABLE] = { "network", unreachable_what, unreachable_why,
				   unreachable_remedy },
};

const char *violation_layer(enum violation_kind kind)
{
	return kinds[kind].layer;
}

static void show(const struct violation *v, const struct ctl_boot *b, struct json_out *o)
{
	autobuf struct buf what = { 0 }, why = { 0 }, remedy = { 0 };

	kinds[v->kind].what(v, &what);
	kinds[v->kind].why(v, b, &why);
	kinds[v->kind].remedy(v, &remedy);
	jo_object(o, NULL);
	jo_string(o, "layer", kinds[v->kind].layer);
	jo_string(o, "what", buf_str(&what));
	jo_string(o, "why", buf_str(&why));
	jo_string(o, "remedy", buf_str(&remedy));
	jo_end_object(o);
}

static void show_unlisted(uint64_t count, struct json_out *o)
{
	autobuf struct buf what = { 0 };

	buf_printf(&what, "%" PRIu64 " more refusals, of other kinds than these", count);
	jo_object(o, NULL);
	jo_string(o, "layer", "filter");
	jo_string(o, "what", buf_str(&what));
	jo_string(o, "why", "only so many kinds are listed for one action");
	jo_string(o, "remedy", "look at the first ones");
	jo_end_object(o);
}

void violations_show(const struct violations *all, const struct ctl_boot *boot, struct json_out *o,
		     const char *key)
{
	jo_array(o, key);
	for (unsigned i = 0; i < all->n; i++)
		show(&all->list[i], boot, o);
	if (all->unlisted)
		show_unlisted(all->unlisted, o);
	jo_end_array(o);
}

/* --- what nobody sees ------------------------------------------------------------------------- */

static bool counts(const struct ctl_boot *b, enum ctl_counter counter)
{
	return b->n_leaves && b->leaves[0].counter[counter] >= 0;
}

static bool no_memory(const struct ctl_boot *b, bool filter_seen)
{
	(void)filter_seen;
	return !counts(b, CTL_COUNT_MEMORY_EVENTS);
}

static bool no_pids(const struct ctl_boot *b, bool filter_seen)
{
	(void)filter_seen;
	return !counts(b, CTL_COUNT_PIDS_EVENTS);
}

static bool no_cpu(const struct ctl_boot *b, bool filter_seen)
{
	(void)filter_seen;
	return !counts(b, CTL_COUNT_CPU);
}

static bool no_filter(const struct ctl_boot *b, bool filter_seen)
{
	(void)b;
	return !filter_seen;
}

static bool firewall(const struct ctl_boot *b, bool filter_seen)
{
	(void)filter_seen;
	return b->way_out;
}

static bool always(const struct ctl_boot *b, bool filter_seen)
{
	(void)b;
	(void)filter_seen;
	return true;
}

static const struct {
	const char *layer, *why;
	bool (*holds)(const struct ctl_boot *b, bool filter_seen);
} unseen[] = {
	{ "memory", "this host gives the session no group that counts it: see 'ohsandbox doctor'",
	  no_memory },
	{ "pids", "this host gives the session no group that counts them: see 'ohsandbox doctor'",
	  no_pids },
	{ "cpu", "this host gives the session no group that counts it: see 'ohsandbox doctor'",
	  no_cpu },
	{ "filter",
	  "this kernel tells nobody of refused calls, or tells somebody else: the session was started "
	  "under another one's filter",
	  no_filter },
	{ "network",
	  "what the host's firewall drops it drops without a word: a connection to a closed address "
	  "only takes long",
	  firewall },
	{ "files",
	  "the kernel counts no refusals by the limits of open files and of a file's size, nor by a "
	  "full disk",
	  always },
};

void violations_show_unseen(const struct ctl_boot *boot, bool filter_seen, struct json_out *o,
			    const char *key)
{
	jo_array(o, key);
	for (size_t i = 0; i < ARRAY_LEN(unseen); i++) {
		if (!unseen[i].holds(boot, filter_seen))
			continue;
		jo_object(o, NULL);
		jo_string(o, "layer", unseen[i].layer);
		jo_string(o, "why", unseen[i].why);
		jo_end_object(o);
	}
	jo_end_array(o);
}
