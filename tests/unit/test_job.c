/* SPDX-License-Identifier: MIT */
/* test_job.c - processes that do the daemon's work: what they say, how they end, and what they hold. */
#include "api/job.h"

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/io.h"

#define MANY 300

struct outcome {
	unsigned done, idle, at_once, most; /* how often each, and how many at once */
	struct err first, error;	    /* of the first one, and of the last */
	char output[64];
	size_t length;
	char id[13];
	struct jobs jobs;
	struct loop loop;
};

static int outcome_setup(void **state)
{
	struct outcome *o = calloc(1, sizeof(*o));
	struct err e = { 0 };

	if (!o || loop_init(&o->loop, &e) < 0)
		return -1;
	jobs_init(&o->jobs, &o->loop, 4);
	*state = o;
	return 0;
}

static int outcome_teardown(void **state)
{
	struct outcome *o = *state;
	int children = waitpid(-1, NULL, WNOHANG);

	(void)close(o->loop.epoll);
	free(o);
	return children < 0 && errno == ECHILD ? 0 : -1; /* none is left, dead or alive */
}

#define outcome_test(f) cmocka_unit_test_setup_teardown(f, outcome_setup, outcome_teardown)

static void note(struct job *j)
{
	struct outcome *o = j->arg;

	assert_int_equal(j->pid, 0); /* nobody ends what may be another's by now */
	o->error = j->result->error;
	if (!o->done++)
		o->first = o->error;
	o->length = j->output.len;
	(void)snprintf(o->output, sizeof(o->output), "%s", buf_str(&j->output));
	memcpy(o->id, j->result->id, sizeof(o->id));
	if (o->jobs.running + 1 > o->most)
		o->most = o->jobs.running + 1;
}

static struct job *job_of(struct outcome *o,
			  int (*run)(struct job *, int, const int *, struct err *))
{
	struct job *j = job_new(run, note, o);

	assert_non_null(j);
	return j;
}

static void until(struct outcome *o, unsigned done)
{
	struct err e = { 0 };

	while (o->done < done)
		assert_ok(loop_turn(&o->loop, &e));
}

static int say_hello(struct job *j, int out, const int *fds, struct err *e)
{
	(void)fds;
	memcpy(j->result->id, "0123456789ab", 13);
	return io_write_all(out, "hello", 5, e);
}

static void output_and_result_come_back(void **state)
{
	struct outcome *o = *state;

	job_start(&o->jobs, job_of(o, say_hello));
	assert_int_equal(o->done, 0); /* never from within */
	until(o, 1);
	assert_string_equal(o->output, "hello");
	assert_string_equal(o->id, "0123456789ab");
	assert_int_equal(o->error.code, 0);
	assert_int_equal(o->jobs.running, 0);
}

static int say_much(struct job *j, int out, const int *fds, struct err *e)
{
	static char piece[1 << 20];

	(void)j;
	(void)fds;
	for (int i = 0; i < 8; i++)
		if (io_write_all(out, piece, sizeof(piece), e) < 0)
			return -e->code;
	return 0;
}

static void more_than_a_pipe_holds_comes_back(void **state)
{
	struct outcome *o = *state;

	job_start(&o->jobs, job_of(o, say_much));
	until(o, 1);
	assert_int_equal(o->length, 8 << 20);
	assert_int_equal(o->error.code, 0);
}

static int refuse(struct job *j, int out, const int *fds, struct err *e)
{
	(void)j;
	(void)out;
	(void)fds;
	return err_code(e, ENOSPC, "no room for %d", 7);
}

static void error_of_a_job_is_its_own(void **state)
{
	struct outcome *o = *state;

	job_start(&o->jobs, job_of(o, refuse));
	until(o, 1);
	assert_int_equal(o->error.code, ENOSPC);
	assert_string_equal(o->error.text, "no room for 7");
}

static int crash(struct job *j, int out, const int *fds, struct err *e)
{
	(void)fds;
	(void)j;
	(void)!write(out, "so far", 6);
	(void)kill(getpid(), SIGKILL);
	return err_code(e, EINVAL, "never said");
}

static int leave(struct job *j, int out, const int *fds, struct err *e)
{
	(void)j;
	(void)out;
	(void)fds;
	(void)e;
	_exit(3);
}

static void death_is_told_with_its_signal_or_status(void **state)
{
	struct outcome *o = *state;

	job_start(&o->jobs, job_of(o, crash));
	until(o, 1);
	assert_int_equal(o->error.code, EIO);
	assert_string_equal(o->error.text, "the process that was at it died of signal 9");
	assert_string_equal(o->output, "so far");
	job_start(&o->jobs, job_of(o, leave));
	until(o, 2);
	assert_int_equal(o->error.code, EIO);
	assert_string_equal(o->error.text, "the process that was at it ended with 3");
}

static int wait_for_ever(struct job *j, int out, const int *fds, struct err *e)
{
	(void)j;
	(void)fds;
	(void)!write(out, "x", 1);
	for (;;)
		(void)pause();
	return err_code(e, EINVAL, "never said");
}

