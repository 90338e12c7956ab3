/* SPDX-License-Identifier: MIT */
/* A real python3, without IPython; the test stands where init does. */
#include "sandbox/executor/kernel.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "unit.h"

struct stage {
	struct loop loop;
	struct procs procs;
	struct kernel kernel;
	struct source init; /* our end of the link */
	struct source end;  /* pidfd of the Python */
	pid_t python;
	void *scratch;
	bool happened[KERNEL_FAILED + 1];
};

static void on_event(struct kernel *k, enum kernel_event event)
{
	container_of(k, struct stage, kernel)->happened[event] = true;
}

static void too_late(struct timer *timer)
{
	(void)timer;
	fail_msg("nothing happened in time");
}

/* Turn the loop until this has happened. */
static void await(struct stage *s, enum kernel_event event)
{
	struct timer end = { .fire = too_late };
	struct err e = { 0 };

	loop_arm(&s->loop, &end, loop_now() + 60000);
	while (!s->happened[event])
		assert_ok(loop_turn(&s->loop, &e));
	loop_disarm(&s->loop, &end);
	s->happened[event] = false;
}

/* The Python has ended: say so as init does. */
static void end_ready(struct source *source, uint32_t events)
{
	struct stage *s = container_of(source, struct stage, end);
	struct ctl_message m = { .kind = CTL_EXITED };
	struct err e = { 0 };
	int status;

	(void)events;
	assert_int_equal(waitpid(s->python, &status, 0), s->python);
	loop_remove(&s->loop, source);
	drop_fd(&source->fd);
	s->python = 0;
	m.exited.tag = s->kernel.proc.tag;
	m.exited.wait_status = status;
	assert_ok(ctl_send(s->init.fd, &m, &e));
}

/* It finds no IPython, whatever is installed. */
static void exec_python(struct stage *s, const int io[3], char **argv)
{
	char path[100];
	char *env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", path, NULL };

	(void)snprintf(path, sizeof(path), "PYTHONPATH=%s", ((struct scratch *)s->scratch)->path);
	(void)setsid();
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(io[fd], fd);
	environ = env;
	(void)execvp(argv[0], argv);
	_exit(127);
}

static void start(struct stage *s, const struct ctl_start *request)
{
	struct ctl_message answer = { .kind = CTL_STARTED, .started = { .tag = request->tag } };
	int in[2], out[2], err[2];
	struct err e = { 0 };

	assert_int_equal(request->flags, CTL_START_PIPES | CTL_START_SHELL | CTL_START_TOLD);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	s->python = fork();
	if (s->python == 0)
		exec_python(s, (int[]) { in[0], out[1], err[1] }, request->argv);
	s->end.fd = (int)syscall(SYS_pidfd_open, s->python, 0);
	assert_ok(loop_add(&s->loop, &s->end, &e));
	memcpy(answer.started.fds, (int[]) { out[0], err[0], in[1] }, sizeof(answer.started.fds));
	answer.started.n_fds = 3;
	assert_ok(ctl_send(s->init.fd, &answer, &e));
	for (int i = 0; i < 2; i++) {
		(void)close(in[i]);
		(void)close(out[i]);
		(void)close(err[i]);
	}
}

static void init_ready(struct source *source, uint32_t events)
{
	struct stage *s = container_of(source, struct stage, init);
	struct ctl_message m = { 0 };
	struct err e = { 0 };

	(void)events;
	assert_int_equal(ctl_receive(source->fd, &m, &e), 1);
	if (m.kind == CTL_START)
		start(s, &m.start);
	else if (m.kind == CTL_SIGNAL && s->python)
		(void)kill(m.signal.group ? -s->python : s->python, m.signal.signal);
	ctl_message_clear(&m);
}

static int hide_ipython(struct stage *s)
{
	static const char text[] = "raise ImportError\n";
	int fd;

	if (scratch_setup(&s->scratch) < 0)
		return -1;
	fd = openat(((struct scratch *)s->scratch)->dir, "IPython.py", O_WRONLY | O_CREAT, 0644);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : close(fd);
}

static int setup(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct err e = { 0 };
	int link;

	*state = s;
	if (access("/usr/bin/python3", X_OK) < 0 || !s)
		return s ? 0 : -1;
	if (hide_ipython(s) < 0 || loop_init(&s->loop, &e) < 0 ||
	    ctl_pair(&s->init.fd, &link, &e) < 0 || procs_init(&s->procs, &s->loop, link, &e) < 0)
		return -1;
	s->init.events = s->end.events = EPOLLIN;
	s->init.ready = init_ready;
	s->end.fd = -1;
	s->end.ready = end_ready;
	kernel_init(&s->kernel, &s->procs, on_event);
	if (loop_add(&s->loop, &s->init, &e) < 0 || kernel_start(&s->kernel, &e) < 0)
		return -1;
	await(s, KERNEL_UP);
	return 0;
}

