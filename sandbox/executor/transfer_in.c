/* SPDX-License-Identifier: MIT */
/* transfer_in.c - see transfer.h. What is taken: a file out of a form, as its bytes come.
 *
 * The form is read here, in the process that may do nothing; the file's bytes go on as they are.
 * Until the whole body has come the process that has the file keeps it to itself: a client that
 * goes away, or a form that is refused at its end, leaves nothing. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/json_out.h"
#include "http/multipart.h"
#include "sandbox/executor/server.h"
#include "sandbox/executor/transfer_own.h"

struct upload {
	struct transfer t;
	struct server *server;
	struct conn_body body;
	struct multipart form;
	struct buf destination;
	char name[MULTIPART_FILENAME_MAX + 1];
	bool recursive;
	bool begun;    /* the file's part was met, and the process asked for */
	bool in_file;  /* the part at hand is the file's */
	bool over;     /* the form has ended */
	bool whole;    /* and the process was told so */
	size_t clean;  /* bytes that come next, and are the part's for sure */
	uint32_t owed; /* of a piece that the process was told of */
};

static struct upload *upload_of(struct transfer *t)
{
	return container_of(t, struct upload, t);
}

static void upload_free(struct transfer *t)
{
	struct upload *u = upload_of(t);

	buf_clear(&u->destination);
	free(u);
}

/* The process was not asked for yet, or it is ended with the rest. */
static void give_up(struct upload *u)
{
	if (u->begun)
		transfer_end(&u->t);
	else
		upload_free(&u->t);
}

static void invalid(struct upload *u, const char *why)
{
	conn_reply_invalid(u->t.conn, why);
	give_up(u);
}

static void refused(struct upload *u, const char *why)
{
	conn_reply_detail(u->t.conn, 500, why);
	give_up(u);
}

static void upload_done(struct transfer *t)
{
	struct upload *u = upload_of(t);
	autobuf struct buf text = { 0 };
	struct json_out o = { .buf = &text };

	if (!u->whole) {
		transfer_fail(t, "the process that reaches files speaks nonsense");
		return;
	}
	jo_object(&o, NULL);
	jo_string(&o, "filename", u->name);
	jo_string(&o, "destination", buf_str(&u->destination));
	jo_bool(&o, "recursive", u->recursive);
	jo_end_object(&o);
	conn_reply(t->conn, 200, NULL, buf_str(&text), text.len);
	transfer_end(t);
}

/* The process takes bytes: those of the client may come on. */
static void upload_room(struct transfer *t)
{
	struct upload *u = upload_of(t);

	if (u->whole) {
		transfer_moved(t, TRANSFER_FINISH_MS);
		return;
	}
	loop_disarm(t->all->procs->loop, &t->timer); /* now it is the client who is waited for */
	if (t->conn)
		conn_resume(t->conn);
}

static const struct transfer_kind storing = { .op = TRANSFER_STORE,
					      .room = upload_room,
					      .done = upload_done,
					      .free = upload_free };
static const struct transfer_kind unpacking = { .op = TRANSFER_UNPACK,
						.room = upload_room,
						.done = upload_done,
						.free = upload_free };

static void wait_for_room(struct upload *u)
{
	loop_want(u->t.all->procs->loop, &u->t.socket, EPOLLIN | EPOLLOUT);
	transfer_moved(&u->t, TRANSFER_PATIENCE_MS);
}

/* Bytes of the file to the process, with the length of a piece before its first. Returns how many
 * were taken. An error is seen as the end of the socket. */
static size_t pass_on(struct upload *u, const char *bytes, size_t len)
{
	uint32_t piece = u->owed ? 0 : (uint32_t)len;
	struct iovec parts[] = { { .iov_base = &piece, .iov_len = piece ? sizeof(piece) : 0 },
				 { .iov_base = (void *)(uintptr_t)bytes,
				   .iov_len = u->owed && u->owed < len ? u->owed : len } };
	ssize_t sent = writev(u->t.socket.fd, parts, 2);
	size_t head = parts[0].iov_len, n = sent < 0 ? 0 : (size_t)sent;

	if (sent < 0)
		return 0;
	if (n < head) {
		buf_add(&u->t.out, (const char *)&piece + n, head - n);
		u->owed = piece;
		return 0;
	}
	u->owed += piece;
	u->owed -= (uint32_t)(n - head);
	return n - head;
}

static bool ends_with_zip(const char *name)
{
	size_t len = strlen(name);

	return len >= 4 && strcmp(name + len - 4, ".zip") == 0;
}

/* The last part of the name alone: what stands before it would lead elsewhere. */
static bool keep_name(struct upload *u, const char *filename)
{
	const char *slash = strrchr(filename, '/'), *last = slash ? slash + 1 : filename;

	(void)snprintf(u->name, sizeof(u->name), "%s", last);
	return last[0] && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
}

