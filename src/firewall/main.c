/* SPDX-License-Identifier: MIT */
/* main.c - ohsandbox-firewall: lays the static ruleset, or takes it away.
 *
 * A program of its own because libnftables and what it pulls in take longer to load than a
 * session takes to start. It runs once a boot, not once a session. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "firewall/ruleset.h"

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct err *e);
	} commands[] = { { "up", ruleset_up }, { "down", ruleset_down } };
	struct err e = { 0 };

	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (commands[i].run(&e) == 0)
			return 0;
		log_error("firewall %s: %s", argv[1], e.text);
		return 1;
	}
	log_error("usage: ohsandbox-firewall up|down");
	return 2;
}