static int teardown(void **state)
{
	struct stage *s = *state;
	struct observation o = { .kind = OBSERVED_IPYTHON };

	if (!s->scratch) {
		free(s);
		return 0;
	}
	if (s->python) {
		(void)kill(-s->python, SIGKILL);
		(void)waitpid(s->python, NULL, 0);
		(void)close(s->end.fd);
	}
	kernel_stop(&s->kernel);
	(void)kernel_take(&s->kernel, &o);
	observation_clear(&o);
	free(s->kernel.python);
	(void)close(s->procs.link.fd);
	(void)close(s->init.fd);
	(void)close(s->loop.epoll);
	(void)scratch_teardown(&s->scratch);
	free(s);
	return 0;
}

/* The stage, or the test is skipped. */
static struct stage *stage(void **state)
{
	struct stage *s = *state;

	if (!s->scratch) {
		print_message("skip: needs /usr/bin/python3\n");
		skip();
	}
	return s;
}

static void begins_in(struct stage *s, const char *cwd, const char *first, const char *code)
{
	struct kernel_cell cell = { .cwd = cwd,
				    .first = { first, strlen(first) },
				    .code = { code, strlen(code) } };

	kernel_run(&s->kernel, &cell);
}

static void begins(struct stage *s, const char *code)
{
	begins_in(s, "", "", code);
}

static void shows(struct stage *s, const char *want)
{
	struct observation o = { .kind = OBSERVED_IPYTHON };

	(void)kernel_take(&s->kernel, &o);
	assert_string_equal(buf_str(&o.content), want);
	observation_clear(&o);
}

static void runs(struct stage *s, const char *code, const char *want)
{
	begins(s, code);
	await(s, KERNEL_DONE);
	shows(s, want);
}

static void names_and_environment_live_on(void **state)
{
	struct stage *s = stage(state);

	runs(s, "import os\nx = 6\nos.environ['A'] = 'b'", "");
	runs(s, "x * 7", "42");
	runs(s, "_ + 1;", "");
	runs(s, "def f():\n    return x, os.environ['A']\nf()", "(6, 'b')");
	runs(s, "!echo $A", "b");
	assert_string_equal(s->kernel.python, "/usr/bin/python3");
}

static void text_stays_in_order_whoever_prints_it(void **state)
{
	struct stage *s = stage(state);

	for (int i = 0; i < 20; i++)
		runs(s,
		     "import os, subprocess, sys, threading\n"
		     "print('a', end=''); sys.stderr.write('b'); os.system('echo c'); os.write(2, b'd')\n"
		     "subprocess.run(['echo', 'e'])\n"
		     "t = threading.Thread(target=print, args='f'); t.start(); t.join()\n"
		     "display('g'); print('h')",
		     "abc\nde\nf\n'g'\nh");
}

static void an_error_is_shown_as_a_kernel_shows_it(void **state)
{
	static const char rule[] = "---------------------------------------"
				   "------------------------------------\n";
	struct stage *s = stage(state);
	struct buf want = { 0 };

	runs(s, "def f(a):\n    b = 0\n    return a / b", "");
	buf_puts(&want, rule);
	buf_puts(&want,
		 "ZeroDivisionError                         Traceback (most recent call last)\n"
		 "Cell In[2], line 2\n"
		 "      1 x = 1\n"
		 "----> 2 f(x)\n"
		 "\n"
		 "Cell In[1], line 3, in f(a)\n"
		 "      1 def f(a):\n"
		 "      2     b = 0\n"
		 "----> 3     return a / b\n"
		 "\n"
		 "ZeroDivisionError: division by zero");
	runs(s, "x = 1\nf(x)", buf_str(&want));
	buf_clear(&want);
	runs(s, "1 +", "  Cell In[3], line 1\n    1 +\n       ^\nSyntaxError: invalid syntax");
}

static bool takes(struct stage *s, const char *code, const char *part)
{
	struct observation o = { .kind = OBSERVED_IPYTHON };
	bool found;

	begins(s, code);
	await(s, KERNEL_DONE);
	(void)kernel_take(&s->kernel, &o);
	found = strstr(buf_str(&o.content), part);
	if (!found)
		print_error("'%s' does not say '%s'\n", buf_str(&o.content), part);
	observation_clear(&o);
	return found;
}

