/* SPDX-License-Identifier: MIT */
/* reflist.c - see reflist.h. Loose references win over packed ones. */
#include "git/reflist.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "git/plumbing.h"

#define PACKED_MAX ((size_t)256 << 20)
#define DEPTH_MAX 32

static bool wanted(const char *name)
{
	return (str_starts(name, "refs/heads/") || str_starts(name, "refs/tags/") ||
		str_starts(name, "refs/remotes/")) &&
	       git_ref_ok(name);
}

/* A new one at the end; NULL with *e. */
static struct ref *add(struct reflist *l, const char *name, struct err *e)
{
	struct ref *grown, *ref;

	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		grown = reallocarray(l->refs, l->room, sizeof(*grown));
		if (!grown) {
			(void)err_code(e, ENOMEM, "out of memory");
			return NULL;
		}
		l->refs = grown;
	}
	ref = &l->refs[l->n];
	*ref = (struct ref) { .name = str_dup(name, e) };
	if (!ref->name)
		return NULL;
	l->n++;
	return ref;
}

static void set_id(char *out, const char *id)
{
	memcpy(out, id, strlen(id) + 1);
}

/* Lines of packed-refs: "id name", "^peeled" behind a tag, "# ...". */
static int add_packed(const struct repo *r, struct reflist *l, struct err *e)
{
	autobuf struct buf text = { .limit = PACKED_MAX + 1 };
	char *line, *rest, *name;
	struct ref *last = NULL;

	if (io_read_file(r->common, "packed-refs", PACKED_MAX, &text, e) < 0)
		return e->code == ENOENT ? 0 : -e->code;
	for (rest = text.data; rest && (line = strsep(&rest, "\n")) && l->n < REFLIST_MAX;) {
		if (line[0] == '^' && last && git_id_ok(line + 1))
			set_id(last->peeled, line + 1);
		if (line[0] == '#' || line[0] == '^')
			continue;
		last = NULL;
		name = strchr(line, ' ');
		if (!name)
			continue;
		*name++ = '\0';
		if (!git_id_ok(line) || !wanted(name))
			continue;
		last = add(l, name, e);
		if (!last)
			return -e->code;
		set_id(last->id, line);
	}
	return 0;
}

static int add_loose(int dir, const char *file, const char *name, struct reflist *l, struct err *e)
{
	char text[GIT_REF_MAX + 16];
	struct ref *ref;

	/* What is no reference (a lock, a stray file) or goes away meanwhile is none to git either. */
	if (!wanted(name) || git_read_small(dir, file, text, sizeof(text)) < 0)
		return 0;
	if (!git_id_ok(text) && !(str_starts(text, "ref: ") && wanted(text + 5)))
		return 0;
	ref = add(l, name, e);
	if (!ref)
		return -e->code;
	if (git_id_ok(text)) {
		set_id(ref->id, text);
		return 0;
	}
	ref->symbolic = str_dup(text + 5, e);
	return ref->symbolic ? 0 : -e->code;
}

