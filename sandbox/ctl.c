/* SPDX-License-Identifier: MIT */
/* ctl.c - both ends of the control socket's protocol; see ctl.h. What its packets are made of is
 * in wire.c; here is one visit a kind of message. */
#include "sandbox/ctl.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

static void visit_user(struct wire *w, struct ctl_user *u)
{
	wire_text(w, &u->name);
	wire_text(w, &u->home);
	wire_text(w, &u->shell);
	wire_num(w, &u->uid);
	wire_num(w, &u->gid);
}

static void visit_leaf(struct wire *w, struct ctl_leaf *l)
{
	wire_fds(w, l->tasks, &l->n_tasks, ARRAY_LEN(l->tasks));
	wire_fd(w, &l->dir);
	wire_fd(w, &l->procs);
	wire_fd(w, &l->list);
	wire_fd(w, &l->pids_max);
	for (unsigned i = 0; i < CTL_COUNTERS; i++)
		wire_fd(w, &l->counter[i]);
}

static void visit_leaves(struct wire *w, struct ctl_boot *b)
{
	unsigned count = wire_count(w, &b->n_leaves, ARRAY_LEN(b->leaves));

	for (unsigned i = 0; i < count; i++)
		visit_leaf(w, &b->leaves[i]);
	for (unsigned i = 0; count && i < CTL_COUNTERS; i++)
		wire_fd(w, &b->above[i]);
	wire_num(w, &b->leaf_memory);
	wire_num(w, &b->leaf_pids);
	wire_num(w, &b->cpu_milli);
	wire_bool(w, &b->way_out);
	wire_bool(w, &b->filter_tells);
}

static void visit_boot(struct wire *w, struct ctl_message *m)
{
	struct ctl_boot *b = &m->boot;
	unsigned count;

	wire_array(w, b->id, sizeof(b->id));
	wire_array(w, b->key, sizeof(b->key));
	wire_bool(w, &b->exit_on_eof);
	wire_bool(w, &b->root_allowed);
	wire_bool(w, &b->as_root);
	wire_bool(w, &b->shell_early);
	wire_num(w, &b->root_caps);
	wire_bool(w, &b->single_id);
	wire_num(w, &b->server_uid);
	wire_num(w, &b->server_gid);
	visit_user(w, &b->user);
	wire_text(w, &b->workspace);
	wire_list(w, &b->env, CTL_STRINGS_MAX);
	wire_num(w, &b->nofile);
	wire_num(w, &b->fsize_bytes);
	wire_num(w, &b->deadline_ms);
	wire_fd(w, &b->filter);
	wire_fds(w, b->work_groups, &b->n_work_groups, ARRAY_LEN(b->work_groups));
	wire_fd(w, &b->work_group_dir);
	visit_leaves(w, b);
	wire_fds(w, b->listeners, &b->n_listeners, ARRAY_LEN(b->listeners));
	count = wire_count(w, &b->n_publish, ARRAY_LEN(b->publish));
	for (unsigned i = 0; i < count; i++) {
		wire_fd(w, &b->publish[i].listener);
		wire_num(w, &b->publish[i].port);
		if (b->publish[i].listener < 0)
			w->bad = true;
	}
}

static void visit_start(struct wire *w, struct ctl_message *m)
{
	struct ctl_start *s = &m->start;

	wire_num(w, &s->tag);
	wire_num(w, &s->flags);
	wire_num(w, &s->leaf);
	wire_num(w, &s->rows);
	wire_num(w, &s->cols);
	wire_list(w, &s->argv, CTL_STRINGS_MAX);
	wire_list(w, &s->env, CTL_STRINGS_MAX);
	wire_maybe(w, &s->cwd);
	wire_fds(w, s->fds, &s->n_fds, ARRAY_LEN(s->fds));
	if (s->leaf >= CTL_LEAVES)
		w->bad = true;
	if (s->flags & ~(uint32_t)(CTL_START_TTY | CTL_START_PIPES | CTL_START_ROOT |
				   CTL_START_HELPER | CTL_START_SHELL | CTL_START_TRANSFER |
				   CTL_START_VIEW | CTL_START_TOLD | CTL_START_LAST))
		w->bad = true;
}

static void visit_signal(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->signal.tag);
	wire_num(w, &m->signal.signal);
	wire_bool(w, &m->signal.group);
	if (m->signal.signal < 0 || m->signal.signal >= NSIG)
		w->bad = true;
}

static void visit_started(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->started.tag);
	wire_bool(w, &m->started.told);
	wire_num(w, &m->started.pid);
	wire_fds(w, m->started.fds, &m->started.n_fds, ARRAY_LEN(m->started.fds));
}

