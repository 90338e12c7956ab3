/* SPDX-License-Identifier: MIT */
/* people.c - see people.h. The file is read itself: a static program has no name services. */
#include "sandbox/sudo/people.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file); /* only read */
}

static int copy(const struct passwd *from, struct person *out, struct err *e)
{
	struct person made = { .uid = from->pw_uid, .gid = from->pw_gid };

	made.name = str_dup(from->pw_name, e);
	made.home = str_dup(from->pw_dir && *from->pw_dir ? from->pw_dir : "/", e);
	made.shell = str_dup(from->pw_shell && *from->pw_shell ? from->pw_shell : "/bin/sh", e);
	if (!made.name || !made.home || !made.shell) {
		person_clear(&made);
		return -ENOMEM;
	}
	*out = made;
	return 0;
}

/* By name, or by uid where it is NULL. 1 where it was found. */
static int look_up(const char *passwd, const char *name, uid_t uid, struct person *out,
		   struct err *e)
{
	__attribute__((cleanup(close_file))) FILE *file = fopen(passwd, "re");
	const struct passwd *entry;

	if (!file)
		return err_errno(e, "open '%s'", passwd);
	while ((entry = fgetpwent(file)))
		if (name ? str_eq(entry->pw_name, name) : entry->pw_uid == uid)
			return copy(entry, out, e) < 0 ? -e->code : 1;
	return 0;
}

int person_named(const char *passwd, const char *name, struct person *out, struct err *e)
{
	uint64_t uid = 0;
	int ret;

	if (*name == '#' && str_u64(name + 1, 0, UINT32_MAX - 1, &uid, e) == 0)
		return person_numbered(passwd, (uid_t)uid, out, e);
	ret = look_up(passwd, name, 0, out, e);
	if (ret == 0)
		return err_code(e, ENOENT, "unknown user '%s'", name);
	return ret < 0 ? ret : 0;
}

int person_numbered(const char *passwd, uid_t uid, struct person *out, struct err *e)
{
	int ret = look_up(passwd, NULL, uid, out, e);
	char name[16];
	struct passwd none = { .pw_name = name, .pw_uid = uid, .pw_gid = uid };

	if (ret != 0)
		return ret < 0 ? ret : 0;
	(void)snprintf(name, sizeof(name), "#%u", (unsigned)uid);
	return copy(&none, out, e);
}

void person_clear(struct person *p)
{
	free(p->name);
	free(p->home);
	free(p->shell);
	*p = (struct person) { .name = NULL };
}
