/* SPDX-License-Identifier: MIT */
/* inside_demo.c - drive the clone and the steps inside by hand, without a plan or a session.
 *
 *	inside_demo root|subids|single DIR PROGRAM [fail TARGET | bench COUNT]
 *
 * Makes layers in DIR, clones, and prints what PROGRAM says over the control socket. `fail` puts a
 * mount that cannot work at the end of the plan; `bench` repeats the start and prints times. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "launch/idmap.h"
#include "launch/netns.h"
#include "launch/spawn.h"
#include "sandbox/ctl.h"
#include "sandbox/gate.h"

#define SLICE 0x7fff0000u /* the last of the slots: no session of this machine gets there */
#define STEPS_MAX 80

struct demo {
	struct inside in;
	struct mount_step steps[STEPS_MAX];
	int dir;
	uid_t owner; /* of the workspace's base */
};

struct row {
	enum mount_kind kind;
	const char *target, *source;
	unsigned flags;
	uint64_t size_bytes;
	mode_t mode;
};

static const struct row rows[] = {
	{ MOUNT_TMPFS, "/tmp", NULL, 0, 1 << 20, 01777 },
	{ MOUNT_TMPFS, "/run", NULL, 0, 1 << 20, 0755 },
	{ MOUNT_DIR, "/run/lock", NULL, 0, 0, 01777 },
	{ MOUNT_TMPFS, "/dev", NULL, MOUNT_DEV | MOUNT_NOEXEC, 1 << 16, 0755 },
	{ MOUNT_BIND, "/dev/null", "/dev/null", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/zero", "/dev/zero", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/full", "/dev/full", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/random", "/dev/random", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/urandom", "/dev/urandom", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_BIND, "/dev/tty", "/dev/tty", MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_DEVPTS, "/dev/pts", NULL, MOUNT_DEV | MOUNT_NOEXEC, 0, 0620 },
	{ MOUNT_SYMLINK, "/dev/ptmx", "pts/ptmx", 0, 0, 0 },
	{ MOUNT_SYMLINK, "/dev/fd", "/proc/self/fd", 0, 0, 0 },
	{ MOUNT_MQUEUE, "/dev/mqueue", NULL, MOUNT_NOEXEC, 0, 01777 },
	{ MOUNT_TMPFS, "/dev/shm", NULL, MOUNT_NOEXEC, 1 << 20, 01777 },
	{ MOUNT_PROC, "/proc", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/sys", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/bus", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/fs", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_READONLY, "/proc/irq", NULL, MOUNT_NOEXEC, 0, 0 },
	{ MOUNT_MASK, "/proc/acpi", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/kallsyms", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/kcore", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/keys", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/sysrq-trigger", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/timer_list", NULL, 0, 0, 0 },
	{ MOUNT_MASK, "/proc/not-on-any-kernel", NULL, 0, 0, 0 },
	{ MOUNT_READONLY, "/dev", NULL, MOUNT_DEV | MOUNT_NOEXEC, 0, 0 },
};

static void die(const struct err *e)
{
	printf("error %d %s\n", e->code, e->text);
	exit(1);
}

static void die_errno(const char *what)
{
	struct err e;

	(void)err_errno(&e, "demo: %s", what);
	die(&e);
}

static int dir_make(int at, const char *name, uid_t uid, gid_t gid)
{
	int fd;

	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		die_errno(name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (geteuid() == 0 && fchown(fd, uid, gid) < 0))
		die_errno(name);
	return fd;
}

static void file_make(int at, const char *name, const char *text, uid_t owner)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 ||
	    (geteuid() == 0 && fchown(fd, owner, owner) < 0))
		die_errno(name);
	close(fd);
}

/* As root: host ids; else the caller alone may own a file. */
static uid_t seen(const struct demo *d, uint32_t inside)
{
	uint32_t id = 0;

	return d->in.mode == IDS_ROOT && ids_outside(&d->in.session_uids, inside, &id) ? id : 0;
}

static struct mount_step *step_add(struct demo *d, enum mount_kind kind, const char *target)
{
	struct mount_step *s = &d->steps[d->in.n_mounts++];

	*s = (struct mount_step) { .kind = kind, .target = target, .upper = -1, .work = -1 };
	memset(s->lower, -1, sizeof(s->lower));
	return s;
}

/* A stock 6.1 maps no ids of tmpfs or 9p. */
static bool can_map_ids(int fd, int userns)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns };
	autoclose int mount =
		open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	return mount >= 0 && mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0;
}

static void lower_add(const struct demo *d, struct mount_step *s, int fd, enum mount_ids ids)
{
	if (d->in.userns < 0 || !can_map_ids(fd, d->in.userns))
		ids = MOUNT_IDS_PLAIN;
	s->lower[s->n_lower] = fd;
	s->lower_ids_each[s->n_lower++] = (unsigned char)ids;
}

