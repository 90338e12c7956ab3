/* SPDX-License-Identifier: MIT */
/* host.c - what this host offers, read once and cheaply: no process is started, nothing is tried.
 * What only trying finds out is `ohsandbox doctor`'s business. */
#include "plan/host.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "plan/host_parts.h"

#define HOST_FILE_MAX ((size_t)4 << 20)

#define CAP(n) (UINT64_C(1) << (n))

/* What a start as root does with the host's power: ids of a slice, mounts, groups, their undoing. */
static const uint64_t caps_of_root = CAP(CAP_SYS_ADMIN) | CAP(CAP_SETUID) | CAP(CAP_SETGID) |
				     CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_FOWNER) |
				     CAP(CAP_KILL) | CAP(CAP_MKNOD);

int host_file(const struct host_source *s, const char *path, struct buf *out, struct err *e)
{
	autoclose int fd =
		openat(s->root, path + strspn(path, "/"), O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR
			       ? 0
			       : err_errno(e, "host: open %s", path);
	if (io_read_all(fd, HOST_FILE_MAX, out, e) < 0)
		return err_wrap(e, "host: %s", path);
	return 0;
}

/* A user namespace around us that maps fewer ids than there are is not the host's: root there has
 * no slices to give. */
static bool has_all_ids(const struct host_source *s)
{
	autobuf struct buf map = { 0 };
	struct err ignored = { 0 };
	unsigned long inside, outside, count;

	return host_file(s, "proc/self/uid_map", &map, &ignored) == 0 &&
	       sscanf(buf_str(&map), "%lu %lu %lu", &inside, &outside, &count) == 3 &&
	       inside == 0 && outside == 0 && count == UINT32_MAX;
}

static int read_kernel(const struct host_source *s, struct host *h, struct err *e)
{
	if (sscanf(s->release, "%u.%u", &h->kernel_major, &h->kernel_minor) != 2)
		return err_code(e, EINVAL, "host: kernel release '%s' has no version in it",
				s->release);
	return 0;
}

static int read_ids(const struct host_source *s, struct host *h, struct err *e)
{
	int ranges;

	if (host_read_user(s, h, e) < 0)
		return -e->code;
	h->ids = IDS_ROOT;
	if (h->privileged)
		return 0;
	ranges = host_read_subids(s, h, e);
	if (ranges < 0)
		return -e->code;
	h->ids = ranges ? IDS_SUBIDS : IDS_SINGLE;
	return 0;
}

static int fill(const struct host_source *s, struct host *h, struct err *e)
{
	h->uid = s->uid;
	h->gid = s->gid;
	h->memory_bytes = s->memory_bytes;
	h->swap_bytes = s->swap_bytes;
	h->nofile_max = s->nofile_max;
	h->cpus = s->cpus;
	h->without_pidfds = s->without_pidfds;
	h->state_dir = str_dup(s->state_dir, e);
	if (!h->state_dir || read_kernel(s, h, e) < 0)
		return -e->code;
	h->privileged = s->uid == 0 && (s->caps & caps_of_root) == caps_of_root && has_all_ids(s);
	h->net_admin = h->privileged && (s->caps & CAP(CAP_NET_ADMIN));
	h->user_namespaces = host_read_userns(s, h->privileged);
	host_read_dirs(s, h);
	if (read_ids(s, h, e) < 0 || host_read_groups(s, h, e) < 0)
		return -e->code;
	return host_read_git(s, h, e);
}

int host_read(const struct host_source *s, struct host **out, struct err *e)
{
	struct host *h = calloc(1, sizeof(*h));

	if (!h)
		return err_code(e, ENOMEM, "host: no memory");
	if (fill(s, h, e) < 0) {
		host_free(h);
		return -e->code;
	}
	*out = h;
	return 0;
}

/* By the system call: this needs no more of libcap than two words. */
static int effective_caps(uint64_t *caps, struct err *e)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return err_errno(e, "host: read our capabilities");
	*caps = data[0].effective | (uint64_t)data[1].effective << 32;
	return 0;
}

/* Every kernel that is new enough has them; a filter around us may not let them through. */
static bool refuses_pidfds(void)
{
	autoclose int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return self < 0 || syscall(SYS_pidfd_send_signal, self, 0, NULL, 0) < 0;
}

static int read_system(struct host_source *s, struct err *e)
{
	struct rlimit nofile;
	struct sysinfo info;
	cpu_set_t cpus;

	if (sysinfo(&info) < 0 || getrlimit(RLIMIT_NOFILE, &nofile) < 0)
		return err_errno(e, "host: read the size of this machine");
	s->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
	s->swap_bytes = (uint64_t)info.totalswap * info.mem_unit;
	s->nofile_max = nofile.rlim_max;
	/* More CPUs than the set holds is an error; then any number is as good. */
	s->cpus = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus)
								 : 1024;
	s->without_pidfds = refuses_pidfds();
	return effective_caps(&s->caps, e);
}

int host_probe(const char *state_dir, struct host **out, struct err *e)
{
	autoclose int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct host_source s = { .root = root,
				 .uid = geteuid(),
				 .gid = getegid(),
				 .home = getenv("HOME"),
				 .state_dir = state_dir };
	struct utsname name;

	if (root < 0 || uname(&name) < 0)
		return err_errno(e, "host: open /");
	s.release = name.release;
	if (read_system(&s, e) < 0)
		return -e->code;
	return host_read(&s, out, e);
}

int host_freezer(char **parent, struct err *e)
{
	autoclose int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct host_source s = { .root = root };

	return root < 0 ? err_errno(e, "host: open /") : host_read_freezer(&s, parent, e);
}

void host_free(struct host *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < CONTROLLER_COUNT; i++)
		free(h->controller[i].parent);
	free(h->state_dir);
	free(h->user_name);
	free(h->home);
	free(h->git_name);
	free(h->git_email);
	free(h);
}
