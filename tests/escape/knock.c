/* SPDX-License-Identifier: MIT */
/* knock.c - what a process of a session may try at the doors of `sudo`, by hand.
 *
 *	knock NAME DOOR [ARG...]	DOOR is "root" or "user"
 *
 * Exit status as probe's: 0 it succeeded, 1 it was refused, 2 it could not be tried. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DONE = 0, REFUSED = 1, UNTRIED = 2 };

enum { REQUEST = 1, STARTED = 4 }; /* as in sandbox/sudo.h */

static socklen_t address(const char *door, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un) { .sun_family = AF_UNIX };
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1,
					    "ohsandbox/sudo/%s", door));
}

static int knock(const char *door)
{
	struct sockaddr_un a;
	socklen_t len = address(door, &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, len) < 0)
		return -1;
	return fd;
}

static int say(const char *what, int result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "succeeded");
	return result < 0 ? REFUSED : DONE;
}

static int do_connect(const char *door, char **argv)
{
	(void)argv;
	return say("connect", knock(door));
}

/* Stand in the door's place. */
static int do_bind(const char *door, char **argv)
{
	struct sockaddr_un a;
	socklen_t len = address(door, &a);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)argv;
	return say("bind", fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, len));
}

/* ---- messages ------------------------------------------------------------------------------- */

struct packet {
	unsigned char bytes[4096];
	size_t len;
	int fds[8];
	unsigned n_fds;
};

static void add(struct packet *p, const void *bytes, size_t len)
{
	memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
}

static void add_u32(struct packet *p, uint32_t n)
{
	add(p, &n, sizeof(n));
}

static void add_text(struct packet *p, const char *text)
{
	add_u32(p, (uint32_t)strlen(text));
	add(p, text, strlen(text));
}

/* "/bin/true", as this uid, with our own descriptors. */
static void make_request(struct packet *p, uint32_t uid)
{
	static const unsigned char head[] = { 0, 1, REQUEST }, ones[] = { 1, 1, 1, 0 };
	static const unsigned char terminal[2 + 2 + 16 + 32];

	*p = (struct packet) { .n_fds = 3, .fds = { 0, 1, 2 } };
	add(p, head, sizeof(head));
	add_u32(p, uid);
	add_u32(p, 0); /* flags */
	add_u32(p, 022);
	add(p, (uint64_t[]) { 0 }, 8);
	add(p, terminal, sizeof(terminal));
	add_text(p, "/bin/true");
	add_u32(p, 1);
	add_text(p, "true");
	add_u32(p, 0);
	add_u32(p, UINT32_MAX); /* no directory */
	add(p, ones, sizeof(ones));
}

