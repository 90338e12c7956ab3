/* SPDX-License-Identifier: MIT */
/* caps.c - see caps.h. Raw calls: sets are emptied here, never read or computed. */
#include "sandbox/caps.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOCKED(bit) (issecure_mask(bit) | issecure_mask(bit + 1))

/* Uid changes are not to touch capabilities behind our back: caps_drop says when. */
#define SECUREBITS                                                                                  \
	(LOCKED(SECURE_NOROOT) | LOCKED(SECURE_NO_SETUID_FIXUP) | LOCKED(SECURE_NO_CAP_AMBIENT_RAISE) | \
	 issecure_mask(SECURE_KEEP_CAPS_LOCKED))

int caps_lock(struct err *e)
{
	unsigned cap = 0;

	/* The kernel may know more than our headers: up to the first it does not know. */
	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	if (errno != EINVAL || cap == 0)
		return err_errno(e, "drop capability %u from the bounding set", cap);
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
		return err_errno(e, "lock the securebits");
	return 0;
}

int caps_drop(struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	/* Also empties the ambient set, which is never larger than the permitted one. */
	if (syscall(SYS_capset, &head, none) < 0)
		return err_errno(e, "drop all capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(e, "no_new_privs");
	return 0;
}
