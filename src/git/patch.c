/* SPDX-License-Identifier: MIT */
/* patch.c - `ohsandbox-git patch`: changes on standard input, a patch as git writes it on standard
 * output, or with --summary a line of counts for each.
 *
 * One change: "<name>\0<mode before> <bytes before> <mode after> <bytes after>\0", modes in octal
 * and 0 where there is nothing, then both contents. Of a symbolic link the content is its text.
 * All of it is foreign; it comes as bytes, so no file need be opened here and no right is needed. */
#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "git/command.h"
#include "git/gitlib.h"

#define NAME_MAX_BYTES 20000
#define CONTENT_MAX ((uint64_t)64 << 20)
#define BINARY_PROBE 8000 /* bytes looked at for a NUL, as git does */

struct side {
	unsigned mode;
	uint64_t size;
	char *bytes; /* NULL: nothing, or too much to compare */
	char id[GIT_OID_HEXSZ + 1];
};

struct change {
	char name[NAME_MAX_BYTES];
	struct side before, after;
};

/* Read up to and without a NUL. 1; 0 at the end of input before anything. */
static int read_text(FILE *in, char *text, size_t size, struct err *e)
{
	size_t n = 0;
	int c;

	while ((c = getc(in)) != EOF && c) {
		if (n + 1 == size)
			return err_code(e, ENAMETOOLONG, "a change has too long a name");
		text[n++] = (char)c;
	}
	text[n] = '\0';
	if (c == EOF && !n)
		return 0;
	return c == EOF ? err_code(e, EPROTO, "the list of changes ends within one") : 1;
}

static int skip(FILE *in, uint64_t left)
{
	char chunk[65536];

	while (left) {
		size_t want = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);

		if (fread(chunk, 1, want, in) != want)
			return -1;
		left -= want;
	}
	return 0;
}

static int read_side(FILE *in, struct side *s, struct err *e)
{
	git_oid id;

	if (s->size > CONTENT_MAX)
		return skip(in, s->size) < 0
			       ? err_code(e, EPROTO, "the list of changes ends within one")
			       : 0;
	s->bytes = malloc(s->size + 1);
	if (!s->bytes)
		return err_code(e, ENOMEM, "out of memory");
	if (fread(s->bytes, 1, s->size, in) != s->size)
		return err_code(e, EPROTO, "the list of changes ends within one");
	s->bytes[s->size] = '\0';
	if (s->mode && git_odb_hash(&id, s->bytes, s->size, GIT_OBJECT_BLOB) == 0)
		(void)git_oid_tostr(s->id, sizeof(s->id), &id);
	return 0;
}

static int read_change(FILE *in, struct change *c, struct err *e)
{
	unsigned long long before, after;
	char numbers[128];
	int n = read_text(in, c->name, sizeof(c->name), e);

	if (n <= 0)
		return n;
	n = read_text(in, numbers, sizeof(numbers), e);
	if (n < 0)
		return n;
	if (n == 0 || sscanf(numbers, "%o %llu %o %llu", &c->before.mode, &before, &c->after.mode,
			     &after) != 4)
		return err_code(e, EPROTO, "the list of changes has a line of another form");
	c->before.size = before;
	c->after.size = after;
	if (read_side(in, &c->before, e) < 0 || read_side(in, &c->after, e) < 0)
		return err_wrap(e, "'%.100s'", c->name);
	return 1;
}

static void clear_change(struct change *c)
{
	free(c->before.bytes);
	free(c->after.bytes);
	memset(&c->before, 0, sizeof(c->before));
	memset(&c->after, 0, sizeof(c->after));
}

/* A name with odd bytes in it is quoted as C does, so that none of them reaches a terminal. */
static void add_name(struct buf *out, const char *prefix, const char *name)
{
	bool plain = true;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		plain = plain && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\';
	if (!plain)
		buf_putc(out, '"');
	buf_puts(out, prefix);
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		if (plain)
			buf_putc(out, (char)*p);
		else if (*p == '"' || *p == '\\')
			buf_printf(out, "\\%c", *p);
		else if (*p == '\n' || *p == '\t')
			buf_puts(out, *p == '\n' ? "\\n" : "\\t");
		else if (*p < 0x20 || *p >= 0x7f)
			buf_printf(out, "\\%03o", *p);
		else
			buf_putc(out, (char)*p);
	}
	if (!plain)
		buf_putc(out, '"');
}

static bool is_binary(const struct side *s)
{
	if (!s->mode)
		return false;
	return !s->bytes || memchr(s->bytes, '\0', s->size < BINARY_PROBE ? s->size : BINARY_PROBE);
}

static const char *id_of(const struct side *s)
{
	return s->id[0] ? s->id : "0000000000000000000000000000000000000000";
}

static void add_header(struct buf *out, const struct change *c)
{
	const struct side *a = &c->before, *b = &c->after;

	buf_puts(out, "diff --git ");
	add_name(out, "a/", c->name);
	buf_putc(out, ' ');
	add_name(out, "b/", c->name);
	buf_putc(out, '\n');
	if (!a->mode)
		buf_printf(out, "new file mode %06o\n", b->mode);
	else if (!b->mode)
		buf_printf(out, "deleted file mode %06o\n", a->mode);
	else if (a->mode != b->mode)
		buf_printf(out, "old mode %06o\nnew mode %06o\n", a->mode, b->mode);
	if (str_eq(id_of(a), id_of(b)) && a->bytes && b->bytes)
		return;
	buf_printf(out, "index %.10s..%.10s", id_of(a), id_of(b));
	if (a->mode == b->mode)
		buf_printf(out, " %06o", a->mode);
	buf_putc(out, '\n');
}

