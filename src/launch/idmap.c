/* SPDX-License-Identifier: MIT */
/* idmap.c - the three worlds of ids, as numbers; see idmap.h. */
#include "launch/idmap.h"

#include "session/idhelper.h"

/* Ids an ordinary user needs besides his own: 1 .. 65535 of the namespace around the session. */
#define SUBIDS_NEEDED (IDS_SLICE - 1)

static void add(struct id_map *map, uint32_t inside, uint32_t outside, uint32_t count)
{
	if (count)
		map->range[map->n++] = (struct id_range) { inside, outside, count };
}

/* Inside id i is `base` + i; the executor's are left out. */
static struct id_map map_slice(uint32_t base)
{
	struct id_map map = { .n = 0 };

	add(&map, 0, base, IDS_WORKLOAD);
	add(&map, IDS_NOBODY, base + IDS_NOBODY, 1);
	return map;
}

/* The workload's own id is the caller's (0 outside), so that what it makes is his; those before it
 * move up by one to make room. */
static struct id_map map_around(uint32_t own)
{
	struct id_map map = { .n = 0 };

	add(&map, 0, 1, own);
	add(&map, own, 0, 1);
	add(&map, own + 1, own + 1, IDS_WORKLOAD - own - 1);
	add(&map, IDS_NOBODY, IDS_NOBODY, 1);
	return map;
}

static struct id_map map_one(uint32_t inside, uint32_t outside)
{
	struct id_map map = { .n = 0 };

	add(&map, inside, outside, 1);
	return map;
}

static struct id_map map_subids(uint32_t caller, uint32_t first)
{
	struct id_map map = { .n = 0 };

	add(&map, 0, caller, 1);
	add(&map, 1, first, SUBIDS_NEEDED);
	return map;
}

static int layout_root(uint32_t slice, struct inside *out, struct err *e)
{
	if (slice < IDS_SLICE || slice > UINT32_MAX - IDS_SLICE)
		return err_code(e, ERANGE, "ids: a slice at %u", slice);
	out->session_uids = out->session_gids = map_slice(slice);
	out->init_uid = out->init_gid = slice + IDS_INIT;
	out->outer_uids.n = out->outer_gids.n = 0;
	return 0;
}

static int need_subids(const char *file, const struct id_range *range, struct err *e)
{
	if (range->count >= SUBIDS_NEEDED)
		return 0;
	return err_code(
		e, ERANGE,
		"ids: %s gives you %u ids, a session needs %u: have root run "
		"'usermod --add-subuids 100000-165535 --add-subgids 100000-165535' for you, with a free range",
		file, range->count, SUBIDS_NEEDED);
}

static int layout_subids(const struct host *host, const struct policy_user *user,
			 struct inside *out, struct err *e)
{
	if (need_subids("/etc/subuid", &host->sub_uids, e) < 0 ||
	    need_subids("/etc/subgid", &host->sub_gids, e) < 0)
		return -e->code;
	out->session_uids = map_around(user->uid);
	out->session_gids = map_around(user->gid);
	out->init_uid = out->init_gid = IDS_INIT;
	out->outer_uids = map_subids(host->uid, host->sub_uids.outside);
	out->outer_gids = map_subids(host->gid, host->sub_gids.outside);
	return 0;
}

/* Executor and workload are one id outside; inside it has the name that the policy wants. */
static void layout_single(const struct host *host, const struct policy_user *user,
			  struct inside *out)
{
	out->session_uids = map_one(user->uid, 0);
	out->session_gids = map_one(user->gid, 0);
	out->init_uid = out->init_gid = 0;
	out->outer_uids = map_one(0, host->uid);
	out->outer_gids = map_one(0, host->gid);
}

int idmap_layout(enum ids_mode mode, uint32_t slice, const struct host *host,
		 const struct policy_user *user, struct inside *out, struct err *e)
{
	int ret = 0;

	if (user->uid >= IDS_WORKLOAD || user->gid >= IDS_WORKLOAD)
		return err_code(e, ERANGE,
				"ids: user '%s' has id %u:%u, a session has those below %u",
				user->name, user->uid, user->gid, IDS_WORKLOAD);
	if (mode == IDS_ROOT)
		ret = layout_root(slice, out, e);
	else if (mode == IDS_SUBIDS)
		ret = layout_subids(host, user, out, e);
	else
		layout_single(host, user, out);
	if (ret < 0)
		return ret;
	out->mode = mode;
	out->session_uid = user->uid;
	out->session_gid = user->gid;
	return 0;
}

uid_t idmap_server_uid(const struct inside *in)
{
	return in->mode == IDS_SINGLE ? in->init_uid : in->init_uid - IDS_INIT + IDS_SERVER;
}

gid_t idmap_server_gid(const struct inside *in)
{
	return in->mode == IDS_SINGLE ? in->init_gid : in->init_gid - IDS_INIT + IDS_SERVER;
}

int idmap_write(const struct inside *in, pid_t child, struct err *e)
{
	if (in->mode == IDS_ROOT)
		return 0;
	if (idhelper_map(child, &in->outer_uids, &in->outer_gids, e) == 0)
		return 0;
	if (in->mode == IDS_SINGLE)
		return err_wrap(e, "ids: map your id");
	return err_wrap(e, "ids: map your ids as /etc/subuid and /etc/subgid list them");
}

/* Cut one range of the inner map at the borders of the outer one's ranges. */
static int compose_range(const struct id_range *r, const struct id_map *outer, struct id_map *out,
			 struct err *e)
{
	uint32_t done = 0;

	while (done < r->count) {
		uint32_t middle = r->outside + done, count = 0;

		for (unsigned i = 0; i < outer->n && !count; i++) {
			const struct id_range *o = &outer->range[i];
			uint32_t skip = middle - o->inside;

			if (middle < o->inside || skip >= o->count)
				continue;
			count = o->count - skip < r->count - done ? o->count - skip
								  : r->count - done;
			if (out->n == IDS_RANGES_MAX)
				return err_code(e, E2BIG, "ids: more than %d ranges",
						IDS_RANGES_MAX);
			add(out, r->inside + done, o->outside + skip, count);
		}
		if (!count)
			return err_code(e, ERANGE, "ids: %u is not mapped around the session",
					middle);
		done += count;
	}
	return 0;
}

int idmap_seen_from_host(const struct id_map *session, const struct id_map *outer,
			 struct id_map *out, struct err *e)
{
	struct id_map map = { .n = 0 };

	if (!outer->n) {
		*out = *session; /* as root there is nothing around it but the host */
		return 0;
	}
	for (unsigned i = 0; i < session->n; i++)
		if (compose_range(&session->range[i], outer, &map, e) < 0)
			return -e->code;
	*out = map;
	return 0;
}
