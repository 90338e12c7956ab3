/* SPDX-License-Identifier: MIT */
/* serve.c - see serve.h. The daemon holds no state of its own: it may be killed and begun again at any
 * time, and finds what there is by the records. */
#include "api/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/access.h"
#include "api/call.h"
#include "api/events.h"
#include "api/notify.h"
#include "api/reclaim.h"
#include "api/reply.h"
#include "api/runtimes.h"
#include "api/tidy.h"
#include "base/log.h"
#include "base/str.h"
#include "launch/ask_daemon.h"
#include "launch/lifecycle.h"
#include "plan/strv.h"
#include "session/session.h"

#define LOCK_FILE "serve.lock"
#define LOCK_TRIES 20
#define LOCK_TURN_MS 50
#define CHORES_MS 1000
#define COMMANDS_MAX 16 /* that ask at once */
#define JOBS_MAX 64	/* at once: starts, stops and the like */
#define WAITS_MAX 1024

/* --- what it serves by ----------------------------------------------------------------------- */

static int override(char **to, const char *value, struct err *e)
{
	if (!value)
		return 0;
	free(*to);
	*to = str_dup(value, e);
	return *to ? 0 : -e->code;
}

static int configure(const struct serve_options *o, struct config **out, struct err *e)
{
	struct config *c = NULL;
	int result = o->config ? config_load(o->config, &c, e) : config_new(&c, e);

	if (result < 0)
		return result;
	if (o->listen) {
		strv_free(take_ptr(&c->listen));
		result = strv_extend(&c->listen, o->listen, e);
	}
	if (result == 0)
		result = override(&c->socket, o->socket, e);
	if (result == 0)
		result = override(&c->key_file, o->key_file, e);
	if (result == 0)
		result = override(&c->advertise, o->advertise, e);
	if (result == 0 && o->repositories)
		result = strv_extend(&c->repositories, o->repositories, e);
	if (o->has_drain)
		c->drain_ms = o->drain_ms;
	c->log_json |= o->log_json;
	if (result < 0) {
		config_free(c);
		return result;
	}
	*out = c;
	return 0;
}

/* What it would be refused for at its beginning. */
static int check_access(const struct config *c, bool insecure, struct err *e)
{
	autofree char *state_path = NULL;

	for (char *const *where = c->listen; where && *where; where++)
		if (access_check_listen(*where, insecure, e) < 0)
			return -e->code;
	if ((c->socket && access_check_socket(c->socket, e) < 0) ||
	    state_default_path(&state_path, e) < 0)
		return -e->code;
	return access_check_key(state_path, c->key_file, e);
}

int serve_check(const struct serve_options *o, struct err *e)
{
	struct config *c = NULL;
	int result = configure(o, &c, e);

	if (result == 0)
		result = config_verify(c, e);
	if (result == 0)
		result = check_access(c, o->insecure, e);
	config_free(c);
	return result;
}

/* --- the beginning --------------------------------------------------------------------------- */

/* Two daemons would each take the other's sessions for their own. */
static int only_one(const struct server *s, struct err *e)
{
	int fd = openat(s->state, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_errno(e, "'%s/%s'", s->state_path, LOCK_FILE);
	/* One that was killed may take a moment to be gone. */
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		(void)poll(NULL, 0, LOCK_TURN_MS);
	}
	(void)close(fd); /* nothing was written */
	if (errno != EWOULDBLOCK)
		return err_errno(e, "lock '%s/%s'", s->state_path, LOCK_FILE);
	return err_code(e, EBUSY, "another daemon serves '%s' already", s->state_path);
}

static int listen_fd(struct server *s, int fd, struct err *e)
{
	if (conns_listen(&s->conns, fd, CONN_MAX, e) == 0)
		return 0;
	(void)close(fd);
	return -e->code;
}

static int listen_all(struct server *s, bool insecure, struct err *e)
{
	int first, n = access_inherited(&first, e);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		if (listen_fd(s, first + i, e) < 0)
			return -e->code;
	for (char *const *where = n ? NULL : s->config->listen; where && *where; where++) {
		int fds[2], got = access_listen(*where, insecure, fds, e);

		if (got < 0)
			return got;
		for (int i = 0; i < got; i++)
			if (listen_fd(s, fds[i], e) < 0)
				return -e->code;
	}
	if (n == 0 && s->config->socket) {
		int fd = access_socket(s->config->socket, e);

		if (fd < 0 || listen_fd(s, fd, e) < 0 ||
		    override(&s->socket, s->config->socket, e) < 0)
			return -e->code;
	}
	return access_hosts(s, e);
}