static void add_file_line(struct buf *out, const char *marks, const char *prefix,
			  const struct side *s, const char *name)
{
	buf_printf(out, "%s ", marks);
	if (s->mode)
		add_name(out, prefix, name);
	else
		buf_puts(out, "/dev/null");
	buf_putc(out, '\n');
}

struct counts {
	uint64_t added, deleted;
};

struct printing {
	struct buf *out; /* NULL: count alone */
	struct counts *counts;
};

static int take_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
		     const git_diff_line *line, void *arg)
{
	struct printing *p = arg;

	(void)delta;
	(void)hunk;
	if (line->origin == GIT_DIFF_LINE_FILE_HDR)
		return 0;
	p->counts->added += line->origin == GIT_DIFF_LINE_ADDITION;
	p->counts->deleted += line->origin == GIT_DIFF_LINE_DELETION;
	if (!p->out)
		return 0;
	if (strchr(" +-", line->origin))
		buf_putc(p->out, line->origin);
	buf_add(p->out, line->content, line->content_len);
	return p->out->failed ? -1 : 0;
}

static int compare(const struct change *c, struct buf *out, struct counts *counts, struct err *e)
{
	git_diff_options options = { .version = GIT_DIFF_OPTIONS_VERSION, .context_lines = 3 };
	struct printing printing = { .out = out, .counts = counts };
	git_patch *patch = NULL;
	int n;

	/* What is binary was decided before; here every byte is text. */
	options.flags = GIT_DIFF_FORCE_TEXT;
	n = git_patch_from_buffers(&patch, c->before.bytes ? c->before.bytes : "",
				   c->before.mode ? c->before.size : 0, "a",
				   c->after.bytes ? c->after.bytes : "",
				   c->after.mode ? c->after.size : 0, "a", &options);
	if (n == 0 && patch)
		n = git_patch_print(patch, take_line, &printing);
	git_patch_free(patch);
	return n < 0 ? err_git(e, n, "compare '%.100s'", c->name) : 0;
}

/* git shows a file that became a link as one gone and one new. */
static bool changes_kind(const struct change *c)
{
	return c->before.mode && c->after.mode &&
	       (c->before.mode & 0170000) != (c->after.mode & 0170000);
}

static int add_patch(const struct change *c, struct buf *out, struct err *e)
{
	struct counts counts = { 0 };
	struct buf hunks = { .limit = (size_t)512 << 20 };
	int n = 0;

	add_header(out, c);
	if (is_binary(&c->before) || is_binary(&c->after)) {
		if (str_eq(c->before.id, c->after.id) && c->before.id[0])
			return 0;
		buf_puts(out, "Binary files ");
		c->before.mode ? add_name(out, "a/", c->name) : buf_puts(out, "/dev/null");
		buf_puts(out, " and ");
		c->after.mode ? add_name(out, "b/", c->name) : buf_puts(out, "/dev/null");
		buf_puts(out, " differ\n");
		return 0;
	}
	n = compare(c, &hunks, &counts, e);
	if (n == 0 && hunks.len) {
		add_file_line(out, "---", "a/", &c->before, c->name);
		add_file_line(out, "+++", "b/", &c->after, c->name);
		buf_add(out, hunks.data, hunks.len);
	}
	buf_clear(&hunks);
	return n;
}

/* "added\tdeleted\tname\0", and "-" for what is binary: git's --numstat -z. */
static int add_summary(const struct change *c, struct buf *out, struct err *e)
{
	struct counts counts = { 0 };

	if (is_binary(&c->before) || is_binary(&c->after)) {
		buf_puts(out, "-\t-\t");
	} else {
		if (compare(c, NULL, &counts, e) < 0)
			return -e->code;
		buf_printf(out, "%llu\t%llu\t", (unsigned long long)counts.added,
			   (unsigned long long)counts.deleted);
	}
	buf_add(out, c->name, strlen(c->name) + 1);
	return 0;
}

static int show(const struct change *c, bool summary, struct err *e)
{
	autobuf struct buf out = { .limit = (size_t)600 << 20 };
	struct change gone, come;
	int n;

	if (summary) {
		n = add_summary(c, &out, e);
	} else if (changes_kind(c)) {
		gone = come = *c;
		memset(&gone.after, 0, sizeof(gone.after));
		memset(&come.before, 0, sizeof(come.before));
		n = add_patch(&gone, &out, e);
		if (n == 0)
			n = add_patch(&come, &out, e);
	} else {
		n = add_patch(c, &out, e);
	}
	if (n < 0)
		return n;
	if (buf_check(&out, e) < 0)
		return err_wrap(e, "'%.100s'", c->name);
	return io_write_all(STDOUT_FILENO, buf_str(&out), out.len, e);
}

int command_patch(const struct arguments *args, struct answer *a, struct err *e)
{
	struct change *c = calloc(1, sizeof(*c));
	uint64_t count = 0;
	int n;

	if (!c)
		return err_code(e, ENOMEM, "out of memory");
	while ((n = read_change(stdin, c, e)) > 0) {
		n = show(c, args->summary, e);
		clear_change(c);
		if (n < 0)
			break;
		count++;
	}
	clear_change(c);
	free(c);
	jo_u64(&a->json, "changes", count);
	return n;
}
