/* SPDX-License-Identifier: MIT */
/* Both ends of the helper, with a stand-in for init in the same loop. */
#include "sandbox/executor/helper.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "unit.h"

struct stage {
	struct loop loop;
	struct procs procs;
	struct helper helper;
	struct source init; /* the other end of the link */
	pid_t pid;	    /* of the helper that runs, 0 without */
	unsigned starts, continues, kills;
	/* What the next helper does. */
	enum { SERVES, READS_NOTHING, READS_AND_DIES, STOPS } next;
	bool done, failed;
	struct file_reply reply;
	struct err why;
};

static void __attribute__((noreturn)) live(int kind, int fd)
{
	char bytes[4096];

	if (kind == READS_NOTHING)
		_exit(0);
	if (kind == READS_AND_DIES) {
		if (read(fd, bytes, sizeof(bytes)) < 0)
			_exit(1);
		_exit(0);
	}
	if (kind == STOPS)
		(void)raise(SIGSTOP);
	helper_main(fd);
}

/* A process that reads nothing must be gone before it is asked, or it would be by chance. */
static void start(struct stage *s, uint32_t tag)
{
	struct ctl_message m = { .kind = CTL_STARTED, .started = { .tag = tag, .n_fds = 1 } };
	struct err e = { 0 };
	int pair[2], status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	s->starts++;
	s->pid = fork();
	if (s->pid == 0) {
		(void)close(pair[1]);
		live(s->next, pair[0]);
	}
	if (s->next == STOPS)
		assert_int_equal(waitpid(s->pid, &status, WUNTRACED), s->pid);
	s->next = SERVES;
	(void)close(pair[0]);
	m.started.pid = s->pid;
	m.started.fds[0] = pair[1];
	m.started.fds[1] = m.started.fds[2] = -1;
	assert_ok(ctl_send(s->init.fd, &m, &e));
	(void)close(pair[1]);
}

static void asked(struct source *source, uint32_t events)
{
	struct stage *s = container_of(source, struct stage, init);
	struct ctl_message m = { 0 };
	struct err e = { 0 };

	(void)events;
	assert_ok(ctl_receive(source->fd, &m, &e));
	if (m.kind == CTL_START) {
		assert_int_equal(m.start.flags, CTL_START_HELPER);
		start(s, m.start.tag);
	} else if (m.kind == CTL_SIGNAL) {
		s->continues += m.signal.signal == SIGCONT;
		s->kills += m.signal.signal == SIGKILL;
		(void)kill(s->pid, m.signal.signal);
	}
	ctl_message_clear(&m);
}

static void done(struct helper *h, struct file_reply *reply)
{
	struct stage *s = container_of(h, struct stage, helper);

	s->done = true;
	s->reply = *reply;
	*reply = (struct file_reply) { .status = FILE_OK };
}

static void failed(struct helper *h, const struct err *why)
{
	struct stage *s = container_of(h, struct stage, helper);

	s->failed = true;
	s->why = *why;
}

static struct stage *stage_new(uint64_t patience_ms)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct err e = { 0 };
	int link[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
	assert_ok(loop_init(&s->loop, &e));
	assert_ok(procs_init(&s->procs, &s->loop, link[0], &e));
	s->init = (struct source) { .fd = link[1], .events = EPOLLIN, .ready = asked };
	assert_ok(loop_add(&s->loop, &s->init, &e));
	helper_init(&s->helper, &s->procs, patience_ms);
	s->helper.done = done;
	s->helper.failed = failed;
	return s;
}

static void stage_free(struct stage *s)
{
	if (s->pid > 0) {
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
	}
	if (s->helper.socket.fd >= 0)
		(void)close(s->helper.socket.fd);
	(void)close(s->init.fd);
	(void)close(s->procs.link.fd);
	(void)close(s->loop.epoll);
	file_reply_clear(&s->reply);
	free(s);
}

static void ask(struct stage *s, const struct file_request *r)
{
	struct err e = { 0 };

	s->done = s->failed = false;
	file_reply_clear(&s->reply);
	helper_ask(&s->helper, r);
	while (!s->done && !s->failed)
		assert_ok(loop_turn(&s->loop, &e));
}

static char *path_in(void **state, const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", ((struct scratch *)*state)->path, name);
	return path;
}

static struct file_request writing(const char *path, const char *content)
{
	return (struct file_request) {
		.op = FILE_WRITE,
		.end = -1,
		.part = { [FILE_PATH] = text_of(path), [FILE_CONTENT] = text_of(content) }
	};
}

