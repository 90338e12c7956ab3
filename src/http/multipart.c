/* SPDX-License-Identifier: MIT */
/* multipart.c - see multipart.h. */
#include "http/multipart.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* What is left of a header's value. */
struct value {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct value *v)
{
	while (v->at < v->end && is_blank(*v->at))
		v->at++;
}

static bool text_is_nocase(struct http_text text, const char *other)
{
	return text.len == strlen(other) && strncasecmp(text.at, other, text.len) == 0;
}

/* Up to one of the bytes `stops`, blanks behind it taken off. */
static struct http_text word(struct value *v, const char *stops)
{
	struct http_text text = { .at = v->at };

	while (v->at < v->end && *v->at && !strchr(stops, *v->at))
		v->at++;
	text.len = (size_t)(v->at - text.at);
	while (text.len && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

/* A parameter's value, quoted or not, into `out`. Clients put a backslash before quotes and
 * backslashes alone; before anything else it is itself. False where it is malformed or too long. */
static bool parameter_value(struct value *v, char *out, size_t size)
{
	bool quoted = v->at < v->end && *v->at == '"';
	size_t n = 0;

	v->at += quoted;
	while (v->at < v->end && *v->at != (quoted ? '"' : ';')) {
		if (quoted && *v->at == '\\' && v->end - v->at > 1 &&
		    (v->at[1] == '"' || v->at[1] == '\\'))
			v->at++;
		if (n + 1 >= size)
			return false;
		out[n++] = *v->at++;
	}
	if (quoted && v->at++ == v->end)
		return false;
	while (!quoted && n && is_blank(out[n - 1]))
		n--;
	out[n] = '\0';
	skip_blanks(v);
	return v->at == v->end || *v->at == ';';
}

/* The next ";name=value". Returns 1 with both filled, 0 at the end, or -EINVAL. */
static int next_parameter(struct value *v, struct http_text *name, char *out, size_t size)
{
	skip_blanks(v);
	if (v->at == v->end)
		return 0;
	if (*v->at++ != ';')
		return -EINVAL;
	skip_blanks(v);
	if (v->at == v->end)
		return 0; /* a last semicolon */
	*name = word(v, "=;");
	if (!name->len || v->at == v->end || *v->at++ != '=')
		return -EINVAL;
	skip_blanks(v);
	return parameter_value(v, out, size) ? 1 : -EINVAL;
}

/* Visible, and none that a header could end with. */
static bool boundary_is_good(const char *boundary)
{
	size_t len = strlen(boundary);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)boundary[i] < ' ' || (unsigned char)boundary[i] > '~')
			return false;
	return len && boundary[len - 1] != ' ';
}

int multipart_begin(struct multipart *m, struct http_text content_type, struct err *e)
{
	struct value v = { .at = content_type.at };
	char text[MULTIPART_BOUNDARY_MAX + 1], boundary[sizeof(text)] = "";
	struct http_text name;
	int ret;

	*m = (struct multipart) { .at = MULTIPART_FIRST };
	if (content_type.at)
		v.end = content_type.at + content_type.len;
	if (!content_type.at || !text_is_nocase(word(&v, ";"), "multipart/form-data"))
		return err_code(e, EINVAL, "'Content-Type' must be multipart/form-data");
	while ((ret = next_parameter(&v, &name, text, sizeof(text))) > 0) {
		if (!text_is_nocase(name, "boundary"))
			continue;
		if (boundary[0])
			return err_code(e, EINVAL, "'Content-Type' has two boundaries");
		memcpy(boundary, text, sizeof(text));
	}
	if (ret < 0 || !boundary_is_good(boundary))
		return err_code(e, EINVAL, "'Content-Type' has no good boundary");
	memcpy(m->mark, "\r\n--", 4);
	m->mark_len = 4 + strlen(boundary);
	memcpy(m->mark + 4, boundary, m->mark_len - 4);
	return 0;
}

