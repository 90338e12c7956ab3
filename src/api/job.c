/* SPDX-License-Identifier: MIT */
/* job.c - see job.h. */
#include "api/job.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define OUT_FD 3
#define FIRST_FD 4

static void finish_unborn(struct timer *timer);

void jobs_init(struct jobs *js, struct loop *loop, unsigned max)
{
	*js = (struct jobs) { .loop = loop, .max = max, .soon.fire = finish_unborn };
	js->last = &js->waiting;
}

struct job *job_new(int (*run)(struct job *, int, const int *, struct err *),
		    void (*done)(struct job *), void *arg)
{
	struct job *j = calloc(1, sizeof(*j));
	void *shared = mmap(NULL, sizeof(*j->result), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!j || shared == MAP_FAILED) {
		if (shared != MAP_FAILED)
			(void)munmap(shared, sizeof(*j->result));
		free(j);
		return NULL;
	}
	j->run = run;
	j->done = done;
	j->arg = arg;
	j->fds[0] = j->fds[1] = -1;
	j->result = shared;
	j->from.fd = j->end.fd = -1;
	j->output.limit = JOB_OUTPUT_MAX;
	return j;
}

static void job_free(struct job *j)
{
	loop_remove(j->all->loop, &j->from);
	loop_remove(j->all->loop, &j->end);
	drop_fd(&j->from.fd);
	drop_fd(&j->end.fd);
	buf_clear(&j->output);
	(void)munmap(j->result, sizeof(*j->result)); /* our own mapping */
	free(j);
}

/* --- in the child ---------------------------------------------------------------------------- */

/* Signals as a command would find them: those that the daemon reads from a descriptor are back in
 * their course. */
static void own_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN); /* a terminal's goes to the daemon, which decides */
}

/* Connections and listeners of the daemon's must not live on in here. */
static int own_descriptors(struct job *j, int out, struct err *e)
{
	int high[JOB_FDS_MAX + 1] = { -1, -1, -1 };
	const int from[JOB_FDS_MAX + 1] = { out, j->fds[0], j->fds[1] };

	/* Out of the way first: one may stand where another has to go. */
	for (int i = 0; i <= JOB_FDS_MAX; i++) {
		if (from[i] < 0)
			continue;
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64);
		if (high[i] < 0)
			return err_errno(e, "job: descriptor");
	}
	for (int i = 0; i <= JOB_FDS_MAX; i++) {
		if (high[i] < 0)
			(void)close(OUT_FD + i); /* the daemon's, if anything stands there */
		else if (dup3(high[i], OUT_FD + i, O_CLOEXEC) < 0)
			return err_errno(e, "job: descriptor");
	}
	for (int i = 0; i < JOB_FDS_MAX; i++)
		j->fds[i] = j->fds[i] < 0 ? -1 : FIRST_FD + i;
	if (syscall(SYS_close_range, FIRST_FD + JOB_FDS_MAX, ~0u, 0) < 0)
		return err_errno(e, "job: close what is the daemon's");
	return 0;
}

_Noreturn static void child(struct job *j, int out)
{
	struct err e = { 0 };

	own_signals();
	if (j->all->begun)
		j->all->begun(j->all);
	if (own_descriptors(j, out, &e) == 0 && j->run(j, OUT_FD, j->fds, &e) == 0)
		e.code = 0;
	j->result->error = e;
	j->result->done = true;
	/* Not exit(): what the daemon has set up to run at its end is the daemon's. */
	_exit(0);
}

/* --- in the daemon --------------------------------------------------------------------------- */

static void launch_waiting(struct jobs *js);

static void finish(struct job *j)
{
	struct jobs *js = j->all;
	struct job **at = &js->first;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	js->running--;
	j->result->wall_us = clock_us() - j->began_us;
	j->done(j);
	job_free(j);
	launch_waiting(js);
	if (!js->running && js->idle)
		js->idle(js);
}

