/* SPDX-License-Identifier: MIT */
/* stages_live.c - see stages.h: ids, the clone, its orders, go; and the end of its processes. */
#include "launch/stages.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "launch/idmap.h"
#include "launch/spawn.h"
#include "plan/filter.h"
#include "sandbox/gate.h"
#include "session/freeze.h"
#include "session/overlay.h"
#include "session/program.h"
#include "session/spare.h"

#define ANSWER_MS 60000 /* mounts over a slow disk take their time */
#define KILL_WAIT_MS 10000

uid_t launch_workload_uid(const struct launch *l)
{
	const struct id_map *m = &l->inside.session_uids;

	return l->plan->ids == IDS_ROOT
		       ? m->range[0].outside - m->range[0].inside + l->plan->user.uid
		       : (uid_t)-1;
}

gid_t launch_workload_gid(const struct launch *l)
{
	const struct id_map *m = &l->inside.session_gids;

	return l->plan->ids == IDS_ROOT
		       ? m->range[0].outside - m->range[0].inside + l->plan->user.gid
		       : (gid_t)-1;
}

static void add_range(struct id_map *m, uint32_t inside, uint32_t outside, uint32_t count)
{
	if (count && m->n < IDS_RANGES_MAX)
		m->range[m->n++] = (struct id_range) { inside, outside, count };
}

/* The owner of a tree becomes the session's user, and nobody else in it is anybody inside: what
 * another user of the host keeps there from the owner stays kept, also from the session's root. */
static struct id_map owner_alone(uint32_t owner, uint32_t user, uint32_t slice)
{
	struct id_map m = { 0 };

	add_range(&m, owner, slice + user, 1);
	return m;
}

/* The groups of a plain directory: its own becomes the session user's, which changes places with
 * it; the others keep their numbers. A file of a group without a number could not be changed: the
 * copy in the upper layer must have one. */
static struct id_map groups_of_directory(uint32_t group, uint32_t user, uint32_t slice)
{
	uint32_t low = group < user ? group : user, high = group < user ? user : group;
	struct id_map m = { 0 };

	if (group == user || group >= IDS_WORKLOAD) {
		add_range(&m, 0, slice, user);
		add_range(&m, group, slice + user, 1);
		add_range(&m, user + 1, slice + user + 1, IDS_WORKLOAD - user - 1);
		return m;
	}
	add_range(&m, 0, slice, low);
	add_range(&m, low, slice + high, 1);
	add_range(&m, low + 1, slice + low + 1, high - low - 1);
	add_range(&m, high, slice + low, 1);
	add_range(&m, high + 1, slice + high + 1, IDS_WORKLOAD - high - 1);
	return m;
}

static bool wants_owner(const struct plan *p)
{
	for (unsigned i = 0; i < p->n_mounts; i++)
		for (unsigned j = 0; j < p->mounts[i].n_lower; j++)
			if (p->mounts[i].lower_ids_each[j] == MOUNT_IDS_OWNER)
				return true;
	return false;
}

/* Whose is what the workspace is made of? */
static int workspace_owner(const struct launch *l, uid_t *uid, gid_t *gid, struct err *e)
{
	struct stat st;

	*uid = l->base.owner;
	*gid = l->base.group;
	if (l->plan->request->kind != WORKSPACE_DIR)
		return 0;
	if (stat(l->plan->request->path, &st) < 0)
		return err_errno(e, "'%s'", l->plan->request->path);
	*uid = st.st_uid;
	*gid = st.st_gid;
	return 0;
}

static int owner_maps(struct launch *l, struct id_map *uids, struct id_map *gids, struct err *e)
{
	const struct inside *in = &l->inside;
	uid_t owner;
	gid_t group;

	if (workspace_owner(l, &owner, &group, e) < 0)
		return -e->code;
	*uids = owner_alone(owner, in->session_uid, in->session_uids.range[0].outside);
	if (l->plan->request->kind == WORKSPACE_DIR)
		*gids = groups_of_directory(group, in->session_gid,
					    in->session_gids.range[0].outside);
	else
		*gids = owner_alone(group, in->session_gid, in->session_gids.range[0].outside);
	return 0;
}

