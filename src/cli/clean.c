/* SPDX-License-Identifier: MIT */
/* clean.c - `ohsandbox clean`: what no session needs. What dead sessions left goes with any
 * command; this takes what is shared. */
#include <stddef.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "cli/cli.h"
#include "launch/net.h"
#include "session/cgroup.h"
#include "session/session.h"
#include "session/spare.h"
#include "session/worktree.h"

struct clean_args {
	bool cache;
};

static const struct opt options[] = {
	{ "cache", 0, OPT_FLAG, offsetof(struct clean_args, cache), NULL,
	  "bases, file system skeletons and filters too; the next start makes them anew", NULL },
	{ .kind = OPT_END },
};

static int count(const char *id, void *arg, struct err *e)
{
	(void)id;
	(void)e;
	++*(unsigned *)arg;
	return 0;
}

static int clean_cache(int state, unsigned sessions, struct err *e)
{
	int bases = worktree_evict(state, 0, e);

	if (bases < 0)
		return bases;
	log_info("%d unused %s removed", bases, bases == 1 ? "base" : "bases");
	if (sessions) {
		log_info("the cache stays: %u %s of this state directory may need it", sessions,
			 sessions == 1 ? "session" : "sessions");
		return 0;
	}
	return fs_remove_tree(state, "cache", e);
}

static int clean_groups(struct err *e)
{
	autofree char *path = NULL;
	struct host *host = NULL;
	int r;

	if (state_default_path(&path, e) < 0 || host_probe(path, &host, e) < 0)
		return -e->code;
	r = cgroup_clean(host, e);
	host_free(host);
	return r;
}

static int clean(bool cache, struct err *e)
{
	autoclose int state = cli_state(e);
	unsigned sessions = 0;

	if (state < 0 || session_each(state, count, &sessions, e) < 0)
		return -e->code;
	if (spare_clear(state, e) < 0 || clean_groups(e) < 0)
		return -e->code;
	/* The bridge and the firewall are the host's: another state directory may have sessions, which
	 * net_clean() knows. */
	if (geteuid() == 0 && net_clean(e) < 0)
		return -e->code;
	return cache ? clean_cache(state, sessions, e) : 0;
}

static int clean_main(const struct command *c, int argc, char **argv)
{
	struct clean_args a = { 0 };
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	if (n < 0)
		return status;
	if (n > 0)
		return cli_usage(c, "takes no operand");
	return clean(a.cache, &e) < 0 ? cli_fail(c, &e) : EXIT_OK;
}

const struct command command_clean = {
	.name = "clean",
	.summary =
		"Remove what no session needs: directories, groups, the bridge, the firewall table",
	.examples = "  ohsandbox clean\n  ohsandbox clean --cache\n",
	.options = options,
	.main = clean_main,
};
