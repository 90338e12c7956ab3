/* SPDX-License-Identifier: MIT */
/* json.c - foreign text into a tree; see json.h. The tables are in json_fields.c.
 *
 * yajl only tokenises. It is lax about UTF-8 and silently replaces half a surrogate pair, so both
 * are checked here before it starts. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/utf8.h"

#define ARENA_CHUNK_BYTES ((size_t)16 << 10)
#define NUMBER_BYTES_MAX 400 /* of the text of one number */

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[] __attribute__((aligned(16)));
};

struct json_doc {
	struct chunk *chunks;
	struct json *root;
};

/* A container that is still open. */
struct frame {
	struct json *list;
	struct json **tail;
};

struct parser {
	struct json_doc *doc;
	const struct json_limits *limits;
	const char *text;
	yajl_handle yajl;
	size_t seen;   /* bytes whose lines are counted */
	unsigned line; /* at that place */
	size_t values;
	const char *key;     /* of the next member */
	struct frame *stack; /* limits->depth of them at most */
	unsigned depth, room;
	struct err *e;
};

static void *arena_take(struct json_doc *doc, size_t size)
{
	struct chunk *c = doc->chunks;
	size_t need = (size + 15) & ~(size_t)15;
	void *taken;

	if (!c || c->size - c->used < need) {
		size_t room = need > ARENA_CHUNK_BYTES ? need : ARENA_CHUNK_BYTES;

		c = malloc(sizeof(*c) + room);
		if (!c)
			return NULL;
		*c = (struct chunk) { .next = doc->chunks, .size = room };
		doc->chunks = c;
	}
	taken = c->bytes + c->used;
	c->used += need;
	return taken;
}

