/* SPDX-License-Identifier: MIT */
/* fuzz_config.c - any bytes as the operator's file: an error that says something, or a configuration
 * within its limits. */
#include <string.h>

#include "api/config.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_template(const struct session_template *t)
{
	check(t->name && t->image && t->warm <= CONFIG_WARM_MAX);
	check(!(t->repo && t->dir) && (!t->rev || t->repo));
	check(!t->rootfs || t->rootfs[0] == '/');
	check(t->net == -1 || t->net == NET_NONE || t->net == NET_NAT);
	for (char *const *pair = t->environment; pair && *pair; pair++)
		check(strchr(*pair, '=') > *pair);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct config *c = NULL;
	struct err e = { 0 };

	if (config_parse((const char *)data, size, "f", &c, &e) < 0) {
		check(!c && e.code && e.text[0]);
		return 0;
	}
	check(c->listen && c->advertise && c->n_templates <= CONFIG_TEMPLATES_MAX);
	check(c->max_sessions >= 1);
	for (unsigned i = 0; i < c->n_templates; i++)
		check_template(&c->templates[i]);
	(void)config_template(c, "img:1");
	config_free(c);
	return 0;
}
