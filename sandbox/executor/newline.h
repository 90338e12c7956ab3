/* SPDX-License-Identifier: MIT */
/* newline.h - a text with any line ends is shown and searched as one with line feeds, and changed
 * where it stands: what is not touched keeps its bytes. Pure. */
#pragma once

#include "base/buf.h"
#include "sandbox/executor/text.h"

enum newline { NEWLINE_LF, NEWLINE_CRLF, NEWLINE_CR };

/* What most lines end with. */
enum newline newline_style(struct text t);

/* Append with a line feed for each CRLF and CR: the plain form. */
void newline_plain(struct text t, struct buf *out);

/* Append a text in plain form with line ends of this style. */
void newline_styled(struct text plain, enum newline style, struct buf *out);

/* Offset in `t` of what stands at `plain` in its plain form. */
size_t newline_offset(struct text t, size_t plain);