static struct mount_step *overlay_add(struct demo *d, const char *target, const char *layer,
				      uid_t owner)
{
	struct mount_step *s = step_add(d, MOUNT_OVERLAY, target);
	char name[64];

	s->flags = MOUNT_VOLATILE;
	(void)snprintf(name, sizeof(name), "%s.upper", layer);
	s->upper = dir_make(d->dir, name, owner, owner);
	(void)snprintf(name, sizeof(name), "%s.work", layer);
	s->work = dir_make(d->dir, name, owner, owner);
	return s;
}

static void bind_add(struct demo *d, const char *target, const char *source, unsigned flags)
{
	struct mount_step *s = step_add(d, MOUNT_BIND, target);

	s->source = source;
	s->flags = flags;
	lower_add(d, s, open(source, O_PATH | O_CLOEXEC), MOUNT_IDS_PLAIN);
}

static void skeleton_fill(int skeleton)
{
	static const char *const dirs[] = {
		"usr", "workspace", "tmp", "run", "dev", "proc", "etc"
	};
	static const char *const links[] = { "bin", "lib", "lib64", "sbin" };
	char text[32];

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		close(dir_make(skeleton, dirs[i], 0, 0));
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		(void)snprintf(text, sizeof(text), "usr/%s", links[i]);
		if (symlinkat(text, skeleton, links[i]) < 0 && errno != EEXIST)
			die_errno(text);
	}
}

/* As root and where its ids can be mapped, the session may write to it. */
static void usr_add(struct demo *d)
{
	int usr = open("/usr", O_PATH | O_CLOEXEC);
	bool mapped = d->in.userns >= 0 && can_map_ids(usr, d->in.userns);
	struct mount_step *s;

	printf("demo /usr %s\n", mapped ? "mapped" : "read-only");
	if (!mapped) {
		bind_add(d, "/usr", "/usr", MOUNT_RO);
		return;
	}
	s = step_add(d, MOUNT_OVERLAY, "/usr");
	s->layer = "usr";
	s->flags = MOUNT_SCRATCH | MOUNT_VOLATILE;
	lower_add(d, s, usr, MOUNT_IDS_SESSION);
}

static void layers_add(struct demo *d)
{
	int skeleton = dir_make(d->dir, "skeleton", 0, 0),
	    base = dir_make(d->dir, "base", d->owner, d->owner);
	struct mount_step *s;

	skeleton_fill(skeleton);
	file_make(base, "file", "text\n", d->owner);
	close(dir_make(base, "dir", d->owner, d->owner));
	s = overlay_add(d, "/", "root", seen(d, 0));
	lower_add(d, s, skeleton, MOUNT_IDS_SESSION);
	usr_add(d);
	s = overlay_add(d, "/workspace", "workspace", seen(d, 1000));
	lower_add(d, s, base, MOUNT_IDS_OWNER);
}

static void rows_add(struct demo *d)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		struct mount_step *s;

		if (r->kind == MOUNT_BIND) {
			bind_add(d, r->target, r->source, r->flags);
			continue;
		}
		s = step_add(d, r->kind, r->target);
		s->source = r->source;
		s->flags = r->flags;
		s->size_bytes = r->size_bytes;
		s->mode = r->mode;
	}
}

static enum ids_mode mode_of(const char *name)
{
	return str_eq(name, "root") ? IDS_ROOT : str_eq(name, "subids") ? IDS_SUBIDS : IDS_SINGLE;
}

/* The caller's first range, by his number, as the stage of the live tests writes it. */
static struct id_range range_of(const char *file, uid_t uid)
{
	struct id_range r = { 0 };
	unsigned owner, first, count;
	FILE *f = fopen(file, "re");

	while (f && !r.count && fscanf(f, "%u:%u:%u\n", &owner, &first, &count) == 3)
		if (owner == uid)
			r = (struct id_range) { 0, first, count };
	if (f)
		fclose(f);
	return r;
}

static void namespaces_make(struct demo *d)
{
	struct id_map owner = { .n = 1, .range = { { d->owner, SLICE + 1000, 1 } } };
	struct ids_userns ns[2] = { { .uids = &d->in.session_uids, .gids = &d->in.session_gids },
				    { .uids = &owner, .gids = &owner } };
	int proc = open("/proc", O_PATH | O_CLOEXEC);
	struct err e = { 0 };

	if (d->in.mode != IDS_ROOT)
		return;
	if (ids_make(proc, ns, 2, d->in.init_uid, &e) < 0)
		die(&e);
	ids_reap(ns, 2);
	d->in.userns = ns[0].fd;
	d->in.owner_userns = ns[1].fd;
	close(proc);
}