static void whatever_a_cell_raises_the_next_one_runs(void **state)
{
	static const char *const codes[][2] = {
		{ "raise ValueError('x') from KeyError('k')", "direct cause of the following" },
		{ "import sys\nsys.exit(3)", "SystemExit: 3" },
		{ "def f(n): return f(n + 1)\nf(0)", "RecursionError: maximum recursion depth" },
		{ "raise KeyboardInterrupt", "KeyboardInterrupt" },
		{ "'\\0' +", "SyntaxError" },
		{ "input('name? ')", "StdinNotImplementedError: raw_input was called" },
		{ "class E(BaseException):\n    def __str__(self): raise E\nraise E", "E" },
		{ "x = '\xc3\xa4'\n1/0", "ZeroDivisionError" },
	};
	struct stage *s = stage(state);

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		assert_true(takes(s, codes[i][0], codes[i][1]));
		runs(s, "'well'", "'well'");
	}
}

static void lines_that_are_no_python_are_run_and_python_is_left_alone(void **state)
{
	struct stage *s = stage(state);

	runs(s, "for i in 1, 2:\n    !echo $((1 + 1)) \\\n  more", "2 more\n2 more");
	runs(s, "!exit 3\n_exit_code", "3");
	runs(s, "%cd /usr\n%matplotlib inline\nimport os\nos.getcwd()", "/usr\n'/usr'");
	runs(s, "cd = 3\nx = (10\n%cd)\nx", "1");
	runs(s, "print(\"\"\"\n!echo no\n\"\"\")", "\n!echo no");
	runs(s, "import asyncio\nawait asyncio.sleep(0, 'done')", "'done'");
}

static void it_goes_where_it_is_told(void **state)
{
	struct stage *s = stage(state);

	begins_in(s, "/usr", "import os\nfirst = 1", "os.getcwd(), first");
	await(s, KERNEL_DONE);
	shows(s, "('/usr', 1)");
	runs(s, "os.chdir('/tmp')", "");
	runs(s, "os.getcwd()", "'/tmp'");
	begins_in(s, "/no/such", "", "os.getcwd()");
	await(s, KERNEL_DONE);
	shows(s,
	      "[The directory of the shell cannot be entered: [Errno 2] No such file or directory: "
	      "b'/no/such']\n'/tmp'");
}

static void images_come_beside_the_text(void **state)
{
	struct stage *s = stage(state);
	struct observation o = { .kind = OBSERVED_IPYTHON };

	begins(s, "class P:\n    def __repr__(self): return '<P>'\n"
		  "    def _repr_png_(self): return b'\\x89PNG'\n"
		  "display(P())\nP()");
	await(s, KERNEL_DONE);
	assert_true(kernel_take(&s->kernel, &o));
	assert_string_equal(buf_str(&o.content), "<P>\n<P>");
	assert_int_equal(o.n_images, 2);
	assert_int_equal(o.images[1].len, 4);
	assert_memory_equal(o.images[1].data, "\x89PNG", 4);
	observation_clear(&o);
	assert_false(kernel_take(&s->kernel, &o));
	observation_clear(&o);
}

static void images_are_bounded_in_number_and_size(void **state)
{
	struct stage *s = stage(state);
	struct observation o = { .kind = OBSERVED_IPYTHON };

	begins(s, "class P:\n    def __init__(self, n): self.n = n\n"
		  "    def __repr__(self): return 'P'\n"
		  "    def _repr_png_(self): return b'x' * self.n\n"
		  "display(P((8 << 20) + 1))\n"
		  "for i in range(3): display(P(3 << 20))\n"
		  "for i in range(100): display(P(9))");
	await(s, KERNEL_DONE);
	(void)kernel_take(&s->kernel, &o);
	assert_non_null(strstr(o.content.data, "[An image of 8388609 bytes is not shown: "));
	assert_non_null(strstr(o.content.data, "[71 more images are not shown: "));
	assert_int_equal(o.n_images, OBSERVED_IMAGES);
	observation_clear(&o);
	begins(s, "display(P(8 << 20))");
	await(s, KERNEL_DONE);
	(void)kernel_take(&s->kernel, &o);
	assert_int_equal(o.images[0].len, 8 << 20);
	observation_clear(&o);
}

static void an_interrupt_ends_the_cell_and_what_it_then_says_is_not_kept(void **state)
{
	static const char *const codes[] = {
		"print('begun')\nimport time\ntime.sleep(1000)",
		"print('begun')\nwhile True: pass",
		"print('begun')\n!sleep 1000",
		"print('begun')\nimport subprocess\nsubprocess.run(['sleep', '1000'])",
		"print('begun')\nimport threading\nthreading.Event().wait()",
	};
	struct stage *s = stage(state);

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct err e = { 0 };

		begins(s, codes[i]);
		while (cell_text_empty(&s->kernel.text))
			assert_ok(loop_turn(&s->loop, &e));
		kernel_interrupt(&s->kernel);
		await(s, KERNEL_DONE);
		shows(s, "begun");
		runs(s, "'well'", "'well'");
	}
}

