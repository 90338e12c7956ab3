/* SPDX-License-Identifier: MIT */
/* procs.c - see procs.h. */
#include "sandbox/executor/procs.h"

#include <fcntl.h>

static struct proc *find(struct procs *ps, uint32_t tag)
{
	for (struct proc *p = ps->asked; p; p = p->next)
		if (p->tag == tag)
			return p;
	return NULL;
}

static uint32_t tag_of(const struct ctl_message *m)
{
	switch (m->kind) {
	case CTL_STARTED:
		return m->started.tag;
	case CTL_FAILED:
		return m->failed.tag;
	case CTL_EXITED:
		return m->exited.tag;
	case CTL_ANSWERED:
		return m->answered.tag;
	default:
		return 0;
	}
}

static void link_ready(struct source *source, uint32_t events)
{
	struct procs *ps = container_of(source, struct procs, link);
	struct ctl_message m = { 0 };
	struct err e = { 0 };
	int ret = ctl_receive(source->fd, &m, &e);
	struct proc *p;

	(void)events;
	if (ret == -EAGAIN)
		return;
	if (ret <= 0) {
		ps->broken = true;
		return;
	}
	if (m.kind == CTL_REFUSED && ps->refused)
		ps->refused(ps, &m.refused);
	p = find(ps, tag_of(&m));
	if (p) {
		if (m.kind != CTL_STARTED)
			procs_forget(ps, p);
		else if (p->wants_told)
			ps->untold = !m.started.told;
		p->answer(p, &m);
	}
	ctl_message_clear(&m);
}

int procs_init(struct procs *ps, struct loop *loop, int link, struct err *e)
{
	ps->loop = loop;
	ps->link = (struct source) { .fd = link, .events = EPOLLIN, .ready = link_ready };
	if (fcntl(link, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(e, "link to init");
	return loop_add(loop, &ps->link, e);
}

static uint32_t *asked_tag(struct ctl_message *m)
{
	switch (m->kind) {
	case CTL_CONNECT:
		return &m->connect.tag;
	case CTL_START:
		return &m->start.tag;
	default:
		return &m->ask.tag;
	}
}

int procs_ask(struct procs *ps, struct proc *p, struct ctl_message *m, struct err *e)
{
	/* Zero is what init's own last words carry. */
	do {
		p->tag = ++ps->last_tag;
	} while (!p->tag || find(ps, p->tag));
	*asked_tag(m) = p->tag;
	if (m->kind == CTL_START) {
		m->start.leaf = p->leaf;
		/* Our own program does nothing that is refused. */
		p->wants_told = !(m->start.flags & CTL_START_HELPER);
		m->start.flags |= p->wants_told ? CTL_START_TOLD : 0;
	}
	if (ctl_send(ps->link.fd, m, e) < 0)
		return -e->code;
	p->asked = true;
	p->next = ps->asked;
	ps->asked = p;
	return 0;
}

void procs_signal(struct procs *ps, const struct proc *p, int signal, bool group)
{
	struct ctl_message m = { .kind = CTL_SIGNAL,
				 .signal = { .tag = p->tag, .signal = signal, .group = group } };
	struct err e = { 0 };

	if (p->tag && ctl_send(ps->link.fd, &m, &e) < 0)
		ps->broken = true;
}

void procs_forget(struct procs *ps, struct proc *p)
{
	struct proc **at = &ps->asked;

	if (!p->asked)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->asked = false;
}
