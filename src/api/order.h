/* SPDX-License-Identifier: MIT */
/* order.h - from what a client sent and what the operator configured to the request of a session. */
#pragma once

#include "api/config.h"
#include "api/label.h"
#include "api/start_body.h"
#include "plan/plan.h"

/* Ports of a session that are published: those that an agent may serve web applications on, and the
 * editor's, as callers of the runtime API expect them. */
enum order_ports { ORDER_WORK_1 = 12000, ORDER_WORK_2 = 12001, ORDER_EDITOR = 60001 };

struct order {
	struct request request;
	char *policy; /* NULL: the default one */
	struct label label;
};

/* May a session be started for this image? */
bool order_knows(const struct config *c, const char *image);

/* `name` is what the client calls the session. NULL: it is held ready for whoever asks for the same
 * `shape` (of start_body_shape()), and its label says what it is made of by now.
 * Looks at directories that the client or the template names; changes nothing. -EACCES for one that
 * clients may not name, -ERR_NONE_SUCH for an image that no template fits. `o` is to be cleared in both
 * cases. */
must_check int order_make(const struct config *c, const struct start_body *b, const char *name,
			  const char *shape, struct order *o, struct err *e);
void order_clear(struct order *o);
