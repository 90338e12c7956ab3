/* SPDX-License-Identifier: MIT */
/* sha1.h - SHA-1, as the checksum at the end of git's index. It guards against nothing but bad disks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

/* The digest of one block of bytes. */
void sha1(const void *bytes, size_t len, uint8_t digest[SHA1_BYTES]);