static void visit_failed(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->failed.tag);
	wire_num(w, &m->failed.code);
	wire_bool(w, &m->failed.exec);
	wire_array(w, m->failed.text, sizeof(m->failed.text));
}

static void visit_exited(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->exited.tag);
	wire_num(w, &m->exited.wait_status);
	wire_num(w, &m->exited.cpu_us);
	wire_num(w, &m->exited.peak_rss_bytes);
}

static void visit_connect(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->connect.tag);
	wire_num(w, &m->connect.port);
}

static void visit_ask(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->ask.tag);
	wire_num(w, &m->ask.of);
	wire_num(w, &m->ask.leaf);
	wire_bool(w, &m->ask.interrupt);
	wire_num(w, &m->ask.group);
	if (m->ask.leaf >= CTL_LEAVES)
		w->bad = true;
}

static void visit_answered(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->answered.tag);
	wire_num(w, &m->answered.code);
}

static void visit_refused(struct wire *w, struct ctl_message *m)
{
	wire_num(w, &m->refused.tag);
	wire_num(w, &m->refused.call);
	wire_num(w, &m->refused.count);
	wire_bytes(w, m->refused.args, sizeof(m->refused.args));
}

static void visit_nothing(struct wire *w, struct ctl_message *m)
{
	(void)w; /* such a message says all by its kind */
	(void)m;
}

static void (*const visits[])(struct wire *, struct ctl_message *) = {
	[CTL_BOOT] = visit_boot,       [CTL_START] = visit_start,   [CTL_SIGNAL] = visit_signal,
	[CTL_END] = visit_nothing,     [CTL_READY] = visit_nothing, [CTL_STARTED] = visit_started,
	[CTL_FAILED] = visit_failed,   [CTL_EXITED] = visit_exited, [CTL_CONNECT] = visit_connect,
	[CTL_MOVE] = visit_ask,	       [CTL_CLEAR] = visit_ask,	    [CTL_ANSWERED] = visit_answered,
	[CTL_REFUSED] = visit_refused, [CTL_STAND] = visit_nothing, [CTL_GO] = visit_nothing,
};

static bool kind_is_known(unsigned kind)
{
	return kind < ARRAY_LEN(visits) && visits[kind];
}

int ctl_encode(const struct ctl_message *m, struct buf *out, int fds[CTL_FDS_MAX], unsigned *n_fds,
	       struct err *e)
{
	struct wire w = { .out = out, .fds = fds };
	unsigned char head[2] = { CTL_VERSION, (unsigned char)m->kind };

	if (!kind_is_known(m->kind))
		return err_code(e, EINVAL, "control: no message of kind %d", (int)m->kind);
	wire_bytes(&w, head, sizeof(head));
	/* A visit that writes changes nothing in the message. */
	visits[m->kind](&w, (struct ctl_message *)(uintptr_t)m);
	if (buf_check(out, e) < 0)
		return err_wrap(e, "control: message %d", (int)m->kind);
	if (w.bad)
		return err_code(e, EINVAL, "control: message %d is incomplete or beyond its limits",
				(int)m->kind);
	if (out->len > CTL_MESSAGE_MAX)
		return err_code(e, EMSGSIZE,
				"control: message %d of %zu bytes (arguments and environment) is "
				"larger than %u",
				(int)m->kind, out->len, CTL_MESSAGE_MAX);
	*n_fds = w.n_fds;
	return 0;
}

void ctl_leaf_init(struct ctl_leaf *l)
{
	*l = (struct ctl_leaf) { .dir = -1, .procs = -1, .list = -1, .pids_max = -1 };
	memset(l->tasks, -1, sizeof(l->tasks));
	memset(l->counter, -1, sizeof(l->counter));
}

void ctl_leaf_clear(struct ctl_leaf *l)
{
	wire_close(l->tasks, ARRAY_LEN(l->tasks));
	l->n_tasks = 0;
	drop_fd(&l->dir);
	drop_fd(&l->procs);
	drop_fd(&l->list);
	drop_fd(&l->pids_max);
	wire_close(l->counter, ARRAY_LEN(l->counter));
}

