/* SPDX-License-Identifier: MIT */
/* order.c - see order.h. */
#include "api/order.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/fresh.h"
#include "base/fs.h"
#include "base/str.h"
#include "plan/strv.h"
#include "session/worktree.h"

#define WORKTREE "worktree:"
#define REPO_VARIABLE "OHSANDBOX_REPO"
/* An agent server's own: kept over a pause to disk, in every root file system, and no change of the
 * workspace's, which may be a repository. */
#define OWN_DATA "/var/tmp/openhands"

/* --- what it works on ------------------------------------------------------------------------ */

static int take_copy(char **to, const char *text, struct err *e)
{
	if (!text)
		return 0;
	free(*to);
	*to = str_dup(text, e);
	return *to ? 0 : -e->code;
}

static int repository(const char *path, const char *rev, struct request *q, struct err *e)
{
	int found = worktree_discover(path, &q->path, &q->subdir, e);

	if (found == -ENOENT)
		return err_code(e, ENOENT, "'%s' is in no git repository", path);
	if (found < 0)
		return found;
	q->kind = WORKSPACE_REPO;
	return take_copy(&q->rev, rev, e);
}

static int not_allowed(const char *path, struct err *e)
{
	return err_code(
		e, EACCES,
		"'%.200s' is not among the repositories that clients may name: 'repositories' "
		"of the configuration, or --allow-repo",
		path);
}

/* "/path[@rev]", as a client names it. */
static int named_by_client(const struct config *c, const char *text, struct request *q,
			   struct err *e)
{
	autofree char *path = str_dup(text, e);
	autofree char *whole = NULL;
	char *rev = path ? strrchr(path, '@') : NULL;

	if (!path)
		return -e->code;
	if (path[0] != '/')
		return err_code(e, EINVAL, "'%.200s' is no absolute path", text);
	/* A directory may have an '@' in its name: what is there as it stands has no revision. */
	whole = realpath(path, NULL);
	if (whole || !rev)
		rev = NULL;
	else
		*rev++ = '\0';
	if (!whole)
		whole = realpath(path, NULL);
	/* What may not be named is not told apart from what is not there. */
	if (!whole || !config_allows(c, whole))
		return not_allowed(path, e);
	if (repository(whole, rev, q, e) < 0) {
		if (e->code == ENOENT)
			e->code = ERR_NONE_SUCH;
		return -e->code;
	}
	/* It may be found around the directory, where clients may name nothing. */
	return config_allows(c, q->path) ? 0 : not_allowed(path, e);
}

static int workspace(const struct config *c, const struct start_body *b,
		     const struct session_template *t, struct request *q, struct err *e)
{
	const char *wanted = strv_env_get(b->environment, REPO_VARIABLE);

	if (str_starts(b->image, WORKTREE))
		wanted = b->image + strlen(WORKTREE);
	/* Else it would be a way around 'only_templates'. */
	if (str_eq(b->image, WORKTREE))
		return err_code(e, ERR_NONE_SUCH, "the image '%s' names no repository", WORKTREE);
	if (wanted && *wanted)
		return named_by_client(c, wanted, q, e);
	if (t && t->repo)
		return repository(t->repo, t->rev, q, e);
	q->kind = WORKSPACE_EMPTY;
	if (t && t->dir) {
		q->kind = WORKSPACE_DIR;
		if (take_copy(&q->path, t->dir, e) < 0)
			return -e->code;
	}
	q->subdir = str_dup("", e);
	return q->subdir ? 0 : -e->code;
}

/* --- what it may use ------------------------------------------------------------------------- */

static uint64_t times(uint64_t limit, uint64_t factor)
{
	return limit == LIMIT_NONE || limit > LIMIT_NONE / factor ? LIMIT_NONE : limit * factor;
}

/* In the order of struct limits. */
static void limits(const struct session_template *t, uint64_t factor, struct request *q)
{
	const struct limits none = { LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE,
				     LIMIT_NONE, LIMIT_NONE, LIMIT_NONE, LIMIT_NONE };
	const struct limits *l = t ? &t->limits : &none;

	q->limits = none;
	q->limits.memory_bytes = times(l->memory_bytes, factor);
	q->limits.swap_bytes = times(l->swap_bytes, factor);
	q->limits.cpu_milli = times(l->cpu_milli, factor);
	q->limits.pids = times(l->pids, factor);
	q->limit_named[0] = q->limits.memory_bytes != LIMIT_NONE;
	q->limit_named[1] = q->limits.swap_bytes != LIMIT_NONE;
	q->limit_named[2] = q->limits.cpu_milli != LIMIT_NONE;
	q->limit_named[3] = q->limits.pids != LIMIT_NONE;
}

