/* SPDX-License-Identifier: MIT */
/* inside.c - from clone to exec, one table of steps; see inside.h.
 *
 * As root the child starts with the host's credentials in private namespaces, and does all it can
 * while the host makes the network, whose namespace it enters when it has looked at the gate. As an ordinary user it has no
 * id at all before the host wrote its maps: the gate comes first. */
#include "sandbox/inside.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/caps.h"
#include "sandbox/fds.h"
#include "sandbox/gate.h"
#include "sandbox/limits.h"
#include "sandbox/link.h"
#include "sandbox/mount.h"

/* Those below it have names, and shells, nohup and Python ignore some. */
#define SIGRTMIN_KERNEL 32

/* What a step leaves for the next ones. */
struct walk {
	const struct inside *in;
	struct tree tree;
	struct fds fds;
	/* What the host made meanwhile, and handed over with the go. */
	int netns;		       /* as root */
	int group_tasks[GATE_FDS_MAX]; /* cgroup v1: `tasks` files to write "0" to */
	unsigned n_group_tasks;
};

/* Takes away: the host's end of the gate (or its death would never show), the caller's terminal,
 * signal dispositions and personality. */
static int step_begin(struct walk *w, struct err *e)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)close(w->in->gate_host);
	if (setsid() < 0)
		return err_errno(e, "setsid");
	for (int s = 1; s < SIGRTMIN_KERNEL; s++)
		(void)sigaction(s, &plain, NULL); /* SIGKILL and SIGSTOP refuse */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail with these arguments */
	(void)personality(PER_LINUX);
	(void)umask(0); /* modes in the plan are meant as they are */
	w->tree.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return w->tree.proc < 0 ? err_errno(e, "open /proc") : 0;
}

/* As root the network comes first, with the executor's listener in it; then ways into groups. */
static int step_go(struct walk *w, struct err *e)
{
	int n, at = 0, fds[GATE_FDS_MAX];

	n = gate_await(w->in->gate, fds, e);
	if (n == -EPIPE)
		_exit(1); /* nobody is left to be told */
	if (n < 0)
		return n;
	if (w->in->mode == IDS_ROOT && n < 1 + !!w->in->net.port)
		return err_code(e, EPROTO, "the network is missing");
	if (w->in->mode == IDS_ROOT)
		w->netns = fds[at++];
	if (w->in->mode == IDS_ROOT && w->in->net.port)
		w->fds.listener = fds[at++];
	while (at < n)
		w->group_tasks[w->n_group_tasks++] = fds[at++];
	return 0;
}

/* Needs nothing as root. As an ordinary user the caller's supplementary groups would stay, unless
 * a single id forbids setgroups: then they mean no more than what the caller could read anyway. */
static int step_own_root(struct walk *w, struct err *e)
{
	if (w->in->mode == IDS_SUBIDS && syscall(SYS_setgroups, 0, NULL) < 0)
		return err_errno(e, "drop the caller's groups");
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
		return err_errno(e, "become root of the namespace");
	return 0;
}

