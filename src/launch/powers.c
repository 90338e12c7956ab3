/* SPDX-License-Identifier: MIT */
/* powers.c - see powers.h. The two calls are made as they are: libcap would allocate for them. */
#include "launch/powers.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* To read and remove layers of foreign ids, to end the session's processes, to take its link and
 * its rules away; and SYS_ADMIN, without which the kernel shows no trusted attribute: a renamed or
 * replaced directory in an upper layer would be taken for what it is not. */
static const uint64_t for_the_end = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH |
				    1ull << CAP_FOWNER | 1ull << CAP_KILL | 1ull << CAP_NET_ADMIN |
				    1ull << CAP_SYS_ADMIN;

struct sets {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int read_sets(struct sets *s, struct err *e)
{
	*s = (struct sets) { .header.version = _LINUX_CAPABILITY_VERSION_3 };
	if (syscall(SYS_capget, &s->header, s->data) < 0)
		return err_errno(e, "read our capabilities");
	return 0;
}

static int write_sets(struct sets *s, struct err *e)
{
	s->header.pid = 0;
	if (syscall(SYS_capset, &s->header, s->data) < 0)
		return err_errno(e, "change our capabilities");
	return 0;
}

int powers_lower(struct err *e)
{
	struct sets s;
	uint32_t any = 0;

	if (read_sets(&s, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		any |= s.data[i].permitted;
		s.data[i].permitted &= (uint32_t)(for_the_end >> 32 * i);
		s.data[i].inheritable &= s.data[i].permitted;
		s.data[i].effective = 0;
	}
	return any ? write_sets(&s, e) : 0;
}

int powers_raise(struct err *e)
{
	struct sets s;
	uint32_t any = 0;

	if (read_sets(&s, e) < 0)
		return -e->code;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		any |= s.data[i].permitted;
		s.data[i].effective = s.data[i].permitted;
	}
	return any ? write_sets(&s, e) : 0;
}
