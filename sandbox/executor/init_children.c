/* SPDX-License-Identifier: MIT */
/* init_children.c - the processes that were asked for, from their start until they are reaped. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sandbox/executor/init_parts.h"

#define CHILDREN_MAX 1024 /* started and not yet reaped, for both askers together */
#define REAP_BATCH 256	  /* then others get their turn: orphans may come without end */

static void close_fds(struct child *c)
{
	for (unsigned k = 0; k < c->n_fds; k++)
		drop_fd(&c->fds[k]);
	c->n_fds = 0;
}

static void status_close(struct child *c)
{
	loop_remove(&c->init->loop, &c->status);
	drop_fd(&c->status.fd);
	close_fds(c);
}

static void tell_started(struct child *c)
{
	struct ctl_message m = { .kind = CTL_STARTED,
				 .started = { .tag = c->tag, .pid = c->pid, .n_fds = c->n_fds } };
	struct err e = { 0 };

	/* Killed before it had made them: there is nothing to tell of as started. */
	if (c->gives && !c->n_fds) {
		(void)err_code(&e, ECHILD, "start: the process ended before it began");
		init_tell_failed(c->init, c->asker, c->tag, &e, false);
		return;
	}
	m.started.told = c->told;
	memcpy(m.started.fds, c->fds, sizeof(m.started.fds));
	init_tell(c->init, c->asker, &m);
	c->started = true;
}

/* Calls that nobody answers would wait for ever: then it may as well end. */
static void hear_refusals(struct child *c, int listener)
{
	struct err e = { 0 };

	c->told = notify_add(&c->init->notify, listener, c->tag, &e) == 0;
	if (c->told)
		return;
	(void)close(listener);
	(void)kill(c->pid, SIGKILL);
}

static void status_ready(struct source *source, uint32_t events)
{
	struct child *c = container_of(source, struct child, status);
	struct start_report r;
	struct err e = { 0 };
	int ret = start_report_take(source->fd, &r, &e);

	(void)events;
	if (ret == -EAGAIN)
		return;
	if (ret > 0 && r.listener >= 0) {
		hear_refusals(c, r.listener);
		return;
	}
	if (ret > 0 && !r.err.code) {
		close_fds(c);
		memcpy(c->fds, r.fds, sizeof(c->fds));
		c->n_fds = r.n_fds;
		return;
	}
	if (ret > 0)
		init_tell_failed(c->init, c->asker, c->tag, &r.err, r.exec);
	else if (ret == 0)
		tell_started(c);
	else
		init_tell_failed(c->init, c->asker, c->tag, &e, false);
	status_close(c);
}

static struct child *child_new(struct init *i, enum asker asker, const struct ctl_start *request)
{
	struct child *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->init = i;
	c->asker = asker;
	c->tag = request->tag;
	c->gives = request->flags & (CTL_START_TTY | CTL_START_PIPES | CTL_START_HELPER);
	c->last = asker == HOST && request->flags & CTL_START_LAST;
	memset(c->fds, -1, sizeof(c->fds));
	c->status = (struct source) { .fd = -1, .events = EPOLLIN, .ready = status_ready };
	return c;
}

int child_begin(struct init *i, enum asker asker, const struct ctl_start *request, struct err *e)
{
	struct ctl_start start = *request; /* what it points to stays the asker's */
	struct child *c;
	int ret;

	if (asker != SERVER || !i->boot->filter_tells || !notify_has_room(&i->notify))
		start.flags &= ~(uint32_t)CTL_START_TOLD;
	if (i->n_children == CHILDREN_MAX)
		return err_code(e, EAGAIN, "start: %d processes are in hand", CHILDREN_MAX);
	c = child_new(i, asker, request);
	if (!c)
		return err_code(e, ENOMEM, "start: no memory");
	ret = start_process(&i->starter, &start, &c->pid, &c->status.fd, e);
	if (ret < 0) {
		free(c);
		return ret;
	}
	c->next = i->children;
	i->children = c;
	i->n_children++;
	ret = loop_add(&i->loop, &c->status, e);
	if (ret < 0)
		init_end(i, e); /* nobody would ever hear of this process */
	return 0;
}

struct child *child_find(const struct init *i, enum asker asker, uint32_t tag)
{
	for (struct child *c = i->children; c; c = c->next)
		if (c->asker == asker && c->tag == tag)
			return c;
	return NULL;
}

static void tell_exited(const struct child *c, int wait_status, const struct rusage *used)
{
	const struct timeval *user = &used->ru_utime, *system = &used->ru_stime;
	struct ctl_message m = { .kind = CTL_EXITED,
				 .exited = { .tag = c->tag, .wait_status = wait_status } };

	m.exited.cpu_us = (uint64_t)(user->tv_sec + system->tv_sec) * 1000000 +
			  (uint64_t)(user->tv_usec + system->tv_usec);
	m.exited.peak_rss_bytes = (uint64_t)used->ru_maxrss * 1024;
	init_tell(c->init, c->asker, &m);
}

static void child_ended(struct init *i, pid_t pid, int wait_status, const struct rusage *used)
{
	struct child **at = &i->children, *c;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	c = *at;
	if (!c) {
		(void)sudo_reaped(&i->sudo, pid); /* or an orphan */
		return;
	}
	/* Its end may be seen before what it said (descriptors, then how it went): that comes first. */
	for (int k = 0; k < 3 && c->status.fd >= 0; k++)
		status_ready(&c->status, EPOLLIN);
	if (c->status.fd >= 0)
		status_close(c);
	if (c->started)
		tell_exited(c, wait_status, used);
	/* The host would only say what it has said, and a part of the end takes the kernel its time. */
	if (c->started && c->last)
		init_end(i, NULL);
	*at = c->next;
	i->n_children--;
	free(c);
}

void children_reap(struct init *i)
{
	struct err e = { 0 };
	struct rusage used;
	int status;

	for (int n = 0; n < REAP_BATCH; n++) {
		pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &used);

		if (pid <= 0)
			return;
		if (pid == i->server) {
			(void)err_code(&e, ECHILD, "the server ended (wait status %#x)",
				       (unsigned)status);
			init_end(i, &e);
			return;
		}
		child_ended(i, pid, status, &used);
	}
	loop_arm(&i->loop, &i->reap_more, 0);
}
