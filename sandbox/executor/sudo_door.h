/* SPDX-License-Identifier: MIT */
/* sudo_door.h - init's part of `sudo` inside: it listens, and starts porters.
 *
 * That is all. Init takes no connection and so holds none: a descriptor that a stranger passes can
 * make whoever closes it last wait (a socket that lingers, a large file that was deleted). It reads
 * no byte and no name. A porter (sudo_porter.h) takes what waits at the door and starts a monitor
 * (sudo_monitor.h) for each, which has become the user asked for before it reads. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "sandbox/executor/start.h"
#include "sandbox/sudo.h"

struct sudo_entrance {
	enum sudo_door door;
	const struct starter *starter;
	struct loop *loop;
	struct source listener; /* fd -1: no root is to be had here */
	struct timer rest;
	pid_t porter;	   /* 0: none at work */
	uint64_t since_ms; /* start of the second that is counted */
	unsigned in_this_second;
};

struct sudo_house {
	struct sudo_entrance entrance[SUDO_DOORS];
};

/* Open the doors, where the policy lets root be had and the session has more than one id. */
must_check int sudo_open(struct sudo_house *h, const struct starter *s, struct loop *loop,
			 struct err *e);

/* Was it a porter that ended? */
bool sudo_reaped(struct sudo_house *h, pid_t pid);
