/* SPDX-License-Identifier: MIT */
/* several.h - what is said to who sends several commands in one text. */
#pragma once

#include "base/buf.h"
#include "sandbox/executor/action.h"

/* Append the refusal with the commands by number; nothing where the text is one command. */
void several_words(struct text command, struct buf *words);
