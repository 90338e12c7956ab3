/* SPDX-License-Identifier: MIT */
/* probe.c - one attack a word, tried from inside a session.
 *
 *	probe NAME [ARG...]
 *
 * Exit status: 0 the step succeeded (an escape, or the negative control worked), 1 it was refused,
 * 2 it could not be tried at all. What was seen goes to standard output in one line. The oracle of
 * a test is on the host; this status only tells a refusal from an attempt that never happened. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { DONE = 0, REFUSED = 1, UNTRIED = 2 };

static int outcome(const char *what, long result)
{
	int error = errno;

	if (result >= 0) {
		printf("%s: succeeded\n", what);
		return DONE;
	}
	printf("%s: %s\n", what, strerror(error));
	return REFUSED;
}

static int untried(const char *what)
{
	printf("%s: cannot be tried: %s\n", what, strerror(errno));
	return UNTRIED;
}

static const char *arg(char **argv, int i, const char *fallback)
{
	for (int k = 0; k <= i; k++)
		if (!argv[k])
			return fallback;
	return argv[i];
}

/* --- namespaces and privilege ------------------------------------------------------------- */

static int probe_unshare_user(char **argv)
{
	(void)argv;
	return outcome("unshare(CLONE_NEWUSER)", unshare(CLONE_NEWUSER));
}

static int probe_clone_user(char **argv)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	(void)argv;
	if (pid == 0)
		_exit(0);
	return outcome("clone(CLONE_NEWUSER)", pid);
}

/* struct clone_args of every size the kernel knows, and longer ones padded with zeros. */
static int probe_clone3_user(char **argv)
{
	uint64_t args[16] = { CLONE_NEWUSER };
	long pid = -1;

	(void)argv;
	args[4] = SIGCHLD;
	for (size_t size = 64; size <= sizeof(args) && pid < 0; size += 8) {
		pid = syscall(SYS_clone3, args, size);
		if (pid == 0)
			_exit(0);
	}
	return outcome("clone3(CLONE_NEWUSER)", pid);
}

