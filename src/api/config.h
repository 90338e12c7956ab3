/* SPDX-License-Identifier: MIT */
/* config.h - what the operator of a daemon decides: ohsandbox-serve(5).
 *
 * A JSON file; every key has a default, unknown keys, wrong types and ranges are errors that name
 * key and line. The names of images that clients send are matched against the templates in order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "plan/policy.h"

enum config_limits {
	CONFIG_BYTES_MAX = 1 << 20,
	CONFIG_TEMPLATES_MAX = 256,
	CONFIG_LISTEN_MAX = 3,
	CONFIG_WARM_MAX = 256, /* of one template */
};

/* What a session of this template is. Strings may be NULL: the default of `run`. */
struct session_template {
	char *name;
	char *image; /* a pattern as fnmatch(3) has it: "*", "?", "[...]" */
	char *rootfs, *repo, *rev, *dir;
	char *policy, *user, *working_dir;
	char **environment; /* "K=V"; a client's own go before them */
	char **command;	    /* NULL: the client's */
	struct limits limits;
	int net;		       /* -1: the policy's */
	uint64_t warm;		       /* held ready for clients */
	uint64_t idle_ms, lifetime_ms; /* 0: for ever */
	bool reclaim_stops;	       /* what is idle or old is stopped; else paused to disk */
};

struct config {
	char *path;		       /* of the file; NULL: none */
	char digest[SHA256_HEX_BYTES]; /* of its bytes; "" without one */
	char **listen;		       /* "ADDRESS:PORT" */
	char *socket;		       /* of the Unix domain; NULL: none */
	char *key_file;
	char **hosts;	     /* further names that a Host header may have */
	char *advertise;     /* the host in the URLs of sessions */
	char *url;	     /* pattern of a session's URL; NULL: http://{host}:{port} */
	char **repositories; /* directories that clients may name, or what is below them */
	struct session_template *templates;
	unsigned n_templates;
	bool only_templates;	   /* no image but those that a template names */
	uint64_t pause_to_disk_ms; /* 0: never */
	uint64_t drain_ms;
	uint64_t max_sessions;
	bool log_json;
};

/* The defaults, without a file. */
must_check int config_new(struct config **out, struct err *e);

/* The file's. -EINVAL names file, key and line. */
must_check int config_load(const char *path, struct config **out, struct err *e);

/* The same from bytes. Pure: for tests and fuzzing. */
must_check int config_parse(const char *text, size_t len, const char *where, struct config **out,
			    struct err *e);
void config_free(struct config *c);

/* Things of the host that the file names: directories that are there, policies that can be loaded.
 * For --check; the first that is wrong. */
must_check int config_verify(const struct config *c, struct err *e);

/* The template of an image's name, or NULL. */
const struct session_template *config_template(const struct config *c, const char *image);

/* The one of this name, or NULL. */
const struct session_template *config_named(const struct config *c, const char *name);

/* May clients name this directory? `path` is canonical. */
bool config_allows(const struct config *c, const char *path);