static int listen_for_commands(struct server *s, struct err *e)
{
	autofree char *path = str_fmt(e, "/proc/self/fd/%d/" DAEMON_SOCKET, s->state);
	int fd = path ? access_socket(path, e) : -e->code;

	s->commands = (struct conns) { .server = s,
				       .loop = &s->loop,
				       .answered = log_request,
				       .routes = api_command_routes,
				       .n_routes = api_command_routes_count,
				       .closed = true };
	if (fd < 0)
		return fd;
	if (conns_listen(&s->commands, fd, COMMANDS_MAX, e) == 0)
		return 0;
	(void)close(fd); /* nothing was written */
	return -e->code;
}

static void say_where(const struct server *s, const char *key_file)
{
	autobuf struct buf names = { 0 };

	for (char *const *h = s->hosts; h && *h; h++)
		if (strchr(*h, ':'))
			buf_printf(&names, "%shttp://%s", names.len ? ", " : "", *h);
	log_info("listening at %s", buf_str(&names));
	if (s->socket)
		log_info("listening at '%s'", s->socket);
	log_info("the key of the API (X-API-Key) is in '%s'", key_file);
}

/* --- signals and chores ---------------------------------------------------------------------- */

static void end_now(struct timer *timer)
{
	struct server *s = container_of(timer, struct server, drain);

	s->over = true;
}

static unsigned at_work(const struct server *s)
{
	return s->jobs.running + s->waits.running + s->calls.running;
}

static void jobs_idle(struct jobs *js)
{
	struct server *s = js->owner;

	/* What was answered goes out in this turn of the loop. */
	if (s->draining && !at_work(s))
		loop_arm(&s->loop, &s->drain, loop_now());
}

/* In a job: who starts a session writes the maps of its user namespace, and in /proc what cannot be
 * dumped is root's. The key of the API is of no use there, and does not stay. */
static void job_begun(struct jobs *js)
{
	const struct server *s = js->owner;

	explicit_bzero(s->key, strlen(s->key));
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* without it the start says what is missing */
}

/* Nothing new is begun; what is under way is waited for. Sessions live on. */
static void drain(struct server *s)
{
	if (s->draining) {
		s->over = true; /* asked twice */
		return;
	}
	notify_manager("STOPPING=1");
	log_info("ending: %u at work are waited for; sessions live on", at_work(s));
	s->draining = true;
	events_close(s);
	loop_arm(&s->loop, &s->drain, loop_now() + (at_work(s) ? s->config->drain_ms : 0));
}

static void reload(struct server *s)
{
	struct config *c = NULL;
	struct err e = { 0 };

	notify_manager("RELOADING=1");
	if (configure(s->options, &c, &e) < 0 || config_verify(c, &e) < 0) {
		log_error("the configuration stays as it was: %s", e.text);
		config_free(c);
	} else {
		config_free(s->config);
		s->config = c;
		if (access_hosts(s, &e) < 0)
			log_error("%s", e.text);
		pool_want(s);
		log_info("the configuration was read again");
	}
	notify_manager("READY=1");
}

static void signal_ready(struct source *source, uint32_t events)
{
	struct server *s = container_of(source, struct server, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		reload(s);
	else
		drain(s);
}

static int take_signals(struct server *s, struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_errno(e, "signals");
	(void)signal(SIGPIPE, SIG_IGN);
	s->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals.fd < 0)
		return err_errno(e, "signals");
	s->signals.events = EPOLLIN;
	s->signals.ready = signal_ready;
	return loop_add(&s->loop, &s->signals, e);
}

