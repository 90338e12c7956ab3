/* SPDX-License-Identifier: MIT */
/* loop.c - see loop.h. */
#include "base/loop.h"

#include <limits.h>

#include "base/clock.h"

int loop_init(struct loop *l, struct err *e)
{
	l->timers = NULL;
	l->stands = false;
	l->stood_ms = 0;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll < 0 ? err_errno(e, "epoll_create1") : 0;
}

uint64_t loop_now(void)
{
	return clock_ms();
}

uint64_t loop_time(const struct loop *l)
{
	return l->stands ? l->stood_ms : loop_now() - l->stood_ms;
}

void loop_stand(struct loop *l)
{
	if (l->stands)
		return;
	l->stood_ms = loop_time(l);
	l->stands = true;
}

void loop_go(struct loop *l)
{
	if (!l->stands)
		return;
	l->stood_ms = loop_now() - l->stood_ms;
	l->stands = false;
}

int loop_add(struct loop *l, struct source *source, struct err *e)
{
	struct epoll_event event = { .events = source->events, .data.ptr = source };

	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, source->fd, &event) < 0)
		return err_errno(e, "epoll: watch descriptor %d", source->fd);
	return 0;
}

void loop_want(struct loop *l, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	if (source->events == events)
		return;
	source->events = events;
	/* It is in the set, and changing needs no memory: nothing here can fail. */
	(void)epoll_ctl(l->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

void loop_remove(struct loop *l, struct source *source)
{
	if (source->fd >= 0)
		(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, source->fd, NULL); /* as above */
}

void loop_arm(struct loop *l, struct timer *timer, uint64_t at_ms)
{
	struct timer **at = &l->timers;

	loop_disarm(l, timer);
	while (*at && (*at)->at_ms <= at_ms)
		at = &(*at)->next;
	timer->at_ms = at_ms;
	timer->next = *at;
	timer->armed = true;
	*at = timer;
}

void loop_disarm(struct loop *l, struct timer *timer)
{
	struct timer **at = &l->timers;

	if (!timer->armed)
		return;
	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	timer->armed = false;
}

/* What epoll_wait takes: -1 for ever, rounded so that it never wakes before the time. */
static int timeout_of(const struct loop *l)
{
	uint64_t now;

	if (!l->timers || l->stands)
		return -1;
	now = loop_time(l);
	if (l->timers->at_ms <= now)
		return 0;
	return l->timers->at_ms - now > INT_MAX ? INT_MAX : (int)(l->timers->at_ms - now);
}

static void fire_due(struct loop *l)
{
	uint64_t now = loop_time(l);

	/* Asked each time: what fires may let it stand. */
	while (!l->stands && l->timers && l->timers->at_ms <= now) {
		struct timer *timer = l->timers;

		loop_disarm(l, timer);
		timer->fire(timer);
	}
}

int loop_turn(struct loop *l, struct err *e)
{
	struct epoll_event event;
	int n = epoll_wait(l->epoll, &event, 1, timeout_of(l));

	if (n < 0 && errno != EINTR)
		return err_errno(e, "epoll_wait");
	if (n == 1) {
		struct source *source = event.data.ptr;

		source->ready(source, event.events);
	}
	if (l->timers)
		fire_due(l);
	return 0;
}
