/* SPDX-License-Identifier: MIT */
/* cancel.h - end an action before its time. Its client is answered as ever, and told of the end. */
#pragma once

struct actions;
struct entry;
struct timer;

enum cancel_times {
	CANCEL_AGAIN_MS = 250, /* for an interrupted shell to give up its command */
	CANCEL_TURNS = 8,      /* so often; then it is killed */
};

/* Begin to end it. NULL, or why that cannot be: it has ended, or is of a kind that ends by itself. */
const char *cancel_action(struct actions *a, struct entry *en);

/* The shell was interrupted, and had its time: again, or it is killed. */
void cancel_insist(struct timer *timer);
