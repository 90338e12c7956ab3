/* SPDX-License-Identifier: MIT */
/* caps.c - see caps.h. */
#include "sandbox/caps.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOCKED(bit) (issecure_mask(bit) | issecure_mask(bit + 1))

/* Changes of uid are not to touch capabilities behind our back: caps_drop says when. */
#define SECUREBITS                                                \
	(LOCKED(SECURE_NOROOT) | LOCKED(SECURE_NO_SETUID_FIXUP) | \
	 LOCKED(SECURE_NO_CAP_AMBIENT_RAISE) | issecure_mask(SECURE_KEEP_CAPS_LOCKED))

#define CAPS_MAX 64

struct caps {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static uint32_t half_of(uint64_t mask, unsigned half)
{
	return (uint32_t)(mask >> (32 * half));
}

/* Ambient ones must be inheritable, and those within the bounding set as long as there is one. */
static int keep_ambient(uint64_t keep, struct err *e)
{
	struct caps c = { .head.version = _LINUX_CAPABILITY_VERSION_3 };

	if (syscall(SYS_capget, &c.head, c.half) < 0)
		return err_errno(e, "read capabilities");
	for (unsigned i = 0; i < ARRAY_LEN(c.half); i++)
		c.half[i].inheritable = half_of(keep, i);
	if (syscall(SYS_capset, &c.head, c.half) < 0)
		return err_errno(e, "set inheritable capabilities");
	for (unsigned cap = 0; cap < CAPS_MAX; cap++)
		if (keep & UINT64_C(1) << cap &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return err_errno(e, "keep capability %u", cap);
	return 0;
}

int caps_lock(uint64_t keep, struct err *e)
{
	unsigned cap = 0;

	if (keep_ambient(keep, e) < 0)
		return -e->code;
	/* The kernel may know more than our headers: up to the first it does not know. */
	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	if (errno != EINVAL || cap == 0)
		return err_errno(e, "drop capability %u from the bounding set", cap);
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
		return err_errno(e, "lock the securebits");
	return 0;
}

int caps_drop(uint64_t keep, struct err *e)
{
	struct caps c = { .head.version = _LINUX_CAPABILITY_VERSION_3 };

	for (unsigned i = 0; i < ARRAY_LEN(c.half); i++)
		c.half[i].permitted = c.half[i].effective = c.half[i].inheritable =
			half_of(keep, i);
	/* The kernel cuts the ambient set down to what stays permitted. */
	if (syscall(SYS_capset, &c.head, c.half) < 0)
		return err_errno(e, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(e, "no_new_privs");
	return 0;
}
