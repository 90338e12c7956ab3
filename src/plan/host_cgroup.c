/* SPDX-License-Identifier: MIT */
/* host_cgroup.c - where each controller is: in the unified hierarchy, or, on hybrid hosts, in a v1
 * hierarchy of its own; and the group below which new ones can be made.
 *
 * v1: the caller's own group, so that what bounds him bounds his sessions.
 * v2 as root: the top of the mount. A group with processes in it cannot pass controllers on, and the
 * caller's own has one. v2 as a user: the nearest group above his own that was delegated to him. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "plan/host_parts.h"

static const char *const controller_names[CONTROLLER_COUNT] = { "memory", "pids", "cpu",
								"cpuacct" };

/* One cgroup mount of mountinfo. */
struct hierarchy {
	bool v2;
	char *root; /* which group is its top */
	char *mount_point;
	char *controllers; /* of v1: the super block's options */
};

static void hierarchy_clear(struct hierarchy *h)
{
	free(h->root);
	free(h->mount_point);
	free(h->controllers);
	*h = (struct hierarchy) { 0 };
}

/* Is `word` one of the words of `text`, between any of `separators`? */
static bool has_word(const char *text, const char *word, const char *separators)
{
	size_t len = strlen(word);

	while (*text) {
		size_t n = strcspn(text, separators);

		if (n == len && memcmp(text, word, len) == 0)
			return true;
		text += n;
		text += strspn(text, separators);
	}
	return false;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		unsigned byte;

		if (text[0] == '\\' && sscanf(text + 1, "%3o", &byte) == 1) {
			*to++ = (char)byte;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu". False for what is
 * no cgroup mount. */
static bool parse_mount(char *line, struct hierarchy *out)
{
	char *tail = strstr(line, " - cgroup");
	char *field[5] = { NULL };
	char *type, *options;

	if (!tail)
		return false;
	*tail = '\0';
	for (size_t i = 0; i < ARRAY_LEN(field); i++)
		if (!(field[i] = strsep(&line, " ")))
			return false;
	tail += strlen(" - ");
	type = strsep(&tail, " ");
	(void)strsep(&tail, " "); /* the source says nothing */
	options = tail;
	if (!options || (!str_eq(type, "cgroup") && !str_eq(type, "cgroup2")))
		return false;
	unescape(field[3]);
	unescape(field[4]);
	*out = (struct hierarchy) { .v2 = str_eq(type, "cgroup2"),
				    .root = strdup(field[3]),
				    .mount_point = strdup(field[4]),
				    .controllers = strdup(options) };
	return true;
}

/* The mount that holds `controller` in a v1 hierarchy, or (NULL) the unified one. */
static int find_hierarchy(const char *mountinfo, const char *controller, struct hierarchy *out,
			  struct err *e)
{
	autofree char *copy = str_dup(mountinfo, e);
	char *rest = copy;
	char *line;

	if (!copy)
		return -e->code;
	while ((line = strsep(&rest, "\n")) != NULL) {
		struct hierarchy h = { 0 };

		if (!parse_mount(line, &h))
			continue;
		if (!h.root || !h.mount_point || !h.controllers) {
			hierarchy_clear(&h);
			return err_code(e, ENOMEM, "host: no memory for a mount");
		}
		if (controller ? !h.v2 && has_word(h.controllers, controller, ",") : h.v2) {
			*out = h;
			return 1;
		}
		hierarchy_clear(&h);
	}
	return 0;
}

/* The caller's group in that hierarchy: the third field of the line of /proc/self/cgroup. */
static int own_group(const char *cgroup, const char *controller, char **out, struct err *e)
{
	autofree char *copy = str_dup(cgroup, e);
	char *rest = copy;
	char *line;

	if (!copy)
		return -e->code;
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *number = strsep(&line, ":");
		const char *list = line ? strsep(&line, ":") : NULL;

		if (!list || !line ||
		    (controller ? !has_word(list, controller, ",") : !str_eq(number, "0")))
			continue;
		*out = str_dup(line, e);
		return *out ? 1 : -e->code;
	}
	return 0;
}

/* The directory of group `path` below a mount whose top is group `h->root`. */
static char *group_dir(const struct hierarchy *h, const char *path, struct err *e)
{
	const char *below = path;

	if (h->root && !str_eq(h->root, "/")) {
		/* A mount that shows some other part of the tree: its top is all that can be reached. */
		if (!fs_is_beneath(h->root, path))
			return str_dup(h->mount_point, e);
		below = path + strlen(h->root);
	}
	return str_fmt(e, "%s%s", h->mount_point, str_eq(below, "/") ? "" : below);
}

static bool can_write(const struct host_source *s, const char *dir, const char *file)
{
	char path[4096];
	int len = snprintf(path, sizeof(path), "%s%s%s", dir + strspn(dir, "/"), file ? "/" : "",
			   file ? file : "");

	return len > 0 && (size_t)len < sizeof(path) &&
	       faccessat(s->root, path, W_OK, AT_EACCESS) == 0;
}

static bool exists(const struct host_source *s, const char *dir, const char *file)
{
	char path[4096];
	int len = snprintf(path, sizeof(path), "%s/%s", dir + strspn(dir, "/"), file);

	return len > 0 && (size_t)len < sizeof(path) &&
	       faccessat(s->root, path, F_OK, AT_EACCESS) == 0;
}

static int group_file(const struct host_source *s, const char *dir, const char *file,
		      struct buf *out, struct err *e)
{
	autofree char *path = str_fmt(e, "%s/%s", dir, file);

	return path ? host_file(s, path, out, e) : -e->code;
}

int host_read_freezer(const struct host_source *s, char **parent, struct err *e)
{
	autobuf struct buf mountinfo = { 0 }, cgroup = { 0 };
	struct hierarchy hierarchy = { 0 };
	autofree char *group = NULL;
	autofree char *dir = NULL;
	int ret;

	if (host_file(s, "proc/self/mountinfo", &mountinfo, e) < 0 ||
	    host_file(s, "proc/self/cgroup", &cgroup, e) < 0)
		return -e->code;
	ret = find_hierarchy(buf_str(&mountinfo), "freezer", &hierarchy, e);
	if (ret > 0)
		ret = own_group(buf_str(&cgroup), "freezer", &group, e);
	if (ret > 0 && group) {
		dir = group_dir(&hierarchy, group, e);
		ret = dir ? 0 : -e->code;
	}
	hierarchy_clear(&hierarchy);
	if (ret < 0)
		return ret;
	*parent = dir && can_write(s, dir, NULL) ? take_ptr(&dir) : NULL;
	return 0;
}

static int read_v1(const struct host_source *s, const struct hierarchy *hierarchy,
		   const char *cgroup, enum controller c, struct host_controller *out,
		   struct err *e)
{
	autofree char *group = NULL;
	int found = own_group(cgroup, controller_names[c], &group, e);

	if (found <= 0 || !group)
		return found;
	out->parent = group_dir(hierarchy, group, e);
	if (!out->parent)
		return -e->code;
	out->usable = can_write(s, out->parent, NULL) && can_write(s, out->parent, "tasks");
	out->swap = c == CONTROLLER_MEMORY && exists(s, out->parent, "memory.memsw.limit_in_bytes");
	return 0;
}

/* Does this group pass any of the controllers on, or could it? */
static int passes_on(const struct host_source *s, const char *dir, unsigned *controllers,
		     struct err *e)
{
	autobuf struct buf there = { 0 }, enabled = { 0 }, procs = { 0 };
	bool may_enable;

	*controllers = 0;
	if (group_file(s, dir, "cgroup.controllers", &there, e) < 0 ||
	    group_file(s, dir, "cgroup.subtree_control", &enabled, e) < 0)
		return -e->code;
	/* Only the root of all, which has no cgroup.type, may hold processes besides. */
	if (exists(s, dir, "cgroup.type") && group_file(s, dir, "cgroup.procs", &procs, e) < 0)
		return -e->code;
	may_enable = procs.len == 0 && can_write(s, dir, "cgroup.subtree_control");
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		if (has_word(buf_str(&enabled), controller_names[c], " \n") ||
		    (may_enable && has_word(buf_str(&there), controller_names[c], " \n")))
			*controllers |= 1u << c;
	return 0;
}

/* To put a process into a group one must be able to write to the common ancestor too: every group
 * from the caller's up to the parent has to be his. */
static bool is_delegated(const struct host_source *s, const char *dir)
{
	return can_write(s, dir, NULL) && can_write(s, dir, "cgroup.procs");
}

static bool go_up(char *dir, const char *top)
{
	char *slash = strrchr(dir, '/');

	if (!slash || strlen(dir) <= strlen(top))
		return false;
	*slash = '\0';
	return true;
}

static int find_v2_parent(const struct host_source *s, const struct host *h,
			  const struct hierarchy *hierarchy, const char *cgroup, char **parent,
			  unsigned *controllers, struct err *e)
{
	autofree char *group = NULL;
	autofree char *dir = NULL;
	int found;

	if (h->privileged) {
		*parent = str_dup(hierarchy->mount_point, e);
		return *parent ? passes_on(s, *parent, controllers, e) : -e->code;
	}
	found = own_group(cgroup, NULL, &group, e);
	if (found <= 0 || !group)
		return found;
	dir = group_dir(hierarchy, group, e);
	if (!dir)
		return -e->code;
	for (; is_delegated(s, dir);) {
		if (passes_on(s, dir, controllers, e) < 0)
			return -e->code;
		if (*controllers) {
			*parent = take_ptr(&dir);
			return 0;
		}
		if (!go_up(dir, hierarchy->mount_point))
			break;
	}
	return 0;
}

static int read_v2(const struct host_source *s, const char *mountinfo, const char *cgroup,
		   struct host *h, struct err *e)
{
	struct hierarchy hierarchy = { 0 };
	autofree char *parent = NULL;
	unsigned controllers = 0;
	int ret = find_hierarchy(mountinfo, NULL, &hierarchy, e);

	if (ret > 0)
		ret = find_v2_parent(s, h, &hierarchy, cgroup, &parent, &controllers, e);
	hierarchy_clear(&hierarchy);
	if (ret < 0 || !parent)
		return ret;
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++) {
		struct host_controller *to = &h->controller[c];

		if (to->parent)
			continue; /* bound to a v1 hierarchy */
		to->v2 = true;
		to->usable = (controllers & 1u << c) && can_write(s, parent, NULL);
		to->parent = str_dup(parent, e);
		if (!to->parent)
			return -e->code;
	}
	/* The root of all has no such file, the groups below it do. */
	if (h->controller[CONTROLLER_MEMORY].v2)
		h->controller[CONTROLLER_MEMORY].swap = !exists(s, parent, "cgroup.type") ||
							exists(s, parent, "memory.swap.max");
	return 0;
}

int host_read_groups(const struct host_source *s, struct host *h, struct err *e)
{
	autobuf struct buf mountinfo = { 0 }, cgroup = { 0 };

	if (host_file(s, "proc/self/mountinfo", &mountinfo, e) < 0 ||
	    host_file(s, "proc/self/cgroup", &cgroup, e) < 0)
		return -e->code;
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++) {
		struct hierarchy hierarchy = { 0 };
		int ret = find_hierarchy(buf_str(&mountinfo), controller_names[c], &hierarchy, e);

		if (ret > 0)
			ret = read_v1(s, &hierarchy, buf_str(&cgroup), (enum controller)c,
				      &h->controller[c], e);
		hierarchy_clear(&hierarchy);
		if (ret < 0)
			return ret;
	}
	return read_v2(s, buf_str(&mountinfo), buf_str(&cgroup), h, e);
}
