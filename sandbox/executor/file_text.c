/* SPDX-License-Identifier: MIT */
/* file_text.c - see file_text.h. */
#include "sandbox/executor/file_text.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "sandbox/executor/edit_text.h"

static const struct {
	const char *extension, *mime;
} types[] = {
	{ ".png", "image/png" }, { ".jpg", "image/jpeg" },  { ".jpeg", "image/jpeg" },
	{ ".bmp", "image/bmp" }, { ".gif", "image/gif" },   { ".pdf", "application/pdf" },
	{ ".mp4", "video/mp4" }, { ".webm", "video/webm" }, { ".ogg", "video/ogg" },
};

bool file_has_extension(const char *path, const char *extension)
{
	size_t len = strlen(path), n = strlen(extension);

	return len >= n && strcasecmp(path + len - n, extension) == 0;
}

const char *file_mime(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (file_has_extension(path, types[i].extension))
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

	if (file_has_extension(path, ".pyc"))
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

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

struct text file_select(struct text plain, int64_t start, int64_t end)
{
	int64_t n = edit_lines(plain);

	if (end == -1)
		return edit_part(plain, clamp(start, 0, n) + 1, n);
	end = clamp(end, 0, n);
	start = clamp(start, 0, n >= 2 ? n - 2 : 0);
	return edit_part(plain, start + 1, end > start ? end : start + 1);
}

/* Offset of a line, counted from 0, or from the end where it is negative. */
static size_t line_offset(struct text plain, int64_t line)
{
	int64_t n = edit_lines(plain);

	return edit_part(plain, 1, clamp(line < 0 ? line + n : line, 0, n)).len;
}

void file_splice(struct text old, const struct file_request *r, struct buf *out)
{
	autobuf struct buf plain = { .limit = out->limit }, pieces = { .limit = out->limit };
	struct text content = r->part[FILE_CONTENT];
	struct edit_text t;
	size_t from, to;

	edit_text_init(&t, "", old, &plain);
	from = r->start == 0 ? 0 : line_offset(t.plain, r->start);
	to = r->end == -1 ? t.plain.len : line_offset(t.plain, r->end);
	if (from && t.plain.at[from - 1] != '\n')
		buf_putc(&pieces, '\n'); /* a last line without an end */
	/* Every piece between line feeds becomes a line, the last one too: clients rely on it. */
	buf_add(&pieces, content.at, content.len);
	buf_putc(&pieces, '\n');
	if (r->start == 0 && r->end == -1)
		t.style = NEWLINE_LF; /* what is written whole is written as it was given */
	edit_splice(&t, from, to, (struct text) { buf_str(&pieces), pieces.len }, out);
	out->failed |= plain.failed || pieces.failed;
}