/* An empty message of this kind: nothing to free, no descriptor. */
static void message_init(struct ctl_message *m, enum ctl_kind kind)
{
	*m = (struct ctl_message) { .kind = kind };
	if (kind == CTL_BOOT) {
		m->boot.filter = m->boot.work_group_dir = -1;
		memset(m->boot.work_groups, -1, sizeof(m->boot.work_groups));
		memset(m->boot.listeners, -1, sizeof(m->boot.listeners));
		for (unsigned i = 0; i < ARRAY_LEN(m->boot.leaves); i++)
			ctl_leaf_init(&m->boot.leaves[i]);
		memset(m->boot.above, -1, sizeof(m->boot.above));
		for (unsigned i = 0; i < ARRAY_LEN(m->boot.publish); i++)
			m->boot.publish[i].listener = -1;
	} else if (kind == CTL_START) {
		memset(m->start.fds, -1, sizeof(m->start.fds));
	} else if (kind == CTL_STARTED) {
		memset(m->started.fds, -1, sizeof(m->started.fds));
	}
}

int ctl_decode(const void *bytes, size_t len, int *fds, unsigned n_fds, struct ctl_message *m,
	       struct err *e)
{
	struct wire w = { .reading = true, .in = bytes, .left = len, .fds = fds, .n_fds = n_fds };
	unsigned char head[2] = { 0 };

	if (len > CTL_MESSAGE_MAX)
		return err_code(e, EPROTO, "control: a packet of %zu bytes", len);
	wire_bytes(&w, head, sizeof(head));
	if (w.bad || head[0] != CTL_VERSION || !kind_is_known(head[1]))
		return err_code(e, EPROTO, "control: not a message of version %d", CTL_VERSION);
	message_init(m, (enum ctl_kind)head[1]);
	visits[m->kind](&w, m);
	if (w.bad || w.left || w.next_fd != n_fds) {
		ctl_message_clear(m);
		return err_code(e, EPROTO, "control: malformed message of kind %d", (int)head[1]);
	}
	return 0;
}

static void boot_clear(struct ctl_boot *b)
{
	explicit_bzero(b->key, sizeof(b->key));
	free(b->user.name);
	free(b->user.home);
	free(b->user.shell);
	free(b->workspace);
	free(b->env);
	drop_fd(&b->filter);
	drop_fd(&b->work_group_dir);
	wire_close(b->work_groups, ARRAY_LEN(b->work_groups));
	wire_close(b->listeners, ARRAY_LEN(b->listeners));
	for (unsigned i = 0; i < ARRAY_LEN(b->leaves); i++)
		ctl_leaf_clear(&b->leaves[i]);
	wire_close(b->above, ARRAY_LEN(b->above));
	for (unsigned i = 0; i < ARRAY_LEN(b->publish); i++)
		drop_fd(&b->publish[i].listener);
}

void ctl_message_clear(struct ctl_message *m)
{
	if (m->kind == CTL_BOOT) {
		boot_clear(&m->boot);
	} else if (m->kind == CTL_START) {
		free(m->start.argv);
		free(m->start.env);
		free(m->start.cwd);
		wire_close(m->start.fds, ARRAY_LEN(m->start.fds));
	} else if (m->kind == CTL_STARTED) {
		wire_close(m->started.fds, ARRAY_LEN(m->started.fds));
	}
	*m = (struct ctl_message) { 0 }; /* no kind: clearing twice does nothing */
}

int ctl_pair(int *host, int *other, struct err *e)
{
	int pair[2], room = CTL_MESSAGE_MAX;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "control: socketpair");
	/* The default admits less than our largest message; where the host's limit is lower still,
	 * a large one fails by itself, with its size. */
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*host = pair[0];
	*other = pair[1];
	return 0;
}

int ctl_send(int fd, const struct ctl_message *m, struct err *e)
{
	struct buf bytes = { .limit = 2 * CTL_MESSAGE_MAX };
	int fds[CTL_FDS_MAX], ret;
	unsigned n_fds = 0;

	ret = ctl_encode(m, &bytes, fds, &n_fds, e);
	if (ret == 0 && wire_send(fd, &bytes, fds, n_fds) < 0)
		ret = err_errno(e, "control: send message %d", (int)m->kind);
	if (bytes.data)
		explicit_bzero(bytes.data, bytes.len); /* it may have held the key */
	buf_clear(&bytes);
	return ret;
}

int ctl_receive(int fd, struct ctl_message *m, struct err *e)
{
	autofree char *bytes = NULL;
	int fds[CTL_FDS_MAX], ret;
	unsigned n_fds = 0;
	ssize_t n = wire_receive(fd, CTL_MESSAGE_MAX, &bytes, fds, &n_fds, e);

	if (n <= 0)
		return (int)n;
	ret = ctl_decode(bytes, (size_t)n, fds, n_fds, m, e);
	explicit_bzero(bytes, (size_t)n);
	wire_close(fds, n_fds);
	return ret < 0 ? ret : 1;
}
