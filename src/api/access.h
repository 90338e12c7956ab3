/* SPDX-License-Identifier: MIT */
/* access.h - who may talk to the daemon: its key, its listeners, and the names it answers to. */
#pragma once

#include "api/server.h"

/* The key out of its file (`path`, or "serve.key" of the state directory), which is made where it is
 * missing. Refused where anybody but its owner may read it. *where names the file. */
must_check int access_key(int state, const char *state_path, const char *path, char **key,
			  char **where, struct err *e);

/* Would it be taken? As access_key(), but nothing is made; 0 also where it will be. */
must_check int access_check_key(const char *state_path, const char *path, struct err *e);

/* Could it be listened at? Nothing is; whether somebody else does is not looked at. */
must_check int access_check_listen(const char *where, bool insecure, struct err *e);
must_check int access_check_socket(const char *path, struct err *e);

/* Listen at "ADDRESS:PORT", "[ADDRESS]:PORT" or "localhost:PORT" (both families). Beyond the loopback
 * only with `insecure`. Returns how many descriptors were put into `fds`. */
must_check int access_listen(const char *where, bool insecure, int fds[2], struct err *e);

/* Listen on a socket of the Unix domain, mode 0600; a left-over one of nobody's is replaced. */
must_check int access_socket(const char *path, struct err *e);

/* The descriptors that systemd hands over (sd_listen_fds(3)); 0 where there are none. */
must_check int access_inherited(int *first, struct err *e);

/* What a Host header may say: where it listens, by every name for that, and what the operator adds. */
must_check int access_hosts(struct server *s, struct err *e);

/* 0, or the status that refuses a request, with *why: see struct conns. */
int access_admit(struct server *s, const struct http_request *r, const char **why);
