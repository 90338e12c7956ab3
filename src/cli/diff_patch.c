/* SPDX-License-Identifier: MIT */
/* diff_patch.c - see diff_patch.h.
 *
 * A child process reads both versions of every change and writes them into a pipe; what parses them
 * (libgit2) has nothing but the other end. As root it is nobody: what it reads was written by a
 * session. The form is in src/git/patch.c. */
#include "cli/diff_patch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/plain.h"
#include "session/changes.h"
#include "session/gitrun.h"
#include "session/owner.h"

#define CONTENT_MAX ((uint64_t)64 << 20) /* more is not compared: one byte above says so */
#define CHUNK_BYTES 65536
#define NOBODY 65534
#define GRAPH_COLUMNS 30
#define NAME_COLUMNS 60
#define SUMMARY_BYTES_MAX ((size_t)256 << 20)

/* ---- the child that reads ---- */

struct feed {
	int out;
	unsigned left_out; /* what no patch can hold */
	struct err err;	   /* why it stopped */
};

/* As git keeps it: a file is executable or not. 0 for what git has no mode for. */
static unsigned git_mode(mode_t mode)
{
	if (S_ISREG(mode))
		return mode & 0111 ? 0100755 : 0100644;
	return S_ISLNK(mode) ? 0120000 : 0;
}

struct version {
	int fd;
	const char *link;
	unsigned mode;
	uint64_t size;
};

static int version_of(int fd, const char *link, mode_t mode, struct version *v, struct err *e)
{
	struct stat st = { 0 };

	*v = (struct version) { .fd = fd, .link = link, .mode = git_mode(mode) };
	if (fd >= 0 && fstat(fd, &st) < 0)
		return err_errno(e, "size of a file");
	v->size = link ? strlen(link) : (uint64_t)st.st_size;
	if (v->size > CONTENT_MAX)
		v->size = CONTENT_MAX + 1;
	return 0;
}

/* Exactly as many bytes as were announced, whatever a living session does to the file meanwhile. */
static int send_version(int out, const struct version *v, struct err *e)
{
	char chunk[CHUNK_BYTES];

	if (v->link)
		return io_write_all(out, v->link, v->size, e);
	for (uint64_t left = v->size; left;) {
		size_t want = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
		ssize_t n = io_read_full(v->fd, chunk, want, e);

		if (n < 0)
			return (int)n;
		memset(chunk + n, 0, want - (size_t)n);
		if (io_write_all(out, chunk, want, e) < 0)
			return -e->code;
		left -= want;
	}
	return 0;
}

static int send_change(int out, const struct change *c, const struct version *a,
		       const struct version *b, struct err *e)
{
	autobuf struct buf head = { 0 };

	buf_add(&head, c->path, strlen(c->path) + 1);
	buf_printf(&head, "%o %llu %o %llu", a->mode, (unsigned long long)a->size, b->mode,
		   (unsigned long long)b->size);
	buf_putc(&head, '\0');
	if (buf_check(&head, e) < 0 || io_write_all(out, head.data, head.len, e) < 0 ||
	    send_version(out, a, e) < 0)
		return -e->code;
	return send_version(out, b, e);
}

static int feed_one(const struct change *c, void *arg)
{
	struct feed *f = arg;
	struct version a, b;

	if (version_of(c->before, c->link_before, c->mode_before, &a, &f->err) < 0 ||
	    version_of(c->after, c->link_after, c->kind == CHANGE_DELETED ? 0 : c->mode, &b,
		       &f->err) < 0)
		return -f->err.code;
	if (!a.mode && !b.mode) {
		f->left_out++;
		return 0;
	}
	return send_change(f->out, c, &a, &b, &f->err) < 0 ? err_wrap(&f->err, "'%.200s'", c->path)
							   : 0;
}

/* What is told to the parent by the exit of the child: its error, whole. */
static void feed_main(struct session *s, int out, int report) __attribute__((noreturn));
static void feed_main(struct session *s, int out, int report)
{
	struct feed f = { .out = out };
	struct err e = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);		/* a reader that is gone is an error like others */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
	if (changes_read(s, CHANGES_FILES, feed_one, &f, &e) < 0) {
		if (f.err.code)
			e = f.err;
		_exit(write(report, &e, sizeof(e)) == sizeof(e) ? 1 : 2);
	}
	if (f.left_out)
		log_warn("%u special files have no place in a patch and are left out", f.left_out);
	_exit(0);
}

