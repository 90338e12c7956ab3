/* SPDX-License-Identifier: MIT */
/* start_env.c - the environment of a process that is started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/executor/start_parts.h"

/* Add "K=V" unless a later list has that name already. Returns the new count. */
static size_t env_add(char **env, size_t n, char *entry)
{
	const char *equals = strchr(entry, '=');
	size_t len = equals ? (size_t)(equals - entry) + 1 : strlen(entry);

	for (size_t i = 0; i < n; i++)
		if (strncmp(env[i], entry, len) == 0)
			return n;
	env[n] = entry;
	return n + 1;
}

static size_t list_len(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* The session's root is told who it came from, so that git does not call the tree foreign. */
static size_t env_of_root(char **env, size_t n, struct starting *c)
{
	static const char *const fixed[] = { "HOME=/root", "USER=root", "LOGNAME=root" };
	const struct ctl_user *user = &c->s->boot->user;

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		n = env_add(env, n, (char *)(uintptr_t)fixed[i]);
	if (user->uid == 0)
		return n;
	(void)snprintf(c->ids[0], sizeof(c->ids[0]), "SUDO_UID=%u", (unsigned)user->uid);
	(void)snprintf(c->ids[1], sizeof(c->ids[1]), "SUDO_GID=%u", (unsigned)user->gid);
	n = env_add(env, n, c->ids[0]);
	return env_add(env, n, c->ids[1]);
}

char **start_env(struct starting *c)
{
	const struct ctl_boot *b = c->s->boot;
	char **env = calloc(list_len(c->request->env) + list_len(b->env) + 6, sizeof(*env));
	size_t n = 0;

	if (!env)
		return NULL;
	for (char **v = c->request->env; v && *v; v++)
		n = env_add(env, n, *v);
	if (c->as_root)
		n = env_of_root(env, n, c);
	for (char **v = b->env; v && *v; v++)
		n = env_add(env, n, *v);
	return env;
}
