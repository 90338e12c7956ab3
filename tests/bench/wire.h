/* SPDX-License-Identifier: MIT */
/* wire.h - the little HTTP that the programs which take times speak. A reply other than 200 ends the
 * whole: a figure of what failed is none. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/times.h"

#define HEAD_MAX 4096
#define PIECE (1U << 20)

static inline void fail(const char *what)
{
	fprintf(stderr, "bench: ");
	perror(what);
	exit(1);
}

static inline void print_times(double *ms, size_t n)
{
	size_t p99 = n * 99 / 100;

	qsort(ms, n, sizeof(*ms), ascending);
	printf("p50 %8.3f ms  p99 %8.3f ms  min %8.3f ms\n", ms[n / 2], ms[p99 < n ? p99 : n - 1],
	       ms[0]);
}

/* "http://ADDRESS:PORT", as `ohsandbox start` prints it. */
static inline int connect_to(const char *url)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char host[64];
	unsigned port = 0;
	int fd, on = 1;

	if (sscanf(url, "http://%63[^:]:%u", host, &port) != 2)
		fail(url);
	to.sin_port = htons((in_port_t)port);
	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &to.sin_addr) != 1)
		fail(host);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static inline void put(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			fail("send");
		bytes += n;
		len -= (size_t)n;
	}
}

/* Take a reply in, and away. Returns the length of its body. */
static inline size_t take_reply(int fd, char *room)
{
	size_t have = 0, total, body;
	const char *end = NULL, *length;
	ssize_t n;

	while (!end) {
		n = recv(fd, room + have, HEAD_MAX - 1 - have, 0);
		if (n <= 0)
			fail("recv");
		have += (size_t)n;
		room[have] = 0;
		end = strstr(room, "\r\n\r\n");
	}
	length = strcasestr(room, "\r\ncontent-length:");
	if (strncmp(room, "HTTP/1.1 200", 12) || !length) {
		fprintf(stderr, "bench: answered: %s\n", room);
		exit(1);
	}
	body = strtoul(length + sizeof("\r\ncontent-length:") - 1, NULL, 10);
	total = (size_t)(end + 4 - room) + body;
	while (have < total) {
		n = recv(fd, room, total - have < PIECE ? total - have : PIECE, 0);
		if (n <= 0)
			fail("recv");
		have += (size_t)n;
	}
	return body;
}
