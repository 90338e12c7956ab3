/* SPDX-License-Identifier: MIT */
/* log.h - one event, one line, to standard error; never a secret. */
#pragma once

#include "base/auto.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* What is shown: this level and those before it. The default is LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_level(void);

/* Each writes "ohsandbox: <text>\n" in one write(2). */
void log_error(const char *fmt, ...) printf_like(1, 2);
void log_warn(const char *fmt, ...) printf_like(1, 2);
void log_info(const char *fmt, ...) printf_like(1, 2);
void log_debug(const char *fmt, ...) printf_like(1, 2);
