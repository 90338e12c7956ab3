/* SPDX-License-Identifier: MIT */
/* loop.h - wait for descriptors and times; one event at a time.
 *
 * One at a time, so that whoever handles an event may close and free anything, itself included:
 * no other event is in hand that could point to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"

/* Embedded in what it belongs to; see container_of. The loop never closes it. */
struct source {
	int fd;
	uint32_t events; /* EPOLLIN, EPOLLOUT, or 0 */
	void (*ready)(struct source *source, uint32_t events);
};

/* Embedded too. Zeroed memory is an unarmed timer. */
struct timer {
	uint64_t at_ms; /* of loop_time() */
	struct timer *next;
	bool armed;
	void (*fire)(struct timer *timer);
};

struct loop {
	int epoll;
	struct timer *timers; /* soonest first */
	bool stands;
	uint64_t stood_ms; /* its time is behind the clock by this; while it stands: the time */
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

must_check int loop_init(struct loop *l, struct err *e);

/* Milliseconds of the monotonic clock. */
uint64_t loop_now(void);

/* The loop's own time, by which its timers go: that of the clock, but for when it stood still. */
uint64_t loop_time(const struct loop *l);

/* Let its time stand still, and go on: no timer fires meanwhile, and who waits for a time waits as much
 * longer. */
void loop_stand(struct loop *l);
void loop_go(struct loop *l);

/* Watch source->fd for source->events. */
must_check int loop_add(struct loop *l, struct source *source, struct err *e);

/* Wait for other events from now on. */
void loop_want(struct loop *l, struct source *source, uint32_t events);

/* Watch it no more; before it is closed. */
void loop_remove(struct loop *l, struct source *source);

/* Fire at `at_ms`, once; a timer that was armed is moved. */
void loop_arm(struct loop *l, struct timer *timer, uint64_t at_ms);
void loop_disarm(struct loop *l, struct timer *timer);

/* Wait for one event or for the timers that are due, and handle it. */
must_check int loop_turn(struct loop *l, struct err *e);
