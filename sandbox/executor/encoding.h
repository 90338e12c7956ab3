/* SPDX-License-Identifier: MIT */
/* encoding.h - a file's bytes as UTF-8 and back. Pure.
 *
 * What a file is encoded in is said by the mark at its beginning; without one it is UTF-8 or
 * refused: a guess would show one text and store another. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/executor/text.h"

enum encoding {
	ENCODING_UTF8,
	ENCODING_UTF8_MARKED,
	ENCODING_UTF16LE,
	ENCODING_UTF16BE,
	ENCODING_UTF32LE,
	ENCODING_UTF32BE,
};

enum encoding encoding_of(struct text raw);

/* Append as UTF-8, without the mark. -EILSEQ with *e saying what stands where. */
must_check int encoding_decode(enum encoding encoding, struct text raw, struct buf *out,
			       struct err *e);

/* Append well-formed UTF-8 in this encoding, the mark first. */
void encoding_encode(enum encoding encoding, struct text utf8, struct buf *out);