/* --- what a part says of itself -------------------------------------------------------------- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The form of RFC 8187, UTF-8''percent%20encoded, decoded where it stands. */
static bool decode_extended(char *text)
{
	char *from = strchr(text, '\''), *to = text;

	if (!from || strncasecmp(text, "utf-8'", 6) != 0)
		return false;
	from = strchr(from + 1, '\'');
	if (!from)
		return false;
	for (from++; *from; from++) {
		int high = *from == '%' ? hex_value(from[1]) : -1;
		int low = high < 0 ? -1 : hex_value(from[2]);

		if (*from == '%' && low < 0)
			return false;
		*to++ = low < 0 ? *from : (char)(high * 16 + low);
		from += low < 0 ? 0 : 2;
		if (!to[-1])
			return false;
	}
	*to = '\0';
	return true;
}

static int bad(struct err *e, const char *what)
{
	return err_code(e, EINVAL, "a part of the body %s", what);
}

static int take_name(struct multipart_found *f, const char *text, struct err *e)
{
	if (f->name[0])
		return bad(e, "has two names");
	if (strlen(text) > MULTIPART_NAME_MAX)
		return bad(e, "has too long a name");
	memcpy(f->name, text, strlen(text) + 1);
	return 0;
}

/* The plain form wins over the extended one, whichever comes first. */
static int take_filename(struct multipart_found *f, char *text, bool extended, bool seen[2],
			 struct err *e)
{
	if (seen[extended])
		return bad(e, "has two filenames");
	seen[extended] = true;
	if (extended && !decode_extended(text))
		return bad(e, "has a 'filename*' that is not UTF-8");
	if (!extended || !f->has_filename)
		memcpy(f->filename, text, strlen(text) + 1);
	f->has_filename = true;
	return 0;
}

static int disposition(struct value v, struct multipart_found *f, struct err *e)
{
	char text[MULTIPART_FILENAME_MAX + 1];
	bool seen[2] = { false, false };
	struct http_text name;
	int ret;

	if (!text_is_nocase(word(&v, ";"), "form-data"))
		return bad(e, "is no form-data");
	while ((ret = next_parameter(&v, &name, text, sizeof(text))) > 0) {
		int taken = 0;

		if (text_is_nocase(name, "name"))
			taken = take_name(f, text, e);
		else if (text_is_nocase(name, "filename"))
			taken = take_filename(f, text, false, seen, e);
		else if (text_is_nocase(name, "filename*"))
			taken = take_filename(f, text, true, seen, e);
		if (taken < 0)
			return taken;
	}
	if (ret < 0)
		return bad(e, "has a malformed or too long Content-Disposition");
	if (!f->name[0])
		return bad(e, "has no name");
	if (utf8_check(f->name, strlen(f->name)) != strlen(f->name) ||
	    utf8_check(f->filename, strlen(f->filename)) != strlen(f->filename))
		return bad(e, "has a name that is not UTF-8");
	return 0;
}

static int transfer_encoding(struct value v, struct err *e)
{
	struct http_text text = word(&v, "");

	if (text_is_nocase(text, "binary") || text_is_nocase(text, "8bit") ||
	    text_is_nocase(text, "7bit"))
		return 0;
	return bad(e, "has a Content-Transfer-Encoding");
}

/* One line, without its end. */
static int header_line(const char *at, const char *end, bool *told, struct multipart_found *f,
		       struct err *e)
{
	struct value v = { .at = at, .end = end };
	struct http_text name;

	for (const char *c = at; c < end; c++)
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 127)
			return bad(e, "has a control character in its head");
	name = word(&v, ":");
	if (!name.len || v.at == end || is_blank(*at))
		return bad(e, "has a malformed header");
	v.at++;
	skip_blanks(&v);
	if (text_is_nocase(name, "content-transfer-encoding"))
		return transfer_encoding(v, e);
	if (!text_is_nocase(name, "content-disposition"))
		return 0;
	if (*told)
		return bad(e, "has two Content-Dispositions");
	*told = true;
	return disposition(v, f, e);
}

/* The head of a part, its last empty line included. */
static int part_head(const char *at, const char *end, struct multipart_found *f, struct err *e)
{
	bool told = false;

	f->name[0] = f->filename[0] = '\0';
	f->has_filename = false;
	while (end - at > 2) {
		const char *cr = memmem(at, (size_t)(end - at), "\r\n", 2);

		if (header_line(at, cr, &told, f, e) < 0)
			return -EINVAL;
		at = cr + 2;
	}
	return told ? 0 : bad(e, "has no Content-Disposition");
}

/* --- the body -------------------------------------------------------------------------------- */

