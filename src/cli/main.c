/* SPDX-License-Identifier: MIT */
/* main.c - the one table of commands. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "launch/relay.h"

static const struct command *const commands[] = {
	&command_run,	 &command_start, &command_stop,	 &command_pause, &command_resume,
	&command_list,	 &command_show,	 &command_act,	 &command_diff,	 &command_policy,
	&command_doctor, &command_clean, &command_serve,
};

static const char *command_name(const void *list, size_t i)
{
	(void)list;
	return i < ARRAY_LEN(commands) ? commands[i]->name : NULL;
}

static int help(void)
{
	autobuf struct buf out = { 0 };

	buf_puts(
		&out,
		"usage: ohsandbox COMMAND [OPTION...] [OPERAND...]\n\n"
		"Runs untrusted commands on git repositories, inside namespaces, over a copy-on-write\n"
		"view of the tree; nothing they do reaches the host.\n\ncommands:\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		buf_printf(&out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	buf_puts(
		&out,
		"\nexamples:\n"
		"  ohsandbox run -- make check          run a command on a copy of this repository\n"
		"  ohsandbox run --keep -- ./fix.sh     keep what it changed, then: ohsandbox diff ID\n"
		"  ohsandbox run --net nat --user root -- apt-get install -y jq\n"
		"  ohsandbox start                      a session to send actions to; prints JSON\n"
		"  ohsandbox doctor                     what this host offers, and what it lacks\n"
		"\n'ohsandbox COMMAND --help' says more; 'man ohsandbox' says all.\n");
	return cli_print(NULL, &out);
}

static int version(void)
{
	autobuf struct buf out = { 0 };

	buf_puts(&out, "ohsandbox " PACKAGE_VERSION "\n");
	return cli_print(NULL, &out);
}

static int unknown(const char *word)
{
	const char *near = nearest_name(word, command_name, NULL);

	if (near)
		log_error("unknown command '%s'; did you mean '%s'?", word, near);
	else
		log_error("unknown command '%s'; 'ohsandbox --help' lists them", word);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	struct err e = { 0 };

	if (relay_check(&e) < 0) {
		log_error("%s", e.text);
		return str_eq(word, "run") ? EXIT_OURS : EXIT_FAILED;
	}
	/* What the caller forgot to close is no business of a helper program's. Kernels before 5.11
	 * have only the variant that closes; they are too old for the rest, too. */
	(void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);

	if (!word) {
		log_error("a command is missing; 'ohsandbox --help' lists them");
		return EXIT_USAGE;
	}
	if (str_eq(word, "--help") || str_eq(word, "-h") || (str_eq(word, "help") && argc == 2))
		return help();
	if (str_eq(word, "--version") || str_eq(word, "-V"))
		return version();
	if (str_eq(word, "help")) {
		/* "help run" is "run --help". */
		static char flag[] = "--help";

		word = argv[2];
		argv[1] = argv[2];
		argv[2] = flag;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_eq(word, commands[i]->name))
			return commands[i]->main(commands[i], argc - 1, argv + 1);
	return unknown(word);
}
