/* SPDX-License-Identifier: MIT */
/* doctor_host.c - ids, state, control groups, programs: what an administrator set up. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/str.h"
#include "cli/doctor.h"
#include "session/program.h"
#include "session/session.h"
#include "session/spare.h"

#define STATE_BYTES_MIN ((uint64_t)1 << 30)

static void look_ids(const struct doctor *d, struct finding *f)
{
	const struct host *h = d->host;

	if (h->ids == IDS_ROOT) {
		finding_fine(f, "root: a slice of 65536 ids for every session");
		return;
	}
	if (h->ids == IDS_SUBIDS) {
		finding_fine(f, "%u from %u, by newuidmap", h->sub_uids.count, h->sub_uids.outside);
		return;
	}
	finding_lack(
		f, VERDICT_LESS,
		"executor and workload share one id: filters alone keep them apart, --user chooses "
		"which user a session has, and packages that bring users cannot be installed",
		"user %s has none to map", h->user_name);
	if (access("/usr/bin/newuidmap", X_OK) < 0)
		finding_cure(
			f,
			"apt-get install uidmap; usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s",
			h->user_name);
	else
		finding_cure(f,
			     "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s",
			     h->user_name);
}

/* Directories of ended sessions, which `clean` removes. */
static int spares(const struct doctor *d)
{
	struct err e;
	int n = d->state >= 0 ? spare_count(d->state, &e) : 0;

	return n < 0 ? 0 : n; /* that a directory cannot be read the check itself says */
}

