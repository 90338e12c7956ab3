/* SPDX-License-Identifier: MIT */
/* server.h - the daemon: what its parts share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/config.h"
#include "api/job.h"
#include "api/metrics.h"
#include "api/pool.h"
#include "api/runtime.h"
#include "api/serve.h"
#include "base/loop.h"
#include "http/conn.h"

struct call;

struct server {
	struct config *config;
	char *state_path;
	int state;    /* fd of the state directory */
	char *key;    /* of this API */
	char *socket; /* of the Unix domain that it listens at; NULL: none */
	struct loop loop;
	struct conns conns;
	struct conns commands; /* of this host's user, who asks for what they cannot do beside us */
	struct jobs jobs;      /* operations on sessions */
	struct jobs
		waits; /* for programs of sessions that have been started: they take their time */
	struct jobs calls; /* what clients wait for of a session itself, for as long as they like */
	struct call *call; /* each of those; see call.h */
	struct runtime *runtimes; /* newest first */
	struct metrics metrics;
	struct pool pool;
	struct event_stream *events;
	unsigned n_events;
	struct source signals;
	struct timer chores, drain, tidy;
	const struct serve_options *options;
	int lock; /* of the state directory: there is one daemon for it */
	uint64_t watchdog_ms, watchdog_last_ms;
	uint64_t idle_ms; /* for sessions whose template says nothing; 0: for ever */
	uint64_t asked_ms, ask_every_ms;
	bool asking;
	bool tidying, untidy; /* at it; there is more since */
	char **hosts;	      /* what a Host header may say */
	bool draining, over;
	uint64_t began_ms;
};

extern const struct route api_routes[];
extern const size_t api_routes_count;
extern const struct route api_command_routes[];
extern const size_t api_command_routes_count;
