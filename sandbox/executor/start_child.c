/* SPDX-License-Identifier: MIT */
/* start_child.c - what happens in a forked process before it is the workload's; see start.h. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "sandbox/executor/cage.h"
#include "sandbox/executor/helper.h"
#include "sandbox/executor/leaf.h"
#include "sandbox/executor/shed.h"
#include "sandbox/executor/start_parts.h"
#include "sandbox/executor/tree.h"
#include "sandbox/inside.h"

static void __attribute__((noreturn))
child_fail(const struct starting *c, const struct err *e, bool exec)
{
	struct report_bytes bytes = { .err = *e, .exec = exec };

	/* Init is gone if this fails, and with it the session. */
	(void)report_send(c->status, &bytes, NULL, 0);
	_exit(exec && e->code == ENOENT ? 127 : 126);
}

static int set_limit(__rlimit_resource_t what, uint64_t value, struct err *e)
{
	struct rlimit now;

	if (getrlimit(what, &now) < 0)
		return err_errno(e, "start: getrlimit");
	/* Nobody here may raise the hard limit that the host left. */
	if (value > now.rlim_max)
		value = now.rlim_max;
	if (setrlimit(what, &(struct rlimit) { .rlim_cur = value, .rlim_max = value }) < 0)
		return err_errno(e, "start: setrlimit");
	return 0;
}

static uint64_t limit_value(uint64_t value)
{
	return value == 0 || value == UINT64_MAX ? RLIM_INFINITY : value;
}

static int set_limits(const struct ctl_boot *b, struct err *e)
{
	if (b->nofile && set_limit(RLIMIT_NOFILE, b->nofile, e) < 0)
		return -e->code;
	return set_limit(RLIMIT_FSIZE, limit_value(b->fsize_bytes), e);
}

static int helper_fds(struct starting *c, struct err *e)
{
	c->io[1] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (c->io[1] < 0)
		return err_errno(e, "start: open /dev/null");
	c->io[2] = OHS_SANITIZED ? 2 : c->io[1];
	return start_io_arrange(c, e);
}

int start_become(const struct starter *s, unsigned leaf, bool as_root, struct err *e)
{
	const struct ctl_boot *b = s->boot;
	struct shed shed = {
		.userns = s->userns,
		.uid = as_root ? 0 : b->user.uid,
		.gid = as_root ? 0 : b->user.gid,
		.caps = as_root || b->user.uid == 0 ? b->root_caps : 0,
		.one_id = b->single_id,
	};

	if (leaf_enter(b, leaf, e) < 0 || shed_to_workload(&shed, e) < 0 || set_limits(b, e) < 0)
		return -e->code;
	(void)umask(022);
	return setsid() < 0 ? err_errno(e, "start: setsid") : 0;
}

static const char *env_value(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* The last that can fail but exec. The way to answer what it refuses goes to init. */
static int take_filter(const struct starting *c, struct err *e)
{
	struct report_bytes bytes = { .listener = true };
	autoclose int listener = -1;
	int ret;

	if (!(c->request->flags & CTL_START_TOLD))
		return cage_workload(c->s->filter, c->s->filter_len, e);
	if (cage_workload_told(c->s->filter, c->s->filter_len, &listener, e) < 0)
		return -e->code;
	ret = listener < 0 ? 0 : report_send(c->status, &bytes, &listener, 1);
	if (ret < 0)
		return err_code(e, -ret, "start: give the filter's listener: %s", strerror(-ret));
	return 0;
}

static void __attribute__((noreturn)) child_exec(struct starting *c)
{
	char **env = start_env(c);
	struct err e = { 0 };

	if (!env) {
		(void)err_code(&e, ENOMEM, "start: environment");
		child_fail(c, &e, false);
	}
	if (take_filter(c, &e) < 0)
		child_fail(c, &e, false);
	/* execvp looks in the PATH of `environ`; a script without "#!" goes to /bin/sh. */
	environ = env;
	if (!env_value(env, "PATH"))
		(void)putenv((char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin");
	(void)execvp(c->request->argv[0], c->request->argv);
	(void)err_errno(&e, "exec '%s'", c->request->argv[0]);
	child_fail(c, &e, true);
}

static void __attribute__((noreturn)) child_serve(struct starting *c)
{
	struct err e = { 0 };

	if (cage_workload(c->s->filter, c->s->filter_len, &e) < 0)
		child_fail(c, &e, false);
	(void)close(c->status); /* says that it serves */
	if (c->request->flags & CTL_START_VIEW)
		_exit(0); /* its work is done */
	if (c->request->flags & CTL_START_TRANSFER)
		tree_main(STDIN_FILENO);
	helper_main(STDIN_FILENO);
}

static int change_dir(const struct starting *c, struct err *e)
{
	const char *dir = c->request->cwd ? c->request->cwd : c->s->boot->workspace;

	if (chdir(dir) < 0)
		return err_errno(e, "start in '%s'", dir);
	return 0;
}

static int child_prepare(struct starting *c, struct err *e)
{
	sigset_t none;

	if (start_become(c->s, c->request->leaf, c->as_root, e) < 0 || start_io_make(c, e) < 0 ||
	    change_dir(c, e) < 0)
		return -e->code;
	(void)sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_errno(e, "start: sigprocmask");
	return c->request->flags & CTL_START_HELPER ? helper_fds(c, e) : start_io_arrange(c, e);
}

void start_child(const struct starter *s, const struct ctl_start *request, int status)
{
	struct starting c = { .s = s,
			      .request = request,
			      .status = status,
			      .as_root = request->flags & CTL_START_ROOT };
	struct err e = { 0 };

	memcpy(c.io, request->fds, sizeof(c.io));
	if (child_prepare(&c, &e) < 0)
		child_fail(&c, &e, false);
	if (request->flags & CTL_START_HELPER)
		child_serve(&c);
	child_exec(&c);
}
