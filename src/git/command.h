/* SPDX-License-Identifier: MIT */
/* command.h - the commands of ohsandbox-git, and their arguments. */
#pragma once

#include <stdbool.h>

#include "git/answer.h"
#include "session/head.h"

#define OVER_MAX 8

/* A base that the new one may lie over. */
struct over {
	const char *commit;
	int index; /* fd of its index */
};

/* Descriptors are numbers of inherited ones; -1 where they were not given. */
struct arguments {
	const char *repo_path, *commit, *rev, *ref, *tree_path;
	const char *name, *email, *default_name, *default_email;
	int tree, index, pack, layer, list;
	bool reachable, summary;
	struct over over[OVER_MAX];
	unsigned n_over;
	struct repo repo; /* opened, where repo_path was given */
};

/* Each adds its members to the answer. */
must_check int command_resolve(const struct arguments *args, struct answer *a, struct err *e);
must_check int command_base(const struct arguments *args, struct answer *a, struct err *e);
must_check int command_dirty(const struct arguments *args, struct answer *a, struct err *e);
must_check int command_patch(const struct arguments *args, struct answer *a, struct err *e);
must_check int command_unregister(const struct arguments *args, struct answer *a, struct err *e);
