/* SPDX-License-Identifier: MIT */
/* meter.h - what the kernel counts of the session and of each of its leaves, read into numbers.
 *
 * Everything is opened before the server's filter forbids it. Counters only grow: what one action
 * used is the difference of two readings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/ctl.h"

#define METER_UNKNOWN INT64_MIN /* not counted on this host */

enum meter_kind {
	/* of one leaf */
	METER_CPU_US,
	METER_PEAK,	 /* of memory, in bytes, since the last meter_reset() */
	METER_OOM,	 /* processes killed for want of memory */
	METER_PIDS,	 /* processes and threads in it now */
	METER_PIDS_FULL, /* forks refused by the limit of processes */
	/* of all leaves together */
	METER_PIDS_FULL_ABOVE,
	METER_THROTTLED_US, /* held back by the limit of the CPU */
	/* of the session, groups or not */
	METER_MADE,	   /* processes and threads made, modulo what a pid can be */
	METER_NO_ROUTE,	   /* packets there was no way for */
	METER_UNREACHABLE, /* ICMP of others: the destination cannot be reached */
	METER_KINDS
};

struct reading {
	int64_t value[METER_KINDS];
};

struct meter {
	const struct ctl_boot *boot;
	int loadavg, snmp;	      /* of /proc; -1 where it does not show them */
	bool peak_resets[CTL_LEAVES]; /* as the last meter_reset() found */
};

void meter_open(struct meter *m, const struct ctl_boot *boot);

/* Let the leaf's peak of memory begin anew, at what it holds now. */
void meter_reset(struct meter *m, unsigned leaf);

/* Read some of the kinds, a bit each (1u << METER_OOM), of this leaf; the others of *r stay. */
void meter_read(const struct meter *m, unsigned leaf, unsigned kinds, struct reading *r);
#define METER_ALL ((1u << METER_KINDS) - 1)

/* after - before; METER_UNKNOWN where either is. Never negative. */
int64_t meter_grown(const struct reading *before, const struct reading *after,
		    enum meter_kind kind);

/* --- the kernel's texts: pure ----------------------------------------------------------------- */

/* The number behind `key` in lines of "key number", or (no such line, and `text` begins with a digit)
 * that number; -1 where there is neither. */
int64_t meter_number(const char *text, const char *key);

/* The value of `name` in a table like /proc/net/snmp: two lines "Ip: NAME..." and "Ip: VALUE...". */
int64_t meter_column(const char *text, const char *table, const char *name);
