/* SPDX-License-Identifier: MIT */
/* executor_demo.c - the executor alone: namespaces by hand (as root), a boot message, then a shell
 * command with the address and the key in its environment. Ends with that command's status, and
 * fails if the session outlives its end.
 *
 *	executor_demo EXECUTOR COMMAND...      OHS_URL, OHS_KEY, OHS_DIR, OHS_INIT, OHS_PUBLISHED
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "sandbox/ctl.h"
#include "sandbox/inside.h"

#define SLICE 0x6fff0000u
#define PORT_INSIDE 8123

static char dir[] = "/tmp/ohs-executor-XXXXXX";

static void move_fd(int from, int to)
{
	if (from == to ? fcntl(to, F_SETFD, 0) < 0 : dup2(from, to) < 0)
		err(125, "descriptor %d", to);
}

static void loopback_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) < 0)
		err(125, "loopback");
	close(fd);
}

static void keep_setid(void)
{
	static const cap_value_t both[] = { CAP_SETUID, CAP_SETGID };
	cap_t caps = cap_init();

	if (!caps || cap_set_flag(caps, CAP_PERMITTED, 2, both, CAP_SET) < 0 ||
	    cap_set_flag(caps, CAP_EFFECTIVE, 2, both, CAP_SET) < 0 ||
	    cap_set_flag(caps, CAP_INHERITABLE, 2, both, CAP_SET) < 0 || cap_set_proc(caps) < 0)
		err(125, "capabilities");
	for (int i = 0; i < 2; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, both[i], 0, 0) < 0)
			err(125, "ambient");
	cap_free(caps);
}

static void inside(int program, int ctl, int userns)
{
	static char *const argv[] = { "ohsandbox-init", NULL }, *const env[] = { NULL };
	int high[3] = { fcntl(ctl, F_DUPFD, 100), fcntl(userns, F_DUPFD, 100),
			fcntl(program, F_DUPFD_CLOEXEC, 100) };

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
	    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620") < 0 ||
	    mount("/dev/pts/ptmx", "/dev/ptmx", NULL, MS_BIND, NULL) < 0)
		err(125, "mount");
	loopback_up();
	move_fd(high[0], INSIDE_FD_CTL);
	close(INSIDE_FD_LISTEN);
	move_fd(high[1], INSIDE_FD_USERNS);
	syscall(SYS_close_range, INSIDE_FD_USERNS + 1, high[2] - 1, 0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    setresgid(SLICE + IDS_INIT, SLICE + IDS_INIT, SLICE + IDS_INIT) < 0 ||
	    setresuid(SLICE + IDS_INIT, SLICE + IDS_INIT, SLICE + IDS_INIT) < 0)
		err(125, "ids");
	keep_setid();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		err(125, "no_new_privs");
	syscall(SYS_execveat, high[2], "", argv, env, AT_EMPTY_PATH);
	err(125, "exec the executor");
}

static int listener(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		err(125, "listen");
	*port = ntohs(a.sin_port);
	return fd;
}

/* Refuses one call that no shell needs, to show that it is there. */
static int filter(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	int fd = memfd_create("filter", MFD_CLOEXEC);

	if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code))
		err(125, "filter");
	return fd;
}

static void expect(int ctl, enum ctl_kind kind)
{
	struct ctl_message m = { 0 };
	struct pollfd p = { .fd = ctl, .events = POLLIN };
	struct err e = { 0 };

	if (poll(&p, 1, 10000) != 1)
		errx(125, "no answer from the executor");
	if (ctl_receive(ctl, &m, &e) <= 0)
		errx(125, "executor: %s", e.code ? e.text : "ended");
	if (m.kind == CTL_FAILED)
		errx(125, "executor: %s", m.failed.text);
	if (m.kind != kind)
		errx(125, "executor: message %d instead of %d", m.kind, kind);
	ctl_message_clear(&m);
}

