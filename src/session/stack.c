/* SPDX-License-Identifier: MIT */
/* stack.c - see stack.h; the kernel's side of it is fs/overlayfs/namei.c. */
#include "session/stack.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/fs.h"
#include "base/str.h"

#define CHUNK_BYTES 4000 /* of a path in one call; the kernel takes 4095 */
#define REDIRECT_BYTES 4096
#define REDIRECTS_MAX 40 /* in one lookup */

/* ---- views ---- */

void view_clear(struct view *v)
{
	for (unsigned i = 0; i < v->n; i++)
		free(v->spot[i].path);
	free(v->spot);
	*v = (struct view) { 0 };
}

static int view_add(struct view *v, unsigned layer, const char *path, struct err *e)
{
	struct spot *grown = calloc(v->n + 1, sizeof(*grown));

	if (!grown)
		return err_code(e, ENOMEM, "out of memory");
	if (v->n)
		memcpy(grown, v->spot, v->n * sizeof(*grown));
	free(v->spot);
	v->spot = grown;
	v->spot[v->n].layer = layer;
	v->spot[v->n].path = str_dup(path, e);
	if (!v->spot[v->n].path)
		return -e->code;
	v->n++;
	return 0;
}

static bool spot_equal(const struct spot *a, const struct spot *b)
{
	return a->layer == b->layer && strcmp(a->path, b->path) == 0;
}

bool view_equal(const struct view *a, const struct view *b)
{
	for (unsigned i = 0; a->n == b->n && i < a->n; i++)
		if (!spot_equal(&a->spot[i], &b->spot[i]))
			return false;
	return a->n == b->n;
}

bool view_is_over(const struct view *a, const struct view *b)
{
	struct view rest = { .spot = a->n ? a->spot + 1 : NULL, .n = a->n ? a->n - 1 : 0 };

	return a->n && view_equal(&rest, b);
}

int stack_top(const struct stack *s, unsigned first, struct view *out, struct err *e)
{
	struct view v = { 0 };

	for (unsigned i = first; i < s->n; i++)
		if (view_add(&v, i, "", e) < 0) {
			view_clear(&v);
			return -e->code;
		}
	*out = v;
	return 0;
}

/* ---- opening ---- */

/* Where the part of a path that fits into one call ends. */
static size_t chunk(const char *path)
{
	size_t n = strnlen(path, CHUNK_BYTES);

	if (!path[n])
		return n;
	while (n && path[n] != '/')
		n--;
	return n;
}

int stack_open(const struct stack *s, const struct spot *at, int flags, struct err *e)
{
	autoclose int dir = -1;
	const char *path = at->path;
	char part[CHUNK_BYTES + 1];
	int fd;

	for (;;) {
		size_t n = chunk(path);
		bool last = path[n] == '\0';

		if (!n && *path)
			return err_code(e, ENAMETOOLONG, "a name of more than %d bytes",
					CHUNK_BYTES);
		memcpy(part, n ? path : ".", n ? n : 1);
		part[n ? n : 1] = '\0';
		fd = fs_open_beneath(dir >= 0 ? dir : s->root[at->layer], part,
				     last ? flags : O_PATH | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS,
				     e);
		if (fd < 0 || last)
			return fd;
		drop_fd(&dir);
		dir = fd;
		path += n + 1;
	}
}

int view_open(const struct stack *s, const struct view *v, struct view_fds *out, struct err *e)
{
	out->n = 0;
	for (unsigned i = 0; i < v->n; i++) {
		int fd = stack_open(s, &v->spot[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW, e);

		if (fd < 0) {
			view_close(out);
			return fd;
		}
		out->fd[out->n++] = fd;
	}
	return 0;
}

void view_close(struct view_fds *fds)
{
	while (fds->n)
		(void)close(fds->fd[--fds->n]); /* only read from */
}

void found_clear(struct found *f)
{
	free(f->at.path);
	view_clear(&f->view);
	*f = (struct found) { 0 };
}

/* ---- lookup ---- */

/* A name on its way down the layers. */
struct lookup {
	const struct stack *stack;
	struct found found;
	char *path;	 /* where to look in the next layer, from its root */
	bool redirected; /* by an absolute path: the layers below are looked at from their roots */
	bool stop;	 /* nothing below counts */
	unsigned redirects;
};

static ssize_t get_mark(const struct stack *s, int fd, const char *mark, char *value, size_t size)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s.overlay.%s", s->user_xattrs ? "user" : "trusted",
		       mark);
	return fgetxattr(fd, name, value, size);
}

/* A character device 0:0; or, where that cannot be made, an empty file with a mark. */
static bool is_whiteout(const struct stack *s, int dir, const char *name, const struct stat *st)
{
	autoclose int fd = -1;
	char value[4];

	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(0, 0);
	if (!S_ISREG(st->st_mode) || st->st_size)
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && get_mark(s, fd, "whiteout", value, sizeof(value)) >= 0;
}

