/* SPDX-License-Identifier: MIT */
/* run_text.h - the words of the action `run`, which clients and models know. Pure. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "sandbox/executor/text.h"

/* Contents of replies to what has nothing to act on. */
extern const char run_text_no_logs[], run_text_no_program[];

/* Prefix: part of the command's output was told before. */
extern const char run_text_below[];

/* Prefix: output was lost; so many lines are left. */
void run_text_lost(struct buf *prefix, unsigned lines);

/* Suffixes. */
void run_text_completed(struct buf *suffix, int exit_code, char control);
void run_text_silent(struct buf *suffix, uint64_t seconds);
void run_text_timed_out(struct buf *suffix, double seconds);
void run_text_not_executed(struct buf *suffix, struct text command);
void run_text_new_shell(struct buf *suffix);

/* Seconds without new output after which a command is answered for: as the environment says, or what
 * the reference has where it says nothing or nothing sensible. */
uint64_t run_text_silence(char *const *env);
