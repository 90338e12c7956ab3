/* SPDX-License-Identifier: MIT */
/* shed.c - see shed.h. */
#include "sandbox/executor/shed.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What stays of the capabilities: permitted and effective, nothing to inherit. */
static int set_caps(uint64_t caps, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps, .permitted = (uint32_t)caps },
		{ .effective = (uint32_t)(caps >> 32), .permitted = (uint32_t)(caps >> 32) },
	};

	if (syscall(SYS_capset, &head, data) < 0)
		return err_errno(e, "shed: capset");
	return 0;
}

/* Up to the last capability this kernel knows, which may be more than our headers do. */
static int drop_bounding(uint64_t keep, struct err *e)
{
	for (unsigned cap = 0; cap < 64; cap++) {
		if (keep & (UINT64_C(1) << cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return errno == EINVAL && cap > CAP_CHOWN
				       ? 0
				       : err_errno(e, "shed: bounding set");
	}
	return 0;
}

static int lock_securebits(bool root, struct err *e)
{
	unsigned long bits = SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
			     SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	/* For who is not root, uid 0 means nothing at exec either. */
	if (!root)
		bits |= SECBIT_NOROOT;
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return err_errno(e, "shed: securebits");
	return 0;
}

static int set_ids(uid_t uid, gid_t gid, bool one_id, struct err *e)
{
	if (setgroups(0, NULL) < 0 && !(one_id && errno == EPERM))
		return err_errno(e, "shed: setgroups");
	if (setresgid(gid, gid, gid) < 0)
		return err_errno(e, "shed: group %u", (unsigned)gid);
	if (setresuid(uid, uid, uid) < 0)
		return err_errno(e, "shed: user %u", (unsigned)uid);
	return 0;
}

int shed_to_workload(const struct shed *s, struct err *e)
{
	/* Its owner's effective uid is ours: that gives every capability inside it, and only there. */
	if (setns(s->userns, CLONE_NEWUSER) < 0)
		return err_errno(e, "shed: enter the session's user namespace");
	/* It stands in its groups: they are the roots of all that it sees of them. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return err_errno(e, "shed: unshare the view of groups");
	if (drop_bounding(s->caps, e) < 0 || lock_securebits(s->uid == 0, e) < 0 ||
	    set_ids(s->uid, s->gid, s->one_id, e) < 0)
		return -e->code;
	/* A change from an id that is not mapped inside clears nothing by itself. */
	return set_caps(s->caps, e);
}

int shed_to_server(uid_t uid, gid_t gid, bool one_id, struct err *e)
{
	if ((getuid() != uid || getgid() != gid) && set_ids(uid, gid, one_id, e) < 0)
		return -e->code;
	return shed_caps(e);
}

int shed_caps(struct err *e)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_errno(e, "shed: ambient set");
	return set_caps(0, e);
}
