/* SPDX-License-Identifier: MIT */
/* actions.h - what became of each action: its use of the machine, and what was refused it.
 *
 * An action is known by its id from the moment it is asked for until so many others have ended
 * after it. One whose command goes on in the shell after it was answered goes on here too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "sandbox/executor/action.h"
#include "sandbox/executor/leaves.h"
#include "sandbox/executor/meter.h"
#include "sandbox/executor/violation.h"

struct job;
struct server;
struct shell;
struct observation;

enum actions_limits {
	ACTIONS_KEPT = 256,	  /* that have ended; the oldest is forgotten for a new one */
	ACTIONS_WHAT_BYTES = 160, /* of a command or a path */
	ACTIONS_LISTED = 50,	  /* of one GET /actions */
};

enum entry_state { ENTRY_WAITING, ENTRY_RUNNING, ENTRY_DONE, ENTRY_FAILED, ENTRY_CANCELLED };

#define ENTRY_UNKNOWN METER_UNKNOWN

/* One action. Numbers that are not (yet) known are ENTRY_UNKNOWN. */
struct entry {
	struct entry *newer, *older;
	uint64_t id;
	enum action_kind kind;
	enum entry_state state;
	bool is_static, cancelled;
	bool shared;	  /* something else was in its leaf when it began */
	bool peak_begins; /* its leaf's peak of memory began anew with it */
	unsigned leaf;
	uint64_t of; /* it only looks after, or types into, this one's command; 0: its own */
	char what[ACTIONS_WHAT_BYTES];
	time_t asked_at;
	uint64_t began_us, ended_us; /* of the monotonic clock */
	int64_t exit_code;
	struct reading before;
	int64_t cpu_us, peak_bytes, made, left, written, stored;
	struct violations violations;
};

struct actions {
	struct server *server;
	struct meter meter;
	struct leaves leaves;
	struct entry *newest, *oldest;
	unsigned n_ended;
	uint64_t last_id;
	struct entry *in_shell; /* whose command the persistent shell runs, or NULL */
	uint64_t last_in_shell;
	struct timer insist; /* when a cancelled command is still there; see cancel.h */
	unsigned cancel_turns;
	struct reading session; /* what is counted of the session as a whole, at the last look */
	bool quiet;		/* nothing ran at that look that could have changed it since */
};

/* Before the server's filter. */
void actions_init(struct actions *a, struct server *s);

/* An action was asked for: it has an id from now on (job->entry). */
must_check int actions_ask(struct actions *a, struct job *job, struct err *e);

/* It will not begin after all. */
void actions_withdraw(struct actions *a, struct entry *en);

/* It begins. */
void actions_begin(struct actions *a, struct job *job);

/* Its answer is known, and about to be told; `o` NULL: it failed. What limits did to it is known after
 * this, all else after actions_told(). */
void actions_answer(struct actions *a, struct job *job, const struct observation *o);
void actions_told(struct actions *a, struct entry *en);

/* A shell has done what it ran, or has ended. */
void actions_shell_done(struct actions *a, const struct shell *sh);

/* It has said what that wrote; see sh->written. */
void actions_shell_wrote(struct actions *a, const struct shell *sh);

/* Forks were refused in this leaf. */
void actions_forks_refused(struct actions *a, unsigned leaf, int64_t count);

/* Does nothing run that could use, or be refused, anything before the next action? */
bool actions_are_quiet(const struct actions *a);

/* Find one; NULL where it is not known (any more). */
struct entry *actions_find(const struct actions *a, uint64_t id);

/* "waiting", "running", "done", "failed", "cancelled". */
const char *entry_state_name(enum entry_state state);

/* As JSON: one, in full or in short. */
void entry_show(const struct actions *a, const struct entry *en, bool full, struct json_out *o);
