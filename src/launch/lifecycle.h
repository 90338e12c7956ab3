/* SPDX-License-Identifier: MIT */
/* lifecycle.h - the life of a session as one table of stages.
 *
 * Start, roll-back, end and the clean-up after a crash are the same walk over it: up in order, down
 * backwards. What `down` needs it reads from the record, which was written before anything was made
 * that it names; so it works for a session whose supervisor is long dead, and twice in a row. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "launch/laps.h"
#include "launch/listen.h"
#include "launch/netns.h"
#include "plan/plan.h"
#include "sandbox/ctl.h"
#include "sandbox/inside.h"
#include "session/cgroup.h"
#include "session/session.h"
#include "session/worktree.h"

#define LIFECYCLE_STAGES_MAX 20
#define LIFECYCLE_PUBLISH_MAX 8

/* A session on its way up, and what its supervisor holds of it. */
struct launch {
	struct plan *plan;
	int state;  /* fd of the state directory; the caller's */
	bool stays; /* it outlives us */
	/* `session` rests, and is brought back: its slot, its ports and its layers are taken again, and
	 * `record` is a copy of its own. On these listeners, of which each stays the caller's, instead of
	 * new ones. */
	bool resumes;
	int held_listeners[LISTEN_LOOPBACK_MAX];
	unsigned n_held;
	/* Ports that a new session does not get. NULL: any that is free. */
	const struct listen_kept *kept;
	/* Fills in the order to start the command, which is sent with the boot message, so that init
	 * need not ask. What it points to and its descriptors stay its maker's. NULL: no command. */
	int (*command)(struct launch *l, struct ctl_start *start, struct err *e);
	void *command_arg;
	/* Its record is on the disk: from here on there is something to tell of. May be NULL. */
	void (*born)(struct launch *l);
	void *born_arg;

	struct base base;
	char *skeleton;
	struct record record;	 /* as the session will have it; `session` owns a copy */
	struct session *session; /* NULL until there is one */
	struct cgroup cgroup;
	int listeners[LISTEN_LOOPBACK_MAX];
	struct launch_publish {
		int fd;
		uint16_t inside;
	} publish[LIFECYCLE_PUBLISH_MAX];
	unsigned n_listeners, n_publish;
	struct inside inside;
	struct ids_userns userns[2]; /* as root: the session's, and the workspace's owner's */
	struct netns netns;	     /* as root, from its making to the go */
	int signals;   /* supervise_signals(); -1 as long as nothing is to be undone */
	int gate, ctl; /* our ends */
	pid_t pid;
	int pidfd;

	struct stage_time times[LIFECYCLE_STAGES_MAX];
	unsigned n_times;
};

void launch_init(struct launch *l, int state, struct plan *plan);

/* The id on the host of who runs the command; -1 where it is the caller's own. */
uid_t launch_workload_uid(const struct launch *l);
gid_t launch_workload_gid(const struct launch *l);

/* Bring it to life: returns when the executor's init has been started (and has its orders, which it
 * answers over l->ctl). On failure everything is taken down again. */
must_check int lifecycle_up(struct launch *l, struct err *e);

/* A descriptor of its first process: readable when all of them have ended. -ESRCH where they have. */
must_check int lifecycle_init_open(const struct record *r, struct err *e);

/* End its processes, and wait for that. What was under way in them is lost. */
must_check int lifecycle_kill(const struct record *r, struct err *e);

/* The same, and take its lock: of a session that is claimed. One whose start is under way has its first
 * process in its record a moment later. */
must_check int lifecycle_end(struct session *s, struct err *e);

/* Take down whatever there is of it. Its directory stays where the record says `keep`, unless
 * `remove`. Goes on after an error and returns the first. The session's lock must be held. */
must_check int lifecycle_down(struct session *s, bool remove, struct err *e);

/* The same, but all that it needs to be brought back stays: directory, layers, slot. */
must_check int lifecycle_rest(struct session *s, struct err *e);

/* Take down every session of this state directory that nobody keeps alive; of one that is paused or
 * persists, what need not stay. */
must_check int lifecycle_sweep(int state, struct err *e);

/* Close our ends of what it listens on: from here on they end with the executor, and whoever waits for
 * its answer hears of that. */
void launch_leave_listeners(struct launch *l);

/* Close and free what the supervisor held; the session itself stays as it is. */
void launch_clear(struct launch *l);
