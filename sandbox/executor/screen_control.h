/* SPDX-License-Identifier: MIT */
/* screen_control.h - what the sequences of a terminal mean. */
#pragma once

#include "sandbox/executor/screen.h"

/* ESC [ ... final: the parameters are in the screen. */
void control_sequence(struct screen *s, char final);

/* ESC, an intermediate byte or NUL, and a final one. */
void control_escape(struct screen *s, char intermediate, char final);

/* One of the characters below the space. */
void control_char(struct screen *s, char c);
