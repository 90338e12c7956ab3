/* SPDX-License-Identifier: MIT */
/* serve.c - `ohsandbox serve`: the daemon that OpenHands' clients get their sandboxes from. */
#include <stddef.h>
#include <stdlib.h>

#include "api/config.h"
#include "api/serve.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/cli.h"
#include "plan/strv.h"

struct serve_args {
	struct serve_options o;
	const char *config, *socket, *key_file, *advertise;
	bool check;
};

static int take_listen(void *into, const char *value, struct err *e)
{
	struct serve_options *o = &((struct serve_args *)into)->o;

	if (strv_len(o->listen) == CONFIG_LISTEN_MAX)
		return err_code(e, E2BIG, "at most %d addresses", CONFIG_LISTEN_MAX);
	return strv_add(&o->listen, value, e);
}

static int take_repository(void *into, const char *value, struct err *e)
{
	autofree char *whole = realpath(value, NULL);

	if (!whole)
		return err_errno(e, "'%s'", value);
	return strv_add(&((struct serve_args *)into)->o.repositories, whole, e);
}

static int take_idle(void *into, const char *value, struct err *e)
{
	struct serve_args *a = into;

	a->o.has_idle = true;
	return str_duration(value, &a->o.idle_ms, e);
}

static int take_drain(void *into, const char *value, struct err *e)
{
	struct serve_args *a = into;

	a->o.has_drain = true;
	return str_duration(value, &a->o.drain_ms, e);
}

static int take_log(void *into, const char *value, struct err *e)
{
	if (!str_eq(value, "text") && !str_eq(value, "json"))
		return err_code(e, EINVAL, "'%.40s' is neither 'text' nor 'json'", value);
	((struct serve_args *)into)->o.log_json = str_eq(value, "json");
	return 0;
}

#define AT(member) offsetof(struct serve_args, member)
static const struct opt options[] = {
	{ "config", 'c', OPT_TEXT, AT(config), "FILE", "templates and more; see ohsandbox-serve(5)",
	  NULL },
	{ "check", 0, OPT_FLAG, AT(check), NULL, "look at the configuration, and serve nothing",
	  NULL },
	{ "listen", 'l', OPT_CALL, 0, "ADDRESS:PORT", "where (default: 127.0.0.1:8000)",
	  take_listen },
	{ "socket", 0, OPT_TEXT, AT(socket), "PATH", "also at a socket of the Unix domain", NULL },
	{ "key-file", 0, OPT_TEXT, AT(key_file), "FILE", "the API's key (default: made, and kept)",
	  NULL },
	{ "allow-repo", 0, OPT_CALL, 0, "DIR", "clients may name repositories in here",
	  take_repository },
	{ "advertise", 0, OPT_TEXT, AT(advertise), "HOST", "in URLs of sessions, not 'localhost'",
	  NULL },
	{ "idle-timeout", 0, OPT_CALL, 0, "TIME", "pause to disk what nobody uses", take_idle },
	{ "drain-timeout", 0, OPT_CALL, 0, "TIME", "at the end, for what is under way (30s)",
	  take_drain },
	{ "log", 0, OPT_CALL, 0, "text|json", "how the log is written", take_log },
	{ "quiet", 'q', OPT_FLAG, AT(o.quiet), NULL, "errors and warnings alone", NULL },
	{ "insecure-listen", 0, OPT_FLAG, AT(o.insecure), NULL, "beyond the loopback, without TLS",
	  NULL },
	{ .kind = OPT_END },
};

static int serve_main(const struct command *c, int argc, char **argv)
{
	struct serve_args a = { 0 };
	struct err e = { 0 };
	int status, n = cli_options(c, argc, argv, &a, &status);

	a.o.config = (char *)(uintptr_t)a.config;
	a.o.socket = (char *)(uintptr_t)a.socket;
	a.o.key_file = (char *)(uintptr_t)a.key_file;
	a.o.advertise = (char *)(uintptr_t)a.advertise;
	if (n > 0)
		status = cli_usage(c, "takes no operand");
	if (n == 0) {
		if (a.o.quiet)
			log_set_level(LOG_LEVEL_WARN);
		status = (a.check ? serve_check(&a.o, &e) : serve(&a.o, &e)) < 0 ? cli_fail(c, &e)
										 : EXIT_OK;
	}
	strv_free(a.o.listen);
	strv_free(a.o.repositories);
	return status;
}

const struct command command_serve = {
	.name = "serve",
	.summary = "Serve sessions over HTTP, to OpenHands' clients and others",
	.examples = "  ohsandbox serve --allow-repo ~/src\n"
		    "  ohsandbox serve --config /etc/ohsandbox/serve.json --check\n"
		    "  ohsandbox serve --listen localhost:8000 --socket /run/ohsandbox/serve.sock\n"
		    "  curl -H \"X-API-Key: $(cat KEYFILE)\" http://localhost:8000/list\n",
	.options = options,
	.main = serve_main,
};