/* One name, or from the layers' roots a path of plain names. */
static bool is_sane_redirect(const char *text)
{
	const char *p = text + (*text == '/');

	if (*text != '/' && strchr(text, '/'))
		return false;
	for (;;) {
		size_t n = strcspn(p, "/");

		if (!n || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		if (!p[n])
			return true;
		p += n + 1;
	}
}

/* The directory at `path` (of which `prefix` bytes are the parents' with their slash) in this layer
 * was renamed: the layers below have it elsewhere. `rest` is what was still to be looked up. */
static int redirect(struct lookup *l, const char *path, size_t prefix, const char *text,
		    const char *rest, struct err *e)
{
	bool absolute = text[0] == '/';
	char *next;

	if (!is_sane_redirect(text) || ++l->redirects > REDIRECTS_MAX)
		return err_code(e, EIO, "the layer's directory '%.80s' is redirected to '%.80s'",
				path, text);
	next = absolute ? str_fmt(e, "%s%s", text + 1, rest)
			: str_fmt(e, "%.*s%s%s", (int)prefix, path, text, rest);
	if (!next)
		return -e->code;
	free(l->path);
	l->path = next;
	l->redirected = l->redirected || absolute;
	return 0;
}

/* A directory was found at `path`, whose last name begins at `prefix`; is it opaque, or renamed? */
static int read_marks(struct lookup *l, int fd, const char *path, size_t prefix, const char *rest,
		      struct err *e)
{
	char text[REDIRECT_BYTES];
	ssize_t n = get_mark(l->stack, fd, "opaque", text, sizeof(text));

	if (n == 1 && text[0] == 'y') {
		l->stop = true;
		return 0;
	}
	n = get_mark(l->stack, fd, "redirect", text, sizeof(text) - 1);
	if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
		return 0;
	if (n <= 0 || memchr(text, '\0', (size_t)n))
		return err_code(e, EIO,
				"the layer's directory '%.80s' has a mark that cannot be read",
				path);
	text[n] = '\0';
	return redirect(l, path, prefix, text, rest, e);
}

/* What is no directory shows only where no directory was above. */
static int take_file(struct lookup *l, unsigned layer, const char *path, const struct stat *st,
		     struct err *e)
{
	if (l->found.view.n)
		return 0;
	l->found.at = (struct spot) { .layer = layer, .path = str_dup(path, e) };
	if (!l->found.at.path)
		return -e->code;
	l->found.mode = st->st_mode;
	l->found.st = *st;
	return 0;
}

/* Look `name` up in the directory `dir` of a layer; `path` is where that leads to. With `rest` it is
 * only on the way, and *next becomes the directory. Nothing found leaves *next at -1. */
static int look(struct lookup *l, unsigned layer, int dir, const char *path, size_t prefix,
		const char *rest, int *next, struct err *e)
{
	const char *name = path + prefix;
	autoclose int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "look at '%.80s'", path);
	if (!S_ISDIR(st.st_mode)) {
		l->stop = true;
		return *rest || is_whiteout(l->stack, dir, name, &st)
			       ? 0
			       : take_file(l, layer, path, &st, e);
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open directory '%.80s'", path);
	if (!*rest) {
		l->found.mode = st.st_mode;
		if (view_add(&l->found.view, layer, path, e) < 0)
			return -e->code;
	}
	if (read_marks(l, fd, path, prefix, rest, e) < 0)
		return -e->code;
	*next = take_fd(&fd);
	return 0;
}

/* The whole of l->path from a layer's root, name by name: a whiteout or a mark on the way counts. */
static int look_from_root(struct lookup *l, unsigned layer, struct err *e)
{
	autofree char *path = str_dup(l->path, e);
	autoclose int dir = -1;
	size_t prefix = 0;

	if (!path)
		return -e->code;
	for (;;) {
		size_t end = prefix + strcspn(path + prefix, "/");
		bool last = path[end] == '\0';
		autofree char *rest = str_dup(path + end, e);
		int next = -1, result;

		if (!rest)
			return -e->code;
		path[end] = '\0';
		result = look(l, layer, dir >= 0 ? dir : l->stack->root[layer], path, prefix, rest,
			      &next, e);
		drop_fd(&dir);
		dir = next;
		if (result < 0 || last || next < 0)
			return result;
		path[end] = '/';
		prefix = end + 1;
	}
}

/* In the directory that the view merges from this layer. */
static int look_in_view(struct lookup *l, const struct spot *at, int dir, struct err *e)
{
	const char *name = strrchr(l->path, '/') ? strrchr(l->path, '/') + 1 : l->path;
	autofree char *path = str_fmt(e, "%s%s%s", at->path, *at->path ? "/" : "", name);
	autoclose int next = -1;

	return path ? look(l, at->layer, dir, path, strlen(path) - strlen(name), "", &next, e)
		    : -e->code;
}

static int walk_down(struct lookup *l, const struct view *dir, const struct view_fds *fds,
		     struct err *e)
{
	unsigned below = STACK_LAYERS_MAX;

	for (unsigned i = 0; i < dir->n && !l->stop && !l->redirected; i++) {
		if (look_in_view(l, &dir->spot[i], fds->fd[i], e) < 0)
			return -e->code;
		below = dir->spot[i].layer + 1;
	}
	for (unsigned i = below; i < l->stack->n && !l->stop && l->redirected; i++)
		if (look_from_root(l, i, e) < 0)
			return -e->code;
	return 0;
}

int stack_lookup(const struct stack *s, const struct view *dir, const struct view_fds *fds,
		 const char *name, struct found *out, struct err *e)
{
	struct lookup l = { .stack = s, .path = str_dup(name, e) };
	int result = l.path ? walk_down(&l, dir, fds, e) : -ENOMEM;

	free(l.path);
	if (result < 0)
		found_clear(&l.found);
	else
		*out = l.found;
	return result;
}
