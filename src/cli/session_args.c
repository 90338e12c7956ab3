/* SPDX-License-Identifier: MIT */
/* session_args.c - see session_args.h. Each option is checked where it is read, so that bad input
 * is answered before anything on the host is touched. */
#include "cli/session_args.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "cli/env_file.h"
#include "plan/strv.h"
#include "session/worktree.h"

#define PUBLISH_MAX 8u
#define MOUNTS_MAX 64u
#define PIDS_MAX 4194304u /* the kernel's own limit of pids */

/* In the order of struct limits. */
enum { NAMED_MEMORY, NAMED_SWAP, NAMED_CPUS, NAMED_PIDS, NAMED_TIMEOUT };

static struct request *request_of(void *into)
{
	return &((struct session_args *)into)->request;
}

static int take_text(char **field, const char *value, struct err *e)
{
	if (*field)
		return err_code(e, EINVAL, "is given twice");
	if (!*value)
		return err_code(e, EINVAL, "an empty text names nothing");
	*field = str_dup(value, e);
	return *field ? 0 : -e->code;
}

int session_take_rev(void *into, const char *value, struct err *e)
{
	return take_text(&request_of(into)->rev, value, e);
}

int session_take_workdir(void *into, const char *value, struct err *e)
{
	return take_text(&request_of(into)->workdir, value, e);
}

int session_take_user(void *into, const char *value, struct err *e)
{
	return take_text(&request_of(into)->user, value, e);
}

int session_take_hostname(void *into, const char *value, struct err *e)
{
	return take_text(&request_of(into)->hostname, value, e);
}

int session_take_rootfs(void *into, const char *value, struct err *e)
{
	return take_text(&request_of(into)->rootfs, value, e);
}

int session_take_name(void *into, const char *value, struct err *e)
{
	if (!request_name_ok(value))
		return err_code(e, EINVAL,
				"'%.70s': a name has 1 to %u letters, digits, '.', '_' and '-', "
				"and is not like an id",
				value, REQUEST_NAME_MAX);
	return take_text(&request_of(into)->name, value, e);
}

int session_take_memory(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);

	r->limit_named[NAMED_MEMORY] = true;
	return str_size(value, &r->limits.memory_bytes, e);
}

int session_take_swap(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);

	r->limit_named[NAMED_SWAP] = true;
	return str_size(value, &r->limits.swap_bytes, e);
}

int session_take_cpus(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);

	r->limit_named[NAMED_CPUS] = true;
	return str_milli(value, &r->limits.cpu_milli, e);
}

int session_take_pids(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);

	r->limit_named[NAMED_PIDS] = true;
	return str_u64(value, 1, PIDS_MAX, &r->limits.pids, e);
}

int session_take_timeout(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);

	r->limit_named[NAMED_TIMEOUT] = true;
	if (str_duration(value, &r->limits.timeout_ms, e) < 0)
		return -e->code;
	if (r->limits.timeout_ms == 0)
		return err_code(e, EINVAL, "'%.40s' leaves no time at all", value);
	return 0;
}

int session_take_net(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);

	if (str_eq(value, "none"))
		r->net = NET_NONE;
	else if (str_eq(value, "nat"))
		r->net = NET_NAT;
	else
		return err_code(e, EINVAL, "'%.40s' is neither 'none' nor 'nat'", value);
	return 0;
}

static int take_port(const char *text, uint16_t *port, struct err *e)
{
	uint64_t value;

	if (str_u64(text, 1, 65535, &value, e) < 0)
		return err_wrap(e, "port");
	*port = (uint16_t)value;
	return 0;
}

/* [ADDR:]PORT[:INSIDE]; an IPv6 address stands in brackets. `text` is taken apart. */
static int parse_publish(char *text, struct publish *p, struct err *e)
{
	const char *address = "127.0.0.1";
	unsigned char bytes[16];
	char *inside, *port = text;

	if (text[0] == '[') {
		char *close = strchr(text, ']');

		if (!close || close[1] != ':')
			return err_code(e, EINVAL, "'%.60s' has no ']:' behind its address", text);
		*close = '\0';
		address = text + 1;
		port = close + 2;
	} else if (strspn(text, "0123456789") != strcspn(text, ":")) {
		char *colon = strchr(text, ':');

		if (!colon)
			return err_code(e, EINVAL, "'%.60s' is not [ADDR:]PORT[:INSIDE]", text);
		*colon = '\0';
		address = text;
		port = colon + 1;
	}
	if (inet_pton(strchr(address, ':') ? AF_INET6 : AF_INET, address, bytes) != 1)
		return err_code(e, EINVAL, "'%.60s' is no address", address);
	inside = strchr(port, ':');
	if (inside)
		*inside++ = '\0';
	if (take_port(port, &p->port, e) < 0 ||
	    take_port(inside ? inside : port, &p->inside, e) < 0)
		return -e->code;
	p->address = str_dup(address, e);
	return p->address ? 0 : -e->code;
}

