/* SPDX-License-Identifier: MIT */
/* http.c - see http.h. */
#include "http/http.h"

#include <string.h>
#include <strings.h>

/* Where the parser stands; `status` is set once, by what is refused first. */
struct head {
	char *at, *end;
	enum http_key ours;
	struct http_request *r;
	unsigned hosts, lengths, encodings, keys;
	bool says_close, says_keep_alive;
	int status;
};

bool http_text_is(struct http_text text, const char *other)
{
	return text.at && text.len == strlen(other) && memcmp(text.at, other, text.len) == 0;
}

static struct http_text first_segment(struct http_text path)
{
	const char *slash = memchr(path.at, '/', path.len);

	return (struct http_text) { .at = path.at,
				    .len = slash ? (size_t)(slash - path.at) : path.len };
}

bool http_path_fits(struct http_text path, const char *pattern, struct http_text *segment)
{
	*segment = (struct http_text) { .at = NULL };
	while (path.len && *pattern) {
		if (*pattern == '*') {
			struct http_text found = first_segment(path);

			if (!found.len)
				return false;
			if (!segment->at)
				*segment = found;
			path.at += found.len;
			path.len -= found.len;
		} else if (*path.at != *pattern) {
			return false;
		} else {
			path.at++;
			path.len--;
		}
		pattern++;
	}
	return !path.len && !*pattern;
}

static bool text_is_nocase(struct http_text text, const char *other)
{
	return text.len == strlen(other) && strncasecmp(text.at, other, text.len) == 0;
}

static int refuse(struct head *h, int status)
{
	if (!h->status)
		h->status = status;
	return -h->status;
}

static bool is_token(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_visible(unsigned char c)
{
	return c > ' ' && c < 127;
}

/* The bytes up to `stop`, all of which `ok` accepts; `stop` is taken off. */
static struct http_text word(struct head *h, char *line_end, char stop, bool (*ok)(unsigned char))
{
	struct http_text text = { .at = h->at };

	while (h->at < line_end && *h->at != stop && ok((unsigned char)*h->at))
		h->at++;
	text.len = (size_t)(h->at - text.at);
	if (!text.len || h->at == line_end || *h->at != stop)
		(void)refuse(h, 400);
	else
		h->at++;
	return text;
}

static void split_target(struct http_request *r, struct http_text target)
{
	const char *mark = memchr(target.at, '?', target.len);

	r->path = target;
	if (!mark)
		return;
	r->path.len = (size_t)(mark - target.at);
	r->query.at = mark + 1;
	r->query.len = target.len - r->path.len - 1;
}

static int request_line(struct head *h, char *line_end)
{
	struct http_text target, version;

	h->r->method = word(h, line_end, ' ', is_token);
	if (h->status)
		return -h->status;
	target = word(h, line_end, ' ', is_visible);
	if (h->status)
		return -h->status;
	/* Only the form for a server itself; and a fragment never leaves a client. */
	if (target.at[0] != '/' || memchr(target.at, '#', target.len))
		return refuse(h, 400);
	split_target(h->r, target);
	version = (struct http_text) { .at = h->at, .len = (size_t)(line_end - h->at) };
	if (http_text_is(version, "HTTP/1.1"))
		return 0;
	if (!http_text_is(version, "HTTP/1.0"))
		return refuse(h,
			      version.len == 8 && memcmp(version.at, "HTTP/", 5) == 0 ? 505 : 400);
	h->r->one_dot_zero = true;
	return 0;
}

static void on_length(struct head *h, struct http_text value)
{
	uint64_t n = 0;

	if (h->lengths++ || !value.len || value.len > 18) {
		(void)refuse(h, 400);
		return;
	}
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9') {
			(void)refuse(h, 400);
			return;
		}
		n = n * 10 + (uint64_t)(value.at[i] - '0');
	}
	h->r->length = n;
}

static void on_encoding(struct head *h, struct http_text value)
{
	if (h->encodings++)
		(void)refuse(h, 400);
	else if (!text_is_nocase(value, "chunked"))
		(void)refuse(h, 501);
	h->r->chunked = true;
}

