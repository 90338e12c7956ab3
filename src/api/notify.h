/* SPDX-License-Identifier: MIT */
/* notify.h - what a service manager is told (sd_notify(3)). */
#pragma once

#include <stdint.h>

/* "READY=1", "STOPPING=1", "RELOADING=1", "WATCHDOG=1", "STATUS=..."; nothing where nobody listens. */
void notify_manager(const char *text);

/* How often it wants to hear "WATCHDOG=1", halved; 0: never. In milliseconds. */
uint64_t notify_watchdog_ms(void);