static int probe_setns(char **argv)
{
	int fd = open(arg(argv, 0, "/proc/1/ns/user"), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return outcome("open a namespace of pid 1", -1);
	return outcome("setns", setns(fd, 0));
}

static int probe_mount(char **argv)
{
	(void)argv;
	return outcome("mount a tmpfs", mount("x", "/mnt", "tmpfs", 0, NULL));
}

static int probe_mount_cgroup(char **argv)
{
	return outcome("mount a cgroup hierarchy",
		       mount("x", "/mnt", arg(argv, 0, "cgroup2"), 0, arg(argv, 1, NULL)));
}

static int probe_fsopen(char **argv)
{
	(void)argv;
	return outcome("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
}

static int probe_mknod(char **argv)
{
	const char *path = "/tmp/probe-device";
	long r = mknod(path, S_IFBLK | 0600, makedev(8, 0));

	(void)argv;
	if (r == 0) {
		r = open(path, O_RDONLY | O_CLOEXEC);
		(void)unlink(path);
	}
	return outcome("a block device of our own", r);
}

static int probe_settime(char **argv)
{
	struct timeval now;

	(void)argv;
	(void)gettimeofday(&now, NULL);
	return outcome("settimeofday", settimeofday(&now, NULL));
}

static int probe_hostname(char **argv)
{
	(void)argv;
	return outcome("sethostname", sethostname("owned", 5));
}

static int probe_setuid_file(char **argv)
{
	/* A file that would give root to whoever runs it, were setuid honoured here. */
	const char *path = arg(argv, 0, "/workspace/setuid-canary");
	struct stat st;

	if (chmod(path, 06755) < 0 || stat(path, &st) < 0)
		return untried("chmod 6755");
	printf("mode %o\n", st.st_mode & 07777);
	return st.st_mode & S_ISUID ? DONE : REFUSED;
}

static int probe_euid(char **argv)
{
	uid_t before = getuid();

	(void)argv;
	printf("uid %u euid %u\n", before, geteuid());
	return geteuid() != before ? DONE : REFUSED;
}

/* --- the executor -------------------------------------------------------------------------- */

static pid_t target(char **argv)
{
	return (pid_t)atoi(arg(argv, 0, "1"));
}

static int probe_ptrace(char **argv)
{
	long r = ptrace(PTRACE_SEIZE, target(argv), 0, 0);

	return outcome("ptrace seize", r);
}

static int probe_kill(char **argv)
{
	return outcome("kill -9", kill(target(argv), SIGKILL));
}

static int probe_prlimit_cpu(char **argv)
{
	struct rlimit none = { 1, 1 };

	return outcome("prlimit(RLIMIT_CPU)",
		       syscall(SYS_prlimit64, target(argv), RLIMIT_CPU, &none, NULL));
}

static int probe_priority(char **argv)
{
	return outcome("setpriority", setpriority(PRIO_PROCESS, (id_t)target(argv), 19));
}

static int probe_affinity(char **argv)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return outcome("sched_setaffinity", sched_setaffinity(target(argv), sizeof(set), &set));
}

static int probe_scheduler(char **argv)
{
	struct sched_param p = { 0 };

	return outcome("sched_setscheduler", sched_setscheduler(target(argv), SCHED_IDLE, &p));
}

static int probe_ioprio(char **argv)
{
	return outcome("ioprio_set", syscall(SYS_ioprio_set, 1, target(argv), (3 << 13) | 7));
}

static int probe_read_memory(char **argv)
{
	char bytes[16], path[64];
	struct iovec local = { bytes, sizeof(bytes) }, remote = { (void *)0x400000, sizeof(bytes) };
	pid_t pid = target(argv);
	int fd;

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0)
		return outcome("process_vm_readv", 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return outcome("its memory", fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), 0x400000));
}

static int probe_read_proc(char **argv)
{
	char path[64], bytes[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", target(argv), arg(argv, 1, "environ"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return outcome(path, fd < 0 ? -1 : read(fd, bytes, sizeof(bytes)));
}

static int probe_pidfd_getfd(char **argv)
{
	int pidfd = (int)syscall(SYS_pidfd_open, target(argv), 0);

	if (pidfd < 0)
		return outcome("pidfd_open", -1);
	for (int fd = 0; fd < 64; fd++)
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
			return outcome("pidfd_getfd", 0);
	return outcome("pidfd_getfd", -1);
}

/* Hold as many connections as one gets, each with a request that nobody allowed and that never ends. */
static int probe_crowd(char **argv)
{
	static const char head[] =
		"POST /execute_action HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n";
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fds[400], n = 0;

	a.sin_port = htons((uint16_t)atoi(arg(argv, 1, "0")));
	if (inet_pton(AF_INET, arg(argv, 0, ""), &a.sin_addr) != 1)
		return untried("address");
	for (; n < (int)(sizeof(fds) / sizeof(*fds)); n++) {
		fds[n] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fds[n], (struct sockaddr *)&a, sizeof(a));
	}
	printf("crowd: there\n");
	(void)fflush(stdout);
	for (int turn = 0; turn < 600; turn++) {
		for (int i = 0; i < n; i++)
			(void)send(fds[i], turn ? "x" : head, turn ? 1 : sizeof(head) - 1,
				   MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)usleep(100000);
	}
	return DONE;
}

static int probe_bind_port(char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return untried("socket");
	a.sin_port = htons((uint16_t)atoi(arg(argv, 1, "8000")));
	if (inet_pton(AF_INET, arg(argv, 0, "0.0.0.0"), &a.sin_addr) != 1)
		return UNTRIED;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return outcome("bind the executor's port", -1);
	return outcome("listen on the executor's port", listen(fd, 5));
}