/* ---- the parent ---- */

struct feeder {
	pid_t pid;
	int changes, report; /* what it writes */
};

static int feeder_start(struct session *s, struct feeder *out, struct err *e)
{
	int changes[2] = { -1, -1 }, report[2] = { -1, -1 };

	if (pipe2(changes, O_CLOEXEC) < 0)
		return err_errno(e, "make a pipe");
	if (pipe2(report, O_CLOEXEC) < 0) {
		(void)err_errno(e, "make a pipe");
		auto_close(&changes[0]);
		auto_close(&changes[1]);
		return -e->code;
	}
	out->pid = fork();
	if (out->pid == 0) {
		auto_close(&changes[0]);
		auto_close(&report[0]);
		feed_main(s, changes[1], report[1]);
	}
	if (out->pid < 0)
		(void)err_errno(e, "start a process");
	auto_close(&changes[1]);
	auto_close(&report[1]);
	out->changes = changes[0];
	out->report = report[0];
	if (out->pid > 0)
		return 0;
	auto_close(&out->changes);
	auto_close(&out->report);
	return -e->code;
}

/* Its own error says more than that of who read only half. */
static int feeder_end(struct feeder *f, struct err *e)
{
	struct err said = { 0 }, ignored;
	ssize_t n;
	int status;

	drop_fd(&f->changes);
	n = io_read_full(f->report, &said, sizeof(said), &ignored);
	drop_fd(&f->report);
	while (waitpid(f->pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "wait for a process");
	if (status == 0)
		return 0;
	if (n == sizeof(said) && said.code != EPIPE)
		*e = said;
	else if (!e->code)
		return err_code(e, EIO, "the process that reads the changes died");
	return -e->code;
}

/* For a terminal: what a session wrote could set its title or its clipboard, or hide lines. */
static int run_shown(struct git_run *run, struct json_doc **answer, struct err *e)
{
	struct err unshown = { 0 };
	struct git_job job;
	int ends[2], result, copied, to = run->out;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "make a pipe");
	run->out = ends[1];
	result = git_start(run, &job, e);
	(void)close(ends[1]);
	copied = result < 0 ? 0 : plain_copy(ends[0], to, &unshown);
	(void)close(ends[0]); /* where not all was copied, git sees that nobody reads */
	if (result == 0)
		result = git_finish(&job, answer, e);
	if (result == 0 && copied < 0)
		*e = unshown;
	return result < 0 ? result : copied;
}

/* `option` NULL, or "--summary". */
static int run_git(struct session *s, const char *option, int out, struct err *e)
{
	const char *argv[] = { "patch", option, NULL };
	struct owner_ids nobody = { .uid = NOBODY, .gid = NOBODY };
	struct json_doc *answer = NULL;
	struct feeder f = { .pid = -1, .changes = -1, .report = -1 };
	struct git_run run = { .argv = argv, .ids = geteuid() == 0 ? &nobody : NULL, .out = out };
	int result, fed;

	if (feeder_start(s, &f, e) < 0)
		return -e->code;
	run.in = f.changes;
	result = isatty(out) ? run_shown(&run, &answer, e) : git_run(&run, &answer, e);
	json_free(answer);
	fed = feeder_end(&f, e);
	return result < 0 ? -e->code : fed;
}

int diff_patch(struct session *s, struct err *e)
{
	return run_git(s, NULL, STDOUT_FILENO, e);
}

/* ---- --stat ---- */

void diff_quote(struct buf *out, const char *name)
{
	static const char *const letters = "abtnvfr"; /* of bytes 7 to 13 */
	const char *plain = name;

	while (*plain && (unsigned char)*plain >= 0x20 && (unsigned char)*plain < 0x7f &&
	       *plain != '"' && *plain != '\\')
		plain++;
	if (!*plain) {
		buf_puts(out, name);
		return;
	}
	buf_putc(out, '"');
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		if (*p >= 7 && *p <= 13)
			buf_printf(out, "\\%c", letters[*p - 7]);
		else if (*p == '"' || *p == '\\')
			buf_printf(out, "\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f)
			buf_printf(out, "\\%03o", *p);
		else
			buf_putc(out, (char)*p);
	}
	buf_putc(out, '"');
}