static bool is_published(const struct request *q, uint16_t inside)
{
	for (unsigned i = 0; i < q->n_publish; i++)
		if (q->publish[i].inside == inside)
			return true;
	return false;
}

static int publish(struct request *q, uint16_t inside, struct err *e)
{
	struct publish *more;

	if (is_published(q, inside))
		return 0;
	more = reallocarray(q->publish, q->n_publish + 1, sizeof(*more));
	if (!more)
		return err_code(e, ENOMEM, "no memory");
	q->publish = more;
	more[q->n_publish] =
		(struct publish) { .address = str_dup("localhost", e), .inside = inside };
	return more[q->n_publish++].address ? 0 : -e->code;
}

/* A program's own port, if it has one, stands first. */
static int publish_all(struct request *q, struct err *e)
{
	static const uint16_t ports[] = { ORDER_WORK_1, ORDER_WORK_2, ORDER_EDITOR };

	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		if (publish(q, ports[i], e) < 0)
			return -e->code;
	return 0;
}

static int environment(const struct session_template *t, const struct start_body *b,
		       struct request *q, struct err *e)
{
	char *const *const lists[] = { t ? t->environment : NULL, b->environment };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (char *const *pair = lists[i]; pair && *pair; pair++)
			if (strv_env_put(&q->env, *pair, e) < 0)
				return -e->code;
	return 0;
}

/* --- what it runs ---------------------------------------------------------------------------- */

/* Is there such a program in the root file system? Of the host's, only these directories are in it. */
static bool is_there(const struct session_template *t, const char *word)
{
	static const char *const places[] = { "/usr/local/bin", "/usr/bin", "/bin" };
	static const char *const visible[] = { "/usr/", "/bin/", "/sbin/", "/opt/" };
	autoclose int root =
		open(t && t->rootfs ? t->rootfs : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool seen = t && t->rootfs;

	for (size_t i = 0; i < ARRAY_LEN(visible) && !seen; i++)
		seen = str_starts(word, visible[i]) || word[0] != '/';
	for (size_t i = 0; seen && root >= 0 && i < ARRAY_LEN(places); i++) {
		struct err e = { 0 };
		autofree char *path = word[0] == '/' ? str_dup(word, &e)
						     : str_fmt(&e, "%s/%s", places[i], word);
		autoclose int fd = path ? fs_open_in_root(root, path, O_PATH, 0, &e) : -1;

		if (fd >= 0)
			return true;
	}
	return false;
}

static int variable(struct request *q, const char *name, const char *value, struct err *e)
{
	autofree char *pair = NULL;

	if (strv_env_get(q->env, name))
		return 0;
	pair = str_fmt(e, "%s=%s", name, value);
	return pair ? strv_env_put(&q->env, pair, e) : -e->code;
}

/* What V1's agent server wants of its surroundings; whoever starts it may say otherwise, but for the
 * key: an empty one would open it to everybody. */
static int surroundings(struct order *o, struct err *e)
{
	static const struct {
		const char *name, *value;
	} variables[] = {
		{ "LC_ALL", "C.UTF-8" },
		{ "LANG", "C.UTF-8" },
		{ "OH_CONVERSATIONS_PATH", OWN_DATA "/conversations" },
		{ "OH_BASH_EVENTS_DIR", OWN_DATA "/bash_events" },
		{ "OH_PERSISTENCE_DIR", OWN_DATA "/settings" },
		{ "OH_LEASE_TTL_SECONDS",
		  "0" }, /* it may be frozen for longer than a lease lasts */
		/* Else it asks the network at its start and waits for the answer, and two of its threads
		 * may wait for each other for ever. */
		{ "LITELLM_LOCAL_MODEL_COST_MAP", "True" },
		/* As they are published; it has others of its own. */
		{ "OH_VSCODE_PORT", "60001" },
		{ "WORKER_1", "12000" },
		{ "WORKER_2", "12001" },
	};
	static const char *const keys[] = { "OH_SESSION_API_KEYS_0", "SESSION_API_KEY" };
	char key[65];

	if (fs_random_hex(key, 32, e) < 0)
		return -e->code;
	o->label.program_key = str_dup(key, e);
	if (!o->label.program_key)
		return -e->code;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		autofree char *pair = str_fmt(e, "%s=%s", keys[i], key);

		if (!pair || strv_env_put(&o->request.env, pair, e) < 0)
			return -e->code;
	}
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		if (variable(&o->request, variables[i].name, variables[i].value, e) < 0)
			return -e->code;
	return variable(&o->request, "OH_SECRET_KEY", key, e);
}

