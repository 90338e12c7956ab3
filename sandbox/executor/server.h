/* SPDX-License-Identifier: MIT */
/* server.h - the process that answers over HTTP: it holds the listeners and the key, and may start
 * nothing, call nobody and open nothing. */
#pragma once

#include "base/err.h"
#include "sandbox/ctl.h"
#include "sandbox/executor/act.h"
#include "sandbox/executor/conn.h"
#include "sandbox/executor/dispatch.h"
#include "sandbox/executor/helper.h"
#include "sandbox/executor/info.h"
#include "sandbox/executor/procs.h"
#include "sandbox/executor/publish.h"

struct server {
	const struct ctl_boot *boot;
	struct loop loop;
	struct procs procs;
	struct conns conns;
	struct dispatch dispatch;
	struct act_runs runs;
	struct helper helper;
	struct info info;
	struct publishing publishing;
};

/* Serve until init goes away. `listener` is the session's own, or -1. Returns only with an error. */
must_check int server_run(const struct ctl_boot *boot, int listener, int link, struct err *e);
