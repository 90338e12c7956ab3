/* SPDX-License-Identifier: MIT */
/* policy_names.c - names a policy uses for numbers of the kernel. */
#include <linux/capability.h>

#include "base/str.h"
#include "plan/policy_parts.h"

/* What a package manager may need of root. Anything that is not here reaches beyond the session's
 * files and processes, or was never shown to be needed, and no policy can grant it. */
static const struct {
	const char *name;
	unsigned cap;
} caps[] = {
	{ "CAP_CHOWN", CAP_CHOWN },
	{ "CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE },
	{ "CAP_FOWNER", CAP_FOWNER },
	{ "CAP_FSETID", CAP_FSETID },
	{ "CAP_KILL", CAP_KILL },
	{ "CAP_NET_BIND_SERVICE", CAP_NET_BIND_SERVICE },
	{ "CAP_SETFCAP", CAP_SETFCAP },
	{ "CAP_SETGID", CAP_SETGID },
	{ "CAP_SETPCAP", CAP_SETPCAP },
	{ "CAP_SETUID", CAP_SETUID },
	{ "CAP_SYS_CHROOT", CAP_SYS_CHROOT },
};

static const struct {
	const char *name;
	unsigned error;
} errors[] = {
	{ "0", 0 },
	{ "EPERM", EPERM },
	{ "ENOSYS", ENOSYS },
	{ "EACCES", EACCES },
	{ "EAFNOSUPPORT", EAFNOSUPPORT },
	{ "EPROTONOSUPPORT", EPROTONOSUPPORT },
	{ "EINVAL", EINVAL },
	{ "ENOENT", ENOENT },
	{ "EOPNOTSUPP", EOPNOTSUPP },
};

int policy_cap(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		if (str_eq(caps[i].name, name))
			return (int)caps[i].cap;
	return -1;
}

const char *policy_cap_name(unsigned cap)
{
	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		if (caps[i].cap == cap)
			return caps[i].name;
	return NULL;
}

int policy_errno(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (str_eq(errors[i].name, name))
			return (int)errors[i].error;
	return -1;
}

const char *policy_errno_name(unsigned error)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].error == error)
			return errors[i].name;
	return NULL;
}
