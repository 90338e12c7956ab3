/* SPDX-License-Identifier: MIT */
/* host_ids.c - who the caller is, which ids he may use, and whether user namespaces are to be had. */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/host_parts.h"

/* A smaller range has no room for root and for the users that packages bring. */
#define SUBIDS_MIN 1024

static FILE *open_stream(const struct host_source *s, const char *path)
{
	autoclose int fd = openat(s->root, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (file)
		(void)take_fd(&fd); /* the stream's now */
	return file;
}

/* By the file, not by NSS: a static program cannot load its modules. */
static int read_passwd(const struct host_source *s, char **name, char **home, struct err *e)
{
	FILE *file = open_stream(s, "etc/passwd");
	struct passwd *pw = NULL;
	int ret = 0;

	while (file && (pw = fgetpwent(file)) != NULL && pw->pw_uid != s->uid)
		;
	if (pw) {
		*name = str_dup(pw->pw_name, e);
		*home = str_dup(pw->pw_dir, e);
		ret = *name && *home ? 0 : -ENOMEM;
	}
	if (file)
		(void)fclose(file); /* it was only read */
	return ret;
}

int host_read_user(const struct host_source *s, struct host *h, struct err *e)
{
	if (read_passwd(s, &h->user_name, &h->home, e) < 0)
		return -e->code;
	if (!h->user_name)
		h->user_name = str_fmt(e, "%u", s->uid);
	if (s->home && s->home[0] == '/') {
		free(h->home);
		h->home = str_dup(s->home, e);
	}
	return h->user_name && (h->home || !s->home) ? 0 : -ENOMEM;
}

/* "name:100000:65536" or "1000:100000:65536", the first line that is the caller's. */
static bool find_range(char *text, const char *name, uid_t uid, struct id_range *out)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		const char *who = strsep(&line, ":");
		const char *first = line ? strsep(&line, ":") : NULL;
		struct err ignored = { 0 };
		uint64_t outside, count, id;

		if (!first || !line || str_u64(first, 1, UINT32_MAX - 1, &outside, &ignored) < 0 ||
		    str_u64(line, SUBIDS_MIN, UINT32_MAX - outside, &count, &ignored) < 0)
			continue;
		if (!str_eq(who, name) &&
		    (str_u64(who, 0, UINT32_MAX, &id, &ignored) < 0 || id != uid))
			continue;
		*out = (struct id_range) { .outside = (uint32_t)outside, .count = (uint32_t)count };
		return true;
	}
	return false;
}

static int read_range(const struct host_source *s, const struct host *h, const char *path,
		      struct id_range *out, struct err *e)
{
	autobuf struct buf text = { 0 };

	if (host_file(s, path, &text, e) < 0)
		return -e->code;
	return text.data && find_range(text.data, h->user_name, s->uid, out);
}

static bool has_program(const struct host_source *s, const char *name)
{
	static const char *const places[] = { "usr/bin", "bin", "usr/local/bin" };
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], name);
		if (faccessat(s->root, path, X_OK, AT_EACCESS) == 0)
			return true;
	}
	return false;
}

int host_read_subids(const struct host_source *s, struct host *h, struct err *e)
{
	int uids = read_range(s, h, "etc/subuid", &h->sub_uids, e);
	int gids = uids < 0 ? uids : read_range(s, h, "etc/subgid", &h->sub_gids, e);

	if (gids < 0)
		return gids;
	return uids && gids && has_program(s, "newuidmap") && has_program(s, "newgidmap");
}

/* The number in a file of /proc/sys, or `missing` where this kernel has no such file. */
static long sysctl_value(const struct host_source *s, const char *path, long missing)
{
	autobuf struct buf text = { 0 };
	struct err ignored = { 0 };
	long value;

	if (host_file(s, path, &text, &ignored) < 0 || sscanf(buf_str(&text), "%ld", &value) != 1)
		return missing;
	return value;
}

/* Ubuntu's kernels give an unconfined program a namespace without capabilities. */
static bool apparmor_restricts(const struct host_source *s)
{
	autobuf struct buf profile = { 0 };
	struct err ignored = { 0 };

	if (sysctl_value(s, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 0)
		return false;
	return host_file(s, "proc/self/attr/current", &profile, &ignored) < 0 ||
	       str_starts(buf_str(&profile), "unconfined");
}

bool host_read_userns(const struct host_source *s, bool privileged)
{
	if (sysctl_value(s, "proc/sys/user/max_user_namespaces", 0) <= 0)
		return false;
	if (privileged)
		return true;
	/* Debian's switch of its own. */
	return sysctl_value(s, "proc/sys/kernel/unprivileged_userns_clone", 1) != 0 &&
	       !apparmor_restricts(s);
}
