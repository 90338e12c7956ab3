/* SPDX-License-Identifier: MIT */
/* doctor_kernel.c - what the kernel can do, tried where that is the only way to know. */
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/doctor.h"

static void look_kernel(const struct doctor *d, struct finding *f)
{
	const struct host *h = d->host;

	if (h->kernel_major > 5 || (h->kernel_major == 5 && h->kernel_minor >= 12)) {
		finding_fine(f, "Linux %u.%u", h->kernel_major, h->kernel_minor);
		return;
	}
	finding_lack(f, VERDICT_FATAL, "mounts cannot be made the way sessions need",
		     "Linux %u.%u, older than 5.12", h->kernel_major, h->kernel_minor);
	finding_cure(f, "boot a newer kernel: Debian 12 and Ubuntu 22.04 have one");
}

/* Whose file system is it that a user namespace is entered for: everybody's but root's. */
static int enter(const struct host *h, int namespaces, struct err *e)
{
	autofree char *uids = str_fmt(e, "0 %u 1", h->uid);
	autofree char *gids = str_fmt(e, "0 %u 1", h->gid);

	if (unshare(namespaces | (h->privileged ? 0 : CLONE_NEWUSER)) < 0)
		return err_errno(e, "unshare");
	if (h->privileged)
		return 0;
	if (!uids || !gids || io_write_text(AT_FDCWD, "/proc/self/setgroups", "deny", e) < 0 ||
	    io_write_text(AT_FDCWD, "/proc/self/uid_map", uids, e) < 0)
		return -e->code;
	return io_write_text(AT_FDCWD, "/proc/self/gid_map", gids, e);
}

static int try_userns(const void *arg, struct err *e)
{
	(void)arg;
	return unshare(CLONE_NEWUSER) < 0 ? err_errno(e, "unshare") : 0;
}

static bool is_one(const char *path)
{
	autobuf struct buf text = { 0 };
	struct err ignored = { 0 };

	return io_read_file(AT_FDCWD, path, 4096, &text, &ignored) == 0 && buf_str(&text)[0] == '1';
}

static bool is_zero(const char *path)
{
	autobuf struct buf text = { 0 };
	struct err ignored = { 0 };

	return io_read_file(AT_FDCWD, path, 4096, &text, &ignored) == 0 && buf_str(&text)[0] == '0';
}

static void look_userns(const struct doctor *d, struct finding *f)
{
	static const char means[] =
		"no session: the workload's own user namespace is what makes its ids powerless";
	struct err e = { 0 };
	int tried = doctor_try(try_userns, NULL, &e);

	if (tried == 0 && d->host->user_namespaces) {
		finding_fine(f, "can be made");
		return;
	}
	finding_lack(f, VERDICT_FATAL, means, "cannot be made%s%s", tried < 0 ? ": " : "", e.text);
	if (is_zero("/proc/sys/user/max_user_namespaces"))
		finding_cure(f, "sysctl -w user.max_user_namespaces=15000");
	else if (is_zero("/proc/sys/kernel/unprivileged_userns_clone"))
		finding_cure(
			f,
			"sysctl -w kernel.unprivileged_userns_clone=1, or run ohsandbox as root");
	else if (is_one("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"))
		finding_cure(f, "see 'AppArmor' below, or run ohsandbox as root");
	else
		finding_cure(
			f,
			"a container or a seccomp filter around us forbids it: run ohsandbox outside of it");
}

static int try_namespaces(const void *arg, struct err *e)
{
	static const struct {
		int flag;
		const char *name;
	} all[] = {
		{ CLONE_NEWNS, "mount" }, { CLONE_NEWPID, "PID" }, { CLONE_NEWNET, "network" },
		{ CLONE_NEWIPC, "IPC" },  { CLONE_NEWUTS, "UTS" }, { CLONE_NEWCGROUP, "cgroup" },
	};

	if (enter(arg, 0, e) < 0)
		return -e->code;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (unshare(all[i].flag) < 0)
			return err_errno(e, "%s namespace", all[i].name);
	return 0;
}

