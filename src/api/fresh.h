/* SPDX-License-Identifier: MIT */
/* fresh.h - has anything changed that a session would be made of? Two equal digests mean no.
 *
 * Told by names and times where that is exact (a repository's references are replaced by renames), by
 * content where it is not (policies). Of a root file system the places are looked at that installing
 * software changes; what happens deeper in it is for whoever holds sessions ready to bound by time. */
#pragma once

#include "api/config.h"
#include "plan/plan.h"

/* `policy` NULL: the default one. Reads a few files of the operator's and of the repository's; changes
 * nothing. Fails as a start would that cannot find what it needs. */
must_check int fresh_digest(const struct config *c, const struct request *q, const char *policy,
			    char out[SHA256_HEX_BYTES], struct err *e);