/* Every hierarchy must show its root, or the view would tell of the host's groups. */
static int check_groups(int proc, struct err *e)
{
	autoclose int fd = openat(proc, "self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[4096], *line, *rest = text;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return err_errno(e, "read /proc/self/cgroup");
	text[n] = '\0';
	while ((line = strsep(&rest, "\n")) && *line) {
		size_t len = strlen(line);

		if (len < 2 || strcmp(line + len - 2, ":/") != 0)
			return err_code(e, EPROTO, "the session would see '%.100s'", line);
	}
	return 0;
}

/* On v1 the child enters by itself, and only then unshares the view: the other way round it would
 * see "/../..". On v2 it was born in its group, and keeps the view: where the hierarchy is mounted
 * with nsdelegate, nobody clones into a group outside of his view, and the workload's group is
 * beside this one. Either way the workload takes a view of its own in its own group. */
static int step_groups(struct walk *w, struct err *e)
{
	for (unsigned i = 0; i < w->n_group_tasks; i++)
		if (write(w->group_tasks[i], "0", 1) != 1)
			return err_errno(e, "enter group %u", i);
	if (w->in->group_v2)
		return 0;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_errno(e, "unshare the view of groups");
	return check_groups(w->tree.proc, e);
}

/* Needs CAP_SYS_ADMIN over the mount namespace. */
static int step_mounts(struct walk *w, struct err *e)
{
	return mounts_make(&w->tree, e);
}

/* Needs CAP_SETUID, CAP_SETGID and, to map the caller's id, CAP_SETFCAP. After the pivot: whose root
 * is not that of its mount namespace is taken for chrooted, and gets no user namespace. The numbers
 * of processes are those of the session's own /proc. */
static int step_userns(struct walk *w, struct err *e)
{
	const struct inside *in = w->in;
	autoclose int proc = open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct ids_userns ns = { .uids = &in->session_uids, .gids = &in->session_gids };
	int made;

	if (proc < 0)
		return err_errno(e, "open /proc of the session");
	made = ids_make(proc, &ns, 1, in->init_uid, e);
	ids_reap(&ns, 1);
	w->fds.userns = ns.fd;
	return made;
}

/* Needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE; the host's /proc by its descriptor, since the
 * session's is read-only where the switches are. */
static int step_network(struct walk *w, struct err *e)
{
	return link_inside(&w->in->net, w->tree.proc, &w->fds.listener, e);
}

/* Needs CAP_SYS_ADMIN. */
static int step_enter_network(struct walk *w, struct err *e)
{
	if (setns(w->netns, CLONE_NEWNET) < 0)
		return err_errno(e, "enter the namespace that the host made");
	return 0;
}

/* Needs CAP_SYS_ADMIN over the UTS namespace. */
static int step_hostname(struct walk *w, struct err *e)
{
	if (sethostname(w->in->hostname, strlen(w->in->hostname)) < 0)
		return err_errno(e, "set hostname '%s'", w->in->hostname);
	return 0;
}

static int step_pivot(struct walk *w, struct err *e)
{
	return mounts_enter(&w->tree, e);
}

static int step_limits(struct walk *w, struct err *e)
{
	(void)w;
	return limits_set(e);
}

/* After mounts and network, which use many. */
static int step_fds(struct walk *w, struct err *e)
{
	return fds_arrange(&w->fds, e);
}

/* The executor forks its server first of all, with an id of its own where there is one for it, and
 * then drops these itself. It has read nothing by then. */
static uint64_t init_caps(const struct inside *in)
{
	return in->mode == IDS_SINGLE ? 0 : UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;
}

/* Needs CAP_SETPCAP. Takes none of those away that the steps before "ids" still need. */
static int step_lock_caps(struct walk *w, struct err *e)
{
	return caps_lock(init_caps(w->in), e);
}

/* Needs CAP_SETUID and CAP_SETGID, for the last time. Not dumpable from here on; exec sets that
 * anew, from the mode of the executor's file, which nobody inside can read. */
static int step_ids(struct walk *w, struct err *e)
{
	const struct inside *in = w->in;

	if (in->mode != IDS_SINGLE && syscall(SYS_setgroups, 0, NULL) < 0)
		return err_errno(e, "drop groups");
	if (syscall(SYS_setresgid, in->init_gid, in->init_gid, in->init_gid) < 0)
		return err_errno(e, "become gid %u", in->init_gid);
	if (syscall(SYS_setresuid, in->init_uid, in->init_uid, in->init_uid) < 0)
		return err_errno(e, "become uid %u", in->init_uid);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(e, "be not dumpable");
	return 0;
}

/* Who holds a keyring may read its keys, whatever his ids: the caller's stays outside. */
static int step_keyring(struct walk *w, struct err *e)
{
	(void)w;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return err_errno(e, "leave the caller's keyring");
	return 0;
}

static int step_drop_caps(struct walk *w, struct err *e)
{
	return caps_drop(init_caps(w->in), e);
}

/* After the last change of ids, which clears it; the look is for a host that died before. */
static int step_death(struct walk *w, struct err *e)
{
	if (!w->in->die_with_parent)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_errno(e, "die with the supervisor");
	return gate_check(w->fds.gate, e);
}

static int step_exec(struct walk *w, struct err *e)
{
	static char *const argv[] = { (char *)(uintptr_t) "ohsandbox-init", NULL };
	static char *const env[] = { NULL };

	(void)umask(022);
	if (gate_ready(w->fds.gate, e) < 0)
		return -e->code;
	(void)execveat(w->fds.program, "", argv, env, AT_EMPTY_PATH);
	return err_errno(e, "exec the executor");
}

enum { ROOT = 1 << IDS_ROOT, SUBIDS = 1 << IDS_SUBIDS, SINGLE = 1 << IDS_SINGLE };
enum { USER = SUBIDS | SINGLE, ALL = ROOT | USER };

static const struct {
	const char *name;
	unsigned modes;
	int (*run)(struct walk *w, struct err *e);
} steps[] = {
	{ "begin", ALL, step_begin },
	{ "go", USER, step_go },
	{ "root of the namespace", USER, step_own_root },
	{ "mounts", ALL, step_mounts },
	{ "hostname", ALL, step_hostname },
	{ "root", ALL, step_pivot },
	{ "user namespace", USER, step_userns },
	{ "limits", ALL, step_limits },
	{ "capabilities", ALL, step_lock_caps },
	{ "go", ROOT, step_go },
	{ "groups", ALL, step_groups },
	{ "network", USER, step_network },
	{ "network", ROOT, step_enter_network },
	{ "descriptors", ALL, step_fds },
	{ "ids", ALL, step_ids },
	{ "keyring", ALL, step_keyring },
	{ "capabilities", ALL, step_drop_caps },
	{ "death", ALL, step_death },
	{ "exec", ALL, step_exec },
};

void inside_main(const struct inside *in)
{
	struct walk w = {
		.in = in,
		.netns = -1,
		.tree = TREE_NONE,
		.fds = { .ctl = in->ctl,
			 .listener = -1,
			 .userns = in->userns,
			 .lock = in->lock,
			 .gate = in->gate,
			 .program = in->program },
	};
	struct err e = { 0 };

	w.tree.in = in;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (!(steps[i].modes & 1u << in->mode) || steps[i].run(&w, &e) == 0)
			continue;
		(void)err_wrap(&e, "inside: %s", steps[i].name);
		gate_fail(w.fds.gate, &e);
	}
	_exit(1); /* the last step is exec: it does not come back with success */
}
