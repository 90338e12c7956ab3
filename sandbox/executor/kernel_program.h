/* SPDX-License-Identifier: MIT */
/* kernel_program.h - kernel.py, as it is; put into kernel_program.c when the executor is built. */
#pragma once

#include <stddef.h>

extern const char kernel_program[];
extern const size_t kernel_program_len;
