/* SPDX-License-Identifier: MIT */
/* cached.h - the cached trees of an index, to find one by its path. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cached_node {
	const char *name, *rest,
		*end; /* rest: behind the name, up to the end of all that is below */
	size_t name_len;
	int64_t count;		   /* entries; -1: not known */
	uint32_t n_children, next; /* next: number of the node behind all that is below */
};

struct cached {
	struct cached_node *nodes; /* a directory, then what is below it */
	uint32_t n;
};

/* Parse the extension's bytes, which must stay. Where they are damaged there are no nodes: what
 * is cached is worth no error. */
void cached_parse(const char *bytes, size_t len, size_t id_bytes, struct cached *out);
void cached_clear(struct cached *c);

/* The directory `path` ("a/b"), or NULL. */
const struct cached_node *cached_find(const struct cached *c, const char *path);
