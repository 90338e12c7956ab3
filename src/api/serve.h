/* SPDX-License-Identifier: MIT */
/* serve.h - the daemon, from its options to its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What the command line says; it counts before the file. NULL and 0: nothing said. */
struct serve_options {
	char *config;
	char **listen;
	char *socket, *key_file, *advertise;
	char **repositories;
	uint64_t idle_ms, drain_ms;
	bool has_idle, has_drain;
	bool insecure, log_json, quiet;
};

/* Read and verify the configuration, and change nothing. */
must_check int serve_check(const struct serve_options *o, struct err *e);

/* Serve until a signal says that it is over. */
must_check int serve(const struct serve_options *o, struct err *e);