static void on_host(struct head *h, struct http_text value)
{
	h->r->host = value;
	if (h->hosts++)
		(void)refuse(h, 400);
}

/* One option of a comma-separated list. */
static void connection_option(struct head *h, struct http_text option)
{
	while (option.len && (option.at[0] == ' ' || option.at[0] == '\t')) {
		option.at++;
		option.len--;
	}
	while (option.len &&
	       (option.at[option.len - 1] == ' ' || option.at[option.len - 1] == '\t'))
		option.len--;
	if (text_is_nocase(option, "close"))
		h->says_close = true;
	else if (text_is_nocase(option, "keep-alive"))
		h->says_keep_alive = true;
}

static void on_connection(struct head *h, struct http_text value)
{
	while (value.len) {
		const char *comma = memchr(value.at, ',', value.len);
		size_t len = comma ? (size_t)(comma - value.at) : value.len;

		connection_option(h, (struct http_text) { .at = value.at, .len = len });
		len += comma != NULL;
		value.at += len;
		value.len -= len;
	}
}

static void on_expect(struct head *h, struct http_text value)
{
	if (text_is_nocase(value, "100-continue"))
		h->r->expects_continue = true;
	else
		(void)refuse(h, 417);
}

static void on_key(struct head *h, enum http_key whose, struct http_text value)
{
	if (h->ours != whose) {
		explicit_bzero((char *)(uintptr_t)value.at, value.len);
		return;
	}
	/* Two keys are no key: which one is meant would be a guess. */
	if (h->keys++)
		value.len = 0;
	h->r->key = value;
}

static void on_session_key(struct head *h, struct http_text value)
{
	on_key(h, HTTP_KEY_SESSION, value);
}

static void on_control_key(struct head *h, struct http_text value)
{
	on_key(h, HTTP_KEY_CONTROL, value);
}

static void on_origin(struct head *h, struct http_text value)
{
	(void)value;
	h->r->has_origin = true;
}

static void on_upgrade(struct head *h, struct http_text value)
{
	(void)value;
	h->r->has_upgrade = true;
}

static void on_content_type(struct head *h, struct http_text value)
{
	h->r->content_type = value;
}

static void on_idempotency_key(struct head *h, struct http_text value)
{
	if (h->r->idempotency_key.at)
		(void)refuse(h, 400);
	h->r->idempotency_key = value;
}

static const struct {
	const char *name;
	void (*take)(struct head *, struct http_text value);
} known_headers[] = {
	{ "content-length", on_length },
	{ "transfer-encoding", on_encoding },
	{ "host", on_host },
	{ "connection", on_connection },
	{ "expect", on_expect },
	{ "x-session-api-key", on_session_key },
	{ "content-type", on_content_type },
	{ "idempotency-key", on_idempotency_key },
	{ "x-api-key", on_control_key },
	{ "origin", on_origin },
	{ "upgrade", on_upgrade },
};

static bool is_value_byte(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 127);
}

static struct http_text header_value(struct head *h, char *line_end)
{
	struct http_text value;

	while (h->at < line_end && (*h->at == ' ' || *h->at == '\t'))
		h->at++;
	value = (struct http_text) { .at = h->at, .len = (size_t)(line_end - h->at) };
	while (value.len && (value.at[value.len - 1] == ' ' || value.at[value.len - 1] == '\t'))
		value.len--;
	for (size_t i = 0; i < value.len; i++)
		if (!is_value_byte((unsigned char)value.at[i]))
			(void)refuse(h, 400);
	return value;
}

/* A folded line starts with a blank, which no name may: it is refused here. */
static void header_line(struct head *h, char *line_end)
{
	struct http_text name = word(h, line_end, ':', is_token), value;

	if (h->status)
		return;
	value = header_value(h, line_end);
	for (size_t i = 0; i < ARRAY_LEN(known_headers); i++)
		if (text_is_nocase(name, known_headers[i].name))
			known_headers[i].take(h, value);
}

