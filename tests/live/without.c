/* SPDX-License-Identifier: MIT */
/* without.c - run a command where system calls are refused, as on an older kernel or in somebody
 * else's sandbox.
 *
 *	without CALL[,CALL...] ERRNO COMMAND [ARG...]
 *
 * ERRNO is a name: ENOSYS, EPERM, EINVAL, ENOSPC. Needs CAP_SYS_ADMIN, so that set-user-ID programs still work. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "ENOSYS", ENOSYS }, { "EPERM", EPERM },   { "EINVAL", EINVAL },
	{ "ENOSPC", ENOSPC }, { "ENODEV", ENODEV }, { "EMFILE", EMFILE },
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strcmp(errors[i].name, name) == 0)
			return errors[i].number;
	fprintf(stderr, "without: unknown error '%s'\n", name);
	exit(2);
}

static void refuse(scmp_filter_ctx filter, const char *call, int error)
{
	int nr = seccomp_syscall_resolve_name(call);

	if (nr == __NR_SCMP_ERROR ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned)error), nr, 0) < 0) {
		fprintf(stderr, "without: no such call '%s'\n", call);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error;

	if (argc < 4 || !filter)
		return fputs("usage: without CALL[,CALL...] ERRNO COMMAND [ARG...]\n", stderr), 2;
	error = number_of(argv[2]);
	for (char *call = strtok(argv[1], ","); call; call = strtok(NULL, ","))
		refuse(filter, call, error);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (seccomp_load(filter) < 0) {
		perror("without: seccomp_load");
		return 2;
	}
	(void)execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 2;
}
