/* SPDX-License-Identifier: MIT */
/* gitrun.c - see gitrun.h. */
#include "session/gitrun.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "session/program.h"

#define ARGS_MAX 64
#define SILENCE_MS (10 * 60 * 1000)
#define PROGRESS_AFTER_MS 2000
#define ANSWER_MAX ((size_t)1 << 20)
#define COMPLAINT_MAX 4096

/* --- the child, from fork to exec: no allocation, no message but the status 126 --- */

static bool take_ids(const struct owner_ids *ids)
{
	if (!ids || geteuid() != 0)
		return true;
	return setgroups(ids->n_groups, ids->groups) == 0 &&
	       setresgid(ids->gid, ids->gid, ids->gid) == 0 &&
	       setresuid(ids->uid, ids->uid, ids->uid) == 0;
}

/* Put every descriptor where the program looks for it; first all of them out of the way. */
static bool place_fds(const int *want, const int *at, unsigned n)
{
	int high[GIT_RUN_FDS_MAX + 4];

	for (unsigned i = 0; i < n; i++) {
		high[i] = fcntl(want[i], F_DUPFD_CLOEXEC, 64);
		if (high[i] < 0)
			return false;
	}
	for (unsigned i = 0; i < n; i++)
		if (dup2(high[i], at[i]) < 0)
			return false;
	return true;
}

static bool clean_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL); /* two of them refuse, rightly */
	return sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

static __attribute__((noreturn)) void child(const struct git_run *run, char *const *argv,
					    int program, int null, int answer, int complaint,
					    pid_t parent)
{
	static char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL };
	int want[GIT_RUN_FDS_MAX + 5], at[GIT_RUN_FDS_MAX + 5];
	unsigned n = 0;

	want[n] = run->in >= 0 ? run->in : null, at[n++] = 0;
	want[n] = run->out >= 0 ? run->out : null, at[n++] = 1;
	want[n] = complaint, at[n++] = 2;
	want[n] = answer, at[n++] = GIT_RUN_ANSWER_FD;
	for (unsigned i = 0; i < run->n_fds; i++)
		want[n] = run->fds[i], at[n++] = GIT_RUN_FD((int)i);
	program = fcntl(program, F_DUPFD_CLOEXEC, 200);
	(void)umask(022); /* never fails */
	/* The death signal goes away with a change of ids, so it comes behind; the parent may be
	 * gone by then. */
	if (program < 0 || !clean_signals() || !place_fds(want, at, n) || !take_ids(run->ids) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(126);
	/* What is not asked for may be open without close-on-exec: the caller's own. */
	for (int fd = 3; fd < GIT_RUN_ANSWER_FD; fd++)
		if (fd >= GIT_RUN_FD((int)run->n_fds))
			(void)close(fd);
	(void)syscall(SYS_close_range, GIT_RUN_ANSWER_FD + 1, ~0U, 1U << 2 /* CLOEXEC */);
	(void)syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
	_exit(126);
}

/* --- the parent --- */

struct talk {
	const struct git_run *run;
	int answer, complaint;
	struct buf line,
		said; /* the answer's last line so far; what it wrote to its standard error */
	uint64_t started_ms;
	bool shown;
};

static void show_progress(struct talk *t, const char *line)
{
	unsigned long long done, total;
	char text[200];
	int n;

	if (!t->run->what || clock_ms() - t->started_ms < PROGRESS_AFTER_MS ||
	    !isatty(STDERR_FILENO))
		return;
	if (sscanf(line, "P %llu %llu", &done, &total) != 2)
		return;
	n = snprintf(text, sizeof(text), "\rohsandbox: %.120s: %llu of %llu \033[K", t->run->what,
		     done, total);
	t->shown = true;
	/* A terminal that is gone leaves nobody to tell. */
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		return;
}

/* Whole lines of progress are used up; what stays is the answer. */
static void take_lines(struct talk *t)
{
	char *end;

	while (t->line.len && t->line.data[0] == 'P' &&
	       (end = memchr(t->line.data, '\n', t->line.len))) {
		size_t used = (size_t)(end - t->line.data) + 1;

		*end = '\0';
		show_progress(t, t->line.data);
		memmove(t->line.data, t->line.data + used, t->line.len - used + 1);
		t->line.len -= used;
	}
}

/* Read what is there. 1, or 0 at the end. */
static int drain(int fd, struct buf *into, size_t max, struct err *e)
{
	char chunk[8192];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN
			       ? 1
			       : err_errno(e, "read the answer of ohsandbox-git");
	if (into->len + (size_t)n <= max)
		buf_add(into, chunk, (size_t)n);
	else if (max != COMPLAINT_MAX)
		return err_code(e, EFBIG, "ohsandbox-git answers more than %zu bytes", max);
	return n > 0;
}

