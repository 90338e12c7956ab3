/* SPDX-License-Identifier: MIT */
/* access.c - see access.h.
 *
 * A page in a browser of the same user can send requests to the loopback: it has no key, may not say
 * who it is (Origin), and a name of its own that leads here (rebinding) is in no Host that is known. */
#include "api/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/str.h"
#include "plan/strv.h"

#define KEY_FILE "serve.key"
#define KEY_FILE_NEW KEY_FILE ".new"
#define KEY_BYTES 32
#define KEY_LEAST 16 /* characters of one that the operator chose */
#define KEY_MOST 512
#define BACKLOG 1024
#define INHERITED_FIRST 3

/* --- the key --------------------------------------------------------------------------------- */

/* In its place whole or not at all: half a key would end every later daemon. */
static int make_key(int state, struct err *e)
{
	char text[2 * KEY_BYTES + 2];
	autoclose int fd = -1;

	if (fs_random_hex(text, KEY_BYTES, e) < 0)
		return -e->code;
	/* The state directory's lock is held: what is there, one that was killed has left. */
	if (unlinkat(state, KEY_FILE_NEW, 0) < 0 && errno != ENOENT)
		return err_errno(e, "remove '%s'", KEY_FILE_NEW);
	fd = openat(state, KEY_FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, "make '%s'", KEY_FILE_NEW);
	text[2 * KEY_BYTES] = '\n';
	if (io_write_all(fd, text, 2 * KEY_BYTES + 1, e) < 0)
		return err_wrap(e, "'%s'", KEY_FILE_NEW);
	if (renameat(state, KEY_FILE_NEW, state, KEY_FILE) < 0)
		return err_errno(e, "make '%s'", KEY_FILE);
	return 0;
}

static int check_key_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0))
		return err_code(e, EACCES, "'%s' is no file of yours", path);
	if (st.st_mode & 077)
		return err_code(e, EACCES, "'%s' can be read by others: chmod 600 it", path);
	return 0;
}

static int check_key(char *key, const char *path, struct err *e)
{
	size_t n;

	key[strcspn(key, "\r\n")] = '\0';
	n = strlen(key);
	if (n < KEY_LEAST || n > KEY_MOST)
		return err_code(e, EINVAL, "'%s' must hold a key of %d to %d characters", path,
				KEY_LEAST, KEY_MOST);
	for (const char *c = key; *c; c++)
		if (*c <= ' ' || *c > '~')
			return err_code(e, EINVAL,
					"'%s': a key has no blanks and no control characters",
					path);
	return 0;
}

/* Read the key out of an open file and look at both. NULL with *e filled, or heap. */
static char *take_key(int fd, const char *path, struct err *e)
{
	autobuf struct buf read = { 0 };
	autofree char *text = NULL;

	if (check_key_file(fd, path, e) < 0 || io_read_all(fd, KEY_MOST + 2, &read, e) < 0) {
		(void)err_wrap(e, "the key");
		return NULL;
	}
	text = str_dup(buf_str(&read), e);
	return text && check_key(text, path, e) == 0 ? take_ptr(&text) : NULL;
}

