/* SPDX-License-Identifier: MIT */
/* server.h - the process that answers over HTTP: it holds the listeners and the key, and may start
 * nothing, call nobody and open nothing. */
#pragma once

#include "base/err.h"
#include "http/conn.h"
#include "sandbox/ctl.h"
#include "sandbox/executor/act.h"
#include "sandbox/executor/act_ipython.h"
#include "sandbox/executor/actions.h"
#include "sandbox/executor/dispatch.h"
#include "sandbox/executor/feed.h"
#include "sandbox/executor/idempotent.h"
#include "sandbox/executor/info.h"
#include "sandbox/executor/procs.h"
#include "sandbox/executor/publish.h"
#include "sandbox/executor/transfer.h"
#include "sandbox/executor/view.h"

struct server {
	const struct ctl_boot *boot;
	struct loop loop;
	struct procs procs;
	struct conns conns;
	struct dispatch dispatch;
	struct actions actions;
	struct idempotents idempotents;
	struct feeds feeds;
	struct act_runs runs;
	struct act_files files;
	struct act_cells cells;
	struct info info;
	struct publishing publishing;
	struct transfers transfers;
	struct view view;
};

/* Serve until init goes away. `listener` is the session's own, or -1. Returns only with an error. */
must_check int server_run(const struct ctl_boot *boot, int listener, int link, struct err *e);