static void look_namespaces(const struct doctor *d, struct finding *f)
{
	struct err e = { 0 };

	if (doctor_try(try_namespaces, d->host, &e) == 0) {
		finding_fine(f, "mount, PID, network, IPC, UTS, cgroup");
		return;
	}
	finding_lack(f, VERDICT_FATAL, "no session: each is a wall that is never left out", "%s",
		     e.text);
	finding_cure(
		f,
		"raise what 'sysctl -a --pattern user.max_' shows as 0, or use a kernel that has them");
}

static void look_apparmor(const struct doctor *d, struct finding *f)
{
	if (!is_one("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")) {
		finding_fine(f, "does not restrict user namespaces");
		return;
	}
	if (d->host->privileged) {
		finding_fine(f, "restricts user namespaces, but not root's");
		return;
	}
	finding_lack(f, d->host->user_namespaces ? VERDICT_FINE : VERDICT_FATAL,
		     "a user namespace of an unconfined program comes without capabilities",
		     "restricts user namespaces of ordinary users");
	finding_cure(
		f,
		"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or a profile with 'userns,' for ohsandbox");
}

/* Below the state directory: what its file system can is what counts. */
static int overlay_in(const struct host *h, int dir, struct err *e)
{
	char options[200];

	for (size_t i = 0; i < 4; i++)
		if (mkdirat(dir, ((const char *[]) { "lower", "upper", "work", "merged" })[i],
			    0700) < 0)
			return err_errno(e, "make a directory");
	if (fchdir(dir) < 0 || enter(h, CLONE_NEWNS, e) < 0)
		return e->code ? -e->code : err_errno(e, "enter the state directory");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(e, "make mounts private");
	snprintf(options, sizeof(options), "lowerdir=lower,upperdir=upper,workdir=work,volatile%s",
		 h->privileged ? ",redirect_dir=on" : ",userxattr");
	if (mount("overlay", "merged", "overlay", MS_NOSUID | MS_NODEV, options) < 0)
		return err_errno(e, "mount an overlay");
	return mkdir("merged/x", 0700) < 0 ? err_errno(e, "write to an overlay") : 0;
}

struct overlay_try {
	const struct doctor *d;
	int dir;
};

static int try_overlay(const void *arg, struct err *e)
{
	const struct overlay_try *t = arg;

	return overlay_in(t->d->host, t->dir, e);
}

static int overlay_works(const struct doctor *d, struct err *e)
{
	char random[17], name[32];
	struct err removal = { 0 };
	struct overlay_try t = { .d = d };
	autoclose int dir = -1;
	int ret;

	if (fs_random_hex(random, 8, e) < 0)
		return -e->code;
	snprintf(name, sizeof(name), "doctor-%s", random);
	dir = fs_mkdir_open(d->state, name, 0700, e);
	if (dir < 0)
		return dir;
	t.dir = dir;
	ret = doctor_try(try_overlay, &t, e);
	if (fs_remove_tree(d->state, name, &removal) < 0 && ret == 0) {
		*e = removal;
		ret = -e->code;
	}
	return ret;
}

static void look_overlay(const struct doctor *d, struct finding *f)
{
	struct err e = { 0 };

	if (d->state < 0) {
		finding_lack(f, VERDICT_FATAL, "it cannot be tried without a state directory",
			     "not tried");
		return;
	}
	if (overlay_works(d, &e) == 0) {
		finding_fine(f, "works in %s", d->host->state_dir);
		return;
	}
	finding_lack(f, VERDICT_FATAL, "no session: its files are layers of an overlay", "%s",
		     e.text);
	if (e.code == ENODEV)
		finding_cure(f, "modprobe overlay");
	else
		finding_cure(
			f,
			"OHS_STATE_DIR=DIR with DIR on ext4, xfs, btrfs or tmpfs, not itself on an overlay or NFS");
}