static int add_dir(int at, const char *file, const char *name, unsigned depth, struct reflist *l,
		   struct err *e)
{
	int fd = openat(at, file, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	autodir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	char path[GIT_REF_MAX];
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return errno == ENOENT ? 0 : err_errno(e, "read the references in '%s'", name);
	}
	while ((d = readdir(dir)) && l->n < REFLIST_MAX) {
		bool is_dir = d->d_type == DT_DIR;

		if (d->d_name[0] == '.' ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", name, d->d_name) >= sizeof(path))
			continue;
		if (d->d_type == DT_UNKNOWN) {
			autoclose int probe = openat(fd, d->d_name,
						     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			is_dir = probe >= 0;
		}
		if (is_dir && !depth)
			continue;
		if (is_dir ? add_dir(fd, d->d_name, path, depth - 1, l, e) < 0
			   : add_loose(fd, d->d_name, path, l, e) < 0)
			return -e->code;
	}
	return 0;
}

/* For storages other than files. */
static int add_by_git(const struct repo *r, struct reflist *l, struct err *e)
{
	static const char *const args[] = {
		"for-each-ref", "--format=%(objectname) %(symref) %(refname)",
		"refs/heads",	"refs/tags",
		"refs/remotes", NULL
	};
	autobuf struct buf text = { 0 };
	char *line, *rest;
	int status = plumbing_run(r, args, NULL, &text, e);

	if (status < 0)
		return status;
	if (status)
		return err_code(
			e, ENOTSUP,
			"repository '%s' keeps its references in a form that this git cannot read",
			r->path);
	for (rest = text.data; rest && (line = strsep(&rest, "\n")) && l->n < REFLIST_MAX;) {
		char *symbolic = strchr(line, ' '),
		     *name = symbolic ? strchr(symbolic + 1, ' ') : NULL;
		struct ref *ref;

		if (!name)
			continue;
		*symbolic++ = '\0';
		*name++ = '\0';
		if (!git_id_ok(line) || !wanted(name) || (*symbolic && !wanted(symbolic)))
			continue;
		ref = add(l, name, e);
		if (!ref)
			return -e->code;
		set_id(ref->id, line);
		if (*symbolic && !(ref->symbolic = str_dup(symbolic, e)))
			return -e->code;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ref *)a)->name, ((const struct ref *)b)->name);
}

static void clear_ref(struct ref *ref)
{
	free(ref->name);
	free(ref->symbolic);
}

/* Sort; of two with one name the first of the list (the loose one) stays. */
static void unite(struct reflist *l, size_t n_loose)
{
	struct reflist loose = { .refs = l->refs, .n = n_loose };
	size_t kept = n_loose;

	if (!l->n)
		return;
	qsort(l->refs, n_loose, sizeof(*l->refs), by_name);
	for (size_t i = n_loose; i < l->n; i++) {
		if (n_loose && bsearch(&l->refs[i], loose.refs, n_loose, sizeof(*l->refs), by_name))
			clear_ref(&l->refs[i]);
		else
			l->refs[kept++] = l->refs[i];
	}
	l->n = kept;
	qsort(l->refs, l->n, sizeof(*l->refs), by_name);
}

/* Tags may be objects of their own: find what they are of. One that is broken has no peeled id. */
static void peel(struct objects *o, struct ref *ref)
{
	struct object_id id, was;
	struct err ignored = { 0 };

	if (ref->peeled[0] || ref->symbolic || !str_starts(ref->name, "refs/tags/") ||
	    !object_id_parse(o, ref->id, &id))
		return;
	was = id;
	if (object_peel(o, &id, &ignored) == 0 && memcmp(&id, &was, sizeof(id)) != 0)
		object_id_hex(o, &id, ref->peeled);
}

int reflist_read(const struct repo *r, const struct repo_format *format, struct objects *o,
		 struct reflist *out, bool *cut, struct err *e)
{
	static const char *const kinds[] = { "heads", "tags", "remotes" };
	struct reflist l = { 0 };
	char path[32];
	int n = 0;

	if (format->reftable)
		n = add_by_git(r, &l, e);
	for (size_t i = 0; n == 0 && !format->reftable && i < ARRAY_LEN(kinds); i++) {
		(void)snprintf(path, sizeof(path), "refs/%s", kinds[i]);

		n = add_dir(r->common, path, path, DEPTH_MAX, &l, e);
	}
	if (n == 0 && !format->reftable) {
		size_t loose = l.n;

		n = add_packed(r, &l, e);
		unite(&l, loose);
	}
	if (n < 0) {
		reflist_clear(&l);
		return n;
	}
	for (size_t i = 0; i < l.n; i++)
		peel(o, &l.refs[i]);
	*cut = l.n >= REFLIST_MAX;
	*out = l;
	return 0;
}

void reflist_clear(struct reflist *l)
{
	for (size_t i = 0; i < l->n; i++)
		clear_ref(&l->refs[i]);
	free(l->refs);
	*l = (struct reflist) { 0 };
}
