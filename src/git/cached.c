/* SPDX-License-Identifier: MIT */
/* cached.c - see cached.h. */
#include "git/cached.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *p, *end;
	size_t id_bytes;
	struct cached *out;
	uint32_t room;
	uint32_t *open,
		*owed; /* the nodes whose children are being read, and how many they still have */
	uint32_t depth, depth_room;
};

static bool number(const char **p, const char *end, char stop, int64_t *out)
{
	const char *at = *p;
	bool minus = at < end && *at == '-';
	int64_t value = 0;

	at += minus;
	if (at == end || *at < '0' || *at > '9')
		return false;
	for (; at < end && *at >= '0' && *at <= '9' && value < INT32_MAX; at++)
		value = value * 10 + (*at - '0');
	if (at == end || *at != stop || value > INT32_MAX)
		return false;
	*p = at + 1;
	*out = minus ? -value : value;
	return true;
}

/* "name\0count children\nid" */
static bool parse_node(struct parser *s, struct cached_node *node)
{
	const char *name_end = memchr(s->p, '\0', (size_t)(s->end - s->p));
	int64_t children;
	size_t id;

	if (!name_end)
		return false;
	*node = (struct cached_node) { .name = s->p,
				       .name_len = (size_t)(name_end - s->p),
				       .rest = name_end + 1 };
	s->p = node->rest;
	if (!number(&s->p, s->end, ' ', &node->count) || !number(&s->p, s->end, '\n', &children) ||
	    children < 0)
		return false;
	id = node->count >= 0 ? s->id_bytes : 0;
	if ((size_t)(s->end - s->p) < id)
		return false;
	s->p += id;
	node->n_children = (uint32_t)children;
	return true;
}

static bool grow(struct parser *s)
{
	void *grown;

	if (s->out->n == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		grown = reallocarray(s->out->nodes, s->room, sizeof(*s->out->nodes));
		if (!grown)
			return false;
		s->out->nodes = grown;
	}
	if (s->depth < s->depth_room)
		return true;
	s->depth_room = s->depth_room ? s->depth_room * 2 : 32;
	grown = reallocarray(s->open, s->depth_room, sizeof(*s->open));
	if (!grown)
		return false;
	s->open = grown;
	grown = reallocarray(s->owed, s->depth_room, sizeof(*s->owed));
	if (!grown)
		return false;
	s->owed = grown;
	return true;
}

/* Close every directory that owes no more. */
static void close_done(struct parser *s)
{
	while (s->depth && s->owed[s->depth - 1] == 0) {
		struct cached_node *node = &s->out->nodes[s->open[--s->depth]];

		node->end = s->p;
		node->next = s->out->n;
		if (s->depth)
			s->owed[s->depth - 1]--;
	}
}

static bool parse(struct parser *s)
{
	do {
		if (!grow(s) || !parse_node(s, &s->out->nodes[s->out->n]))
			return false;
		s->open[s->depth] = s->out->n;
		s->owed[s->depth++] = s->out->nodes[s->out->n++].n_children;
		close_done(s);
	} while (s->depth);
	return true;
}

void cached_parse(const char *bytes, size_t len, size_t id_bytes, struct cached *out)
{
	struct parser s = { .p = bytes, .end = bytes + len, .id_bytes = id_bytes, .out = out };

	*out = (struct cached) { 0 };
	if (len && !parse(&s))
		cached_clear(out);
	free(s.open);
	free(s.owed);
}

void cached_clear(struct cached *c)
{
	free(c->nodes);
	*c = (struct cached) { 0 };
}

const struct cached_node *cached_find(const struct cached *c, const char *path)
{
	uint32_t at = 0;

	if (!c->n)
		return NULL;
	while (*path) {
		size_t len = strcspn(path, "/");
		uint32_t child = at + 1, stop = c->nodes[at].next;

		while (child < stop && (c->nodes[child].name_len != len ||
					memcmp(c->nodes[child].name, path, len) != 0))
			child = c->nodes[child].next;
		if (child >= stop)
			return NULL;
		at = child;
		path += len + (path[len] == '/');
	}
	return &c->nodes[at];
}
