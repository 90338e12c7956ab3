/* SPDX-License-Identifier: MIT */
/* stages.c - see stages.h: from the base to the session's directory, and back. What starts
 * processes is in stages_live.c. */
#include "launch/stages.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/str.h"
#include "launch/idmap.h"
#include "launch/net.h"
#include "launch/supervise.h"
#include "plan/request_json.h"
#include "plan/strv.h"
#include "session/freeze.h"
#include "session/name.h"
#include "session/overlay.h"
#include "session/program.h"
#include "session/remove.h"
#include "session/rootfs.h"
#include "session/slot.h"

static int copy_text(char **to, const char *from, struct err *e)
{
	if (!from)
		return 0;
	*to = str_dup(from, e);
	return *to ? 0 : -e->code;
}

int stage_base_up(struct launch *l, struct err *e)
{
	int found;

	if (l->plan->request->kind != WORKSPACE_REPO)
		return 0;
	if (l->resumes)
		return worktree_again(l->plan, l->state, &l->record, &l->base, e);
	found = worktree_find(l->plan, l->state, &l->base, e);
	if (found != 0)
		return found < 0 ? found : 0;
	return worktree_make(l->plan, l->state, &l->base, e);
}

int stage_root_up(struct launch *l, struct err *e)
{
	autoclose int sudo = -1;

	/* The host's files may have changed since: a session keeps the root it was started with. */
	if (l->resumes && l->record.layers_root && l->record.layers_root[0] &&
	    faccessat(l->state, l->record.layers_root[0], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return copy_text(&l->skeleton, l->record.layers_root[0], e);
	sudo = program_open("sudo", e);
	return sudo < 0 ? sudo : rootfs_up(l->plan, l->state, sudo, &l->skeleton, e);
}

/* Its number, from which its ids, address and link follow. */
static int take_slot(struct launch *l, struct err *e)
{
	autofree char *path = fs_path_of(l->state, e);

	if (!path)
		return -e->code;
	return l->resumes ? slot_retake(path, l->plan->id, l->record.slot, e)
			  : slot_take(path, l->plan->id, &l->record.slot, e);
}

int stage_slot_up(struct launch *l, struct err *e)
{
	struct plan *p = l->plan;
	uint32_t slice = 0;

	/* Up to here a signal ends us, and nothing is left. */
	l->signals = supervise_signals(e);
	if (l->signals < 0)
		return -e->code;
	if (l->resumes)
		memcpy(p->id, l->record.id, sizeof(p->id));
	else if (fs_random_hex(p->id, (sizeof(p->id) - 1) / 2, e) < 0)
		return -e->code;
	memcpy(l->record.id, p->id, sizeof(p->id));
	if (p->ids == IDS_ROOT) {
		if (take_slot(l, e) < 0)
			return -e->code;
		slice = slot_uid_base(l->record.slot);
	}
	return idmap_layout(p->ids, slice, p->host, &p->user, &l->inside, e);
}

int stage_slot_down(const struct ending *x, struct err *e)
{
	if (x->record->slot == SESSION_NO_SLOT || x->failed || x->rests)
		return 0;
	return slot_release(x->record->slot, x->record->id, e);
}

static int take_held(struct launch *l, struct err *e)
{
	for (unsigned i = 0; i < l->n_held && i < LISTEN_LOOPBACK_MAX; i++) {
		l->listeners[i] = fcntl(l->held_listeners[i], F_DUPFD_CLOEXEC, 3);
		if (l->listeners[i] < 0)
			return err_errno(e, "duplicate a listener");
		l->n_listeners++;
	}
	return (int)l->n_listeners;
}

/* How many descriptors. */
static int listen_for_host(struct launch *l, struct err *e)
{
	if (l->resumes && l->n_held)
		return take_held(l, e);
	return l->resumes ? listen_loopback_again(l->listeners, l->record.host_port, e)
			  : listen_loopback(l->kept, l->listeners, &l->record.host_port, e);
}

/* One port of the session, at one address or, where none was chosen, at those of the loopback. */
static int publish(struct launch *l, const struct publish *p, struct record_port *port,
		   struct err *e)
{
	int fds[LISTEN_LOOPBACK_MAX], n = 1;

	if (l->n_publish + (p->port ? 1 : LISTEN_LOOPBACK_MAX) > LIFECYCLE_PUBLISH_MAX)
		return err_code(e, E2BIG, "publish: more than %d listeners", LIFECYCLE_PUBLISH_MAX);
	if (!l->resumes)
		*port = (struct record_port) { p->port, p->inside };
	if (p->port)
		fds[0] = listen_publish(p, e);
	else
		n = l->resumes ? listen_loopback_again(fds, port->host, e)
			       : listen_loopback(l->kept, fds, &port->host, e);
	if (n < 0 || fds[0] < 0)
		return -e->code;
	for (int i = 0; i < n; i++)
		l->publish[l->n_publish++] = (struct launch_publish) { fds[i], p->inside };
	return 0;
}

int stage_listen_up(struct launch *l, struct err *e)
{
	const struct request *r = l->plan->request;
	int n = listen_for_host(l, e);

	if (n < 0)
		return n;
	l->n_listeners = (unsigned)n;
	if (r->n_publish > RECORD_PORTS_MAX)
		return err_code(e, E2BIG, "publish: more than %d ports", RECORD_PORTS_MAX);
	for (unsigned i = 0; i < r->n_publish; i++)
		if (publish(l, &r->publish[i], &l->record.ports[i], e) < 0)
			return -e->code;
	l->record.n_ports = r->n_publish;
	return 0;
}

static const char *const workspace_kinds[] = {
	[WORKSPACE_REPO] = "repo",
	[WORKSPACE_DIR] = "dir",
	[WORKSPACE_EMPTY] = "empty",
};

static int describe(struct launch *l, struct record *r, struct err *e)
{
	const struct plan *p = l->plan;
	const struct request *q = p->request;

	if (copy_text(&r->workspace_kind, workspace_kinds[q->kind], e) < 0 ||
	    copy_text(&r->path, q->path, e) < 0 || copy_text(&r->subdir, q->subdir, e) < 0 ||
	    copy_text(&r->rev, q->rev, e) < 0 || copy_text(&r->policy, p->policy->name, e) < 0 ||
	    copy_text(&r->policy_digest, p->policy->digest, e) < 0 ||
	    copy_text(&r->user, p->user.name, e) < 0 || copy_text(&r->name, q->name, e) < 0 ||
	    copy_text(&r->label, q->label, e) < 0)
		return -e->code;
	if (q->argv && strv_extend(&r->command, q->argv, e) < 0)
		return -e->code;
	if (q->kind != WORKSPACE_REPO)
		return 0;
	if (copy_text(&r->commit, l->base.commit, e) < 0 ||
	    copy_text(&r->repo_id, l->base.repo_id, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < l->base.n_layers; i++)
		if (strv_add(&r->layers_workspace, l->base.layers[i], e) < 0)
			return -e->code;
	return 0;
}

/* Every name that this session will ever use, before the first of them exists. */
static int draft(struct launch *l, struct err *e)
{
	const struct plan *p = l->plan;
	struct record *r = &l->record;
	bool root = p->ids == IDS_ROOT;

	r->ids = p->ids;
	r->host_uid = p->host->uid;
	r->keep = p->keep;
	r->stays = l->stays;
	r->session_uids = root ? l->inside.session_uids : l->inside.outer_uids;
	r->session_gids = root ? l->inside.session_gids : l->inside.outer_gids;
	if (describe(l, r, e) < 0 || strv_add(&r->layers_root, l->skeleton, e) < 0 ||
	    (p->request->rootfs && strv_add(&r->layers_root, p->request->rootfs, e) < 0) ||
	    cgroup_names(p, p->id, r->group, &r->n_groups, e) < 0 ||
	    net_inside_fill(p, r->slot, &l->inside.net, e) < 0 || fs_random_hex(r->key, 32, e) < 0)
		return -e->code;
	r->port = l->inside.net.port;
	if (p->veth) {
		slot_link_name(r->slot, r->link);
		r->address = l->inside.net.address;
	}
	return 0;
}

/* What it was started with: a paused one is brought back by it. */
static int keep_request(struct launch *l, struct err *e)
{
	autobuf struct buf text = { 0 };

	request_write(l->plan->request, l->plan->policy, &text);
	if (buf_check(&text, e) < 0)
		return err_wrap(e, "session %s: its request", l->plan->id);
	return session_keep_request(l->session, &text, e);
}

static bool maps_equal(const struct id_map *a, const struct id_map *b)
{
	return a->n == b->n && memcmp(a->range, b->range, a->n * sizeof(a->range[0])) == 0;
}

/* Its layers hold ids, which must mean the same as before. */
static int check_ids(const struct launch *l, struct err *e)
{
	const struct record *r = &l->record;
	bool root = l->plan->ids == IDS_ROOT;

	if (r->ids != l->plan->ids ||
	    !maps_equal(&r->session_uids, root ? &l->inside.session_uids : &l->inside.outer_uids) ||
	    !maps_equal(&r->session_gids, root ? &l->inside.session_gids : &l->inside.outer_gids))
		return err_code(e, EPERM,
				"session %s: this host gives other ids now than its files have",
				r->id);
	if (!!r->link[0] != l->plan->veth)
		return err_code(e, EPERM,
				"session %s: whether it can have an address of its own has changed",
				r->id);
	return 0;
}

static void forget_groups(struct record *r)
{
	for (unsigned i = 0; i < r->n_groups; i++)
		free(take_ptr(&r->group[i]));
	r->n_groups = 0;
}

/* Groups are made below where we stand, which may be elsewhere than where it was started. */
static int draft_again(struct launch *l, struct err *e)
{
	struct record *r = &l->session->record;

	if (check_ids(l, e) < 0 || net_inside_fill(l->plan, r->slot, &l->inside.net, e) < 0)
		return -e->code;
	forget_groups(r);
	forget_groups(&l->record);
	if (cgroup_names(l->plan, r->id, r->group, &r->n_groups, e) < 0 ||
	    cgroup_names(l->plan, r->id, l->record.group, &l->record.n_groups, e) < 0 ||
	    session_save(l->session, e) < 0)
		return -e->code;
	return session_note(l->session, e, "resumes");
}

int stage_session_up(struct launch *l, struct err *e)
{
	if (l->resumes)
		return draft_again(l, e);
	if (draft(l, e) < 0 || session_new(l->state, &l->record, &l->session, e) < 0 ||
	    name_take(l->session, e) < 0 || (l->stays && keep_request(l, e) < 0))
		return -e->code;
	if (l->born)
		l->born(l);
	return 0;
}

int stage_session_down(const struct ending *x, struct err *e)
{
	if (!x->session || x->failed || x->rests)
		return 0;
	if (x->record->keep && !x->remove)
		return 0;
	name_drop(x->session);
	return layers_remove(x->session, e);
}

int stages_forget(struct session *s, struct err *e)
{
	struct record *r = &s->record;

	session_drop_request(s);
	if (!r->n_groups && !r->link[0] && r->slot == SESSION_NO_SLOT)
		return 0;
	forget_groups(r);
	r->slot = SESSION_NO_SLOT;
	r->link[0] = '\0';
	r->address = 0;
	r->port = r->host_port = 0;
	memset(r->key, 0, sizeof(r->key));
	return session_save(s, e);
}

/* Uncommitted changes, into the upper layer of the workspace. */
static int carry_over(struct launch *l, struct err *e)
{
	uid_t uid = launch_workload_uid(l);
	gid_t gid = launch_workload_gid(l);

	if (uid == (uid_t)-1) {
		uid = l->plan->host->uid;
		gid = l->plan->host->gid;
	}
	for (unsigned i = 0; i < l->plan->n_mounts; i++) {
		const struct mount_step *m = &l->plan->mounts[i];

		if (m->kind == MOUNT_OVERLAY && str_eq(m->layer, "workspace"))
			return worktree_dirty(l->plan, &l->base, m->upper, uid, gid, e);
	}
	return 0;
}

int stage_overlay_up(struct launch *l, struct err *e)
{
	bool repo = l->plan->request->kind == WORKSPACE_REPO;

	if (overlay_up(l->plan, repo ? &l->base : NULL, l->skeleton, l->session, e) < 0)
		return -e->code;
	if (repo && l->plan->request->dirty && !l->resumes && carry_over(l, e) < 0)
		return err_wrap(e, "--dirty");
	return 0;
}

/* An id where init stands, as the host sees it. */
static uid_t seen_from_host(const struct inside *in, uid_t id)
{
	for (unsigned i = 0; i < in->outer_uids.n; i++) {
		const struct id_range *r = &in->outer_uids.range[i];

		if (id >= r->inside && id - r->inside < r->count)
			return r->outside + (id - r->inside);
	}
	return id;
}

static int make_groups(struct launch *l, struct err *e)
{
	uid_t init_uid = seen_from_host(&l->inside, l->inside.init_uid);

	if (cgroup_up(l->plan, &l->session->record, init_uid, &l->cgroup, e) < 0)
		return -e->code;
	return cgroup_leaves_up(l->plan, &l->session->record, init_uid, &l->cgroup, e);
}

int stage_cgroup_up(struct launch *l, struct err *e)
{
	return l->record.n_groups && cgroup_born_in(l->plan) ? make_groups(l, e) : 0;
}

int stage_groups_up(struct launch *l, struct err *e)
{
	return l->record.n_groups && !cgroup_born_in(l->plan) ? make_groups(l, e) : 0;
}

int stage_cgroup_down(const struct ending *x, struct err *e)
{
	struct err first = { 0 }, next = { 0 };

	if (freeze_down(x->record, &next) < 0)
		err_keep(&first, &next);
	if (x->record->n_groups && cgroup_down(x->record, &next) < 0)
		err_keep(&first, &next);
	if (!first.code)
		return 0;
	*e = first;
	return -first.code;
}

int stage_network_up(struct launch *l, struct err *e)
{
	const struct net_inside *inside = &l->inside.net;

	if (l->plan->ids != IDS_ROOT)
		return 0; /* the child is cloned into one, which has loopback alone */
	if (netns_new(inside, &l->netns, e) < 0 ||
	    net_up(l->plan, &l->session->record, l->netns.fd, e) < 0)
		return -e->code;
	return netns_configure(&l->netns, inside, e);
}

int stage_network_down(const struct ending *x, struct err *e)
{
	return x->record->link[0] ? net_down(x->record, e) : 0;
}