static void look_idmapped(const struct doctor *d, struct finding *f)
{
	if (!d->host->privileged) {
		finding_fine(
			f,
			"are for root; host directories are read-only inside, /usr/local and /opt fresh");
		return;
	}
	if (d->host->idmapped_mounts) {
		finding_fine(f, "of the host's directories and of the state directory");
		return;
	}
	finding_lack(f, VERDICT_LESS,
		     "host directories are read-only inside: no package can be installed",
		     "not on these file systems with this kernel");
	finding_cure(f, "OHS_STATE_DIR=DIR with DIR on ext4, xfs or btrfs; tmpfs needs Linux 6.3");
}

static int proc_inside(struct err *e)
{
	int fs = fsopen("proc", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ||
	    fsmount(fs, FSMOUNT_CLOEXEC, 0) < 0)
		return err_errno(e, "mount a /proc");
	return 0; /* this process ends, and its descriptors with it */
}

/* A PID namespace begins with the next process. */
static int try_proc(const void *arg, struct err *e)
{
	int status;
	pid_t pid;

	if (enter(arg, CLONE_NEWNS | CLONE_NEWPID, e) < 0)
		return -e->code;
	pid = fork();
	if (pid < 0)
		return err_errno(e, "fork");
	if (pid == 0)
		_exit(proc_inside(e) < 0 ? e->code : 0);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return err_code(e, ECHILD, "the child that tried it died");
	return WEXITSTATUS(status) ? err_code(e, WEXITSTATUS(status), "mount a /proc: %s",
					      strerror(WEXITSTATUS(status)))
				   : 0;
}

/* What stands over parts of /proc, for the report. */
static void masks_of_proc(char *list, size_t size)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[1024], point[512];
	size_t len = 0;

	list[0] = '\0';
	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*s %*s %*s %*s %511s", point) == 1 &&
		    str_starts(point, "/proc/") && len < size)
			len += (size_t)snprintf(list + len, size - len, " %s", point);
	if (mounts)
		(void)fclose(mounts); /* it was only read */
}

static void look_proc(const struct doctor *d, struct finding *f)
{
	struct err e = { 0 };
	char masks[120];

	if (doctor_try(try_proc, d->host, &e) == 0) {
		finding_fine(f, "a private one can be mounted");
		return;
	}
	masks_of_proc(masks, sizeof(masks));
	finding_lack(f, VERDICT_FATAL, "no session: it needs a /proc of its own processes",
		     "%s%s%s", e.text, *masks ? "; masked are" : "", masks);
	finding_cure(
		f, "%s",
		*masks ? "run ohsandbox outside of the container or unit that masks parts of /proc "
			 "(ProtectKernelTunables=, ProtectKernelLogs=, ProcSubset=)"
		       : "");
}

static void look_seccomp(const struct doctor *d, struct finding *f)
{
	static const uint32_t actions[] = { SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS };

	(void)d; /* the kernel's alone */
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[i]) < 0) {
			finding_lack(f, VERDICT_FATAL, "no session: its filter cannot be loaded",
				     "%s", strerror(errno));
			finding_cure(f, "use a kernel with CONFIG_SECCOMP_FILTER");
			return;
		}
	finding_fine(f, "filters can be loaded");
}

static void look_landlock(const struct doctor *d, struct finding *f)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	(void)d; /* the kernel's alone */
	if (version > 0) {
		finding_fine(f, "version %ld; workloads may use it", version);
		return;
	}
	finding_fine(f, "not there (%s); no wall of a session depends on it", strerror(errno));
}

const struct check doctor_kernel_checks[] = {
	{ "kernel", look_kernel },	   { "user namespaces", look_userns },
	{ "namespaces", look_namespaces }, { "AppArmor", look_apparmor },
	{ "overlay", look_overlay },	   { "idmapped mounts", look_idmapped },
	{ "private /proc", look_proc },	   { "seccomp", look_seccomp },
	{ "Landlock", look_landlock },	   { NULL, NULL },
};
