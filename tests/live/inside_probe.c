/* SPDX-License-Identifier: MIT */
/* inside_probe.c - stands where the executor will: says over the control socket what it finds, as
 * init and then as the session's root and user. One fact a packet: "name value". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)send(3, text, (size_t)n, MSG_NOSIGNAL);
}

/* What a call answered: "ok" or the error's name. */
static const char *answer(long ret)
{
	return ret >= 0 ? "ok" : strerrorname_np(errno);
}

static void status_lines(const char *who)
{
	static const char *const wanted[] = { "Uid:",	 "Gid:",    "Groups:",
					      "CapInh:", "CapPrm:", "CapEff:",
					      "CapBnd:", "CapAmb:", "NoNewPrivs:" };
	FILE *f = fopen("/proc/self/status", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				say("%s %s", who, line);
	}
	if (f)
		fclose(f);
}

static void descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	char text[512] = "";
	size_t len = 0;
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(d))
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %s",
						entry->d_name);
	say("init fds%s", text);
	if (d)
		closedir(d);
}

static void file_lines(const char *name, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];

	if (!f)
		say("%s %s", name, strerrorname_np(errno));
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		say("%s %s", name, line);
	}
	if (f)
		fclose(f);
}

static long try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return fd;
}

/* How many bytes can be read: -1 where it cannot be opened. */
static long readable_bytes(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : (long)read(fd, &byte, 1);

	if (fd >= 0)
		close(fd);
	return n;
}

static void owner_of(const char *who, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		say("%s owner %s %s", who, path, strerrorname_np(errno));
	else
		say("%s owner %s %u:%u %o", who, path, st.st_uid, st.st_gid, st.st_mode & 07777);
}

static void files_as(const char *who)
{
	char made[64];

	(void)snprintf(made, sizeof(made), "/workspace/%s", who);
	say("%s create /workspace/%s %s", who, who, answer(try_open(made, O_WRONLY | O_CREAT)));
	say("%s append /workspace/file %s", who,
	    answer(try_open("/workspace/file", O_WRONLY | O_APPEND)));
	say("%s rename /workspace/dir %s", who,
	    answer(rename("/workspace/dir", "/workspace/moved")));
	say("%s create /usr/made %s", who, answer(try_open("/usr/made", O_WRONLY | O_CREAT)));
	say("%s create /tmp/made %s", who, answer(try_open("/tmp/made", O_WRONLY | O_CREAT)));
	say("%s create /run/made %s", who, answer(try_open("/run/made", O_WRONLY | O_CREAT)));
	say("%s create /dev/made %s", who, answer(try_open("/dev/made", O_WRONLY | O_CREAT)));
	say("%s write /dev/null %s", who, answer(try_open("/dev/null", O_WRONLY)));
	say("%s write /proc/sys/kernel/hostname %s", who,
	    answer(try_open("/proc/sys/kernel/hostname", O_WRONLY)));
	say("%s write /proc/sysrq-trigger %s", who,
	    answer(try_open("/proc/sysrq-trigger", O_WRONLY)));
	say("%s read /proc/kallsyms %ld", who, readable_bytes("/proc/kallsyms"));
	say("%s read /etc/shadow %s", who, answer(try_open("/etc/shadow", O_RDONLY)));
	for (unsigned i = 0; i < 5; i++) {
		static const char *const paths[] = { "/", "/workspace/file", "/usr/bin", "/tmp",
						     "/dev/pts" };

		owner_of(who, paths[i]);
	}
}

static void powers_as(const char *who)
{
	struct rlimit core;
	int pty;

	say("%s kill 1 %s", who, answer(kill(1, 0)));
	say("%s stat /proc/1 %s", who, answer(access("/proc/1", F_OK)));
	say("%s mount %s", who, answer(mount("x", "/tmp", "tmpfs", 0, NULL)));
	say("%s umount %s", who, answer(umount2("/proc", MNT_DETACH)));
	say("%s remount %s", who,
	    answer(mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL)));
	say("%s mknod %s", who, answer(mknod("/tmp/node", S_IFCHR | 0666, 0x0103)));
	say("%s sethostname %s", who, answer(sethostname("x", 1)));
	say("%s setuid-init %s", who, answer(setresuid((uid_t)-1, 65520, (uid_t)-1)));
	pty = posix_openpt(O_RDWR | O_NOCTTY);
	say("%s pty %s", who, answer(pty < 0 ? -1 : grantpt(pty)));
	getrlimit(RLIMIT_CORE, &core);
	say("%s core %lu %lu", who, (unsigned long)core.rlim_cur, (unsigned long)core.rlim_max);
}

static long caps_none(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capset, &head, none);
}

/* In the session's namespace, as one of its ids; its root keeps what the namespace gives. */
static void as(const char *who, uid_t uid, gid_t gid)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (setns(5, CLONE_NEWUSER) < 0) {
			say("%s setns %s", who, strerrorname_np(errno));
			_exit(1);
		}
		say("%s setgroups %s", who, answer(setgroups(0, NULL)));
		say("%s setgid %s", who, answer(setresgid(gid, gid, gid)));
		say("%s setuid %s", who, answer(setresuid(uid, uid, uid)));
		if (uid)
			say("%s capset %s", who, answer(caps_none()));
		status_lines(who);
		files_as(who);
		powers_as(who);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	char name[65] = "";

	(void)argc;
	if (readlink("/proc/self/fd/3", name, sizeof(name) - 1) > 0 && getenv("PATH"))
		say("init environment not empty");
	say("init argv %s pid %d", argv[0], getpid());
	(void)gethostname(name, sizeof(name) - 1);
	say("init hostname %s", name);
	status_lines("init");
	descriptors();
	file_lines("cgroup", "/proc/self/cgroup");
	file_lines("mount", "/proc/self/mountinfo");
	file_lines("uidmap", "/proc/self/uid_map");
	say("init dumpable %d", prctl(PR_GET_DUMPABLE));
	/* As the executor does, before anything else of the session's can run. */
	say("init drops %s", answer(caps_none()));
	say("init setuid0 %s", answer(setresuid((uid_t)-1, 0, (uid_t)-1)));
	say("init mount %s", answer(mount("x", "/tmp", "tmpfs", 0, NULL)));
	say("init create /usr/init %s", answer(try_open("/usr/init", O_WRONLY | O_CREAT)));
	say("init read /etc/shadow %s", answer(try_open("/etc/shadow", O_RDONLY)));
	as("root", 0, 0);
	as("user", 1000, 0);
	say("end");
	return 0;
}