/* The end of the line that starts here: its CR. NULL where a line feed stands alone. */
static char *line_end_of(struct head *h)
{
	char *lf = memchr(h->at, '\n', (size_t)(h->end - h->at));

	return lf && lf > h->at && lf[-1] == '\r' ? lf - 1 : NULL;
}

static void finish(struct head *h)
{
	struct http_request *r = h->r;

	if (h->encodings && (h->lengths || h->r->one_dot_zero))
		(void)refuse(h, 400);
	if (!h->hosts && !h->r->one_dot_zero)
		(void)refuse(h, 400);
	r->keep_alive = !h->says_close && (!h->r->one_dot_zero || h->says_keep_alive);
	if (h->r->one_dot_zero)
		r->expects_continue = false;
}

static long parse(struct head *h, const char *start)
{
	unsigned n = 0;

	for (;;) {
		char *line_end = line_end_of(h);

		if (!line_end)
			return refuse(h, 400);
		if (line_end == h->at && n)
			break;
		if (n++ == 0)
			(void)request_line(h, line_end);
		else if (n > HTTP_HEADERS_MAX + 1)
			(void)refuse(h, 431);
		else
			header_line(h, line_end);
		if (h->status)
			return -h->status;
		h->at = line_end + 2;
	}
	finish(h);
	return h->status ? -h->status : h->at + 2 - start;
}

long http_head(char *bytes, size_t len, enum http_key ours, struct http_request *r)
{
	char *found = memmem(bytes, len, "\r\n\r\n", 4);
	struct head h = { .at = bytes, .ours = ours, .r = r };

	if (!found)
		return len >= HTTP_HEAD_MAX ? -431 : 0;
	h.end = found + 4;
	if (h.end - bytes > HTTP_HEAD_MAX)
		return -431;
	*r = (struct http_request) { 0 };
	return parse(&h, bytes);
}

int http_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One byte that is not of the body. Returns 0 or -400. */
static int chunk_byte(struct http_chunks *c, char byte)
{
	int value = http_hex(byte);

	switch (c->at) {
	case CHUNK_SIZE:
		if (value >= 0 && c->digits < 8) {
			c->digits++;
			c->left = c->left * 16 + (uint64_t)value;
			return 0;
		}
		c->at = CHUNK_SIZE_LF;
		return byte == '\r' && c->digits ? 0 : -400;
	case CHUNK_SIZE_LF:
		c->digits = 0;
		c->at = c->left ? CHUNK_DATA : CHUNK_END_CR;
		return byte == '\n' ? 0 : -400;
	case CHUNK_CR:
		c->at = CHUNK_LF;
		return byte == '\r' ? 0 : -400;
	case CHUNK_LF:
		c->at = CHUNK_SIZE;
		return byte == '\n' ? 0 : -400;
	case CHUNK_END_CR:
		c->at = CHUNK_END_LF;
		return byte == '\r' ? 0 : -400;
	case CHUNK_END_LF:
		c->at = CHUNK_DONE;
		return byte == '\n' ? 0 : -400;
	case CHUNK_DATA:
	case CHUNK_DONE:
		break;
	}
	return -400;
}

int http_chunks(struct http_chunks *c, const char *bytes, size_t len, size_t *used,
		struct http_text *data)
{
	*data = (struct http_text) { .at = bytes };
	for (*used = 0; *used < len && c->at != CHUNK_DONE;) {
		if (c->at == CHUNK_DATA) {
			data->at = bytes + *used;
			data->len = len - *used < c->left ? len - *used : (size_t)c->left;
			*used += data->len;
			c->left -= data->len;
			if (!c->left)
				c->at = CHUNK_CR;
			return 0;
		}
		if (chunk_byte(c, bytes[(*used)++]) < 0)
			return -400;
	}
	return c->at == CHUNK_DONE;
}

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },
		{ 307, "Temporary Redirect" },
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 413, "Content Too Large" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}
