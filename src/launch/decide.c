/* SPDX-License-Identifier: MIT */
/* decide.c - see decide.h. */
#include "launch/decide.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/log.h"
#include "launch/lifecycle.h"
#include "plan/request_json.h"
#include "session/session.h"

int decide(struct request *q, const char *policy, struct laps *laps, struct decision *d,
	   struct err *e)
{
	if (policy_load(policy ? policy : POLICY_DEFAULT, &d->policy, e) < 0)
		return -e->code;
	lap(laps, "policy");
	if (state_default_path(&d->state_path, e) < 0 || host_probe(d->state_path, &d->host, e) < 0)
		return -e->code;
	lap(laps, "host");
	if (request_resolve(q, d->policy, d->host, e) < 0 ||
	    plan_make(q, d->policy, d->host, &d->plan, e) < 0)
		return -e->code;
	lap(laps, "plan");
	return 0;
}

static int read_again(const struct session *s, struct request *q, struct decision *d, struct err *e)
{
	struct request_policy p = { 0 };
	autobuf struct buf text = { 0 };
	int r;

	if (session_read_request(s, &text, e) < 0)
		return -e->code;
	r = request_parse(buf_str(&text), text.len, q, &p, e);
	if (r == 0)
		r = policy_reload(p.path, &p.texts, &d->policy, e);
	request_policy_clear(&p);
	return r < 0 ? err_wrap(e, "session %s", s->record.id) : 0;
}

int decide_again(const struct session *s, struct request *q, struct laps *laps, struct decision *d,
		 struct err *e)
{
	if (read_again(s, q, d, e) < 0)
		return -e->code;
	lap(laps, "policy");
	d->state_path = fs_path_of(s->state, e);
	if (!d->state_path || host_probe(d->state_path, &d->host, e) < 0)
		return -e->code;
	lap(laps, "host");
	if (plan_make(q, d->policy, d->host, &d->plan, e) < 0)
		return -e->code;
	lap(laps, "plan");
	return 0;
}

void decision_clear(struct decision *d)
{
	plan_free(d->plan);
	host_free(d->host);
	policy_free(d->policy);
	free(d->state_path);
	*d = (struct decision) { 0 };
}

int decision_state(const struct decision *d, struct laps *laps, struct err *e)
{
	autoclose int state = state_open(d->state_path, e);

	if (state < 0)
		return state;
	if (lifecycle_sweep(state, e) < 0)
		return err_wrap(e, "taking down what a dead session left");
	lap(laps, "sweep");
	return take_fd(&state);
}

void decision_warn(const struct decision *d)
{
	autobuf struct buf names = { 0 };

	for (unsigned bit = 1; bit && bit <= d->plan->degraded; bit <<= 1)
		if (d->plan->degraded & bit)
			buf_printf(&names, "%s%s", names.len ? ", " : "", degraded_name(bit));
	if (names.len)
		log_info(
			"this host cannot keep: %s (policy '%s' allows that; 'ohsandbox doctor' says why)",
			buf_str(&names), d->policy->name);
	if (d->plan->request->rootfs_fixed)
		log_info("what is in '%s' can be read and not changed: its owner has no id inside",
			 d->plan->request->rootfs);
}
