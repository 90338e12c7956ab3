/* SPDX-License-Identifier: MIT */
/* remove.c - see remove.h. */
#include "session/remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "session/idhelper.h"
#include "session/spare.h"

/* What an overlay leaves of a layer that nothing was written to, innermost first. Taking these away
 * by name saves reading six directories a layer; what is not as expected is left to the walk. */
static const struct {
	const char *path;
	int flags;
} husk[] = {
	{ "work/work/incompat/volatile/dirty", 0 },
	{ "work/work/incompat/volatile", AT_REMOVEDIR },
	{ "work/work/incompat", AT_REMOVEDIR },
	{ "work/work", AT_REMOVEDIR },
	{ "work", AT_REMOVEDIR },
	{ "upper", AT_REMOVEDIR },
};

/* A path below a layer, or none where the name is longer than any of ours. */
static bool below(const char *layer, const char *path, char *out, size_t size)
{
	return (size_t)snprintf(out, size, "%s/%s", layer, path) < size;
}

static void remove_husk(int layers, const char *name)
{
	char path[320];

	for (size_t i = 0; i < ARRAY_LEN(husk); i++)
		if (below(name, husk[i].path, path, sizeof(path)))
			(void)unlinkat(layers, path,
				       husk[i].flags); /* the walk sees to what stays */
	(void)unlinkat(layers, name, AT_REMOVEDIR);    /* the same */
}

/* Call `each` for the name of every layer. */
static int each_layer(int layers, int (*each)(int layers, const char *name, struct err *e),
		      struct err *e)
{
	int copy = openat(layers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *d;

	if (!dir) {
		auto_close(&copy);
		return err_errno(e, "read the directory of layers");
	}
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.' && each(layers, d->d_name, e) < 0)
			return -e->code;
	return 0;
}

static int remove_one(int layers, const char *name, struct err *e)
{
	remove_husk(layers, name);
	return fs_remove_tree(layers, name, e);
}

/* Runs in the helper process too; `arg` is the session's directory. */
static int remove_layers(void *arg, struct err *e)
{
	int dir = *(const int *)arg;
	autoclose int layers =
		openat(dir, "layers", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (layers < 0)
		return errno == ENOENT ? 0 : err_errno(e, "open the directory of layers");
	if (each_layer(layers, remove_one, e) < 0)
		return -e->code;
	return fs_remove_tree(dir, "layers", e);
}

/* The caller may not change what belongs to a subordinate id of his: its root may. */
static int as_owner(struct session *s, int (*work)(void *arg, struct err *e), struct err *e)
{
	const struct record *r = &s->record;

	if (r->ids == IDS_ROOT || !r->session_uids.n)
		return -e->code;
	log_debug("session %s: %s: again as the root of its ids", r->id, e->text);
	return idhelper_run(&r->session_uids, &r->session_gids, work, &s->dir, e);
}

/* Without its record the rest is an unborn session's, which any command may sweep. */
static int remove_directory(struct session *s, int sessions, struct err *e)
{
	static const char *const names[] = { "record.json", "journal", "lock" };
	int result;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (unlinkat(s->dir, names[i], 0) < 0 && errno != ENOENT)
			return err_errno(e, "session %s: remove its %s", s->record.id, names[i]);
	result = fs_remove_tree(sessions, s->record.id, e);
	return result == 0 || result == -ENOENT ? 0 : err_wrap(e, "session %s", s->record.id);
}

/* 1 when its directory serves the next session. */
static int hand_on(struct session *s, int sessions, struct err *e)
{
	if (!spare_fit(s->dir))
		return 0;
	/* Not before all of it is fit: without its record nobody would look after the rest. */
	return session_retire(s, e) < 0 ? -e->code
					: spare_give(s->state, sessions, s->record.id, e);
}

int layers_remove(struct session *s, struct err *e)
{
	autoclose int sessions = sessions_hold(s->state, e);
	int handed;

	if (sessions < 0)
		return sessions;
	/* Its directory may be another session's by now. What has no record is swept. */
	if (!session_exists(s))
		return 0;
	handed = hand_on(s, sessions, e);
	if (handed > 0)
		return 0;
	if (handed < 0)
		log_debug("%s", e->text);
	if (remove_layers(&s->dir, e) < 0 && as_owner(s, remove_layers, e) < 0)
		return err_wrap(e, "session %s: remove its layers", s->record.id);
	return remove_directory(s, sessions, e);
}

/* With the mark of a volatile mount there, the kernel refuses the layer for ever. */
static int unmark(int layers, const char *name, struct err *e)
{
	char path[320];

	if (!below(name, "work/work", path, sizeof(path)))
		return err_code(e, ENAMETOOLONG, "'%s' is no layer of ours", name);
	return fs_remove_tree(layers, path, e);
}

/* Runs in the helper process too; `arg` is the session's directory. */
static int unmark_layers(void *arg, struct err *e)
{
	int dir = *(const int *)arg;
	autoclose int layers =
		openat(dir, "layers", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return layers < 0 ? err_errno(e, "open its layers") : each_layer(layers, unmark, e);
}

int layers_unmark(struct session *s, struct err *e)
{
	if (unmark_layers(&s->dir, e) < 0 && as_owner(s, unmark_layers, e) < 0)
		return err_wrap(e, "session %s: keep its layers", s->record.id);
	return 0;
}

int layers_keep(struct session *s, struct err *e)
{
	if (layers_unmark(s, e) < 0)
		return -e->code;
	if (syncfs(s->dir) < 0)
		return err_errno(e, "session %s: write its layers to the disk", s->record.id);
	return 0;
}