static const char *arena_text(struct json_doc *doc, const void *bytes, size_t len)
{
	char *copy = arena_take(doc, len + 1);

	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

static unsigned count_lines(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	unsigned n = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}

/* The line of the token yajl has just read. No token holds a line's end, so the place behind it
 * is on the line it starts on. */
static unsigned line_here(struct parser *p)
{
	size_t at = yajl_get_bytes_consumed(p->yajl);

	if (at > p->seen) {
		p->line += count_lines(p->text + p->seen, at - p->seen);
		p->seen = at;
	}
	return p->line;
}

/* A new value at its place in the tree, or NULL with the error filled. */
static struct json *value_new(struct parser *p, enum json_type type)
{
	unsigned line = line_here(p);
	struct json *v;

	if (++p->values > p->limits->values) {
		(void)err_code(p->e, EFBIG, "line %u: more than %zu values", line,
			       p->limits->values);
		return NULL;
	}
	v = arena_take(p->doc, sizeof(*v));
	if (!v) {
		(void)err_code(p->e, ENOMEM, "out of memory");
		return NULL;
	}
	*v = (struct json) { .type = type, .line = line, .key = p->key };
	p->key = NULL;
	if (p->depth) {
		struct frame *f = &p->stack[p->depth - 1];

		*f->tail = v;
		f->tail = &v->next;
		f->list->list.count++;
	} else {
		p->doc->root = v;
	}
	return v;
}

static int on_null(void *ctx)
{
	return value_new(ctx, JSON_NULL) != NULL;
}

static int on_boolean(void *ctx, int boolean)
{
	struct json *v = value_new(ctx, JSON_BOOL);

	if (v)
		v->boolean = boolean;
	return v != NULL;
}

/* A whole number beyond 64 bits becomes a real one, as elsewhere. */
static int on_number(void *ctx, const char *digits, size_t len)
{
	struct parser *p = ctx;
	char copy[NUMBER_BYTES_MAX + 1];
	struct json *v = value_new(p, JSON_INT);

	if (!v)
		return 0;
	if (len > NUMBER_BYTES_MAX)
		return err_code(p->e, EFBIG, "line %u: a number of %zu digits", v->line, len), 0;
	memcpy(copy, digits, len);
	copy[len] = '\0';
	errno = 0;
	if (!strpbrk(copy, ".eE")) {
		v->integer = strtoll(copy, NULL, 10);
		if (errno == 0)
			return 1;
	}
	v->type = JSON_REAL;
	v->real = strtod(copy, NULL);
	if (!isfinite(v->real))
		return err_code(p->e, ERANGE, "line %u: '%.40s' is too large", v->line, copy), 0;
	return 1;
}

static int on_string(void *ctx, const unsigned char *bytes, size_t len)
{
	struct parser *p = ctx;
	struct json *v = value_new(p, JSON_STRING);

	if (!v)
		return 0;
	v->string.bytes = arena_text(p->doc, bytes, len);
	v->string.len = len;
	if (!v->string.bytes)
		return err_code(p->e, ENOMEM, "out of memory"), 0;
	return 1;
}

static int on_key(void *ctx, const unsigned char *bytes, size_t len)
{
	struct parser *p = ctx;

	/* Keys are compared as C strings: one with a NUL inside would pass for another. */
	if (memchr(bytes, 0, len))
		return err_code(p->e, EINVAL, "line %u: a key holds a NUL", line_here(p)), 0;
	p->key = arena_text(p->doc, bytes, len);
	if (!p->key)
		return err_code(p->e, ENOMEM, "out of memory"), 0;
	return 1;
}

static int enter(struct parser *p, enum json_type type)
{
	struct json *v;

	if (p->depth >= p->limits->depth)
		return err_code(p->e, EFBIG, "line %u: nested deeper than %u", line_here(p),
				p->limits->depth),
		       0;
	if (p->depth == p->room) {
		unsigned room = p->room ? p->room * 2 : 8;
		struct frame *grown = reallocarray(p->stack, room, sizeof(*grown));

		if (!grown)
			return err_code(p->e, ENOMEM, "out of memory"), 0;
		p->stack = grown;
		p->room = room;
	}
	v = value_new(p, type);
	if (!v)
		return 0;
	p->stack[p->depth++] = (struct frame) { .list = v, .tail = &v->list.first };
	return 1;
}

static int on_object(void *ctx)
{
	return enter(ctx, JSON_OBJECT);
}

static int on_array(void *ctx)
{
	return enter(ctx, JSON_ARRAY);
}

static int on_array_end(void *ctx)
{
	((struct parser *)ctx)->depth--;
	return 1;
}

static int by_key(const void *a, const void *b)
{
	const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;
	int order = strcmp(x->key, y->key);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* By sorting: comparing each with each would let a megabyte of keys take minutes. */
static int on_object_end(void *ctx)
{
	struct parser *p = ctx;
	const struct json *object = p->stack[--p->depth].list;
	autofree const struct json **members = NULL;
	size_t n = 0;

	if (object->list.count < 2)
		return 1;
	members = calloc(object->list.count, sizeof(*members));
	if (!members)
		return err_code(p->e, ENOMEM, "out of memory"), 0;
	for (const struct json *m = object->list.first; m; m = m->next)
		members[n++] = m;
	qsort(members, n, sizeof(*members), by_key);
	for (size_t i = 1; i < n; i++)
		if (strcmp(members[i - 1]->key, members[i]->key) == 0)
			return err_code(p->e, EINVAL, "line %u: key '%.60s' stands there twice",
					members[i]->line, members[i]->key),
			       0;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_object_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_array_end,
};

/* The code unit of "\uXXXX" at `p`, or -1. */
static int escaped_unit(const char *p, size_t len)
{
	int unit = 0;

	if (len < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (unsigned i = 2; i < 6; i++) {
		const char *digits = "0123456789abcdef";
		const char *at = p[i] ? strchr(digits, p[i] | 0x20) : NULL;

		if (!at)
			return -1;
		unit = unit * 16 + (int)(at - digits);
	}
	return unit;
}

/* Offset of an escaped surrogate without its other half; `len` when there is none. Backslashes
 * outside of strings are yajl's to refuse. */
static size_t half_pair(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while ((p = memchr(p, '\\', (size_t)(end - p)))) {
		size_t left = (size_t)(end - p);
		int unit = escaped_unit(p, left), low;

		if (unit < 0xd800 || unit > 0xdfff) {
			p += left < 2 ? left : 2;
			continue;
		}
		low = left > 6 ? escaped_unit(p + 6, left - 6) : -1;
		if (unit > 0xdbff || low < 0xdc00 || low > 0xdfff)
			return (size_t)(p - text);
		p += 12;
	}
	return len;
}

static int check_encoding(const char *text, size_t len, struct err *e)
{
	size_t at = utf8_check(text, len);

	if (at < len)
		return err_code(e, EINVAL, "line %u: not UTF-8", 1 + count_lines(text, at));
	at = half_pair(text, len);
	if (at < len)
		return err_code(e, EINVAL, "line %u: half of a surrogate pair",
				1 + count_lines(text, at));
	return 0;
}

/* What yajl has to say, as one line of ours. */
static int syntax_error(struct parser *p, unsigned line)
{
	unsigned char *words = yajl_get_error(p->yajl, 0, NULL, 0);
	const char *said = words ? (const char *)words : "syntax error";

	(void)err_code(p->e, EINVAL, "line %u: %.*s", line, (int)strcspn(said, "\n"), said);
	if (words)
		yajl_free_error(p->yajl, words);
	return -p->e->code;
}

static int run(struct parser *p, size_t len)
{
	yajl_status status = yajl_parse(p->yajl, (const unsigned char *)p->text, len);

	if (status == yajl_status_error)
		return syntax_error(p, line_here(p));
	/* A number at the very end has its callback only now, without an offset. */
	p->line = 1 + count_lines(p->text, len);
	p->seen = len;
	if (status == yajl_status_ok)
		status = yajl_complete_parse(p->yajl);
	if (status == yajl_status_client_canceled)
		return -p->e->code;
	return status == yajl_status_ok ? 0 : syntax_error(p, p->line);
}

int json_parse(const char *text, size_t len, const struct json_limits *limits,
	       struct json_doc **out, struct err *e)
{
	struct parser p = { .limits = limits, .text = text, .line = 1, .e = e };
	autojson struct json_doc *doc = NULL;
	int r;

	if (len > limits->bytes)
		return err_code(e, EFBIG, "larger than %zu bytes", limits->bytes);
	if (check_encoding(text, len, e) < 0)
		return -e->code;
	p.doc = doc = calloc(1, sizeof(*doc));
	p.yajl = doc ? yajl_alloc(&callbacks, NULL, &p) : NULL;
	if (!p.yajl)
		return err_code(e, ENOMEM, "out of memory");
	(void)yajl_config(p.yajl, yajl_dont_validate_strings, 1); /* done above, and better */
	r = run(&p, len);
	yajl_free(p.yajl);
	free(p.stack);
	if (r < 0)
		return r;
	*out = take_ptr(&doc);
	return 0;
}

void json_free(struct json_doc *doc)
{
	if (!doc)
		return;
	while (doc->chunks) {
		struct chunk *c = doc->chunks;

		doc->chunks = c->next;
		free(c);
	}
	free(doc);
}

const struct json *json_root(const struct json_doc *doc)
{
	return doc->root;
}

const struct json *json_get(const struct json *object, const char *key)
{
	if (object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *m = object->list.first; m; m = m->next)
		if (strcmp(m->key, key) == 0)
			return m;
	return NULL;
}