static int run_command(char **argv, uint16_t port, uint16_t published, const char *key, pid_t pid)
{
	char url[64], number[16], other[64];
	int status;
	pid_t child;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	snprintf(other, sizeof(other), "http://127.0.0.1:%u", published);
	snprintf(number, sizeof(number), "%d", pid);
	setenv("OHS_URL", url, 1);
	setenv("OHS_PUBLISHED", other, 1);
	setenv("OHS_KEY", key, 1);
	setenv("OHS_DIR", dir, 1);
	setenv("OHS_INIT", number, 1);
	child = fork();
	if (child == 0) {
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void boot_fill(struct ctl_boot *b, uint16_t *port, uint16_t *published)
{
	static char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
			       "USER=openhands",
			       "LOGNAME=openhands",
			       "SHELL=/bin/bash",
			       "LANG=C.UTF-8",
			       NULL,
			       NULL };
	static char home[64];
	struct err e = { 0 };

	snprintf(home, sizeof(home), "HOME=%s", dir);
	env[5] = home;
	memcpy(b->id, "demo", 5);
	if (fs_random_hex(b->key, 32, &e) < 0)
		errx(125, "%s", e.text);
	b->exit_on_eof = b->root_allowed = true;
	b->root_caps = 1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER |
		       1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_KILL;
	b->server_uid = b->server_gid = SLICE + IDS_SERVER;
	b->user = (struct ctl_user) { .name = "openhands",
				      .home = dir,
				      .shell = "/bin/bash",
				      .uid = 1000,
				      .gid = 0 };
	b->workspace = dir;
	b->env = env;
	b->nofile = 1024;
	b->filter = filter();
	b->work_group_dir = -1;
	b->listeners[b->n_listeners++] = listener(port);
	b->publish[b->n_publish].listener = listener(published);
	b->publish[b->n_publish++].port = PORT_INSIDE;
}

static pid_t start(int program, int ctl, int host)
{
	struct id_map map = { .range = { { 0, SLICE, IDS_WORKLOAD } }, .n = 1 };
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), userns;
	struct err e = { 0 };
	pid_t pid;

	userns = ids_userns(proc, &map, &map, SLICE + IDS_INIT, &e);
	if (userns < 0)
		errx(125, "%s", e.text);
	pid = (pid_t)syscall(SYS_clone,
			     SIGCHLD | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
				     CLONE_NEWUTS,
			     NULL, NULL, NULL, NULL);
	if (pid < 0)
		err(125, "clone");
	if (pid == 0) {
		close(host);
		inside(program, ctl, userns);
	}
	close(userns);
	return pid;
}

int main(int argc, char **argv)
{
	struct ctl_message boot = { .kind = CTL_BOOT }, end = { .kind = CTL_END };
	uint16_t port = 0, published = 0;
	int host, ctl, program, status;
	struct err e = { 0 };
	pid_t pid;

	if (argc < 3)
		errx(125, "usage: executor_demo EXECUTOR COMMAND...");
	program = open(argv[1], O_PATH | O_CLOEXEC);
	if (program < 0 || !mkdtemp(dir) || chown(dir, SLICE + 1000, SLICE) < 0)
		err(125, "%s", argv[1]);
	if (ctl_pair(&host, &ctl, &e) < 0)
		errx(125, "%s", e.text);
	boot_fill(&boot.boot, &port, &published);
	pid = start(program, ctl, host);
	close(ctl);
	if (ctl_send(host, &boot, &e) < 0)
		errx(125, "%s", e.text);
	expect(host, CTL_READY);
	status = run_command(argv + 2, port, published, boot.boot.key, pid);
	if (ctl_send(host, &end, &e) < 0)
		warnx("the session had ended: %s", e.text);
	waitpid(pid, NULL, 0);
	if (fs_remove_tree(AT_FDCWD, dir, &e) < 0)
		warnx("%s", e.text);
	return status;
}