/* A part of the form begins. Returns false where that was the end of the request. */
static bool meet_part(struct upload *u, const struct multipart_found *f)
{
	bool zip;

	u->in_file = strcmp(f->name, "file") == 0;
	if (!u->in_file)
		return true; /* forms may hold more than what is asked for */
	if (!f->has_filename)
		return invalid(u, "'file' must be a file, with a filename"), false;
	if (u->begun)
		return invalid(u, "'file' is there twice"), false;
	if (!keep_name(u, f->filename))
		return invalid(u, "the filename of 'file' is no name of a file"), false;
	if (buf_str(&u->destination)[0] != '/')
		return refused(u, "400: Destination must be an absolute path"), false;
	zip = ends_with_zip(u->name);
	if (u->recursive && !zip)
		return refused(u, "400: Recursive uploads must be zip files"), false;
	u->begun = true;
	conn_pause(u->t.conn);
	transfer_begin(&u->t, &u->server->transfers, zip ? &unpacking : &storing,
		       buf_str(&u->destination), u->name);
	return false; /* until it is there; or it failed */
}

/* What comes next of the form. Returns false where nothing more can be done now. */
static bool read_form(struct upload *u, const char *bytes, size_t len, size_t *used)
{
	struct multipart_found f;
	struct err e = { 0 };

	switch (multipart_next(&u->form, bytes, len, &f, &e)) {
	case MULTIPART_BAD:
		return invalid(u, e.text), false;
	case MULTIPART_MORE:
		*used = f.used;
		return false;
	case MULTIPART_PART:
		*used = f.used;
		return meet_part(u, &f);
	case MULTIPART_DATA:
		if (u->in_file)
			u->clean = f.used;
		else
			*used = f.used;
		return true;
	case MULTIPART_END:
		u->over = true;
		break;
	case MULTIPART_PART_END:
		u->in_file = false;
	}
	*used = f.used;
	return true;
}

static size_t take_piece(struct conn_body *b, const char *bytes, size_t len)
{
	struct upload *u = container_of(b, struct upload, body);
	bool goes_on = true;
	size_t done = 0;

	while (goes_on && done < len) {
		size_t used = 0;

		if (!u->clean) {
			goes_on = read_form(u, bytes + done, len - done, &used);
			done += used; /* `u` may be gone, if it does not go on */
			continue;
		}
		used = pass_on(u, bytes + done, u->clean < len - done ? u->clean : len - done);
		u->clean -= used;
		done += used;
		if (!used) {
			/* Nothing more is read of the client until the process takes what there is. */
			conn_pause(u->t.conn);
			wait_for_room(u);
			goes_on = false;
		}
	}
	return done;
}

static void body_is_whole(struct conn_body *b, size_t left)
{
	struct upload *u = container_of(b, struct upload, body);
	uint32_t end = 0;

	(void)left;
	if (!u->over || !u->begun) {
		invalid(u, u->over ? "'file' is missing" : "the body was cut short");
		return;
	}
	u->whole = true;
	buf_add(&u->t.out, &end, sizeof(end));
	if (u->t.out.failed)
		transfer_fail(&u->t, "no memory");
	else
		wait_for_room(u);
}

static void body_is_gone(struct conn_body *b)
{
	give_up(container_of(b, struct upload, body));
}

/* --- what is asked for ----------------------------------------------------------------------- */

/* As clients and people write them. Returns false for anything else. */
static bool read_bool(const char *text, bool *out)
{
	static const char *const words[2][6] = { { "false", "0", "no", "off", "f", "n" },
						 { "true", "1", "yes", "on", "t", "y" } };

	for (int value = 0; value < 2; value++)
		for (size_t i = 0; i < ARRAY_LEN(words[value]); i++)
			if (strcasecmp(text, words[value][i]) == 0) {
				*out = value;
				return true;
			}
	return false;
}

static int read_query(struct upload *u, struct http_text query, struct err *e)
{
	autobuf struct buf recursive = { 0 };

	if (!http_query(query, "destination", &u->destination))
		buf_puts(&u->destination, "/");
	if (strlen(buf_str(&u->destination)) != u->destination.len)
		return err_code(e, EINVAL, "query parameter 'destination' is no path");
	if (http_query(query, "recursive", &recursive) &&
	    (strlen(buf_str(&recursive)) != recursive.len ||
	     !read_bool(buf_str(&recursive), &u->recursive)))
		return err_code(e, EINVAL, "query parameter 'recursive' must be true or false");
	return buf_check(&u->destination, e);
}

void transfer_upload(struct server *s, struct conn *c)
{
	struct upload *u = calloc(1, sizeof(*u));
	struct err e = { 0 };

	if (!u) {
		conn_reply_detail(c, 500, CONN_UNEXPECTED);
		return;
	}
	u->server = s;
	u->body = (struct conn_body) { .piece = take_piece,
				       .whole = body_is_whole,
				       .gone = body_is_gone };
	if (read_query(u, conn_request(c)->query, &e) < 0 ||
	    multipart_begin(&u->form, conn_request(c)->content_type, &e) < 0) {
		conn_reply_invalid(c, e.text);
		upload_free(&u->t);
		return;
	}
	conn_hold(c, &u->t.conn);
	conn_take_body(c, &u->body);
}
