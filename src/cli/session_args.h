/* SPDX-License-Identifier: MIT */
/* session_args.h - what `run` and `start` are told alike, as a struct request. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/options.h"
#include "launch/decide.h"
#include "plan/plan.h"

struct session_args {
	struct request request;
	const char *repo, *dir, *policy;
	bool empty;
	bool dry_run, verbose, quiet, json, no_tty;
	int json_fd; /* -1: standard error */
};

/* Rows of the option table that both commands hold; used as the beginning of one. */
#define SESSION_OPTIONS                                                                            \
	SESSION_TEXT("repo", 0, repo, "DIR",                                                       \
		     "the repository (default: the one around this directory)"),                   \
		SESSION_CALL("rev", 'r', session_take_rev, "REV", "its revision (default: HEAD)"), \
		SESSION_FLAG("dirty", 0, request.dirty,                                            \
			     "carry uncommitted and untracked files over"),                        \
		SESSION_FLAG("trust-repo", 0, request.trust_repo,                                  \
			     "take a repository that is somebody else's"),                         \
		SESSION_TEXT("dir", 0, dir, "DIR",                                                 \
			     "a directory that is no repository, copy-on-write"),                  \
		SESSION_FLAG("empty", 0, empty, "an empty workspace"),                             \
		SESSION_CALL("workdir", 'w', session_take_workdir, "DIR",                          \
			     "where it starts, inside"),                                           \
		SESSION_CALL("memory", 'm', session_take_memory, "SIZE", "bytes, or 512M, 2G"),    \
		SESSION_CALL("swap", 0, session_take_swap, "SIZE", "swap besides the memory"),     \
		SESSION_CALL("cpus", 0, session_take_cpus, "N", "processors, such as 1.5"),        \
		SESSION_CALL("pids", 0, session_take_pids, "N", "processes and threads"),          \
		SESSION_CALL("timeout", 't', session_take_timeout, "TIME",                         \
			     "seconds, or 500ms, 5m, 2h"),                                         \
		SESSION_CALL("net", 0, session_take_net, "none|nat",                               \
			     "no way out, or out through the host"),                               \
		SESSION_CALL("publish", 'p', session_take_publish, "[ADDR:]PORT[:INSIDE]",         \
			     "make a port reachable"),                                             \
		SESSION_TEXT("policy", 0, policy, "NAME|FILE",                                     \
			     "what it may do; see ohsandbox-policy(5)"),                           \
		SESSION_CALL("user", 'u', session_take_user, "NAME|root", "who it is, inside"),    \
		SESSION_CALL("hostname", 0, session_take_hostname, "NAME", "its host name"),       \
		SESSION_CALL("mount", 0, session_take_mount, "HOST:INSIDE[:ro|:cow]",              \
			     "more of the host"),                                                  \
		SESSION_CALL("rootfs", 0, session_take_rootfs, "DIR",                              \
			     "a directory that is / inside, instead of the host's"),               \
		SESSION_FLAG("toolchains", 0, request.toolchains,                                  \
			     "rustup, pyenv, nvm, go off your PATH, read-only"),                   \
		SESSION_CALL("env", 'e', session_take_env, "NAME[=VALUE]",                         \
			     "a variable; NAME alone: your value"),                                \
		SESSION_CALL("env-file", 0, session_take_env_file, "FILE",                         \
			     "variables, one a line"),                                             \
		SESSION_FLAG("keep", 'k', request.keep, "keep its layers when it ends"),           \
		SESSION_FLAG("quiet", 'q', quiet, "no summary"),                                   \
		SESSION_FLAG("verbose", 'v', verbose, "each stage with its duration"),             \
		SESSION_FLAG("dry-run", 'n', dry_run, "print the plan as JSON and do nothing")

#define SESSION_FLAG(n, l, field, h)                                                \
	{                                                                           \
		n, l, OPT_FLAG, offsetof(struct session_args, field), NULL, h, NULL \
	}
#define SESSION_TEXT(n, l, field, v, h)                                          \
	{                                                                        \
		n, l, OPT_TEXT, offsetof(struct session_args, field), v, h, NULL \
	}
#define SESSION_CALL(n, l, f, v, h)        \
	{                                  \
		n, l, OPT_CALL, 0, v, h, f \
	}

int session_take_rev(void *into, const char *value, struct err *e);
int session_take_workdir(void *into, const char *value, struct err *e);
int session_take_name(void *into, const char *value, struct err *e);
int session_take_memory(void *into, const char *value, struct err *e);
int session_take_swap(void *into, const char *value, struct err *e);
int session_take_cpus(void *into, const char *value, struct err *e);
int session_take_pids(void *into, const char *value, struct err *e);
int session_take_timeout(void *into, const char *value, struct err *e);
int session_take_net(void *into, const char *value, struct err *e);
int session_take_publish(void *into, const char *value, struct err *e);
int session_take_user(void *into, const char *value, struct err *e);
int session_take_hostname(void *into, const char *value, struct err *e);
int session_take_mount(void *into, const char *value, struct err *e);
int session_take_rootfs(void *into, const char *value, struct err *e);
int session_take_env(void *into, const char *value, struct err *e);
int session_take_env_file(void *into, const char *value, struct err *e);

void session_args_init(struct session_args *a);

/* Find the workspace that he means: the first part of the next, and no more than a look. */
must_check int session_args_workspace(struct session_args *a, struct err *e);

/* The plan for what the caller wants, by what he said and where he stands. Changes nothing. */
must_check int session_args_decide(struct session_args *a, struct laps *laps, struct decision *d,
				   struct err *e);
void session_args_clear(struct session_args *a);
