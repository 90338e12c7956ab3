/* SPDX-License-Identifier: MIT */
/* fs.h - directories and paths, always beneath a descriptor. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* openat2 that stays beneath `dir`: no "..", no absolute link, no magic link leads out of it.
 * `resolve_extra` adds RESOLVE_ flags (RESOLVE_NO_SYMLINKS, RESOLVE_NO_XDEV). Returns an fd. */
must_check int fs_open_beneath(int dir, const char *path, int flags, mode_t mode,
			       uint64_t resolve_extra, struct err *e);

/* Open `path` as if `root` were "/": links and ".." stay inside. Returns an fd. */
must_check int fs_open_in_root(int root, const char *path, int flags, mode_t mode, struct err *e);

/* Open an absolute, canonical path: -ELOOP where a link stands in it by now. Returns an fd. */
must_check int fs_open_absolute(const char *path, int flags, struct err *e);

/* Make the directory and its missing parents below `dir`, none of them through a link, and open
 * it. Returns an O_PATH | O_DIRECTORY fd. */
must_check int fs_mkdir_path(int dir, const char *path, mode_t mode, struct err *e);

/* Make the directory if it is missing, and open it for reading. Returns an fd. */
must_check int fs_mkdir_open(int dir, const char *name, mode_t mode, struct err *e);

/* Remove a file or a tree of any depth and content, without recursion and without following a
 * link. Directories that cannot be read (mode 000) are made readable first. A missing one is no
 * error. Goes on after an error and returns the first. */
must_check int fs_remove_tree(int dir, const char *name, struct err *e);

/* Is `inner` the directory `outer` or below it? Both absolute and canonical (realpath). */
bool fs_is_beneath(const char *outer, const char *inner);

/* A file descriptor's canonical path through /proc/self/fd; the caller frees it. NULL with *e. */
char *fs_path_of(int fd, struct err *e);

/* Random lower-case hexadecimal digits and a NUL from the kernel: out has 2 * bytes + 1. */
must_check int fs_random_hex(char *out, size_t bytes, struct err *e);
