/* SPDX-License-Identifier: MIT */
/* listen.c - see listen.h. */
#include "launch/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128
#define PORT_TRIES 32

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int listener(const union address *a, socklen_t len)
{
	autoclose int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	/* So that a published port is free again as soon as its session is gone. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	/* An IPv6 listener that also takes IPv4 would clash with the other one. */
	if (a->any.sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, &a->any, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(&fd);
}

/* `port` 0: one that the kernel chooses. */
static int loopback4(uint16_t *port)
{
	union address a = { .v4 = { .sin_family = AF_INET,
				    .sin_port = htons(*port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	autoclose int fd = listener(&a, sizeof(a.v4));

	if (fd < 0)
		return fd;
	if (getsockname(fd, &a.any, &len) < 0)
		return -errno;
	*port = ntohs(a.v4.sin_port);
	return take_fd(&fd);
}

static int loopback6(uint16_t port)
{
	union address a = { .v6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT } };

	return listener(&a, sizeof(a.v6));
}

/* After half of the tries it is the kernel's choice: none of ours may be free. */
static int choose(unsigned try, uint16_t *port, struct err *e)
{
	uint16_t number;

	*port = 0;
	if (try >= PORT_TRIES / 2)
		return 0;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return err_errno(e, "a random number");
	*port = (uint16_t)(LISTEN_PORT_FIRST + number % (LISTEN_PORT_LAST - LISTEN_PORT_FIRST + 1));
	return 0;
}

/* On both loopbacks: how many descriptors, -EADDRINUSE for another port, or another error. */
static int try_both(uint16_t *port, int fds[LISTEN_LOOPBACK_MAX], struct err *e)
{
	autoclose int four = loopback4(port), six = -1;

	if (four < 0)
		return err_code(e, -four, "listen on 127.0.0.1: %s", strerror(-four));
	six = loopback6(*port);
	/* Hosts without IPv6 have no ::1. */
	if (six < 0 && six != -EAFNOSUPPORT && six != -EADDRNOTAVAIL)
		return err_code(e, -six, "listen on ::1: %s", strerror(-six));
	fds[0] = take_fd(&four);
	if (six < 0)
		return 1;
	fds[1] = take_fd(&six);
	return 2;
}

int listen_loopback(const struct listen_kept *kept, int fds[LISTEN_LOOPBACK_MAX], uint16_t *port,
		    struct err *e)
{
	for (unsigned i = 0; i < PORT_TRIES; i++) {
		uint16_t chosen;
		int n = choose(i, &chosen, e);

		if (n < 0)
			return n;
		n = try_both(&chosen, fds, e);
		if (n == -EADDRINUSE) {
			*e = (struct err) { 0 }; /* not told if another one is free */
			continue;
		}
		if (n >= 0 && kept && kept->has(kept->arg, chosen)) {
			while (n > 0)
				(void)close(fds[--n]); /* nothing was written */
			continue;
		}
		if (n > 0)
			*port = chosen;
		return n;
	}
	return err_code(e, EADDRINUSE, "no port is free on both 127.0.0.1 and ::1");
}

static int not_again(const char *where, uint16_t port, int code, struct err *e)
{
	return err_code(e, -code, "listen on %s, port %u again: %s%s", where, port, strerror(-code),
			code == -EADDRINUSE ? ": somebody else listens there" : "");
}

int listen_loopback_again(int fds[LISTEN_LOOPBACK_MAX], uint16_t port, struct err *e)
{
	autoclose int four = loopback4(&port), six = four < 0 ? -1 : loopback6(port);

	if (four < 0)
		return not_again("127.0.0.1", port, four, e);
	if (six < 0 && six != -EAFNOSUPPORT && six != -EADDRNOTAVAIL)
		return not_again("::1", port, six, e);
	fds[0] = take_fd(&four);
	if (six < 0)
		return 1;
	fds[1] = take_fd(&six);
	return 2;
}

int listen_publish(const struct publish *p, struct err *e)
{
	union address a;
	int fd;

	memset(&a, 0, sizeof(a));
	if (inet_pton(AF_INET, p->address, &a.v4.sin_addr) == 1) {
		a.v4.sin_family = AF_INET;
		a.v4.sin_port = htons(p->port);
		fd = listener(&a, sizeof(a.v4));
	} else if (inet_pton(AF_INET6, p->address, &a.v6.sin6_addr) == 1) {
		a.v6.sin6_family = AF_INET6;
		a.v6.sin6_port = htons(p->port);
		fd = listener(&a, sizeof(a.v6));
	} else {
		return err_code(e, EINVAL, "publish: '%s' is no address", p->address);
	}
	if (fd < 0)
		return err_code(e, -fd, "publish %s port %u: %s", p->address, p->port,
				strerror(-fd));
	return fd;
}
