/* SPDX-License-Identifier: MIT */
/* file_text.c - see file_text.h. */
#include "sandbox/executor/file_text.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

static const struct {
	const char *extension, *mime;
} types[] = {
	{ ".png", "image/png" }, { ".jpg", "image/jpeg" },  { ".jpeg", "image/jpeg" },
	{ ".bmp", "image/bmp" }, { ".gif", "image/gif" },   { ".pdf", "application/pdf" },
	{ ".mp4", "video/mp4" }, { ".webm", "video/webm" }, { ".ogg", "video/ogg" },
};

static bool ends_with(const char *path, const char *extension)
{
	size_t len = strlen(path), n = strlen(extension);

	return len >= n && strcasecmp(path + len - n, extension) == 0;
}

const char *file_mime(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (ends_with(path, types[i].extension))
			return types[i].mime;
	return NULL;
}

void file_data_url(const char *mime, const char *bytes, size_t len, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	buf_printf(out, "data:%s;base64,", mime);
	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned v = (unsigned)(unsigned char)bytes[i] << 16;
		char four[4];

		if (n > 1)
			v |= (unsigned)(unsigned char)bytes[i + 1] << 8;
		if (n > 2)
			v |= (unsigned)(unsigned char)bytes[i + 2];
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		four[2] = n > 1 ? digits[v >> 6 & 63] : '=';
		four[3] = n > 2 ? digits[v & 63] : '=';
		buf_add(out, four, 4);
	}
}

static bool is_marked_utf16_or_32(const char *bytes, size_t len)
{
	return (len >= 2 &&
		(memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) ||
	       (len >= 4 && memcmp(bytes, "\0\0\xfe\xff", 4) == 0);
}

/* Shares of bytes that no text has, and of ASCII ones; the thresholds are the reference's. */
static bool looks_binary(const char *bytes, size_t len)
{
	size_t control = 0, low = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		control += !(strchr("\n\r\t\f\b", c) && c) && (c < 32 || c >= 127);
		low += c < 127;
	}
	return (control * 10 > len * 3 && low * 20 < len) ||
	       (control * 5 > len * 4 && low * 5 > len * 4);
}

bool file_is_binary(const char *path, const char *bytes, size_t len)
{
	size_t good;

	if (ends_with(path, ".pyc"))
		return true;
	if (len > 1024)
		len = 1024;
	if (is_marked_utf16_or_32(bytes, len))
		return false;
	good = utf8_check(bytes, len);
	/* The first kilobyte may end within a character. */
	if (!memchr(bytes, '\0', len) && (good == len || (len == 1024 && len - good < 4)))
		return false;
	return looks_binary(bytes, len) || memchr(bytes, '\0', len) || memchr(bytes, 0xff, len);
}

void file_newlines(struct buf *text)
{
	size_t to = 0;

	if (!text->len || !memchr(text->data, '\r', text->len))
		return;
	for (size_t from = 0; from < text->len; from++) {
		char c = text->data[from];

		if (c == '\r' && from + 1 < text->len && text->data[from + 1] == '\n')
			continue;
		text->data[to++] = c == '\r' ? '\n' : c;
	}
	text->len = to;
	text->data[to] = '\0';
}

static int64_t line_count(const struct buf *text)
{
	int64_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n + (text->len && text->data[text->len - 1] != '\n');
}

/* Offset of a line's first byte. */
static size_t line_offset(const struct buf *text, int64_t line)
{
	size_t at = 0;

	while (line > 0 && at < text->len) {
		const char *lf = memchr(text->data + at, '\n', text->len - at);

		at = lf ? (size_t)(lf - text->data) + 1 : text->len;
		line--;
	}
	return at;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static void add_lines(const struct buf *text, int64_t from, int64_t to, struct buf *out)
{
	size_t start = line_offset(text, from), end = line_offset(text, to);

	if (end > start)
		buf_add(out, text->data + start, end - start);
}

void file_select(const struct buf *text, int64_t start, int64_t end, struct buf *out)
{
	int64_t n = line_count(text);

	if (end == -1) {
		add_lines(text, clamp(start, 0, n), n, out);
		return;
	}
	end = clamp(end, 0, n);
	start = clamp(start, 0, n >= 2 ? n - 2 : 0);
	add_lines(text, start, end > start ? end : start + 1, out);
}

/* A position counted from the end where it is negative. */
static int64_t from_end(int64_t at, int64_t n)
{
	return clamp(at < 0 ? at + n : at, 0, n);
}

void file_splice(const struct buf *old, const struct file_request *r, struct buf *out)
{
	int64_t n = line_count(old);
	const char *at = r->content, *end = at + r->content_len;

	if (r->start != 0)
		add_lines(old, 0, from_end(r->start, n), out);
	/* Every piece between line feeds becomes a line, the last one too: clients rely on it. */
	for (;;) {
		const char *lf = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		const char *stop = lf ? lf : end;

		buf_add(out, at, (size_t)(stop - at));
		buf_putc(out, '\n');
		if (!lf)
			break;
		at = lf + 1;
	}
	if (r->end != -1)
		add_lines(old, from_end(r->end, n), n, out);
}
