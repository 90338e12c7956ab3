/* SPDX-License-Identifier: MIT */
/* gate.h - one go, one answer.
 *
 * A pair of SOCK_SEQPACKET ends, both close-on-exec. The host sends one byte when all that it
 * owes the child is done (maps, network), and with it the descriptors that came to be meanwhile. The child answers with one struct err, or with one
 * byte right before exec and then by its end closing on exec. End-of-file instead of go means that
 * the host died: the child ends silently.
 *
 * Each side closes its copy of the other's end right after the clone, or no end would ever be seen:
 * the child through `gate_host` of struct inside, the host after spawn(). */
#pragma once

#include "base/err.h"

/* Make the pair; both close-on-exec. */
must_check int gate_new(int *host, int *child, struct err *e);

#define GATE_FDS_MAX 10

/* Host: say go, and hand over copies of `n` descriptors. */
must_check int gate_go(int host, const int *fds, unsigned n, struct err *e);

/* Host: wait for the answer, at most `timeout_ms`. 0 when the child has exec'd, else its error
 * in *e; -ETIMEDOUT, or -ECHILD when it died without a word. */
must_check int gate_answer(int host, int timeout_ms, struct err *e);

/* Child: wait for go, once. Returns how many descriptors came with it, which are the caller's; -EPIPE
 * when the host is gone. */
must_check int gate_await(int child, int fds[GATE_FDS_MAX], struct err *e);

/* Child, after go: is the host still there? 0, or -EPIPE. */
must_check int gate_check(int child, struct err *e);

/* Child: all is done but exec. */
must_check int gate_ready(int child, struct err *e);

/* Child: report the error and end. */
void gate_fail(int child, const struct err *e) __attribute__((noreturn));
