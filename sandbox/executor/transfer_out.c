/* SPDX-License-Identifier: MIT */
/* transfer_out.c - see transfer.h. What is given: the names in a directory, a tree as an archive. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/transfer_own.h"

static void free_plain(struct transfer *t)
{
	free(t);
}

static void list_done(struct transfer *t)
{
	transfer_stream(t, NULL, NULL);
}

static const struct transfer_kind listing = { .op = TRANSFER_LIST,
					      .done = list_done,
					      .free = free_plain };

static void begin_list(struct server *s, struct conn *c, const char *path, size_t len)
{
	struct transfer *t = calloc(1, sizeof(*t));
	autobuf struct buf full = { 0 };

	if (!t) {
		conn_reply_detail(c, 500, CONN_UNEXPECTED);
		return;
	}
	if (path[0] != '/')
		buf_printf(&full, "%s/", s->boot->workspace);
	buf_add(&full, path, len);
	conn_hold(c, &t->conn);
	transfer_begin(t, &s->transfers, &listing, buf_str(&full), "");
}

void transfer_list(struct server *s, struct conn *c, const char *body, size_t len)
{
	static const struct json_limits limits = { .bytes = TRANSFER_LIST_BODY,
						   .depth = 16,
						   .values = 1000 };
	autojson struct json_doc *doc = NULL;
	const struct json *root, *path;
	struct err e = { 0 };

	if (!len) {
		conn_reply_detail(c, 500, CONN_UNEXPECTED);
		return;
	}
	if (json_parse(body, len, &limits, &doc, &e) < 0) {
		conn_reply_invalid(c, e.text);
		return;
	}
	root = json_root(doc);
	path = root->type == JSON_OBJECT ? json_get(root, "path") : NULL;
	if (root->type != JSON_OBJECT)
		conn_reply_invalid(c, "the body must be an object");
	else if (!path || path->type == JSON_NULL)
		begin_list(s, c, "", 0);
	else if (path->type != JSON_STRING)
		conn_reply_invalid(c, "'path' must be a string");
	else if (strlen(path->string.bytes) != path->string.len ||
		 path->string.len > TRANSFER_PATH_MAX)
		conn_reply_invalid(c, "'path' is no path");
	else
		begin_list(s, c, path->string.bytes, path->string.len);
}

/* --- a tree ---------------------------------------------------------------------------------- */

struct download {
	struct transfer t;
	struct buf path;
};

static void download_free(struct transfer *t)
{
	struct download *d = container_of(t, struct download, t);

	buf_clear(&d->path);
	free(d);
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("_.-~", c));
}

/* The last part of the path, as a client may call what it gets. */
static void put_disposition(struct buf *lines, const char *path)
{
	size_t end = strlen(path), start;
	bool plain = true;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		plain = plain && is_plain(path[start - 1]);
	buf_puts(lines, plain ? "content-disposition: attachment; filename=\""
			      : "content-disposition: attachment; filename*=utf-8''");
	for (size_t i = start; i < end; i++) {
		if (is_plain(path[i]))
			buf_putc(lines, path[i]);
		else
			buf_printf(lines, "%%%02X", (unsigned)(unsigned char)path[i]);
	}
	buf_puts(lines, plain ? ".zip\"\r\n" : ".zip\r\n");
}

/* Made now, and never again the same: what a cache could compare says so. Parts are not given. */
static void put_validators(struct buf *lines, uint64_t len)
{
	struct timespec now = { 0 };
	char date[64];
	struct tm t;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	(void)gmtime_r(&now.tv_sec, &t);
	(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &t);
	buf_printf(lines, "accept-ranges: none\r\nlast-modified: %s\r\netag: \"%llx-%lx-%llx\"\r\n",
		   date, (unsigned long long)now.tv_sec, (unsigned long)now.tv_nsec,
		   (unsigned long long)len);
}

static void download_done(struct transfer *t)
{
	struct download *d = container_of(t, struct download, t);
	autobuf struct buf lines = { 0 };

	put_disposition(&lines, buf_str(&d->path));
	put_validators(&lines, t->left);
	transfer_stream(t, "application/zip", buf_str(&lines));
}

static const struct transfer_kind packing = { .op = TRANSFER_PACK,
					      .done = download_done,
					      .free = download_free };

void transfer_download(struct server *s, struct conn *c, const char *body, size_t len)
{
	struct download *d = calloc(1, sizeof(*d));
	const char *refusal = NULL;

	(void)body;
	(void)len;
	if (!d) {
		conn_reply_detail(c, 500, CONN_UNEXPECTED);
		return;
	}
	if (!http_query(conn_request(c)->query, "path", &d->path))
		refusal = "query parameter 'path' is missing";
	else if (strlen(buf_str(&d->path)) != d->path.len)
		refusal = "query parameter 'path' is no path";
	if (refusal)
		conn_reply_invalid(c, refusal);
	else if (buf_str(&d->path)[0] != '/')
		conn_reply_detail(c, 500, "400: Path must be an absolute path");
	if (refusal || buf_str(&d->path)[0] != '/') {
		download_free(&d->t);
		return;
	}
	conn_hold(c, &d->t.conn);
	transfer_begin(&d->t, &s->transfers, &packing, buf_str(&d->path), "");
}
