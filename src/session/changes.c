/* SPDX-License-Identifier: MIT */
/* changes.c - see changes.h: the walk.
 *
 * Each directory is seen twice: as the session left it (all layers) and as it was (the lowers).
 * Where the session's is one upper directory over the very same lowers, only the names in the upper
 * one can differ, and only they are looked at. Where it is opaque, renamed or new, both sides are
 * compared whole. No recursion and no descriptor is kept from one directory to the next: a session
 * can make a tree thousands of levels deep. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "session/changes_parts.h"

/* Something to tell, or a directory to look into; its path then ends with a slash, which is also
 * what sorts it behind "name.c" and before "name0", as its content must be. */
struct item {
	char *path;
	bool dir;
	struct view now, before; /* of a directory */
	char kind;
	struct found was, is; /* of what is no directory */
};

struct items {
	struct item *item;
	size_t n, room;
};

struct walk {
	const struct stack *stack;
	bool skip_git;
	unsigned flags;
	int (*each)(const struct change *c, void *arg);
	void *arg;
	struct items todo; /* the last is the next */
};

static void item_clear(struct item *i)
{
	free(i->path);
	view_clear(&i->now);
	view_clear(&i->before);
	found_clear(&i->was);
	found_clear(&i->is);
}

static void items_clear(struct items *l)
{
	while (l->n)
		item_clear(&l->item[--l->n]);
	free(l->item);
	*l = (struct items) { 0 };
}

/* Room for one more, which is the caller's to fill before it counts. */
static struct item *items_next(struct items *l, struct err *e)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct item *grown = reallocarray(l->item, room, sizeof(*grown));

		if (!grown) {
			(void)err_code(e, ENOMEM, "out of memory");
			return NULL;
		}
		l->item = grown;
		l->room = room;
	}
	l->item[l->n] = (struct item) { 0 };
	return &l->item[l->n];
}

/* ---- names of a directory ---- */

struct names {
	char **name;
	size_t n, room;
};

static void names_clear(struct names *l)
{
	while (l->n)
		free(l->name[--l->n]);
	free(l->name);
}

static int names_add(struct names *l, const char *name, struct err *e)
{
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		char **grown = reallocarray(l->name, room, sizeof(*grown));

		if (!grown)
			return err_code(e, ENOMEM, "out of memory");
		l->name = grown;
		l->room = room;
	}
	l->name[l->n] = str_dup(name, e);
	return l->name[l->n] ? (int)(l->n++, 0) : -ENOMEM;
}

static int names_read(struct names *l, int fd, struct err *e)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read a directory of a layer");
	}
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
		    names_add(l, d->d_name, e) < 0)
			return -e->code;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_unique(struct names *l)
{
	size_t to = 0;

	if (l->n)
		qsort(l->name, l->n, sizeof(*l->name), by_text);
	for (size_t i = 0; i < l->n; i++) {
		if (to && strcmp(l->name[to - 1], l->name[i]) == 0)
			free(l->name[i]);
		else
			l->name[to++] = l->name[i];
	}
	l->n = to;
}

/* ---- one directory ---- */

struct sides {
	struct view_fds now, before;
};

static void sides_close(struct sides *s)
{
	view_close(&s->now);
	view_close(&s->before);
}

/* Which names may differ. */
static int gather(const struct item *dir, const struct sides *s, struct names *out, struct err *e)
{
	if (view_is_over(&dir->now, &dir->before))
		return names_read(out, s->now.fd[0], e);
	for (unsigned i = 0; i < s->now.n; i++)
		if (names_read(out, s->now.fd[i], e) < 0)
			return -e->code;
	for (unsigned i = 0; i < s->before.n; i++)
		if (names_read(out, s->before.fd[i], e) < 0)
			return -e->code;
	names_unique(out);
	return 0;
}

static bool is_file(const struct found *f)
{
	return f->mode && !S_ISDIR(f->mode);
}

static char kind_of(bool is, bool was)
{
	return !was ? CHANGE_ADDED : is ? CHANGE_MODIFIED : CHANGE_DELETED;
}

/* A directory on either side, to be looked into later. Deeper than is looked, it is told of itself. */
static int add_dir(struct items *out, const char *path, struct found *is, struct found *was,
		   struct err *e)
{
	struct item *i = items_next(out, e);

	if (!i)
		return -e->code;
	i->path = str_fmt(e, "%s/", path);
	if (!i->path)
		return -e->code;
	i->dir = strlen(i->path) <= CHANGES_PATH_MAX;
	i->kind = kind_of(is->view.n, was->view.n);
	if (!i->dir) {
		i->is.mode = is->view.n ? is->mode : 0;
		i->was.mode = was->view.n ? was->mode : 0;
	}
	i->now = is->view;
	i->before = was->view;
	is->view = was->view = (struct view) { 0 };
	out->n++;
	return 0;
}

/* Something else than a directory on either side. */
static int add_file(struct items *out, const char *path, struct found *is, struct found *was,
		    struct err *e)
{
	struct item *i = items_next(out, e);

