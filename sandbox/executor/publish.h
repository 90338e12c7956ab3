/* SPDX-License-Identifier: MIT */
/* publish.h - ports of the session that are reached at addresses of the host: init makes the
 * connection inside, the server moves the bytes. */
#pragma once

#include "base/err.h"
#include "sandbox/ctl.h"
#include "sandbox/executor/procs.h"

enum publish_limits {
	PUBLISH_MAX = 256, /* connections at once, of all ports; more wait in the kernel */
	PUBLISH_BYTES = 16384,
};

struct tunnel;

struct publishing {
	struct procs *procs;
	struct published {
		struct source source;
		struct publishing *all;
		uint16_t port;
	} ports[8];
	unsigned n_ports, n_tunnels;
};

/* Listen on every port the boot message names. */
must_check int publish_init(struct publishing *p, struct procs *procs, const struct ctl_boot *boot,
			    struct err *e);
