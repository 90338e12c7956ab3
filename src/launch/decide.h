/* SPDX-License-Identifier: MIT */
/* decide.h - from a request to a plan: steps 2 to 4 of a session's life. Nothing on the host has been
 * changed when it returns. */
#pragma once

#include "base/err.h"
#include "launch/laps.h"
#include "plan/plan.h"
#include "session/session.h"

struct decision {
	char *state_path;
	struct policy *policy;
	struct host *host;
	struct plan *plan;
};

/* The request is resolved; the decision points into it. `policy` NULL: the default one. On failure
 * too, what there is goes with decision_clear. */
must_check int decide(struct request *q, const char *policy, struct laps *laps, struct decision *d,
		      struct err *e);

/* The decision of a session that is brought back, by what it was started with. `q` is filled and the
 * caller's, also on failure. */
must_check int decide_again(const struct session *s, struct request *q, struct laps *laps,
			    struct decision *d, struct err *e);
void decision_clear(struct decision *d);

/* Open the state directory of this decision and take down what dead sessions left. Returns an fd. */
must_check int decision_state(const struct decision *d, struct laps *laps, struct err *e);

/* Say in one line what this host cannot keep and the policy lets go. */
void decision_warn(const struct decision *d);