	if (!i)
		return -e->code;
	i->path = str_dup(path, e);
	if (!i->path)
		return -e->code;
	i->kind = kind_of(is_file(is), is_file(was));
	if (is_file(is)) {
		i->is = *is;
		*is = (struct found) { 0 };
	}
	if (is_file(was)) {
		i->was = *was;
		*was = (struct found) { 0 };
	}
	out->n++;
	return 0;
}

/* One name, which may be a file on one side and a directory on the other. */
static int compare(const struct walk *w, const char *path, struct found *is, struct found *was,
		   struct items *out, struct err *e)
{
	int differs = is_file(is) || is_file(was);

	if (is_file(is) && is_file(was))
		differs = change_differs(w->stack, was, is, e);
	if (differs < 0 ||
	    (!view_equal(&is->view, &was->view) && add_dir(out, path, is, was, e) < 0))
		return -e->code;
	return differs ? add_file(out, path, is, was, e) : 0;
}

static int look_at(const struct walk *w, const struct item *dir, const struct sides *s,
		   const char *name, struct items *out, struct err *e)
{
	struct found is __attribute__((cleanup(found_clear))) = { 0 };
	struct found was __attribute__((cleanup(found_clear))) = { 0 };
	autofree char *path = str_fmt(e, "%s%s", dir->path, name);

	if (!path || stack_lookup(w->stack, &dir->now, &s->now, name, &is, e) < 0 ||
	    stack_lookup(w->stack, &dir->before, &s->before, name, &was, e) < 0)
		return -e->code;
	return compare(w, path, &is, &was, out, e);
}

/* Downwards: the last of a list is the first to be done. */
static int by_path_reversed(const void *a, const void *b)
{
	return strcmp(((const struct item *)b)->path, ((const struct item *)a)->path);
}

static int open_and_compare(const struct walk *w, const struct item *dir, struct items *out,
			    struct err *e)
{
	struct sides s __attribute__((cleanup(sides_close))) = { 0 };
	struct names names __attribute__((cleanup(names_clear))) = { 0 };

	if (view_open(w->stack, &dir->now, &s.now, e) < 0 ||
	    view_open(w->stack, &dir->before, &s.before, e) < 0 || gather(dir, &s, &names, e) < 0)
		return -e->code;
	for (size_t i = 0; i < names.n; i++) {
		if (w->skip_git && !*dir->path && strcmp(names.name[i], ".git") == 0)
			continue;
		if (look_at(w, dir, &s, names.name[i], out, e) < 0)
			return -e->code;
	}
	return 0;
}

/* Put what a directory holds on the list of what is to be done. */
static int expand(struct walk *w, const struct item *dir, struct err *e)
{
	struct items found __attribute__((cleanup(items_clear))) = { 0 };

	if (open_and_compare(w, dir, &found, e) < 0)
		return err_wrap(e, "'%.200s'", *dir->path ? dir->path : ".");
	if (found.n)
		qsort(found.item, found.n, sizeof(*found.item), by_path_reversed);
	for (size_t i = 0; i < found.n; i++) {
		struct item *to = items_next(&w->todo, e);

		if (!to)
			return -e->code;
		*to = found.item[i];
		found.item[i] = (struct item) { 0 };
		w->todo.n++;
	}
	return 0;
}

static int tell(const struct walk *w, struct item *i, struct err *e)
{
	struct change_files files __attribute__((cleanup(change_files_close))) = CHANGE_FILES_NONE;
	const struct found *shown = i->is.mode ? &i->is : &i->was;
	struct change c = {
		.kind = i->kind,
		.path = i->path,
		.mode = shown->mode,
		.size = S_ISREG(shown->mode) ? (uint64_t)shown->st.st_size : 0,
		.before = -1,
		.after = -1,
		.mode_before = i->was.mode,
	};

	if (S_ISDIR(shown->mode))
		i->path[strlen(i->path) - 1] = '\0';
	if (w->flags & CHANGES_FILES) {
		if (change_files_open(w->stack, &i->was, &i->is, &files, e) < 0)
			return err_wrap(e, "'%.200s'", i->path);
		c.before = files.before;
		c.after = files.after;
		c.link_before = files.link_before;
		c.link_after = files.link_after;
	}
	return w->each(&c, w->arg);
}

int changes_walk(const struct stack *s, bool skip_git, unsigned flags,
		 int (*each)(const struct change *c, void *arg), void *arg, struct err *e)
{
	struct walk w = { .stack = s,
			  .skip_git = skip_git,
			  .flags = flags,
			  .each = each,
			  .arg = arg };
	struct item next = { .path = str_dup("", e), .dir = true };
	int result = -e->code;

	if (next.path && stack_top(s, 0, &next.now, e) == 0 &&
	    stack_top(s, 1, &next.before, e) == 0)
		result = expand(&w, &next, e);
	item_clear(&next);
	while (result >= 0 && w.todo.n) {
		next = w.todo.item[--w.todo.n];
		result = next.dir ? expand(&w, &next, e) : tell(&w, &next, e);
		item_clear(&next);
	}
	items_clear(&w.todo);
	return result < 0 ? result : 0;
}