static struct file_request reading(const char *path)
{
	return (struct file_request) { .op = FILE_READ,
				       .flags = FILE_ONLY_READS,
				       .end = -1,
				       .part = { [FILE_PATH] = text_of(path) } };
}

static void content_is(const struct stage *s, const char *text)
{
	assert_true(s->done);
	assert_int_equal(s->reply.status, FILE_OK);
	assert_string_equal(buf_str(&s->reply.gives[FILE_GIVES_CONTENT]), text);
}

static void one_process_serves_request_after_request(void **state)
{
	struct stage *s = stage_new(60000);
	const char *path = path_in(state, "f");
	struct file_request w = writing(path, "a\nb"), r = reading(path);

	ask(s, &w);
	content_is(s, "");
	ask(s, &r);
	content_is(s, "a\nb\n");
	assert_int_equal(s->starts, 1);
	stage_free(s);
}

static void texts_larger_than_any_socket_buffer_pass_both_ways(void **state)
{
	struct stage *s = stage_new(60000);
	const char *path = path_in(state, "f");
	size_t len = 5 << 20;
	char *big = malloc(len + 2);
	struct file_request w, r = reading(path);

	memset(big, 'x', len);
	memcpy(big + len, "\n", 2);
	w = writing(path, big);
	w.part[FILE_CONTENT].len = len;
	ask(s, &w);
	content_is(s, "");
	ask(s, &r);
	content_is(s, big);
	free(big);
	stage_free(s);
}

static void a_status_comes_with_its_number_and_no_content(void **state)
{
	struct stage *s = stage_new(60000);
	char path[300];
	struct file_request r;

	(void)snprintf(path, sizeof(path), "%s/below", "/etc/passwd");
	r = writing(path, "x");
	ask(s, &r);
	(void)state;
	assert_int_equal(s->reply.status, FILE_OS_ERROR);
	assert_int_equal(s->reply.code, ENOTDIR);
	stage_free(s);
}

static void what_was_not_begun_is_repeated_with_another_process(void **state)
{
	struct stage *s = stage_new(60000);
	const char *path = path_in(state, "f");
	struct file_request w = writing(path, "a");

	s->next = READS_NOTHING;
	ask(s, &w);
	content_is(s, "");
	assert_int_equal(s->starts, 2);
	stage_free(s);
}

static void what_may_have_been_begun_is_repeated_only_if_it_only_reads(void **state)
{
	struct stage *s = stage_new(60000);
	const char *path = path_in(state, "f");
	struct file_request w = writing(path, "a"), r = reading(path);
	struct err e = { 0 };

	s->next = READS_AND_DIES;
	ask(s, &w);
	assert_true(s->failed);
	assert_string_equal(s->why.text, "the process that reaches files was killed");
	assert_int_equal(s->starts, 1);
	ask(s, &w);
	content_is(s, "");

	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
	while (s->helper.socket.fd >= 0)
		assert_ok(loop_turn(&s->loop, &e));
	s->next = READS_AND_DIES;
	ask(s, &r);
	content_is(s, "a\n");
	stage_free(s);
}

static void a_stopped_process_is_told_to_go_on(void **state)
{
	struct stage *s = stage_new(60000);
	const char *path = path_in(state, "f");
	struct file_request w = writing(path, "a");

	s->next = STOPS;
	ask(s, &w);
	content_is(s, "");
	assert_true(s->continues > 0);
	assert_int_equal(s->starts, 1);
	stage_free(s);
}

static void patience_ends(void **state)
{
	struct stage *s = stage_new(120);
	const char *path = path_in(state, "f");
	struct file_request r = reading(path);
	struct err e = { 0 };

	loop_remove(&s->loop, &s->init); /* an init that starts nothing */
	ask(s, &r);
	assert_true(s->failed);
	assert_string_equal(s->why.text, "the file could not be reached in time");
	assert_ok(loop_add(&s->loop, &s->init, &e));
	stage_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(one_process_serves_request_after_request),
		scratch_test(texts_larger_than_any_socket_buffer_pass_both_ways),
		scratch_test(a_status_comes_with_its_number_and_no_content),
		scratch_test(what_was_not_begun_is_repeated_with_another_process),
		scratch_test(what_may_have_been_begun_is_repeated_only_if_it_only_reads),
		scratch_test(a_stopped_process_is_told_to_go_on),
		scratch_test(patience_ends),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as the server does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
