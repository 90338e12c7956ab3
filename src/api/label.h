/* SPDX-License-Identifier: MIT */
/* label.h - what a daemon notes of a session in its record, for itself or a later one. Pure. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct label {
	char *template;	 /* name of the template, or NULL */
	char *image;	 /* as the client wrote it */
	char **program;	 /* what is started inside in place of the native executor; NULL: nothing */
	char *directory; /* where it is started, and what is made first if it is missing; or NULL */
	char *program_key; /* what it asks of its clients: the workload knows it, and it opens nothing else */
	/* Of a session that is held ready for whoever asks for the like (see pool.h); it is nobody's until it
	 * has a name. NULL: it was started for somebody. */
	char *shape;	       /* what was asked for */
	char *fresh;	       /* what it was made of */
	uint16_t program_port; /* inside; 0: the native executor's is the session's URL */
};

void label_write(const struct label *l, struct buf *out);

/* NULL is the label of a session that no daemon started: empty. */
must_check int label_parse(const char *text, struct label *l, struct err *e);
void label_clear(struct label *l);
