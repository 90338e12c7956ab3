/* SPDX-License-Identifier: MIT */
/* keys.h - names of keys, and what a terminal sends for them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct key {
	char bytes[16];
	size_t len;
	char control; /* the upper-case letter of "C-x"; NUL for all others, which Enter follows */
	bool signals; /* it may become a signal */
};

/* Is this text a key: "C-x" of three characters, or a name like "Up", "F5", "M-x", "C-Left"?
 * `application` tells which of their two forms the cursor keys have at the moment. */
bool keys_find(const char *text, size_t len, bool application, struct key *key);
