/* SPDX-License-Identifier: MIT */
/* policy.c - `ohsandbox policy check FILE`, `policy show NAME`, `policy list`. */
#include "plan/policy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "plan/filter.h"

static const struct opt policy_options[] = {
	{ .kind = OPT_END },
};

static void warn_unknown(const char *name, void *path)
{
	log_warn(
		"%s: seccomp: system call '%s' is not known here: newer than libseccomp, or misspelled",
		(const char *)path, name);
}

/* The filter too has to be one the kernel takes: too many conditions only show when it is built. */
static int check_filter(const struct policy *p, struct err *e)
{
	struct sock_filter *program = NULL;
	size_t len;

	filter_each_unknown(p, warn_unknown, p->path);
	if (filter_build(p, true, &program, &len, e) < 0)
		return err_wrap(e, "%s", p->path);
	free(program);
	return 0;
}

static int policy_check(const struct command *c, const char *name, struct err *e)
{
	autobuf struct buf out = { 0 };
	struct policy *p = NULL;
	int ret;

	if (policy_load(name, &p, e) < 0)
		return cli_fail(c, e);
	ret = check_filter(p, e);
	buf_printf(&out, "%s: fine, digest %s\n", p->path, p->digest);
	policy_free(p);
	return ret < 0 ? cli_fail(c, e) : cli_print(c, &out);
}

static int policy_show_one(const struct command *c, const char *name, struct err *e)
{
	autobuf struct buf out = { 0 };
	struct policy *p = NULL;

	if (policy_load(name, &p, e) < 0)
		return cli_fail(c, e);
	policy_show(p, &out);
	policy_free(p);
	return cli_print(c, &out);
}

static int list_one(const char *dir, const char *file, struct buf *out, struct err *e)
{
	autofree char *path = str_fmt(e, "%s/%s", dir, file);
	struct policy *p = NULL;
	struct err why = { 0 };

	if (!path)
		return -e->code;
	if (policy_load(path, &p, &why) < 0) {
		buf_printf(out, "%-16s broken: %s\n", file, why.text);
		return 0;
	}
	buf_printf(out, "%-16s %s\n", p->name, p->description);
	policy_free(p);
	return 0;
}

static int is_policy(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && str_ends(entry->d_name, ".json");
}

static int list_dir(const char *dir, struct buf *out, struct err *e)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, is_policy, alphasort);
	int ret = 0;

	/* Most of the places are not there on most hosts. */
	if (n < 0)
		return 0;
	if (n > 0)
		buf_printf(out, "%s:\n", dir);
	for (int i = 0; i < n; i++) {
		if (ret == 0)
			ret = list_one(dir, entries[i]->d_name, out, e);
		free(entries[i]);
	}
	free(entries);
	return ret;
}

static int policy_list(const struct command *c, const char *name, struct err *e)
{
	autobuf struct buf out = { 0 };
	char **dirs = NULL;
	int ret = policy_dirs(&dirs, e);

	(void)name; /* of no policy in particular */
	for (size_t i = 0; ret == 0 && dirs[i]; i++)
		ret = list_dir(dirs[i], &out, e);
	for (size_t i = 0; dirs && dirs[i]; i++)
		free(dirs[i]);
	free(dirs);
	return ret < 0 ? cli_fail(c, e) : cli_print(c, &out);
}

static const struct verb {
	const char *name;
	bool takes_name;
	int (*run)(const struct command *c, const char *name, struct err *e);
} verbs[] = {
	{ "check", true, policy_check },
	{ "show", true, policy_show_one },
	{ "list", false, policy_list },
};

static int policy_main(const struct command *c, int argc, char **argv)
{
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, NULL, &status);

	if (n < 0)
		return status;
	for (size_t i = 0; n > 0 && i < ARRAY_LEN(verbs); i++) {
		if (!str_eq(argv[0], verbs[i].name))
			continue;
		if (n != 1 + verbs[i].takes_name)
			return cli_usage(c, "'%s' takes %s", verbs[i].name,
					 verbs[i].takes_name ? "the name or path of one policy"
							     : "no operand");
		return verbs[i].run(c, verbs[i].takes_name ? argv[1] : NULL, &e);
	}
	return cli_usage(c, "say 'check', 'show' or 'list'");
}

const struct command command_policy = {
	.name = "policy",
	.operands = "check|show NAME|FILE, or list",
	.summary = "Check, show and list policies",
	.examples =
		"  ohsandbox policy list\n  ohsandbox policy show default\n  ohsandbox policy check ./mine.json\n",
	.options = policy_options,
	.main = policy_main,
};