static int listen_to(struct talk *t, struct err *e)
{
	struct pollfd p[] = { { .fd = t->answer, .events = POLLIN },
			      { .fd = t->complaint, .events = POLLIN } };
	int n;

	while (p[0].fd >= 0) {
		n = poll(p, ARRAY_LEN(p), SILENCE_MS);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "wait for ohsandbox-git");
		if (n == 0)
			return err_code(e, ETIMEDOUT, "ohsandbox-git said nothing for ten minutes");
		if (p[1].revents && (n = drain(t->complaint, &t->said, COMPLAINT_MAX, e)) <= 0) {
			if (n < 0)
				return n;
			p[1].fd = -1;
		}
		if (p[0].revents && (n = drain(t->answer, &t->line, ANSWER_MAX, e)) <= 0) {
			if (n < 0)
				return n;
			p[0].fd = -1;
		}
		take_lines(t);
	}
	/* The answer is whole. What is left of complaints is there by now or never. */
	if (p[1].fd >= 0 && poll(&p[1], 1, 0) > 0)
		return drain(t->complaint, &t->said, COMPLAINT_MAX, e) < 0 ? -e->code : 0;
	return 0;
}

static int reported_error(const struct json *error, struct err *e)
{
	const struct json *code = json_get(error, "code"), *text = json_get(error, "text");

	if (!code || code->type != JSON_INT || code->integer <= 0 || code->integer > 4095 ||
	    !text || text->type != JSON_STRING)
		return err_code(e, EPROTO, "ohsandbox-git failed without saying why");
	return err_code(e, (int)code->integer, "%s", text->string.bytes);
}

static int read_answer(struct talk *t, int status, struct json_doc **answer, struct err *e)
{
	const struct json_limits limits = { .bytes = ANSWER_MAX, .depth = 8, .values = 20000 };
	autojson struct json_doc *doc = NULL;
	const struct json *error;

	if (!t->line.len) {
		for (size_t i = 0; i < t->said.len; i++)
			if (t->said.data[i] == '\n')
				t->said.data[i] = ' ';
		return err_code(e, EPROTO,
				"ohsandbox-git ended with status %d and no answer: %.200s",
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
				buf_str(&t->said));
	}
	if (json_parse(t->line.data, t->line.len, &limits, &doc, e) < 0)
		return err_wrap(e, "answer of ohsandbox-git");
	error = json_get(json_root(doc), "error");
	if (error)
		return reported_error(error, e);
	*answer = take_ptr(&doc);
	return 0;
}

int git_finish(struct git_job *job, struct json_doc **answer, struct err *e)
{
	struct talk t = { .run = job->run,
			  .answer = job->answer,
			  .complaint = job->complaint,
			  .started_ms = clock_ms() };
	int r, status = 0;

	r = listen_to(&t, e);
	if (r < 0)
		(void)kill(job->pid, SIGKILL); /* our own child, not yet waited for */
	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (t.shown && write(STDERR_FILENO, "\r\033[K", 4) < 0)
		r = r < 0 ? r : 0; /* a dead terminal changes nothing */
	if (r == 0)
		r = buf_check(&t.line, e);
	if (r == 0)
		r = read_answer(&t, status, answer, e);
	buf_clear(&t.line);
	buf_clear(&t.said);
	drop_fd(&job->answer);
	drop_fd(&job->complaint);
	return r;
}

static int start(const struct git_run *run, int program, int null, const int answer[2],
		 const int complaint[2], struct err *e)
{
	const char *argv[ARGS_MAX] = { "ohsandbox-git" };
	pid_t me = getpid(), pid;
	unsigned n = 1;

	while (run->argv[n - 1]) {
		if (n + 1 == ARGS_MAX)
			return err_code(e, E2BIG, "too many arguments for ohsandbox-git");
		argv[n] = run->argv[n - 1];
		n++;
	}
	pid = fork();
	if (pid < 0)
		return err_errno(e, "start ohsandbox-git");
	if (pid == 0)
		child(run, (char *const *)argv, program, null, answer[1], complaint[1], me);
	return pid;
}

int git_start(const struct git_run *run, struct git_job *out, struct err *e)
{
	autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	autoclose int program = program_open("git", e);
	int a[2], c[2], pid;

	if (program < 0)
		return program;
	if (null < 0)
		return err_errno(e, "open '/dev/null'");
	if (run->n_fds > GIT_RUN_FDS_MAX)
		return err_code(e, E2BIG, "too many descriptors for ohsandbox-git");
	if (pipe2(a, O_CLOEXEC) < 0)
		return err_errno(e, "make a pipe");
	if (pipe2(c, O_CLOEXEC) < 0) {
		(void)err_errno(e, "make a pipe");
		(void)close(a[0]);
		(void)close(a[1]);
		return -e->code;
	}
	pid = start(run, program, null, a, c, e);
	(void)close(a[1]);
	(void)close(c[1]);
	*out = (struct git_job) { .run = run, .pid = pid, .answer = a[0], .complaint = c[0] };
	if (pid > 0)
		return 0;
	(void)close(a[0]);
	(void)close(c[0]);
	return pid;
}

int git_run(const struct git_run *run, struct json_doc **answer, struct err *e)
{
	struct git_job job = { .answer = -1, .complaint = -1 };

	return git_start(run, &job, e) < 0 ? -e->code : git_finish(&job, answer, e);
}

const char *git_answer_string(const struct json_doc *answer, const char *key, struct err *e)
{
	const struct json *value = json_get(json_root(answer), key);

	if (value && value->type == JSON_STRING)
		return value->string.bytes;
	(void)err_code(e, EPROTO, "answer of ohsandbox-git has no text '%s'", key);
	return NULL;
}
