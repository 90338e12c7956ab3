/* SPDX-License-Identifier: MIT */
/* answer.h - how a client is answered when what it asked of a session has been done. */
#pragma once

enum answer_kind {
	ANSWER_OBJECT, /* the runtime object; after ANSWER_AFTER_MS as it is then */
	ANSWER_EMPTY,  /* {} */
	ANSWER_NATIVE, /* the session of /v1 */
};
