/* SPDX-License-Identifier: MIT */
/* session.h - what exists on the host for one session: its directory, its lock, its record.
 *
 *	STATE/				0700, owned by the caller
 *	  sessions/ID/record.json	all names this session will ever use, written first
 *	  sessions/ID/journal		a line before each act that only then has a name
 *	  sessions/ID/request.json	of a session that stays: what it was started with
 *	  sessions/ID/lock		held by the supervisor and the session's init while either lives:
 *					a lock of the open file (F_OFD), so whoever inherits it holds it
 *	  sessions/ID/layers/NAME/{upper,work}
 *	  names/NAME			a link whose text is the id of the session called so; see name.h
 *	  base/REPO/COMMIT/...		shared, immutable; see worktree.h
 *	  cache/...			filters, root file system skeletons
 *	  cache/vacant/...		directories of ended sessions, for the next; see spare.h
 *
 * Undoing works from the record and the journal alone. The journal's lines:
 *
 *	init PID START		the session's init on the host, START as in field 22 of its stat
 *	host_port N		the loopback listener's
 *	commit HEX		of the base
 *	repo_id HEX
 *	root_layer PATH		one more lower directory of "/", uppermost first
 *	workspace_layer PATH	the same for the workspace; PATH may be relative to STATE
 *	keep			the layers stay when the session ends
 *	persists		it is brought back if its processes end: nobody but stop removes it
 *	name NAME		what its caller calls it: it was held ready for whoever comes
 *	paused FORM		its processes are about to be frozen (FORM frozen), or ended (disk)
 *	wakes			nobody has asked for that pause to disk: whoever wants something of the session
 *				brings it back. Until it is resumed, paused once more or stopped
 *	rested			they are gone, and all that goes with them: groups, link
 *	resumes			they are about to be started again
 *	resumed			they run again
 *	freezer PATH		the group that is about to be made for freezing them
 *	ready			it answers at its ports
 *	stops			it is about to be taken down, and is no paused one any more
 *	stage TEXT		for people to read */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/inside.h"

#define SESSION_NO_SLOT UINT32_MAX
#define RECORD_PORTS_MAX 8

/* What the record holds. Strings are the record's own. */
struct record {
	unsigned version;
	char id[13];
	char *created; /* RFC 3339, UTC */
	enum ids_mode ids;
	uint32_t slot; /* as root: number of its id slice, address and link; else SESSION_NO_SLOT */
	/* The ids its layers hold, to read and remove them by. As root: the session's to the host's.
	 * Else those of the namespace around the session's, which the caller may make again. */
	struct id_map session_uids, session_gids;
	uint32_t host_uid;
	char *workspace_kind, *path, *subdir, *rev, *commit, *repo_id;
	char *policy, *policy_digest;
	char **command;
	char *user;
	char **layers_root,
		**layers_workspace; /* lower directories of / and /workspace, uppermost first */
	char *group[8];		    /* absolute directories of its groups, innermost last */
	unsigned n_groups;
	char link[16];	    /* the host's end of the veth; "" without */
	uint32_t address;   /* inside, host byte order; 0 without */
	uint16_t port;	    /* of the executor, inside */
	uint16_t host_port; /* of the loopback listener; 0: none */
	struct record_port {
		uint16_t host, inside;
	} ports[RECORD_PORTS_MAX]; /* published */
	unsigned n_ports;
	char key[65];	  /* the session's API key */
	bool keep, stays; /* stays: started without a command */
	char *name;	  /* what its caller calls it; NULL: by its id alone */
	char *label;	  /* JSON of who started it, which nobody here reads; NULL: none */
	bool persists;	  /* without processes it is paused, not over */
	char *paused;	  /* RECORD_FROZEN, RECORD_ON_DISK; NULL: not */
	char *freezer;	  /* of v1: the group in which it was frozen first; NULL: never */
	bool wakes;	  /* paused to disk by nobody's wish: the next request brings it back */
	bool rested;	  /* nothing is there but what stays on the disk */
	bool ready;	  /* its server has been heard to answer */
	/* from the journal */
	pid_t init_pid;	     /* on the host; 0: none yet */
	uint64_t init_start; /* its start time, field 22 of /proc/PID/stat */
};

