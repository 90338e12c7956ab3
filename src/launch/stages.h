/* SPDX-License-Identifier: MIT */
/* stages.h - what each row of the table of lifecycle.c does. For lifecycle.c alone.
 *
 * An `up` may count on all stages before it. A `down` knows the record, and the session where its
 * directory exists; it must bear that its `up` was never reached, or was cut off half-way. */
#pragma once

#include "launch/lifecycle.h"

struct ending {
	const struct record *record;
	struct session *session; /* NULL: it never got a directory */
	bool remove;		 /* the layers too, whatever the record says */
	bool rests;		 /* it is to be brought back: its layers and its slot stay */
	bool failed; /* something is left: its record and its slot stay for the next try */
};

int stage_base_up(struct launch *l, struct err *e);
int stage_root_up(struct launch *l, struct err *e);
int stage_slot_up(struct launch *l, struct err *e);
int stage_slot_down(const struct ending *x, struct err *e);
int stage_listen_up(struct launch *l, struct err *e);
int stage_session_up(struct launch *l, struct err *e);
int stage_session_down(const struct ending *x, struct err *e);
int stage_overlay_up(struct launch *l, struct err *e);
int stage_cgroup_up(struct launch *l, struct err *e); /* those that the child is born in */
int stage_groups_up(struct launch *l, struct err *e); /* those that it enters by itself */
int stage_cgroup_down(const struct ending *x, struct err *e);
int stage_ids_up(struct launch *l, struct err *e);
int stage_clone_up(struct launch *l, struct err *e);
int stage_clone_down(const struct ending *x, struct err *e);
int stage_network_up(struct launch *l, struct err *e);
int stage_network_down(const struct ending *x, struct err *e);
int stage_boot_up(struct launch *l, struct err *e);
int stage_go_up(struct launch *l, struct err *e);

/* What the directory of a kept session still names has gone: say so in its record, or every later
 * command would look for it again. */
int stages_forget(struct session *s, struct err *e);
