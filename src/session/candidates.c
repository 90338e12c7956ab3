/* SPDX-License-Identifier: MIT */
/* candidates.c - see candidates.h. */
#include "session/candidates.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

struct search {
	struct candidates *list;
	const char *except;
};

static void clear_one(struct candidate *c)
{
	auto_close(&c->index);
	auto_close(&c->lock);
}

/* Put it where its age belongs; the oldest falls off the end. */
static void insert(struct candidates *list, struct candidate *c)
{
	unsigned at = list->n;

	while (at && list->base[at - 1].used < c->used)
		at--;
	if (at == CANDIDATES_MAX) {
		clear_one(c);
		return;
	}
	if (list->n == CANDIDATES_MAX)
		clear_one(&list->base[--list->n]);
	memmove(&list->base[at + 1], &list->base[at], (list->n - at) * sizeof(*c));
	list->base[at] = *c;
	list->n++;
}

/* One that cannot be used, for whatever reason, is none. */
static int consider(int dir, const char *name, void *arg, struct err *e)
{
	struct candidate c = { .lock = -1, .index = -1 };
	struct search *s = arg;
	struct stat st;

	(void)e;
	if (!git_id_ok(name) || str_eq(name, s->except))
		return 0;
	memcpy(c.commit, name, strlen(name) + 1);
	c.lock = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c.lock >= 0 && flock(c.lock, LOCK_SH | LOCK_NB) == 0 &&
	    store_read_ready(c.lock, &c.ready) && c.ready.n_trees < STORE_DEPTH_MAX &&
	    c.ready.entries && fstatat(c.lock, "ready", &st, 0) == 0) {
		c.used = st.st_mtime;
		c.index = openat(c.lock, "index", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (c.index < 0)
		clear_one(&c);
	else
		insert(s->list, &c);
	return 0;
}

int candidates_find(int dir, const char *except, struct candidates *out, struct err *e)
{
	struct search s = { .list = out, .except = except };

	return store_each(dir, consider, &s, e);
}

void candidates_clear(struct candidates *c)
{
	while (c->n)
		clear_one(&c->base[--c->n]);
}

const struct ready *candidates_get(const struct candidates *c, const char *commit)
{
	for (unsigned i = 0; i < c->n; i++)
		if (str_eq(c->base[i].commit, commit))
			return &c->base[i].ready;
	return NULL;
}
