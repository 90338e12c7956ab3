/* SPDX-License-Identifier: MIT */
/* command.c - see command.h. */
#include "api/command.h"

#include <string.h>

#include "api/words.h"
#include "base/str.h"
#include "plan/strv.h"

#define EXECUTOR_MODULE "openhands.runtime.action_execution_server"
#define USERNAME_DEFAULT "openhands"
#define USERNAME_BYTES 32
#define USER_ID_DEFAULT 1000
#define TEXT(s) (int)strnlen(s, 60), s /* of a foreign word no more is said */

void command_clear(struct start_command *c)
{
	free(c->working_dir);
	free(c->username);
	strv_free(c->browser_words);
	strv_free(c->argv);
	*c = (struct start_command) { 0 };
}

static void auto_command(struct start_command *c)
{
	command_clear(c);
}

static int take_port(const char *word, uint16_t *port, struct err *e)
{
	uint64_t n;

	if (str_u64(word, 1, UINT16_MAX, &n, e) < 0)
		return err_code(e, EINVAL, "'%.*s' is no port", TEXT(word));
	*port = (uint16_t)n;
	return 0;
}

/* ---- the executor's line ---- */

static const struct {
	const char *name;
	unsigned bit;
} plugins[] = {
	{ "jupyter", COMMAND_JUPYTER },
	{ "agent_skills", COMMAND_AGENT_SKILLS },
	{ "vscode", COMMAND_VSCODE },
};

static int take_plugin(const char *word, struct start_command *c, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
		if (str_eq(word, plugins[i].name)) {
			c->plugins |= plugins[i].bit;
			return 0;
		}
	return err_code(e, EINVAL, "'%.*s' is no plugin: there are jupyter, agent_skills, vscode",
			TEXT(word));
}

/* Said twice, the last one counts. */
static int replace(char **member, const char *word, struct err *e)
{
	char *copy = str_dup(word, e);

	if (!copy)
		return -e->code;
	free(*member);
	*member = copy;
	return 0;
}

static int take_working_dir(const char *word, struct start_command *c, struct err *e)
{
	if (word[0] != '/')
		return err_code(e, EINVAL, "'%.*s' is no absolute path", TEXT(word));
	return replace(&c->working_dir, word, e);
}

static int take_username(const char *word, struct start_command *c, struct err *e)
{
	if (!str_is_name(word, USERNAME_BYTES) || strchr(word, ':'))
		return err_code(e, EINVAL, "'%.*s' is no name of a user", TEXT(word));
	return replace(&c->username, word, e);
}

static int take_user_id(const char *word, struct start_command *c, struct err *e)
{
	uint64_t id;

	if (str_u64(word, 0, UINT32_MAX - 1, &id, e) < 0)
		return err_code(e, EINVAL, "'%.*s' is no number of a user", TEXT(word));
	c->user_id = (uid_t)id;
	return 0;
}

static int take_browser_word(const char *word, struct start_command *c, struct err *e)
{
	return strv_add(&c->browser_words, word, e);
}

static int enable_browser(const char *word, struct start_command *c, struct err *e)
{
	(void)word;
	(void)e;
	c->browser = true;
	return 0;
}

static int disable_browser(const char *word, struct start_command *c, struct err *e)
{
	(void)word;
	(void)e;
	c->browser = false;
	return 0;
}

enum values { NO_VALUE, ONE_VALUE, SOME_VALUES };

static const struct option {
	const char *name;
	enum values values;
	int (*take)(const char *word, struct start_command *c, struct err *e);
} options[] = {
	{ "--working-dir", ONE_VALUE, take_working_dir },
	{ "--plugins", SOME_VALUES, take_plugin },
	{ "--username", ONE_VALUE, take_username },
	{ "--user-id", ONE_VALUE, take_user_id },
	{ "--browsergym-eval-env", SOME_VALUES, take_browser_word },
	{ "--enable-browser", NO_VALUE, enable_browser },
	{ "--no-enable-browser", NO_VALUE, disable_browser },
};

/* The option that a word names, and what stands behind its "=", or NULL. */
static const struct option *find_option(const char *word, const char **value)
{
	size_t n = strcspn(word, "=");

	*value = word[n] ? word + n + 1 : NULL;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (strlen(options[i].name) == n && memcmp(options[i].name, word, n) == 0)
			return &options[i];
	return NULL;
}

/* The values that follow: of one, or all up to the next option. Returns how many. */
static int take_values(const struct option *o, char *const *at, struct start_command *c,
		       struct err *e)
{
	int n = 0;

	while (at[n] && at[n][0] != '-' && (o->values == SOME_VALUES || n == 0))
		if (o->take(at[n++], c, e) < 0)
			return -e->code;
	return n ? n : err_code(e, EINVAL, "a value is missing");
}

/* An option with what belongs to it. Returns how many words that is. */
static int take_option(char *const *at, struct start_command *c, struct err *e)
{
	const char *value;
	const struct option *o = find_option(at[0], &value);
	int n = 0;

	if (!o)
		return err_code(e, EINVAL, "'%.*s' is no option of the executor", TEXT(at[0]));
	if (o->values == NO_VALUE && value)
		(void)err_code(e, EINVAL, "takes no value");
	else if (o->values == NO_VALUE || value)
		n = o->take(value, c, e);
	else
		n = take_values(o, at + 1, c, e);
	if (n < 0 || (o->values == NO_VALUE && value))
		return err_wrap(e, "%s", o->name);
	return 1 + n;
}

