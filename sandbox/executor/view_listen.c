/* SPDX-License-Identifier: MIT */
/* view_listen.c - see view.h. What is done with the workload's ids, once, before any command runs. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "sandbox/executor/view.h"

static int say_where(unsigned port, struct err *e)
{
	autoclose int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char url[40];

	if (tmp < 0)
		return err_errno(e, "open /tmp");
	(void)snprintf(url, sizeof(url), "http://localhost:%u", port);
	return io_replace_file(tmp, "oh-server-url", url, strlen(url), 0644, e);
}

/* The host passes connections on to these. */
static bool is_published(const struct ctl_boot *boot, unsigned port)
{
	for (unsigned i = 0; i < boot->n_publish; i++)
		if (boot->publish[i].port == port)
			return true;
	return false;
}

/* On any port, as the kernel draws it. */
static int listen_somewhere(unsigned *port, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);

	if (fd < 0)
		return err_errno(e, "file viewer: socket");
	if (bind(fd, (const struct sockaddr *)&at, len) < 0 || listen(fd, VIEW_CONNS) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return err_errno(e, "file viewer: listen on 127.0.0.1");
	*port = ntohs(at.sin_port);
	return take_fd(&fd);
}

int view_listen(const struct ctl_boot *boot, struct err *e)
{
	autoclose int fd = -1;
	unsigned port = 0;

	for (int tries = 0; tries < 100 && (fd < 0 || is_published(boot, port)); tries++) {
		drop_fd(&fd);
		fd = listen_somewhere(&port, e);
		if (fd < 0)
			return fd;
	}
	if (is_published(boot, port))
		return err_code(e, EADDRINUSE, "file viewer: no port that is not published");
	if (say_where(port, e) < 0)
		return err_wrap(e, "file viewer");
	return take_fd(&fd);
}