/* Nobody could tell whether it comes before or after the end of its own cell. */
static void a_late_interrupt_does_not_end_the_next_cell(void **state)
{
	struct stage *s = stage(state);
	struct observation o = { .kind = OBSERVED_IPYTHON };

	for (int i = 0; i < 50; i++) {
		begins(s, "1");
		kernel_interrupt(&s->kernel);
		await(s, KERNEL_DONE);
		(void)kernel_take(&s->kernel, &o);
		observation_clear(&o);
		runs(s, "import time\ntime.sleep(0.002)\n'well'", "'well'");
	}
}

static void an_end_is_told_with_what_was_said_before(void **state)
{
	struct stage *s = stage(state);

	begins(s, "import os\nprint('last words')\nos._exit(7)");
	await(s, KERNEL_ENDED);
	shows(s, "last words");
	assert_int_equal(WEXITSTATUS(s->kernel.wait_status), 7);
	assert_false(s->kernel.broken);
	assert_int_equal(s->kernel.state, KERNEL_NONE);
}

static void exit_ends_it_and_a_new_one_can_be_started(void **state)
{
	struct stage *s = stage(state);
	struct err e = { 0 };

	begins(s, "x = 1\nexit()");
	await(s, KERNEL_ENDED);
	assert_int_equal(s->kernel.wait_status, 0);
	assert_ok(kernel_start(&s->kernel, &e));
	await(s, KERNEL_UP);
	assert_true(takes(s, "x", "NameError: name 'x' is not defined"));
}

#define CHANNEL                                                                             \
	"import os, stat\n"                                                                 \
	"channel = [n for n in range(3, 50) if os.path.exists('/proc/self/fd/' + str(n))\n" \
	"           and stat.S_ISSOCK(os.fstat(n).st_mode)][0]\n"

static void a_garbled_or_closed_channel_ends_it(void **state)
{
	static const char *const codes[] = {
		CHANNEL "os.write(channel, b'nonsense')\nimport time\ntime.sleep(1000)",
		CHANNEL "os.write(channel, b'i\\xff\\xff\\xff\\xff')\nwhile True: pass",
		CHANNEL "os.close(channel)\nimport time\ntime.sleep(1000)",
		CHANNEL "os.write(channel, b'd\\0\\0\\0\\4' + b'\\0' * 4 + b'?')\nwhile True: pass",
	};
	struct stage *s = stage(state);

	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		struct err e = { 0 };

		begins(s, codes[i]);
		await(s, KERNEL_ENDED);
		assert_true(s->kernel.broken);
		assert_int_equal(WTERMSIG(s->kernel.wait_status), SIGKILL);
		assert_ok(kernel_start(&s->kernel, &e));
		await(s, KERNEL_UP);
		runs(s, "'well'", "'well'");
	}
}

/* It still speaks, but hears no more: that is seen when it is told the next thing. */
static void a_channel_that_is_closed_one_way_is_lost_too(void **state)
{
	struct stage *s = stage(state);

	runs(s, CHANNEL "import socket\nsocket.socket(fileno=os.dup(channel)).shutdown(0)", "");
	begins(s, "'nobody hears this'");
	await(s, KERNEL_ENDED);
	assert_true(s->kernel.state == KERNEL_NONE);
	shows(s, "");
}

static void a_forged_end_deceives_its_own_cell_alone(void **state)
{
	struct stage *s = stage(state);
	char code[400];

	(void)snprintf(code, sizeof(code),
		       CHANNEL "os.write(channel, b'd\\0\\0\\0\\4' + (%u).to_bytes(4, 'big'));\n",
		       s->kernel.sequence + 1);
	runs(s, code, "");
	runs(s, "'well'", "'well'");
	/* Ends of other cells, and more of them than fit anywhere. */
	runs(s,
	     CHANNEL "for i in range(20000): os.write(channel, b'd\\0\\0\\0\\4\\0\\0\\0\\0' * 10)",
	     "");
	runs(s, "'well'", "'well'");
}

