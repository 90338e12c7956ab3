/* SPDX-License-Identifier: MIT */
/* file_io.h - how files are opened, read and replaced for an action. Runs in the helper.
 *
 * Paths are the workload's own, with its rights, so they are followed wherever they lead. What
 * they lead to is looked at before it is opened: a fifo or a device is never. All return 0, a
 * count or an fd, or a negative errno: the number is what the client is told. */
#pragma once

#include <sys/stat.h>

#include "base/auto.h"
#include "base/buf.h"
#include "sandbox/executor/text.h"

/* What a path leads to. */
struct file_target {
	int fd; /* O_PATH */
	struct stat st;
};

#define autotarget __attribute__((cleanup(file_target_close)))
#define FILE_NO_TARGET ((struct file_target) { .fd = -1 })

void file_target_close(struct file_target *t);

/* Find out, without opening it. */
must_check int file_look(const char *path, struct file_target *t);

/* Open what was found, a regular file or a directory, and nothing that came into its place. */
must_check int file_open(const struct file_target *t, int flags);

/* Append all of it; -EFBIG beyond `max` bytes. What can be read counts: files of /proc say that
 * they are empty, and others grow. */
must_check int file_slurp(int fd, size_t max, struct buf *out);

/* Replace the content, in place: owner, mode, links and attributes stay. Where there is no space,
 * or on any other error, the old content does. */
must_check int file_store(const struct file_target *t, struct text old, struct text new);

/* Make a file that is not there, with this content or not at all. `mode` 0: as the umask has it. */
must_check int file_make(const char *path, mode_t mode, struct text content);