static void demo_fill(struct demo *d, const char *mode, const char *dir, const char *program)
{
	struct host host = { .uid = getuid(),
			     .gid = getgid(),
			     .sub_uids = range_of("/etc/subuid", getuid()),
			     .sub_gids = range_of("/etc/subgid", getuid()) };
	struct policy_user user = { .name = (char *)"openhands", .uid = 1000, .gid = 0 };
	struct err e = { 0 };

	d->in = (struct inside) { .userns = -1,
				  .owner_userns = -1,
				  .lock = -1,
				  .hostname = "sandbox",
				  .die_with_parent = true,
				  .mounts = d->steps };
	if (idmap_layout(mode_of(mode), SLICE, &host, &user, &d->in, &e) < 0)
		die(&e);
	d->owner = d->in.mode == IDS_ROOT ? 4321 : 0;
	d->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d->in.program = open(program, O_PATH | O_CLOEXEC);
	if (d->dir < 0 || d->in.program < 0)
		die_errno(dir);
	namespaces_make(d);
	layers_add(d);
	rows_add(d);
}

struct start {
	pid_t pid;
	int pidfd, gate, ctl;
};

static int go(struct demo *d, int gate, struct err *e)
{
	__attribute__((cleanup(netns_close))) struct netns n = NETNS_NONE;

	if (d->in.mode != IDS_ROOT)
		return gate_go(gate, NULL, 0, e);
	if (netns_new(&d->in.net, &n, e) < 0 || netns_configure(&n, &d->in.net, e) < 0)
		return -e->code;
	return gate_go(gate, &n.fd, 1, e);
}

/* The host's side, as the launcher does it. */
static int demo_start(struct demo *d, struct start *s, struct err *e)
{
	if (gate_new(&s->gate, &d->in.gate, e) < 0 || ctl_pair(&s->ctl, &d->in.ctl, e) < 0)
		return -e->code;
	d->in.gate_host = s->gate;
	if (spawn(&d->in, -1, &s->pid, &s->pidfd, e) < 0)
		return -e->code;
	close(d->in.gate);
	close(d->in.ctl);
	if (idmap_write(&d->in, s->pid, e) < 0 || go(d, s->gate, e) < 0)
		return -e->code;
	return gate_answer(s->gate, 10000, e);
}

static void demo_end(struct start *s)
{
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
	close(s->gate);
	close(s->ctl);
	close(s->pidfd);
}

static void listen_to(int ctl)
{
	char text[4096];
	ssize_t n;

	while ((n = recv(ctl, text, sizeof(text) - 1, 0)) > 0) {
		text[n] = '\0';
		puts(text);
		if (str_eq(text, "end"))
			return;
	}
	puts("it ended without an end");
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Every start of a session has layers that nobody used before. */
static void layers_renew(struct demo *d, unsigned round)
{
	for (unsigned i = 0; i < d->in.n_mounts; i++) {
		struct mount_step *s = &d->steps[i];
		char name[64];

		if (s->upper < 0)
			continue;
		close(s->upper);
		close(s->work);
		(void)snprintf(name, sizeof(name), "upper-%u.%u", i, round);
		s->upper = dir_make(d->dir, name, seen(d, 0), seen(d, 0));
		(void)snprintf(name, sizeof(name), "work-%u.%u", i, round);
		s->work = dir_make(d->dir, name, seen(d, 0), seen(d, 0));
	}
}

static void bench(struct demo *d, unsigned count)
{
	double *times = calloc(count, sizeof(*times));
	struct err e = { 0 };

	for (unsigned i = 0; times && i < count; i++) {
		struct start s;
		double from;

		layers_renew(d, i);
		from = now_us();
		if (demo_start(d, &s, &e) < 0)
			die(&e);
		times[i] = now_us() - from;
		demo_end(&s);
	}
	if (!times)
		die_errno("bench");
	qsort(times, count, sizeof(*times), by_size);
	printf("clone to exec, us: p10 %.0f p50 %.0f p90 %.0f p99 %.0f\n", times[count / 10],
	       times[count / 2], times[count * 9 / 10], times[count * 99 / 100]);
	free(times);
}

int main(int argc, char **argv)
{
	static struct demo d;
	struct err e = { 0 };
	struct start s;

	if (argc != 4 && argc != 6)
		return 2;
	(void)umask(022);
	demo_fill(&d, argv[1], argv[2], argv[3]);
	if (argc == 6 && str_eq(argv[4], "bench")) {
		bench(&d, (unsigned)atoi(argv[5]));
		return 0;
	}
	if (argc == 6)
		step_add(&d, MOUNT_BIND, argv[5]); /* of nothing: cannot work */
	if (demo_start(&d, &s, &e) < 0)
		die(&e);
	listen_to(s.ctl);
	demo_end(&s);
	return 0;
}
