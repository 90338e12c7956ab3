/* SPDX-License-Identifier: MIT */
/* base.c - `ohsandbox-git base`: a commit's files, index, pack and private git directory. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "git/checkout.h"
#include "git/command.h"
#include "git/gitlib.h"
#include "git/layer.h"
#include "git/pack.h"
#include "git/register.h"

/* One that is as near as this is taken without a look at the others. */
#define DISTANCE_NEAR 64u
/* One that is further away than this is not worth a layer. */
#define DISTANCE_MAX 5000u
/* Nor one that more than every fourth file has changed since. */
#define SHARE 4

struct making {
	const struct arguments *args;
	struct answer *answer;
	struct repo_format format;
	struct objects *objects;
	struct object_id id;
	struct commit commit;
	bool unborn;
};

/* How many files the user's own index has: near enough to show how far the work is. */
static uint64_t expected_files(const struct repo *r)
{
	autoclose int fd = openat(r->git, "index", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	uint8_t head[12];

	if (fd < 0 || read(fd, head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    memcmp(head, "DIRC", 4) != 0)
		return 0;
	return (uint64_t)head[8] << 24 | (uint64_t)head[9] << 16 | (uint64_t)head[10] << 8 |
	       head[11];
}

/* The nearest of the bases given. One whose commit is gone is passed over. -1: none is near. */
static int choose_below(struct making *m, struct object_id *tree, uint32_t *how_far)
{
	uint32_t best = DISTANCE_MAX, distance;
	int chosen = -1;

	for (unsigned i = 0; i < m->args->n_over && best > DISTANCE_NEAR; i++) {
		struct err ignored = { 0 };
		struct object_id id;
		struct commit c;

		if (!object_id_parse(m->objects, m->args->over[i].commit, &id) ||
		    commit_read(m->objects, &id, &c, &ignored) < 0 ||
		    checkout_distance(m->objects, &m->commit.tree, &c.tree, best, &distance,
				      &ignored) < 0)
			continue;
		if (distance < best) {
			best = distance;
			chosen = (int)i;
			*tree = c.tree;
		}
	}
	*how_far = best;
	return chosen;
}

static int open_below(struct making *m, struct checkout *c, struct err *e)
{
	uint32_t distance;
	int chosen = choose_below(m, &c->below_tree, &distance);

	if (chosen < 0)
		return -1;
	if (index_read(m->args->over[chosen].index, objects_id_bytes(m->objects), &c->below, e) < 0)
		return -1;
	/* Near in number, but is it in proportion? A small repository is as quickly written whole. */
	if (distance > index_in_count(c->below) / SHARE) {
		index_in_free(c->below);
		c->below = NULL;
		return -1;
	}
	return chosen;
}

static void warn_left_out(const struct checkout *c)
{
	if (c->submodules == 1)
		answer_warn(c->answer, "submodule '%s' is left empty", c->first_submodule);
	if (c->submodules > 1)
		answer_warn(c->answer, "submodule '%s' and %llu more are left empty",
			    c->first_submodule, (unsigned long long)c->submodules - 1);
	if (c->missing)
		answer_warn(c->answer,
			    "%llu files are left out: this partial clone does not have them",
			    (unsigned long long)c->missing);
}

static int fill_tree(struct making *m, struct checkout *c, struct err *e)
{
	struct err ignored = { 0 };
	int chosen = open_below(m, c, &ignored), r;

	c->expected = expected_files(&m->args->repo);
	r = checkout_fill(c, m->args->tree, e);
	if (r == 0)
		r = index_write(&c->index, m->args->index, e);
	if (r < 0)
		return r;
	jo_string(&m->answer->json, "over", chosen < 0 ? NULL : m->args->over[chosen].commit);
	warn_left_out(c);
	return 0;
}

static int make_tree(struct making *m, struct err *e)
{
	struct checkout c = { .objects = m->objects,
			      .answer = m->answer,
			      .commit = m->id,
			      .head = m->commit,
			      .promisor = m->format.promisor };
	int r;

	index_out_init(&c.index, objects_id_bytes(m->objects));
	if (m->unborn) {
		r = index_write(&c.index, m->args->index, e);
		jo_string(&m->answer->json, "over", NULL);
	} else {
		r = fill_tree(m, &c, e);
	}
	index_in_free(c.below);
	index_out_clear(&c.index);
	if (r < 0)
		return r;
	jo_u64(&m->answer->json, "entries", c.entries);
	jo_u64(&m->answer->json, "bytes", c.bytes);
	/* Other storages of references have no place for a work tree we write by hand. */
	if (m->unborn || m->format.reftable || !m->args->tree_path)
		return 0;
	r = register_add(&m->args->repo, m->args->tree, m->args->tree_path, m->args->commit, e);
	if (r == 0)
		answer_warn(
			m->answer,
			"repository '%s' cannot be written, so the base is not registered in it",
			m->args->repo.path);
	return r < 0 ? r : 0;
}

static int make_layer(struct making *m, struct err *e)
{
	const struct arguments *args = m->args;
	const struct layer l = {
		.repo = &args->repo,
		.format = &m->format,
		.objects = m->objects,
		.answer = m->answer,
		.commit = args->commit,
		.ref = args->ref ? args->ref : "",
		.name = args->name,
		.email = args->email,
		.default_name = args->default_name,
		.default_email = args->default_email,
		.pack = args->reachable ? args->pack : -1,
		.index = args->index,
	};

	if (args->index < 0 || (args->reachable && args->pack < 0))
		return err_code(e, EINVAL, "--layer needs --index, and --pack with --reachable");
	return layer_write(&l, args->layer, e);
}

/* The pack's directory is given also when the pack is there already. */
static bool is_packed(int dir)
{
	return faccessat(dir, "pack", F_OK, 0) == 0;
}

static int make_all(struct making *m, struct err *e)
{
	const struct arguments *args = m->args;

	if (args->tree >= 0 && make_tree(m, e) < 0)
		return -e->code;
	if (args->pack >= 0 && !is_packed(args->pack) &&
	    pack_reachable(&args->repo, &m->format, m->objects, args->commit, args->pack, m->answer,
			   e) < 0)
		return -e->code;
	return args->layer >= 0 ? make_layer(m, e) : 0;
}

static int read_commit(struct making *m, struct err *e)
{
	m->unborn = str_eq(m->args->commit, GIT_UNBORN);
	if (m->unborn)
		return 0;
	if (!object_id_parse(m->objects, m->args->commit, &m->id))
		return err_code(e, EINVAL, "'%s' is no id of this repository's", m->args->commit);
	if (commit_read(m->objects, &m->id, &m->commit, e) == 0)
		return 0;
	if (e->code == ENOENT)
		return err_code(e, ENOENT, "repository '%s' has no commit %s", m->args->repo.path,
				m->args->commit);
	return err_wrap(e, "repository '%s'", m->args->repo.path);
}

int command_base(const struct arguments *args, struct answer *a, struct err *e)
{
	struct making m = { .args = args, .answer = a };
	int r;

	if (!args->commit || !git_id_ok(args->commit) || (args->tree >= 0 && args->index < 0))
		return err_code(e, EINVAL, "--commit, or --index for --tree, is missing");
	if (repo_format_read(&args->repo, &m.format, e) < 0 ||
	    objects_open(&args->repo, &m.format, &m.objects, e) < 0)
		return -e->code;
	r = read_commit(&m, e);
	if (r == 0)
		r = make_all(&m, e);
	objects_free(m.objects);
	return r;
}

int command_unregister(const struct arguments *args, struct answer *a, struct err *e)
{
	(void)a;
	if (!args->tree_path)
		return err_code(e, EINVAL, "--tree-path is missing");
	return register_remove(&args->repo, args->tree_path, e);
}
