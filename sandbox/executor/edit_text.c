/* SPDX-License-Identifier: MIT */
/* edit_text.c - see edit_text.h. */
#include "sandbox/executor/edit_text.h"

#include <inttypes.h>
#include <string.h>

#define CLIPPED_FILE                                                                             \
	"<response clipped><NOTE>Due to the max output limit, only part of this file has been "  \
	"shown to you. You should retry this tool after you have searched inside the file with " \
	"`grep -n` in order to find the line numbers of what you are looking for.</NOTE>"

static void add_text(struct buf *b, struct text t)
{
	buf_add(b, t.at, t.len);
}

void edit_text_init(struct edit_text *t, const char *path, struct text whole, struct buf *plain)
{
	*t = (struct edit_text) { .path = path, .whole = whole, .plain = whole };
	if (!whole.len || !memchr(whole.at, '\r', whole.len))
		return;
	t->style = newline_style(whole);
	newline_plain(whole, plain);
	t->plain = (struct text) { buf_str(plain), plain->len };
}

static bool has_returns(const struct edit_text *t)
{
	return t->whole.at != t->plain.at;
}

/* Bytes up to the line feed, or all that are left. */
static size_t line_len(struct text t)
{
	const char *lf = t.len ? memchr(t.at, '\n', t.len) : NULL;

	return lf ? (size_t)(lf - t.at) : t.len;
}

static int64_t count_feeds(struct text t)
{
	int64_t n = 0;

	for (const char *at = t.at, *end = at + t.len; at < end; at++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			break;
		n++;
	}
	return n;
}

static bool ends_open(struct text t)
{
	return t.len && t.at[t.len - 1] != '\n';
}

int64_t edit_lines(struct text plain)
{
	return count_feeds(plain) + ends_open(plain);
}

/* Offset of the first byte behind the first `n` lines. */
static size_t skip_lines(struct text t, int64_t n)
{
	size_t at = 0;

	for (; n > 0 && at < t.len; n--) {
		at += line_len((struct text) { t.at + at, t.len - at });
		at += at < t.len;
	}
	return at;
}

struct text edit_part(struct text plain, int64_t first, int64_t last)
{
	size_t from = skip_lines(plain, first - 1);
	struct text rest = { plain.at + from, plain.len - from };

	rest.len = skip_lines(rest, last - first + 1);
	return rest;
}

void edit_clip(struct text t, const char *note, struct buf *out)
{
	size_t shown = t.len <= EDIT_SHOWN_CHARS ? t.len : text_offset(t, EDIT_SHOWN_CHARS);

	buf_add(out, t.at, shown);
	if (shown < t.len)
		buf_puts(out, note);
}

void edit_number(struct text plain, const char *what, int64_t first, struct buf *out)
{
	autobuf struct buf clipped = { 0 };
	struct text rest;

	edit_clip(plain, CLIPPED_FILE, &clipped);
	rest = (struct text) { buf_str(&clipped), clipped.len };
	buf_puts(out, "Here's the result of running `cat -n` on ");
	buf_puts(out, what);
	buf_puts(out, ":\n");
	for (;; first++) {
		size_t n = line_len(rest);

		buf_printf(out, "%6" PRId64 "\t", first);
		buf_add(out, rest.at, n);
		buf_putc(out, '\n');
		if (n == rest.len)
			break;
		rest.at += n + 1;
		rest.len -= n + 1;
	}
}

/* --- view ------------------------------------------------------------------------------------ */

static void refuse_range(const struct edit_range *r, struct buf *said)
{
	buf_puts(said, "Invalid `view_range` parameter: ");
	add_text(said, r->shown);
	buf_puts(said, ". ");
}

static bool range_is_good(const struct edit_range *r, int64_t lines, struct buf *said)
{
	if (!r->good) {
		refuse_range(r, said);
		buf_puts(said, "It should be a list of two integers.");
		return false;
	}
	if (r->first < 1 || r->first > lines) {
		refuse_range(r, said);
		buf_printf(said,
			   "Its first element `%" PRId64 "` should be within the range of lines of "
			   "the file: [1, %" PRId64 "].",
			   r->first, lines);
		return false;
	}
	if (r->last < r->first && r->last != -1) {
		refuse_range(r, said);
		buf_printf(said,
			   "Its second element `%" PRId64 "` should be greater than or equal to "
			   "the first element `%" PRId64 "`.",
			   r->last, r->first);
		return false;
	}
	return true;
}