static void of_much_text_no_more_is_held_than_may_be(void **state)
{
	struct stage *s = stage(state);
	struct observation o = { .kind = OBSERVED_IPYTHON };

	begins(s, "print('first')\nfor i in range(300): print('x' * 100000)\nprint('last')");
	await(s, KERNEL_DONE);
	(void)kernel_take(&s->kernel, &o);
	assert_true(o.content.len < CELL_HEAD_BYTES + CELL_TAIL_BYTES + 100);
	assert_memory_equal(o.content.data, "first\n", 6);
	assert_string_equal(o.content.data + o.content.len - 4, "last");
	observation_clear(&o);
}

/* A process that writes for ever must not keep the cell from being answered. */
static void who_prints_for_ever_is_cut_short(void **state)
{
	struct stage *s = stage(state);
	struct observation o = { .kind = OBSERVED_IPYTHON };

	begins(s, "import subprocess\np = subprocess.Popen(['yes'])");
	await(s, KERNEL_DONE);
	(void)kernel_take(&s->kernel, &o);
	observation_clear(&o);
	assert_true(takes(s, "p.kill()\np.wait()\nprint('gone')", "gone"));
}

static void a_fork_that_the_cell_lets_run_on_is_no_second_kernel(void **state)
{
	struct stage *s = stage(state);

	runs(s, "import os\nif os.fork(): os.wait(); print('parent')\nelse: print('child')",
	     "child\nparent");
	runs(s, "'well'", "'well'");
}

static void what_a_cell_closes_is_open_again_in_the_next(void **state)
{
	struct stage *s = stage(state);

	assert_true(takes(s, "import sys\nsys.stdout.close()\n1/0", "ZeroDivisionError"));
	runs(s, "6 * 7", "42");
	runs(s, "import os\nos.closerange(1, 3);", "");
	runs(s, "print(6 * 7); sys.stderr.write('x\\n');", "42\nx");
	runs(s, "sys.stdout = None", "");
	runs(s, "print(6 * 7)", "42");
}

/* Answer the next START: the program is not there. Returns its name. */
static char *has_none(struct stage *s)
{
	struct ctl_message m = { .kind = CTL_FAILED,
				 .failed = { .code = ENOENT, .exec = true, .text = "no such" } };
	struct ctl_message asked = { 0 };
	struct err e = { 0 };
	char *name;

	do {
		ctl_message_clear(&asked);
		assert_int_equal(ctl_receive(s->init.fd, &asked, &e), 1);
	} while (asked.kind != CTL_START);
	name = strdup(asked.start.argv[0]);
	m.failed.tag = asked.start.tag;
	ctl_message_clear(&asked);
	assert_ok(ctl_send(s->init.fd, &m, &e));
	return name;
}

static void without_a_python_that_is_what_is_told(void **state)
{
	struct stage *s = stage(state);
	struct err e = { 0 };
	char *name[2];

	kernel_stop(&s->kernel);
	loop_remove(&s->loop, &s->init);
	assert_ok(kernel_start(&s->kernel, &e));
	name[0] = has_none(s);
	while (s->kernel.name == 0)
		assert_ok(loop_turn(&s->loop, &e));
	name[1] = has_none(s);
	await(s, KERNEL_FAILED);
	assert_string_equal(name[0], "python3");
	assert_string_equal(name[1], "python");
	assert_int_equal(s->kernel.failure.code, ENOENT);
	free(name[0]);
	free(name[1]);
}

int main(void)
{
#define kernel_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		kernel_test(names_and_environment_live_on),
		kernel_test(text_stays_in_order_whoever_prints_it),
		kernel_test(an_error_is_shown_as_a_kernel_shows_it),
		kernel_test(whatever_a_cell_raises_the_next_one_runs),
		kernel_test(lines_that_are_no_python_are_run_and_python_is_left_alone),
		kernel_test(it_goes_where_it_is_told),
		kernel_test(images_come_beside_the_text),
		kernel_test(images_are_bounded_in_number_and_size),
		kernel_test(an_interrupt_ends_the_cell_and_what_it_then_says_is_not_kept),
		kernel_test(a_late_interrupt_does_not_end_the_next_cell),
		kernel_test(an_end_is_told_with_what_was_said_before),
		kernel_test(exit_ends_it_and_a_new_one_can_be_started),
		kernel_test(a_garbled_or_closed_channel_ends_it),
		kernel_test(a_channel_that_is_closed_one_way_is_lost_too),
		kernel_test(a_forged_end_deceives_its_own_cell_alone),
		kernel_test(of_much_text_no_more_is_held_than_may_be),
		kernel_test(who_prints_for_ever_is_cut_short),
		kernel_test(a_fork_that_the_cell_lets_run_on_is_no_second_kernel),
		kernel_test(what_a_cell_closes_is_open_again_in_the_next),
		kernel_test(without_a_python_that_is_what_is_told),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as the server does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