/* Take a piece. At its end the pipe is closed: a hang-up cannot be left unheard. Returns whether there
 * may be more. */
static bool take_piece(struct job *j)
{
	char piece[65536];
	ssize_t n = j->from.fd < 0 ? 0 : read(j->from.fd, piece, sizeof(piece));

	if (n > 0)
		buf_add(&j->output, piece, (size_t)n);
	if (n != 0)
		return n > 0 || errno == EINTR;
	loop_remove(j->all->loop, &j->from);
	drop_fd(&j->from.fd);
	return false;
}

/* One piece a turn: others wait, and one that says more than anybody keeps could go on for ever. */
static void from_ready(struct source *source, uint32_t events)
{
	struct job *j = container_of(source, struct job, from);

	(void)events;
	(void)take_piece(j); /* what is left is told again */
	if (j->output.failed)
		job_cancel(j);
}

static void end_ready(struct source *source, uint32_t events)
{
	struct job *j = container_of(source, struct job, end);
	int status = 0;

	(void)events;
	if (waitpid(j->pid, &status, WNOHANG) == 0)
		return;
	j->pid = 0; /* it may be another's from now on */
	while (take_piece(j))
		;
	if (!j->result->done || status != 0)
		(void)err_code(&j->result->error, EIO,
			       WIFSIGNALED(status) ? "the process that was at it died of signal %d"
						   : "the process that was at it ended with %d",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	finish(j);
}

static int watch(struct job *j, struct err *e)
{
	struct loop *l = j->all->loop;

	j->from.events = j->end.events = EPOLLIN;
	j->from.ready = from_ready;
	j->end.ready = end_ready;
	j->end.fd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	if (j->end.fd < 0)
		return err_errno(e, "job: pidfd");
	if (loop_add(l, &j->from, e) < 0)
		return -e->code;
	return loop_add(l, &j->end, e);
}

static int launch(struct job *j, struct err *e)
{
	autoclose int out = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(e, "job: pipe");
	j->from.fd = ends[0];
	out = ends[1];
	/* The child writes as programs do: it waits. */
	if (fcntl(out, F_SETFL, O_WRONLY) < 0)
		return err_errno(e, "job: pipe");
	j->pid = fork();
	if (j->pid < 0) {
		j->pid = 0; /* to kill -1 is to kill everybody */
		return err_errno(e, "job: fork");
	}
	if (j->pid == 0)
		child(j, out);
	if (watch(j, e) == 0)
		return 0;
	(void)kill(j->pid, SIGKILL); /* nobody could hear of its end */
	(void)waitpid(j->pid, NULL, 0);
	j->pid = 0;
	return -e->code;
}

/* Those that could not be begun: in the loop's own time, as done() is never called from within
 * job_start(). */
static void finish_unborn(struct timer *timer)
{
	struct jobs *js = container_of(timer, struct jobs, soon);
	struct job *j, *next;

	for (j = js->first; j; j = next) {
		next = j->next;
		if (j->unborn) {
			finish(j);
			next = js->first; /* whoever heard of it may have begun others */
		}
	}
}

static void launch_waiting(struct jobs *js)
{
	while (js->waiting && js->running < js->max) {
		struct job *j = js->waiting;

		js->waiting = j->next;
		if (!js->waiting)
			js->last = &js->waiting;
		j->began_us = clock_us();
		j->next = js->first;
		js->first = j;
		js->running++;
		if (j->result->error.code || launch(j, &j->result->error) < 0) {
			j->unborn = true;
			loop_arm(js->loop, &js->soon, loop_now());
		}
	}
}

void job_start(struct jobs *js, struct job *j)
{
	j->all = js;
	j->next = NULL;
	*js->last = j;
	js->last = &j->next;
	launch_waiting(js);
}

void job_cancel(struct job *j)
{
	if (j->pid)
		(void)kill(j->pid, SIGTERM); /* it may have ended by itself */
	else
		(void)err_code(&j->result->error, ECANCELED, "cancelled");
}
