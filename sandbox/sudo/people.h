/* SPDX-License-Identifier: MIT */
/* people.h - who is who, by the session's /etc/passwd. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct person {
	char *name, *home, *shell;
	uid_t uid;
	gid_t gid;
};

/* By a name, or by "#UID". -ENOENT with *e naming it where the file has no such user. */
must_check int person_named(const char *passwd, const char *name, struct person *out,
			    struct err *e);

/* By uid; one that the file lacks is "#UID", at home in "/" with /bin/sh. */
must_check int person_numbered(const char *passwd, uid_t uid, struct person *out, struct err *e);

void person_clear(struct person *p);