/* Which descriptors beyond 0, 1, 2 came along, and where do they lead? */
static int probe_descriptors(char **argv)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	int found = 0;

	(void)argv;
	if (!dir)
		return untried("/proc/self/fd");
	while ((d = readdir(dir))) {
		char link[300], where[300] = "";
		int fd = atoi(d->d_name);

		if (d->d_name[0] == '.' || fd == dirfd(dir))
			continue;
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%s", d->d_name);
		if (readlink(link, where, sizeof(where) - 1) > 0 && (fd > 2 || where[0] == '/')) {
			/* A pty or a null device of the session's own is no way out. */
			if (fd <= 2 && strncmp(where, "/dev/", 5) == 0)
				continue;
			printf("%d -> %s ", fd, where);
			found++;
		}
	}
	printf("%d foreign descriptors\n", found);
	return found ? DONE : REFUSED;
}

/* --- kernel surface ------------------------------------------------------------------------ */

static int probe_socket(char **argv)
{
	int family = atoi(arg(argv, 0, "38")), type = atoi(arg(argv, 1, "0")),
	    proto = atoi(arg(argv, 2, "0"));
	long r = -1;

	if (type)
		return outcome("socket", socket(family, type, proto));
	for (int t = 1; t <= 6 && r < 0; t++)
		r = socket(family, t, proto);
	return outcome("socket", r);
}

/* Every family but those a program may have; names the first that works. */
static int probe_families(char **argv)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM };
	int found = 0;

	(void)argv;
	for (int family = 1; family < 50; family++) {
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
			bool fine = (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
				     family == AF_NETLINK) &&
				    types[t] != SOCK_RAW;

			if (fine || (family == AF_UNIX) || (family == AF_NETLINK))
				continue;
			if (socket(family, types[t], 0) >= 0) {
				printf("family %d type %d; ", family, types[t]);
				found++;
			}
		}
	}
	for (int proto = 1; proto < 32; proto++) {
		if (socket(AF_NETLINK, SOCK_RAW, proto) >= 0) {
			printf("netlink %d; ", proto);
			found++;
		}
	}
	printf("%d sockets that should not be\n", found);
	return found ? DONE : REFUSED;
}

static int probe_syscall(char **argv)
{
	long nr = atol(arg(argv, 0, "-1"));
	/* Arguments that a kernel which gets this far refuses with something else than EPERM/ENOSYS. */
	long r = syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L);

	if (r < 0 && (errno == EPERM || errno == ENOSYS || errno == EACCES))
		return outcome("system call", -1);
	printf("system call %ld reached the kernel: %s\n", nr,
	       r < 0 ? strerror(errno) : "succeeded");
	return DONE;
}

static int probe_tiocsti(char **argv)
{
	unsigned long command = strtoul(arg(argv, 0, "0x5412"), NULL, 0);
	const char *text = "touch /tmp/tiocsti-canary\n";
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return untried("/dev/tty");
	for (const char *c = text; *c; c++)
		if (syscall(SYS_ioctl, fd, command, c) < 0)
			return outcome("TIOCSTI", -1);
	return outcome("TIOCSTI", 0);
}

static int probe_core_limit(char **argv)
{
	struct rlimit zero = { 0, 0 };

	(void)argv;
	return outcome("setrlimit(RLIMIT_CORE)", setrlimit(RLIMIT_CORE, &zero));
}