bool edit_view(const struct edit_text *t, const struct edit_range *range, struct buf *said)
{
	int64_t lines, last = range->last;
	struct text part;

	if (!range->given) {
		edit_number(t->plain, t->path, 1, said);
		return true;
	}
	lines = edit_lines(t->plain);
	if (!range_is_good(range, lines, said))
		return false;
	if (last > lines)
		buf_printf(said,
			   "NOTE: We only show up to %" PRId64 " since there're only %" PRId64
			   " lines in this file.\n",
			   lines, lines);
	if (last == -1 || last > lines)
		last = lines;
	part = edit_part(t->plain, range->first, last);
	if (part.len && !ends_open(part))
		part.len--;
	edit_number(part, t->path, range->first, said);
	return true;
}

/* --- str_replace ----------------------------------------------------------------------------- */

struct found {
	size_t count, at; /* how often, and where first */
	int64_t line;	  /* of the first */
	struct buf lines; /* "1, 2, 7" */
	unsigned listed;
};

static void list_line(struct found *f, int64_t line)
{
	if (f->listed < EDIT_LISTED_MAX)
		buf_printf(&f->lines, "%s%" PRId64, f->listed ? ", " : "", line);
	else if (f->listed == EDIT_LISTED_MAX)
		buf_puts(&f->lines, ", ...");
	f->listed++;
}

/* The next place to look at. An empty part stands between all characters. */
static size_t behind(struct text plain, struct text part, size_t at)
{
	struct text rest = { plain.at + at, plain.len - at };

	if (part.len)
		return at + part.len;
	return rest.len ? at + text_offset(rest, 1) : plain.len + 1;
}

static void find_all(struct text plain, struct text part, struct found *f)
{
	int64_t line = 1, listed = 0;
	size_t counted = 0;
	long at;

	*f = (struct found) { .lines = f->lines };
	for (size_t from = 0; (at = text_find(plain, part, from)) >= 0;
	     from = behind(plain, part, (size_t)at)) {
		line += count_feeds((struct text) { plain.at + counted, (size_t)at - counted });
		counted = (size_t)at;
		if (f->count++ == 0) {
			f->at = (size_t)at;
			f->line = line;
		}
		if (line != listed)
			list_line(f, line);
		listed = line;
	}
}

/* A return that stood alone must not become one line end with a line feed that comes behind it, nor
 * one before it with what it is made instead. */
static void keep_apart(struct buf *out, const char *next, size_t len)
{
	if (!len || next[0] != '\n')
		return;
	for (size_t i = out->len; i > 0 && out->data[i - 1] == '\r'; i--)
		out->data[i - 1] = '\n';
}

void edit_splice(const struct edit_text *t, size_t from, size_t to, struct text new,
		 struct buf *out)
{
	autobuf struct buf plain = { .limit = out->limit }, styled = { .limit = out->limit };
	struct text rest;

	if (t->style != NEWLINE_LF) {
		newline_plain(new, &plain);
		newline_styled((struct text) { buf_str(&plain), plain.len }, t->style, &styled);
		new = (struct text) { buf_str(&styled), styled.len };
	}
	to = newline_offset(t->whole, to);
	rest = (struct text) { t->whole.at + to, t->whole.len - to };
	buf_add(out, t->whole.at, newline_offset(t->whole, from));
	keep_apart(out, new.len ? new.at : rest.at, new.len ? new.len : rest.len);
	add_text(out, new);
	if (t->style != NEWLINE_LF)
		keep_apart(out, rest.at, rest.len);
	add_text(out, rest);
	out->failed |= plain.failed || styled.failed;
}

static void say_edited(const char *path, struct text part, const char *what, int64_t first,
		       struct buf *said)
{
	autobuf struct buf named = { 0 };