static enum multipart_event refuse(struct err *e, const char *why)
{
	(void)err_code(e, EINVAL, "%s", why);
	return MULTIPART_BAD;
}

/* The first boundary stands at the very start, or behind one empty line. */
static enum multipart_event first(struct multipart *m, const char *bytes, size_t len,
				  struct multipart_found *f, struct err *e)
{
	size_t skip = len && bytes[0] == '\r' ? 0 : 2, want = m->mark_len - skip;

	if (memcmp(bytes, m->mark + skip, len < want ? len : want) != 0)
		return refuse(e, "the body does not begin with its boundary");
	if (len < want)
		return MULTIPART_MORE;
	m->at = MULTIPART_MARKED;
	f->used = want;
	return MULTIPART_MORE;
}

/* Behind a boundary: another part, or the end. */
static enum multipart_event marked(struct multipart *m, const char *bytes, size_t len,
				   struct multipart_found *f, struct err *e)
{
	if (len < 2)
		return MULTIPART_MORE;
	if (memcmp(bytes, "--", 2) == 0) {
		m->at = MULTIPART_OVER;
		f->used = 2;
		return MULTIPART_END;
	}
	if (memcmp(bytes, "\r\n", 2) != 0)
		return refuse(e,
			      "a boundary in the body is followed by neither a part nor its end");
	if (m->parts++ == MULTIPART_PARTS_MAX)
		return refuse(e, "the body has too many parts");
	m->at = MULTIPART_HEAD;
	f->used = 2;
	return MULTIPART_MORE;
}

static enum multipart_event head(struct multipart *m, const char *bytes, size_t len,
				 struct multipart_found *f, struct err *e)
{
	size_t look = len < MULTIPART_HEAD_MAX ? len : MULTIPART_HEAD_MAX;
	const char *end = memmem(bytes, look, "\r\n\r\n", 4);

	if (!end && len >= MULTIPART_HEAD_MAX)
		return refuse(e, "a part of the body has too large a head");
	if (!end)
		return MULTIPART_MORE;
	if (part_head(bytes, end + 4, f, e) < 0)
		return MULTIPART_BAD;
	m->at = MULTIPART_IN;
	f->used = (size_t)(end + 4 - bytes);
	return MULTIPART_PART;
}

/* How many bytes at the end could be the start of the mark. */
static size_t half_mark(const struct multipart *m, const char *bytes, size_t len)
{
	size_t most = len < m->mark_len - 1 ? len : m->mark_len - 1;

	for (size_t n = most; n; n--)
		if (bytes[len - n] == '\r' && memcmp(bytes + len - n, m->mark, n) == 0)
			return n;
	return 0;
}

static enum multipart_event inside(struct multipart *m, const char *bytes, size_t len,
				   struct multipart_found *f)
{
	const char *mark = memmem(bytes, len, m->mark, m->mark_len);

	if (mark == bytes) {
		m->at = MULTIPART_MARKED;
		f->used = m->mark_len;
		return MULTIPART_PART_END;
	}
	f->used = mark ? (size_t)(mark - bytes) : len - half_mark(m, bytes, len);
	return f->used ? MULTIPART_DATA : MULTIPART_MORE;
}

static enum multipart_event step(struct multipart *m, const char *bytes, size_t len,
				 struct multipart_found *f, struct err *e)
{
	switch (m->at) {
	case MULTIPART_FIRST:
		return first(m, bytes, len, f, e);
	case MULTIPART_MARKED:
		return marked(m, bytes, len, f, e);
	case MULTIPART_HEAD:
		return head(m, bytes, len, f, e);
	case MULTIPART_IN:
		return len ? inside(m, bytes, len, f) : MULTIPART_MORE;
	case MULTIPART_OVER:
		break;
	}
	f->used = len;
	return MULTIPART_END;
}

enum multipart_event multipart_next(struct multipart *m, const char *bytes, size_t len,
				    struct multipart_found *found, struct err *e)
{
	enum multipart_event event = MULTIPART_MORE;
	size_t done = 0;

	/* Steps that used bytes and found nothing to tell of are taken together. */
	do {
		found->used = 0;
		event = step(m, bytes + done, len - done, found, e);
		done += found->used;
	} while (event == MULTIPART_MORE && found->used);
	found->used = done;
	return event;
}