static void look_state(const struct doctor *d, struct finding *f)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (d->state < 0) {
		finding_lack(f, VERDICT_FATAL,
			     "no session: its record and its layers have no place", "%s",
			     d->state_error.text);
		finding_cure(f, "OHS_STATE_DIR=DIR with a directory of yours of mode 0700");
		return;
	}
	if (fstatvfs(d->state, &fs) < 0) {
		finding_lack(f, VERDICT_LESS, "its free space is not known", "%s: %s",
			     d->host->state_dir, strerror(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes >= STATE_BYTES_MIN && fs.f_favail > 10000) {
		finding_fine(f, "%s, %" PRIu64 " MiB free, %d empty directories kept for sessions",
			     d->host->state_dir, free_bytes >> 20, spares(d));
		return;
	}
	finding_lack(f, VERDICT_LESS, "sessions will soon fail with a full disk",
		     "%s has %" PRIu64 " MiB and %" PRIu64 " inodes left", d->host->state_dir,
		     free_bytes >> 20, (uint64_t)fs.f_favail);
	finding_cure(f, "ohsandbox clean --cache, or OHS_STATE_DIR=DIR on a bigger disk");
}

static const char *group_cure(const struct host *h, const struct host_controller *c)
{
	if (!h->privileged && c->parent && !c->v2)
		return "run ohsandbox as root: a hierarchy of version 1 is not given to users";
	if (!h->privileged)
		return "systemd-run --user --scope -p Delegate=yes ohsandbox ..., or run ohsandbox as root";
	if (!c->parent)
		return "mount the controller: mount -t cgroup2 none /sys/fs/cgroup";
	return c->v2 ? "echo '+memory +pids +cpu' > /sys/fs/cgroup/cgroup.subtree_control"
		     : "mount the hierarchy writable";
}

static void look_controller(const struct doctor *d, enum controller which, const char *means,
			    struct finding *f)
{
	const struct host_controller *c = &d->host->controller[which];

	if (c->usable) {
		finding_fine(f, "cgroup v%d, groups are made below %s", c->v2 ? 2 : 1, c->parent);
		return;
	}
	finding_lack(f, VERDICT_LESS, means, "%s%s",
		     c->parent ? "no group can be made in " : "not to be found",
		     c->parent ? c->parent : "");
	finding_cure(f, "%s", group_cure(d->host, c));
}

static void look_memory(const struct doctor *d, struct finding *f)
{
	look_controller(d, CONTROLLER_MEMORY, "no memory limit: a session can use up the host's",
			f);
}

static void look_pids(const struct doctor *d, struct finding *f)
{
	look_controller(d, CONTROLLER_PIDS,
			"no limit of processes: a fork bomb reaches the host's table", f);
}

static void look_cpu(const struct doctor *d, struct finding *f)
{
	look_controller(d, CONTROLLER_CPU, "no CPU limit: --cpus is refused", f);
}

static void look_swap(const struct doctor *d, struct finding *f)
{
	if (d->host->swap_bytes == 0) {
		finding_fine(f, "the host has none");
		return;
	}
	if (d->host->controller[CONTROLLER_MEMORY].usable &&
	    d->host->controller[CONTROLLER_MEMORY].swap) {
		finding_fine(f, "is accounted for");
		return;
	}
	finding_lack(f, VERDICT_LESS, "a session out of memory swaps, and slows the host down",
		     "is not accounted for");
	finding_cure(f, "boot with swapaccount=1");
}

/* Groups of ours that no session is in. Their parent stays for the next one, until `clean`. */
static unsigned left_groups(const struct host_controller *c, char *path, size_t size)
{
	unsigned n = 0;
	DIR *dir;

	snprintf(path, size, "%s/ohsandbox", c->parent);
	dir = opendir(path);
	while (dir) {
		const struct dirent *entry = readdir(dir);

		if (!entry)
			break;
		n += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	}
	if (!dir)
		return UINT32_MAX;
	(void)closedir(dir); /* it was only read */
	return n;
}

static int count_session(const char *id, void *arg, struct err *e)
{
	(void)id;
	(void)e;
	++*(unsigned *)arg;
	return 0;
}

static void look_groups(const struct doctor *d, struct finding *f)
{
	const char *kept = NULL;
	unsigned sessions = 0;
	struct err e = { 0 };

	if (d->state >= 0 && session_each(d->state, count_session, &sessions, &e) < 0)
		sessions = 0; /* the state directory's own line says it */
	for (unsigned i = 0; sessions == 0 && i < CONTROLLER_COUNT; i++) {
		const struct host_controller *c = &d->host->controller[i];
		char path[300];
		unsigned groups;

		if (!c->parent)
			continue;
		groups = left_groups(c, path, sizeof(path));
		if (groups == 0)
			kept = c->parent;
		if (groups == UINT32_MAX || groups == 0)
			continue;
		finding_lack(f, VERDICT_LESS,
			     "ours, and of no session of this state directory; another may use it",
			     "%s with %u groups", path, groups);
		finding_cure(f, "find %s -mindepth 1 -depth -type d -exec rmdir {} +", path);
		return;
	}
	if (kept)
		finding_fine(f, "none but ohsandbox in %s and the like, which 'clean' removes",
			     kept);
	else
		finding_fine(f, "none is left over");
}

static void look_program(const char *name, enum verdict verdict, const char *means,
			 struct finding *f)
{
	struct err e = { 0 };
	autoclose int fd = program_open(name, &e);

	if (fd >= 0) {
		finding_fine(f, "is there");
		return;
	}
	finding_lack(f, verdict, means, "%s", e.text);
	finding_cure(f, "make install, or run ohsandbox out of its build tree");
}

static void look_executor(const struct doctor *d, struct finding *f)
{
	(void)d;
	look_program("executor", VERDICT_FATAL, "no session: it is the first process of each", f);
}

static void look_git(const struct doctor *d, struct finding *f)
{
	(void)d;
	look_program("git", VERDICT_FATAL,
		     "no session on a repository whose commit was not used before", f);
}

const struct check doctor_host_checks[] = {
	{ "ids", look_ids },
	{ "state directory", look_state },
	{ "memory controller", look_memory },
	{ "swap", look_swap },
	{ "pids controller", look_pids },
	{ "cpu controller", look_cpu },
	{ "left-over groups", look_groups },
	{ "ohsandbox-executor", look_executor },
	{ "ohsandbox-git", look_git },
	{ NULL, NULL },
};
