/* SPDX-License-Identifier: MIT */
/* notify.c - see notify.h. */
#include "sandbox/executor/notify.h"

#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/executor/init_parts.h"

struct listener {
	struct listener *next;
	struct notify *all;
	struct source source;
	uint32_t tag;
};

/* A newer kernel may write more than our headers know. */
union notification {
	struct seccomp_notif notif;
	struct seccomp_notif_resp resp;
	char room[512];
};

static void tick(struct timer *timer);

void notify_init(struct notify *n, struct init *i)
{
	struct seccomp_notif_sizes sizes = { 0 };

	*n = (struct notify) { .init = i, .tick.fire = tick };
	n->works = syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
		   sizes.seccomp_notif <= sizeof(union notification) &&
		   sizes.seccomp_notif_resp <= sizeof(union notification);
}

bool notify_has_room(const struct notify *n)
{
	return n->works && n->n_listeners < NOTIFY_LISTENERS_MAX;
}

/* --- the server hears of it -------------------------------------------------------------------- */

/* Not at the price of what it must hear: a link that is full ends the session. */
static bool may_tell(const struct notify *n)
{
	int unread = 0;

	return ioctl(n->init->ask[SERVER].fd, SIOCOUTQ, &unread) == 0 &&
	       unread < NOTIFY_QUEUE_BYTES;
}

static void tell(struct notify *n, struct refusal *r)
{
	struct ctl_message m = {
		.kind = CTL_REFUSED,
		.refused = { .tag = r->tag, .call = r->call, .count = r->untold }
	};

	if (!r->untold || !may_tell(n))
		return;
	memcpy(m.refused.args, r->args, sizeof(r->args));
	r->untold = 0;
	init_tell(n->init, SERVER, &m);
}

static struct refusal *kind_of(struct notify *n, uint32_t tag, uint32_t call)
{
	for (unsigned i = 0; i < n->n_kinds; i++)
		if (n->kinds[i].tag == tag && n->kinds[i].call == call)
			return &n->kinds[i];
	/* The last place is for all that find none: of several processes, it says the last one. */
	if (n->n_kinds >= NOTIFY_KINDS - 1) {
		n->kinds[NOTIFY_KINDS - 1].tag = tag;
		n->kinds[NOTIFY_KINDS - 1].call = CTL_CALLS_OTHER;
		n->n_kinds = NOTIFY_KINDS;
		return &n->kinds[NOTIFY_KINDS - 1];
	}
	n->kinds[n->n_kinds] = (struct refusal) { .tag = tag, .call = call };
	return &n->kinds[n->n_kinds++];
}

/* The first of its kind is told at once, before its caller goes on: whoever then asks the server knows
 * of it. What follows within a tick is counted. */
static void note(struct notify *n, uint32_t tag, const struct seccomp_data *data)
{
	unsigned before = n->n_kinds;
	struct refusal *r = kind_of(n, tag, (uint32_t)data->nr);

	if (r->untold++ == 0)
		for (unsigned i = 0; i < ARRAY_LEN(r->args); i++)
			r->args[i] = data->args[i];
	if (n->n_kinds > before && r->call != CTL_CALLS_OTHER)
		tell(n, r);
	if (!n->tick.armed)
		loop_arm(&n->init->loop, &n->tick, loop_time(&n->init->loop) + NOTIFY_TICK_MS);
}

/* --- answering --------------------------------------------------------------------------------- */

static void listen_all(struct notify *n, uint32_t events)
{
	for (struct listener *l = n->listeners; l; l = l->next)
		loop_want(&n->init->loop, &l->source, events);
}

static void tick(struct timer *timer)
{
	struct notify *n = container_of(timer, struct notify, tick);
	unsigned untold = 0;

	for (unsigned i = 0; i < n->n_kinds; i++) {
		tell(n, &n->kinds[i]);
		untold += n->kinds[i].untold;
	}
	if (n->answers >= NOTIFY_ANSWERS)
		listen_all(n, EPOLLIN);
	n->answers = 0;
	if (untold) {
		loop_arm(&n->init->loop, timer, loop_time(&n->init->loop) + NOTIFY_TICK_MS);
		return;
	}
	n->n_kinds = 0;
	memset(n->kinds, 0, sizeof(n->kinds));
}

static void drop(struct listener *l)
{
	struct listener **at = &l->all->listeners;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	l->all->n_listeners--;
	loop_remove(&l->all->init->loop, &l->source);
	(void)close(l->source.fd);
	free(l);
}

static void ready(struct source *source, uint32_t events)
{
	struct listener *l = container_of(source, struct listener, source);
	union notification in = { 0 }, out = { 0 };
	struct notify *n = l->all;

	if (!(events & EPOLLIN)) {
		drop(l); /* nobody is left under this filter */
		return;
	}
	/* Whoever was refused may have been killed meanwhile: then there is nothing to take. */
	if (ioctl(source->fd, SECCOMP_IOCTL_NOTIF_RECV, &in.notif) < 0)
		return;
	note(n, l->tag, &in.notif.data);
	out.resp.id = in.notif.id;
	out.resp.error = -EPERM;
	(void)ioctl(source->fd, SECCOMP_IOCTL_NOTIF_SEND, &out.resp); /* or it was killed now */
	if (++n->answers == NOTIFY_ANSWERS)
		listen_all(n, 0);
}

int notify_add(struct notify *n, int listener, uint32_t tag, struct err *e)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return err_code(e, ENOMEM, "notify: no memory");
	*l = (struct listener) { .all = n,
				 .tag = tag,
				 .source = { .fd = listener, .events = EPOLLIN, .ready = ready } };
	/* In a tick that has answered enough it waits with the others. */
	if (n->answers >= NOTIFY_ANSWERS)
		l->source.events = 0;
	if (loop_add(&n->init->loop, &l->source, e) < 0) {
		free(l);
		return -e->code;
	}
	l->next = n->listeners;
	n->listeners = l;
	n->n_listeners++;
	return 0;
}
