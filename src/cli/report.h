/* SPDX-License-Identifier: MIT */
/* report.h - what `run` says at the end: one line, or one JSON object, and the exit status. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "launch/lifecycle.h"
#include "launch/supervise.h"
#include "session/cgroup.h"
#include "session/changes.h"

struct report {
	char id[13];	    /* "" where it never got that far */
	bool ran;	    /* a command was started */
	int status, signal; /* exit status of ours; the command's signal or 0 */
	struct laps laps;
	uint64_t cpu_ms, peak_memory_bytes;
	bool hit_memory, hit_pids, hit_cpu, hit_timeout;
	bool has_changes, kept;
	struct change_counts changes;
	struct err error; /* of ours; code 0: none */
};

void report_init(struct report *r);

/* Exit status and signal from how it ended. */
void report_outcome(struct report *r, const struct outcome *o);

/* The object of --json, with a line's end. */
void report_json(const struct report *r, struct buf *out);

/* The one line of the summary, without "ohsandbox: " and line's end. */
void report_line(const struct report *r, struct buf *out);

/* A line a stage, for --verbose. */
void report_times(const struct report *r, struct buf *out);
