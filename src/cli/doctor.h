/* SPDX-License-Identifier: MIT */
/* doctor.h - the pieces of `ohsandbox doctor`: one row of a table a thing that is looked at. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "plan/host.h"

enum verdict {
	VERDICT_FINE,
	VERDICT_LESS,  /* sessions run, with less */
	VERDICT_FATAL, /* sessions cannot run */
};

struct finding {
	enum verdict verdict;
	char found[300];
	const char *means; /* for a session; NULL when all is fine */
	char cure[300];	   /* a command, or what to do; "" where nothing can be done */
};

struct doctor {
	struct host *host;
	int state; /* fd of the state directory; -1: state_error says why */
	struct err state_error;
};

struct check {
	const char *name;
	void (*look)(const struct doctor *d, struct finding *f);
};

/* Tables, each ended by a row without a name. */
extern const struct check doctor_host_checks[], doctor_kernel_checks[], doctor_net_checks[];

void finding_fine(struct finding *f, const char *fmt, ...) printf_like(2, 3);
void finding_lack(struct finding *f, enum verdict verdict, const char *means, const char *fmt, ...)
	printf_like(4, 5);
void finding_cure(struct finding *f, const char *fmt, ...) printf_like(2, 3);

/* Do it in a child, so that nothing of it stays: `act` gives 0, or a negative errno with *e filled,
 * which comes back as the child's. */
must_check int doctor_try(int (*act)(const void *arg, struct err *e), const void *arg,
			  struct err *e);
