/* SPDX-License-Identifier: MIT */
/* file_list.h - what is in a directory, two levels deep, as the editor shows it. */
#pragma once

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/executor/file_io.h"

/* Append the listing of the directory at `path`, which was found at `t`. 0 or a negative errno. */
must_check int file_list(const char *path, const struct file_target *t, struct buf *out);