static int probe_open(char **argv)
{
	const char *how = arg(argv, 1, "r");
	int flags = *how == 'w' ? O_WRONLY : O_RDONLY;
	char bytes[64];
	int fd = open(arg(argv, 0, "/proc/kcore"), flags | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return outcome(argv[0], -1);
	if (flags == O_WRONLY)
		return outcome(argv[0], 0);
	if (read(fd, bytes, sizeof(bytes)) <= 0) {
		printf("%s: empty\n", argv[0]);
		return REFUSED;
	}
	return outcome(argv[0], 0);
}

/* --- network ------------------------------------------------------------------------------- */

static int probe_connect(char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct timeval wait = { 2, 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return untried("socket");
	a.sin_port = htons((uint16_t)atoi(arg(argv, 1, "80")));
	if (inet_pton(AF_INET, arg(argv, 0, "127.0.0.1"), &a.sin_addr) != 1)
		return UNTRIED;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	return outcome("connect", connect(fd, (struct sockaddr *)&a, sizeof(a)));
}

static int probe_connect_abstract(char **argv)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *name = arg(argv, 0, "canary");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return untried("socket");
	(void)snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s", name);
	return outcome("connect to an abstract socket",
		       connect(fd, (struct sockaddr *)&a,
			       (socklen_t)(sizeof(sa_family_t) + 1 + strlen(name))));
}

/* --- counters ------------------------------------------------------------------------------ */

/* How many inotify instances can be had? Told on standard output; held until standard input ends. */
static int probe_inotify(char **argv)
{
	int n = 0;
	char c;

	(void)argv;
	while (n < 100000 && inotify_init1(IN_CLOEXEC) >= 0)
		n++;
	printf("%d instances, then %s\n", n, strerror(errno));
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return n ? DONE : REFUSED;
}

static int probe_fork_storm(char **argv)
{
	int n = 0, most = atoi(arg(argv, 0, "100000"));

	while (n < most) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			(void)pause();
			_exit(0);
		}
		n++;
	}
	printf("%d processes, then %s\n", n, strerror(errno));
	(void)fflush(stdout); /* our own group ends with us */
	(void)kill(0, SIGKILL);
	return n >= most ? DONE : REFUSED;
}

static int probe_memory(char **argv)
{
	size_t mib = (size_t)atol(arg(argv, 0, "1024"));

	for (size_t i = 0; i < mib; i++) {
		char *p = malloc(1 << 20);

		if (!p)
			return outcome("memory", -1);
		memset(p, 1, 1 << 20);
	}
	return outcome("memory", 0);
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} probes[] = {
	{ "unshare-user", probe_unshare_user },
	{ "clone-user", probe_clone_user },
	{ "clone3-user", probe_clone3_user },
	{ "setns", probe_setns },
	{ "mount", probe_mount },
	{ "mount-cgroup", probe_mount_cgroup },
	{ "fsopen", probe_fsopen },
	{ "mknod", probe_mknod },
	{ "settime", probe_settime },
	{ "hostname", probe_hostname },
	{ "setuid-file", probe_setuid_file },
	{ "euid", probe_euid },
	{ "ptrace", probe_ptrace },
	{ "kill", probe_kill },
	{ "prlimit-cpu", probe_prlimit_cpu },
	{ "priority", probe_priority },
	{ "affinity", probe_affinity },
	{ "scheduler", probe_scheduler },
	{ "ioprio", probe_ioprio },
	{ "read-memory", probe_read_memory },
	{ "read-proc", probe_read_proc },
	{ "pidfd-getfd", probe_pidfd_getfd },
	{ "crowd", probe_crowd },
	{ "bind-port", probe_bind_port },
	{ "descriptors", probe_descriptors },
	{ "socket", probe_socket },
	{ "families", probe_families },
	{ "syscall", probe_syscall },
	{ "tiocsti", probe_tiocsti },
	{ "core-limit", probe_core_limit },
	{ "open", probe_open },
	{ "connect", probe_connect },
	{ "connect-abstract", probe_connect_abstract },
	{ "inotify", probe_inotify },
	{ "fork-storm", probe_fork_storm },
	{ "memory", probe_memory },
};

int main(int argc, char **argv)
{
	if (argc < 2) {
		for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
			puts(probes[i].name);
		return UNTRIED;
	}
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (strcmp(probes[i].name, argv[1]) == 0)
			return probes[i].run(argv + 2);
	fprintf(stderr, "probe: unknown probe '%s'\n", argv[1]);
	return UNTRIED;
}