/* A pipe would keep us waiting for who writes it. */
static int open_key(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

int access_key(int state, const char *state_path, const char *path, char **key, char **where,
	       struct err *e)
{
	autofree char *own = path ? str_dup(path, e) : str_fmt(e, "%s/%s", state_path, KEY_FILE);
	autoclose int fd = -1;

	if (!own)
		return -e->code;
	fd = path ? open_key(path) : openat(state, KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && !path) {
		if (make_key(state, e) < 0)
			return -e->code;
		fd = openat(state, KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0)
		return err_errno(e, "the key in '%s'", own);
	*key = take_key(fd, own, e);
	if (!*key)
		return -e->code;
	*where = take_ptr(&own);
	return 0;
}

int access_check_key(const char *state_path, const char *path, struct err *e)
{
	autofree char *own = path ? str_dup(path, e) : str_fmt(e, "%s/%s", state_path, KEY_FILE);
	autofree char *key = NULL;
	autoclose int fd = own ? open_key(own) : -1;

	if (!own)
		return -e->code;
	if (fd < 0 && errno == ENOENT && !path)
		return 0;
	if (fd < 0)
		return err_errno(e, "the key in '%s'", own);
	key = take_key(fd, own, e);
	if (!key)
		return -e->code;
	explicit_bzero(key, strlen(key));
	return 0;
}

/* --- listeners ------------------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

/* "ADDRESS:PORT" taken apart; `host` has the brackets off. */
static int split(const char *where, char host[64], uint16_t *port, struct err *e)
{
	const char *colon = strrchr(where, ':');
	size_t n = colon ? (size_t)(colon - where) : 0;
	uint64_t value;

	if (!n || n >= 64 || str_u64(colon + 1, 0, UINT16_MAX, &value, e) < 0)
		return err_code(e, EINVAL, "'%.80s' is not ADDRESS:PORT", where);
	if (where[0] == '[' && colon[-1] == ']') {
		where++;
		n -= 2;
	}
	memcpy(host, where, n);
	host[n] = '\0';
	*port = (uint16_t)value;
	return 0;
}

static int fill(const char *host, uint16_t port, union address *a, socklen_t *len)
{
	memset(a, 0, sizeof(*a));
	*len = sizeof(a->v4);
	a->v4.sin_family = AF_INET;
	a->v4.sin_port = htons(port);
	if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1)
		return 0;
	memset(a, 0, sizeof(*a));
	*len = sizeof(a->v6);
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1 ? 0 : -1;
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static bool is_any(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
}

static int bind_to(const union address *a, socklen_t len, const char *where, struct err *e)
{
	autoclose int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_errno(e, "listen at %s", where);
	/* A daemon that is started again must not wait for connections of the one before. */
	if (a->any.sa_family != AF_UNIX &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return err_errno(e, "listen at %s", where);
	if (a->any.sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return err_errno(e, "listen at %s", where);
	if (bind(fd, &a->any, len) < 0 || listen(fd, BACKLOG) < 0)
		return err_errno(e, "listen at %s", where);
	return take_fd(&fd);
}

/* An address that may be listened at. */
static int allowed(const char *host, uint16_t port, const char *where, bool insecure,
		   union address *a, socklen_t *len, struct err *e)
{
	if (fill(host, port, a, len) < 0)
		return err_code(e, EINVAL, "'%.80s': '%.60s' is no address", where, host);
	if (!is_loopback(a) && !insecure)
		return err_code(
			e, EPERM,
			"%s is beyond this host's loopback, and the API speaks no TLS: who can listen "
			"on the way has its key. Put a proxy with TLS before it, or say "
			"--insecure-listen",
			where);
	return 0;
}

static int listen_at(const char *host, uint16_t port, const char *where, bool insecure,
		     struct err *e)
{
	union address a;
	socklen_t len;

	if (allowed(host, port, where, insecure, &a, &len, e) < 0)
		return -e->code;
	return bind_to(&a, len, where, e);
}

int access_check_listen(const char *where, bool insecure, struct err *e)
{
	autoclose int fd = -1;
	union address a;
	socklen_t len;
	char host[64];
	uint16_t port;

	if (split(where, host, &port, e) < 0)
		return -e->code;
	if (str_eq(host, "localhost"))
		return 0;
	if (allowed(host, 0, where, insecure, &a, &len, e) < 0)
		return -e->code;
	/* At any port, and not listening: whether the address is this host's. */
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 || bind(fd, &a.any, len) < 0 ? err_errno(e, "listen at %s", where) : 0;
}

int access_listen(const char *where, bool insecure, int fds[2], struct err *e)
{
	char host[64];
	uint16_t port;
	bool both;

	if (split(where, host, &port, e) < 0)
		return -e->code;
	both = str_eq(host, "localhost");
	fds[0] = listen_at(both ? "127.0.0.1" : host, port, where, insecure, e);
	if (fds[0] < 0)
		return fds[0];
	if (!both)
		return 1;
	fds[1] = listen_at("::1", port, where, insecure, e);
	if (fds[1] >= 0)
		return 2;
	/* A host without IPv6 has no ::1. */
	if (e->code == EAFNOSUPPORT || e->code == EADDRNOTAVAIL)
		return 1;
	drop_fd(&fds[0]);
	return -e->code;
}

/* Is it a socket, and does nobody listen there any more? A file refuses a connection just so. */
static bool is_left_over(const union address *a, socklen_t len)
{
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	return lstat(a->local.sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && fd >= 0 &&
	       connect(fd, &a->any, len) < 0 && errno == ECONNREFUSED;
}

int access_socket(const char *path, struct err *e)
{
	union address a = { .local = { .sun_family = AF_UNIX } };
	socklen_t len = sizeof(a.local);
	autoclose int fd = -1;
	mode_t mask;

	if (strlen(path) >= sizeof(a.local.sun_path))
		return err_code(e, ENAMETOOLONG, "'%s' is too long for a socket", path);
	memcpy(a.local.sun_path, path, strlen(path));
	if (is_left_over(&a, len) && unlink(path) < 0)
		return err_errno(e, "remove the left-over '%s'", path);
	mask = umask(0177);
	fd = bind_to(&a, len, path, e);
	(void)umask(mask); /* cannot fail */
	return fd < 0 ? fd : take_fd(&fd);
}

int access_check_socket(const char *path, struct err *e)
{
	autofree char *copy = str_dup(path, e);
	char *slash = copy ? strrchr(copy, '/') : NULL;
	struct stat st;

	if (!copy)
		return -e->code;
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return err_code(e, ENAMETOOLONG, "'%s' is too long for a socket", path);
	if (lstat(path, &st) == 0)
		return S_ISSOCK(st.st_mode)
			       ? 0
			       : err_code(e, EADDRINUSE, "'%s' is there, and no socket", path);
	if (slash)
		slash[slash == copy] = '\0';
	return access(slash ? copy : ".", W_OK | X_OK) < 0
		       ? err_errno(e, "a socket in '%s'", slash ? copy : ".")
		       : 0;
}

int access_inherited(int *first, struct err *e)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint64_t value;

	*first = INHERITED_FIRST;
	if (!pid || !fds)
		return 0;
	if (str_u64(pid, 1, INT32_MAX, &value, e) < 0 || value != (uint64_t)getpid())
		return 0; /* somebody else's */
	if (str_u64(fds, 0, CONFIG_LISTEN_MAX, &value, e) < 0)
		return err_wrap(e, "LISTEN_FDS");
	for (uint64_t i = 0; i < value; i++)
		if (fcntl(INHERITED_FIRST + (int)i, F_SETFD, FD_CLOEXEC) < 0)
			return err_errno(e, "descriptor %d of LISTEN_FDS",
					 INHERITED_FIRST + (int)i);
	/* None of it is for the sessions. */
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return (int)value;
}

/* --- names ----------------------------------------------------------------------------------- */

static int add_host(struct server *s, const char *name, uint16_t port, struct err *e)
{
	const char *form = strchr(name, ':') ? "[%s]:%u" : "%s:%u";
	char text[300];

	(void)snprintf(text, sizeof(text), form, name, port);
	return strv_has(s->hosts, text) ? 0 : strv_add(&s->hosts, text, e);
}

static int hosts_of(struct server *s, int fd, struct err *e)
{
	char text[INET6_ADDRSTRLEN];
	union address a = { 0 };
	socklen_t len = sizeof(a);
	uint16_t port;

	if (getsockname(fd, &a.any, &len) < 0)
		return err_errno(e, "a listener's address");
	if (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6)
		return 0;
	port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	if (!inet_ntop(a.any.sa_family,
		       a.any.sa_family == AF_INET ? (void *)&a.v4.sin_addr
						  : (void *)&a.v6.sin6_addr,
		       text, sizeof(text)))
		return err_errno(e, "a listener's address");
	if (add_host(s, text, port, e) < 0 || add_host(s, s->config->advertise, port, e) < 0)
		return -e->code;
	if (!is_loopback(&a) && !is_any(&a))
		return 0;
	/* Who listens everywhere does so here. */
	if (add_host(s, a.any.sa_family == AF_INET ? "127.0.0.1" : "::1", port, e) < 0)
		return -e->code;
	return add_host(s, "localhost", port, e);
}

int access_hosts(struct server *s, struct err *e)
{
	strv_free(take_ptr(&s->hosts));
	/* Over the Unix domain there is no address; clients say this. */
	if (strv_add(&s->hosts, "localhost", e) < 0 ||
	    (s->config->hosts && strv_extend(&s->hosts, s->config->hosts, e) < 0))
		return -e->code;
	for (unsigned i = 0; i < s->conns.n_listeners; i++)
		if (hosts_of(s, s->conns.listeners[i]->fd, e) < 0)
			return -e->code;
	return 0;
}

static bool is_known(const struct server *s, struct http_text host)
{
	for (char *const *h = s->hosts; h && *h; h++)
		if (strlen(*h) == host.len && strncasecmp(*h, host.at, host.len) == 0)
			return true;
	return false;
}

int access_admit(struct server *s, const struct http_request *r, const char **why)
{
	if (r->has_origin) {
		*why = "requests of web pages are not answered";
		return 403;
	}
	if (!r->host.at || !is_known(s, r->host)) {
		*why = "this name is not the daemon's: see 'hosts' in ohsandbox-serve(5)";
		return 421;
	}
	if (s->draining) {
		*why = "the daemon is about to end";
		return 503;
	}
	return 0;
}
