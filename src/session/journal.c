/* SPDX-License-Identifier: MIT */
/* journal.c - what a session's record learns after it was written; the lines are in session.h. */
#include <string.h>

#include "base/str.h"
#include "plan/plan.h"
#include "session/record.h"

static int set_text(char **to, const char *value, struct err *e)
{
	char *copy = str_dup(value, e);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int append_layer(char ***list, const char *value, struct err *e)
{
	size_t n = 0;
	char **grown;

	if (!*value)
		return err_code(e, EINVAL, "a layer without a path");
	while (*list && (*list)[n])
		n++;
	if (n >= MOUNT_LOWERS_MAX)
		return err_code(e, EINVAL, "more than %d layers", MOUNT_LOWERS_MAX);
	grown = reallocarray(*list, n + 2, sizeof(*grown));
	if (!grown)
		return err_code(e, ENOMEM, "out of memory");
	*list = grown;
	grown[n + 1] = NULL;
	grown[n] = str_dup(value, e);
	return grown[n] ? 0 : -ENOMEM;
}

static int on_init(struct record *r, const char *value, struct err *e)
{
	uint64_t pid, start;
	const char *space = strchr(value, ' ');
	autofree char *first = space ? strndup(value, (size_t)(space - value)) : NULL;

	if (!first)
		return err_code(e, EINVAL, "'init' takes two numbers");
	if (str_u64(first, 1, INT32_MAX, &pid, e) < 0 ||
	    str_u64(space + 1, 0, INT64_MAX, &start, e) < 0)
		return -e->code;
	r->init_pid = (pid_t)pid;
	r->init_start = start;
	return 0;
}

static int on_host_port(struct record *r, const char *value, struct err *e)
{
	uint64_t port;

	if (str_u64(value, 0, UINT16_MAX, &port, e) < 0)
		return -e->code;
	r->host_port = (uint16_t)port;
	return 0;
}

static int on_commit(struct record *r, const char *value, struct err *e)
{
	return set_text(&r->commit, value, e);
}

static int on_repo_id(struct record *r, const char *value, struct err *e)
{
	return set_text(&r->repo_id, value, e);
}

static int on_root_layer(struct record *r, const char *value, struct err *e)
{
	return append_layer(&r->layers_root, value, e);
}

static int on_workspace_layer(struct record *r, const char *value, struct err *e)
{
	return append_layer(&r->layers_workspace, value, e);
}

static int stands_alone(const char *word, const char *value, struct err *e)
{
	return *value ? err_code(e, EINVAL, "'%s' stands alone", word) : 0;
}

static int on_keep(struct record *r, const char *value, struct err *e)
{
	r->keep = true;
	return stands_alone("keep", value, e);
}

static int on_persists(struct record *r, const char *value, struct err *e)
{
	r->persists = true;
	return stands_alone("persists", value, e);
}

/* One that was held ready without a name belongs to somebody from here on. */
static int on_name(struct record *r, const char *value, struct err *e)
{
	if (!request_name_ok(value))
		return err_code(e, EINVAL, "'name': '%.70s' is no name of a session", value);
	return set_text(&r->name, value, e);
}

static int on_paused(struct record *r, const char *value, struct err *e)
{
	if (!record_pause_ok(value))
		return err_code(e, EINVAL, "'paused' is " RECORD_FROZEN " or " RECORD_ON_DISK);
	r->wakes = false;
	return set_text(&r->paused, value, e);
}

static int on_wakes(struct record *r, const char *value, struct err *e)
{
	r->wakes = true;
	return stands_alone("wakes", value, e);
}

static int on_rested(struct record *r, const char *value, struct err *e)
{
	r->rested = true;
	return stands_alone("rested", value, e);
}

static int on_resumes(struct record *r, const char *value, struct err *e)
{
	r->rested = false;
	r->ready = false;
	return stands_alone("resumes", value, e);
}

static int on_resumed(struct record *r, const char *value, struct err *e)
{
	free(take_ptr(&r->paused));
	r->wakes = false;
	return stands_alone("resumed", value, e);
}

/* Whether it is a group of this session's is asked when it is used. */
static int on_freezer(struct record *r, const char *value, struct err *e)
{
	if (value[0] != '/')
		return err_code(e, EINVAL, "'freezer' takes an absolute path");
	return set_text(&r->freezer, value, e);
}

static int on_ready(struct record *r, const char *value, struct err *e)
{
	r->ready = true;
	return stands_alone("ready", value, e);
}

static int on_stops(struct record *r, const char *value, struct err *e)
{
	free(take_ptr(&r->paused));
	r->persists = r->rested = r->wakes = false;
	return stands_alone("stops", value, e);
}

static int on_stage(struct record *r, const char *value, struct err *e)
{
	(void)r;
	return *value ? 0 : err_code(e, EINVAL, "'stage' needs a name");
}

static const struct {
	const char *word;
	int (*apply)(struct record *r, const char *value, struct err *e);
} words[] = {
	{ "init", on_init },
	{ "host_port", on_host_port },
	{ "commit", on_commit },
	{ "repo_id", on_repo_id },
	{ "root_layer", on_root_layer },
	{ "workspace_layer", on_workspace_layer },
	{ "keep", on_keep },
	{ "persists", on_persists },
	{ "name", on_name },
	{ "paused", on_paused },
	{ "wakes", on_wakes },
	{ "rested", on_rested },
	{ "resumes", on_resumes },
	{ "resumed", on_resumed },
	{ "freezer", on_freezer },
	{ "ready", on_ready },
	{ "stops", on_stops },
	{ "stage", on_stage },
};

static int apply_line(struct record *r, char *line, struct err *e)
{
	char *value = strchrnul(line, ' ');

	if (*value)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].word, line) == 0)
			return words[i].apply(r, value, e);
	return err_code(e, EINVAL, "unknown word '%.40s'", line);
}

int record_apply_journal(struct record *r, const char *text, size_t len, struct err *e)
{
	const char *end = text + len;
	unsigned number = 1;

	if (len > JOURNAL_BYTES_MAX)
		return err_code(e, EFBIG, "journal: larger than %u bytes", JOURNAL_BYTES_MAX);
	for (const char *newline; len && (newline = memchr(text, '\n', (size_t)(end - text)));
	     number++) {
		autofree char *line = strndup(text, (size_t)(newline - text));

		if (!line)
			return err_code(e, ENOMEM, "out of memory");
		if (strlen(line) != (size_t)(newline - text))
			return err_code(e, EINVAL, "journal: line %u: a byte of zero", number);
		/* An empty one is left when a session's directory becomes the next one's. */
		if (*line && apply_line(r, line, e) < 0)
			return err_wrap(e, "journal: line %u", number);
		text = newline + 1;
	}
	return 0;
}