int session_take_publish(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);
	autofree char *copy = str_dup(value, e);
	struct publish *more;

	if (!copy)
		return -e->code;
	if (r->n_publish == PUBLISH_MAX)
		return err_code(e, E2BIG, "more than %u ports", PUBLISH_MAX);
	more = realloc(r->publish, (r->n_publish + 1) * sizeof(*more));
	if (!more)
		return err_code(e, ENOMEM, "no memory");
	r->publish = more;
	memset(&more[r->n_publish], 0, sizeof(*more));
	if (parse_publish(copy, &more[r->n_publish], e) < 0)
		return -e->code;
	r->n_publish++;
	return 0;
}

/* HOST:INSIDE[:ro|:cow] */
static int parse_mount(char *text, struct policy_mount *m, struct err *e)
{
	char *inside = strchr(text, ':');
	char *mode = inside ? strchr(inside + 1, ':') : NULL;

	if (!inside || inside == text || !inside[1])
		return err_code(e, EINVAL, "'%.100s' is not HOST:INSIDE[:ro|:cow]", text);
	*inside++ = '\0';
	if (mode)
		*mode++ = '\0';
	if (!mode || str_eq(mode, "cow"))
		m->mode = MOUNT_MODE_COW;
	else if (str_eq(mode, "ro"))
		m->mode = MOUNT_MODE_RO;
	else
		return err_code(e, EINVAL, "'%.40s' is neither 'ro' nor 'cow'", mode);
	m->host = str_dup(text, e);
	m->inside = str_dup(inside, e);
	if (m->host && m->inside)
		return 0;
	free(m->host);
	free(m->inside);
	return -e->code;
}

int session_take_mount(void *into, const char *value, struct err *e)
{
	struct request *r = request_of(into);
	autofree char *copy = str_dup(value, e);
	struct policy_mount *more;

	if (!copy)
		return -e->code;
	if (r->n_mounts == MOUNTS_MAX)
		return err_code(e, E2BIG, "more than %u mounts", MOUNTS_MAX);
	more = realloc(r->mounts, (r->n_mounts + 1) * sizeof(*more));
	if (!more)
		return err_code(e, ENOMEM, "no memory");
	r->mounts = more;
	memset(&more[r->n_mounts], 0, sizeof(*more));
	if (parse_mount(copy, &more[r->n_mounts], e) < 0)
		return -e->code;
	r->n_mounts++;
	return 0;
}

static const char *look_up(const char *name)
{
	return getenv(name);
}

int session_take_env(void *into, const char *value, struct err *e)
{
	return env_add(value, look_up, &request_of(into)->env, e);
}

int session_take_env_file(void *into, const char *value, struct err *e)
{
	/* Not io_read_file: the caller may well name a link, or a pipe of his shell's. */
	autoclose int fd = open(value, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	autobuf struct buf text = { 0 };

	if (fd < 0)
		return err_errno(e, "open '%s'", value);
	if (io_read_all(fd, ENV_FILE_MAX, &text, e) < 0)
		return err_wrap(e, "'%s'", value);
	return env_file_parse(buf_str(&text), text.len, value, look_up, &request_of(into)->env, e);
}

void session_args_init(struct session_args *a)
{
	const char *term = getenv("TERM");

	*a = (struct session_args) { .json_fd = -1 };
	request_init(&a->request);
	/* Out of memory, TERM is missing inside; every later allocation will say why. */
	a->request.term = term ? strdup(term) : NULL;
}

/* A repository, and the directory below its top that the caller stands in or named. */
static int repository_around(struct request *r, const char *start, struct err *e)
{
	int found = worktree_discover(start, &r->path, &r->subdir, e);

	if (found == -ENOENT)
		return err_code(
			e, ENOENT,
			"'%s' is in no git repository; name one with --repo, or take a plain directory with --dir",
			start);
	return found < 0 ? found : 0;
}

static int plain_directory(struct request *r, const char *path, struct err *e)
{
	char whole[PATH_MAX];

	if (!realpath(path, whole))
		return err_errno(e, "--dir '%s'", path);
	r->path = str_dup(whole, e);
	r->subdir = str_dup("", e);
	return r->path && r->subdir ? 0 : -e->code;
}

/* The workspace: what was named, else the repository around the current directory. */
int session_args_workspace(struct session_args *a, struct err *e)
{
	struct request *r = &a->request;
	char here[PATH_MAX];

	if (!!a->repo + !!a->dir + a->empty > 1)
		return err_code(e, EINVAL, "--repo, --dir and --empty exclude each other");
	if ((a->dir || a->empty) && (r->rev || r->dirty))
		return err_code(e, EINVAL, "--rev and --dirty want a repository");
	if (a->empty) {
		r->kind = WORKSPACE_EMPTY;
		r->subdir = str_dup("", e);
		return r->subdir ? 0 : -e->code;
	}
	if (a->dir) {
		r->kind = WORKSPACE_DIR;
		return plain_directory(r, a->dir, e);
	}
	r->kind = WORKSPACE_REPO;
	if (a->repo)
		return repository_around(r, a->repo, e);
	if (!getcwd(here, sizeof(here)))
		return err_errno(e, "the current directory");
	return repository_around(r, here, e);
}

int session_args_decide(struct session_args *a, struct laps *laps, struct decision *d,
			struct err *e)
{
	if (session_args_workspace(a, e) < 0)
		return -e->code;
	lap(laps, "request");
	return decide(&a->request, a->policy, laps, d, e);
}

void session_args_clear(struct session_args *a)
{
	request_clear(&a->request);
}
