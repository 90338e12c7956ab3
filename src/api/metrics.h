/* SPDX-License-Identifier: MIT */
/* metrics.h - what the daemon counts, as Prometheus reads it (text format 0.0.4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum metrics_limits { METRICS_OPERATIONS = 8, METRICS_BUCKETS = 10, METRICS_CLASSES = 6 };

struct metrics {
	uint64_t requests[METRICS_CLASSES]; /* by the first digit of the status */
	struct {
		uint64_t done, failed;
		uint64_t us; /* in all */
		uint64_t within[METRICS_BUCKETS];
	} operation[METRICS_OPERATIONS];
};

struct server;

void metrics_request(struct metrics *m, int status);

/* `operation` as enum operation_kind. */
void metrics_operation(struct metrics *m, unsigned operation, uint64_t us, bool failed);

void metrics_show(const struct server *s, struct buf *out);