static int send_packet(int fd, const struct packet *p)
{
	struct iovec iov = { (void *)(uintptr_t)p->bytes, p->len };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(p->fds))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(p->n_fds * sizeof(int)) } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	memcpy(CMSG_DATA(&control.head), p->fds, p->n_fds * sizeof(int));
	if (p->n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(p->n_fds * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* The kind of the answer; 0 where there is none. */
static int answer(int fd)
{
	unsigned char bytes[1024];
	ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

	if (n < 0 && errno == ECONNRESET)
		n = recv(fd, bytes, sizeof(bytes), 0);
	return n >= 3 ? bytes[2] : 0;
}

/* Ask for this uid at that door. */
static int do_ask(const char *door, char **argv)
{
	struct packet p;
	int fd = knock(door);

	if (fd < 0 || !argv[0])
		return UNTRIED;
	make_request(&p, (uint32_t)strtoul(argv[0], NULL, 10));
	if (send_packet(fd, &p) < 0)
		return say("send", -1);
	errno = EPERM;
	return say("ask", answer(fd) == STARTED ? 0 : -1);
}

/* A right request with one byte changed, with too many descriptors or too few, and nothing at all. */
static int do_garbage(const char *door, char **argv)
{
	struct packet right, p;
	unsigned odd = 0;

	(void)argv;
	make_request(&right, strcmp(door, "root") == 0 ? 0 : 1000);
	for (size_t i = 0; i < right.len; i++) {
		int fd = knock(door);

		if (fd < 0)
			return UNTRIED;
		p = right;
		p.bytes[i] = (unsigned char)(i * 7 + 0x80);
		p.n_fds = (unsigned)(i % 8);
		for (unsigned k = 0; k < p.n_fds; k++)
			p.fds[k] = (int)k % 3;
		if (i % 5 == 0)
			p.len = i;
		odd += send_packet(fd, &p) == 0;
		(void)close(fd); /* and gone, before it is read */
	}
	printf("%u odd requests\n", odd);
	return DONE;
}

/* Connections that say nothing, as many as there can be, for ever. */
static int do_crowd(const char *door, char **argv)
{
	unsigned n = 0, wanted = argv[0] ? (unsigned)strtoul(argv[0], NULL, 10) : 1000;

	while (n < wanted && knock(door) >= 0)
		n++;
	printf("%u are there\n", n);
	(void)fflush(stdout);
	(void)pause();
	return DONE;
}

/* ---- a descriptor whose last close waits ----------------------------------------------------- */

/* A TCP connection with more to send than its peer takes, that is told to linger. */
static int lingering(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger hour = { 1, 3600 };
	socklen_t len = sizeof(a);
	static char much[1 << 20];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(listener, (struct sockaddr *)&a, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&a, len) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	while (send(fd, much, sizeof(much), MSG_NOSIGNAL) > 0)
		;
	/* Nobody ever takes it off the listener, which must stay: without one the kernel resets. */
	return fd;
}

static volatile sig_atomic_t rung;

static void ring(int number)
{
	(void)number;
	rung = 1;
}

/* The negative control: does the last close of such a socket really wait? */
static int do_close(const char *door, char **argv)
{
	struct sigaction on = { .sa_handler = ring };
	int fd = lingering();

	(void)door;
	(void)argv;
	if (fd < 0 || sigaction(SIGALRM, &on, NULL) < 0)
		return UNTRIED;
	(void)alarm(2);
	(void)close(fd);
	errno = ETIME;
	return say("a close that waits", rung ? 0 : -1);
}

enum { LINGERING_MAX = 64 };

/* Left in the queue with a request that is never complete, and theirs alone as soon as we are gone.
 * The listeners, without which the kernel would reset the connections, stay open in a child. */
static int do_linger(const char *door, char **argv)
{
	int sockets[LINGERING_MAX], doors[LINGERING_MAX];
	int n = argv[0] ? atoi(argv[0]) : 20;

	for (int i = 0; i < n && i < LINGERING_MAX; i++) {
		sockets[i] = lingering();
		doors[i] = knock(door);
		if (sockets[i] < 0 || doors[i] < 0)
			return UNTRIED;
	}
	if (fork() == 0) {
		for (int i = 0; i < n && i < LINGERING_MAX; i++) {
			(void)close(sockets[i]);
			(void)close(doors[i]);
		}
		(void)close(STDOUT_FILENO);
		for (;;)
			(void)pause();
	}
	for (int i = 0; i < n && i < LINGERING_MAX; i++) {
		struct packet p;

		make_request(&p, 0);
		p.bytes[0] = 1; /* more follows */
		p.n_fds = 1;
		p.fds[0] = sockets[i];
		if (send_packet(doors[i], &p) < 0)
			return say("send", -1);
	}
	printf("%d are left\n", n);
	return DONE;
}

static const struct {
	const char *name;
	int (*run)(const char *door, char **argv);
} attacks[] = {
	{ "connect", do_connect }, { "bind", do_bind },	  { "ask", do_ask },
	{ "garbage", do_garbage }, { "crowd", do_crowd }, { "close", do_close },
	{ "linger", do_linger },
};

int main(int argc, char **argv)
{
	if (argc < 3)
		return UNTRIED;
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (strcmp(attacks[i].name, argv[1]) == 0)
			return attacks[i].run(argv[2], argv + 3);
	return UNTRIED;
}