static int own_program(const struct start_command *c, struct order *o, struct err *e)
{
	if (strv_extend(&o->label.program, c->argv, e) < 0 || publish(&o->request, c->port, e) < 0)
		return -e->code;
	o->label.program_port = c->port;
	return surroundings(o, e);
}

static int obey(const struct session_template *t, const struct start_command *c, struct order *o,
		struct err *e)
{
	if (c->kind == COMMAND_PROGRAM)
		return is_there(t, c->argv[0]) ? own_program(c, o, e) : 0;
	if (c->username && str_eq(c->username, "root") &&
	    take_copy(&o->request.user, "root", e) < 0)
		return -e->code;
	return take_copy(&o->request.workdir, c->working_dir, e);
}

static int command(const struct session_template *t, const struct start_body *b, struct order *o,
		   struct err *e)
{
	struct start_command own = { 0 };
	int result;

	if (!t || !t->command)
		return obey(t, &b->command, o, e);
	result = command_of_words(t->command, &own, e);
	if (result == 0)
		result = obey(t, &own, o, e);
	command_clear(&own);
	return result;
}

/* A directory that the image would have is made: V1's callers name one that may be missing. The native
 * executor's own stands in its command. */
static int directory(const struct session_template *t, const struct start_body *b, struct order *o,
		     struct err *e)
{
	const char *wanted = t && t->working_dir ? t->working_dir : b->working_dir;

	if (!o->label.program || !wanted)
		return 0;
	return take_copy(&o->label.directory, wanted, e);
}

static int user(const struct session_template *t, const struct start_body *b, struct order *o,
		struct err *e)
{
	if (o->request.user)
		return 0;
	if (t && t->user)
		return take_copy(&o->request.user, t->user, e);
	/* 10001 and the like are the image's own user, which is ours under another number. */
	return b->user == 0 ? take_copy(&o->request.user, "root", e) : 0;
}

/* One that is held ready is nobody's yet: it need not survive. Half of what its first action costs is
 * the start of bash, which is worth its memory here; a program of the image's own does without. */
static int hold_ready(const struct config *c, const char *shape, struct order *o, struct err *e)
{
	char digest[SHA256_HEX_BYTES];

	o->request.persists = !shape;
	o->request.shell_early = shape && !o->label.program;
	if (!shape)
		return 0;
	if (take_copy(&o->label.shape, shape, e) < 0 ||
	    fresh_digest(c, &o->request, o->policy, digest, e) < 0)
		return -e->code;
	return take_copy(&o->label.fresh, digest, e);
}

static int label(struct order *o, const struct session_template *t, const struct start_body *b,
		 struct err *e)
{
	autobuf struct buf text = { 0 };

	if (take_copy(&o->label.image, b->image, e) < 0 ||
	    take_copy(&o->label.template, t ? t->name : NULL, e) < 0)
		return -e->code;
	label_write(&o->label, &text);
	if (buf_check(&text, e) < 0)
		return err_wrap(e, "label");
	o->request.label = str_dup(buf_str(&text), e);
	return o->request.label ? 0 : -e->code;
}

bool order_knows(const struct config *c, const char *image)
{
	return !c->only_templates || config_template(c, image) || str_starts(image, WORKTREE);
}

int order_make(const struct config *c, const struct start_body *b, const char *name,
	       const char *shape, struct order *o, struct err *e)
{
	const struct session_template *t = config_template(c, b->image);
	struct request *q = &o->request;

	*o = (struct order) { .request = { .net = t ? t->net : -1 } };
	if (!order_knows(c, b->image))
		return err_code(e, ERR_NONE_SUCH,
				"no template fits the image '%.200s', and the configuration "
				"allows no other",
				b->image);
	limits(t, b->factor, q);
	if (workspace(c, b, t, q, e) < 0 || environment(t, b, q, e) < 0 ||
	    command(t, b, o, e) < 0 || user(t, b, o, e) < 0 || directory(t, b, o, e) < 0 ||
	    publish_all(q, e) < 0 || take_copy(&q->name, name, e) < 0 ||
	    take_copy(&o->policy, t ? t->policy : NULL, e) < 0 ||
	    take_copy(&q->rootfs, t ? t->rootfs : NULL, e) < 0 || hold_ready(c, shape, o, e) < 0)
		return -e->code;
	return label(o, t, b, e);
}

void order_clear(struct order *o)
{
	request_clear(&o->request);
	free(o->policy);
	label_clear(&o->label);
	*o = (struct order) { 0 };
}