int stage_ids_up(struct launch *l, struct err *e)
{
	struct ids_userns *session = &l->userns[0], *owner = &l->userns[1];
	unsigned n = wants_owner(l->plan) ? 2 : 1;
	struct inside *in = &l->inside;
	struct id_map uids, gids;
	autoclose int proc = -1;

	if (l->plan->ids != IDS_ROOT)
		return 0; /* the child makes its own, in the namespace that it is cloned into */
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return err_errno(e, "open '/proc'");
	session->uids = &in->session_uids;
	session->gids = &in->session_gids;
	if (n > 1 && owner_maps(l, &uids, &gids, e) < 0)
		return -e->code;
	owner->uids = &uids;
	owner->gids = &gids;
	if (ids_make(proc, l->userns, n, in->init_uid, e) < 0)
		return -e->code;
	in->userns = session->fd;
	in->owner_userns = n > 1 ? owner->fd : -1;
	return 0;
}

/* Field 22 of its stat: with the pid, a name that no other process ever has. 0 where it is gone. */
static uint64_t start_time(pid_t pid)
{
	autobuf struct buf text = { 0 };
	unsigned long long ticks = 0;
	struct err e = { 0 };
	const char *after;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (io_read_file(AT_FDCWD, path, 4096, &text, &e) < 0)
		return 0;
	/* The name, in brackets, may hold anything: count from the last one. */
	after = strrchr(buf_str(&text), ')');
	if (!after ||
	    sscanf(after + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &ticks) != 1)
		return 0;
	return ticks;
}

static int fill_inside(struct launch *l, struct err *e)
{
	struct inside *in = &l->inside;

	in->program = program_open("executor", e);
	if (in->program < 0 || gate_new(&l->gate, &in->gate, e) < 0 ||
	    ctl_pair(&l->ctl, &in->ctl, e) < 0)
		return -e->code;
	in->gate_host = l->gate;
	in->mounts = l->plan->mounts;
	in->n_mounts = l->plan->n_mounts;
	in->hostname = l->plan->hostname;
	in->die_with_parent = !l->stays;
	in->lock = l->stays ? l->session->lock : -1;
	in->group_v2 = l->cgroup.dir >= 0;
	return 0;
}

int stage_clone_up(struct launch *l, struct err *e)
{
	struct inside *in = &l->inside;

	if (fill_inside(l, e) < 0 || spawn(in, l->cgroup.dir, &l->pid, &l->pidfd, e) < 0)
		return -e->code;
	/* The child has its own. What the layers were opened by would keep them on the disk when they
	 * are removed, and make the last close pay for that. */
	drop_fd(&in->gate);
	drop_fd(&in->ctl);
	drop_fd(&in->program);
	overlay_close(l->plan);
	if (session_note(l->session, e, "init %d %llu", l->pid,
			 (unsigned long long)start_time(l->pid)) < 0)
		return -e->code;
	return idmap_write(in, l->pid, e);
}

static void wait_for_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	/* A signal to us does not shorten it; the time is an estimate, not a promise. */
	while (poll(&p, 1, KILL_WAIT_MS) < 0 && errno == EINTR)
		;
}

int lifecycle_init_open(const struct record *r, struct err *e)
{
	autoclose int pidfd = -1;

	if (!r->init_pid)
		return err_code(e, ESRCH, "session %s has no process", r->id);
	pidfd = pidfd_open(r->init_pid, 0);
	if (pidfd < 0)
		return err_errno(e, "open process %d", r->init_pid);
	/* Asked after the descriptor was opened: what it names cannot change any more. */
	if (start_time(r->init_pid) != r->init_start)
		return err_code(e, ESRCH, "process %d is another one by now", r->init_pid);
	return take_fd(&pidfd);
}

int lifecycle_kill(const struct record *r, struct err *e)
{
	autoclose int pidfd = lifecycle_init_open(r, e);
	siginfo_t info;

	if (pidfd < 0)
		return pidfd == -ESRCH ? 0 : pidfd;
	if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return err_errno(e, "kill process %d", r->init_pid);
	freeze_let_die(r);
	wait_for_end(pidfd);
	/* Ours, unless its supervisor is long dead. */
	(void)waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
	return 0;
}

int stage_clone_down(const struct ending *x, struct err *e)
{
	return lifecycle_kill(x->record, e);
}

