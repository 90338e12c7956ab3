/* SPDX-License-Identifier: MIT */
/* transfer_wire.h - what the server and a process that moves files say to each other, over one
 * socket. Both are the same program, so numbers travel as they are in memory.
 *
 * server -> process   struct transfer_ask, path, name; for what is uploaded then pieces: a length
 *                     of 32 bits and so many bytes each, and the length 0 when all have come. An
 *                     end before that 0 is a client that went away: nothing of it is kept.
 * process -> server   struct transfer_answer, text, body. An end before all of the body is an
 *                     error that could not be told any more.
 */
#pragma once

#include <stdint.h>

enum transfer_op {
	TRANSFER_LIST,	 /* names in a directory, as JSON */
	TRANSFER_STORE,	 /* a file into a directory */
	TRANSFER_UNPACK, /* an archive into a directory */
	TRANSFER_PACK,	 /* a directory as an archive */
	TRANSFER_VIEW,	 /* a picture as a page */
	TRANSFER_OPS
};

enum transfer_wire_limits {
	TRANSFER_PATH_MAX = 16 * 1024, /* what fits the head of a request; the kernel takes less */
	TRANSFER_TEXT_MAX = 4096,
	TRANSFER_PIECE_MAX = 128 * 1024,
};

struct transfer_ask {
	uint32_t op, path_len, name_len;
};

struct transfer_answer {
	uint32_t failed; /* a status of HTTP; then `text` says why, and there is no body. Else 0 */
	uint32_t text_len;
	uint64_t body_len;
};