static int executor_words(char *const *at, struct start_command *c, struct err *e)
{
	while (*at) {
		int n = 1;

		if ((*at)[0] == '-')
			n = take_option(at, c, e);
		else if (c->port)
			return err_code(e, EINVAL, "'%.*s' is one word too many", TEXT(*at));
		else if (take_port(*at, &c->port, e) < 0)
			return -e->code;
		if (n < 0)
			return n;
		at += n;
	}
	if (!c->port)
		return err_code(e, EINVAL, "the executor's port is missing");
	if (c->browser_words && !c->browser)
		return err_code(
			e, EINVAL,
			"--browsergym-eval-env wants the browser, and --no-enable-browser is there");
	return 0;
}

static int executor_line(char *const *at, struct start_command *c, struct err *e)
{
	c->kind = COMMAND_EXECUTOR;
	c->user_id = USER_ID_DEFAULT;
	c->browser = true;
	if (replace(&c->username, USERNAME_DEFAULT, e) < 0)
		return -e->code;
	return executor_words(at, c, e);
}

/* ---- a program of the root file system's ---- */

/* "--name VALUE" or "--name=VALUE" at this word; the value in *value, NULL where it is missing. */
static bool is_told(char *const *at, const char *name, const char **value)
{
	size_t n = strlen(name);

	if (strncmp(*at, name, n) != 0 || (at[0][n] && at[0][n] != '='))
		return false;
	*value = at[0][n] ? at[0] + n + 1 : at[1];
	return true;
}

static int program_line(char *const *words, struct start_command *c, struct err *e)
{
	const char *value;

	if (!words[0] || !*words[0])
		return err_code(e, EINVAL, "its first word is empty");
	c->kind = COMMAND_PROGRAM;
	c->port = COMMAND_PORT_DEFAULT;
	for (char *const *at = words + 1; *at; at++) {
		c->has_host = c->has_host || is_told(at, "--host", &value);
		if (!is_told(at, "--port", &value))
			continue;
		if (!value)
			return err_code(e, EINVAL, "--port: a value is missing");
		if (take_port(value, &c->port, e) < 0)
			return err_wrap(e, "--port");
		c->has_port = true;
	}
	return strv_extend(&c->argv, words, e);
}

/* ---- */

static int check_size(char *const *words, struct err *e)
{
	size_t n = 0, bytes = 0;

	for (; words[n]; n++)
		bytes += strlen(words[n]) + 1;
	if (n > COMMAND_WORDS_MAX || bytes > COMMAND_BYTES_MAX)
		return err_code(e, E2BIG, "has more than %d words or %d bytes", COMMAND_WORDS_MAX,
				COMMAND_BYTES_MAX);
	return 0;
}

static int parse_words(char *const *words, struct start_command *c, struct err *e)
{
	if (check_size(words, e) < 0)
		return -e->code;
	/* Whatever starts it stands before: an interpreter, and what runs that. */
	for (char *const *at = words; *at; at++)
		if (str_eq(*at, "-m") && at[1] && str_eq(at[1], EXECUTOR_MODULE))
			return executor_line(at + 2, c, e);
	return program_line(words, c, e);
}

int command_of_words(char *const *words, struct start_command *c, struct err *e)
{
	struct start_command made __attribute__((cleanup(auto_command))) = { 0 };

	if (words && *words && parse_words(words, &made, e) < 0)
		return err_wrap(e, "command");
	*c = made;
	made = (struct start_command) { 0 };
	return 0;
}

static int words_of_list(const struct json *value, char ***words, struct err *e)
{
	for (const struct json *v = value->list.first; v; v = v->next) {
		if (v->type != JSON_STRING)
			return err_code(e, EINVAL, "must be a text, a list of texts or null");
		if (memchr(v->string.bytes, '\0', v->string.len))
			return err_code(e, EINVAL, "holds a NUL");
	}
	if (value->list.count > COMMAND_WORDS_MAX)
		return err_code(e, E2BIG, "has more than %d words", COMMAND_WORDS_MAX);
	for (const struct json *v = value->list.first; v; v = v->next)
		if (strv_add(words, v->string.bytes, e) < 0)
			return -e->code;
	return 0;
}

static int words_of(const struct json *value, char ***words, struct err *e)
{
	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type == JSON_ARRAY)
		return words_of_list(value, words, e);
	if (value->type != JSON_STRING)
		return err_code(e, EINVAL, "must be a text, a list of texts or null");
	if (value->string.len > COMMAND_BYTES_MAX)
		return err_code(e, E2BIG, "has more than %d bytes", COMMAND_BYTES_MAX);
	return words_split(value->string.bytes, value->string.len, COMMAND_WORDS_MAX, words, e);
}

int command_parse(const struct json *value, struct start_command *c, struct err *e)
{
	autostrv char **words = NULL;

	if (words_of(value, &words, e) < 0)
		return err_wrap(e, "command");
	return command_of_words(words, c, e);
}
