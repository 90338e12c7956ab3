/* SPDX-License-Identifier: MIT */
/* admit.h - a session as elements of the firewall's sets.
 *
 * The ruleset itself is static and laid by ohsandbox-firewall (src/firewall/ruleset.c). Elements
 * come and go by one transaction over a netlink socket: adding some waits for nobody. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "session/resolvers.h"

struct admit {
	char link[16];
	uint8_t mac[6];
	uint32_t address; /* host byte order */
	bool nat;
	struct resolvers resolvers; /* with nat */
};

/* Let the port speak with its own addresses, and go out where `nat` says so. -ENOENT when the
 * ruleset is not there. Doing it twice is no error. */
must_check int admit_add(const struct admit *a, struct err *e);

/* Take the way out back. Elements that are not there, or no ruleset, are no error. The port's own
 * element stays for as long as the ruleset: port, link address and address belong together in
 * every session that ever has the slot, and the end of a session need not wait for the kernel,
 * which lets nobody close such a socket before all that was deleted is gone. */
must_check int admit_remove_nat(const struct admit *a, struct err *e);

/* The interface forwards only because we switched it on: it forwards for sessions alone. */
must_check int admit_uplink(const char *name, bool add, struct err *e);

/* Is the ruleset there? */
must_check int admit_is_ready(struct err *e);

/* Run ohsandbox-firewall ("up", "down") and wait for it. The caller holds the slot table. */
must_check int admit_ruleset(const char *command, struct err *e);