static void chores(struct timer *timer)
{
	struct server *s = container_of(timer, struct server, chores);
	uint64_t now = loop_now();

	loop_arm(&s->loop, timer, now + CHORES_MS);
	if (s->watchdog_ms && now - s->watchdog_last_ms >= s->watchdog_ms) {
		notify_manager("WATCHDOG=1");
		s->watchdog_last_ms = now;
	}
	if (s->draining)
		return;
	reclaim_turn(s);
	pool_turn(s);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* A descriptor or two for each session, and for each client. Sessions have their own limit. */
static int raise_limit(struct err *e)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return err_errno(e, "descriptors");
	l.rlim_cur = l.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &l) < 0 ? err_errno(e, "descriptors") : 0;
}

static int set_up(struct server *s, char **key_file, struct err *e)
{
	if (raise_limit(e) < 0 || loop_init(&s->loop, e) < 0 || take_signals(s, e) < 0)
		return -e->code;
	s->state = state_open(s->state_path, e);
	if (s->state < 0)
		return s->state;
	s->lock = only_one(s, e);
	if (s->lock < 0)
		return s->lock;
	if (access_key(s->state, s->state_path, s->config->key_file, &s->key, key_file, e) < 0)
		return -e->code;
	jobs_init(&s->jobs, &s->loop, JOBS_MAX);
	jobs_init(&s->calls, &s->loop, CALLS_MAX + CALLS_OWN_MAX);
	jobs_init(&s->waits, &s->loop, WAITS_MAX);
	s->jobs.owner = s->waits.owner = s->calls.owner = s;
	s->jobs.idle = s->waits.idle = s->calls.idle = jobs_idle;
	s->jobs.begun = s->waits.begun = s->calls.begun = job_begun;
	s->conns = (struct conns) { .server = s,
				    .loop = &s->loop,
				    .key = s->key,
				    .key_kind = HTTP_KEY_CONTROL,
				    .admit = access_admit,
				    .answered = log_request,
				    .routes = api_routes,
				    .n_routes = api_routes_count,
				    .closed = true };
	if (listen_all(s, s->options->insecure, e) < 0 || listen_for_commands(s, e) < 0)
		return -e->code;
	if (lifecycle_sweep(s->state, e) < 0)
		return err_wrap(e, "taking down what a dead session left");
	return runtimes_refresh(s, e);
}

static int live(struct server *s, struct err *e)
{
	int result = 0;

	s->watchdog_ms = notify_watchdog_ms();
	s->chores.fire = chores;
	s->drain.fire = end_now;
	tidy_init(s);
	loop_arm(&s->loop, &s->chores, loop_now());
	pool_begin(s);
	conns_open(&s->conns);
	conns_open(&s->commands);
	notify_manager("READY=1");
	while (result == 0 && !s->over)
		result = loop_turn(&s->loop, e);
	return result;
}

/* What jobs are still at is left as it is: it is theirs, and the process is about to end. */
static void clear(struct server *s)
{
	/* Our own alone: one of another daemon's may be why we end. A left-over one is replaced anyway. */
	if (s->socket)
		(void)unlink(s->socket);
	free(s->socket);
	if (s->conns.loop)
		conns_end(&s->conns);
	if (s->commands.loop) {
		(void)unlinkat(s->state, DAEMON_SOCKET, 0); /* else the next daemon does */
		conns_end(&s->commands);
	}
	for (struct runtime *r = s->runtimes, *next; r; r = next) {
		next = r->next;
		if (!runtime_is_busy(r))
			runtimes_remove(r);
	}
	pool_end(s);
	config_free(s->config);
	if (s->key)
		explicit_bzero(s->key, strlen(s->key));
	free(s->key);
	free(s->state_path);
	strv_free(s->hosts);
}

int serve(const struct serve_options *o, struct err *e)
{
	struct server s = { .options = o,
			    .state = -1,
			    .lock = -1,
			    .signals.fd = -1,
			    .idle_ms = o->has_idle ? o->idle_ms : 0,
			    .began_ms = loop_now() };
	autofree char *key_file = NULL;
	int result;

	/* Its memory holds the keys of all sessions. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(e, "dumpable");
	result = configure(o, &s.config, e);
	if (result == 0)
		result = state_default_path(&s.state_path, e);
	if (result == 0)
		result = set_up(&s, &key_file, e);
	if (result == 0) {
		say_where(&s, key_file);
		result = live(&s, e);
	}
	clear(&s);
	return result;
}