/* One file of git's summary: "added\tdeleted\tname", "-" for what is binary. */
struct row {
	bool binary;
	uint64_t added, deleted;
	const char *name;
};

static int parse_row(const char *text, struct row *out, struct err *e)
{
	unsigned long long added = 0, deleted = 0;
	int at = 0;

	out->binary = str_starts(text, "-\t-\t");
	if (out->binary)
		at = 4;
	else if (sscanf(text, "%llu\t%llu\t%n", &added, &deleted, &at) != 2 || !at)
		return err_code(e, EPROTO, "ohsandbox-git gives a summary of another form");
	out->added = added;
	out->deleted = deleted;
	out->name = text + at;
	return 0;
}

static void repeat(struct buf *out, char c, uint64_t n)
{
	for (; n; n--)
		buf_putc(out, c);
}

static size_t quoted_columns(const char *name)
{
	autobuf struct buf q = { 0 };

	diff_quote(&q, name);
	return q.len < NAME_COLUMNS ? q.len : NAME_COLUMNS;
}

struct table {
	size_t columns; /* of the longest name */
	uint64_t most, files, added, deleted;
	struct buf *out;
};

static void measure(const struct row *r, struct table *t)
{
	size_t columns = quoted_columns(r->name);

	t->columns = columns > t->columns ? columns : t->columns;
	t->most = r->added + r->deleted > t->most ? r->added + r->deleted : t->most;
	t->files++;
	t->added += r->added;
	t->deleted += r->deleted;
}

/* At least one sign where there is something. */
static uint64_t signs(const struct table *t, uint64_t n)
{
	uint64_t scaled = t->most > GRAPH_COLUMNS ? n * GRAPH_COLUMNS / t->most : n;

	return n && !scaled ? 1 : scaled;
}

static void print_row(const struct row *r, struct table *t)
{
	size_t columns = quoted_columns(r->name), start = t->out->len;

	buf_putc(t->out, ' ');
	diff_quote(t->out, r->name);
	if (t->out->len - start <= t->columns)
		repeat(t->out, ' ', t->columns - columns);
	if (r->binary) {
		buf_puts(t->out, " |  Bin\n");
		return;
	}
	buf_printf(t->out, " | %4llu ", (unsigned long long)r->added + r->deleted);
	repeat(t->out, '+', signs(t, r->added));
	repeat(t->out, '-', signs(t, r->deleted));
	buf_putc(t->out, '\n');
}

static int each_row(const struct buf *b, void (*each)(const struct row *r, struct table *t),
		    struct table *t, struct err *e)
{
	for (size_t at = 0; at < b->len; at += strlen(b->data + at) + 1) {
		struct row r;

		if (parse_row(b->data + at, &r, e) < 0)
			return -e->code;
		each(&r, t);
	}
	return 0;
}

int diff_stat(struct session *s, struct buf *out, struct err *e)
{
	autoclose int spool = memfd_create("summary", MFD_CLOEXEC);
	autobuf struct buf rows = { .limit = SUMMARY_BYTES_MAX };
	struct table t = { .out = out };

	if (spool < 0)
		return err_errno(e, "make a file in memory");
	if (run_git(s, "--summary", spool, e) < 0)
		return -e->code;
	if (lseek(spool, 0, SEEK_SET) < 0)
		return err_errno(e, "read the summary");
	if (io_read_all(spool, SUMMARY_BYTES_MAX, &rows, e) < 0 ||
	    each_row(&rows, measure, &t, e) < 0 || each_row(&rows, print_row, &t, e) < 0)
		return -e->code;
	if (t.files)
		buf_printf(out, " %llu files changed, %llu insertions(+), %llu deletions(-)\n",
			   (unsigned long long)t.files, (unsigned long long)t.added,
			   (unsigned long long)t.deleted);
	return 0;
}
