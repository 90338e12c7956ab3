/* SPDX-License-Identifier: MIT */
/* route.h - which request is answered by what. */
#pragma once

#include <stddef.h>

#include "http/conn.h"

extern const struct route routes[];
extern const size_t routes_count;