static void fill_boot(struct launch *l, int filter, struct ctl_boot *b)
{
	const struct plan *p = l->plan;

	*b = (struct ctl_boot) {
		.exit_on_eof = !l->stays,
		.root_allowed = p->policy->root_allowed,
		.as_root = p->as_root,
		.shell_early = p->request->shell_early,
		.root_caps = p->policy->root_caps,
		.single_id = p->ids == IDS_SINGLE,
		.server_uid = idmap_server_uid(&l->inside),
		.server_gid = idmap_server_gid(&l->inside),
		.user = { p->policy->user.name, p->policy->user.home, p->user.shell,
			  p->policy->user.uid, p->policy->user.gid },
		.workspace = p->cwd,
		.env = p->env,
		.nofile = p->limits.nofile,
		.fsize_bytes = p->limits.fsize_bytes,
		.filter = filter,
		.n_work_groups = l->cgroup.n_work_tasks,
		.work_group_dir = l->cgroup.work_dir,
		.n_leaves = l->cgroup.n_leaves,
		.leaf_memory = cgroup_leaf_memory(&p->limits),
		.leaf_pids = cgroup_leaf_pids(&p->limits),
		.cpu_milli = p->limits.cpu_milli,
		.way_out = p->net != NET_NONE,
		.filter_tells = l->stays && filter_lets_send(filter),
		.n_listeners = l->n_listeners,
		.n_publish = l->n_publish,
	};
	memcpy(b->id, l->session->record.id, sizeof(l->session->record.id));
	memcpy(b->key, l->session->record.key, sizeof(b->key));
	memcpy(b->work_groups, l->cgroup.work_tasks, sizeof(b->work_groups));
	memcpy(b->leaves, l->cgroup.leaves, sizeof(b->leaves));
	memcpy(b->above, l->cgroup.above, sizeof(b->above));
	for (unsigned i = 0; i < l->n_listeners; i++)
		b->listeners[i] = l->listeners[i];
	for (unsigned i = 0; i < l->n_publish; i++)
		b->publish[i] = (struct ctl_publish) { l->publish[i].fd, l->publish[i].inside };
	/* A session with a supervisor has its deadline from there, to the millisecond. */
	if (l->stays && p->limits.timeout_ms != LIMIT_NONE)
		b->deadline_ms = p->limits.timeout_ms;
}

/* To a child that may have failed by now: then what it said counts. */
static int send_orders(const struct launch *l, const struct ctl_message *m, struct err *e)
{
	int r = ctl_send(l->ctl, m, e);

	return r == -EPIPE ? gate_answer(l->gate, 0, e) : r;
}

int stage_boot_up(struct launch *l, struct err *e)
{
	struct ctl_message m = { .kind = CTL_BOOT };
	autoclose int filter = -1, cache = fs_mkdir_open(l->state, "cache", 0700, e);
	int r;

	if (cache < 0 ||
	    filter_bytes(l->plan->policy, l->plan->ids == IDS_SINGLE, cache, &filter, e) < 0)
		return -e->code;
	fill_boot(l, filter, &m.boot);
	r = send_orders(l, &m, e);
	explicit_bzero(m.boot.key, sizeof(m.boot.key));
	if (r < 0 || !l->command)
		return r;
	m = (struct ctl_message) { .kind = CTL_START };
	if (l->command(l, &m.start, e) < 0)
		return -e->code;
	return send_orders(l, &m, e);
}

/* While the child works we would only wait; what it answers ends that. */
static void use_the_time(struct launch *l)
{
	struct err e = { 0 };

	ids_reap(l->userns, ARRAY_LEN(l->userns));
	if (spare_tidy(l->state, l->gate, &e) < 0)
		log_debug("%s", e.text);
}

int stage_go_up(struct launch *l, struct err *e)
{
	_Static_assert(GATE_FDS_MAX >= 2 + ARRAY_LEN(l->cgroup.tasks), "all may go at once");
	int fds[GATE_FDS_MAX];
	unsigned n = 0;

	/* In the order in which the child takes them. */
	if (l->netns.fd >= 0)
		fds[n++] = l->netns.fd;
	if (l->netns.listener >= 0)
		fds[n++] = l->netns.listener;
	for (unsigned i = 0; i < l->cgroup.n_tasks; i++)
		fds[n++] = l->cgroup.tasks[i];
	if (gate_go(l->gate, fds, n, e) < 0)
		return -e->code;
	/* A copy of ours would keep the network after the session's end. */
	netns_close(&l->netns);
	use_the_time(l);
	if (gate_answer(l->gate, ANSWER_MS, e) < 0)
		return -e->code;
	drop_fd(&l->gate);
	return 0;
}
