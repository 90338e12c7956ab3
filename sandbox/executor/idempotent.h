/* SPDX-License-Identifier: MIT */
/* idempotent.h - a request that is repeated with the same Idempotency-Key is answered, not done again.
 *
 * Keys and bodies are kept as digests; answers up to a size each and together. A key is remembered
 * longer than its answer: a repetition is then refused, and still not done. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "http/conn.h"

enum idempotent_limits {
	IDEMPOTENT_KEY_MAX = 255,	  /* bytes of a key; 422 beyond */
	IDEMPOTENT_KEYS = 1024,		  /* remembered; then the oldest is forgotten */
	IDEMPOTENT_ANSWER_MAX = 1 << 20,  /* bytes; a longer one is not kept */
	IDEMPOTENT_ANSWERS_MAX = 4 << 20, /* of all; then the oldest is let go */
};

/* A client that repeated a request while it was being done. */
struct waiter {
	struct waiter *next;
	struct conn *conn; /* NULL: it went away */
};

/* One key. */
struct once {
	struct once *newer, *older;
	struct idempotents *all;
	uint8_t key[SHA256_BYTES], body[SHA256_BYTES];
	bool done, kept;
	int status;
	char lines[64]; /* of the answer's head */
	char *answer;	/* heap; NULL where it is not kept */
	size_t len;
	struct waiter *waiters;
};

struct idempotents {
	struct once *newest, *oldest;
	unsigned n;
	size_t bytes; /* of all answers */
};

/* Is this request new? Then *out is its key, for idempotent_answer() or idempotent_withdraw(), and 1
 * comes back; without a key *out is NULL. 0: it is a repetition, and has its answer, or will have it. */
must_check int idempotent_meet(struct idempotents *all, struct conn *c, const char *body,
			       size_t len, struct once **out);

/* The answer is known, whether or not somebody is left to hear it. */
void idempotent_answer(struct once *o, int status, const char *lines, const char *answer,
		       size_t len);

/* Nothing was done: the key may be used again. */
void idempotent_withdraw(struct once *o);
