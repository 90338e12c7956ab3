/* SPDX-License-Identifier: MIT */
/* init_parts.h - what PID 1 is made of; private to init*.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "sandbox/ctl.h"
#include "sandbox/executor/notify.h"
#include "sandbox/executor/start.h"
#include "sandbox/executor/sudo_door.h"

/* Who asked for a process, and hears of it. */
enum asker { HOST, SERVER, ASKERS };

struct init {
	struct loop loop;
	struct ctl_boot *boot;
	struct starter starter;
	struct sudo_house sudo;
	struct notify notify;
	struct source ask[ASKERS], signals;
	struct timer deadline, reap_more;
	pid_t server;
	struct child *children;
	unsigned n_children;
	bool ended;
	struct err why; /* code 0: the host wanted it */
};

/* A process that somebody asked for, until it is reaped. */
struct child {
	struct child *next;
	struct init *init;
	struct source status; /* fd -1 once it is known how the start went */
	pid_t pid;
	uint32_t tag;
	enum asker asker;
	bool started, gives, told, last;
	int fds[3];
	unsigned n_fds;
};

/* The session ends; `why` NULL: as the host wanted. */
void init_end(struct init *i, const struct err *why);

/* Send to whoever asks; one that cannot be told any more ends the session, or is the host of one
 * that outlives it. */
void init_tell(struct init *i, enum asker asker, const struct ctl_message *m);
void init_tell_failed(struct init *i, enum asker asker, uint32_t tag, const struct err *why,
		      bool exec);

/* Take one message off this link and do what it says. */
void init_asked(struct init *i, enum asker asker);

/* Start a process; its asker hears how it went. */
must_check int child_begin(struct init *i, enum asker asker, const struct ctl_start *request,
			   struct err *e);

/* The living process with this tag of this asker, or NULL. */
struct child *child_find(const struct init *i, enum asker asker, uint32_t tag);

/* Reap what has ended, and tell who asked for it. */
void children_reap(struct init *i);