	buf_printf(&named, "a snippet of %s", what);
	buf_puts(said, "The file ");
	buf_puts(said, path);
	buf_puts(said, " has been edited. ");
	edit_number(part, buf_str(&named), first, said);
}

static int64_t from_zero(int64_t n)
{
	return n > 0 ? n : 0;
}

static void say_replaced(const struct edit_text *t, const struct found *f, struct text new,
			 const struct buf *changed, struct buf *said)
{
	int64_t first = from_zero(f->line - EDIT_WINDOW) + 1,
		last = f->line + EDIT_WINDOW + count_feeds(new);
	struct text whole = { buf_str(changed), changed->len };
	autobuf struct buf plain = { .limit = changed->limit };
	struct edit_text now;

	edit_text_init(&now, t->path, whole, &plain);
	say_edited(t->path, edit_part(now.plain, first, last), t->path, first, said);
	buf_puts(said, "Review the changes and make sure they are as expected. Edit the file again "
		       "if necessary.");
}

static bool found_once(const struct edit_text *t, const struct found *f, struct text old,
		       struct buf *said)
{
	if (f->count == 1)
		return true;
	buf_puts(said, "No replacement was performed");
	buf_puts(said, f->count ? ". Multiple occurrences of old_str `" : ", old_str `");
	add_text(said, old);
	if (f->count) {
		buf_puts(said, "` in lines [");
		buf_add(said, f->lines.data, f->lines.len);
		buf_puts(said, "]. Please ensure it is unique.");
	} else {
		buf_puts(said, "` did not appear verbatim in ");
		buf_puts(said, t->path);
		buf_putc(said, '.');
	}
	return false;
}

bool edit_replace(const struct edit_text *t, struct text old, struct text new, struct buf *changed,
		  struct buf *said)
{
	autobuf struct buf plain_old = { .limit = changed->limit };
	struct found f = { .count = 0 };
	bool once;

	if (has_returns(t)) {
		newline_plain(old, &plain_old);
		old = (struct text) { buf_str(&plain_old), plain_old.len };
	}
	find_all(t->plain, old, &f);
	if (!f.count) {
		old = text_strip(old);
		new = text_strip(new);
		find_all(t->plain, old, &f);
	}
	once = found_once(t, &f, old, said);
	if (once) {
		edit_splice(t, f.at, f.at + old.len, new, changed);
		say_replaced(t, &f, new, changed, said);
	}
	buf_clear(&f.lines);
	return once;
}

/* --- insert ---------------------------------------------------------------------------------- */

bool edit_insert(const struct edit_text *t, int64_t line, struct text new, struct buf *changed,
		 struct buf *said)
{
	int64_t lines = edit_lines(t->plain), added = count_feeds(new) + 1, first, last;
	autobuf struct buf piece = { .limit = changed->limit }, plain = { .limit = changed->limit };
	struct edit_text now;
	size_t at;

	if (line < 0 || line > lines) {
		buf_printf(said,
			   "Invalid `insert_line` parameter: %" PRId64 ". It should be within the "
			   "range of allowed values: [0, %" PRId64 "]",
			   line, lines);
		return false;
	}
	at = skip_lines(t->plain, line);
	/* A last line without an end gets one: what is inserted is a line of its own. */
	if (line && line == lines && ends_open(t->plain))
		buf_putc(&piece, '\n');
	add_text(&piece, new);
	buf_putc(&piece, '\n');
	edit_splice(t, at, at, (struct text) { buf_str(&piece), piece.len }, changed);
	changed->failed |= piece.failed;

	edit_text_init(&now, t->path, (struct text) { buf_str(changed), changed->len }, &plain);
	first = from_zero(line - EDIT_WINDOW) + 1;
	last = line + EDIT_WINDOW + added;
	say_edited(t->path, edit_part(now.plain, first, last), "the edited file", first, said);
	buf_puts(said,
		 "Review the changes and make sure they are as expected (correct indentation, "
		 "no duplicate lines, etc). Edit the file again if necessary.");
	return true;
}