static void cancelled_job_ends_and_one_that_waits_is_never_begun(void **state)
{
	struct outcome *o = *state;
	struct job *at_work = job_of(o, wait_for_ever), *waits = job_of(o, say_hello);

	o->jobs.max = 1;
	job_start(&o->jobs, at_work);
	job_start(&o->jobs, waits);
	assert_int_equal(waits->pid, 0);
	job_cancel(waits);
	job_cancel(at_work);
	until(o, 2);
	assert_int_equal(o->first.code, EIO);
	assert_string_equal(o->first.text, "the process that was at it died of signal 15");
	assert_int_equal(o->error.code, ECANCELED);
	assert_string_equal(o->output, "");
}

static int say_for_ever(struct job *j, int out, const int *fds, struct err *e)
{
	static const char piece[65536];

	(void)j;
	(void)fds;
	while (io_write_all(out, piece, sizeof(piece), e) == 0)
		;
	return -e->code;
}

static void one_that_says_more_than_is_kept_is_ended(void **state)
{
	struct outcome *o = *state;
	struct job *endless = job_of(o, say_for_ever);

	endless->output.limit = 1 << 20;
	job_start(&o->jobs, endless);
	until(o, 1);
	assert_string_equal(o->error.text, "the process that was at it died of signal 15");
	assert_true(o->length <= 1 << 20);
}

static void what_could_not_be_begun_is_no_process_to_cancel(void **state)
{
	struct outcome *o = *state;
	struct job *j = job_of(o, wait_for_ever);
	struct rlimit was, few;
	int next = dup(STDIN_FILENO);

	assert_true(next >= 0);
	(void)close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = (rlim_t)next + 2; /* its pipe, and nothing that tells of its end */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	job_start(&o->jobs, j);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(j->pid, 0);
	assert_int_equal(j->result->error.code, EMFILE);
	job_cancel(j);
	until(o, 1);
	assert_int_equal(o->error.code, ECANCELED);
}

static void hundreds_at_once_are_done_a_few_at_a_time(void **state)
{
	struct outcome *o = *state;

	for (int i = 0; i < MANY; i++)
		job_start(&o->jobs, job_of(o, say_hello));
	until(o, MANY);
	assert_int_equal(o->most, 4);
	assert_int_equal(o->error.code, 0);
	assert_int_equal(o->jobs.running, 0);
	assert_null(o->jobs.first);
	assert_null(o->jobs.waiting);
}

/* Says each number that is open, but for the standard ones. */
static int say_descriptors(struct job *j, int out, const int *fds, struct err *e)
{
	autobuf struct buf text = { 0 };

	(void)j;
	for (int fd = STDERR_FILENO + 1; fd < 200; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			buf_printf(&text, "%d%s ", fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? "" : "!");
	buf_printf(&text, "%d %d", fds[0], fds[1]);
	return io_write_all(out, buf_str(&text), text.len, e);
}

static void nothing_of_the_daemons_is_open_in_a_job(void **state)
{
	struct outcome *o = *state;
	autoclose int listener = open("/dev/null", O_RDONLY | O_CLOEXEC);
	autoclose int given = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct job *j = job_of(o, say_descriptors);

	assert_true(listener >= 0 && given >= 0);
	j->fds[1] = given;
	job_start(&o->jobs, j);
	until(o, 1);
	assert_string_equal(o->output, "3 5 -1 5");
	assert_true(fcntl(given, F_GETFD) >= 0); /* it is still the daemon's */
}

static int say_signals(struct job *j, int out, const int *fds, struct err *e)
{
	sigset_t blocked;

	(void)j;
	(void)fds;
	(void)sigprocmask(SIG_BLOCK, NULL, &blocked);
	return io_write_all(out, sigismember(&blocked, SIGTERM) ? "blocked" : "open", 4, e);
}

/* The daemon reads them from a descriptor; a job must be ended by one. */
static void signals_have_their_course_in_a_job(void **state)
{
	struct outcome *o = *state;
	sigset_t set, before;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
	job_start(&o->jobs, job_of(o, say_signals));
	until(o, 1);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	assert_string_equal(o->output, "open");
}

static void count_idle(struct jobs *js)
{
	container_of(js, struct outcome, jobs)->idle++;
}

static void end_of_the_last_one_is_told(void **state)
{
	struct outcome *o = *state;

	o->jobs.idle = count_idle;
	o->jobs.max = 2;
	for (int i = 0; i < 5; i++)
		job_start(&o->jobs, job_of(o, say_hello));
	until(o, 5);
	assert_int_equal(o->idle, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		outcome_test(output_and_result_come_back),
		outcome_test(more_than_a_pipe_holds_comes_back),
		outcome_test(error_of_a_job_is_its_own),
		outcome_test(death_is_told_with_its_signal_or_status),
		outcome_test(cancelled_job_ends_and_one_that_waits_is_never_begun),
		outcome_test(one_that_says_more_than_is_kept_is_ended),
		outcome_test(what_could_not_be_begun_is_no_process_to_cancel),
		outcome_test(hundreds_at_once_are_done_a_few_at_a_time),
		outcome_test(nothing_of_the_daemons_is_open_in_a_job),
		outcome_test(signals_have_their_course_in_a_job),
		outcome_test(end_of_the_last_one_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