struct session {
	int state; /* fd of STATE */
	int dir;   /* fd of sessions/ID */
	int lock;  /* read-only; inherited by init, as it lives by it. -1: not taken */
	int journal;
	bool spare;   /* made of a directory that an ended session left: some layers are there */
	bool again;   /* it is brought back: its layers are there, with all that it wrote */
	bool claimed; /* by us: nobody else writes its journal */
	struct record record;
};

/* Open the state directory, making it where it is missing. Refused unless it is a directory of
 * the caller's with mode 0700 exactly. `path` NULL: OHS_STATE_DIR, else the default (root:
 * /var/lib/ohsandbox, else $XDG_STATE_HOME/ohsandbox or ~/.local/state/ohsandbox). */
must_check int state_open(const char *path, struct err *e);
must_check int state_default_path(char **path, struct err *e);

/* Make the session's directory, take its lock, write its record (which is copied). `version`,
 * and `created` where it is NULL, are filled in here. -EEXIST when the id is taken. */
must_check int session_new(int state, const struct record *r, struct session **out, struct err *e);

/* Is this the name of a session, or a whole id? Costs one look, however many there are; the session may
 * be gone for all that. */
bool session_is_named(int state, const char *name);

/* Open one that exists, by its name, its id or an unambiguous prefix of that. `lock`: also take the lock, which
 * fails with -EBUSY while the session lives. */
must_check int session_open(int state, const char *id, bool lock, struct session **out,
			    struct err *e);
void session_close(struct session *s);

/* Take the lock of a session that was opened without: -EBUSY while it lives, or with `wait` when
 * its last holder has ended. */
must_check int session_lock(struct session *s, bool wait, struct err *e);

/* Let nobody else pause, resume, stop or sweep it until it is closed, and read its record again. `wait`
 * for another who does; else -EBUSY. -ENOENT when it is gone. */
must_check int session_claim(struct session *s, bool wait, struct err *e);

/* A session whose lock was taken is about to live again: from here on it has a supervisor, us. */
must_check int session_enliven(struct session *s, struct err *e);

/* Keep what it was started with, for the day it is brought back; and read that. */
must_check int session_keep_request(struct session *s, const struct buf *text, struct err *e);
must_check int session_read_request(const struct session *s, struct buf *text, struct err *e);
bool session_has_request(const struct session *s);
void session_drop_request(struct session *s);

/* Replace record.json by what s->record holds. Slower than a journal line. */
must_check int session_save(struct session *s, struct err *e);

/* Note in the journal, before acting. One line of the forms above, no newline in it. What it says
 * is applied to s->record too. */
must_check int session_note(struct session *s, struct err *e, const char *fmt, ...)
	printf_like(3, 4);

/* From here on it lives without us, by the descriptor of its lock that init has inherited. */
must_check int session_hand_over(struct session *s, struct err *e);

/* It owns nothing any more: take its record away, empty its files and let go of its lock. From here
 * on its directory, which stays, is one that session_sweep_unborn() removes; so the caller holds
 * sessions_hold() until he has moved it. */
must_check int session_retire(struct session *s, struct err *e);

/* Open STATE/sessions, made where it is missing, and hold its lock: as long as the descriptor is open
 * nobody takes a directory without a record for one that was left over. */
must_check int sessions_hold(int state, struct err *e);

/* Is it still there, or has somebody else taken it down since it was opened? */
bool session_exists(const struct session *s);

/* Does it have a supervisor, or live without one? 1 or 0; nothing is made or taken. What is dead may
 * still have processes that are about to end. */
must_check int session_is_alive(int state, const char *id, struct err *e);

/* Is somebody at it who has started it, and has not left it to itself yet? As above. */
must_check int session_is_supervised(int state, const char *id, struct err *e);

/* A number that is another one when its record or its journal has changed; 0 where it has neither. Far
 * cheaper than to read them. */
uint64_t session_stamp(int state, const char *id);

/* Call `each` for the id of every session that has a record; stops at a negative answer and returns
 * it. */
must_check int session_each(int state, int (*each)(const char *id, void *arg, struct err *e),
			    void *arg, struct err *e);

/* Remove what a session_new() that was killed half-way left: directories without a record, which
 * therefore own nothing. Does nothing while another session is being made. */
must_check int session_sweep_unborn(int state, struct err *e);
